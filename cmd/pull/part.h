/* SPDX-License-Identifier: MIT
 * part.h - a file on its way: written beside its final name, checked, renamed.
 *
 * 1. Nothing stands under the final name that was not whole, of the expected
 *    SHA-256 where one is known, and readable as a GGUF.
 * 2. What was received stays in FILE.part when the process dies, with
 *    FILE.part.json saying which bytes they are the start of; nothing is
 *    appended to it unless it is known to be the same file.
 * 3. One process at a time: the caller holds a lock (lock_take()).
 */
#ifndef LLM_CMD_PULL_PART_H
#define LLM_CMD_PULL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct part {
    char *path, *tmp, *rec; /* FILE, FILE.part, FILE.part.json */
    int fd;
    void *md;         /* SHA-256 of the first N bytes */
    int64_t n;        /* bytes in FILE.part */
    int64_t want;     /* what they must come to; -1: the caller can't say */
    int64_t total;    /* what they will come to; -1: not known yet */
    char sha256[65];  /* what it must be; "" when nobody knows */
    char etag[256];   /* of the bytes that are there; "" for none */
    const char *name; /* what it was asked for as, for FILE.part.json; NULL */
    bool resumed;     /* some bytes are an earlier run's */
    const char *what; /* the progress bar's word for it */
};

/* Take up FILE.part for PATH, or begin one.  SHA256 may be "", TOTAL -1.  URL
 * is where the bytes will come from: without a SHA256, bytes of another URL
 * or without an ETag are dropped.  The file's folder must exist. */
int part_open(struct part *p, const char *path, const char *url,
              const char *sha256, int64_t total, struct err *e);

/* Drop the bytes and begin again. */
int part_restart(struct part *p, struct err *e);

/* Before the first byte of an answer: what FILE.part.json shall say. */
int part_note(struct part *p, const char *url, struct err *e);

/* The next N bytes.  ERR_FORMAT when there are more than TOTAL or they do not
 * begin as a GGUF does. */
int part_write(struct part *p, const void *data, size_t n, struct err *e);

/* Check length and SHA-256.  On a mismatch the bytes are dropped; p->sha256
 * holds the true one in the end. */
int part_check(struct part *p, struct err *e);

/* Check that it is a GGUF (a SHARD of one: its first bytes alone), bring it to
 * the disk and rename it; RECORD is the text of FILE.json, NULL for none. */
int part_publish(struct part *p, bool shard, const char *record, struct err *e);

/* Give back what P holds; FILE.part stays, unless it is empty. */
void part_close(struct part *p);

/* mkdir -p. */
int make_dirs(const char *dir, struct err *e);

/* Remove DIR while it is empty, then the folders above it, down to the first
 * TOP bytes of its path; DIR is cut to what is left. */
void prune_dirs(char *dir, size_t top);

/* Write TEXT to PATH by way of PATH.new, so that it is there whole or not. */
int write_file(const char *path, const char *text, struct err *e);

/* Hold the lock file PATH, making its folder DIR unless that is NULL; waits for
 * another process, -1 when told to stop.  The file goes when the last holder
 * lets go. */
int lock_take(int *fd, const char *path, const char *dir, struct err *e);
void lock_drop(int fd, const char *path);

/* SHA-256 of the file at PATH. */
int sha256_file(char out[65], const char *path, struct err *e);

#endif
