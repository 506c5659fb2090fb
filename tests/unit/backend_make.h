/* SPDX-License-Identifier: MIT
 * backend_make.h - for tests: a small model that has every operation, in a
 * mapped file, from a seed; and its plan evaluated by plain loops in double. */
#ifndef LLM_TESTS_BACKEND_MAKE_H
#define LLM_TESTS_BACKEND_MAKE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/map.h"

enum {
    DIM = 96,
    HEADS = 6,
    KV_HEADS = 2,
    HD = 32,
    FF = 160,
    FFE = 64,
    EXPERTS = 5,
    USED = 2,
    VOCAB = 203,
    PLACES = 330, /* of a model that learned its positions */
    TYPES = 2,
    LAYERS = 3,
    WINDOW = 100,
    BLOCK = 640,
    MAX_TENSORS = 64,
    MAX_OPS = 96
};

struct made {
    char path[64];
    struct map map;
    struct be_tensor t[MAX_TENSORS];
    enum be_use use[MAX_TENSORS];
    char name[MAX_TENSORS][24];
    size_t at[MAX_TENSORS];
    int nt;
    unsigned char *bytes; /* while it is made */
    size_t n, cap;
    uint64_t rng;
    struct be_op op[MAX_OPS]; /* weights: index of the tensor + 1 */
    int nop;
    struct be_plan_desc desc;
    double freq[2][HD / 2];
    struct be_rope rope[2];
};

static inline uint32_t made_random(struct made *m)
{
    m->rng = m->rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->rng >> 33);
}

/* -1 to 1 */
static inline float made_float(struct made *m)
{
    return (float)made_random(m) * 0x1p-30f - 1;
}

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8 };

static inline void made_row(struct made *m, unsigned char *p, uint32_t type,
                            int n, float scale, float around)
{
    for (int i = 0; type == F32 && i < n; i++) {
        float f = around + scale * made_float(m);

        memcpy(p + 4 * i, &f, 4);
    }
    for (int i = 0; type == F16 && i < n; i++) /* 2^-6 to 2^-3, both signs */
        p[2 * i] = (unsigned char)made_random(m),
              p[2 * i + 1] = (unsigned char)((made_random(m) & 0x80) |
                                             (0x24 + made_random(m) % 12));
    for (int b = 0; (type == Q8_0 || type == Q4_0) && b < n / 32; b++) {
        int bytes = type == Q8_0 ? 34 : 18;

        for (int i = 2; i < bytes; i++)
            p[b * bytes + i] = (unsigned char)made_random(m);
        p[b * bytes] = (unsigned char)made_random(m);
        /* 2^-10 and about, or 2^-6 for the shorter integers */
        p[b * bytes + 1] = type == Q8_0 ? 0x14 : 0x24;
    }
}

static inline be_w made_add(struct made *m, const char *name, uint32_t type,
                            int n_in, int n_out, int n_mat, enum be_use use)
{
    size_t row = type == F32    ? (size_t)n_in * 4
                 : type == F16  ? (size_t)n_in * 2
                 : type == Q8_0 ? (size_t)n_in / 32 * 34
                                : (size_t)n_in / 32 * 18,
           n = row * (size_t)n_out * (size_t)n_mat;
    struct be_tensor *t = &m->t[m->nt];

    snprintf(m->name[m->nt], sizeof m->name[0], "%s.%d", name, m->nt);
    while (m->cap < m->n + n + 64) {
        m->cap = m->cap ? m->cap * 2 : 1 << 20;
        m->bytes = realloc(m->bytes, m->cap);
    }
    m->at[m->nt] = m->n;
    for (int i = 0; i < n_out * n_mat; i++)
        made_row(m, m->bytes + m->n + row * (size_t)i, type, n_in,
                 use == BE_VECTOR ? 0.1f : 0.25f,
                 use == BE_VECTOR && strstr(name, "norm") ? 1 : 0);
    m->n = (m->n + n + 31) / 32 * 32;
    *t = (struct be_tensor){.name = m->name[m->nt],
                            .type = type,
                            .n_in = n_in,
                            .n_out = n_out,
                            .n_mat = n_mat,
                            .bytes = n};
    m->use[m->nt] = use;
    return (be_w)++m->nt;
}

