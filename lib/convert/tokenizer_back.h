/* SPDX-License-Identifier: MIT
 * tokenizer_back.h - what the files of the way back share: a GGUF's tokenizer
 * as the files of a Hugging Face folder. */
#ifndef LLM_CONVERT_TOKENIZER_BACK_H
#define LLM_CONVERT_TOKENIZER_BACK_H

#include "convert/tokenizer_impl.h"

struct back {
    const struct gguf *g;
    struct tok *t;
    const char *dir, *model;
    uint32_t n;
    struct pretok_info pre; /* of "gpt2" and "gemma4" */
    int64_t unknown;        /* -1: none */
    json_t *types;          /* those that JSON cannot say, by id */
};

/* A token that only fills a place: it has no spelling of its own. */
bool hf_back_is_hole(const struct back *b, uint32_t id);
/* Its spelling in tokenizer.json, appended to OUT. */
void hf_back_spell(struct buf *out, const struct back *b, uint32_t id);
/* Is it one of added_tokens, and a special one? */
bool hf_back_is_added(const struct back *b, uint32_t id, bool *special);

/* The members of tokenizer.json; NULL with E set. */
json_t *hf_back_model(struct back *b, struct err *e);
json_t *hf_back_added(struct back *b, struct err *e);
/* Not there (null) where the model has none; NULL without memory. */
json_t *hf_back_normalizer(const struct back *b);
json_t *hf_back_pre_tokenizer(const struct back *b);
json_t *hf_back_decoder(const struct back *b);
json_t *hf_back_post(const struct back *b);

/* tokenizer.model of a "llama" vocabulary, appended to OUT. */
void hf_back_spm(struct buf *out, const struct back *b);

/* tokenizer_back_config.c: everything but the vocabulary. */
int hf_back_config(struct back *b, struct err *e);

/* FILE of the folder, whole or not at all. */
int hf_back_write(const struct back *b, const char *file, const struct buf *s,
                  struct err *e);
int hf_back_json(const struct back *b, const char *file, const json_t *j,
                 struct err *e);

#endif
