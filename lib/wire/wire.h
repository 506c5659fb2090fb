/* SPDX-License-Identifier: MIT
 * wire.h - the stream of records between programs; llm-stream(5) is its
 * specification.
 *
 * A CBOR sequence (RFC 8742), or the same records as JSON Lines: readers tell
 * by the first byte of each.  What a program does not know passes through it:
 *
 *     while ((r = wire_next(in, &rec, &e)) > 0)
 *         if (rec.kind == WIRE_TOKENS)
 *             use(rec.tokens.ids, rec.tokens.n);
 *         else if (wire_put(out, &rec, &e))
 *             break;
 *
 * No count in the input is believed: memory grows with the bytes that arrive.
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
    const char *by;       /* the program that writes */
    const char *path;     /* the model file */
    const char *name;     /* general.name, UTF-8 */
    const char *id;       /* gguf_model_id() */
    const char *vocab;    /* gguf_vocab_id() */
    const char *adapters; /* kv_adapt's text, of who says nothing else */
};

enum wire_kind {
    WIRE_HEADER,
    WIRE_TOKENS,
    WIRE_LOGITS,
    WIRE_SET,
    WIRE_END,
    WIRE_ERROR,
    WIRE_KV,   /* wire_get_kv() looks into it */
    WIRE_SPAN, /* "t" is "text" */
    WIRE_OTHER /* any other "t": pass it on with wire_put() */
};

/* {"t": "tokens", "s", "ids", "text", "lp", "top"} */
struct wire_top {
    uint32_t id;
    float lp;
};
struct wire_tokens {
    uint64_t seq;
    const uint32_t *ids;
    size_t n;
    const void *text; /* the tokens' bytes; NULL when the record has none */
    size_t ntext;
    const float *lp; /* N log-probabilities, or NULL */
    /* For writing: N * NTOP tokens that might have stood there, or NULL. */
    const struct wire_top *top;
    size_t ntop;
};

/* {"t": "text", "s", "text", "control"}: text that is no tokens yet */
struct wire_span {
    uint64_t seq;
    const void *text; /* NTEXT bytes */
    size_t ntext;
    bool control; /* spellings of control tokens in it become them */
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
    bool whole; /* about the whole stream: no "s" */
    uint64_t seq;
    const char *code, *msg;
};

/* {"t": "kv", "s", "part", "sum", ...}, by PART: lib/kv knows what they mean.
 */
struct wire_kv {
    uint64_t seq;
    const char *part, *sum;
    /* "head" */
    uint64_t version, page_size;
    const char *model, *rope, *types, *adapters; /* the last may be NULL */
    const uint32_t *layers, *ids;
    size_t nlayers, nids;
    uint64_t n; /* "page", too */
    /* "page": K and V, or both together and compressed as Z */
    uint64_t layer, page, pos;
    const void *k, *v, *z; /* NULL: absent */
    size_t nk, nv, nz;
    /* "end" */
    uint64_t records;
};

/* {"t": "delta", "s", "kind", "call", "id", "name", "text", "error"}: a part
 * of an answer; NULL is absent, and CALL counts where KIND is about one. */
struct wire_delta {
    uint64_t seq, call;
    const char *kind; /* "text", "reasoning", "tool", "arguments", "end" */
    const char *id, *name, *error;
    const void *text; /* NTEXT bytes */
    size_t ntext;
    bool has_call;
};

/* {"t": "kept", "s", "pos", "n", "k", "m", "context", "stride", "skip", "z"}:
 * for writing; readers take its keys one by one. */
struct wire_kept {
    uint64_t seq, pos, n, k, m, context, stride, skip;
    const void *z; /* NZ bytes */
    size_t nz;
};

/* {"t": "embedding", "s", "v", "id", "pos", "scale", "score"}: a vector, of the
 * sequence or of its token at POS. */
enum wire_numbers { WIRE_F32, WIRE_F16, WIRE_INT8 };
struct wire_embedding {
    uint64_t seq, pos;
    bool has_pos, has_score;
    enum wire_numbers type; /* what V is; floats, when it was read */
    const void *v;          /* N numbers */
    size_t n;
    double scale; /* of WIRE_INT8: V times this is the vector */
    double score; /* of models that rank */
    const struct json_t
        *id; /* for writing: the caller's name for it, or NULL */
};

/* ---- writing ---- */

struct wire_out;

/* Write records to FD, which stays the caller's, as FORMAT (not WIRE_TEXT),
 * each at once and whole.  The first ERR_IO or ERR_NOMEM sticks: every later
 * call, wire_out_close() too, returns it again.  SIGPIPE is left as it is. */
int wire_out_open(struct wire_out **out, int fd, enum wire_format format,
                  struct err *e);
/* What messages call FD: "standard output", unless told. */
void wire_out_name(struct wire_out *w, const char *name);
/* NULL may be closed. */
int wire_out_close(struct wire_out *w, struct err *e);

/* From now on small records may wait for others, up to 64 KB of them, and go
 * out together: for programs that make many while input is at hand.  They call
 * wire_out_flush() before they wait for more; wire_out_close() does, too. */
void wire_out_hold(struct wire_out *w);
int wire_out_flush(struct wire_out *w, struct err *e);

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
int wire_put_span(struct wire_out *w, const struct wire_span *r, struct err *e);
int wire_put_delta(struct wire_out *w, const struct wire_delta *r,
                   struct err *e);
