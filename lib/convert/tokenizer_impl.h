/* SPDX-License-Identifier: MIT
 * tokenizer_impl.h - what the tokenizer*.c files share.
 *
 * The files of a folder are read into a struct hf, whose keys are then put
 * into a GGUF.  Each kind of source (tokenizer.json, tokenizer.model, the older
 * forms) fills the vocabulary; everything else comes after. */
#ifndef LLM_CONVERT_TOKENIZER_IMPL_H
#define LLM_CONVERT_TOKENIZER_IMPL_H

#include <jansson.h>

#include "base/buf.h"
#include "base/map.h"
#include "convert/tokenizer.h"
#include "tok/pretok.h"
#include "tok/tok.h"

#define SPACE     "\xe2\x96\x81" /* U+2581 */
#define SPACE_LEN 3

/* ---- the vocabulary ---- */

struct voc_token {
    size_t at; /* in TEXT */
    uint32_t n;
    float score;
    uint8_t type;     /* enum tok_type; 0: no token has this id */
    uint8_t added;    /* it is one of the added tokens */
    uint8_t in_model; /* and one of the model's own */
};

struct voc {
    struct voc_token *t;
    uint32_t n, cap;
    uint32_t limit; /* ids are below it */
    struct buf text;
    uint32_t *slot; /* id + 1 by hash of the spelling, open addressing */
    unsigned bits;
    uint32_t used;
};

/* ID gets this spelling; ERR_FORMAT when it has one, or is out of range. */
int voc_put(struct voc *v, int64_t id, const char *p, size_t n,
            enum tok_type type, float score, struct err *e);
/* Another spelling for a token that is there. */
int voc_respell(struct voc *v, uint32_t id, const char *p, size_t n,
                struct err *e);
/* The id of a spelling, the first one's; -1 if none. */
int64_t voc_find(const struct voc *v, const char *p, size_t n);
struct gguf_str voc_str(const struct voc *v, uint32_t id);
void voc_free(struct voc *v);

/* ---- the folder ---- */

enum hf_role {
    HF_BOS,
    HF_EOS,
    HF_UNK,
    HF_SEP,
    HF_PAD,
    HF_CLS,
    HF_MASK,
    HF_EOT,
    HF_NROLE
};

struct hf_role_name {
    const char *token; /* in tokenizer_config.json: "bos_token" */
    const char *key;   /* in a GGUF: "tokenizer.ggml.bos_token_id" */
};
extern const struct hf_role_name hf_roles[HF_NROLE];

struct hf {
    const char *dir;
    const struct convert_tokenizer_want *want;
    const char *source; /* the file that the vocabulary is of */
    /* NULL where there is no such file; always objects. */
    json_t *tokenizer, *config, *special, *generation, *added;

    struct voc voc;
    const char *model; /* tokenizer.ggml.model */
    char pre[64];
    struct buf merges; /* as a GGUF has them */
    uint64_t nmerge;
    struct buf parts; /* of each merge: uint32_t left, right, union */
    struct buf charsmap;
    bool scores;
    float pad_score;
    int64_t role[HF_NROLE]; /* -1: none */
    /* -1: nothing is said of it, and no key is written */
    int add_bos, add_eos, add_sep, space_prefix, shrink, lowercase, accents;
};

