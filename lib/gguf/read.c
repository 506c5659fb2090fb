/* SPDX-License-Identifier: MIT
 *
 * One GGUF file, from its first byte to the end of its tensor table.
 *
 * 1. Nothing is read before its length was compared with what is left.
 * 2. A count is believed only when that many of the smallest possible entries
 *    fit into what is left: memory stays in proportion to the file.
 * 3. After this, every value and every tensor lies inside the map, no two
 *    tensors share a byte, and no name stands twice.
 *
 * Typically 30 to 60 keys, 200 to 2,000 tensors, and two string arrays of
 * 32,000 to 500,000 entries, whose lengths take nearly all of the time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gguf/gguf_impl.h"
#include "gguf/patch.h"

/* What is left of the file: the cursor only moves forward.  Pages behind it
 * are let go, so that a vocabulary of 15 MB does not stay in memory for a
 * program that only wants one key; KEPT is where those still here start. */
struct cur {
    const unsigned char *p, *end, *kept;
    const struct map *map; /* NULL: not a mapping, nothing may be let go */
    struct err *e;
};

enum {
    MIN_KEY = 8 + 1 + 4 + 1,    /* a name of one byte, a u8 */
    MIN_TENSOR = 8 + 1 + 4 + 12 /* the same, without dimensions */
};

static size_t left(const struct cur *c)
{
    return (size_t)(c->end - c->p);
}

static int ends(struct cur *c)
{
    return err_set(c->e, ERR_FORMAT, "the file ends here");
}

static void let_go(struct cur *c)
{
    enum { STEP = 1 << 20 };

    if (c->map && c->p - c->kept > STEP) {
        map_forget(c->map, c->kept, (size_t)(c->p - c->kept));
        c->kept = c->p;
    }
}

static int take_u32(uint32_t *v, struct cur *c)
{
    if (left(c) < 4)
        return ends(c);
    *v = rd_u32(c->p);
    c->p += 4;
    return 0;
}

static int take_u64(uint64_t *v, struct cur *c)
{
    if (left(c) < 8)
        return ends(c);
    *v = rd_u64(c->p);
    c->p += 8;
    return 0;
}

static int take_str(struct gguf_str *s, struct cur *c)
{
    uint64_t n = 0;

    if (take_u64(&n, c))
        return -1;
    if (n > left(c))
        return err_set(c->e, ERR_FORMAT,
                       "a string of %llu bytes goes beyond the file",
                       (unsigned long long)n);
    s->p = (const char *)c->p;
    s->n = (size_t)n;
    c->p += n;
    return 0;
}

/* Names go into messages, JSON keys and C strings: they must be text. */
static int take_name(struct gguf_str *s, size_t max, struct cur *c)
{
    const unsigned char *p;
    size_t n, len;
    uint32_t cp;

    if (take_str(s, c))
        return -1;
    if (!s->n)
        return err_set(c->e, ERR_FORMAT, "its name is empty");
    if (s->n > max)
        return err_set(c->e, ERR_FORMAT,
                       "its name has %zu bytes, more than %zu", s->n, max);
    p = (const unsigned char *)s->p;
    for (n = s->n; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD || cp < 0x20 || cp == 0x7f)
            return err_set(c->e, ERR_FORMAT, "its name is not text");
    }
    return 0;
}

static int take_type(enum gguf_type *type, struct cur *c)
{
    uint32_t t = 0;

    if (take_u32(&t, c))
        return -1;
    if (t >= GGUF_NTYPE)
        return err_set(c->e, ERR_FORMAT, "there is no value type %lu",
                       (unsigned long)t);
    *type = (enum gguf_type)t;
    return 0;
}

static int take_bools(uint64_t n, struct cur *c)
{
    unsigned char any = 0;

    for (uint64_t i = 0; i < n; i++)
        any |= c->p[i];
    if (any > 1)
        return err_set(c->e, ERR_FORMAT, "a bool is neither 0 nor 1");
    c->p += n;
    return 0;
}

