/* SPDX-License-Identifier: MIT
 *
 * The reader over any bytes, and everything that reads through it.  Where a
 * second "GGUF" stands in the input it is also opened as two shards. */
#include <stdlib.h>
#include <string.h>

#include "gguf/check.h"
#include "gguf/config.h"
#include "gguf/gguf.h"
#include "gguf/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

static const unsigned char *walk(enum gguf_type type, uint64_t n,
                                 const unsigned char *p)
{
    for (uint64_t i = 0; i < n; i++) {
        if (type == GGUF_STR) {
            struct gguf_str s = gguf_str_next(&p);

            for (size_t k = 0; k < s.n; k++)
                sink += (unsigned char)s.p[k];
        } else if (type == GGUF_ARR) {
            p = walk((enum gguf_type)rd_u32(p), rd_u64(p + 4), p + 12);
        } else {
            for (size_t k = gguf_val_size(type); k; k--)
                sink += *p++;
        }
    }
    return p;
}

/* Every byte of every value, and the value itself by name. */
static void read_keys(const struct gguf *g)
{
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        const struct gguf_val *v = gguf_key_at(g, i);
        char *name = malloc(v->key.n + 1);
        double d;
        int64_t k;

        if (!name)
            return;
        memcpy(name, v->key.p, v->key.n);
        name[v->key.n] = 0;
        if (gguf_key(g, name) != v)
            abort();
        free(name);
        if (walk(v->type == GGUF_ARR ? v->elem : v->type, v->n, v->p) !=
            v->p + v->bytes)
            abort();
        gguf_val_int(&k, v);
        gguf_val_float(&d, v);
        gguf_elem_int(&k, v, v->n / 2);
        gguf_elem_float(&d, v, v->n);
    }
}

static void read_tensors(const struct gguf *g)
{
    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        char name[80] = {0}, hex[33];
        uint64_t first;

        memcpy(name, t->name.p, t->name.n);
        if (gguf_tensor(g, name) != t)
            abort();
        gguf_bad_blocks(&first, t);
        gguf_tensor_hash(hex, t);
    }
    for (int i = 0; i < gguf_nshard(g); i++)
        sink += (unsigned)(gguf_gaps(g, i) + gguf_trailing(g, i));
}

static void read_model(const struct gguf *g)
{
    const struct gguf_type_info *q8 = gguf_type_info(GGUF_T_Q8_0);
    struct gguf_config c;
    uint64_t kv, state;
    char hex[33];

    gguf_model_id(hex, g);
    gguf_vocab_id(hex, g);
    gguf_config_init(&c, g, NULL);
    gguf_kv_bytes(&kv, &state, &c, 1 << 20, q8, q8);
    gguf_config_fini(&c);
}

static void try(const struct gguf_str *file, int n)
{
    struct err e = {0};
    struct gguf *g;

    if (gguf_open_memory(&g, "m.gguf", file, n, &e)) {
        if (!e.code || strncmp(e.msg, "m.gguf: ", 8))
            abort();
        return;
    }
    read_keys(g);
    read_tensors(g);
    read_model(g);
    gguf_close(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size, so that ASan sees one byte too far. */
    char *p = malloc(size ? size : 1);
    struct gguf_str file[2] = {{p, size}};

    if (!p)
        return 0;
    if (size)
        memcpy(p, data, size);
    try(file, 1);
    for (size_t i = 4; i + 4 <= size; i++)
        if (!memcmp(p + i, "GGUF", 4)) {
            file[0].n = i;
            file[1] = (struct gguf_str){p + i, size - i};
            try(file, 2);
            break;
        }
    free(p);
    return 0;
}
