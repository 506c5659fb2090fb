/* SPDX-License-Identifier: MIT
 * model_naive.h - for tests: what a tiny model computes, in double, as the
 * formulas say and without a thought for speed. */
#ifndef LLM_TESTS_MODEL_NAIVE_H
#define LLM_TESTS_MODEL_NAIVE_H

#include "tests/unit/model_make.h"

enum { N_MAX = 48, N_WIDE = 2 * M_FF + M_DIM, N_TOKENS = 20 };

/* All positions of one sequence. */
struct naive {
    struct tiny *m;
    int n;
    double x[N_MAX][M_DIM], q[N_MAX][M_HEADS][M_HEAD];
    double k[M_LAYERS][N_MAX][M_HEADS][M_HEAD],
        v[M_LAYERS][N_MAX][M_HEADS][M_HEAD];
};

static inline const float *n_weight(struct naive *s, int l, const char *name,
                                    const char *end)
{
    char full[64];
    const struct m_tensor *t;

    snprintf(full, sizeof full, "%s.%s", name, end);
    t = m_find(s->m, l, full);
    return t ? t->v : NULL;
}

/* y[n_out] = W x + b, from row FIRST on. */
static inline void n_mul_at(struct naive *s, double *y, int l, const char *name,
                            const double *x, int n_in, int n_out, int first)
{
    const float *w = n_weight(s, l, name, "weight"),
                *b = n_weight(s, l, name, "bias");

    for (int r = 0; r < n_out; r++) {
        double sum = b ? (double)b[r] : 0;

        for (int i = 0; i < n_in; i++)
            sum += (double)w[(first + r) * n_in + i] * x[i];
        y[r] = sum;
    }
}

static inline void n_mul(struct naive *s, double *y, int l, const char *name,
                         const double *x, int n_in, int n_out)
{
    n_mul_at(s, y, l, name, x, n_in, n_out, 0);
}

static inline void n_rms(double *y, const double *x, const float *w, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(sum / n + m_eps) * (double)w[i];
}

static inline void n_norm(struct naive *s, double *y, int l, const char *name,
                          const double *x)
{
    const float *w = n_weight(s, l, name, "weight"),
                *b = n_weight(s, l, name, "bias");
    double mean = 0, var = 0;

    if (!w) { /* no norm here */
        memcpy(y, x, M_DIM * sizeof *y);
        return;
    }
    if (!(s->m->a->flags & M_LAYERNORM)) {
        n_rms(y, x, w, M_DIM);
        return;
    }
    for (int i = 0; i < M_DIM; i++)
        mean += x[i] / M_DIM;
    for (int i = 0; i < M_DIM; i++)
        var += (x[i] - mean) * (x[i] - mean) / M_DIM;
    for (int i = 0; i < M_DIM; i++)
        y[i] = (x[i] - mean) / sqrt(var + m_eps) * (double)w[i] +
               (b ? (double)b[i] : 0);
}

static inline double n_act(const struct m_arch *a, double x)
{
    if (a->flags & M_ERF)
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    return a->flags & M_GELU
               ? 0.5 * x *
                     (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)))
               : x / (1 + exp(-x));
}

static inline int n_window(const struct m_arch *a, int l)
{
    int global = a->flags & M_TOP ? 0 : a->period - 1;

    return a->window && (!a->period || l % a->period != global) ? a->window : 0;
}

static inline void n_rope(const struct m_arch *a, double *h, int l, int pos)
{
    int d = a->rotated ? a->rotated : M_HEAD, w = n_window(a, l);
    double base = w && a->window_base > 0 ? a->window_base : m_base;
    /* In models that slide, only the layers that see all are scaled. */
    double f = a->factor > 0 && !w ? a->factor : 1;

    if (a->flags & M_PLACES || (a->nope && l % a->nope == a->nope - 1))
        return;
    for (int i = 0; i < d / 2; i++) {
        double t = pos * pow(base, -2.0 * i / d) / f, *p, *q, x, y;

        p = h + (a->flags & M_PAIRS ? 2 * i : i);
        q = a->flags & M_PAIRS ? p + 1 : p + d / 2;
        x = *p * cos(t) - *q * sin(t);
        y = *p * sin(t) + *q * cos(t);
        *p = x;
        *q = y;
    }
}

