/* SPDX-License-Identifier: MIT
 * backend_both.c - the CPU device on a small encoder, whose columns see each
 * other both ways: against plain loops in double, and the same bits from any
 * threads, neighbours, wants, instruction sets and forms of weights. */
#include "base/cpu.h"
#include "tests/unit/backend_dev.h"
#include "tests/unit/tap.h"

enum { SEQS = 3, MOST = 300 };

/* Long ones have several chunks of 256 positions and columns beyond a call of
 * the products; short ones begin within a tile. */
static const int length[SEQS] = {MOST, 37, 203};
static int32_t tokens[SEQS][MOST], types[SEQS][MOST];
static const size_t all = (size_t)MOST * DIM;

/* ---- steps ---- */

/* Columns of a step. */
struct step {
    int n;
    int32_t tok[BLOCK + 1], pos[BLOCK + 1], seq[BLOCK + 1], type[BLOCK + 1];
    uint8_t want[BLOCK + 1];
};

/* Positions FROM..TO-1 of sequence S. */
static void put(struct step *st, int s, int from, int to)
{
    for (int p = from; p < to; p++) {
        st->tok[st->n] = tokens[s][p];
        st->type[st->n] = types[s][p];
        st->pos[st->n] = p;
        st->seq[st->n] = s;
        st->want[st->n++] = 1;
    }
}

static int run(struct dev *d, const struct step *st, float *got, struct err *e)
{
    d->type = st->type;
    return dev_run(d, st->n, st->tok, st->pos, st->seq, st->want, got, e);
}

/* Sequence S by itself. */
static int alone(struct dev *d, int s, float *got, struct err *e)
{
    static struct step st;

    st.n = 0;
    put(&st, s, 0, length[s]);
    return run(d, &st, got, e);
}

/* What a step gave for its columns, against each sequence alone. */
static int as_alone(const struct step *st, const float *got,
                    float *const want[SEQS])
{
    int same = 1, k = 0;

    for (int c = 0; c < st->n; c++)
        if (st->want[c])
            same &= !memcmp(got + (size_t)k++ * DIM,
                            want[st->seq[c]] + (size_t)st->pos[c] * DIM,
                            DIM * sizeof *got);
    return same;
}

/* ---- how it is run changes no bit ---- */

/* Plain C kernels come last. */
enum { WAYS = 4, FEWER = SANITIZED ? 2 : WAYS };
struct way {
    int threads;
    unsigned mask;
    bool nopack;
};

static void same(const struct made *m, const char *what, const struct way *w,
                 float *const want[SEQS], enum kern_kv kt, enum kern_kv vt)
{
    static struct step st;
    static float got[(size_t)BLOCK * DIM];
    struct be_opts o = {
        .threads = w->threads, .cpu_mask = w->mask, .pack = !w->nopack};
    struct dev d;
    struct err e = {0};
    int bad = dev_open(&d, m, &o, kt, vt, &e);

    /* All sequences at once, in another order. */
    st.n = 0;
    put(&st, 2, 0, length[2]);
    put(&st, 0, 0, length[0]);
    put(&st, 1, 0, length[1]);
    ok(!bad && !run(&d, &st, got, &e) && as_alone(&st, got, want),
       "%s: together, %d threads, mask %x%s %s", what, w->threads, w->mask,
       w->nopack ? ", not packed" : "", e.msg);
    /* In parts that stand between those of others; some are wanted. */
    st.n = 0;
    put(&st, 0, 0, 3);
    put(&st, 1, 0, 20);
    put(&st, 0, 3, 100);
    put(&st, 2, 0, length[2]);
    put(&st, 1, 20, length[1]);
    put(&st, 0, 100, length[0]);
    for (int c = 0; c < st.n; c++)
        st.want[c] = c % 7 == 3 || st.pos[c] == 0;
    ok(!bad && !run(&d, &st, got, &e) && as_alone(&st, got, want),
       "%s: in parts, %d threads, mask %x %s", what, w->threads, w->mask,
       e.msg);
    dev_close(&d);
}

