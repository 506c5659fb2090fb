/* SPDX-License-Identifier: MIT
 * item.c - one CBOR data item at a time, by libcbor's streaming decoder.
 *
 * Three things in libcbor 0.8 that this file works around: it refuses tags 6 to
 * 20 and simple values without a meaning, both well-formed; and the size it
 * says it requires overflows, so that only "not enough" is believed.
 */
#include <cbor.h>

#include "wire/wire_impl.h"

static void got(void *it, enum item_type type, uint64_t arg)
{
    ((struct item *)it)->type = type;
    ((struct item *)it)->arg = arg;
}

static void on_u8(void *it, uint8_t v)
{
    got(it, ITEM_UINT, v);
}

static void on_u16(void *it, uint16_t v)
{
    got(it, ITEM_UINT, v);
}

static void on_u32(void *it, uint32_t v)
{
    got(it, ITEM_UINT, v);
}

static void on_u64(void *it, uint64_t v)
{
    got(it, ITEM_UINT, v);
}

static void on_n8(void *it, uint8_t v)
{
    got(it, ITEM_NEG, v);
}

static void on_n16(void *it, uint16_t v)
{
    got(it, ITEM_NEG, v);
}

static void on_n32(void *it, uint32_t v)
{
    got(it, ITEM_NEG, v);
}

static void on_n64(void *it, uint64_t v)
{
    got(it, ITEM_NEG, v);
}

static void on_bytes(void *it, cbor_data p, size_t n)
{
    got(it, ITEM_BYTES, n);
    ((struct item *)it)->p = p;
}

static void on_bytes_indef(void *it)
{
    got(it, ITEM_BYTES_INDEF, 0);
}

static void on_text(void *it, cbor_data p, size_t n)
{
    got(it, ITEM_TEXT, n);
    ((struct item *)it)->p = p;
}

static void on_text_indef(void *it)
{
    got(it, ITEM_TEXT_INDEF, 0);
}

static void on_array(void *it, size_t n)
{
    got(it, ITEM_ARRAY, n);
}

static void on_array_indef(void *it)
{
    got(it, ITEM_ARRAY_INDEF, 0);
}

static void on_map(void *it, size_t n)
{
    got(it, ITEM_MAP, n);
}

static void on_map_indef(void *it)
{
    got(it, ITEM_MAP_INDEF, 0);
}

static void on_tag(void *it, uint64_t tag)
{
    got(it, ITEM_TAG, tag);
}

static void on_double(void *it, double v)
{
    got(it, ITEM_FLOAT, 0);
    ((struct item *)it)->f = v;
}

static void on_float(void *it, float v)
{
    on_double(it, v);
}

static void on_undefined(void *it)
{
    got(it, ITEM_SIMPLE, 23);
}

static void on_null(void *it)
{
    got(it, ITEM_NULL, 0);
}

static void on_bool(void *it, bool v)
{
    got(it, ITEM_BOOL, v);
}

static void on_break(void *it)
{
    got(it, ITEM_BREAK, 0);
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_u8,
    .uint16 = on_u16,
    .uint32 = on_u32,
    .uint64 = on_u64,
    .negint8 = on_n8,
    .negint16 = on_n16,
    .negint32 = on_n32,
    .negint64 = on_n64,
    .byte_string = on_bytes,
    .byte_string_start = on_bytes_indef,
    .string = on_text,
    .string_start = on_text_indef,
    .array_start = on_array,
    .indef_array_start = on_array_indef,
    .map_start = on_map,
    .indef_map_start = on_map_indef,
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_undefined,
    .null = on_null,
    .boolean = on_bool,
    .indef_break = on_break,
};

int item_get(struct item *it, const unsigned char *p, size_t n)
{
    struct cbor_decoder_result r;

    if (!n)
        return 0;
    it->size = 1;
    if (*p >= 0xc6 && *p <= 0xd4) {
        got(it, ITEM_TAG, *p & 0x1f);
        return 1;
    }
    if (*p >= 0xe0 && *p <= 0xf3) {
        got(it, ITEM_SIMPLE, *p & 0x1f);
        return 1;
    }
    if (*p == 0xf8) {
        if (n < 2)
            return 0;
        got(it, ITEM_SIMPLE, p[1]);
        it->size = 2;
        return p[1] < 32 ? -1 : 1;
    }
    r = cbor_stream_decode(p, n, &callbacks, it);
    if (r.status == CBOR_DECODER_NEDATA)
        return 0;
    if (r.status != CBOR_DECODER_FINISHED)
        return -1;
    it->size = r.read;
    return 1;
}
