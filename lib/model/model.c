/* SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/adapt.h"
#include "model/adapter.h"
#include "model/arch.h"
#include "model/bind.h"

#define X(name) extern const struct arch arch_##name;
#include "arch_list.h"
#undef X

static const struct arch *const archs[] = {
#define X(name) &arch_##name,
#include "arch_list.h"
#undef X
};

struct model {
    const struct gguf *g;
    struct be *be;
    struct be_plan *plan;
    const struct arch *arch;
    int n_vocab, width, context, trained;
    enum model_pooling pooling;
    char id[33];
    char (*adapter)[33]; /* [nadapter]: their ids */
    int nadapter;
    struct kv_config kv;
    struct arena mem;
};

int arch_fail(struct build *b, enum err_code code, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    b->bad = true;
    return err_set(b->e, code, "%s: %s", gguf_path(b->g), text);
}

static const struct arch *find_arch(const struct gguf *g, bool embed,
                                    struct err *e)
{
    struct gguf_str s;
    int r = gguf_get_str(&s, g, "general.architecture", e);

    if (r < 0)
        return NULL;
    if (!r) {
        err_set(e, ERR_FORMAT, "%s: key 'general.architecture' is missing",
                gguf_path(g));
        return NULL;
    }
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (s.n == strlen(archs[i]->name) &&
            !memcmp(s.p, archs[i]->name, s.n)) {
            if (embed || !(archs[i]->flags & ARCH_BOTH))
                return archs[i];
            err_set(e, ERR_UNSUPPORTED,
                    "%s: architecture '%s' makes embeddings: llm-embed",
                    gguf_path(g), archs[i]->name);
            return NULL;
        }
    err_set(e, ERR_UNSUPPORTED, "%s: architecture '%.*s' is not supported",
            gguf_path(g), s.n > 80 ? 80 : (int)s.n, s.p);
    return NULL;
}

/* What the cache of K and V must know.  Where columns see each other both ways,
 * all of a sequence is there at once. */
static int set_kv(struct model *m, const struct build *b,
                  const struct model_opts *o)
{
    struct kv_layer *y = arena_array(&m->mem, (size_t)b->p.nlayer, sizeof *y);

    if (!y)
        return err_nomem(b->e);
    for (int l = 0; l < b->p.nlayer; l++)
        y[l] = (struct kv_layer){
            .heads = b->p.layer[l].kv_heads,
            .dk = b->p.dk,
            .dv = b->p.dv,
            .window = b->arch->flags & ARCH_BOTH ? 0 : params_window(b, l)};
    gguf_model_id(m->id, m->g);
    m->kv = (struct kv_config){
        .nlayer = b->p.nlayer,
        .layer = y,
        .ktype = o->ktype,
        .vtype = o->vtype,
        .model_id = m->id,
        .rope = arena_copy(&m->mem, b->rope_text.p, b->rope_text.n + 1)};
    return m->kv.rope ? 0 : err_nomem(b->e);
}

void model_adapt_text(struct buf *out, const struct model *m,
                      const float *scale)
{
    size_t from = out->n;

    /* In this order they are added. */
    for (int i = 0; i < m->nadapter; i++)
        if (scale[i] != 0)
            buf_printf(out, "%s%s:%.9g", out->n > from ? "," : "",
                       m->adapter[i], (double)scale[i]);
    buf_str(out);
}

/* What sequences are read with unless they say otherwise. */
static int set_adapters(struct model *m, const struct build *b)
{
    size_t n = (size_t)b->nadapter;
    float *scale = arena_array(&m->mem, n + 1, sizeof *scale);
    struct buf text = {0};
    int rc = 0;

    if (!n)
        return 0;
    m->adapter = arena_array(&m->mem, n, sizeof *m->adapter);
    if (!scale || !m->adapter)
        return err_nomem(b->e);
    m->nadapter = b->nadapter;
    for (size_t i = 0; i < n; i++) {
        scale[i] = b->adapter[i].scale;
        memcpy(m->adapter[i], adapter_id(b->adapter[i].a), 33);
    }
    model_adapt_text(&text, m, scale);
    if (buf_ok(&text, b->e))
        rc = -1;
    else if (!(m->kv.adapt.text = arena_copy(&m->mem, text.p, text.n + 1)))
        rc = err_nomem(b->e);
    m->kv.adapt.scale = scale;
    m->kv.adapt.n = b->nadapter;
    buf_free(&text);
    return rc;
}

