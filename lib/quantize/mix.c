/* SPDX-License-Identifier: MIT */
#include "quantize/mix.h"

#include <stdlib.h>

static const uint32_t choices[MIX_NTYPE - 1] = {
    GGUF_T_Q2_K, GGUF_T_Q3_K, GGUF_T_IQ4_XS, GGUF_T_IQ4_NL,
    GGUF_T_Q4_K, GGUF_T_Q4_1, GGUF_T_Q5_0,   GGUF_T_Q5_K,
    GGUF_T_Q5_1, GGUF_T_Q6_K, GGUF_T_Q8_0,   GGUF_T_F16,
};

void mix_fini(struct mix *m)
{
    free(m->row);
    *m = (struct mix){0};
}

/* Keep the lower convex hull of loss over bytes: what remains is worth taking
 * in order, each step buying less than the one before. */
void mix_hull(struct mix_row *r)
{
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        while (n && r->loss[n - 1] >= r->loss[i] &&
               r->bytes[n - 1] >= r->bytes[i])
            n--;
        if (n && r->loss[i] >= r->loss[n - 1])
            continue;
        while (n > 1) {
            double a = (r->loss[n - 2] - r->loss[n - 1]) /
                       (double)(r->bytes[n - 1] - r->bytes[n - 2]);
            double b = (r->loss[n - 1] - r->loss[i]) /
                       (double)(r->bytes[i] - r->bytes[n - 1]);

            if (a > b)
                break;
            n--;
        }
        r->type[n] = r->type[i];
        r->bytes[n] = r->bytes[i];
        r->loss[n++] = r->loss[i];
    }
    r->n = n;
}

static void insert(struct mix_row *r, uint32_t type, uint64_t bytes,
                   double loss)
{
    int i = r->n++;

    for (; i && r->bytes[i - 1] > bytes; i--) {
        r->type[i] = r->type[i - 1];
        r->bytes[i] = r->bytes[i - 1];
        r->loss[i] = r->loss[i - 1];
    }
    r->type[i] = type;
    r->bytes[i] = bytes;
    r->loss[i] = loss;
}

static int measure_type(struct mix_row *row, const struct plan_tensor *k,
                        uint32_t type, const struct quantize_run *r,
                        struct err *e)
{
    const struct gguf_type_info *to = gguf_type_info(type);
    const struct gguf_tensor *t = k->t;
    double loss;

    if (t->ne[0] % to->elems)
        return 0;
    if (quantize_measure(&loss, k, type, r, e))
        return -1;
    insert(row, type,
           t->ne[0] / to->elems * to->bytes * t->ne[1] * t->ne[2] * t->ne[3],
           loss);
    return 0;
}

static int measure_row(struct mix_row *row, const struct plan_tensor *k,
                       const struct quantize_run *r, struct err *e)
{
    bool had = false;

    for (int i = 0; i < MIX_NTYPE - 1; i++) {
        had |= choices[i] == k->t->type;
        if (measure_type(row, k, choices[i], r, e))
            return -1;
    }
    if (!had && measure_type(row, k, k->t->type, r, e))
        return -1;
    mix_hull(row);
    return 0;
}

int mix_measure(struct mix *m, const struct plan *p,
                const struct plan_want *want, const struct quantize_run *r,
                struct err *e)
{
    *m = (struct mix){.row = calloc(p->n + 1, sizeof *m->row)};
    if (!m->row)
        return err_nomem(e);
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_tensor *k = &p->tensor[i];
        struct mix_row *row = &m->row[m->n];

        if (!plan_free(k, want)) {
            m->rest += k->bytes;
            continue;
        }
        row->tensor = i;
        if (measure_row(row, k, r, e))
            return -1;
        m->n++;
        if (r->progress)
            r->progress(r->arg, i, p->n);
    }
    return 0;
}

/* A step of row ROW from TAKEN to TAKEN + 1, and what it buys for a byte. */
struct step {
    size_t row;
    int from;
    double gain;
};

static int by_gain(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->from - y->from;
}

/* Take the smallest types; *STEP are those from there on, the best first, *N of
 * them. */
static int steps(struct step **step, size_t *n, struct mix *m, struct err *e)
{
    *n = 0;
    *step = calloc(m->n * MIX_NTYPE + 1, sizeof **step);
    if (!*step)
        return err_nomem(e);
    for (size_t i = 0; i < m->n; i++) {
        struct mix_row *r = &m->row[i];

        r->taken = 0;
        for (int k = 0; k + 1 < r->n; k++)
            (*step)[(*n)++] =
                (struct step){i, k,
                              (r->loss[k] - r->loss[k + 1]) /
                                  (double)(r->bytes[k + 1] - r->bytes[k])};
    }
    qsort(*step, *n, sizeof **step, by_gain);
    return 0;
}

double mix_loss(const struct mix *m)
{
    double loss = 0;

    for (size_t i = 0; i < m->n; i++)
        loss += m->row[i].loss[m->row[i].taken];
    return loss;
}

uint64_t mix_bytes(const struct mix *m)
{
    uint64_t bytes = m->rest;

    for (size_t i = 0; i < m->n; i++)
        bytes += m->row[i].bytes[m->row[i].taken];
    return bytes;
}

int mix_choose(struct mix *m, uint64_t bytes, struct err *e)
{
    struct step *step;
    uint64_t used;
    size_t n;

    if (steps(&step, &n, m, e))
        return -1;
    used = mix_bytes(m);
    if (used > bytes) {
        free(step);
        return err_set(e, ERR_UNSUPPORTED,
                       "the tensors take at least %llu bytes",
                       (unsigned long long)used);
    }
    for (size_t i = 0; i < n; i++) {
        struct mix_row *r = &m->row[step[i].row];
        uint64_t more = r->bytes[step[i].from + 1] - r->bytes[step[i].from];

        /* What no longer fits is left out, and its later steps with it. */
        if (r->taken != step[i].from || more > bytes - used)
            continue;
        r->taken++;
        used += more;
    }
    free(step);
    return 0;
}

int mix_within(struct mix *m, double loss, struct err *e)
{
    struct step *step;
    double have;
    size_t n, i;

    if (steps(&step, &n, m, e))
        return -1;
    have = mix_loss(m);
    for (i = 0; i < n && have > loss; i++) {
        struct mix_row *r = &m->row[step[i].row];

        have -= r->loss[step[i].from] - r->loss[step[i].from + 1];
        r->taken++;
    }
    /* The last step was the one that was needed: some before it may not have
     * been. */
    while (i--) {
        struct mix_row *r = &m->row[step[i].row];
        int from = step[i].from;

        if (r->taken != from + 1 ||
            have + (r->loss[from] - r->loss[from + 1]) > loss)
            continue;
        have += r->loss[from] - r->loss[from + 1];
        r->taken--;
    }
    free(step);
    return 0;
}

int mix_apply(const struct mix *m, struct plan *p, const struct quantize *q,
              const struct plan_want *want, struct err *e)
{
    for (size_t i = 0; i < m->n; i++)
        if (plan_set(p, &p->tensor[m->row[i].tensor],
                     m->row[i].type[m->row[i].taken], q, want, e))
            return -1;
    return 0;
}
