/* SPDX-License-Identifier: MIT
 * search.c - types by what the model's answers lose: a mix by prices, measured,
 * and another one where it came out otherwise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/quantize/quantize.h"

enum { ROUNDS = 8 };

/* A mix that was tried. */
struct tried {
    double wanted, predicted; /* what it was to cost, and seemed to */
    struct score_mean kl;
    uint64_t bytes;
    int *taken; /* of each row */
};

struct search {
    struct probe b;
    struct mix m;
    const struct job *j;
    struct tried tried[ROUNDS + 1];
    int n;
};

static void search_fini(struct search *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->tried[i].taken);
    mix_fini(&s->m);
    probe_fini(&s->b);
}

/* Was the mix that is taken tried before? */
static const struct tried *known(const struct search *s)
{
    for (int i = 0; i < s->n; i++) {
        size_t k = 0;

        while (k < s->m.n && s->tried[i].taken[k] == s->m.row[k].taken)
            k++;
        if (k == s->m.n)
            return &s->tried[i];
    }
    return NULL;
}

/* Measure the mix that is taken. */
static int try_mix(struct search *s, double wanted, struct err *e)
{
    struct tried *t = &s->tried[s->n];

    *t = (struct tried){.wanted = wanted,
                        .predicted = mix_loss(&s->m),
                        .bytes = mix_bytes(&s->m),
                        .taken = calloc(s->m.n + 1, sizeof *t->taken)};
    if (!t->taken)
        return err_nomem(e);
    s->n++;
    for (size_t i = 0; i < s->m.n; i++)
        t->taken[i] = s->m.row[i].taken;
    memcpy(s->b.trial.tensor, s->b.p->tensor,
           s->b.p->n * sizeof *s->b.trial.tensor);
    if (mix_apply(&s->m, &s->b.trial, s->b.r->q, &s->j->want, e))
        return -1;
    return probe_run(&t->kl, &s->b, e);
}

/* The smallest that is within the bound, or NULL. */
static const struct tried *smallest(const struct search *s, double bound)
{
    const struct tried *best = NULL;

    for (int i = 0; i < s->n; i++)
        if (s->tried[i].kl.mean <= bound &&
            (!best || s->tried[i].bytes < best->bytes))
            best = &s->tried[i];
    return best;
}

static const struct tried *least(const struct search *s)
{
    const struct tried *best = &s->tried[0];

    for (int i = 1; i < s->n; i++)
        if (s->tried[i].kl.mean < best->kl.mean)
            best = &s->tried[i];
    return best;
}

/* What the next mix should cost by its prices, so that it comes near the bound:
 * on the line, of logarithms, through the nearest of each side; where there is
 * but one side, as much more or less as the last one missed it. */
static double next_wanted(const struct search *s, double bound)
{
    const struct tried *below = NULL, *above = NULL;
    double x, y;

    for (int i = 0; i < s->n; i++) {
        const struct tried *t = &s->tried[i];

        if (t->kl.mean <= bound && (!below || t->predicted > below->predicted))
            below = t;
        if (t->kl.mean > bound && (!above || t->predicted < above->predicted))
            above = t;
    }
    if (!below || !above || !(below->kl.mean > 0) || !(below->predicted > 0) ||
        above->predicted <= below->predicted) {
        const struct tried *t = below ? below : above;
        double by = t->kl.mean > 0 ? bound / t->kl.mean : 4;

        /* A little more than seems needed, to come to the other side. */
        by = below ? by * 1.02 : by * 0.98;
        return t->predicted * (by < 0.125 ? 0.125 : by > 4 ? 4 : by);
    }
    y = (log(bound * 0.995) - log(below->kl.mean)) /
        (log(above->kl.mean) - log(below->kl.mean));
    x = log(below->predicted) +
        y * (log(above->predicted) - log(below->predicted));
    return exp(x);
}

/* Is there little left to gain: GOOD, the smallest so far, comes near the
 * bound, or one that is hardly smaller was beyond it? */
static bool enough(const struct search *s, const struct tried *good,
                   double bound)
{
    if (!good)
        return false;
    for (int i = 0; i < s->n; i++)
        if (s->tried[i].kl.mean > bound &&
            (double)s->tried[i].bytes >= 0.995 * (double)good->bytes)
            return true;
    return good->kl.mean >= 0.98 * bound;
}

