/* SPDX-License-Identifier: MIT
 * select.c - one pass finds the maximum of each block of 64 scores.  The Kth
 * greatest of those is a score that K others reach, so only blocks which reach
 * it are looked into: for 40 of 262,144, some 40 of 4,096. */
#include "sample/select.h"

#include <math.h>

bool select_scan(float *max, float *top, const float *x, size_t n)
{
    enum { LANES = 16 };
    float best = -INFINITY;
    unsigned bad = 0;

    for (size_t i = 0; i < n; i += SELECT_BLOCK) {
        float m[LANES], b = -INFINITY;
        unsigned ng[LANES] = {0};
        size_t end = n - i < SELECT_BLOCK ? n : i + SELECT_BLOCK, k = i;

        for (int j = 0; j < LANES; j++)
            m[j] = -INFINITY;
        for (; k + LANES <= end; k += LANES)
            for (int j = 0; j < LANES; j++) {
                m[j] = x[k + (size_t)j] > m[j] ? x[k + (size_t)j] : m[j];
                ng[j] |= !(x[k + (size_t)j] < INFINITY);
            }
        for (; k < end; k++) {
            m[0] = x[k] > m[0] ? x[k] : m[0];
            ng[0] |= !(x[k] < INFINITY);
        }
        for (int j = 0; j < LANES; j++) {
            b = m[j] > b ? m[j] : b;
            bad |= ng[j];
        }
        max[i / SELECT_BLOCK] = b;
        best = b > best ? b : best;
    }
    *top = best;
    return !bad;
}

uint32_t select_first(const float *max, float top, const float *x, size_t n)
{
    size_t i = 0;

    while (max[i] != top)
        i++;
    i *= SELECT_BLOCK;
    while (i + 1 < n && x[i] != top)
        i++;
    return (uint32_t)i;
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
                  size_t n)
{
    size_t nmax = (n + SELECT_BLOCK - 1) / SELECT_BLOCK, m = 0;
    float least = threshold(list, k, max, nmax);

    for (size_t b = 0; b < nmax; b++) {
        size_t i = b * SELECT_BLOCK;
        size_t end = n - i < SELECT_BLOCK ? n : i + SELECT_BLOCK;

        if (max[b] < least)
            continue;
        for (; i < end; i++) {
            /* In the heap, lower ids come first of equals: one that is no
             * better than its least item has no place. */
            if (x[i] < least || x[i] == -INFINITY)
                continue;
            if (m < k) {
                list[m++] = select_item(x[i], (uint32_t)i);
                if (m == k)
                    heapify(list, k);
            } else if (x[i] > select_score(list[0])) {
                list[0] = select_item(x[i], (uint32_t)i);
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
                   size_t n)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if (i % SELECT_BLOCK == 0 && max[i / SELECT_BLOCK] < from) {
            i += SELECT_BLOCK - 1;
            continue;
        }
        if (x[i] >= from && x[i] > -INFINITY)
            list[m++] = select_item(x[i], (uint32_t)i);
    }
    return m;
}
