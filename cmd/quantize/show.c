/* SPDX-License-Identifier: MIT
 *
 * What a plan makes of a model, for people and as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cmd/quantize/quantize.h"

static const char *type_name(uint32_t type)
{
    return gguf_type_info(type)->name;
}

static double bits(const struct plan *p, uint64_t bytes)
{
    return p->elements ? (double)bytes * 8 / (double)p->elements : 0;
}

/* "12.3 MiB" */
static const char *size_text(char s[24], uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    int i = 0;

    while (v >= 1024 && i < 4) {
        v /= 1024;
        i++;
    }
    snprintf(s, 24, i ? "%.1f %s" : "%.0f %s", v, unit[i]);
    return s;
}

/* A name with what a terminal might obey as \xNN. */
static char *plain(struct gguf_str s)
{
    struct buf b = {0};
    const unsigned char *p = (const unsigned char *)s.p;
    uint32_t cp;
    char *copy;

    for (size_t n = s.n, len; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            for (size_t i = 0; i < len; i++)
                buf_printf(&b, "\\x%02x", p[i]);
        else
            buf_put(&b, p, len);
    }
    copy = b.bad ? NULL : strdup(buf_str(&b));
    buf_free(&b);
    if (!copy)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    return copy;
}

static void shape_text(char s[96], const struct gguf_tensor *t)
{
    int n = 0;

    for (int i = 0; i < t->ndim; i++)
        n += snprintf(s + n, 96 - (size_t)n, i ? " x %llu" : "%llu",
                      (unsigned long long)t->ne[i]);
}

static void row(const struct plan_tensor *k, int width)
{
    char shape[96] = "", size[24], *name = plain(k->t->name);

    shape_text(shape, k->t);
    printf("%-*s  %-18s %-6s %-6s  %10s", width, name, shape,
           type_name(k->t->type), type_name(k->type),
           size_text(size, k->bytes));
    if (k->error >= 0)
        printf("  %.3g", k->error);
    if (k->instead_of != PLAN_NONE)
        printf("  not %s", type_name(k->instead_of));
    putchar('\n');
    free(name);
}

/* "4096 tokens: 0.0312 (se 0.0009), predicted 0.0305 by 4 measurements" */
static void kl_text(struct buf *b, const struct kl_report *k)
{
    buf_printf(b, "%.4g (se %.2g) over %zu tokens", k->kl.mean, k->kl.se,
               k->tokens);
    if (k->predicted >= 0)
        buf_printf(b, ", predicted %.4g; mixes tried: %d", k->predicted,
                   k->rounds);
}

static void show_kl(const struct kl_report *k)
{
    struct buf b = {0};

    for (size_t i = 0; i < k->ngroup; i++) {
        const struct kl_group *g = &k->group[i];
        char *name = plain(g->name);

        if (g->n)
            printf("alone: %-28s %d/%d  %3zu tensors  lose %.3g of each: "
                   "%.3g\n",
                   name, g->part + 1, g->parts, g->n, g->loss / (double)g->n,
                   g->kl);
        free(name);
    }
    kl_text(&b, k);
    printf("divergence: %s\n", buf_str(&b));
    buf_free(&b);
}

static void show_text(const struct plan *p, const struct kl_report *kl,
                      uint64_t file)
{
    char a[24], b[24];
    int width = 4;

    for (size_t i = 0; i < p->n; i++)
        if (p->tensor[i].t->name.n > (size_t)width && width < 60)
            width =
                p->tensor[i].t->name.n < 60 ? (int)p->tensor[i].t->name.n : 60;
    for (size_t i = 0; i < p->n; i++)
        row(&p->tensor[i], width);
    if (kl->tokens)
        show_kl(kl);
    printf("tensors: %s, %.2f bits each; before: %s, %.2f; file: %llu bytes\n",
           size_text(a, p->bytes), bits(p, p->bytes), size_text(b, p->from),
           bits(p, p->from), (unsigned long long)file);
}

static json_t *text(struct gguf_str s)
{
    json_t *j = json_stringn(s.p, s.n);
    char *other;

    if (j)
        return j;
    other = plain(s);
    j = json_string(other);
    free(other);
    return j;
}

static json_t *group_json(const struct kl_group *g)
{
    json_t *j = json_object();

    json_object_set_new(j, "name", text(g->name));
    json_object_set_new(j, "part", json_integer(g->part + 1));
    json_object_set_new(j, "parts", json_integer(g->parts));
    json_object_set_new(j, "tensors", json_integer((json_int_t)g->n));
    json_object_set_new(j, "loss", json_real(g->loss));
    json_object_set_new(j, "kl", json_real(g->kl));
    return j;
}

