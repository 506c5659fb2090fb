/* SPDX-License-Identifier: MIT */
#include "embed/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kern.h"

enum { MAX_OUT = 1 << 20 };

/* out = norm(act(w in + b)) */
struct layer {
    float *w, *b, *norm; /* [n_out][n_in], [n_out], [n_out]; or NULL */
    int n_in, n_out;
    int act; /* enum kern_unary; -1: none */
};

struct embed_head {
    struct layer layer[2];
    int nlayer, width;
    float eps;
    float *tmp; /* [n_out of the first] */
    struct kern k;
    const struct gguf *g;
    const struct gguf_val *labels; /* strings, as many as outputs; or NULL */
};

/* Tensor NAME as floats, N_OUT rows of N_IN; NULL with *E clear when there is
 * none. */
static float *load(const struct embed_head *h, const char *name, int n_in,
                   int n_out, struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(h->g, name);
    const struct kern_quant *q;
    uint64_t row, n;
    float *to;

    if (!t)
        return NULL;
    q = kern_quant_find(&h->k, t->type);
    if (!q || !q->dequant || n_in % q->elems) {
        err_set(e, ERR_UNSUPPORTED, "%s: tensor '%s': %s", gguf_path(h->g),
                name, "its type is not supported");
        return NULL;
    }
    row = (uint64_t)(n_in / q->elems) * (uint64_t)q->bytes;
    if (t->ne[0] != (uint64_t)n_in || t->ne[1] != (uint64_t)n_out ||
        t->ne[2] != 1 || t->ne[3] != 1 || t->bytes != row * (uint64_t)n_out ||
        !mul_ok((uint64_t)n_in * sizeof *to, (uint64_t)n_out, &n)) {
        err_set(e, ERR_FORMAT, "%s: tensor '%s': its shape is not %d x %d",
                gguf_path(h->g), name, n_in, n_out);
        return NULL;
    }
    to = malloc(n);
    if (!to) {
        err_nomem(e);
        return NULL;
    }
    for (int r = 0; r < n_out; r++)
        q->dequant(to + (size_t)r * (size_t)n_in, t->p + row * (uint64_t)r,
                   n_in);
    return to;
}

/* The layer NAME behind those that are there; nothing when there is none. */
static int add(struct embed_head *h, const char *name, int act, struct err *e)
{
    struct layer *l = &h->layer[h->nlayer];
    const struct gguf_tensor *t;
    struct err mine = {0};
    char full[64];

    snprintf(full, sizeof full, "%s.weight", name);
    t = gguf_tensor(h->g, full);
    if (!t)
        return 0;
    if (t->ne[1] > MAX_OUT)
        return err_set(e, ERR_UNSUPPORTED, "%s: tensor '%s' is too large",
                       gguf_path(h->g), full);
    h->nlayer++;
    *l = (struct layer){.n_in = h->width, .n_out = (int)t->ne[1], .act = act};
    l->w = load(h, full, l->n_in, l->n_out, &mine);
    snprintf(full, sizeof full, "%s.bias", name);
    l->b = mine.code ? NULL : load(h, full, l->n_out, 1, &mine);
    if (!mine.code && !strcmp(name, "cls"))
        l->norm = load(h, "cls.norm.weight", l->n_out, 1, &mine);
    h->width = l->n_out;
    return mine.code ? err_set(e, mine.code, "%s", mine.msg) : 0;
}

static int add_classifier(struct embed_head *h, const struct model *m,
                          struct err *e)
{
    char key[128];
    double eps = 1e-5;
    bool modern = !strcmp(model_arch(m), "modern-bert");

    if (add(h, "cls", modern ? KERN_GELU_ERF : KERN_TANH, e) ||
        add(h, "cls.output", -1, e))
        return -1;
    if (!h->nlayer)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: it has no classifier, by which to rank",
                       gguf_path(h->g));
    snprintf(key, sizeof key, "%s.attention.layer_norm_epsilon", model_arch(m));
    if (gguf_get_float(&eps, h->g, key, e) < 0)
        return -1;
    h->eps = (float)eps;
    snprintf(key, sizeof key, "%s.classifier.output_labels", model_arch(m));
    return gguf_get_arr(&h->labels, h->g, key, GGUF_STR, (uint64_t)h->width,
                        (uint64_t)h->width, e) < 0
               ? -1
               : 0;
}

int embed_head_open(struct embed_head **out, const struct model *m, bool rank,
                    struct err *e)
{
    struct embed_head *h = calloc(1, sizeof *h);
    int rc;

    if (!h)
        return err_nomem(e);
    kern_init(&h->k, 0);
    h->g = model_gguf(m);
    h->width = model_width(m);
    rc = rank ? add_classifier(h, m, e)
              : add(h, "dense_2", -1, e) || add(h, "dense_3", -1, e);
    if (!rc && h->nlayer > 1) {
        h->tmp = malloc((size_t)h->layer[0].n_out * sizeof *h->tmp);
        rc = h->tmp ? 0 : err_nomem(e);
    }
    if (rc) {
        embed_head_free(h);
        return -1;
    }
    *out = h;
    return 0;
}

void embed_head_free(struct embed_head *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->nlayer; i++) {
        free(h->layer[i].w);
        free(h->layer[i].b);
        free(h->layer[i].norm);
    }
    free(h->tmp);
    free(h);
}

int embed_head_width(const struct embed_head *h)
{
    return h->width;
}

/* ROWS rows at once, which keeps the processor busy; each sum has its own
 * order all the same. */
enum { ROWS = 8 };

static void product(float *out, const struct layer *l, const float *in)
{
    size_t n = (size_t)l->n_in;

    for (int r = 0; r < l->n_out; r += ROWS) {
        int rows = l->n_out - r < ROWS ? l->n_out - r : ROWS;
        const float *w = l->w + (size_t)r * n;
        double sum[ROWS] = {0};

        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < rows; k++)
                sum[k] += (double)w[(size_t)k * n + i] * (double)in[i];
        for (int k = 0; k < rows; k++)
            out[r + k] = (float)(l->b ? sum[k] + (double)l->b[r + k] : sum[k]);
    }
}

void embed_head_run(struct embed_head *h, float *out, const float *in)
{
    if (!h->nlayer)
        memcpy(out, in, (size_t)h->width * sizeof *out);
    for (int i = 0; i < h->nlayer; i++) {
        const struct layer *l = &h->layer[i];
        float *to = i == h->nlayer - 1 ? out : h->tmp;

        product(to, l, in);
        if (l->act >= 0)
            h->k.unary[l->act](to, l->n_out);
        if (l->norm)
            h->k.layernorm(to, to, l->norm, NULL, l->n_out, h->eps);
        in = to;
    }
}

struct gguf_str embed_head_label(const struct embed_head *h, int i)
{
    const unsigned char *p = h->labels ? h->labels->p : NULL;
    struct gguf_str s = {"", 0};

    for (; p && i >= 0; i--)
        s = gguf_str_next(&p);
    return s;
}
