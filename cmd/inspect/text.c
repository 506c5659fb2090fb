/* SPDX-License-Identifier: MIT
 *
 * The view for people.  The summary comes last: it is what the terminal still
 * shows when a long table has scrolled by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/inspect.h"

int sum_types(struct type_sum sum[TYPE_SUMS], const struct gguf *g)
{
    int n = 0;

    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        const struct gguf_type_info *type = gguf_type_info(t->type);
        int k = 0;

        while (k < n && sum[k].type != type)
            k++;
        if (k == n)
            sum[n++] = (struct type_sum){.type = type};
        sum[k].tensors++;
        sum[k].elements += t->bytes / type->bytes * type->elems;
        sum[k].bytes += t->bytes;
    }
    for (int i = 1; i < n; i++)
        for (int k = i; k && sum[k].bytes > sum[k - 1].bytes; k--) {
            struct type_sum s = sum[k];

            sum[k] = sum[k - 1];
            sum[k - 1] = s;
        }
    return n;
}

int memory_rows(int64_t row[4], const struct view *w,
                const struct gguf_config *c)
{
    static const int64_t usual[] = {4096, 32768};
    int n = 0;

    if (w->context >= 0) {
        row[n++] = w->context;
        return n;
    }
    for (int i = 0; i < 2; i++)
        if (usual[i] < c->context)
            row[n++] = usual[i];
    if (c->context)
        row[n++] = c->context;
    return n;
}

static void show_key_table(const struct gguf *g, const struct view *w)
{
    int width = 0;

    for (size_t i = 0; i < gguf_nkey(g); i++)
        if ((int)gguf_key_at(g, i)->key.n > width)
            width = (int)gguf_key_at(g, i)->key.n;
    if (width > 48)
        width = 48;
    printf("\nkeys\n");
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        const struct gguf_val *v = gguf_key_at(g, i);
        char type[48];

        fputs("  ", stdout);
        put_text(v->key, true);
        if (v->type == GGUF_ARR)
            snprintf(type, sizeof type, "%s[%llu]", gguf_val_name(v->elem),
                     (unsigned long long)v->n);
        else
            snprintf(type, sizeof type, "%s", gguf_val_name(v->type));
        printf("%*s  %-11s  ",
               v->key.n < (size_t)width ? width - (int)v->key.n : 0, "", type);
        put_value(v, w->all);
        putchar('\n');
    }
}

static void shape_text(char buf[96], const struct gguf_tensor *t)
{
    int n = 0;

    buf[0] = 0;
    for (int i = 0; i < t->ndim; i++)
        n += snprintf(buf + n, 96 - (size_t)n, "%s%llu", i ? " x " : "",
                      (unsigned long long)t->ne[i]);
}

static void show_tensor_table(const struct gguf *g, const struct view *w)
{
    int name = 0, shape = 0;
    char buf[96], size[32];

    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);

        if (!wanted(w, t->name))
            continue;
        shape_text(buf, t);
        name = (int)t->name.n > name ? (int)t->name.n : name;
        shape = (int)strlen(buf) > shape ? (int)strlen(buf) : shape;
    }
    if (!w->tensors)
        printf("\ntensors\n");
    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);

        if (!wanted(w, t->name))
            continue;
        shape_text(buf, t);
        fputs(w->tensors ? "" : "  ", stdout);
        put_text(t->name, true);
        printf("%*s  %-7s  %-*s  %10s", name - (int)t->name.n, "",
               gguf_type_info(t->type)->name, shape, buf,
               size_text(size, t->bytes));
        if (gguf_nshard(g) > 1)
            printf("  shard %d", t->shard + 1);
        putchar('\n');
    }
}

static void show_types(const struct gguf *g, uint64_t bytes)
{
    struct type_sum sum[TYPE_SUMS];
    int n = sum_types(sum, g);
    char size[32], count[32];

    if (!n)
        return;
    printf("\ntypes      tensors    elements       bytes   share\n");
    for (int i = 0; i < n; i++)
        printf("  %-8s %7llu  %10s  %10s  %5.1f%%\n", sum[i].type->name,
               (unsigned long long)sum[i].tensors,
               count_text(count, sum[i].elements),
               size_text(size, sum[i].bytes),
               100.0 * (double)sum[i].bytes / (double)bytes);
}

static void line(const char *label)
{
    printf("  %-16s ", label);
}

static void line_int(const char *label, int64_t n)
{
    if (!n)
        return;
    line(label);
    printf("%lld\n", (long long)n);
}

static int64_t kv_heads(const struct gguf_layer *l)
{
    return l->kv ? l->kv_heads : 0;
}

static int64_t heads(const struct gguf_layer *l)
{
    return l->heads;
}

static int64_t window(const struct gguf_layer *l)
{
    return l->kv ? l->window : 0;
}

static int64_t k_len(const struct gguf_layer *l)
{
    return l->k_len;
}

static int64_t v_len(const struct gguf_layer *l)
{
    return l->v_len;
}

/* One number when all layers agree, else runs: "8 (layers 0-3), 1 (4)". */
static void line_layers(const char *label, const struct gguf_config *c,
                        int64_t (*get)(const struct gguf_layer *))
{
    int64_t from = 0, any = 0;

    for (int64_t i = 0; i < c->layers; i++)
        any |= get(&c->layer[i]);
    if (!any)
        return;
    line(label);
    for (int64_t i = 1; i <= c->layers; i++) {
        int64_t n = get(&c->layer[from]);

        if (i < c->layers && get(&c->layer[i]) == n)
            continue;
        fputs(from ? ", " : "", stdout);
        if (n || get != window)
            printf("%lld", (long long)n);
        else
            fputs("none", stdout);
        if (from || i < c->layers) {
            printf(" (%s%lld",
                   from    ? ""
                   : i > 1 ? "layers "
                           : "layer ",
                   (long long)from);
            if (i - 1 > from)
                printf("-%lld", (long long)(i - 1));
            putchar(')');
        }
        from = i;
    }
    putchar('\n');
}

