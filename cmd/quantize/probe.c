/* SPDX-License-Identifier: MIT
 * probe.c - what the model's answers lose by a loss of its weights.
 *
 * Tensors of a name, in a part of the layers, are a group.  The model is run
 * with one group quantised, and all else as it was: the divergence that comes
 * of it, by the group's loss, is its price.  One more run has everything in
 * Q8_0, whose losses are next to nothing: what it loses comes of activations
 * that products with quantised weights round, too, and is counted as a loss
 * that every tensor has which is not of floats. */
#include <stdlib.h>
#include <string.h>

#include "cmd/quantize/quantize.h"

enum { GROUPS = 24 /* about */, PARTS = 3, MOST_GROUPS = 64 };
#define LEAST_KL 1e-9

static bool floats(uint32_t type)
{
    return type == GGUF_T_F32 || type == GGUF_T_F16 || type == GGUF_T_BF16;
}

/* ---- a model of other types ---- */

int probe_init(struct probe *b, const struct plan *p, const struct gguf *g,
               const struct job *j, const struct quantize_run *r, struct err *e)
{
    struct score_apart_config c = {
        .threads = j->threads, .window = 512, .batch = 2, .bos = -1};
    struct tok *tok;
    int64_t n;
    int rc;

    *b = (struct probe){.g = g, .p = p, .r = r};
    if (plan_copy(&b->trial, p, e) || tok_open(&tok, g, NULL, e))
        return -1;
    n = p->config.context;
    c.window = n > 1 && n < c.window ? (int)n : c.window;
    c.bos = tok_adds_bos(tok) ? tok_role(tok, TOK_BOS) : -1;
    rc = score_apart_new(&b->a, &c, e) || tokens_add(b->a, g, tok, j, e) ||
         score_apart_base(b->a, g, e);
    tok_close(tok);
    b->done = 1;
    return rc ? -1 : 0;
}

void probe_fini(struct probe *b)
{
    clear_progress();
    score_apart_free(b->a);
    plan_copy_fini(&b->trial);
}

int probe_run(struct score_mean *kl, struct probe *b, struct err *e)
{
    struct quantize_run quiet = *b->r;
    struct quantize_made made;
    struct gguf *g;
    int rc;

    quiet.progress = NULL;
    if (quantize_memory(&made, &b->trial, &quiet, e))
        return -1;
    rc = gguf_open_view(&g, b->g, made.tensor, made.n, e);
    if (!rc)
        rc = score_apart_from(kl, b->a, g, e);
    gguf_close(g);
    quantize_made_free(&made);
    b->done++;
    if (b->r->progress)
        b->r->progress(b->r->arg, (uint64_t)b->done,
                       (uint64_t)(b->all > b->done ? b->all : b->done));
    return rc;
}

static void keep_all(struct probe *b)
{
    for (size_t i = 0; i < b->trial.n; i++)
        b->trial.tensor[i].type = b->trial.tensor[i].t->type;
}

static void become(struct plan_tensor *k, uint32_t type)
{
    const struct gguf_type_info *t = gguf_type_info(type);

    k->type = type;
    k->bytes = k->t->ne[0] / t->elems * t->bytes * k->t->ne[1] * k->t->ne[2] *
               k->t->ne[3];
}

/* ---- groups ---- */

/* The name without its layer. */
static struct gguf_str kind(struct gguf_str name)
{
    size_t i = 4;

    if (plan_layer(name) < 0)
        return name;
    while (name.p[i] != '.')
        i++;
    return (struct gguf_str){name.p + i + 1, name.n - i - 1};
}

static bool same(struct gguf_str a, struct gguf_str b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* The last of them takes what there is no room for. */
static size_t group_of(struct kl_report *k, struct gguf_str name, int part,
                       int parts)
{
    for (size_t i = 0; i < k->ngroup; i++)
        if (same(k->group[i].name, name) && k->group[i].part == part)
            return i;
    if (k->ngroup < MOST_GROUPS)
        k->group[k->ngroup++] =
            (struct kl_group){.name = name, .part = part, .parts = parts};
    return k->ngroup - 1;
}

/* The group of each of M's rows. */
static int group_all(size_t *of, struct kl_report *k, const struct mix *m,
                     const struct plan *p)
{
    int64_t layers = 0;
    int parts;

    for (size_t i = 0; i < m->n; i++) {
        struct gguf_str name = p->tensor[m->row[i].tensor].t->name;

        group_of(k, kind(name), 0, 1);
        if (plan_layer(name) >= layers)
            layers = plan_layer(name) + 1;
    }
    parts = k->ngroup ? GROUPS / (int)k->ngroup : 1;
    parts = parts < 1 || layers < 2 * PARTS ? 1 : parts < PARTS ? parts : PARTS;
    k->ngroup = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct gguf_str name = p->tensor[m->row[i].tensor].t->name;
        int64_t at = plan_layer(name);

        of[i] = group_of(k, kind(name), at < 0 ? 0 : (int)(at * parts / layers),
                         at < 0 ? 1 : parts);
    }
    return 0;
}

