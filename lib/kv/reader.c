/* SPDX-License-Identifier: MIT
 * reader.c - a state from its records: what may come next, whether its sum is
 * right, and what it holds. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "kv/state_impl.h"

enum { RUN = 6 }; /* numbers of a run of layers in a head */

struct kv_reader {
    struct kv_state x;
    struct kv_state_layer *layer;
    char *text; /* model, rope and adapters */
    int32_t *ids;
    struct kv_state_pos at;
    bool begun, whole, bad;
    bool pages; /* AT is the next; else the end is */
    ZSTD_DCtx *zstd;
    struct buf plain;
};

struct kv_reader *kv_reader_new(struct err *e)
{
    struct kv_reader *r = calloc(1, sizeof *r);

    if (!r) {
        err_nomem(e);
        return NULL;
    }
    if (kv_state_begin(&r->at, e)) {
        free(r);
        return NULL;
    }
    return r;
}

void kv_reader_free(struct kv_reader *r)
{
    if (!r)
        return;
    kv_state_fini(&r->at);
    ZSTD_freeDCtx(r->zstd);
    buf_free(&r->plain);
    free(r->layer);
    free(r->text);
    free(r->ids);
    free(r);
}

const struct kv_state *kv_reader_state(const struct kv_reader *r)
{
    return r->begun ? &r->x : NULL;
}

/* "f16,q8_0" */
static int read_types(struct kv_state *x, const char *s, struct err *e)
{
    size_t n = strcspn(s, ",");
    int k = kv_type_find(s, n);
    int v = s[n] ? kv_type_find(s + n + 1, strlen(s + n + 1)) : -1;

    if (k < 0 || v < 0)
        return err_set(e, ERR_UNSUPPORTED, "types '%.32s' are not known", s);
    x->ktype = (enum kern_kv)k;
    x->vtype = (enum kern_kv)v;
    return 0;
}

/* What a layer may be; X has the types and how many tokens. */
static int check_layer(const struct kv_state_layer *l, const struct kv_state *x,
                       int i, struct err *e)
{
    size_t k = kv_row_bytes(x->ktype, l->heads, l->dk);
    size_t v = kv_row_bytes(x->vtype, l->heads, l->dv);

    if (!l->heads && (l->dk || l->dv || l->window || l->from))
        return err_set(e, ERR_FORMAT,
                       "layer %d has no heads, but something in them", i);
    if (!l->heads)
        return 0;
    if (!l->dk || !l->dv)
        return err_set(e, ERR_FORMAT, "layer %d has heads without elements", i);
    if (!k || !v)
        return err_set(e, ERR_FORMAT,
                       "layer %d: %s,%s cannot keep heads of %d,%d elements", i,
                       kv_type_name(x->ktype), kv_type_name(x->vtype), l->dk,
                       l->dv);
    if ((k + v) > KV_MAX_PAGE_BYTES / BE_PAGE)
        return err_set(e, ERR_FORMAT, "layer %d: a page is too large", i);
    if (l->from % BE_PAGE || l->from > kv_state_low(l->window, x->n + 1))
        return err_set(e, ERR_FORMAT,
                       "layer %d cannot begin at position %d: %d tokens, "
                       "window %d",
                       i, l->from, x->n, l->window);
    return 0;
}

static int read_layers(struct kv_reader *r, const uint32_t *p, size_t n,
                       struct err *e)
{
    static const char *const names[RUN] = {"count",      "heads",  "K",
                                           "V elements", "window", "from"};
    static const uint32_t most[RUN] = {KV_MAX_LAYERS, KV_MAX_DIM, KV_MAX_DIM,
                                       KV_MAX_DIM,    INT_MAX,    INT_MAX};
    uint32_t total = 0;

    if (n % RUN)
        return err_set(e, ERR_FORMAT, "layers are cut: %zu numbers", n);
    for (size_t i = 0; i < n; i += RUN) {
        for (size_t k = 0; k < RUN; k++)
            if (p[i + k] > most[k])
                return err_set(e, ERR_FORMAT, "layers[%zu], %s, is %u", i + k,
                               names[k], (unsigned)p[i + k]);
        total += p[i];
        if (!p[i] || total > KV_MAX_LAYERS)
            return err_set(e, ERR_FORMAT, "layers[%zu]: %u layers in all", i,
                           (unsigned)total);
    }
    if (!total)
        return err_set(e, ERR_FORMAT, "no layers");
    r->layer = calloc(total, sizeof *r->layer);
    if (!r->layer)
        return err_nomem(e);
    r->x.layer = r->layer;
    for (; n; p += RUN, n -= RUN) {
        struct kv_state_layer l = {(int)p[1], (int)p[2], (int)p[3], (int)p[4],
                                   (int)p[5]};

        if (check_layer(&l, &r->x, r->x.nlayer, e))
            return -1;
        for (uint32_t i = 0; i < p[0]; i++)
            r->layer[r->x.nlayer++] = l;
    }
    return 0;
}

