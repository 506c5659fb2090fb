/* SPDX-License-Identifier: MIT
 *
 * Which model a GGUF is, and what each tensor of the folder is made of. */
#include "convert/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/folder_impl.h"
#include "quantize/source.h"

enum { MAX_NAME = 160, MAX_LAYERS = 4096, MAX_SIZE = 1 << 28 };

/* ---- keys and tensors, by name ---- */

const struct gguf_val *folder_key(struct folder *f, const char *name)
{
    char full[160];
    const struct gguf_val *v;

    snprintf(full, sizeof full, "%s.%s", f->m->arch, name);
    v = gguf_key(f->g, full);
    if (v)
        f->key[v - gguf_key_at(f->g, 0)] = true;
    return v;
}

static int wrong_key(const struct folder *f, const char *name, const char *what,
                     struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "%s: key '%s.%s': is %s",
                   gguf_path(f->g), f->m->arch, name, what);
}

int folder_int(int64_t *v, struct folder *f, const char *name, struct err *e)
{
    const struct gguf_val *k = folder_key(f, name);

    if (!k)
        return 0;
    if (k->type == GGUF_ARR || !gguf_val_int(v, k) || *v < 0 || *v > MAX_SIZE)
        return wrong_key(f, name, "no size, or not one for all layers", e);
    return 1;
}

int folder_num(double *v, struct folder *f, const char *name, struct err *e)
{
    const struct gguf_val *k = folder_key(f, name);

    if (!k)
        return 0;
    if (k->type == GGUF_ARR || !gguf_val_float(v, k) || !isfinite(*v))
        return wrong_key(f, name, "no number", e);
    return 1;
}

const struct gguf_tensor *folder_find(struct folder *f, const char *name)
{
    const struct gguf_tensor *t = gguf_tensor(f->g, name);

    if (t)
        f->tensor[t - gguf_tensor_at(f->g, 0)] = true;
    return t;
}

/* FORMAT with the layer and the expert filled in. */
static void fill(char out[MAX_NAME], const char *format, int64_t layer,
                 int64_t expert)
{
    const char *a = strstr(format, "%d"), *b = a ? strstr(a + 2, "%d") : NULL;

    if (b)
        snprintf(out, MAX_NAME, "%.*s%lld%.*s%lld%s", (int)(a - format), format,
                 (long long)layer, (int)(b - a - 2), a + 2, (long long)expert,
                 b + 2);
    else if (a)
        snprintf(out, MAX_NAME, "%.*s%lld%s", (int)(a - format), format,
                 (long long)layer, a + 2);
    else
        snprintf(out, MAX_NAME, "%s", format);
}

static bool there(const struct folder *f, const struct convert_name *r)
{
    char name[MAX_NAME];

    fill(name, r->gguf, 0, 0);
    return gguf_tensor(f->g, name) != NULL;
}

/* ---- sizes ---- */

static int one_size(struct folder *f, const struct convert_key *k,
                    struct err *e)
{
    int64_t v = 0, *to = &f->size[(unsigned char)k->letter & 127];
    int rc = k->key ? folder_int(&v, f, k->key, e) : 0;

    if (rc < 0)
        return -1;
    if (rc && *to && k->letter == 'H' && *to != v)
        return wrong_key(f, k->key, "another than that of keys", e);
    if (rc)
        *to = v;
    else if (!*to && isfinite(k->def))
        *to = (int64_t)k->def;
    return 0;
}

