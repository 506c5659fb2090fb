/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *buf_grow(struct buf *b, size_t n)
{
    if (b->bad)
        return NULL;
    if (n > b->cap - b->n || !b->p) {
        size_t want = b->n + n, cap = b->cap ? b->cap : 64;
        void *p = NULL;

        if (want >= n && want <= SIZE_MAX / 4) {
            while (cap < want)
                cap += cap / 2;
            p = realloc(b->p, cap);
        }
        if (!p) {
            b->bad = true;
            return NULL;
        }
        b->p = p;
        b->cap = cap;
    }
    return b->p + b->n;
}

void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    int n;
    char *p;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && (p = buf_reserve(b, (size_t)n + 1))) {
        vsnprintf(p, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

const char *buf_str(struct buf *b)
{
    char *p = buf_reserve(b, 1);

    if (!p)
        return "";
    *p = 0;
    return (char *)b->p;
}

int buf_ok(const struct buf *b, struct err *e)
{
    return b->bad ? err_nomem(e) : 0;
}

void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}
