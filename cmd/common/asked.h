/* SPDX-License-Identifier: MIT
 * asked.h - what is asked for a sequence that is continued: the options, and
 * its own "set" records over them. */
#ifndef LLM_CMD_ASKED_H
#define LLM_CMD_ASKED_H

#include "cmd/common/constrain.h"
#include "cmd/common/load.h"
#include "cmd/common/wanted.h"
#include "run/stop.h"

struct asked {
    struct wanted w;
    struct stop_set stop;
    struct stop_set ban;
    struct constrain must;
    struct constrain_cache *cache; /* where GRAMMAR is from */
    struct grammar *grammar; /* what MUST says; NULL before asked_ready() */
    const struct load *load; /* of the adapters that may be chosen */
    struct lora_choice lora;
};

/* A copy of the COMMON options for one sequence. */
struct asked *asked_new(const struct asked *common, struct err *e);
void asked_free(void *q);
/* All of its options are here: compile what must be. */
int asked_ready(struct asked *q, struct constrain_cache *cache, struct err *e);
/* Take a "set" record; 1 when it is what llm-prefill tells of the model, and
 * goes no further.  ERR_UNSUPPORTED names an option that is not known. */
int asked_set(struct asked *q, const struct wire_rec *r, struct err *e);

#endif
