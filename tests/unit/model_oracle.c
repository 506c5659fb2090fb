/* SPDX-License-Identifier: MIT
 * model_oracle.c - every model of ../shared/oracle/tiny whose architecture we
 * have, against the logits, or hidden states, that transformers gave, and the
 * laws of one arithmetic on each.  Skipped where that folder is not. */
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
    int n, ngreedy, width;
    bool enc; /* hidden states, not logits */
    double gap;
    struct map logits;
    json_t *pooled[2]; /* of an encoder: the mean, and the first */
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
        w->width = (int)json_integer_value(
            json_array_get(json_object_get(j, "shape"), 1));
        w->enc = !strcmp(json_string_value(json_object_get(j, "kind")), "enc");
        w->pooled[0] = json_incref(json_object_get(j, "pooled_mean"));
        w->pooled[1] = json_incref(json_object_get(j, "pooled_cls"));
        w->gap = json_number_value(json_object_get(j, "greedy_min_top2_gap"));
        snprintf(path, sizeof path, DIR_ "%s/logits.f32", name);
        good = !map_open(&w->logits, path, NULL) &&
               w->logits.n == sizeof(float) * (size_t)w->n * (size_t)w->width;
    }
    json_decref(j);
    return good;
}

/* The tokens that follow the prompt, which has just run. */
static int greedy(struct runner *r, const struct golden *w, const float *logits,
                  struct err *e)
{
    float *v = malloc(sizeof *v * (size_t)w->width);
    int32_t t =
        runner_best(logits + (size_t)(w->n - 1) * (size_t)w->width, w->width);
    int same = 1;

    for (int i = 0; i < w->ngreedy && same; i++) {
        same = t == w->greedy[i] &&
               !runner_run(r, &t, w->n + i, 1, RUN_LAST, v, e);
        t = runner_best(v, w->width);
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
    size_t n = (size_t)w->n * (size_t)w->width;
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
    ok(same_bits(g, three, w->n, w, v), "%s: three threads", name);
    ok(same_bits(g, ref, w->n, w, v), "%s: reference kernels", name);
    if (w->enc) /* all at once */
        return;
    ok(same_bits(g, o, 1, w, v), "%s: token by token", name);
    ok(same_bits(g, o, 7, w, v), "%s: in chunks of 7", name);
    ok(same_bits(g, three, 5, w, v), "%s: three threads, chunks of 5", name);
}

/* The mean of the first N hidden states, against POOLED: the cosine. */
static double cosine(const struct golden *w, const float *v, int n,
                     const json_t *pooled)
{
    double ab = 0, aa = 0, bb = 0;

    for (int i = 0; i < w->width; i++) {
        double a = 0, b = json_number_value(json_array_get(pooled, (size_t)i));

        for (int c = 0; c < n; c++)
            a += (double)v[c * w->width + i] / n;
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    return ab / sqrt(aa * bb);
}

static void pooled(const char *name, const struct golden *w, const float *v)
{
    double mean = cosine(w, v, w->n, w->pooled[0]),
           cls = cosine(w, v, 1, w->pooled[1]);

    ok(1 - mean < 1e-6 && 1 - cls < 1e-6, "%s: pooled, cosines of %.9f %.9f",
       name, mean, cls);
}

static void check(const char *name, const struct gguf *g, bool embed,
                  bool lawful)
{
    struct runner_opts o = {
        .threads = 1, .cpu_mask = ~0u, .kv = KV_F32, .embed = embed};
    struct golden w = {0};
    struct runner r = {0};
    struct err e = {0};
    float *v = NULL;
    double worst = 0;

    if (!ok(load(&w, name) && w.enc == embed, "%s: golden values", name))
        goto out;
    if (!ok(!runner_open(&r, g, &o, &e) && model_width(r.m) == w.width,
            "%s: opens %s", name, e.msg))
        goto out;
    v = malloc(w.logits.n);
    if (!ok(!runner_run(&r, w.tok, 0, w.n, RUN_ALL, v, &e), "%s: runs %s", name,
            e.msg))
        goto out;
    for (size_t i = 0; i < (size_t)w.n * (size_t)w.width; i++) {
        double d = fabs((double)v[i] - (double)rd_f32(w.logits.p + 4 * i));

        worst = d > worst || d != d ? d : worst;
    }
    ok(worst <= bound, "%s: %s differ by %.2g", name,
       embed ? "hidden states" : "logits", worst);
    if (embed)
        pooled(name, &w, v);
    else if (w.gap > 4 * bound)
        ok(greedy(&r, &w, v, &e), "%s: greedy tokens", name);
    if (lawful)
        laws(name, g, o, &w, v);
out:
    free(v);
    runner_close(&r);
    map_close(&w.logits);
    json_decref(w.pooled[0]);
    json_decref(w.pooled[1]);
}

/* Is the architecture known?  EMBED: as one that has no logits. */
static bool known(const struct gguf *g, bool *embed)
{
    struct be *be;
    struct model *m = NULL;
    struct err e = {0};
    bool refused;

    if (be_open(&be, "cpu", &(struct be_opts){.threads = 1}, &e))
        return false;
    refused = model_open(&m, g, be, &(struct model_opts){0}, &e) &&
              e.code == ERR_UNSUPPORTED && strstr(e.msg, "architecture");
    *embed = refused && strstr(e.msg, "llm-embed");
    if (refused && !*embed)
        printf("# %s\n", e.msg);
    model_close(m);
    be_close(be);
    return !refused || *embed;
}

int main(int argc, char **argv)
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
        bool embed;

        if (argc > 1)
            snprintf(path, sizeof path, "%s/%s.gguf", argv[1], list[i]->d_name);
        else
            snprintf(path, sizeof path, DIR_ "%s/model.gguf", list[i]->d_name);
        if (list[i]->d_name[0] != '.' && !gguf_open(&g, path, NULL)) {
            /* Others are refused by the name of their architecture. */
            if (known(g, &embed)) {
                seen++;
                check(list[i]->d_name, g, embed, argc < 2);
            }
            gguf_close(g);
        }
        free(list[i]);
    }
    free(list);
    ok(seen >= 25, "%d models", seen);
    return tap_done();
}
