/* SPDX-License-Identifier: MIT */
#include "quantize/plan.h"

#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"

#define NAME(t) ((t)->name.n < 80 ? (int)(t)->name.n : 80), (t)->name.p

static bool floats(uint32_t type)
{
    return type == GGUF_T_F32 || type == GGUF_T_F16 || type == GGUF_T_BF16;
}

/* What takes about as many bits in shorter blocks. */
static uint32_t shorter(uint32_t type)
{
    static const uint32_t other[][2] = {
        {GGUF_T_Q2_K, GGUF_T_Q4_0}, {GGUF_T_Q3_K, GGUF_T_Q4_0},
        {GGUF_T_Q4_K, GGUF_T_Q5_0}, {GGUF_T_Q5_K, GGUF_T_Q5_1},
        {GGUF_T_Q6_K, GGUF_T_Q8_0}, {GGUF_T_IQ4_XS, GGUF_T_IQ4_NL},
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i][0] == type)
            return other[i][1];
    return GGUF_T_F16;
}

static bool fits(const struct gguf_tensor *t, uint32_t type)
{
    return t->ne[0] % gguf_type_info(type)->elems == 0;
}

static uint64_t size_of(const struct gguf_tensor *t, uint32_t type)
{
    const struct gguf_type_info *k = gguf_type_info(type);

    return t->ne[0] / k->elems * k->bytes * t->ne[1] * t->ne[2] * t->ne[3];
}

