/* SPDX-License-Identifier: MIT
 * tokenizer.h - the tokenizer of a Hugging Face folder as keys of a GGUF.
 *
 * Read are tokenizer.json, tokenizer.model (SentencePiece), vocab.json and
 * merges.txt, vocab.txt, added_tokens.json, special_tokens_map.json,
 * tokenizer_config.json, generation_config.json, chat_template.jinja and
 * chat_template.json: what there is of them.  What cannot be honoured is
 * refused by its name: an unknown pre-tokenizer is never guessed. */
#ifndef LLM_CONVERT_TOKENIZER_H
#define LLM_CONVERT_TOKENIZER_H

#include "gguf/write.h"

struct convert_tokenizer_want {
    const char *arch; /* general.architecture */
    int n_vocab;      /* rows of the embedding: ids without a token become
                         unused ones; fewer rows than tokens is an error */
    /* Of config.json, -1 where it says nothing; tokenizer files come first. */
    int64_t bos, eos, pad;
    /* NULL, or where lines are appended that say what a GGUF cannot say of this
     * tokenizer and changes little. */
    struct buf *notes;
};

/* Append tokenizer.* keys, and general.sampling.* of the generation config.
 * DIR: the folder.  ERR_FORMAT, ERR_UNSUPPORTED name the file.
 * token_type_count, which config.json says, is the caller's. */
int convert_tokenizer(struct gguf_out *o, const char *dir,
                      const struct convert_tokenizer_want *want, struct err *e);

/* The other way: tokenizer.json (or tokenizer.model), tokenizer_config.json,
 * chat_template.jinja and generation_config.json in the folder DIR, of what G
 * has. */
struct gguf;
int convert_tokenizer_back(const char *dir, const struct gguf *g,
                           struct err *e);

#endif
