/* SPDX-License-Identifier: MIT
 * cache.c - sequences over shared pages.
 *
 * Layers that keep the same positions form a group with a pool of pages.
 *   1. A page is written by the one sequence that holds it, and has no name
 *      then: reserve() copies what others hold, and takes names away.
 *   2. A full page is named after its tokens and all before them (a chain of
 *      XXH3-128), the same in every group.  When another page has the name
 *      already, that one is taken and this one let go.
 *   3. A window lets go of pages in reserve(), where they are out of sight of
 *      the tokens that are there, never in commit(): so what was just added
 *      can be cut off again.  A sequence holds no more than its window, a
 *      batch, and the pages' slack.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kv/kv_impl.h"

/* Pages that N positions lie in, from a page's first on. */
static int pages_of(int64_t n)
{
    return (int)((n + BE_PAGE - 1) / BE_PAGE);
}

/* The group of layers whose window is W; a new one when there is none. */
static int group_of(struct kv *kv, int w)
{
    int g = 0;

    while (g < kv->npool && kv->pool[g].window != w)
        g++;
    if (g == BE_MAX_GROUPS)
        return -1;
    if (g == kv->npool)
        kv->pool[kv->npool++].window = w;
    return g;
}

/* Which layer keeps what: groups, and the bytes of their pages. */
static int make_groups(struct kv *kv, const struct kv_config *c, struct err *e)
{
    for (int i = 0; i < c->nlayer; i++) {
        const struct kv_layer *l = &c->layer[i];
        size_t k = kv_row_bytes(c->ktype, l->heads, l->dk);
        size_t v = kv_row_bytes(c->vtype, l->heads, l->dv);

        kv->layer[i] = *l;
        kv->group[i] = -1;
        if (!l->heads)
            continue;
        if (!k || !v)
            return err_set(e, ERR_UNSUPPORTED,
                           "layer %d: %s,%s cannot keep heads of %d,%d "
                           "elements",
                           i, kv_type_name(c->ktype), kv_type_name(c->vtype),
                           l->dk, l->dv);
        /* A window that is never full is none. */
        kv->group[i] =
            group_of(kv, l->window < kv->npage * BE_PAGE ? l->window : 0);
        if (kv->group[i] < 0)
            return err_set(e, ERR_UNSUPPORTED,
                           "layer %d: more than %d windows of different size",
                           i, BE_MAX_GROUPS);
        kv->pool[kv->group[i]].bytes += BE_PAGE * (uint64_t)(k + v);
    }
    return 0;
}

/* How many pages a sequence may have, and then each group. */
static int count_pages(struct kv *kv, const struct kv_config *c, struct err *e)
{
    /* Each sequence has a page that is not full. */
    int64_t n = c->positions / BE_PAGE + (c->nseq > 1 ? c->nseq : 1);

    if (c->positions > INT_MAX / 2 || n > INT_MAX / BE_PAGE / 2)
        return err_set(e, ERR_NOMEM, "no memory has %lld positions",
                       (long long)c->positions);
    if (c->positions % BE_PAGE == 0)
        n--;
    kv->npage = (int)n;
    return 0;
}

static int make_pools(struct kv *kv, const struct kv_config *c, struct err *e)
{
    int64_t nseq = c->nseq > 1 ? c->nseq : 1;

    for (int g = 0; g < kv->npool; g++) {
        struct kv_pool *p = &kv->pool[g];
        /* One for the copy of a page that is shared. */
        int64_t n = nseq * ((p->window + (int64_t)kv->max_batch) / BE_PAGE + 3);

        if (kv_pool_init(p, p->window && n < kv->npage ? (int)n : kv->npage))
            return err_nomem(e);
    }
    return 0;
}

static int tell_backend(struct kv *kv, struct err *e)
{
    struct be_kv_spec spec = {.nlayer = kv->nlayer,
                              .ktype = kv->ktype,
                              .vtype = kv->vtype,
                              .ngroup = kv->npool};
    struct be_kv_layer *l = calloc((size_t)kv->nlayer + 1, sizeof *l);
    int r;

    if (!l)
        return err_nomem(e);
    for (int i = 0; i < kv->nlayer; i++)
        l[i] = (struct be_kv_layer){kv->group[i], kv->layer[i].heads,
                                    kv->layer[i].dk, kv->layer[i].dv};
    for (int g = 0; g < kv->npool; g++)
        spec.npages[g] = kv->pool[g].npage;
    spec.layer = l;
    r = be_kv_init(kv->be, &spec, e);
    free(l);
    return r;
}

