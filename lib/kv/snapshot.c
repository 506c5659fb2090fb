/* SPDX-License-Identifier: MIT
 * snapshot.c - sequences to states and back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kv/kv_impl.h"

/* ---- saving ---- */

/* Where layer I of S begins.  However much a sequence has, a state has what it
 * needs when its last token is cut off and run again: so it does not show how
 * its tokens were read. */
static int from_of(const struct kv_seq *s, int i)
{
    int g = s->kv->group[i], low = g < 0 ? 0 : kv_low_page(s->kv, g, s->n);

    return g < 0 ? 0 : (s->first[g] > low ? s->first[g] : low) * BE_PAGE;
}

/* The layers of S as a state has them; malloc'ed. */
static struct kv_state_layer *state_layers(const struct kv_seq *s)
{
    const struct kv *kv = s->kv;
    struct kv_state_layer *l = calloc((size_t)kv->nlayer, sizeof *l);

    for (int i = 0; l && i < kv->nlayer; i++)
        if (kv->layer[i].heads)
            l[i] = (struct kv_state_layer){kv->layer[i].heads, kv->layer[i].dk,
                                           kv->layer[i].dv, kv->layer[i].window,
                                           from_of(s, i)};
    return l;
}

/* All pages, each through BUF. */
static int save_pages(struct kv_writer *w, const struct kv_seq *s,
                      unsigned flags, struct buf *buf, struct err *e)
{
    const struct kv *kv = s->kv;
    int i, page;

    while (kv_writer_next(w, &i, &page)) {
        int g = kv->group[i], left = s->n - page * BE_PAGE;
        int n = left < BE_PAGE ? left : BE_PAGE;
        size_t k = (size_t)n * be_kv_row(kv->be, i, 0);
        size_t v = (size_t)n * be_kv_row(kv->be, i, 1);
        struct kv_page p = {.zstd = flags & KV_ZSTD};

        buf->n = 0;
        if (!buf_reserve(buf, k + v))
            return err_nomem(e);
        be_kv_get(kv->be, i, 0, s->table[g][page], 0, n, buf->p);
        be_kv_get(kv->be, i, 1, s->table[g][page], 0, n, buf->p + k);
        p.k = buf->p;
        p.v = buf->p + k;
        if (kv_writer_page(w, &p, e))
            return -1;
    }
    return kv_writer_end(w, e);
}

int kv_save(struct wire_out *out, uint64_t seq, const struct kv_seq *s,
            unsigned flags, struct err *e)
{
    struct kv_state_layer *layer = state_layers(s);
    struct kv_state x = {s->kv->model_id, s->kv->rope, s->kv->ktype,
                         s->kv->vtype,    layer,       s->kv->nlayer,
                         s->tok,          s->n,        s->adapt.text};
    struct kv_writer *w;
    struct buf buf = {0};
    int r;

    if (!layer)
        return err_nomem(e);
    r = kv_writer_new(&w, out, seq, &x, e);
    if (!r) {
        r = save_pages(w, s, flags, &buf, e);
        kv_writer_free(w);
    }
    buf_free(&buf);
    free(layer);
    return r;
}

/* ---- loading ---- */

struct kv_load {
    struct kv *kv;
    struct kv_reader *reader;
    struct kv_seq *seq; /* nobody's but ours before it is whole */
    uint64_t number;    /* of the sequence */
    bool begun, whole, bad;
};

struct kv_load *kv_load_new(struct kv *kv, struct err *e)
{
    struct kv_load *l = calloc(1, sizeof *l);

    if (!l) {
        err_nomem(e);
        return NULL;
    }
    l->kv = kv;
    l->reader = kv_reader_new(e);
    if (!l->reader) {
        free(l);
        return NULL;
    }
    return l;
}

void kv_load_free(struct kv_load *l)
{
    if (!l)
        return;
    kv_reader_free(l->reader);
    kv_seq_free(l->seq);
    free(l);
}

static int check_layers(const struct kv *kv, const struct kv_state *x,
                        struct err *e)
{
    if (x->nlayer != kv->nlayer)
        return err_set(e, ERR_FORMAT, "a state of %d layers, not %d", x->nlayer,
                       kv->nlayer);
    for (int i = 0; i < kv->nlayer; i++) {
        const struct kv_layer *a = &kv->layer[i];
        const struct kv_state_layer *b = &x->layer[i];

        if (!a->heads && !b->heads)
            continue;
        if (a->heads != b->heads || a->dk != b->dk || a->dv != b->dv ||
            a->window != b->window)
            return err_set(e, ERR_FORMAT,
                           "layer %d has %d heads of %d,%d elements and window "
                           "%d, not %d of %d,%d and %d",
                           i, b->heads, b->dk, b->dv, b->window, a->heads,
                           a->dk, a->dv, a->window);
    }
    return 0;
}

