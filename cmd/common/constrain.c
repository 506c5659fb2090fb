/* SPDX-License-Identifier: MIT */
#include "cmd/common/constrain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/io.h"

static const char *grammar_file, *schema_file, *regex, *trigger;
static int json;

const struct cli_opt constrain_opts[] = {
    {0, "grammar", CLI_STR, &grammar_file, "file",
     "the text is as this GBNF grammar says"},
    {0, "json", CLI_FLAG, &json, NULL, "the text is JSON"},
    {0, "schema", CLI_STR, &schema_file, "file",
     "the text is JSON as this JSON Schema says"},
    {0, "regex", CLI_STR, &regex, "pattern",
     "the text matches this regular expression, whole"},
    {0},
};
const struct cli_opt constrain_trigger_opts[] = {
    {0, "trigger", CLI_STR, &trigger, "text",
     "only what comes after this in the text"},
    {0},
};
const char *const constrain_keys[] = {"grammar", "json",    "schema",
                                      "regex",   "trigger", NULL};

enum { MAX_FILE = 16 << 20 };

/* ---- what is wanted ---- */

static int read_file(struct buf *out, const char *path, struct err *e)
{
    const char *name;
    int fd = io_open(path, &name, e), rc = 0;

    if (fd < 0)
        return -1;
    for (;;) {
        void *to = buf_reserve(out, 65536);
        ssize_t n = to ? read(fd, to, 65536) : 0;

        if (!to)
            rc = err_nomem(e);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0)
            rc = err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
        else if (out->n + (size_t)n > MAX_FILE)
            rc = err_set(e, ERR_UNSUPPORTED, "%s: too large", name);
        else
            out->n += (size_t)n;
        if (rc || n <= 0)
            break;
    }
    if (fd != STDIN_FILENO)
        close(fd);
    return rc;
}

void constrain_init(struct constrain *c, const struct cli *cli)
{
    const char *file = grammar_file ? grammar_file : schema_file;
    struct err e = {0};

    *c = (struct constrain){0};
    if (!!grammar_file + !!schema_file + !!regex + json > 1)
        usage_error(cli, "only one of --grammar, --json, --schema and --regex");
    c->kind = grammar_file  ? CONSTRAIN_GRAMMAR
              : schema_file ? CONSTRAIN_SCHEMA
              : regex       ? CONSTRAIN_REGEX
              : json        ? CONSTRAIN_JSON
                            : CONSTRAIN_NONE;
    c->name = file ? file : regex ? "--regex" : "--json";
    if (file && read_file(&c->text, file, &e))
        die(&e);
    if (regex)
        buf_puts(&c->text, regex);
    if (trigger)
        buf_puts(&c->trigger, trigger);
    if (trigger && !*trigger)
        usage_error(cli, "--trigger: an empty text");
    if (buf_ok(&c->text, &e) || buf_ok(&c->trigger, &e))
        die(&e);
}

static int set_text(struct buf *to, const struct wire_rec *r, const char *key,
                    struct err *e)
{
    const char *p = NULL;
    size_t n = 0;

    if (wire_get_str(&p, &n, r, key, e) < 0)
        return -1;
    to->n = 0;
    buf_put(to, p, n);
    return buf_ok(to, e);
}

int constrain_set(struct constrain *c, const struct wire_rec *r,
                  const char *key, struct err *e)
{
    enum constrain_kind kind = CONSTRAIN_NONE;
    bool on = true;

    if (!strcmp(key, "trigger")) {
        if (set_text(&c->trigger, r, key, e))
            return -1;
        return c->trigger.n
                   ? 0
                   : err_set(e, ERR_FORMAT, "key 'trigger': an empty text");
    }
    while (strcmp(constrain_keys[kind], key))
        kind++;
    kind++; /* both lists have the same order */
    if (c->own)
        return err_set(e, ERR_FORMAT,
                       "only one of the keys 'grammar', 'json', 'schema' and "
                       "'regex'");
    c->own = true;
    c->kind = kind;
    c->name = key;
    c->text.n = 0;
    if (kind == CONSTRAIN_JSON) {
        if (wire_get_bool(&on, r, key, e) < 0)
            return -1;
        if (!on)
            c->kind = CONSTRAIN_NONE;
        return 0;
    }
    if (kind == CONSTRAIN_SCHEMA)
        return wire_get_json(&c->text, r, key, e) < 0 ? -1 : 0;
    return set_text(&c->text, r, key, e);
}

int constrain_copy(struct constrain *to, const struct constrain *from,
                   struct err *e)
{
    *to = (struct constrain){
        .kind = from->kind, .name = from->name, .own = from->own};
    buf_put(&to->text, from->text.p, from->text.n);
    buf_put(&to->trigger, from->trigger.p, from->trigger.n);
    return buf_ok(&to->text, e) || buf_ok(&to->trigger, e) ? -1 : 0;
}

void constrain_fini(struct constrain *c)
{
    buf_free(&c->text);
    buf_free(&c->trigger);
    *c = (struct constrain){0};
}

/* ---- the vocabulary ---- */

/* Control tokens have their names, unknown and unused ones none. */
static int add_token(struct buf *text, bool *control, const struct tok *t,
                     uint32_t id, struct err *e)
{
    enum tok_type type = tok_type(t, id);
    struct gguf_str name = tok_spelling(t, id);

    *control = type == TOK_CONTROL || type == TOK_UNKNOWN ||
               type == TOK_UNUSED || tok_is_suppressed(t, id) ||
               tok_is_eog(t, id);
    if (!*control)
        return tok_decode(text, t, &id, 1, 0, e);
    buf_put(text, name.p, name.n);
    return buf_ok(text, e);
}

