/* SPDX-License-Identifier: MIT
 * hf.h - a folder's config.json, and what was asked of it.
 *
 * Every getter notes that the value was understood; hf_unknown() finds those
 * that nobody asked for, so that none is passed over which changes results.
 * NAMES: those that a value has had, "num_experts|num_local_experts"; the first
 * that is there counts.  What is null is as if it were not there. */
#ifndef LLM_CONVERT_HF_H
#define LLM_CONVERT_HF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hf {
    char *dir;                /* the folder, or what an operand names in it */
    json_t *file;             /* config.json */
    json_t *root;             /* it, or its text_config */
    json_t *seen;             /* of the root's keys */
    const char *type, *class; /* of the root; of the file; NULL: not said */
    bool whole;               /* root is the file */
};

/* PATH: a folder, or a file in it. */
int hf_open(struct hf *h, const char *path, struct err *e);
void hf_close(struct hf *h);

/* DIR/NAME as an object or array: 1, 0 when there is none, -1. */
int hf_json(json_t **out, const char *dir, const char *name, struct err *e);

/* A value as it is, or NULL. */
json_t *hf_get(struct hf *h, const char *names);
/* 1 found, 0 absent (*OUT untouched), -1 of another type or out of range. */
int hf_int(int64_t *out, struct hf *h, const char *names, int64_t min,
           int64_t max, struct err *e);
int hf_num(double *out, struct hf *h, const char *names, struct err *e);
int hf_bool(bool *out, struct hf *h, const char *names, struct err *e);
int hf_str(const char **out, struct hf *h, const char *names, struct err *e);
/* The same of any object, a part of the file; WHERE is what it is called. */
int hf_num_in(double *out, const json_t *o, const char *key, const char *where,
              const struct hf *h, struct err *e);

/* Is NAME in a list "a|b"? */
bool hf_among(const char *name, const char *list);

/* Every value has been asked for, or changes nothing. */
int hf_unknown(const struct hf *h, struct err *e);

#endif