/* Q of position POS, and its K and V kept. */
static inline void n_qkv(struct naive *s, double q[M_HEADS][M_HEAD], int l,
                         int pos, const double *x)
{
    const struct m_arch *a = s->m->a;
    int nq = M_HEADS * M_HEAD, nk = m_kv(a) * M_HEAD;
    double(*k)[M_HEAD] = s->k[l][pos], (*v)[M_HEAD] = s->v[l][pos];
    const float *wq = n_weight(s, l, "attn_q_norm", "weight"),
                *wk = n_weight(s, l, "attn_k_norm", "weight");

    if (a->flags & M_FUSED) {
        n_mul_at(s, q[0], l, "attn_qkv", x, M_DIM, nq, 0);
        n_mul_at(s, k[0], l, "attn_qkv", x, M_DIM, nk, nq);
        n_mul_at(s, v[0], l, "attn_qkv", x, M_DIM, nk, nq + nk);
    } else {
        n_mul(s, q[0], l, "attn_q", x, M_DIM, nq);
        n_mul(s, k[0], l, "attn_k", x, M_DIM, nk);
        n_mul(s, v[0], l, "attn_v", x, M_DIM, nk);
    }
    if (a->flags & M_QK_WHOLE) {
        n_rms(q[0], q[0], wq, nq);
        n_rms(k[0], k[0], wk, nk);
    }
    for (int h = 0; h < M_HEADS; h++) {
        if (a->flags & M_QK_NORM)
            n_rms(q[h], q[h], wq, M_HEAD);
        n_rope(a, q[h], l, pos);
        for (int i = 0; i < M_HEAD && a->temp > 0; i++)
            q[h][i] *=
                1 + a->temp * log(1 + floor((double)pos / a->temp_period));
    }
    for (int h = 0; h < m_kv(a); h++) {
        if (a->flags & M_QK_NORM)
            n_rms(k[h], k[h], wk, M_HEAD);
        n_rope(a, k[h], l, pos);
    }
}

static inline void n_attend(struct naive *s, double *out, int l, int pos,
                            double q[M_HEADS][M_HEAD])
{
    const struct m_arch *a = s->m->a;
    double scale = a->scale > 0 ? a->scale : 1 / sqrt(M_HEAD);
    int w = n_window(a, l), lo = w && pos >= w ? pos - w + 1 : 0, hi = pos;

    if (a->flags & M_BOTH) {
        lo = w && pos > w / 2 ? pos - w / 2 : 0;
        hi = w && pos + w / 2 < s->n ? pos + w / 2 : s->n - 1;
    }

    for (int h = 0; h < M_HEADS; h++) {
        int g = h / (M_HEADS / m_kv(a));
        double p[N_MAX], sum = 0, *o = out + h * M_HEAD;

        memset(o, 0, M_HEAD * sizeof *o);
        for (int t = lo; t <= hi; t++) {
            double dot = 0;

            for (int i = 0; i < M_HEAD; i++)
                dot += q[h][i] * s->k[l][t][g][i];
            dot *= scale;
            if (a->attn_softcap > 0)
                dot = a->attn_softcap * tanh(dot / a->attn_softcap);
            sum += p[t] = exp(dot);
        }
        for (int t = lo; t <= hi; t++)
            for (int i = 0; i < M_HEAD; i++)
                o[i] += p[t] / sum * s->v[l][t][g][i];
    }
}

static inline void n_experts(struct naive *s, double *y, int l, const double *x)
{
    const struct m_arch *a = s->m->a;
    const float *gate = n_weight(s, l, "ffn_gate_exps", "weight"),
                *up = n_weight(s, l, "ffn_up_exps", "weight"),
                *down = n_weight(s, l, "ffn_down_exps", "weight");
    double p[M_NEXPERT], total = 0, top = 0, mid[M_FF];
    int taken[M_NEXPERT] = {0};

    memset(y, 0, M_DIM * sizeof *y);
    n_mul(s, p, l, "ffn_gate_inp", x, M_DIM, M_NEXPERT);
    for (int i = 0; i < M_NEXPERT; i++)
        total += p[i] = exp(p[i]);
    for (int u = 0; u < M_USED; u++) {
        int best = -1;

        for (int i = 0; i < M_NEXPERT; i++)
            if (!taken[i] && (best < 0 || p[i] > p[best]))
                best = i;
        taken[best] = 1;
        top += p[best];
    }
    for (int c = 0; c < M_NEXPERT; c++) {
        int at = c * M_DIM * M_FF_EXPERT;

        for (int r = 0; taken[c] && r < M_FF_EXPERT; r++) {
            double g = 0, t = 0;

            for (int i = 0; i < M_DIM; i++) {
                g += (double)gate[at + r * M_DIM + i] * x[i];
                t += (double)up[at + r * M_DIM + i] * x[i];
            }
            mid[r] = n_act(a, g) * t;
        }
        for (int r = 0; taken[c] && r < M_DIM; r++)
            for (int i = 0; i < M_FF_EXPERT; i++)
                y[r] += p[c] / (a->flags & M_TOP_NORM ? top : total) *
                        (double)down[at + r * M_FF_EXPERT + i] * mid[i];
    }
    if (a->flags & M_SHARED) {
        double g[M_FF], t[M_FF], z[M_DIM], one;

        n_mul(s, g, l, "ffn_gate_shexp", x, M_DIM, M_FF);
        n_mul(s, t, l, "ffn_up_shexp", x, M_DIM, M_FF);
        n_mul(s, &one, l, "ffn_gate_inp_shexp", x, M_DIM, 1);
        for (int i = 0; i < M_FF; i++)
            g[i] = n_act(a, g[i]) * t[i];
        n_mul(s, z, l, "ffn_down_shexp", g, M_FF, M_DIM);
        for (int i = 0; i < M_DIM; i++)
            y[i] += z[i] / (1 + exp(-one));
    }
}

