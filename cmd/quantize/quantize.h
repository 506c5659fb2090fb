/* SPDX-License-Identifier: MIT
 * quantize.h - the parts of gguf-quantize. */
#ifndef LLM_CMD_QUANTIZE_H
#define LLM_CMD_QUANTIZE_H

#include "cmd/common/cli.h"
#include "quantize/plan.h"
#include "quantize/run.h"

/* What the options say. */
struct job {
    struct plan_want want;
    const char *imatrix; /* its file, or NULL */
    const char *output;
    bool quiet, json;
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