/* Sizes that a GGUF need not say, and those that are made of others. */
static int more_sizes(struct folder *f, struct err *e)
{
    const struct gguf_tensor *embd = gguf_tensor(f->g, "token_embd.weight"),
                             *types = gguf_tensor(f->g, "token_types.weight"),
                             *rank = gguf_tensor(f->g, "cls.output.weight");
    int64_t *s = f->size;

    if (embd)
        s['V'] = (int64_t)embd->ne[1];
    if (types)
        s['T'] = (int64_t)types->ne[1];
    if (rank)
        s['C'] = (int64_t)rank->ne[1];
    if (!s['B'])
        s['B'] = s['A'];
    if (!s['H'] && s['A'] && s['D'] % s['A'] == 0)
        s['H'] = s['D'] / s['A'];
    for (const char *p = "DLABHFV"; *p; p++)
        if (!folder_size(f, *p))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: its keys do not say a size that it must have: "
                           "%c",
                           gguf_path(f->g), *p);
    if (s['L'] > MAX_LAYERS)
        return err_set(e, ERR_UNSUPPORTED, "%s: %lld layers are too many",
                       gguf_path(f->g), (long long)s['L']);
    s['Q'] = s['A'] * s['H'];
    s['K'] = s['B'] * s['H'];
    s['W'] = s['Q'] + 2 * s['K'];
    s['U'] = 2 * s['F'];
    s['N'] = 2 * s['M'];
    s['1'] = 1;
    return 0;
}

static bool is_size(const struct convert_key *k)
{
    return k->letter && k->kind == CONVERT_U32;
}

static int sizes(struct folder *f, struct err *e)
{
    for (size_t i = 0; f->m->keys[i]; i++)
        for (const struct convert_key *k = f->m->keys[i];
             k->config || k->key || k->letter; k++) {
            if (is_size(k) && one_size(f, k, e))
                return -1;
            /* What every such model has. */
            if (!k->config && k->kind == CONVERT_FLAG && k->def > 0)
                f->size[(unsigned char)k->letter & 127] = 1;
        }
    /* Switches are on when there is what they are for. */
    for (size_t i = 0; f->m->names[i]; i++)
        for (const struct convert_name *r = f->m->names[i]; r->hf; r++)
            if (r->when && there(f, r))
                f->size[(unsigned char)r->when & 127] = 1;
    return more_sizes(f, e);
}

/* ---- types ---- */

static enum safetensors_dtype dtype_of(uint32_t type)
{
    return type == GGUF_T_F32   ? SAFETENSORS_F32
           : type == GGUF_T_F16 ? SAFETENSORS_F16
                                : SAFETENSORS_BF16;
}

