/* SPDX-License-Identifier: MIT
 * backend_impl.h - what a device fills in: one function for each of backend.h,
 * every one required. */
#ifndef LLM_BACKEND_BACKEND_IMPL_H
#define LLM_BACKEND_BACKEND_IMPL_H

#include "backend/backend.h"

struct be_device {
    const char *name; /* of be_open()'s SPEC */
    int (*open)(struct be **out, const struct be_opts *o, struct err *e);
    void (*close)(struct be *b);
    be_w (*weight)(struct be *b, const struct be_tensor *t, enum be_use use,
                   struct err *e);
    int (*kv_init)(struct be *b, const struct be_kv_spec *s, struct err *e);
    void (*kv_copy)(struct be *b, int group, int src, int dst);
    size_t (*kv_row)(const struct be *b, int layer, int which);
    void (*kv_get)(struct be *b, int layer, int which, int page, int pos, int n,
                   void *dst);
    void (*kv_put)(struct be *b, int layer, int which, int page, int pos, int n,
                   const void *src);
    int (*plan_new)(struct be_plan **out, struct be *b,
                    const struct be_plan_desc *desc, struct err *e);
    void (*plan_free)(struct be_plan *p);
    int (*run)(struct be *b, struct be_plan *p, const struct be_step *s,
               const float **logits, struct err *e);
    const float *(*peaks)(const struct be_plan *p);
    bool (*exact)(struct be_plan *p, int row);
    void (*tap)(struct be *b, be_tap_fn *fn, void *arg);
    void (*stats)(struct be_stats *s, const struct be *b);
};

/* Devices begin their own structs with these. */
struct be {
    const struct be_device *dev;
};

struct be_plan {
    struct be *be;
};

extern const struct be_device be_cpu;

#endif
