/* SPDX-License-Identifier: MIT
 * adapter.c - LoRA adapters on tiny models of every architecture, against the
 * formulas in double on merged weights; sequences with different ones in one
 * step; and adapters that are wrong. */
#include "model/adapter.h"

#include "run/step.h"
#include "tests/unit/adapter_make.h"
#include "tests/unit/model_naive.h"
#include "tests/unit/tap.h"

enum { NTOK = 20, MOST = 3 };

/* A model, its adapters, and what runs it. */
struct bench {
    struct gguf *g, *low[MOST];
    struct adapter *a[MOST];
    struct model_adapter with[MOST];
    int n;
    struct be *be;
    struct model *m;
    struct kv *kv;
    struct step *step;
    size_t width; /* of a result */
};

static void bench_close(struct bench *b)
{
    step_free(b->step);
    kv_free(b->kv);
    model_close(b->m);
    be_close(b->be);
    for (int i = 0; i < MOST; i++) {
        adapter_close(b->a[i]);
        gguf_close(b->low[i]);
    }
    gguf_close(b->g);
    memset(b, 0, sizeof *b);
}

static int bench_open(struct bench *b, struct tiny *m, struct low *low,
                      const float *scale, int n, const struct be_opts *o,
                      struct err *e)
{
    struct gguf_str file = m_pack(m);
    struct model_opts mo = {.ktype = KV_F32, .vtype = KV_F32};
    struct kv_config k;

    memset(b, 0, sizeof *b);
    if (gguf_open_memory(&b->g, "tiny.gguf", &file, 1, e))
        return -1;
    for (int i = 0; i < n; i++) {
        file = low_pack(&low[i]);
        if (gguf_open_memory(&b->low[i], "low.gguf", &file, 1, e) ||
            adapter_open(&b->a[i], b->low[i], e))
            return -1;
        b->with[i] = (struct model_adapter){b->a[i], scale[i]};
    }
    mo.embed = m->a->flags & M_BOTH;
    mo.adapter = b->with;
    mo.nadapter = b->n = n;
    if (be_open(&b->be, "cpu", o, e) || model_open(&b->m, b->g, b->be, &mo, e))
        return -1;
    b->width = (size_t)model_width(b->m);
    k = *model_kv(b->m);
    k.positions = 4 * M_CONTEXT;
    k.max_batch = 4 * NTOK;
    k.nseq = 4;
    if (kv_new(&b->kv, b->be, &k, e))
        return -1;
    b->step = step_new(b->m, b->kv, e);
    return b->step ? 0 : -1;
}

static void tokens(int32_t *t, int n, int from)
{
    for (int i = 0; i < n; i++)
        t[i] = ((i + from) * 7 + i * i * 3 + 1) % M_VOCAB;
}

/* Are the peaks of the row V, which the last step gave, those of its blocks? */
static bool peaks_right(const struct bench *b, const float *v)
{
    const float *p = step_peaks(b->step, v);
    bool good = true;

    for (size_t i = 0; i < b->width; i += BE_PEAK) {
        float most = v[i];

        for (size_t k = i; k < i + BE_PEAK && k < b->width; k++)
            most = v[k] > most ? v[k] : most;
        good &= p[i / BE_PEAK] == most;
    }
    return good;
}

/* All results of T[N], read in chunks of STEP, with SCALE; NULL: as opened.
 * Encoders read all at once. */
static int run(struct bench *b, const int32_t *t, int n, int step,
               const float *scale, float *out, struct err *e)
{
    struct kv_seq *s = kv_seq_new(b->kv);
    struct buf text = {0};
    const float *v;
    bool both = model_both(b->m);
    int rc = s ? 0 : -1;

    if (scale) {
        struct kv_adapt a = {.scale = scale, .n = b->n};

        model_adapt_text(&text, b->m, scale);
        a.text = (char *)text.p;
        rc = kv_seq_adapt(s, &a, e);
    }
    step = both ? n : step;
    for (int i = 0; !rc && i < n; i += step) {
        struct step_part p = {.seq = s,
                              .tok = t + i,
                              .n = n - i < step ? n - i : step,
                              .want = STEP_ALL,
                              .forget = both};

        rc = step_run(b->step, &p, 1, &v, e);
        if (!rc)
            memcpy(out + (size_t)i * b->width, v,
                   (size_t)p.n * b->width * sizeof *out);
        if (!rc && !both && !peaks_right(b, v))
            rc = err_set(e, ERR_FORMAT, "peaks are wrong");
    }
    kv_seq_free(s);
    buf_free(&text);
    return rc;
}