/* The smallest mix within the bound. */
static int within(struct search *s, const struct tried **best, struct err *e)
{
    double bound = (double)s->j->max_kl, wanted = bound;

    while (s->n < ROUNDS) {
        const struct tried *good = smallest(s, bound);

        if (enough(s, good, bound))
            break;
        if (s->n)
            wanted = next_wanted(s, bound);
        if (mix_within(&s->m, wanted, e))
            return -1;
        if (known(s)) {
            if (good)
                break;
            /* What loses least is left to try. */
            if (mix_within(&s->m, 0, e))
                return -1;
            if (known(s))
                break;
        }
        if (try_mix(s, wanted, e))
            return -1;
    }
    *best = smallest(s, bound);
    if (!*best) {
        if (mix_within(&s->m, 0, e) || (!known(s) && try_mix(s, 0, e)))
            return -1;
        *best = smallest(s, bound);
    }
    if (!*best)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: no mix of types loses as little as %g: the best "
                       "has %.4g",
                       gguf_path(s->b.g), bound, least(s)->kl.mean);
    return 0;
}

/* What loses least in so many bytes: by prices, or by the sum of losses, which
 * is in PLAIN. */
static int fitting(struct search *s, const struct mix *plain,
                   const struct tried **best, uint64_t bytes, struct err *e)
{
    double bound = (double)s->j->max_kl;

    if (mix_choose(&s->m, bytes, e) || try_mix(s, 0, e))
        return -1;
    for (size_t i = 0; i < s->m.n; i++) {
        struct mix_row *r = &s->m.row[i];
        const struct mix_row *o = &plain->row[i];

        for (int k = 0; k < r->n; k++)
            if (r->type[k] == o->type[o->taken])
                r->taken = k;
    }
    if (mix_bytes(&s->m) <= bytes && !known(s) && try_mix(s, 0, e))
        return -1;
    *best = least(s);
    if (bound >= 0 && (*best)->kl.mean > bound)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: in this size the least loss is %.4g, and not %g",
                       gguf_path(s->b.g), (*best)->kl.mean, bound);
    return 0;
}

/* A copy, whose choice is by losses of weights. */
static int plain_mix(struct mix *to, const struct mix *m, uint64_t bytes,
                     const char *path, struct err *e)
{
    *to = *m;
    to->row = calloc(m->n + 1, sizeof *to->row);
    if (!to->row)
        return err_nomem(e);
    memcpy(to->row, m->row, m->n * sizeof *m->row);
    return mix_choose(to, bytes, e) ? err_prefix(e, "%s", path) : 0;
}

static int choose(struct search *s, const struct tried **best,
                  const struct target *t, struct kl_report *k, struct err *e)
{
    struct mix plain = {0};
    uint64_t bytes = 0;
    int rc = 0;

    if (t)
        rc = fit_bytes(&bytes, s->b.p, s->b.g, t, s->j, e) ||
             plain_mix(&plain, &s->m, bytes, gguf_path(s->b.g), e);
    if (!rc)
        rc = probe_prices(&s->m, &s->b, k, e);
    if (!rc)
        rc = t ? fitting(s, &plain, best, bytes, e) : within(s, best, e);
    mix_fini(&plain);
    return rc ? -1 : 0;
}

int search_types(struct plan *p, const struct gguf *g, const struct target *t,
                 struct job *j, const struct quantize_run *r, struct err *e)
{
    struct search s = {.j = j};
    const struct tried *best;
    int rc = probe_init(&s.b, p, g, j, r, e) ||
             mix_measure(&s.m, p, &j->want, r, e) ||
             choose(&s, &best, t, &j->kl, e);

    if (!rc) {
        for (size_t i = 0; i < s.m.n; i++) {
            s.m.row[i].taken = best->taken[i];
            p->tensor[s.m.row[i].tensor].error =
                s.m.row[i].loss[best->taken[i]];
        }
        j->kl.kl = best->kl;
        j->kl.predicted = best->predicted;
        j->kl.tokens = score_apart_count(s.b.a);
        j->kl.rounds = s.n;
        rc = mix_apply(&s.m, p, r->q, &j->want, e);
    }
    search_fini(&s);
    return rc ? -1 : 0;
}

int search_measure(const struct plan *p, const struct gguf *g, struct job *j,
                   const struct quantize_run *r, struct err *e)
{
    struct probe b;
    int rc = probe_init(&b, p, g, j, r, e) || probe_run(&j->kl.kl, &b, e);

    if (!rc) {
        j->kl.tokens = score_apart_count(b.a);
        j->kl.predicted = -1;
    }
    probe_fini(&b);
    return rc ? -1 : 0;
}
