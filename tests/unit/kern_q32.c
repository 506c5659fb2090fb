/* SPDX-License-Identifier: MIT
 * kern_q32.c - activations in tiles, at every instruction set, and what blocks
 * of 32 stand for; checkkern.c has the products of every type.
 */
#include "kern_check.h"
#include "tap.h"

#include <math.h>

#include "base/num.h"
#include "kernels/quant/tile32/ref.h"

enum { MAX_N = 2048, CASES = 300 };

static struct kern kern[CHECK_LEVELS];

/* A block of 32, of any kind; of the edges some. */
static void random_block(float *x)
{
    static const uint32_t edge[] = {
        0,          0x80000000, 1,          0x007fffff, 0x0d7fffff, 0x0d800000,
        0x0d800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
        0xffc00001, 0x7f800001, 0x3f800000, 0x00800000};
    float scale = ldexpf(1, rnd_to(5) ? rnd_to(20) - 10 : rnd_to(250) - 140);
    int how = rnd_to(12);

    for (int i = 0; i < 32; i++) {
        x[i] = rnd_normal() * scale;
        if (how == 0)
            x[i] = check_float(edge[rnd_to(6)]);
        else if (how == 1)
            x[i] = check_float(rnd());
        else if (how == 2)
            x[i] = 0;
        else if (how == 3) /* halves between integers, when 127 is there */
            x[i] = i ? (float)rnd_to(255) * 0.5f - 63.5f : 127;
    }
    if (how == 4)
        x[rnd_to(32)] = check_float(edge[rnd_to(16)]);
}

/* Columns into a tile at level L, in pieces, as the reference does. */
static int act_differs(enum kern_act a, int l, struct check_mem tile,
                       struct check_mem xs)
{
    static float want[MAX_N * KERN_TILE];
    int block = kern_act_block(a), w = 1 + rnd_to(KERN_TILE);
    int64_t n = 256 * (1 + rnd_to(MAX_N / 256));
    size_t size = kern_tile_bytes(a, n, w);
    char *t = check_mem_at(tile, size, rnd_to(2) ? 4 : 0);
    float *x = check_mem_at(xs, (size_t)n * 4, 4);

    memset(tile.map, 0xa5, tile.size);
    for (int c = 0; c < w; c++) {
        int64_t at = rnd_to((int)(n / block) + 1) * block;

        for (int i = 0; i < n; i += 32)
            random_block(x + i);
        kern[0].act[a](want, w, c, x, 0, n);
        kern[l].act[a](t, w, c, x, 0, at);
        kern[l].act[a](t, w, c, x + at, at, n - at);
    }
    for (char *g = tile.map; g < tile.map + tile.size; g++)
        if ((g < t || g >= t + size) && (unsigned char)*g != 0xa5)
            return 1;
    return memcmp(t, want, size) != 0;
}

static void check_act(void)
{
    static const char *const name[] = {"f32", "q32", "q256"};
    struct check_mem tile = check_mem_new(MAX_N * 4 * KERN_TILE);
    struct check_mem xs = check_mem_new(MAX_N * 4);

    for (int a = 0; a < KERN_NACT; a++)
        for (int l = 0; l < CHECK_LEVELS; l++) {
            int bad = 0;

            if (!check_has(l))
                continue;
            check_type = name[a];
            check_what = check_level[l].name;
            for (int i = 0; i < CASES; i++)
                bad += act_differs((enum kern_act)a, l, tile, xs);
            ok(!bad, "columns into tiles of %s, %s", name[a],
               check_level[l].name);
        }
}

