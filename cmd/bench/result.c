/* SPDX-License-Identifier: MIT
 * result.c - what a test has given, as an object. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/figures.h"
#include "draft/draft.h"

enum { RESAMPLES = 10000 };
static const double level = 0.95;

static void put_int(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_integer((json_int_t)v));
}

/* What is not known is left out. */
static void put_real(json_t *o, const char *key, double v)
{
    if (isfinite(v) && v >= 0)
        json_object_set_new(o, key, json_real(v));
}

static void put_text(json_t *o, const char *key, const char *s)
{
    json_t *v = json_string(s);

    json_object_set_new(o, key, v ? v : json_string("?"));
}

/* ---- which test it is ---- */

static void put_test(json_t *o, const struct bench *b,
                     const struct bench_test *t)
{
    const struct bench_model *m = b->model;
    char types[40];

    put_text(o, "test", bench_word[t->kind]);
    put_text(o, "model", m->name);
    put_text(o, "model_id", m->id);
    if (*m->adapters)
        put_text(o, "adapters", m->adapters);
    put_int(o, "threads", (uint64_t)t->threads);
    if (t->kind == BENCH_LOAD || t->kind == BENCH_FIRST)
        put_text(o, "cache", t->cold ? "cold" : "warm");
    if (t->kind != BENCH_LOAD) {
        put_int(o, "prompt", (uint64_t)t->prompt);
        put_int(o, "n", (uint64_t)t->n);
    }
    if (t->kind == BENCH_PREFILL || t->kind == BENCH_DECODE) {
        put_int(o, "depth", (uint64_t)t->depth);
        put_int(o, "batch", (uint64_t)t->batch);
    }
    if (t->kind == BENCH_DECODE && b->shared)
        json_object_set_new(o, "shared", json_true());
    if (t->kind == BENCH_SPEC)
        put_text(o, "drafter", t->drafter);
    if (m->k && m->v && t->kind != BENCH_LOAD) {
        snprintf(types, sizeof types, m->k == m->v ? "%s" : "%s,%s", m->k->name,
                 m->v->name);
        for (char *p = types; *p; p++)
            *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        put_text(o, "kv_type", types);
    }
    put_text(o, "unit", t->kind <= BENCH_FIRST ? "ms" : "tokens/s");
}

/* ---- figures ---- */

static json_t *list(const double *v, int n)
{
    json_t *a = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_real(v[i]));
    return a;
}

static void put_interval(json_t *o, struct figures_interval i)
{
    put_real(o, "low", i.low);
    put_real(o, "high", i.high);
    put_real(o, "confidence", i.confidence);
}

static int put_value(json_t *o, const struct bench_result *r, double *room,
                     struct err *e)
{
    size_t n = (size_t)r->runs;
    double mad;

    memcpy(room, r->value, n * sizeof *room);
    figures_sort(room, n);
    if (figures_mad(&mad, room, n))
        return err_nomem(e);
    put_real(o, "median", figures_median(room, n));
    put_interval(o, figures_interval(room, n, level));
    put_real(o, "mean", figures_mean(room, n));
    put_real(o, "mad", mad);
    figures_sort(r->ms, r->nms);
    if (r->nms) {
        put_real(o, "p50_ms", figures_at(r->ms, r->nms, 0.5));
        put_real(o, "p95_ms", figures_at(r->ms, r->nms, 0.95));
        put_real(o, "p99_ms", figures_at(r->ms, r->nms, 0.99));
    }
    json_object_set_new(o, "runs", list(r->value, r->runs));
    return 0;
}

/* Tokens of a run. */
static double tokens(const struct bench_test *t)
{
    if (t->kind == BENCH_PREFILL)
        return t->prompt;
    return t->kind == BENCH_DECODE || t->kind == BENCH_SPEC
               ? (double)t->n * t->batch
               : 1;
}