static void near(const struct made *m, const char *what, float *const got[SEQS],
                 double bound)
{
    double *want = calloc(all, sizeof *want), sum = 0, sq = 0;

    for (int s = 0; s < SEQS; s++) {
        naive_run(m, tokens[s], types[s], length[s], want);
        for (int i = 0; i < length[s] * DIM; i++) {
            double d = (double)got[s][i] - want[i];

            sq += want[i] * want[i];
            sum += d * d;
        }
    }
    ok(sqrt(sum / sq) < bound && sq > 0.05 * (double)all,
       "%s: %.2g of the results' size from plain loops", what, sqrt(sum / sq));
    free(want);
}

static void test_type(const char *what, uint32_t type, enum kern_kv kv,
                      int window, double bound, size_t ways)
{
    static const struct way way[WAYS] = {
        {5, ~0u, false}, {1, CPU_AVX2, false}, {2, ~0u, true}, {3, 0, false}};
    struct made *m = made_model(type, 1, true);
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct dev d = {0};
    struct err e = {0};
    float *want[SEQS];
    int bad = !m;

    for (int s = 0; s < SEQS; s++)
        want[s] = calloc(all, sizeof **want);
    for (int i = 0; m && i < m->nop; i++)
        if (m->op[i].op == BE_ATTEND && m->op[i].window)
            m->op[i].window = window;
    bad = bad || dev_open(&d, m, &o, kv, kv, &e);
    for (int s = 0; s < SEQS; s++)
        bad = bad || alone(&d, s, want[s], &e);
    if (ok(!bad, "%s: runs %s", what, e.msg)) {
        near(m, what, want, bound);
        for (size_t i = 0; i < ways; i++)
            same(m, what, &way[i], want, kv, kv);
    }
    dev_close(&d);
    for (int s = 0; s < SEQS; s++)
        free(want[s]);
    made_close(m);
}

/* Few columns go other ways: norms are private, attention is fused. */
static void test_few(void)
{
    struct made *m = made_model(F32, 3, true);
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct dev one = {0}, d = {0};
    struct err e = {0};
    static float want[4][3 * DIM], got[4 * DIM];
    static struct step st;
    int bad = dev_open(&one, m, &o, KV_F32, KV_F32, &e), good = 1;

    o.threads = 3;
    bad |= dev_open(&d, m, &o, KV_F32, KV_F32, &e);
    for (int n = 1; n < 4 && !bad; n++) {
        double naive[3 * DIM], worst = 0;

        st.n = 0;
        put(&st, 0, 0, n);
        bad = run(&one, &st, want[n], &e) || run(&d, &st, got, &e);
        good &= !memcmp(got, want[n], (size_t)n * DIM * sizeof *got);
        naive_run(m, tokens[0], types[0], n, naive);
        for (int i = 0; i < n * DIM; i++)
            worst = fmax(worst, fabs((double)want[n][i] - naive[i]));
        ok(!bad && worst < 1e-4, "%d columns: %.2g from plain loops", n, worst);
        /* Beside another sequence they are no longer few. */
        put(&st, 1, 0, 9);
        for (int c = n; c < st.n; c++)
            st.want[c] = 0;
        bad |= run(&d, &st, got, &e);
        good &= !memcmp(got, want[n], (size_t)n * DIM * sizeof *got);
    }
    ok(!bad && good, "few columns: the same bits %s", e.msg);
    st.n = 0;
    put(&st, 0, 0, 5);
    memset(st.want, 0, 5);
    ok(!bad && !run(&d, &st, got, &e), "no results are wanted");
    dev_close(&one);
    dev_close(&d);
    made_close(m);
}

/* ---- what is refused ---- */

static void no_step(struct dev *d, const char *what, const struct step *st,
                    enum err_code code)
{
    static float got[(size_t)BLOCK * DIM];
    struct err e = {0};

    ok(run(d, st, got, &e) && e.code == code, "%s: %s", what, e.msg);
}

