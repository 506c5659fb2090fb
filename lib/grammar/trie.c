/* SPDX-License-Identifier: MIT
 * trie.c - texts are sorted by their first eight bytes as one number, byte by
 * byte, and only those that are equal there by comparing: a vocabulary takes
 * some 20 ms. */
#include "grammar/trie.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct key {
    uint64_t v;
    uint32_t i;
};

static int by_text(const void *a, const void *b)
{
    const struct grammar_text *x = a, *y = b;
    uint32_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->p, y->p, n);

    if (c)
        return c;
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* By byte K of the keys, stable; false when they are all the same there. */
static bool pass(struct key *to, const struct key *from, size_t n, int k)
{
    uint32_t at[256] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[from[i].v >> 8 * k & 255]++;
    for (int b = 0; b < 256; b++) {
        uint32_t c = at[b];

        if (c == n)
            return false;
        at[b] = sum;
        sum += c;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].v >> 8 * k & 255]++] = from[i];
    return true;
}

static int sort(struct grammar_text *t, size_t n, struct err *e)
{
    struct key *a = malloc(2 * n * sizeof *a + 1), *b = a ? a + n : NULL, *swap;
    struct grammar_text *copy = malloc(n * sizeof *copy + 1);
    struct key *all = a;

    if (!a || !copy) {
        free(all);
        free(copy);
        return err_nomem(e);
    }
    for (size_t i = 0; i < n; i++) {
        a[i] = (struct key){0, (uint32_t)i};
        for (uint32_t k = 0; k < 8; k++)
            a[i].v = a[i].v << 8 | (k < t[i].len ? t[i].p[k] : 0);
    }
    for (int k = 0; k < 8 && n; k++)
        if (pass(b, a, n, k)) {
            swap = a;
            a = b;
            b = swap;
        }
    for (size_t i = 0; i < n; i++)
        copy[i] = t[a[i].i];
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && a[j].v == a[i].v; j++)
            ;
        if (j - i > 1)
            qsort(copy + i, j - i, sizeof *copy, by_text);
    }
    if (n)
        memcpy(t, copy, n * sizeof *copy);
    free(all);
    free(copy);
    return 0;
}

void grammar_trie_free(struct grammar_trie *t)
{
    if (!t)
        return;
    free(t->byte);
    free(t->skip);
    free(t->at);
    free(t->id);
    free(t);
}

static uint32_t common(const struct grammar_text *a,
                       const struct grammar_text *b)
{
    uint32_t n = a->len < b->len ? a->len : b->len, i = 0;

    while (i < n && a->p[i] == b->p[i])
        i++;
    return i;
}

static int fill(struct grammar_trie *t, const struct grammar_text *x, size_t n,
                struct err *e)
{
    uint32_t *path = malloc(((size_t)t->depth + 1) * sizeof *path), depth = 0,
             made = 1;

    if (!path)
        return err_nomem(e);
    path[0] = 0;
    t->byte[0] = 0;
    t->at[0] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t same = i ? common(&x[i - 1], &x[i]) : 0;

        for (; depth > same; depth--)
            t->skip[path[depth]] = made;
        while (depth < x[i].len) {
            t->byte[made] = x[i].p[depth];
            t->at[made] = (uint32_t)i;
            path[++depth] = made++;
        }
        t->id[i] = x[i].id;
    }
    for (;; depth--) {
        t->skip[path[depth]] = made;
        if (!depth)
            break;
    }
    t->at[made] = (uint32_t)n;
    free(path);
    return 0;
}

int grammar_trie_new(struct grammar_trie **out, struct grammar_text *x,
                     size_t n, struct err *e)
{
    struct grammar_trie *t = calloc(1, sizeof *t);
    size_t nodes = 1;

    *out = NULL;
    if (!t)
        return err_nomem(e);
    if (sort(x, n, e))
        goto bad;
    for (size_t i = 0; i < n; i++) {
        nodes += x[i].len - (i ? common(&x[i - 1], &x[i]) : 0);
        if (x[i].len > t->depth)
            t->depth = x[i].len;
    }
    if (nodes > UINT32_MAX / 16 || n > UINT32_MAX / 16) {
        err_set(e, ERR_UNSUPPORTED, "the vocabulary has too much text");
        goto bad;
    }
    t->n = (uint32_t)nodes;
    t->byte = malloc(nodes);
    t->skip = malloc(nodes * sizeof *t->skip);
    t->at = malloc((nodes + 1) * sizeof *t->at);
    t->id = malloc(n * sizeof *t->id + 1);
    t->memory = nodes * 9 + n * 4 + sizeof *t;
    if (!t->byte || !t->skip || !t->at || !t->id) {
        err_nomem(e);
        goto bad;
    }
    if (fill(t, x, n, e))
        goto bad;
    *out = t;
    return 0;
bad:
    grammar_trie_free(t);
    return -1;
}