/* Note what changes little. */
void hf_note(struct hf *h, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The JSON of FILE in the folder, an object; NULL and 0 if it isn't there. */
int hf_json(json_t **out, const struct hf *h, const char *file, struct err *e);
/* The bytes of FILE; 1 found, 0 not there, -1. */
int hf_map(struct map *m, const struct hf *h, const char *file, struct err *e);

/* Members of objects (anything else has none): NULL when absent or null, and
 * NULL with E set when of another kind.  OBJ may be NULL. */
json_t *hf_get(const json_t *obj, const char *key);
const char *hf_str(const json_t *obj, const char *key);
/* DEF when absent or null. */
bool hf_bool(const json_t *obj, const char *key, bool def);
bool hf_is(const json_t *obj, const char *type); /* "type" is TYPE */
/* One line of it, shortened, for messages. */
const char *hf_show(char *buf, size_t size, const json_t *j);

/* Unlike enum tok_type in the file, what added tokens are. */
enum tok_type hf_added_type(const char *p, size_t n, bool special);

/* tokenizer_old.c: H->tokenizer made of vocab.json and merges.txt, or of
 * vocab.txt. */
int hf_older(struct hf *h, struct err *e);
/* tokenizer_spm.c: 1 read, 0 there is none, -1. */
int hf_sentencepiece(struct hf *h, struct err *e);
/* tokenizer_json.c */
int hf_read_json(struct hf *h, struct err *e);
/* Is the model of H->tokenizer one that tokenizer.model would say better? */
bool hf_prefers_spm(const struct hf *h);
/* tokenizer_added.c */
int hf_added_tokens(struct hf *h, struct err *e);
/* tokenizer_post.c: roles, and what is put around a text. */
int hf_roles_load(struct hf *h, struct err *e);
/* tokenizer_config.c: chat templates and sampling. */
int hf_templates(struct gguf_out *o, const struct hf *h, struct err *e);
int hf_sampling(struct gguf_out *o, struct hf *h, struct err *e);

/* ---- normalizer and pre_tokenizer ---- */

enum {
    NORM_NFC = 1,
    NORM_PREPEND = 2, /* U+2581 before the text */
    NORM_SPACE = 4,   /* spaces become U+2581 */
    NORM_SHRINK = 8,  /* runs of spaces become one */
    NORM_CHARSMAP = 16,
    NORM_BERT = 32,
    NORM_LOWER = 64,
    NORM_ACCENTS = 128, /* are stripped */
    NORM_STRIP = 256,   /* white space at the ends */
};

struct hf_norm {
    unsigned seen;
    const json_t *charsmap; /* a string, base64 */
    const json_t *bert;
};
/* All of the normalizer; what is not in ALLOWED, or not known, is refused. */
int hf_normalizer(struct hf_norm *n, const json_t *tokenizer, unsigned allowed,
                  struct err *e);

enum {
    PRE_BYTES = 1,   /* ByteLevel */
    PRE_META = 2,    /* Metaspace */
    PRE_PREFIX = 4,  /* which puts U+2581 first */
    PRE_WSPLIT = 8,  /* WhitespaceSplit */
    PRE_BERT = 16,   /* BertPreTokenizer */
    PRE_CUTS = 32,   /* anything else that cuts */
    PRE_FIRST = 64,  /* the prefix is the text's, not each part's */
    PRE_SPACE = 128, /* Split at " ", which no normalised text has */
};

struct hf_pre {
    unsigned seen;
    struct buf form; /* the steps in a form that can be compared: a line each */
};
/* All of the pre_tokenizer.  P->form is the caller's to free. */
int hf_pre_tokenizer(struct hf_pre *p, const json_t *tokenizer, struct err *e);

/* The name of the pre-tokenizer of that form.  FLAGS and MASK are those of
 * enum PRETOK_ that it must have, among those that matter to it; HINT, NULL for
 * none, is preferred if it does.  NULL if there is none: *RULE says whether the
 * splitting itself is known. */
const char *hf_pre_name(const struct buf *form, unsigned flags, unsigned mask,
                        const char *arch, const char *hint, bool *rule);
/* The pre_tokenizer of a name, as tokenizer.json has it; NULL without memory.
 */
json_t *hf_pre_json(const char *name);

/* ---- tokenizer_bpe.c ---- */

/* Read the model's merges into H->merges; all must be of known tokens. */
int hf_bpe_merges(struct hf *h, const json_t *merges, struct err *e);
/* Scores by which merging by score does what the merges do; 1 done, 0 there
 * are none, -1. */
int hf_bpe_scores(struct hf *h, struct err *e);
/* Is every token what its own spelling is merged to?  Then ignore_merges says
 * nothing.  1 it is, 0, -1. */
int hf_bpe_closed(struct hf *h, struct err *e);
/* Does a token have a newline and something else? */
bool hf_bpe_mixes_newlines(const struct hf *h);

#endif
