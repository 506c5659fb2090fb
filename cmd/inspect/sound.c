/* SPDX-License-Identifier: MIT
 *
 * --check's look at the metadata: types by name, then all that the other
 * programs read, as they read it. */
#include <stdio.h>
#include <string.h>

#include "cmd/inspect/inspect.h"
#include "gguf/check.h"
#include "tok/tok.h"

/* One finding; E's text begins with the path. */
static void say(const struct gguf *g, const struct view *w, const char *problem,
                const struct gguf_val *v, const struct err *e)
{
    const char *msg = e->msg;
    size_t n = strlen(gguf_path(g));

    if (!strncmp(msg, gguf_path(g), n) && !strncmp(msg + n, ": ", 2))
        msg += n + 2;
    if (!w->json) {
        put_text((struct gguf_str){gguf_path(g), n}, true);
        fputs(": ", stdout);
        put_text((struct gguf_str){msg, strlen(msg)}, true);
        putchar('\n');
        return;
    }
    fputs("{\"file\":", stdout);
    put_cstring(gguf_path(g));
    printf(",\"problem\":\"%s\"", problem);
    if (v) {
        fputs(",\"key\":", stdout);
        put_string(v->key);
    }
    fputs(",\"message\":", stdout);
    put_cstring(msg);
    puts("}");
}

/* Is E about the key NAME? */
static bool about(const struct err *e, struct gguf_str name)
{
    char s[128];

    snprintf(s, sizeof s, "%.*s", name.n < 80 ? (int)name.n : 80, name.p);
    return strstr(e->msg, s) != NULL;
}

/* What opening the vocabulary meets, of what is wrong and not just unknown to
 * this build. */
static void open_vocabulary(const struct gguf *g, struct err *e)
{
    struct tok *t = NULL;

    if (!has_vocabulary(g))
        return;
    if (tok_open(&t, g, NULL, e) && e->code == ERR_UNSUPPORTED)
        *e = (struct err){0};
    tok_close(t);
}

int check_metadata(const struct gguf *g, const struct view *w)
{
    struct err config = {0}, vocab = {0};
    bool said_config = false, said_vocab = false;
    struct gguf_config c;
    int problems = 0;

    gguf_config_init(&c, g, &config);
    gguf_config_fini(&c);
    open_vocabulary(g, &vocab);
    if (config.code == ERR_NOMEM)
        die(&config);
    if (vocab.code == ERR_NOMEM)
        die(&vocab);
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        const struct gguf_val *v = gguf_key_at(g, i);
        struct err e = {0};

        if (!gguf_check_key(g, i, &e))
            continue;
        say(g, w, "key", v, &e);
        said_config |= about(&config, v->key);
        said_vocab |= about(&vocab, v->key);
        problems++;
    }
    if (config.code && !said_config) {
        say(g, w, "config", NULL, &config);
        problems++;
    }
    if (vocab.code && !said_vocab) {
        say(g, w, "vocabulary", NULL, &vocab);
        problems++;
    }
    return problems;
}
