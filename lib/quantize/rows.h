/* SPDX-License-Identifier: MIT
 * rows.h - rows of every type; each instruction set's file includes this once
 * and has its own functions by it. */
#include <math.h>

#include "quantize/formula.h"
#include "quantize/pack.h"
#include "quantize/quantize_impl.h"

/* ---- super-blocks ---- */

/* How much an error counts where nobody says: more for great weights, and ALL
 * for every one.  Were all the same, the least sum of squares would cut off the
 * greatest, of which a few in a model are what much hangs on. */
static void own_weights(float *w, const float *x, float all)
{
    float sum = 0;

    for (int i = 0; i < WEIGHTS; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = all * sum / WEIGHTS + x[i] * x[i];
}

/* Weights as they count, none of them 0, about 1 each. */
static void given_weights(float *to, const float *w)
{
    double sum = 0;
    float unit;

    for (int i = 0; i < WEIGHTS; i++)
        sum += (double)w[i];
    unit = sum > 0 ? (float)(WEIGHTS / sum) : 0;
    if (!(unit > 0 && unit <= 3e38f))
        unit = 0;
    for (int i = 0; i < WEIGHTS; i++)
        to[i] = unit > 0 ? w[i] * unit + 1e-4f : 1;
}

static void transpose(float *to, const float *x, int n)
{
    int groups = WEIGHTS / n;

    for (int g = 0; g < groups; g++)
        for (int i = 0; i < n; i++)
            to[i * groups + g] = x[g * n + i];
}

/* Beyond this no type has a scale, and squares would overflow. */
static int64_t too_great(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabsf(x[i]) < 1e10f))
            return i;
    return -1;
}

LANE_FN int64_t super_row(void *to, const float *x, const float *w, int64_t n,
                          const struct super_form *f, int bytes,
                          void (*put)(uint8_t *p, const struct super *o))
{
    _Alignas(64) float xt[WEIGHTS], wt[WEIGHTS], own[WEIGHTS];
    struct super o;
    uint8_t *p = to;

    for (int64_t i = 0; i < n; i += WEIGHTS, p += bytes) {
        int64_t bad = too_great(x + i, WEIGHTS);

        if (bad >= 0)
            return i + bad;
        if (w)
            given_weights(own, w + i);
        else
            own_weights(own, x + i, f->all);
        transpose(xt, x + i, f->l.n);
        transpose(wt, own, f->l.n);
        super_search(&o, xt, wt, f);
        if (!finite16(o.d) || !finite16(o.dmin))
            return i;
        put(p, &o);
    }
    return -1;
}

#define SUPER(name, put, bytes, ...)                                           \
    static int64_t name##_row(void *to, const float *x, const float *w,        \
                              int64_t n)                                       \
    {                                                                          \
        static const struct super_form f = {__VA_ARGS__};                      \
                                                                               \
        return super_row(to, x, w, n, &f, bytes, put);                         \
    }

/* clang-format off */
SUPER(q2_k, put_q2_k, 84,
      .l = {.n = 16, .hi = 3, .from = -0.9f, .to = 0.7f, .trials = 12,
            .turns = 2},
      .shi = 15, .mhi = 15, .rounds = 3, .reach = 1, .all = 2)
SUPER(q3_k_given, put_q3_k, 110,
      .l = {.n = 16, .lo = -4, .hi = 3, .both = true, .from = -1.4f,
            .to = 0.6f, .trials = 10, .turns = 2},
      .slo = -32, .shi = 31, .rounds = 3, .reach = 1, .all = 2)
SUPER(q3_k_own, put_q3_k, 110,
      .l = {.n = 16, .lo = -4, .hi = 3, .from = -0.4f, .to = 0.4f, .trials = 9,
            .turns = 2},
      .slo = -32, .shi = 31, .rounds = 3, .reach = 1, .all = 1)
SUPER(q4_k, put_q4_k, 144,
      .l = {.n = 32, .hi = 15, .from = -2, .to = 1, .trials = 12, .turns = 2},
      .shi = 63, .mhi = 63, .rounds = 2, .reach = 1, .all = 2)
SUPER(q5_k, put_q5_k, 176,
      .l = {.n = 32, .hi = 31, .from = -2, .to = 1, .trials = 12, .turns = 2},
      .shi = 63, .mhi = 63, .rounds = 2, .reach = 1, .all = 2)
