/* SPDX-License-Identifier: MIT */
#include "grammar/intern.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const uint32_t *w, size_t n)
{
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (size_t i = 0; i < n; i++) {
        h ^= w[i];
        h *= UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return (uint32_t)(h ^ h >> 29);
}

/* Where W is, or would be. */
static uint32_t find(const struct intern *t, const uint32_t *w, size_t n,
                     uint32_t h)
{
    uint32_t i = h & (t->nslot - 1);

    for (; t->slot[i]; i = (i + 1) & (t->nslot - 1)) {
        uint32_t id = t->slot[i] - 1;

        if (t->hash[id] == h && intern_len(t, id) == n &&
            (!n || !memcmp(intern_get(t, id), w, n * sizeof *w)))
            break;
    }
    return i;
}

static int more_slots(struct intern *t)
{
    uint32_t n = t->nslot ? t->nslot * 2 : 64, *slot;

    if (n > UINT32_C(1) << 30 || !(slot = calloc(n, sizeof *slot)))
        return -1;
    for (uint32_t id = 0; id < t->n; id++) {
        uint32_t i = t->hash[id] & (n - 1);

        while (slot[i])
            i = (i + 1) & (n - 1);
        slot[i] = id + 1;
    }
    free(t->slot);
    t->slot = slot;
    t->nslot = n;
    return 0;
}

static int room(struct intern *t, size_t n)
{
    if (t->n + 1 >= t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 64, *p;

        if (cap > UINT32_C(1) << 30 || !(p = realloc(t->at, cap * sizeof *p)))
            return -1;
        if (!t->at)
            p[0] = 0;
        t->at = p;
        if (!(p = realloc(t->hash, cap * sizeof *p)))
            return -1;
        t->hash = p;
        t->cap = cap;
    }
    if (!t->word || n > t->capword - t->nword) {
        size_t cap =
            t->capword * 2 > t->nword + n ? t->capword * 2 : t->nword + n + 256;
        uint32_t *p;

        if (cap > UINT32_MAX || !(p = realloc(t->word, cap * sizeof *p)))
            return -1;
        t->word = p;
        t->capword = cap;
    }
    return (t->n + 1) * 2 > t->nslot ? more_slots(t) : 0;
}

uint32_t intern_put(struct intern *t, const uint32_t *w, size_t n, bool *fresh)
{
    uint32_t h = hash_of(w, n), i = 0;

    if (fresh)
        *fresh = false;
    if (t->nslot) {
        i = find(t, w, n, h);
        if (t->slot[i])
            return t->slot[i] - 1;
    }
    if (room(t, n))
        return INTERN_NONE;
    i = find(t, w, n, h);
    if (n)
        memcpy(t->word + t->nword, w, n * sizeof *w);
    t->nword += n;
    t->hash[t->n] = h;
    t->at[t->n + 1] = (uint32_t)t->nword;
    t->slot[i] = ++t->n;
    if (fresh)
        *fresh = true;
    return t->n - 1;
}

uint32_t intern_find(const struct intern *t, const uint32_t *w, size_t n)
{
    uint32_t i;

    if (!t->nslot)
        return INTERN_NONE;
    i = find(t, w, n, hash_of(w, n));
    return t->slot[i] ? t->slot[i] - 1 : INTERN_NONE;
}

void intern_clear(struct intern *t)
{
    if (t->nslot > 4096) {
        intern_free(t);
        return;
    }
    if (t->n)
        memset(t->slot, 0, t->nslot * sizeof *t->slot);
    t->n = 0;
    t->nword = 0;
}

void intern_free(struct intern *t)
{
    free(t->word);
    free(t->at);
    free(t->hash);
    free(t->slot);
    *t = (struct intern){0};
}
