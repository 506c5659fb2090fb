/* SPDX-License-Identifier: MIT */
#include "cmd/common/lines.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "wire/wire.h"

enum { CHUNK = 1 << 16 };

bool lines_ready(struct lines *l, bool wait)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    if (wait || l->over ||
        (l->in.n > l->known &&
         memchr(l->in.p + l->known, '\n', l->in.n - l->known)))
        return true;
    return poll(&p, 1, 0) != 0;
}

int lines_next(const unsigned char **p, size_t *n, struct lines *l,
               struct err *e)
{
    size_t left = l->in.n - l->known;
    unsigned char *nl = left ? memchr(l->in.p + l->known, '\n', left) : NULL,
                  *to;
    ssize_t got;

    if (nl || (l->over && l->in.n > l->at)) {
        *p = l->in.p + l->at;
        *n = (size_t)((nl ? nl : l->in.p + l->in.n) - *p);
        l->at = l->known = nl ? (size_t)(nl - l->in.p) + 1 : l->in.n;
        l->number++;
        return 1;
    }
    if (l->over)
        return 0;
    if (l->at)
        memmove(l->in.p, l->in.p + l->at, l->in.n - l->at);
    l->in.n -= l->at;
    l->at = 0;
    l->known = l->in.n;
    to = l->in.n < WIRE_MAX_JSON ? buf_reserve(&l->in, CHUNK) : NULL;
    if (!to)
        return l->in.bad
                   ? err_nomem(e)
                   : err_set(e, ERR_FORMAT, "%s: a line is too long", l->name);
    do
        got = read(l->fd, to, CHUNK);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_set(e, ERR_IO, "%s: %s", l->name, strerror(errno));
    l->in.n += (size_t)got;
    l->over = !got;
    return 2;
}
