/* SPDX-License-Identifier: MIT
 * select.h - the greatest of many scores, without sorting them all.
 *
 * A token with its score is one integer, so that an order is the order of
 * integers: the greatest score first, and the lowest id of equals.  The order
 * is total: a result does not depend on how it was sorted.
 */
#ifndef LLM_SAMPLE_SELECT_H
#define LLM_SAMPLE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SELECT_BLOCK = 64 };

/* Bits of X in an order of unsigned integers; -0 is 0. */
static inline uint32_t select_bits(float x)
{
    uint32_t u;

    x += 0.0f;
    memcpy(&u, &x, 4);
    return u & 0x80000000 ? ~u : u | 0x80000000;
}

static inline float select_float(uint32_t u)
{
    float x;

    u = u & 0x80000000 ? u & 0x7fffffff : ~u;
    memcpy(&x, &u, 4);
    return x;
}

/* By score, greatest first, is the greatest integer first. */
static inline uint64_t select_item(float x, uint32_t id)
{
    return (uint64_t)select_bits(x) << 32 | (uint32_t)~id;
}

static inline uint32_t select_id(uint64_t item)
{
    return ~(uint32_t)item;
}

static inline float select_score(uint64_t item)
{
    return select_float((uint32_t)(item >> 32));
}

static inline size_t select_blocks(size_t n)
{
    return (n + SELECT_BLOCK - 1) / SELECT_BLOCK;
}

/* In all that follows, ALLOWED may be NULL; else bit I of its words is set
 * where token I counts, and all others are as if minus infinity. */

/* Block B of the scores: SELECT_BLOCK of them, those that do not count, and
 * those beyond N, minus infinity.  In ROOM, or where they are. */
const float *select_block(float *room, const float *x, size_t n,
                          const uint64_t *allowed, size_t b);

/* MAX[i] becomes the greatest of the N scores' block I of SELECT_BLOCK, and
 * *TOP the greatest of all (N > 0); false when one, be it allowed or not, is
 * NaN or plus infinity.  PEAKS: the greatest of each SELECT_PEAK of X, NaN
 * where one is NaN or plus infinity; or NULL. */
enum { SELECT_PEAK = 16 };
bool select_scan(float *max, float *top, const float *x, size_t n,
                 const uint64_t *allowed, const float *peaks);

/* The lowest id whose score is TOP, which select_scan() found. */
uint32_t select_first(const float *max, float top, const float *x, size_t n,
                      const uint64_t *allowed);

/* The K greatest, best first; less than K when others are minus infinity.  K
 * and N are at least 1; LIST has room for K, and for every block. */
size_t select_top(uint64_t *list, size_t k, const float *max, const float *x,
                  size_t n, const uint64_t *allowed);

/* All whose score is FROM or more, not minus infinity, by id. */
size_t select_from(uint64_t *list, float from, const float *max, const float *x,
                   size_t n, const uint64_t *allowed);

/* Put a list that is in order of its ids into that of its scores; put any into
 * that of its ids.  ROOM: for N more. */
void select_sort(uint64_t *list, size_t n, uint64_t *room);
void select_by_id(uint64_t *list, size_t n, uint64_t *room);

#endif
