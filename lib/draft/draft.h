/* SPDX-License-Identifier: MIT
 * draft.h - what may come next: guesses that a model then judges, many at once.
 *
 *     draft_new(&d, &config, &e);            drafters, and what they may cost
 *     draft_open(&s, d, number, request, &e) a sequence
 *     draft_step(d, nseq);                   a step of the model is prepared
 *     n = draft_guess(s, t, nt, same, most, guess);
 *     draft_ran(s, n); draft_took(s, 0) ...
 *     draft_done(d, columns, tokens, seconds);
 *
 * Drafters are asked, and of what they offer that is run which pays best by
 * what was measured: how often each of them was right, by its own confidence,
 * and how long steps of so many columns take.  Nothing is run where nothing
 * pays, and what trying costs is kept below a fiftieth of the time.
 */
#ifndef LLM_DRAFT_DRAFT_H
#define LLM_DRAFT_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    DRAFT_MAX = 15,      /* guesses of a sequence in a step */
    DRAFT_CLASSES = 16,  /* of confidence */
    DRAFT_SEQUENCES = 32 /* in steps of more nothing is guessed */
};

struct draft_token {
    int32_t id;
    int sure; /* its drafter's class of confidence, below DRAFT_CLASSES: what
                 it is worth is measured */
};

/* ---- one drafter ---- */

enum draft_cost {
    DRAFT_FREE,  /* is always asked */
    DRAFT_WAITS, /* is told until it is known, and then told and waited for
                    where that pays */
    DRAFT_WORKS  /* is asked where it pays */
};

struct drafter {
    const char *name;
    enum draft_cost cost;
    float prior[DRAFT_CLASSES]; /* how often it is right, before it is known */
    /* WORKS: seconds that a guess takes, and a token that it has to read before
     * the first one, as it knows before it is asked. */
    double guess, read;
    /* A sequence begins; REQUEST is what the caller of draft_open() gave. */
    int (*open)(void **seq, struct drafter *d, uint64_t number,
                const void *request, struct err *e);
    /* So far its tokens are T[N], of which the first SAME are what they were
     * at the last call.  WORTH: seconds that guesses may take; at the first
     * call of one that works, that reading may. */
    int (*begin)(void *seq, const int32_t *t, int n, int same, double worth,
                 struct err *e);
    /* A guess at the next token, then at the one after it: 1; 0: no more. */
    int (*next)(void *seq, struct draft_token *g, struct err *e);
    void (*close)(void *seq);
    void (*free)(struct drafter *d);
};
/* A drafter that gives -1 is left out from there on. */

/* Repetitions within a sequence, of LEAST tokens or more. */
struct drafter *draft_ngram(int least, struct err *e);
/* And of the fixed text T[N], which NAME names; copies it. */
struct drafter *draft_corpus(const char *name, const int32_t *t, size_t n,
                             int least, struct err *e);
/* A process that was started: on its standard input it gets the tokens of each
 * sequence, as they come, as JSON Lines of llm-stream(5), and answers each
 * record of tokens with one of its own, of those that it thinks follow. */
struct draft_process_opts {
    pid_t pid;   /* the leader of a group of its own, which is killed when the
                    drafter is freed, in any case */
    int in, out; /* stream sockets, to its standard input and from its output;
                    the drafter's from now on */
    const char *hello; /* the first line; or NULL */
    double wait; /* seconds: it is never waited for longer than that, and never
                    where that does not pay */
    /* Append the text of the tokens T[AT..AT+N-1]; NULL: records have none. */
    int (*text)(struct buf *out, void *arg, const int32_t *t, int at, int n,
                struct err *e);
    void *arg;
};
struct drafter *draft_process(const struct draft_process_opts *o,
                              struct err *e);

/* ---- all of them ---- */

struct draft_config {
    struct drafter **v; /* [n]: freed by draft_free() */
    int n;
    int most, least; /* guesses that are run: 0..DRAFT_MAX, or none */
    bool all;        /* run them whether they pay or not */
    /* A drafter failed, or said what is none: it is left out from now on. */
    void (*warn)(void *arg, const char *name, const char *why);
    void *arg;
};

struct draft;
struct draft_seq;
/* On failure the drafters are freed, too. */
int draft_new(struct draft **out, const struct draft_config *c, struct err *e);
void draft_free(struct draft *d);

int draft_open(struct draft_seq **out, struct draft *d, uint64_t number,
               const void *request, struct err *e);
void draft_close(struct draft_seq *s);

/* A step of NSEQ sequences with one token each begins. */
void draft_step(struct draft *d, int nseq);
/* Guesses at what follows the tokens T[N] of S, of which at most MOST can come;
 * the first SAME are what they were at the last call.  Their count. */
int draft_guess(struct draft_seq *s, const int32_t *t, int n, int same,
                int most, int32_t guess[DRAFT_MAX]);
/* Of the guesses the first N were run; and the Ith, from 0, was right. */
void draft_ran(struct draft_seq *s, int n);
void draft_took(struct draft_seq *s, int i);
/* The step had so many columns, gave so many tokens, and took so long. */
void draft_done(struct draft *d, int columns, int tokens, double seconds);

struct draft_stats {
    const char *name;
    bool left_out;
    int64_t asked;          /* times that it offered something */
    int64_t used;           /* times that its guesses were run */
    int64_t run[DRAFT_MAX]; /* guesses, by their place */
    int64_t taken[DRAFT_MAX];
    double seconds;
};
/* Of the Ith drafter; false: there are fewer. */
bool draft_stats(struct draft_stats *s, const struct draft *d, int i);

struct draft_totals {
    int64_t steps, drafted; /* all, and those with guesses */
    int64_t tokens;
    double seconds, drafting; /* of steps, and of drafters beside them */
    double gain; /* speed beside that of steps without guesses, as measured */
    double cost[DRAFT_MAX + 1]; /* seconds of a step of 1, 2 ... columns; 0:
                                   not measured */
};
void draft_totals(struct draft_totals *t, const struct draft *d);

#endif