static void show_rope(const struct gguf_config *c)
{
    if (!c->rope_base && !c->rope_dims)
        return;
    line("rope");
    if (c->rope_base)
        printf("base %.10g%s", c->rope_base, c->rope_dims ? ", " : "");
    if (c->rope_dims)
        printf("%lld dimensions", (long long)c->rope_dims);
    if (c->rope_scaling.n) {
        fputs(", ", stdout);
        put_text(c->rope_scaling, true);
        if (c->rope_factor)
            printf(" x%g", c->rope_factor);
    }
    putchar('\n');
}

static void show_ids(const struct gguf *g)
{
    char hex[33];

    line("model id");
    gguf_model_id(hex, g);
    puts(hex);
    if (!has_vocabulary(g))
        return;
    line("vocabulary id");
    gguf_vocab_id(hex, g);
    puts(hex);
}

static void show_feed_forward(const struct gguf_config *c)
{
    if (!c->layer || !c->ff_max)
        return;
    line("feed-forward");
    if (c->ff_min < c->ff_max)
        printf("%lld to ", (long long)c->ff_min);
    printf("%lld\n", (long long)c->ff_max);
    if (!c->experts)
        return;
    line("experts");
    printf("%lld, %lld used", (long long)c->experts,
           (long long)c->experts_used);
    if (c->experts_shared)
        printf(", %lld shared", (long long)c->experts_shared);
    putchar('\n');
}

static void show_model(const struct gguf *g, const struct gguf_config *c)
{
    char count[32];
    int64_t states = 0;

    printf("\nmodel\n");
    if (c->arch.n) {
        line("architecture");
        put_text(c->arch, true);
        putchar('\n');
    }
    if (c->params) {
        line("parameters");
        printf("%s, %.2f bits each\n", count_text(count, c->params),
               8.0 * (double)c->bytes / (double)c->params);
    }
    line_int("layers", c->layers);
    line_int("context", c->context);
    line_int("embedding", c->embedding);
    show_feed_forward(c);
    line_layers("heads", c, heads);
    line_layers("KV heads", c, kv_heads);
    line_layers("key length", c, k_len);
    line_layers("value length", c, v_len);
    line_layers("sliding window", c, window);
    line_int("KV rank", c->lora_rank);
    for (int64_t i = 0; c->layer && i < c->layers; i++)
        states += c->layer[i].state;
    line_int("recurrent layers", states);
    show_rope(c);
    if (c->tokens || c->rows) {
        line("vocabulary");
        printf("%lld tokens", (long long)c->tokens);
        if (c->rows && c->rows != c->tokens)
            printf(", %lld rows", (long long)c->rows);
        putchar('\n');
    }
    show_ids(g);
}

static void show_memory(const struct gguf_config *c, const struct view *w)
{
    int64_t row[4];
    int n = memory_rows(row, w, c);
    char a[32], b[32], d[32];

    if (!n || !c->layer)
        return;
    printf("\nmemory     K,V type       weights    KV cache       total\n");
    for (int i = 0; i < n; i++) {
        uint64_t kv, state, total;
        char type[32];

        snprintf(type, sizeof type, "%s,%s", w->kt->name, w->vt->name);
        printf("  %-8lld %-10s", (long long)row[i], type);
        if (!gguf_kv_bytes(&kv, &state, c, row[i], w->kt, w->vt) ||
            !add_ok(kv, state, &kv) || !add_ok(kv, c->bytes, &total))
            printf("  more than 64 bits can say\n");
        else
            printf("  %10s  %10s  %10s\n", size_text(a, c->bytes),
                   size_text(b, kv), size_text(d, total));
    }
}

int show_text(const struct gguf *g, const struct view *w)
{
    const struct gguf_shard *s = gguf_shard_at(g, 0);
    struct gguf_config c;
    struct err e = {0};
    uint64_t bytes = 0;
    char size[32];
    int bad;

    if (w->tensors) {
        put_heading(w, g);
        show_tensor_table(g, w);
        return 0;
    }
    for (int i = 0; i < gguf_nshard(g); i++)
        bytes += gguf_shard_at(g, i)->bytes;
    put_text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}, true);
    printf(": GGUF version %lu, %s, %zu keys, %zu tensors",
           (unsigned long)s->version, size_text(size, bytes), gguf_nkey(g),
           gguf_ntensor(g));
    if (gguf_nshard(g) > 1)
        printf(", %d shards", gguf_nshard(g));
    putchar('\n');
    if (!w->quiet) {
        show_key_table(g, w);
        if (gguf_ntensor(g))
            show_tensor_table(g, w);
    }
    bad = gguf_config_init(&c, g, &e);
    show_types(g, c.bytes);
    if (!bad) {
        show_model(g, &c);
        show_memory(&c, w);
    } else {
        warn("%s", e.msg);
    }
    gguf_config_fini(&c);
    return bad ? status(&e) : 0;
}
