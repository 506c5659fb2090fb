/* SPDX-License-Identifier: MIT
 *
 * The view for programs: all that the file says, one line per model.  Written
 * as it goes, since an array of 500,000 strings need not be held twice. */
#include <stdio.h>
#include <string.h>

#include "cmd/inspect/inspect.h"

static void member(const char *name)
{
    printf(",\"%s\":", name);
}

static void member_int(const char *name, int64_t n)
{
    printf(",\"%s\":%lld", name, (long long)n);
}

static void member_str(const char *name, struct gguf_str s)
{
    member(name);
    put_string(s);
}

static void put_double(double d)
{
    unsigned char b[8];
    uint64_t u;

    memcpy(&u, &d, 8);
    wr_u64(b, u);
    put_number(GGUF_F64, b, true);
}

/* {"type": "u32", "value": 5}, or {"type": "arr", "elem": ..., "n": ...} */
static void put_key(const struct gguf_val *v)
{
    printf("{\"type\":\"%s\"", gguf_val_name(v->type));
    if (v->type == GGUF_ARR) {
        printf(",\"elem\":\"%s\",\"n\":%llu", gguf_val_name(v->elem),
               (unsigned long long)v->n);
    }
    member("value");
    put_json_value(v);
    putchar('}');
}

static void put_tensor(const struct gguf *g, const struct gguf_tensor *t)
{
    const struct gguf_type_info *type = gguf_type_info(t->type);

    fputs("{\"name\":", stdout);
    put_string(t->name);
    printf(",\"type\":\"%s\",\"shape\":[", type->name);
    for (int i = 0; i < t->ndim; i++)
        printf("%s%llu", i ? "," : "", (unsigned long long)t->ne[i]);
    printf("],\"elements\":%llu,\"bytes\":%llu,\"offset\":%llu,\"at\":%llu,"
           "\"shard\":%d}",
           (unsigned long long)(t->bytes / type->bytes * type->elems),
           (unsigned long long)t->bytes, (unsigned long long)t->offset,
           (unsigned long long)(gguf_shard_at(g, t->shard)->data + t->offset),
           t->shard);
}

static void put_tensors(const struct gguf *g, const struct view *w)
{
    bool any = false;

    putchar('[');
    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);

        if (!wanted(w, t->name))
            continue;
        if (any)
            putchar(',');
        any = true;
        put_tensor(g, t);
    }
    putchar(']');
}

static void put_shards(const struct gguf *g)
{
    putchar('[');
    for (int i = 0; i < gguf_nshard(g); i++) {
        const struct gguf_shard *s = gguf_shard_at(g, i);

        printf("%s{\"path\":", i ? "," : "");
        put_cstring(s->path);
        printf(",\"version\":%lu,\"bytes\":%llu,\"alignment\":%lu,"
               "\"data\":%llu,\"keys\":%zu,\"tensors\":%zu}",
               (unsigned long)s->version, (unsigned long long)s->bytes,
               (unsigned long)s->alignment, (unsigned long long)s->data,
               s->nkey, s->ntensor);
    }
    putchar(']');
}

static void put_types(const struct gguf *g)
{
    struct type_sum sum[TYPE_SUMS];
    int n = sum_types(sum, g);

    putchar('[');
    for (int i = 0; i < n; i++)
        printf("%s{\"type\":\"%s\",\"tensors\":%llu,\"elements\":%llu,"
               "\"bytes\":%llu}",
               i ? "," : "", sum[i].type->name,
               (unsigned long long)sum[i].tensors,
               (unsigned long long)sum[i].elements,
               (unsigned long long)sum[i].bytes);
    putchar(']');
}

static void put_layers(const struct gguf_config *c)
{
    putchar('[');
    for (int64_t i = 0; i < c->layers; i++) {
        const struct gguf_layer *l = &c->layer[i];

        printf("%s{\"heads\":%lld,\"kv_heads\":%lld,\"key_length\":%lld,"
               "\"value_length\":%lld,\"window\":%lld,\"kv\":%s,\"state\":%s}",
               i ? "," : "", (long long)l->heads, (long long)l->kv_heads,
               (long long)l->k_len, (long long)l->v_len, (long long)l->window,
               l->kv ? "true" : "false", l->state ? "true" : "false");
    }
    putchar(']');
}

