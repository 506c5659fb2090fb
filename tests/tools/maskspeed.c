/* SPDX-License-Identifier: MIT
 * maskspeed VOCABULARY.gguf SCHEMA.json <IDS: how long a schema takes to
 * compile, and the mask of allowed tokens at each token of each line of ids, as
 * a line of JSON.  A token that may not come is an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "grammar/grammar.h"
#include "tok/tok.h"

static void fail(const struct err *e)
{
    fprintf(stderr, "maskspeed: %s\n", e->msg);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void vocabulary(struct grammar_vocab *v, const struct tok *t)
{
    uint32_t n = tok_count(t), *len = calloc(n, sizeof *len);
    uint8_t **text = calloc(n, sizeof *text), *control = calloc(n, 1),
            *end = calloc(n, 1);
    struct err e = {ERR_NOMEM, "out of memory"};

    if (!len || !text || !control || !end)
        fail(&e);
    for (uint32_t id = 0; id < n; id++) {
        struct buf b = {0};

        e = (struct err){0};
        control[id] = tok_type(t, id) == TOK_CONTROL;
        end[id] = tok_is_eog(t, id);
        if (tok_decode(&b, t, &id, 1, 0, &e))
            fail(&e);
        text[id] = b.p;
        len[id] = (uint32_t)b.n;
    }
    *v = (struct grammar_vocab){.n = n,
                                .text = (const uint8_t *const *)text,
                                .len = len,
                                .control = control,
                                .end = end};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* A line of ids; the mask of each place, timed. */
static void line(struct grammar *g, char *p, double *us, size_t *n, size_t max)
{
    uint32_t s = grammar_start(g);
    struct err e = {0};
    char *stop;

    for (unsigned long id = strtoul(p, &stop, 10); stop != p && *n < max;
         p = stop, id = strtoul(p, &stop, 10)) {
        double from = now_us();
        const uint64_t *mask = grammar_mask(g, s, &e);

        us[(*n)++] = now_us() - from;
        if (!mask)
            fail(&e);
        if (!(mask[id / 64] >> id % 64 & 1)) {
            fprintf(stderr, "maskspeed: token %lu may not come\n", id);
            exit(1);
        }
        s = grammar_token(g, s, (uint32_t)id);
    }
}

int main(int argc, char **argv)
{
    enum { MAX = 1 << 20, LINE = 1 << 20 };
    static char text[LINE];
    double *us = calloc(MAX, sizeof *us), from, index_us, compile_us, sum = 0;
    struct grammar_vocab v;
    struct grammar *g;
    struct gguf *file;
    struct map schema;
    struct tok *t;
    struct err e = {0};
    size_t n = 0;

    if (argc != 3 || !us)
        return 2;
    if (gguf_open(&file, argv[1], &e) || tok_open(&t, file, NULL, &e) ||
        map_open(&schema, argv[2], &e))
        fail(&e);
    vocabulary(&v, t);
    from = now_us();
    if (grammar_vocab_index(&v, &e))
        fail(&e);
    index_us = now_us() - from;
    from = now_us();
    if (grammar_schema(&g, (const char *)schema.p, schema.n, &v, &e))
        fail(&e);
    compile_us = now_us() - from;
    while (fgets(text, sizeof text, stdin))
        line(g, text, us, &n, MAX);
    if (!n)
        return 1;
    qsort(us, n, sizeof *us, by_value);
    for (size_t i = 0; i < n; i++)
        sum += us[i];
    printf(
        "{\"vocab\":%lu,\"vocab_ms\":%.2f,\"compile_ms\":%.2f,\"tokens\":%zu,"
        "\"median_us\":%.2f,\"mean_us\":%.2f,\"p90_us\":%.2f,\"p99_us\":%.2f,"
        "\"max_us\":%.1f,\"mb\":%.1f}\n",
        (unsigned long)v.n, index_us / 1e3, compile_us / 1e3, n, us[n / 2],
        sum / (double)n, us[n * 9 / 10], us[n * 99 / 100], us[n - 1],
        (double)grammar_memory(g) / 1e6);
    return 0;
}
