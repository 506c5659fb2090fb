/* SPDX-License-Identifier: MIT
 * quantize.c - blocks of every type: by other people's software to the byte
 * where that has a formula, and near the best that any scales reach elsewhere.
 */
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "gguf/check.h"
#include "gguf/gguf.h"
#include "kernels/op/math/half.h"
#include "quantize/quantize.h"
#include "quantize/source.h"
#include "tests/data/quantize_data.h"

enum { BLOCKS = 24, N = BLOCKS * 32, MOST = 8192 };

static struct quantize base, best;
static uint64_t lcg = 1;

static int32_t next24(void)
{
    lcg = lcg * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)(lcg >> 40) - (1 << 23);
}

/* As tests/tools/quantize.py has it. */
static void golden_weights(float *x)
{
    lcg = 1;
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 32; i++) {
            int32_t u = next24();
            float v = (float)u * 0x1p-23f * ldexpf(1, -(b % 16));
            float kinds[8] = {v,
                              v * fabsf(v),
                              (float)(u >> 20) / 8,
                              fabsf(v),
                              0,
                              i == 7 ? v : 0,
                              -fabsf(v),
                              v * 1000};

            x[b * 32 + i] = kinds[b % 8];
        }
}

static void test_golden(const struct quantize *q, const char *which)
{
    static const struct {
        uint32_t id;
        const unsigned char *want;
        size_t n;
    } golden[] = {
#define GOLDEN(id, name) {id, golden_##name, sizeof golden_##name}
        GOLDEN(GGUF_T_F16, f16),   GOLDEN(GGUF_T_BF16, bf16),
        GOLDEN(GGUF_T_Q8_0, q8_0), GOLDEN(GGUF_T_Q4_0, q4_0),
        GOLDEN(GGUF_T_Q4_1, q4_1), GOLDEN(GGUF_T_Q5_0, q5_0),
        GOLDEN(GGUF_T_Q5_1, q5_1), GOLDEN(GGUF_T_MXFP4, mxfp4),
    };
    static float x[N];
    static unsigned char got[N * 4];

    golden_weights(x);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const struct quantize_type *t = quantize_type(q, golden[i].id);
        size_t n = (size_t)(N / t->elems * t->bytes), at = 0;
        int64_t bad = t->row(got, x, NULL, N);

        while (bad < 0 && at < n && got[at] == golden[i].want[at])
            at++;
        ok(bad < 0 && n == golden[i].n && at == n,
           "%s, %s: the bytes of the Python package (to %zu of %zu)", t->name,
           which, at, n);
    }
}

/* ---- weights like those of models ---- */

static float bell(void)
{
    int32_t s = 0;

    for (int i = 0; i < 4; i++)
        s += next24() >> 2;
    return (float)s * 0x1p-22f;
}

/* KIND: plain; with outliers; columns of different sizes; all above 0. */
static void model_weights(float *x, float *w, int kind, int n)
{
    for (int i = 0; i < n; i++) {
        float v = bell() * 0.05f;

        w[i] = ldexpf(1 + fabsf(bell()), next24() & 7);
        x[i] = kind == 1   ? v * (1 + 8 * fabsf(bell() * bell()))
               : kind == 2 ? v * ldexpf(1, -(i % 7))
               : kind == 3 ? 0.3f + fabsf(v)
                           : v;
    }
}

static double error_of(const struct quantize_type *t, const float *x,
                       const float *w, int n, const float *by)
{
    static unsigned char b[MOST * 4];
    static float y[MOST];
    double err = 0, all = 0;

    if (t->row(b, x, w, n) >= 0)
        return HUGE_VAL;
    source_load(y, b, t->id, n, &base);
    base.error(&err, &all, x, y, by, n);
    return err;
}

/* The least error of a group of N, with levels 0..HI (or LO..HI) and any
 * scale, and any offset of at most 0 where OFFSET: by trying many. */
static double group_bound(const float *x, int n, int lo, int hi, bool offset)
{
    double least = HUGE_VAL, min = 0, most = 0, max = 0;

    for (int i = 0; i < n; i++) {
        min = fmin(min, (double)x[i]);
        max = fmax(max, (double)x[i]);
        most = fmax(most, fabs((double)x[i]));
    }
    for (int a = 0; a <= (offset ? 40 : 0); a++)
        for (int k = 0; k < (offset ? 80 : 400); k++) {
            double b = offset ? min * (1 - a * 0.0125) : 0, err = 0;
            double d = offset ? (max - b) / hi * (0.6 + k * 0.0065)
                              : most / -lo * (0.5 + (k / 2) * 0.005) *
                                    (k % 2 ? 1 : -1);

            for (int i = 0; i < n; i++) {
                double q = d != 0 ? nearbyint(((double)x[i] - b) / d) : 0, e;

                q = q < lo ? lo : q > hi ? hi : q;
                e = (double)x[i] - b - d * q;
                err += e * e;
            }
            least = err < least ? err : least;
        }
    return least;
}

