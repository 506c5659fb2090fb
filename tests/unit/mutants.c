/* SPDX-License-Identifier: MIT
 *
 * mutants.c - models that differ from good ones in one number of their file: of
 * the metadata, of the tensor table, or in the type or shape of a tensor and
 * then in all that follows from it.  Each is refused in one line or runs, as
 * llm-decode would run it, or llm-embed those that embed, within 5 seconds.
 *
 * MUTANTS is how many (default 3000), MUTANTS_SEED where they begin; one number
 * alone, seed = N and count = 1, makes one again. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "run/run.h"
#include "tests/unit/model_run.h"
#include "tests/unit/model_words.h"
#include "tests/unit/tap.h"

enum { SECONDS = 5, MAX_FIELDS = 2048 };

/* Of the mutant at hand: what a signal handler shows. */
static char what[200];

static void on_signal(int sig)
{
    static const char text[] = "\n# died, or took too long: ";

    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0 ||
        write(STDOUT_FILENO, what, strlen(what)) < 0)
        _exit(2);
    signal(sig, SIG_DFL);
    raise(sig);
}

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state * 0x9e3779b97f4a7c15u >> 32) % n);
}

/* ---- numbers of a file: where they are ---- */

struct field {
    size_t at, size;
};
static struct field field[MAX_FIELDS];
static int nfield;

static void add_field(size_t at, size_t size)
{
    if (nfield < MAX_FIELDS)
        field[nfield++] = (struct field){at, size};
}

static size_t skip_string(const unsigned char *p, size_t at)
{
    add_field(at, 8);
    return at + 8 + (size_t)rd_u64(p + at);
}

static size_t skip_value(const unsigned char *p, size_t at, uint32_t type)
{
    size_t size;

    if (type == GGUF_STR)
        return skip_string(p, at);
    if (type == GGUF_ARR) {
        uint32_t elem = rd_u32(p + at);
        uint64_t n = rd_u64(p + at + 4);

        add_field(at, 4);
        add_field(at + 4, 8);
        at += 12;
        for (uint64_t i = 0; i < n; i++)
            at = skip_value(p, at, elem);
        return at;
    }
    size = gguf_val_size((enum gguf_type)type);
    add_field(at, size);
    return at + size;
}

static void find_fields(const unsigned char *p)
{
    uint64_t ntensor = rd_u64(p + 8), nkey = rd_u64(p + 16);
    size_t at = 24;

    nfield = 0;
    add_field(4, 4);
    add_field(8, 8);
    add_field(16, 8);
    for (uint64_t i = 0; i < nkey; i++) {
        at = skip_string(p, at);
        add_field(at, 4);
        at = skip_value(p, at + 4, rd_u32(p + at));
    }
    for (uint64_t i = 0; i < ntensor; i++) {
        uint32_t ndim;

        at = skip_string(p, at);
        ndim = rd_u32(p + at);
        add_field(at, 4);
        at += 4;
        for (; ndim; ndim--, at += 8)
            add_field(at, 8);
        add_field(at, 4);
        add_field(at + 4, 8);
        at += 12;
    }
}

/* ---- changes ---- */

static void change_field(struct gguf_str file)
{
    static const uint64_t odd[] = {
        0,          1,          2,          3,         31,         33,
        64,         255,        256,        4097,      1u << 20,   INT32_MAX,
        1u << 31,   UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX,
        0x7fc00000, 0x7f800000, 0xff800000, 0x00000001};
    unsigned char *p = (unsigned char *)file.p, v[8] = {0};
    const struct field *f;
    uint64_t was = 0, now;

    find_fields(p);
    f = &field[below((uint32_t)nfield)];
    memcpy(v, p + f->at, f->size);
    was = rd_u64(v);
    switch (below(5)) {
    case 0:
        now = was + 1;
        break;
    case 1:
        now = was - 1;
        break;
    case 2:
        now = was ^ 1ull << below((uint32_t)f->size * 8);
        break;
    default:
        now = odd[below(sizeof odd / sizeof *odd)];
    }
    wr_u64(v, now);
    memcpy(p + f->at, v, f->size);
    snprintf(what + strlen(what), sizeof what - strlen(what),
             "%zu bytes at %zu: %llx, was %llx", f->size, f->at,
             (unsigned long long)now, (unsigned long long)was);
}

static void change_type(struct tiny *m)
{
    struct m_tensor *t = &m->t[below((uint32_t)m->nt)];
    const struct gguf_type_info *ti;

    do {
        t->type = below(64);
        ti = gguf_type_info(t->type);
    } while (!ti || (uint32_t)t->ne[0] % ti->elems);
    snprintf(what + strlen(what), sizeof what - strlen(what), "%s is %s",
             t->name, ti->name);
}

static void change_shape(struct tiny *m)
{
    struct m_tensor *t = &m->t[below((uint32_t)m->nt)];
    int d = (int)below(3), was = t->ne[d];
    size_t n;

    switch (below(4)) {
    case 0:
        t->ne[d] += 1;
        break;
    case 1:
        t->ne[d] *= 2;
        break;
    case 2:
        t->ne[d] = was > 1 ? was - 1 : 2;
        break;
    default:
        t->ne[d] = 1 + (int)below(100);
    }
    n = (size_t)t->ne[0] * (size_t)t->ne[1] * (size_t)t->ne[2];
    free(t->v);
    t->v = malloc(n * sizeof *t->v);
    for (size_t i = 0; i < n; i++)
        t->v[i] = (float)m_random(m);
    snprintf(what + strlen(what), sizeof what - strlen(what),
             "%s: dimension %d is %d, not %d", t->name, d, t->ne[d], was);
}

