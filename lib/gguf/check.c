/* SPDX-License-Identifier: MIT
 *
 * Where each type keeps its scales.  A NaN there poisons every product with
 * the row, and the model then answers nonsense without any error; files from
 * broken conversions have been published with them.
 */
#include "gguf/check.h"

#include <stdlib.h>

#include "gguf/gguf_impl.h"

enum kind {
    NONE,
    F16,   /* N half floats at AT */
    F32,   /* one float at AT */
    E8M0,  /* one byte: an exponent; 255 is NaN */
    E4M3,  /* N bytes: 8-bit floats; 127 is NaN, infinity there is not */
    IQ1_M, /* a half float, four bits in each of four u16 at AT */
    ELEM   /* no blocks: every element counts */
};

struct place {
    unsigned char kind, at, n;
};

static struct place place_of(uint32_t type)
{
    static const struct place at[] = {
        [GGUF_T_F32] = {ELEM, 0, 0},     [GGUF_T_F16] = {ELEM, 0, 0},
        [GGUF_T_BF16] = {ELEM, 0, 0},    [GGUF_T_F64] = {ELEM, 0, 0},
        [GGUF_T_Q4_0] = {F16, 0, 1},     [GGUF_T_Q4_1] = {F16, 0, 2},
        [GGUF_T_Q5_0] = {F16, 0, 1},     [GGUF_T_Q5_1] = {F16, 0, 2},
        [GGUF_T_Q8_0] = {F16, 0, 1},     [GGUF_T_Q8_1] = {F16, 0, 2},
        [GGUF_T_Q2_K] = {F16, 80, 2},    [GGUF_T_Q3_K] = {F16, 108, 1},
        [GGUF_T_Q4_K] = {F16, 0, 2},     [GGUF_T_Q5_K] = {F16, 0, 2},
        [GGUF_T_Q6_K] = {F16, 208, 1},   [GGUF_T_Q8_K] = {F32, 0, 1},
        [GGUF_T_IQ2_XXS] = {F16, 0, 1},  [GGUF_T_IQ2_XS] = {F16, 0, 1},
        [GGUF_T_IQ2_S] = {F16, 0, 1},    [GGUF_T_IQ3_XXS] = {F16, 0, 1},
        [GGUF_T_IQ3_S] = {F16, 0, 1},    [GGUF_T_IQ1_S] = {F16, 0, 1},
        [GGUF_T_IQ4_NL] = {F16, 0, 1},   [GGUF_T_IQ4_XS] = {F16, 0, 1},
        [GGUF_T_IQ1_M] = {IQ1_M, 48, 1}, [GGUF_T_TQ1_0] = {F16, 52, 1},
        [GGUF_T_TQ2_0] = {F16, 64, 1},   [GGUF_T_MXFP4] = {E8M0, 0, 1},
        [GGUF_T_NVFP4] = {E4M3, 0, 4},   [GGUF_T_Q1_0] = {F16, 0, 1},
        [GGUF_T_Q2_0] = {F16, 0, 1},
    };

    return type < sizeof at / sizeof *at ? at[type] : (struct place){0};
}

/* An exponent of all ones is NaN or infinite. */
static bool bad16(uint32_t h)
{
    return (h & 0x7c00) == 0x7c00;
}

static bool bad32(uint32_t u)
{
    return (u & 0x7f800000) == 0x7f800000;
}

static uint32_t iq1_m_scale(const unsigned char *p)
{
    return (uint32_t)(rd_u16(p) >> 12 | (rd_u16(p + 2) >> 12) << 4 |
                      (rd_u16(p + 4) >> 12) << 8 | (rd_u16(p + 6) >> 12) << 12);
}

static bool bad_block(const unsigned char *p, struct place s)
{
    p += s.at;
    switch (s.kind) {
    case F16:
        return bad16(rd_u16(p)) || (s.n > 1 && bad16(rd_u16(p + 2)));
    case F32:
        return bad32(rd_u32(p));
    case E8M0:
        return p[0] == 255;
    case E4M3:
        for (int i = 0; i < s.n; i++)
            if ((p[i] & 127) == 127)
                return true;
        return false;
    case IQ1_M:
        return bad16(iq1_m_scale(p));
    }
    return false;
}

