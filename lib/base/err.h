/* SPDX-License-Identifier: MIT
 * err.h - how the library reports failure: a code and one line of text. */
#ifndef LLM_BASE_ERR_H
#define LLM_BASE_ERR_H

enum err_code {
    ERR_NONE = 0,
    ERR_USAGE,       /* the caller asked for something impossible */
    ERR_IO,          /* the system refused: text ends in strerror(errno) */
    ERR_FORMAT,      /* input bytes break their format */
    ERR_UNSUPPORTED, /* valid input that this build cannot handle */
    ERR_NOMEM,       /* host or device memory ran out */
    ERR_CONTEXT,     /* the model's context is full */
};

struct err {
    enum err_code code;
    char msg[512];
};

/* "format" and so on, for programs. */
const char *err_word(enum err_code code);

/* Record a failure; the first one wins.  E may be NULL.  Always returns -1,
 * so that `return err_set(e, ERR_FORMAT, "...")` is the whole failure path.
 * Bytes from files may be passed with %.*s: commands escape what they print.
 */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "what: " before the recorded message.  Always returns -1. */
int err_prefix(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ERR_NOMEM, "out of memory".  Always returns -1. */
int err_nomem(struct err *e);

#endif
