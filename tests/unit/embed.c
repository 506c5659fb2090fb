/* SPDX-License-Identifier: MIT
 * embed.c - vectors, pooling and heads against plain loops in double; the same
 * bits however it is cut; the models of ../shared/oracle/tiny where they are.
 */
#include "embed/embed.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>

#include "base/map.h"
#include "embed/vector.h"
#include "tests/unit/model_naive.h"
#include "tests/unit/tap.h"

#define DIR_ "../shared/oracle/tiny/"

/* ---- vectors ---- */

static void vectors(void)
{
    float v[5] = {3, 0, -4, 0, 0}, z[3] = {0}, a[4] = {1, 2, 3, 4};
    float h[6] = {1, 0.1f, 65504, 1e-8f, -0.333333f, 2049};
    const uint16_t half[6] = {0x3c00, 0x2e66, 0x7bff, 0, 0xb555, 0x6800};
    float q[5] = {-127, 63.5f, 0.5f, 1.5f, -2.5f}, bad[2] = {1};
    int8_t b[5];
    uint16_t f[6];
    float scale;

    embed_normal(v, 5);
    embed_normal(z, 3);
    ok(fabsf(v[0] - 0.6f) < 1e-7f && fabsf(v[2] + 0.8f) < 1e-7f && !z[1],
       "length 1, or none");
    ok(fabs(embed_cosine(a, a, 4) - 1) < 1e-15 &&
           fabs(embed_cosine(a, v, 4) + 9 / (5 * sqrt(30))) < 1e-7 &&
           embed_cosine(a, z, 3) == 0,
       "cosines");
    embed_f16(f, h, 6);
    ok(!memcmp(f, half, sizeof f), "halves");
    scale = embed_int8(b, q, 5);
    ok(b[0] == -127 && b[1] == 64 && b[2] == 0 && b[3] == 2 && b[4] == -2 &&
           fabsf(scale - 1) < 1e-9f,
       "bytes: %d %d %d %d %d, scale %g", b[0], b[1], b[2], b[3], b[4],
       (double)scale);
    ok(embed_int8(b, z, 3) == 0 && !b[0], "bytes of zeros");
    bad[1] = NAN;
    ok(!embed_finite(bad, 2) && embed_finite(bad, 1), "what is not finite");
}

/* ---- a model and its jobs ---- */

struct made {
    struct gguf *g;
    struct be *be;
    struct model *m;
    struct kv *kv;
    struct embed *s;
    struct err why; /* of the last job that failed */
    int ended;
};

static void unmake(struct made *x)
{
    embed_free(x->s);
    kv_free(x->kv);
    model_close(x->m);
    be_close(x->be);
    gguf_close(x->g);
    memset(x, 0, sizeof *x);
}

static int on_end(void *arg, struct embed_job *job, const struct err *why,
                  struct err *e)
{
    struct made *x = arg;

    (void)job;
    (void)e;
    x->ended++;
    if (why)
        x->why = *why;
    return 0;
}

struct how {
    enum model_pooling pool;
    int dims, batch, chunk, threads;
    bool raw, ref;
};

/* G is X's from here on. */
static int make(struct made *x, struct gguf *g, struct how h, struct err *e)
{
    struct be_opts bo = {
        .threads = h.threads, .cpu_mask = h.ref ? 0 : ~0u, .pack = true};
    struct model_opts mo = {.ktype = KV_F32, .vtype = KV_F32, .embed = true};
    struct embed_config c = {.pool = h.pool,
                             .dims = h.dims,
                             .normal = !h.raw,
                             .batch = h.batch,
                             .chunk = h.chunk,
                             .end = on_end,
                             .arg = x};
    struct kv_config k;

    *x = (struct made){.g = g};
    if (be_open(&x->be, "cpu", &bo, e) || model_open(&x->m, g, x->be, &mo, e))
        return -1;
    k = *model_kv(x->m);
    k.positions = (int64_t)model_context(x->m) * h.batch;
    k.context = model_context(x->m);
    k.max_batch = k.context > h.chunk ? k.context : h.chunk;
    k.nseq = h.batch;
    if (kv_new(&x->kv, x->be, &k, e))
        return -1;
    c.model = x->m;
    c.kv = x->kv;
    return embed_new(&x->s, &c, e);
}

