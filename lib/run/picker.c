/* SPDX-License-Identifier: MIT */
#include "run/picker.h"

#include <stdlib.h>

static bool is_never(const struct run_request *q, const struct tok *t,
                     uint32_t id)
{
    return id >= tok_count(t) || tok_is_suppressed(t, id) ||
           (q->ignore_eos && tok_is_eog(t, id));
}

int picker_new(struct sampler **out, const struct run_request *q,
               const struct tok *t, int n_vocab, struct err *e)
{
    struct sample_opts o = q->sampling;
    uint32_t *never;
    int n = o.nnever;

    for (uint32_t id = 0; id < (uint32_t)n_vocab; id++)
        n += is_never(q, t, id);
    never = malloc(((size_t)n + 1) * sizeof *never);
    if (!never)
        return err_nomem(e);
    n = 0;
    for (int i = 0; i < o.nnever; i++)
        never[n++] = o.never[i];
    for (uint32_t id = 0; id < (uint32_t)n_vocab; id++)
        if (is_never(q, t, id))
            never[n++] = id;
    o.never = never;
    o.nnever = n;
    *out = sampler_new(&o, n_vocab, e);
    free(never);
    return *out ? 0 : -1;
}
