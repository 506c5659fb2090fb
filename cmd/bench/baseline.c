/* SPDX-License-Identifier: MIT
 * baseline.c - what has changed since lines that were written before. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/figures.h"

enum { LINE = 1 << 20, LINES = 1 << 16, MOST_RUNS = 1 << 16 };
static const double significant = 0.05;

static void bad_line(const char *path, long line, const char *why)
{
    struct err e = {0};

    err_set(&e, ERR_FORMAT, "%s: line %ld: %s", path, line, why);
    die(&e);
}

static void add_line(json_t *all, const char *path, long n, const char *line,
                     size_t len)
{
    json_error_t why;
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);

    if (!o)
        bad_line(path, n, why.text);
    if (!json_is_object(o) || !json_is_string(json_object_get(o, "test")))
        bad_line(path, n, "not a line of llm-bench -f json");
    json_array_append_new(all, o);
}

json_t *baseline_read(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = malloc(LINE);
    json_t *all = json_array();
    struct err e = {0};

    if (!f)
        err_set(&e, ERR_IO, "%s: %s", path, strerror(errno));
    if (!line || !all)
        err_nomem(&e);
    if (e.code)
        die(&e);
    for (long n = 1; fgets(line, LINE, f); n++) {
        size_t len = strlen(line);

        if (len + 1 == LINE || n > LINES)
            bad_line(path, n, "too long");
        if (len != strspn(line, " \t\r\n"))
            add_line(all, path, n, line, len);
    }
    if (ferror(f)) {
        err_set(&e, ERR_IO, "%s: %s", path, strerror(errno));
        die(&e);
    }
    fclose(f);
    free(line);
    return all;
}

/* ---- which line ---- */

/* The model's id where both have one, else its name. */
static bool same_model(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "model_id"),
                 *y = json_object_get(b, "model_id");

    if (x && y)
        return json_equal(x, y);
    x = json_object_get(a, "model");
    y = json_object_get(b, "model");
    return x && y && json_equal(x, y);
}

static bool same_test(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {
        "test",  "threads", "cache",   "prompt",  "n",    "depth",
        "batch", "shared",  "kv_type", "drafter", "unit", "adapters"};

    if (!same_model(a, b))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *x = json_object_get(a, keys[i]),
                     *y = json_object_get(b, keys[i]);

        if ((x || y) && !(x && y && json_equal(x, y)))
            return false;
    }
    return true;
}

/* The last of those that are alike: a file may have been written to again. */
static const json_t *find(const json_t *all, const json_t *o)
{
    for (size_t i = json_array_size(all); i > 0; i--)
        if (same_test(json_array_get(all, i - 1), o))
            return json_array_get(all, i - 1);
    return NULL;
}

/* ---- what became of it ---- */

/* The numbers of "runs", the caller's; *N = 0: there are none. */
static double *runs(size_t *n, const json_t *o, struct err *e)
{
    const json_t *a = json_object_get(o, "runs");
    size_t count = json_array_size(a);
    double *v;

    *n = 0;
    if (count > MOST_RUNS)
        count = MOST_RUNS;
    v = calloc(count + 1, sizeof *v);
    if (!v) {
        err_nomem(e);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        double x = json_number_value(json_array_get(a, i));

        if (x > 0 && isfinite(x))
            v[(*n)++] = x;
    }
    return v;
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static int probability(double *p, const json_t *then, const json_t *now,
                       struct err *e)
{
    size_t n, m;
    double *a = runs(&n, then, e), *b = a ? runs(&m, now, e) : NULL;
    int rc = a && b ? 0 : -1;

    *p = -1;
    if (!rc && n && m && figures_rank_p(p, a, n, b, m))
        rc = err_nomem(e);
    free(a);
    free(b);
    return rc;
}

int baseline_judge(json_t *o, const struct bench *b, struct err *e)
{
    const json_t *then = find(b->baseline, o);
    double was = number(then, "median"), is = number(o, "median"), p;
    bool time = !strcmp(json_string_value(json_object_get(o, "unit")), "ms");
    const char *verdict = "same";
    json_t *v;

    if (!then || !(was > 0) || !(is > 0) || !isfinite(was))
        return 2;
    if (probability(&p, then, o, e))
        return -1;
    v = json_object();
    json_object_set_new(o, "baseline", v);
    json_object_set_new(v, "median", json_real(was));
    json_object_set_new(v, "change_pct", json_real(100 * (is / was - 1)));
    if (p >= 0)
        json_object_set_new(v, "p", json_real(p));
    if (number(then, "read_gb_s") > 0)
        json_object_set_new(v, "read_gb_s",
                            json_real(number(then, "read_gb_s")));
    if (p < 0)
        verdict = "unknown";
    else if (p <= significant && fabs(is / was - 1) > b->noise)
        verdict = (is > was) == time ? "slower" : "faster";
    json_object_set_new(v, "verdict", json_string(verdict));
    return !strcmp(verdict, "slower");
}
