/* SPDX-License-Identifier: MIT
 * tokenizer_vocab.c - tokens by id and by spelling, while a folder is read. */
#include <stdlib.h>
#include <xxhash.h>

#include "convert/tokenizer_impl.h"

static uint32_t *slot_of(const struct voc *v, const char *p, size_t n)
{
    uint32_t mask = (1u << v->bits) - 1, i = (uint32_t)XXH3_64bits(p, n) & mask;

    for (; v->slot[i]; i = (i + 1) & mask) {
        const struct voc_token *t = &v->t[v->slot[i] - 1];

        if (t->n == n && !memcmp(v->text.p + t->at, p, n))
            break;
    }
    return &v->slot[i];
}

static int more_slots(struct voc *v, struct err *e)
{
    unsigned bits = v->bits ? v->bits + 1 : 10;
    uint32_t *old = v->slot, size = v->bits ? 1u << v->bits : 0;

    if (v->used < size / 3 * 2)
        return 0;
    v->slot = calloc((size_t)1 << bits, sizeof *v->slot);
    if (!v->slot) {
        v->slot = old;
        return err_nomem(e);
    }
    v->bits = bits;
    for (uint32_t i = 0; i < size; i++)
        if (old[i]) {
            struct gguf_str s = voc_str(v, old[i] - 1);

            *slot_of(v, s.p, s.n) = old[i];
        }
    free(old);
    return 0;
}

static int spell(struct voc *v, uint32_t id, const char *p, size_t n,
                 struct err *e)
{
    uint32_t *slot;

    if (n > UINT32_MAX / 2)
        return err_set(e, ERR_UNSUPPORTED, "token %u: more than 2 GB", id);
    if (more_slots(v, e))
        return -1;
    v->t[id].at = v->text.n;
    v->t[id].n = (uint32_t)n;
    buf_put(&v->text, p, n);
    if (buf_ok(&v->text, e))
        return -1;
    slot = slot_of(v, p, n);
    if (!*slot) {
        *slot = id + 1;
        v->used++;
    }
    return 0;
}

int voc_put(struct voc *v, int64_t id, const char *p, size_t n,
            enum tok_type type, float score, struct err *e)
{
    int show = (int)(n < 80 ? n : 80);

    if (id < 0 || id >= v->limit)
        return err_set(e, ERR_FORMAT,
                       "token '%.*s' has the id %lld: not below %u", show, p,
                       (long long)id, v->limit);
    if (id >= v->cap) {
        size_t cap = v->cap ? v->cap : 1024;
        struct voc_token *t;

        while (cap <= (size_t)id)
            cap *= 2;
        t = realloc(v->t, cap * sizeof *t);
        if (!t)
            return err_nomem(e);
        memset(t + v->cap, 0, (cap - v->cap) * sizeof *t);
        v->t = t;
        v->cap = (uint32_t)cap;
    }
    if (v->t[id].type)
        return err_set(e, ERR_FORMAT, "two tokens have the id %lld: '%.*s'",
                       (long long)id, show, p);
    if (spell(v, (uint32_t)id, p, n, e))
        return -1;
    v->t[id].type = (uint8_t)type;
    v->t[id].score = score;
    if (id >= v->n)
        v->n = (uint32_t)id + 1;
    return 0;
}

int voc_respell(struct voc *v, uint32_t id, const char *p, size_t n,
                struct err *e)
{
    /* What stands for the old spelling in the table compares equal to nothing
     * from now on, and keeps the chain whole. */
    return spell(v, id, p, n, e);
}

int64_t voc_find(const struct voc *v, const char *p, size_t n)
{
    return v->bits ? (int64_t)*slot_of(v, p, n) - 1 : -1;
}

struct gguf_str voc_str(const struct voc *v, uint32_t id)
{
    return (struct gguf_str){(const char *)v->text.p + v->t[id].at, v->t[id].n};
}

void voc_free(struct voc *v)
{
    free(v->t);
    free(v->slot);
    buf_free(&v->text);
}
