/* SPDX-License-Identifier: MIT
 * source.c - which template: the model's, one of its named ones, or a file.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "cmd/render/render.h"
#include "tok/tok.h"

#define KEY "tokenizer.chat_template"

/* The model's template NAME, or with NULL its only one: 1; 0 for none; -1. */
static int of_model(struct jinja **out, const struct gguf *g, const char *name,
                    struct err *e)
{
    char key[256];
    struct gguf_str s;
    int got;

    if (!g || snprintf(key, sizeof key, KEY "%s%s", name ? "." : "",
                       name ? name : "") >= (int)sizeof key)
        return 0;
    got = gguf_get_str(&s, g, key, e);
    if (got <= 0)
        return got;
    if (jinja_open(out, s.p, s.n, e))
        return err_prefix(e, "%s: %s", gguf_path(g), key);
    return 1;
}

static int of_file(struct jinja **out, const char *path, struct err *e)
{
    struct map m = {0};
    int rc;

    if (map_open(&m, path, e))
        return -1;
    rc = jinja_open(out, m.p ? (const char *)m.p : "", m.n, e);
    map_close(&m);
    return rc ? err_prefix(e, "%s", path) : 0;
}

static int named(struct render *r, struct err *e)
{
    int got = of_model(&r->usual, r->g, r->template, e);

    if (got)
        return got < 0 ? -1 : 0;
    if (!r->g || strchr(r->template, '/') || !access(r->template, F_OK))
        return of_file(&r->usual, r->template, e);
    return err_set(e, ERR_UNSUPPORTED,
                   "%s: no chat template '%s' (" KEY ".%s), and no such file",
                   gguf_path(r->g), r->template, r->template);
}

int source_open(struct render *r, struct err *e)
{
    int got;

    if (r->template)
        return named(r, e);
    got = of_model(&r->usual, r->g, NULL, e);
    if (got >= 0 && !got)
        got = of_model(&r->usual, r->g, "default", e);
    if (got < 0 || of_model(&r->tools, r->g, "tool_use", e) < 0)
        return -1;
    if (got || r->tools)
        return 0;
    return err_set(e, ERR_UNSUPPORTED,
                   "%s: no chat template (" KEY "); --template takes a file",
                   gguf_path(r->g));
}

void source_close(struct render *r)
{
    jinja_close(r->usual);
    jinja_close(r->tools);
}

const struct jinja *source_for(const struct render *r, bool tools)
{
    return (tools && r->tools) || !r->usual ? r->tools : r->usual;
}

int source_tokens(struct json_t *own, const struct gguf *g, struct err *e)
{
    static const enum tok_role roles[] = {TOK_BOS, TOK_EOS, TOK_UNK, TOK_SEP,
                                          TOK_PAD, TOK_CLS, TOK_MASK};
    struct tok *t;
    char key[32];
    int rc = 0;

    if (tok_open(&t, g, NULL, e))
        return -1;
    for (size_t i = 0; i < sizeof roles / sizeof *roles && !rc; i++) {
        int32_t id = tok_role(t, roles[i]);
        struct gguf_str s;

        if (id < 0)
            continue;
        s = tok_spelling(t, (uint32_t)id);
        snprintf(key, sizeof key, "%s_token", tok_role_name(roles[i]));
        rc = json_object_set_new(own, key, json_stringn(s.p, s.n));
    }
    tok_close(t);
    return rc ? err_set(e, ERR_FORMAT, "%s: a special token that is not UTF-8",
                        gguf_path(g))
              : 0;
}
