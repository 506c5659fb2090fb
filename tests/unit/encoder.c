/* SPDX-License-Identifier: MIT
 * encoder.c - tiny models that make embeddings: encoders against their formulas
 * in double and against what transformers made of the same files
 * (tests/data/encoder.json), and what is known, and refused, of such models.
 *
 * encoder DIR writes the files, for tests/tools/encoder.py. */
#include <jansson.h>

#include "tests/unit/model_naive.h"
#include "tests/unit/model_run.h"
#include "tests/unit/tap.h"

/* ---- what is computed ---- */

enum { SEED = 77 };

static const char golden_path[] = "tests/data/encoder.json";
static json_t *golden;

/* The last token's types are others. */
static void types(int32_t t[N_TOKENS])
{
    for (int i = 0; i < N_TOKENS; i++)
        t[i] = i > N_TOKENS / 2;
}

/* Some of the rows of GOT, and the mean of all, as transformers has them. */
static void check_golden(const struct m_arch *a, const float *got)
{
    const json_t *rows = json_object_get(golden, a->name), *row;
    const char *key;
    double worst = 0;
    int n = 0;

    json_object_foreach((json_t *)(uintptr_t)rows, key, row)
    {
        int from = atoi(key), to = from + 1;

        if (!strcmp(key, "mean"))
            from = 0, to = N_TOKENS;
        for (size_t i = 0; i < M_DIM; i++, n++) {
            double sum = 0, d;

            for (int c = from; c < to; c++)
                sum += (double)got[c * M_DIM + (int)i] / (to - from);
            d = fabs(sum - json_number_value(json_array_get(row, i)));
            worst = d > worst || d != d ? d : worst;
        }
    }
    ok(n == 4 * M_DIM && worst < 2e-5, "%s: of %d golden numbers by %.2g",
       a->name, n, worst);
}

static void check_encoder(const struct m_arch *a)
{
    static struct tiny m;
    struct runner_opts o = {
        .threads = 3, .cpu_mask = ~0u, .kv = KV_F32, .embed = true};
    struct gguf_str file;
    struct gguf *g = NULL;
    struct runner r = {0};
    struct err e = {0};
    int32_t t[N_TOKENS], type[N_TOKENS];
    double want[N_TOKENS * M_DIM];
    float got[N_TOKENS * M_DIM];
    int bad;

    m_make(&m, a, SEED);
    file = m_pack(&m);
    n_tokens(t, N_TOKENS);
    types(type);
    bad = gguf_open_memory(&g, "tiny", &file, 1, &e) ||
          runner_open(&r, g, &o, &e) || model_width(r.m) != M_DIM ||
          !model_both(r.m);
    for (int typed = 0; typed < 2; typed++) {
        naive_run(&m, t, typed ? type : NULL, N_TOKENS, want, NULL);
        r.type = typed ? type : NULL;
        bad = bad || runner_run(&r, t, 0, N_TOKENS, RUN_ALL, got, &e);
        ok(!bad && n_furthest(got, want, N_TOKENS * M_DIM) < 1e-4,
           "%s: differs by %.2g%s %s", a->name,
           bad ? NAN : n_furthest(got, want, N_TOKENS * M_DIM),
           typed ? ", typed" : "", e.msg);
    }
    if (!bad)
        check_golden(a, got);
    runner_close(&r);
    o.embed = false;
    ok(g && runner_open(&r, g, &o, &e) && e.code == ERR_UNSUPPORTED &&
           strstr(e.msg, "makes embeddings: llm-embed"),
       "%s: not for logits: %s", a->name, e.msg);
    gguf_close(g);
    m_free(&m);
}

/* ---- what embeds ---- */

static const struct m_arch *m_arch(const char *name)
{
    for (int i = 0; i < M_NARCH; i++)
        if (!strcmp(m_archs[i].name, name))
            return &m_archs[i];
    abort();
}

/* Open what is in M to embed; the code. */
static enum err_code open_embed(struct tiny *m, struct runner *r,
                                struct gguf **g, int context, struct err *e)
{
    struct runner_opts o = {.threads = 1,
                            .cpu_mask = ~0u,
                            .kv = KV_F32,
                            .context = context,
                            .embed = true};
    struct gguf_str file = m_pack(m);

    *e = (struct err){0};
    if (!gguf_open_memory(g, "tiny", &file, 1, e))
        runner_open(r, *g, &o, e);
    return e->code;
}

/* Tensors and keys behind the last norm are known, when they are not asked
 * for; all others are not. */
