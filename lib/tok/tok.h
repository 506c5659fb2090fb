/* SPDX-License-Identifier: MIT
 * tok.h - text to tokens and back, as the model's own tokenizer does it.
 *
 *     struct tok *t;
 *     struct tok_enc *enc;
 *     struct tok_ids ids = {0};
 *     tok_open(&t, gguf, NULL, &e);
 *     enc = tok_enc_new(t, 0, &e);
 *     tok_encode(enc, &ids, "some text", 9, &e);
 *
 * A tok is the vocabulary: read-only once open, shared by threads.  A tok_enc
 * is one thread's encoder with its cache of pieces already met.
 *
 * Text may be any bytes.  What is not UTF-8 is treated byte by byte, by the
 * vocabulary's byte tokens.  Where it has none for a byte that UTF-8 never
 * has, the tokens of U+FFFD stand for it; where it has none for another, the
 * unknown token does, or nothing, as in the models' own tokenizers.
 * tok_replaced() counts both.
 * Text never becomes a control token unless TOK_SPECIAL is given.
 */
#ifndef LLM_TOK_TOK_H
#define LLM_TOK_TOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pool.h"
#include "gguf/gguf.h"

struct tok;

/* Read the vocabulary of G, which must stay open as long as *out.  PRE, when
 * not NULL, stands in for tokenizer.ggml.pre.  Fails with ERR_FORMAT, or with
 * ERR_UNSUPPORTED naming the vocabulary kind or the pre-tokenizer. */
int tok_open(struct tok **out, const struct gguf *g, const char *pre,
             struct err *e);
void tok_close(struct tok *t);

/* Token types, as tokenizer.ggml.token_type numbers them. */
enum tok_type {
    TOK_NORMAL = 1,
    TOK_UNKNOWN = 2,
    TOK_CONTROL = 3,
    TOK_USER_DEFINED = 4,
    TOK_UNUSED = 5,
    TOK_BYTE = 6,
};

/* Tokens with a job of their own; -1 where the model has none. */
enum tok_role {
    TOK_BOS,
    TOK_EOS,
    TOK_EOT,
    TOK_EOM,
    TOK_UNK,
    TOK_SEP,
    TOK_PAD,
    TOK_MASK,
    TOK_CLS,
    TOK_FIM_PRE,
    TOK_FIM_SUF,
    TOK_FIM_MID,
    TOK_FIM_PAD,
    TOK_FIM_REP,
    TOK_FIM_SEP,
    TOK_NROLE
};
int32_t tok_role(const struct tok *t, enum tok_role role);
/* "bos", "eos", ... */
const char *tok_role_name(enum tok_role role);

/* Does this token end a generation? */
bool tok_is_eog(const struct tok *t, uint32_t id);
/* Must this token never be sampled (tokenizer.ggml.suppress_tokens)? */
bool tok_is_suppressed(const struct tok *t, uint32_t id);

uint32_t tok_count(const struct tok *t);
/* The kind of vocabulary: "gpt2", "llama", "bert", "t5", "rwkv", "gemma4". */
const char *tok_model(const struct tok *t);
/* The name of the pre-tokenizer; "" where the kind has none. */
const char *tok_pre(const struct tok *t);
enum tok_type tok_type(const struct tok *t, uint32_t id);
/* The token as the file spells it; empty for an id without one. */
struct gguf_str tok_spelling(const struct tok *t, uint32_t id);
/* Does the model ask for BOS before, and EOS or SEP after, a text? */
bool tok_adds_bos(const struct tok *t);
bool tok_adds_eos(const struct tok *t);
/* Does it ask for a SEP more between the two texts of a pair? */
bool tok_adds_sep(const struct tok *t);

struct tok_ids {
    uint32_t *p;
    size_t n, cap;
};
void tok_ids_free(struct tok_ids *ids);

enum {
    TOK_SPECIAL = 1, /* spellings of control tokens in the text become them */
    TOK_NO_BOS = 2,  /* never begin with BOS or CLS */
    TOK_ADD_EOS = 4, /* end with EOS, or SEP, also where the model does not */
    TOK_NO_EOS = 8,  /* never do */
};

struct tok_enc;
struct tok_enc *tok_enc_new(const struct tok *t, unsigned flags, struct err *e);
void tok_enc_free(struct tok_enc *enc);

/* Append to IDS the tokens of the whole text P[N], BOS and EOS as FLAGS and
 * the model say.  Only
 * memory can fail. */
int tok_encode(struct tok_enc *enc, struct tok_ids *ids, const void *p,
               size_t n, struct err *e);

/* The same for a chat: TOK_SPECIAL counts as given, but control tokens are made
 * only of bytes whose PLAIN[i] is 0; and there is no EOS without TOK_ADD_EOS.
 */
int tok_encode_spans(struct tok_enc *enc, struct tok_ids *ids, const void *p,
                     const unsigned char *plain, size_t n, struct err *e);

/* The same for a pair of texts, A[NA] and B[NB]: what is to stand at the end of
 * each stands there, and a SEP between them as the model says.  *SECOND: the
 * index in IDS of the first token that is B's. */
int tok_encode_pair(struct tok_enc *enc, struct tok_ids *ids, const void *a,
                    size_t na, const void *b, size_t nb, size_t *second,
                    struct err *e);

/* tok_encode(), text by parts: begin, then feed with LAST set for the final
 * part.  feed() takes as much of P[N] as it can tell the tokens of, and says
 * how much in *USED; give the rest again, with more behind it.  With LAST it
 * takes all.  The tokens are those of the parts joined, however they are cut.
 */
void tok_begin(struct tok_enc *enc);
int tok_feed(struct tok_enc *enc, struct tok_ids *ids, const void *p, size_t n,
             bool last, size_t *used, struct err *e);

/* feed() with the workers of POOL sharing the text; ENC keeps an encoder for
 * each.  The tokens are the same. */
int tok_feed_pool(struct tok_enc *enc, struct pool *pool, struct tok_ids *ids,
                  const void *p, size_t n, bool last, size_t *used,
                  struct err *e);

/* How many characters no token spelled, so far, of all that ENC encoded: each
 * became U+FFFD, the unknown token, or nothing. */
uint64_t tok_replaced(const struct tok_enc *enc);

enum {
    TOK_SHOW_SPECIAL = 1, /* control tokens by their spelling, not as nothing */
    TOK_AT_START = 2,     /* the first of IDS begins a text */
};

/* Append the bytes that IDS stand for.  An id beyond the vocabulary stands for
 * nothing.  The bytes of one character may come from several tokens. */
int tok_decode(struct buf *out, const struct tok *t, const uint32_t *ids,
               size_t n, unsigned flags, struct err *e);

/* Is text after token ID the start of a text, as TOK_AT_START means it? */
bool tok_starts_text(const struct tok *t, uint32_t id);

/* True when tokens stand for the text as it came: nothing is normalised. */
bool tok_verbatim(const struct tok *t);
/* True when, besides, every byte has a token: decoding an encoded text gives
 * that text, whatever it is. */
bool tok_lossless(const struct tok *t);

#endif
