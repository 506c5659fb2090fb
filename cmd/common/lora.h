/* SPDX-License-Identifier: MIT
 * lora.h - adapters that a model is opened with, and which of them a sequence
 * has. */
#ifndef LLM_CMD_LORA_H
#define LLM_CMD_LORA_H

#include <jansson.h>

#include "cmd/common/cli.h"
#include "model/adapter.h"
#include "model/model.h"
#include "wire/wire.h"

/* Group: --lora. */
extern const struct cli_opt lora_opts[];

/* The options as words, for another program; their count. */
enum { LORA_WORDS = 2 * MODEL_MAX_ADAPTERS };
int lora_words(const char *w[LORA_WORDS]);

struct loras {
    char **name; /* [n] */
    struct gguf **gguf;
    struct model_adapter *v;
    int n;
};

/* Those that the command line names.  Exits with one line when something is
 * wrong. */
void loras_open(struct loras *l, const struct cli *c);
void loras_close(struct loras *l);

/* What a sequence's own "set" record says. */
struct lora_choice {
    bool made;
    struct buf text;
    struct kv_adapt adapt; /* TEXT is that; SCALE its own */
};

/* Take the key "lora" of the "set" record R, if it has one that is not null.
 * ERR_FORMAT: no such adapter, or no list of them; M was opened with L. */
int lora_set(struct lora_choice *c, const struct loras *l,
             const struct model *m, const struct wire_rec *r, struct err *e);
/* The same of its value V, which may be NULL. */
int lora_take(struct lora_choice *c, const struct loras *l,
              const struct model *m, const json_t *v, struct err *e);
/* NULL: none was made. */
const struct kv_adapt *lora_chosen(const struct lora_choice *c);
void lora_choice_fini(struct lora_choice *c);

#endif
