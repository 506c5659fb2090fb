/* SPDX-License-Identifier: MIT
 * pages.c - the pages of one group: who holds them, what they are called, and
 * which goes first when there is none left. */
#include <assert.h>
#include <stdlib.h>

#include "kv/kv_impl.h"

int kv_pool_init(struct kv_pool *p, int npage)
{
    size_t n = 16;

    while (n < (size_t)npage)
        n *= 2;
    p->npage = npage;
    p->slot = calloc((size_t)npage + 1, sizeof *p->slot);
    p->bucket = malloc(n * sizeof *p->bucket);
    p->mask = (int)(n - 1);
    p->free = p->oldest = p->newest = -1;
    for (size_t i = 0; p->bucket && i < n; i++)
        p->bucket[i] = -1;
    return p->slot && p->bucket ? 0 : -1;
}

void kv_pool_fini(struct kv_pool *p)
{
    free(p->slot);
    free(p->bucket);
}

static int *bucket(const struct kv_pool *p, XXH128_hash_t name)
{
    return &p->bucket[name.low64 & (uint64_t)p->mask];
}

int kv_pool_find(const struct kv_pool *p, XXH128_hash_t name)
{
    int id = *bucket(p, name);

    while (id >= 0 && !XXH128_isEqual(p->slot[id].name, name))
        id = p->slot[id].next;
    return id;
}

void kv_pool_name(struct kv_pool *p, int id, XXH128_hash_t name)
{
    struct kv_slot *s = &p->slot[id];
    int *b = bucket(p, name);

    assert(s->ref && !s->named);
    s->named = true;
    s->name = name;
    s->next = *b;
    *b = id;
}

void kv_pool_unname(struct kv_pool *p, int id)
{
    struct kv_slot *s = &p->slot[id];
    int *at = bucket(p, s->name);

    assert(s->named);
    while (*at != id)
        at = &p->slot[*at].next;
    *at = s->next;
    s->named = false;
}

/* Out of those that are kept. */
static void unlink_kept(struct kv_pool *p, int id)
{
    struct kv_slot *s = &p->slot[id];

    if (s->older >= 0)
        p->slot[s->older].newer = s->newer;
    else
        p->oldest = s->newer;
    if (s->newer >= 0)
        p->slot[s->newer].older = s->older;
    else
        p->newest = s->older;
}

void kv_pool_hold(struct kv_pool *p, int id)
{
    struct kv_slot *s = &p->slot[id];

    if (!s->ref++) {
        unlink_kept(p, id);
        p->held++;
    }
}

void kv_pool_drop(struct kv_pool *p, int id)
{
    struct kv_slot *s = &p->slot[id];

    assert(s->ref > 0);
    if (--s->ref)
        return;
    p->held--;
    if (!s->named) {
        s->next = p->free;
        p->free = id;
        return;
    }
    s->older = p->newest;
    s->newer = -1;
    if (p->newest >= 0)
        p->slot[p->newest].newer = id;
    else
        p->oldest = id;
    p->newest = id;
}

int kv_pool_take(struct kv_pool *p)
{
    int id = p->free;

    assert(p->held < p->npage);
    if (id >= 0) {
        p->free = p->slot[id].next;
    } else if (p->fresh < p->npage) {
        id = p->fresh++;
    } else {
        id = p->oldest;
        unlink_kept(p, id);
        kv_pool_unname(p, id);
    }
    p->slot[id].ref = 1;
    p->held++;
    return id;
}
