/* SPDX-License-Identifier: MIT
 * pass.c - a stream, record by record: its states changed as asked, and then
 * shown or written.
 *
 * Of each state that has begun there is its head and one page at a time, so
 * that it may be of any size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dump/dump.h"

/* A state on its way. */
struct state {
    struct state *next;
    uint64_t seq;
    struct kv_reader *in;
    struct kv_state x; /* as it goes out */
    struct kv_state_layer *layer;
    struct kv_writer *out; /* or */
    struct shown *shown;
    struct buf k, v; /* a page, converted */
};

struct stream {
    struct pass *pass;
    const struct job *job;
    const char *name;
    struct state *open;
};

static void free_state(struct state *t)
{
    kv_reader_free(t->in);
    kv_writer_free(t->out);
    shown_free(t->shown);
    buf_free(&t->k);
    buf_free(&t->v);
    free(t->layer);
    free(t);
}

static struct state **find(struct stream *s, uint64_t seq)
{
    struct state **at = &s->open;

    while (*at && (*at)->seq != seq)
        at = &(*at)->next;
    return at;
}

static struct state *begin(struct stream *s, uint64_t seq, struct err *e)
{
    struct state *t = calloc(1, sizeof *t);

    if (!t || !(t->in = kv_reader_new(e))) {
        free(t);
        err_nomem(e);
        return NULL;
    }
    t->seq = seq;
    t->next = s->open;
    s->open = t;
    return t;
}

/* What a state becomes. */
static int change(const struct job *j, struct state *t, struct err *e)
{
    t->x = *kv_reader_state(t->in);
    t->layer = malloc((size_t)t->x.nlayer * sizeof *t->layer);
    if (!t->layer)
        return err_nomem(e);
    memcpy(t->layer, t->x.layer, (size_t)t->x.nlayer * sizeof *t->layer);
    t->x.layer = t->layer;
    if (j->cut >= 0 && kv_state_cut(&t->x, t->layer, j->cut, e))
        return -1;
    if (j->kt < 0)
        return 0;
    t->x.ktype = (enum kern_kv)j->kt;
    t->x.vtype = (enum kern_kv)j->vt;
    for (int i = 0; i < t->x.nlayer; i++) {
        const struct kv_state_layer *l = &t->layer[i];

        if (l->heads && (!kv_row_bytes(t->x.ktype, l->heads, l->dk) ||
                         !kv_row_bytes(t->x.vtype, l->heads, l->dv)))
            return err_set(e, ERR_UNSUPPORTED,
                           "layer %d: %s,%s cannot keep heads of %d,%d "
                           "elements",
                           i, kv_type_name(t->x.ktype),
                           kv_type_name(t->x.vtype), l->dk, l->dv);
    }
    return 0;
}

static int head(struct stream *s, struct state *t, struct err *e)
{
    const struct job *j = s->job;

    s->pass->states++;
    if (change(j, t, e))
        return -1;
    if (j->format == WIRE_CBOR)
        return kv_writer_new(&t->out, j->w, t->seq, &t->x, e);
    if (!j->values)
        t->shown = shown_new(j, &t->x);
    return 0;
}

/* The part of P that stays, in the types that are asked for. */
static void change_page(const struct job *j, struct state *t, struct kv_page *p)
{
    const struct kv_state *from = kv_reader_state(t->in);
    const struct kv_state_layer *l = &t->layer[p->layer];
    int n = t->x.n - p->pos < p->n ? t->x.n - p->pos : p->n;

    p->nk = p->nk / (size_t)p->n * (size_t)n;
    p->nv = p->nv / (size_t)p->n * (size_t)n;
    p->stored = n < p->n && !p->zstd ? p->nk + p->nv : p->stored;
    p->n = n;
    if (j->zstd >= 0)
        p->zstd = j->zstd;
    if (from->ktype != t->x.ktype) {
        t->k.n = 0;
        rows_convert(&t->k, p->k, from->ktype, t->x.ktype, l->heads * l->dk, n);
        p->k = t->k.p;
        p->nk = t->k.n;
    }
    if (from->vtype != t->x.vtype) {
        t->v.n = 0;
        rows_convert(&t->v, p->v, from->vtype, t->x.vtype, l->heads * l->dv, n);
        p->v = t->v.p;
        p->nv = t->v.n;
    }
}

static int page(struct stream *s, struct state *t, struct kv_page *p,
                struct err *e)
{
    if (p->pos >= t->x.n)
        return 0;
    change_page(s->job, t, p);
    if (t->out)
        return kv_writer_page(t->out, p, e);
    if (s->job->values)
        show_values(s->job, &t->x, t->seq, p);
    else
        shown_page(t->shown, p);
    return 0;
}

static int end(struct stream *s, struct state *t, struct err *e)
{
    int r = 0;

    if (t->out)
        r = kv_writer_end(t->out, e);
    else if (t->shown)
        shown_end(t->shown, s->name, t->seq);
    *find(s, t->seq) = t->next;
    free_state(t);
    return r;
}

static int kv(struct stream *s, const struct wire_rec *r, struct err *e)
{
    struct state *t = *find(s, r->seq);
    struct kv_page p;
    int got = 0;

    if (!t && !(t = begin(s, r->seq, e)))
        return -1;
    switch (kv_reader_add(t->in, &p, r, e)) {
    case KV_GOT_HEAD:
        got = head(s, t, e);
        break;
    case KV_GOT_PAGE:
        got = page(s, t, &p, e);
        break;
    case KV_GOT_END:
        return end(s, t, e);
    default:
        got = -1;
    }
    return got ? err_prefix(e, "sequence %llu", (unsigned long long)r->seq) : 0;
}

/* No state may be open where the stream ends. */
static int all_whole(struct stream *s, struct err *e)
{
    if (!s->open || !kv_reader_whole(s->open->in, e))
        return 0;
    return err_prefix(e, "sequence %llu", (unsigned long long)s->open->seq);
}

static int record(struct stream *s, const struct wire_rec *r, struct err *e)
{
    const struct job *j = s->job;

    if (r->kind == WIRE_HEADER && all_whole(s, e))
        return -1;
    if (j->one && r->has_seq && r->seq != j->seq)
        return 0;
    if (r->kind == WIRE_KV)
        return kv(s, r, e);
    if (j->format != WIRE_CBOR)
        return 0;
    /* What was said of tokens that are gone. */
    if (r->kind == WIRE_LOGITS && j->cut >= 0 &&
        r->logits.pos >= (uint64_t)j->cut)
        return 0;
    return wire_put(j->w, r, e);
}

int pass_file(void *pass, int fd, const char *name, struct err *e)
{
    struct pass *p = pass;
    struct stream s = {p, p->job, name, NULL};
    uint64_t before = p->states;
    struct wire_in *in;
    struct wire_rec r;
    int got;

    if (wire_in_open(&in, fd, name, e))
        return -1;
    while ((got = wire_next(in, &r, e)) > 0)
        if (record(&s, &r, e)) {
            err_prefix(e, "%s: record %llu", name,
                       (unsigned long long)r.number);
            break;
        }
    if (!got && all_whole(&s, e))
        got = err_prefix(e, "%s", name);
    if (!got && p->states == before && p->job->format != WIRE_CBOR)
        got = err_set(e, ERR_FORMAT, "%s: no KV state in it", name);
    wire_in_close(in);
    while (s.open) {
        struct state *t = s.open;

        s.open = t->next;
        free_state(t);
    }
    return got ? -1 : 0;
}
