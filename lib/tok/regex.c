/* SPDX-License-Identifier: MIT
 * regex.c - pattern -> tree -> program -> table.
 *
 * 1. A character's class is all that the pattern can tell of it: two
 *    characters that every set of the pattern treats alike share a class.
 * 2. A state is an ordered list of program places, best first.  A step on
 *    class c follows jumps, forks and look-aheads (which see c) in order; when
 *    it meets MATCH it marks the step and drops everything after, as a
 *    backtracking matcher would never come to it.
 * 3. Class EOT stands for the end of the text: no set contains it.
 *
 * Typical: 12 classes, 30 states, 2 KB of table.  To build: gpt-2's 36 us,
 * llama-bpe's 68, gpt-4o's 214, jais-2's 2.3 ms (Xeon, 2 GHz).
 */
#include "tok/regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"
#include "base/utf8.h"
#include "tok/regex_impl.h"

enum {
    MAX_STATES = 0x7fff,
    MARK = 0x8000, /* in a table entry: a match ends before this character */
    DEAD = 0,
    START = 1,
};

struct state {
    size_t at;
    int n;
};

struct regex {
    int nclass, shift; /* the table has rows of 1 << shift */
    int nstate;
    uint8_t eot;          /* the class EOT */
    uint8_t ascii[128];   /* class of a character below 128 */
    int nbound;           /* sorted starts of the intervals that ranges cut */
    uint32_t *bound;      /* the code points into; bound[0] = 128 */
    uint8_t (*wide)[256]; /* [interval][unicode_class()] -> class */
    uint16_t *table;
    uint8_t *border; /* [class before][class after]: BORDER_ bits */
};

enum { BORDER_CROSSED = 1, BORDER_OPEN = 2 };

static bool in_set(const struct compiler *c, const struct set *s, uint32_t cp,
                   uint8_t u)
{
    if (s->bits[u >> 6] >> (u & 63) & 1)
        return !s->negated;
    for (int i = s->first; i < s->first + s->n; i++)
        if (cp >= c->ranges[i].lo && cp <= c->ranges[i].hi)
            return !s->negated;
    return s->negated;
}

