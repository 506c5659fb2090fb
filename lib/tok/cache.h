/* SPDX-License-Identifier: MIT
 * cache.h - pieces of text already encoded, by their bytes.
 *
 * Most text is words met before: a look-up here is one cache line, against
 * hundreds of steps of merging.  Direct-mapped: a newer piece replaces an
 * older one in its slot, so the size is fixed and nothing is ever searched.
 */
#ifndef LLM_TOK_CACHE_H
#define LLM_TOK_CACHE_H

#include "tok/tok_impl.h"

enum {
    SMALL_BITS = 16,
    SMALL_BYTES = 15, /* bytes of text */
    SMALL_IDS = 3,
    LARGE_BITS = 16,
    LARGE_BYTES = 255,
    LARGE_IDS = 255,
    RING = 8 << 20,
};

/* K[0] and K[1] hold the bytes, little end first, and the length on top. */
struct piece_short {
    uint64_t k[2];
    uint32_t id[SMALL_IDS];
    uint32_t n;
};

/* A record at RING + AT: NBYTE bytes, then NID ids, unaligned. */
struct piece_long {
    uint32_t tag;
    uint32_t at;
    uint8_t nbyte, nid; /* nbyte 0: empty */
};

static inline uint64_t load_part(const unsigned char *p, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p, n);
    return v;
}

/* The key of N bytes at P, 1 to SMALL_BYTES.  END: bytes up to it may be read.
 */
static inline void short_key(uint64_t k[2], const unsigned char *p, size_t n,
                             const unsigned char *end)
{
    if (end - p >= 16) {
        /* Without a branch: the length of a word can't be predicted. */
        unsigned low = n < 8 ? (unsigned)n : 8, high = (unsigned)n - low;

        memcpy(k, p, 16);
        k[0] &= ~0ull >> ((8 - low) * 8 & 63);
        k[1] &= (1ull << high * 8) - 1;
    } else {
        k[0] = load_part(p, n < 8 ? n : 8);
        k[1] = n > 8 ? load_part(p + 8, n - 8) : 0;
    }
    k[1] |= (uint64_t)n << 56;
}

static inline size_t short_slot(const uint64_t k[2])
{
    uint64_t h = (k[0] ^ (k[1] << 32 | k[1] >> 32)) * 0x9e3779b97f4a7c15u;

    h ^= h >> 32;
    h = (h ^ k[1]) * 0xd6e8feb86659fd93u;
    return (size_t)(h >> (64 - SMALL_BITS));
}

/* Append the ids of P[N] to OUT if it is known; false if not. */
static inline bool cache_get(struct tok_enc *enc, const unsigned char *p,
                             size_t n, const unsigned char *end)
{
    struct tok_ids *out = enc->out;

    if (n <= SMALL_BYTES) {
        const struct piece_short *s;
        uint64_t k[2];

        short_key(k, p, n, end);
        s = &enc->cache.small[short_slot(k)];
        if (s->k[0] == k[0] && s->k[1] == k[1]) {
            if (out->cap - out->n < SMALL_IDS && !ids_reserve(enc, SMALL_IDS))
                return true;
            memcpy(out->p + out->n, s->id, sizeof s->id);
            out->n += s->n;
            return true;
        }
    }
    if (n <= LARGE_BYTES) {
        uint64_t h = XXH3_64bits(p, n);
        const struct piece_long *l = &enc->cache.large[h >> (64 - LARGE_BITS)];
        const unsigned char *r = enc->cache.ring + l->at;

        if (l->tag == (uint32_t)h && l->nbyte == n && !memcmp(r, p, n)) {
            uint32_t *to = ids_reserve(enc, l->nid);

            if (to) {
                memcpy(to, r + n, l->nid * sizeof *to);
                out->n += l->nid;
            }
            return true;
        }
    }
    return false;
}

/* Remember that P[N] is the ids put since enc->out->n was BEFORE. */
void cache_put(struct tok_enc *enc, const unsigned char *p, size_t n,
               size_t before);

#endif
