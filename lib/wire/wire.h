/* SPDX-License-Identifier: MIT
 * wire.h - the stream of records between programs; llm-stream(5) is its
 * specification.
 *
 * A stream is a CBOR sequence (RFC 8742), or the same records as JSON Lines.
 * Writers choose; readers tell by the first byte.  Records that a program does
 * not know pass through it unchanged, with all their keys. */
#ifndef LLM_WIRE_WIRE_H
#define LLM_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum wire_format { WIRE_CBOR, WIRE_JSON };

/* The first record.  Strings may be NULL when unknown. */
struct wire_header {
    const char *by;    /* the program that writes */
    const char *path;  /* the model file */
    const char *name;  /* general.name, UTF-8 */
    const char *id;    /* gguf_model_id() */
    const char *vocab; /* gguf_vocab_id() */
};

enum wire_kind {
    WIRE_HEADER,
    WIRE_TOKENS,
    WIRE_LOGITS,
    WIRE_SET,
    WIRE_END,
    WIRE_ERROR,
    WIRE_OTHER /* any other "t": pass it on with wire_put() */
};

/* {"t": "tokens", "s", "ids", "text", "lp"} */
struct wire_tokens {
    uint64_t seq;
    const uint32_t *ids;
    size_t n;
    const void *text; /* the tokens' bytes; NULL when the record has none */
    size_t ntext;
    const float *lp; /* N log-probabilities, or NULL */
};

/* {"t": "logits", "s", "pos", "v"} */
struct wire_logits {
    uint64_t seq, pos;
    const float *v;
    size_t n;
};

/* {"t": "end", "s", "why", ...}: WHY is one of llm-stream(5)'s words. */
struct wire_end {
    uint64_t seq;
    const char *why;
    uint64_t ntokens; /* usage.tokens: of the sequence so far */
};

struct wire_error {
    uint64_t seq;
    const char *code, *msg;
};

#endif
