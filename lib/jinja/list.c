/* SPDX-License-Identifier: MIT
 * list.c - lists: building, joining, sorting.
 */
#include "jinja/jinja_impl.h"

struct val list_new(struct ctx *c, enum val_type type, size_t cap, bool data)
{
    struct list *l = ctx_alloc(c, 1, sizeof *l);
    struct room *room = ctx_alloc(c, 1, sizeof *room);

    if (!l || !room)
        return VAL_NONE;
    cap = cap ? cap : 4;
    l->v = ctx_alloc(c, cap, sizeof *l->v);
    l->room = room;
    l->data = data;
    room->cap = cap;
    return failed(c) ? VAL_NONE : (struct val){.type = (uint8_t)type, .l = l};
}

/* Room for N more behind L, which it then owns. */
static bool list_room(struct ctx *c, struct list *l, size_t n)
{
    struct room *room = l->room;
    size_t cap = 2 * (l->n + n);
    struct val *v;

    if (room && room->used == l->n && n <= room->cap - room->used)
        return true;
    room = ctx_alloc(c, 1, sizeof *room);
    v = ctx_alloc(c, cap, sizeof *v);
    if (!room || !v)
        return false;
    if (l->n)
        memcpy(v, l->v, l->n * sizeof *v);
    room->used = l->n;
    room->cap = cap;
    l->v = v;
    l->room = room;
    return ctx_step(c, l->n / 8);
}

void list_add(struct ctx *c, struct val *l, struct val v)
{
    if (failed(c) || !list_room(c, l->l, 1))
        return;
    l->l->v[l->l->n++] = v;
    l->l->room->used++;
}

struct val list_of(struct ctx *c, enum val_type type, const struct val *v,
                   size_t n)
{
    struct val l = list_new(c, type, n, false);

    for (size_t i = 0; i < n; i++)
        list_add(c, &l, v[i]);
    return l;
}

struct val list_pair(struct ctx *c, struct val a, struct val b)
{
    return list_of(c, V_TUPLE, (struct val[]){a, b}, 2);
}

/* As strings, lists that grow at their end share their room. */
struct val list_concat(struct ctx *c, struct val a, struct val b)
{
    struct list *l = ctx_alloc(c, 1, sizeof *l);

    if (!l || !ctx_step(c, b.l->n / 8))
        return VAL_NONE;
    *l = *a.l;
    l->data = a.l->data || b.l->data;
    if (!list_room(c, l, b.l->n))
        return VAL_NONE;
    if (b.l->n)
        memcpy(l->v + l->n, b.l->v, b.l->n * sizeof *l->v);
    l->n += b.l->n;
    l->room->used = l->n;
    return (struct val){.type = a.type, .l = l};
}

/* A stable merge sort, of places, then of the items. */
void list_sort(struct ctx *c, struct list *l, struct val *keys, bool reverse)
{
    size_t n = l->n, *a = ctx_alloc(c, n + 1, sizeof *a),
           *b = ctx_alloc(c, n + 1, sizeof *b), *swap;
    struct val *v = ctx_alloc(c, n + 1, sizeof *v);

    if (failed(c))
        return;
    for (size_t i = 0; i < n; i++)
        a[i] = i;
    for (size_t w = 1; w < n; w *= 2, swap = a, a = b, b = swap)
        for (size_t from = 0; from < n; from += 2 * w) {
            size_t mid = from + w < n ? from + w : n,
                   end = mid + w < n ? mid + w : n, i = from, k = mid;

            for (size_t to = from; to < end; to++) {
                bool right = false;

                if (i < mid && k < end) {
                    int r = val_compare(c, keys[a[k]], keys[a[i]], "<");

                    right = r == (reverse ? 1 : -1);
                }
                if (failed(c))
                    return;
                b[to] = i == mid || right ? a[k++] : a[i++];
            }
        }
    for (size_t i = 0; i < n; i++)
        v[i] = l->v[a[i]];
    l->v = v;
    l->room = NULL;
}
