/* SPDX-License-Identifier: MIT
 *
 * What the command line asks for, as one edit for each key that it names. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/io.h"
#include "cmd/set/set.h"
#include "gguf/check.h"

void edits_fini(struct edits *s)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_free(&s->v[i].bytes);
        free(s->v[i].name);
    }
    free(s->v);
    free(s->of);
    *s = (struct edits){0};
}

/* An edit of the key NAME; NULL when out of memory, or it has one already. */
static struct edit *add(struct edits *s, const struct gguf *g, const char *name,
                        struct err *e)
{
    const struct gguf_val *old = gguf_key(g, name);
    struct edit *to;

    for (size_t i = 0; i < s->n; i++)
        if ((old && s->v[i].old == old) ||
            (!old && s->v[i].name && !strcmp(s->v[i].name, name))) {
            err_set(e, ERR_USAGE, "key '%.80s' is named twice", name);
            return NULL;
        }
    to = realloc(s->v, (s->n + 1) * sizeof *to);
    if (!to) {
        err_nomem(e);
        return NULL;
    }
    s->v = to;
    to += s->n;
    *to = (struct edit){.old = old, .name = strdup(name)};
    if (!to->name) {
        err_nomem(e);
        return NULL;
    }
    s->n++;
    to->now.key = (struct gguf_str){to->name, strlen(to->name)};
    return to;
}

static int missing(const struct gguf *g, const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: no key '%.80s'", gguf_path(g), name);
}

static int remove_key(struct edits *s, const struct gguf *g, const char *name,
                      struct err *e)
{
    struct edit *to = add(s, g, name, e);

    if (!to)
        return -1;
    to->deleted = true;
    return to->old ? 0 : missing(g, name, e);
}

static int rename_key(struct edits *s, const struct gguf *g, const char *arg,
                      const struct cli *c, struct err *e)
{
    const char *eq = strchr(arg, '=');
    char *from = eq ? strndup(arg, (size_t)(eq - arg)) : NULL;
    struct edit *to;

    if (!eq || eq == arg || !eq[1])
        usage_error(c, "--rename: '%s' is no OLD=NEW", arg);
    if (!from)
        return err_nomem(e);
    to = add(s, g, from, e);
    if (to && !to->old) {
        missing(g, from, e);
        to = NULL;
    }
    free(from);
    if (!to)
        return -1;
    free(to->name);
    to->now = *to->old;
    if (!(to->name = strdup(eq + 1)))
        return err_nomem(e);
    to->now.key = (struct gguf_str){to->name, strlen(to->name)};
    return 0;
}

/* The type that TO's value is to have: as it has it, as its name says, or as
 * the command line does. */
static int choose_type(struct set_type *t, const struct edit *to,
                       const struct gguf *g, bool array, const char *fallback,
                       struct err *e)
{
    if (to->old) {
        if (set_type_of(t, to->old))
            return 0;
        return err_set(e, ERR_USAGE, "what type its arrays have is not known");
    }
    if (fallback && set_type_parse(t, fallback, strlen(fallback)))
        return 0;
    t->depth = array;
    if (gguf_usual_type(&t->base, g, to->now.key, array))
        return 0;
    t->depth = 0;
    if (array && gguf_usual_type(&t->base, g, to->now.key, false))
        return 0;
    return err_set(e, ERR_USAGE,
                   "a new key needs a type, as in %.80s:str=VALUE", to->name);
}

/* "key=value", "key:type=value" */
static int set_word(struct edits *s, const struct gguf *g, const char *word,
                    const struct wish *w, const struct cli *c, struct err *e)
{
    const char *eq = strchr(word, '=');
    char *key = eq ? strndup(word, (size_t)(eq - word)) : NULL;
    struct set_type t = {0};
    bool typed = false;
    struct edit *to;
    char *colon;
    int rc;

    if (!eq || eq == word)
        usage_error(c, "'%s' is no KEY=VALUE", word);
    if (!key)
        return err_nomem(e);
    /* A name may have colons: only a type ends it. */
    colon = strrchr(key, ':');
    if (colon && set_type_parse(&t, colon + 1, strlen(colon + 1))) {
        typed = true;
        *colon = 0;
    }
    to = add(s, g, key, e);
    free(key);
    if (!to)
        return -1;
    rc = typed ? 0 : choose_type(&t, to, g, eq[1] == '[', w->type, e);
    if (!rc)
        rc = set_text(&to->now, &to->bytes, t, eq + 1, e);
    return rc ? err_prefix(e, "key '%.80s'", to->name) : 0;
}

/* ---- files ---- */

static int read_all(struct buf *b, const char *operand, const char **name,
                    struct err *e)
{
    enum { STEP = 1 << 16, MOST = 1 << 30 };
    int fd = io_open(operand, name, e);
    ssize_t got = 1;

    if (fd < 0)
        return -1;
    while (got > 0 && b->n < MOST && buf_reserve(b, STEP)) {
        got = read(fd, b->p + b->n, STEP);
        b->n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        err_set(e, ERR_IO, "%s: %s", *name, strerror(errno));
    if (fd != STDIN_FILENO)
        close(fd);
    if (b->n >= MOST)
        return err_set(e, ERR_UNSUPPORTED, "%s: more than 1 GiB", *name);
    return got < 0 ? -1 : buf_ok(b, e);
}

static int set_template(struct edits *s, const struct gguf *g, const char *file,
                        struct err *e)
{
    struct buf text = {0};
    const char *name;
    struct edit *to;
    int rc = read_all(&text, file, &name, e);