/* ---- prices ---- */

/* Which type a group is tried with: about 4 bits, so that it can be told from
 * rounded activations, and is no other model yet.  -1: there is none that
 * loses anything. */
static int trial_type(const struct mix_row *r, const struct plan_tensor *k)
{
    double n = (double)(k->t->ne[0] * k->t->ne[1] * k->t->ne[2] * k->t->ne[3]);
    int at = -1;

    for (int i = 0; i < r->n; i++)
        if (!floats(r->type[i]) && r->loss[i] > 0 &&
            (at < 0 || (double)r->bytes[at] * 8 / n < 4.2))
            at = i;
    return at;
}

static int probe_group(struct kl_report *k, size_t group, const size_t *of,
                       const struct mix *m, struct probe *b, struct err *e)
{
    struct kl_group *to = &k->group[group];
    struct score_mean kl;

    keep_all(b);
    for (size_t i = 0; i < m->n; i++) {
        const struct mix_row *r = &m->row[i];
        struct plan_tensor *t = &b->trial.tensor[r->tensor];
        int at = of[i] == group ? trial_type(r, t) : -1;

        if (at < 0)
            continue;
        become(t, r->type[at]);
        to->loss += r->loss[at];
        to->n++;
    }
    if (!to->n)
        return 0;
    if (probe_run(&kl, b, e))
        return -1;
    to->kl = kl.mean > LEAST_KL ? kl.mean : LEAST_KL;
    return 0;
}

/* Everything in Q8_0: its loss, by group, is what the groups have; *KL. */
static int probe_floor(double *kl, const struct mix *m, struct probe *b,
                       struct err *e)
{
    struct score_mean mean;

    keep_all(b);
    for (size_t i = 0; i < m->n; i++) {
        struct plan_tensor *t = &b->trial.tensor[m->row[i].tensor];

        if (floats(t->t->type) && t->t->ne[0] % 32 == 0)
            become(t, GGUF_T_Q8_0);
    }
    if (probe_run(&mean, b, e))
        return -1;
    *kl = mean.mean;
    return 0;
}

/* Prices and the loss by activations depend on each other. */
static void solve(struct kl_report *k, const struct mix *m, const size_t *of,
                  double floor_kl)
{
    for (int turn = 0; turn < 30; turn++) {
        double all = 0;

        for (size_t i = 0; i < k->ngroup; i++) {
            struct kl_group *g = &k->group[i];
            double loss = g->loss + (double)g->n * k->floor;

            g->price = loss > 0 ? g->kl / loss : 0;
        }
        for (size_t i = 0; i < m->n; i++)
            if (floats(m->row[i].type[m->row[i].n - 1]))
                all += k->group[of[i]].price;
        k->floor = all > 0 && floor_kl > 0 ? floor_kl / all : 0;
    }
}

int probe_prices(struct mix *m, struct probe *b, struct kl_report *k,
                 struct err *e)
{
    size_t *of = calloc(m->n + 1, sizeof *of);
    double floor_kl = 0;
    int rc = 0;

    k->group = calloc(MOST_GROUPS + 1, sizeof *k->group);
    if (!of || !k->group) {
        free(of);
        return err_nomem(e);
    }
    group_all(of, k, m, b->p);
    b->all = (int)k->ngroup + 6;
    rc = probe_floor(&floor_kl, m, b, e);
    for (size_t i = 0; !rc && i < k->ngroup; i++)
        rc = probe_group(k, i, of, m, b, e);
    if (!rc)
        solve(k, m, of, floor_kl);
    for (size_t i = 0; !rc && i < m->n; i++) {
        struct mix_row *r = &m->row[i];

        for (int t = 0; t < r->n; t++)
            r->loss[t] = k->group[of[i]].price *
                         (r->loss[t] + (floats(r->type[t]) ? 0 : k->floor));
        mix_hull(r);
    }
    free(of);
    return rc;
}
