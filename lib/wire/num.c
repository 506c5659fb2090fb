/* SPDX-License-Identifier: MIT
 * num.c - typed arrays of numbers (RFC 8746). */
#include "base/num.h"
#include "wire/wire_impl.h"

/* Single bytes, and the little-endian types. */
static const struct numtype types[] = {
    {64, 1, 'u'}, {69, 2, 'u'}, {TAG_U32, 4, 'u'}, {71, 8, 'u'},
    {72, 1, 'i'}, {77, 2, 'i'}, {78, 4, 'i'},      {79, 8, 'i'},
    {84, 2, 'f'}, {85, 4, 'f'}, {86, 8, 'f'},
};

const struct numtype *numtype_of(uint64_t tag)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].tag == tag)
            return &types[i];
    return NULL;
}

uint64_t num_bits(const struct numtype *t, const unsigned char *p)
{
    switch (t->size) {
    case 1:
        return t->kind == 'i' ? (uint64_t)(int8_t)*p : *p;
    case 2:
        return t->kind == 'i' ? (uint64_t)(int16_t)rd_u16(p) : rd_u16(p);
    case 4:
        return t->kind == 'i' ? (uint64_t)(int32_t)rd_u32(p) : rd_u32(p);
    default:
        return rd_u64(p);
    }
}

double num_float(const struct numtype *t, const unsigned char *p)
{
    return t->size == 2   ? (double)f16_f32(rd_u16(p))
           : t->size == 4 ? (double)rd_f32(p)
                          : rd_f64(p);
}
