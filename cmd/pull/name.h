/* SPDX-License-Identifier: MIT
 * name.h - what gguf-pull can be asked for, and which names are safe. */
#ifndef LLM_CMD_PULL_NAME_H
#define LLM_CMD_PULL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cmd/common/catalog.h"

enum name_kind { NAME_CATALOG, NAME_HF, NAME_URL, NAME_PYPI };

struct name {
    enum name_kind kind;
    char *text;                /* as asked for, without a URL's fragment */
    const struct catalog *cat; /* NAME_CATALOG */
    char *repo;                /* NAME_HF: "owner/repo" */
    char *quant, *file;        /* NAME_HF: one of them, or neither */
    char *reqs;                /* NAME_PYPI: "a==1,b==2" */
    char *base;                /* NAME_URL: the file's own name */
    char *dir;                 /* its place below the cache's models/ */
    char sha256[65];           /* of the URL's fragment; "" for none */
};

/* Take TEXT apart.  ERR_USAGE, with names that are near, when it is none. */
int name_parse(struct name *n, const char *text, struct err *e);
void name_free(struct name *n);

/* A file name that came from elsewhere and may become one of ours: 1 to 200
 * bytes of UTF-8, no control character, no space, nothing that means something
 * to a shell, no slash, not starting with a dot or a dash. */
bool name_safe(const char *s);

/* Ends in ".gguf", in either case. */
bool name_gguf(const char *s);

/* Does the file name FILE stand for QUANT?  It must hold it as a whole word,
 * in either case: "Q4_K" is not in "m-Q4_K_M.gguf" or "m-IQ4_K.gguf". */
bool name_quant(const char *file, const char *quant);

/* The name that REMOTE, a path in a repository, gets here and no other gets:
 * its parts joined by "--", ".gguf" at the end; malloc'ed.  NULL unless every
 * part is safe and the last one a GGUF's. */
char *name_local(const char *remote);

/* The REMOTE for which name_local() gives LOCAL, malloc'ed; NULL for none. */
char *name_remote(const char *local);

/* Copy 64 hex digits to OUT in lower case; false when HEX is anything else. */
bool name_sha256(char out[65], const char *hex);

/* 64 hex digits of DATA's SHA-256. */
int sha256_hex(char out[65], const void *data, size_t n, struct err *e);

#endif
