/* SPDX-License-Identifier: MIT
 * dfa.c - automata as they are made, minimized, joined and negated.
 *
 * All are complete: the dead state is one of theirs.  Hopcroft's partition
 * refinement takes n k log n steps, which a text of any length needs: rounds
 * over all states would be n of them.
 */
#include "grammar/dfa.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "grammar/dfa_impl.h"
#include "grammar/intern.h"

int dfa_too_large(struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "the pattern has too many states");
}

struct dfa *dfa_new(size_t n, size_t nclass, size_t nrange, bool bytes,
                    struct err *e)
{
    struct dfa *a;

    if (n > DFA_MAX_STATES || nclass > DFA_MAX_CELLS / n) {
        dfa_too_large(e);
        return NULL;
    }
    a = calloc(1, sizeof *a);
    if (!a) {
        err_nomem(e);
        return NULL;
    }
    *a = (struct dfa){(uint32_t)n,
                      (uint32_t)nclass,
                      (uint32_t)nrange,
                      malloc(nrange * sizeof *a->first),
                      calloc(nrange, sizeof *a->class),
                      malloc(n * nclass * sizeof *a->next),
                      calloc(n, 1),
                      bytes};
    if (!a->first || !a->class || !a->next || !a->ends) {
        dfa_free(a);
        err_nomem(e);
        return NULL;
    }
    return a;
}

void dfa_free(struct dfa *a)
{
    if (!a)
        return;
    free(a->first);
    free(a->class);
    free(a->next);
    free(a->ends);
    free(a);
}

uint32_t dfa_class(const struct dfa *a, uint32_t symbol)
{
    uint32_t lo = 0, hi = a->nrange;

    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        if (a->first[mid] <= symbol)
            lo = mid;
        else
            hi = mid;
    }
    return a->class[lo];
}

uint32_t dfa_dead(const struct dfa *a)
{
    for (uint32_t s = 0; s < a->n; s++) {
        uint32_t c = 0;

        while (!a->ends[s] && c < a->nclass &&
               a->next[(size_t)s * a->nclass + c] == s)
            c++;
        if (!a->ends[s] && c == a->nclass)
            return s;
    }
    return a->n;
}

/* ---- minimizing ---- */

struct part {
    uint32_t n, k, nblock;
    uint32_t *inv_at, *inv;       /* [k][n] + 1, [k][n]: who comes here by k */
    uint32_t *elem, *loc, *block; /* [n] */
    uint32_t *start, *end, *mark; /* [n]: of blocks */
    uint32_t *work, nwork;        /* blocks to split by */
    uint8_t *queued;
    uint32_t *touched, ntouched;
    uint32_t *copy;
};

static void part_free(struct part *p)
{
    free(p->inv_at);
    free(p->inv);
    free(p->elem);
    free(p->queued);
}

static int part_new(struct part *p, const struct dfa *a, struct err *e)
{
    size_t n = a->n, k = a->nclass;
    uint32_t *all;

    *p = (struct part){.n = a->n, .k = a->nclass};
    p->inv_at = calloc(n * k + 1, sizeof *p->inv_at);
    p->inv = malloc(n * k * sizeof *p->inv);
    all = malloc(n * 9 * sizeof *all);
    p->elem = all;
    p->queued = calloc(n, 1);
    if (!p->inv_at || !p->inv || !all || !p->queued) {
        part_free(p);
        return err_nomem(e);
    }
    p->loc = all + n;
    p->block = all + n * 2;
    p->start = all + n * 3;
    p->end = all + n * 4;
    p->mark = all + n * 5;
    p->work = all + n * 6;
    p->touched = all + n * 7;
    p->copy = all + n * 8;
    for (size_t i = 0; i < n * k; i++)
        p->inv_at[i % k * n + a->next[i] + 1]++;
    for (size_t i = 0; i < n * k; i++)
        p->inv_at[i + 1] += p->inv_at[i];
    /* Filled from the back, so that each start ends up where it belongs. */
    for (size_t i = n * k; i-- > 0;)
        p->inv[--p->inv_at[i % k * n + a->next[i] + 1]] = (uint32_t)(i / k);
    for (size_t i = 0; i < n * k; i++)
        p->inv_at[i] = p->inv_at[i + 1];
    p->inv_at[n * k] = (uint32_t)(n * k);
    return 0;
}

static void part_queue(struct part *p, uint32_t b)
{
    p->queued[b] = 1;
    p->work[p->nwork++] = b;
}