/* Scales that are integers times another cannot be as good as free ones. */
static void test_bounds(void)
{
    static const struct {
        uint32_t id;
        int n, lo, hi;
        bool offset;
        double times;
    } rows[] = {
        {GGUF_T_Q2_K, 16, 0, 3, true, 1.35},
        {GGUF_T_Q3_K, 16, -4, 3, false, 1.10},
        {GGUF_T_Q4_K, 32, 0, 15, true, 1.05},
        {GGUF_T_Q5_K, 32, 0, 31, true, 1.08},
        {GGUF_T_Q6_K, 16, -32, 31, false, 1.10},
    };
    static float x[2048], w[2048];

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int kind = 0; kind < 3; kind++) {
            const struct quantize_type *t = quantize_type(&best, rows[r].id);
            double bound = 0, err;

            lcg = 77 + (uint64_t)kind;
            model_weights(x, w, kind, 2048);
            for (int i = 0; i < 2048; i++)
                w[i] = 1;
            for (int i = 0; i < 2048; i += rows[r].n)
                bound += group_bound(x + i, rows[r].n, rows[r].lo, rows[r].hi,
                                     rows[r].offset);
            err = error_of(t, x, w, 2048, NULL);
            ok(err <= bound * rows[r].times,
               "%s, kind %d: %.3f times the error that free scales reach",
               t->name, kind, err / bound);
        }
}

static void test_all(void)
{
    static unsigned char a[MOST * 4], b[MOST * 4];
    static float x[MOST], w[MOST], y[MOST];

    for (int k = 0; k < QUANTIZE_NTYPE; k++) {
        const struct quantize_type *t = &base.type[k], *u = &best.type[k];
        size_t size = (size_t)(MOST / t->elems * t->bytes);
        int differ = 0, worse = 0, zeros = 0, odd = 0;

        for (int kind = 0; kind < 4; kind++) {
            lcg = 5 + (uint64_t)kind;
            model_weights(x, w, kind, MOST);
            for (int given = 0; given < 2; given++) {
                t->row(a, x, given ? w : NULL, MOST);
                u->row(b, x, given ? w : NULL, MOST);
                differ += memcmp(a, b, size) != 0;
            }
            worse +=
                error_of(t, x, w, MOST, w) >
                error_of(t, x, NULL, MOST, w) * (kind == 3 ? 1.05 : 1.0001);
            /* A row's blocks do not know of each other. */
            u->row(b, x, w, 5 * 256 + (t->elems < 256 ? 32 : 0));
            odd += memcmp(a, b, (size_t)(5 * 256 / t->elems * t->bytes)) != 0;
        }
        memset(x, 0, sizeof x);
        for (int given = 0; given < 2; given++) {
            zeros += t->row(a, x, given ? w : NULL, MOST) >= 0;
            source_load(y, a, t->id, MOST, &base);
            for (int i = 0; i < MOST; i++)
                zeros += y[i] != 0;
        }
        ok(!differ, "%s: the same bits from every instruction set", t->name);
        ok(!worse, "%s: weights make the weighted error no greater", t->name);
        ok(!odd, "%s: blocks depend on nothing else", t->name);
        ok(!zeros, "%s: zeros stay zeros", t->name);
    }
}

/* There and back: the part of the squares that is lost, of plain weights. */
static void test_losses(void)
{
    static const struct {
        const char *name;
        double most; /* and at least half of that, or nothing at all */
    } want[] = {
        {"F32", 0},       {"F16", 6e-8},     {"BF16", 4e-6},    {"Q8_0", 4e-5},
        {"Q4_0", 0.012},  {"Q4_1", 0.009},   {"Q5_0", 0.003},   {"Q5_1", 0.002},
        {"Q2_K", 0.1},    {"Q3_K", 0.03},    {"Q4_K", 0.007},   {"Q5_K", 0.002},
        {"Q6_K", 0.0005}, {"IQ4_NL", 0.007}, {"IQ4_XS", 0.007}, {"MXFP4", 0.02},
    };
    static unsigned char b[MOST * 4];
    static float x[MOST], w[MOST], y[MOST];

    lcg = 21;
    model_weights(x, w, 0, MOST);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct quantize_type *t = &best.type[i];
        double err = 0, all = 0, part;
        int bad =
            t->row(b, x, NULL, MOST) >= 0 || strcmp(t->name, want[i].name);

        source_load(y, b, t->id, MOST, &best);
        base.error(&err, &all, x, y, NULL, MOST);
        part = err / all;
        ok(!bad && part <= want[i].most && part >= want[i].most / 2,
           "%s: %.3g of the squares are lost there and back", t->name, part);
    }
}

