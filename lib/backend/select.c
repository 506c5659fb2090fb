/* SPDX-License-Identifier: MIT
 * select.c - devices by name, and the way from backend.h into them. */
#include <string.h>

#include "backend/backend_impl.h"

static const struct be_device *const devices[] = {&be_cpu};

int be_open(struct be **out, const char *spec, const struct be_opts *o,
            struct err *e)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (!strcmp(devices[i]->name, spec))
            return devices[i]->open(out, o, e);
    return err_set(e, ERR_UNSUPPORTED, "no device '%s'", spec);
}

void be_close(struct be *b)
{
    if (b)
        b->dev->close(b);
}

be_w be_weight(struct be *b, const struct be_tensor *t, enum be_use use,
               struct err *e)
{
    return b->dev->weight(b, t, use, e);
}

int be_kv_init(struct be *b, const struct be_kv_spec *s, struct err *e)
{
    return b->dev->kv_init(b, s, e);
}

void be_kv_copy(struct be *b, int group, int src, int dst)
{
    b->dev->kv_copy(b, group, src, dst);
}

size_t be_kv_row(const struct be *b, int layer, int which)
{
    return b->dev->kv_row(b, layer, which);
}

void be_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
               void *dst)
{
    b->dev->kv_get(b, layer, which, page, pos, n, dst);
}

void be_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
               const void *src)
{
    b->dev->kv_put(b, layer, which, page, pos, n, src);
}

int be_plan_new(struct be_plan **out, struct be *b,
                const struct be_plan_desc *desc, struct err *e)
{
    return b->dev->plan_new(out, b, desc, e);
}

void be_plan_free(struct be_plan *p)
{
    if (p)
        p->be->dev->plan_free(p);
}

int be_run(struct be *b, struct be_plan *p, const struct be_step *s,
           const float **logits, struct err *e)
{
    return b->dev->run(b, p, s, logits, e);
}

const float *be_peaks(const struct be *b, const struct be_plan *p)
{
    return b->dev->peaks(p);
}

bool be_exact(struct be *b, struct be_plan *p, int row)
{
    return b->dev->exact(p, row);
}

void be_tap(struct be *b, be_tap_fn *fn, void *arg)
{
    b->dev->tap(b, fn, arg);
}

void be_stats(struct be_stats *s, const struct be *b)
{
    b->dev->stats(s, b);
}
