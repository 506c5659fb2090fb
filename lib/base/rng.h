/* SPDX-License-Identifier: MIT
 * rng.h - random numbers without a state: the same for the same place.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011): ten rounds that mix a 128-bit counter under a
 * 64-bit key.
 */
#ifndef LLM_BASE_RNG_H
#define LLM_BASE_RNG_H

#include <stdint.h>

static inline void rng_philox(uint32_t out[4], const uint32_t counter[4],
                              const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int i = 0; i < 10; i++) {
        uint64_t a = UINT64_C(0xd2511f53) * c0, b = UINT64_C(0xcd9e8d57) * c2;

        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Numbers in [0, 1), of 2^53 equally likely ones, for position POS of sequence
 * SEQ under SEED: one, and another that does not depend on it. */
static inline double rng_word(uint64_t seed, uint64_t seq, uint64_t pos,
                              int word)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)pos, (uint32_t)(pos >> 32),
                                 (uint32_t)seq, (uint32_t)(seq >> 32)};
    uint32_t r[4];

    rng_philox(r, counter, key);
    return (double)(((uint64_t)r[word + 1] << 32 | r[word]) >> 11) * 0x1p-53;
}

static inline double rng_unit(uint64_t seed, uint64_t seq, uint64_t pos)
{
    return rng_word(seed, seq, pos, 0);
}

static inline double rng_other(uint64_t seed, uint64_t seq, uint64_t pos)
{
    return rng_word(seed, seq, pos, 2);
}

#endif
