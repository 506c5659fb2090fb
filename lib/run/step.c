/* SPDX-License-Identifier: MIT */
#include "run/step.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct step {
    struct model *m;
    struct kv *kv;
    int32_t *tok, *pos, *seq, *type; /* [cap], one allocation from TOK */
    uint8_t *want;
    int cap;
    int32_t *pages[BE_MAX_GROUPS]; /* [nrow][npage] */
    float *scale;                  /* [nrow][model_adapters()] */
    int nrow;
    const float *logits; /* of the last step_run() */
};

struct step *step_new(struct model *m, struct kv *kv, struct err *e)
{
    struct step *s = calloc(1, sizeof *s);

    if (!s) {
        err_nomem(e);
        return NULL;
    }
    s->m = m;
    s->kv = kv;
    return s;
}

void step_free(struct step *s)
{
    if (!s)
        return;
    free(s->tok);
    free(s->want);
    for (int g = 0; g < BE_MAX_GROUPS; g++)
        free(s->pages[g]);
    free(s->scale);
    free(s);
}

static int more_columns(struct step *s, int n, struct err *e)
{
    int32_t *p;
    uint8_t *w;

    if (n <= s->cap)
        return 0;
    p = realloc(s->tok, (size_t)n * 4 * sizeof *p);
    if (!p)
        return err_nomem(e);
    s->tok = p;
    w = realloc(s->want, (size_t)n);
    if (!w)
        return err_nomem(e);
    s->want = w;
    s->pos = p + n;
    s->seq = p + 2 * (size_t)n;
    s->type = p + 3 * (size_t)n;
    s->cap = n;
    return 0;
}

static int more_rows(struct step *s, int n, struct err *e)
{
    if (n <= s->nrow)
        return 0;
    for (int g = 0; g < kv_ngroup(s->kv); g++) {
        size_t row = (size_t)kv_npage(s->kv, g) * sizeof(int32_t);
        int32_t *p = realloc(s->pages[g], (size_t)n * row + 1);

        if (!p)
            return err_nomem(e);
        s->pages[g] = p;
    }
    if (model_adapters(s->m)) {
        float *p = realloc(s->scale, (size_t)n * sizeof *p *
                                         (size_t)model_adapters(s->m));

        if (!p)
            return err_nomem(e);
        s->scale = p;
    }
    s->nrow = n;
    return 0;
}

/* The columns of PART, the Ith, from column C on. */
static void fill(struct step *s, const struct step_part *part, int i, int c)
{
    const float *scale = kv_seq_scale(part->seq);
    int at = kv_seq_n(part->seq), n = model_adapters(s->m);

    for (int j = 0; j < part->n; j++) {
        s->tok[c + j] = part->tok[j];
        s->pos[c + j] = at + j;
        s->seq[c + j] = i;
        s->type[c + j] = part->type ? part->type[j] : 0;
        bool want = part->want == STEP_ALL ||
                    (part->want == STEP_FIRST && !j) ||
                    (part->want == STEP_LAST && j == part->n - 1);

        s->want[c + j] = want ? part->best ? 2 : 1 : 0;
    }
    for (int k = 0; k < n; k++)
        s->scale[i * n + k] = scale ? scale[k] : 0;
    /* Tables have room for the longest sequence; only what is there is read. */
    for (int g = 0; g < kv_ngroup(s->kv); g++) {
        size_t row = (size_t)kv_npage(s->kv, g);
        size_t used = ((size_t)at + (size_t)part->n + BE_PAGE - 1) / BE_PAGE;

        memcpy(s->pages[g] + (size_t)i * row, kv_seq_pages(part->seq, g),
               used * sizeof(int32_t));
    }
}

int step_run(struct step *s, const struct step_part *part, int npart,
             const float **logits, struct err *e)
{
    struct be_step b = {0};
    int ncol = 0;

    *logits = NULL;
    for (int i = 0; i < npart; i++)
        ncol += part[i].n;
    if (more_columns(s, ncol, e) || more_rows(s, npart, e))
        return -1;
    for (int i = 0; i < npart; i++)
        if (kv_seq_reserve(part[i].seq, part[i].n, e))
            return -1;
    ncol = 0;
    for (int i = 0; i < npart; i++) {
        fill(s, &part[i], i, ncol);
        ncol += part[i].n;
    }
    b.ncol = ncol;
    b.tok = s->tok;
    b.pos = s->pos;
    b.seq = s->seq;
    b.type = s->type;
    b.want = s->want;
    b.scale = s->scale;
    for (int g = 0; g < kv_ngroup(s->kv); g++) {
        b.pages[g] = s->pages[g];
        b.npage[g] = kv_npage(s->kv, g);
    }
    if (ncol && be_run(model_be(s->m), model_plan(s->m), &b, logits, e))
        return -1;
    s->logits = *logits;
    for (int i = 0; i < npart; i++)
        if (!part[i].forget)
            kv_seq_commit(part[i].seq, part[i].tok, part[i].n);
    return 0;
}

bool step_exact(const struct step *s, uint32_t id)
{
    return be_exact(model_be(s->m), model_plan(s->m), (int)id);
}

const float *step_peaks(const struct step *s, const float *logits)
{
    int n = model_n_vocab(s->m);

    return be_peaks(model_be(s->m), model_plan(s->m)) +
           (size_t)(logits - s->logits) / (size_t)n * be_peaks_n(n);
}

int step_begin(struct kv *kv, struct kv_seq **s, const int32_t *t, int n,
               struct err *e)
{
    int same = 0, have = *s ? kv_seq_n(*s) : 0;
    struct kv_seq *new;

    while (same < have && same < n - 1 && kv_seq_tokens(*s)[same] == t[same])
        same++;
    if (same && (same == have || !kv_seq_cut(*s, same)))
        return 0;
    new = *s ? kv_seq_like(*s) : kv_seq_new(kv);
    if (!new)
        return err_nomem(e);
    kv_seq_free(*s);
    *s = new;
    kv_seq_match(*s, t, n);
    return 0;
}

int step_check(const struct model *m, const int32_t *t, int n, int most,
               struct err *e)
{
    if (most && n > most)
        return err_set(e, ERR_CONTEXT,
                       "the prompt's %d tokens are more than the context of %d",
                       n, most);
    for (int i = 0; i < n; i++)
        if (t[i] < 0 || t[i] >= model_n_vocab(m))
            return err_set(e, ERR_FORMAT, "token %u is none of the model's %d",
                           (unsigned)t[i], model_n_vocab(m));
    return 0;
}
