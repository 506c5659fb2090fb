/* SPDX-License-Identifier: MIT
 * simd.h - attention on vectors: what avx2.c, avx512.c and neon.c are made of.
 *
 * Scores: lanes are positions.  Up to SCORE_Q queries share each element of K
 * that is loaded, with 4 partial sums each: 24 (12) registers.  Mixing: lanes
 * are dimensions.  MIX_Q queries by MIX_V vectors stay in registers while the
 * positions that these queries all see go by; those that only some of them see
 * are added one query at a time, before and after.
 * That is done on floats: K and V become floats a tile of 16 positions, or
 * MIX_P rows of V, at a time, in at most 32 KiB.  Only for up to FEW queries,
 * when one token is decoded, it is cheaper to do so in passing.
 */
#ifndef LLM_KERNELS_OP_ATTEND_SIMD_H
#define LLM_KERNELS_OP_ATTEND_SIMD_H

#include "kernels/op/attend/attend.h"
#include "kernels/op/math/simd.h"

#ifdef VL

#if VL == 16
enum { FEW = 4, SCORE_Q = 6, MIX_V = 4 };
#else
enum { FEW = 3, SCORE_Q = 3, MIX_V = 2 };
#endif
enum { FEW_V = 4, MIX_Q = 6, MIX_P = 64, D_MAX = 512 };

/* Sanitizers make so much of unrolled loops that compiling takes a minute. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNROLL
#endif
#endif
#if defined(UNROLL) || defined(__SANITIZE_ADDRESS__)
#undef UNROLL
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Bytes of 32 elements of a type. */
SIMD_FN size_t bytes32(const enum kern_kv t)
{
    return t == KV_F32 ? 128 : t == KV_Q8_0 ? 34 : t == KV_Q4_0 ? 18 : 64;
}

/* ---- scores ---- */

/* Element I (below D, or of a block of 32) of the positions of half H of the
 * tile, or block, K, whose scales are SC. */
SIMD_FN VF k_value(const enum kern_kv t, const char *k, int i, int h, VF sc)
{
    size_t at = (size_t)i * 16 + (size_t)(h * VL);

    switch (t) {
    case KV_F32:
        return vf_load((const float *)k + at);
    case KV_F16:
        return vf_f16(k + at * 2);
    case KV_BF16:
        return vf_bf16(k + at * 2);
    case KV_Q8_0:
        return vf_mul(vf_i8(k + 32 + at), sc);
    default:
        return i < 16 ? vf_mul(vf_u4(k + 32 + at, 0), sc)
                      : vf_mul(vf_u4(k + 32 + at - 256, 1), sc);
    }
}

/* The elements FROM..TO-1 of K for NB queries. */
SIMD_FN void score_add(const enum kern_kv t, const int nb, VF a[6][4],
                       const float *q, size_t ldq, const char *k, int from,
                       int to, int h, VF sc)
{
    int i;

    for (i = from; i + 4 <= to; i += 4) {
        UNROLL for (int u = 0; u < 4; u++)
        {
            VF v = k_value(t, k, i + u, h, sc);

            UNROLL for (int j = 0; j < nb; j++)
            {
                VQ x = vq_load(q + (size_t)j * ldq + i);

                a[j][u] = vq_fma(x, u, v, a[j][u]);
            }
        }
    }
    if (t == KV_Q8_0 || t == KV_Q4_0)
        return;
    UNROLL for (int u = 0; u < 3; u++)
    {
        if (i + u < to) {
            VF v = k_value(t, k, i + u, h, sc);

            UNROLL for (int j = 0; j < nb; j++)
            {
                VF x = vf_set1(q[(size_t)j * ldq + (size_t)(i + u)]);

                a[j][u] = vf_fma(x, v, a[j][u]);
            }
        }
    }
}

/* A tile of 16 positions for NB queries. */
SIMD_FN void score_tile(const enum kern_kv t, const int nb, float *s,
                        size_t lds, const float *q, size_t ldq, const char *k,
                        int d)
{
    const int quant = t == KV_Q8_0 || t == KV_Q4_0;

    for (int h = 0; h < 16 / VL; h++) {
        VF a[6][4];

        UNROLL for (int j = 0; j < nb; j++)
        {
            UNROLL for (int u = 0; u < 4; u++)
            {
                a[j][u] = vf_set1(0);
            }
        }
        if (quant) {
            for (int b = 0; b < d / 32; b++) {
                const char *p = k + (size_t)b * 16 * bytes32(t);
                VF sc = vf_f16(p + h * VL * 2);

                score_add(t, nb, a, q + b * 32, ldq, p, 0, 16, h, sc);
                score_add(t, nb, a, q + b * 32, ldq, p, 16, 32, h, sc);
            }
        } else {
            score_add(t, nb, a, q, ldq, k, 0, d, h, vf_set1(0));
        }
        UNROLL for (int j = 0; j < nb; j++)
        {
            vf_store(
                s + (size_t)j * lds + h * VL,
                vf_add(vf_add(a[j][0], a[j][1]), vf_add(a[j][2], a[j][3])));
        }
    }
}

