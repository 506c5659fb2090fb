/* SPDX-License-Identifier: MIT */
#include "cmd/common/model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/common/cache.h"
#include "cmd/common/catalog.h"
#include "cmd/common/cli.h"

char *model_path(const char *operand)
{
    struct err e = {0};
    struct stat st;
    char *path;

    /* Anything that exists is taken as it is: opening it says what is wrong
     * with it, when something is. */
    if (!stat(operand, &st) || errno != ENOENT || strchr(operand, '/')) {
        if (!(path = strdup(operand)))
            err_nomem(&e);
    } else if (!(path = cache_find(operand))) {
        bool known = catalog_find(operand);

        err_set(&e, ERR_IO, "%s: %s%s%s%s", operand, strerror(ENOENT),
                known ? " (try: gguf-pull " : "", known ? operand : "",
                known ? ")" : "");
    }
    if (!path)
        die(&e);
    return path;
}

struct gguf *model_open(const char *operand)
{
    struct err e = {0};
    struct gguf *g;
    char *path = model_path(operand);

    if (gguf_open(&g, path, &e))
        die(&e);
    free(path);
    return g;
}

void model_header(struct wire_out *w, const char *by, const struct gguf *g)
{
    char id[33], vocab[33], name[256] = "";
    struct wire_header h = {
        .by = by, .path = gguf_path(g), .id = id, .vocab = vocab};
    struct gguf_str s;
    struct err e = {0};

    gguf_model_id(id, g);
    gguf_vocab_id(vocab, g);
    if (gguf_get_str(&s, g, "general.name", NULL) > 0) {
        snprintf(name, sizeof name, "%.*s", (int)(s.n < 255 ? s.n : 255), s.p);
        h.name = name;
    }
    if (wire_put_header(w, &h, &e))
        die(&e);
}
