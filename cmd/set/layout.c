/* SPDX-License-Identifier: MIT
 *
 * Where the keys go.
 *
 * The data starts at the first multiple of the alignment behind the tensor
 * table, and tensors are counted from there.  So keys can change where they
 * stand as long as keys and table end in the same 32 bytes (or whatever the
 * alignment is); an array of zeros, GGUF_PADDING, takes what room is left when
 * they get shorter, and gives it when they get longer.  Nothing else moves: the
 * file is then written over from the first byte that differs to the last.
 *
 * Otherwise the file is written anew, with the data copied as it is, or tensor
 * by tensor where the alignment changes. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cmd/set/set.h"

enum { FRONT = 4 + 4 + 8 + 8 }; /* magic, version, both counts */

static bool named(const struct gguf_val *v, const char *name)
{
    return v->key.n == strlen(name) && !memcmp(v->key.p, name, v->key.n);
}

static void put_keys(struct gguf_out *o, const struct gguf *g,
                     const struct edits *s)
{
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        const struct gguf_val *v = gguf_key_at(g, i);

        if (named(v, GGUF_PADDING) || (s->of[i] && s->of[i]->deleted))
            continue;
        gguf_put_val(o, s->of[i] ? &s->of[i]->now : v);
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].old)
            gguf_put_val(o, &s->v[i].now);
}

/* The table as it stands in the file, holes and all. */
static void put_table(struct gguf_out *o, const struct gguf *g)
{
    const struct gguf_shard *s = gguf_shard_at(g, 0);
    const struct gguf_tensor *first = gguf_tensor_at(g, s->first), *last;
    const char *from, *to;

    o->ntensor = s->ntensor;
    o->data = s->bytes > s->data ? s->bytes - s->data : 0;
    if (!s->ntensor)
        return;
    last = first + s->ntensor - 1;
    from = first->name.p - 8;
    to = last->name.p + last->name.n + 4 + 8 * last->ndim + 4 + 8;
    buf_put(&o->tensors, from, (size_t)(to - from));
}

static void put_tensors(struct gguf_out *o, const struct gguf *g)
{
    const struct gguf_shard *s = gguf_shard_at(g, 0);

    for (size_t i = 0; i < s->ntensor; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, s->first + i);

        gguf_put_tensor(o, t->name, t->type, t->ndim, t->ne);
    }
}

/* An array of N zeros, at the end of the keys. */
static void put_padding(struct gguf_out *o, uint64_t n)
{
    void *zeros = calloc(n ? n : 1, 1);

    if (!zeros)
        err_nomem(&o->e);
    else
        gguf_put_arr(o, GGUF_PADDING, GGUF_U8, n, zeros, n);
    free(zeros);
}

/* What the array itself takes, empty. */
enum { PADDING = 8 + (int)sizeof GGUF_PADDING - 1 + 4 + 4 + 8 };

static uint64_t end_of(const struct gguf_out *o)
{
    return FRONT + (uint64_t)o->keys.n + o->tensors.n;
}

/* A multiple of 32 unless a key says otherwise. */
static int new_alignment(uint32_t *a, const struct gguf *g,
                         const struct edits *s, struct err *e)
{
    static const char name[] = "general.alignment";
    const struct gguf_val *v = gguf_key(g, name);

    *a = 32;
    if (v && s->of[v - gguf_key_at(g, 0)])
        v = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].deleted && named(&s->v[i].now, name))
            v = &s->v[i].now;
    if (!v)
        return 0;
    if (v->type == GGUF_U32)
        *a = rd_u32(v->p);
    if (v->type != GGUF_U32 || *a < 8 || *a & (*a - 1) || *a > 1 << 20)
        return err_set(e, ERR_USAGE,
                       "%s: must be a u32, a power of two from 8 to 1048576",
                       name);
    return 0;
}

/* The front of the file, where the model is mapped. */
static const unsigned char *front_of(const struct gguf *g)
{
    return gguf_nkey(g)
               ? (const unsigned char *)gguf_key_at(g, 0)->key.p - 8 - FRONT
               : NULL;
}

/* Fill P->HERE so that the data stays where it is; false when that cannot be.
 */
static bool fits(struct layout *p, const struct gguf *g, const struct edits *s,
                 uint64_t reserve)
{
    const struct gguf_shard *f = gguf_shard_at(g, 0);
    uint64_t end;

    if (!front_of(g) || f->bytes < f->data || p->alignment != f->alignment)
        return false;
    gguf_out_init(&p->here, 32);
    p->here.alignment = f->alignment;
    put_keys(&p->here, g, s);
    put_table(&p->here, g);
    end = end_of(&p->here);
    if (end > f->data)
        return false;
    if (f->data - end < f->alignment && !reserve)
        return true;
    if (f->data - end < PADDING + reserve)
        return false;
    put_padding(&p->here, f->data - end - PADDING);
    return true;
}

