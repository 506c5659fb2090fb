/* SPDX-License-Identifier: MIT
 * run.h - a plan carried out: every tensor read, changed and written, or only
 * measured. */
#ifndef LLM_QUANTIZE_RUN_H
#define LLM_QUANTIZE_RUN_H

#include "base/pool.h"
#include "gguf/write_file.h"
#include "quantize/plan.h"

struct quantize_run {
    const struct quantize *q;
    struct pool *pool;
    /* Called now and then, by any thread but one at a time; NULL: not. */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg;
};

/* Write all tensors of P to F, whose head is written: those of P stand there in
 * order, each at a multiple of ALIGNMENT.  ERR_FORMAT names the tensor and the
 * element that is not finite, or too great for its type. */
int quantize_write(const struct plan *p, struct gguf_file *f,
                   uint32_t alignment, const struct quantize_run *r,
                   struct err *e);

/* The tensors of P that change, in memory, for gguf_open_view(). */
struct quantize_made {
    unsigned char *p;
    uint64_t bytes;
    struct gguf_instead *tensor;
    size_t n;
};
int quantize_memory(struct quantize_made *m, const struct plan *p,
                    const struct quantize_run *r, struct err *e);
void quantize_made_free(struct quantize_made *m);

/* The part of T's squares, each times its weight, that T would lose as TYPE;
 * by some of its rows when there are many. */
int quantize_measure(double *part, const struct plan_tensor *k, uint32_t type,
                     const struct quantize_run *r, struct err *e);

#endif