/* MOST queries at once: SCORE_Q or FEW. */
SIMD_FN void score_queries(const enum kern_kv t, const int most, float *s,
                           size_t lds, const float *q, size_t ldq, int nq,
                           const char *k, int d)
{
    for (; nq >= most; nq -= most) {
        score_tile(t, most, s, lds, q, ldq, k, d);
        s += (size_t)most * lds;
        q += (size_t)most * ldq;
    }
    if (most > 4 && nq >= 4) {
        score_tile(t, 4, s, lds, q, ldq, k, d);
        s += 4 * lds;
        q += 4 * ldq;
        nq -= 4;
    }
    if (most > 3 && nq == 3)
        score_tile(t, 3, s, lds, q, ldq, k, d);
    if (nq == 2)
        score_tile(t, 2, s, lds, q, ldq, k, d);
    if (nq == 1)
        score_tile(t, 1, s, lds, q, ldq, k, d);
}

static void score_f32(float *s, size_t lds, const float *q, size_t ldq, int nq,
                      const void *page, int d, int nt)
{
    for (int i = 0; i < nt; i++)
        score_queries(KV_F32, SCORE_Q, s + i * 16, lds, q, ldq, nq,
                      (const char *)page + (size_t)i * 64 * (size_t)d, d);
}

SIMD_FN void k_floats(const enum kern_kv t, float *x, const char *k, int d)
{
    VF sc = vf_set1(0);

    if (t == KV_Q8_0 || t == KV_Q4_0) {
        for (int b = 0; b < d / 32; b++, k += 16 * bytes32(t), x += 512)
            for (int h = 0; h < 16 / VL; h++) {
                sc = vf_f16(k + h * VL * 2);
                for (int i = 0; i < 16; i++)
                    vf_store(x + i * 16 + h * VL, k_value(t, k, i, h, sc));
                for (int i = 16; i < 32; i++)
                    vf_store(x + i * 16 + h * VL, k_value(t, k, i, h, sc));
            }
        return;
    }
    for (int i = 0; i < d; i++)
        for (int h = 0; h < 16 / VL; h++)
            vf_store(x + i * 16 + h * VL, k_value(t, k, i, h, sc));
}

SIMD_FN void score(const enum kern_kv t, float *s, size_t lds, const float *q,
                   size_t ldq, int nq, const char *page, int d, int nt)
{
    size_t bytes = (size_t)d * bytes32(t) / 2; /* 16 positions */
    float x[D_MAX * 16];

    if (t == KV_F32) {
        score_f32(s, lds, q, ldq, nq, page, d, nt);
        return;
    }
    for (int i = 0; i < nt; i++, s += 16, page += bytes)
        if (nq > FEW && d <= D_MAX) {
            k_floats(t, x, page, d);
            score_f32(s, lds, q, ldq, nq, x, d, 1);
        } else {
            score_queries(t, FEW, s, lds, q, ldq, nq, page, d);
        }
}

/* ---- mixing ---- */

/* What mixing takes, at its first dimension, from its first query on. */
struct mix {
    float *o;
    const float *s;
    size_t ldo, lds;
    const int *lo, *hi;
    int nq, first, end; /* the positions to take */
    const char *v;      /* the row of position BASE; STRIDE bytes apart */
    size_t stride;
    int base;
};

SIMD_FN void mix_skip(struct mix *m, int n)
{
    m->o += (size_t)n * m->ldo;
    m->s += (size_t)n * m->lds;
    m->lo += n;
    m->hi += n;
    m->nq -= n;
}