/* What the definition says of one block, in numbers that are exact. */
static void check_act_values(void)
{
    float x[256] = {127, 2.5f, 3.5f, -2.5f, -3.5f, 0.49f, -127};
    float tile[ACT_Q32_BYTES / 4] = {0}, tile256[ACT_Q256_BYTES / 4];
    struct tile32 t;
    const int16_t *sum;

    kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, 32);
    t = tile32_at(tile, 1, 0, 0);
    ok(t.q[0] == 127 && t.q[1] == 2 && t.q[2] == 4 && t.q[3] == -2 &&
           t.q[4] == -4 && t.q[5] == 0 && t.q[6] == -127 && t.q[7] == 0,
       "integers are rounded to nearest even");
    ok(t.d == 1 && t.sum == 0 && t.ds == 0, "scale and sum");
    x[0] = 254;
    kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, 32);
    t = tile32_at(tile, 1, 0, 0);
    ok(t.d == 2 && t.q[6] == -64 && t.sum == 127 + 1 + 2 - 1 - 2 - 64 &&
           t.ds == 2 * (float)t.sum,
       "scale and sum of others");
    for (int i = 0; i < 256; i++)
        x[i] = (float)(i / 16);
    x[255] = 127;
    kern[0].act[KERN_ACT_Q256](tile256, 1, 0, x, 0, 256);
    t.d = tile256[64];
    sum = (const int16_t *)(const void *)(tile256 + 65);
    ok(t.d == 1 && sum[0] == 0 && sum[3] == 48 && sum[15] == 15 * 15 + 127 &&
           sum[16] == 16 && sum[17] == 80,
       "sums of 16 and of 32");
    memset(x, 0, sizeof x);
    x[9] = 0x1.fffffep-101f;
    kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, 32);
    t = tile32_at(tile, 1, 0, 0);
    ok(t.d == 0 && t.q[9] == 0 && t.ds == 0, "below 2^-100 all is 0");
    x[9] = 0x1p-100f;
    kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, 32);
    t = tile32_at(tile, 1, 0, 0);
    ok(t.d > 0 && t.q[9] == 127, "from there on it is not");
    x[8] = INFINITY;
    x[7] = NAN;
    kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, 32);
    t = tile32_at(tile, 1, 0, 0);
    ok(isnan(t.d) && isnan(t.ds) && t.q[8] == 0 && t.sum == 0,
       "what is no number makes the block none");
}

/* One block of each type, and what its format says that it means. */
static void check_golden(void)
{
    static const float iq4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};
    static const float fp4[] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    int bad[7] = {0};
    uint8_t p[34], n[16];
    float y[32];

    for (int i = 0; i < 16; i++)
        n[i] = (uint8_t)(i | (15 - i) << 4);
