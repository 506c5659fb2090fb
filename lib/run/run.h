/* SPDX-License-Identifier: MIT
 * run.h - sequences that are continued together: continuous batching.
 *
 *     run_new(&r, &config, &e);
 *     run_add(r, &request, &e);               ... as they come
 *     while (run_busy(r))
 *         run_step(r, on_event, arg, &e);
 *
 * Each step runs one token of every sequence that decodes, with guesses at what
 * follows it, and a chunk of one that still reads its prompt.  What a sequence
 * becomes does not depend on the others, nor on guesses: only (request, model)
 * decide.
 */
#ifndef LLM_RUN_RUN_H
#define LLM_RUN_RUN_H

#include "draft/draft.h"
#include "grammar/match.h"
#include "kv/kv.h"
#include "model/model.h"
#include "run/stop.h"
#include "sample/sample.h"
#include "tok/tok.h"

enum run_overflow {
    RUN_OVERFLOW_ERROR, /* a full context is an error */
    RUN_OVERFLOW_STOP,  /* it ends the sequence: "context" */
    RUN_OVERFLOW_SHIFT, /* the first KEEP tokens and the newer half of the rest
                           are read again, from position 0 */
};

struct run_config {
    struct model *model;
    struct kv *kv;
    const struct tok *tok;
    int context; /* most tokens of a sequence; 0: the model's */
    int batch;   /* sequences at once */
    int chunk;   /* tokens of a prompt at once; 0: RUN_CHUNK */
    enum run_overflow overflow;
    int keep;
    /* After each chunk of a prompt and once before its first: may read more of
     * TOKENS[N] into, or write, the state of S.  NULL: no such thing. */
    int (*before)(void *arg, struct kv *kv, struct kv_seq **s,
                  const int32_t *tokens, int n, struct err *e);
    int (*after)(void *arg, const struct kv_seq *s, struct err *e);
    void *cache_arg;
    struct draft *draft; /* who guesses what comes next; NULL: nobody */
};
enum { RUN_CHUNK = 512 };

/* What a sequence is to become; copied. */
struct run_request {
    uint64_t seq; /* its number, for the events */
    uint64_t key; /* that draws are keyed by, with sampling.seed */
    const int32_t *prompt;
    int nprompt;
    struct kv_seq *state; /* of a beginning of the prompt, or of anything: what
                             agrees is used.  The run's, from now on; or NULL */
    struct sample_opts sampling;
    struct stop_set stop;
    struct stop_set ban; /* what the text may not contain: where it would, it
                            is continued otherwise */
    struct grammar *grammar; /* what the text must be; NULL: anything.  It, the
                                trigger, and the vocabulary stay the caller's,
                                until the sequence has ended */
    const char *trigger;     /* of match_new(); or NULL */
    size_t ntrigger;
    const struct grammar_vocab *vocab;
    int64_t n; /* tokens; -1: no limit */
    bool ignore_eos;
    int logprobs; /* -1: none; 0: of the token; N: of the N most probable too */
    bool score;   /* the same of the prompt's tokens: all of it is read */
    /* What it is read with, the caller's until the sequence has ended; NULL:
     * what the model's adapters are for unless told. */
    const struct kv_adapt *adapt;
    void *data; /* the caller's, comes with the events */
};

enum run_kind {
    RUN_PROMPT,       /* DONE of OF prompt tokens have been read */
    RUN_PROMPT_TOKEN, /* with .score: as RUN_TOKEN, one of the prompt; the first
                         has no log-probabilities */
    RUN_TOKEN,
    RUN_END
};

struct run_event {
    enum run_kind kind;
    uint64_t seq;
    void *data;
    /* RUN_PROMPT */
    int done, of;
    /* RUN_TOKEN: its text is cut where a stop string begins inside it. */
    uint32_t id;
    const char *text;
    size_t ntext;
    bool has_lp;
    float lp;
    const struct sample_top *top;
    int ntop;
    /* RUN_END: one of llm-stream(5)'s words; of "error" this is what: */
    const char *why;
    const struct err *error;
    const char *stop; /* the stop string that was met, NSTOP bytes, or NULL */
    size_t nstop;
    int64_t ntokens, nprompt, nreused;
    double first_s, total_s;    /* seconds since its turn came */
    const struct kv_seq *state; /* for kv_save(); not after an "error" */
};
/* -1 stops the step: run_step() fails with what is in *E. */
typedef int run_event_fn(void *arg, const struct run_event *ev, struct err *e);

struct run;
int run_new(struct run **out, const struct run_config *c, struct err *e);
void run_free(struct run *r);

/* Take a request.  Waits for its turn when BATCH sequences run already.
 * ERR_USAGE, ERR_FORMAT, ERR_CONTEXT: options, no tokens or ids that are none,
 * a state with other adapters, more than fit; REQ->state is freed in any case.
 */
int run_add(struct run *r, const struct run_request *req, struct err *e);
/* Sequences that were taken and have not ended; room for more at once. */
int run_busy(const struct run *r);
int run_room(const struct run *r);
int run_step(struct run *r, run_event_fn *fn, void *arg, struct err *e);
/* End all, with why "interrupted". */
int run_interrupt(struct run *r, run_event_fn *fn, void *arg, struct err *e);

#endif
