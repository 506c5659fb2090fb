/* SPDX-License-Identifier: MIT
 * checkops.c - everything of struct kern but products: each instruction set
 * of this machine against the reference by memcmp, and the reference against
 * double arithmetic.  Arguments end where unreadable memory begins.
 *
 *     checkops [--bench] [seed] */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu.h"
#include "kernels/kern.h"
#include "kernels/op/math/half.h"
#include "kernels/op/math/math.h"
#include "tests/unit/checkops_data.h"
#include "tests/unit/tap.h"

static struct kern ref, fast;
static const char *level;
static uint64_t state;

static uint32_t rnd(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) ^ (uint32_t)(state >> 12);
}

static int below(int n)
{
    return (int)(rnd() % (uint32_t)n);
}

static float real(void)
{
    return ((float)(int32_t)rnd() + (float)(int32_t)rnd()) * 0x1p-30f;
}

static float special(void)
{
    static const uint32_t bits[] = {
        0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
        0x7f800001, 0xffbfffff, 0x7f7fffff, 0xff7fffff, 1,          0x80000001,
        0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x42b17218, 0xc2b17218,
        0xc2aeac50, 0xc2aeac4f, 0x477fe000, 0x477ff000, 0x33000000, 0x33000001,
        0x387fffff, 0x40a00000, 0x41500000, 0xc1500000, 0x41400000, 0xc1400000};

    return below(2) ? bits_f32(bits[rnd() % (sizeof bits / sizeof *bits)])
                    : bits_f32(rnd());
}

/* Is FAST what no level below L has? */
static bool level_own(int l)
{
    const size_t from = offsetof(struct kern, act);
    static struct kern k;

    for (int i = 0; i < l; i++) {
        kern_init(&k, cpu_level[i].flags);
        if (!memcmp((char *)&k + from, (char *)&fast + from, sizeof k - from))
            return false;
    }
    return true;
}

/* Regions that end before a page that cannot be touched. */
enum { REGION = 1 << 20, NREGION = 12 };
static char *region[NREGION];

static void *at_end(int i, size_t bytes)
{
    return region[i] + REGION - bytes;
}

static float *floats(int i, int64_t n, int how)
{
    float *x = at_end(i, (size_t)n * sizeof *x);

    for (int64_t k = 0; k < n; k++)
        x[k] = how == 2 || (how == 1 && below(20) == 0) ? special() : real();
    return x;
}

static void *copy(int i, const void *p, size_t bytes)
{
    return memcpy(at_end(i, bytes), p, bytes);
}

/* The same bits, or both NaN. */
static bool same(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (f32_bits(a[i]) != f32_bits(b[i]) && (a[i] == a[i] || b[i] == b[i]))
            return false;
    return true;
}

/* ---- functions of one number ---- */

static double f_silu(double x)
{
    return x / (1 + exp(-x));
}

static double f_gelu(double x)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);

    return x / (1 + exp(-2 * u));
}

static double f_gelu_erf(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

static double f_relu2(double x)
{
    return x > 0 ? x * x : 0;
}

static double f_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    const char *name;
    double (*f)(double), ulp, tiny;
} unary[KERN_NUNARY] = {[KERN_SILU] = {"silu", f_silu, 4, 0x1p-118},
                        [KERN_GELU] = {"gelu", f_gelu, 4, 0x1p-118},
                        [KERN_GELU_ERF] = {"gelu_erf", f_gelu_erf, 4, 0x1p-118},
                        [KERN_RELU2] = {"relu2", f_relu2, 1, 0},
                        [KERN_SIGMOID] = {"sigmoid", f_sigmoid, 4, 0x1p-126},
                        [KERN_TANH] = {"tanh", tanh, 4, 0},
                        [KERN_EXP] = {"exp", exp, 2, 0x1p-126}};

