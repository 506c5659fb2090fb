/* SPDX-License-Identifier: MIT
 * folder.h - a GGUF as a Hugging Face folder.
 *
 *     struct folder *f;
 *
 *     if (folder_open(&f, g, &want, &e))
 *         ...
 *     for each I below folder_nfile(): a file named folder_file(f, i)->name, by
 *     folder_put(); then config.json and, if there is one, the index, whose
 *     text is what folder_config() and folder_index() append; then
 *     convert_tokenizer_back()
 *     folder_close(f);
 *
 * The tables are those of the way there (table.h).  Every tensor, and every
 * value of the architecture, must have a place in the folder: what has none is
 * refused by name. */
#ifndef LLM_CONVERT_FOLDER_H
#define LLM_CONVERT_FOLDER_H

#include "base/newfile.h"
#include "convert/convert.h"

struct folder_want {
    /* Of all tensors.  CONVERT_AUTO: matrices of floats stay what they are,
     * others become BF16; what is no matrix has the type of most matrices
     * where that keeps its values, and is F32 elsewhere. */
    enum convert_type type;
    uint64_t max_bytes; /* of tensors in one file, unless one alone has more */
};

struct folder_tensor {
    const char *name; /* in the folder */
    const struct gguf_tensor *from;
    enum safetensors_dtype dtype;
    int ndim;
    uint64_t shape[SAFETENSORS_MAX_DIMS];
    uint64_t cols, rows; /* of the folder's */
    uint64_t first;      /* row of FROM that is its first */
    uint64_t turn;       /* rows of a head whose pairs become halves; 0 */
    bool one;            /* 1 is subtracted */
    uint64_t at, bytes;  /* in the data of its file */
};

struct folder_file {
    char name[64];
    size_t first, n; /* tensors */
    uint64_t bytes;  /* of the data */
};

struct folder;

int folder_open(struct folder **out, const struct gguf *g,
                const struct folder_want *want, struct err *e);
void folder_close(struct folder *f);

const struct convert_model *folder_model(const struct folder *f);
size_t folder_n(const struct folder *f);
const struct folder_tensor *folder_at(const struct folder *f, size_t i);
size_t folder_nfile(const struct folder *f);
const struct folder_file *folder_file(const struct folder *f, size_t i);

/* The texts, appended to TO; without an index nothing is. */
int folder_config(struct buf *to, const struct folder *f, struct err *e);
int folder_index(struct buf *to, const struct folder *f, struct err *e);

/* How the model's vectors are pooled: "mean_tokens", "cls_token", "lasttoken";
 * NULL: the GGUF does not say. */
const char *folder_pooling(const struct folder *f);
/* The width of its vectors. */
uint64_t folder_width(const struct folder *f);

/* File I's bytes.  R->progress counts bytes of all files. */
int folder_put(const struct folder *f, size_t i, struct newfile *file,
               const struct convert_run *r, struct err *e);

#endif
