/* SPDX-License-Identifier: MIT
 * search.h - the scale, or the scale and the offset, of a group of weights.
 *
 * 256 weights stand as [N][256 / N]: groups of N, side by side.  For a trial
 * scale every weight has a nearest level q; for these levels the best scale is
 * that of least squares, sum(w x q) / sum(w q^2), and lowers the error by
 * sum(w x q)^2 / sum(w q^2).  Trial scales are those that put the greatest
 * weight near the last level; the best of them is then improved by turns:
 * levels for the scale, scale for the levels. */
#ifndef LLM_QUANTIZE_SEARCH_H
#define LLM_QUANTIZE_SEARCH_H

#include <stdbool.h>

#include "kernels/quant/tile32/ref.h"
#include "quantize/lanes.h"

/* What levels a group has. */
struct levels {
    int n;         /* weights of a group: 16 or 32 */
    int lo, hi;    /* levels are integers from lo to hi */
    bool table;    /* or those of IQ4_NL; then lo and hi are its ends */
    bool any_sign; /* an offset may be above 0 */
    bool both;     /* the greatest weight may have the last level of either end;
                      else that of the low one */
    /* Trials put the greatest weight at the last level and from FROM to TO
     * levels beyond it. */
    float from, to;
    int trials, turns;
};

enum { WEIGHTS = 256 };

/* The value of IQ4_NL nearest to T, the lesser of two. */
#ifdef __AVX2__
#define VF_TABLE(a, b, c, d, e, f, g, h) ((vf){a, b, c, d, e, f, g, h})

/* Halves the values four times, by what lies in the middle of two. */
LANE_FN vf table_level(vf t)
{
    vf second = VF_TABLE(-57, 45.5f, 0, 0, 0, 0, 0, 0);
    vf third = VF_TABLE(-93.5f, -28.5f, 19, 79, 0, 0, 0, 0);
    vf fourth = VF_TABLE(-115.5f, -74, -42, -16, 7, 31.5f, 61, 101);
    vf low = VF_TABLE(-127, -104, -83, -65, -49, -35, -22, -10);
    vf high = VF_TABLE(1, 13, 25, 38, 53, 69, 89, 113);
    vi upper = t > -4.5f, at = -upper;

    at = at + at - (vi)(t > vf_pick(second, at));
    at = at + at - (vi)(t > vf_pick(third, at));
    at = at + at - (vi)(t > vf_pick(fourth, at));
    return vf_select(upper, vf_pick(high, at), vf_pick(low, at));
}
#else
LANE_FN vf table_level(vf t)
{
    vf v = vf_set1(tile32_iq4[0]);

    for (int k = 0; k < 15; k++) {
        float low = tile32_iq4[k], high = tile32_iq4[k + 1];

        v += (vf)((t > (low + high) / 2) & (vi)vf_set1(high - low));
    }
    return v;
}
#endif

/* The level nearest to T. */
LANE_FN vf level_of(vf t, const struct levels *l)
{
    return l->table ? table_level(t)
                    : vf_clamp(vf_round(t), (float)l->lo, (float)l->hi);
}

/* ---- a scale ---- */

struct sym {
    float d[16], c[16]; /* scales, and sum(w q^2) */
};

LANE_FN void sym_try(vf *d, vf *c, vf *gain, const float *x, const float *w,
                     int groups, vf inv, const struct levels *l)
{
    vf sxq = {0}, sqq = {0}, g;
    vi better;

    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups), q = level_of(xi * inv, l);
        vf wq = vf_load(w + i * groups) * q;

        sxq += wq * xi;
        sqq += wq * q;
    }
    g = sxq * sxq * vf_inverse(sqq);
    better = g > *gain;
    *gain = vf_select(better, g, *gain);
    *d = vf_select(better, sxq * vf_inverse(sqq), *d);
    *c = vf_select(better, sqq, *c);
}

