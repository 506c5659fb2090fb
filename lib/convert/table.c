/* SPDX-License-Identifier: MIT */
#include "convert/table.h"

#include <stddef.h>
#include <string.h>

const struct convert_model *convert_model_at(int i)
{
    const struct convert_model *lists[] = {convert_decoders, convert_encoders};

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (const struct convert_model *m = lists[k]; m->type; m++)
            if (!i--)
                return m;
    return NULL;
}

const struct convert_model *convert_model_find(const char *type)
{
    const struct convert_model *m;

    for (int i = 0; (m = convert_model_at(i)); i++)
        if (!strcmp(m->type, type))
            return m;
    return NULL;
}

const struct convert_model *convert_model_of(const char *arch, int n)
{
    const struct convert_model *m;

    for (int i = 0; (m = convert_model_at(i)); i++)
        if (!strcmp(m->arch, arch) && !n--)
            return m;
    return NULL;
}