/* How far Y is from R, in units of a float's last place. */
static double distance(float y, double r, double tiny)
{
    int e;

    if (r != r || y != y)
        return r != r && y != y ? 0 : INFINITY;
    if (fabs(r) > 0x1.ffffffp127)
        return y == (r > 0 ? INFINITY : -INFINITY) ? 0 : INFINITY;
    if (isinf(y))
        return INFINITY;
    if (fabs(r) < tiny)
        return fabs(y) <= tiny ? 0 : INFINITY;
    frexp(r, &e);
    return fabs((double)y - r) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

static void unary_accuracy(void)
{
    static float x[1 << 10], y[1 << 10];

    for (int f = 0; f < KERN_NUNARY; f++) {
        double worst = 0;
        float at = 0;

        for (uint64_t u = rnd() % 4096; u < 1ull << 32; u += 4099 << 10) {
            for (uint32_t i = 0; i < 1 << 10; i++)
                x[i] = y[i] = bits_f32((uint32_t)u + i * 4099);
            ref.unary[f](y, 1 << 10);
            for (int i = 0; i < 1 << 10; i++) {
                double d =
                    distance(y[i], unary[f].f((double)x[i]), unary[f].tiny);

                if (x[i] != x[i] || isinf(x[i]))
                    continue;
                at = d > worst ? x[i] : at;
                worst = d > worst ? d : worst;
            }
        }
        ok(worst <= unary[f].ulp, "%s: %.2f units from double, at %a",
           unary[f].name, worst, (double)at);
    }
}

static void unary_limits(void)
{
    static const float want[KERN_NUNARY][3] = {
        /* -inf, 0, inf */
        [KERN_SILU] = {-0.f, 0, INFINITY},
        [KERN_GELU] = {-0.f, 0, INFINITY},
        [KERN_GELU_ERF] = {-0.f, 0, INFINITY},
        [KERN_RELU2] = {0, 0, INFINITY},
        [KERN_SIGMOID] = {0, .5f, 1},
        [KERN_TANH] = {-1, 0, 1},
        [KERN_EXP] = {0, 1, INFINITY}};

    for (int f = 0; f < KERN_NUNARY; f++) {
        float x[5] = {-INFINITY, 0, INFINITY, bits_f32(0x7f801234),
                      bits_f32(0xffc04321)};

        ref.unary[f](x, 5);
        ok(memcmp(x, want[f], sizeof want[f]) == 0,
           "%s of -inf, 0, inf: %g %g %g", unary[f].name, (double)x[0],
           (double)x[1], (double)x[2]);
        ok(f == KERN_RELU2
               ? x[3] != x[3] && x[4] != x[4]
               : f32_bits(x[3]) == 0x7fc01234 && f32_bits(x[4]) == 0xffc04321,
           "%s of NaN: %x %x", unary[f].name, f32_bits(x[3]), f32_bits(x[4]));
    }
}

static void unary_same(void)
{
    for (int f = 0; f < KERN_NUNARY; f++) {
        bool good = true;

        for (int n = 0; n <= 100; n++)
            for (int how = 0; how < 3; how++) {
                float *x = floats(0, n, how);
                float *y = copy(1, x, (size_t)n * 4);

                y[-1] = x[-1] = 77;
                ref.unary[f](x, n);
                fast.unary[f](y, n);
                good &= !memcmp(x - 1, y - 1, (size_t)n * 4 + 4);
            }
        for (int i = 0; i < 8; i++) {
            int n = REGION / 4;
            float *x = floats(0, n, 2), *y;

            for (int k = 0; k < n && i; k++)
                x[k] = real() * (i < 4 ? 4.f : 60.f);
            y = copy(1, x, (size_t)n * 4);
            ref.unary[f](x, n);
            fast.unary[f](y, n);
            good &= !memcmp(x, y, (size_t)n * 4);
        }
        ok(good, "%s: %s", level, unary[f].name);
    }
}

/* ---- along a row ---- */

static void rows_accuracy(void)
{
    double rms = 0, layer = 0, soft = 0;

    for (int t = 0; t < 50; t++) {
        int n = 1 + below(3000), lo = below(n), hi = lo + 1 + below(n - lo);
        float *x = floats(0, n, 0), *y = at_end(1, (size_t)n * 4), m, l;
        float *w = floats(2, n, 0), *b = floats(3, n, 0);
        double s2 = 0, s = 0, v = 0, max = -INFINITY, sum = 0;

        for (int i = 0; i < n; i++) {
            s += (double)x[i];
            s2 += (double)x[i] * (double)x[i];
        }
        ref.rmsnorm(y, x, w, n, 1e-5f);
        for (int i = 0; i < n; i++)
            rms = fmax(rms, fabs((double)y[i] - (double)x[i] * (double)w[i] /
                                                    sqrt(s2 / n + 1e-5)));
        for (int i = 0; i < n; i++)
            v += ((double)x[i] - s / n) * ((double)x[i] - s / n);
        ref.layernorm(y, x, w, b, n, 1e-5f);
        for (int i = 0; i < n; i++)
            layer = fmax(layer, fabs((double)y[i] - (double)b[i] -
                                     ((double)x[i] - s / n) * (double)w[i] /
                                         sqrt(v / n + 1e-5)));
        memcpy(y, x, (size_t)n * 4);
        ref.softmax(y, lo, hi, n, 3, 2, &m, &l);
        for (int i = lo; i < hi; i++)
            max = fmax(max, 2 * tanh((double)x[i] * 3 / 2));
        for (int i = lo; i < hi; i++)
            sum += exp(2 * tanh((double)x[i] * 3 / 2) - max);
        soft = fmax(soft, fabs((double)l / sum - 1) + fabs((double)m - max));
        for (int i = 0; i < n; i++) {
            double e = exp(2 * tanh((double)x[i] * 3 / 2) - max);

            soft = fmax(soft, fabs((double)y[i] - (i < lo || i >= hi ? 0 : e)));
        }
    }
    ok(rms < 2e-6, "rmsnorm: %.2g from double", rms);
    ok(layer < 4e-6, "layernorm: %.2g from double", layer);
    ok(soft < 2e-6, "softmax: %.2g from double", soft);
}

/* Lanes and tree, said once more. */
static void rows_order(void)
{
    float x[100], y[100], l[16] = {0}, r, t[8];

    for (int i = 0; i < 100; i++) {
        x[i] = real();
        l[i % 16] = fmaf(x[i], x[i], l[i % 16]);
    }
    for (int i = 0; i < 8; i++)
        t[i] = l[i] + l[i + 8];
    r = ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
    r = 1 / sqrtf(r / 100 + 1e-6f);
    ref.rmsnorm(y, x, NULL, 100, 1e-6f);
    for (int i = 0; i < 100; i++)
        x[i] *= r;
    ok(!memcmp(x, y, sizeof x), "sums have 16 lanes and a tree");
}

static void norms_same(void)
{
    bool rms = true, layer = true;

    for (int n = 1; n <= 300; n++) {
        float *x = floats(0, n, n % 8 == 0), *w = floats(1, n, n % 16 == 0);
        float *b = floats(2, n, 0), *y = floats(3, n, 0), *z;

        w = n & 1 ? w : NULL;
        b = n & 2 ? b : NULL;
        z = copy(4, y, (size_t)n * 4);
        y[-1] = z[-1] = 77;
        ref.rmsnorm(y, x, w, n, 1e-5f);
        fast.rmsnorm(z, x, w, n, 1e-5f);
        rms &= same(y - 1, z - 1, n + 1);
        ref.layernorm(y, x, w, b, n, 1e-5f);
        fast.layernorm(z, x, w, b, n, 1e-5f);
        layer &= same(y - 1, z - 1, n + 1);
        z = copy(4, x, (size_t)n * 4);
        fast.layernorm(z, z, w, b, n, 1e-5f);
        layer &= same(y, z, n);
    }
    ok(rms, "%s: rmsnorm", level);
    ok(layer, "%s: layernorm", level);
}

static void softmax_same(void)
{
    bool good = true;

    for (int t = 0; t < 1500; t++) {
        int n = 1 + below(t % 2 ? 40 : 600), lo = below(n);
        int hi = lo + 1 + below(n - lo);
        float *x = floats(0, n, t % 8 == 0), *y = copy(1, x, (size_t)n * 4);
        float cap = t % 3 ? 0.f : 2.5f, scale = t % 5 ? 9.f : -.3f;
        float m[2], l[2];

        y[-1] = x[-1] = 77;
        ref.softmax(x, lo, hi, n, scale, cap, m, l);
        fast.softmax(y, lo, hi, n, scale, cap, m + 1, l + 1);
        good &=
            same(x - 1, y - 1, n + 1) && same(m, m + 1, 1) && same(l, l + 1, 1);
        for (int i = 0; i < n; i++)
            good &= (i >= lo && i < hi) || f32_bits(y[i]) == 0;
    }
    ok(good, "%s: softmax", level);
    good = true;
    for (int n = 0; n < 100; n++) {
        float *x = floats(0, n, 0), *y = copy(1, x, (size_t)n * 4);
        float *o = floats(2, n, 0), m[2], l[2], m1 = real(), l1 = real();

        m[0] = m[1] = n % 7 ? real() : -INFINITY;
        l[0] = l[1] = n % 7 ? real() : 0;
        ref.merge(m, l, x, m1, l1, o, n);
        fast.merge(m + 1, l + 1, y, m1, l1, o, n);
        good &= !memcmp(x, y, (size_t)n * 4) && same(m, m + 1, 1) &&
                same(l, l + 1, 1);
    }
    ok(good, "%s: merge", level);
}

/* ---- plain vectors and rope ---- */

static void vectors_same(void)
{
    bool good[6] = {true, true, true, true, true, true};

    for (int t = 0; t < 400; t++) {
        int n = t % 100;
        float *u = floats(0, n, t >= 300), *x = floats(1, n, t >= 300);
        float *v = copy(2, u, (size_t)n * 4), a = real();

#define SAME(i, call)                                                          \
    do {                                                                       \
        memcpy(v, u, (size_t)n * 4);                                           \
        u[-1] = v[-1] = 77;                                                    \
        {                                                                      \
            const struct kern *k = &ref;                                       \
            float *y = u;                                                      \
            k->call;                                                           \
        }                                                                      \
        {                                                                      \
            const struct kern *k = &fast;                                      \
            float *y = v;                                                      \
            k->call;                                                           \
        }                                                                      \
        good[i] &= same(u - 1, v - 1, n + 1);                                  \
    } while (0)
        SAME(0, add(y, x, n));
        SAME(1, mul(y, x, n));
        SAME(2, axpy(y, a, x, n));
        SAME(3, scale(y, a, n));
        SAME(4, softcap(y, 30.f, n));
        SAME(5, add_panel(y, 20, x, n < 16 ? 0 : (n - 16) / 20 + 1));
    }
    ok(good[0], "%s: add", level);
    ok(good[1], "%s: mul", level);
    ok(good[2], "%s: axpy", level);
    ok(good[3], "%s: scale", level);
    ok(good[4], "%s: softcap", level);
    ok(good[5], "%s: add_panel", level);
}

static void argmax_same(void)
{
    bool good = true;

    for (int t = 0; t < 3000; t++) {
        int n = below(t % 4 ? 80 : 5000);
        float *x = floats(0, n, 0);

        for (int i = 0; i < n; i++)
            x[i] = t % 3 == 0   ? (float)below(3) * (below(2) ? 1.f : -0.f)
                   : t % 3 == 1 ? x[i]
                                : -INFINITY;
        if (n && t % 10 == 0)
            x[below(n)] = NAN;
        good &= fast.argmax(x, n) == ref.argmax(x, n);
    }
    ok(good, "%s: argmax", level);
}

static void rope_same(void)
{
    bool good = true;

    for (int np = 1; np <= 70; np++)
        for (int pairs = 0; pairs < 2; pairs++) {
            float *x = floats(0, 2 * np, np % 9 == 0);
            float *y = copy(1, x, (size_t)np * 8), *cs = floats(2, 2 * np, 0);

            y[-1] = x[-1] = 77;
            ref.rope(x, cs, np, pairs);
            fast.rope(y, cs, np, pairs);
            good &= same(x - 1, y - 1, 2 * np + 1);
        }
    ok(good, "%s: rope", level);
}

static void rope_values(void)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {1, 2, 3, 4};
    const float cs[4] = {0, 1, 0.5f, 2}; /* (cos, sin) twice */

    ref.rope(x, cs, 2, false);
    ok(x[0] == -3 && x[2] == 1 && x[1] == -7 && x[3] == 6, "rope of halves");
    ref.rope(y, cs, 2, true);
    ok(y[0] == -2 && y[1] == 1 && y[2] == -6.5f && y[3] == 8, "rope of pairs");
}