static int make(struct model *m, struct build *b, const struct model_opts *o)
{
    struct be_plan_desc d = {0};

    if (adapt_begin(b))
        return -1;
    params_read(b);
    if (!b->bad)
        m->arch->build(b);
    params_unknown(b);
    bind_unknown(b);
    adapt_unknown(b);
    if (b->bad)
        return -1;
    buf_str(&b->rope_text);
    if (buf_ok(&b->ops, b->e) || buf_ok(&b->rope_text, b->e) ||
        set_kv(m, b, o) || set_adapters(m, b))
        return -1;
    d.op = (const struct be_op *)b->ops.p;
    d.nop = (int)(b->ops.n / sizeof *d.op);
    memcpy(d.width, b->width, sizeof d.width);
    d.rope = b->rope;
    d.nrope = b->nrope;
    d.n_vocab = b->embed ? b->p.dim : b->n_vocab;
    d.block = b->arch->flags & ARCH_BOTH ? b->context : 0;
    d.nadapter = b->nadapter;
    m->n_vocab = b->n_vocab;
    m->width = d.n_vocab;
    m->pooling = (enum model_pooling)b->p.pooling;
    m->context = b->context;
    m->trained = b->p.context;
    if (be_plan_new(&m->plan, m->be, &d, b->e))
        return err_prefix(b->e, "%s", gguf_path(m->g));
    return 0;
}

int model_open(struct model **out, const struct gguf *g, struct be *be,
               const struct model_opts *o, struct err *e)
{
    const struct arch *arch = find_arch(g, o->embed, e);
    struct model *m;
    struct build b = {.g = g, .be = be, .arch = arch, .e = e};
    struct err here = {0};
    int r;

    *out = NULL;
    if (!arch)
        return -1;
    if (o->slide && arch->flags & ARCH_BOTH)
        return err_set(e, ERR_USAGE, "%s: sequences of '%s' do not slide",
                       gguf_path(g), arch->name);
    if (o->context < 0 || o->context > 1 << 30)
        return err_set(e, ERR_USAGE,
                       "a context of %d positions is not possible", o->context);
    if (o->nadapter < 0 || o->nadapter > MODEL_MAX_ADAPTERS)
        return err_set(e, ERR_USAGE, "%d adapters: %d are possible",
                       o->nadapter, MODEL_MAX_ADAPTERS);
    m = calloc(1, sizeof *m);
    if (!m)
        return err_nomem(e);
    m->g = g;
    m->be = be;
    m->arch = arch;
    b.context = o->context;
    b.slide = o->slide;
    b.embed = o->embed;
    b.mem = &m->mem;
    b.adapter = o->adapter;
    b.nadapter = o->nadapter;
    b.e = e ? e : &here;
    b.key_seen = calloc(gguf_nkey(g) + 1, 1);
    b.tensor_seen = calloc(gguf_ntensor(g) + 1, 1);
    r = b.key_seen && b.tensor_seen ? make(m, &b, o) : err_nomem(e);
    free(b.key_seen);
    free(b.tensor_seen);
    adapt_free(&b);
    buf_free(&b.ops);
    buf_free(&b.rope_text);
    if (r) {
        model_close(m);
        return -1;
    }
    *out = m;
    return 0;
}

void model_close(struct model *m)
{
    if (!m)
        return;
    be_plan_free(m->plan);
    arena_free(&m->mem);
    free(m);
}

struct be_plan *model_plan(const struct model *m)
{
    return m->plan;
}

struct be *model_be(const struct model *m)
{
    return m->be;
}

const struct gguf *model_gguf(const struct model *m)
{
    return m->g;
}

int model_n_vocab(const struct model *m)
{
    return m->n_vocab;
}

int model_width(const struct model *m)
{
    return m->width;
}

bool model_both(const struct model *m)
{
    return m->arch->flags & ARCH_BOTH;
}

enum model_pooling model_pooling(const struct model *m)
{
    return m->pooling;
}

int model_context(const struct model *m)
{
    return m->context;
}

int model_trained_context(const struct model *m)
{
    return m->trained;
}

int model_adapters(const struct model *m)
{
    return m->nadapter;
}

const char *model_arch(const struct model *m)
{
    return m->arch->name;
}

const struct kv_config *model_kv(const struct model *m)
{
    return &m->kv;
}
