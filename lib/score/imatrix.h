/* SPDX-License-Identifier: MIT
 * imatrix.h - an importance matrix: sums of squares of what each tensor was
 * multiplied with, column by column.
 *
 * The file is a GGUF: general.type "imatrix", for each tensor NAME the tensors
 * NAME.in_sum2 (F32, a row for each expert) and NAME.counts (F32, how many
 * inputs each had), and imatrix.datasets, .chunk_count, .chunk_size. */
#ifndef LLM_SCORE_IMATRIX_H
#define LLM_SCORE_IMATRIX_H

#include "backend/backend.h"

struct score_imatrix;

/* From now on everything that BE multiplies counts. */
int score_imatrix_new(struct score_imatrix **out, struct be *be, struct err *e);
void score_imatrix_free(struct score_imatrix *m);
/* Write it to PATH, which takes its name when it is whole; collected of DATASET
 * in windows of CHUNK tokens. */
int score_imatrix_write(const struct score_imatrix *m, const char *path,
                        const char *dataset, int chunk, struct err *e);

#endif
