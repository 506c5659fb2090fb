/* SPDX-License-Identifier: MIT */
#include "quantize/source.h"

#include <string.h>

#include "kernels/kern.h"
#include "kernels/quant/rows.h"

/* Only what each type's definition has: kern_init() would bring all kernels. */
static kern_dequant_fn *dequant_of(uint32_t type)
{
    static const struct {
        uint32_t id;
        void (*init)(struct kern *k);
    } types[] = {
#define X(name, id, elems, bytes, act) {id, name##_init},
#include "kernels/quant/list.h"
#undef X
    };
    struct kern k;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].id == type) {
            types[i].init(&k);
            return k.quant[i].dequant;
        }
    return NULL;
}

bool source_known(uint32_t type)
{
    return dequant_of(type) != NULL;
}

void source_load(float *to, const void *p, uint32_t type, int64_t n,
                 const struct quantize *q)
{
    if (type == GGUF_T_F32)
        memcpy(to, p, (size_t)n * sizeof *to);
    else if (type == GGUF_T_F16)
        q->load_f16(to, p, n);
    else if (type == GGUF_T_BF16)
        q->load_bf16(to, p, n);
    else
        dequant_of(type)(to, p, n);
}
