/* SPDX-License-Identifier: MIT
 *
 * JSON Schemas that may be anything: each is refused with one line, or becomes
 * a grammar, along which the rest of the input, after a NUL, chooses a way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *why)
{
    if (!good) {
        fprintf(stderr, "schema: %s\n", why);
        abort();
    }
}

/* Each byte of WAY chooses one of those that may come. */
static void walk(struct grammar *g, const uint8_t *way, size_t n)
{
    uint32_t s = grammar_start(g);
    bool next[256];

    for (size_t i = 0; i < n && !grammar_done(g, s); i++) {
        int may = 0, take;

        grammar_next(g, s, next);
        for (int c = 0; c < 256; c++)
            may += next[c];
        if (s == GRAMMAR_FULL)
            return;
        must(may > 0 || grammar_ends(g, s), "a way without an end");
        if (!may)
            return;
        take = way[i] % may;
        for (int c = 0; c < 256; c++)
            if (next[c] && !take--) {
                s = grammar_byte(g, s, (uint8_t)c);
                must(s != GRAMMAR_DEAD, "a byte that may come, and may not");
                break;
            }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t n = end ? (size_t)(end - data) : size;
    struct grammar *g;
    struct err e = {0};

    if (grammar_schema(&g, (const char *)data, n, NULL, &e)) {
        must(e.code && *e.msg && !strchr(e.msg, '\n'), "not one line");
        return 0;
    }
    walk(g, data + n, size - n);
    grammar_free(g);
    return 0;
}