SUPER(q6_k, put_q6_k, 210,
      .l = {.n = 16, .lo = -32, .hi = 31, .from = -1.5f, .to = 1, .trials = 12,
            .turns = 2},
      .slo = -128, .shi = 127, .rounds = 2, .reach = 4, .all = 2)
SUPER(iq4_xs, put_iq4_xs, 136,
      .l = {.n = 32, .lo = -127, .hi = 113, .table = true, .both = true,
            .from = -20, .to = 16, .trials = 10, .turns = 2},
      .slo = -32, .shi = 31, .rounds = 2, .reach = 1, .all = 2)
/* clang-format on */

/* With 3 bits, scales that lose least squares cost a model more than those that
 * have its greatest weights nearly right. */
static int64_t q3_k_row(void *to, const float *x, const float *w, int64_t n)
{
    return w ? q3_k_given_row(to, x, w, n) : q3_k_own_row(to, x, w, n);
}

/* ---- blocks of 32, with weights ---- */

/* Eight blocks at X, of which N are there. */
struct eight {
    _Alignas(64) float x[WEIGHTS], w[WEIGHTS];
    float d[16], b[16];
};

static void eight_load(struct eight *e, const float *x, const float *w, int n)
{
    float own[WEIGHTS] = {0}, at[WEIGHTS] = {0};

    memcpy(at, x, (size_t)n * BLOCK * sizeof *x);
    if (w) {
        float some[WEIGHTS] = {0};

        memcpy(some, w, (size_t)n * BLOCK * sizeof *w);
        given_weights(own, some);
    } else {
        own_weights(own, at, 2);
    }
    transpose(e->x, at, BLOCK);
    transpose(e->w, own, BLOCK);
}

/* The levels of block G for the half floats H and M. */
LANE_FN void eight_levels(int32_t *q, const float *x, uint16_t h, uint16_t m,
                          const struct levels *l)
{
    float d = f16_to_f32(h), b = f16_to_f32(m), inv = inverse_of(d);

    for (int i = 0; i < BLOCK; i += LANES) {
        vf v = level_of((vf_load(x + i) - b) * inv, l);
        vi k = __builtin_convertvector(v, vi);

        memcpy(q + i, &k, sizeof k);
    }
}

/* PLUS: what is added to a level to be written; -1: the table's index. */
LANE_FN int64_t eight_row(void *to, const float *x, const float *w, int64_t n,
                          const struct levels *l, int bytes, int plus)
{
    struct eight e;
    uint8_t *p = to;

    for (int64_t at = 0; at < n; at += WEIGHTS) {
        int there = n - at < WEIGHTS ? (int)(n - at) / BLOCK : 8;
        int64_t bad = too_great(x + at, there * BLOCK);

        if (bad >= 0)
            return at + bad;
        eight_load(&e, x + at, w ? w + at : NULL, there);
        memset(e.b, 0, sizeof e.b);
        if (l->any_sign) {
            struct affine a;

            affine_search(&a, e.x, e.w, l);
            memcpy(e.d, a.d, sizeof e.d);
            memcpy(e.b, a.b, sizeof e.b);
        } else {
            struct sym s;

            sym_search(&s, e.x, e.w, l);
            memcpy(e.d, s.d, sizeof e.d);
        }
        for (int g = 0; g < there; g++, p += bytes) {
            uint16_t h = f32_to_f16(e.d[g]), m = f32_to_f16(e.b[g]);
            int32_t q[BLOCK];
            uint8_t *v = p + 2;

            if (!finite16(h) || !finite16(m))
                return at + g * BLOCK;
            eight_levels(q, x + at + g * BLOCK, h, m, l);
            for (int i = 0; i < BLOCK; i++)
                q[i] = plus < 0 ? iq4_index(q[i]) : q[i] + plus;
            wr_u16(p, h);
            if (l->any_sign) {
                wr_u16(p + 2, m);
                v += 2;
            }
            if (bytes == 22 || bytes == 24) {
                wr_u32(v, fifth_bits(q));
                v += 4;
            }
            put_halves(v, q);
        }
    }
    return -1;
}

#define EACH_BLOCK(bytes, put)                                                 \
    uint8_t *p = to;                                                           \
                                                                               \
    for (int64_t i = 0; i < n; i += BLOCK, p += (bytes))                       \
        if (!(put))                                                            \
            return i;                                                          \
    return -1;

