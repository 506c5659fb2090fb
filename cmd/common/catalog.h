/* SPDX-License-Identifier: MIT
 * catalog.h - the models that have a short name. */
#ifndef LLM_CMD_CATALOG_H
#define LLM_CMD_CATALOG_H

#include <stddef.h>
#include <stdint.h>

enum { CATALOG_SOURCES = 3 };

/* SHA256, SIZE and FILE are known only where one file was looked at: then
 * every source must give exactly its bytes.  Elsewhere they are NULL and 0,
 * and the hub's own record of the file is what a download is checked by. */
struct catalog {
    const char *name;
    const char *what; /* for people: which model, which types */
    const char *sha256;
    int64_t size;
    const char *file;
    const char *source[CATALOG_SOURCES]; /* gguf-pull's names, best first */
};

/* The entry called NAME, or NULL. */
const struct catalog *catalog_find(const char *name);

/* Entry I in order, NULL after the last. */
const struct catalog *catalog_at(size_t i);

#endif
