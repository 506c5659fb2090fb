/* SPDX-License-Identifier: MIT
 * super.h - 256 weights whose groups' scales are integers times one scale.
 *
 * search.h finds what each group would have alone.  Of that come the common
 * scale, and integers; then, by turns: for the common scale each group takes
 * that of the nearby integers whose error, with every weight at its nearest
 * level, is least; and for these levels the common scale becomes that of least
 * squares, as a half float. */
#ifndef LLM_QUANTIZE_SUPER_H
#define LLM_QUANTIZE_SUPER_H

#include <math.h>

#include "kernels/op/math/half.h"
#include "quantize/search.h"

struct super {
    uint16_t d, dmin;
    float s[16], m[16]; /* integers */
    float q[WEIGHTS];   /* levels, [n][groups] */
};

struct super_form {
    struct levels l;
    int slo, shi; /* of the groups' scales */
    int mhi;      /* of their offsets, 0: none */
    int rounds;
    int reach; /* how far from its scale a group tries others in a round */
    float all; /* how much all errors count where nobody says: own_weights() */
};

/* The half float nearest to A, but not 0 where A is not. */
LANE_FN uint16_t half_of(float a)
{
    uint16_t h = f32_to_f16(a);

    return a != 0 && !(h & 0x7fff) ? (uint16_t)(h | 1) : h;
}

/* A common scale for V[N], which count C each, to be integers of LO..HI. */
LANE_FN uint16_t common(const float *v, const float *c, int n, int lo, int hi)
{
    float most = 0, best = 0, gain = -1;

    for (int i = 0; i < n; i++)
        if (fabsf(v[i]) > fabsf(most))
            most = v[i];
    if (most == 0)
        return 0;
    for (int k = 0; k < 5; k++) {
        float end = lo < 0 ? (float)lo : (float)hi, xq = 0, qq = 0;
        float inv = end * (1 - 0.02f * (float)(k - 1)) / most;

        if (!(fabsf(inv) <= 3e38f))
            return half_of(most / end);
        for (int i = 0; i < n; i++) {
            float t = v[i] * inv, q;

            t = t < (float)lo ? (float)lo : t > (float)hi ? (float)hi : t;
            q = t + 12582912.0f - 12582912.0f;
            xq += c[i] * v[i] * q;
            qq += c[i] * q * q;
        }
        if (qq > 0 && xq * xq / qq > gain) {
            gain = xq * xq / qq;
            best = xq / qq;
        }
    }
    return half_of(best != 0 ? best : most / (lo < 0 ? (float)lo : (float)hi));
}

/* Integers for V with the common scale H. */
LANE_FN void integers(float *s, const float *v, int n, uint16_t h, int lo,
                      int hi)
{
    float d = f16_to_f32(h), inv = d != 0 ? 1 / d : 0;

    for (int i = 0; i < n; i++) {
        float t = v[i] * inv;

        t = t < (float)lo ? (float)lo : t > (float)hi ? (float)hi : t;
        s[i] = t + 12582912.0f - 12582912.0f;
    }
}

/* The error of groups with scale D and offset B (taken away). */
LANE_FN vf group_error(const float *x, const float *w, vf d, vf b,
                       const struct levels *l, bool offset)
{
    int groups = WEIGHTS / l->n;
    vf inv = vf_inverse(d), err = {0};

    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups), wi = vf_load(w + i * groups), e;

        if (offset)
            xi += b;
        e = xi - d * level_of(xi * inv, l);
        err += wi * e * e;
    }
    return err;
}

/* Each group's best integers near those that it has. */
LANE_FN void step_lanes(float *ps, float *pm, const float *x, const float *w,
                        float d, float dmin, const struct super_form *f)
{
    vf s0 = vf_load(ps), m0 = vf_load(pm), s1 = s0, m1 = m0;
    vf least = group_error(x, w, s0 * d, m0 * dmin, &f->l, f->mhi > 0);

    for (int i = -f->reach; i <= f->reach; i++)
        for (int j = f->mhi ? -1 : 0; j <= (f->mhi ? 1 : 0); j++) {
            vf s = vf_clamp(s0 + (float)i, (float)f->slo, (float)f->shi);
            vf m = f->mhi ? vf_clamp(m0 + (float)j, 0, (float)f->mhi) : m0, e;
            vi better;

            if (!i && !j)
                continue;
            e = group_error(x, w, s * d, m * dmin, &f->l, f->mhi > 0);
            better = e < least;
            least = vf_select(better, e, least);
            s1 = vf_select(better, s, s1);
            m1 = vf_select(better, m, m1);
        }
    vf_store(ps, s1);
    vf_store(pm, m1);
}

