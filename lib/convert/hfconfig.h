/* SPDX-License-Identifier: MIT
 * hfconfig.h - a folder's config.json, and what was asked of it.
 *
 * Every getter notes that the value was understood; hfconfig_unknown() finds
 * those that nobody asked for, so that none is passed over which changes
 * results. NAMES: those that a value has had, "num_experts|num_local_experts";
 * the first that is there counts.  What is null is as if it were not there. */
#ifndef LLM_CONVERT_HFCONFIG_H
#define LLM_CONVERT_HFCONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hfconfig {
    char *dir;                /* the folder, or what an operand names in it */
    json_t *file;             /* config.json */
    json_t *root;             /* it, or its text_config */
    json_t *seen;             /* of the root's keys */
    const char *type, *class; /* of the root; of the file; NULL: not said */
    bool whole;               /* root is the file */
};

/* PATH: a folder, or a file in it. */
int hfconfig_open(struct hfconfig *h, const char *path, struct err *e);
void hfconfig_close(struct hfconfig *h);

/* DIR/NAME as an object or array: 1, 0 when there is none, -1. */
int hfconfig_json(json_t **out, const char *dir, const char *name,
                  struct err *e);

/* A value as it is, or NULL. */
json_t *hfconfig_get(struct hfconfig *h, const char *names);
/* 1 found, 0 absent (*OUT untouched), -1 of another type or out of range. */
int hfconfig_int(int64_t *out, struct hfconfig *h, const char *names,
                 int64_t min, int64_t max, struct err *e);
int hfconfig_num(double *out, struct hfconfig *h, const char *names,
                 struct err *e);
int hfconfig_bool(bool *out, struct hfconfig *h, const char *names,
                  struct err *e);
int hfconfig_str(const char **out, struct hfconfig *h, const char *names,
                 struct err *e);
/* The same of any object, a part of the file; WHERE is what it is called. */
int hfconfig_num_in(double *out, const json_t *o, const char *key,
                    const char *where, const struct hfconfig *h, struct err *e);

/* Is NAME in a list "a|b"? */
bool hfconfig_among(const char *name, const char *list);

/* Every value has been asked for, or changes nothing. */
int hfconfig_unknown(const struct hfconfig *h, struct err *e);

#endif
