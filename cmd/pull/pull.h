/* SPDX-License-Identifier: MIT
 * pull.h - what the parts of gguf-pull share: its settings, and how to stop. */
#ifndef LLM_CMD_PULL_PULL_H
#define LLM_CMD_PULL_PULL_H

#include <signal.h>

struct pull_set {
    int quiet, verbose, offline, force;
    int retries; /* attempts that may fail in a row without a byte */
    int timeout; /* seconds without data before an attempt is given up */
};
extern struct pull_set pull_set;

/* Set by SIGINT.  Whoever waits looks at it and fails; main() exits 130. */
extern volatile sig_atomic_t pull_stop;

/* A line on stderr: note() unless -q, trace() only with -v. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