#define EIGHT(name, bytes, plus, put, ...)                                     \
    static int64_t name##_row(void *to, const float *x, const float *w,        \
                              int64_t n)                                       \
    {                                                                          \
        static const struct levels l = {.n = BLOCK, __VA_ARGS__};              \
                                                                               \
        if (w)                                                                 \
            return eight_row(to, x, w, n, &l, bytes, plus);                    \
        EACH_BLOCK(bytes, put)                                                 \
    }

/* clang-format off */
EIGHT(q4_0, 18, 8, put_x0(p, x + i, 8), .lo = -8, .hi = 7, .both = true,
      .from = -1.5f, .to = 0.7f, .trials = 12, .turns = 2)
EIGHT(q5_0, 22, 16, put_x0(p, x + i, 16), .lo = -16, .hi = 15, .both = true,
      .from = -1.5f, .to = 0.9f, .trials = 12, .turns = 2)
EIGHT(q4_1, 20, 0, put_x1(p, x + i, 15), .hi = 15, .any_sign = true,
      .from = -2, .to = 0.9f, .trials = 14, .turns = 2)
EIGHT(q5_1, 24, 0, put_x1(p, x + i, 31), .hi = 31, .any_sign = true,
      .from = -2, .to = 0.9f, .trials = 14, .turns = 2)
/* clang-format on */

static int64_t iq4_nl_row(void *to, const float *x, const float *w, int64_t n)
{
    static const struct levels l = {.n = BLOCK,
                                    .lo = -127,
                                    .hi = 113,
                                    .table = true,
                                    .both = true,
                                    .from = -20,
                                    .to = 16,
                                    .trials = 12,
                                    .turns = 2};

    return eight_row(to, x, w, n, &l, 18, -1);
}

/* Nobody's scale of 8 bits is worth a search. */
static int64_t q8_0_row(void *to, const float *x, const float *w, int64_t n)
{
    (void)w;
    EACH_BLOCK(34, put_q8_0(p, x + i))
}

static double mxfp4_error(const uint8_t *p, const float *x, const float *w)
{
    float unit = tile32_e8m0_half(p[0]);
    double err = 0;

    for (int i = 0; i < BLOCK; i++) {
        int v = p[1 + i % 16] >> (i < 16 ? 0 : 4) & 15;
        double e = (double)x[i] - (double)(unit * (float)tile32_fp4[v]);

        err += (double)w[i] * e * e;
    }
    return err;
}

static bool mxfp4_put(uint8_t *p, const float *x, const float *w)
{
    int e = mxfp4_exponent(x);
    uint8_t other[17];

    put_mxfp4(p, x, e);
    for (int k = e - 1; w && k <= e + 1; k++) {
        if (k == e || k < 0 || k > 254)
            continue;
        put_mxfp4(other, x, k);
        if (mxfp4_error(other, x, w) < mxfp4_error(p, x, w))
            memcpy(p, other, sizeof other);
    }
    return true;
}

static int64_t mxfp4_row(void *to, const float *x, const float *w, int64_t n)
{
    EACH_BLOCK(17, mxfp4_put(p, x + i, w ? w + i : NULL))
}

/* ---- floats ---- */

static int64_t f32_row(void *to, const float *x, const float *w, int64_t n)
{
    (void)w;
    memcpy(to, x, (size_t)n * sizeof *x);
    return -1;
}

typedef uint16_t halves __attribute__((vector_size(LANES * 2)));

/* As f32_to_f16() does it, of numbers that are no NaN. */
LANE_FN void half_lanes(uint16_t *to, vf v)
{
    vi u = (vi)v, a = u & 0x7fffffff, sign = u >> 16 & 0x8000, small, h;
    halves out;

    small = (vi)((vf)a + 0.5f) - 0x3f000000;
    h = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    h = (vi)vf_select(a < 0x38800000, (vf)small, (vf)h);
    h = (vi)vf_select(a >= 0x477ff000, (vf)(vi)(h * 0 + 0x7c00), (vf)h);
    out = __builtin_convertvector(h | sign, halves);
    memcpy(to, &out, sizeof out);
}

