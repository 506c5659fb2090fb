/* SPDX-License-Identifier: MIT
 * tok_impl.h - what the files of lib/tok share. */
#ifndef LLM_TOK_IMPL_H
#define LLM_TOK_IMPL_H

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/pages.h"
#include "base/utf8.h"
#include "tok/pretok.h"
#include "tok/tok.h"
#include "tok/trie.h"

enum tok_kind { KIND_BPE, KIND_SPM, KIND_WPM, KIND_UGM, KIND_RWKV };

#define NO_ID     UINT32_MAX
#define SPACE     "\xe2\x96\x81" /* U+2581, how a vocabulary spells a space */
#define SPACE_LEN 3

/* Spelling -> id, open addressing.  TAG is the hash's upper half, with ID + 1
 * so that zero is empty. */
struct vocab_slot {
    uint32_t tag, id1;
};

/* A merge: tokens A and B side by side become ID; the lowest rank goes
 * first.  RANK1 is the rank + 1, zero an empty slot. */
struct merge {
    uint32_t a, b, rank1, id;
};

/* What two neighbours make: RANK1 as above. */
struct made {
    uint32_t rank1, id;
};

struct ugm;
struct wpm;

struct tok {
    const struct gguf *g;
    enum tok_kind kind;
    const char *model;
    char pre[64];
    struct pretok pretok; /* KIND_BPE; its flags say more */
    uint32_t n;
    const unsigned char *strings; /* tokenizer.ggml.tokens */
    uint32_t *offset;             /* of each length prefix in STRINGS */
    const unsigned char *types;   /* int32 each, or NULL */
    const unsigned char *scores;  /* float each, or NULL */
    struct vocab_slot *slot;
    unsigned slot_bits;
    bool same_tags;   /* two spellings share slot and tag: always compare */
    uint32_t max_len; /* the longest spelling, bytes */
    int32_t role[TOK_NROLE];
    uint32_t *eog;
    size_t neog;
    const struct gguf_val *suppress; /* ints, or NULL */
    bool add_bos, add_eos, add_sep, add_space_prefix, remove_extra_space;
    uint32_t byte_id[256];   /* the token for one byte; NO_ID if none */
    uint32_t replacement[3]; /* U+FFFD's tokens */
    int nreplacement;

    /* spellings found in the text before anything else */
    struct trie special;
    uint32_t special_max;          /* bytes of the longest */
    uint8_t special_first[2][256]; /* [control too][first byte] */
    bool special_any[2];
    uint8_t *strip; /* per id: STRIP_ bits; NULL when no token has one */

    struct merge *merge; /* KIND_BPE */
    unsigned merge_bits;
    uint8_t *merge_filter;        /* bits: see bpe_pair() */
    struct made (*of_bytes)[256]; /* what two bytes' tokens make */
    bool by_rank; /* there is no list: a pair's rank is its union's id */
    /* KIND_SPM and BPE without a splitting pattern: bit y of joined[x] says
     * that some token holds byte y right after byte x at a border between
     * characters, a space being ' '.  Elsewhere the text may be cut. */
    uint8_t (*joined)[32];
    struct trie pieces; /* KIND_RWKV: what the tokens stand for */
    struct ugm *ugm;
    struct wpm *wpm;
};

enum { STRIP_LEFT = 1, STRIP_RIGHT = 2 };

static inline struct gguf_str tok_string(const struct tok *t, uint32_t id)
{
    const unsigned char *p = t->strings + t->offset[id];

    return gguf_str_next(&p);
}

static inline enum tok_type type_of(const struct tok *t, uint32_t id)
{
    uint32_t v = t->types ? rd_u32(t->types + 4 * (size_t)id) : TOK_NORMAL;

    return v >= TOK_NORMAL && v <= TOK_BYTE ? (enum tok_type)v : TOK_NORMAL;
}

static inline float score_of(const struct tok *t, uint32_t id)
{
    return t->scores ? rd_f32(t->scores + 4 * (size_t)id) : 0;
}

/* The id spelled P[N], or NO_ID. */
uint32_t tok_find(const struct tok *t, const void *p, size_t n);
/* The same among tokens that text may become: no control, unknown or byte
 * token. */
uint32_t tok_find_text(const struct tok *t, const void *p, size_t n);
/* tok_find() in two steps, for a spelling that is surely in the vocabulary:
 * the first fetches what the second looks at, which compares nothing. */
uint64_t tok_hash(const struct tok *t, const void *p, size_t n);
uint32_t tok_find_hash(const struct tok *t, const void *p, size_t n,
                       uint64_t h);

/* The token spelled "<0xHH>" for byte B, or NO_ID. */
uint32_t tok_find_byte(const struct tok *t, int b);

static inline int hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* GPT-2's alphabet: how byte B is spelled (1 or 2 bytes at OUT; the length),
 * and the byte that code point CP spells, or -1. */
