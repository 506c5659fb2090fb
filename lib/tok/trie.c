/* SPDX-License-Identifier: MIT */
#include "tok/trie.h"

#include <stdlib.h>

static void insert(struct trie *t, struct trie_edge edge)
{
    uint32_t mask = (1u << t->bits) - 1,
             i = trie_slot(t, edge.from, (unsigned char)(edge.byte_to >> 24));

    while (t->edge[i].from)
        i = (i + 1) & mask;
    t->edge[i] = edge;
}

/* Room for one more node, the edge table at most half full. */
static int grow(struct trie *t, struct err *e)
{
    struct trie old = *t;

    if (t->nnode == TRIE_MAX)
        return err_set(e, ERR_UNSUPPORTED, "vocabulary too large");
    if (t->nnode >= t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 256;
        uint32_t *v = realloc(t->value, cap * sizeof *v);

        if (!v)
            return err_nomem(e);
        for (uint32_t i = t->cap; i < cap; i++)
            v[i] = 0;
        t->value = v;
        t->cap = cap;
    }
    if (t->edge && t->nnode < 1u << (t->bits - 1))
        return 0;
    t->bits = t->bits ? t->bits + 1 : 9;
    t->edge = calloc((size_t)1 << t->bits, sizeof *t->edge);
    if (!t->edge) {
        t->edge = old.edge;
        t->bits = old.bits;
        return err_nomem(e);
    }
    for (size_t i = 0; old.edge && i < (size_t)1 << old.bits; i++)
        if (old.edge[i].from)
            insert(t, old.edge[i]);
    free(old.edge);
    return 0;
}

int trie_add(struct trie *t, const void *p, size_t n, uint32_t v, struct err *e)
{
    const unsigned char *s = p;
    uint32_t node = TRIE_ROOT;

    if (!t->nnode) {
        t->nnode = 2;
        t->cap = 0;
        if (grow(t, e))
            return -1;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t next = trie_next(t, node, s[i]);

        if (!next) {
            if (grow(t, e))
                return -1;
            next = t->nnode++;
            insert(t, (struct trie_edge){node, (uint32_t)s[i] << 24 | next});
        }
        node = next;
    }
    if (!t->value[node])
        t->value[node] = v + 1;
    return 0;
}

void trie_free(struct trie *t)
{
    free(t->edge);
    free(t->value);
    *t = (struct trie){0};
}