/* Step over N elements of TYPE, DEPTH arrays deep: 0 for a scalar. */
static int take_elems(enum gguf_type type, uint64_t n, int depth, struct cur *c)
{
    static const size_t smallest[] = {[GGUF_STR] = 8, [GGUF_ARR] = 12};
    size_t size = gguf_val_size(type);
    struct gguf_str s;

    if (n > left(c) / (size ? size : smallest[type]))
        return err_set(c->e, ERR_FORMAT,
                       "%llu elements do not fit into the file",
                       (unsigned long long)n);
    if (type == GGUF_BOOL)
        return take_bools(n, c);
    if (size) {
        c->p += n * size;
        return 0;
    }
    if (type == GGUF_ARR && depth >= GGUF_MAX_DEPTH)
        return err_set(c->e, ERR_UNSUPPORTED, "arrays more than %d deep",
                       GGUF_MAX_DEPTH);
    for (uint64_t i = 0; i < n; i++) {
        enum gguf_type elem = GGUF_U8;
        uint64_t count = 0;

        if (!(i % 4096))
            let_go(c);
        if (type == GGUF_STR) {
            if (take_str(&s, c))
                return depth ? err_prefix(c->e, "element %llu",
                                          (unsigned long long)i)
                             : -1;
        } else if (take_type(&elem, c) || take_u64(&count, c) ||
                   take_elems(elem, count, depth + 1, c)) {
            return -1;
        }
    }
    return 0;
}

static int take_key(struct gguf_val *v, struct cur *c)
{
    if (take_name(&v->key, 65535, c))
        return -1;
    v->elem = GGUF_U8;
    v->n = 1;
    if (take_type(&v->type, c))
        return -1;
    if (v->type == GGUF_ARR && (take_type(&v->elem, c) || take_u64(&v->n, c)))
        return -1;
    v->p = c->p;
    if (take_elems(v->type == GGUF_ARR ? v->elem : v->type, v->n,
                   v->type == GGUF_ARR, c))
        return -1;
    v->bytes = (size_t)(c->p - v->p);
    return 0;
}

static int cmp_val(const void *a, const void *b)
{
    const struct gguf_val *const *x = a, *const *y = b;

    return gguf_str_cmp((*x)->key, (*y)->key);
}

static int take_keys(struct shard *s, uint64_t n, struct cur *c)
{
    if (n > left(c) / MIN_KEY)
        return err_set(c->e, ERR_FORMAT, "%llu keys do not fit into the file",
                       (unsigned long long)n);
    if (n > GGUF_MAX_KEYS)
        return err_set(c->e, ERR_UNSUPPORTED, "%llu keys are more than %d",
                       (unsigned long long)n, GGUF_MAX_KEYS);
    s->key = calloc(n ? n : 1, sizeof *s->key);
    s->by_name = calloc(n ? n : 1, sizeof *s->by_name);
    if (!s->key || !s->by_name)
        return err_nomem(c->e);
    for (size_t i = 0; i < n; i++) {
        struct gguf_val *v = &s->key[i];

        if (take_key(v, c))
            return v->key.n ? err_prefix(c->e, "key '%.*s'", GGUF_NAME(v->key))
                            : err_prefix(c->e, "key %zu of %llu", i + 1,
                                         (unsigned long long)n);
        s->by_name[i] = v;
    }
    s->pub.nkey = (size_t)n;
    qsort(s->by_name, (size_t)n, sizeof *s->by_name, cmp_val);
    for (size_t i = 1; i < n; i++)
        if (!cmp_val(&s->by_name[i - 1], &s->by_name[i]))
            return err_set(c->e, ERR_FORMAT, "key '%.*s' stands twice",
                           GGUF_NAME(s->by_name[i]->key));
    return 0;
}

static int find_alignment(struct shard *s, struct err *e)
{
    const struct gguf_val *v = gguf_shard_key(s, "general.alignment");
    uint32_t a = 32;

    if (v && v->type != GGUF_U32)
        return err_set(e, ERR_FORMAT,
                       "key 'general.alignment': is %s, must be u32",
                       gguf_val_name(v->type));
    if (v)
        a = rd_u32(v->p);
    if (a < 8 || (a & (a - 1)))
        return err_set(e, ERR_FORMAT,
                       "key 'general.alignment': %lu is not a power of two of "
                       "at least 8",
                       (unsigned long)a);
    s->pub.alignment = a;
    return 0;
}

