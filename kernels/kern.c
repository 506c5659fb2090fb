/* SPDX-License-Identifier: MIT */
#include "kernels/kern.h"

#include <string.h>

#define X(name, id, elems, bytes, act) void name##_init(struct kern *k);
#include "kernels/quant/list.h"
#undef X
#define X(name) void name##_init(struct kern *k, unsigned flags);
#include "kernels/op/list.h"
#include "kernels/quant/families.h"
#undef X

void kern_init(struct kern *k, unsigned flags)
{
    static const struct kern_quant none[] = {
#define X(type, number, n, size, a)                                            \
    {.name = #type, .id = number, .elems = n, .bytes = size, .act = a},
#include "kernels/quant/list.h"
#undef X
        {0}};

    memset(k, 0, sizeof *k);
    k->flags = flags;
    memcpy(k->quant, none, sizeof k->quant);
#define X(name, id, elems, bytes, act) name##_init(k);
#include "kernels/quant/list.h"
#undef X
#define X(name) name##_init(k, flags);
#include "kernels/op/list.h"
#include "kernels/quant/families.h"
#undef X
}

const struct kern_quant *kern_quant_find(const struct kern *k, uint32_t id)
{
    for (int i = 0; i < KERN_NQUANT; i++)
        if (k->quant[i].id == id)
            return &k->quant[i];
    return NULL;
}