static void test_steps(void)
{
    struct made *m = made_model(F32, 2, true);
    struct be_opts o = {.threads = 2, .cpu_mask = ~0u, .pack = true};
    static struct step st;
    struct dev d = {0};
    struct err e = {0};

    ok(!dev_open(&d, m, &o, KV_F32, KV_F32, &e), "opens %s", e.msg);
    while (st.n <= BLOCK) {
        put(&st, 0, 0, 1);
        st.pos[st.n - 1] = st.n - 1;
    }
    no_step(&d, "a column too many", &st, ERR_USAGE);
    st.n = 0;
    put(&st, 0, 0, 5);
    put(&st, 0, 6, 8);
    no_step(&d, "a gap", &st, ERR_USAGE);
    st.n = 0;
    put(&st, 0, 0, 5);
    put(&st, 0, 4, 8);
    no_step(&d, "a position twice", &st, ERR_USAGE);
    st.n = 0;
    put(&st, 0, 1, 3);
    put(&st, 1, 0, 3);
    put(&st, 0, 0, 1);
    no_step(&d, "a position that comes late", &st, ERR_USAGE);
    st.n = 0;
    put(&st, 0, 0, 3);
    st.type[2] = TYPES;
    no_step(&d, "a type too great", &st, ERR_FORMAT);
    st.type[2] = -1;
    no_step(&d, "a type below 0", &st, ERR_FORMAT);
    st.type[2] = 0;
    for (int c = 0; c < 3; c++)
        st.pos[c] = PLACES - 2 + c;
    no_step(&d, "a position that was not learned", &st, ERR_CONTEXT);
    for (int c = 0; c < 3; c++)
        st.pos[c] = INT32_MAX - 2 + c;
    no_step(&d, "the last positions that there are", &st, ERR_CONTEXT);
    st.pos[0] = -1;
    no_step(&d, "a position below 0", &st, ERR_USAGE);
    dev_close(&d);
    made_close(m);
}

typedef void change_fn(struct be_op *o, struct be_plan_desc *d);

/* Change operation WHICH of kind OP, or the plan, and it must not compile. */
static void no_plan(const char *what, enum be_opcode op, int which,
                    change_fn *change)
{
    struct made *m = made_model(F32, 2, true);
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct be_op *at = m->op;
    struct dev d = {0};
    struct err e = {0};

    while (at->op != op || which--)
        at++;
    change(at, &m->desc);
    ok(dev_open(&d, m, &o, KV_F32, KV_F32, &e) && e.code, "%s: %s", what,
       e.msg);
    made_close(m);
}

#define CHANGE(name, code)                                                     \
    static void name(struct be_op *o, struct be_plan_desc *d)                  \
    {                                                                          \
        (void)o, (void)d;                                                      \
        code;                                                                  \
    }
CHANGE(no_block, d->block = 0)
CHANGE(negative, d->block = -1)
CHANGE(endless, d->block = INT32_MAX)
CHANGE(two_ways, o->flags |= BE_BY_TYPE)
CHANGE(scaled, o->scale = 2)
CHANGE(capped, o->softcap = 2)
CHANGE(biased, o->bias = 1)
CHANGE(narrow, d->n_vocab--)
CHANGE(other, o->in = BE_MID)

int main(void)
{
    struct made *m = made_model(F32, 5, true);

    for (int s = 0; s < SEQS; s++)
        for (int i = 0; i < MOST; i++) {
            tokens[s][i] = (int32_t)(made_random(m) % VOCAB);
            types[s][i] = (int32_t)(made_random(m) % TYPES);
        }
    made_close(m);
    test_type("f32", F32, KV_F32, WINDOW, 1e-5, FEWER);
    test_type("f32, window 1", F32, KV_F32, 1, 1e-5, 1);
    test_type("f32, window 7", F32, KV_F32, 7, 1e-5, 1);
    test_type("f32, no end of a window", F32, KV_F32, INT32_MAX, 1e-5, 1);
    test_type("f16", F16, KV_F16, WINDOW, 1e-2, 1);
    test_type("q8_0", Q8_0, KV_Q8_0, WINDOW, 0.1, FEWER);
    test_few();
    test_steps();
    no_plan("both ways in no block", BE_ATTEND, 0, no_block);
    no_plan("a block below 0", BE_EMBED, 0, negative);
    no_plan("a block of all there is", BE_EMBED, 0, endless);
    no_plan("by position and type", BE_EMBED, 1, two_ways);
    no_plan("results times 2", BE_LOGITS, 0, scaled);
    no_plan("results capped", BE_LOGITS, 0, capped);
    no_plan("results and a bias", BE_LOGITS, 0, biased);
    no_plan("results narrower than the slot", BE_LOGITS, 0, narrow);
    no_plan("results of another slot", BE_LOGITS, 0, other);
    return tap_done();
}
