/* SPDX-License-Identifier: MIT
 * trie.h - strings and the numbers they stand for, looked up byte by byte. */
#ifndef LLM_TOK_TRIE_H
#define LLM_TOK_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Nodes are numbered from TRIE_ROOT; 0 is no node.  An edge packs its byte
 * over the child's number. */
enum { TRIE_ROOT = 1, TRIE_NONE = 0, TRIE_MAX = 1 << 24 };

struct trie_edge {
    uint32_t from; /* 0: an empty slot */
    uint32_t byte_to;
};

/* A zeroed trie is empty. */
struct trie {
    struct trie_edge *edge;
    unsigned bits;   /* the table has 1 << bits slots */
    uint32_t nnode;  /* nodes made, counting number 0 */
    uint32_t cap;    /* of value[] */
    uint32_t *value; /* per node: the string's number + 1, or 0 */
};

/* Add P[N] (N > 0) with number V; an earlier number for it stays.  Fails with
 * ERR_NOMEM, or ERR_UNSUPPORTED beyond TRIE_MAX nodes. */
int trie_add(struct trie *t, const void *p, size_t n, uint32_t v,
             struct err *e);
void trie_free(struct trie *t);

static inline uint32_t trie_slot(const struct trie *t, uint32_t node,
                                 unsigned char byte)
{
    return ((node << 8 | byte) * 0x9e3779b1u ^ node >> 16) >> (32 - t->bits);
}

/* The node after NODE on BYTE, or TRIE_NONE. */
static inline uint32_t trie_next(const struct trie *t, uint32_t node,
                                 unsigned char byte)
{
    uint32_t i, mask;

    if (!t->edge)
        return TRIE_NONE;
    mask = (1u << t->bits) - 1;
    for (i = trie_slot(t, node, byte); t->edge[i].from; i = (i + 1) & mask)
        if (t->edge[i].from == node && t->edge[i].byte_to >> 24 == byte)
            return t->edge[i].byte_to & 0xffffff;
    return TRIE_NONE;
}

#endif
