/* SPDX-License-Identifier: MIT
 * dict.c - dicts, which keep the order of what was put in.
 */
#include "jinja/jinja_impl.h"

static uint64_t mix(uint64_t h)
{
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash(struct ctx *c, struct val k)
{
    uint64_t h = 0xcbf29ce484222325u;

    if (!ctx_enter(c))
        return 0;
    switch (k.type) {
    case V_STR:
        ctx_step(c, k.s->n / 32);
        for (size_t i = 0; i < k.s->n; i++)
            h = (h ^ k.s->p[i]) * 0x100000001b3u;
        break;
    case V_FLOAT: /* equal to an int, perhaps */
        h = k.f > -9e15 && k.f < 9e15 && k.f == (double)(int64_t)k.f
                ? (uint64_t)(int64_t)k.f
                : 7;
        break;
    case V_INT:
    case V_BOOL:
        h = k.i > -9000000000000000 && k.i < 9000000000000000 ? (uint64_t)k.i
                                                              : 7;
        break;
    case V_TUPLE:
        for (size_t i = 0; i < k.l->n && !failed(c); i++)
            h = mix(h ^ hash(c, k.l->v[i]));
        break;
    case V_LIST:
    case V_DICT:
    case V_SPACE:
        ctx_fail(c, "unhashable type: '%s'", val_type_name(k));
        break;
    default:
        break;
    }
    ctx_leave(c);
    return mix(h);
}

struct val dict_new(struct ctx *c, bool data)
{
    struct dict *d = ctx_alloc(c, 1, sizeof *d);

    if (!d)
        return VAL_NONE;
    d->data = data;
    return (struct val){.type = V_DICT, .d = d};
}

static struct pair *find(struct ctx *c, const struct dict *d, struct val k,
                         uint64_t h)
{
    if (!d->nindex) {
        for (size_t i = 0; i < d->n; i++)
            if (d->e[i].hash == h && val_equal(c, d->e[i].k, k))
                return &d->e[i];
        return NULL;
    }
    for (size_t at = h & (d->nindex - 1); d->index[at] && ctx_step(c, 1);
         at = (at + 1) & (d->nindex - 1)) {
        struct pair *e = &d->e[d->index[at] - 1];

        if (e->hash == h && val_equal(c, e->k, k))
            return e;
    }
    return NULL;
}

static void index_add(struct dict *d, size_t i)
{
    size_t at = d->e[i].hash & (d->nindex - 1);

    while (d->index[at])
        at = (at + 1) & (d->nindex - 1);
    d->index[at] = (uint32_t)i + 1;
}

static void dict_grow(struct ctx *c, struct dict *d)
{
    size_t cap = d->cap ? 2 * d->cap : 8;
    struct pair *e = ctx_alloc(c, cap, sizeof *e);

    if (!e || !ctx_step(c, d->n))
        return;
    if (d->n)
        memcpy(e, d->e, d->n * sizeof *e);
    d->e = e;
    d->cap = cap;
    if (cap <= 8)
        return;
    d->index = ctx_alloc(c, 2 * cap, sizeof *d->index);
    if (!d->index)
        return;
    d->nindex = 2 * cap;
    for (size_t i = 0; i < d->n; i++)
        index_add(d, i);
}

void dict_put(struct ctx *c, struct dict *d, struct val k, struct val v)
{
    uint64_t h = hash(c, k);
    struct pair *e;

    if (failed(c))
        return;
    e = find(c, d, k, h);
    if (e) {
        e->v = v;
        return;
    }
    if (d->n == d->cap)
        dict_grow(c, d);
    if (failed(c))
        return;
    d->e[d->n++] = (struct pair){k, v, h};
    if (d->nindex)
        index_add(d, d->n - 1);
}

const struct val *dict_find(struct ctx *c, const struct dict *d, struct val k)
{
    uint64_t h = hash(c, k);
    const struct pair *e = failed(c) ? NULL : find(c, d, k, h);

    return e ? &e->v : NULL;
}

const struct val *dict_get(struct ctx *c, const struct dict *d, const char *key)
{
    struct str s = {.p = (const unsigned char *)key, .n = strlen(key)};

    return dict_find(c, d, val_str(&s));
}
