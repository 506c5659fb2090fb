/* SPDX-License-Identifier: MIT
 * select.c - one pass finds the maximum of each block of 64 scores.  The Kth
 * greatest of those is a score that K others reach, so only blocks which reach
 * it are looked into: for 40 of 262,144, some 40 of 4,096.
 *
 * A block is a word of the mask.  What is ruled out gets minus infinity added:
 * that leaves NaN to be found, and makes one of plus infinity. */
#include "sample/select.h"

#include <math.h>

/* As many as a vector of every processor has: then they stay in one. */
enum { LANES = 4 };

/* What is added to four scores, by four bits of the mask. */
#define N -INFINITY
static const float ruled_out[16][LANES] = {
    {N, N, N, N}, {0, N, N, N}, {N, 0, N, N}, {0, 0, N, N},
    {N, N, 0, N}, {0, N, 0, N}, {N, 0, 0, N}, {0, 0, 0, N},
    {N, N, N, 0}, {0, N, N, 0}, {N, 0, N, 0}, {0, 0, N, 0},
    {N, N, 0, 0}, {0, N, 0, 0}, {N, 0, 0, 0}, {0, 0, 0, 0}};
#undef N

static void rule_out(float *restrict to, const float *restrict x, uint64_t m)
{
    for (int i = 0; i < SELECT_BLOCK; i += LANES, m >>= LANES)
        memcpy(to + i, ruled_out[m & 15], sizeof *ruled_out);
    for (int i = 0; i < SELECT_BLOCK; i++)
        to[i] += x[i];
}

const float *select_block(float *room, const float *x, size_t n,
                          const uint64_t *allowed, size_t b)
{
    uint64_t m = allowed ? allowed[b] : UINT64_MAX;
    float last[SELECT_BLOCK];

    x += b * SELECT_BLOCK;
    n -= b * SELECT_BLOCK;
    if (n < SELECT_BLOCK) {
        for (size_t i = 0; i < SELECT_BLOCK; i++)
            last[i] = i < n ? x[i] : -INFINITY;
        x = last;
    } else if (m == UINT64_MAX) {
        return x;
    }
    rule_out(room, x, m);
    return room;
}

/* The greatest of a whole block; NG becomes other than 0 when one is NaN or
 * plus infinity. */
static float scan(unsigned ng[LANES], const float *x)
{
    float m[LANES];

    for (int j = 0; j < LANES; j++)
        m[j] = -INFINITY;
    for (int k = 0; k < SELECT_BLOCK; k += LANES)
        for (int j = 0; j < LANES; j++) {
            m[j] = x[k + j] > m[j] ? x[k + j] : m[j];
            ng[j] |= !(x[k + j] < INFINITY);
        }
    for (int j = 1; j < LANES; j++)
        m[0] = m[j] > m[0] ? m[j] : m[0];
    return m[0];
}

/* The same, of those that the mask M has. */
static float scan_masked(unsigned ng[LANES], const float *x, uint64_t mask)
{
    float m[LANES];

    for (int j = 0; j < LANES; j++)
        m[j] = -INFINITY;
    for (int k = 0; k < SELECT_BLOCK; k += LANES, mask >>= LANES)
        for (int j = 0; j < LANES; j++) {
            float v = x[k + j] + ruled_out[mask & 15][j];

            m[j] = v > m[j] ? v : m[j];
            ng[j] |= !(v < INFINITY);
        }
    for (int j = 1; j < LANES; j++)
        m[0] = m[j] > m[0] ? m[j] : m[0];
    return m[0];
}

/* The same, of a whole block, by its peaks. */
static float scan_peaks(unsigned ng[LANES], const float *p)
{
    enum { PEAKS = SELECT_BLOCK / SELECT_PEAK };
    float m = -INFINITY;

    _Static_assert((int)PEAKS == (int)LANES, "a lane for each peak");
    for (int j = 0; j < PEAKS; j++) {
        m = p[j] > m ? p[j] : m;
        ng[j] |= !(p[j] < INFINITY);
    }
    return m;
}

bool select_scan(float *max, float *top, const float *x, size_t n,
                 const uint64_t *allowed, const float *peaks)
{
    float best = -INFINITY, room[SELECT_BLOCK];
    unsigned ng[LANES] = {0}, bad = 0;

    for (size_t b = 0; b < select_blocks(n); b++) {
        if (n - b * SELECT_BLOCK < SELECT_BLOCK)
            max[b] = scan(ng, select_block(room, x, n, allowed, b));
        else if ((!allowed || allowed[b] == UINT64_MAX) && peaks)
            max[b] = scan_peaks(ng, peaks + b * (SELECT_BLOCK / SELECT_PEAK));
        else if (!allowed || allowed[b] == UINT64_MAX)
            max[b] = scan(ng, x + b * SELECT_BLOCK);
        else
            max[b] = scan_masked(ng, x + b * SELECT_BLOCK, allowed[b]);
        best = max[b] > best ? max[b] : best;
    }
    for (int j = 0; j < LANES; j++)
        bad |= ng[j];
    *top = best;
    return !bad;
}

