/* SPDX-License-Identifier: MIT
 * amx.c - a panel of super-blocks times tiles of KERN_ACT_Q256 with AMX.
 *
 * I, the sum of s * (v . x) over a super-block's groups, is exact, in whatever
 * order.  So s goes into the values, as two bytes:
 *
 *   signed   s * v = 128 * h + l: |s * v| <= 4096, so |h| <= 32; l is -64..63
 *   unsigned s = 8 * t + u, h = t * v and l = u * v: v <= 31 and t, u <= 7, so
 *            both are below 256, and products of two neighbours stay apart in a
 *            word's product
 *
 * and I is 128 or 8 times one sum of 256 products and another: whole tiles, and
 * vectors only see their sums.  A super-block becomes h and l once, for all
 * columns, which come 16 at a time.  In q2_k s * v is at most 45: l alone.
 *
 * Few columns are left to AVX512-VNNI. */
#include "kernels/quant/amx.h"

#define TILE256_WIDTHS X(1)
#include "kernels/quant/tile256/simd.h"

#include "kernels/quant/tile256/panels.h"

enum {
    GROUP = 16, /* columns of a tile register */
    /* Up to so many columns vectors are faster: with an offset, and without. */
    FEW_SIGNED = 24,
    FEW = 12
};

/* Tile registers: sums of l and of h, activations, weights; and those of a last
 * group with fewer columns.  (No enum: they are spliced into names.) */
#define CL      0
#define CH      1
#define A       2
#define B       3
#define CL_REST 4
#define CH_REST 5
#define A_REST  6

/* A super-block: 4 tiles each of l and of h, and the float scales. */
struct super {
    int8_t l[64][64], h[64][64];
    float d[16], dmin[16];
};

VEC_FN bool one_plane(const struct tile256_form *f)
{
    return f->scales == TILE256_HALVES;
}

VEC_FN VI sub16(VI a, VI b)
{
    return _mm512_sub_epi16(a, b);
}

/* Bytes of words' low halves, EVEN and ODD. */
VEC_FN VI join(VI even, VI odd)
{
    return _mm512_mask_mov_epi8(even, 0xaaaaaaaaaaaaaaaa, vi_left16(odd, 8));
}

/* Four values V of each row and their scales S, in both words of a lane. */
VEC_FN void products(const struct tile256_form *f, int8_t *l, int8_t *h, VI v,
                     VI s)
{
    const VI round = vi_set16(64);
    VI even, odd, he, ho;

    if (!f->off) {
        if (!one_plane(f)) {
            _mm512_store_si512(h, vi_mul16(v, vi_right16(s, 3)));
            s = vi_and(s, vi_set16(7));
        }
        _mm512_store_si512(l, vi_mul16(v, s));
        return;
    }
    v = _mm512_sub_epi8(v, vi_set8(f->off));
    even = vi_mul16(_mm512_srai_epi16(vi_left16(v, 8), 8), s);
    odd = vi_mul16(_mm512_srai_epi16(v, 8), s);
    he = _mm512_srai_epi16(vi_add16(even, round), 7);
    ho = _mm512_srai_epi16(vi_add16(odd, round), 7);
    _mm512_store_si512(h, join(he, ho));
    even = sub16(even, vi_left16(he, 7));
    odd = sub16(odd, vi_left16(ho, 7));
    _mm512_store_si512(l, join(even, odd));
}

VEC_FN void expand(const struct tile256_form *f, struct super *s,
                   const uint8_t *p, tile256_values_fn *values)
{
    const VI table = vi_table(f->table);
    int8_t(*l)[64] = s->l, (*h)[64] = s->h;
    int chunks = 256 / f->chunk;

    ahead(p, f->bytes, true);
    VEC_HIDE(chunks);
    for (int c = 0; c < chunks; c++)
        VEC_UNROLL for (int g = 0; g < f->chunk / f->group; g++)
        {
            VI scale =
                tile256_scale(f, p, c * f->chunk / f->group + g, 0, true);

            scale = _mm512_or_si512(scale, vi_left32(scale, 16));
            VEC_UNROLL for (int i = 0; i < f->group; i += 4)
            {
                VI v = values(p + f->quant + c * f->chunk_bytes,
                              g * f->group + i, 0);

                if (TILE256_TABLE(f))
                    v = vi_look(table, v);
                products(f, *l++, *h++, v, scale);
            }
        }
    if (f->off) {
        _mm512_store_ps(s->d, vf_load(p));
        return;
    }
    _mm512_store_ps(s->d, vf_f16(p));
    _mm512_store_ps(s->dmin, vf_f16(p + 32));
}

