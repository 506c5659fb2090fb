/* SPDX-License-Identifier: MIT
 * show.c - a state for people, or an object of JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"

struct sum {
    double min, max, abs;
    uint64_t n, bad; /* finite, and not */
};

struct shown {
    const struct job *job;
    const struct kv_state *x;
    struct sum (*sum)[2]; /* [nlayer]: K and V; NULL: not wanted */
    float *row;
    uint64_t bytes, stored;
    bool zstd;
};

static void *must(void *p)
{
    struct err e = {0};

    if (!p) {
        err_nomem(&e);
        die(&e);
    }
    return p;
}

static int width(const struct kv_state *x, int layer, int which)
{
    const struct kv_state_layer *l = &x->layer[layer];

    return l->heads * (which ? l->dv : l->dk);
}

/* Room for a row of any layer. */
static float *row_of(const struct kv_state *x)
{
    int most = 1;

    for (int i = 0; i < x->nlayer; i++)
        for (int w = 0; w < 2; w++)
            most = width(x, i, w) > most ? width(x, i, w) : most;
    return must(malloc((size_t)most * sizeof(float)));
}

struct shown *shown_new(const struct job *j, const struct kv_state *x)
{
    struct shown *s = must(calloc(1, sizeof *s));

    s->job = j;
    s->x = x;
    if (j->quiet || j->check)
        return s;
    s->row = row_of(x);
    s->sum = must(calloc((size_t)x->nlayer, sizeof *s->sum));
    for (int i = 0; i < x->nlayer; i++)
        for (int w = 0; w < 2; w++) {
            s->sum[i][w].min = INFINITY;
            s->sum[i][w].max = -INFINITY;
        }
    return s;
}

void shown_free(struct shown *s)
{
    if (!s)
        return;
    free(s->sum);
    free(s->row);
    free(s);
}

static void add(struct sum *s, const float *x, int n)
{
    for (int i = 0; i < n; i++) {
        double v = x[i];

        if (!isfinite(v)) {
            s->bad++;
            continue;
        }
        s->n++;
        s->abs += fabs(v);
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
    }
}

void shown_page(struct shown *s, const struct kv_page *p)
{
    s->bytes += p->nk + p->nv;
    s->stored += p->stored;
    s->zstd |= p->zstd;
    for (int w = 0; s->sum && w < 2; w++) {
        int n = width(s->x, p->layer, w);

        for (int i = 0; i < p->n; i++) {
            rows_get(s->row, w ? p->v : p->k, w ? s->x->vtype : s->x->ktype, n,
                     i);
            add(&s->sum[p->layer][w], s->row, n);
        }
    }
}

void show_float(float f)
{
    static const int digits[] = {6, 8, 9};
    char s[32];

    for (int i = 0; i < 3; i++) {
        snprintf(s, sizeof s, "%.*g", digits[i], (double)f);
        if (strtof(s, NULL) == f)
            break;
    }
    fputs(s, stdout);
}

/* JSON has no words for these. */
static void json_float(float f)
{
    if (isfinite(f))
        show_float(f);
    else
        fputs(isnan(f) ? "\"NaN\""
              : f > 0  ? "\"Infinity\""
                       : "\"-Infinity\"",
              stdout);
}

/* S as a JSON string; without the quotes for people, so that a terminal obeys
 * nothing in it. */
static void put_string(const char *s, bool quotes)
{
    struct buf b = {0};

    wire_json_string(&b, s, strlen(s));
    must(b.bad ? NULL : b.p);
    fwrite(b.p + !quotes, 1, b.n - 2 * !quotes, stdout);
    buf_free(&b);
}

static void put_size(uint64_t n)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)n;
    int i = 0;

    for (; v >= 1024 && i < 4; i++)
        v /= 1024;
    printf("%.*f %s", i ? 1 : 0, v, unit[i]);
}

static void text_layers(const struct shown *s)
{
    printf("\nlayer heads     K     V  window    from      K min      K max "
           "  K mean|x|      V min      V max   V mean|x|\n");
    for (int i = 0; i < s->x->nlayer; i++) {
        const struct kv_state_layer *l = &s->x->layer[i];
        uint64_t bad = s->sum[i][0].bad + s->sum[i][1].bad;

        printf("%5d %5d %5d %5d %7d %7d", i, l->heads, l->dk, l->dv, l->window,
               l->from);
        for (int w = 0; w < 2; w++) {
            const struct sum *k = &s->sum[i][w];

            if (k->n)
                printf(" %10.4g %10.4g %11.4g", k->min, k->max,
                       k->abs / (double)k->n);
            else
                printf(" %10s %10s %11s", "-", "-", "-");
        }
        if (bad)
            printf("  %llu not finite", (unsigned long long)bad);
        putchar('\n');
    }
}