    if (!rc) {
        to = add(s, g, "tokenizer.chat_template", e);
        rc = to ? 0 : -1;
    }
    if (!rc) {
        unsigned char *n = buf_add(&to->bytes, 8);

        if (n)
            wr_u64(n, text.n);
        buf_put(&to->bytes, text.p, text.n);
        rc = buf_ok(&to->bytes, e);
        to->now.type = GGUF_STR;
        to->now.n = 1;
        to->now.p = to->bytes.p;
        to->now.bytes = to->bytes.n;
    }
    buf_free(&text);
    return rc;
}

/* What X is in JSON, for a key whose type nobody says. */
static const char *obvious(const json_t *x)
{
    return json_is_string(x) ? "str" : json_is_boolean(x) ? "bool" : NULL;
}

/* {"type": "u32", "value": 5}, {"type": "arr", "elem": ..., "value": ...} as
 * gguf-inspect -f json has it: its value, and its type if it says one. */
static int typed_value(struct set_type *t, bool *typed, const json_t **x,
                       struct err *e)
{
    const char *type = json_string_value(json_object_get(*x, "type")),
               *elem = json_string_value(json_object_get(*x, "elem"));
    const json_t *value = json_object_get(*x, "value");

    *typed = false;
    if (!json_is_object(*x) || json_object_get(*x, "base64"))
        return 0;
    if (!type || !value)
        return err_set(e, ERR_FORMAT, "an object without type and value");
    *x = value;
    *typed = true;
    if (strcmp(type, "arr"))
        return set_type_parse(t, type, strlen(type))
                   ? 0
                   : err_set(e, ERR_FORMAT, "there is no type '%.20s'", type);
    if (!elem || !set_type_parse(t, elem, strlen(elem)))
        return err_set(e, ERR_FORMAT,
                       "an array's elem must be one of u8 to f64 and str");
    t->depth++;
    return 0;
}

static int set_member(struct edits *s, const struct gguf *g, const char *key,
                      const json_t *x, struct err *e)
{
    struct set_type t = {0};
    struct edit *to;
    bool typed;
    int rc;

    if (json_is_null(x))
        return remove_key(s, g, key, e);
    to = add(s, g, key, e);
    if (!to)
        return -1;
    rc = typed_value(&t, &typed, &x, e);
    if (!rc && !typed)
        rc = choose_type(&t, to, g, json_is_array(x), obvious(x), e);
    if (!rc)
        rc = set_json(&to->now, &to->bytes, t, x, e);
    /* What is wrong in a file is no usage. */
    if (rc && e->code == ERR_USAGE)
        e->code = ERR_FORMAT;
    return rc ? err_prefix(e, "key '%.80s'", to->name) : 0;
}

static int set_file(struct edits *s, const struct gguf *g, const char *file,
                    struct err *e)
{
    struct buf text = {0};
    json_error_t why;
    const char *name, *key;
    json_t *j = NULL, *x;
    int rc = read_all(&text, file, &name, e);

    if (!rc) {
        j = json_loadb((const char *)text.p, text.n,
                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
        if (!j)
            rc = err_set(e, ERR_FORMAT, "line %d: %s", why.line, why.text);
        else if (!json_is_object(j))
            rc = err_set(e, ERR_FORMAT, "no object of keys");
        else if (json_object_size(j) > GGUF_MAX_KEYS)
            rc =
                err_set(e, ERR_UNSUPPORTED, "more than %d keys", GGUF_MAX_KEYS);
    }
    buf_free(&text);
    if (!rc)
        json_object_foreach(j, key,
                            x) if ((rc = set_member(s, g, key, x, e))) break;
    json_decref(j);
    return rc ? err_prefix(e, "%s", file) : 0;
}

int edits_make(struct edits *s, const struct gguf *g, const struct wish *w,
               const struct cli *c, struct err *e)
{
    struct set_type t;
    int rc = 0;

    *s = (struct edits){0};
    if (w->type && !set_type_parse(&t, w->type, strlen(w->type)))
        usage_error(c, "--type: there is no type '%s'", w->type);
    for (int i = 0; !rc && i < w->renamed.n; i++)
        rc = rename_key(s, g, w->renamed.v[i], c, e);
    for (int i = 0; !rc && i < w->deleted.n; i++)
        rc = remove_key(s, g, w->deleted.v[i], e);
    if (!rc && w->from)
        rc = set_file(s, g, w->from, e);
    if (!rc && w->chat_template)
        rc = set_template(s, g, w->chat_template, e);
    for (int i = 0; !rc && i < w->nset; i++)
        rc = set_word(s, g, w->set[i], w, c, e);
    if (!rc && !(s->of = calloc(gguf_nkey(g) + 1, sizeof *s->of)))
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < s->n; i++)
        if (s->v[i].old)
            s->of[s->v[i].old - gguf_key_at(g, 0)] = &s->v[i];
    return rc;
}