/* NC columns from the first on, whose sums are L and H. */
VEC_FN void finish(const struct tile256_form *f, int nc, float *y, size_t ldy,
                   const struct super *s, const int32_t l[][16],
                   const int32_t h[][16], const uint8_t *p, const float *dx,
                   const char *sum, bool first)
{
    const int pairs = 128 / f->group;
    VF acc[4];
    VI in[4];

    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        acc[c] = first ? vf_zero() : vf_load(y + (size_t)c * ldy);
        in[c] = vi_load(l[c]);
        if (!one_plane(f))
            in[c] = vi_add32(in[c], vi_left32(vi_load(h[c]), f->off ? 7 : 3));
        acc[c] = vf_fma(vf_of(in[c]), vf_mul(vf_load(s->d), vf_each(dx + c)),
                        acc[c]);
        in[c] = vi_zero();
    }
    if (!f->off) {
        VEC_UNROLL for (int g = 0; g < pairs; g++)
        {
            VI m = tile256_pair(f, p, g, 0);

            VEC_UNROLL for (int c = 0; c < nc; c++)
            {
                in[c] =
                    vi_dot16_each(in[c], m, sum + c * (512 / f->group) + 4 * g);
            }
        }
        VEC_UNROLL for (int c = 0; c < nc; c++)
        {
            acc[c] = vf_fnma(vf_of(in[c]),
                             vf_mul(vf_load(s->dmin), vf_each(dx + c)), acc[c]);
        }
    }
    VEC_UNROLL for (int c = 0; c < nc; c++)
    {
        vf_store(y + (size_t)c * ldy, acc[c]);
    }
}

/* A group of N columns from C on, of the W at X. */
VEC_FN void group(const struct tile256_form *f, int n, float *y, size_t ldy,
                  const struct super *s, const uint8_t *p, const char *x, int c,
                  int w, bool first)
{
    int32_t l[GROUP][16] __attribute__((aligned(64)));
    int32_t h[GROUP][16] __attribute__((aligned(64)));
    const float *dx = (const float *)(const void *)(x + w * 256) + c;
    const int each = 512 / f->group;
    const char *sum = x + w * (f->group == 16 ? 260 : 292) + c * each;
    int i = 0;

    x += c * 256;
#define DOT(reg, a)                                                            \
    if (f->off) {                                                              \
        amx_dot(reg, a, B);                                                    \
    } else {                                                                   \
        amx_dot_unsigned(reg, a, B);                                           \
    }
#define SUMS(cl, ch, a)                                                        \
    amx_zero(cl);                                                              \
    if (!one_plane(f))                                                         \
        amx_zero(ch);                                                          \
    for (int k = 0; k < 4; k++) {                                              \
        amx_load(a, x + 64 * k, 256);                                          \
        amx_load(B, s->l[16 * k], 64);                                         \
        DOT(cl, a)                                                             \
        if (!one_plane(f)) {                                                   \
            amx_load(B, s->h[16 * k], 64);                                     \
            DOT(ch, a)                                                         \
        }                                                                      \
    }                                                                          \
    amx_store(cl, l, 64);                                                      \
    if (!one_plane(f))                                                         \
        amx_store(ch, h, 64);
    if (n == GROUP) {
        SUMS(CL, CH, A)
    } else {
        SUMS(CL_REST, CH_REST, A_REST)
    }
#undef SUMS
#undef DOT
    for (; i + 4 <= n; i += 4)
        finish(f, 4, y + (size_t)i * ldy, ldy, s, l + i, h + i, p, dx + i,
               sum + i * each, first);
    for (; i < n; i++)
        finish(f, 1, y + (size_t)i * ldy, ldy, s, l + i, h + i, p, dx + i,
               sum + i * each, first);
}

VEC_FN void many(float *y, size_t ldy, const void *panel, const void *tiles,
                 int64_t n, int all, const struct tile256_form *f,
                 tile256_values_fn *values)
{
    struct super s __attribute__((aligned(64)));
    struct amx_shape shape = {0};
    const uint8_t *p = panel;

    amx_shape_set(&shape, CL, GROUP, 64);
    amx_shape_set(&shape, CH, GROUP, 64);
    amx_shape_set(&shape, A, GROUP, 64);
    amx_shape_set(&shape, B, 16, 64);
    if (all % GROUP) {
        amx_shape_set(&shape, CL_REST, all % GROUP, 64);
        amx_shape_set(&shape, CH_REST, all % GROUP, 64);
        amx_shape_set(&shape, A_REST, all % GROUP, 64);
    }
    amx_begin(&shape);
    for (int64_t k = 0; k < n; k += 256, p += f->bytes) {
        const void *tile = tiles;
        float *to = y;
        int left = all;

        expand(f, &s, p, values);
        KERN_EACH_TILE(KERN_ACT_Q256, n, left, w, tile, to, ldy)
        for (int c = 0; c < w; c += GROUP)
            group(f, w - c < GROUP ? w - c : GROUP, to + (size_t)c * ldy, ldy,
                  &s, p, (const char *)tile + k / 256 * ACT_Q256_BYTES * w, c,
                  w, !k);
    }
    amx_end();
}

#define X(name)                                                                \
    void tile256_##name##_amx(float *y, size_t ldy, const void *panel,         \
                              const void *tile, int64_t n, int w)              \
    {                                                                          \
        if (w <= (name##_form.off ? FEW_SIGNED : FEW))                         \
            tile256_##name##_avx512vnni(y, ldy, panel, tile, n, w);            \
        else                                                                   \
            many(y, ldy, panel, tile, n, w, &name##_form, name##_values);      \
    }
#include "kernels/quant/tile256/types.h"