static void put_work(json_t *o, const struct bench *b,
                     const struct bench_result *r, double *room)
{
    double bytes = bench_model_bytes(b->model, &r->test);
    double products = bench_model_products(b->model, &r->test), rate;

    memcpy(room, r->cpu, (size_t)r->runs * sizeof *room);
    figures_sort(room, (size_t)r->runs);
    put_real(o, "cpu_s_per_token",
             figures_median(room, (size_t)r->runs) / tokens(&r->test));
    rate = json_number_value(json_object_get(o, "median"));
    if (bytes > 0)
        put_real(o, "bytes_per_token", bytes);
    put_real(o, "read_gb_s", r->read_gb_s);
    if (bytes > 0 && r->read_gb_s > 0)
        put_real(o, "read_pct", rate * bytes / r->read_gb_s * 1e-7);
    if (r->int8_gop_s > 0) {
        put_text(o, "int8", r->int8);
        put_real(o, "int8_gop_s", r->int8_gop_s);
        if (products > 0)
            put_real(o, "int8_pct", rate * products / r->int8_gop_s * 1e-7);
    }
    if (r->rss)
        put_int(o, "rss", r->rss);
    put_real(o, "cached_pct", 100 * r->cached);
}

/* A program that is held against ours, how many times as fast ours is. */
static int put_ratio(json_t *o, const struct bench_result *r,
                     const double *other, struct err *e)
{
    bool time = r->test.kind <= BENCH_FIRST;
    struct figures_interval i;
    double ratio;

    if (figures_ratio(&ratio, &i, time ? other : r->value,
                      time ? r->value : other, (size_t)r->runs, level,
                      RESAMPLES))
        return err_nomem(e);
    put_real(o, "ratio", ratio);
    put_interval(o, i);
    return 0;
}

static int put_other(json_t *o, const struct bench *b,
                     const struct bench_result *r, double *room, struct err *e)
{
    json_t *v;
    size_t n = (size_t)r->runs;

    if (!b->other || !other_does(b->other, r->test.kind))
        return 0;
    v = json_object();
    json_object_set_new(o, "vs", v);
    put_text(v, "by", other_by(b->other));
    memcpy(room, r->theirs, n * sizeof *room);
    figures_sort(room, n);
    put_real(v, "median", figures_median(room, n));
    json_object_set_new(v, "runs", list(r->theirs, r->runs));
    put_real(v, "cpu_s", r->theirs_cpu / (double)n);
    put_int(v, "rss", r->theirs_rss);
    return put_ratio(v, r, r->theirs, e);
}

static int put_guesses(json_t *o, const struct bench_result *r, double *room,
                       struct err *e)
{
    size_t n = (size_t)r->runs;
    json_t *plain, *place;

    if (r->test.kind != BENCH_SPEC)
        return 0;
    plain = json_object();
    json_object_set_new(o, "plain", plain);
    memcpy(room, r->plain, n * sizeof *room);
    figures_sort(room, n);
    put_real(plain, "median", figures_median(room, n));
    json_object_set_new(plain, "runs", list(r->plain, r->runs));
    put_int(o, "guessed", (uint64_t)r->guessed);
    put_int(o, "right", (uint64_t)r->right);
    place = json_array();
    for (int i = 0; i < DRAFT_MAX && r->place[i] >= 0; i++)
        json_array_append_new(place, json_real(r->place[i]));
    json_object_set_new(o, "right_by_place", place);
    return figures_median(room, n) > 0 ? put_ratio(plain, r, r->plain, e) : 0;
}

static void put_machine(json_t *o, const struct bench *b,
                        const struct bench_result *r)
{
    time_t now = time(NULL);
    struct tm tm;
    char name[128], date[32] = "";

    put_text(o, "cpu", machine_cpu(name));
    put_text(o, "isa", b->model->stats.isa);
    if (r->test.kind != BENCH_LOAD && r->test.kind != BENCH_FIRST)
        json_object_set_new(o, "large_pages",
                            json_boolean(b->model->stats.large_pages));
    put_real(o, "load", b->load);
    put_real(o, "others", r->others);
    put_real(o, "steal_pct", 100 * r->steal);
    put_text(o, "version", b->version);
    if (gmtime_r(&now, &tm) &&
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm))
        put_text(o, "date", date);
}

json_t *result_json(const struct bench *b, const struct bench_result *r,
                    struct err *e)
{
    json_t *o = json_object();
    double *room = malloc((size_t)r->runs * sizeof *room);
    int rc;

    if (!o || !room) {
        json_decref(o);
        free(room);
        err_nomem(e);
        return NULL;
    }
    put_test(o, b, &r->test);
    rc = put_value(o, r, room, e);
    if (!rc) {
        put_work(o, b, r, room);
        rc = put_guesses(o, r, room, e) || put_other(o, b, r, room, e);
    }
    put_machine(o, b, r);
    free(room);
    if (rc) {
        json_decref(o);
        return NULL;
    }
    return o;
}