int constrain_vocab(struct grammar_vocab *v, struct buf *text,
                    const struct tok *t, struct err *e)
{
    uint32_t n = tok_count(t), *len;
    size_t head = ((size_t)n * (sizeof(uint8_t *) + 4 + 2) + 15) & ~(size_t)15;
    struct buf all = {0};
    uint8_t *control, *end;
    const uint8_t **p, *at;

    *v = (struct grammar_vocab){0};
    /* Tables first, the text behind them. */
    if (!buf_add(text, head))
        return err_nomem(e);
    p = (const uint8_t **)(void *)text->p;
    len = (uint32_t *)(void *)(p + n);
    control = (uint8_t *)(len + n);
    end = control + n;
    for (uint32_t id = 0; id < n; id++) {
        size_t from = all.n;
        bool is_control;

        if (add_token(&all, &is_control, t, id, e)) {
            buf_free(&all);
            return -1;
        }
        len[id] = (uint32_t)(all.n - from);
        control[id] = is_control;
        end[id] = tok_is_eog(t, id);
    }
    buf_put(text, all.p, all.n);
    buf_free(&all);
    if (buf_ok(text, e))
        return -1;
    /* It may have moved. */
    p = (const uint8_t **)(void *)text->p;
    len = (uint32_t *)(void *)(p + n);
    control = (uint8_t *)(len + n);
    at = text->p + head;
    for (uint32_t id = 0; id < n; at += len[id++])
        p[id] = at;
    *v = (struct grammar_vocab){
        .n = n, .text = p, .len = len, .control = control, .end = control + n};
    return 0;
}

/* ---- compiled grammars ---- */

enum {
    KEEP = 16,              /* grammars that nobody uses */
    MAX_MEMORY = 24u << 20, /* of one, before it is compiled anew */
};

struct entry {
    struct entry *next; /* the one used last goes first */
    struct grammar *g;
    enum constrain_kind kind;
    struct buf text;
    int users;
    bool stale;
};

struct constrain_cache {
    const struct tok *tok;
    struct grammar_vocab vocab;
    struct buf text;
    struct entry *first;
};

struct constrain_cache *constrain_cache_new(const struct tok *t, struct err *e)
{
    struct constrain_cache *k = calloc(1, sizeof *k);

    if (k)
        k->tok = t;
    else
        err_nomem(e);
    return k;
}

static void entry_free(struct entry *x)
{
    grammar_free(x->g);
    buf_free(&x->text);
    free(x);
}

void constrain_cache_free(struct constrain_cache *k)
{
    if (!k)
        return;
    while (k->first) {
        struct entry *x = k->first;

        k->first = x->next;
        entry_free(x);
    }
    grammar_vocab_free(&k->vocab);
    buf_free(&k->text);
    free(k);
}

const struct grammar_vocab *
constrain_cache_vocab(const struct constrain_cache *k)
{
    return k->vocab.n ? &k->vocab : NULL;
}

int constrain_compile(struct grammar **out, const struct constrain *c,
                      const struct grammar_vocab *v, struct err *e)
{
    const char *p = (const char *)c->text.p;
    size_t n = c->text.n;
    int rc;

    switch (c->kind) {
    case CONSTRAIN_GRAMMAR:
        rc = grammar_gbnf(out, p, n, v, e);
        break;
    case CONSTRAIN_SCHEMA:
        rc = grammar_schema(out, p, n, v, e);
        break;
    case CONSTRAIN_REGEX:
        rc = grammar_regex(out, p, n, v, e);
        break;
    default:
        rc = grammar_json(out, v, e);
    }
    return rc ? err_prefix(e, "%s", c->name) : 0;
}

/* Take the entry of C out of the list. */
static struct entry *find(struct constrain_cache *k, const struct constrain *c)
{
    for (struct entry **at = &k->first; *at; at = &(*at)->next) {
        struct entry *x = *at;

        if (x->stale || x->kind != c->kind || x->text.n != c->text.n ||
            (x->text.n && memcmp(x->text.p, c->text.p, x->text.n)))
            continue;
        if (grammar_memory(x->g) > MAX_MEMORY) {
            x->stale = true;
            continue;
        }
        *at = x->next;
        return x;
    }
    return NULL;
}

/* Those that nobody uses, but for the last few. */
static void sweep(struct constrain_cache *k)
{
    struct entry **at = &k->first, *x;
    int idle = 0;

    while ((x = *at)) {
        if (!x->users && (x->stale || ++idle > KEEP)) {
            *at = x->next;
            entry_free(x);
        } else {
            at = &x->next;
        }
    }
}

int constrain_get(struct grammar **out, struct constrain_cache *k,
                  const struct constrain *c, struct err *e)
{
    struct entry *x;

    *out = NULL;
    if (c->kind == CONSTRAIN_NONE)
        return 0;
    if (k->tok && !k->vocab.n &&
        (constrain_vocab(&k->vocab, &k->text, k->tok, e) ||
         grammar_vocab_index(&k->vocab, e)))
        return -1;
    x = find(k, c);
    if (!x) {
        x = calloc(1, sizeof *x);
        if (!x)
            return err_nomem(e);
        x->kind = c->kind;
        buf_put(&x->text, c->text.p, c->text.n);
        if (buf_ok(&x->text, e) ||
            constrain_compile(&x->g, c, k->tok ? &k->vocab : NULL, e)) {
            buf_free(&x->text);
            free(x);
            return -1;
        }
    }
    x->next = k->first;
    k->first = x;
    x->users++;
    *out = x->g;
    sweep(k);
    return 0;
}

void constrain_put(struct constrain_cache *k, struct grammar *g)
{
    for (struct entry *x = g ? k->first : NULL; x; x = x->next)
        if (x->g == g) {
            x->users--;
            sweep(k);
            return;
        }
}