static inline struct be_op *made_op(struct made *m, enum be_opcode op,
                                    enum be_slot in, enum be_slot out)
{
    struct be_op *o = &m->op[m->nop++];

    *o = (struct be_op){
        .op = op, .in = in, .out = out, .act = BE_NOACT, .scale = 1};
    o->eps = 1e-5f;
    return o;
}

static inline be_w made_vec(struct made *m, const char *name, int n)
{
    return made_add(m, name, F32, n, 1, 1, BE_VECTOR);
}

static inline void made_attention(struct made *m, int l, uint32_t type)
{
    static const int out[] = {HEADS, KV_HEADS, KV_HEADS};
    struct be_op *o = made_op(m, BE_NORM, BE_X, BE_N);

    o->w = made_vec(m, "norm", DIM);
    if (l == 1) {
        o->flags = BE_LAYERNORM;
        o->bias = made_vec(m, "bias", DIM);
    }
    for (int i = 0; i < 3; i++) {
        o = made_op(m, BE_MUL, BE_N, (enum be_slot)(BE_Q + i));
        o->w = made_add(m, "qkv", type, DIM, out[i] * HD, 1, BE_MATRIX);
        if (l == 1)
            o->bias = made_vec(m, "bias", out[i] * HD);
    }
    for (int i = 0; i < 2 && l < 2; i++) { /* by head, or over all */
        o = made_op(m, BE_NORM_HEADS, BE_Q + i, BE_Q + i);
        o->heads = l ? 1 : out[i];
        o->head_dim = l ? out[i] * HD : HD;
        o->w = made_vec(m, "norm", o->head_dim);
    }
    for (int i = 0; i < 2; i++) {
        o = made_op(m, BE_ROPE, BE_Q + i, BE_Q + i);
        o->heads = out[i];
        o->head_dim = HD;
        o->rope = l == 2;
        o->flags = l == 1 ? BE_PAIRS : 0;
    }
    if (l == 2) {
        o = made_op(m, BE_SCALE_POS, BE_Q, BE_Q);
        o->period = 64;
        o->scale = 0.1f;
    }
    made_op(m, BE_STORE, BE_K, BE_V)->layer = l;
    o = made_op(m, BE_ATTEND, BE_Q, BE_ATT);
    o->layer = l;
    o->heads = HEADS;
    o->head_dim = HD;
    o->window = l == 1 ? WINDOW : 0;
    o->softcap = l == 2 ? 20 : 0;
    o->scale = 0.17f;
    o = made_op(m, BE_MUL, BE_ATT, l == 1 ? BE_TMP : BE_X);
    o->w = made_add(m, "out", type, HEADS * HD, DIM, 1, BE_MATRIX);
    o->flags = l == 1 ? 0 : BE_ACCUMULATE;
    o->scale = l == 1 ? 1 : 0.5f;
    if (l == 1) { /* a norm behind it */
        o = made_op(m, BE_NORM, BE_TMP, BE_X);
        o->w = made_vec(m, "norm", DIM);
        o->flags = BE_ACCUMULATE;
        o->scale = 0.7f;
    }
}

