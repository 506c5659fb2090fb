/* SPDX-License-Identifier: MIT */
#include "model/adapt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/adapter.h"
#include "model/arch.h"
#include "model/model.h"

enum { MOST = 4 }; /* products of one input */

/* What a weight is of: be_w - 1 is its index. */
struct bound {
    const struct gguf_tensor *t;
    int first, n;
};

struct adapt {
    struct buf bound; /* struct bound */
    struct {
        be_w w;
        enum be_slot out;
        float scale;
        unsigned flags;
    } wait[MOST];
    int nwait;
    bool **seen; /* [nadapter][tensors] */
    struct kern kern;
};

static const struct gguf *file(const struct build *b, int i)
{
    return adapter_gguf(b->adapter[i].a);
}

/* Fail: the adapter's path, then the message. */
static int bad(struct build *b, int i, enum err_code code, const char *msg)
{
    b->bad = true;
    return err_set(b->e, code, "%s: %s", gguf_path(file(b, i)), msg);
}

int adapt_begin(struct build *b)
{
    struct gguf_str s;
    char msg[200];

    if (!b->nadapter)
        return 0;
    b->adapt = calloc(1, sizeof *b->adapt);
    if (!b->adapt ||
        !(b->adapt->seen = calloc((size_t)b->nadapter, sizeof(bool *))))
        return err_nomem(b->e);
    kern_init(&b->adapt->kern, 0);
    for (int i = 0; i < b->nadapter; i++) {
        const struct gguf *g = file(b, i);
        int r = gguf_get_str(&s, g, "general.architecture", b->e);

        b->adapt->seen[i] = calloc(gguf_ntensor(g) + 1, sizeof(bool));
        if (!b->adapt->seen[i])
            return err_nomem(b->e);
        if (r < 0)
            return err_prefix(b->e, "%s", gguf_path(g));
        if (!r)
            return bad(b, i, ERR_FORMAT,
                       "key 'general.architecture' is missing");
        if (s.n == strlen(b->arch->name) && !memcmp(s.p, b->arch->name, s.n))
            continue;
        snprintf(msg, sizeof msg, "an adapter for '%.*s', not for '%s'",
                 s.n > 80 ? 80 : (int)s.n, s.p, b->arch->name);
        return bad(b, i, ERR_FORMAT, msg);
    }
    return 0;
}

void adapt_free(struct build *b)
{
    struct adapt *a = b->adapt;

    if (!a)
        return;
    for (int i = 0; a->seen && i < b->nadapter; i++)
        free(a->seen[i]);
    free(a->seen);
    buf_free(&a->bound);
    free(a);
}

void adapt_bound(struct build *b, be_w w, const struct gguf_tensor *t,
                 int first, int n)
{
    struct bound it = {t, first, n}, none = {0};

    if (!b->adapt || !w)
        return;
    while (b->adapt->bound.n / sizeof it < w - 1 && !b->adapt->bound.bad)
        buf_put(&b->adapt->bound, &none, sizeof none);
    buf_put(&b->adapt->bound, &it, sizeof it);
}

/* What W is of; NULL: of nothing that can be adapted. */
static const struct bound *of(const struct build *b, be_w w)
{
    const struct buf *v = b->adapt ? &b->adapt->bound : NULL;
    const struct bound *it;

    if (!v || !w || w > v->n / sizeof *it)
        return NULL;
    it = (const struct bound *)(const void *)v->p + (w - 1);
    return it->t ? it : NULL;
}

/* The tensor of adapter I that is PART ('a' or 'b') of T. */
static const struct gguf_tensor *part(const struct build *b, int i,
                                      const struct gguf_tensor *t, int which)
{
    char name[128];

    if (t->name.n > 100)
        return NULL;
    snprintf(name, sizeof name, "%.*s.lora_%c", (int)t->name.n, t->name.p,
             which);
    return gguf_tensor(file(b, i), name);
}

bool adapt_has(const struct build *b, be_w w)
{
    const struct bound *it = of(b, w);

    for (int i = 0; it && i < b->nadapter; i++)
        if (part(b, i, it->t, 'a'))
            return true;
    return false;
}

void adapt_add(struct build *b, be_w w, enum be_slot out, float scale,
               unsigned flags)
{
    struct adapt *a = b->adapt;

    if (b->bad || !adapt_has(b, w))
        return;
    a->wait[a->nwait].w = w;
    a->wait[a->nwait].out = out;
    a->wait[a->nwait].scale = scale;
    a->wait[a->nwait++].flags = flags;
}

/* ---- weights ---- */

/* Rows FIRST..FIRST+N-1 of T as floats: adapters are small, and their products
 * are not to be rounded. */
static const void *floats(struct build *b, const struct gguf_tensor *t,
                          uint64_t first, uint64_t n)
{
    const struct kern_quant *q = kern_quant_find(&b->adapt->kern, t->type);
    uint64_t row = t->bytes / t->ne[1];
    float *v = arena_array(b->mem, (size_t)(t->ne[0] * n), sizeof *v);

    for (uint64_t i = 0; v && i < n; i++)
        q->dequant(v + i * t->ne[0], t->p + (first + i) * row,
                   (int64_t)t->ne[0]);
    if (!v) {
        err_nomem(b->e);
        b->bad = true;
    }
    return v;
}

