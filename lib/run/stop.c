/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include <stdlib.h>
#include <string.h>

int stop_add(struct stop_set *s, const void *p, size_t n, struct err *e)
{
    struct stop_string *v;
    char *copy;

    if (!n)
        return err_set(e, ERR_USAGE, "a stop string is empty");
    v = realloc(s->v, ((size_t)s->n + 1) * sizeof *v);
    if (!v)
        return err_nomem(e);
    s->v = v;
    copy = malloc(n);
    if (!copy)
        return err_nomem(e);
    memcpy(copy, p, n);
    v[s->n++] = (struct stop_string){copy, n};
    return 0;
}

int stop_copy(struct stop_set *to, const struct stop_set *from, struct err *e)
{
    for (int i = 0; i < from->n; i++)
        if (stop_add(to, from->v[i].p, from->v[i].n, e))
            return -1;
    return 0;
}

void stop_free(struct stop_set *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->v[i].p);
    free(s->v);
    *s = (struct stop_set){0};
}

/* The text that is held back is shorter than the longest stop string plus a
 * token: comparing at each place is quick enough. */
size_t stop_scan(const struct stop_set *s, const char *text, size_t n,
                 bool more, int *hit)
{
    *hit = -1;
    for (size_t at = 0; at < n; at++) {
        bool may = false;

        for (int i = 0; i < s->n; i++) {
            size_t len = s->v[i].n, have = n - at < len ? n - at : len;

            if (text[at] != s->v[i].p[0] || memcmp(text + at, s->v[i].p, have))
                continue;
            if (have < len)
                may = more;
            else if (*hit < 0 || len > s->v[*hit].n)
                *hit = i;
        }
        if (*hit >= 0 || may)
            return at;
    }
    return n;
}
