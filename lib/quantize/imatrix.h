/* SPDX-License-Identifier: MIT
 * imatrix.h - an importance matrix: how great the inputs of each tensor were,
 * column by column, on some text.
 *
 * Two forms are read: a GGUF with NAME.in_sum2 (sums of squares, a row for each
 * expert) and NAME.counts, and the binary one before it (entries of a name, a
 * count of calls, and values). */
#ifndef LLM_QUANTIZE_IMATRIX_H
#define LLM_QUANTIZE_IMATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gguf/gguf.h"

struct imatrix;

int imatrix_open(struct imatrix **out, const char *path, struct err *e);
void imatrix_close(struct imatrix *m); /* NULL may be closed */
/* How many tensors it is about. */
size_t imatrix_count(const struct imatrix *m);

/* *W: T's weights, COLUMNS x EXPERTS of them, or NULL where M (which may be
 * NULL) does not know it.  ERR_FORMAT where they are for another shape. */
int imatrix_of(const float **w, const struct imatrix *m,
               const struct gguf_tensor *t, struct err *e);

#endif
