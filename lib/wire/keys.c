/* SPDX-License-Identifier: MIT */
#include "wire/wire_impl.h"

const char *wire_key(const struct wire_rec *r, size_t i, size_t *n)
{
    const struct entry *k = &r->keys->entry[i];

    if (i >= r->keys->nentry)
        return NULL;
    *n = k->nkey;
    return (const char *)r->map + k->key;
}