static double worst(const float *got, const double *want, int n)
{
    double w = 0;

    for (int i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        w = d > w || d != d ? d : w;
    }
    return w;
}

/* ---- what is computed ---- */

enum { LOGITS = NTOK * M_VOCAB };

static const struct be_opts one_thread = {
    .threads = 1, .cpu_mask = ~0u, .pack = true};

static void check_arch(const struct m_arch *a, int number)
{
    static const int ranks[] = {1, 4, 5, 16, 20};
    static struct tiny m, merged;
    static struct low low[2];
    static double want[LOGITS], hidden[NTOK * M_DIM];
    static float got[LOGITS], again[LOGITS], plain[LOGITS];
    static const float scale[2] = {0.75f, -0.5f}, none[2];
    const double *wanted = a->flags & M_BOTH ? hidden : want;
    int n = NTOK * (a->flags & M_BOTH ? M_DIM : M_VOCAB);
    size_t bytes = (size_t)n * sizeof *got;
    struct be_opts others[] = {{.threads = 3, .cpu_mask = ~0u, .pack = true},
                               {.threads = 2, .cpu_mask = 0, .pack = true},
                               {.threads = 1, .cpu_mask = ~0u, .pack = false}};
    struct bench b;
    struct err e = {0};
    int32_t t[NTOK];

    m_make(&m, a, 31 + (uint64_t)number);
    m_make(&merged, a, 31 + (uint64_t)number);
    low_make(&low[0], &m, ranks[number % 5], "", 7 + (uint64_t)number);
    low[0].alpha = 2 * ranks[number % 5];
    low_make(&low[1], &m, 3, number % 2 ? "attn_" : "output", 99);
    low_merge(&merged, &low[0], (double)scale[0]);
    low_merge(&merged, &low[1], (double)scale[1]);
    tokens(t, NTOK, 0);
    naive_run(&merged, t, NULL, NTOK, hidden, want);
    if (!ok(!bench_open(&b, &m, low, scale, 2, &one_thread, &e) &&
                !run(&b, t, NTOK, NTOK, NULL, got, &e),
            "%s %d: runs with adapters %s", a->name, number, e.msg))
        goto out;
    ok(worst(got, wanted, n) < 3e-4, "%s %d: merged weights differ by %.2g",
       a->name, number, worst(got, wanted, n));
    ok(!run(&b, t, NTOK, 1, NULL, again, &e) && !memcmp(got, again, bytes),
       "%s %d: token by token %s", a->name, number, e.msg);
    ok(!run(&b, t, NTOK, 7, none, plain, &e), "%s %d: scale 0", a->name,
       number);
    bench_close(&b);
    ok(!bench_open(&b, &m, NULL, NULL, 0, &one_thread, &e) &&
           !run(&b, t, NTOK, NTOK, NULL, again, &e) &&
           !memcmp(plain, again, bytes) && memcmp(got, again, bytes),
       "%s %d: a scale of 0 is no adapter %s", a->name, number, e.msg);
    for (int i = 0; i < 3; i++) {
        bench_close(&b);
        ok(!bench_open(&b, &m, low, scale, 2, &others[i], &e) &&
               !run(&b, t, NTOK, i == 1 ? 1 : NTOK, NULL, again, &e) &&
               !memcmp(got, again, bytes),
           "%s %d: the same bits otherwise %d %s", a->name, number, i, e.msg);
    }
out:
    bench_close(&b);
    low_free(&low[0]);
    low_free(&low[1]);
    m_free(&m);
    m_free(&merged);
}