/* ---- K and V ---- */

static const char *const kv_name[] = {"f16", "f32", "bf16", "q8_0", "q4_0"};
static const int sizes[] = {1,  7,  8,  16, 24, 31,  32,  33,
                            40, 64, 72, 80, 96, 128, 160, 256};
enum { NSIZE = sizeof sizes / sizeof *sizes };

static void half_values(void)
{
    bool good = true, near = true;

    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = f16_to_f32((uint16_t)h);
        uint16_t back = f32_to_f16(f);

        good &= back == (f != f ? h | 0x200 : h);
        f = bf16_to_f32((uint16_t)h);
        good &= f32_to_bf16(f) == (f != f ? h | 0x40 : h);
    }
    ok(good, "every f16 and bf16 to float and back");
    for (int i = 0; i < 1000000; i++) {
        /* Neither neighbour is nearer; of two as near, the even one. */
        float f = i % 2 ? bits_f32(rnd()) : real() * (i % 4 ? 1e-7f : 1e4f);
        uint16_t h = f32_to_f16(f), a = h & 0x7fff;
        double d = fabs((double)f), e, up, down;

        if (f != f)
            continue;
        near &= h >> 15 == f32_bits(f) >> 31;
        if (a == 0x7c00) {
            near &= d >= 65520;
            continue;
        }
        e = fabs(d - (double)f16_to_f32(a));
        up = a == 0x7bff ? 65536 - d : fabs((double)f16_to_f32(a + 1) - d);
        down = a ? fabs(d - (double)f16_to_f32(a - 1)) : INFINITY;
        near &= e <= up && e <= down && (!(a & 1) || (e < up && e < down));
        h = f32_to_bf16(f);
        if ((h & 0x7f80) == 0x7f80)
            continue;
        e = fabs((double)bf16_to_f32(h) - (double)f);
        near &= e <= ldexp(fmax(fabs((double)f), 0x1p-126), -8);
    }
    ok(near, "float to f16: nearest, even");
    ok(f32_to_f16(65519.99f) == 0x7bff && f32_to_f16(65520) == 0x7c00 &&
           f32_to_f16(0x1p-25f) == 0 && f32_to_f16(0x1.8p-24f) == 2 &&
           f32_to_f16(-0x1.004p-14f) == 0x8401 &&
           f32_to_bf16(0x1.01p0f) == 0x3f80 && f32_to_bf16(0x1.03p0f) == 0x3f82,
       "float to f16 and bf16: halves");
}