/* Vector K of those that begin at V, in a row. */
SIMD_FN VF v_value(const enum kern_kv t, const char *v, const int k)
{
    switch (t) {
    case KV_F32:
        return vf_load((const float *)(const void *)v + k * VL);
    case KV_F16:
        return vf_f16(v + k * VL * 2);
    case KV_BF16:
        return vf_bf16(v + k * VL * 2);
    case KV_Q8_0:
        v += k * VL / 32 * 34;
        return vf_mul(vf_i8(v + 2 + k * VL % 32), vf_set1_f16(v));
    default:
        v += k * VL / 32 * 18;
        return vf_mul(vf_u4(v + 2 + k * VL % 16, k * VL % 32 >= 16),
                      vf_set1_f16(v));
    }
}

/* NB queries from J on by NV vectors, the positions FROM..TO-1 of all. */
SIMD_FN void mix_run(const enum kern_kv t, const int nb, const int nv,
                     const struct mix *m, int j0, int from, int to)
{
    VF a[MIX_Q][FEW_V], x[FEW_V];
    float *o = m->o + (size_t)j0 * m->ldo;
    const float *s = m->s + (size_t)j0 * m->lds;
    const char *v = m->v + (size_t)(from - m->base) * m->stride;

    UNROLL for (int j = 0; j < nb; j++)
    {
        UNROLL for (int k = 0; k < nv; k++)
        {
            a[j][k] = vf_load(o + (size_t)j * m->ldo + k * VL);
        }
    }
    for (int p = from; p < to; p++, v += m->stride) {
        UNROLL for (int k = 0; k < nv; k++)
        {
            x[k] = v_value(t, v, k);
        }
        UNROLL for (int j = 0; j < nb; j++)
        {
            VF w = vf_set1(s[(size_t)j * m->lds + (size_t)p]);

            UNROLL for (int k = 0; k < nv; k++)
            {
                a[j][k] = vf_fma(w, x[k], a[j][k]);
            }
        }
    }
    UNROLL for (int j = 0; j < nb; j++)
    {
        UNROLL for (int k = 0; k < nv; k++)
        {
            vf_store(o + (size_t)j * m->ldo + k * VL, a[j][k]);
        }
    }
}

/* At most FEW queries that all see the same positions. */
SIMD_FN void mix_few(const enum kern_kv t, const int nv, const struct mix *m)
{
    if (FEW > 3 && m->nq == 4)
        mix_run(t, 4, nv, m, 0, m->first, m->end);
    if (m->nq == 3)
        mix_run(t, 3, nv, m, 0, m->first, m->end);
    if (m->nq == 2)
        mix_run(t, 2, nv, m, 0, m->first, m->end);
    if (m->nq == 1)
        mix_run(t, 1, nv, m, 0, m->first, m->end);
}

/* NB floats' queries, each its own range. */
SIMD_FN void mix_ragged(const int nb, const int nv, struct mix m)
{
    int a[MIX_Q], b[MIX_Q], from = m.first, to = m.end;

    for (int j = 0; j < nb; j++) {
        a[j] = m.lo[j] > m.first ? m.lo[j] : m.first;
        b[j] = m.hi[j] < m.end ? m.hi[j] : m.end;
        from = a[j] > from ? a[j] : from;
        to = b[j] < to ? b[j] : to;
    }
    /* Before, together, after; or, with nothing in common, all "after". */
    for (int part = from < to ? 0 : 2; part < 3; part++) {
        if (part == 1) {
            mix_run(KV_F32, nb, nv, &m, 0, from, to);
            continue;
        }
        for (int j = 0; j < nb; j++) {
            int x = part == 0 || from >= to ? a[j] : to;
            int y = part == 0 ? from : b[j];

            if (x < y)
                mix_run(KV_F32, 1, nv, &m, j, x, y);
        }
    }
}

SIMD_FN void mix_each(const int nv, struct mix m)
{
    for (; m.nq >= MIX_Q; mix_skip(&m, MIX_Q))
        mix_ragged(MIX_Q, nv, m);
    for (; m.nq; mix_skip(&m, 1))
        mix_ragged(1, nv, m);
}

/* NV vectors of floats, MIX_V at a time. */
static void mix_floats(struct mix m, int nv)
{
    for (; nv >= MIX_V; nv -= MIX_V) {
        mix_each(MIX_V, m);
        m.o += MIX_V * VL;
        m.v += MIX_V * VL * sizeof(float);
    }
    if (MIX_V > 2 && nv == 2)
        mix_each(2, m);
    else if (nv == 1)
        mix_each(1, m);
}