/* Sequences with adapters of their own, in one step. */
static void check_batch(const struct m_arch *a)
{
    enum { NSEQ = 4 };
    static const float scale[NSEQ][2] = {{1, 0}, {0, 0}, {0.5f, 2}, {0, -1}};
    static struct tiny m;
    static struct low low[2];
    static float alone[NSEQ][LOGITS];
    struct bench b;
    struct err e = {0};
    struct kv_seq *s[NSEQ] = {NULL};
    struct step_part p[NSEQ];
    struct buf text[NSEQ] = {{0}};
    int32_t t[NSEQ][NTOK];
    const float *v;
    int same = 0;

    m_make(&m, a, 5);
    low_make(&low[0], &m, 8, "", 1);
    low_make(&low[1], &m, 16, "", 2);
    ok(!bench_open(&b, &m, low, scale[0], 2, &one_thread, &e), "%s: opens %s",
       a->name, e.msg);
    for (int i = 0; i < NSEQ; i++) {
        tokens(t[i], NTOK, i);
        if (run(&b, t[i], NTOK, NTOK, scale[i], alone[i], &e))
            break;
    }
    for (int i = 0; i < NSEQ; i++) {
        struct kv_adapt k = {.scale = scale[i], .n = 2};

        model_adapt_text(&text[i], b.m, scale[i]);
        k.text = (char *)text[i].p;
        s[i] = kv_seq_new(b.kv);
        kv_seq_adapt(s[i], &k, NULL);
    }
    /* Of each sequence 9 tokens, and then one by one. */
    for (int at = 0; at < NTOK; at += at ? 1 : 9) {
        for (int i = 0; i < NSEQ; i++)
            p[i] = (struct step_part){.seq = s[i],
                                      .tok = t[i] + at,
                                      .n = at ? 1 : 9,
                                      .want = STEP_LAST};
        if (step_run(b.step, p, NSEQ, &v, &e))
            break;
        for (int i = 0; i < NSEQ; i++)
            same += !memcmp(v + i * M_VOCAB, alone[i] + (at ? at : 8) * M_VOCAB,
                            M_VOCAB * sizeof *v);
    }
    ok(same == NSEQ * (NTOK - 8), "%s: %d of %d as each alone %s", a->name,
       same, NSEQ * (NTOK - 8), e.msg);
    for (int i = 0; i < NSEQ; i++) {
        kv_seq_free(s[i]);
        buf_free(&text[i]);
    }
    bench_close(&b);
    low_free(&low[0]);
    low_free(&low[1]);
    m_free(&m);
}

/* ---- pages ---- */

static void check_pages(void)
{
    static const float one[1] = {1}, half[1] = {0.5f}, zero[1] = {0};
    static struct tiny m;
    static struct low low;
    static int32_t t[2 * BE_PAGE];
    struct bench b;
    struct err e = {0};
    struct kv_seq *s, *x;
    struct kv_adapt a = {NULL, half, 1}, none = {NULL, zero, 1};
    struct step_part p;
    struct buf text = {0};
    const float *v;

    m_make(&m, &m_archs[0], 5);
    low_make(&low, &m, 4, "", 1);
    for (int i = 0; i < 2 * BE_PAGE; i++)
        t[i] = i % M_VOCAB;
    ok(!bench_open(&b, &m, &low, one, 1, &one_thread, &e), "opens %s", e.msg);
    model_adapt_text(&text, b.m, half);
    a.text = (char *)text.p;
    s = kv_seq_new(b.kv);
    p = (struct step_part){
        .seq = s, .tok = t, .n = 2 * BE_PAGE, .want = STEP_NONE};
    ok(!step_run(b.step, &p, 1, &v, &e), "two pages %s", e.msg);
    x = kv_seq_new(b.kv);
    ok(kv_seq_match(x, t, 2 * BE_PAGE) == BE_PAGE, "the same adapters: found");
    ok(kv_seq_adapt(x, &a, &e) && e.code == ERR_FORMAT,
       "what was read is not read otherwise: %s", e.msg);
    kv_seq_free(x);
    x = kv_seq_new(b.kv);
    ok(!kv_seq_adapt(x, &a, NULL) && !kv_seq_match(x, t, 2 * BE_PAGE),
       "another scale: not found");
    kv_seq_free(x);
    x = kv_seq_new(b.kv);
    ok(!kv_seq_adapt(x, &none, NULL) && !kv_seq_match(x, t, 2 * BE_PAGE),
       "none: not found");
    kv_seq_free(x);
    x = kv_seq_fork(s);
    ok(x && kv_seq_scale(x) && kv_seq_scale(x)[0] == 1,
       "a fork has the same adapters");
    kv_seq_free(x);
    x = s;
    ok(!step_begin(b.kv, &x, t + 1, 9, &e) && kv_seq_scale(x)[0] == 1,
       "begun anew, too %s", e.msg);
    kv_seq_free(x);
    buf_free(&text);
    bench_close(&b);
    low_free(&low);
    m_free(&m);
}

/* ---- what is refused ---- */

static struct m_tensor *first(struct low *a, const char *word)
{
    for (int i = 0; i < a->nt; i++)
        if (strstr(a->t[i].name, word))
            return &a->t[i];
    return NULL;
}