static void kv_values(void)
{
    unsigned char page[16 * 34 * 2];
    float x[64], y[64];
    bool good = true;

    ref.v_put[KV_Q8_0](page, gguf_x, 64, 3);
    ok(!memcmp(page + 3 * 68, gguf_q8_0, 68), "a row of q8_0 is GGUF's");
    ref.v_put[KV_Q4_0](page, gguf_x, 64, 5);
    ok(!memcmp(page + 5 * 36, gguf_q4_0, 36), "a row of q4_0 is GGUF's");
    for (int t = KV_Q8_0; t <= KV_Q4_0; t++) {
        ref.k_put[t](page, gguf_x, 64, 11);
        ref.k_get[t](x, page, 64, 11);
        ref.v_put[t](page, gguf_x, 64, 2);
        ref.v_get[t](y, page, 64, 2);
        good &= !memcmp(x, y, sizeof x);
    }
    ok(good, "K and V keep the same values");
    ok(kern_kv_ok(KV_F16, 7) && !kern_kv_ok(KV_Q8_0, 16) &&
           kern_kv_ok(KV_Q4_0, 96) && !kern_kv_ok(KV_F32, 0),
       "head sizes");
    ok(kern_kv_bytes(KV_F16, 7, 16) == 224 &&
           kern_kv_bytes(KV_F32, 7, 16) == 448 &&
           kern_kv_bytes(KV_Q8_0, 64, 16) == 1088 &&
           kern_kv_bytes(KV_Q4_0, 64, 32) == 1152,
       "bytes of pages");
}