/* Very small, very great, alone: all finite, and within the greatest. */
static void test_extremes(void)
{
    static const float sizes[] = {1e-45f, 1e-38f, 1e-20f, 1e-9f,
                                  1e-7f,  1e-5f,  1e4f,   6e4f};
    static unsigned char b[256 * 4];
    static float x[256], w[256], y[256];

    for (int k = 0; k < QUANTIZE_NTYPE; k++) {
        const struct quantize_type *t = &best.type[k];
        int bad = 0;

        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int kind = 0; kind < 4; kind++) {
                for (int i = 0; i < 256; i++) {
                    x[i] = kind == 0   ? sizes[s] * (float)next24() * 0x1p-23f
                           : kind == 1 ? (i == 99 ? -sizes[s] : 0)
                           : kind == 2 ? sizes[s]
                                       : (i & 1 ? sizes[s] : -sizes[s]);
                    w[i] = kind == 3 && i < 128 ? 0 : 1e-30f;
                }
                for (int given = 0; given < 2; given++) {
                    bad += t->row(b, x, given ? w : NULL, 256) >= 0;
                    source_load(y, b, t->id, 256, &best);
                    for (int i = 0; i < 256; i++)
                        bad += !(fabsf(y[i]) <= sizes[s] * 1.6f + 1e-7f);
                }
            }
        ok(!bad, "%s: small and great weights", t->name);
    }
}

static void test_refused(void)
{
    static const uint32_t half[] = {GGUF_T_F16,  GGUF_T_Q8_0, GGUF_T_Q4_0,
                                    GGUF_T_Q4_1, GGUF_T_Q2_K, GGUF_T_Q6_K};
    static unsigned char b[512 * 4];
    static float x[512];
    float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    int missed = 0;

    for (size_t i = 0; i < sizeof half / sizeof *half; i++) {
        const struct quantize_type *t = quantize_type(&best, half[i]);
        int64_t at;

        memset(x, 0, sizeof x);
        x[300] = -3e38f;
        at = t->row(b, x, NULL, 512);
        ok(at >= 300 / t->elems * t->elems && at <= 300,
           "%s: has no scale for 3e38, at %d", t->name, (int)at);
    }
    for (int i = 0; i < 4; i++)
        for (int n = 1; n < 40; n++) {
            memset(x, 0, sizeof x);
            x[n - 1] = bad[i];
            missed += best.bad(x, n) != n - 1 || base.bad(x, n) != n - 1 ||
                      best.bad(x, n - 1) != -1;
        }
    x[0] = 3.4e38f;
    x[39] = 0;
    ok(!missed && best.bad(x, 1) == -1 && best.bad(x + 50, 40) == -1,
       "what is not finite is found, and nothing else");
}

static void test_halves(void)
{
    static uint16_t h[65536], out[65536];
    static float x[65536];
    int wrong = 0;

    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    best.load_f16(x, h, 65536);
    for (int i = 0; i < 65536; i++)
        wrong += (h[i] & 0x7c00) != 0x7c00 &&
                 f32_bits(x[i]) != f32_bits(f16_to_f32(h[i]));
    best.load_bf16(x, h, 65536);
    for (int i = 0; i < 65536; i++)
        wrong += f32_bits(x[i]) != (uint32_t)i << 16;
    ok(!wrong, "half floats and bfloat16 as floats");
    wrong = 0;
    for (int round = 0; round < 64; round++) {
        for (int i = 0; i < 65536; i++)
            x[i] = bits_f32((uint32_t)next24() << 8 |
                            (uint32_t)(round * 4 + (i & 3)));
        for (int i = 0; i < 65536; i++)
            x[i] = fabsf(x[i]) < 65519 ? x[i] : 1;
        wrong +=
            quantize_type(&best, GGUF_T_F16)->row(out, x, NULL, 65536) >= 0;
        for (int i = 0; i < 65536; i++)
            wrong += out[i] != f32_to_f16(x[i]);
    }
    ok(!wrong, "floats as half floats");
}

int main(void)
{
    quantize_init(&base, 0);
    quantize_init(&best, cpu_flags());
    test_golden(&base, "plain");
    test_golden(&best, "best");
    test_all();
    test_bounds();
    test_losses();
    test_extremes();
    test_refused();
    test_halves();
    return tap_done();
}
