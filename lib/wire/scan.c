/* SPDX-License-Identifier: MIT
 * scan.c - the shape of one record: well-formed CBOR, its end, its keys.
 *
 * No recursion, and no memory but the struct: a record that nests deeper or
 * has more keys than that holds is refused.  The scan stops where the bytes
 * stop and goes on from there, so that a record which arrives byte by byte
 * costs no more than one that is there at once.
 */
#include <string.h>

#include "base/utf8.h"
#include "wire/wire_impl.h"

void scan_init(struct scan *s)
{
    s->off = 0;
    s->depth = 0;
    s->nentry = 0;
}

static int push(struct scan *s, enum item_type type, uint64_t left, bool indef,
                struct err *e)
{
    if (s->depth == WIRE_MAX_DEPTH)
        return err_set(e, ERR_FORMAT, "nested more than %d deep",
                       WIRE_MAX_DEPTH);
    s->stack[s->depth++] = (struct frame){left, type, indef, false};
    return 0;
}

/* An item that ends at S->off is complete: so may be those around it.  1 when
 * that closes the record. */
static int done(struct scan *s)
{
    while (s->depth) {
        struct frame *f = &s->stack[s->depth - 1];

        if (f->type == ITEM_MAP && !(f->value = !f->value) && s->depth == 1) {
            struct entry *last = &s->entry[s->nentry - 1];

            last->nval = s->off - last->val;
        }
        if (f->indef || --f->left)
            return 0;
        s->depth--;
    }
    return 1;
}

/* A key of the map on top of the stack. */
static int key(struct scan *s, const struct item *it, const unsigned char *p,
               struct err *e)
{
    const unsigned char *name = it->p;
    size_t n = (size_t)it->arg;

    if (it->type != ITEM_TEXT)
        return err_set(e, ERR_FORMAT, "a map key that is not one text string");
    if (s->depth > 1)
        return 0;
    for (size_t i = 0; i < s->nentry; i++)
        if (s->entry[i].nkey == n && !memcmp(p + s->entry[i].key, name, n))
            return err_set(e, ERR_FORMAT, "key '%.*s' twice",
                           n < 64 ? (int)n : 64, (const char *)name);
    if (s->nentry == WIRE_MAX_KEYS)
        return err_set(e, ERR_FORMAT, "more than %d keys", WIRE_MAX_KEYS);
    s->entry[s->nentry++] = (struct entry){(size_t)(name - p), n, s->off, 0};
    return 0;
}

/* May IT stand here? */
static int fits(struct scan *s, const struct item *it, struct err *e)
{
    struct frame *f = s->depth ? &s->stack[s->depth - 1] : NULL;

    if (!f && it->type != ITEM_MAP && it->type != ITEM_MAP_INDEF)
        return err_set(e, ERR_FORMAT, "not a map");
    if (it->type == ITEM_BREAK && (!f->indef || f->value))
        return err_set(e, ERR_FORMAT, "a break where none may stand");
    if (f && it->type != ITEM_BREAK &&
        ((f->type == ITEM_TEXT && it->type != ITEM_TEXT) ||
         (f->type == ITEM_BYTES && it->type != ITEM_BYTES)))
        return err_set(e, ERR_FORMAT, "a string chunk of another type");
    if (it->type == ITEM_TEXT && !utf8_all(it->p, (size_t)it->arg))
        return err_set(e, ERR_FORMAT, "a text string that is not UTF-8");
    if ((it->type == ITEM_ARRAY || it->type == ITEM_MAP) &&
        it->arg > WIRE_MAX_RECORD)
        return err_set(e, ERR_FORMAT, "a count beyond the limit of a record");
    return 0;
}

/* Take IT, which ends at S->off: 1 when it closes the record. */
static int take(struct scan *s, const struct item *it, struct err *e)
{
    switch (it->type) {
    case ITEM_ARRAY:
        if (!it->arg)
            return done(s);
        return push(s, ITEM_ARRAY, it->arg, false, e);
    case ITEM_MAP:
        if (!it->arg)
            return done(s);
        return push(s, ITEM_MAP, 2 * it->arg, false, e);
    case ITEM_TAG:
        return push(s, ITEM_TAG, 1, false, e);
    case ITEM_ARRAY_INDEF:
        return push(s, ITEM_ARRAY, 0, true, e);
    case ITEM_MAP_INDEF:
        return push(s, ITEM_MAP, 0, true, e);
    case ITEM_BYTES_INDEF:
        return push(s, ITEM_BYTES, 0, true, e);
    case ITEM_TEXT_INDEF:
        return push(s, ITEM_TEXT, 0, true, e);
    case ITEM_BREAK:
        s->depth--;
        return done(s);
    default:
        return done(s);
    }
}

/* Does the string at P[N], still incomplete, say it is longer than any record?
 * Waiting for it would only fill memory. */
static bool hopeless(const unsigned char *p, size_t n)
{
    uint64_t len = 0;
    size_t width = !n                         ? 0
                   : *p == 0x5a || *p == 0x7a ? 4
                   : *p == 0x5b || *p == 0x7b ? 8
                                              : 0;

    if (n <= width)
        return false;
    for (size_t i = 1; i <= width; i++)
        len = len << 8 | p[i];
    return len > WIRE_MAX_RECORD;
}

int scan_more(struct scan *s, const unsigned char *p, size_t n, struct err *e)
{
    struct item it;
    int r;

    while ((r = item_get(&it, p + s->off, n - s->off)) > 0) {
        struct frame *f = s->depth ? &s->stack[s->depth - 1] : NULL;

        if (fits(s, &it, e))
            return -1;
        s->off += it.size;
        if (f && f->type == ITEM_MAP && !f->value && it.type != ITEM_BREAK &&
            key(s, &it, p, e))
            return -1;
        if ((r = take(s, &it, e)))
            return r;
    }
    if (r < 0)
        return err_set(e, ERR_FORMAT, "byte %zu is not well-formed CBOR",
                       s->off);
    if (hopeless(p + s->off, n - s->off))
        return err_set(e, ERR_FORMAT, "a length beyond the limit of a record");
    return 0;
}

const struct entry *scan_find(const struct scan *s, const unsigned char *p,
                              const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < s->nentry; i++)
        if (s->entry[i].nkey == n && !memcmp(p + s->entry[i].key, name, n))
            return &s->entry[i];
    return NULL;
}