static int read_tokens(struct kv_reader *r, const struct wire_kv *k,
                       struct err *e)
{
    if (k->n != k->nids)
        return err_set(e, ERR_FORMAT, "%zu ids, but n is %llu", k->nids,
                       (unsigned long long)k->n);
    if (k->n > KV_MAX_TOKENS)
        return err_set(e, ERR_FORMAT, "more than %d tokens", KV_MAX_TOKENS);
    r->ids = malloc((k->nids + 1) * sizeof *r->ids);
    if (!r->ids)
        return err_nomem(e);
    for (size_t i = 0; i < k->nids; i++) {
        if (k->ids[i] > INT32_MAX)
            return err_set(e, ERR_FORMAT, "ids[%zu] is %u", i,
                           (unsigned)k->ids[i]);
        r->ids[i] = (int32_t)k->ids[i];
    }
    r->x.ids = r->ids;
    r->x.n = (int)k->n;
    return 0;
}

static int read_head(struct kv_reader *r, const struct wire_kv *k,
                     struct err *e)
{
    const char *adapters = k->adapters ? k->adapters : "";
    size_t n = strlen(k->model) + 1, m = strlen(k->rope) + 1,
           o = strlen(adapters) + 1;

    if (k->page_size != BE_PAGE)
        return err_set(e, ERR_UNSUPPORTED,
                       "pages of %llu positions; this program has %d",
                       (unsigned long long)k->page_size, BE_PAGE);
    if (read_tokens(r, k, e) || read_types(&r->x, k->types, e) ||
        read_layers(r, k->layers, k->nlayers, e))
        return -1;
    r->text = malloc(n + m + o);
    if (!r->text)
        return err_nomem(e);
    memcpy(r->text, k->model, n);
    memcpy(r->text + n, k->rope, m);
    memcpy(r->text + n + m, adapters, o);
    r->x.model = r->text;
    r->x.rope = r->text + n;
    r->x.adapters = r->text + n + m;
    r->begun = true;
    r->pages = kv_state_first(&r->at, &r->x);
    return 0;
}

/* K and V of a page whose compressed bytes are Z. */
static int unpack(struct kv_reader *r, struct kv_page *p,
                  const struct wire_kv *k, struct err *e)
{
    size_t got;

    if (!r->zstd)
        r->zstd = ZSTD_createDCtx();
    r->plain.n = 0;
    if (!r->zstd || !buf_reserve(&r->plain, p->nk + p->nv))
        return err_nomem(e);
    got = ZSTD_decompressDCtx(r->zstd, r->plain.p, p->nk + p->nv, k->z, k->nz);
    if (ZSTD_isError(got))
        return err_set(e, ERR_FORMAT, "z: %s", ZSTD_getErrorName(got));
    if (got != p->nk + p->nv)
        return err_set(e, ERR_FORMAT, "z has %zu bytes, not %zu", got,
                       p->nk + p->nv);
    p->k = r->plain.p;
    p->v = r->plain.p + p->nk;
    p->zstd = true;
    p->stored = k->nz;
    return 0;
}