static void put_same(enum kern_kv t)
{
    bool good = true;

    for (int s = 0; s < NSIZE; s++) {
        int d = sizes[s], np = 32;
        size_t bytes = kern_kv_bytes(t, d, np);
        char *a = at_end(0, bytes), *b = at_end(1, bytes);

        if (!kern_kv_ok(t, d))
            continue;
        for (int v = 0; v < 2; v++) {
            memset(a - 8, 0x5a, bytes + 8);
            memset(b - 8, 0x5a, bytes + 8);
            for (int i = 0; i < 40; i++) {
                int pos = below(np);
                float *x = floats(2, d, i % 4 == 0 ? i % 8 ? 2 : 1 : 0);
                float *y = floats(3, d, 0), *z = floats(4, d, 0);

                if (i % 5 == 1)
                    for (int k = 0; k < d; k++)
                        x[k] = (float)(below(511) - 255) * .5f * (k ? 1 : 0);
                (v ? ref.v_put : ref.k_put)[t](a, x, d, pos);
                (v ? fast.v_put : fast.k_put)[t](b, x, d, pos);
                (v ? ref.v_get : ref.k_get)[t](y, a, d, pos);
                (v ? fast.v_get : fast.k_get)[t](z, b, d, pos);
                good &= !memcmp(y, z, (size_t)d * 4);
            }
            good &= !memcmp(a - 8, b - 8, bytes + 8);
        }
    }
    ok(good, "%s: put and get %s", level, kv_name[t]);
}

