/* SPDX-License-Identifier: MIT */
#include "cmd/common/model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cmd/common/cache.h"
#include "cmd/common/catalog.h"
#include "cmd/common/cli.h"

/* A name that gguf-pull takes, but no other program. */
static bool pull_name(const char *s)
{
    return !strncmp(s, "hf:", 3) || !strncmp(s, "pypi:", 5) ||
           !strncasecmp(s, "http://", 7) || !strncasecmp(s, "https://", 8);
}

/* The path that OPERAND stands for, malloc'ed. */
static char *find(const char *operand, struct err *e)
{
    struct stat st;
    char *path;

    /* Anything that exists is taken as it is: opening it says what is wrong
     * with it, when something is. */
    if (!stat(operand, &st) || errno != ENOENT ||
        (strchr(operand, '/') && !pull_name(operand))) {
        if (!(path = strdup(operand)))
            err_nomem(e);
    } else if (!(path = cache_find(operand))) {
        if (catalog_find(operand))
            err_set(e, ERR_IO, "%s: %s (try: gguf-pull %s)", operand,
                    strerror(ENOENT), operand);
        else
            err_set(e, ERR_IO, "%s: %s%s", operand, strerror(ENOENT),
                    pull_name(operand)
                        ? " (a name for gguf-pull; try: $(gguf-pull NAME))"
                        : "");
    }
    return path;
}

int model_try(struct gguf **g, const char *operand, struct err *e)
{
    char *path = find(operand, e);
    int rc = path ? gguf_open(g, path, e) : -1;

    free(path);
    return rc;
}

struct gguf *model_operand(const char *operand)
{
    struct err e = {0};
    struct gguf *g;

    if (model_try(&g, operand, &e))
        die(&e);
    return g;
}

int model_header_try(struct wire_out *w, const char *by, const struct gguf *g,
                     struct err *e)
{
    return model_header_with(w, by, g, NULL, e);
}

int model_header_with(struct wire_out *w, const char *by, const struct gguf *g,
                      const char *adapters, struct err *e)
{
    char id[33], vocab[33], name[256] = "";
    struct wire_header h = {
        .by = by, .path = gguf_path(g), .id = id, .vocab = vocab};
    struct gguf_str s;

    gguf_model_id(id, g);
    gguf_vocab_id(vocab, g);
    if (gguf_get_str(&s, g, "general.name", NULL) > 0) {
        snprintf(name, sizeof name, "%.*s", (int)(s.n < 255 ? s.n : 255), s.p);
        h.name = name;
    }
    if (adapters && *adapters)
        h.adapters = adapters;
    return wire_put_header(w, &h, e);
}

void model_header(struct wire_out *w, const char *by, const struct gguf *g)
{
    struct err e = {0};

    if (model_header_try(w, by, g, &e))
        die(&e);
}
