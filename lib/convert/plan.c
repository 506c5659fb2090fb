/* SPDX-License-Identifier: MIT
 *
 * Which tensors of the folder each one of the GGUF is made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"

enum { MAX_NAME = 160 };

/* A row of the table, for one layer. */
struct place {
    struct convert *c;
    const struct convert_name *row;
    int64_t layer;
    struct err *e;
};

/* ---- names ---- */

/* FORMAT with the first and the second %d filled in. */
static void fill(char out[MAX_NAME], const char *format, int64_t first,
                 int64_t second)
{
    const char *a = strstr(format, "%d"), *b = a ? strstr(a + 2, "%d") : NULL;

    if (b)
        snprintf(out, MAX_NAME, "%.*s%lld%.*s%lld%s", (int)(a - format), format,
                 (long long)first, (int)(b - a - 2), a + 2, (long long)second,
                 b + 2);
    else if (a)
        snprintf(out, MAX_NAME, "%.*s%lld%s", (int)(a - format), format,
                 (long long)first, a + 2);
    else
        snprintf(out, MAX_NAME, "%s", format);
}

static const struct safetensors_tensor *
look(struct convert *c, const char *prefix, size_t n, const char *name)
{
    char full[MAX_NAME + 64];

    snprintf(full, sizeof full, "%.*s%s", (int)n, prefix, name);
    return safetensors_find(c->s, full);
}

/* The tensor of P's row, and of expert X where the row is for one. */
static const struct safetensors_tensor *find(const struct place *p, int64_t x)
{
    struct convert *c = p->c;
    const struct safetensors_tensor *t;
    char name[MAX_NAME];

    fill(name, p->row->hf, p->layer, x);
    if (!(p->row->flags & CONVERT_TOP))
        return look(c, c->prefix, c->nprefix, name);
    t = safetensors_find(c->s, name);
    return t ? t : look(c, "language_model.", 15, name);
}

static void saw(struct convert *c, const struct safetensors_tensor *t)
{
    c->seen[t - safetensors_at(c->s, 0)] = true;
}

/* The prefix that names of the body have in this folder: the one with which
 * the first row is there. */
static int find_prefix(struct convert *c, struct err *e)
{
    const char *row = c->m->names[0]->hf;

    for (const char *p = c->m->prefix;; p += c->nprefix + 1) {
        c->prefix = p;
        c->nprefix = strcspn(p, "|");
        if (look(c, p, c->nprefix, row))
            return 0;
        if (!p[c->nprefix])
            break;
    }
    return err_set(e, ERR_FORMAT, "%s: tensor '%.*s%s' is missing", c->hf.dir,
                   (int)strcspn(c->m->prefix, "|"), c->m->prefix, row);
}

/* ---- shapes ---- */

static void shape_text(char s[100], const uint64_t *shape, int n)
{
    int at = snprintf(s, 100, "[");

    for (int i = 0; i < n && at < 80; i++)
        at += snprintf(s + at, 100 - (size_t)at, i ? ", %llu" : "%llu",
                       (unsigned long long)shape[i]);
    snprintf(s + at, 100 - (size_t)at, "]");
}

/* T has the shape that the row's letters spell. */
static int check_shape(const struct place *p,
                       const struct safetensors_tensor *t)
{
    const char *letters = p->row->shape;
    int n = (int)strlen(letters);
    uint64_t want[SAFETENSORS_MAX_DIMS];
    char is[100], must[100];
    bool same = t->ndim == n;

    for (int i = 0; i < n; i++) {
        want[i] = (uint64_t)convert_size(p->c, letters[i]);
        same = same && t->shape[i] == want[i];
    }
    if (same)
        return 0;
    shape_text(is, t->shape, t->ndim);
    shape_text(must, want, n);
    return err_set(p->e, ERR_FORMAT,
                   "%s: tensor '%.100s': its shape is %s, and %s by "
                   "config.json",
                   t->path, t->name, is, must);
}

static bool known(const struct convert *c, const struct safetensors_tensor *t)
{
    return t->dtype == SAFETENSORS_F32 || t->dtype == SAFETENSORS_F16 ||
           t->dtype == SAFETENSORS_BF16 ||
           (c->fp8 && t->ndim == 2 && t->dtype == SAFETENSORS_F8_E4M3);
}

static int check(const struct place *p, const struct safetensors_tensor *t)
{
    if (check_shape(p, t))
        return -1;
    if (!known(p->c, t))
        return err_set(p->e, ERR_UNSUPPORTED,
                       "%s: tensor '%.100s': %s is not supported", t->path,
                       t->name, safetensors_dtype_name(t->dtype));
    return 0;
}