/* A page of NP positions, of real numbers or of any bytes. */
static void *page(int r, enum kern_kv t, int d, int np, bool v, bool wild)
{
    char *p = at_end(r, kern_kv_bytes(t, d, np));
    float x[1024];

    for (int i = 0; i < np; i++) {
        for (int k = 0; k < d; k++)
            x[k] = real();
        (v ? ref.v_put : ref.k_put)[t](p, x, d, i);
    }
    for (size_t i = 0; wild && i < kern_kv_bytes(t, d, np); i++)
        p[i] = (char)(below(3) ? p[i] : (char)rnd());
    return p;
}

static void attend_same(enum kern_kv t)
{
    bool score = true, mix = true;

    for (int i = 0; i < 160; i++) {
        int d = i < 150 ? sizes[i % NSIZE] : 544;
        int nt = 1 + below(i % 3 ? 3 : 9), np = nt * 16;
        int nq = i % 10 == 0 ? 1 + below(100) : 1 + below(14);
        size_t lds = (size_t)(np + below(3)), ldd = (size_t)(d + below(4));
        float *q = floats(0, (int64_t)ldd * nq - (int64_t)ldd + d, 0);
        int64_t ns = (int64_t)lds * (nq - 1) + np,
                no = (int64_t)ldd * (nq - 1) + d;
        float *a, *b;
        int lo[128], hi[128];
        void *p;

        if (!kern_kv_ok(t, d))
            continue;
        a = floats(2, ns, 0);
        b = copy(3, a, (size_t)ns * 4);
        p = page(1, t, d, np, false, i % 7 == 0);
        ref.score[t](a, lds, q, ldd, nq, p, d, nt);
        fast.score[t](b, lds, q, ldd, nq, p, d, nt);
        score &= same(a, b, ns);
        p = page(1, t, d, np, true, i % 7 == 0);
        for (int j = 0; j < nq; j++) {
            lo[j] = i % 4 == 1 ? below(np) : i % 4 == 2 ? j / 3 % np : 0;
            hi[j] = i % 4 == 0   ? np
                    : i % 4 == 1 ? lo[j] + below(np - lo[j] + 1)
                                 : np - (nq - j) / 2 % (np - lo[j]);
        }
        q = floats(0, ns, 0);
        a = floats(2, no, 0);
        b = copy(3, a, (size_t)no * 4);
        ref.mix[t](a, ldd, q, lds, lo, hi, nq, p, d);
        fast.mix[t](b, ldd, q, lds, lo, hi, nq, p, d);
        mix &= same(a, b, no);
    }
    ok(score, "%s: score %s", level, kv_name[t]);
    ok(mix, "%s: mix %s", level, kv_name[t]);
}