static inline void made_ffn(struct made *m, int l, uint32_t type)
{
    struct be_op *o = made_op(m, BE_NORM, BE_X, BE_N);

    o->w = made_vec(m, "norm", DIM);
    if (l == 2) {
        o = made_op(m, BE_ROUTE, BE_N, BE_N);
        o->w = made_add(m, "route", F32, DIM, EXPERTS, 1, BE_MATRIX);
        o->flags = BE_ROUTE_NORM;
        o->experts = EXPERTS;
        o->used = USED;
        o = made_op(m, BE_EXPERTS, BE_N, BE_X);
        o->w = made_add(m, "gates", type, DIM, FFE, EXPERTS, BE_MATRIX);
        o->w2 = made_add(m, "ups", type, DIM, FFE, EXPERTS, BE_MATRIX);
        o->w3 = made_add(m, "downs", F16, FFE, DIM, EXPERTS, BE_MATRIX);
        o->act = KERN_SILU;
        o->experts = EXPERTS;
        o->used = USED;
    }
    o = made_op(m, BE_GLU, BE_N, BE_MID);
    o->w = made_add(m, "gate", type, DIM, FF, 1, BE_MATRIX);
    o->w2 = made_add(m, "up", l == 1 ? F32 : type, DIM, FF, 1, BE_MATRIX);
    o->act = l == 1 ? KERN_GELU : KERN_SILU;
    if (l == 1) {
        o->bias = made_vec(m, "bias", FF);
        o->bias2 = made_vec(m, "bias", FF);
    }
    o = made_op(m, BE_MUL, BE_MID, l == 2 ? BE_TMP : BE_X);
    o->w = made_add(m, "down", type, FF, DIM, 1, BE_MATRIX);
    o->flags = l == 2 ? 0 : BE_ACCUMULATE;
    if (l == 2) {
        o = made_op(m, BE_GATE, BE_N, BE_TMP);
        o->w = made_add(m, "alone", F32, DIM, 1, 1, BE_MATRIX);
        made_op(m, BE_ADD, BE_TMP, BE_X)->scale = 0.9f;
    }
}

/* The head, or, of an encoder, a norm in place of the stream, which is the
 * result. */
static inline void made_head(struct made *m, uint32_t type, bool both)
{
    struct be_op *o = made_op(m, BE_NORM, BE_X, both ? BE_X : BE_N);

    o->w = made_vec(m, "norm", DIM);
    o = made_op(m, BE_LOGITS, both ? BE_X : BE_N, BE_N);
    if (both)
        return;
    o->w = made_add(m, "head", type, DIM, VOCAB, 1, BE_MATRIX);
    o->bias = made_vec(m, "bias", VOCAB);
    o->scale = 0.5f;
    o->softcap = 15;
}

/* Positions and types, and a norm of all that. */
static inline void made_places(struct made *m)
{
    struct be_op *o = made_op(m, BE_EMBED, BE_X, BE_X);

    o->w = made_add(m, "place", F16, DIM, PLACES, 1, BE_ROWS);
    o->flags = BE_BY_POSITION | BE_ACCUMULATE;
    o = made_op(m, BE_EMBED, BE_X, BE_X);
    o->w = made_add(m, "type", F32, DIM, TYPES, 1, BE_ROWS);
    o->flags = BE_BY_TYPE | BE_ACCUMULATE;
    o->scale = 0.5f;
    o = made_op(m, BE_NORM, BE_X, BE_X);
    o->flags = BE_LAYERNORM;
    o->w = made_vec(m, "norm", DIM);
    o->bias = made_vec(m, "bias", DIM);
}

static inline void made_plan(struct made *m, uint32_t type, bool both)
{
    static const int width[BE_NSLOT] = {
        [BE_X] = DIM,           [BE_N] = DIM,           [BE_Q] = HEADS * HD,
        [BE_K] = KV_HEADS * HD, [BE_V] = KV_HEADS * HD, [BE_ATT] = HEADS * HD,
        [BE_MID] = FF,          [BE_TMP] = DIM};
    struct be_op *o = made_op(m, BE_EMBED, BE_X, BE_X);

    o->w = made_add(m, "embed", type, DIM, VOCAB, 1, BE_ROWS);
    o->scale = 2;
    if (both)
        made_places(m);
    for (int l = 0; l < LAYERS; l++) {
        made_attention(m, l, type);
        made_ffn(m, l, type);
    }
    made_head(m, type, both);
    for (int i = 0; i < m->nop && both; i++)
        if (m->op[i].op == BE_ATTEND)
            m->op[i].flags |= BE_BOTH;
    for (int r = 0; r < 2; r++) {
        m->rope[r] =
            (struct be_rope){r ? HD / 4 : HD / 2, m->freq[r], r ? 1.1f : 1};
        for (int i = 0; i < HD / 2; i++)
            m->freq[r][i] = pow(r ? 1e5 : 1e4, -2.0 * i / HD);
    }
    m->desc = (struct be_plan_desc){.op = m->op,
                                    .nop = m->nop,
                                    .rope = m->rope,
                                    .nrope = 2,
                                    .n_vocab = both ? DIM : VOCAB,
                                    .block = both ? BLOCK : 0};
    memcpy(m->desc.width, width, sizeof width);
}

