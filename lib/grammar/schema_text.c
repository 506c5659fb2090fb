/* SPDX-License-Identifier: MIT
 * schema_text.c - how scalars and names are written.
 *
 * A string may have any escapes where some of its pattern's texts need one.
 * Names and constants are written as Python's JSON writer does, either way:
 * beyond ASCII as they are, or as escapes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/dfa_impl.h"
#include "grammar/schema.h"

enum { MAX_PREFIXES = 64 }; /* one within the other */

static uint32_t literal(struct build *b, const char *text)
{
    return build_bytes(b, text, strlen(text));
}

/* One code point in a string: as it is, or escaped; those beyond four digits
 * are two escapes, and half of one is none. */
static int character(struct schema_write *w)
{
    static const char escaped[] =
        "\\\\(?:[\"\\\\/bfnrt]|u(?:(?:[0-9a-cefA-CEF][0-9a-fA-F]|[dD][0-7])"
        "[0-9a-fA-F]{2}|[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F]"
        "[0-9a-fA-F]{2}))";
    static const struct dfa_range other[] = {
        {0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    struct dfa *d;
    uint32_t both[2];

    if (dfa_regex(&d, escaped, sizeof escaped - 1, DFA_WHOLE, w->s->e))
        return -1;
    both[0] = build_dfa(w->b, d);
    both[1] = build_class(w->b, other, 3, true);
    dfa_free(d);
    w->character = build_alt(w->b, both, 2);
    return 0;
}

int schema_write_init(struct schema_write *w)
{
    w->space = build_space(w->b);
    w->comma = build_seq(
        w->b, (uint32_t[]){w->space, literal(w->b, ","), w->space}, 3);
    w->colon = build_seq(
        w->b, (uint32_t[]){w->space, literal(w->b, ":"), w->space}, 3);
    return character(w);
}

void schema_write_fini(struct schema_write *w)
{
    intern_free(&w->langs);
    buf_free(&w->lang_node);
}

/* ---- constants ---- */

static void put_string(struct buf *out, const struct schema_text *t, bool ascii)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    uint32_t cp;

    buf_putc(out, '"');
    for (size_t i = 0; i < t->n;) {
        const char *p = t->p + i, *short_one;
        size_t n = utf8_get((const unsigned char *)p, t->n - i, &cp);

        short_one = *p ? strchr(from, *p) : NULL;
        i += n;
        if (short_one) {
            buf_putc(out, '\\');
            buf_putc(out, to[short_one - from]);
        } else if (cp < 0x20 || (ascii && cp > 0x7e && cp < 0x10000)) {
            buf_printf(out, "\\u%04x", (unsigned)cp);
        } else if (ascii && cp > 0x7e) {
            buf_printf(out, "\\u%04x\\u%04x",
                       (unsigned)(0xd800 + ((cp - 0x10000) >> 10)),
                       (unsigned)(0xdc00 + (cp & 0x3ff)));
        } else {
            buf_put(out, p, n);
        }
    }
    buf_putc(out, '"');
}

static int by_bytes(const void *a, const void *b)
{
    const struct schema_text *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

/* One of T[N], sorted, from byte AT on: what they begin with is written once,
 * as far as DEPTH goes. */
static uint32_t one_of(struct schema_write *w, const struct schema_text *t,
                       size_t n, size_t at, int depth)
{
    uint32_t *each = schema_alloc(w->s, n, sizeof *each), node = 0;
    size_t k = 0;

    for (size_t i = 0, j; each && i < n; i = j) {
        size_t same = t[i].n;

        j = i + 1;
        while (depth && j < n && t[i].n > at && t[j].n > at &&
               t[i].p[at] == t[j].p[at])
            j++;
        if (j > i + 1) {
            const struct schema_text *last = &t[j - 1];
            uint32_t part[2];

            /* The first and the last differ first. */
            for (same = at; same < t[i].n && same < last->n &&
                            t[i].p[same] == last->p[same];)
                same++;
            part[0] = build_bytes(w->b, t[i].p + at, same - at);
            part[1] = one_of(w, t + i, j - i, same, depth - 1);
            each[k++] = build_seq(w->b, part, 2);
        } else {
            each[k++] = build_bytes(w->b, t[i].p + at, t[i].n - at);
        }
    }
    if (each)
        node = build_alt(w->b, each, (int)k);
    return node;
}

/* Texts in OUT, each ended by a NUL, as one node. */
static int choose(struct schema_write *w, struct buf *out, uint32_t *node)
{
    struct schema_text *t;
    size_t n = 0, k = 0;

    if (buf_ok(out, w->s->e))
        return -1;
    for (size_t i = 0; i < out->n; i++)
        n += !out->p[i];
    t = schema_alloc(w->s, n, sizeof *t);
    if (!t)
        return -1;
    for (size_t i = 0; i < out->n; i += t[k++].n + 1)
        t[k] = (struct schema_text){(char *)out->p + i,
                                    strlen((char *)out->p + i)};
    qsort(t, n, sizeof *t, by_bytes);
    for (size_t i = k = 0; i < n; i++)
        if (!k || by_bytes(&t[k - 1], &t[i]))
            t[k++] = t[i];
    *node = one_of(w, t, k, 0, MAX_PREFIXES);
    return schema_work(w->s, 0);
}

/* How numbers or strings may be written. */
static int put_texts(struct schema *s, bool number, const struct schema_text *t,
                     size_t n, struct buf *out)
{
    struct decimal d;

    for (size_t i = 0; i < n; i++) {
        if (number) {
            if (schema_decimal_read(&d, t[i].p, t[i].n, s->e))
                return -1;
            schema_decimal_spellings(out, &d);
        } else {
            put_string(out, &t[i], false);
            buf_putc(out, 0);
            put_string(out, &t[i], true);
            buf_putc(out, 0);
        }
    }
    return 0;
}

static int texts(struct schema_write *w, bool number,
                 const struct schema_text *t, size_t n, uint32_t *node)
{
    struct buf out = {0};
    int rc = put_texts(w->s, number, t, n, &out) || choose(w, &out, node);

    buf_free(&out);
    return rc ? -1 : 0;
}

/* ---- languages ---- */

/* Do the texts of D have only characters that nobody writes as escapes? */
static bool plain(const struct dfa *d)
{
    uint32_t dead = dfa_dead(d);

    for (uint32_t r = 0; r < d->nrange; r++) {
        uint32_t first = d->first[r],
                 last = r + 1 < d->nrange ? d->first[r + 1] - 1 : UINT32_MAX;
        bool good = first >= ' ' && last < 0x7f &&
                    (first > '"' || last < '"') &&
                    (first > '\\' || last < '\\');

        for (uint32_t i = 0; !good && i < d->n; i++)
            if (d->next[(size_t)i * d->nclass + d->class[r]] != dead)
                return false;
    }
    return true;
}

/* D, which is plain, over bytes. */
static int to_bytes(struct schema_write *w, const struct dfa *d,
                    struct dfa **out)
{
    uint32_t n = 0;

    while (n < d->nrange && d->first[n] < 256)
        n++;
    *out = dfa_new(d->n, d->nclass, n, true, w->s->e);
    if (!*out)
        return -1;
    memcpy((*out)->first, d->first, n * sizeof *d->first);
    memcpy((*out)->class, d->class, n * sizeof *d->class);
    memcpy((*out)->next, d->next, (size_t)d->n * d->nclass * sizeof *d->next);
    memcpy((*out)->ends, d->ends, d->n);
    return 0;
}

/* JSON strings with the contents of D, or, unless QUOTED, its texts; made once.
 */
static int contents(struct schema_write *w, const struct dfa *d, bool quoted,
                    uint32_t *node)
{
    uintptr_t p = (uintptr_t)d;
    uint32_t key[3] = {(uint32_t)p, (uint32_t)((uint64_t)p >> 32), quoted};
    struct dfa *bytes = NULL;
    bool fresh = false, raw;
    uint32_t id = intern_put(&w->langs, key, 3, &fresh);

    if (id == INTERN_NONE)
        return err_nomem(w->s->e);
    if (!fresh) {
        memcpy(node, w->lang_node.p + (size_t)id * sizeof *node, sizeof *node);
        return 0;
    }
    raw = !quoted || plain(d);
    if (raw ? to_bytes(w, d, &bytes) : dfa_json(&bytes, d, w->s->e))
        return -1;
    *node = build_dfa(w->b, bytes);
    if (raw && quoted) {
        uint32_t quote = literal(w->b, "\""), all[] = {quote, *node, quote};

        *node = build_seq(w->b, all, 3);
    }
    dfa_free(bytes);
    buf_put(&w->lang_node, node, sizeof *node);
    return buf_ok(&w->lang_node, w->s->e);
}

static int lang(struct schema_write *w, const struct schema_lang *l,
                uint32_t *node)
{
    struct schema_set one = {.nlang = 1, .lang = l};
    const struct dfa *d;

    if (!l->d) {
        uint32_t quote = literal(w->b, "\"");
        uint32_t all[] = {
            quote, build_repeat(w->b, w->character, (int)l->min, (int)l->max),
            quote};

        *node = build_seq(w->b, all, 3);
        return 0;
    }
    return schema_set_dfa(w->s, &one, &d) || contents(w, d, true, node) ? -1
                                                                        : 0;
}

int schema_write_scalars(struct schema_write *w, uint32_t state, uint32_t *node)
{
    static const struct {
        enum schema_type type;
        uint8_t bit;
        const char *word;
    } words[] = {{TYPE_NULL, 1, "null"},
                 {TYPE_BOOL, 1, "false"},
                 {TYPE_BOOL, 2, "true"}};
    const struct schema_set *num = schema_state_set(w->s, state, TYPE_NUMBER),
                            *str = schema_state_set(w->s, state, TYPE_STRING),
                            *set;
    size_t n = 0, all;
    uint32_t *one;
    int rc = 0;

    if (!num || !str)
        return -1;
    all = num->nlang + str->nlang + 5;
    one = schema_alloc(w->s, all, sizeof *one);
    if (!one)
        return -1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        set = schema_state_set(w->s, state, words[i].type);
        if (!set)
            return -1;
        if (set->bits & words[i].bit)
            one[n++] = literal(w->b, words[i].word);
    }
    if (num->ntext)
        rc = texts(w, true, num->text, num->ntext, &one[n++]);
    for (size_t i = 0; !rc && i < num->nlang; i++) {
        const struct dfa *d = num->lang[i].d;
        struct schema_at at = {0};

        rc = (!d && schema_made(w->s, &at, 0, "", 0, &d)) ||
             contents(w, d, false, &one[n++]);
    }
    if (!rc && str->ntext)
        rc = texts(w, false, str->text, str->ntext, &one[n++]);
    for (size_t i = 0; !rc && i < str->nlang; i++)
        rc = lang(w, &str->lang[i], &one[n++]);
    *node = build_alt(w->b, one, (int)n);
    return rc ? -1 : 0;
}

int schema_write_name(struct schema_write *w, const struct schema_member *m,
                      uint32_t *node)
{
    return m->d ? contents(w, m->d, true, node)
                : texts(w, false, &m->name, 1, node);
}