/* ---- is it a model still? ---- */

struct result {
    unsigned char *p; /* a file that has only its front, and else zeros */
    size_t n;
    struct map *map; /* its fellows' files */
    struct gguf_str *file;
    int nfile;
    struct gguf *g;
};

static void close_result(struct result *r)
{
    gguf_close(r->g);
    for (int i = 1; r->map && i < r->nfile; i++)
        map_close(&r->map[i]);
    if (r->p)
        munmap(r->p, r->n);
    free(r->map);
    free(r->file);
}

/* A file that begins with HEAD.  Writable is only that: nothing else counts as
 * memory, however large the model. */
static int make_front(struct result *r, const struct buf *head, uint64_t data,
                      struct err *e)
{
    uint64_t size;
    void *m;

    if (!add_ok(head->n, data, &size) || size > INT64_MAX)
        return err_set(e, ERR_UNSUPPORTED, "it would be too large");
    m = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (m == MAP_FAILED)
        return err_nomem(e);
    r->p = m;
    r->n = (size_t)size;
    if (mprotect(m, head->n, PROT_READ | PROT_WRITE))
        return err_nomem(e);
    memcpy(m, head->p, head->n);
    return 0;
}

/* The model as readers will see it, but for the tensors' contents. */
static int open_result(struct result *r, const struct gguf *g,
                       const struct gguf_out *o, struct err *e)
{
    int n = gguf_nshard(g), rc;
    struct buf head = {0};

    *r = (struct result){.map = calloc((size_t)n, sizeof *r->map),
                         .file = calloc((size_t)n, sizeof *r->file),
                         .nfile = n};
    rc = r->map && r->file ? gguf_out_head(&head, o, e) : err_nomem(e);
    if (!rc)
        rc = make_front(r, &head, o->data, e);
    buf_free(&head);
    for (int i = 1; !rc && i < n; i++) {
        rc = map_open(&r->map[i], gguf_shard_at(g, i)->path, e);
        r->file[i] = (struct gguf_str){(const char *)r->map[i].p, r->map[i].n};
    }
    if (rc)
        return -1;
    r->file[0] = (struct gguf_str){(const char *)r->p, r->n};
    return gguf_open_memory(&r->g, gguf_path(g), r->file, n, e);
}

static int check_result(const struct gguf *g, const struct layout *p,
                        const struct edits *s, bool force, struct err *e)
{
    struct result r;
    int rc = open_result(&r, g, p->in_place ? &p->here : &p->out, e);

    if (!rc && !force)
        rc = guard_result(g, r.g, s, e);
    close_result(&r);
    return rc;
}

/* ---- the layout ---- */

/* How many bytes stand between the first and the last that differ. */
static int count_changed(struct layout *p, const struct gguf *g, struct err *e)
{
    const unsigned char *old = front_of(g);
    struct buf head = {0};
    size_t from = 8, to;
    int rc = gguf_out_head(&head, &p->here, e);

    to = head.n;
    while (!rc && from < to && old[from] == head.p[from])
        from++;
    while (!rc && to > from && old[to - 1] == head.p[to - 1])
        to--;
    p->changed = rc ? 0 : to - from;
    buf_free(&head);
    return rc;
}

int layout_make(struct layout *p, const struct gguf *g, const struct edits *s,
                uint64_t reserve, bool alone, bool force, struct err *e)
{
    struct buf head = {0};
    int rc;

    *p = (struct layout){0};
    if (new_alignment(&p->alignment, g, s, e))
        return -1;
    gguf_out_init(&p->out, 32);
    p->out.alignment = p->alignment;
    put_keys(&p->out, g, s);
    if (reserve)
        put_padding(&p->out, reserve);
    if (p->alignment == gguf_shard_at(g, 0)->alignment)
        put_table(&p->out, g);
    else
        put_tensors(&p->out, g);
    rc = gguf_out_head(&head, &p->out, e);
    p->size = head.n + p->out.data;
    buf_free(&head);
    p->in_place = !rc && !alone && fits(p, g, s, reserve);
    if (!rc && p->in_place)
        rc = count_changed(p, g, e);
    return rc ? rc : check_result(g, p, s, force, e);
}

void layout_fini(struct layout *p)
{
    gguf_out_fini(&p->out);
    gguf_out_fini(&p->here);
}
