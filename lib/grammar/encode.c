/* SPDX-License-Identifier: MIT
 * encode.c - automata over code points as automata over bytes.
 *
 * A form, UTF-8 or the inside of a JSON string, is a tree over bytes whose
 * leaves are classes of code points; equal branches are one.  A state of the
 * result is a state of the automaton and a branch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "grammar/dfa_impl.h"
#include "grammar/intern.h"

enum {
    MAX_BRANCH = 16384,
    NONE = 0, /* nothing, or LEAF(class), or BRANCH(id) */
};
#define LEAF(c)    ((c)*2 + 1)
#define BRANCH(id) ((id)*2 + 2)

struct form {
    const struct dfa *a;
    struct intern branch; /* [256] each */
    uint32_t *whole;      /* [classes][SHAPES]: branches of one class */
    struct err *e;
    bool bad;
};

/* Branches by the digits that are still to come: bytes of UTF-8, digits of \u,
 * those of the second \u. */
enum { CONT = 0, HEX = 4, LOW = 9, SHAPES = 14 };

static uint32_t branch(struct form *f, const uint32_t to[256])
{
    uint32_t id, any = 0;

    for (int i = 0; i < 256; i++)
        any |= to[i];
    if (!any || f->bad)
        return NONE;
    id = intern_put(&f->branch, to, 256, NULL);
    f->bad = id == INTERN_NONE || id > MAX_BRANCH;
    if (id == INTERN_NONE)
        err_nomem(f->e);
    else if (f->bad)
        dfa_too_large(f->e);
    return f->bad ? NONE : BRANCH(id);
}

/* Are N code points from CP on of one class? */
static bool uniform(const struct form *f, uint32_t cp, uint32_t n)
{
    const struct dfa *a = f->a;
    uint32_t lo = 0, hi = a->nrange, s = dfa_symbol(cp);

    if (cp + n > 0x110000 || (cp < 0xe000 && cp + n > 0xd800))
        return false;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        if (a->first[mid] <= s)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1 == a->nrange || a->first[lo + 1] >= s + n;
}

static uint32_t leaf(const struct form *f, uint32_t cp)
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return NONE;
    return LEAF(dfa_class(f->a, dfa_symbol(cp)));
}

/* R bytes more of the characters from CP on, none of which is less than MIN. */
static uint32_t rest(struct form *f, uint32_t cp, int r, uint32_t min)
{
    uint32_t to[256], span = 1u << 6 * r, *kept = NULL;

    if (cp + span <= min || cp > 0x10ffff)
        return NONE;
    if (!r)
        return leaf(f, cp);
    if (cp >= min && uniform(f, cp, span)) {
        kept = &f->whole[dfa_class(f->a, dfa_symbol(cp)) * SHAPES + CONT +
                         (uint32_t)r];
        if (*kept)
            return *kept;
    }
    memset(to, 0, sizeof to);
    for (uint32_t i = 0; i < 64 && !f->bad; i++)
        to[0x80 + i] = rest(f, cp + i * (span / 64), r - 1, min);
    span = branch(f, to);
    if (kept)
        *kept = span;
    return span;
}

static void utf8(struct form *f, uint32_t to[256])
{
    for (uint32_t b = 0; b < 0x80; b++)
        to[b] = leaf(f, b);
    for (uint32_t b = 0xc2; b < 0xe0; b++)
        to[b] = rest(f, (b & 31) << 6, 1, 0x80);
    for (uint32_t b = 0xe0; b < 0xf0; b++)
        to[b] = rest(f, (b & 15) << 12, 2, 0x800);
    for (uint32_t b = 0xf0; b < 0xf5; b++)
        to[b] = rest(f, (b & 7) << 18, 3, 0x10000);
}

static void put_digit(uint32_t to[256], uint32_t d, uint32_t v)
{
    if (d < 10) {
        to['0' + d] = v;
    } else {
        to['a' + d - 10] = v;
        to['A' + d - 10] = v;
    }
}

