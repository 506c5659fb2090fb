/* SPDX-License-Identifier: MIT
 * buf.h - growing bytes, the caller's.
 *
 * A zeroed struct buf is empty and ready.  Running out of memory sets BAD,
 * after which every call is a no-op: append freely, test once with buf_ok().
 */
#ifndef LLM_BASE_BUF_H
#define LLM_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

struct buf {
    unsigned char *p; /* N bytes, not terminated; may move when growing */
    size_t n, cap;
    bool bad;
};

/* What the next four come to when the room runs out. */
void *buf_grow(struct buf *b, size_t n);

/* Make room for N more bytes and return where they start; NULL when BAD. */
static inline void *buf_reserve(struct buf *b, size_t n)
{
    return b->p && n <= b->cap - b->n && !b->bad ? b->p + b->n : buf_grow(b, n);
}

/* The same, and count them as written. */
static inline void *buf_add(struct buf *b, size_t n)
{
    void *p = buf_reserve(b, n);

    if (p)
        b->n += n;
    return p;
}

static inline void buf_put(struct buf *b, const void *p, size_t n)
{
    void *to = buf_add(b, n);

    if (to && n)
        memcpy(to, p, n);
}

static inline void buf_putc(struct buf *b, int c)
{
    unsigned char *p = buf_add(b, 1);

    if (p)
        *p = (unsigned char)c;
}

void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Terminate with a NUL that N does not count; "" when BAD. */
const char *buf_str(struct buf *b);
/* 0, or -1 with ERR_NOMEM when anything was lost. */
int buf_ok(const struct buf *b, struct err *e);
void buf_free(struct buf *b);

#endif