static int run(struct made *x, struct embed_job *job, int n, struct err *e)
{
    x->ended = 0;
    x->why.code = ERR_NONE;
    for (int i = 0; i < n; i++)
        embed_add(x->s, &job[i]);
    while (embed_busy(x->s))
        if (embed_step(x->s, e))
            return -1;
    return x->ended == n ? 0 : -1;
}

static struct gguf *open_tiny(struct tiny *m)
{
    struct gguf_str file = m_pack(m);
    struct gguf *g = NULL;
    struct err e = {0};

    if (gguf_open_memory(&g, "tiny", &file, 1, &e))
        printf("# %s\n", e.msg);
    return g;
}

static struct gguf *tiny_of(const char *name)
{
    static struct tiny m;
    int i = 0;

    while (strcmp(m_archs[i].name, name))
        i++;
    m_free(&m);
    m_make(&m, &m_archs[i], 7);
    return open_tiny(&m);
}

enum { JOBS = 5, LONGEST = 90 };

static void tokens(int32_t *t, int n, int which)
{
    for (int i = 0; i < n; i++)
        t[i] = (i * 7 + i * i * 3 + 1 + which) % M_VOCAB;
}

/* Jobs of several lengths, MOST at most. */
static void fill(struct embed_job *job, int32_t t[JOBS][LONGEST], int most)
{
    static const int n[JOBS] = {1, 20, LONGEST, 3, 70};

    memset(job, 0, JOBS * sizeof *job);
    for (int i = 0; i < JOBS; i++) {
        tokens(t[i], n[i], i);
        job[i].tok = t[i];
        job[i].n = n[i] < most ? n[i] : most;
    }
}

static void let_go(struct embed_job *job)
{
    for (int i = 0; i < JOBS; i++)
        free(job[i].v);
}

static double furthest(const float *got, const double *want, int n)
{
    double worst = 0;

    for (int i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        worst = d > worst || d != d ? d : worst;
    }
    return worst;
}

/* What pooling makes of HIDDEN[n]. */
static void pool(double *to, const double *hidden, int n,
                 enum model_pooling how, bool normal)
{
    double len = 0;

    for (int i = 0; i < M_DIM; i++) {
        to[i] = hidden[(how == MODEL_POOL_CLS ? 0 : n - 1) * M_DIM + i];
        for (int k = 0; how == MODEL_POOL_MEAN && k < n - 1; k++)
            to[i] += hidden[k * M_DIM + i];
        if (how == MODEL_POOL_MEAN)
            to[i] /= n;
        len += to[i] * to[i];
    }
    for (int i = 0; normal && i < M_DIM; i++)
        to[i] /= sqrt(len);
}

/* Decoders by their formulas, with every pooling. */
static void pooling(int arch)
{
    static struct tiny m;
    static double hidden[N_MAX * M_DIM], logits[N_MAX * M_VOCAB];
    static int32_t t[JOBS][LONGEST];
    static int32_t type[LONGEST];
    struct embed_job job[JOBS];
    const char *name = m_archs[arch].name;

    for (int i = 0; i < LONGEST; i++)
        type[i] = i > 7;
    m_make(&m, &m_archs[arch], 12345);
    for (int how = MODEL_POOL_MEAN; how <= MODEL_POOL_LAST; how++) {
        struct how h = {.pool = (enum model_pooling)how,
                        .batch = 3,
                        .chunk = 40,
                        .threads = 2,
                        .raw = how == MODEL_POOL_CLS};
        struct made x;
        struct err e = {0};
        double worst = 0;
        int bad;

        fill(job, t, N_MAX);
        for (int i = 0; i < JOBS && m_archs[arch].flags & M_PLACES; i += 2)
            job[i].type = type;
        bad = make(&x, open_tiny(&m), h, &e) || run(&x, job, JOBS, &e);
        for (int i = 0; !bad && i < JOBS; i++) {
            double want[M_DIM], d;

            naive_run(&m, t[i], job[i].type, job[i].n, hidden, logits);
            pool(want, hidden, job[i].n, h.pool, !h.raw);
            d = job[i].rows == 1 ? furthest(job[i].v, want, M_DIM) : NAN;
            worst = d > worst || d != d ? d : worst;
        }
        ok(!bad && worst < 1e-4, "%s, pooling %d: differs by %.2g %s", name,
           how, worst, e.msg);
        let_go(job);
        unmake(&x);
    }
    m_free(&m);
}

