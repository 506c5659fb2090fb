/* SPDX-License-Identifier: MIT
 * convert.c - a small folder of every model in the tables, converted: each
 * tensor against the definition of its change, by plain loops; and lib/model
 * takes what comes out. */
#include <math.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/cpu.h"
#include "convert/convert.h"
#include "model/model.h"
#include "tests/tools/mkhf.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/convert.XXXXXX";
static char folder[64], file[64];

static int convert(enum convert_type type, bool tokenizer, struct err *e)
{
    struct convert_want want = {.type = type, .no_tokenizer = !tokenizer};
    struct convert_run run = {.pool = pool_new(2, NULL), .cpu = cpu_flags()};
    struct convert *c = NULL;
    struct gguf_file *f = NULL;
    int rc = convert_open(&c, folder, &want, e);

    if (!rc)
        rc = gguf_file_open(&f, file, e);
    if (!rc && (gguf_file_head(f, convert_head(c), e) ||
                convert_write(c, f, &run, e) || gguf_file_close(f, e))) {
        gguf_file_abandon(f);
        rc = -1;
    }
    convert_close(c);
    pool_free(run.pool);
    return rc;
}

static void clean(void)
{
    static const char *const names[] = {"config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "model.safetensors",
                                        "model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors",
                                        "model.safetensors.index.json"};
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    unlink(file);
}

/* ---- tensors by their definition ---- */

static float source(const struct safetensors_tensor *t, uint64_t i)
{
    return t->dtype == SAFETENSORS_BF16  ? bf16_f32(rd_u16(t->p + 2 * i))
           : t->dtype == SAFETENSORS_F16 ? f16_f32(rd_u16(t->p + 2 * i))
                                         : rd_f32(t->p + 4 * i);
}

static void name_of(char out[160], const char *format, int a, int b)
{
    const char *p;
    size_t n = 0;
    int k = 0;

    for (p = format; *p; p++)
        if (p[0] == '%' && p[1] == 'd') {
            n += (size_t)snprintf(out + n, 20, "%d", k++ ? b : a);
            p++;
        } else {
            out[n++] = *p;
        }
    out[n] = 0;
}

static const struct safetensors_tensor *named(const struct safetensors *s,
                                              const struct mkhf *k,
                                              const struct convert_name *r,
                                              int layer, int expert)
{
    char name[160], full[256];

    name_of(name, r->hf, layer, expert);
    snprintf(full, sizeof full, "%.*s%s",
             r->flags & CONVERT_TOP ? 0 : (int)strcspn(k->m->prefix, "|"),
             k->m->prefix, name);
    return safetensors_find(s, full);
}

/* Element (m, i, j) of what row R makes in a layer, m a matrix, i one of its
 * rows of COLS. */
static float wanted(const struct safetensors *s, const struct mkhf *k,
                    const struct convert_name *r, int layer, uint64_t m,
                    uint64_t i, uint64_t j, uint64_t rows, uint64_t cols)
{
    const struct safetensors_tensor *t =
        named(s, k, r, layer, r->change == CONVERT_STACK ? (int)m : 0);
    uint64_t d = (uint64_t)k->size['H'];
    bool pairs = k->m->flags & CONVERT_PAIRS &&
                 (r->change == CONVERT_PAIRS_Q || r->change == CONVERT_PAIRS_K);

    if (!t)
        return NAN;
    if (pairs && t->ndim == 1)
        return source(t, j / d * d + j % d / 2 + j % 2 * (d / 2));
    if (pairs)
        i = i / d * d + i % d / 2 + i % 2 * (d / 2);
    switch (r->change) {
    case CONVERT_ONE:
        return source(t, j) + 1;
    case CONVERT_STACK:
        return source(t, i * cols + j);
    case CONVERT_FIRST:
        return source(t, (m * 2 * rows + i) * cols + j);
    case CONVERT_SECOND:
        return source(t, (m * 2 * rows + rows + i) * cols + j);
    case CONVERT_PADDED: /* mkhf's padding token is 1 */
        return source(t, (i + 2) * cols + j);
    default:
        return source(t, (m * rows + i) * cols + j);
    }
}

static bool same(const struct gguf_tensor *g, const struct safetensors *s,
                 const struct mkhf *k, const struct convert_name *r, int layer)
{
    uint64_t at = 0;

    for (uint64_t m = 0; m < g->ne[2]; m++)
        for (uint64_t i = 0; i < g->ne[1]; i++)
            for (uint64_t j = 0; j < g->ne[0]; j++, at++) {
                float is = g->type == GGUF_T_F32 ? rd_f32(g->p + 4 * at)
                           : g->type == GGUF_T_BF16
                               ? bf16_f32(rd_u16(g->p + 2 * at))
                               : f16_f32(rd_u16(g->p + 2 * at));

                if (is != wanted(s, k, r, layer, m, i, j, g->ne[1], g->ne[0]))
                    return false;
            }
    return true;
}

