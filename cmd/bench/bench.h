/* SPDX-License-Identifier: MIT
 * bench.h - what the files of llm-bench share.
 *
 * A test is one kind of work with one set of numbers.  It is run once for
 * nothing, then so many rounds: in each ours, and the other program's, if there
 * is one.  What came of it becomes an object (result.c), is held against an
 * earlier one (baseline.c) and is shown (show.c).
 */
#ifndef LLM_CMD_BENCH_H
#define LLM_CMD_BENCH_H

#include <jansson.h>
#include <regex.h>
#include <signal.h>

#include "base/buf.h"
#include "cmd/bench/limits.h"
#include "cmd/common/load.h"
#include "gguf/config.h"

enum bench_kind {
    BENCH_LOAD,    /* from nothing to a model that is ready */
    BENCH_FIRST,   /* a whole process, to its first token */
    BENCH_PREFILL, /* reading a prompt */
    BENCH_DECODE,  /* one token after the other */
    BENCH_SPEC,    /* the same with guesses, on a text that repeats */
    BENCH_KINDS
};
extern const char *const bench_word[BENCH_KINDS + 1];

enum { BENCH_FIRST_PROMPT = 8, BENCH_LIST = 32 };

struct bench_test {
    enum bench_kind kind;
    int threads, prompt, n, depth, batch;
    bool cold;
    const char *drafter; /* of BENCH_SPEC */
};

/* What one run gives. */
struct bench_one {
    double value; /* tokens/s; of BENCH_LOAD and BENCH_FIRST ms */
    double cpu;   /* seconds of processors */
    double *ms;   /* room for BENCH_LATENCIES(test): of its tokens, or of all */
    size_t nms;   /* filled in */
    uint64_t rss; /* 0: that of this process */
    double plain; /* BENCH_SPEC: tokens/s without guesses */
    double cached; /* part of the file that was in memory; -1: not known */
};

struct bench_result {
    struct bench_test test;
    int runs;
    double *value, *cpu, *plain, *theirs; /* [runs] */
    double *ms;
    size_t nms;
    double cached;
    uint64_t rss;
    double theirs_cpu;
    uint64_t theirs_rss;
    /* BENCH_SPEC */
    int64_t guessed, right;
    double place[16]; /* part that was right, by place; -1: none was run */
    /* of the machine, meanwhile; -1: not known */
    double read_gb_s, int8_gop_s, others, steal;
    const char *int8;
};

/* ---- model.c: what a model is ---- */

struct bench_model {
    const char *operand, *path, *name;
    struct gguf *gguf;
    char id[33];
    char *adapters; /* with their scales, as states say them; empty: none */
    struct gguf_config config;
    double bytes;                   /* of all tensors */
    double dense, experts, head;    /* bytes */
    double products, head_products; /* of int8: weights that a token meets */
    const struct gguf_type_info *k, *v; /* of the KV cache */
    struct be_stats stats;              /* when it was last run */
};

/* Exits when there is something wrong with it. */
void bench_model_open(struct bench_model *m, const struct cli *c,
                      const char *operand);
void bench_model_close(struct bench_model *m);
/* Bytes that a token of T needs, and products of int8; 0: not known. */
double bench_model_bytes(const struct bench_model *m,
                         const struct bench_test *t);
double bench_model_products(const struct bench_model *m,
                            const struct bench_test *t);

/* ---- measure.c ---- */

struct bench {
    const struct cli *cli;
    const char *version, *self; /* argv[0] */
    int repeat;
    double read_mb; /* to measure the memory; 0: not at all */
    bool shared, quiet;
    struct bench_model *model;
    struct other *other; /* --vs; or NULL */
    json_t *baseline;    /* a list; or NULL */
    double noise;        /* part that is no change */
    double load;         /* of the machine, at the start; -1: not known */
    enum show_as { SHOW_TEXT, SHOW_JSON, SHOW_MARKDOWN } as;
    bool slower, warned; /* a regression was found; the machine is busy */
    uint64_t drawn;      /* prompts so far: no two are the same */
};
extern volatile sig_atomic_t bench_interrupted;

