/* SPDX-License-Identifier: MIT */
#include "model/bind.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/adapt.h"
#include "model/arch.h"

/* The tensor, marked as bound; its whole name. */
static const struct gguf_tensor *find(struct build *b, char full[96], int layer,
                                      const char *name)
{
    const struct gguf_tensor *t;

    if (layer < 0)
        snprintf(full, 96, "%s", name);
    else
        snprintf(full, 96, "blk.%d.%s", layer, name);
    t = b->bad ? NULL : gguf_tensor(b->g, full);
    if (t)
        b->tensor_seen[t - gguf_tensor_at(b->g, 0)] = true;
    return t;
}

bool bind_has_layer(struct build *b, int layer, const char *name)
{
    char full[96];

    return find(b, full, layer, name);
}

bool bind_has(struct build *b, const char *name)
{
    return bind_has_layer(b, -1, name);
}

/* The same, if its shape is right.  NULL: failed, or absent and optional. */
static const struct gguf_tensor *get(struct build *b, char full[96], int layer,
                                     const char *name, int n_in, int n_out,
                                     int n_mat, unsigned flags)
{
    const struct gguf_tensor *t = find(b, full, layer, name);
    uint64_t want[3] = {(uint64_t)n_in, (uint64_t)n_out, (uint64_t)n_mat};
    char mats[16] = "", s[96];
    bool first = layer > 0 && bind_has_layer(b, 0, name);

    if (b->bad)
        return NULL;
    if (!t && (!(flags & BIND_OPTIONAL) || first))
        arch_fail(b, ERR_FORMAT, "tensor '%s' is missing", full);
    if (t && (flags & BIND_OPTIONAL) && layer > 0 && !first) {
        find(b, s, 0, name);
        arch_fail(b, ERR_FORMAT, "tensor '%s' is missing, '%s' is there", s,
                  full);
    }
    if (!t || b->bad)
        return NULL;
    if (t->ne[0] == want[0] && t->ne[1] == want[1] && t->ne[2] == want[2] &&
        t->ne[3] == 1)
        return t;
    if (n_mat > 1)
        snprintf(mats, sizeof mats, "x%d", n_mat);
    snprintf(s, sizeof s, t->ne[2] == 1 ? "%llux%llu" : "%llux%llux%llu",
             (unsigned long long)t->ne[0], (unsigned long long)t->ne[1],
             (unsigned long long)t->ne[2]);
    arch_fail(b, ERR_FORMAT, "tensor '%s': is %s%s, must be %dx%d%s", full, s,
              t->ne[3] == 1 ? "" : " and more", n_in, n_out, mats);
    return NULL;
}

static be_w take(struct build *b, struct be_tensor t, enum be_use use)
{
    be_w w;

    t.nocache = !gguf_mapped(b->g);
    w = be_weight(b->be, &t, use, b->e);
    if (!w) {
        err_prefix(b->e, "%s", gguf_path(b->g));
        b->bad = true;
    }
    return w;
}

be_w bind_matrix(struct build *b, int layer, const char *name, int n_in,
                 int n_out, int n_mat, unsigned flags)
{
    char full[96];
    int n = n_mat > 0 ? n_mat : 1;
    const struct gguf_tensor *t =
        get(b, full, layer, name, n_in, n_out, n, flags);
    be_w w;

    if (!t)
        return 0;
    w = take(b,
             (struct be_tensor){.name = full,
                                .type = t->type,
                                .n_in = n_in,
                                .n_out = n_out,
                                .n_mat = n,
                                .data = t->p,
                                .bytes = t->bytes},
             flags & BIND_LOOKUP ? BE_ROWS : BE_MATRIX);
    adapt_bound(b, w, t, 0, n_out);
    return w;
}

be_w bind_rows(struct build *b, int layer, const char *name, int n_in,
               int n_all, int first, int n_out)
{
    char full[96];
    const struct gguf_tensor *t = get(b, full, layer, name, n_in, n_all, 1, 0);
    uint64_t row = t ? t->bytes / (uint64_t)n_all : 0;
    be_w w;

    if (!t)
        return 0;
    w = take(b,
             (struct be_tensor){.name = full,
                                .type = t->type,
                                .n_in = n_in,
                                .n_out = n_out,
                                .n_mat = 1,
                                .data = t->p + row * (uint64_t)first,
                                .bytes = row * (uint64_t)n_out},
             BE_MATRIX);
    adapt_bound(b, w, t, first, n_out);
    return w;
}

be_w bind_part(struct build *b, int layer, const char *name, int n_all,
               int first, int n, unsigned flags)
{
    char full[96];
    const struct gguf_tensor *t = get(b, full, layer, name, n_all, 1, 1, flags);
    uint64_t each = t ? t->bytes / (uint64_t)n_all : 0;

    if (!t)
        return 0;
    if (n != n_all && each * (uint64_t)n_all != t->bytes) {
        arch_fail(b, ERR_UNSUPPORTED, "tensor '%s': type %s is not supported",
                  full, gguf_type_info(t->type)->name);
        return 0;
    }
    return take(
        b,
        (struct be_tensor){.name = full,
                           .type = t->type,
                           .n_in = n,
                           .n_out = 1,
                           .n_mat = 1,
                           .data = t->p + each * (uint64_t)first,
                           .bytes = n == n_all ? t->bytes : each * (uint64_t)n},
        BE_VECTOR);
}

be_w bind_vector(struct build *b, int layer, const char *name, int n,
                 unsigned flags)
{
    return bind_part(b, layer, name, n, 0, n, flags);
}

const float *bind_floats(struct build *b, const char *name, int n)
{
    char full[96];
    const struct gguf_tensor *t = get(b, full, -1, name, n, 1, 1, 0);
    float *f;

    if (!t)
        return NULL;
    if (t->type != GGUF_T_F32) {
        arch_fail(b, ERR_UNSUPPORTED, "tensor '%s': type %s is not supported",
                  full, gguf_type_info(t->type)->name);
        return NULL;
    }
    f = arena_array(b->mem, (size_t)n, sizeof *f);
    if (!f) {
        err_nomem(b->e);
        b->bad = true;
        return NULL;
    }
    for (int i = 0; i < n; i++)
        f[i] = rd_f32(t->p + 4 * (size_t)i);
    return f;
}

/* Those behind the last norm: whoever makes embeddings of its output reads
 * what he needs of them, and the head for logits has nothing to do there. */
static bool behind(struct gguf_str name)
{
    static const char *const begin[] = {"cls.", "dense_2.", "dense_3.",
                                        "output."};

    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (name.n > strlen(begin[i]) &&
            !memcmp(name.p, begin[i], strlen(begin[i])))
            return true;
    return false;
}

void bind_unknown(struct build *b)
{
    for (size_t i = 0; i < gguf_ntensor(b->g) && !b->bad; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(b->g, i);

        if (!b->tensor_seen[i] && !(b->embed && behind(t->name)))
            arch_fail(
                b, ERR_UNSUPPORTED, "tensor '%.*s' is not supported in '%s'",
                t->name.n > 80 ? 80 : (int)t->name.n, t->name.p, b->arch->name);
    }
}
