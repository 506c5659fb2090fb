/* SPDX-License-Identifier: MIT
 * store.h - what is in the cache: find, list, remove. */
#ifndef LLM_CMD_PULL_STORE_H
#define LLM_CMD_PULL_STORE_H

#include <stdbool.h>

#include "base/err.h"
#include "cmd/pull/name.h"

/* The path of N's model in the cache MODELS, malloc'ed; NULL when it is not
 * there, or when several would do for N. */
char *store_find(const char *models, const struct name *n);

/* The hash that FILE.json has for the model at PATH; false for none. */
bool store_sha256(char out[65], const char *path);

/* Print every whole model: a table for people, or a JSON object a line. */
int store_list(const char *models, bool json, struct err *e);

/* Remove what is there of N, partial downloads included. */
int store_remove(const char *models, const struct name *n, struct err *e);

/* Remove the model whose PATH store_list() shows; false when there is none,
 * true with E set when it cannot be removed. */
bool store_remove_path(const char *models, const char *path, struct err *e);

#endif