/* ---- the same bits ---- */

static bool same(const struct embed_job *a, const struct embed_job *b,
                 size_t width)
{
    return a->v && b->v && a->rows == b->rows &&
           !memcmp(a->v, b->v, (size_t)a->rows * width * sizeof *a->v);
}

static void laws_of(const char *name, enum model_pooling how)
{
    static const struct how hows[] = {
        {.batch = 1, .chunk = 512, .threads = 1},
        {.batch = 1, .chunk = 1, .threads = 1},
        {.batch = 5, .chunk = 7, .threads = 3},
        {.batch = 2, .chunk = 33, .threads = 2, .ref = true},
    };
    static int32_t t[JOBS][LONGEST];
    struct embed_job want[JOBS], got[JOBS];
    struct how h = {.pool = how, .batch = JOBS, .chunk = 512, .threads = 1};
    struct made x;
    struct err e = {0};
    size_t width = 0;
    int bad;

    fill(want, t, LONGEST);
    bad = make(&x, tiny_of(name), h, &e) || run(&x, want, JOBS, &e);
    if (ok(!bad, "%s, pooling %d: runs %s", name, how, e.msg))
        width = (size_t)embed_width(x.s);
    unmake(&x);
    for (size_t k = 0; !bad && k < sizeof hows / sizeof *hows; k++) {
        int right = 0;

        h = hows[k];
        h.pool = how;
        fill(got, t, LONGEST);
        if (!make(&x, tiny_of(name), h, &e) && !run(&x, got, JOBS, &e))
            for (int i = 0; i < JOBS; i++)
                right += same(&got[i], &want[i], width);
        ok(right == JOBS,
           "%s, pooling %d: batch %d, chunk %d, %d threads%s: the same bits %s",
           name, how, h.batch, h.chunk, h.threads, h.ref ? ", plain C" : "",
           e.msg);
        let_go(got);
        unmake(&x);
    }
    let_go(want);
}

/* What begins alike is read once; each is as if it were alone. */
static void beginnings(void)
{
    struct how h = {
        .pool = MODEL_POOL_LAST, .batch = 1, .chunk = 512, .threads = 1};
    static int32_t t[JOBS][LONGEST];
    struct embed_job job[JOBS], alone[JOBS];
    struct made x;
    struct err e = {0};
    int right = 0;

    fill(job, t, LONGEST);
    fill(alone, t, LONGEST);
    for (int i = 0; i < JOBS; i++) {
        tokens(t[i], LONGEST, 0);
        t[i][LONGEST - 1 - 5 * i] = i;
        job[i].n = alone[i].n = LONGEST;
    }
    if (!make(&x, tiny_of("gemma2"), h, &e) && !run(&x, job, JOBS, &e))
        right = 1;
    unmake(&x);
    for (int i = 0; i < JOBS && right; i++) {
        right = !make(&x, tiny_of("gemma2"), h, &e) &&
                !run(&x, &alone[i], 1, &e) && same(&job[i], &alone[i], M_DIM);
        unmake(&x);
    }
    ok(right, "beginnings that are the same %s", e.msg);
    let_go(job);
    let_go(alone);
}

/* ---- heads ---- */

static void layer(double *to, const struct tiny *m, const char *name,
                  const double *x, int n_in, int n_out)
{
    char bias[32];
    const struct m_tensor *w, *b;

    snprintf(bias, sizeof bias, "%s.weight", name);
    w = m_find((struct tiny *)(uintptr_t)m, -1, bias);
    snprintf(bias, sizeof bias, "%s.bias", name);
    b = m_find((struct tiny *)(uintptr_t)m, -1, bias);
    for (int r = 0; r < n_out; r++) {
        to[r] = b ? (double)b->v[r] : 0;
        for (int i = 0; i < n_in; i++)
            to[r] += (double)w->v[r * n_in + i] * x[i];
    }
}