static void alora(struct gguf_out *o)
{
    static const unsigned char ids[8] = {1};

    gguf_put_arr(o, "adapter.alora.invocation_tokens", GGUF_U32, 2, ids, 8);
}

static void rename_it(struct low *a, const char *word, const char *name)
{
    struct m_tensor *t = first(a, word);

    snprintf(t->name, sizeof t->name, "%s", name);
}

static void break_it(struct low *a, int how)
{
    struct m_tensor *t;

    switch (how) {
    case 0:
        a->arch = "gemma";
        break;
    case 1:
        a->arch = NULL;
        break;
    case 2:
        a->alpha = NAN;
        break;
    case 3:
        a->more = alora;
        break;
    case 4:
        low_free(a);
        a->nt = 0;
        break;
    case 5:
        rename_it(a, "blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight");
        break;
    case 6:
        rename_it(a, "blk.0.attn_q.weight.lora_b", "blk.0.x.weight.lora_b");
        break;
    case 7:
        rename_it(a, "blk.0.attn_q.weight.lora_a", "blk.77.x.weight.lora_a");
        rename_it(a, "blk.0.attn_q.weight.lora_b", "blk.77.x.weight.lora_b");
        break;
    case 8:
        rename_it(a, "blk.0.attn_q.weight.lora_a", "token_embd.weight.lora_a");
        rename_it(a, "blk.0.attn_q.weight.lora_b", "token_embd.weight.lora_b");
        break;
    case 9:
        t = first(a, "blk.0.attn_q.weight.lora_a");
        t->ne[1] += 1;
        t->type = GGUF_T_F16;
        break;
    case 10:
        t = first(a, "blk.0.attn_q.weight.lora_a");
        t->ne[0] += 2;
        t->type = GGUF_T_F16;
        break;
    case 11:
        t = first(a, "blk.0.attn_q.weight.lora_b");
        t->ne[1] += 1;
        t->type = GGUF_T_F16;
        break;
    case 12:
        t = first(a, "blk.0.attn_q.weight.lora_b");
        t->ne[2] = 2;
        t->type = GGUF_T_F16;
        break;
    case 13:
        first(a, "blk.0.attn_q.weight.lora_b")->type = GGUF_T_I32;
        break;
    case 14:
        rename_it(a, "blk.0.attn_q.weight.lora_a",
                  "blk.0.attn_norm.weight.lora_a");
        rename_it(a, "blk.0.attn_q.weight.lora_b",
                  "blk.0.attn_norm.weight.lora_b");
        break;
    }
}

static void check_refused(void)
{
    static const struct {
        enum err_code code;
        const char *say;
    } want[] = {
        {ERR_FORMAT, "an adapter for 'gemma', not for 'llama'"},
        {ERR_FORMAT, "general.architecture"},
        {ERR_FORMAT, "adapter.lora.alpha"},
        {ERR_UNSUPPORTED, "adapter.alora.invocation_tokens"},
        {ERR_FORMAT, "without tensors"},
        {ERR_UNSUPPORTED, "neither .lora_a nor .lora_b"},
        {ERR_FORMAT, "'blk.0.attn_q.weight.lora_b' is missing"},
        {ERR_FORMAT, "'blk.77.x.weight': the model has none"},
        {ERR_UNSUPPORTED, "'token_embd.weight': adapting"},
        {ERR_FORMAT, "rank"},
        {ERR_FORMAT, "the model's is 32x32"},
        {ERR_FORMAT, "the model's is 32x32"},
        {ERR_UNSUPPORTED, "experts"},
        {ERR_UNSUPPORTED, "lora_b"},
        {ERR_UNSUPPORTED, "'blk.0.attn_norm.weight': adapting"},
    };
    static const float scale[1] = {1};
    static struct tiny m;
    static struct low low;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct bench b;
        struct err e = {0};

        m_make(&m, &m_archs[0], 5);
        low_make(&low, &m, 4, "", 1);
        break_it(&low, (int)i);
        ok(bench_open(&b, &m, &low, scale, 1, &one_thread, &e) &&
               e.code == want[i].code && strstr(e.msg, want[i].say) &&
               !strncmp(e.msg, "low.gguf: ", 10),
           "%s", e.msg);
        bench_close(&b);
        low_free(&low);
        m_free(&m);
    }
    {
        struct bench b;
        struct err e = {0};

        m_make(&m, &m_archs[2], 5); /* experts */
        low_make(&low, &m, 4, "attn", 1);
        rename_it(&low, "blk.0.attn_q.weight.lora_a",
                  "blk.0.ffn_gate_exps.weight.lora_a");
        rename_it(&low, "blk.0.attn_q.weight.lora_b",
                  "blk.0.ffn_gate_exps.weight.lora_b");
        ok(bench_open(&b, &m, &low, scale, 1, &one_thread, &e) &&
               e.code == ERR_UNSUPPORTED && strstr(e.msg, "ffn_gate_exps"),
           "%s", e.msg);
        bench_close(&b);
        low_free(&low);
        m_free(&m);
    }
}