/* Those that end, and those that do not. */
static void part_begin(struct part *p, const struct dfa *a)
{
    uint32_t i = 0;

    for (int ends = 0; ends < 2; ends++) {
        uint32_t from = i;

        for (uint32_t s = 0; s < p->n; s++)
            if (a->ends[s] == ends) {
                p->elem[i] = s;
                p->loc[s] = i++;
                p->block[s] = p->nblock;
            }
        if (i == from)
            continue;
        p->start[p->nblock] = from;
        p->end[p->nblock] = i;
        p->mark[p->nblock] = 0;
        part_queue(p, p->nblock++);
    }
}

static void part_mark(struct part *p, uint32_t s)
{
    uint32_t b = p->block[s], to = p->start[b] + p->mark[b], other;

    if (p->loc[s] < to)
        return;
    if (!p->mark[b]++)
        p->touched[p->ntouched++] = b;
    other = p->elem[to];
    p->elem[p->loc[s]] = other;
    p->loc[other] = p->loc[s];
    p->elem[to] = s;
    p->loc[s] = to;
}

static void part_split(struct part *p)
{
    while (p->ntouched) {
        uint32_t b = p->touched[--p->ntouched], m = p->start[b] + p->mark[b],
                 size = p->end[b] - p->start[b], c;

        c = p->mark[b];
        p->mark[b] = 0;
        if (c == size)
            continue;
        /* The smaller half is a new block. */
        if (c <= size - c) {
            p->start[p->nblock] = p->start[b];
            p->end[p->nblock] = m;
            p->start[b] = m;
        } else {
            p->start[p->nblock] = m;
            p->end[p->nblock] = p->end[b];
            p->end[b] = m;
        }
        c = p->nblock++;
        p->mark[c] = 0;
        for (uint32_t i = p->start[c]; i < p->end[c]; i++)
            p->block[p->elem[i]] = c;
        part_queue(p, c);
    }
}

static void part_refine(struct part *p)
{
    while (p->nwork) {
        uint32_t b = p->work[--p->nwork], n = p->end[b] - p->start[b];

        p->queued[b] = 0;
        memcpy(p->copy, p->elem + p->start[b], n * sizeof *p->copy);
        for (size_t c = 0; c < p->k; c++) {
            for (uint32_t i = 0; i < n; i++) {
                size_t at = c * p->n + p->copy[i];

                for (uint32_t j = p->inv_at[at]; j < p->inv_at[at + 1]; j++)
                    part_mark(p, p->inv[j]);
            }
            part_split(p);
        }
    }
}

/* Classes whose columns are equal become one. */
static int merge_classes(struct dfa *a, struct err *e)
{
    struct intern columns = {0};
    uint32_t *column = malloc(a->n * sizeof *column),
             *to = malloc(a->nclass * sizeof *to), k = 0, n = 0;
    int rc = column && to ? 0 : err_nomem(e);

    for (uint32_t c = 0; !rc && c < a->nclass; c++) {
        for (uint32_t s = 0; s < a->n; s++)
            column[s] = a->next[(size_t)s * a->nclass + c];
        to[c] = intern_put(&columns, column, a->n, NULL);
        if (to[c] == INTERN_NONE)
            rc = err_nomem(e);
    }
    if (!rc) {
        k = columns.n;
        for (size_t s = 0; s < a->n; s++)
            for (uint32_t c = 0; c < k; c++)
                a->next[s * k + c] = intern_get(&columns, c)[s];
        a->nclass = k;
        for (uint32_t r = 0; r < a->nrange; r++) {
            uint32_t c = to[a->class[r]];

            if (n && a->class[n - 1] == c)
                continue;
            a->first[n] = a->first[r];
            a->class[n++] = c;
        }
        a->nrange = n;
    }
    free(column);
    free(to);
    intern_free(&columns);
    return rc;
}

int dfa_minimize(struct dfa *a, struct err *e)
{
    struct part p;
    uint32_t *number, *order, n = 1, k = a->nclass, *next;
    uint8_t *ends;

    if (part_new(&p, a, e))
        return -1;
    part_begin(&p, a);
    part_refine(&p);
    /* Blocks are numbered as they are reached. */
    number = p.mark;
    order = p.work;
    memset(number, 0xff, p.n * sizeof *number);
    next = malloc((size_t)p.nblock * k * sizeof *next);
    ends = malloc(p.nblock);
    if (!next || !ends) {
        free(next);
        free(ends);
        part_free(&p);
        return err_nomem(e);
    }
    order[0] = p.block[0];
    number[p.block[0]] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = p.elem[p.start[order[i]]];

        ends[i] = a->ends[s];
        for (uint32_t c = 0; c < k; c++) {
            uint32_t b = p.block[a->next[(size_t)s * k + c]];

            if (number[b] == UINT32_MAX) {
                number[b] = n;
                order[n++] = b;
            }
            next[(size_t)i * k + c] = number[b];
        }
    }
    part_free(&p);
    free(a->next);
    free(a->ends);
    a->next = next;
    a->ends = ends;
    a->n = n;
    return merge_classes(a, e);
}

