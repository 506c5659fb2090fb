/* SPDX-License-Identifier: MIT
 * apart.h - how far models are from one: the mean KL divergence over some
 * tokens, whose probabilities by that one are kept.
 *
 *     score_apart_new(&a, &config, &e);
 *     score_apart_add(a, tokens, n, &e);      ... again and again
 *     score_apart_base(a, model, &e);
 *     score_apart_from(&kl, a, other, &e);    ... again and again
 *
 * A model is opened, run and closed within a call.  Of each token there stay
 * the SCORE_APART_TOP most probable in its place, and some drawn from the rest:
 * about 9 KB. */
#ifndef LLM_SCORE_APART_H
#define LLM_SCORE_APART_H

#include "gguf/gguf.h"
#include "score/stat.h"

enum { SCORE_APART_TOP = 1024, SCORE_APART_DRAWN = 64 };

struct score_apart_config {
    int threads; /* 0: as many as the backend thinks */
    int window;  /* most tokens that are read together */
    int batch;   /* windows at once */
    int32_t bos; /* stands before each window; -1: nothing does */
};

struct score_apart;
int score_apart_new(struct score_apart **out,
                    const struct score_apart_config *c, struct err *e);
void score_apart_free(struct score_apart *a);
/* Tokens of a text, in windows of their own. */
int score_apart_add(struct score_apart *a, const int32_t *tok, size_t n,
                    struct err *e);
/* How many are scored. */
size_t score_apart_count(const struct score_apart *a);
/* G is the one that others are compared with. */
int score_apart_base(struct score_apart *a, const struct gguf *g,
                     struct err *e);
/* How far G, of the same vocabulary, is from it. */
int score_apart_from(struct score_mean *kl, struct score_apart *a,
                     const struct gguf *g, struct err *e);

#endif