/* A file of half precision, one of blocks, and a model as no adapter. */
static void check_types(void)
{
    static const float scale[1] = {1};
    static struct tiny m;
    static struct low low;
    struct bench b;
    struct err e = {0};
    int32_t t[NTOK];
    float v[LOGITS];

    m_make(&m, &m_archs[0], 5);
    for (int i = 0; i < 2; i++) {
        low_make(&low, &m, 32, "attn", 1);
        for (int k = 0; k < low.nt; k++)
            low.t[k].type = i ? GGUF_T_Q8_0 : GGUF_T_BF16;
        tokens(t, NTOK, 0);
        ok(!bench_open(&b, &m, &low, scale, 1, &one_thread, &e) &&
               !run(&b, t, NTOK, NTOK, NULL, v, &e),
           "%s adapters %s", i ? "Q8_0" : "BF16", e.msg);
        bench_close(&b);
        low_free(&low);
    }
    low_make(&low, &m, 4, "attn", 1);
    {
        struct gguf_str file = m_pack(&m);
        struct gguf *g = NULL;
        struct adapter *a = NULL;

        ok(!gguf_open_memory(&g, "tiny.gguf", &file, 1, &e) &&
               adapter_open(&a, g, &e) && e.code == ERR_FORMAT && !a,
           "a model is no adapter: %s", e.msg);
        gguf_close(g);
    }
    low_free(&low);
    m_free(&m);
}

/* A byte of the head changed: refused, or it runs. */
static void check_mutants(void)
{
    enum { MUTANTS = 600 };
    static const float scale[1] = {1};
    static struct tiny m, dice;
    static struct low low;
    struct model_adapter with = {.scale = scale[0]};
    struct model_opts o = {.adapter = &with, .nadapter = 1};
    struct gguf *g = NULL, *bad = NULL;
    struct be *be = NULL;
    struct err e = {0};
    struct gguf_str model, file;
    int opened = 0, refused = 0;

    dice.seed = 5;
    m_make(&m, &m_archs[0], 5);
    low_make(&low, &m, 4, "blk.0", 1);
    model = m_pack(&m);
    file = low_pack(&low);
    ok(!gguf_open_memory(&g, "tiny.gguf", &model, 1, &e), "a model %s", e.msg);
    for (int i = 0; i < MUTANTS; i++) {
        double r = (m_random(&dice) + 1) / 2;
        unsigned char *p = low.file.p + (size_t)(r * 1200), was = *p;
        struct adapter *a = NULL;
        struct model *x = NULL;

        e = (struct err){0};
        *p = (unsigned char)(m_random(&dice) * 128 + 128);
        if (gguf_open_memory(&bad, "low.gguf", &file, 1, &e) ||
            adapter_open(&a, bad, &e) || be_open(&be, "cpu", &one_thread, &e)) {
            refused += e.code == ERR_FORMAT || e.code == ERR_UNSUPPORTED;
        } else {
            with.a = a;
            if (model_open(&x, g, be, &o, &e))
                refused += e.code == ERR_FORMAT || e.code == ERR_UNSUPPORTED;
            else
                opened++;
            model_close(x);
            be_close(be);
        }
        adapter_close(a);
        gguf_close(bad);
        bad = NULL;
        *p = was;
    }
    ok(opened && refused && opened + refused == MUTANTS,
       "of %d mutants %d open, %d are refused", MUTANTS, opened, refused);
    gguf_close(g);
    low_free(&low);
    m_free(&m);
}

int main(void)
{
    for (int i = 0; i < M_NARCH; i++)
        check_arch(&m_archs[i], i);
    for (int i = 0; i < M_NARCH; i += 3)
        if (!(m_archs[i].flags & M_BOTH))
            check_batch(&m_archs[i]);
    check_pages();
    check_refused();
    check_types();
    check_mutants();
    return tap_done();
}
