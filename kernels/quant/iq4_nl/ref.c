/* SPDX-License-Identifier: MIT
 * ref.c - iq4_nl: 32 values of 4 bits, d * table[x].
 * A block: f16 d; 16 bytes, the low halves x[0..15], the high ones x[16..31].
 */
#include "base/num.h"
#include "kernels/quant/rows.h"
#include "kernels/quant/tile32_ref.h"

static void iq4_nl_block(int8_t *v, float *d, float *m, const uint8_t *p)
{
    (void)m;
    *d = f16_f32(rd_u16(p));
    for (int i = 0; i < 16; i++) {
        v[i] = tile32_iq4[p[2 + i] & 15];
        v[i + 16] = tile32_iq4[p[2 + i] >> 4];
    }
}

TILE32_REF(iq4_nl, 18, 0)

void iq4_nl_init(struct kern *k, unsigned flags)
{
    struct kern_quant *q = iq4_nl_rows(k);

#if defined(__x86_64__)
    if (flags & CPU_AVX2)
        iq4_nl_avx2(q);
    if ((flags & CPU_AVX2) && (flags & CPU_AVX512))
        iq4_nl_avx512(q);
#else
    (void)flags;
    (void)q;
#endif
}
