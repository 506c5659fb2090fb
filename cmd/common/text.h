/* SPDX-License-Identifier: MIT
 * text.h - the text of many sequences, on standard output in their order.
 *
 * Sequences may arrive mixed.  The first that is open is written as it comes,
 * in whole characters; the others wait for it, in order of appearance.
 * Bytes that are no UTF-8 pass unchanged.  Running out of memory exits.
 */
#ifndef LLM_CMD_TEXT_H
#define LLM_CMD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct text_seq;

/* Zeroed, but for the options, it is ready. */
struct text {
    bool newline; /* after each sequence */
    bool nul;     /* the same, a NUL */
    bool raw;     /* bytes as they come, not in whole characters */
    bool escape;  /* newlines and backslashes as \n and \\ */
    bool json;    /* none of these: a line of JSON for each sequence */
    struct text_seq *first, *last; /* private */
    void *open;
};

/* Do the next tokens of S begin a text, as TOK_AT_START means it?  At first
 * they do; after that it is what was set last. */
bool text_starts(struct text *t, uint64_t s);
void text_set_starts(struct text *t, uint64_t s, bool starts);
/* The next N tokens of S have the bytes P[LEN]. */
void text_add(struct text *t, uint64_t s, const void *p, size_t len, size_t n);
/* For JSON: the caller's id, itself JSON; and what went wrong. */
void text_id(struct text *t, uint64_t s, const void *json, size_t n);
void text_error(struct text *t, uint64_t s, const char *msg);
/* S is complete; its number may be used again.  And all are. */
void text_end(struct text *t, uint64_t s, const char *why);
void text_end_all(struct text *t);

/* Show what is written.  Exits when standard output fails. */
void text_flush(void);

#endif
