/* SPDX-License-Identifier: MIT
 * held.c - tokens that wait until it is known what their text becomes. */
#include <stdlib.h>
#include <string.h>

#include "run/run_impl.h"

void held_drop(struct live *l, int n)
{
    while (n--)
        free(l->held[--l->nheld].top);
    l->held_text.n = l->nheld ? l->held[l->nheld - 1].end : 0;
}

int held_add(struct live *l, const struct sample_result *s,
             const struct buf *text, struct err *e)
{
    struct held *h;

    if (l->nheld == l->held_cap) {
        int cap = l->held_cap * 2 + 8;

        h = realloc(l->held, (size_t)cap * sizeof *h);
        if (!h)
            return err_nomem(e);
        l->held = h;
        l->held_cap = cap;
    }
    buf_put(&l->held_text, text->p, text->n);
    h = &l->held[l->nheld];
    *h = (struct held){s->id, s->lp, l->held_text.n, NULL, s->ntop};
    if (s->ntop) {
        h->top = malloc((size_t)s->ntop * sizeof *h->top);
        if (!h->top)
            return err_nomem(e);
        memcpy(h->top, s->top, (size_t)s->ntop * sizeof *h->top);
    }
    l->nheld++;
    return buf_ok(&l->held_text, e);
}

enum { MOST_PAST = 16384 };

/* BYTES of the text were shown. */
static int remember(struct live *l, size_t bytes, struct err *e)
{
    struct buf *p = &l->past;

    if (l->ends.n == l->nstop)
        return 0;
    buf_put(p, l->held_text.p, bytes);
    if (p->n > 2 * MOST_PAST) {
        memmove(p->p, p->p + p->n - MOST_PAST, MOST_PAST);
        p->n = MOST_PAST;
    }
    l->past_from = p->n;
    return buf_ok(p, e);
}

/* The first N are shown. */
static int forget(struct live *l, int n, size_t bytes, struct err *e)
{
    if (bytes > l->held_text.n)
        bytes = l->held_text.n;
    for (int i = 0; i < n; i++)
        free(l->held[i].top);
    memmove(l->held, l->held + n, (size_t)(l->nheld - n) * sizeof *l->held);
    l->nheld -= n;
    if (bytes && remember(l, bytes, e))
        return -1;
    memmove(l->held_text.p, l->held_text.p + bytes, l->held_text.n - bytes);
    l->held_text.n -= bytes;
    for (int i = 0; i < l->nheld; i++)
        l->held[i].end -= bytes;
    l->backs = 0;
    return 0;
}

int held_show(struct live *l, size_t shown, bool cut, run_event_fn *fn,
              void *arg, struct err *e)
{
    size_t from = 0;
    int n = 0;

    for (; n < l->nheld; n++) {
        struct held *h = &l->held[n];
        size_t to = h->end > shown ? shown : h->end;
        struct run_event ev = {.kind = RUN_TOKEN,
                               .seq = l->q.seq,
                               .data = l->q.data,
                               .id = h->id,
                               .text = (char *)l->held_text.p + from,
                               .ntext = to - from,
                               .has_lp = l->q.logprobs >= 0,
                               .lp = h->lp,
                               .top = h->top,
                               .ntop = h->ntop};

        if (h->end > shown && !(cut && from < shown))
            break;
        if (fn(arg, &ev, e))
            return -1;
        from = h->end;
    }
    return n ? forget(l, n, from, e) : 0;
}

void held_revive(struct live *l)
{
    int hit;

    l->past_from =
        stop_scan(&l->ends, (char *)l->past.p, l->past.n, true, &hit);
}

int held_scan(struct run *r, struct live *l, bool more, size_t *at, int *hit,
              struct err *e)
{
    size_t before = l->past.n - l->past_from, n;
    const struct buf *b = &l->held_text;

    if (before) {
        b = &r->joined;
        r->joined.n = 0;
        buf_put(&r->joined, l->past.p + l->past_from, before);
        buf_put(&r->joined, l->held_text.p, l->held_text.n);
        if (buf_ok(b, e))
            return -1;
    }
    n = stop_scan(&l->ends, (char *)b->p, b->n, more, hit);
    *at = n > before ? n - before : 0;
    if (n >= before)
        l->past_from = l->past.n;
    return 0;
}