/* ---- types ---- */

static uint32_t same_type(const struct safetensors_tensor *t)
{
    return t->dtype == SAFETENSORS_BF16 || t->dtype == SAFETENSORS_F8_E4M3
               ? GGUF_T_BF16
               : GGUF_T_F16;
}

static void choose_type(struct convert_tensor *out, const struct place *p,
                        const struct safetensors_tensor *t)
{
    out->instead_of = CONVERT_NOT_INSTEAD;
    if (out->ndim == 1 || p->row->flags & CONVERT_KEEP ||
        p->row->change == CONVERT_ONE) {
        out->type = GGUF_T_F32;
        return;
    }
    switch (p->c->want.type) {
    case CONVERT_TO_F32:
        out->type = GGUF_T_F32;
        break;
    case CONVERT_TO_F16:
        out->type = GGUF_T_F16;
        break;
    case CONVERT_TO_BF16:
        out->type = GGUF_T_BF16;
        break;
    case CONVERT_TO_Q8_0:
        out->type = GGUF_T_Q8_0;
        if (out->ne[0] % gguf_type_info(GGUF_T_Q8_0)->elems) {
            out->type = same_type(t);
            out->instead_of = GGUF_T_Q8_0;
        }
        break;
    default:
        out->type = same_type(t);
    }
}

/* ---- a tensor ---- */

static struct convert_tensor *new_tensor(struct convert *c, const char *name,
                                         struct err *e)
{
    struct convert_tensor *t = buf_add(&c->tensors, sizeof *t);

    if (t) {
        *t = (struct convert_tensor){0};
        t->name = arena_copy(&c->mem, name, strlen(name) + 1);
        if (t->name)
            return t;
    }
    err_nomem(e);
    return NULL;
}

static int new_pieces(struct convert_tensor *t, struct convert *c, size_t n,
                      struct err *e)
{
    t->npiece = n;
    t->piece = arena_array(&c->mem, n, sizeof *t->piece);
    return t->piece ? 0 : err_nomem(e);
}

/* Dimensions of OUT, from those of T; EXPERTS: one more, of so many. */
static void set_shape(struct convert_tensor *out,
                      const struct safetensors_tensor *t, uint64_t experts)
{
    int n = t->ndim;

    for (int i = 0; i < n; i++)
        out->ne[i] = t->shape[n - 1 - i];
    if (experts)
        out->ne[n++] = experts;
    for (int i = n; i < GGUF_MAX_DIMS; i++)
        out->ne[i] = 1;
    out->ndim = n;
    out->cols = out->ne[0];
    out->rows = out->ne[1] * out->ne[2] * out->ne[3];
}

/* One tensor of each expert, one after the other. */
static int stack(struct convert_tensor *out, const struct place *p,
                 const struct safetensors_tensor *first)
{
    uint64_t n = (uint64_t)convert_size(p->c, 'E'), rows = first->shape[0];

    if (!n)
        return err_set(p->e, ERR_FORMAT,
                       "%s/config.json: there are experts, "
                       "and it says there are none",
                       p->c->hf.dir);
    set_shape(out, first, n);
    if (new_pieces(out, p->c, n, p->e))
        return -1;
    for (uint64_t x = 0; x < n; x++) {
        const struct safetensors_tensor *t = find(p, (int64_t)x);
        char name[MAX_NAME];

        fill(name, p->row->hf, p->layer, (int64_t)x);
        if (!t)
            return err_set(p->e, ERR_FORMAT, "%s: tensor '%.*s%s' is missing",
                           p->c->hf.dir, (int)p->c->nprefix, p->c->prefix,
                           name);
        if (check(p, t))
            return -1;
        saw(p->c, t);
        out->piece[x] = (struct convert_piece){.from = t, .rows = rows};
        if (convert_scales(&out->piece[x], p->c, p->e))
            return -1;
    }
    return 0;
}

/* A half of the rows of each matrix. */
static int halve(struct convert_tensor *out, const struct place *p,
                 const struct safetensors_tensor *t)
{
    uint64_t n = t->shape[0], rows = t->shape[1] / 2,
             first = p->row->change == CONVERT_SECOND ? rows : 0;

    set_shape(out, t, 0);
    out->ne[1] = rows;
    out->rows = rows * n;
    if (new_pieces(out, p->c, n, p->e))
        return -1;
    for (uint64_t i = 0; i < n; i++)
        out->piece[i] = (struct convert_piece){
            .from = t, .first = i * 2 * rows + first, .rows = rows};
    return 0;
}

