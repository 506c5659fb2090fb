/* SPDX-License-Identifier: MIT */
#include "run/ids.h"

#include <stdlib.h>

int ids_push(struct ids *v, int32_t id, struct err *e)
{
    if (v->n == v->cap) {
        int32_t *p = v->cap < INT32_MAX / 4
                         ? realloc(v->p, ((size_t)v->cap * 2 + 64) * sizeof *p)
                         : NULL;

        if (!p)
            return err_nomem(e);
        v->p = p;
        v->cap = v->cap * 2 + 64;
    }
    v->p[v->n++] = id;
    return 0;
}
