/* SPDX-License-Identifier: MIT
 * sampling_impl.h - what the files of sampling share. */
#ifndef LLM_CMD_SAMPLING_IMPL_H
#define LLM_CMD_SAMPLING_IMPL_H

#include <jansson.h>

#include "cmd/common/sampling.h"

/* An option that is a number, and its key in a model's file. */
struct sampling_number {
    const struct sample_option *option;
    const char *key; /* or NULL */
    unsigned bit;    /* in sampling.over */
};
/* The one of this name; false: there is none. */
bool sampling_number(struct sampling_number *out, const char *name, size_t n);
/* Number I of all; false beyond the last one. */
bool sampling_number_at(struct sampling_number *out, size_t i);
void sampling_put_number(struct sampling *s, const struct sample_option *o,
                         double v);
/* In sampling.over: the order of samplers. */
#define SAMPLING_ORDER     (1u << 31)
#define SAMPLING_ORDER_KEY "general.sampling.sequence"

/* ---- sampling_list.c: options that are lists ---- */

/* "ID=ADD" */
int sampling_bias_word(struct sampling *s, const char *word, struct err *e);
/* {"ID": ADD, ...} or [[ID, ADD], "ID=ADD", ...] */
int sampling_bias_json(struct sampling *s, json_t *o, struct err *e);
/* "ID,ID,..." and [ID, ...]; to those that are there already. */
int sampling_never_word(struct sampling *s, const char *word, struct err *e);
int sampling_never_json(struct sampling *s, json_t *o, struct err *e);
/* In place of those that are there: "none", a string, or an array of them. */
int sampling_breakers_json(struct sampling *s, json_t *o, struct err *e);
/* One more. */
int sampling_breaker(struct sampling *s, const char *p, size_t n,
                     struct err *e);

#endif
