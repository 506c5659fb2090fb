/* SPDX-License-Identifier: MIT
 * seq.c - one sequence: what it was, and what comes next. */
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sample/sample.h"

/* The sequences of a stream, by number, and in a list to be freed. */
static struct seq *all;
static void *by_number;

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct seq *)a)->number;
    uint64_t y = ((const struct seq *)b)->number;

    return x < y ? -1 : x > y;
}

static void seq_free(struct seq *q)
{
    settings_fini(&q->set);
    sampler_free(q->sampler);
    free(q->past);
    free(q);
}

struct seq *seq_find(uint64_t number, const struct settings *common,
                     struct err *e)
{
    struct seq probe = {.number = number}, *q;
    struct seq **at = tfind(&probe, &by_number, compare);

    if (at || !common)
        return at ? *at : NULL;
    q = calloc(1, sizeof *q);
    if (!q) {
        err_nomem(e);
        return NULL;
    }
    q->number = number;
    if (settings_copy(&q->set, common, e) || !tsearch(q, &by_number, compare)) {
        err_nomem(e);
        seq_free(q);
        return NULL;
    }
    q->next = all;
    if (all)
        all->before = q;
    all = q;
    return q;
}

void seq_forget(struct seq *q)
{
    tdelete(q, &by_number, compare);
    if (q->before)
        q->before->next = q->next;
    else
        all = q->next;
    if (q->next)
        q->next->before = q->before;
    seq_free(q);
}

void seq_forget_all(void)
{
    while (all)
        seq_forget(all);
}

void seq_over(struct seq *q)
{
    settings_fini(&q->set);
    sampler_free(q->sampler);
    free(q->past);
    q->sampler = NULL;
    q->past = NULL;
    q->npast = q->cap = 0;
    q->over = true;
}

int seq_add(struct seq *q, const uint32_t *ids, size_t n, struct err *e)
{
    if (n > (size_t)INT32_MAX / 4 - q->npast)
        return err_set(e, ERR_FORMAT, "too many tokens");
    if (n > q->cap - q->npast) {
        size_t cap = q->npast + n + q->npast / 2 + 64;
        int32_t *p = realloc(q->past, cap * sizeof *p);

        if (!p)
            return err_nomem(e);
        q->past = p;
        q->cap = cap;
    }
    if (n)
        memcpy(q->past + q->npast, ids, n * sizeof *ids);
    q->npast += n;
    return 0;
}

static int make_sampler(struct seq *q, size_t n, struct err *e)
{
    const struct settings *set = &q->set;
    struct sample_opts o = set->w.sampling.o;
    size_t k = (size_t)o.nnever, more = set->w.ignore_eos ? set->eos.n : 0;
    uint32_t *never = malloc((k + more + 1) * sizeof *never);

    if (!never)
        return err_nomem(e);
    if (k)
        memcpy(never, o.never, k * sizeof *never);
    if (more)
        memcpy(never + k, set->eos.p, more * sizeof *never);
    o.never = never;
    o.nnever = (int)(k + more);
    q->n_vocab = n;
    q->sampler = sampler_new(&o, (int)n, e);
    free(never);
    if (q->sampler)
        return 0;
    /* The logits and the options do not fit each other. */
    if (e->code == ERR_USAGE)
        e->code = ERR_FORMAT;
    return -1;
}

static bool ends(const struct settings *set, uint32_t id)
{
    for (size_t i = 0; !set->w.ignore_eos && i < set->eos.n; i++)
        if (set->eos.p[i] == id)
            return true;
    return false;
}

int seq_draw(struct seq_token *t, const char **why, struct seq *q,
             const struct wire_rec *r, struct err *e)
{
    const struct settings *set = &q->set;
    struct sample_top top[WANTED_MAX_LOGPROBS];
    struct sample_result got = {
        .top = top, .ntop = set->w.logprobs > 0 ? set->w.logprobs : 0};
    uint64_t key = set->w.sampling.own_seed ? 0 : q->number;
    int64_t pos = q->npast ? (int64_t)q->npast - 1 : 0; /* unless it says so */

    *why = "length";
    if (set->w.count >= 0 && q->made >= (uint64_t)set->w.count)
        return 0;
    if (r->logits.n > INT32_MAX)
        return err_set(e, ERR_UNSUPPORTED, "too many logits");
    if (!q->sampler && make_sampler(q, r->logits.n, e))
        return -1;
    if (r->logits.n != q->n_vocab)
        return err_set(e, ERR_FORMAT, "%zu logits, and before that %zu",
                       r->logits.n, q->n_vocab);
    if (wire_get_int(&pos, r, "pos", 0, INT64_MAX, e) < 0 ||
        sampler_pick(q->sampler, &got, r->logits.v, key, (uint64_t)pos, q->past,
                     (int)q->npast, NULL, set->w.logprobs >= 0, e))
        return -1;
    if (ends(set, got.id)) {
        *why = "eos";
        return 0;
    }
    if (seq_add(q, &got.id, 1, e))
        return -1;
    q->made++;
    t->id = got.id;
    t->lp = got.lp;
    t->ntop = (size_t)got.ntop;
    for (size_t i = 0; i < t->ntop; i++)
        t->top[i] = (struct wire_top){top[i].id, top[i].lp};
    if (set->w.count < 0 || q->made < (uint64_t)set->w.count)
        *why = NULL;
    return 1;
}
