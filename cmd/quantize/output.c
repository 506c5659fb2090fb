/* SPDX-License-Identifier: MIT
 *
 * The new file: its keys and its tensors. */
#include <stdlib.h>
#include <string.h>

#include "cmd/common/cleanup.h"
#include "cmd/quantize/quantize.h"

/* ---- keys ---- */

static bool named(struct gguf_str s, const char *name)
{
    return s.n == strlen(name) && !memcmp(s.p, name, s.n);
}

/* Is the key about how this file was written, and not about the model? */
static bool replaced(struct gguf_str key, bool keep)
{
    return gguf_layout_key(key) ||
           (!keep && (named(key, "general.file_type") ||
                      named(key, "general.quantization_version")));
}

/* The file type of the recipe, or that of the type that has most bytes. */
static uint32_t file_type(const struct plan *p, const struct job *j)
{
    const struct recipe *r, *best = NULL;
    uint64_t most = 0;

    if (j->want.recipe->type != RECIPE_KEEP)
        return j->want.recipe->file_type;
    for (size_t i = 0; (r = recipe_at(i)); i++) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < p->n; k++)
            bytes += p->tensor[k].type == r->type ? p->tensor[k].bytes : 0;
        /* Of several the last is the plainest: Q4_K_S. */
        if (bytes && bytes >= most) {
            most = bytes;
            best = r;
        }
    }
    return best ? best->file_type : 0;
}

int keys_make(struct gguf_out *o, const struct gguf *g, const struct plan *p,
              const struct job *j, struct err *e)
{
    uint32_t alignment = gguf_shard_at(g, 0)->alignment;
    bool keep = true;

    for (size_t i = 0; i < p->n; i++)
        keep &= p->tensor[i].type == p->tensor[i].t->type;
    gguf_out_init(o, alignment >= 8 ? alignment : 32);
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        const struct gguf_val *v = gguf_key_at(g, i);

        if (!replaced(v->key, keep))
            gguf_put_val(o, v);
    }
    if (!keep) {
        gguf_put_int(o, "general.file_type", GGUF_U32, file_type(p, j));
        gguf_put_int(o, "general.quantization_version", GGUF_U32, 2);
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_tensor *k = &p->tensor[i];

        gguf_put_tensor(o, k->t->name, k->type, k->t->ndim, k->t->ne);
    }
    if (o->e.code)
        return err_set(e, o->e.code, "%s", o->e.msg);
    return 0;
}

/* ---- a size ---- */

/* Bytes of the front of the file, and the most that padding may take. */
static int overhead(uint64_t *bytes, const struct gguf *g, const struct plan *p,
                    const struct job *j, struct err *e)
{
    struct gguf_out o;
    struct buf head = {0};
    int rc = keys_make(&o, g, p, j, e);

    if (!rc)
        rc = gguf_out_head(&head, &o, e);
    /* Keys that a changed file has, and this plan may not. */
    *bytes = head.n + 128 + p->n * (o.alignment - 1);
    buf_free(&head);
    gguf_out_fini(&o);
    return rc;
}

int fit_bytes(uint64_t *bytes, const struct plan *p, const struct gguf *g,
              const struct target *t, const struct job *j, struct err *e)
{
    uint64_t front = 0;

    *bytes = (uint64_t)(t->bits / 8 * (double)p->elements);
    if (t->bits > 0)
        return 0;
    if (overhead(&front, g, p, j, e))
        return -1;
    *bytes = t->bytes > front ? t->bytes - front : 0;
    return 0;
}

int fit_types(struct plan *p, const struct gguf *g, const struct target *t,
              const struct job *j, const struct quantize_run *r, struct err *e)
{
    uint64_t bytes;
    struct mix m = {0};
    int rc = fit_bytes(&bytes, p, g, t, j, e);

    if (!rc)
        rc = mix_measure(&m, p, &j->want, r, e);
    clear_progress();
    if (!rc)
        rc = mix_choose(&m, bytes, e);
    if (!rc)
        rc = mix_apply(&m, p, r->q, &j->want, e);
    for (size_t i = 0; !rc && i < m.n; i++)
        p->tensor[m.row[i].tensor].error = m.row[i].loss[m.row[i].taken];
    mix_fini(&m);
    return rc ? err_prefix(e, "%s", gguf_path(g)) : 0;
}

/* ---- tensors ---- */

int write_model(const struct plan *p, const struct gguf_out *o,
                const struct job *j, const struct quantize_run *r,
                struct err *e)
{
    struct gguf_file *f;

    if (cleanup_open(&f, j->output, e))
        return -1;
    if (gguf_file_head(f, o, e) || quantize_write(p, f, o->alignment, r, e) ||
        cleanup_close(f, e)) {
        clear_progress();
        cleanup_abandon(f);
        return -1;
    }
    clear_progress();
    return 0;
}
