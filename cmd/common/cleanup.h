/* SPDX-License-Identifier: MIT
 * cleanup.h - model files being written, which a signal removes.
 *
 * After the first cleanup_open(), SIGINT, SIGTERM, SIGHUP and others that end
 * programs remove every file that is not whole yet, and end this one with 128
 * and the signal's number; not those that it was started to ignore.
 * Threads must not have these signals: block them while starting any. */
#ifndef LLM_CMD_CLEANUP_H
#define LLM_CMD_CLEANUP_H

#include <signal.h>

#include "gguf/write_file.h"

/* As gguf_file_open(), gguf_file_close() and gguf_file_abandon(). */
int cleanup_open(struct gguf_file **f, const char *path, struct err *e);
int cleanup_close(struct gguf_file *f, struct err *e);
void cleanup_abandon(struct gguf_file *f);

/* The same for files and folders of other kinds: NAME is removed at a signal
 * until it is forgotten. */
void cleanup_add(const char *name);
void cleanup_forget(const char *name);

/* Nothing interrupts what is between; signals that came meanwhile act then. */
void cleanup_block(sigset_t *old);
void cleanup_unblock(const sigset_t *old);

#endif
