/* SPDX-License-Identifier: MIT
 * encode.h - what the files of tok-encode share: one run of the program. */
#ifndef LLM_CMD_ENCODE_H
#define LLM_CMD_ENCODE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tok/tok.h"
#include "wire/wire.h"

/* The vocabulary, where records go, and the sequence being made. */
struct run {
    const struct tok *t;
    unsigned flags; /* TOK_ flags of the encoder */
    struct tok_enc *enc;
    struct pool *pool;
    char vocab[33];
    bool count_only;
    struct wire_out *out; /* NULL: readable text, or counts */
    uint64_t seq;
    size_t ntoken; /* of this sequence so far */
    bool at_start; /* no text has been decoded yet */
    struct tok_ids ids;
    struct buf in, text;
};

/* emit.c: a sequence begins; the tokens in r->ids, made of the bytes P[N], go
 * out, LAST if none follow; the sequence ends. */
void begin_sequence(struct run *r);
int emit_tokens(struct run *r, const void *p, size_t n, bool last,
                struct err *e);
int end_sequence(struct run *r, struct err *e);

/* input.c: read more behind what is in r->in; how much, -1 for an error. */
ssize_t input_fill(struct run *r, int fd, const char *name, struct err *e);
/* Encode what FD gives, as io_each() wants it: all of it as one
 * sequence, a line each, or a JSON request each. */
int encode_text(void *run, int fd, const char *name, struct err *e);
int encode_lines(void *run, int fd, const char *name, struct err *e);
int encode_requests(void *run, int fd, const char *name, struct err *e);

/* spans.c: does what FD gives begin as a stream?  What was read is in r->in.
 * True, too, with *E set.  Then: encode its records of text. */
bool spans_sniff(struct run *r, int fd, const char *name, struct err *e);
int encode_spans(struct run *r, int fd, const char *name, struct err *e);

#endif