/* The class of all characters that the sets treat as they treat CP of U. */
static uint8_t class_of(struct compiler *c, struct regex *r, uint32_t cp,
                        uint8_t u)
{
    uint64_t m = 0;
    int k;

    for (int i = 0; i < c->nset; i++)
        if (in_set(c, &c->sets[i], cp, u))
            m |= 1ull << i;
    for (k = 0; k < r->nclass; k++)
        if (c->member[k] == m)
            return (uint8_t)k;
    if (k == MAX_CLASSES - 1) {
        wrong(c, "too many kinds of characters");
        return 0;
    }
    c->member[k] = m;
    r->nclass++;
    return (uint8_t)k;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Fill the maps from characters to classes. */
static int classify(struct compiler *c, struct regex *r, struct err *e)
{
    int n = 0;

    for (uint32_t cp = 0; cp < 128; cp++)
        r->ascii[cp] = class_of(c, r, cp, unicode_class(cp));
    r->bound = calloc((size_t)c->nrange * 2 + 1, sizeof *r->bound);
    if (!r->bound)
        return err_nomem(e);
    r->bound[n++] = 128;
    for (int i = 0; i < c->nrange; i++) {
        if (c->ranges[i].lo > 128)
            r->bound[n++] = c->ranges[i].lo;
        if (c->ranges[i].hi >= 128)
            r->bound[n++] = c->ranges[i].hi + 1;
    }
    qsort(r->bound, (size_t)n, sizeof *r->bound, by_value);
    r->nbound = 1;
    for (int i = 1; i < n; i++)
        if (r->bound[i] != r->bound[r->nbound - 1])
            r->bound[r->nbound++] = r->bound[i];
    r->wide = calloc((size_t)r->nbound, sizeof *r->wide);
    if (!r->wide)
        return err_nomem(e);
    for (int i = 0; i < r->nbound; i++)
        for (int u = 0; u < 256; u++)
            if (unicode_class_used((uint8_t)u))
                r->wide[i][u] = class_of(c, r, r->bound[i], (uint8_t)u);
    r->eot = (uint8_t)r->nclass++;
    for (r->shift = 1; 1 << r->shift < r->nclass; r->shift++)
        ;
    return 0;
}

/* Follow everything from PC that needs no character, seeing class K next, and
 * append the OP_SET places met to NEXT; true when MATCH was met. */
static bool follow(struct compiler *c, const struct regex *r, int pc, int k,
                   struct buf *next)
{
    int n = 0;
    bool end = k == r->eot;

    c->stack[n++] = pc;
    while (n) {
        const struct inst *i;
        bool in;

        pc = c->stack[--n];
        if (c->seen[pc] == c->mark)
            continue;
        c->seen[pc] = c->mark;
        i = &c->prog[pc];
        in = !end &&
             (i->op == OP_SET || i->op == OP_LOOK || i->op == OP_NLOOK) &&
             c->member[k] >> i->x & 1;
        switch (i->op) {
        case OP_MATCH:
            return true;
        case OP_SET:
            if (in)
                buf_put(next, &(int){pc + 1}, sizeof(int));
            break;
        case OP_FORK:
            c->stack[n++] = i->y;
            c->stack[n++] = i->x;
            break;
        case OP_JUMP:
            c->stack[n++] = i->x;
            break;
        case OP_LOOK:
        case OP_NLOOK:
            if (in == (i->op == OP_LOOK))
                c->stack[n++] = pc + 1;
            break;
        case OP_END:
            if (end)
                c->stack[n++] = pc + 1;
            break;
        }
    }
    return false;
}

/* The number of the state with the list of N places at P, made if new. */
static int state_of(struct compiler *c, const int *p, int n)
{
    int count = (int)(c->states.n / sizeof(struct state));

    if (!n)
        return DEAD;
    for (int i = START; i < count; i++) {
        struct state s = ((struct state *)(void *)c->states.p)[i];

        if (s.n == n && !memcmp(c->lists.p + s.at, p, (size_t)n * sizeof *p))
            return i;
    }
    if (count == MAX_STATES) {
        wrong(c, "too many states");
        return DEAD;
    }
    buf_put(&c->states, &(struct state){c->lists.n, n}, sizeof(struct state));
    buf_put(&c->lists, p, (size_t)n * sizeof *p);
    return count;
}

static int step(struct compiler *c, const struct regex *r, int from, int k,
                struct buf *next)
{
    struct state s = ((struct state *)(void *)c->states.p)[from];
    bool match = false;
    int *list, n = 0;

    next->n = 0;
    c->mark++;
    for (int i = 0; i < s.n && !match; i++) {
        int pc;

        memcpy(&pc, c->lists.p + s.at + (size_t)i * sizeof pc, sizeof pc);
        match = follow(c, r, pc, k, next);
    }
    /* Two ways to the same place: the better one is all that matters. */
    list = (int *)(void *)next->p;
    c->mark++;
    for (size_t i = 0; i < next->n / sizeof *list; i++)
        if (c->seen[list[i]] != c->mark) {
            c->seen[list[i]] = c->mark;
            list[n++] = list[i];
        }
    return state_of(c, list, n) | (match ? MARK : 0);
}

static int build(struct compiler *c, struct regex *r, struct err *e)
{
    struct buf next = {0}, table = {0};

    buf_put(&c->states, &(struct state){0, 0}, sizeof(struct state));
    state_of(c, &(int){0}, 1);
    for (int s = 0; (size_t)s < c->states.n / sizeof(struct state); s++) {
        uint16_t *row = buf_add(&table, sizeof *row << r->shift);

        if (!row || c->states.bad || c->lists.bad || next.bad || c->wrong)
            break;
        memset(row, 0, sizeof *row << r->shift);
        for (int k = 0; k < r->nclass && s != DEAD; k++)
            row[k] = (uint16_t)step(c, r, s, k, &next);
    }
    r->nstate = (int)(c->states.n / sizeof(struct state));
    r->table = (uint16_t *)(void *)table.p;
    if (table.bad || c->states.bad || c->lists.bad || next.bad)
        err_nomem(e);
    buf_free(&next);
    return e && e->code ? -1 : 0;
}

/* Note for each two classes side by side whether a match can go on from one to
 * the other, and whether one can have come to the first and not end there. */
static int find_borders(struct regex *r, struct err *e)
{
    int n = r->nclass;

    r->border = calloc((size_t)n, (size_t)n);
    if (!r->border)
        return err_nomem(e);
    for (int x = 0; x < n; x++)
        if ((r->table[START << r->shift | x] & ~MARK) == DEAD)
            memset(r->border + x * n, BORDER_OPEN, (size_t)n);
    for (int s = START; s < r->nstate; s++)
        for (int x = 0; x < n; x++) {
            int to = r->table[s << r->shift | x] & ~MARK;

            for (int y = 0; to != DEAD && y < n; y++) {
                uint16_t t = r->table[to << r->shift | y];

                if ((t & ~MARK) != DEAD)
                    r->border[x * n + y] |= BORDER_CROSSED;
                if (!(t & MARK))
                    r->border[x * n + y] |= BORDER_OPEN;
            }
        }
    return 0;
}

int regex_new(struct regex **out, const char *pattern, struct err *e)
{
    struct compiler *c = calloc(1, sizeof *c);
    struct regex *r = calloc(1, sizeof *r);
    int rc = -1;

    *out = NULL;
    if (!c || !r) {
        err_nomem(e);
        goto done;
    }
    c->pattern = pattern;
    regex_parse(c);
    if (!c->wrong && classify(c, r, e))
        goto done;
    if (!c->wrong && build(c, r, e))
        goto done;
    if (c->wrong) {
        err_set(e, ERR_FORMAT, "pattern '%s', character %d: %s", pattern,
                (int)(c->p - pattern), c->wrong);
        goto done;
    }
    if (find_borders(r, e))
        goto done;
    *out = r;
    r = NULL;
    rc = 0;
done:
    if (c) {
        buf_free(&c->lists);
        buf_free(&c->states);
    }
    free(c);
    regex_free(r);
    return rc;
}

void regex_free(struct regex *r)
{
    if (!r)
        return;
    free(r->bound);
    free(r->wide);
    free(r->table);
    free(r->border);
    free(r);
}

/* The class of a character beyond ASCII. */
static uint8_t wide_class(const struct regex *r, uint32_t cp)
{
    int lo = 0, hi = r->nbound;

    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;

        if (cp < r->bound[mid])
            hi = mid;
        else
            lo = mid;
    }
    return r->wide[lo][unicode_class(cp)];
}

