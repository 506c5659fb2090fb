/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10, HEAD = 64, LARGE = 4096 };

struct arena_block {
    struct arena_block *prev;
    size_t used, cap; /* of the CAP bytes that follow the HEAD */
};

_Static_assert(sizeof(struct arena_block) <= HEAD, "block head");

static struct arena_block *grow(struct arena *a, size_t size)
{
    size_t cap = size > BLOCK ? size : BLOCK;
    struct arena_block *b;

    if (size > SIZE_MAX / 4)
        return NULL;
    cap = (cap + 63) & ~(size_t)63;
    b = aligned_alloc(64, HEAD + cap);
    if (!b)
        return NULL;
    b->used = 0;
    b->cap = cap;
    a->total += HEAD + cap;
    /* A block made for one large item goes behind the one being filled. */
    if (a->last && size > BLOCK) {
        b->prev = a->last->prev;
        a->last->prev = b;
    } else {
        b->prev = a->last;
        a->last = b;
    }
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t align = size >= LARGE ? 64 : 16, at = 0;
    struct arena_block *b = a->last;

    assert(!a->sealed);
    if (b)
        at = (b->used + align - 1) & ~(align - 1);
    if (!b || at > b->cap || size > b->cap - at) {
        b = grow(a, size);
        at = 0;
    }
    if (!b)
        return NULL;
    b->used = at + size;
    return memset((char *)b + HEAD + at, 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return arena_alloc(a, count * size);
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
    void *to = arena_alloc(a, n);

    return to && n ? memcpy(to, p, n) : to;
}

void arena_seal(struct arena *a)
{
    a->sealed = true;
}

void arena_free(struct arena *a)
{
    struct arena_block *b = a->last, *prev;

    for (; b; b = prev) {
        prev = b->prev;
        free(b);
    }
    *a = (struct arena){0};
}