size_t alphabet_put(unsigned char *out, unsigned char b);
int alphabet_get(uint32_t cp);

/* ---- encoding ---- */

/* Pieces of text already encoded.  Short ones (up to 15 bytes, up to 3 ids)
 * have their all in one 32-byte entry; longer ones have bytes and ids in a
 * ring that starts over when full. */
enum { POOL_SHARES = 64 };

struct piece_cache {
    struct piece_short *small;
    struct piece_long *large;
    unsigned char *ring;
    size_t ring_n;
};

struct symbol {
    uint32_t id;    /* NO_ID: no token spells it */
    uint32_t start; /* in the piece */
};

struct tok_enc {
    const struct tok *t;
    unsigned flags;
    struct tok_ids *out;
    bool nomem;
    uint64_t replaced; /* characters that no token spelled */
    /* where in the sequence the next byte stands */
    bool begun;         /* BOS has been dealt with */
    bool after_special; /* nothing, or a special token, before it */
    bool strip;         /* skip white space: the token before strips right */
    struct piece_cache cache;
    struct buf work[6]; /* the methods' own */
    uint32_t bos;       /* put just now, nothing after it; or NO_ID */
    const unsigned char *text, *plain; /* of tok_encode_spans(), else NULL */
    struct tok_enc **worker;
    int nworker;
    struct tok_ids own; /* what a worker found */
};

/* Room for N more ids: where they go; NULL (and NOMEM set) when there is no
 * memory.  The caller adds to out->n what it wrote. */
uint32_t *ids_reserve(struct tok_enc *enc, size_t n);
void ids_put(struct tok_enc *enc, uint32_t id);

/* symbols.c */

/* The tokens for the character P[N] that no token spells: its bytes', or the
 * unknown token. */
void put_unknown(struct tok_enc *enc, const unsigned char *p, size_t n);
void put_symbols(struct tok_enc *enc, const unsigned char *p, size_t n,
                 const struct symbol *s, size_t k);
/* Append to WORK P[*N] with its spaces spelled as the vocabulary does; where
 * it begins, its length in *N; NULL without memory. */
const unsigned char *spell_spaces(struct buf *work, const unsigned char *p,
                                  size_t *n);

/* Room for N symbols: FEW, which has MERGE_FEW, or the encoder's own; NULL (and
 * NOMEM set) without memory. */
struct symbol *symbols_room(struct tok_enc *enc, struct symbol *few, size_t n);
/* One symbol for each character of P[N]; how many. */
size_t symbols_of(const struct tok *t, const unsigned char *p, size_t n,
                  struct symbol *s);

/* Encode text from P: as many pieces as begin before STOP (a sure border, or
 * END).  END is where the bytes end; if not FINAL, more may follow.  Returns
 * where it stopped: at or after STOP, or before it when what follows END could
 * change the tokens.  FIRST: a text, or what follows a special token, begins
 * at P. */
typedef const unsigned char *encode_fn(struct tok_enc *enc,
                                       const unsigned char *p,
                                       const unsigned char *stop,
                                       const unsigned char *end, bool final,
                                       bool first);
encode_fn bpe_encode, spm_encode, wpm_encode, ugm_encode, rwkv_encode;

/* The first place in FROM..TO where every encoding of the text has a border,
 * whatever stands before FROM and after TO; NULL if none is found. */
typedef const unsigned char *
cut_fn(const struct tok *t, const unsigned char *from, const unsigned char *to);
cut_fn bpe_cut, joined_cut, wpm_cut, ugm_cut;

int bpe_open(struct tok *t, struct err *e);
int spm_open(struct tok *t, struct err *e);
int wpm_open(struct tok *t, struct err *e);
int ugm_open(struct tok *t, struct err *e);
int rwkv_open(struct tok *t, struct err *e);
void wpm_close(struct tok *t);
void ugm_close(struct tok *t);

/* The bytes that an rwkv spelling stands for, appended to OUT. */
int rwkv_unescape(struct buf *out, struct gguf_str s);

int special_open(struct tok *t, struct err *e);
/* The first special token in P..END, with its id and length; END when there
 * is none.  If not FINAL and bytes after END could make one, *LEN is 0 and the
 * place where it would begin is returned.  PLAIN, NULL for none, marks bytes
 * from P on of which no control token is made. */
const unsigned char *special_find(const struct tok *t, unsigned flags,
                                  const unsigned char *plain,
                                  const unsigned char *p,
                                  const unsigned char *end, bool final,
                                  uint32_t *id, size_t *len);

/* joined.c */
int joined_open(struct tok *t, struct err *e);
static inline bool joined(const struct tok *t, unsigned char x, unsigned char y)
{
    return t->joined[x][y >> 3] >> (y & 7) & 1;
}

/* cache.c */
int piece_cache_open(struct piece_cache *c, struct err *e);
void piece_cache_close(struct piece_cache *c);

#endif