static void check_behind(const struct m_arch *a)
{
    static const char *const known[] = {"cls.weight",        "cls.bias",
                                        "cls.output.weight", "cls.norm.weight",
                                        "dense_2.weight",    "dense_3.bias"};
    static struct tiny m;
    struct runner r = {0};
    struct gguf *g = NULL;
    struct err e;

    m_make(&m, a, 5);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        m_add(&m, -1, known[i], M_DIM, 1, 1, 0, 1);
    m_int(&m, "pooling_type", 3);
    m_int(&m, "dense_2_feat_out", 9);
    ok(!open_embed(&m, &r, &g, 0, &e) &&
           model_pooling(r.m) == MODEL_POOL_LAST && model_width(r.m) == M_DIM &&
           model_n_vocab(r.m) == M_VOCAB,
       "%s: a head of its own %s", m.a->name, e.msg);
    runner_close(&r);
    gguf_close(g);
    m_add(&m, -1, "clstered.weight", M_DIM, 1, 1, 0, 1);
    ok(open_embed(&m, &r, &g, 0, &e) == ERR_UNSUPPORTED &&
           strstr(e.msg, "clstered"),
       "%s: %s", m.a->name, e.msg);
    gguf_close(g);
    m_free(&m);
}

static void check_embed(void)
{
    static struct tiny m;
    struct runner r = {0};
    struct gguf *g = NULL;
    struct model *x;
    struct err e;
    int32_t t[8] = {0};

    check_behind(m_arch("llama"));
    check_behind(m_arch("bert"));
    m_make(&m, m_arch("bert"), 5);
    ok(!open_embed(&m, &r, &g, 7, &e) && model_context(r.m) == 7 &&
           model_pooling(r.m) == MODEL_POOL_UNSAID &&
           runner_run(&r, t, 0, 8, RUN_ALL, NULL, &e) && e.code == ERR_USAGE,
       "more columns than the context: %s", e.msg);
    runner_close(&r);
    gguf_close(g);
    ok(open_embed(&m, &r, &g, M_CONTEXT + 1, &e) == ERR_USAGE,
       "more positions than were learned: %s", e.msg);
    ok(model_open(&x, g, NULL,
                  &(struct model_opts){.slide = true, .embed = true},
                  &(struct err){0}),
       "encoders do not slide");
    gguf_close(g);
    m_free(&m);
    /* All of a sequence is there at once, whatever layers see. */
    m_make(&m, m_arch("modern-bert"), 5);
    ok(!open_embed(&m, &r, &g, 0, &e) && model_both(r.m) &&
           model_kv(r.m)->layer[1].window == 0,
       "an encoder's K and V have no windows %s", e.msg);
    runner_close(&r);
    gguf_close(g);
    m_free(&m);
}

/* Windows of an encoder: none, of one position, odd ones. */
static void check_windows(void)
{
    static const int window[] = {0, 1, 2, 7, 4096};
    struct m_arch a = *m_arch("modern-bert");
    static struct tiny m;

    for (size_t i = 0; i < sizeof window / sizeof *window; i++) {
        struct runner r = {0};
        struct gguf *g = NULL;
        struct err e;
        int32_t t[N_TOKENS];
        double want[N_TOKENS * M_DIM];
        float got[N_TOKENS * M_DIM];
        int bad;

        a.window = window[i] ? window[i] : 5;
        m_make(&m, &a, 31);
        if (!window[i]) {
            m_find_key(&m, "attention.sliding_window")->num = 0;
            a.window = 0;
        }
        n_tokens(t, N_TOKENS);
        naive_run(&m, t, NULL, N_TOKENS, want, NULL);
        bad = open_embed(&m, &r, &g, 0, &e) ||
              runner_run(&r, t, 0, N_TOKENS, RUN_ALL, got, &e);
        ok(!bad && n_furthest(got, want, N_TOKENS * M_DIM) < 1e-4,
           "%s: a window of %d %s", a.name, window[i], e.msg);
        runner_close(&r);
        gguf_close(g);
        m_free(&m);
    }
}

/* ---- the files ---- */

static int write_files(const char *dir)
{
    static struct tiny m;
    int bad = 0;

    for (int i = 0; i < M_NARCH; i++) {
        char path[512];
        struct gguf_str s;
        FILE *f;

        if (!(m_archs[i].flags & M_BOTH))
            continue;
        m_make(&m, &m_archs[i], SEED);
        s = m_pack(&m);
        snprintf(path, sizeof path, "%s/%s.gguf", dir, m.a->name);
        f = fopen(path, "wb");
        bad |= !f || fwrite(s.p, 1, s.n, f) != s.n || fclose(f);
        m_free(&m);
    }
    return bad;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return write_files(argv[1]);
    golden = json_load_file(golden_path, 0, NULL);
    ok(golden, "%s is there", golden_path);
    for (int i = 0; i < M_NARCH; i++)
        if (m_archs[i].flags & M_BOTH)
            check_encoder(&m_archs[i]);
    check_embed();
    check_windows();
    json_decref(golden);
    return tap_done();
}
