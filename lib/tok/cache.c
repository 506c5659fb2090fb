/* SPDX-License-Identifier: MIT */
#include "tok/cache.h"

int piece_cache_open(struct piece_cache *c, struct err *e)
{
    c->small = calloc((size_t)1 << SMALL_BITS, sizeof *c->small);
    c->large = calloc((size_t)1 << LARGE_BITS, sizeof *c->large);
    c->ring = malloc(RING);
    return c->small && c->large && c->ring ? 0 : err_nomem(e);
}

void piece_cache_close(struct piece_cache *c)
{
    free(c->small);
    free(c->large);
    free(c->ring);
}

void cache_put(struct tok_enc *enc, const unsigned char *p, size_t n,
               size_t before)
{
    struct piece_cache *c = &enc->cache;
    size_t nid = enc->out->n - before;
    const uint32_t *id = nid ? enc->out->p + before : NULL;
    struct piece_long *l;
    uint64_t h;

    if (n <= SMALL_BYTES && nid <= SMALL_IDS) {
        struct piece_short *s;
        uint64_t k[2];

        short_key(k, p, n, p + n);
        s = &c->small[short_slot(k)];
        memcpy(s->k, k, sizeof s->k);
        for (size_t i = 0; i < nid; i++)
            s->id[i] = id[i];
        s->n = (uint32_t)nid;
        return;
    }
    if (n > LARGE_BYTES || nid > LARGE_IDS)
        return;
    if (c->ring_n + n + nid * sizeof *id > RING) {
        memset(c->large, 0, sizeof *c->large << LARGE_BITS);
        c->ring_n = 0;
    }
    h = XXH3_64bits(p, n);
    l = &c->large[h >> (64 - LARGE_BITS)];
    *l = (struct piece_long){(uint32_t)h, (uint32_t)c->ring_n, (uint8_t)n,
                             (uint8_t)nid};
    memcpy(c->ring + c->ring_n, p, n);
    if (nid)
        memcpy(c->ring + c->ring_n + n, id, nid * sizeof *id);
    c->ring_n += n + nid * sizeof *id;
}