static char *copy(const char *s)
{
    size_t n = strlen(s ? s : "") + 1;
    char *p = malloc(n);

    return p ? memcpy(p, s ? s : "", n) : NULL;
}

int kv_new(struct kv **out, struct be *be, const struct kv_config *c,
           struct err *e)
{
    struct kv *kv = calloc(1, sizeof *kv);

    assert(c->nlayer > 0 && c->positions > 0);
    if (!kv)
        return err_nomem(e);
    kv->be = be;
    kv->nlayer = c->nlayer;
    kv->layer = calloc((size_t)c->nlayer, sizeof *kv->layer);
    kv->group = calloc((size_t)c->nlayer, sizeof *kv->group);
    kv->model_id = copy(c->model_id);
    kv->rope = copy(c->rope);
    kv->ktype = c->ktype;
    kv->vtype = c->vtype;
    kv->max_batch = c->max_batch > 1 ? c->max_batch : 1;
    kv->context = c->context;
    if (!kv->layer || !kv->group || !kv->model_id || !kv->rope ||
        kv_adapt_copy(&kv->adapt, &c->adapt, e))
        err_nomem(e);
    else if (!count_pages(kv, c, e) && !make_groups(kv, c, e) &&
             !make_pools(kv, c, e) && !tell_backend(kv, e)) {
        *out = kv;
        return 0;
    }
    kv_free(kv);
    return -1;
}

void kv_free(struct kv *kv)
{
    if (!kv)
        return;
    for (int g = 0; g < kv->npool; g++)
        kv_pool_fini(&kv->pool[g]);
    free(kv->layer);
    free(kv->group);
    free(kv->model_id);
    free(kv->rope);
    kv_adapt_fini(&kv->adapt);
    free(kv);
}

void kv_stats(struct kv_stats *s, const struct kv *kv)
{
    *s = (struct kv_stats){0};
    for (int g = 0; g < kv->npool; g++) {
        const struct kv_pool *p = &kv->pool[g];

        if (p->npage > s->pages) {
            s->pages = p->npage;
            s->used = p->held;
        }
        s->bytes_page += p->bytes;
        s->bytes_used += p->bytes * (uint64_t)p->held;
    }
}

int kv_ngroup(const struct kv *kv)
{
    return kv->npool;
}

int kv_npage(const struct kv *kv, int group)
{
    (void)group;
    return kv->npage;
}

struct kv_seq *kv_seq_new(struct kv *kv)
{
    struct kv_seq *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->kv = kv;
    for (int g = 0; g < kv->npool; g++) {
        s->table[g] = malloc((size_t)kv->npage * sizeof *s->table[g]);
        if (!s->table[g]) {
            kv_seq_free(s);
            return NULL;
        }
        for (int i = 0; i < kv->npage; i++)
            s->table[g][i] = -1;
    }
    if (kv_seq_adapt(s, NULL, NULL)) {
        kv_seq_free(s);
        return NULL;
    }
    return s;
}

/* Let go of the pages FROM..TO-1 of group G, which S has.  The last first: of
 * those that are kept, the beginning of a text shall stay longest. */
static void drop_pages(struct kv_seq *s, int g, int from, int to)
{
    for (int i = to - 1; i >= from; i--) {
        kv_pool_drop(&s->kv->pool[g], s->table[g][i]);
        s->table[g][i] = -1;
    }
}

void kv_seq_free(struct kv_seq *s)
{
    if (!s)
        return;
    for (int g = 0; g < s->kv->npool; g++) {
        if (s->table[g])
            drop_pages(s, g, s->first[g], s->last[g]);
        free(s->table[g]);
    }
    free(s->tok);
    free(s->name);
    kv_adapt_fini(&s->adapt);
    free(s);
}

/* Room for the tokens of NPAGE pages. */
static int make_room(struct kv_seq *s, int npage)
{
    int cap = s->cap + s->cap / 2 + 1;
    int32_t *tok;
    XXH128_hash_t *name;

    if (npage <= s->cap)
        return 0;
    cap = cap > npage ? cap : npage;
    tok = realloc(s->tok, (size_t)cap * BE_PAGE * sizeof *tok);
    if (tok)
        s->tok = tok;
    name = realloc(s->name, (size_t)cap * sizeof *name);
    if (name)
        s->name = name;
    if (!tok || !name)
        return -1;
    s->cap = cap;
    return 0;
}

struct kv_seq *kv_seq_fork(const struct kv_seq *s)
{
    struct kv_seq *f = kv_seq_like(s);
    int last = pages_of(s->n);