static void attend_values(enum kern_kv t)
{
    double score = 0, mix = 0;
    enum { D = 96, NP = 48 };
    float q[D], s[NP], o[D], k[NP][D];
    int lo = 5, hi = 41;
    void *p = page(0, t, D, NP, false, false);
    bool order = true;

    for (int i = 0; i < D; i++)
        q[i] = real();
    ref.score[t](s, NP, q, D, 1, p, D, NP / 16);
    for (int j = 0; j < NP; j++) {
        double sum = 0, size = 0;
        float part[4] = {0};

        ref.k_get[t](k[j], p, D, j);
        for (int i = 0; i < D; i++) {
            sum += (double)q[i] * (double)k[j][i];
            size += fabs((double)q[i] * (double)k[j][i]);
            part[i % 4] = fmaf(q[i], k[j][i], part[i % 4]);
        }
        score = fmax(score, fabs(sum - (double)s[j]) / size);
        order &= s[j] == (part[0] + part[1]) + (part[2] + part[3]);
    }
    p = page(0, t, D, NP, true, false);
    for (int j = 0; j < NP; j++)
        ref.v_get[t](k[j], p, D, j);
    for (int i = 0; i < D; i++)
        o[i] = 0;
    ref.mix[t](o, D, s, NP, &lo, &hi, 1, p, D);
    for (int i = 0; i < D; i++) {
        double sum = 0, size = 0;
        float part = 0;

        for (int j = lo; j < hi; j++) {
            sum += (double)s[j] * (double)k[j][i];
            size += fabs((double)s[j] * (double)k[j][i]);
            part = fmaf(s[j], k[j][i], part);
        }
        mix = fmax(mix, fabs(sum - (double)o[i]) / size);
        order &= o[i] == part;
    }
    ok(order && score < 3e-7 && mix < 6e-7,
       "%s: score and mix, %.2g and %.2g of |terms| from double", kv_name[t],
       score, mix);
}

/* ---- doubles ---- */

static void doubles(void)
{
    long double sc = 0, ex = 0, lg = 0, pw = 0;

    for (int i = 0; i < 300000; i++) {
        double u = (double)rnd() * 0x1p-32 + (double)rnd() * 0x1p-64, x, s, c;
        double b = (double)rnd() * 0x1p-31 - 1;
        long double r;

        x = (u * 2 - 1) * (i % 3 ? 1e7 : 30);
        kern_sincos(x, &s, &c);
        sc = fmaxl(sc, fmaxl(fabsl(s - sinl(x)), fabsl(c - cosl(x))));
        x = (u * 2 - 1) * 700;
        ex = fmaxl(ex, fabsl(kern_exp_f64(x) / expl(x) - 1));
        x = expl((u * 2 - 1) * (i % 2 ? 700 : 0.01));
        r = logl(x);
        if (r != 0)
            lg = fmaxl(lg, fabsl((kern_log_f64(x) - r) / r));
        x = expl((u * 2 - 1) * 14);
        b *= i % 2 ? 1 : 40;
        pw = fmaxl(pw, fabsl(kern_pow_f64(x, b) / powl(x, b) - 1));
    }
    ok(sc < 1e-15L, "kern_sincos: %.2Lg off", sc);
    ok(ex < 2.5e-16L && lg < 2.5e-16L && pw < 4.5e-16L,
       "kern_exp_f64, log, pow: %.2Lg, %.2Lg, %.2Lg off", ex, lg, pw);
    ok(kern_exp_f64(0) == 1 && kern_exp_f64(-INFINITY) == 0 &&
           isinf(kern_exp_f64(INFINITY)) && isnan(kern_exp_f64(NAN)) &&
           kern_exp_f64(-745) == 0x1p-1074 && kern_log_f64(1) == 0 &&
           kern_log_f64(0) == -INFINITY && isnan(kern_log_f64(-1)) &&
           isnan(kern_log_f64(NAN)) && isinf(kern_log_f64(INFINITY)) &&
           kern_pow_f64(2, 10) == 1024 && kern_pow_f64(0, 2) == 0 &&
           isinf(kern_pow_f64(0, -1)) && isnan(kern_pow_f64(-1, 2)) &&
           kern_pow_f64(INFINITY, -1) == 0 && kern_pow_f64(7, 0) == 1,
       "their limits");
}

