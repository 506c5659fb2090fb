/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"
#include "kernels/quant/tile256/panels.h"

void tile256_init(struct kern *k, unsigned flags);

#if defined(__x86_64__) || defined(__aarch64__)
static void put_pack(struct kern *k)
{
    struct kern_quant *q;

#define X(name)                                                                \
    q = &k->quant[KERN_##name];                                                \
    q->layout = "l16";                                                         \
    q->panel_bytes = name##_form.bytes;                                        \
    q->pack = name##_pack;
#include "kernels/quant/tile256/types.h"
#undef X
}
#endif

void tile256_init(struct kern *k, unsigned flags)
{
#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        put_pack(k);
#define X(name)                                                                \
    if (flags & CPU_AVX2)                                                      \
        k->quant[KERN_##name].mul = tile256_##name##_avx2;                     \
    if (flags & CPU_AVX2VNNI)                                                  \
        k->quant[KERN_##name].mul = tile256_##name##_avx2vnni;                 \
    if (flags & CPU_AVX512)                                                    \
        k->quant[KERN_##name].mul = tile256_##name##_avx512;                   \
    if (flags & CPU_AVX512VNNI)                                                \
        k->quant[KERN_##name].mul = tile256_##name##_avx512vnni;               \
    if (flags & CPU_AMX)                                                       \
        k->quant[KERN_##name].mul = tile256_##name##_amx;
#include "kernels/quant/tile256/types.h"
#undef X
#elif defined(__aarch64__)
    if (flags & CPU_NEON) {
        put_pack(k);
        tile256_neon(k);
    }
    if (flags & CPU_DOTPROD)
        tile256_dotprod(k);
    if (flags & CPU_I8MM)
        tile256_i8mm(k);
#else
    (void)k;
    (void)flags;
#endif
}
