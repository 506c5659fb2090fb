/* SPDX-License-Identifier: MIT
 * convert.h - the parts of gguf-convert. */
#ifndef LLM_CMD_CONVERT_H
#define LLM_CMD_CONVERT_H

#include "convert/convert.h"

/* What the options say. */
struct job {
    const char *input, *output;
    const char *base; /* of an adapter; NULL: what it says itself */
    struct convert_want want;
    uint64_t max_size; /* of a folder's file */
    int threads;
    bool dry_run, quiet, json;
};

/* A folder to a GGUF, and a GGUF to a folder; the exit code. */
int convert_to_gguf(const struct job *j);
int convert_to_folder(const struct job *j);
/* A LoRA adapter's folder to a GGUF. */
int convert_adapter(const struct job *j);

/* Threads without signals: those are for the first one. */
struct pool *convert_pool(int threads);

/* What becomes of each tensor, on standard output. */
void convert_show(const struct convert *c, const struct job *j);

#endif