static int whole(struct convert_tensor *out, const struct place *p,
                 const struct safetensors_tensor *t)
{
    uint64_t first = 0;
    enum convert_change change = p->row->change;

    set_shape(out, t, 0);
    if (change == CONVERT_PADDED) {
        first = p->c->offset;
        out->ne[1] -= first;
        out->rows = out->ne[1];
    }
    if ((change == CONVERT_PAIRS_Q || change == CONVERT_PAIRS_K) &&
        p->c->m->flags & CONVERT_PAIRS) {
        out->turn = (uint64_t)convert_size(p->c, 'H');
        /* Of a bias each element is a row. */
        if (t->ndim == 1) {
            out->rows = out->cols;
            out->cols = 1;
        }
    }
    out->one = change == CONVERT_ONE;
    if (new_pieces(out, p->c, 1, p->e))
        return -1;
    out->piece[0] =
        (struct convert_piece){.from = t, .first = first, .rows = out->rows};
    return convert_scales(&out->piece[0], p->c, p->e);
}

static int make(const struct place *p, const struct safetensors_tensor *t)
{
    char name[MAX_NAME];
    struct convert_tensor *out;
    int rc;

    fill(name, p->row->gguf, p->layer, 0);
    out = new_tensor(p->c, name, p->e);
    if (!out || check(p, t))
        return -1;
    saw(p->c, t);
    switch (p->row->change) {
    case CONVERT_STACK:
        rc = stack(out, p, t);
        break;
    case CONVERT_FIRST:
    case CONVERT_SECOND:
        rc = halve(out, p, t);
        break;
    default:
        rc = whole(out, p, t);
    }
    if (!rc)
        choose_type(out, p, t);
    return rc;
}

/* ---- all rows ---- */

static bool wanted(const struct place *p)
{
    return !p->row->when || convert_size(p->c, p->row->when);
}

/* Rows from *ROW on with one GGUF name: the first whose tensor is there.  *ROW
 * is then the last of them. */
static int group(struct place *p, const struct convert_name **row)
{
    const struct convert_name *first = *row;
    char name[MAX_NAME];
    int rc = 0;
    bool made = false;

    for (;; ++*row) {
        const struct safetensors_tensor *t;

        p->row = *row;
        t = find(p, 0);
        if (t && !made && wanted(p)) {
            rc = make(p, t);
            made = true;
        } else if (t && !wanted(p) && p->row->flags & CONVERT_DROP) {
            saw(p->c, t);
        }
        if (rc || !(*row)[1].hf || strcmp((*row)[1].gguf, first->gguf))
            break;
    }
    p->row = first;
    if (rc || made || !wanted(p) || first->flags & CONVERT_OPTIONAL ||
        (first->flags & CONVERT_LATER && p->layer == 0))
        return rc;
    fill(name, first->hf, p->layer, 0);
    return err_set(p->e, ERR_FORMAT, "%s: tensor '%.*s%s' is missing",
                   p->c->hf.dir,
                   first->flags & CONVERT_TOP ? 0 : (int)p->c->nprefix,
                   p->c->prefix, name);
}

/* The rows for layer LAYER, or, if that is below 0, those for none. */
static int rows(struct convert *c, int64_t layer, struct err *e)
{
    struct place p = {.c = c, .layer = layer, .e = e};

    for (size_t i = 0; c->m->names[i]; i++)
        for (const struct convert_name *r = c->m->names[i]; r->hf; r++)
            if (!strstr(r->gguf, "%d") == (layer < 0) && group(&p, &r))
                return -1;
    return 0;
}

/* ---- what is left ---- */

/* Does a pattern with a star at one of its ends match? */
static bool like(const char *s, const char *pattern, size_t n)
{
    size_t len = strlen(s);

    if (n && pattern[0] == '*' && pattern[n - 1] == '*' && n > 1) {
        for (; *s; s++)
            if (!strncmp(s, pattern + 1, n - 2))
                return true;
        return false;
    }
    if (n && pattern[0] == '*')
        return len >= n - 1 && !memcmp(s + len - (n - 1), pattern + 1, n - 1);
    if (n && pattern[n - 1] == '*')
        return len >= n - 1 && !memcmp(s, pattern, n - 1);
    return len == n && !memcmp(s, pattern, n);
}

static bool like_any(const char *s, const char *list)
{
    for (const char *p = list; p; p = strchr(p, '|')) {
        p += p != list;
        if (like(s, p, strcspn(p, "|")))
            return true;
    }
    return false;
}

