/* SPDX-License-Identifier: MIT
 * quantize.h - floats to the blocks of a GGUF's tensor types.
 *
 *     struct quantize q;
 *     const struct quantize_type *t;
 *
 *     quantize_init(&q, cpu_flags());
 *     t = quantize_type(&q, GGUF_T_Q4_K);
 *     bad = t->row(to, x, NULL, n);
 *
 * Types that have a formula which everybody uses (Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,
 * MXFP4, BF16, F16) give its bytes, as long as no weights are given.  All
 * others, and these with weights, search for the scales whose weighted squared
 * error is least.  Results are the same bits whatever the instruction set. */
#ifndef LLM_QUANTIZE_QUANTIZE_H
#define LLM_QUANTIZE_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

/* A row X of N floats, finite and whole blocks of them, to blocks at TO.  W:
 * how much the squared error of each counts, not negative and finite, or NULL.
 * -1, or the index of an element whose block has no finite scale in this
 * type. */
typedef int64_t quantize_row_fn(void *to, const float *x, const float *w,
                                int64_t n);
/* N elements of a type of floats to floats. */
typedef void quantize_load_fn(float *to, const void *from, int64_t n);

struct quantize_type {
    const char *name;
    uint32_t id;
    int elems, bytes; /* of a block */
    bool formula;     /* without weights: no search */
    quantize_row_fn *row;
};

enum { QUANTIZE_NTYPE = 16 };

struct quantize {
    struct quantize_type type[QUANTIZE_NTYPE];
    quantize_load_fn *load_f16, *load_bf16;
    /* The index of the first of N that is not finite, or -1. */
    int64_t (*bad)(const float *x, int64_t n);
    /* Sum of w * (x - y)^2 and of w * x^2 over N; W may be NULL, for 1. */
    void (*error)(double *err, double *all, const float *x, const float *y,
                  const float *w, int64_t n);
};

/* Fill Q with the best that FLAGS (CPU_ bits) allow. */
void quantize_init(struct quantize *q, unsigned flags);
/* The type with this id in the file; NULL: nothing becomes one here. */
const struct quantize_type *quantize_type(const struct quantize *q,
                                          uint32_t id);

#endif