LANE_FN void sym_lanes(vf *d, vf *c, const float *x, const float *w,
                       const struct levels *l)
{
    int groups = WEIGHTS / l->n;
    float end = (float)-l->lo;
    vf most = {0}, gain = vf_set1(-1), inv;

    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups);

        most = vf_select(vf_abs(xi) > vf_abs(most), xi, most);
    }
    *d = *c = (vf){0};
    inv = vf_inverse(most);
    for (int k = 0; k < l->trials; k++) {
        float beyond =
            l->from + (l->to - l->from) * (float)k / (float)(l->trials - 1);

        sym_try(d, c, &gain, x, w, groups, inv * -(end + beyond), l);
        if (l->both)
            sym_try(d, c, &gain, x, w, groups, inv * ((float)l->hi + beyond),
                    l);
    }
    for (int k = 0; k < l->turns; k++)
        sym_try(d, c, &gain, x, w, groups, vf_inverse(*d), l);
}

LANE_FN void sym_search(struct sym *s, const float *x, const float *w,
                        const struct levels *l)
{
    for (int h = 0; h < WEIGHTS / l->n; h += LANES) {
        vf d, c;

        sym_lanes(&d, &c, x + h, w + h, l);
        vf_store(s->d + h, d);
        vf_store(s->c + h, c);
    }
}

/* ---- a scale and an offset: x is near d * q + b ---- */

struct affine {
    float d[16], b[16], c[16], e[16]; /* c: sum(w q^2), e: sum(w) */
};

struct affine_sums {
    vf sw, sx; /* of w and w x: the same for all trials */
    vf d, b, c, gain;
};

LANE_FN void affine_try(struct affine_sums *s, const float *x, const float *w,
                        int groups, vf inv, vf from, const struct levels *l)
{
    vf sq = {0}, sqq = {0}, sxq = {0}, det, d, b, g;
    vi better, up;

    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups);
        vf q = vf_clamp(vf_round((xi - from) * inv), 0, (float)l->hi);
        vf wq = vf_load(w + i * groups) * q;

        sq += wq;
        sqq += wq * q;
        sxq += wq * xi;
    }
    det = vf_inverse(s->sw * sqq - sq * sq);
    d = (s->sw * sxq - s->sx * sq) * det;
    b = (s->sx * sqq - sq * sxq) * det;
    if (!l->any_sign) {
        up = b > 0.0f;
        b = vf_select(up, (vf){0}, b);
        d = vf_select(up, sxq * vf_inverse(sqq), d);
    }
    g = d * sxq + b * s->sx;
    better = g > s->gain;
    s->gain = vf_select(better, g, s->gain);
    s->d = vf_select(better, d, s->d);
    s->b = vf_select(better, b, s->b);
    s->c = vf_select(better, sqq, s->c);
}

LANE_FN void affine_lanes(struct affine_sums *s, const float *x, const float *w,
                          const struct levels *l)
{
    int groups = WEIGHTS / l->n;
    vf min = vf_load(x), max = min, inv;

    *s = (struct affine_sums){0};
    for (int i = 0; i < l->n; i++) {
        vf xi = vf_load(x + i * groups), wi = vf_load(w + i * groups);

        min = vf_min(min, xi);
        max = vf_max(max, xi);
        s->sw += wi;
        s->sx += wi * xi;
    }
    if (!l->any_sign)
        min = vf_min(min, (vf){0});
    /* Without any step: the mean alone. */
    s->b = s->sx * vf_inverse(s->sw);
    if (!l->any_sign)
        s->b = vf_min(s->b, (vf){0});
    s->gain = s->b * s->sx;
    inv = vf_inverse(max - min);
    for (int k = 0; k < l->trials; k++) {
        float beyond =
            l->from + (l->to - l->from) * (float)k / (float)(l->trials - 1);

        affine_try(s, x, w, groups, inv * ((float)l->hi + beyond), min, l);
    }
    for (int k = 0; k < l->turns; k++)
        affine_try(s, x, w, groups, vf_inverse(s->d), s->b, l);
}

LANE_FN void affine_search(struct affine *a, const float *x, const float *w,
                           const struct levels *l)
{
    for (int h = 0; h < WEIGHTS / l->n; h += LANES) {
        struct affine_sums s;

        affine_lanes(&s, x + h, w + h, l);
        vf_store(a->d + h, s.d);
        vf_store(a->b + h, s.b);
        vf_store(a->c + h, s.c);
        vf_store(a->e + h, s.sw);
    }
}

#endif
