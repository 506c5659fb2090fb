/* SPDX-License-Identifier: MIT
 * convert_impl.h - a folder while it is understood. */
#ifndef LLM_CONVERT_CONVERT_IMPL_H
#define LLM_CONVERT_CONVERT_IMPL_H

#include "base/arena.h"
#include "base/buf.h"
#include "convert/convert.h"
#include "convert/hfconfig.h"

enum { CONVERT_MAX_DENSE = 2, CONVERT_MAX_MADE = 3 };

struct convert {
    struct hfconfig hf;
    const struct convert_model *m;
    struct convert_want want;
    int64_t size[128]; /* by letter */
    struct safetensors *s, *dense[CONVERT_MAX_DENSE];
    int64_t dense_size[CONVERT_MAX_DENSE][2]; /* in, out */
    bool *seen;                               /* of S's tensors */
    const char *prefix;
    size_t nprefix;

    struct gguf_out out;
    struct buf tensors; /* struct convert_tensor */
    struct buf notes;
    struct arena mem;
    uint64_t offset; /* positions that the GGUF is without */
    bool fp8;        /* matrices of F8_E4M3, in blocks as pieces have them */
    uint64_t block[2];

    struct {
        const char *name;
        float *v;
        uint64_t n;
    } made[CONVERT_MAX_MADE];
    int nmade;
};

/* "<architecture>.KEY", in C's arena; NULL after ERR_NOMEM. */
const char *convert_key_name(struct convert *c, const char *key, struct err *e);
int convert_put_u32(struct convert *c, const char *key, int64_t v,
                    struct err *e);
int convert_put_f32(struct convert *c, const char *key, double v,
                    struct err *e);
int convert_put_bool(struct convert *c, const char *key, bool v, struct err *e);
int convert_put_str(struct convert *c, const char *key, const char *v,
                    struct err *e);

/* A switch or size of LETTER. */
static inline int64_t convert_size(const struct convert *c, char letter)
{
    return c->size[(unsigned char)letter & 127];
}

/* Sizes and switches, then keys: those of the table, */
int convert_sizes(struct convert *c, struct err *e);
int convert_keys(struct convert *c, struct err *e);
/* of rope, with its tensors, of windows, of sentence-transformers' modules, of
 * the folder as a whole. */
int convert_rope(struct convert *c, struct err *e);
int convert_layers(struct convert *c, struct err *e);
int convert_modules(struct convert *c, struct err *e);
int convert_general(struct convert *c, struct err *e);
int convert_sums(struct convert *c, struct err *e);

/* A tensor that is not in the folder: N floats. */
int convert_make(struct convert *c, const char *name, const float *v,
                 uint64_t n, struct err *e);
/* Checkpoints of fewer bits: F8 in blocks is understood, all else refused. */
int convert_quantised(struct convert *c, struct err *e);
/* The scales of a piece of F8. */
int convert_scales(struct convert_piece *k, struct convert *c, struct err *e);
/* N elements of K's tensor from P on, which are COLS to a row, to floats. */
void convert_load_f8(float *x, const struct convert_piece *k,
                     const unsigned char *p, uint64_t n, uint64_t cols);
/* What each tensor of the GGUF is made of. */
int convert_plan(struct convert *c, struct err *e);

#endif
