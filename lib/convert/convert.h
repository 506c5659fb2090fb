/* SPDX-License-Identifier: MIT
 * convert.h - a Hugging Face folder as a GGUF.
 *
 *     struct convert *c;
 *     struct gguf_file *f;
 *
 *     if (convert_open(&c, "folder", &want, &e) ||
 *         gguf_file_open(&f, "m.gguf", &e))
 *         ...
 *     if (gguf_file_head(f, convert_head(c), &e) ||
 *         convert_write(c, f, &run, &e) || gguf_file_close(f, &e))
 *         gguf_file_abandon(f);
 *     convert_close(c);
 *
 * convert_open() reads and checks everything but the weights themselves: what
 * config.json says is understood to the last value, and every tensor is there,
 * has the shape that follows from it, and a place in the GGUF.  table.h has
 * which models there are. */
#ifndef LLM_CONVERT_CONVERT_H
#define LLM_CONVERT_CONVERT_H

#include <stdbool.h>

#include "base/pool.h"
#include "convert/table.h"
#include "gguf/write_file.h"
#include "safetensors/safetensors.h"

enum convert_type {
    CONVERT_AUTO, /* BF16 and F16 stay, F32 becomes F16, F8 BF16 */
    CONVERT_TO_F32,
    CONVERT_TO_F16,
    CONVERT_TO_BF16,
    CONVERT_TO_Q8_0
};

struct convert_want {
    enum convert_type type; /* of matrices; what is no matrix is F32 */
    const char *name;       /* general.name; NULL: the folder's */
    bool no_tokenizer;
};

/* Rows of a tensor of the folder that become rows of one of the GGUF. */
struct convert_piece {
    const struct safetensors_tensor *from;
    uint64_t first, rows; /* of FROM's */
    /* Of F8_E4M3: a number for each block of FROM, or one for all (block 0),
     * that its elements are times. */
    const struct safetensors_tensor *scale;
    uint64_t block[2]; /* rows, columns */
};

struct convert_tensor {
    const char *name; /* in the GGUF */
    uint32_t type;
    int ndim;
    uint64_t ne[GGUF_MAX_DIMS];
    uint64_t at, bytes;  /* in the GGUF's data */
    uint64_t cols, rows; /* of what pieces are of */
    uint64_t turn;       /* rows of a head whose halves become pairs; 0 */
    bool one;            /* 1 is added */
    uint32_t instead_of; /* the type that its rows have no blocks for */
    const float *made;   /* NULL, or all that there is of it */
    struct convert_piece *piece; /* in order, all of its rows */
    size_t npiece;
};

enum { CONVERT_NOT_INSTEAD = UINT32_MAX }; /* as .instead_of */

struct convert;

int convert_open(struct convert **out, const char *path,
                 const struct convert_want *want, struct err *e);
void convert_close(struct convert *c);

const struct convert_model *convert_model_of_folder(const struct convert *c);
size_t convert_n(const struct convert *c);
const struct convert_tensor *convert_at(const struct convert *c, size_t i);
/* The front of the file. */
const struct gguf_out *convert_head(const struct convert *c);
/* Lines about what was left out, or done otherwise than it might be expected;
 * each ends in a newline.  "" when there is nothing to say. */
const char *convert_notes(const struct convert *c);

struct convert_run {
    struct pool *pool;
    unsigned cpu; /* flags of base/cpu.h */
    /* Called now and then, by any thread but one at a time; NULL: not. */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg;
};

/* All tensors to F, whose head is written.  ERR_FORMAT names the tensor and
 * the element that is not finite, or too great for its type. */
int convert_write(const struct convert *c, struct gguf_file *f,
                  const struct convert_run *r, struct err *e);

#endif