static inline void made_close(struct made *m)
{
    map_close(&m->map);
    if (m->path[0])
        unlink(m->path);
    free(m->bytes);
    free(m);
}

/* Weights of TYPE; BOTH: an encoder.  NULL when the file could not be
 * written. */
static inline struct made *made_model(uint32_t type, uint64_t seed, bool both)
{
    struct made *m = calloc(1, sizeof *m);
    int fd;

    m->rng = seed;
    made_plan(m, type, both);
    snprintf(m->path, sizeof m->path,
             "/tmp/llm-backend-XX"
             "XXXX");
    fd = mkstemp(m->path);
    if (fd < 0 || write(fd, m->bytes, m->n) != (ssize_t)m->n ||
        map_open(&m->map, m->path, NULL)) {
        made_close(m);
        return NULL;
    }
    close(fd);
    for (int i = 0; i < m->nt; i++)
        m->t[i].data = m->map.p + m->at[i];
    return m;
}

/* ---- plain loops ---- */

struct naive {
    const struct made *m;
    double *w[MAX_TENSORS]; /* every tensor as numbers */
    double *k[LAYERS], *v[LAYERS];
    double (*slot)[256], *share, *logits; /* of the position */
    int pos, n;
};

/* What is kept of a position. */
struct naive_col {
    double slot[BE_NSLOT][256], share[EXPERTS];
};

