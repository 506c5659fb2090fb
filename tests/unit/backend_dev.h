/* SPDX-License-Identifier: MIT
 * backend_dev.h - for tests: a device that has a made model, with pages for
 * three sequences. */
#ifndef LLM_TESTS_BACKEND_DEV_H
#define LLM_TESTS_BACKEND_DEV_H

#include "tests/unit/backend_make.h"

enum { NPAGE = 40, ROW = 12 }; /* pages; of a sequence */

/* Sanitizers make plain C kernels too slow for all ways of running. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

struct dev {
    struct be *be;
    struct be_plan *plan;
    int32_t pages[2][3 * ROW]; /* of sequences 0, 1 and 2 */
    int npage, width;          /* of a result */
    const int32_t *type;       /* of the next step's columns */
};

static inline void dev_close(struct dev *d)
{
    be_plan_free(d->plan);
    be_close(d->be);
}

static inline int dev_weights(struct dev *d, const struct made *m,
                              struct be_op op[MAX_OPS], struct err *e)
{
    be_w id[MAX_TENSORS + 1] = {0};

    for (int i = 0; i < m->nt; i++) {
        id[i + 1] = be_weight(d->be, &m->t[i], m->use[i], e);
        if (!id[i + 1])
            return -1;
    }
    for (int i = 0; i < m->nop; i++) {
        op[i] = m->op[i];
        op[i].w = id[op[i].w];
        op[i].w2 = id[op[i].w2];
        op[i].w3 = id[op[i].w3];
        op[i].bias = id[op[i].bias];
        op[i].bias2 = id[op[i].bias2];
    }
    return 0;
}

static inline int dev_kv(struct dev *d, enum kern_kv kt, enum kern_kv vt,
                         struct err *e)
{
    struct be_kv_layer layer[LAYERS];
    struct be_kv_spec s = {.nlayer = LAYERS,
                           .layer = layer,
                           .ktype = kt,
                           .vtype = vt,
                           .ngroup = 2,
                           .npages = {NPAGE, NPAGE}};

    for (int l = 0; l < LAYERS; l++)
        layer[l] = (struct be_kv_layer){l == 1, KV_HEADS, HD, HD};
    return be_kv_init(d->be, &s, e);
}

static inline int dev_open(struct dev *d, const struct made *m,
                           const struct be_opts *o, enum kern_kv kt,
                           enum kern_kv vt, struct err *e)
{
    struct be_op op[MAX_OPS];
    struct be_plan_desc desc = m->desc;

    memset(d, 0, sizeof *d);
    d->width = desc.n_vocab;
    desc.op = op;
    /* In no order: that of pages is the caller's. */
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < 3 * ROW; i++)
            d->pages[g][i] = (i * 7 + 3 + g * 5) % (3 * ROW);
    if (be_open(&d->be, "cpu", o, e) || dev_weights(d, m, op, e) ||
        be_plan_new(&d->plan, d->be, &desc, e) || dev_kv(d, kt, vt, e)) {
        dev_close(d);
        return -1;
    }
    return 0;
}

/* Are the peaks of the logits X[n] what they should be? */
static inline bool good_peaks(const struct dev *d, const float *x, size_t n)
{
    const float *p = be_peaks(d->be, d->plan);

    for (size_t i = 0; i < n; i++, x += VOCAB, p += be_peaks_n(VOCAB))
        for (int k = 0; k < VOCAB; k += BE_PEAK) {
            float m = -INFINITY;
            bool bad = false;

            for (int j = k; j < k + BE_PEAK && j < VOCAB; j++) {
                m = x[j] > m ? x[j] : m;
                bad |= !(x[j] < INFINITY);
            }
            if (bad ? !isnan(p[k / BE_PEAK]) : p[k / BE_PEAK] != m)
                return false;
        }
    return true;
}

/* Columns of up to three sequences; LOGITS of those wanted. */
static inline int dev_run(struct dev *d, int n, const int32_t *tok,
                          const int32_t *pos, const int32_t *seq,
                          const uint8_t *want, float *logits, struct err *e)
{
    struct be_step s = {.ncol = n,
                        .tok = tok,
                        .pos = pos,
                        .seq = seq,
                        .type = d->type,
                        .pages = {d->pages[0], d->pages[1]},
                        .npage = {ROW, ROW},
                        .want = want};
    const float *got;
    size_t nwant = 0;

    if (be_run(d->be, d->plan, &s, &got, e))
        return -1;
    for (int i = 0; i < n; i++)
        nwant += want[i];
    if (!nwant != !got || (d->width == VOCAB && !good_peaks(d, got, nwant)))
        return -1;
    if (nwant)
        memcpy(logits, got, nwant * (size_t)d->width * sizeof *logits);
    return 0;
}

#endif
