/* SPDX-License-Identifier: MIT
 * cpu_kv.c - pages of K and V, each holding all layers of its group. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu_impl.h"
#include "base/num.h"
#include "base/pages.h"

void cpu_kv_free(struct cpu *b)
{
    for (int g = 0; g < b->ngroup; g++)
        pages_free(b->group[g].mem, b->group[g].bytes);
    free(b->layer);
    b->layer = NULL;
    b->nlayer = b->ngroup = 0;
}

/* Room for HEADS heads at the end of GROUP's page. */
static int add(struct cpu_group *g, size_t *at, size_t *head, enum kern_kv t,
               int heads, int d, struct err *e)
{
    uint64_t n, sum;

    if (!kern_kv_ok(t, d))
        return err_set(e, ERR_UNSUPPORTED,
                       "KV type cannot keep heads of %d elements", d);
    n = kern_kv_bytes(t, d, BE_PAGE);
    *head = (size_t)((n + CPU_LINE - 1) / CPU_LINE * CPU_LINE);
    *at = g->page;
    if (!mul_ok(*head, (uint64_t)heads, &n) || !add_ok(g->page, n, &sum) ||
        sum > SIZE_MAX / 2)
        return err_nomem(e);
    g->page = (size_t)sum;
    return 0;
}

static int layers(struct cpu *b, const struct be_kv_spec *s, struct err *e)
{
    for (int i = 0; i < s->nlayer; i++) {
        struct cpu_layer *l = &b->layer[i];
        const struct be_kv_layer *from = &s->layer[i];

        l->group = from->group;
        if (from->group < 0)
            continue;
        if (from->group >= s->ngroup || from->heads < 1 || from->dk < 1 ||
            from->dv < 1 || from->dk > CPU_MAX_DIM || from->dv > CPU_MAX_DIM ||
            from->heads > CPU_MAX_DIM)
            return err_set(e, ERR_FORMAT, "layer %d: impossible heads", i);
        l->heads = from->heads;
        l->dk = from->dk;
        l->dv = from->dv;
        if (add(&b->group[l->group], &l->k, &l->k_head, s->ktype, l->heads,
                l->dk, e) ||
            add(&b->group[l->group], &l->v, &l->v_head, s->vtype, l->heads,
                l->dv, e))
            return err_prefix(e, "layer %d", i);
    }
    return 0;
}

int cpu_kv_init(struct be *be, const struct be_kv_spec *s, struct err *e)
{
    struct cpu *b = (struct cpu *)be;
    uint64_t n;

    assert(!b->layer && s->ngroup >= 0 && s->ngroup <= BE_MAX_GROUPS);
    b->ktype = s->ktype;
    b->vtype = s->vtype;
    b->layer = calloc((size_t)s->nlayer + 1, sizeof *b->layer);
    if (!b->layer)
        return err_nomem(e);
    b->nlayer = s->nlayer;
    memset(b->group, 0, sizeof b->group);
    if (layers(b, s, e))
        goto fail;
    for (b->ngroup = 0; b->ngroup < s->ngroup; b->ngroup++) {
        struct cpu_group *g = &b->group[b->ngroup];

        g->npages = s->npages[b->ngroup];
        if (g->npages < 0 || !mul_ok(g->page, (uint64_t)g->npages, &n) ||
            n > SIZE_MAX / 2 || !(g->mem = pages_alloc((size_t)n))) {
            err_nomem(e);
            goto fail;
        }
        g->bytes = (size_t)n;
    }
    return 0;
fail:
    cpu_kv_free(b);
    return -1;
}

void cpu_kv_copy(struct be *be, int group, int src, int dst)
{
    struct cpu_group *g = &((struct cpu *)be)->group[group];

    assert(src >= 0 && src < g->npages && dst >= 0 && dst < g->npages);
    if (src != dst)
        memcpy(g->mem + (size_t)dst * g->page, g->mem + (size_t)src * g->page,
               g->page);
}

/* What one element, or one block of 32, is in a row. */
static size_t unit(enum kern_kv t, int *elems)
{
    *elems = t == KV_Q8_0 || t == KV_Q4_0 ? 32 : 1;
    return kern_kv_bytes(t, 32, 1) / (*elems == 1 ? 32 : 1);
}

size_t cpu_kv_row(const struct be *be, int layer, int which)
{
    const struct cpu *b = (const struct cpu *)be;
    const struct cpu_layer *l = &b->layer[layer];
    int elems, d = which ? l->dv : l->dk;
    size_t u = unit(which ? b->vtype : b->ktype, &elems);

    return l->group < 0 ? 0 : (size_t)l->heads * (size_t)(d / elems) * u;
}

/* K of one position: its elements are 16 positions apart, and a block's scale
 * stands before those of its 16 positions.  Every byte moves alone, so the
 * same loop goes both ways. */
static void k_row(char *tile, int d, int lane, enum kern_kv t, char *row,
                  bool put)
{
    int elems;
    size_t u = unit(t, &elems), size = elems == 1 ? u : 1;

    for (int i = 0; i < d / elems; i++) {
        char *at = tile + (size_t)i * u * KERN_KV_TILE,
             *r = row + (size_t)i * u;
        size_t n = u;

        if (elems > 1) { /* the scale */
            char *s = at + lane * 2;

            memcpy(put ? s : r, put ? r : s, 2);
            at += 2 * KERN_KV_TILE;
            r += 2;
            n -= 2;
        }
        for (size_t j = 0; j < n; j += size) {
            char *x = at + j * KERN_KV_TILE + (size_t)lane * size;

            memcpy(put ? x : r + j, put ? r + j : x, size);
        }
    }
}

static void move(struct cpu *b, int layer, int which, int page, int pos, int n,
                 char *row, bool put)
{
    const struct cpu_layer *l = &b->layer[layer];
    enum kern_kv t = which ? b->vtype : b->ktype;
    int elems, d = which ? l->dv : l->dk;
    size_t u = unit(t, &elems), size = (size_t)(d / elems) * u;

    assert(l->group >= 0 && page >= 0 && page < b->group[l->group].npages &&
           pos >= 0 && n >= 0 && pos + n <= BE_PAGE);
    for (int i = pos; i < pos + n; i++)
        for (int h = 0; h < l->heads; h++, row += size) {
            if (which) {
                char *v = cpu_v(b, l, page, h) + (size_t)i * size;

                memcpy(put ? v : row, put ? row : v, size);
            } else {
                k_row(cpu_k(b, l, page, h) +
                          (size_t)(i / KERN_KV_TILE) * KERN_KV_TILE * size,
                      d, i % KERN_KV_TILE, t, row, put);
            }
        }
}

void cpu_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
                void *dst)
{
    move((struct cpu *)b, layer, which, page, pos, n, dst, false);
}

void cpu_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
                const void *src)
{
    move((struct cpu *)b, layer, which, page, pos, n, (char *)(uintptr_t)src,
         true);
}