/* R digits more of the second half of a pair; CP is that of digits 0. */
static uint32_t low(struct form *f, uint32_t cp, int r)
{
    static const uint8_t from[] = {0, 0, 0, 12, 13},
                         to_[] = {0, 15, 15, 15, 13};
    uint32_t to[256], *kept = NULL, made;

    if (!r)
        return leaf(f, cp);
    if (uniform(f, cp, r > 2 ? 1024 : 1u << 4 * r)) {
        kept = &f->whole[dfa_class(f->a, dfa_symbol(cp)) * SHAPES + LOW +
                         (uint32_t)r];
        if (*kept)
            return *kept;
    }
    memset(to, 0, sizeof to);
    for (uint32_t d = from[r]; d <= to_[r] && !f->bad; d++)
        put_digit(
            to, d,
            low(f, cp + (r > 3 ? 0 : (d - from[r]) << 4 * (r - 1)), r - 1));
    made = branch(f, to);
    if (kept)
        *kept = made;
    return made;
}

/* "\uXXXX" of the second half follows. */
static uint32_t pair(struct form *f, uint32_t high)
{
    uint32_t slash[256] = {0}, u[256] = {0};

    u['u'] = low(f, 0x10000 + ((high - 0xd800) << 10), 4);
    slash['\\'] = branch(f, u);
    return branch(f, slash);
}

/* R digits more, after those of CP. */
static uint32_t digits(struct form *f, uint32_t cp, int r)
{
    uint32_t to[256], span = 1u << 4 * r, *kept = NULL, made;

    if (!r)
        return cp >= 0xd800 && cp < 0xdc00 ? pair(f, cp) : leaf(f, cp);
    if (uniform(f, cp, span)) {
        kept = &f->whole[dfa_class(f->a, dfa_symbol(cp)) * SHAPES + HEX +
                         (uint32_t)r];
        if (*kept)
            return *kept;
    }
    memset(to, 0, sizeof to);
    for (uint32_t d = 0; d < 16 && !f->bad; d++)
        put_digit(to, d, digits(f, cp + (d << 4 * (r - 1)), r - 1));
    made = branch(f, to);
    if (kept)
        *kept = made;
    return made;
}

static void json(struct form *f, uint32_t to[256])
{
    static const char from[] = "\"\\/bfnrt", as[] = "\"\\/\b\f\n\r\t";
    uint32_t escape[256] = {0};

    utf8(f, to);
    for (int b = 0; b < 0x20; b++)
        to[b] = NONE;
    to['"'] = NONE;
    for (int i = 0; from[i]; i++)
        escape[(unsigned char)from[i]] = leaf(f, (unsigned char)as[i]);
    escape['u'] = digits(f, 0, 4);
    to['\\'] = branch(f, escape);
}

/* ---- states ---- */

/* Pairs of a state and a branch; the first of these is none: */
enum { OPEN, CLOSED, DEAD };

struct maker {
    struct form f;
    bool quotes;
    uint32_t root, dead;
    uint32_t class[256], byte[256], nclass; /* a byte of each class */
    struct intern state;
    struct buf next;
};

/* Bytes that no branch tells apart are one class. */
static int byte_classes(struct maker *m, struct err *e)
{
    size_t n = m->f.branch.n;
    uint32_t *column = malloc((n + 1) * sizeof *column);
    struct intern columns = {0};
    int rc = column ? 0 : err_nomem(e);

    for (uint32_t b = 0; b < 256 && !rc; b++) {
        bool fresh;

        for (uint32_t i = 0; i < n; i++)
            column[i] = intern_get(&m->f.branch, i)[b];
        column[n] = b == '"';
        m->class[b] = intern_put(&columns, column, n + 1, &fresh);
        if (m->class[b] == INTERN_NONE)
            rc = err_nomem(e);
        else if (fresh)
            m->byte[m->class[b]] = b;
    }
    m->nclass = columns.n;
    intern_free(&columns);
    free(column);
    return rc;
}