static int no_type(uint32_t id, struct err *e)
{
    static const struct {
        uint32_t id;
        const char *name;
    } gone[] = {{4, "Q4_2"},        {5, "Q4_3"},       {31, "Q4_0_4_4"},
                {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},  {36, "IQ4_NL_4_4"},
                {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};

    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (gone[i].id == id)
            return err_set(e, ERR_UNSUPPORTED,
                           "type %s (%lu) was removed from GGUF", gone[i].name,
                           (unsigned long)id);
    return err_set(e, ERR_UNSUPPORTED, "type %lu is not known",
                   (unsigned long)id);
}

/* No product may wrap. */
int gguf_size_tensor(struct gguf_tensor *t, struct err *e)
{
    const struct gguf_type_info *type = gguf_type_info(t->type);
    uint64_t n = 1;

    if (!type)
        return no_type(t->type, e);
    for (int i = 0; i < t->ndim; i++) {
        if (!t->ne[i])
            return err_set(e, ERR_FORMAT, "dimension %d is 0", i);
        if (!mul_ok(n, t->ne[i], &n) || n > INT64_MAX)
            return err_set(e, ERR_FORMAT, "its dimensions overflow");
    }
    if (t->ne[0] % type->elems)
        return err_set(e, ERR_FORMAT,
                       "rows of %llu are not a multiple of %s's block of %lu",
                       (unsigned long long)t->ne[0], type->name,
                       (unsigned long)type->elems);
    if (!mul_ok(n / type->elems, type->bytes, &t->bytes) ||
        t->bytes > INT64_MAX)
        return err_set(e, ERR_FORMAT, "its dimensions overflow");
    return 0;
}

static int take_tensor(struct gguf_tensor *t, struct cur *c)
{
    uint32_t ndim = 0;

    if (take_name(&t->name, 64, c) || take_u32(&ndim, c))
        return -1;
    if (ndim > GGUF_MAX_DIMS)
        return err_set(c->e, ERR_FORMAT, "%lu dimensions are more than %d",
                       (unsigned long)ndim, GGUF_MAX_DIMS);
    t->ndim = (int)ndim;
    for (int i = 0; i < GGUF_MAX_DIMS; i++)
        t->ne[i] = 1;
    for (int i = 0; i < t->ndim; i++)
        if (take_u64(&t->ne[i], c))
            return -1;
    if (take_u32(&t->type, c) || take_u64(&t->offset, c))
        return -1;
    return gguf_size_tensor(t, c->e);
}

/* Where T lies: only known once the table's end is. */
static int place_tensor(struct gguf_tensor *t, const struct shard *s,
                        struct err *e)
{
    uint64_t size = s->map.n, end;

    if (t->offset % s->pub.alignment)
        return err_set(
            e, ERR_FORMAT, "its offset %llu is not a multiple of %lu",
            (unsigned long long)t->offset, (unsigned long)s->pub.alignment);
    if (!add_ok(t->offset, s->pub.data, &end) || !add_ok(end, t->bytes, &end))
        return err_set(e, ERR_FORMAT, "its offset %llu overflows",
                       (unsigned long long)t->offset);
    if (end > size)
        return err_set(e, ERR_FORMAT,
                       "ends at byte %llu of a file of %llu (cut short?)",
                       (unsigned long long)end, (unsigned long long)size);
    t->p = s->map.p + s->pub.data + t->offset;
    return 0;
}

static int cmp_offset(const void *a, const void *b)
{
    const struct gguf_tensor *const *x = a, *const *y = b;

    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* No two of the N tensors at T share a byte.  Nearly every file has them in
 * order already. */
static int check_overlap(const struct gguf_tensor *t, size_t n, struct err *e)
{
    const struct gguf_tensor **by;
    size_t i = 1;

    while (i < n && t[i].offset >= t[i - 1].offset + t[i - 1].bytes)
        i++;
    if (i >= n)
        return 0;
    if (!(by = malloc(n * sizeof *by)))
        return err_nomem(e);
    for (i = 0; i < n; i++)
        by[i] = &t[i];
    qsort(by, n, sizeof *by, cmp_offset);
    for (i = 1; i < n; i++)
        if (by[i]->offset < by[i - 1]->offset + by[i - 1]->bytes)
            break;
    if (i < n)
        err_set(e, ERR_FORMAT, "tensor '%.*s': overlaps '%.*s'",
                GGUF_NAME(by[i]->name), GGUF_NAME(by[i - 1]->name));
    free(by);
    return i < n ? -1 : 0;
}

static int take_tensors(struct gguf *g, struct shard *s, int shard, uint64_t n,
                        struct cur *c)
{
    struct gguf_tensor *t;
    uint64_t head;

    if (n > left(c) / MIN_TENSOR)
        return err_set(c->e, ERR_FORMAT,
                       "%llu tensors do not fit into the file",
                       (unsigned long long)n);
    if (n > GGUF_MAX_TENSORS - g->ntensor)
        return err_set(c->e, ERR_UNSUPPORTED, "more than %d tensors",
                       GGUF_MAX_TENSORS);
    t = realloc(g->tensor, (g->ntensor + n + 1) * sizeof *t);
    if (!t)
        return err_nomem(c->e);
    g->tensor = t;
    t += g->ntensor;
    for (size_t i = 0; i < n; i++) {
        t[i] = (struct gguf_tensor){.shard = shard};
        if (take_tensor(&t[i], c))
            return t[i].name.n
                       ? err_prefix(c->e, "tensor '%.*s'", GGUF_NAME(t[i].name))
                       : err_prefix(c->e, "tensor %zu of %llu", i + 1,
                                    (unsigned long long)n);
    }
    head = (uint64_t)(c->p - s->map.p);
    s->pub.data =
        (head + s->pub.alignment - 1) & ~(uint64_t)(s->pub.alignment - 1);
    for (size_t i = 0; i < n; i++)
        if (place_tensor(&t[i], s, c->e))
            return err_prefix(c->e, "tensor '%.*s'", GGUF_NAME(t[i].name));
    if (check_overlap(t, (size_t)n, c->e))
        return -1;
    s->pub.first = g->ntensor;
    s->pub.ntensor = (size_t)n;
    g->ntensor += (size_t)n;
    return 0;
}

/* What a file without the magic may be; downloads go wrong in known ways. */
static int not_gguf(const struct map *m, struct err *e)
{
    static const struct {
        const char *start, *what;
    } known[] = {
        {"version https://git-lfs", "a Git LFS pointer, not the file itself"},
        {"<!DOCTYPE", "a web page"},
        {"<html", "a web page"},
        {"tjgg", "GGJT, which GGUF replaced"},
        {"lmgg", "GGML, which GGUF replaced"},
        {"FUGG", "big-endian"},
        {GGUF_PATCHING, "a half edited one: gguf-set takes that back"},
    };

    if (!m->n)
        return err_set(e, ERR_FORMAT, "the file is empty");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (m->n >= strlen(known[i].start) &&
            !memcmp(m->p, known[i].start, strlen(known[i].start)))
            return err_set(e, ERR_FORMAT, "not a GGUF file, but %s",
                           known[i].what);
    return err_set(e, ERR_FORMAT, "not a GGUF file");
}

static int take_version(uint32_t *version, struct cur *c)
{
    uint32_t v = 0;

    if (take_u32(&v, c))
        return -1;
    if (v && !(v & 0xffff))
        return err_set(c->e, ERR_UNSUPPORTED, "big-endian GGUF");
    if (v == 0)
        return err_set(c->e, ERR_FORMAT, "version 0");
    if (v != 2 && v != 3)
        return err_set(c->e, ERR_UNSUPPORTED,
                       "GGUF version %lu (only 2 and 3 are read)",
                       (unsigned long)v);
    *version = v;
    return 0;
}

int gguf_read_shard(struct gguf *g, struct shard *s, int i, struct err *e)
{
    struct cur c = {.map = s->mapped ? &s->map : NULL, .e = e};
    uint64_t ntensor = 0, nkey = 0;

    s->pub.path = s->path;
    s->pub.bytes = s->map.n;
    if (s->map.n < 4 || memcmp(s->map.p, "GGUF", 4))
        return not_gguf(&s->map, e);
    c.kept = s->map.p;
    c.end = s->map.p + s->map.n;
    c.p = s->map.p + 4;
    if (take_version(&s->pub.version, &c) || take_u64(&ntensor, &c) ||
        take_u64(&nkey, &c))
        return err_prefix(e, "header");
    if (take_keys(s, nkey, &c) || find_alignment(s, e))
        return -1;
    return take_tensors(g, s, i, ntensor, &c);
}