enum { WIDE = 19, LABELS = 3 };

static void put_labels(struct gguf_out *o)
{
    static const char p[] =
        "\2\0\0\0\0\0\0\0no\3\0\0\0\0\0\0\0yes\0\0\0\0\0\0\0"
        "\0";

    gguf_put_arr(o, "llama.classifier.output_labels", GGUF_STR, LABELS, p,
                 sizeof p - 1);
}

static void put_cls(struct tiny *m, bool first, bool second)
{
    m_make(m, &m_archs[0], 12345);
    m_int(m, "pooling_type", 4);
    m->more = put_labels;
    if (first) {
        m_mat(m, -1, "cls.weight", M_DIM, second ? WIDE : LABELS, 1);
        m_bias(m, -1, "cls.bias", second ? WIDE : LABELS);
    }
    if (second) {
        m_mat(m, -1, "cls.output.weight", first ? WIDE : M_DIM, LABELS, 1);
        m_bias(m, -1, "cls.output.bias", LABELS);
    }
}

static void classifier(bool first, bool second)
{
    static struct tiny m;
    static double hidden[N_MAX * M_DIM], logits[N_MAX * M_VOCAB];
    static int32_t t[JOBS][LONGEST];
    struct how h = {.batch = 4, .chunk = 64, .threads = 2};
    struct embed_job job[JOBS];
    struct made x;
    struct err e = {0};
    double worst = 0;
    int bad;

    put_cls(&m, first, second);
    h.pool = MODEL_POOL_RANK;
    fill(job, t, N_MAX);
    bad = make(&x, open_tiny(&m), h, &e) || run(&x, job, JOBS, &e) ||
          embed_width(x.s) != LABELS || embed_pool_of(x.m) != MODEL_POOL_RANK;
    for (int i = 0; !bad && i < JOBS; i++) {
        double in[M_DIM], mid[WIDE], want[LABELS], d;

        naive_run(&m, t[i], job[i].type, job[i].n, hidden, logits);
        pool(in, hidden, job[i].n, MODEL_POOL_LAST, false);
        if (first)
            layer(mid, &m, "cls", in, M_DIM, second ? WIDE : LABELS);
        for (int k = 0; k < WIDE && first; k++)
            mid[k] = second || k < LABELS ? tanh(mid[k]) : 0;
        if (second)
            layer(want, &m, "cls.output", first ? mid : in,
                  first ? WIDE : M_DIM, LABELS);
        else
            memcpy(want, mid, sizeof want);
        d = furthest(job[i].v, want, LABELS);
        worst = d > worst || d != d ? d : worst;
    }
    ok(!bad && worst < 2e-4, "classifier of %s%s%s: differs by %.2g %s",
       first ? "cls" : "", first && second ? ", " : "",
       second ? "cls.output" : "", worst, e.msg);
    ok(!bad && embed_label(x.s, 0).n == 2 && embed_label(x.s, 1).n == 3 &&
           !memcmp(embed_label(x.s, 1).p, "yes", 3) && !embed_label(x.s, 2).n,
       "its labels");
    let_go(job);
    unmake(&x);
    m_free(&m);
}

