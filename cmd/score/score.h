/* SPDX-License-Identifier: MIT
 * score.h - what the files of llm-score share.
 *
 * What comes in is an item: a sequence of a stream, or a request.  Each is a
 * few lists of tokens that the model reads (score/job.h), many at once; what is
 * said of items comes in their order.
 */
#ifndef LLM_CMD_SCORE_H
#define LLM_CMD_SCORE_H

#include "cmd/common/lines.h"
#include "cmd/common/load.h"
#include "cmd/common/prompts.h"
#include "cmd/common/queue.h"
#include "score/job.h"
#include "score/kept.h"
#include "score/stat.h"

/* Numbers about tokens. */
struct tally {
    struct score_list lp;           /* of those that were scored */
    struct score_list base, kl, dp; /* compared: the other's LP, divergence, by
                                       how much the probability differs */
    struct score_list estimate;     /* with a run: of the divergence */
    uint64_t agree;                 /* the most probable token is the same */
    uint64_t tokens, bytes;         /* all tokens; text of those scored */
    uint64_t sequences, requests, questions, right, right_norm;
    uint64_t kept; /* compared with so many tokens a position; 0: with all */
};

/* What is found out of N tokens, one by one. */
struct scored {
    int n;
    float *lp;                   /* NaN: it was not scored */
    float *base, *kl, *estimate; /* NULL: not compared */
    unsigned char *agree;
    struct sample_top *top; /* [n][ntop] */
    int ntop;
    struct score_kept save;        /* k = 0: nothing is to be kept */
    const struct score_kept *from; /* compare with this; or NULL */
};

/* Whose a job is, and where its tokens stand: the job's data. */
struct place {
    struct item *item;
    struct scored *scored;
    int shift; /* token I of the job is I + SHIFT there */
    /* The job has ended; NULL: nobody asks. */
    int (*ended)(struct program *p, struct item *it, struct score_job *job,
                 struct err *e);
};

struct windows {
    int context, stride, skip;
};

struct program {
    struct load load, other;
    bool two; /* there is an other */
    struct score *score;
    struct wire_out *out; /* NULL: text */
    const char *prog;
    int logprobs; /* -1: tokens are not told; N: with N others */
    struct windows windows;
    bool letters, no_bos;
    const char *base; /* the run that it is compared with */
    struct saving *saving;
    int keep; /* of each token, when saving */
    struct queue queue;
    int batch;
    long long ended; /* jobs, for the progress */
    struct tally all;
    uint64_t request; /* the next one's number */
    int worst;        /* exit status */
};

/* ---- items.c ---- */

/* Is there room for more?  Else item_step(). */
bool item_room(const struct program *p);
bool item_busy(const struct program *p);
/* Run, and tell what can be told. */
int item_step(struct program *p, struct err *e);
/* For score_config. */
int item_token(void *arg, struct score_job *job, int i,
               const struct score_dist *a, const struct score_dist *b,
               int worker, struct err *e);
int item_ended(void *arg, struct score_job *job, const struct err *why,
               struct err *e);
/* Room for what is found of N tokens; COMPARED with another model, or, when it
 * is not NULL, with FROM. */
int scored_new(struct scored *s, const struct program *p, int n,
               const struct score_kept *from, struct err *e);
void scored_free(struct scored *s);
/* ---- sequence.c, request.c: inputs, for io_each() ---- */

int sequence_input(void *program, int fd, const char *name, struct err *e);
int request_input(void *program, int fd, const char *name, struct err *e);

/* ---- tally.c ---- */

void tally_free(struct tally *t);
/* Add the tokens of S, whose ids are IDS, and which begin a text. */
int tally_add(struct tally *t, const struct scored *s, const struct tok *tok,
              const int32_t *ids, struct err *e);
int tally_join(struct tally *t, const struct tally *more, struct err *e);
/* Write the record, or the lines; of sequence SEQ, or NULL: of all. */
int tally_put(const struct program *p, const struct tally *t,
              const uint64_t *seq, struct err *e);

/* ---- saved.c: runs in files ---- */

/* Exits when PATH cannot be written. */
struct saving *saving_open(const char *path, const char *by,
                           const struct gguf *g);
/* The tokens of a sequence, and what is kept of them. */
int saving_put(struct saving *s, uint64_t seq, const struct windows *w,
               const struct scored *what, const struct tok *tok,
               const int32_t *ids, struct err *e);
/* The file takes its name; OK false, or -1: it does not. */
int saving_close(struct saving *s, bool ok, struct err *e);

/* What is kept of a sequence, in the records of a run. */
struct kept_list {
    struct buf blocks; /* each a struct kept_block, and its bytes */
    struct windows windows;
    uint64_t k, m;
};
struct kept_block {
    uint64_t pos, n;
    size_t nz;
};
/* 1 when R was such a record, 0 when it is another, -1. */
int kept_add(struct kept_list *l, const struct wire_rec *r, struct err *e);
/* Of all N positions; where nothing is kept, lp is NaN. */
int kept_all(struct score_kept *out, const struct kept_list *l, int n,
             size_t n_vocab, struct err *e);

#endif