static int read_page(struct kv_reader *r, struct kv_page *p,
                     const struct wire_kv *k, struct err *e)
{
    *p = (struct kv_page){.layer = r->at.layer, .page = r->at.page};
    if (k->layer != (uint64_t)p->layer || k->page != (uint64_t)p->page)
        return err_set(e, ERR_FORMAT, "layer %d, page %d must come here",
                       p->layer, p->page);
    p->pos = p->page * BE_PAGE;
    p->n = kv_state_count(&r->x, p->page);
    if (k->pos != (uint64_t)p->pos || k->n != (uint64_t)p->n)
        return err_set(
            e, ERR_FORMAT, "%llu positions from %llu on, not %d from %d",
            (unsigned long long)k->n, (unsigned long long)k->pos, p->n, p->pos);
    kv_state_bytes(&p->nk, &p->nv, &r->x, p->layer, p->page);
    if (k->z ? k->k || k->v : !k->k || !k->v)
        return err_set(e, ERR_FORMAT, "neither k and v, nor z alone");
    if (k->z)
        return unpack(r, p, k, e);
    if (k->nk != p->nk || k->nv != p->nv)
        return err_set(e, ERR_FORMAT,
                       "k and v have %zu and %zu bytes, not "
                       "%zu and %zu",
                       k->nk, k->nv, p->nk, p->nv);
    p->k = k->k;
    p->v = k->v;
    p->stored = p->nk + p->nv;
    return 0;
}

/* Where K cannot be: before its head, among others, after the end. */
static int check_place(const struct kv_reader *r, const struct wire_kv *k,
                       struct err *e)
{
    bool head = !strcmp(k->part, "head"), end = !strcmp(k->part, "end");

    if (r->whole)
        return err_set(e, ERR_FORMAT, "the state had its end");
    if (r->bad)
        return err_set(e, ERR_FORMAT, "the state was refused");
    if (!r->begun && !head)
        return err_set(e, ERR_FORMAT, "no head came before");
    if (r->begun && head)
        return err_set(e, ERR_FORMAT, "a second head");
    if (end && r->pages)
        return err_set(e, ERR_FORMAT, "layer %d, page %d is missing",
                       r->at.layer, r->at.page);
    if (r->begun && !end && !r->pages)
        return err_set(e, ERR_FORMAT, "the end must come here");
    if (end && k->records != r->at.records)
        return err_set(e, ERR_FORMAT, "%llu records, but there were %llu",
                       (unsigned long long)k->records,
                       (unsigned long long)r->at.records);
    return 0;
}

/* "kv page, layer 3, page 17": before what is wrong with it. */
static int place(const struct wire_kv *k, struct err *e)
{
    if (!strcmp(k->part, "page"))
        return err_prefix(e, "kv layer %llu, page %llu",
                          (unsigned long long)k->layer,
                          (unsigned long long)k->page);
    return err_prefix(e, "kv %s", k->part);
}

static int take(struct kv_reader *r, struct kv_page *p, const struct wire_kv *k,
                struct err *e)
{
    char sum[KV_SUM_ALL];

    if (check_place(r, k, e))
        return -1;
    if (!r->begun && k->version != KV_VERSION)
        return err_set(e, ERR_UNSUPPORTED,
                       "version %llu of states; this program reads %d",
                       (unsigned long long)k->version, KV_VERSION);
    /* First, so that nothing else is believed of a record that has changed. */
    kv_state_sum(sum, &r->at, k);
    if (strcmp(sum, k->sum))
        return err_set(e, ERR_FORMAT, "the sum is %s, not %.40s", sum, k->sum);
    if (!strcmp(k->part, "head"))
        return read_head(r, k, e) ? -1 : KV_GOT_HEAD;
    if (!strcmp(k->part, "end")) {
        r->whole = true;
        return KV_GOT_END;
    }
    if (read_page(r, p, k, e))
        return -1;
    r->pages = kv_state_next(&r->at, &r->x);
    return KV_GOT_PAGE;
}

int kv_reader_add(struct kv_reader *r, struct kv_page *p,
                  const struct wire_rec *rec, struct err *e)
{
    struct err mine = {0};
    struct wire_kv k;
    int got;

    assert(rec->kind == WIRE_KV);
    if (wire_get_kv(&k, rec, &mine)) {
        err_prefix(&mine, k.part ? "kv %.16s" : "kv", k.part);
        got = -1;
    } else {
        got = take(r, p, &k, &mine);
        if (got < 0)
            place(&k, &mine);
    }
    if (got < 0) {
        r->bad = true;
        return err_set(e, mine.code, "%s", mine.msg);
    }
    return got;
}

int kv_reader_whole(const struct kv_reader *r, struct err *e)
{
    if (r->whole)
        return 0;
    if (!r->begun)
        return err_set(e, ERR_FORMAT, "a state without a head");
    if (r->pages)
        return err_set(e, ERR_FORMAT,
                       "the state is cut short: layer %d, page %d is missing",
                       r->at.layer, r->at.page);
    return err_set(e, ERR_FORMAT, "the state is cut short: its end is missing");
}