/* Is it a state of this model, kept as this cache does? */
static int check_state(const struct kv *kv, const struct kv_state *x,
                       struct err *e)
{
    if (strcmp(x->model, kv->model_id))
        return err_set(e, ERR_FORMAT, "a state of another model: %.40s, not %s",
                       x->model, kv->model_id);
    if (strcmp(x->rope, kv->rope))
        return err_set(e, ERR_FORMAT,
                       "made with other rope parameters: %.150s, not %.150s",
                       x->rope, kv->rope);
    if (check_layers(kv, x, e))
        return -1;
    if (x->ktype != kv->ktype || x->vtype != kv->vtype)
        return err_set(e, ERR_FORMAT,
                       "K and V are %s,%s, not %s,%s (kv-dump --convert makes "
                       "one of the other)",
                       kv_type_name(x->ktype), kv_type_name(x->vtype),
                       kv_type_name(kv->ktype), kv_type_name(kv->vtype));
    return 0;
}

/* Pages of our own for what comes; of windows no more than S may hold, and
 * what it needs to be cut by a token or a batch. */
static int begin(struct kv_load *l, struct err *e)
{
    const struct kv_state *x = kv_reader_state(l->reader);
    struct kv *kv = l->kv;
    int from[BE_MAX_GROUPS] = {0};

    if (check_state(kv, x, e))
        return -1;
    if (kv->context && x->n > kv->context)
        return err_set(e, ERR_CONTEXT,
                       "the state's %d tokens are more than the context of %d",
                       x->n, kv->context);
    for (int i = 0; i < kv->nlayer; i++) {
        int g = kv->group[i], keep;

        if (g < 0)
            continue;
        keep = kv_state_low(kv->pool[g].window, x->n) - kv->max_batch;
        keep = kv->pool[g].window && keep > 0 ? keep / BE_PAGE : 0;
        if (x->layer[i].from / BE_PAGE > keep)
            keep = x->layer[i].from / BE_PAGE;
        if (keep > from[g])
            from[g] = keep;
    }
    l->seq = kv_seq_new(kv);
    if (!l->seq)
        return err_nomem(e);
    if (kv_seq_loaded(l->seq, x->adapters, e))
        return -1;
    return kv_seq_fill(l->seq, x->ids, x->n, from, e);
}

static void put_page(struct kv_load *l, const struct kv_page *p)
{
    struct kv *kv = l->kv;
    int g = kv->group[p->layer], id;

    if (p->page < l->seq->first[g])
        return;
    id = l->seq->table[g][p->page];
    assert(p->nk == (size_t)p->n * be_kv_row(kv->be, p->layer, 0) &&
           p->nv == (size_t)p->n * be_kv_row(kv->be, p->layer, 1));
    be_kv_put(kv->be, p->layer, 0, id, 0, p->n, p->k);
    be_kv_put(kv->be, p->layer, 1, id, 0, p->n, p->v);
}

static int add(struct kv_load *l, const struct wire_rec *r, struct err *e)
{
    struct kv_page p;

    if (l->bad)
        return err_set(e, ERR_FORMAT, "the state was refused");
    if (l->begun && r->seq != l->number)
        return err_set(e, ERR_FORMAT, "a record of sequence %llu, not %llu",
                       (unsigned long long)r->seq,
                       (unsigned long long)l->number);
    switch (kv_reader_add(l->reader, &p, r, e)) {
    case KV_GOT_HEAD:
        l->begun = true;
        l->number = r->seq;
        return begin(l, e) ? err_prefix(e, "kv head") : 0;
    case KV_GOT_PAGE:
        put_page(l, &p);
        return 0;
    case KV_GOT_END:
        l->whole = true;
        return 1;
    default:
        return -1;
    }
}

int kv_load_add(struct kv_load *l, const struct wire_rec *r, struct err *e)
{
    int got = add(l, r, e);

    if (got < 0) {
        l->bad = true;
        l->whole = false;
        kv_seq_free(l->seq);
        l->seq = NULL;
    }
    return got;
}

int kv_load_whole(const struct kv_load *l, struct err *e)
{
    return kv_reader_whole(l->reader, e);
}

struct kv_seq *kv_load_take(struct kv_load *l)
{
    struct kv_seq *s = l->whole ? l->seq : NULL;

    if (s)
        l->seq = NULL;
    return s;
}
