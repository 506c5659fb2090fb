/* SPDX-License-Identifier: MIT
 * state.c - the order of a state's records, and their sums.
 *
 * A record's sum is the XXH3-64 of what it says, of whatever form it has in the
 * stream: its part, then its values in the order of their keys.  Integers are
 * 8 bytes, strings and arrays come after their length as such; all little-
 * endian.  "s" and "sum" do not count, so that sequences can be renumbered.
 * The end's sum is the XXH3-128 of all these bytes of all records. */
#include "kv/state.h"

#include <string.h>

#include "base/num.h"
#include "kv/state_impl.h"

static const char *const names[KV_NTYPE] = {"f16", "f32", "bf16", "q8_0",
                                            "q4_0"};

const char *kv_type_name(enum kern_kv t)
{
    return names[t];
}

int kv_type_find(const char *name, size_t n)
{
    for (int t = 0; t < KV_NTYPE; t++)
        if (strlen(names[t]) == n && !memcmp(names[t], name, n))
            return t;
    return -1;
}

size_t kv_row_bytes(enum kern_kv t, int heads, int d)
{
    static const struct {
        size_t bytes;
        int elems;
    } block[KV_NTYPE] = {{2, 1}, {4, 1}, {2, 1}, {34, 32}, {18, 32}};

    if (d % block[t].elems)
        return 0;
    return (size_t)heads * (size_t)(d / block[t].elems) * block[t].bytes;
}

int kv_state_cut(struct kv_state *x, struct kv_state_layer *layer, int n,
                 struct err *e)
{
    if (n > x->n)
        return err_set(e, ERR_USAGE, "it has %d tokens, not %d", x->n, n);
    for (int i = 0; i < x->nlayer && n; i++)
        if (layer[i].from > kv_state_low(layer[i].window, n + 1))
            return err_set(e, ERR_UNSUPPORTED,
                           "layer %d has a window, and kept nothing before "
                           "position %d, which the token after %d needs",
                           i, layer[i].from, n);
    for (int i = 0; i < x->nlayer && !n; i++)
        layer[i].from = 0;
    x->n = n;
    return 0;
}

int kv_state_begin(struct kv_state_pos *at, struct err *e)
{
    *at = (struct kv_state_pos){0};
    at->one = XXH3_createState();
    at->all = XXH3_createState();
    if (!at->one || !at->all) {
        kv_state_fini(at);
        return err_nomem(e);
    }
    XXH3_128bits_reset(at->all);
    return 0;
}

void kv_state_fini(struct kv_state_pos *at)
{
    XXH3_freeState(at->one);
    XXH3_freeState(at->all);
    at->one = at->all = NULL;
}

/* From the layer AT->layer on, the first that has the page AT->page. */
static bool seek(struct kv_state_pos *at, const struct kv_state *x)
{
    for (; (int64_t)at->page * BE_PAGE < x->n; at->page++, at->layer = 0)
        for (; at->layer < x->nlayer; at->layer++) {
            const struct kv_state_layer *l = &x->layer[at->layer];

            if (l->heads && l->from <= at->page * BE_PAGE)
                return true;
        }
    return false;
}

bool kv_state_first(struct kv_state_pos *at, const struct kv_state *x)
{
    int from = x->n;

    /* Not from 0: nothing may be there for long. */
    for (int i = 0; i < x->nlayer; i++)
        if (x->layer[i].heads && x->layer[i].from < from)
            from = x->layer[i].from;
    at->layer = 0;
    at->page = from / BE_PAGE;
    return seek(at, x);
}

bool kv_state_next(struct kv_state_pos *at, const struct kv_state *x)
{
    at->layer++;
    return seek(at, x);
}

int kv_state_count(const struct kv_state *x, int page)
{
    int left = x->n - page * BE_PAGE;

    return left < BE_PAGE ? left : BE_PAGE;
}

void kv_state_bytes(size_t *nk, size_t *nv, const struct kv_state *x, int layer,
                    int page)
{
    const struct kv_state_layer *l = &x->layer[layer];
    size_t n = (size_t)kv_state_count(x, page);

    *nk = n * kv_row_bytes(x->ktype, l->heads, l->dk);
    *nv = n * kv_row_bytes(x->vtype, l->heads, l->dv);
}

static void add(struct kv_state_pos *at, const void *p, size_t n)
{
    XXH3_64bits_update(at->one, p, n);
    XXH3_128bits_update(at->all, p, n);
}

static void add_u64(struct kv_state_pos *at, uint64_t v)
{
    unsigned char b[8];

    wr_u64(b, v);
    add(at, b, sizeof b);
}

static void add_bytes(struct kv_state_pos *at, const void *p, size_t n)
{
    add_u64(at, n);
    if (n)
        add(at, p, n);
}

static void add_text(struct kv_state_pos *at, const char *s)
{
    add_bytes(at, s, strlen(s));
}

static void add_u32s(struct kv_state_pos *at, const uint32_t *p, size_t n)
{
    unsigned char b[256];

    add_u64(at, n);
    while (n) {
        size_t k = n < sizeof b / 4 ? n : sizeof b / 4;

        for (size_t i = 0; i < k; i++)
            wr_u32(b + 4 * i, p[i]);
        add(at, b, 4 * k);
        p += k;
        n -= k;
    }
}

static void digits(char *hex, const unsigned char *p, size_t n)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *hex++ = digit[p[i] >> 4];
        *hex++ = digit[p[i] & 15];
    }
    *hex = 0;
}

static void add_head(struct kv_state_pos *at, const struct wire_kv *r)
{
    add_u64(at, r->n);
    add_u32s(at, r->ids, r->nids);
    add_text(at, r->part);
    add_text(at, r->rope);
    add_text(at, r->model);
    add_text(at, r->types);
    add_u32s(at, r->layers, r->nlayers);
    add_u64(at, r->version);
    if (r->adapters)
        add_text(at, r->adapters);
    add_u64(at, r->page_size);
}

void kv_state_sum(char hex[KV_SUM_ALL], struct kv_state_pos *at,
                  const struct wire_kv *r)
{
    XXH64_canonical_t one;
    XXH128_canonical_t all;

    XXH3_64bits_reset(at->one);
    if (!strcmp(r->part, "head")) {
        add_head(at, r);
    } else if (!strcmp(r->part, "page")) {
        if (!r->z)
            add_bytes(at, r->k, r->nk);
        add_u64(at, r->n);
        add_bytes(at, r->z ? r->z : r->v, r->z ? r->nz : r->nv);
        add_u64(at, r->pos);
        add_u64(at, r->page);
        add_text(at, r->part);
        add_u64(at, r->layer);
    } else {
        add_text(at, r->part);
        add_u64(at, r->records);
        XXH128_canonicalFromHash(&all, XXH3_128bits_digest(at->all));
        digits(hex, all.digest, sizeof all.digest);
        return;
    }
    at->records++;
    XXH64_canonicalFromHash(&one, XXH3_64bits_digest(at->one));
    digits(hex, one.digest, sizeof one.digest);
}