/* The type of most matrices, when they come back. */
static void find_main(struct folder *f)
{
    uint64_t bytes[3] = {0}, most = 0;
    static const uint32_t type[3] = {GGUF_T_BF16, GGUF_T_F16, GGUF_T_F32};

    f->main = GGUF_T_F32;
    for (size_t i = 0; i < gguf_ntensor(f->g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(f->g, i);
        int k = t->type == GGUF_T_F16 ? 1 : t->type == GGUF_T_F32 ? 2 : 0;

        if (t->ndim > 1)
            bytes[k] += t->bytes;
    }
    for (int k = 0; k < 3; k++)
        if (bytes[k] > most) {
            most = bytes[k];
            f->main = type[k];
        }
}

/* Are the N floats of T, without 1 if it is so, of TYPE? */
static bool keeps(const struct folder *f, const struct folder_tensor *t,
                  uint32_t type)
{
    const struct quantize_type *q = quantize_type(&f->q, type);
    uint64_t n = t->cols * t->rows;

    for (uint64_t i = 0; i < n; i++) {
        float x = rd_f32(t->from->p + 4 * i) - (t->one ? 1.0f : 0.0f), y;
        uint16_t h;

        if (!isfinite(x) || q->row(&h, &x, NULL, 1) >= 0)
            return false;
        y = type == GGUF_T_F16 ? f16_f32(h) : bf16_f32(h);
        if (memcmp(&x, &y, sizeof x))
            return false;
    }
    return true;
}

static void choose_type(struct folder_tensor *t, const struct folder *f,
                        const struct convert_name *r)
{
    static const uint32_t asked[] = {[CONVERT_TO_F32] = GGUF_T_F32,
                                     [CONVERT_TO_F16] = GGUF_T_F16,
                                     [CONVERT_TO_BF16] = GGUF_T_BF16};

    t->dtype = dtype_of(t->from->type);
    if (f->want.type != CONVERT_AUTO)
        t->dtype = dtype_of(asked[f->want.type]);
    else if (t->from->type == GGUF_T_F32 && f->main != GGUF_T_F32 &&
             (t->ndim == 1 || r->flags & CONVERT_KEEP) && keeps(f, t, f->main))
        t->dtype = dtype_of(f->main);
}

/* ---- tensors ---- */

/* A row of the table, for one layer. */
struct place {
    struct folder *f;
    const struct convert_name *row;
    int64_t layer;
    const struct gguf_tensor *from;
    struct err *e;
};

static struct folder_tensor *add(const struct place *p, int64_t expert)
{
    struct folder_tensor *t = buf_add(&p->f->tensors, sizeof *t);
    char name[MAX_NAME], full[MAX_NAME + 64];

    if (!t) {
        err_nomem(p->e);
        return NULL;
    }
    fill(name, p->row->hf, p->layer, expert);
    if (p->row->flags & CONVERT_TOP)
        snprintf(full, sizeof full, "%s", name);
    else
        snprintf(full, sizeof full, "%.*s%s", (int)p->f->nprefix, p->f->prefix,
                 name);
    *t = (struct folder_tensor){.from = p->from};
    t->name = arena_copy(&p->f->mem, full, strlen(full) + 1);
    if (!t->name) {
        err_nomem(p->e);
        return NULL;
    }
    return t;
}

/* The shape that the letters spell, and that it is the GGUF's: N of these
 * tensors are one of it. */
static int set_shape(struct folder_tensor *t, const struct place *p, uint64_t n)
{
    const char *letters = p->row->shape;
    uint64_t rows = n, have = p->from->ne[1] * p->from->ne[2] * p->from->ne[3];

    t->ndim = (int)strlen(letters);
    for (int i = 0; i < t->ndim; i++)
        t->shape[i] = (uint64_t)folder_size(p->f, letters[i]);
    t->cols = t->shape[t->ndim - 1];
    t->rows = 1;
    for (int i = 0; i + 1 < t->ndim; i++)
        t->rows *= t->shape[i];
    rows *= t->rows;
    if (t->cols != p->from->ne[0] || rows != have)
        return err_set(p->e, ERR_UNSUPPORTED,
                       "%s: tensor '%.*s': has %llu rows of %llu, and %llu of "
                       "%llu by the keys",
                       gguf_path(p->f->g), (int)p->from->name.n,
                       p->from->name.p, (unsigned long long)have,
                       (unsigned long long)p->from->ne[0],
                       (unsigned long long)rows, (unsigned long long)t->cols);
    return 0;
}

static int stack(const struct place *p)
{
    uint64_t n = (uint64_t)folder_size(p->f, 'E');

    for (uint64_t x = 0; x < n; x++) {
        struct folder_tensor *t = add(p, (int64_t)x);

        if (!t || set_shape(t, p, n))
            return -1;
        t->first = x * t->rows;
        choose_type(t, p->f, p->row);
    }
    return 0;
}

static int whole(const struct place *p)
{
    enum convert_change change = p->row->change;
    struct folder_tensor *t = add(p, 0);

    if (!t || set_shape(t, p, 1))
        return -1;
    t->one = change == CONVERT_ONE;
    if ((change == CONVERT_PAIRS_Q || change == CONVERT_PAIRS_K) &&
        p->f->m->flags & CONVERT_PAIRS) {
        t->turn = (uint64_t)folder_size(p->f, 'H');
        /* Of a bias each element is a row. */
        if (t->ndim == 1) {
            t->rows = t->cols;
            t->cols = 1;
        }
    }
    choose_type(t, p->f, p->row);
    return 0;
}

static int make(struct place *p)
{
    char name[MAX_NAME];

    fill(name, p->row->gguf, p->layer, 0);
    p->from = folder_find(p->f, name);
    if (!p->from)
        return p->row->flags & CONVERT_OPTIONAL ||
                       (p->row->flags & CONVERT_LATER && !p->layer)
                   ? 0
                   : err_set(p->e, ERR_UNSUPPORTED,
                             "%s: tensor '%s' is missing", gguf_path(p->f->g),
                             name);
    if (p->from->type != GGUF_T_F32 && p->from->type != GGUF_T_F16 &&
        p->from->type != GGUF_T_BF16 && !source_known(p->from->type))
        return err_set(
            p->e, ERR_UNSUPPORTED, "%s: tensor '%s': %s is not supported",
            gguf_path(p->f->g), name, gguf_type_info(p->from->type)->name);
    switch (p->row->change) {
    case CONVERT_STACK:
        return stack(p);
    case CONVERT_FIRST:
    case CONVERT_SECOND:
        return err_set(p->e, ERR_UNSUPPORTED, "%s: tensor '%s': has no place",
                       gguf_path(p->f->g), name);
    default:
        return whole(p);
    }
}

/* The rows for layer LAYER, or, below 0, those for none.  Of rows with one
 * GGUF name the first is how it comes back. */
static int rows(struct folder *f, int64_t layer, struct err *e)
{
    struct place p = {.f = f, .layer = layer, .e = e};

    for (size_t i = 0; f->m->names[i]; i++) {
        const char *before = "";

        for (const struct convert_name *r = f->m->names[i]; r->hf; r++) {
            bool again = !strcmp(before, r->gguf);

            before = r->gguf;
            p.row = r;
            if (again || !strstr(r->gguf, "%d") != (layer < 0) ||
                (r->when && !folder_size(f, r->when)))
                continue;
            if (make(&p))
                return -1;
        }
    }
    return 0;
}

/* The body's names have the prefix that goes with the class. */
static void choose_prefix(struct folder *f)
{
    size_t n = strcspn(f->m->classes, "|");
    const char *p = f->m->prefix;

    f->prefix = p;
    f->nprefix = strcspn(p, "|");
    /* A class of its own, and no part of another. */
    if (n > 5 && !memcmp(f->m->classes + n - 5, "Model", 5) &&
        p[strlen(p) - 1] == '|')
        f->nprefix = 0;
}

static int plan(struct folder *f, struct err *e)
{
    choose_prefix(f);
    if (sizes(f, e) || rows(f, -1, e))
        return -1;
    for (int64_t l = 0; l < folder_size(f, 'L'); l++)
        if (rows(f, l, e))
            return -1;
    return buf_ok(&f->tensors, e);
}

/* ---- files ---- */

static size_t elem_bytes(const struct folder_tensor *t)
{
    return safetensors_dtype_size(t->dtype);
}

static int cut(struct folder *f, struct err *e)
{
    struct folder_tensor *t = (struct folder_tensor *)(void *)f->tensors.p;
    struct folder_file *file = NULL;
    size_t n = folder_n(f);

    for (size_t i = 0; i < n; i++) {
        t[i].bytes = t[i].cols * t[i].rows * elem_bytes(&t[i]);
        if (!file ||
            (file->n && file->bytes + t[i].bytes > f->want.max_bytes)) {
            file = buf_add(&f->files, sizeof *file);
            if (!file)
                return err_nomem(e);
            *file = (struct folder_file){.first = i};
        }
        t[i].at = file->bytes;
        file->bytes += t[i].bytes;
        file->n++;
        f->bytes += t[i].bytes;
    }
    n = folder_nfile(f);
    file = (struct folder_file *)(void *)f->files.p;
    for (size_t i = 0; i < n; i++)
        if (n == 1)
            snprintf(file->name, sizeof file->name, "model.safetensors");
        else
            snprintf(file[i].name, sizeof file[i].name,
                     "model-%05zu-of-%05zu.safetensors", i + 1, n);
    return 0;
}

/* ---- the whole ---- */

static bool is_arch_key(const struct folder *f, struct gguf_str key)
{
    size_t n = strlen(f->m->arch);

    return key.n > n && !memcmp(key.p, f->m->arch, n) && key.p[n] == '.';
}

static int check_left(const struct folder *f, struct err *e)
{
    for (size_t i = 0; i < gguf_nkey(f->g); i++) {
        struct gguf_str s = gguf_key_at(f->g, i)->key;

        if (!f->key[i] && is_arch_key(f, s))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: key '%.*s': has no place in config.json",
                           gguf_path(f->g), (int)(s.n < 80 ? s.n : 80), s.p);
    }
    for (size_t i = 0; i < gguf_ntensor(f->g); i++) {
        struct gguf_str s = gguf_tensor_at(f->g, i)->name;

        if (!f->tensor[i])
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: tensor '%.*s': has no place in a %s",
                           gguf_path(f->g), (int)s.n, s.p, f->m->type);
    }
    return 0;
}

