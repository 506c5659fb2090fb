/* SPDX-License-Identifier: MIT
 * repeats.c - the suffix automaton of Blumer et al. (1985), online.
 *
 * A state stands for all substrings that end at the same places; LINK leads to
 * the longest suffix that ends at more of them.  There are at most two states
 * and three transitions for a token.  Most states have one transition, which is
 * in the state; all others are in a table, hashed by state and token, those of
 * a state in a chain so that they can be copied.
 */
#include "draft/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT, NONE = -1, MOST = 1 << 29 };

struct state {
    int32_t len, link;
    int32_t end;       /* the place after one of its ends */
    int32_t tok, next; /* the first transition; NEXT NONE: it has none */
    int32_t more;      /* and the others, in MORE; NONE ends */
};

struct more {
    int32_t state, tok, next;
    int32_t chain;  /* of the state */
    int32_t bucket; /* of the hash */
};

struct repeats {
    int32_t *text;
    size_t n, cap;
    struct state *state;
    int32_t nstate, state_cap;
    struct more *more;
    int32_t nmore, more_cap;
    int32_t *bucket; /* [mask + 1] */
    uint32_t mask;
    int32_t last; /* the state of the whole text */
};

/* V with room for one more than N of SIZE; NULL: as it was. */
static void *grow(void *v, size_t size, int32_t n, int32_t *cap)
{
    int32_t c = *cap + *cap / 2 + 64;

    if (n < *cap)
        return v;
    v = n < MOST ? realloc(v, (size_t)c * size) : NULL;
    if (v)
        *cap = c;
    return v;
}

static int32_t add_state(struct repeats *r, struct state s)
{
    struct state *v = grow(r->state, sizeof s, r->nstate, &r->state_cap);

    if (!v)
        return NONE;
    r->state = v;
    r->state[r->nstate] = s;
    return r->nstate++;
}

struct repeats *repeats_new(void)
{
    struct repeats *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->mask = 255;
    r->bucket = malloc((r->mask + 1) * sizeof *r->bucket);
    if (!r->bucket || add_state(r, (struct state){0, NONE, 0, 0, NONE, NONE})) {
        repeats_free(r);
        return NULL;
    }
    memset(r->bucket, 0xff, (r->mask + 1) * sizeof *r->bucket);
    return r;
}

void repeats_free(struct repeats *r)
{
    if (!r)
        return;
    free(r->text);
    free(r->state);
    free(r->more);
    free(r->bucket);
    free(r);
}

const int32_t *repeats_text(const struct repeats *r, size_t *n)
{
    *n = r->n;
    return r->text;
}

static uint32_t hash(int32_t state, int32_t tok)
{
    uint64_t x =
        ((uint64_t)(uint32_t)state << 32 | (uint32_t)tok) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

/* The transition of S by TOK: where its target is kept, or NULL. */
static int32_t *find(const struct repeats *r, int32_t s, int32_t tok)
{
    struct state *st = &r->state[s];

    if (st->next != NONE && st->tok == tok)
        return &st->next;
    if (st->more == NONE)
        return NULL;
    for (int32_t i = r->bucket[hash(s, tok) & r->mask]; i != NONE;
         i = r->more[i].bucket)
        if (r->more[i].state == s && r->more[i].tok == tok)
            return &r->more[i].next;
    return NULL;
}

static int rehash(struct repeats *r)
{
    uint32_t mask = r->mask * 2 + 1;
    int32_t *b = malloc(((size_t)mask + 1) * sizeof *b);

    if (!b)
        return -1;
    memset(b, 0xff, ((size_t)mask + 1) * sizeof *b);
    for (int32_t i = 0; i < r->nmore; i++) {
        uint32_t h = hash(r->more[i].state, r->more[i].tok) & mask;

        r->more[i].bucket = b[h];
        b[h] = i;
    }
    free(r->bucket);
    r->bucket = b;
    r->mask = mask;
    return 0;
}

/* S has none by TOK so far. */
static int add_next(struct repeats *r, int32_t s, int32_t tok, int32_t next)
{
    struct state *st = &r->state[s];
    struct more *more;
    uint32_t h;

    if (st->next == NONE) {
        st->tok = tok;
        st->next = next;
        return 0;
    }
    more = grow(r->more, sizeof *more, r->nmore, &r->more_cap);
    if (!more)
        return -1;
    r->more = more;
    if ((uint32_t)r->nmore > r->mask && rehash(r))
        return -1;
    h = hash(s, tok) & r->mask;
    r->more[r->nmore] = (struct more){s, tok, next, st->more, r->bucket[h]};
    st->more = r->bucket[h] = r->nmore++;
    return 0;
}

/* A state of the shorter strings of Q, those that are P and TOK at most. */
static int32_t split(struct repeats *r, int32_t p, int32_t tok, int32_t q)
{
    struct state c = r->state[q];
    int32_t more = c.more, clone;

    c.len = r->state[p].len + 1;
    c.more = NONE;
    clone = add_state(r, c);
    if (clone == NONE)
        return NONE;
    for (; more != NONE; more = r->more[more].chain)
        if (add_next(r, clone, r->more[more].tok, r->more[more].next))
            return NONE;
    r->state[q].link = clone;
    for (int32_t *t; p != NONE && (t = find(r, p, tok)) && *t == q;
         p = r->state[p].link)
        *t = clone;
    return clone;
}

int repeats_add(struct repeats *r, int32_t tok)
{
    int32_t now, p = r->last, link = ROOT, *t = NULL, before;

    if (r->n == r->cap) {
        size_t cap = r->cap + r->cap / 2 + 64;
        int32_t *text = realloc(r->text, cap * sizeof *text);

        if (!text)
            return -1;
        r->text = text;
        r->cap = cap;
    }
    /* What ended here before did so here, too: of its places the latest is
     * kept, as what is near is more like what comes. */
    before = r->state[p].link;
    if (before > ROOT)
        r->state[before].end = (int32_t)r->n;
    r->text[r->n++] = tok;
    now = add_state(
        r, (struct state){(int32_t)r->n, ROOT, (int32_t)r->n, 0, NONE, NONE});
    if (now == NONE)
        return -1;
    for (; p != NONE && !(t = find(r, p, tok)); p = r->state[p].link)
        if (add_next(r, p, tok, now))
            return -1;
    if (p != NONE) {
        link = *t;
        if (r->state[link].len != r->state[p].len + 1)
            link = split(r, p, tok, link);
        if (link == NONE)
            return -1;
    }
    r->state[now].link = link;
    r->last = now;
    return 0;
}

size_t repeats_last(const struct repeats *r, size_t *next)
{
    int32_t s = r->state[r->last].link;

    if (s <= ROOT)
        return 0;
    *next = (size_t)r->state[s].end;
    return (size_t)r->state[s].len;
}

void repeats_follow(const struct repeats *r, struct repeats_place *p,
                    int32_t tok)
{
    int32_t s = (int32_t)p->state, *t;

    while (!(t = find(r, s, tok))) {
        s = r->state[s].link;
        if (s == NONE) {
            *p = (struct repeats_place){0};
            return;
        }
        p->n = (size_t)r->state[s].len;
    }
    p->state = (uint32_t)*t;
    p->n++;
}

size_t repeats_next(const struct repeats *r, const struct repeats_place *p)
{
    return p->n ? (size_t)r->state[p->state].end : r->n;
}