uint32_t select_first(const float *max, float top, const float *x, size_t n,
                      const uint64_t *allowed)
{
    float room[SELECT_BLOCK];
    const float *v;
    size_t b = 0, i = 0;

    while (b + 1 < select_blocks(n) && max[b] != top)
        b++;
    v = select_block(room, x, n, allowed, b);
    while (i + 1 < SELECT_BLOCK && v[i] != top)
        i++;
    return (uint32_t)(b * SELECT_BLOCK + i);
}

/* LIST is a heap, its least item first, but for item I, which may have to go
 * down. */
static void sift(uint64_t *list, size_t n, size_t i)
{
    uint64_t v = list[i];
    size_t c;

    while ((c = 2 * i + 1) < n) {
        if (c + 1 < n && list[c + 1] < list[c])
            c++;
        if (v <= list[c])
            break;
        list[i] = list[c];
        i = c;
    }
    list[i] = v;
}

static void heapify(uint64_t *list, size_t n)
{
    for (size_t i = n / 2; i--;)
        sift(list, n, i);
}

/* A heap becomes a list, its greatest item first. */
static void unheap(uint64_t *list, size_t n)
{
    while (n > 1) {
        uint64_t least = list[0];

        list[0] = list[--n];
        list[n] = least;
        sift(list, n, 0);
    }
}

/* Sort by eleven bits of the items from SHIFT on, the greatest first, equals as
 * they were. */
static void by_digit(uint64_t *to, const uint64_t *list, size_t n, int shift)
{
    enum { DIGITS = 1 << 11 };
    size_t at[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[list[i] >> shift & (DIGITS - 1)]++;
    for (int d = DIGITS; d--;) {
        size_t count = at[d];

        at[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[list[i] >> shift & (DIGITS - 1)]++] = list[i];
}

void select_sort(uint64_t *list, size_t n, uint64_t *room)
{
    enum { MANY = 2000 }; /* from there on digits are faster */

    if (n < MANY) {
        heapify(list, n);
        unheap(list, n);
        return;
    }
    /* Ids ascend, so that equal scores are in order already. */
    by_digit(room, list, n, 32);
    by_digit(list, room, n, 43);
    by_digit(room, list, n, 54);
    memcpy(list, room, n * sizeof *list);
}

void select_by_id(uint64_t *list, size_t n, uint64_t *room)
{
    for (size_t i = 0; i < n; i++)
        list[i] = list[i] << 32 | list[i] >> 32;
    select_sort(list, n, room);
    for (size_t i = 0; i < n; i++)
        list[i] = list[i] << 32 | list[i] >> 32;
}

/* What K blocks reach; nothing when there are not as many. */
static float threshold(uint64_t *list, size_t k, const float *max, size_t nmax)
{
    if (nmax < k)
        return -INFINITY;
    for (size_t i = 0; i < k; i++)
        list[i] = select_item(max[i], (uint32_t)i);
    heapify(list, k);
    for (size_t i = k; i < nmax; i++) {
        uint64_t v = select_item(max[i], (uint32_t)i);

        if (v > list[0]) {
            list[0] = v;
            sift(list, k, 0);
        }
    }
    return select_score(list[0]);
}

size_t select_top(uint64_t *list, size_t k, const float *max, const float *x,
                  size_t n, const uint64_t *allowed)
{
    size_t nmax = select_blocks(n), m = 0;
    float least = threshold(list, k, max, nmax), room[SELECT_BLOCK];

    for (size_t b = 0; b < nmax; b++) {
        const float *v;

        if (max[b] < least || max[b] == -INFINITY)
            continue;
        v = select_block(room, x, n, allowed, b);
        for (size_t i = 0; i < SELECT_BLOCK; i++) {
            /* In the heap, lower ids come first of equals: one that is no
             * better than its least item has no place. */
            if (v[i] < least || v[i] == -INFINITY)
                continue;
            if (m < k) {
                list[m++] = select_item(v[i], (uint32_t)(b * SELECT_BLOCK + i));
                if (m == k)
                    heapify(list, k);
            } else if (v[i] > select_score(list[0])) {
                list[0] = select_item(v[i], (uint32_t)(b * SELECT_BLOCK + i));
                sift(list, k, 0);
            }
        }
    }
    if (m < k)
        heapify(list, m);
    unheap(list, m);
    return m;
}

size_t select_from(uint64_t *list, float from, const float *max, const float *x,
                   size_t n, const uint64_t *allowed)
{
    float room[SELECT_BLOCK];
    size_t m = 0;

    for (size_t b = 0; b < select_blocks(n); b++) {
        const float *v;

        if (max[b] < from || max[b] == -INFINITY)
            continue;
        v = select_block(room, x, n, allowed, b);
        for (size_t i = 0; i < SELECT_BLOCK; i++)
            if (v[i] >= from && v[i] > -INFINITY)
                list[m++] = select_item(v[i], (uint32_t)(b * SELECT_BLOCK + i));
    }
    return m;
}
