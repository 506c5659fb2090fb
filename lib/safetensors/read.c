/* SPDX-License-Identifier: MIT
 *
 * One file: its header, checked. */
#include <string.h>

#include "base/num.h"
#include "safetensors/safetensors_impl.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define X(name, bytes) {#name, bytes},
    SAFETENSORS_DTYPES(X)
#undef X
};

const char *safetensors_dtype_name(enum safetensors_dtype d)
{
    return dtypes[d].name;
}

size_t safetensors_dtype_size(enum safetensors_dtype d)
{
    return dtypes[d].bytes;
}

json_t *safetensors_json(const char *path, const void *p, size_t n,
                         struct err *e)
{
    json_error_t je;
    json_t *j = json_loadb(p, n, JSON_REJECT_DUPLICATES, &je);

    if (!j && json_error_code(&je) == json_error_out_of_memory)
        err_nomem(e);
    else if (!j)
        err_set(e, ERR_FORMAT, "%s: %s at byte %d", path, je.text, je.position);
    else if (!json_is_object(j)) {
        json_decref(j);
        j = NULL;
        err_set(e, ERR_FORMAT, "%s: is no JSON object", path);
    }
    return j;
}

/* ---- a tensor ---- */

struct entry {
    const char *path, *name;
    struct safetensors_tensor *t;
    struct err *e;
};

static int bad(const struct entry *x, enum err_code code, const char *what)
{
    return err_set(x->e, code, "%s: tensor '%.100s': %s", x->path, x->name,
                   what);
}

static int get_count(uint64_t *n, const json_t *v)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return -1;
    *n = (uint64_t)json_integer_value(v);
    return 0;
}

static int read_dtype(const struct entry *x, const json_t *v)
{
    const char *s = json_string_value(v);

    if (!s)
        return bad(x, ERR_FORMAT, "has no dtype");
    for (int i = 0; i < SAFETENSORS_NDTYPE; i++)
        if (!strcmp(s, dtypes[i].name)) {
            x->t->dtype = (enum safetensors_dtype)i;
            return 0;
        }
    return err_set(x->e, ERR_UNSUPPORTED,
                   "%s: tensor '%.100s': dtype '%.40s' is not supported",
                   x->path, x->name, s);
}

static int read_shape(const struct entry *x, const json_t *v)
{
    struct safetensors_tensor *t = x->t;
    size_t n = json_array_size(v);

    if (!json_is_array(v))
        return bad(x, ERR_FORMAT, "has no shape");
    if (n > SAFETENSORS_MAX_DIMS)
        return bad(x, ERR_UNSUPPORTED, "has more than 8 dimensions");
    t->ndim = (int)n;
    t->n = 1;
    for (size_t i = 0; i < n; i++) {
        if (get_count(&t->shape[i], json_array_get(v, i)))
            return bad(x, ERR_FORMAT, "its shape is not of counts");
        if (!mul_ok(t->n, t->shape[i], &t->n))
            return bad(x, ERR_FORMAT, "its shape has too many elements");
    }
    if (!mul_ok(t->n, dtypes[t->dtype].bytes, &t->bytes))
        return bad(x, ERR_FORMAT, "its shape has too many elements");
    return 0;
}

static int read_offsets(const struct entry *x, const json_t *v,
                        const struct safetensors_file *f)
{
    uint64_t from, to;

    if (json_array_size(v) != 2 || get_count(&from, json_array_get(v, 0)) ||
        get_count(&to, json_array_get(v, 1)) || from > to)
        return bad(x, ERR_FORMAT, "its data_offsets are no two offsets");
    if (to > f->ndata)
        return bad(x, ERR_FORMAT, "ends beyond the file");
    if (to - from != x->t->bytes)
        return err_set(x->e, ERR_FORMAT,
                       "%s: tensor '%.100s': has %llu bytes, its shape takes "
                       "%llu of %s",
                       x->path, x->name, (unsigned long long)(to - from),
                       (unsigned long long)x->t->bytes,
                       dtypes[x->t->dtype].name);
    x->t->p = f->data + from;
    x->t->offset = (uint64_t)(f->data - f->start) + from;
    return 0;
}

