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

enum { LONG = 150, MAX_SEEN = 200000 };

static uint64_t seed, at;

static double chance(void)
{
    return rng_unit(seed, 0, at++);
}

/* What is between values more often than what is in them, so that all of a
 * schema is seen. */
static double weight(int c)
{
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
        return .1;
    if (c && strchr("\"]},:", c))
        return 8;
    return c == '\\' ? .3 : c >= 0x80 ? .05 : 1;
}

/* The state where byte C, from the one numbered FROM, came to. */
struct step {
    uint32_t state;
    size_t from;
    uint8_t c;
};

static bool is_new(struct buf *seen, uint32_t state)
{
    while (seen->n <= state && !seen->bad)
        buf_putc(seen, 0);
    if (seen->bad || seen->p[state])
        return false;
    seen->p[state] = 1;
    return true;
}

/* Bytes that lead to an end: first those that begin nothing more than need be,
 * then more of them, and in the end all but white space. */
static bool leads(const bool next[256], int c, int more)
{
    bool scalar = next['"'] || next['0'] || next['1'] || next['n'] || next['t'];

    if (!next[c] || (c <= ' ' && next['\n']))
        return false;
    if (!more && (c >= 0x7f || c == '\\'))
        return false;
    if (more < 2 && !next['"'] && c > '0' && c < '9' && next[c - 1] &&
        next[c + 1])
        return false;
    return more > 1 || !scalar || (c != '[' && c != '{');
}

/* The fewest bytes from S to an end.  There may be too many states on the way:
 * then *LOST is set. */
static bool finish(struct grammar *g, uint32_t s, int more, bool *lost,
                   struct buf *out)
{
    struct buf steps = {0}, seen = {0};
    struct step k = {s, 0, 0};
    size_t end = SIZE_MAX, n;
    bool next[256];

    is_new(&seen, s);
    buf_put(&steps, &k, sizeof k);
    for (size_t i = 0; i * sizeof k < steps.n; i++) {
        *lost |= i == MAX_SEEN;
        if (*lost)
            break;
        memcpy(&k, steps.p + i * sizeof k, sizeof k);
        if (grammar_ends(g, k.state)) {
            end = i;
            break;
        }
        grammar_next(g, k.state, next);
        for (int c = 0; c < 256; c++) {
            struct step to = {0, i, (uint8_t)c};

            if (!leads(next, c, more))
                continue;
            to.state = grammar_byte(g, k.state, (uint8_t)c);
            *lost |= to.state == GRAMMAR_FULL;
            if (is_new(&seen, to.state))
                buf_put(&steps, &to, sizeof to);
        }
    }
    n = out->n;
    for (size_t i = end; i != SIZE_MAX && i; i = k.from) {
        memcpy(&k, steps.p + i * sizeof k, sizeof k);
        buf_putc(out, k.c);
    }
    for (size_t i = n, j = out->n; i + 1 < j; i++) {
        uint8_t c = out->p[i];

        out->p[i] = out->p[--j];
        out->p[j] = c;
    }
    buf_free(&steps);
    buf_free(&seen);
    return end != SIZE_MAX;
}

static bool walk(struct grammar *g, bool *lost, struct buf *out)
{
    uint32_t s = grammar_start(g);
    bool next[256];

    out->n = 0;
    for (;;) {
        double sum = 0, x;
        int c = -1;

        if (grammar_ends(g, s) && (grammar_done(g, s) || chance() < .3))
            return true;
        if (out->n > LONG)
            return finish(g, s, 0, lost, out) || finish(g, s, 1, lost, out) ||
                   finish(g, s, 2, lost, out);
        grammar_next(g, s, next);
        for (int i = 0; i < 256; i++)
            sum += next[i] ? weight(i) : 0;
        if (sum <= 0)
            return false;
        x = chance() * sum;
        for (int i = 0; i < 256; i++)
            if (next[i]) {
                c = i;
                x -= weight(i);
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
    bool lost = false;

    for (json_int_t i = 0; i < n && !lost; i++) {
        /* Null: from somewhere there is no way to an end. */
        if (walk(g, &lost, &b))
            json_array_append_new(out, json_stringn((char *)b.p, b.n));
        else if (!lost)
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