static inline double naive_act(int act, double x)
{
    if (act == KERN_SILU)
        return x / (1 + exp(-x));
    if (act == KERN_GELU)
        return 0.5 * x *
               (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

/* Row R of W times X, + BIAS. */
static inline double naive_dot(const struct naive *s, be_w w, be_w bias,
                               int64_t r, const double *x)
{
    int64_t n = s->m->t[w - 1].n_in;
    double y = bias ? s->w[bias - 1][r] : 0;

    for (int64_t i = 0; i < n; i++)
        y += s->w[w - 1][r * n + i] * x[i];
    return y;
}

static inline void naive_norm(const struct naive *s, const struct be_op *o,
                              double *y, const double *x, int n)
{
    const double *w = s->w[o->w - 1];
    double mean = 0, var = 0;

    for (int i = 0; i < n && o->flags & BE_LAYERNORM; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = ((x[i] - mean) / sqrt(var + (double)o->eps) * w[i] +
                (o->bias ? s->w[o->bias - 1][i] : 0)) *
               (double)o->scale;
}

static inline void naive_rope(struct naive *s, const struct be_op *o)
{
    const struct be_rope *r = &s->m->rope[o->rope];

    for (int h = 0; h < o->heads; h++)
        for (int i = 0; i < r->npair; i++) {
            double *x = s->slot[o->out] + h * HD,
                   *a = x + (o->flags & BE_PAIRS ? 2 * i : i),
                   *b = o->flags & BE_PAIRS ? a + 1 : a + r->npair,
                   c = cos(s->pos * r->freq[i]) * (double)r->mscale,
                   t = sin(s->pos * r->freq[i]) * (double)r->mscale, x0 = *a;

            *a = x0 * c - *b * t;
            *b = x0 * t + *b * c;
        }
}

static inline void naive_attend(struct naive *s, const struct be_op *o)
{
    int from = o->window && s->pos >= o->window ? s->pos - o->window + 1 : 0,
        to = s->pos, half = o->window / 2;

    if (o->flags & BE_BOTH) {
        from = o->window && s->pos > half ? s->pos - half : 0;
        to = o->window && s->pos + half < s->n ? s->pos + half : s->n - 1;
    }

    for (int h = 0; h < HEADS; h++) {
        int kv = h / (HEADS / KV_HEADS);
        double sum = 0, *y = s->slot[BE_ATT] + h * HD;

        memset(y, 0, HD * sizeof *y);
        for (int p = from; p <= to; p++) {
            const double *k = s->k[o->layer] + (p * KV_HEADS + kv) * HD,
                         *v = s->v[o->layer] + (p * KV_HEADS + kv) * HD;
            double a = 0;

            for (int i = 0; i < HD; i++)
                a += s->slot[BE_Q][h * HD + i] * k[i] * (double)o->scale;
            if (o->softcap != 0)
                a = (double)o->softcap * tanh(a / (double)o->softcap);
            sum += a = exp(a);
            for (int i = 0; i < HD; i++)
                y[i] += a * v[i];
        }
        for (int i = 0; i < HD; i++)
            y[i] /= sum;
    }
}

static inline void naive_route(struct naive *s, const struct be_op *o)
{
    double p[EXPERTS], sum = 0;

    memset(s->share, 0, EXPERTS * sizeof *s->share);
    for (int e = 0; e < EXPERTS; e++)
        p[e] = exp(naive_dot(s, o->w, 0, e, s->slot[o->in]));
    for (int j = 0; j < USED; j++) {
        int best = -1;

        for (int e = 0; e < EXPERTS; e++)
            if (s->share[e] == 0 && (best < 0 || p[e] > p[best]))
                best = e;
        s->share[best] = p[best];
        sum += p[best];
    }
    for (int e = 0; e < EXPERTS; e++)
        s->share[e] /= sum;
}

static inline void naive_experts(struct naive *s, const struct be_op *o)
{
    double in[DIM], mid[FFE];

    memcpy(in, s->slot[o->in], sizeof in);
    for (int e = 0; e < EXPERTS; e++) {
        if (s->share[e] == 0)
            continue;
        for (int i = 0; i < FFE; i++)
            mid[i] = naive_act(o->act, naive_dot(s, o->w, 0, e * FFE + i, in)) *
                     naive_dot(s, o->w2, 0, e * FFE + i, in);
        for (int i = 0; i < DIM; i++)
            s->slot[o->out][i] +=
                s->share[e] * naive_dot(s, o->w3, 0, e * DIM + i, mid);
    }
}

static inline void naive_mul(struct naive *s, const struct be_op *o)
{
    double in[256], *y = o->op == BE_LOGITS ? s->logits : s->slot[o->out];

    memcpy(in, s->slot[o->in], sizeof in);
    for (int r = 0; r < (int)s->m->t[o->w - 1].n_out; r++) {
        double a = naive_act(o->act, naive_dot(s, o->w, o->bias, r, in));

        if (o->op == BE_GLU)
            a *= naive_dot(s, o->w2, o->bias2, r, in);
        a *= (double)o->scale;
        if (o->op == BE_LOGITS)
            a = (double)o->softcap * tanh(a / (double)o->softcap);
        y[r] = o->flags & BE_ACCUMULATE && o->op == BE_MUL ? y[r] + a : a;
    }
}

static inline void naive_op(struct naive *s, const struct be_op *o, int tok,
                            int type)
{
    double y[256], a;
    int n = o->op == BE_NORM ? DIM : o->head_dim;
    int row = o->flags & BE_BY_POSITION ? s->pos
              : o->flags & BE_BY_TYPE   ? type
                                        : tok;

    if (o->op == BE_LOGITS && !o->w) {
        memcpy(s->logits, s->slot[o->in], DIM * sizeof *s->logits);
        return;
    }

    switch (o->op) {
    case BE_EMBED:
        for (int i = 0; i < DIM; i++)
            s->slot[o->out][i] =
                s->w[o->w - 1][row * DIM + i] * (double)o->scale +
                (o->flags & BE_ACCUMULATE ? s->slot[o->out][i] : 0);
        break;
    case BE_NORM:
        naive_norm(s, o, y, s->slot[o->in], n);
        for (int i = 0; i < n; i++)
            s->slot[o->out][i] =
                y[i] + (o->flags & BE_ACCUMULATE ? s->slot[o->out][i] : 0);
        break;
    case BE_NORM_HEADS:
        for (int h = 0; h < o->heads; h++)
            naive_norm(s, o, s->slot[o->out] + h * n, s->slot[o->out] + h * n,
                       n);
        break;
    case BE_ROPE:
        naive_rope(s, o);
        break;
    case BE_SCALE_POS:
        for (int i = 0; i < HEADS * HD; i++)
            s->slot[o->out][i] *=
                1 + (double)o->scale * log(1 + s->pos / o->period);
        break;
    case BE_STORE:
        memcpy(s->k[o->layer] + s->pos * KV_HEADS * HD, s->slot[BE_K],
               KV_HEADS * HD * sizeof(double));
        memcpy(s->v[o->layer] + s->pos * KV_HEADS * HD, s->slot[BE_V],
               KV_HEADS * HD * sizeof(double));
        break;
    case BE_ATTEND:
        naive_attend(s, o);
        break;
    case BE_ROUTE:
        naive_route(s, o);
        break;
    case BE_EXPERTS:
        naive_experts(s, o);
        break;
    case BE_GATE:
        a = 1 / (1 + exp(-naive_dot(s, o->w, 0, 0, s->slot[o->in])));
        for (int i = 0; i < DIM; i++)
            s->slot[o->out][i] *= a;
        break;
    case BE_ADD:
        for (int i = 0; i < DIM; i++)
            s->slot[o->out][i] += s->slot[o->in][i] * (double)o->scale;
        break;
    default:
        naive_mul(s, o);
    }
}

/* RESULT[n][n_vocab] of the tokens T[N] of types TYPE[N], or NULL. */
static inline void naive_run(const struct made *m, const int32_t *t,
                             const int32_t *type, int n, double *result)
{
    struct naive *s = calloc(1, sizeof *s);
    struct naive_col *col = calloc((size_t)n, sizeof *col);
    struct kern k;

    kern_init(&k, 0);
    s->m = m;
    for (int i = 0; i < m->nt; i++) {
        const struct be_tensor *w = &m->t[i];
        int64_t count = w->n_in * w->n_out * w->n_mat;
        float *f = calloc((size_t)count, sizeof *f);

        kern_quant_find(&k, w->type)->dequant(f, w->data, count);
        s->w[i] = calloc((size_t)count, sizeof(double));
        for (int64_t j = 0; j < count; j++)
            s->w[i][j] = (double)f[j];
        free(f);
    }
    for (int l = 0; l < LAYERS; l++) {
        s->k[l] = calloc((size_t)n * KV_HEADS * HD, sizeof(double));
        s->v[l] = calloc((size_t)n * KV_HEADS * HD, sizeof(double));
    }
    s->n = n;
    for (int i = 0; i < m->nop; i++)
        for (s->pos = 0; s->pos < n; s->pos++) {
            s->slot = col[s->pos].slot;
            s->share = col[s->pos].share;
            s->logits = result + (size_t)s->pos * (size_t)m->desc.n_vocab;
            naive_op(s, &m->op[i], t[s->pos], type ? type[s->pos] : 0);
        }
    for (int i = 0; i < m->nt; i++)
        free(s->w[i]);
    for (int l = 0; l < LAYERS; l++)
        free(s->k[l]), free(s->v[l]);
    free(col);
    free(s);
}

#endif