static void sentence_layers(void)
{
    static struct tiny m;
    static double hidden[N_MAX * M_DIM], logits[N_MAX * M_VOCAB];
    static int32_t t[JOBS][LONGEST];
    struct how h = {.pool = MODEL_POOL_MEAN,
                    .batch = 4,
                    .chunk = 64,
                    .threads = 2,
                    .dims = 10};
    struct embed_job job[JOBS];
    struct made x;
    struct err e = {0};
    double worst = 0;
    int bad;

    m_make(&m, &m_archs[0], 12345);
    m_mat(&m, -1, "dense_2.weight", M_DIM, WIDE, 1);
    m_mat(&m, -1, "dense_3.weight", WIDE, 12, 1);
    fill(job, t, N_MAX);
    bad = make(&x, open_tiny(&m), h, &e) || run(&x, job, JOBS, &e) ||
          embed_width(x.s) != 10;
    for (int i = 0; !bad && i < JOBS; i++) {
        double in[M_DIM], mid[WIDE], want[12], len = 0, d;

        naive_run(&m, t[i], job[i].type, job[i].n, hidden, logits);
        pool(in, hidden, job[i].n, MODEL_POOL_MEAN, false);
        layer(mid, &m, "dense_2", in, M_DIM, WIDE);
        layer(want, &m, "dense_3", mid, WIDE, 12);
        for (int k = 0; k < 10; k++)
            len += want[k] * want[k];
        for (int k = 0; k < 10; k++)
            want[k] /= sqrt(len);
        d = furthest(job[i].v, want, 10);
        worst = d > worst || d != d ? d : worst;
    }
    ok(!bad && worst < 1e-4, "dense_2, dense_3, a cut: differs by %.2g %s",
       worst, e.msg);
    let_go(job);
    unmake(&x);
    m_free(&m);
}

/* ---- what is wrong ---- */

static void refuse(struct tiny *m, struct how h, enum err_code code,
                   const char *words)
{
    struct made x;
    struct err e = {0};

    h.batch = h.threads = 1;
    h.chunk = 8;
    ok(make(&x, open_tiny(m), h, &e) && e.code == code && strstr(e.msg, words),
       "refused: %s", e.msg);
    unmake(&x);
    m_free(m);
}

static void refusals(void)
{
    static struct tiny m;
    struct how rank = {.pool = MODEL_POOL_RANK},
               mean = {.pool = MODEL_POOL_MEAN};

    m_make(&m, &m_archs[0], 1);
    refuse(&m, rank, ERR_UNSUPPORTED, "no classifier");
    m_make(&m, &m_archs[0], 1);
    mean.dims = M_DIM + 1;
    refuse(&m, mean, ERR_USAGE, "cannot be kept");
    mean.dims = 0;
    put_cls(&m, true, true);
    m_find(&m, -1, "cls.weight")->ne[0] = M_DIM / 2;
    refuse(&m, rank, ERR_FORMAT, "its shape");
    put_cls(&m, true, true);
    m_find(&m, -1, "cls.bias")->ne[0] = WIDE - 1;
    refuse(&m, rank, ERR_FORMAT, "its shape");
    put_cls(&m, true, true);
    m_find(&m, -1, "cls.output.weight")->type = GGUF_T_I32;
    refuse(&m, rank, ERR_UNSUPPORTED, "type");
    put_cls(&m, false, true);
    m_find(&m, -1, "cls.output.weight")->ne[1] = 2;
    m_find(&m, -1, "cls.output.bias")->ne[0] = 2;
    refuse(&m, rank, ERR_FORMAT, "output_labels");
    m_make(&m, &m_archs[0], 1);
    m_mat(&m, -1, "dense_3.weight", WIDE, 12, 1);
    refuse(&m, mean, ERR_FORMAT, "its shape");
}

static void one(struct made *x, struct embed_job job, enum err_code code,
                const char *words)
{
    struct err e = {0};

    ok(!run(x, &job, 1, &e) && x->why.code == code &&
           (!code || strstr(x->why.msg, words)) && !job.v == !!code,
       "%s %s", code ? "a job fails:" : "a job after it runs",
       x->why.code ? x->why.msg : e.msg);
    free(job.v);
}