#define GOLDEN(at, name, from, low, high)                                      \
    memcpy(p + (from), n, 16);                                                 \
    kern[0].quant[KERN_##name].dequant(y, p, 32);                              \
    for (int i = 0; i < 16; i++)                                               \
        bad[at] += y[i] != (low) || y[i + 16] != (high);                       \
    ok(!bad[at], #name ": a block's values")

    wr_u16(p, 0xb800); /* -0.5 */
    GOLDEN(0, q4_0, 2, -0.5f * (float)(i - 8), -0.5f * (float)(7 - i));
    wr_u16(p + 2, 0x4900); /* 10 */
    GOLDEN(1, q4_1, 4, 10 - 0.5f * (float)i, 10 - 0.5f * (float)(15 - i));
    wr_u32(p + 2, 0x8001fffe);
    GOLDEN(2, q5_0, 6, -0.5f * (float)(i ? i : -16),
           -0.5f * (float)(i % 15 ? -1 - i
                           : i    ? 0
                                  : 15));
    wr_u16(p + 2, 0x4900);
    wr_u32(p + 4, 0x8001fffe);
    GOLDEN(3, q5_1, 8, 10 - 0.5f * (float)(i ? i + 16 : 0),
           10 - 0.5f * (float)(i % 15 ? 15 - i : 31 - i));
    wr_u16(p, 0x4000); /* 2 */
    GOLDEN(4, iq4_nl, 2, 2 * iq4[i], 2 * iq4[15 - i]);
    p[0] = 129;
    GOLDEN(5, mxfp4, 1, 4 * fp4[i], 4 * fp4[15 - i]);
    p[0] = 0;
    kern[0].quant[KERN_mxfp4].dequant(y, p, 32);
    ok(y[1] == 0x1p-128f && y[7] == 0x1.8p-125f, "mxfp4: the least scale");
    wr_u16(p, 1);
    for (int i = 0; i < 32; i++)
        p[2 + i] = (uint8_t)(i * 8 + 4);
    kern[0].quant[KERN_q8_0].dequant(y, p, 32);
    for (int i = 0; i < 32; i++)
        bad[6] += y[i] != 0x1p-24f * (float)(i < 16 ? i * 8 + 4 : i * 8 - 252);
    ok(!bad[6], "q8_0: a block's values");
}

/* Every type's dot() against the sum of its values times those of the tile, in
 * float64. */
static void check_accuracy(int t)
{
    enum { N = 1024 };
    const struct kern_quant *q = &kern[0].quant[t];
    static float x[N], y[N];
    static uint8_t row[N * 2];
    static float tile[N / 32 * ACT_Q32_BYTES / 4];
    double worst = 0;

    for (int i = 0; i < 20; i++) {
        double sum = 0, abs = 0, e;

        for (int j = 0; j < N; j++)
            x[j] = rnd_normal();
        kern[0].act[KERN_ACT_Q32](tile, 1, 0, x, 0, N);
        for (int j = 0; j < N / 32 * q->bytes; j++)
            row[j] = (uint8_t)rnd();
        for (int b = 0; b < N / 32; b++) {
            uint8_t *p = row + b * q->bytes;

            if (t == KERN_mxfp4)
                p[0] = (uint8_t)(120 + rnd_to(8));
            else
                wr_u16(p, (uint16_t)(0x2c00 + rnd_to(0x400)));
            if (t == KERN_q4_1 || t == KERN_q5_1)
                wr_u16(p + 2, (uint16_t)(0xb400 + rnd_to(0x400)));
        }
        q->dequant(y, row, N);
        for (int j = 0; j < N; j++) {
            struct tile32 at = tile32_at(tile, 1, 0, j / 32);
            double v = (double)y[j] * ((double)at.d * at.q[j % 32]);

            sum += v;
            abs += fabs(v);
        }
        e = fabs((double)q->dot(row, tile, N, 1, 0) - sum) / abs;
        worst = e > worst ? e : worst;
    }
    ok(worst < 2e-7, "%s: %.1e of the sum of magnitudes", q->name, worst);
}

#if defined(__x86_64__)
#if defined(__clang__)
#define VNNI __attribute__((noinline, target("avx512vl,avx512bw,avx512vnni")))
#else
#define VNNI                                                                   \
    __attribute__((noinline, optimize("O3"),                                   \
                   target("avx512vl,avx512bw,avx512vnni")))
#endif

/* gcc 12, told of AVX512-VNNI, reads bytes that are cast to signed as unsigned
 * ones when they are multiplied and summed.  What is declared signed, which our
 * sources keep to, it must get right. */
VNNI static int32_t dot_signed(const int8_t *a, const int8_t *b)
{
    int32_t s = 0;

    for (int i = 0; i < 64; i++)
        s += a[i] * b[i];
    return s;
}

VNNI static int32_t dot_copied(const uint8_t *a, const int8_t *b)
{
    int8_t t[64];

    memcpy(t, a, 64);
    return dot_signed(t, b);
}

static void check_signed(void)
{
    int bad = 0;

    if (!(cpu_flags() & CPU_AVX512VNNI))
        return;
    for (int n = 0; n < 200; n++) {
        uint8_t u[64];
        int8_t a[64], b[64];
        int32_t s = 0;

        for (int i = 0; i < 64; i++) {
            int v = rnd_to(256) - 128, x = rnd_to(255) - 127;

            u[i] = (uint8_t)v;
            a[i] = (int8_t)v;
            b[i] = (int8_t)x;
            s += v * x;
        }
        bad += dot_signed(a, b) != s || dot_copied(u, b) != s;
        bad += tile32_dot(a, b) + tile32_dot(a + 32, b + 32) != s;
    }
    ok(!bad, "sums of products of signed bytes with AVX512-VNNI");
}
#else
static void check_signed(void)
{
}
#endif

int main(int argc, char **argv)
{
    static const int type[] = {KERN_q4_0, KERN_q4_1,   KERN_q5_0, KERN_q5_1,
                               KERN_q8_0, KERN_iq4_nl, KERN_mxfp4};

    check_seed = argc > 1 ? strtoull(argv[1], NULL, 0)
                          : (uint64_t)time(NULL) * 2654435761u;
    check_seed += !check_seed;
    printf("# seed %llu\n", (unsigned long long)check_seed);
    for (int l = 0; l < CHECK_LEVELS; l++)
        kern_init(&kern[l], check_level[l].flags & cpu_flags());
    check_catch();
    check_act_values();
    check_act();
    check_golden();
    for (int i = 0; i < 7; i++)
        check_accuracy(type[i]);
    check_signed();
    return tap_done();
}
