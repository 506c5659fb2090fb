/* SPDX-License-Identifier: MIT */
#include <strings.h>

#include "gguf/gguf.h"

static const struct gguf_type_info table[] = {
#define ROW(name, id, elems, bytes) {#name, id, elems, bytes},
    GGUF_TENSOR_TYPES(ROW)
#undef ROW
};

enum { NTYPE = sizeof table / sizeof *table };

const struct gguf_type_info *gguf_type_info(uint32_t id)
{
    for (size_t i = 0; i < NTYPE; i++)
        if (table[i].id == id)
            return &table[i];
    return NULL;
}

const struct gguf_type_info *gguf_type_by_name(const char *name)
{
    for (size_t i = 0; i < NTYPE; i++)
        if (!strcasecmp(table[i].name, name))
            return &table[i];
    return NULL;
}

static const struct {
    const char *name;
    size_t size;
} value[GGUF_NTYPE] = {
    {"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2}, {"u32", 4},
    {"i32", 4}, {"f32", 4}, {"bool", 1}, {"str", 0}, {"arr", 0},
    {"u64", 8}, {"i64", 8}, {"f64", 8},
};

const char *gguf_val_name(enum gguf_type type)
{
    return value[type].name;
}

size_t gguf_val_size(enum gguf_type type)
{
    return value[type].size;
}