/* NV vectors of a row of V for all queries; SAME: they see the same. */
SIMD_FN void mix_vectors(const enum kern_kv t, const int nv, struct mix m,
                         bool same)
{
    float x[MIX_P * FEW_V * VL];
    const char *v = m.v;
    size_t stride = m.stride;
    int first = m.first, end = m.end;

    if (same && m.nq <= FEW) {
        mix_few(t, nv, &m);
        return;
    }
    if (t == KV_F32) {
        mix_floats(m, nv);
        return;
    }
    m.v = (const char *)x;
    m.stride = (size_t)(nv * VL) * sizeof *x;
    for (m.first = first; m.first < end; m.first = m.end) {
        m.end = end - m.first < MIX_P ? end : m.first + MIX_P;
        m.base = m.first;
        for (int p = m.first; p < m.end; p++) {
            UNROLL for (int k = 0; k < nv; k++)
            {
                vf_store(x + ((p - m.first) * nv + k) * VL,
                         v_value(t, v + (size_t)p * stride, k));
            }
        }
        mix_floats(m, nv);
    }
}

/* The last N dimensions, less than a vector. */
SIMD_FN void mix_rest(const enum kern_kv t, struct mix m, int n)
{
    VM mask = vf_first(n);
    const size_t bytes = bytes32(t) / 32;

    for (; m.nq; mix_skip(&m, 1)) {
        VF a = vf_load_m(m.o, mask);

        for (int p = *m.lo; p < *m.hi; p++) {
            uint32_t x[VL] = {0};

            memcpy(x, m.v + (size_t)p * m.stride, (size_t)n * bytes);
            a = vf_fma(vf_set1(m.s[p]), v_value(t, (const char *)x, 0), a);
        }
        vf_store_m(m.o, mask, a);
    }
}

SIMD_FN void mix(const enum kern_kv t, struct mix m, int d)
{
    bool same = true;
    int i = 0;

    m.first = INT32_MAX;
    for (int j = 0; j < m.nq; j++) {
        same &= m.lo[j] == m.lo[0] && m.hi[j] == m.hi[0];
        m.first = m.lo[j] < m.first ? m.lo[j] : m.first;
        m.end = m.hi[j] > m.end ? m.hi[j] : m.end;
    }
    for (; i + FEW_V * VL <= d; i += FEW_V * VL) {
        mix_vectors(t, FEW_V, m, same);
        m.o += FEW_V * VL;
        m.v += (size_t)(FEW_V * VL) * bytes32(t) / 32;
    }
    if (i + 2 * VL <= d) {
        mix_vectors(t, 2, m, same);
        i += 2 * VL;
        m.o += 2 * VL;
        m.v += (size_t)(2 * VL) * bytes32(t) / 32;
    }
    if (t == KV_Q8_0 || t == KV_Q4_0)
        return;
    if (i + VL <= d) {
        mix_vectors(t, 1, m, same);
        i += VL;
        m.o += VL;
        m.v += (size_t)VL * bytes32(t) / 32;
    }
    if (i < d)
        mix_rest(t, m, d - i);
}

#define BOTH(t, name)                                                          \
    static void score_of_##name(float *s, size_t lds, const float *q,          \
                                size_t ldq, int nq, const void *page, int d,   \
                                int nt)                                        \
    {                                                                          \
        score(t, s, lds, q, ldq, nq, page, d, nt);                             \
    }                                                                          \
    static void mix_of_##name(float *o, size_t ldo, const float *s,            \
                              size_t lds, const int *lo, const int *hi,        \
                              int nq, const void *page, int d)                 \
    {                                                                          \
        const struct mix m = {.o = o,                                          \
                              .s = s,                                          \
                              .ldo = ldo,                                      \
                              .lds = lds,                                      \
                              .lo = lo,                                        \
                              .hi = hi,                                        \
                              .nq = nq,                                        \
                              .v = page,                                       \
                              .stride = (size_t)d * bytes32(t) / 32};          \
                                                                               \
        mix(t, m, d);                                                          \
    }
BOTH(KV_F16, f16)
BOTH(KV_F32, f32)
BOTH(KV_BF16, bf16)
BOTH(KV_Q8_0, q8_0)
BOTH(KV_Q4_0, q4_0)

void SIMD(attend)(struct kern *k)
{
#define ALL(type, name)                                                        \
    k->score[type] = score_of_##name;                                          \
    k->mix[type] = mix_of_##name;
    ALL(KV_F16, f16)
    ALL(KV_F32, f32)
    ALL(KV_BF16, bf16)
    ALL(KV_Q8_0, q8_0)
    ALL(KV_Q4_0, q4_0)
#undef ALL
}

#endif
#endif
