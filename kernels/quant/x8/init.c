/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"
#include "kernels/quant/x8/x8.h"

void x8_init(struct kern *k, unsigned flags);

/* Instead of the reference's, whichever types have them. */
static void put(struct kern *k, const struct x8_muls *m)
{
    for (int i = 0; i < KERN_NQUANT; i++) {
        struct kern_quant *q = &k->quant[i];

        if (!strcmp(q->layout, "x8g16"))
            q->mul = m->mul16;
        else if (!strcmp(q->layout, "x8g32"))
            q->mul = m->mul32;
    }
}

void x8_init(struct kern *k, unsigned flags)
{
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        put(k, &x8_avx2);
    if (flags & CPU_AVX2VNNI)
        put(k, &x8_avx2vnni);
    if (flags & CPU_AVX512)
        put(k, &x8_avx512);
    if (flags & CPU_AVX512VNNI)
        put(k, &x8_avx512vnni);
#elif defined(__aarch64__)
    if (flags & CPU_NEON)
        put(k, &x8_neon);
    if (flags & CPU_DOTPROD)
        put(k, &x8_dotprod);
    if (flags & CPU_I8MM)
        put(k, &x8_i8mm);
#else
    (void)put;
    (void)k;
    (void)flags;
#endif
}