static void reset(struct folder *f)
{
    memset(f->size, 0, sizeof f->size);
    memset(f->key, 0, gguf_nkey(f->g));
    memset(f->tensor, 0, gguf_ntensor(f->g));
    json_decref(f->config);
    f->config = json_object();
    f->tensors.n = 0;
}

static int as_model(struct folder *f, const struct convert_model *m,
                    struct err *e)
{
    f->m = m;
    reset(f);
    if (!f->config)
        return err_nomem(e);
    if (plan(f, e) || folder_rope(f, e) || folder_windows(f, e) ||
        folder_values(f, e) || check_left(f, e))
        return -1;
    return f->nomem ? err_nomem(e) : 0;
}

/* The first that everything has a place in; why not is what the first said. */
static int find_model(struct folder *f, struct err *e)
{
    struct gguf_str s = {0};
    struct err first = {0};
    char arch[64];
    const struct convert_model *m;

    if (gguf_get_str(&s, f->g, "general.architecture", e) < 0)
        return -1;
    snprintf(arch, sizeof arch, "%.*s", (int)(s.n < 63 ? s.n : 63), s.p);
    for (int i = 0; (m = convert_model_of(arch, i)); i++) {
        struct err why = {0};

        if (!as_model(f, m, &why))
            return 0;
        err_set(&first, why.code, "%s", why.msg);
    }
    if (first.code)
        return err_set(e, first.code, "%s", first.msg);
    return err_set(e, ERR_UNSUPPORTED,
                   "%s: no model of Hugging Face is known for architecture "
                   "'%s'",
                   gguf_path(f->g), arch);
}

