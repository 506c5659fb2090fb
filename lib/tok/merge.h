/* SPDX-License-Identifier: MIT
 * merge.h - byte pair merging, for every vocabulary that merges.
 *
 * The pair of neighbours with the lowest rank becomes one symbol, the leftmost
 * first among equals, until no pair has a rank.  What a rank is differs (the
 * place in a list of merges; a score turned round), so the look-up is a
 * parameter that the compiler inlines.
 *
 * Few symbols: an array of ranks, searched for its least each time, four at a
 * step.  Many: a
 * heap over a linked list, so that a megabyte of one letter takes n log n.
 */
#ifndef LLM_TOK_MERGE_H
#define LLM_TOK_MERGE_H

#include "tok/tok_impl.h"

enum { MERGE_FEW = 64 };
#define NO_RANK UINT32_MAX

/* The rank of A and its right neighbour B, which ends at byte END of P, and
 * the token that they make in *ID; NO_RANK when they don't. */
typedef uint32_t pair_fn(const struct tok *t, const unsigned char *p,
                         struct symbol a, struct symbol b, uint32_t end,
                         uint32_t *id);

/* Four ranks side by side: what every machine that we build for has, in the
 * compiler's own words. */
typedef uint32_t merge_v4 __attribute__((vector_size(16)));

/* The place of the least of RANK[0..n), the first of equals; N is a multiple of
 * 4. */
static inline size_t merge_least(const merge_v4 *rank, size_t n)
{
    merge_v4 m = rank[0];
    uint32_t least;
    const uint32_t *r = (const uint32_t *)rank;
    size_t i;

    for (i = 1; i < n / 4; i++) {
        merge_v4 lower = (merge_v4)(rank[i] < m);

        m = (rank[i] & lower) | (m & ~lower);
    }
    least = m[0] < m[1] ? m[0] : m[1];
    least = m[2] < least ? m[2] : least;
    least = m[3] < least ? m[3] : least;
    for (i = 0; r[i] != least; i++)
        ;
    return i;
}

/* Merge S[N], which spell P[LEN], in place; how many symbols are left.  FIRST
 * is PAIR for symbols of which none has been merged yet.  Symbols stay where
 * they are, with the numbers of their neighbours, until all is done. */
static inline __attribute__((always_inline)) size_t
merge_few(const struct tok *t, const unsigned char *p, uint32_t len,
          struct symbol *s, size_t n, pair_fn *first, pair_fn *pair)
{
    merge_v4 ranks[MERGE_FEW / 4];
    uint32_t *rank = (uint32_t *)ranks, id[MERGE_FEW];
    uint8_t prev[MERGE_FEW + 1], next[MERGE_FEW + 1];
    size_t padded = (n + 3) & ~(size_t)3, left = 0;

    for (size_t i = 0; i < n; i++) {
        prev[i] = (uint8_t)(i - 1);
        next[i] = (uint8_t)(i + 1);
        if (i + 1 < n)
            rank[i] = first(t, p, s[i], s[i + 1],
                            i + 2 < n ? s[i + 2].start : len, &id[i]);
    }
    for (size_t i = n ? n - 1 : 0; i < padded; i++)
        rank[i] = NO_RANK;
#define REFRESH(i, j)                                                          \
    rank[i] =                                                                  \
        pair(t, p, s[i], s[j], next[j] < n ? s[next[j]].start : len, &id[i])
    while (n) {
        size_t at = merge_least(ranks, padded), with = next[at], after;

        if (rank[at] == NO_RANK)
            break;
        s[at].id = id[at];
        after = next[at] = next[with];
        rank[with] = rank[at] = NO_RANK;
        if (after < n) {
            prev[after] = (uint8_t)at;
            REFRESH(at, after);
        }
        if (at) {
            size_t before = prev[at];

            REFRESH(before, at);
        }
    }
#undef REFRESH
    for (size_t i = 0; i < n; i = next[i])
        s[left++] = s[i];
    return left;
}

struct merge_link {
    uint32_t prev, next; /* symbol numbers; NO_ID at the ends */
    uint32_t rank, id;   /* of this symbol and the next; NO_RANK also when
                            this symbol is gone */
};

/* A heap of rank << 32 | symbol: the least on top. */
static inline void heap_down(uint64_t *h, size_t n, size_t i)
{
    uint64_t v = h[i];

    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && h[c + 1] < h[c];
        if (v <= h[c])
            break;
        h[i] = h[c];
    }
    h[i] = v;
}

static inline void heap_up(uint64_t *h, size_t i)
{
    uint64_t v = h[i];

    for (; i && h[(i - 1) / 2] > v; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = v;
}

static inline __attribute__((always_inline)) size_t
merge_many(const struct tok *t, const unsigned char *p, uint32_t len,
           struct symbol *s, size_t n, struct buf *links, struct buf *heap,
           pair_fn *pair)
{
    struct merge_link *l;
    uint64_t *h;
    size_t nh = 0, left = 0;

    links->n = heap->n = 0;
    /* A stale entry is dropped when it comes up; a merge adds at most two and
     * takes one, and there are n - 1 merges. */
    l = buf_reserve(links, n * sizeof *l);
    h = buf_reserve(heap, 2 * n * sizeof *h);
    if (!l || !h)
        return 0;
#define REFRESH(i)                                                             \
    do {                                                                       \
        uint32_t b_ = l[i].next;                                               \
        l[i].rank = NO_RANK;                                                   \
        if (b_ != NO_ID)                                                       \
            l[i].rank = pair(t, p, s[i], s[b_],                                \
                             l[b_].next == NO_ID ? len : s[l[b_].next].start,  \
                             &l[i].id);                                        \
        if (l[i].rank != NO_RANK) {                                            \
            h[nh] = (uint64_t)l[i].rank << 32 | (i);                           \
            heap_up(h, nh++);                                                  \
        }                                                                      \
    } while (0)
    for (uint32_t i = 0; i < n; i++)
        l[i] = (struct merge_link){i ? i - 1 : NO_ID, i + 1 < n ? i + 1 : NO_ID,
                                   NO_RANK, 0};
    for (uint32_t i = 0; i < n; i++)
        REFRESH(i);
    while (nh) {
        uint32_t rank = (uint32_t)(h[0] >> 32), i = (uint32_t)h[0], b;

        h[0] = h[--nh];
        heap_down(h, nh, 0);
        if (l[i].rank != rank)
            continue;
        b = l[i].next;
        s[i].id = l[i].id;
        l[b].rank = NO_RANK;
        l[i].next = l[b].next;
        if (l[i].next != NO_ID)
            l[l[i].next].prev = i;
        REFRESH(i);
        if (l[i].prev != NO_ID)
            REFRESH(l[i].prev);
    }
#undef REFRESH
    for (uint32_t i = 0; i != NO_ID; i = l[i].next)
        s[left++] = s[i];
    return left;
}

#endif
