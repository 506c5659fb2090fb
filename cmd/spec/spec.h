/* SPDX-License-Identifier: MIT
 * spec.h - what the files of llm-spec share. */
#ifndef LLM_CMD_SPEC_H
#define LLM_CMD_SPEC_H

#include "cmd/common/cli.h"
#include "cmd/common/load.h"
#include "draft/draft.h"
#include "wire/wire.h"

/* ---- drafters.c: those that options ask for ---- */

/* Group: --ngram-min and so on. */
extern const struct cli_opt drafters_opts[];

void drafters_check(const struct cli *c);
/* All of them, for the model L; exits when one cannot be had. */
struct draft *drafters_open(const struct cli *c, const struct load *l,
                            int batch);
void drafters_close(struct draft *d);

/* ---- child.c ---- */

/* Start COMMAND, by the shell, with sockets for its standard input and output:
 * pid, in and out of O. */
int child_start(struct draft_process_opts *o, const char *command,
                struct err *e);

/* ---- corpus.c ---- */

/* The tokens of the file PATH, a text or a token stream, the caller's. */
int corpus_read(int32_t **ids, size_t *n, const char *path,
                const struct load *l, struct err *e);

/* ---- stats.c ---- */

/* A table on standard error. */
void stats_show(const struct draft *d);
/* The same as a record. */
int stats_put(struct wire_out *w, const struct draft *d, struct err *e);

#endif