/* ---- speed ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define BENCH(what, amount, unit, ...)                                         \
    do {                                                                       \
        double best = 1e9;                                                     \
                                                                               \
        for (int run = 0; run < 9; run++) {                                    \
            double start = now(), took;                                        \
            int times = 0;                                                     \
                                                                               \
            do {                                                               \
                for (int once = 0; once < 10; once++) {                        \
                    __VA_ARGS__;                                               \
                }                                                              \
                times += 10;                                                   \
                took = now() - start;                                          \
            } while (took < 2e-3);                                             \
            best = took / times < best ? took / times : best;                  \
        }                                                                      \
        printf("%-8s %-24s %9.2f %s\n", level, what, (amount) / best * 1e-9,   \
               unit);                                                          \
    } while (0)

static void bench(const struct kern *k)
{
    enum { N = 2048, NP = 256 };
    static float x[N], y[N], s[192 * NP], q[192 * 64], o[192 * 64], m, l;
    static int lo[192], hi[192];
    float cs[128];

    for (int i = 0; i < 128; i++)
        cs[i] = i % 2 ? 0.6f : 0.8f;
    for (int f = 0; f < KERN_NUNARY; f++) {
        for (int i = 0; i < N; i++)
            x[i] = real();
        BENCH(unary[f].name, N, "G/s", memcpy(y, x, sizeof y);
              k->unary[f](y, N));
    }
    BENCH("rmsnorm", N, "G/s", k->rmsnorm(y, x, x, N, 1e-5f));
    BENCH("layernorm", N, "G/s", k->layernorm(y, x, x, x, N, 1e-5f));
    BENCH("softmax of 256", NP, "G/s", memcpy(y, x, NP * 4);
          k->softmax(y, 0, NP, NP, 1, 0, &m, &l));
    BENCH("rope of 128", 128, "G/s", k->rope(y, cs, 64, false));
    BENCH("argmax", N, "G/s", (void)k->argmax(x, N));
    BENCH("add", N, "G/s", k->add(y, x, N));
    for (int t = 0; t < KV_NTYPE; t++) {
        double bytes = (double)kern_kv_bytes(t, 64, NP);
        char *p = page(0, t, 64, NP, false, false);
        char *v = page(1, t, 64, NP, true, false);
        static const int nqs[] = {1, 3, 8, 192};
        char name[40];

        for (int j = 0; j < 192; j++)
            hi[j] = NP;
        BENCH("put 64 of K", 64, "G/s", k->k_put[t](p, x, 64, 3));
        for (int j = 0; j < 4; j++) {
            int nq = nqs[j];

            snprintf(name, sizeof name, "score %s, %d", kv_name[t], nq);
            BENCH(name, nq < 8 ? bytes : 2. * nq * NP * 64,
                  nq < 8 ? "GB/s" : "Gop/s",
                  k->score[t](s, NP, q, 64, nq, p, 64, NP / 16));
            snprintf(name, sizeof name, "mix %s, %d", kv_name[t], nq);
            BENCH(name, nq < 8 ? bytes : 2. * nq * NP * 64,
                  nq < 8 ? "GB/s" : "Gop/s",
                  k->mix[t](o, 64, s, NP, lo, hi, nq, v, 64));
        }
    }
}

int main(int argc, char **argv)
{
    bool fast_only = argc > 1 && !strcmp(argv[1], "--bench");
    long seed = argc > 1 + fast_only ? strtol(argv[1 + fast_only], NULL, 10)
                                     : (long)time(NULL);

    state = (uint64_t)seed;
    printf("# seed %ld\n", seed);
    for (int i = 0; i < NREGION; i++) {
        size_t guard = 1 << 16;

        region[i] = mmap(NULL, 2 * REGION + guard, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (region[i] == MAP_FAILED)
            return 1;
        region[i] += REGION;
        mprotect(region[i] + REGION, guard, PROT_NONE);
    }
    kern_init(&ref, 0);
    if (!fast_only) {
        unary_accuracy();
        unary_limits();
        rows_accuracy();
        rows_order();
        rope_values();
        half_values();
        kv_values();
        for (int t = 0; t < KV_NTYPE; t++)
            attend_values(t);
        doubles();
    }
    for (int i = 1; i < CPU_LEVELS; i++) {
        if ((cpu_flags() & cpu_level[i].flags) != cpu_level[i].flags)
            continue;
        level = cpu_level[i].name;
        kern_init(&fast, cpu_level[i].flags);
        if (!level_own(i))
            continue;
        if (fast_only) {
            bench(&fast);
            continue;
        }
        unary_same();
        norms_same();
        softmax_same();
        vectors_same();
        argmax_same();
        rope_same();
        for (int t = 0; t < KV_NTYPE; t++) {
            put_same(t);
            attend_same(t);
        }
    }
    return fast_only ? 0 : tap_done();
}
