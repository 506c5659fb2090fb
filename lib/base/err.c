/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *err_word(enum err_code code)
{
    static const char *const words[] = {
        "none", "usage", "io", "format", "unsupported", "memory", "context"};

    return words[code];
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (!e || e->code)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
    char what[sizeof e->msg];
    va_list ap;
    size_t n, room;

    if (!e || !e->code)
        return -1;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what - 2, fmt, ap);
    va_end(ap);
    n = strlen(what);
    memcpy(what + n, ": ", 2);
    n += 2;
    /* What does not fit is cut off the end. */
    room = sizeof e->msg - n;
    memmove(e->msg + n, e->msg, room);
    memcpy(e->msg, what, n);
    e->msg[sizeof e->msg - 1] = 0;
    return -1;
}

int err_nomem(struct err *e)
{
    return err_set(e, ERR_NOMEM, "out of memory");
}