/* K, V, Z, ids and layers go out from where they lie. */
int wire_put_kv(struct wire_out *w, const struct wire_kv *r, struct err *e);
/* {"t": "set", "s": SEQ} and the keys of the object OPTIONS, but for "t" and
 * "s".  ERR_FORMAT when it nests too deep or has too many keys. */
int wire_put_set(struct wire_out *w, uint64_t seq, const struct json_t *options,
                 struct err *e);
/* The same of any kind T; SEQ NULL: about the whole stream. */
int wire_put_other(struct wire_out *w, const char *t, const uint64_t *seq,
                   const struct json_t *keys, struct err *e);
int wire_put_kept(struct wire_out *w, const struct wire_kept *r, struct err *e);
int wire_put_embedding(struct wire_out *w, const struct wire_embedding *r,
                       struct err *e);

/* ---- reading ---- */

struct wire_in;
struct scan;

/* One record.  Everything that it points to is a view that lives until the
 * next wire_next() or wire_in_close(). */
struct wire_rec {
    enum wire_kind kind;
    const char *t;   /* the kind as the record says it; "" for a header */
    bool has_seq;    /* without, the record is about the whole stream */
    uint64_t seq;    /* "s", or 0 */
    uint64_t number; /* of the record in its input, from 1 */
    union {          /* by KIND; none for SET, KV and OTHER */
        struct wire_header header;
        struct wire_tokens tokens;
        struct wire_logits logits;
        struct wire_end end;
        struct wire_error error;
        struct wire_span span;
    };
    const unsigned char *raw; /* the whole record as CBOR, NRAW bytes */
    size_t nraw;
    const unsigned char *map; /* inside it: what the rest is private to */
    const struct scan *keys;
    struct wire_in *in;
};

/* Read records from FD, which stays the caller's.  NAME, which is kept, begins
 * every message.  Nothing is read yet. */
int wire_in_open(struct wire_in **in, int fd, const char *name, struct err *e);
/* NULL may be closed. */
void wire_in_close(struct wire_in *in);
/* P[N], which were read from FD already, come before what is read from it. */
int wire_in_begin(struct wire_in *in, const void *p, size_t n, struct err *e);
/* Call FN(ARG) each time before more is read, which may wait: time to flush. */
void wire_in_before(struct wire_in *in, void (*fn)(void *), void *arg);

/* The next record, as soon as all of it has arrived: 1; 0 at a clean end; -1
 * with ERR_FORMAT naming the record and the rule it breaks (an end inside a
 * record, and an input without any, are such), ERR_UNSUPPORTED for another
 * version of the stream, ERR_IO or ERR_NOMEM.  After -1 no more can be read.
 * Headers come like other records: joined streams have several. */
int wire_next(struct wire_in *in, struct wire_rec *rec, struct err *e);

/* Is there anything to read, or the end, after at most MS milliseconds (-1: as
 * long as it takes)?  False, too, when a signal came.  A record that has begun
 * may still make wire_next() wait. */
bool wire_in_wait(const struct wire_in *in, int ms);

/* The header that was read last, or NULL: JSON may go without.  It lives until
 * the next header is read. */
const struct wire_header *wire_in_header(const struct wire_in *in);

/* ERR_FORMAT when tokens under H (NULL: unknown) are of another vocabulary than
 * the one whose gguf_vocab_id() is VOCAB. */
int wire_check_vocab(const struct wire_header *h, const char *vocab,
                     struct err *e);

/* The name of the record's Ith key, N bytes; NULL when it has fewer. */
const char *wire_key(const struct wire_rec *r, size_t i, size_t *n);

/* A key of the record itself, by type: 1 found; 0 absent, *out as it was; -1
 * ERR_FORMAT naming the key: of another type, or not in MIN..MAX. */
int wire_get_int(int64_t *out, const struct wire_rec *r, const char *key,
                 int64_t min, int64_t max, struct err *e);
/* Integers, too. */
int wire_get_float(double *out, const struct wire_rec *r, const char *key,
                   struct err *e);
int wire_get_bool(bool *out, const struct wire_rec *r, const char *key,
                  struct err *e);
/* A text or byte string: N bytes of any value. */
int wire_get_str(const char **out, size_t *n, const struct wire_rec *r,
                 const char *key, struct err *e);
/* Any value, appended to OUT as JSON text. */
int wire_get_json(struct buf *out, const struct wire_rec *r, const char *key,
                  struct err *e);

/* What the WIRE_KV record R says: views.  ERR_FORMAT naming the key that its
 * part must have, or that is of another type than it is written in. */
int wire_get_kv(struct wire_kv *out, const struct wire_rec *r, struct err *e);

/* What the record R, whose T is "embedding", says; its id is left to
 * wire_get_json().  ERR_FORMAT names the key that is wrong. */
int wire_get_embedding(struct wire_embedding *out, const struct wire_rec *r,
                       struct err *e);

/* Write a record that was read, of whatever kind, with all its keys: in CBOR
 * the very bytes that came. */
int wire_put(struct wire_out *w, const struct wire_rec *r, struct err *e);

/* For JSON that programs write themselves, appended to OUT: P[N], UTF-8, as a
 * string; and any bytes as "KEY":"string" or, not UTF-8, "KEY64":"base64". */
void wire_json_string(struct buf *out, const void *p, size_t n);
void wire_json_bytes(struct buf *out, const char *key, const void *p, size_t n);

#endif