static void step(const struct maker *m, const uint32_t at[2], uint32_t byte,
                 uint32_t to[2])
{
    const struct dfa *a = m->f.a;
    uint32_t v, s;

    to[0] = UINT32_MAX;
    to[1] = DEAD;
    if (at[0] == UINT32_MAX) {
        if (at[1] == OPEN && byte == '"') {
            to[0] = 0;
            to[1] = m->root;
        }
        return;
    }
    if (m->quotes && at[1] == m->root && byte == '"') {
        if (a->ends[at[0]])
            to[1] = CLOSED;
        return;
    }
    v = intern_get(&m->f.branch, at[1])[byte];
    if (v == NONE)
        return;
    s = v & 1 ? a->next[(size_t)at[0] * a->nclass + v / 2] : at[0];
    if (s == m->dead)
        return;
    to[0] = s;
    to[1] = v & 1 ? m->root : v / 2 - 1;
}

static int states(struct maker *m, struct err *e)
{
    uint32_t start[2] = {0, m->root};

    if (m->quotes) {
        start[0] = UINT32_MAX;
        start[1] = OPEN;
    }
    if (intern_put(&m->state, start, 2, NULL) == INTERN_NONE)
        return err_nomem(e);
    for (uint32_t s = 0; s < m->state.n; s++) {
        uint32_t at[2];

        memcpy(at, intern_get(&m->state, s), sizeof at);
        if (s >= DFA_MAX_STATES || (size_t)s * m->nclass > DFA_MAX_CELLS)
            return dfa_too_large(e);
        for (uint32_t c = 0; c < m->nclass; c++) {
            uint32_t to[2], id;

            step(m, at, m->byte[c], to);
            id = intern_put(&m->state, to, 2, NULL);
            if (id == INTERN_NONE)
                return err_nomem(e);
            buf_put(&m->next, &id, sizeof id);
        }
    }
    return buf_ok(&m->next, e);
}

static int finish(struct dfa **out, struct maker *m, struct err *e)
{
    struct dfa *d = dfa_new(m->state.n, m->nclass, 256, true, e);

    if (!d)
        return -1;
    memcpy(d->next, m->next.p, m->next.n);
    for (uint32_t b = 0; b < 256; b++) {
        d->first[b] = b;
        d->class[b] = m->class[b];
    }
    for (uint32_t s = 0; s < d->n; s++) {
        const uint32_t *at = intern_get(&m->state, s);

        d->ends[s] = m->quotes ? at[0] == UINT32_MAX && at[1] == CLOSED
                               : at[0] != UINT32_MAX && at[1] == m->root &&
                                     m->f.a->ends[at[0]];
    }
    if (dfa_minimize(d, e)) {
        dfa_free(d);
        return -1;
    }
    *out = d;
    return 0;
}

static int encode(struct dfa **out, const struct dfa *a, bool quotes,
                  struct err *e)
{
    struct maker m = {.f = {.a = a, .e = e}, .quotes = quotes};
    uint32_t to[256] = {0};
    int rc = -1;

    *out = NULL;
    m.f.whole = calloc((size_t)a->nclass * SHAPES, sizeof *m.f.whole);
    if (!m.f.whole)
        return err_nomem(e);
    if (quotes)
        json(&m.f, to);
    else
        utf8(&m.f, to);
    m.dead = dfa_dead(a);
    if (!m.f.bad)
        m.root = branch(&m.f, to) / 2 - 1;
    if (!m.f.bad && !byte_classes(&m, e) && !states(&m, e))
        rc = finish(out, &m, e);
    free(m.f.whole);
    intern_free(&m.f.branch);
    intern_free(&m.state);
    buf_free(&m.next);
    return rc;
}

int dfa_utf8(struct dfa **out, const struct dfa *a, struct err *e)
{
    return encode(out, a, false, e);
}

int dfa_json(struct dfa **out, const struct dfa *a, struct err *e)
{
    return encode(out, a, true, e);
}
