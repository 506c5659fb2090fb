/* SPDX-License-Identifier: MIT
 * logits MODEL [THREADS [KV-TYPE]] <IDS >FLOATS
 *
 * Run the model over token ids, which stand in decimal on standard input, and
 * write the logits of every position as floats. */
#include <stdio.h>

#include "tests/unit/model_run.h"

enum { STEP = 64 };

static int read_ids(int32_t **t)
{
    int n = 0, id;

    *t = NULL;
    while (scanf("%d", &id) == 1) {
        if (n % 1024 == 0)
            *t = realloc(*t, (size_t)(n + 1024) * sizeof **t);
        (*t)[n++] = id;
    }
    return n;
}

static enum kern_kv kv_type(const char *s)
{
    static const char *const word[] = {
        [KV_F16] = "f16",   [KV_F32] = "f32",   [KV_BF16] = "bf16",
        [KV_Q8_0] = "q8_0", [KV_Q4_0] = "q4_0",
    };

    for (int i = 0; i < KV_NTYPE; i++)
        if (!strcmp(s, word[i]))
            return (enum kern_kv)i;
    return KV_F16;
}

static int run(const struct gguf *g, struct runner_opts o, struct err *e)
{
    struct runner r;
    int32_t *t;
    int n = read_ids(&t);
    size_t row;
    float *v;

    o.room = n;
    if (runner_open(&r, g, &o, e))
        return -1;
    row = (size_t)model_n_vocab(r.m);
    v = malloc(row * STEP * sizeof *v);
    for (int i = 0; i < n; i += STEP) {
        int k = n - i < STEP ? n - i : STEP;

        if (runner_run(&r, t + i, i, k, RUN_ALL, v, e))
            break;
        if (fwrite(v, row * sizeof *v, (size_t)k, stdout) != (size_t)k)
            break;
    }
    free(v);
    free(t);
    runner_close(&r);
    return e->code ? -1 : fflush(stdout);
}

int main(int argc, char **argv)
{
    struct runner_opts o = {.threads =
                                argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0,
                            .cpu_mask = ~0u,
                            .kv = argc > 3 ? kv_type(argv[3]) : KV_F32};
    struct gguf *g;
    struct err e = {0};
    int bad;

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: logits model [threads [kv-type]] <ids\n");
        return 2;
    }
    bad = gguf_open(&g, argv[1], &e);
    if (!bad) {
        bad = run(g, o, &e);
        gguf_close(g);
    }
    if (bad)
        fprintf(stderr, "logits: %s\n", e.msg);
    return bad ? 1 : 0;
}
