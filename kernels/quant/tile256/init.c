/* SPDX-License-Identifier: MIT */
#include "base/cpu.h"
#include "kernels/quant/tile256/form.h"

void tile256_init(struct kern *k, unsigned flags);

#define X(name)                                                                \
    void name##_avx2(struct kern_quant *q);                                    \
    void name##_avx512vnni(struct kern_quant *q);
#include "kernels/quant/tile256/types.h"
#undef X

void tile256_init(struct kern *k, unsigned flags)
{
#if defined(__x86_64__)
#define X(name)                                                                \
    if (flags & CPU_AVX2)                                                      \
        name##_avx2(&k->quant[KERN_##name]);                                   \
    if (flags & CPU_AVX512VNNI)                                                \
        name##_avx512vnni(&k->quant[KERN_##name]);
#include "kernels/quant/tile256/types.h"
#undef X
#else
    (void)k;
    (void)flags;
#endif
}
