/* SPDX-License-Identifier: MIT
 * wire.h - the stream of records between programs; llm-stream(5) is its
 * specification.
 *
 * A stream is a CBOR sequence (RFC 8742), or the same records as JSON Lines.
 * Writers choose; readers tell by the first byte of each record.  Records that
 * a program does not know pass through it unchanged, with all their keys:
 *
 *     while ((r = wire_next(in, &rec, &e)) > 0)
 *         if (rec.kind == WIRE_TOKENS)
 *             use(rec.tokens.ids, rec.tokens.n);
 *         else if (wire_put(out, &rec, &e))
 *             break;
 *
 * Nothing is allocated because a count in the input asks for it: memory grows
 * with the bytes that have really arrived, up to WIRE_MAX_RECORD.
 */
#ifndef LLM_WIRE_WIRE_H
#define LLM_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct json_t; /* jansson's */

/* WIRE_TEXT is for people: a choice that programs make, not a form that this
 * module writes. */
enum wire_format { WIRE_CBOR, WIRE_JSON, WIRE_TEXT };

enum {
    WIRE_VERSION = 1,          /* "llm" of the header */
    WIRE_MAX_RECORD = 1 << 30, /* bytes of one record */
    WIRE_MAX_JSON = 1 << 26,   /* the same, as JSON */
    WIRE_MAX_DEPTH = 128,      /* arrays, maps and tags within each other */
    WIRE_MAX_KEYS = 256,       /* of a record */
};

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

/* {"t": "end", "s", "why", "stop", "usage", "time"}: WHY is one of
 * llm-stream(5)'s words.  Everything else may be NULL or 0: unknown. */
struct wire_end {
    uint64_t seq;
    const char *why;
    uint64_t ntokens; /* usage.tokens: written for the sequence so far */
    uint64_t nprompt; /* usage.prompt: tokens before those */
    uint64_t nreused; /* usage.reused: of the prompt, not computed again */
    const char *stop; /* the stop string that was met, NSTOP bytes */
    size_t nstop;
    double first, total; /* time.first, time.total: seconds */
};

/* {"t": "error", "s", "code", "msg"} */
struct wire_error {
    uint64_t seq;
    const char *code, *msg;
};

/* ---- writing ---- */

struct wire_out;

/* Write records to FD, which stays the caller's, as FORMAT (not WIRE_TEXT).
 * Each wire_put_ writes its record at once and whole.  The first failure
 * (ERR_IO, ERR_NOMEM) sticks: everything after it, wire_out_close() too,
 * returns it again.  SIGPIPE is left as it is. */
int wire_out_open(struct wire_out **out, int fd, enum wire_format format,
                  struct err *e);
/* What messages call FD: "standard output", unless told. */
void wire_out_name(struct wire_out *w, const char *name);
/* NULL may be closed. */
int wire_out_close(struct wire_out *w, struct err *e);

/* What is not UTF-8 in a string becomes U+FFFD, but wire_end.stop is kept. */
int wire_put_header(struct wire_out *w, const struct wire_header *h,
                    struct err *e);
int wire_put_tokens(struct wire_out *w, const struct wire_tokens *r,
                    struct err *e);
int wire_put_logits(struct wire_out *w, const struct wire_logits *r,
                    struct err *e);
int wire_put_end(struct wire_out *w, const struct wire_end *r, struct err *e);
int wire_put_error(struct wire_out *w, const struct wire_error *r,
                   struct err *e);
/* {"t": "set", "s": SEQ} and the keys of the JSON object OPTIONS, but for its
 * own "t" and "s".  ERR_FORMAT when it nests too deep or has too many keys. */
int wire_put_set(struct wire_out *w, uint64_t seq, const struct json_t *options,
                 struct err *e);

#endif