static be_w take(struct build *b, int i, const struct gguf_tensor *t, int first,
                 int n)
{
    const struct kern_quant *q = kern_quant_find(&b->adapt->kern, t->type);
    uint64_t row = t->bytes / t->ne[1];
    char name[128];
    struct be_tensor w = {.name = name,
                          .type = t->type,
                          .n_in = (int64_t)t->ne[0],
                          .n_out = n,
                          .n_mat = 1,
                          .data = t->p + row * (uint64_t)first,
                          .bytes = row * (uint64_t)n,
                          .nocache = true};
    be_w got;

    b->adapt->seen[i][t - gguf_tensor_at(file(b, i), 0)] = true;
    if (b->bad)
        return 0;
    snprintf(name, sizeof name, "%.*s", t->name.n > 120 ? 120 : (int)t->name.n,
             t->name.p);
    if (q && q->dequant && q->act != KERN_ACT_F32) {
        w.type = GGUF_T_F32;
        w.data = floats(b, t, (uint64_t)first, (uint64_t)n);
        w.bytes = (uint64_t)w.n_in * (uint64_t)n * sizeof(float);
    }
    if (b->bad)
        return 0;
    got = be_weight(b->be, &w, BE_MATRIX, b->e);
    if (!got) {
        err_prefix(b->e, "%s", gguf_path(file(b, i)));
        b->bad = true;
    }
    return got;
}

static int shape(struct build *b, int i, const struct gguf_tensor *t,
                 const struct gguf_tensor *low, const struct gguf_tensor *up)
{
    char msg[300];

    if (low->ne[0] == t->ne[0] && up->ne[1] == t->ne[1] && t->ne[2] == 1 &&
        low->ne[1] <= 1 << 16)
        return 0;
    snprintf(msg, sizeof msg,
             "tensor '%.*s': from %llu to %llu by rank %llu, but the model's "
             "is %llux%llu",
             (int)t->name.n, t->name.p, (unsigned long long)low->ne[0],
             (unsigned long long)up->ne[1], (unsigned long long)low->ne[1],
             (unsigned long long)t->ne[0], (unsigned long long)t->ne[1]);
    return bad(b, i, ERR_FORMAT, msg);
}

/* ---- operations ---- */

static void put(struct build *b, const struct be_op *op)
{
    if (!b->bad)
        buf_put(&b->ops, op, sizeof *op);
}

/* What adapter I does to product K; its part of LOW begins at AT.  The second
 * product goes to BEHIND.  Returns how much of LOW it takes. */
static int pair(struct build *b, int i, int k, enum be_slot in, int at,
                struct buf *behind)
{
    struct adapt *a = b->adapt;
    const struct bound *it = of(b, a->wait[k].w);
    const struct gguf_tensor *low = part(b, i, it->t, 'a'),
                             *up = part(b, i, it->t, 'b');
    double alpha = adapter_alpha(b->adapter[i].a);
    struct be_op op = {.op = BE_MUL,
                       .in = in,
                       .out = BE_LOW,
                       .act = BE_NOACT,
                       .adapter = i + 1,
                       .at = at,
                       .scale = 1};
    int rank;

    if (b->bad || !low || !up || shape(b, i, it->t, low, up))
        return 0;
    rank = (int)low->ne[1];
    op.w = take(b, i, low, 0, rank);
    put(b, &op);
    op.op = BE_DELTA;
    op.in = BE_LOW;
    op.out = a->wait[k].out;
    op.flags = a->wait[k].flags;
    op.w = take(b, i, up, it->first, it->n);
    op.scale =
        (float)((alpha != 0 ? alpha / rank : 1) * (double)a->wait[k].scale);
    buf_put(behind, &op, sizeof op);
    return rank;
}

void adapt_end(struct build *b, enum be_slot in)
{
    struct adapt *a = b->adapt;
    struct buf behind = {0};
    int at = 0;

    for (int k = 0; a && k < a->nwait; k++)
        for (int i = 0; i < b->nadapter; i++)
            at += pair(b, i, k, in, at, &behind);
    if (b->width[BE_LOW] < at)
        b->width[BE_LOW] = at;
    if (behind.n && !b->bad)
        buf_put(&b->ops, behind.p, behind.n);
    if (behind.bad)
        b->ops.bad = true;
    buf_free(&behind);
    if (a)
        a->nwait = 0;
}

void adapt_unknown(struct build *b)
{
    char name[128], msg[200];
    struct gguf_str s;

    for (int i = 0; b->adapt && i < b->nadapter && !b->bad; i++)
        for (size_t k = 0; k < gguf_ntensor(file(b, i)) && !b->bad; k++) {
            const struct gguf_tensor *t = gguf_tensor_at(file(b, i), k);

            if (b->adapt->seen[i][k] || !adapter_part(&s, t) ||
                (b->embed && s.n == 13 && !memcmp(s.p, "output.weight", 13)))
                continue;
            snprintf(name, sizeof name, "%.*s", (int)s.n, s.p);
            snprintf(msg, sizeof msg,
                     gguf_tensor(b->g, name)
                         ? "tensor '%s': adapting it is not supported"
                         : "tensor '%s': the model has none",
                     name);
            bad(b, i, gguf_tensor(b->g, name) ? ERR_UNSUPPORTED : ERR_FORMAT,
                msg);
        }
}