/* The class at P, its length in *LEN; the class EOT at the end.  *LEN is 0
 * when the bytes that are left may be the start of a longer character. */
static inline uint8_t class_at(const struct regex *r, const unsigned char *p,
                               const unsigned char *end, bool final,
                               size_t *len)
{
    uint32_t cp;

    if (*p < 128) {
        *len = 1;
        return r->ascii[*p];
    }
    *len = utf8_get(p, (size_t)(end - p), &cp);
    if (cp == UTF8_BAD && !final &&
        utf8_tail(p, (size_t)(end - p)) == (size_t)(end - p))
        *len = 0;
    return wide_class(r, cp);
}

size_t regex_match(const struct regex *r, const unsigned char *p,
                   const unsigned char *end, bool final)
{
    const unsigned char *start = p;
    size_t best = 0, len;
    unsigned s = START, t;

    while (p < end) {
        uint8_t k = class_at(r, p, end, final, &len);

        if (!len)
            return REGEX_MORE;
        t = r->table[s << r->shift | k];
        if (t & MARK)
            best = (size_t)(p - start);
        s = t & ~(unsigned)MARK;
        if (s == DEAD)
            return best;
        p += len;
    }
    if (!final)
        return REGEX_MORE;
    if (r->table[s << r->shift | r->eot] & MARK)
        best = (size_t)(p - start);
    return best;
}

const unsigned char *regex_search(const struct regex *r, const unsigned char *p,
                                  const unsigned char *end, bool final,
                                  size_t *len)
{
    const uint16_t *row = r->table + ((size_t)START << r->shift);

    for (; p < end; p += *len) {
        uint8_t k = class_at(r, p, end, final, len);

        if (!*len) {
            *len = REGEX_MORE;
            return p;
        }
        if (row[k] == DEAD)
            continue;
        size_t n = regex_match(r, p, end, final);

        if (n) {
            *len = n;
            return p;
        }
    }
    *len = 0;
    return p;
}

bool regex_border(const struct regex *r, unsigned char x,
                  const unsigned char *y, const unsigned char *end, bool ends)
{
    size_t len;
    uint8_t k = class_at(r, y, end, true, &len);
    uint8_t b = r->border[r->ascii[x & 127] * r->nclass + k];

    return !(b & BORDER_CROSSED) && !(ends && b & BORDER_OPEN);
}
