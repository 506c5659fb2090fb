/* SPDX-License-Identifier: MIT
 *
 * Old and new values, for people and as JSON. */
#include <stdio.h>
#include <string.h>

#include "cmd/common/size.h"
#include "cmd/common/value.h"
#include "cmd/set/set.h"

static void typed(const struct gguf_val *v)
{
    put_type(v);
    putchar(' ');
    if (v->type == GGUF_STR)
        putchar('"');
    put_value(v, false);
    if (v->type == GGUF_STR)
        putchar('"');
}

static void show_one(const struct edit *x)
{
    bool renamed = x->old && !x->deleted &&
                   (x->old->key.n != x->now.key.n ||
                    memcmp(x->old->key.p, x->now.key.p, x->now.key.n));

    put_text(x->old ? x->old->key : x->now.key, true);
    if (renamed) {
        fputs(" is now ", stdout);
        put_text(x->now.key, true);
        putchar('\n');
        return;
    }
    fputs(": ", stdout);
    if (x->old)
        typed(x->old);
    else
        fputs("none", stdout);
    fputs(" -> ", stdout);
    if (x->deleted)
        fputs("none", stdout);
    else
        typed(&x->now);
    putchar('\n');
}

static void json_side(const char *name, const struct gguf_val *v)
{
    printf(",\"%s\":", name);
    if (!v) {
        fputs("null", stdout);
        return;
    }
    printf("{\"key\":");
    put_string(v->key);
    printf(",\"type\":\"%s\"", gguf_val_name(v->type));
    if (v->type == GGUF_ARR)
        printf(",\"elem\":\"%s\",\"n\":%llu", gguf_val_name(v->elem),
               (unsigned long long)v->n);
    fputs(",\"value\":", stdout);
    put_json_value(v);
    putchar('}');
}

static void show_json(const struct gguf *g, const struct edits *s,
                      const struct layout *p)
{
    fputs("{\"file\":", stdout);
    put_cstring(gguf_shard_at(g, 0)->path);
    printf(",\"in_place\":%s,\"bytes\":%llu,\"changes\":[",
           p->in_place ? "true" : "false",
           (unsigned long long)(p->in_place ? p->changed : p->size));
    for (size_t i = 0; i < s->n; i++) {
        fputs(i ? ",{\"key\":" : "{\"key\":", stdout);
        put_string(s->v[i].old ? s->v[i].old->key : s->v[i].now.key);
        json_side("old", s->v[i].old);
        json_side("new", s->v[i].deleted ? NULL : &s->v[i].now);
        putchar('}');
    }
    puts("]}");
}

void show_edits(const struct gguf *g, const struct edits *s,
                const struct layout *p, bool json)
{
    char size[32];

    if (json) {
        show_json(g, s, p);
        return;
    }
    for (size_t i = 0; i < s->n; i++)
        show_one(&s->v[i]);
    if (p->in_place)
        printf("in place: %zu bytes are written\n", p->changed);
    else
        printf("a new file: %s\n", size_text(size, p->size));
}
