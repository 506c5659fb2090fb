/* SPDX-License-Identifier: MIT
 * writer.c - a state as its records. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "kv/state_impl.h"

/* Halves and 8-bit numbers give zstd little to find: what higher levels find
 * on top is no worth their time. */
enum { LEVEL = 1 };

struct kv_writer {
    const struct kv_state *x;
    struct wire_out *w;
    uint64_t seq;
    struct kv_state_pos at;
    bool pages;
    ZSTD_CCtx *zstd;
    struct buf plain, packed;
};

/* The layers of X as runs of equal ones, RUN numbers each. */
static void put_layers(struct buf *b, const struct kv_state *x)
{
    for (int i = 0, k; i < x->nlayer; i = k) {
        const struct kv_state_layer *l = &x->layer[i];

        for (k = i + 1; k < x->nlayer; k++)
            if (memcmp(l, &x->layer[k], sizeof *l))
                break;
        buf_put(b,
                &(uint32_t[]){(uint32_t)(k - i), (uint32_t)l->heads,
                              (uint32_t)l->dk, (uint32_t)l->dv,
                              (uint32_t)l->window, (uint32_t)l->from},
                24);
    }
}

static int put_record(struct kv_writer *k, struct wire_kv *r, struct err *e)
{
    char sum[KV_SUM_ALL];

    r->seq = k->seq;
    kv_state_sum(sum, &k->at, r);
    r->sum = sum;
    return wire_put_kv(k->w, r, e);
}

static int put_head(struct kv_writer *k, struct err *e)
{
    const struct kv_state *x = k->x;
    struct buf layers = {0}, types = {0};
    int r = -1;

    put_layers(&layers, x);
    buf_printf(&types, "%s,%s", kv_type_name(x->ktype), kv_type_name(x->vtype));
    buf_str(&types);
    if (!buf_ok(&layers, e) && !buf_ok(&types, e))
        r = put_record(k,
                       &(struct wire_kv){.part = "head",
                                         .version = KV_VERSION,
                                         .page_size = BE_PAGE,
                                         .model = x->model,
                                         .rope = x->rope,
                                         .adapters = x->adapters && *x->adapters
                                                         ? x->adapters
                                                         : NULL,
                                         .types = (char *)types.p,
                                         .layers = (uint32_t *)layers.p,
                                         .nlayers = layers.n / 4,
                                         .ids = (const uint32_t *)x->ids,
                                         .nids = (size_t)x->n,
                                         .n = (uint64_t)x->n},
                       e);
    buf_free(&layers);
    buf_free(&types);
    return r;
}

/* What a reader would refuse. */
static int check(const struct kv_state *x, struct err *e)
{
    if (x->nlayer < 1 || x->nlayer > KV_MAX_LAYERS || x->n > KV_MAX_TOKENS)
        return err_set(e, ERR_UNSUPPORTED, "a state of %d layers and %d tokens",
                       x->nlayer, x->n);
    for (int i = 0; i < x->nlayer; i++) {
        const struct kv_state_layer *l = &x->layer[i];

        if (l->heads > KV_MAX_DIM || l->dk > KV_MAX_DIM || l->dv > KV_MAX_DIM ||
            kv_row_bytes(x->ktype, l->heads, l->dk) +
                    kv_row_bytes(x->vtype, l->heads, l->dv) >
                KV_MAX_PAGE_BYTES / BE_PAGE)
            return err_set(e, ERR_UNSUPPORTED,
                           "layer %d: a page is too large for a record", i);
    }
    return 0;
}

int kv_writer_new(struct kv_writer **out, struct wire_out *w, uint64_t seq,
                  const struct kv_state *x, struct err *e)
{
    struct kv_writer *k;

    if (check(x, e))
        return -1;
    k = calloc(1, sizeof *k);
    if (!k)
        return err_nomem(e);
    k->x = x;
    k->w = w;
    k->seq = seq;
    if (kv_state_begin(&k->at, e) || put_head(k, e)) {
        kv_writer_free(k);
        return -1;
    }
    k->pages = kv_state_first(&k->at, x);
    *out = k;
    return 0;
}

void kv_writer_free(struct kv_writer *k)
{
    if (!k)
        return;
    kv_state_fini(&k->at);
    ZSTD_freeCCtx(k->zstd);
    buf_free(&k->plain);
    buf_free(&k->packed);
    free(k);
}

int kv_writer_next(const struct kv_writer *k, int *layer, int *page)
{
    *layer = k->at.layer;
    *page = k->at.page;
    return k->pages;
}

/* K and V together as one frame. */
static int pack(struct kv_writer *k, struct wire_kv *r, struct err *e)
{
    size_t n = r->nk + r->nv, room = ZSTD_compressBound(n), got;

    if (!k->zstd)
        k->zstd = ZSTD_createCCtx();
    k->plain.n = k->packed.n = 0;
    buf_put(&k->plain, r->k, r->nk);
    buf_put(&k->plain, r->v, r->nv);
    buf_reserve(&k->packed, room);
    if (!k->zstd || buf_ok(&k->plain, e) || buf_ok(&k->packed, e))
        return err_nomem(e);
    got = ZSTD_compressCCtx(k->zstd, k->packed.p, room, k->plain.p, n, LEVEL);
    if (ZSTD_isError(got)) /* of memory alone: the room is enough */
        return err_nomem(e);
    r->k = r->v = NULL;
    r->z = k->packed.p;
    r->nz = got;
    return 0;
}

int kv_writer_page(struct kv_writer *k, const struct kv_page *p, struct err *e)
{
    struct wire_kv r = {.part = "page",
                        .layer = (uint64_t)k->at.layer,
                        .page = (uint64_t)k->at.page,
                        .pos = (uint64_t)k->at.page * BE_PAGE,
                        .k = p->k,
                        .v = p->v};

    assert(k->pages);
    r.n = (uint64_t)kv_state_count(k->x, k->at.page);
    kv_state_bytes(&r.nk, &r.nv, k->x, k->at.layer, k->at.page);
    if ((p->zstd && pack(k, &r, e)) || put_record(k, &r, e))
        return -1;
    k->pages = kv_state_next(&k->at, k->x);
    return 0;
}

int kv_writer_end(struct kv_writer *k, struct err *e)
{
    assert(!k->pages);
    return put_record(
        k, &(struct wire_kv){.part = "end", .records = k->at.records}, e);
}
