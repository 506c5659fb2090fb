/* SPDX-License-Identifier: MIT
 * quants.c - what blocks of every type mean, by other people's software: the
 * values of 2,048 weights from fixed bytes as XXH3, from the Python package
 * gguf 0.19 (q1_0 and q2_0: from ggml).  ../shared/oracle has more, for
 * checkkern. */
#include "tap.h"

#include <string.h>
#include <xxhash.h>

#include "gguf/gguf.h"
#include "kernels/kern.h"

enum { N = 2048 };

/* F16: where the high bytes of a block's f16 are, which must be numbers. */
static const struct golden {
    const char *name;
    int f16[2];
    uint64_t xxh3;
} goldens[] = {
    {"f16", {1, -1}, 0x61c43663cfacf0cd},
    {"bf16", {1, -1}, 0x450303642e5e0e10},
    {"q4_0", {1, -1}, 0x12001e2f6bf5a436},
    {"q4_1", {1, 3}, 0x3e7aa0853a440e6b},
    {"q5_0", {1, -1}, 0x098a5e2887f34d12},
    {"q5_1", {1, 3}, 0xfd24575d38a3f08d},
    {"q8_0", {1, -1}, 0xe3f4b6028b70ec8f},
    {"iq4_nl", {1, -1}, 0xd977314587b83d4a},
    {"mxfp4", {-1, -1}, 0x3a8453c0bb0bf49a},
    {"q2_k", {81, 83}, 0x28158b9ebb5863d5},
    {"q3_k", {109, -1}, 0x7b7a159e87a1bee2},
    {"q4_k", {1, 3}, 0xaf4609609e581cff},
    {"q5_k", {1, 3}, 0x4d1c4081304f24f4},
    {"q6_k", {209, -1}, 0xa327a8aa8f35aa72},
    {"iq4_xs", {1, -1}, 0x55bf36c1a81d036c},
    {"iq1_s", {1, -1}, 0x162e11c60daae7b6},
    {"iq1_m", {55, -1}, 0xe9d8e7d327e3b762},
    {"iq2_xxs", {1, -1}, 0xa4aeb74728b05d9a},
    {"iq2_xs", {1, -1}, 0xd0bb3da5ec145d48},
    {"iq2_s", {1, -1}, 0x247051477616b2bd},
    {"iq3_xxs", {1, -1}, 0x3b5b1c9f31f5fdac},
    {"iq3_s", {1, -1}, 0x1a5c7d41833b4105},
    {"tq1_0", {53, -1}, 0x8548228a9386653f},
    {"tq2_0", {65, -1}, 0xd1c8f461406b980d},
    {"nvfp4", {-1, -1}, 0x6804349e8cdfce9e},
    {"q1_0", {1, -1}, 0xd2e9320739dc158b},
    {"q2_0", {1, -1}, 0xad73e65275f017f7},
};

static const struct golden *find(const char *name)
{
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        if (!strcmp(goldens[i].name, name))
            return &goldens[i];
    return NULL;
}

/* The bytes of N weights: Knuth's 64-bit generator, its highest 8 bits. */
static void make(uint8_t *p, const struct kern_quant *q, const int f16[2])
{
    uint64_t s = 1;

    for (int b = 0; b < N / q->elems; b++, p += q->bytes) {
        for (int i = 0; i < q->bytes; i++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            p[i] = (uint8_t)(s >> 56);
        }
        for (int i = 0; i < 2; i++)
            if (f16[i] >= 0)
                p[f16[i]] &= 0xbf;
    }
}

int main(void)
{
    static struct kern k;
    static uint8_t block[N * 4];
    static float y[N];

    kern_init(&k, 0);
    for (int t = 0; t < KERN_NQUANT; t++) {
        const struct kern_quant *q = &k.quant[t];
        const struct gguf_type_info *g = gguf_type_info(q->id);
        const struct golden *want = find(q->name);
        uint64_t got;

        ok(g && g == gguf_type_by_name(q->name) && (int)g->elems == q->elems &&
               (int)g->bytes == q->bytes,
           "%s: number, elements and bytes as in the file", q->name);
        ok(kern_quant_find(&k, q->id) == q, "%s: found", q->name);
        if (t == KERN_f32)
            continue;
        if (!ok(want != NULL, "%s: is known", q->name))
            continue;
        make(block, q, want->f16);
        q->dequant(y, block, N);
        got = XXH3_64bits(y, sizeof y);
        if (!ok(got == want->xxh3, "%s: values", q->name))
            printf("# 0x%016llx; %g %g %g %g\n", (unsigned long long)got, y[0],
                   y[1], y[2], y[3]);
    }
    ok(!kern_quant_find(&k, 9999), "no such type");
    return tap_done();
}