typedef int bench_run_fn(void *arg, struct bench_one *o, struct err *e);
/* All rounds of T, and the line that they become.  AFTER adds to the result
 * what FN has counted, if there is such; it is called with NULL after the run
 * that does not count.  What was measured before an interruption is shown. */
typedef void bench_after_fn(void *arg, struct bench_result *r);
int bench_measure(struct bench *b, const struct bench_test *t, bench_run_fn *fn,
                  bench_after_fn *after, void *arg, struct err *e);

/* ---- whole.c, tokens.c, guesses.c: what is run ---- */

/* These fill in what T says besides threads and page cache. */
int bench_load(struct bench *b, struct bench_test *t, struct err *e);
int bench_first(struct bench *b, struct bench_test *t, struct err *e);

struct bench_lists {
    int threads[BENCH_LIST], prompt[BENCH_LIST], depth[BENCH_LIST],
        batch[BENCH_LIST];
    int nthread, nprompt, ndepth, nbatch;
    int n;
    bool only[BENCH_KINDS], cold;
    const char *draft; /* a model; or NULL */
};
/* Prefill, decode and spec on THREADS threads. */
int bench_tokens(struct bench *b, const struct bench_lists *l, int threads,
                 struct err *e);

/* ---- machine.c ---- */

struct machine_mark {
    double wall, own, busy, steal; /* seconds; busy < 0: not known */
};
double machine_now(void);
/* Seconds of processors that this process, and those it waited for, took. */
double machine_cpu_time(void);
const char *machine_cpu(char name[128]);
double machine_load(void); /* of the last minute; -1: not known */
/* The most memory since machine_rss_begin(); 0: not known. */
void machine_rss_begin(void);
uint64_t machine_rss(void);
void machine_begin(struct machine_mark *m);
/* Processors that others kept busy since then, and the part of the time that
 * was taken from this machine; -1: not known. */
void machine_since(double *others, double *steal, const struct machine_mark *m);

/* ---- process.c ---- */

struct process {
    const char *path, *const *argv;
    const char *input; /* to its standard input; or NULL */
    const char *until; /* the output that FIRST is the time of; or NULL */
    /* what came of it */
    double first, wall, cpu; /* seconds */
    uint64_t rss;
    struct buf out;
    struct buf err; /* the end of what it said, when it is caught */
    bool catch_err;
    int status; /* of wait() */
};
/* -1: it did not run, or was interrupted (then E is empty). */
int process_run(struct process *p, struct err *e);
/* "exit 3", "signal 9" */
void process_status(char word[32], int status);

/* ---- other.c: --vs ---- */

/* Exits when REGEX is none. */
struct other *other_new(const struct cli *c, const char *command,
                        const char *regex);
void other_free(struct other *o);
/* Is the program held against this kind of test?  What it prints is tokens/s.
 */
bool other_does(const struct other *o, enum bench_kind kind);
const char *other_by(const struct other *o);
/* Run it: *VALUE in the test's unit. */
int other_run(double *value, double *cpu, uint64_t *rss, const struct other *o,
              const struct bench_test *t, const struct bench_model *m,
              struct err *e);

/* ---- result.c, baseline.c, show.c ---- */

json_t *result_json(const struct bench *b, const struct bench_result *r,
                    struct err *e);
/* The lines of PATH; exits when they cannot be read. */
json_t *baseline_read(const char *path);
/* Add what has become of O since then; 1: it is slower, 2: not known. */
int baseline_judge(json_t *o, const struct bench *b, struct err *e);

/* What is said before, and after, all tests of a model. */
int show_begin(const struct bench *b);
int show_end(const struct bench *b);
int show_put(const struct bench *b, const json_t *o, struct err *e);

#endif