static void text(const struct shown *s, const char *file, uint64_t seq)
{
    static bool any;
    const struct kv_state *x = s->x;

    if (any)
        putchar('\n');
    any = true;
    put_string(file, false);
    printf(": sequence %llu\n  model   ", (unsigned long long)seq);
    put_string(x->model, false);
    printf("\n  rope    ");
    put_string(x->rope, false);
    if (*x->adapters) {
        printf("\n  adapters ");
        put_string(x->adapters, false);
    }
    printf("\n  tokens  %d\n  layers  %d\n  types   %s,%s\n  size    ", x->n,
           x->nlayer, kv_type_name(x->ktype), kv_type_name(x->vtype));
    put_size(s->bytes);
    if (s->zstd) {
        printf(", in ");
        put_size(s->stored);
        printf(" of zstd");
    }
    putchar('\n');
    if (s->sum)
        text_layers(s);
}

static void json_sum(const char *name, const struct sum *s)
{
    printf(",\"%s\":{\"min\":", name);
    if (!s->n) {
        printf("null,\"max\":null,\"mean_abs\":null");
    } else {
        json_float((float)s->min);
        printf(",\"max\":");
        json_float((float)s->max);
        printf(",\"mean_abs\":");
        json_float((float)(s->abs / (double)s->n));
    }
    printf(",\"not_finite\":%llu}", (unsigned long long)s->bad);
}

static void json_layers(const struct shown *s)
{
    const struct kv_state *x = s->x;

    printf(",\"ids\":[");
    for (int i = 0; i < x->n; i++)
        printf("%s%d", i ? "," : "", x->ids[i]);
    printf("],\"layers\":[");
    for (int i = 0; i < x->nlayer; i++) {
        const struct kv_state_layer *l = &x->layer[i];

        printf("%s{\"layer\":%d,\"heads\":%d,\"dk\":%d,\"dv\":%d,"
               "\"window\":%d,\"from\":%d",
               i ? "," : "", i, l->heads, l->dk, l->dv, l->window, l->from);
        json_sum("k", &s->sum[i][0]);
        json_sum("v", &s->sum[i][1]);
        putchar('}');
    }
    putchar(']');
}

static void json(const struct shown *s, const char *file, uint64_t seq)
{
    const struct kv_state *x = s->x;
    struct buf b = {0};

    wire_json_bytes(&b, "file", file, strlen(file));
    must(b.bad ? NULL : b.p);
    putchar('{');
    fwrite(b.p, 1, b.n, stdout);
    buf_free(&b);
    printf(",\"s\":%llu,\"model\":", (unsigned long long)seq);
    put_string(x->model, true);
    printf(",\"rope\":");
    put_string(x->rope, true);
    if (*x->adapters) {
        printf(",\"adapters\":");
        put_string(x->adapters, true);
    }
    printf(",\"tokens\":%d,\"k_type\":\"%s\",\"v_type\":\"%s\",\"bytes\":%llu,"
           "\"stored\":%llu,\"zstd\":%s",
           x->n, kv_type_name(x->ktype), kv_type_name(x->vtype),
           (unsigned long long)s->bytes, (unsigned long long)s->stored,
           s->zstd ? "true" : "false");
    if (s->sum)
        json_layers(s);
    printf("}\n");
}

void shown_end(struct shown *s, const char *file, uint64_t seq)
{
    if (s->job->check || s->job->values)
        return;
    if (s->job->format == WIRE_JSON)
        json(s, file, seq);
    else
        text(s, file, seq);
}

static bool within(struct range r, int i)
{
    return i >= r.low && i <= r.high;
}

/* The elements of one head, K (or V) of one position. */
static void put_values(const struct job *j, const float *x, int n, int which)
{
    if (j->format == WIRE_JSON)
        printf(",\"%c\":[", "kv"[which]);
    for (int i = 0; i < n; i++) {
        if (i)
            putchar(j->format == WIRE_JSON ? ',' : ' ');
        if (j->format == WIRE_JSON)
            json_float(x[i]);
        else
            show_float(x[i]);
    }
    putchar(j->format == WIRE_JSON ? ']' : '\n');
}

void show_values(const struct job *j, const struct kv_state *x, uint64_t seq,
                 const struct kv_page *p)
{
    const struct kv_state_layer *l = &x->layer[p->layer];
    float *row[2];

    if (!within(j->layer, p->layer) || p->pos > j->pos.high ||
        p->pos + p->n <= j->pos.low)
        return;
    row[0] = row_of(x);
    row[1] = row_of(x);
    for (int i = 0; i < p->n; i++) {
        if (!within(j->pos, p->pos + i))
            continue;
        rows_get(row[0], p->k, x->ktype, l->heads * l->dk, i);
        rows_get(row[1], p->v, x->vtype, l->heads * l->dv, i);
        for (int h = 0; h < l->heads; h++) {
            if (!within(j->head, h))
                continue;
            if (j->format == WIRE_JSON)
                printf("{\"s\":%llu,\"layer\":%d,\"head\":%d,\"pos\":%d",
                       (unsigned long long)seq, p->layer, h, p->pos + i);
            for (int w = 0; w < 2; w++) {
                int d = w ? l->dv : l->dk;

                if (j->format != WIRE_JSON)
                    printf("%llu\t%d\t%d\t%d\t%c\t", (unsigned long long)seq,
                           p->layer, h, p->pos + i, "kv"[w]);
                put_values(j, row[w] + h * d, d, w);
            }
            if (j->format == WIRE_JSON)
                printf("}\n");
        }
    }
    free(row[0]);
    free(row[1]);
}