static int64_t f16_row(void *to, const float *x, const float *w, int64_t n)
{
    uint16_t *y = to;
    int64_t i = 0;
    vi over = {0};
    uint32_t lane[LANES], some = 0;

    (void)w;
    for (; i + LANES <= n; i += LANES) {
        vf v = vf_load(x + i);

        over |= ((vi)v & 0x7fffffff) >= 0x477ff000;
        half_lanes(y + i, v);
    }
    memcpy(lane, &over, sizeof over);
    for (int k = 0; k < LANES; k++)
        some |= lane[k];
    for (; i < n; i++) {
        y[i] = f32_to_f16(x[i]);
        some |= !finite16(y[i]);
    }
    for (i = 0; some && i < n; i++)
        if (!finite16(y[i]))
            return i;
    return -1;
}

static int64_t bf16_row(void *to, const float *x, const float *w, int64_t n)
{
    uint16_t *y = to;

    (void)w;
    for (int64_t i = 0; i < n; i++) {
        y[i] = f32_to_bf16(x[i]);
        if ((y[i] & 0x7f80) == 0x7f80)
            return i;
    }
    return -1;
}

static void load_f16(float *to, const void *from, int64_t n)
{
    const uint16_t *p = from;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        halves h;
        vi u, a;
        vf small, v;

        memcpy(&h, p + i, sizeof h);
        u = __builtin_convertvector(h, vi);
        a = u & 0x7fff;
        small = __builtin_convertvector(a, vf) * 0x1p-24f;
        v = (vf)((a << 13) + 0x38000000);
        v = vf_select(a >= 0x7c00, (vf)((a << 13) + 0x70000000), v);
        v = vf_select(a < 0x400, small, v);
        vf_store(to + i, (vf)((vi)v | (vi)((vu)(u & 0x8000) << 16)));
    }
    for (; i < n; i++)
        to[i] = f16_to_f32(p[i]);
}

static void load_bf16(float *to, const void *from, int64_t n)
{
    const uint16_t *p = from;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        halves h;

        memcpy(&h, p + i, sizeof h);
        vf_store(to + i, (vf)(__builtin_convertvector(h, vu) << 16));
    }
    for (; i < n; i++)
        to[i] = bf16_to_f32(p[i]);
}

/* ---- looking at rows ---- */

static int64_t first_bad(const float *x, int64_t n)
{
    vi all = {0};
    int32_t any[LANES], seen = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        all |= (vi)(((vi)vf_load(x + i) & 0x7f800000) == 0x7f800000);
    memcpy(any, &all, sizeof any);
    for (int k = 0; k < LANES; k++)
        seen |= any[k];
    if (!seen && i == n)
        return -1;
    for (i = 0; i < n; i++)
        if ((f32_bits(x[i]) & 0x7f800000) == 0x7f800000)
            return i;
    return -1;
}

static void sum_error(double *err, double *all, const float *x, const float *y,
                      const float *w, int64_t n)
{
    double e = 0, a = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)y[i], k = w ? (double)w[i] : 1;

        e += k * d * d;
        a += k * (double)x[i] * (double)x[i];
    }
    *err += e;
    *all += a;
}

#ifdef ROWS_NAME
const struct quantize ROWS_NAME = {
    .type =
        {
            {"F32", 0, 1, 4, true, f32_row},
            {"F16", 1, 1, 2, true, f16_row},
            {"BF16", 30, 1, 2, true, bf16_row},
            {"Q8_0", 8, 32, 34, true, q8_0_row},
            {"Q4_0", 2, 32, 18, true, q4_0_row},
            {"Q4_1", 3, 32, 20, true, q4_1_row},
            {"Q5_0", 6, 32, 22, true, q5_0_row},
            {"Q5_1", 7, 32, 24, true, q5_1_row},
            {"Q2_K", 10, 256, 84, false, q2_k_row},
            {"Q3_K", 11, 256, 110, false, q3_k_row},
            {"Q4_K", 12, 256, 144, false, q4_k_row},
            {"Q5_K", 13, 256, 176, false, q5_k_row},
            {"Q6_K", 14, 256, 210, false, q6_k_row},
            {"IQ4_NL", 20, 32, 18, false, iq4_nl_row},
            {"IQ4_XS", 23, 256, 136, false, iq4_xs_row},
            {"MXFP4", 39, 32, 17, true, mxfp4_row},
        },
    .load_f16 = load_f16,
    .load_bf16 = load_bf16,
    .bad = first_bad,
    .error = sum_error,
};
#endif