static void put_config(const struct gguf_config *c)
{
    fputs("{\"architecture\":", stdout);
    put_string(c->arch);
    member_int("layers", c->layers);
    member_int("context", c->context);
    member_int("embedding", c->embedding);
    member_int("feed_forward", c->ff_max);
    member_int("tokens", c->tokens);
    member_int("rows", c->rows);
    member_int("experts", c->experts);
    member_int("experts_used", c->experts_used);
    member_int("experts_shared", c->experts_shared);
    member_int("kv_rank", c->lora_rank);
    member_int("window", c->window);
    member_int("state_bytes", c->state_bytes);
    printf(",\"causal\":%s", c->causal ? "true" : "false");
    fputs(",\"rope\":{\"dimensions\":", stdout);
    printf("%lld", (long long)c->rope_dims);
    member("base");
    put_double(c->rope_base);
    if (c->rope_scaling.n)
        member_str("scaling", c->rope_scaling);
    if (c->rope_factor) {
        member("factor");
        put_double(c->rope_factor);
    }
    putchar('}');
    if (c->layer) {
        member("layer");
        put_layers(c);
    }
    putchar('}');
}

static void put_memory(const struct gguf_config *c, const struct view *w)
{
    int64_t row[4];
    int n = memory_rows(row, w, c);

    putchar('[');
    for (int i = 0; c->layer && i < n; i++) {
        uint64_t kv, state, total;

        printf("%s{\"context\":%lld,\"k_type\":\"%s\",\"v_type\":\"%s\","
               "\"weights\":%llu",
               i ? "," : "", (long long)row[i], w->kt->name, w->vt->name,
               (unsigned long long)c->bytes);
        if (!gguf_kv_bytes(&kv, &state, c, row[i], w->kt, w->vt) ||
            !add_ok(kv, state, &total) || !add_ok(total, c->bytes, &total))
            fputs(",\"total\":null}", stdout);
        else
            printf(",\"kv\":%llu,\"state\":%llu,\"total\":%llu}",
                   (unsigned long long)kv, (unsigned long long)state,
                   (unsigned long long)total);
    }
    putchar(']');
}

static void put_summary(const struct gguf *g, const struct gguf_config *c,
                        const struct view *w)
{
    char hex[33];

    printf(",\"parameters\":%llu,\"tensor_bytes\":%llu,\"bits_per_weight\":",
           (unsigned long long)c->params, (unsigned long long)c->bytes);
    put_double(c->params ? 8.0 * (double)c->bytes / (double)c->params : 0);
    member("types");
    put_types(g);
    gguf_model_id(hex, g);
    printf(",\"model_id\":\"%s\"", hex);
    gguf_vocab_id(hex, g);
    member("vocab_id");
    printf(has_vocabulary(g) ? "\"%s\"" : "null", hex);
    member("config");
    put_config(c);
    member("memory");
    put_memory(c, w);
}

int show_json(const struct gguf *g, const struct view *w)
{
    struct gguf_config c;
    struct err e = {0};
    int bad;

    fputs("{\"file\":", stdout);
    put_cstring(gguf_path(g));
    if (!w->tensors) {
        member("shards");
        put_shards(g);
        member("keys");
        for (size_t i = 0; i < gguf_nkey(g); i++) {
            putchar(i ? ',' : '{');
            put_string(gguf_key_at(g, i)->key);
            putchar(':');
            put_key(gguf_key_at(g, i));
        }
        fputs(gguf_nkey(g) ? "}" : "{}", stdout);
    }
    member("tensors");
    put_tensors(g, w);
    if (w->tensors) {
        puts("}");
        return 0;
    }
    bad = gguf_config_init(&c, g, &e);
    put_summary(g, &c, w);
    puts("}");
    gguf_config_fini(&c);
    if (bad)
        warn("%s", e.msg);
    return bad ? status(&e) : 0;
}

int show_keys(const struct gguf *g, const struct view *w,
              const struct cli_list *names)
{
    int st = 0;

    for (int i = 0; i < names->n; i++) {
        const struct gguf_val *v = gguf_key(g, names->v[i]);

        if (!v) {
            warn("%s: no key '%s'", gguf_path(g), names->v[i]);
            st = 1;
        } else if (w->json) {
            put_json_value(v);
            putchar('\n');
        } else {
            put_bare(v, w->terminal);
        }
    }
    return st;
}
