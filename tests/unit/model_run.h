/* SPDX-License-Identifier: MIT
 * model_run.h - for tests: a model run on one sequence, whose pages of K and V
 * are all kept and stand in order. */
#ifndef LLM_TESTS_MODEL_RUN_H
#define LLM_TESTS_MODEL_RUN_H

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

struct runner {
    struct be *be;
    struct model *m;
    int npage, ngroup;
    int32_t *pages;
    const int32_t *type; /* of the next step's tokens; NULL: all 0 */
};

static inline void runner_close(struct runner *r)
{
    model_close(r->m);
    be_close(r->be);
    free(r->pages);
    memset(r, 0, sizeof *r);
}

/* One group for each window that the layers have. */
static inline int runner_kv(struct runner *r, struct err *e)
{
    const struct kv_config *c = model_kv(r->m);
    int window[BE_MAX_GROUPS];
    struct be_kv_layer *y = calloc((size_t)c->nlayer, sizeof *y);
    struct be_kv_spec s = {
        .nlayer = c->nlayer, .layer = y, .ktype = c->ktype, .vtype = c->vtype};
    int r_;

    for (int l = 0; l < c->nlayer; l++) {
        int g = 0;

        while (g < s.ngroup && window[g] != c->layer[l].window)
            g++;
        if (g == BE_MAX_GROUPS) {
            free(y);
            return err_set(e, ERR_UNSUPPORTED, "too many windows");
        }
        window[g] = c->layer[l].window;
        s.ngroup = g < s.ngroup ? s.ngroup : g + 1;
        y[l] = (struct be_kv_layer){g, c->layer[l].heads, c->layer[l].dk,
                                    c->layer[l].dv};
    }
    for (int g = 0; g < s.ngroup; g++)
        s.npages[g] = r->npage;
    r->ngroup = s.ngroup;
    r_ = be_kv_init(r->be, &s, e);
    free(y);
    return r_;
}

struct runner_opts {
    int threads;
    unsigned cpu_mask;
    enum kern_kv kv;
    int context, room; /* ROOM: positions kept, when not all of the context */
    bool embed;
};

static inline int runner_open(struct runner *r, const struct gguf *g,
                              const struct runner_opts *o, struct err *e)
{
    struct be_opts bo = {
        .threads = o->threads, .cpu_mask = o->cpu_mask, .pack = true};
    struct model_opts mo = {.context = o->context,
                            .ktype = o->kv,
                            .vtype = o->kv,
                            .embed = o->embed};
    int room;

    memset(r, 0, sizeof *r);
    if (be_open(&r->be, "cpu", &bo, e) || model_open(&r->m, g, r->be, &mo, e))
        goto bad;
    room = o->room ? o->room : model_context(r->m);
    r->npage = (room + BE_PAGE - 1) / BE_PAGE;
    r->pages = calloc((size_t)r->npage, sizeof *r->pages);
    for (int i = 0; i < r->npage; i++)
        r->pages[i] = i;
    if (!runner_kv(r, e))
        return 0;
bad:
    runner_close(r);
    return -1;
}

/* Tokens T[N] at positions POS and on; LOGITS[N][model_width()], or the last
 * one's alone, or NULL. */
enum runner_want { RUN_NONE, RUN_LAST, RUN_ALL };
static inline int runner_run(struct runner *r, const int32_t *t, int pos, int n,
                             enum runner_want want, float *logits,
                             struct err *e)
{
    size_t row = (size_t)model_width(r->m);
    int32_t *p = calloc((size_t)n, sizeof *p), *seq = calloc((size_t)n, 4);
    uint8_t *w = calloc((size_t)n, 1);
    struct be_step s = {
        .ncol = n, .tok = t, .pos = p, .seq = seq, .type = r->type, .want = w};
    const float *got = NULL;
    int bad;

    for (int g = 0; g < r->ngroup; g++) {
        s.pages[g] = r->pages;
        s.npage[g] = r->npage;
    }
    for (int i = 0; i < n; i++) {
        p[i] = pos + i;
        w[i] = want == RUN_ALL || (want == RUN_LAST && i == n - 1);
    }
    bad = be_run(r->be, model_plan(r->m), &s, &got, e);
    if (!bad && logits && want != RUN_NONE)
        memcpy(logits, got,
               row * (want == RUN_ALL ? (size_t)n : 1) * sizeof *logits);
    free(p);
    free(seq);
    free(w);
    return bad;
}

/* The same in chunks of STEP. */
static inline int runner_chunks(struct runner *r, const int32_t *t, int n,
                                int step, float *logits, struct err *e)
{
    size_t row = (size_t)model_width(r->m);

    for (int i = 0; i < n; i += step)
        if (runner_run(r, t + i, i, n - i < step ? n - i : step, RUN_ALL,
                       logits + row * (size_t)i, e))
            return -1;
    return 0;
}

static inline int32_t runner_best(const float *v, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return best;
}

#endif