static int check_left(struct convert *c, struct err *e)
{
    size_t aside = 0;

    for (size_t i = 0; i < safetensors_n(c->s); i++) {
        const struct safetensors_tensor *t = safetensors_at(c->s, i);

        if (c->seen[i] || like_any(t->name, c->m->drop))
            continue;
        if (!like_any(t->name, c->m->aside))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: tensor '%.100s' is not known in %s", t->path,
                           t->name, c->m->type);
        aside++;
    }
    if (aside)
        buf_printf(&c->notes,
                   "left out: %zu tensors of parts that are not for texts\n",
                   aside);
    return 0;
}

/* ---- tensors that are not in the folder ---- */

int convert_make(struct convert *c, const char *name, const float *v,
                 uint64_t n, struct err *e)
{
    float *copy = arena_copy(&c->mem, v, n * sizeof *v);

    if (!copy)
        return err_nomem(e);
    c->made[c->nmade].name = name;
    c->made[c->nmade].v = copy;
    c->made[c->nmade++].n = n;
    return 0;
}

static int add_made(struct convert *c, struct err *e)
{
    for (int i = 0; i < c->nmade; i++) {
        struct convert_tensor *t = new_tensor(c, c->made[i].name, e);

        if (!t)
            return -1;
        t->type = GGUF_T_F32;
        t->instead_of = CONVERT_NOT_INSTEAD;
        t->ndim = 1;
        t->ne[0] = t->cols = c->made[i].n;
        t->ne[1] = t->ne[2] = t->ne[3] = t->rows = 1;
        t->made = c->made[i].v;
    }
    return 0;
}

/* Layers of sentence-transformers behind the model: dense_2 and dense_3. */
static int add_dense(struct convert *c, struct err *e)
{
    for (int i = 0; i < CONVERT_MAX_DENSE && c->dense[i]; i++) {
        const struct convert_name row = {"linear.weight", "", "yx", 0, 0, 0};
        struct place p = {.c = c, .row = &row, .e = e};
        const struct safetensors_tensor *w =
            safetensors_find(c->dense[i], row.hf);
        struct convert_tensor *t;
        char name[32];

        if (!w || w->ndim != 2 || safetensors_n(c->dense[i]) != 1 ||
            !known(c, w))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: a dense layer must have 'linear.weight', a "
                           "matrix of floats, and nothing else",
                           safetensors_n(c->dense[i])
                               ? safetensors_at(c->dense[i], 0)->path
                               : c->hf.dir);
        c->size['x'] = c->dense_size[i][0];
        c->size['y'] = c->dense_size[i][1];
        if (check_shape(&p, w))
            return -1;
        snprintf(name, sizeof name, "dense_%d.weight", i + 2);
        t = new_tensor(c, name, e);
        if (!t || whole(t, &p, w))
            return -1;
        choose_type(t, &p, w);
    }
    return 0;
}

/* Their place in the GGUF, when all are known. */
static int place_all(struct convert *c, struct err *e)
{
    struct convert_tensor *t = (struct convert_tensor *)(void *)c->tensors.p;
    bool told = false;

    for (size_t i = 0; i < c->tensors.n / sizeof *t; i++) {
        t[i].at = c->out.data;
        t[i].bytes = gguf_put_tensor(
            &c->out, (struct gguf_str){t[i].name, strlen(t[i].name)}, t[i].type,
            t[i].ndim, t[i].ne);
        if (t[i].instead_of != CONVERT_NOT_INSTEAD && !told) {
            buf_printf(&c->notes,
                       "tensors such as '%s' become %s and not %s, of which "
                       "their rows are no whole blocks\n",
                       t[i].name, gguf_type_info(t[i].type)->name,
                       gguf_type_info(t[i].instead_of)->name);
            told = true;
        }
    }
    return c->out.e.code ? err_set(e, c->out.e.code, "%s", c->out.e.msg) : 0;
}

int convert_plan(struct convert *c, struct err *e)
{
    c->seen = calloc(safetensors_n(c->s) + 1, sizeof *c->seen);
    if (!c->seen)
        return err_nomem(e);
    if (find_prefix(c, e) || add_made(c, e) || rows(c, -1, e))
        return -1;
    for (int64_t l = 0; l < convert_size(c, 'L'); l++)
        if (rows(c, l, e))
            return -1;
    if (check_left(c, e) || add_dense(c, e) || place_all(c, e))
        return -1;
    return buf_ok(&c->tensors, e);
}
