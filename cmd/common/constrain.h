/* SPDX-License-Identifier: MIT
 * constrain.h - what the text of a sequence must be: the options, the keys of
 * "set" records with the same names, and the compiled grammars, which sequences
 * that want the same share.
 */
#ifndef LLM_CMD_CONSTRAIN_H
#define LLM_CMD_CONSTRAIN_H

#include "cmd/common/cli.h"
#include "grammar/match.h"
#include "tok/tok.h"
#include "wire/wire.h"

/* Group for option tables: --grammar, --json, --schema, --regex; and
 * --trigger. */
extern const struct cli_opt constrain_opts[];
extern const struct cli_opt constrain_trigger_opts[];

enum constrain_kind {
    CONSTRAIN_NONE,
    CONSTRAIN_GRAMMAR,
    CONSTRAIN_JSON,
    CONSTRAIN_SCHEMA,
    CONSTRAIN_REGEX
};

/* Zeroed: anything goes. */
struct constrain {
    enum constrain_kind kind;
    struct buf text; /* the grammar, schema or regular expression */
    struct buf trigger;
    const char *name; /* for messages: a file, an option or a key */
    bool own;         /* of the sequence's record */
};

/* What the command line says; files are read.  Exits when that fails. */
void constrain_init(struct constrain *c, const struct cli *cli);
/* The key KEY of a "set" record: the text itself, or for a schema the object,
 * for json a boolean.  It stands in for what the command line says. */
int constrain_set(struct constrain *c, const struct wire_rec *r,
                  const char *key, struct err *e);
/* NULL-ended: the keys that it takes. */
extern const char *const constrain_keys[];
int constrain_copy(struct constrain *to, const struct constrain *from,
                   struct err *e);
void constrain_fini(struct constrain *c);

/* ---- grammars for one vocabulary ---- */

/* The tokens of T as grammars see them.  Views of *TEXT, which is the caller's
 * to free, as is what grammar_vocab_index() makes. */
int constrain_vocab(struct grammar_vocab *v, struct buf *text,
                    const struct tok *t, struct err *e);

/* The grammar of C, which must have one; V may be NULL. */
int constrain_compile(struct grammar **out, const struct constrain *c,
                      const struct grammar_vocab *v, struct err *e);

struct constrain_cache;
/* T: NULL: without a vocabulary, as programs without a model do. */
struct constrain_cache *constrain_cache_new(const struct tok *t, struct err *e);
void constrain_cache_free(struct constrain_cache *k);
/* The grammar of C, compiled once; give it back when its sequence ends.  NULL
 * with 0 where C has none. */
int constrain_get(struct grammar **out, struct constrain_cache *k,
                  const struct constrain *c, struct err *e);
void constrain_put(struct constrain_cache *k, struct grammar *g);
/* For match_new(); NULL before the first constrain_get(). */
const struct grammar_vocab *
constrain_cache_vocab(const struct constrain_cache *k);

#endif
