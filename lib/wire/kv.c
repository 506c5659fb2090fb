/* SPDX-License-Identifier: MIT
 * kv.c - the keys of a "kv" record.
 *
 * Each value must be there, and of the very type in which it is written: a
 * state whose bytes have changed shall not pass for the same one.  What the
 * values mean is lib/kv's.
 */
#include <string.h>

#include "wire/wire_impl.h"

static int need(struct value *v, const struct wire_rec *r, const char *key,
                struct err *e)
{
    if (find_value(v, r->keys, r->map, key))
        return 0;
    return err_set(e, ERR_FORMAT, "%s is missing", key);
}

static int need_uint(uint64_t *out, const struct wire_rec *r, const char *key,
                     struct err *e)
{
    struct value v;

    return need(&v, r, key, e) || get_uint(out, &v, e) ? -1 : 0;
}

static int need_text(const char **out, const struct wire_rec *r,
                     const char *key, struct err *e)
{
    struct value v;

    return need(&v, r, key, e) || get_cstr(out, &v, &r->in->str, e) ? -1 : 0;
}

static int need_ids(const uint32_t **out, size_t *n, const struct wire_rec *r,
                    const char *key, struct buf *to, struct err *e)
{
    const void *p;
    struct value v;

    if (need(&v, r, key, e))
        return -1;
    if (v.it.type == ITEM_TAG && v.it.arg != TAG_U32)
        return wrong(key, "an array of unsigned 32-bit numbers", e);
    if (get_array(&p, n, &v, 'u', to, e))
        return -1;
    *out = p;
    return 0;
}

/* Bytes at KEY, if any. */
static int bytes(const void **out, size_t *n, const struct wire_rec *r,
                 const char *key, struct err *e)
{
    struct value v;

    *out = NULL;
    if (!find_value(&v, r->keys, r->map, key))
        return 0;
    if (v.it.type != ITEM_BYTES && v.it.type != ITEM_BYTES_INDEF)
        return wrong(key, "a byte string", e);
    /* What comes in chunks is joined, and must not move for the next. */
    if (v.it.type == ITEM_BYTES_INDEF && !r->in->text.n)
        buf_reserve(&r->in->text, r->nraw);
    return get_bytes(out, n, &v, &r->in->text, e);
}

/* Text at KEY, if any. */
static int text(const char **out, const struct wire_rec *r, const char *key,
                struct err *e)
{
    struct value v;

    *out = NULL;
    return find_value(&v, r->keys, r->map, key) ? need_text(out, r, key, e) : 0;
}

static int get_head(struct wire_kv *k, const struct wire_rec *r, struct err *e)
{
    return need_uint(&k->n, r, "n", e) ||
                   need_ids(&k->ids, &k->nids, r, "ids", &r->in->ids, e) ||
                   need_text(&k->rope, r, "rope", e) ||
                   need_text(&k->model, r, "model", e) ||
                   need_text(&k->types, r, "types", e) ||
                   need_ids(&k->layers, &k->nlayers, r, "layers",
                            &r->in->layers, e) ||
                   need_uint(&k->version, r, "version", e) ||
                   text(&k->adapters, r, "adapters", e) ||
                   need_uint(&k->page_size, r, "page_size", e)
               ? -1
               : 0;
}

static int get_page(struct wire_kv *k, const struct wire_rec *r, struct err *e)
{
    return bytes(&k->k, &k->nk, r, "k", e) || need_uint(&k->n, r, "n", e) ||
                   bytes(&k->v, &k->nv, r, "v", e) ||
                   bytes(&k->z, &k->nz, r, "z", e) ||
                   need_uint(&k->pos, r, "pos", e) ||
                   need_uint(&k->page, r, "page", e) ||
                   need_uint(&k->layer, r, "layer", e)
               ? -1
               : 0;
}

int wire_get_kv(struct wire_kv *k, const struct wire_rec *r, struct err *e)
{
    static const char *const strings[] = {"sum",   "part",     "rope", "model",
                                          "types", "adapters", NULL};
    size_t room = 1;
    int bad;

    *k = (struct wire_kv){.seq = r->seq};
    if (!r->has_seq)
        return err_set(e, ERR_FORMAT, "s is missing");
    r->in->str.n = r->in->text.n = 0;
    for (int i = 0; strings[i]; i++) {
        struct value v;

        if (find_value(&v, r->keys, r->map, strings[i]))
            room += v.n + 1;
    }
    buf_reserve(&r->in->str, room); /* so that nothing moves */
    if (need_text(&k->part, r, "part", e) || need_text(&k->sum, r, "sum", e))
        return -1;
    bad = !strcmp(k->part, "head")   ? get_head(k, r, e)
          : !strcmp(k->part, "page") ? get_page(k, r, e)
          : !strcmp(k->part, "end")  ? need_uint(&k->records, r, "records", e)
                                     : wrong("part", "head, page or end", e);
    return bad ? -1 : 0;
}