/* What least squares needs, each sum by group. */
struct fit {
    float qq[16], xq[16], sq[16]; /* of w q^2, w x q, w q */
};

/* Levels for the scales, and their sums. */
LANE_FN void levels_lanes(float *q, struct fit *t, int h, const float *x,
                          const float *w, vf d, vf b, const struct levels *l,
                          bool offset)
{
    int groups = WEIGHTS / l->n;
    vf inv = vf_inverse(d), qq = {0}, xq = {0}, sq = {0};

    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups), wi = vf_load(w + i * groups), y, wy;

        y = level_of((offset ? xi + b : xi) * inv, l);
        vf_store(q + i * groups, y);
        wy = wi * y;
        qq += wy * y;
        xq += wy * xi;
        sq += wy;
    }
    vf_store(t->qq + h, qq);
    vf_store(t->xq + h, xq);
    vf_store(t->sq + h, sq);
}

/* The common scales of least squares for what O has. */
LANE_FN void refit(struct super *o, const struct fit *t, const float *sw,
                   const float *sx, const struct super_form *f)
{
    double a = 0, b = 0, c = 0, x = 0, y = 0, det;

    for (int g = 0; g < WEIGHTS / f->l.n; g++) {
        double s = (double)o->s[g], m = (double)o->m[g];

        a += s * s * (double)t->qq[g];
        x += s * (double)t->xq[g];
        b += s * m * (double)t->sq[g];
        c += m * m * (double)sw[g];
        y += m * (double)sx[g];
    }
    det = a * c - b * b;
    if (!f->mhi || c == 0 || !(det > 1e-9 * a * c)) {
        if (a > 0 && c == 0 && x != 0)
            o->d = half_of((float)(x / a));
        return;
    }
    /* Of sum w (x - d s q + dmin m)^2. */
    x = (x * c - b * y) / det;
    y = (x * b - y) / c;
    if (x > 0 && y > 0) {
        o->d = half_of((float)x);
        o->dmin = half_of((float)y);
    }
}

LANE_FN void super_levels(struct super *o, struct fit *t, const float *x,
                          const float *w, const struct super_form *f)
{
    float d = f16_to_f32(o->d), dmin = f16_to_f32(o->dmin);

    for (int h = 0; h < WEIGHTS / f->l.n; h += LANES)
        levels_lanes(o->q + h, t, h, x + h, w + h, vf_load(o->s + h) * d,
                     vf_load(o->m + h) * dmin, &f->l, f->mhi > 0);
}

/* X and W stand as search.h wants them. */
LANE_FN void super_search(struct super *o, const float *x, const float *w,
                          const struct super_form *f)
{
    int groups = WEIGHTS / f->l.n;
    float sw[16] = {0}, sx[16] = {0};
    struct fit t;

    *o = (struct super){0};
    if (f->mhi) {
        struct affine a;
        float m[16];

        affine_search(&a, x, w, &f->l);
        for (int g = 0; g < groups; g++)
            m[g] = -a.b[g];
        o->d = common(a.d, a.c, groups, 0, f->shi);
        o->dmin = common(m, a.e, groups, 0, f->mhi);
        integers(o->s, a.d, groups, o->d, 0, f->shi);
        integers(o->m, m, groups, o->dmin, 0, f->mhi);
        for (int i = 0; i < f->l.n; i++)
            for (int g = 0; g < groups; g++) {
                sw[g] += w[i * groups + g];
                sx[g] += w[i * groups + g] * x[i * groups + g];
            }
    } else {
        struct sym s;

        sym_search(&s, x, w, &f->l);
        o->d = common(s.d, s.c, groups, f->slo, f->shi);
        integers(o->s, s.d, groups, o->d, f->slo, f->shi);
    }
    for (int k = 0; k < f->rounds; k++) {
        float d = f16_to_f32(o->d), dmin = f16_to_f32(o->dmin);

        for (int h = 0; h < groups; h += LANES)
            step_lanes(o->s + h, o->m + h, x + h, w + h, d, dmin, f);
        super_levels(o, &t, x, w, f);
        refit(o, &t, sw, sx, f);
    }
    super_levels(o, &t, x, w, f);
}

#endif
