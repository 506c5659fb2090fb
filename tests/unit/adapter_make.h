/* SPDX-License-Identifier: MIT
 * adapter_make.h - for tests: LoRA adapters of the tiny models, with values
 * from a seed, as GGUF in memory; and the models with them merged in. */
#ifndef LLM_TESTS_ADAPTER_MAKE_H
#define LLM_TESTS_ADAPTER_MAKE_H

#include "tests/unit/model_make.h"

/* Of what kinds of tensors, by what their names have in them. */
struct low {
    struct m_tensor t[512]; /* A and B, A and B ... */
    int nt;
    double alpha; /* below 0: the key is not there */
    const char *arch;
    void (*more)(struct gguf_out *o);
    struct buf file;
};

/* Can the tensor T of a model be adapted? */
static inline bool low_can(const struct m_tensor *t)
{
    return t->ne[1] > 1 && t->ne[2] == 1 && !strstr(t->name, "_embd") &&
           !strstr(t->name, "_inp") && !strstr(t->name, "_norm") &&
           !strstr(t->name, "token_types");
}

static inline void low_add(struct low *a, struct tiny *m, const char *base,
                           char part, int n_in, int n_out, double spread)
{
    struct m_tensor *t = &a->t[a->nt++];
    size_t n = (size_t)n_in * (size_t)n_out;

    *t = (struct m_tensor){.ne = {n_in, n_out, 1},
                           .type = GGUF_T_F32,
                           .v = malloc(n * sizeof(float))};
    snprintf(t->name, sizeof t->name, "%.80s.lora_%c", base, part);
    for (size_t i = 0; i < n; i++)
        t->v[i] = (float)(spread * m_random(m));
}

/* An adapter of rank RANK for all tensors of M that can have one and whose name
 * has WORD in it. */
static inline void low_make(struct low *a, const struct tiny *model, int rank,
                            const char *word, uint64_t seed)
{
    static struct tiny dice;

    memset(a, 0, sizeof *a);
    dice.seed = seed * 2 + 1;
    a->alpha = -1;
    a->arch = model->a->name;
    for (int i = 0; i < model->nt; i++) {
        const struct m_tensor *t = &model->t[i];

        if (!low_can(t) || !strstr(t->name, word))
            continue;
        low_add(a, &dice, t->name, 'a', t->ne[0], rank, 1.7 / sqrt(t->ne[0]));
        low_add(a, &dice, t->name, 'b', rank, t->ne[1], 0.8 / sqrt(rank));
    }
}

static inline void low_free(struct low *a)
{
    for (int i = 0; i < a->nt; i++)
        free(a->t[i].v);
    buf_free(&a->file);
}

/* M's weights become W + s * alpha / r * B A. */
static inline void low_merge(struct tiny *m, const struct low *a, double scale)
{
    for (int k = 0; k < a->nt; k += 2) {
        const struct m_tensor *low = &a->t[k], *up = &a->t[k + 1];
        int rank = low->ne[1], n = low->ne[0];
        double s = scale * (a->alpha > 0 ? a->alpha / rank : 1);

        for (int i = 0; i < m->nt; i++) {
            struct m_tensor *t = &m->t[i];
            size_t len = strlen(t->name);

            if (strncmp(low->name, t->name, len) ||
                strcmp(low->name + len, ".lora_a"))
                continue;
            for (int r = 0; r < up->ne[1]; r++)
                for (int c = 0; c < n; c++) {
                    double sum = 0;

                    for (int j = 0; j < rank; j++)
                        sum += (double)up->v[r * rank + j] *
                               (double)low->v[j * n + c];
                    t->v[r * n + c] =
                        (float)((double)t->v[r * n + c] + s * sum);
                }
        }
    }
}

/* The file's bytes, in A->file.  Data of a type other than F32 are zeros. */
static inline struct gguf_str low_pack(struct low *a)
{
    static const char zeros[64];
    struct gguf_out o;
    struct err e = {0};

    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.type", (struct gguf_str){"adapter", 7});
    gguf_put_str(&o, "adapter.type", (struct gguf_str){"lora", 4});
    if (a->arch)
        gguf_put_str(&o, "general.architecture",
                     (struct gguf_str){a->arch, strlen(a->arch)});
    if (a->alpha >= 0 || a->alpha != a->alpha)
        gguf_put_float(&o, "adapter.lora.alpha", GGUF_F32, a->alpha);
    if (a->more)
        a->more(&o);
    for (int i = 0; i < a->nt; i++) {
        const struct m_tensor *t = &a->t[i];
        uint64_t ne[3] = {(uint64_t)t->ne[0], (uint64_t)t->ne[1],
                          (uint64_t)t->ne[2]};

        gguf_put_tensor(&o, (struct gguf_str){t->name, strlen(t->name)},
                        t->type, t->ne[2] > 1 ? 3 : 2, ne);
    }
    a->file.n = 0;
    if (gguf_out_head(&a->file, &o, &e))
        printf("# %s\n", e.msg);
    for (int i = 0; i < a->nt; i++) {
        const struct m_tensor *t = &a->t[i];
        const struct gguf_type_info *ti = gguf_type_info(t->type);
        size_t n = (size_t)t->ne[0] * (size_t)t->ne[1] * (size_t)t->ne[2],
               bytes = n / ti->elems * ti->bytes;

        if (t->type == GGUF_T_F32) {
            buf_put(&a->file, t->v, bytes);
        } else {
            void *p = buf_add(&a->file, bytes);

            if (p)
                memset(p, 0, bytes);
        }
        buf_put(&a->file, zeros, gguf_out_pad(&o, bytes));
    }
    gguf_out_fini(&o);
    return (struct gguf_str){(const char *)a->file.p, a->file.n};
}

#endif
