/* SPDX-License-Identifier: MIT
 *
 * A model some of whose tensors are elsewhere.  All else is looked up where it
 * is. */
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf_impl.h"

static int replace(struct gguf *v, const struct gguf_instead *other, size_t n,
                   struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct gguf_tensor *t = &v->tensor[other[i].tensor];

        t->type = other[i].type;
        t->p = other[i].p;
        if (gguf_size_tensor(t, e))
            return err_prefix(e, "%s", v->path);
    }
    return 0;
}

int gguf_open_view(struct gguf **out, const struct gguf *g,
                   const struct gguf_instead *other, size_t n, struct err *e)
{
    struct gguf *v = calloc(1, sizeof *v);

    *out = NULL;
    if (!v)
        return err_nomem(e);
    v->view = true;
    v->path = strdup(g->path);
    v->shard = calloc((size_t)g->nshard + 1, sizeof *v->shard);
    v->tensor = calloc(g->ntensor + 1, sizeof *v->tensor);
    if (!v->path || !v->shard || !v->tensor) {
        gguf_close(v);
        return err_nomem(e);
    }
    v->nshard = g->nshard;
    v->ntensor = g->ntensor;
    memcpy(v->shard, g->shard, (size_t)g->nshard * sizeof *v->shard);
    memcpy(v->tensor, g->tensor, g->ntensor * sizeof *v->tensor);
    for (int i = 0; i < v->nshard; i++)
        v->shard[i].mapped = false;
    if (replace(v, other, n, e) || gguf_index_tensors(v, e)) {
        gguf_close(v);
        return -1;
    }
    *out = v;
    return 0;
}