/* All rows of the tables: how many tensors they make, -1 where one differs. */
static int compare(const struct gguf *g, const struct safetensors *s,
                   const struct mkhf *k)
{
    int n = 0;

    for (size_t i = 0; k->m->names[i]; i++)
        for (const struct convert_name *r = k->m->names[i]; r->hf; r++)
            for (int y = 0; y < (strstr(r->gguf, "%d") ? k->size['L'] : 1);
                 y++) {
                const struct gguf_tensor *t;
                char name[160];

                if (!named(s, k, r, y, 0))
                    continue;
                name_of(name, r->gguf, y, 0);
                t = gguf_tensor(g, name);
                if (!t || !same(t, s, k, r, y)) {
                    printf("# %s\n", name);
                    return -1;
                }
                n++;
            }
    return n;
}

/* ---- models ---- */

static bool loads(const struct gguf *g, bool embed)
{
    struct be *be = NULL;
    struct model *m = NULL;
    struct err e = {0};
    int rc = be_open(&be, "cpu", &(struct be_opts){.threads = 1}, &e) ||
             model_open(&m, g, be, &(struct model_opts){.embed = embed}, &e);

    if (rc)
        printf("# %s\n", e.msg);
    model_close(m);
    be_close(be);
    return !rc;
}

static void check(struct mkhf *k, const char *how)
{
    struct err e = {0};
    struct gguf *g = NULL;
    struct safetensors *s = NULL;
    int n;

    mkhf_folder(k);
    if (!ok(!convert(CONVERT_AUTO, false, &e) && !gguf_open(&g, file, &e) &&
                !safetensors_open(&s, folder, &e),
            "%s (%s)%s: converted %s", k->m->type, k->m->arch, how, e.msg))
        goto out;
    n = compare(g, s, k);
    ok(n > 0 && (size_t)n == gguf_ntensor(g), "%s (%s)%s: %d tensors of %zu",
       k->m->type, k->m->arch, how, n, gguf_ntensor(g));
    ok(loads(g, k->m->flags & CONVERT_ENCODER), "%s (%s)%s: a model",
       k->m->type, k->m->arch, how);
out:
    safetensors_close(s);
    gguf_close(g);
    clean();
}

static void all_models(void)
{
    static const enum safetensors_dtype types[] = {SAFETENSORS_F16,
                                                   SAFETENSORS_BF16};
    const struct convert_model *m;

    for (int i = 0; (m = convert_model_at(i)); i++) {
        struct mkhf k = {
            .dir = folder, .m = m, .dtype = types[i % 2], .shards = 1 + i % 2};

        check(&k, "");
        if (!strcmp(m->type, "mixtral") || !strcmp(m->type, "qwen2_moe") ||
            !strcmp(m->type, "qwen3_moe")) {
            struct mkhf f = {
                .dir = folder, .m = m, .dtype = types[i % 2], .fused = true};

            check(&f, ", experts in one");
        }
    }
}

/* ---- types ---- */

static uint32_t type_of(const struct gguf *g, const char *name)
{
    const struct gguf_tensor *t = gguf_tensor(g, name);

    return t ? t->type : UINT32_MAX;
}

static void types(void)
{
    static const struct {
        enum convert_type want;
        uint32_t matrix;
        const char *name;
    } all[] = {{CONVERT_AUTO, GGUF_T_BF16, "auto"},
               {CONVERT_TO_F32, GGUF_T_F32, "f32"},
               {CONVERT_TO_F16, GGUF_T_F16, "f16"},
               {CONVERT_TO_BF16, GGUF_T_BF16, "bf16"},
               {CONVERT_TO_Q8_0, GGUF_T_Q8_0, "q8_0"}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mkhf k = {.dir = folder,
                         .m = convert_model_find("qwen3_moe"),
                         .dtype = SAFETENSORS_BF16};
        struct gguf *g = NULL;
        struct err e = {0};

        mkhf_folder(&k);
        ok(!convert(all[i].want, false, &e) && !gguf_open(&g, file, &e) &&
               type_of(g, "blk.1.attn_q.weight") == all[i].matrix &&
               type_of(g, "blk.1.attn_norm.weight") == GGUF_T_F32 &&
               type_of(g, "blk.1.ffn_gate_inp.weight") == GGUF_T_F32,
           "%s: matrices, vectors, routers %s", all[i].name, e.msg);
        /* Rows of 16 are no blocks. */
        if (all[i].want == CONVERT_TO_Q8_0)
            ok(type_of(g, "blk.1.ffn_down_exps.weight") == GGUF_T_BF16,
               "rows that are no blocks stay");
        gguf_close(g);
        clean();
    }
}

int main(void)
{
    if (!mkdtemp(dir)) {
        ok(0, "no folder");
        return tap_done();
    }
    snprintf(folder, sizeof folder, "%s/hf", dir);
    snprintf(file, sizeof file, "%s/m.gguf", dir);
    all_models();
    types();
    rmdir(dir);
    return tap_done();
}