/* ---- algebra ---- */

static struct dfa *copy(const struct dfa *a, struct err *e)
{
    struct dfa *d = dfa_new(a->n, a->nclass, a->nrange, a->bytes, e);

    if (!d)
        return NULL;
    memcpy(d->first, a->first, a->nrange * sizeof *d->first);
    memcpy(d->class, a->class, a->nrange * sizeof *d->class);
    memcpy(d->next, a->next, (size_t)a->n * a->nclass * sizeof *d->next);
    memcpy(d->ends, a->ends, a->n);
    return d;
}

int dfa_not(struct dfa **out, const struct dfa *a, struct err *e)
{
    *out = copy(a, e);
    if (!*out)
        return -1;
    for (uint32_t s = 0; s < a->n; s++)
        (*out)->ends[s] = !a->ends[s];
    return 0;
}

/* The ranges of both: each with its class of A and its class of B. */
struct joint {
    uint32_t n, *first, *class;
    struct intern pair;
};

static int joint_make(struct joint *j, const struct dfa *a, const struct dfa *b,
                      struct err *e)
{
    uint32_t x = 0, y = 0;

    *j = (struct joint){0};
    j->first = malloc(((size_t)a->nrange + b->nrange) * sizeof *j->first);
    j->class = malloc(((size_t)a->nrange + b->nrange) * sizeof *j->class);
    if (!j->first || !j->class)
        return err_nomem(e);
    for (;;) {
        uint32_t both[2] = {a->class[x], b -> class[y]};
        uint32_t na = x + 1 < a->nrange ? a->first[x + 1] : UINT32_MAX,
                 nb = y + 1 < b->nrange ? b->first[y + 1] : UINT32_MAX;

        j->first[j->n] = a->first[x] > b->first[y] ? a->first[x] : b->first[y];
        j->class[j->n] = intern_put(&j->pair, both, 2, NULL);
        if (j->class[j->n++] == INTERN_NONE)
            return err_nomem(e);
        if (na == UINT32_MAX && nb == UINT32_MAX)
            return 0;
        x += na <= nb;
        y += nb <= na;
    }
}

static void joint_free(struct joint *j)
{
    free(j->first);
    free(j->class);
    intern_free(&j->pair);
}

/* States that pairs become; NEXT is theirs. */
static int pairs(struct intern *states, struct buf *next, const struct joint *j,
                 const struct dfa *a, const struct dfa *b, struct err *e)
{
    if (intern_put(states, (uint32_t[]){0, 0}, 2, NULL) == INTERN_NONE)
        return err_nomem(e);
    for (uint32_t s = 0; s < states->n; s++) {
        uint32_t x = intern_get(states, s)[0], y = intern_get(states, s)[1];

        if (states->n > DFA_MAX_STATES ||
            (size_t)states->n * j->pair.n > DFA_MAX_CELLS)
            return dfa_too_large(e);
        for (uint32_t c = 0; c < j->pair.n; c++) {
            const uint32_t *both = intern_get(&j->pair, c);
            uint32_t to[2] = {a->next[(size_t)x * a->nclass + both[0]],
                              b->next[(size_t)y * b->nclass + both[1]]},
                     id = intern_put(states, to, 2, NULL);

            if (id == INTERN_NONE)
                return err_nomem(e);
            buf_put(next, &id, sizeof id);
        }
    }
    return buf_ok(next, e);
}

static int product(struct dfa **out, const struct dfa *a, const struct dfa *b,
                   bool both, struct err *e)
{
    struct intern states = {0};
    struct buf next = {0};
    struct joint j;
    struct dfa *d = NULL;
    int rc = joint_make(&j, a, b, e);

    *out = NULL;
    if (!rc)
        rc = pairs(&states, &next, &j, a, b, e);
    if (!rc && !(d = dfa_new(states.n, j.pair.n, j.n, a->bytes, e)))
        rc = -1;
    if (!rc) {
        memcpy(d->next, next.p, next.n);
        memcpy(d->first, j.first, j.n * sizeof *j.first);
        memcpy(d->class, j.class, j.n * sizeof *j.class);
        for (uint32_t s = 0; s < states.n; s++) {
            const uint32_t *p = intern_get(&states, s);

            d->ends[s] = both ? a->ends[p[0]] && b->ends[p[1]]
                              : a->ends[p[0]] || b->ends[p[1]];
        }
        rc = dfa_minimize(d, e);
    }
    if (rc)
        dfa_free(d);
    else
        *out = d;
    joint_free(&j);
    intern_free(&states);
    buf_free(&next);
    return rc;
}

