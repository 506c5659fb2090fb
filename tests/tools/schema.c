/* SPDX-License-Identifier: MIT
 *
 * schema: what a JSON Schema, as a grammar, takes and makes.  One JSON object
 * comes on each line of stdin:
 *
 *     {"schema": TEXT, "try": [TEXT, ...], "walk": N, "seed": N}
 *
 * and one goes to stdout, with "try": which of the texts it takes, and "walk":
 * N texts that it takes, byte by byte at random; or with "error" and "code". */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "grammar/grammar.h"

enum { LONG = 400, TOO_LONG = 20000 };

static uint64_t seed, at;

static double chance(void)
{
    return rng_unit(seed, 0, at++);
}

/* What is between values more often than what is in them, so that all of a
 * schema is seen; beyond LONG bytes, what ends soonest. */
static double weight(const bool next[256], int c, size_t length)
{
    bool string = next['"'] && next['\\'];

    if (length > LONG && string)
        return c == '"' ? 1e6 : 1;
    if (length > LONG)
        return c == ']' || c == '}' ? 1e3 : c == '[' || c == '{' ? .01 : 1;
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
        return .1;
    if (c && strchr("\"]},:", c))
        return 8;
    return c == '\\' ? .3 : c >= 0x80 ? .05 : 1;
}

static bool walk(struct grammar *g, struct buf *out)
{
    uint32_t s = grammar_start(g);
    bool next[256];

    out->n = 0;
    for (;;) {
        double sum = 0, x;
        int c = -1;

        if (grammar_ends(g, s) &&
            (grammar_done(g, s) || out->n > LONG || chance() < .3))
            return true;
        grammar_next(g, s, next);
        for (int i = 0; i < 256; i++)
            sum += next[i] ? weight(next, i, out->n) : 0;
        if (sum <= 0 || out->n > TOO_LONG)
            return false;
        x = chance() * sum;
        for (int i = 0; i < 256; i++)
            if (next[i]) {
                c = i;
                x -= weight(next, i, out->n);
                if (x < 0)
                    break;
            }
        buf_putc(out, c);
        s = grammar_byte(g, s, (uint8_t)c);
    }
}

static json_t *tries(struct grammar *g, json_t *texts)
{
    json_t *out = json_array(), *t;
    size_t i;

    json_array_foreach(texts, i, t)
    {
        uint32_t s = grammar_bytes(g, grammar_start(g), json_string_value(t),
                                   json_string_length(t));

        json_array_append_new(
            out, s == GRAMMAR_FULL
                     ? json_string("full")
                     : json_boolean(s != GRAMMAR_DEAD && grammar_ends(g, s)));
    }
    return out;
}

static json_t *walks(struct grammar *g, json_int_t n)
{
    json_t *out = json_array();
    struct buf b = {0};

    for (json_int_t i = 0; i < n; i++) {
        /* Null: it came to no end, which a program may look into. */
        if (walk(g, &b))
            json_array_append_new(out, json_stringn((char *)b.p, b.n));
        else
            json_array_append_new(out, json_null());
    }
    buf_free(&b);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;

    while (getline(&line, &cap, stdin) > 0) {
        json_error_t why;
        json_t *in = json_loads(line, JSON_ALLOW_NUL, &why), *out, *schema;
        struct grammar *g;
        struct err e = {0};
        clock_t from = clock();

        schema = json_object_get(in, "schema");
        if (!json_is_string(schema)) {
            fprintf(stderr, "schema: bad line: %s\n", why.text);
            return 1;
        }
        out = json_object();
        if (grammar_schema(&g, json_string_value(schema),
                           json_string_length(schema), NULL, &e)) {
            json_object_set_new(out, "error", json_string(e.msg));
            json_object_set_new(out, "code", json_string(err_word(e.code)));
        } else {
            json_object_set_new(
                out, "ms",
                json_real((double)(clock() - from) * 1e3 / CLOCKS_PER_SEC));
            seed = (uint64_t)json_integer_value(json_object_get(in, "seed"));
            at = 0;
            json_object_set_new(out, "try",
                                tries(g, json_object_get(in, "try")));
            json_object_set_new(
                out, "walk",
                walks(g, json_integer_value(json_object_get(in, "walk"))));
            grammar_free(g);
        }
        json_dumpf(out, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(out);
        json_decref(in);
    }
    free(line);
    return 0;
}
