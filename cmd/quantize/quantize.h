/* SPDX-License-Identifier: MIT
 * quantize.h - the parts of gguf-quantize. */
#ifndef LLM_CMD_QUANTIZE_H
#define LLM_CMD_QUANTIZE_H

#include "cmd/common/cli.h"
#include "quantize/mix.h"
#include "quantize/plan.h"
#include "score/apart.h"
#include "tok/tok.h"

/* Tensors of a name, in some of the layers: what the model's answers lose by
 * one of them is the same for the same loss. */
struct kl_group {
    struct gguf_str name;
    int part, parts; /* of the layers */
    size_t n;        /* tensors */
    double loss, kl; /* what they lost, and the model by it */
    double price;    /* of a loss of 1 */
};

/* What was found out about a model's answers. */
struct kl_report {
    struct score_mean kl; /* measured */
    double predicted;     /* -1: it was not */
    size_t tokens;        /* 0: there is nothing to report */
    int rounds;
    double floor; /* loss by activations, of each quantised tensor */
    struct kl_group *group;
    size_t ngroup;
};

/* What the options say. */
struct job {
    struct plan_want want;
    const char *imatrix; /* its file, or NULL */
    const char *output;
    const char *text; /* tokens to measure by, or NULL */
    int tokens, threads;
    float max_kl; /* negative: none is said */
    bool quiet, json;
    struct kl_report kl;
};

/* --tensor, --embedding and --output-type into J; exits where they are wrong.
 */
void want_types(struct job *j, const struct cli *c,
                const struct cli_list *tensors, const char *embedding,
                const char *output);
void want_free(struct job *j);

/* What --target-size says: bytes of the whole file, or bits of each weight. */
struct target {
    uint64_t bytes;
    double bits; /* 0: BYTES it is */
};
void want_target(struct target *t, const struct cli *c, const char *s);

/* Keys and tensor table of the new file. */
int keys_make(struct gguf_out *o, const struct gguf *g, const struct plan *p,
              const struct job *j, struct err *e);

/* Types by what fits a size. */
int fit_types(struct plan *p, const struct gguf *g, const struct target *t,
              const struct job *j, const struct quantize_run *r, struct err *e);
/* Bytes of all tensors, at most, in a file of that size. */
int fit_bytes(uint64_t *bytes, const struct plan *p, const struct gguf *g,
              const struct target *t, const struct job *j, struct err *e);

/* ---- tokens.c ---- */

/* The tokens of --text, to A. */
int tokens_add(struct score_apart *a, const struct gguf *g,
               const struct tok *tok, const struct job *j, struct err *e);

/* ---- search.c: types by what the model's answers lose ---- */

/* For J's bound, and T's size where T is not NULL; J->kl says what came. */
int search_types(struct plan *p, const struct gguf *g, const struct target *t,
                 struct job *j, const struct quantize_run *r, struct err *e);
/* What P, as it is, would lose: into J->kl. */
int search_measure(const struct plan *p, const struct gguf *g, struct job *j,
                   const struct quantize_run *r, struct err *e);

/* ---- probe.c ---- */

/* A model, and others that are like it but for their types. */
struct probe {
    const struct gguf *g;
    const struct plan *p;
    struct plan trial; /* P with types of its own */
    const struct quantize_run *r;
    struct score_apart *a;
    int done, all; /* runs of models, for the progress */
};

/* Run the model itself; probe_fini() in every case. */
int probe_init(struct probe *b, const struct plan *p, const struct gguf *g,
               const struct job *j, const struct quantize_run *r,
               struct err *e);
void probe_fini(struct probe *b);
/* How far the model is that B->trial makes. */
int probe_run(struct score_mean *kl, struct probe *b, struct err *e);
/* Give the tensors of each row a price, by what the model loses when some of
 * them are quantised and nothing else is, and make M's losses what they cost
 * it. */
int probe_prices(struct mix *m, struct probe *b, struct kl_report *k,
                 struct err *e);

/* The plan on standard output, the notes about it on standard error. */
int show_plan(const struct plan *p, const struct gguf *g, const struct job *j,
              uint64_t file);
void show_notes(const struct plan *p, const struct gguf *g, const struct job *j,
                uint64_t file);

/* Write the file; exits with 128 and the number at a signal. */
int write_model(const struct plan *p, const struct gguf_out *o,
                const struct job *j, const struct quantize_run *r,
                struct err *e);

/* A line on a terminal: how far it is. */
void show_progress(void *arg, uint64_t done, uint64_t all);
void clear_progress(void);

#endif