int dfa_and(struct dfa **out, const struct dfa *a, const struct dfa *b,
            struct err *e)
{
    return product(out, a, b, true, e);
}

int dfa_or(struct dfa **out, const struct dfa *a, const struct dfa *b,
           struct err *e)
{
    return product(out, a, b, false, e);
}

/* ---- simple languages ---- */

int dfa_length(struct dfa **out, int64_t min, int64_t max, struct err *e)
{
    int64_t n = max < 0 ? min + 1 : max + 2;
    struct dfa *d;

    *out = NULL;
    if (min < 0 || (max >= 0 && max < min))
        n = min = 1, max = -2; /* nothing */
    if (n > DFA_MAX_STATES)
        return dfa_too_large(e);
    d = dfa_new((size_t)n, 1, 1, false, e);
    if (!d)
        return -1;
    d->first[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        d->next[i] = (uint32_t)(i + 1 < n ? i + 1 : i);
        d->ends[i] = max != -2 && i >= min && (max < 0 || i <= max);
    }
    *out = d;
    return 0;
}

/* The text's characters, as symbols; ERR_FORMAT when it is not UTF-8. */
static int symbols(struct buf *out, const char *text, size_t n, struct err *e)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;

        i += utf8_get((const unsigned char *)text + i, n - i, &cp);
        if (cp == UTF8_BAD)
            return err_set(e, ERR_FORMAT, "a text is not UTF-8");
        cp = dfa_symbol(cp);
        buf_put(out, &cp, sizeof cp);
    }
    return buf_ok(out, e);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Ranges of a DFA in which each of SYM[N], sorted here, is a class of its own;
 * BUF takes pairs of first and class.  How many classes. */
static uint32_t single(struct buf *out, uint32_t *sym, size_t n)
{
    uint32_t k = 1, at = 0;

    qsort(sym, n, sizeof *sym, by_value);
    for (size_t i = 0; i < n; i++) {
        if (i && sym[i] == sym[i - 1])
            continue;
        if (sym[i] > at)
            buf_put(out, (uint32_t[]){at, 0}, 8);
        buf_put(out, (uint32_t[]){sym[i], k++}, 8);
        at = sym[i] + 1;
    }
    if (at < DFA_SYMBOLS)
        buf_put(out, (uint32_t[]){at, 0}, 8);
    return k;
}

int dfa_text(struct dfa **out, const char *utf8, size_t n, struct err *e)
{
    struct buf text = {0}, sorted = {0}, ranges = {0};
    uint32_t len, k;
    struct dfa *d = NULL;
    int rc = symbols(&text, utf8, n, e);

    *out = NULL;
    len = (uint32_t)(text.n / 4);
    buf_put(&sorted, text.p, text.n);
    if (!rc)
        rc = buf_ok(&sorted, e);
    if (!rc) {
        k = single(&ranges, (uint32_t *)(void *)sorted.p, len);
        rc = buf_ok(&ranges, e);
    }
    if (!rc && !(d = dfa_new((size_t)len + 2, k, ranges.n / 8, false, e)))
        rc = -1;
    if (!rc) {
        const uint32_t *r = (const uint32_t *)(const void *)ranges.p,
                       *t = (const uint32_t *)(const void *)text.p;

        for (uint32_t i = 0; i < d->nrange; i++) {
            d->first[i] = r[2 * i];
            d->class[i] = r[2 * i + 1];
        }
        for (uint32_t s = 0; s < len + 2; s++)
            for (uint32_t c = 0; c < k; c++)
                d->next[(size_t)s * k + c] = len + 1;
        for (uint32_t s = 0; s < len; s++)
            d->next[(size_t)s * k + dfa_class(d, t[s])] = s + 1;
        d->ends[len] = 1;
    }
    buf_free(&text);
    buf_free(&sorted);
    buf_free(&ranges);
    *out = d;
    return rc;
}

bool dfa_empty(const struct dfa *a)
{
    /* What is not minimal, of dfa_not(), has no state that does not count. */
    for (uint32_t s = 0; s < a->n; s++)
        if (a->ends[s])
            return false;
    return true;
}

bool dfa_match(const struct dfa *a, const char *utf8, size_t n)
{
    uint32_t s = 0;

    for (size_t i = 0; i < n;) {
        uint32_t cp = (unsigned char)utf8[i];

        if (a->bytes) {
            i++;
        } else {
            i += utf8_get((const unsigned char *)utf8 + i, n - i, &cp);
            if (cp == UTF8_BAD)
                return false;
            cp = dfa_symbol(cp);
        }
        s = a->next[(size_t)s * a->nclass + dfa_class(a, cp)];
    }
    return a->ends[s];
}
