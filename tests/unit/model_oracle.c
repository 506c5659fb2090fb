/* SPDX-License-Identifier: MIT
 * model_oracle.c - every model of ../shared/oracle/tiny whose architecture we
 * have, against the logits that transformers gave, and the laws of one
 * arithmetic on each.  Skipped where that folder is not. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/map.h"
#include "base/num.h"
#include "tests/unit/model_run.h"
#include "tests/unit/tap.h"

#define DIR_ "../shared/oracle/tiny/"

/* What the README of the folder allows, for weights of F32. */
static const double bound = 2e-4;
enum { MAX_TOKENS = 256 };

struct golden {
    int32_t tok[MAX_TOKENS], greedy[64];
    int n, ngreedy, vocab;
    double gap;
    struct map logits;
};

static int ints(int32_t *to, int max, const json_t *a)
{
    int n = (int)json_array_size(a);

    for (int i = 0; i < n && i < max; i++)
        to[i] = (int32_t)json_integer_value(json_array_get(a, (size_t)i));
    return n < max ? n : max;
}

static int load(struct golden *w, const char *name)
{
    char path[512];
    json_t *j;
    int good = 0;

    snprintf(path, sizeof path, DIR_ "%s/tokens.json", name);
    j = json_load_file(path, 0, NULL);
    if (j) {
        w->n = ints(w->tok, MAX_TOKENS, json_object_get(j, "tokens"));
        w->ngreedy = ints(w->greedy, 64, json_object_get(j, "greedy"));
        w->vocab = (int)json_integer_value(
            json_array_get(json_object_get(j, "shape"), 1));
        w->gap = json_number_value(json_object_get(j, "greedy_min_top2_gap"));
        snprintf(path, sizeof path, DIR_ "%s/logits.f32", name);
        good = !map_open(&w->logits, path, NULL) &&
               w->logits.n == sizeof(float) * (size_t)w->n * (size_t)w->vocab;
    }
    json_decref(j);
    return good;
}

/* The tokens that follow the prompt, which has just run. */
static int greedy(struct runner *r, const struct golden *w, const float *logits,
                  struct err *e)
{
    float *v = malloc(sizeof *v * (size_t)w->vocab);
    int32_t t =
        runner_best(logits + (size_t)(w->n - 1) * (size_t)w->vocab, w->vocab);
    int same = 1;

    for (int i = 0; i < w->ngreedy && same; i++) {
        same = t == w->greedy[i] &&
               !runner_run(r, &t, w->n + i, 1, RUN_LAST, v, e);
        t = runner_best(v, w->vocab);
    }
    free(v);
    return same;
}

/* All positions, as CHUNK at a time, by another backend: the same bits. */
static int same_bits(const struct gguf *g, struct runner_opts o, int chunk,
                     const struct golden *w, const float *want)
{
    struct runner r;
    struct err e = {0};
    size_t n = (size_t)w->n * (size_t)w->vocab;
    float *got = malloc(n * sizeof *got);
    int same = !runner_open(&r, g, &o, &e) &&
               !runner_chunks(&r, w->tok, w->n, chunk, got, &e) &&
               !memcmp(got, want, n * sizeof *got);

    if (e.code)
        printf("# %s\n", e.msg);
    runner_close(&r);
    free(got);
    return same;
}

static void laws(const char *name, const struct gguf *g, struct runner_opts o,
                 const struct golden *w, const float *v)
{
    struct runner_opts three = o, ref = o;

    three.threads = 3;
    ref.cpu_mask = 0;
    ok(same_bits(g, o, 1, w, v), "%s: token by token", name);
    ok(same_bits(g, o, 7, w, v), "%s: in chunks of 7", name);
    ok(same_bits(g, three, w->n, w, v), "%s: three threads", name);
    ok(same_bits(g, three, 5, w, v), "%s: three threads, chunks of 5", name);
    ok(same_bits(g, ref, w->n, w, v), "%s: reference kernels", name);
}

static void check(const char *name, const struct gguf *g)
{
    struct runner_opts o = {.threads = 1, .cpu_mask = ~0u, .kv = KV_F32};
    struct golden w = {0};
    struct runner r = {0};
    struct err e = {0};
    float *v = NULL;
    double worst = 0;

    if (!ok(load(&w, name), "%s: golden values", name))
        return;
    if (!ok(!runner_open(&r, g, &o, &e) && model_n_vocab(r.m) == w.vocab,
            "%s: opens %s", name, e.msg))
        goto out;
    v = malloc(w.logits.n);
    if (!ok(!runner_run(&r, w.tok, 0, w.n, RUN_ALL, v, &e), "%s: runs %s", name,
            e.msg))
        goto out;
    for (size_t i = 0; i < (size_t)w.n * (size_t)w.vocab; i++) {
        double d = fabs((double)v[i] - (double)rd_f32(w.logits.p + 4 * i));

        worst = d > worst || d != d ? d : worst;
    }
    ok(worst <= bound, "%s: logits differ by %.2g", name, worst);
    if (w.gap > 4 * bound)
        ok(greedy(&r, &w, v, &e), "%s: greedy tokens", name);
    laws(name, g, o, &w, v);
out:
    free(v);
    runner_close(&r);
    map_close(&w.logits);
}

int main(void)
{
    struct dirent **list = NULL;
    int n = scandir(DIR_, &list, NULL, alphasort), seen = 0;

    if (n < 0) {
        puts("1..0 # SKIP no " DIR_);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        char path[512];
        struct gguf *g;
        struct err e = {0};
        struct be *be;
        struct model *m;

        snprintf(path, sizeof path, DIR_ "%s/model.gguf", list[i]->d_name);
        if (list[i]->d_name[0] != '.' && !gguf_open(&g, path, &e)) {
            /* Others are refused by the name of their architecture. */
            if (!be_open(&be, "cpu", &(struct be_opts){.threads = 1}, &e)) {
                if (model_open(&m, g, be, &(struct model_opts){0}, &e) &&
                    e.code == ERR_UNSUPPORTED && strstr(e.msg, "architecture"))
                    printf("# %s\n", e.msg);
                else {
                    seen++;
                    model_close(m);
                    check(list[i]->d_name, g);
                }
                be_close(be);
            }
            gguf_close(g);
        }
        free(list[i]);
    }
    free(list);
    ok(seen >= 22, "%d models", seen);
    return tap_done();
}