int folder_open(struct folder **out, const struct gguf *g,
                const struct folder_want *want, struct err *e)
{
    struct folder *f = calloc(1, sizeof *f);
    int rc;

    *out = NULL;
    if (!f)
        return err_nomem(e);
    f->g = g;
    f->want = *want;
    f->key = calloc(gguf_nkey(g) + 1, 1);
    f->tensor = calloc(gguf_ntensor(g) + 1, 1);
    quantize_init(&f->q, 0);
    find_main(f);
    rc = f->key && f->tensor ? find_model(f, e) : err_nomem(e);
    if (!rc)
        rc = cut(f, e);
    if (rc) {
        folder_close(f);
        return -1;
    }
    *out = f;
    return 0;
}

void folder_close(struct folder *f)
{
    if (!f)
        return;
    json_decref(f->config);
    free(f->key);
    free(f->tensor);
    buf_free(&f->tensors);
    buf_free(&f->files);
    arena_free(&f->mem);
    free(f);
}

const struct convert_model *folder_model(const struct folder *f)
{
    return f->m;
}

size_t folder_n(const struct folder *f)
{
    return f->tensors.n / sizeof(struct folder_tensor);
}

const struct folder_tensor *folder_at(const struct folder *f, size_t i)
{
    return (const struct folder_tensor *)(const void *)f->tensors.p + i;
}

size_t folder_nfile(const struct folder *f)
{
    return f->files.n / sizeof(struct folder_file);
}

const struct folder_file *folder_file(const struct folder *f, size_t i)
{
    return (const struct folder_file *)(const void *)f->files.p + i;
}
