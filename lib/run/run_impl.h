/* SPDX-License-Identifier: MIT
 * run_impl.h - what the files of lib/run share: a sequence, and all of them.
 *
 * A sequence (struct live) is its history: prompt and answer.  What is in the
 * KV cache is a beginning of TOKENS, which is the history until a context is
 * shifted.  Tokens whose text may yet be a part of a stop string, or of a text
 * that is banned, wait in HELD, their text in HELD_TEXT.
 */
#ifndef LLM_RUN_IMPL_H
#define LLM_RUN_IMPL_H

#include <time.h>

#include "run/ids.h"
#include "run/run.h"
#include "run/step.h"

struct held {
    uint32_t id;
    float lp;
    size_t end; /* of its text, in held_text */
    struct sample_top *top;
    int ntop;
};

/* A token that may not be drawn as the next of AT tokens. */
struct banned {
    int at;
    uint32_t id;
};

struct live {
    struct run_request q; /* prompt, state and bias are not used after adding */
    struct stop_set ends; /* NSTOP of q.stop, then those of q.ban */
    int nstop;
    struct kv_seq *kv; /* NULL: not begun */
    int read; /* its tokens that are the sequence's: those of guesses may stand
                 behind them */
    struct sampler *sampler;
    struct match *match; /* where its answer is in the grammar; or NULL */
    struct ids tokens;   /* what the model reads */
    struct ids history;  /* of no tokens: it is TOKENS */
    int64_t made;
    int reused;
    bool begun;  /* its prompt is being read */
    bool starts; /* the next text begins a text */
    int scored;  /* prompt tokens whose log-probabilities are told */
    struct held *held;
    int nheld, held_cap;
    struct buf held_text;
    /* What was shown, where texts are banned: after going back, one of them may
     * begin in it, from PAST_FROM on. */
    struct buf past;
    size_t past_from;
    struct banned *banned; /* in order of AT */
    int nbanned, banned_cap;
    int late;  /* up to here no more than the last token is taken back */
    int backs; /* times that it went back since something was shown */
    struct draft_seq *draft;
    int same; /* tokens of its history that are as the drafters saw them */
    int32_t guess[DRAFT_MAX];
    int nguess; /* in this step */
    struct timespec t0;
    double first;
    struct live *next;
};

struct run {
    struct run_config c;
    struct step *step;
    struct live *active, *waiting; /* in order of arrival */
    int nactive, nwaiting;
    struct step_part *part; /* [batch] */
    struct live **who;      /* [batch]: whose PART is */
    uint64_t *mask;         /* a bit for each token */
    struct sampler *scores; /* of prompts; NULL until there is one */
    struct buf text, joined;
};

/* ---- live.c: one sequence ---- */

/* A sequence of the request Q, whose state it takes in any case. */
struct live *live_new(const struct run *r, const struct run_request *q,
                      struct err *e);
void live_free(struct live *l);
/* All of its tokens, N. */
const int32_t *live_history(const struct live *l, int *n);
/* Its turn has come: what of its prompt is known already? */
int live_begin(struct run *r, struct live *l, struct err *e);
/* A token more. */
int live_push(struct live *l, uint32_t id, struct err *e);
/* Read again, from position 0: the first KEEP tokens and the newer half of the
 * others, so that a token more has room. */
int live_shift(struct run *r, struct live *l, struct err *e);
/* Take the last N tokens back. */
int live_back(struct run *r, struct live *l, int n, struct err *e);
/* Leave in its KV no more than what is READ. */
void live_settle(struct live *l);

/* ---- held.c: text that is not shown yet ---- */

/* Forget the last N. */
void held_drop(struct live *l, int n);
int held_add(struct live *l, const struct sample_result *s,
             const struct buf *text, struct err *e);
/* Show the tokens whose text ends within SHOWN bytes, or, CUT, begins before
 * them. */
int held_show(struct live *l, size_t shown, bool cut, run_event_fn *fn,
              void *arg, struct err *e);
/* stop_scan() of the text that is held; *AT is how much of it may be shown.
 * What begins in the text before it is found, too: at 0. */
int held_scan(struct run *r, struct live *l, bool more, size_t *at, int *hit,
              struct err *e);
/* The sequence went back to where its text was shown. */
void held_revive(struct live *l);

/* ---- token.c: from logits to the next token, and to the end ---- */

enum {
    TOKEN_MORE = 0, /* it has one token more */
    TOKEN_ELSE = 1  /* it has ended, gone back, or is read again */
};

/* LOGITS have come for the last of L's tokens: TOKEN_MORE, TOKEN_ELSE, -1. */
int token_next(struct run *r, struct live *l, const float *logits,
               run_event_fn *fn, void *arg, struct err *e);
/* End L: what is held will not become a stop string any more, unless one
 * stands in it whole; then that is why, and not what FAILED. */
int token_end(struct run *r, struct live *l, const char *why,
              const struct err *failed, run_event_fn *fn, void *arg,
              struct err *e);

/* ---- guess.c: guesses, run with the tokens before them ---- */

/* Put guesses behind the tokens of those N parts that decode. */
int guess_all(struct run *r, int n, struct err *e);
/* Take them off again; were there any? */
bool guess_none(struct run *r, int n);
/* The step of N parts took so long, and gave so many tokens. */
void guess_done(struct run *r, int n, int tokens, double seconds);

/* ---- score.c: log-probabilities of prompts ---- */

/* Are logits of all tokens of L's prompt wanted, still? */
bool score_wanted(const struct live *l);
/* How many tokens of a prompt may be run at once. */
int score_room(const struct run *r, const struct live *l, int n);
/* LOGITS are those of N prompt tokens from AT on: tell of what follows them. */
int score_tell(struct run *r, struct live *l, const float *logits, int at,
               int n, run_event_fn *fn, void *arg, struct err *e);

double run_since(const struct timespec *t0);

#endif
