/* SPDX-License-Identifier: MIT
 * str.c - strings: UTF-8 whose bytes know where they come from.
 */
#include "base/unicode.h"
#include "base/utf8.h"
#include "jinja/jinja_impl.h"

static struct str *header(struct ctx *c, const unsigned char *p, size_t n)
{
    struct str *s = ctx_alloc(c, 1, sizeof *s);
    unsigned char any = 0;

    if (!s || !ctx_step(c, n / 64))
        return NULL;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    s->p = p;
    s->n = n;
    s->ascii = any < 0x80;
    return s;
}

struct val str_new(struct ctx *c, const void *p, size_t n, bool data)
{
    unsigned char *to = ctx_alloc(c, n + 1, 1);
    struct str *s;

    if (!to)
        return VAL_NONE;
    if (n)
        memcpy(to, p, n);
    s = header(c, to, n);
    if (!s)
        return VAL_NONE;
    s->data = data;
    return val_str(s);
}

struct val str_lit(struct ctx *c, const char *lit)
{
    struct str *s = header(c, (const unsigned char *)lit, strlen(lit));

    return s ? val_str(s) : VAL_NONE;
}

struct val str_part(struct ctx *c, const struct str *s, size_t at, size_t n)
{
    struct str *part;

    if (at == 0 && n == s->n)
        return val_str((struct str *)(uintptr_t)s);
    if (n == 1 && s->p[at] < 0x80)
        return val_str(&c->one[str_marked(s, at)][s->p[at]]);
    part = header(c, s->p + at, n);
    if (!part)
        return VAL_NONE;
    part->data = s->data;
    part->mark = s->mark ? s->mark + at : NULL;
    return val_str(part);
}

bool str_marked(const struct str *s, size_t at)
{
    return s->mark ? s->mark[at] : s->data;
}

bool str_any_data(const struct str *s)
{
    return s->mark ? s->n && memchr(s->mark, 1, s->n) : s->data && s->n;
}

static void mark_copy(unsigned char *to, const struct str *s)
{
    if (s->mark && s->n)
        memcpy(to, s->mark, s->n);
    else
        memset(to, s->data, s->n);
}

static bool uniform(const struct str *a, const struct str *b)
{
    return !a->mark && !b->mark && (a->data == b->data || !a->n || !b->n);
}

/* A + B behind A itself, where A ends the room it lies in. */
static bool append(struct ctx *c, struct str *s, const struct str *a,
                   const struct str *b)
{
    struct room *room = a->room;

    if (!room || room->used != a->n || b->n > room->cap - room->used ||
        (!a->mark && !uniform(a, b)))
        return false;
    memcpy((unsigned char *)(uintptr_t)a->p + a->n, b->p, b->n);
    if (a->mark)
        mark_copy((unsigned char *)(uintptr_t)a->mark + a->n, b);
    room->used += b->n;
    *s = *a;
    return ctx_step(c, b->n / 64);
}

struct val str_concat(struct ctx *c, const struct str *a, const struct str *b)
{
    struct str *s = ctx_alloc(c, 1, sizeof *s);
    size_t n = a->n + b->n, cap = a->n > 256 ? 2 * n : n;
    unsigned char *p, *mark = NULL;

    if (!b->n || !a->n)
        return val_str((struct str *)(uintptr_t)(a->n ? a : b));
    if (!s)
        return VAL_NONE;
    if (!append(c, s, a, b)) {
        if (!ctx_step(c, n / 32) || !(p = ctx_alloc(c, cap, 1)))
            return VAL_NONE;
        memcpy(p, a->p, a->n);
        memcpy(p + a->n, b->p, b->n);
        if (!uniform(a, b)) {
            if (!(mark = ctx_alloc(c, cap, 1)))
                return VAL_NONE;
            mark_copy(mark, a);
            mark_copy(mark + a->n, b);
        }
        s->p = p;
        s->mark = mark;
        s->data = a->data;
        s->room = cap > n ? ctx_alloc(c, 1, sizeof *s->room) : NULL;
        if (s->room)
            *s->room = (struct room){n, cap};
    }
    s->n = n;
    s->ascii = a->ascii && b->ascii;
    return failed(c) ? VAL_NONE : val_str(s);
}

bool str_is(const struct str *s, const char *lit)
{
    return s->n == strlen(lit) && !memcmp(s->p, lit, s->n);
}