    if (!f || make_room(f, last)) {
        kv_seq_free(f);
        return NULL;
    }
    f->n = f->room = s->n;
    f->alone = s->alone;
    if (s->n) {
        memcpy(f->tok, s->tok, (size_t)s->n * sizeof *s->tok);
        memcpy(f->name, s->name, (size_t)(s->n / BE_PAGE) * sizeof *s->name);
    }
    for (int g = 0; g < s->kv->npool; g++) {
        f->first[g] = s->first[g];
        f->last[g] = last > s->first[g] ? last : s->first[g];
        for (int i = f->first[g]; i < f->last[g]; i++) {
            f->table[g][i] = s->table[g][i];
            kv_pool_hold(&s->kv->pool[g], s->table[g][i]);
        }
    }
    return f;
}

int kv_seq_n(const struct kv_seq *s)
{
    return s->n;
}

const int32_t *kv_seq_tokens(const struct kv_seq *s)
{
    return s->tok;
}

const int32_t *kv_seq_pages(const struct kv_seq *s, int group)
{
    return s->table[group];
}

/* The name of a page of tokens T after one called BEFORE. */
XXH128_hash_t kv_page_name(const XXH128_hash_t *before, const int32_t *t)
{
    unsigned char b[16 + BE_PAGE * 4] = {0};
    XXH128_canonical_t c;

    if (before) {
        XXH128_canonicalFromHash(&c, *before);
        memcpy(b, c.digest, 16);
    }
    memcpy(b + 16, t, BE_PAGE * 4);
    return XXH3_128bits(b, sizeof b);
}

/* The first page that group G of N tokens must have. */
int kv_low_page(const struct kv *kv, int g, int n)
{
    return kv_state_low(kv->pool[g].window, n) / BE_PAGE;
}

/* How many of the pages named NAME[N] are there: all up to the last one that is
 * in every group, as far as a token after it looks back. */
static int count_known(const struct kv *kv, const XXH128_hash_t *name, int n)
{
    int run[BE_MAX_GROUPS] = {0}, best = 0;

    for (int i = 0; i < n; i++) {
        bool good = true;

        for (int g = 0; g < kv->npool; g++) {
            bool here = kv_pool_find(&kv->pool[g], name[i]) >= 0;

            run[g] = here ? run[g] + 1 : 0;
            if (!here && !kv->pool[g].window)
                return best;
            good &= run[g] > i - kv_low_page(kv, g, (i + 1) * BE_PAGE);
        }
        if (good)
            best = i + 1;
    }
    return best;
}

/* What the name of S's page I follows. */
static const XXH128_hash_t *before(const struct kv_seq *s, int i)
{
    return i ? &s->name[i - 1] : s->adapt.text ? &s->salt : NULL;
}

int kv_seq_match(struct kv_seq *s, const int32_t *t, int n)
{
    int k = n > 0 ? (n - 1) / BE_PAGE : 0;

    assert(!s->n);
    kv_seq_cut(s, 0);
    s->alone = false;
    if (k > s->kv->npage)
        k = s->kv->npage;
    if (!s->kv->npool || make_room(s, k))
        return 0;
    for (int i = 0; i < k; i++)
        s->name[i] = kv_page_name(before(s, i), t + i * BE_PAGE);
    k = count_known(s->kv, s->name, k);
    for (int g = 0; g < s->kv->npool; g++) {
        struct kv_pool *p = &s->kv->pool[g];

        s->first[g] = kv_low_page(s->kv, g, k * BE_PAGE);
        s->last[g] = k;
        for (int i = s->first[g]; i < k; i++) {
            s->table[g][i] = kv_pool_find(p, s->name[i]);
            kv_pool_hold(p, s->table[g][i]);
        }
    }
    s->n = s->room = k * BE_PAGE;
    if (k)
        memcpy(s->tok, t, (size_t)s->n * sizeof *t);
    return s->n;
}

/* Does page I of group G have to be made, or copied, before it is written? */
static bool is_ours(const struct kv_seq *s, int g, int i)
{
    int id = s->table[g][i];

    return id >= 0 && s->kv->pool[g].slot[id].ref == 1;
}

/* Are there pages for S to write FROM..TO-1, when it lets go of those before
 * LOW? */
static bool has_room(const struct kv_seq *s, int g, int low, int from, int to)
{
    const struct kv_pool *p = &s->kv->pool[g];
    int64_t need = 0, have = p->npage - p->held;

    for (int i = from; i < to; i++)
        need += !is_ours(s, g, i);
    for (int i = s->first[g]; i < low; i++)
        have += is_ours(s, g, i);
    return need <= have;
}

