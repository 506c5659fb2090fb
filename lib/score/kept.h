/* SPDX-License-Identifier: MIT
 * kept.h - what is kept of a model's probabilities, to compare another with it
 * later: of each token its log-probability, the most probable tokens in its
 * place, how probable all others are together, and some that were drawn from
 * these.
 *
 * Packed, it is one frame of zstd: 32-bit words, little-endian, first all their
 * lowest bytes and so on.  The words are N log-probabilities, N of the rest,
 * N * K ids, N * K log-probabilities, and these two of the N * M drawn.
 */
#ifndef LLM_SCORE_KEPT_H
#define LLM_SCORE_KEPT_H

#include "base/buf.h"
#include "sample/sample.h"

enum {
    SCORE_KEPT_N = 256,        /* positions that are packed together */
    SCORE_KEPT_DRAWN = 16,     /* tokens that are drawn */
    SCORE_KEPT_WORDS = 1 << 28 /* most of a block */
};

struct score_kept {
    size_t n, k, m;
    float *lp;                /* [n] */
    float *tail;              /* [n]: score_tail() */
    struct sample_top *top;   /* [n][k], the most probable first */
    struct sample_top *drawn; /* [n][m] */
};

/* Room for N positions of K and M tokens; zeros. */
int score_kept_new(struct score_kept *b, size_t n, size_t k, size_t m,
                   struct err *e);
/* Positions I and on, N of them: a view. */
struct score_kept score_kept_part(const struct score_kept *b, size_t i,
                                  size_t n);
void score_kept_free(struct score_kept *b);

/* Append the frame to OUT. */
int score_kept_pack(struct buf *out, const struct score_kept *b, struct err *e);
/* P[LEN] into *B, whose N, K and M it must be of.  ERR_FORMAT: it is not, or
 * what it says is not of a vocabulary of N_VOCAB. */
int score_kept_unpack(struct score_kept *b, const void *p, size_t len,
                      size_t n_vocab, struct err *e);

#endif
