/* SPDX-License-Identifier: MIT
 * vector.h - what is done with vectors.  Sums are in double and in order. */
#ifndef LLM_EMBED_VECTOR_H
#define LLM_EMBED_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make its length 1; one of zeros stays. */
void embed_normal(float *v, size_t n);
/* -1 to 1; 0 where one is all zeros. */
double embed_cosine(const float *a, const float *b, size_t n);
bool embed_finite(const float *v, size_t n);

/* To 16 bits, to nearest even. */
void embed_f16(uint16_t *to, const float *v, size_t n);
/* V[i] * (127 / max |V|), to nearest even; the scale, by which TO[i] is
 * multiplied to come near V[i]: max |V| / 127. */
float embed_int8(int8_t *to, const float *v, size_t n);

#endif