/* A value of a tensor that is no number, or too large for one. */
static void change_value(struct tiny *m)
{
    static const float odd[] = {NAN,    INFINITY, -INFINITY, 1e38f,
                                -3e38f, 1e-42f,   0};
    struct m_tensor *t = &m->t[below((uint32_t)m->nt)];
    uint32_t i = below((uint32_t)(t->ne[0] * t->ne[1] * t->ne[2]));

    t->v[i] = odd[below(sizeof odd / sizeof *odd)];
    snprintf(what + strlen(what), sizeof what - strlen(what), "%s[%u] = %g",
             t->name, i, (double)t->v[i]);
}

/* ---- what llm-decode does with it ---- */

static int ended;

static int on_event(void *arg, const struct run_event *ev, struct err *e)
{
    (void)arg;
    (void)e;
    ended += ev->kind == RUN_END;
    return 0;
}

static int decode(struct be *be, struct model *m, struct tok *t, struct err *e)
{
    static const int32_t prompt[] = {1, 2, 3, 4, 5, 6, 7};
    struct kv_config k = *model_kv(m);
    struct run_config c = {
        .model = m, .tok = t, .batch = 1, .chunk = 4, .overflow = 1};
    struct run_request q = {.prompt = prompt, .nprompt = 7, .n = 2};
    struct run *r;
    int rc;

    sample_defaults(&q.sampling);
    k.positions = model_context(m);
    k.max_batch = 5;
    k.nseq = 1;
    if (kv_new(&c.kv, be, &k, e))
        return -1;
    rc = run_new(&r, &c, e);
    if (!rc) {
        rc = run_add(r, &q, e);
        while (!rc && run_busy(r))
            rc = run_step(r, on_event, NULL, e);
        run_free(r);
    }
    kv_free(c.kv);
    return rc;
}

/* ---- and llm-embed ---- */

static int embed(struct be *be, struct model *m, struct err *e)
{
    static const int32_t text[] = {1, 2, 3, 4, 5, 6, 7};
    int n = model_context(m) < 7 ? model_context(m) : 7;
    int32_t page = 0;
    struct runner r = {.be = be, .m = m, .npage = 1, .pages = &page};

    if (runner_kv(&r, e) || runner_run(&r, text, 0, n, RUN_ALL, NULL, e))
        return -1;
    ended++;
    return 0;
}

static int run_file(struct gguf_str file, bool embeds, struct err *e)
{
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct model_opts mo = {.ktype = KV_F16, .vtype = KV_F16, .embed = embeds};
    struct gguf *g = NULL;
    struct tok *t = NULL;
    struct be *be = NULL;
    struct model *m = NULL;
    int rc = gguf_open_memory(&g, "mutant", &file, 1, e) ||
             tok_open(&t, g, NULL, e) || be_open(&be, "cpu", &o, e) ||
             model_open(&m, g, be, &mo, e) ||
             (embeds ? embed(be, m, e) : decode(be, m, t, e));

    model_close(m);
    be_close(be);
    tok_close(t);
    gguf_close(g);
    return rc ? -1 : 0;
}

/* A signal after so much time of the processor. */
static void watch(int seconds)
{
    struct itimerval t = {.it_value.tv_sec = seconds};

    setitimer(ITIMER_PROF, &t, NULL);
}

/* 1: it ran; 0: refused; -1: neither. */
static int mutant(uint64_t seed)
{
    static struct tiny m;
    struct err e = {0};
    struct gguf_str file;
    char *copy;
    int kind, how, rc;

    state = (seed + 1) * 0x9e3779b97f4a7c15u;
    kind = (int)below(M_NARCH);
    how = (int)below(8);
    snprintf(what, sizeof what,
             "mutant %llu, %s %d: ", (unsigned long long)seed,
             m_archs[kind].name, kind);
    m_make(&m, &m_archs[kind], 11);
    m.more = m_vocabulary;
    if (how == 0)
        change_type(&m);
    else if (how == 1)
        change_shape(&m);
    else if (how == 2)
        change_value(&m);
    file = m_pack(&m);
    if (how > 2)
        change_field(file);
    /* No byte behind it, for sanitizers. */
    copy = malloc(file.n);
    memcpy(copy, file.p, file.n);
    file.p = copy;
    ended = 0;
    watch(SECONDS);
    rc = run_file(file, m.a->flags & M_BOTH, &e);
    watch(0);
    free(copy);
    m_free(&m);
    if (!rc)
        return ended == 1 ? 1 : -1;
    return e.code && *e.msg && !strchr(e.msg, '\n') ? 0 : -1;
}

int main(void)
{
    const char *count = getenv("MUTANTS"), *from = getenv("MUTANTS_SEED");
    uint64_t n = count ? strtoull(count, NULL, 10) : 3000,
             seed = from ? strtoull(from, NULL, 10) : 1;
    int ran = 0, refused = 0;

#if defined(__SANITIZE_ADDRESS__)
    n = count ? n : 600;
#else
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGABRT, on_signal);
#endif
    signal(SIGPROF, on_signal);
    printf("# MUTANTS_SEED=%llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < n; i++) {
        int got = mutant(seed + i);

        if (got < 0)
            ok(false, "%s", what);
        ran += got == 1;
        refused += !got;
    }
    ok(ran + refused == (int)n && (n < 100 || (ran && refused)),
       "of %d mutants %d run, %d are refused", (int)n, ran, refused);
    return tap_done();
}