bool str_same(const struct str *a, const struct str *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

size_t str_chars(const struct str *s)
{
    size_t n = 0;

    if (s->ascii)
        return s->n;
    for (size_t i = 0; i < s->n; i++)
        n += (s->p[i] & 0xc0) != 0x80;
    return n;
}

size_t str_offset(const struct str *s, size_t i)
{
    size_t at = 0;

    if (s->ascii)
        return i < s->n ? i : s->n;
    for (; at < s->n; at++)
        if ((s->p[at] & 0xc0) != 0x80 && i-- == 0)
            break;
    return at;
}

/* The needle's first byte by memchr(), then the rest; steps bound the product
 * of both lengths. */
ptrdiff_t str_find(struct ctx *c, const struct str *s, size_t from,
                   const struct str *needle)
{
    const unsigned char *p, *end = s->p + s->n;
    size_t tries = 0;

    if (from > s->n || needle->n > s->n - from || !ctx_step(c, 1))
        return -1;
    if (!needle->n)
        return (ptrdiff_t)from;
    end -= needle->n - 1;
    for (p = s->p + from; p < end; p++, tries++) {
        p = memchr(p, needle->p[0], (size_t)(end - p));
        if (!p)
            break;
        if (!memcmp(p, needle->p, needle->n))
            break;
        if ((tries & 15) == 15 && !ctx_step(c, 1 + needle->n / 4))
            return -1;
    }
    ctx_step(c, ((p && p < end ? (size_t)(p - s->p) : s->n) - from) / 64);
    return p && p < end ? p - s->p : -1;
}

ptrdiff_t str_rfind(struct ctx *c, const struct str *s,
                    const struct str *needle)
{
    if (needle->n > s->n)
        return -1;
    for (size_t at = s->n - needle->n + 1; at-- > 0;) {
        if (!memcmp(s->p + at, needle->p, needle->n))
            return (ptrdiff_t)at;
        if ((at & 15) == 15 && !ctx_step(c, 1 + needle->n / 4))
            return -1;
    }
    return -1;
}

bool str_is_space(uint32_t cp)
{
    return (cp >= 9 && cp <= 13) || (cp >= 0x1c && cp <= 0x20) ||
           (cp > 127 && unicode_class(cp) & UNI_SPACE);
}

static bool strips(uint32_t cp, const struct str *chars)
{
    uint32_t one;

    if (!chars)
        return str_is_space(cp);
    for (size_t i = 0; i < chars->n;) {
        i += utf8_get(chars->p + i, chars->n - i, &one);
        if (one == cp)
            return true;
    }
    return false;
}

struct val str_strip(struct ctx *c, const struct str *s,
                     const struct str *chars, int sides)
{
    size_t from = 0, to = s->n, at;
    uint32_t cp;
    size_t each = 1 + (chars ? chars->n / 8 : 0);

    while (sides & 1 && from < to && ctx_step(c, each)) {
        at = utf8_get(s->p + from, to - from, &cp);
        if (!strips(cp, chars))
            break;
        from += at;
    }
    while (sides & 2 && from < to && ctx_step(c, each)) {
        for (at = to - 1; at > from && (s->p[at] & 0xc0) == 0x80;)
            at--;
        utf8_get(s->p + at, to - at, &cp);
        if (!strips(cp, chars))
            break;
        to = at;
    }
    return str_part(c, s, from, to - from);
}

/* ---- case ---- */

/* Is the sigma at AT the last letter of a word? */
static bool final_sigma(const struct str *s, size_t at, size_t len)
{
    size_t i = at;
    uint32_t cp;
    bool before = false;

    while (i > 0 && !before) {
        do
            i--;
        while (i > 0 && (s->p[i] & 0xc0) == 0x80);
        utf8_get(s->p + i, s->n - i, &cp);
        if (unicode_is_cased(cp))
            before = true;
        else if (!unicode_is_case_ignorable(cp))
            break;
    }
    if (!before)
        return false;
    for (i = at + len; i < s->n;) {
        i += utf8_get(s->p + i, s->n - i, &cp);
        if (unicode_is_cased(cp))
            return false;
        if (!unicode_is_case_ignorable(cp))
            break;
    }
    return true;
}

struct val str_case(struct ctx *c, const struct str *s, int how)
{
    size_t from = c->out.n;
    bool inside = false; /* a word, or the string */
    uint32_t cp, out[UNI_CASE_MAX];

    for (size_t i = 0, len; i < s->n && ctx_step(c, 1); i += len) {
        bool cased;
        int n, as = how;

        len = utf8_get(s->p + i, s->n - i, &cp);
        cased = how == 't' && unicode_is_cased(cp);
        if (how == 't' || how == 'c')
            as = inside ? 'l' : 't';
        if (how == 's')
            as = unicode_is_lower(cp) ? 'u' : unicode_is_upper(cp) ? 'l' : 0;
        inside = how == 't' ? cased : true;
        if (as == 'l' && cp == 0x3a3 && final_sigma(s, i, len)) {
            ctx_put_cp(c, 0x3c2, str_marked(s, i));
            continue;
        }
        out[0] = cp;
        n = as == 'l'   ? unicode_lower(cp, out)
            : as == 'u' ? unicode_upper(cp, out)
            : as == 't' ? unicode_title(cp, out)
                        : 1;
        for (int k = 0; k < n; k++)
            ctx_put_cp(c, out[k], str_marked(s, i));
    }
    return ctx_take(c, from);
}