static uint64_t elements(const struct gguf_tensor *t)
{
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

int plan_set(struct plan *p, struct plan_tensor *k, uint32_t type,
             const struct quantize *q, const struct plan_want *want,
             struct err *e)
{
    const struct gguf_type_info *info = gguf_type_info(type);
    const struct gguf_tensor *t = k->t;
    uint32_t first = type;

    k->instead_of = PLAN_NONE;
    if (type != t->type) {
        if (!quantize_type(q, type))
            return err_set(e, ERR_UNSUPPORTED,
                           "tensor '%.*s': nothing becomes %s here", NAME(t),
                           info->name);
        if (!floats(t->type) && !floats(type) && !want->requant)
            return err_set(e, ERR_UNSUPPORTED,
                           "tensor '%.*s' is %s already, and loses more as %s: "
                           "--allow-requantize does it",
                           NAME(t), gguf_type_info(t->type)->name, info->name);
        if (!fits(t, type) && !want->fallback)
            return err_set(e, ERR_UNSUPPORTED,
                           "tensor '%.*s': its rows of %llu are no whole "
                           "blocks of %s, which have %u: --fallback takes "
                           "another type",
                           NAME(t), (unsigned long long)t->ne[0], info->name,
                           (unsigned)info->elems);
        while (!fits(t, type))
            type = shorter(type);
        if (type != first)
            k->instead_of = first;
    }
    p->bytes -= k->bytes;
    k->type = type;
    k->bytes = size_of(t, type);
    p->bytes += k->bytes;
    return 0;
}

bool plan_free(const struct plan_tensor *k, const struct plan_want *want)
{
    return k->role != RECIPE_FIXED && !k->asked &&
           (floats(k->t->type) || want->requant);
}

/* The number in "blk.N.", or -1. */
int64_t plan_layer(struct gguf_str name)
{
    int64_t n = 0;
    size_t i = 4;

    if (name.n < 6 || memcmp(name.p, "blk.", 4))
        return -1;
    for (; i < name.n && i < 12 && name.p[i] >= '0' && name.p[i] <= '9'; i++)
        n = n * 10 + (name.p[i] - '0');
    return i > 4 && i < name.n && name.p[i] == '.' ? n : -1;
}

/* For each layer how many tensors with V are in those before; all at the end.
 */
struct before {
    int64_t of[GGUF_MAX_LAYERS + 2];
    int64_t shared;
};

static size_t clamped(int64_t layer)
{
    return layer < 0
               ? 0
               : (size_t)(layer < GGUF_MAX_LAYERS ? layer : GGUF_MAX_LAYERS);
}

static void count_before(struct before *b, const struct plan *p)
{
    *b = (struct before){.shared = recipe_sharing(&p->config)};
    for (size_t i = 0; i < p->n; i++)
        if (p->tensor[i].role == RECIPE_V)
            b->of[clamped(plan_layer(p->tensor[i].t->name)) + 1]++;
    for (size_t i = 0; i <= GGUF_MAX_LAYERS; i++)
        b->of[i + 1] += b->of[i];
}

static int overridden(uint32_t *type, const struct plan_tensor *k,
                      const struct plan_want *want, struct err *e)
{
    char *name = strndup(k->t->name.p, k->t->name.n);

    if (!name)
        return err_nomem(e);
    for (int i = 0; i < want->noverride; i++)
        if (!regexec(&want->override[i].regex, name, 0, NULL, 0)) {
            *type = want->override[i].type;
            free(name);
            return 1;
        }
    free(name);
    return 0;
}

/* The type that was asked for by options, or that of the recipe. */
static int choose(uint32_t *type, const struct plan *p, struct plan_tensor *k,
                  const struct before *b, const struct plan_want *want,
                  struct err *e)
{
    const struct recipe *r = want->recipe;
    struct recipe_place at = {.role = k->role,
                              .at = plan_layer(k->t->name),
                              .of = p->config.layers,
                              .expert = k->t->ne[2] > 1,
                              .imatrix = want->imatrix != NULL,
                              .shared = b->shared,
                              .config = &p->config};
    static const char embed[] = "token_embd.weight";
    bool is_embed = k->t->name.n == sizeof embed - 1 &&
                    !memcmp(k->t->name.p, embed, sizeof embed - 1);
    int got;

    *type = k->t->type;
    got = overridden(type, k, want, e);
    if (got < 0)
        return -1;
    k->asked = true;
    if (got)
        return 0;
    if (is_embed && want->embedding != PLAN_NONE) {
        *type = want->embedding;
        return 0;
    }
    if (k->role == RECIPE_OUTPUT && want->output != PLAN_NONE) {
        *type = want->output;
        return 0;
    }
    k->asked = false;
    if (k->role == RECIPE_FIXED)
        return 0;
    if (r->type == RECIPE_KEEP)
        return 0;
    else if (want->pure)
        *type = r->type;
    else {
        at.whole = fits(k->t, r->type);
        if (k->role == RECIPE_V) {
            at.at = b->of[clamped(at.at)];
            at.of = b->of[GGUF_MAX_LAYERS + 1];
        }
        *type = recipe_type(r, &at);
    }
    return 0;
}

static int make(struct plan *p, const struct gguf *g, const struct quantize *q,
                const struct plan_want *want, struct err *e)
{
    struct before b;

    for (size_t i = 0; i < p->n; i++) {
        struct plan_tensor *k = &p->tensor[i];

        k->t = gguf_tensor_at(g, i);
        k->role = recipe_role(g, k->t);
        k->type = k->t->type;
        k->error = -1;
        p->from += k->t->bytes;
        p->elements += elements(k->t);
        if (imatrix_of(&k->w, want->imatrix, k->t, e))
            return -1;
    }
    count_before(&b, p);
    for (size_t i = 0; i < p->n; i++) {
        struct plan_tensor *k = &p->tensor[i];
        uint32_t type;

        if (choose(&type, p, k, &b, want, e) ||
            plan_set(p, k, type, q, want, e))
            return -1;
        p->fellback += k->instead_of != PLAN_NONE;
        p->requantised +=
            k->type != k->t->type && !floats(k->t->type) && !floats(k->type);
    }
    return 0;
}

int plan_make(struct plan *p, const struct gguf *g, const struct quantize *q,
              const struct plan_want *want, struct err *e)
{
    struct err ignored = {0};

    *p = (struct plan){.n = gguf_ntensor(g)};
    gguf_config_init(&p->config, g, &ignored);
    p->tensor = calloc(p->n + 1, sizeof *p->tensor);
    if (!p->tensor)
        return err_nomem(e);
    if (make(p, g, q, want, e))
        return err_prefix(e, "%s", gguf_path(g));
    return 0;
}

void plan_fini(struct plan *p)
{
    gguf_config_fini(&p->config);
    free(p->tensor);
    *p = (struct plan){0};
}

int plan_copy(struct plan *to, const struct plan *p, struct err *e)
{
    *to = *p;
    to->tensor = calloc(p->n + 1, sizeof *to->tensor);
    if (!to->tensor)
        return err_nomem(e);
    memcpy(to->tensor, p->tensor, p->n * sizeof *to->tensor);
    return 0;
}

void plan_copy_fini(struct plan *p)
{
    free(p->tensor);
    *p = (struct plan){0};
}