static int read_entry(const struct entry *x, const json_t *v,
                      const struct safetensors_file *f)
{
    const char *key;
    json_t *item;

    if (!json_is_object(v))
        return bad(x, ERR_FORMAT, "is no JSON object");
    json_object_foreach((json_t *)(uintptr_t)v, key, item) if (
        strcmp(key, "dtype") && strcmp(key, "shape") &&
        strcmp(key, "data_offsets")) return err_set(x->e, ERR_UNSUPPORTED,
                                                    "%s: tensor '%.100s': "
                                                    "'%.40s' is not supported",
                                                    x->path, x->name, key);
    if (read_dtype(x, json_object_get(v, "dtype")) ||
        read_shape(x, json_object_get(v, "shape")) ||
        read_offsets(x, json_object_get(v, "data_offsets"), f))
        return -1;
    return 0;
}

/* ---- a file ---- */

static int by_place(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* One tensor after the other, from the first byte to the last. */
static int check_places(const struct safetensors_file *f,
                        struct safetensors_tensor *t, size_t n, struct err *e)
{
    const unsigned char *at = f->data;

    if (n)
        qsort(t, n, sizeof *t, by_place);
    for (size_t i = 0; i < n; i++) {
        struct entry x = {f->path, t[i].name, NULL, e};

        if (t[i].p < at)
            return bad(&x, ERR_FORMAT, "overlaps another one");
        if (t[i].p > at)
            return bad(&x, ERR_FORMAT, "stands behind a hole");
        at += t[i].bytes;
    }
    if (at != f->data + f->ndata)
        return err_set(e, ERR_FORMAT,
                       "%s: has %llu bytes behind its last tensor", f->path,
                       (unsigned long long)(f->data + f->ndata - at));
    return 0;
}

static int check_metadata(const struct safetensors_file *f, const json_t *v,
                          struct err *e)
{
    const char *key;
    json_t *item;

    if (!json_is_object(v))
        return err_set(e, ERR_FORMAT, "%s: __metadata__ is no JSON object",
                       f->path);
    json_object_foreach(
        (json_t *)(uintptr_t)v, key,
        item) if (!json_is_string(item)) return err_set(e, ERR_FORMAT,
                                                        "%s: __metadata__: "
                                                        "'%.40s' is no string",
                                                        f->path, key);
    return 0;
}

static int read_tensors(struct safetensors *s, const struct safetensors_file *f,
                        json_t *head, struct err *e)
{
    size_t first = s->t.n / sizeof(struct safetensors_tensor), n = 0;
    const char *name;
    json_t *v;

    json_object_foreach(head, name, v)
    {
        struct safetensors_tensor *t;
        struct entry x = {f->path, name, NULL, e};

        if (!strcmp(name, "__metadata__")) {
            if (check_metadata(f, v, e))
                return -1;
            continue;
        }
        if (first + n >= SAFETENSORS_MAX_TENSORS)
            return err_set(e, ERR_UNSUPPORTED, "%s: has more than %d tensors",
                           f->path, SAFETENSORS_MAX_TENSORS);
        t = buf_add(&s->t, sizeof *t);
        if (!t)
            return err_nomem(e);
        *t = (struct safetensors_tensor){.path = f->path};
        x.t = t;
        if (read_entry(&x, v, f))
            return -1;
        t->name = arena_copy(&s->mem, name, strlen(name) + 1);
        if (!t->name)
            return err_nomem(e);
        n++;
    }
    if (!n && !f->ndata)
        return 0;
    return check_places(f, (struct safetensors_tensor *)(void *)s->t.p + first,
                        n, e);
}

int safetensors_read(struct safetensors *s, const char *path,
                     const unsigned char *p, size_t n, struct err *e)
{
    struct safetensors_file f = {.path = path, .start = p};
    uint64_t len;
    json_t *head;
    int rc;

    if (n < 8)
        return err_set(e, ERR_FORMAT, "%s: not a safetensors file", path);
    len = rd_u64(p);
    if (len > n - 8)
        return err_set(e, ERR_FORMAT,
                       "%s: not a safetensors file, or cut off: its header "
                       "would end beyond it",
                       path);
    if (len > SAFETENSORS_MAX_HEADER)
        return err_set(e, ERR_UNSUPPORTED, "%s: its header has %llu bytes",
                       path, (unsigned long long)len);
    if (!len || p[8] != '{')
        return err_set(e, ERR_FORMAT, "%s: not a safetensors file", path);
    head = safetensors_json(path, p + 8, (size_t)len, e);
    if (!head)
        return -1;
    f.data = p + 8 + len;
    f.ndata = n - 8 - (size_t)len;
    rc = read_tensors(s, &f, head, e);
    json_decref(head);
    return rc;
}