static json_t *kl_json(const struct kl_report *k)
{
    json_t *j = json_object(), *groups = json_array();

    json_object_set_new(j, "kl", json_real(k->kl.mean));
    json_object_set_new(j, "se", json_real(k->kl.se));
    json_object_set_new(j, "tokens", json_integer((json_int_t)k->tokens));
    if (k->predicted >= 0) {
        json_object_set_new(j, "predicted", json_real(k->predicted));
        json_object_set_new(j, "mixes", json_integer(k->rounds));
    }
    for (size_t i = 0; i < k->ngroup; i++)
        if (k->group[i].n)
            json_array_append_new(groups, group_json(&k->group[i]));
    json_object_set_new(j, "alone", groups);
    return j;
}

static json_t *tensor_json(const struct plan_tensor *k, bool kl)
{
    json_t *shape = json_array(), *j = json_object();

    for (int i = 0; i < k->t->ndim; i++)
        json_array_append_new(shape, json_integer((json_int_t)k->t->ne[i]));
    json_object_set_new(j, "name", text(k->t->name));
    json_object_set_new(j, "shape", shape);
    json_object_set_new(j, "from", json_string(type_name(k->t->type)));
    json_object_set_new(j, "to", json_string(type_name(k->type)));
    json_object_set_new(j, "bytes", json_integer((json_int_t)k->bytes));
    json_object_set_new(j, "weighted", json_boolean(k->w != NULL));
    if (k->instead_of != PLAN_NONE)
        json_object_set_new(j, "instead_of",
                            json_string(type_name(k->instead_of)));
    if (k->error >= 0)
        json_object_set_new(j, kl ? "kl" : "loss", json_real(k->error));
    return j;
}

static int show_json(const struct plan *p, const struct gguf *g,
                     const struct job *job, uint64_t file)
{
    json_t *j = json_object(), *tensors = json_array();
    char *out;

    json_object_set_new(
        j, "file", text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}));
    json_object_set_new(j, "recipe", json_string(job->want.recipe->name));
    json_object_set_new(j, "bytes", json_integer((json_int_t)file));
    json_object_set_new(j, "tensor_bytes", json_integer((json_int_t)p->bytes));
    json_object_set_new(j, "bits_per_weight", json_real(bits(p, p->bytes)));
    json_object_set_new(j, "from_tensor_bytes",
                        json_integer((json_int_t)p->from));
    for (size_t i = 0; i < p->n; i++)
        json_array_append_new(tensors,
                              tensor_json(&p->tensor[i], job->kl.ngroup > 0));
    if (job->kl.tokens)
        json_object_set_new(j, "divergence", kl_json(&job->kl));
    json_object_set_new(j, "tensors", tensors);
    out = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(j);
    if (!out)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    puts(out);
    free(out);
    return 0;
}

int show_plan(const struct plan *p, const struct gguf *g, const struct job *j,
              uint64_t file)
{
    if (j->json)
        return show_json(p, g, j, file);
    show_text(p, &j->kl, file);
    return 0;
}

/* One line for each two types of which one stands for the other. */
static void say_fallbacks(const struct plan *p, const struct gguf *g)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_tensor *a = &p->tensor[i];
        size_t same = 0, before = 0;

        if (a->instead_of == PLAN_NONE)
            continue;
        for (size_t k = 0; k < p->n; k++)
            if (p->tensor[k].instead_of == a->instead_of &&
                p->tensor[k].type == a->type) {
                same++;
                before += k < i;
            }
        if (!before)
            warn("%s: %zu tensor%s %s and not %s, of which %s rows are no "
                 "whole blocks",
                 gguf_path(g), same, same > 1 ? "s become" : " becomes",
                 type_name(a->type), type_name(a->instead_of),
                 same > 1 ? "their" : "its");
    }
}

void show_notes(const struct plan *p, const struct gguf *g, const struct job *j,
                uint64_t file)
{
    char s[24];
    size_t unknown = 0;

    if (j->quiet)
        return;
    say_fallbacks(p, g);
    if (p->requantised)
        warn("%s: %zu tensors were quantised already, and lose more",
             gguf_path(g), p->requantised);
    for (size_t i = 0; i < p->n; i++)
        unknown += j->want.imatrix && !p->tensor[i].w &&
                   p->tensor[i].type != p->tensor[i].t->type;
    if (unknown)
        warn("%s: not in %s: %zu tensor%s", gguf_path(g), j->imatrix, unknown,
             unknown > 1 ? "s" : "");
    if (j->output && j->kl.tokens) {
        struct buf b = {0};

        kl_text(&b, &j->kl);
        warn("%s: divergence %s", j->output, buf_str(&b));
        buf_free(&b);
    }
    if (j->output)
        warn("%s: %s, %.2f bits each (were %.2f)", j->output,
             size_text(s, file), bits(p, p->bytes), bits(p, p->from));
}

/* ---- progress ---- */

static bool shown;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void show_progress(void *arg, uint64_t done, uint64_t all)
{
    static double next;
    double t = now();

    (void)arg;
    if (next == 0)
        next = t + 0.5;
    if (t < next || !all)
        return;
    fprintf(stderr, "\r%3.0f%%", (double)done * 100 / (double)all);
    fflush(stderr);
    shown = true;
    next = t + 0.1;
}

void clear_progress(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}