static bool bad_elem(const unsigned char *p, uint32_t type)
{
    switch (type) {
    case GGUF_T_F32:
        return bad32(rd_u32(p));
    case GGUF_T_F16:
        return bad16(rd_u16(p));
    case GGUF_T_BF16:
        return bad32((uint32_t)rd_u16(p) << 16);
    case GGUF_T_F64:
        return (rd_u32(p + 4) & 0x7ff00000) == 0x7ff00000;
    }
    return false;
}

/* May anything be bad among BYTES bytes?  No is exact, and the usual answer:
 * eight bytes at a time, an exponent of all ones carries into the sign's
 * place, and nothing else does. */
static bool any_bad(const unsigned char *p, size_t bytes, uint32_t type)
{
    static const struct {
        uint32_t type;
        uint64_t exponent, one;
    } lanes[] = {
        {GGUF_T_F32, 0x7f8000007f800000, 0x0080000000800000},
        {GGUF_T_F16, 0x7c007c007c007c00, 0x0400040004000400},
        {GGUF_T_BF16, 0x7f807f807f807f80, 0x0080008000800080},
        {GGUF_T_F64, 0x7ff0000000000000, 0x0010000000000000},
    };
    uint64_t e = 0, one = 0, carry = 0;

    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (lanes[i].type == type) {
            e = lanes[i].exponent;
            one = lanes[i].one;
        }
    for (size_t i = 0; i + 8 <= bytes; i += 8)
        carry |= (rd_u64(p + i) & e) + one;
    return (carry & (e << 1) & ~e) || bytes % 8;
}

static uint64_t bad_elems(uint64_t *first, const struct gguf_tensor *t)
{
    enum { CHUNK = 8192 };
    size_t size = gguf_type_info(t->type)->bytes;
    uint64_t bad = 0;

    for (uint64_t at = 0; at < t->bytes; at += CHUNK) {
        size_t n = t->bytes - at < CHUNK ? (size_t)(t->bytes - at) : CHUNK;

        if (!any_bad(t->p + at, n, t->type))
            continue;
        for (size_t i = 0; i < n; i += size)
            if (bad_elem(t->p + at + i, t->type) && !bad++)
                *first = (at + i) / size;
    }
    return bad;
}

uint64_t gguf_bad_blocks(uint64_t *first, const struct gguf_tensor *t)
{
    struct place s = place_of(t->type);
    uint32_t size = gguf_type_info(t->type)->bytes;
    uint64_t bad = 0;

    *first = 0;
    if (s.kind == NONE)
        return 0;
    if (s.kind == ELEM)
        return bad_elems(first, t);
    for (uint64_t i = 0, n = t->bytes / size; i < n; i++)
        if (bad_block(t->p + i * size, s) && !bad++)
            *first = i;
    return bad;
}

/* One past the last byte of shard S's tensors, padded; from the start of its
 * data. */
static uint64_t end_of(const struct gguf *g, const struct gguf_shard *s)
{
    uint64_t end = 0, a = s->alignment;

    for (size_t i = 0; i < s->ntensor; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, s->first + i);

        if (t->offset + t->bytes > end)
            end = t->offset + t->bytes;
    }
    return (end + a - 1) & ~(a - 1);
}

uint64_t gguf_trailing(const struct gguf *g, int i)
{
    const struct gguf_shard *s = gguf_shard_at(g, i);
    uint64_t end = s->data + end_of(g, s);

    return s->bytes > end ? s->bytes - end : 0;
}

uint64_t gguf_gaps(const struct gguf *g, int i)
{
    const struct gguf_shard *s = gguf_shard_at(g, i);
    uint64_t used = 0, a = s->alignment;

    for (size_t k = 0; k < s->ntensor; k++)
        used += (gguf_tensor_at(g, s->first + k)->bytes + a - 1) & ~(a - 1);
    return end_of(g, s) - used;
}