static inline void n_network(struct naive *s, double *y, int l, const double *x)
{
    const struct m_arch *a = s->m->a;
    double g[N_WIDE], t[N_WIDE];

    if (a->flags & M_EXPERTS) {
        n_experts(s, y, l, x);
        return;
    }
    if (a->flags & M_FUSED) {
        n_mul_at(s, g, l, "ffn_up", x, M_DIM, M_FF, 0);
        n_mul_at(s, t, l, "ffn_up", x, M_DIM, M_FF, M_FF);
    } else {
        n_mul(s, t, l, "ffn_up", x, M_DIM, M_FF);
        if (!(a->flags & M_NO_GATE))
            n_mul(s, g, l, "ffn_gate", x, M_DIM, M_FF);
    }
    for (int i = 0; i < M_FF; i++)
        t[i] = a->flags & M_NO_GATE ? n_act(a, t[i]) : n_act(a, g[i]) * t[i];
    n_mul(s, y, l, "ffn_down", t, M_FF, M_DIM);
}

/* All but Q, K and V, which all positions have by now. */
static inline void n_layer(struct naive *s, int l, int pos)
{
    const struct m_arch *a = s->m->a;
    double res = a->residual > 0 ? a->residual : 1, *x = s->x[pos];
    double in[M_DIM], y[M_DIM], z[M_DIM], att[M_HEADS * M_HEAD];

    if (a->flags & M_PARALLEL)
        n_norm(s, in, l, "attn_norm", x);
    n_attend(s, att, l, pos, s->q[pos]);
    n_mul(s, y, l, "attn_output", att, M_HEADS * M_HEAD, M_DIM);
    n_norm(s, z, l, "post_attention_norm", y);
    for (int i = 0; i < M_DIM; i++)
        x[i] += res * z[i];
    if (a->flags & M_STREAM)
        n_norm(s, x, l, "attn_output_norm", x);
    if (!(a->flags & M_PARALLEL))
        n_norm(s, in, l, "ffn_norm", x);
    n_network(s, y, l, in);
    n_norm(s, z, l, "post_ffw_norm", y);
    for (int i = 0; i < M_DIM; i++)
        x[i] += res * z[i];
    if (a->flags & M_STREAM)
        n_norm(s, x, l, "layer_output_norm", x);
}

/* What T is at position P. */
static inline void n_embed(struct naive *s, int p, int32_t t, int type)
{
    const struct m_arch *a = s->m->a;
    const float *embed = n_weight(s, -1, "token_embd", "weight"),
                *place = n_weight(s, -1, "position_embd", "weight"),
                *kind = n_weight(s, -1, "token_types", "weight");
    double grow = a->flags & M_SQRT_DIM ? sqrt(M_DIM)
                  : a->embed > 0        ? a->embed
                                        : 1;

    for (int i = 0; i < M_DIM; i++)
        s->x[p][i] = grow * (double)embed[t * M_DIM + i] +
                     (place ? (double)place[p * M_DIM + i] : 0) +
                     (kind ? (double)kind[type * M_DIM + i] : 0);
    if (a->flags & M_TOP)
        n_norm(s, s->x[p], -1, "token_embd_norm", s->x[p]);
}

/* HIDDEN[n][M_DIM], what the last norm gives, and LOGITS[n][M_VOCAB], which
 * encoders have none of, of tokens T[N] of types TYPE[N], or NULL. */
static inline void naive_run(struct tiny *m, const int32_t *t,
                             const int32_t *type, int n, double *hidden,
                             double *logits)
{
    const struct m_arch *a = m->a;
    struct naive *s = calloc(1, sizeof *s);

    s->m = m;
    s->n = n;
    for (int p = 0; p < n; p++)
        n_embed(s, p, t[p], type ? type[p] : 0);
    for (int l = 0; l < M_LAYERS; l++) {
        for (int p = 0; p < n; p++) {
            double in[M_DIM];

            n_norm(s, in, l, "attn_norm", s->x[p]);
            n_qkv(s, s->q[p], l, p, in);
        }
        for (int p = 0; p < n; p++)
            n_layer(s, l, p);
    }
    for (int p = 0; p < n; p++) {
        double *z = hidden + p * M_DIM, *y;

        n_norm(s, z, -1, "output_norm", s->x[p]);
        if (a->flags & M_BOTH)
            continue;
        y = logits + p * M_VOCAB;
        n_mul(s, y, -1, a->flags & M_OUTPUT ? "output" : "token_embd", z, M_DIM,
              M_VOCAB);
        for (int i = 0; i < M_VOCAB; i++) {
            y[i] /= a->logit > 0 ? a->logit : 1;
            if (a->softcap > 0)
                y[i] = a->softcap * tanh(y[i] / a->softcap);
        }
    }
    free(s);
}

/* Tokens to try. */
static inline void n_tokens(int32_t *t, int n)
{
    for (int i = 0; i < n; i++)
        t[i] = (i * 7 + i * i * 3 + 1) % M_VOCAB;
}

/* How far GOT is from WANT; NaN when it is. */
static inline double n_furthest(const float *got, const double *want, int n)
{
    double worst = 0;

    for (int i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        worst = d > worst || d != d ? d : worst;
    }
    return worst;
}

#endif