static void make_pages(struct kv_seq *s, int g, int low, int from, int to)
{
    struct kv_pool *p = &s->kv->pool[g];
    int *table = s->table[g];

    if (low > s->first[g]) {
        drop_pages(s, g, s->first[g], low);
        s->first[g] = low;
    }
    for (int i = from; i < to; i++) {
        int old = table[i];

        if (is_ours(s, g, i)) {
            if (p->slot[old].named)
                kv_pool_unname(p, old);
            continue;
        }
        table[i] = kv_pool_take(p);
        if (old < 0)
            continue;
        be_kv_copy(s->kv->be, g, old, table[i]);
        kv_pool_drop(p, old);
    }
    if (to > s->last[g])
        s->last[g] = to;
}

int kv_seq_reserve(struct kv_seq *s, int n, struct err *e)
{
    const struct kv *kv = s->kv;
    int from = s->n / BE_PAGE, to = pages_of((int64_t)s->n + n);

    assert(n >= 0 && n <= INT_MAX - s->n);
    if (!n)
        return 0;
    if (s->foreign)
        return err_set(e, ERR_FORMAT, "a state read with adapters %.150s",
                       s->adapt.text);
    if (to > kv->npage)
        return err_set(e, ERR_NOMEM, "the KV cache is full");
    for (int g = 0; g < kv->npool; g++)
        if (!has_room(s, g, kv_low_page(kv, g, s->n), from, to))
            return err_set(e, ERR_NOMEM, "the KV cache is full");
    if (make_room(s, to))
        return err_nomem(e);
    for (int g = 0; g < kv->npool; g++)
        make_pages(s, g, kv_low_page(kv, g, s->n), from, to);
    if (s->n + n > s->room)
        s->room = s->n + n;
    return 0;
}

/* Page I is full: it can be found now, or is one that can. */
static void share_page(struct kv_seq *s, int i)
{
    for (int g = 0; g < s->kv->npool; g++) {
        struct kv_pool *p = &s->kv->pool[g];
        int mine = s->table[g][i], other;

        if (mine < 0 || p->slot[mine].named)
            continue;
        other = kv_pool_find(p, s->name[i]);
        if (other < 0) {
            kv_pool_name(p, mine, s->name[i]);
            continue;
        }
        kv_pool_hold(p, other);
        kv_pool_drop(p, mine);
        s->table[g][i] = other;
    }
}

static void name_pages(struct kv_seq *s, int from)
{
    for (int i = from; i < s->n / BE_PAGE; i++) {
        s->name[i] = kv_page_name(before(s, i), s->tok + i * BE_PAGE);
        if (!s->alone)
            share_page(s, i);
    }
}

void kv_seq_commit(struct kv_seq *s, const int32_t *t, int n)
{
    int from = s->n / BE_PAGE;

    assert(n >= 0 && n <= s->room - s->n);
    if (!n)
        return;
    memcpy(s->tok + s->n, t, (size_t)n * sizeof *t);
    s->n += n;
    name_pages(s, from);
}

void kv_seq_share(struct kv_seq *s)
{
    s->alone = false;
    name_pages(s, 0);
}

int kv_seq_cut(struct kv_seq *s, int n)
{
    int last = pages_of(n);

    assert(n >= 0 && n <= s->n);
    for (int g = 0; g < s->kv->npool && n; g++)
        if (s->first[g] > kv_low_page(s->kv, g, n + 1))
            return -1;
    for (int g = 0; g < s->kv->npool; g++) {
        int from = last > s->first[g] ? last : s->first[g];

        if (s->last[g] > from) {
            drop_pages(s, g, from, s->last[g]);
            s->last[g] = from;
        }
        if (!n)
            s->first[g] = s->last[g] = 0;
    }
    s->n = s->room = n;
    if (!n)
        s->alone = false;
    return 0;
}

int kv_seq_fill(struct kv_seq *s, const int32_t *t, int n, const int *from,
                struct err *e)
{
    const struct kv *kv = s->kv;
    int to = pages_of(n);

    assert(!s->n && !s->room);
    if (to > kv->npage)
        return err_set(e, ERR_NOMEM, "the KV cache is full");
    for (int g = 0; g < kv->npool; g++)
        if (to - from[g] > kv->pool[g].npage - kv->pool[g].held)
            return err_set(e, ERR_NOMEM, "the KV cache is full");
    if (make_room(s, to))
        return err_nomem(e);
    for (int g = 0; g < kv->npool; g++) {
        s->first[g] = from[g];
        make_pages(s, g, from[g], from[g], to);
    }
    if (n)
        memcpy(s->tok, t, (size_t)n * sizeof *t);
    s->n = s->room = n;
    s->alone = true;
    name_pages(s, 0);
    return 0;
}
