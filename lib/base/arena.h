/* SPDX-License-Identifier: MIT
 * arena.h - many allocations, one lifetime. */
#ifndef LLM_BASE_ARENA_H
#define LLM_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

/* A zeroed arena is empty and ready. */
struct arena {
    struct arena_block *last;
    size_t total; /* bytes asked of the system */
    bool sealed;  /* allocating now is a programming error */
};

/* SIZE bytes, zeroed, 64-byte aligned when large, else 16; NULL when memory
 * ran out.  Lives until arena_free(). */
void *arena_alloc(struct arena *a, size_t size);
/* COUNT x SIZE, checked. */
void *arena_array(struct arena *a, size_t count, size_t size);
void *arena_copy(struct arena *a, const void *p, size_t n);
void arena_seal(struct arena *a);
void arena_free(struct arena *a);

#endif