static void failures(void)
{
    static struct tiny m;
    static int32_t t[2 * M_CONTEXT], type[3] = {0, 1, 0};
    int32_t odd[2] = {1, M_VOCAB};
    struct how h = {
        .pool = MODEL_POOL_MEAN, .batch = 2, .chunk = 16, .threads = 1};
    struct made x;
    struct err e = {0};

    m_make(&m, &m_archs[0], 1);
    if (!ok(!make(&x, open_tiny(&m), h, &e), "opens %s", e.msg))
        return;
    one(&x, (struct embed_job){.tok = t, .n = M_CONTEXT + 1}, ERR_CONTEXT,
        "more than the context");
    one(&x, (struct embed_job){.tok = t, .n = M_CONTEXT}, ERR_NONE, "");
    one(&x, (struct embed_job){.tok = odd, .n = 2}, ERR_FORMAT, "none of");
    one(&x, (struct embed_job){.tok = t, .type = type, .n = 3}, ERR_FORMAT,
        "of type 1");
    one(&x, (struct embed_job){.tok = t, .n = 3}, ERR_NONE, "");
    unmake(&x);
    m_free(&m);
    m_make(&m, &m_archs[0], 1);
    m_find(&m, -1, "output_norm.weight")->v[3] = INFINITY;
    if (ok(!make(&x, open_tiny(&m), h, &e), "opens %s", e.msg))
        one(&x, (struct embed_job){.tok = t, .n = 3}, ERR_FORMAT, "not finite");
    unmake(&x);
    m_free(&m);
}

/* ---- ../shared ---- */

static double cosine(const float *v, const double *w, size_t n)
{
    double vw = 0, vv = 0, ww = 0;

    for (size_t i = 0; i < n; i++) {
        vw += (double)v[i] * w[i];
        vv += (double)v[i] * (double)v[i];
        ww += w[i] * w[i];
    }
    return vw / sqrt(vv * ww);
}

static void oracle(const char *name)
{
    static const struct {
        const char *key;
        enum model_pooling pool;
    } keys[] = {{"pooled_mean", MODEL_POOL_MEAN},
                {"pooled_cls", MODEL_POOL_CLS}};
    char path[512];
    int32_t t[512];
    json_t *j, *tok;
    int n;

    snprintf(path, sizeof path, DIR_ "%s/tokens.json", name);
    j = json_load_file(path, 0, NULL);
    tok = json_object_get(j, "tokens");
    n = (int)json_array_size(tok);
    for (int i = 0; i < n && i < 512; i++)
        t[i] = (int32_t)json_integer_value(json_array_get(tok, (size_t)i));
    for (size_t k = 0; k < 2; k++) {
        const json_t *w = json_object_get(j, keys[k].key);
        struct how h = {.pool = keys[k].pool,
                        .batch = 1,
                        .chunk = 64,
                        .threads = 2,
                        .raw = true};
        struct embed_job job = {.tok = t, .n = n};
        double want[1024] = {0};
        struct err e = {0};
        struct gguf *g = NULL;
        struct made x = {0};
        int bad;

        snprintf(path, sizeof path, DIR_ "%s/model.gguf", name);
        bad = gguf_open(&g, path, &e) || make(&x, g, h, &e) ||
              run(&x, &job, 1, &e) ||
              (size_t)embed_width(x.s) != json_array_size(w) ||
              embed_width(x.s) > 1024 || !model_both(x.m);
        for (size_t i = 0; !bad && i < json_array_size(w); i++)
            want[i] = json_real_value(json_array_get(w, i));
        ok(!bad && furthest(job.v, want, embed_width(x.s)) < 2e-4 &&
               cosine(job.v, want, (size_t)embed_width(x.s)) > 1 - 1e-4,
           "%s: %s differs by %.2g, cosine 1 - %.2g %s", name, keys[k].key,
           bad ? NAN : furthest(job.v, want, embed_width(x.s)),
           bad ? NAN : 1 - cosine(job.v, want, (size_t)embed_width(x.s)),
           e.msg);
        free(job.v);
        unmake(&x);
    }
    json_decref(j);
}

int main(void)
{
    static const char *const names[] = {"gemma2", "bert", "modern-bert",
                                        "gemma-embedding"};
    DIR *d = opendir(DIR_);

    vectors();
    for (int i = 0; i < M_NARCH; i++)
        pooling(i);
    for (int how = MODEL_POOL_NONE; how <= MODEL_POOL_LAST; how++)
        for (int i = 0; i < 4; i++)
            laws_of(names[i], (enum model_pooling)how);
    beginnings();
    classifier(true, true);
    classifier(false, true);
    classifier(true, false);
    sentence_layers();
    refusals();
    failures();
    if (d) {
        closedir(d);
        oracle("bert");
        oracle("nomic_bert");
        oracle("modernbert");
    }
    return tap_done();
}
