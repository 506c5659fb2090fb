/* SPDX-License-Identifier: MIT
 * backend.c - the CPU device on a small model with every operation: against
 * plain loops in double, and the same bits from any threads, columns, batches,
 * instruction sets and forms of weights. */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cpu.h"
#include "tests/unit/backend_dev.h"
#include "tests/unit/tap.h"

enum { N = 300 }; /* tokens */

static int32_t tokens[2][N];

/* Tokens FROM..TO-1 of sequence S in chunks of STEP, all wanted. */
static int dev_chunks(struct dev *d, int s, int from, int to, int step,
                      float *logits, struct err *e)
{
    int32_t pos[N], seq[N];
    uint8_t want[N];

    for (int i = from; i < to; i += step) {
        int n = to - i < step ? to - i : step;

        for (int j = 0; j < n; j++) {
            pos[j] = i + j;
            seq[j] = s;
            want[j] = 1;
        }
        if (dev_run(d, n, tokens[s] + i, pos, seq, want,
                    logits + (size_t)(i - from) * VOCAB, e))
            return -1;
    }
    return 0;
}

/* ---- how it is run changes no bit ---- */

struct way {
    int threads, step;
    unsigned mask;
    bool nopack;
};

static const size_t all = (size_t)N * VOCAB;

static void same(const struct made *m, const char *what, const struct way *w,
                 const float *want)
{
    struct be_opts o = {
        .threads = w->threads, .cpu_mask = w->mask, .pack = !w->nopack};
    struct dev d;
    struct err e = {0};
    float *got = calloc(all, sizeof *got);
    int bad = dev_open(&d, m, &o, KV_F32, KV_F32, &e) ||
              dev_chunks(&d, 0, 0, N, w->step, got, &e);

    ok(!bad && !memcmp(got, want, all * sizeof *got),
       "%s: %d threads, chunks of %d, mask %x%s %s", what, w->threads, w->step,
       w->mask, w->nopack ? ", not packed" : "", e.msg);
    if (d.be)
        dev_close(&d);
    free(got);
}

static void near(const struct made *m, const char *what, const float *got,
                 double bound)
{
    double *want = calloc(all, sizeof *want), sum = 0, sq = 0, worst = 0;

    naive_run(m, tokens[0], NULL, N, want);
    for (size_t i = 0; i < all; i++) {
        double d = (double)got[i] - want[i];

        sq += want[i] * want[i];
        sum += d * d;
        worst = fabs(d) > worst || d != d ? fabs(d) : worst;
    }
    ok(sqrt(sum / sq) < bound && sq > 0.05 * (double)all,
       "%s: %.2g of the logits' size from plain loops, worst %.2g of %.2g",
       what, sqrt(sum / sq), worst, sqrt(sq / (double)all));
    free(want);
}

/* Plain C kernels come last. */
enum { WAYS = SANITIZED ? 4 : 7 };

static void test_type(const char *what, uint32_t type, double bound, int ways)
{
    static const struct way way[] = {
        {2, N, ~0u, false},      {5, 1, ~0u, false}, {5, 13, ~0u, true},
        {1, 7, CPU_AVX2, false}, {1, 2, ~0u, true},  {2, 100, 0, false},
        {3, N, 0, true}};
    struct made *m = made_model(type, 1, false);
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    struct dev d;
    struct err e = {0};
    float *want = calloc(all, sizeof *want);

    if (ok(m && !dev_open(&d, m, &o, KV_F32, KV_F32, &e), "%s: opens %s", what,
           e.msg)) {
        ok(!dev_chunks(&d, 0, 0, N, N, want, &e), "%s: runs %s", what, e.msg);
        dev_close(&d);
        near(m, what, want, bound);
        for (int i = 0; i < ways && i < WAYS; i++)
            same(m, what, &way[i], want);
    }
    made_close(m);
    free(want);
}

/* ---- batches ---- */

/* Sequences 0 and 1 side by side, in uneven steps, with some columns wanted:
 * as each alone. */
static void test_batches(const struct made *m, enum kern_kv kt, enum kern_kv vt,
                         int threads)
{
    struct be_opts o = {.threads = threads,
                        .threads_batch = 4 - threads % 3,
                        .cpu_mask = ~0u,
                        .pack = true};
    struct dev d, one;
    struct err e = {0};
    float *want[2], *got = calloc(all, sizeof *got);
    int at[2] = {0, 0}, bad = 0, differ = 0;

    for (int s = 0; s < 2; s++)
        want[s] = calloc(all, sizeof **want);
    bad = dev_open(&one, m, &o, kt, vt, &e) || dev_open(&d, m, &o, kt, vt, &e);
    for (int s = 0; s < 2 && !bad; s++)
        bad = dev_chunks(&one, s, 0, N, N, want[s], &e);
    for (int turn = 0; !bad && (at[0] < N || at[1] < N); turn++) {
        int32_t tok[N], pos[N], seq[N], from[N];
        uint8_t w[N];
        int n = 0, k = 0;

        for (int s = 0; s < 2; s++)
            for (int i = (turn * 7 + s * 5) % 19; i > 0 && at[s] < N; i--) {
                tok[n] = tokens[s][at[s]];
                pos[n] = at[s]++;
                seq[n] = s;
                w[n] = (uint8_t)(turn % 3 && (turn + n) % 4 != 0);
                n++;
            }
        bad = dev_run(&d, n, tok, pos, seq, w, got, &e);
        for (int i = 0; i < n; i++)
            if (w[i])
                from[k++] = i;
        for (int i = 0; i < k && !bad; i++)
            differ += memcmp(got + i * VOCAB,
                             want[seq[from[i]]] + pos[from[i]] * VOCAB,
                             VOCAB * sizeof *got) != 0;
    }
    ok(!bad && !differ,
       "two sequences in one batch, %d and %d threads, kv %d %d %s", o.threads,
       o.threads_batch, kt, vt, e.msg);
    dev_close(&one);
    dev_close(&d);
    free(want[0]);
    free(want[1]);
    free(got);
}

/* ---- pages ---- */

enum { HALF = 150 };

/* Everything of sequence 0, from one device to another, as rows. */
static void carry(const struct dev *from, struct dev *to)
{
    unsigned char row[64 * KV_HEADS * HD * 4];

    for (int l = 0; l < LAYERS; l++)
        for (int w = 0; w < 2; w++)
            for (int p = 0; p < HALF; p += 10) {
                int g = l == 1, page = from->pages[g][p / BE_PAGE],
                    n = p % BE_PAGE + 10 > BE_PAGE ? BE_PAGE - p % BE_PAGE : 10;

                be_kv_get(from->be, l, w, page, p % BE_PAGE, n, row);
                be_kv_put(to->be, l, w, to->pages[g][p / BE_PAGE], p % BE_PAGE,
                          n, row);
                if (n < 10) {
                    page = from->pages[g][p / BE_PAGE + 1];
                    be_kv_get(from->be, l, w, page, 0, 10 - n, row);
                    be_kv_put(to->be, l, w, to->pages[g][p / BE_PAGE + 1], 0,
                              10 - n, row);
                }
            }
}

static void test_pages(const struct made *m, enum kern_kv kt, enum kern_kv vt)
{
    static const size_t size[] = {[KV_F16] = 2 * HD,
                                  [KV_F32] = 4 * HD,
                                  [KV_BF16] = 2 * HD,
                                  [KV_Q8_0] = 34,
                                  [KV_Q4_0] = 18};
    struct be_opts o = {.threads = 2, .cpu_mask = ~0u, .pack = true};
    struct dev a, b;
    struct err e = {0};
    float *want = calloc(all, sizeof *want), *got = calloc(all, sizeof *got);
    size_t n = (size_t)(N - HALF) * VOCAB * sizeof *got;
    int bad =
        dev_open(&a, m, &o, kt, vt, &e) || dev_open(&b, m, &o, kt, vt, &e);

    for (int i = 0; i < 3 * ROW; i++) /* elsewhere than in A */
        b.pages[0][i] = 3 * ROW - 1 - a.pages[0][i];
    bad |= dev_chunks(&a, 0, 0, HALF, N, want, &e);
    ok(be_kv_row(a.be, 0, 0) == KV_HEADS * size[kt] &&
           be_kv_row(a.be, 1, 1) == KV_HEADS * size[vt],
       "kv %d %d: sizes of rows", kt, vt);
    carry(&a, &b);
    /* And page 1 of A is a copy from here on. */
    for (int g = 0; g < 2; g++) {
        be_kv_copy(a.be, g, a.pages[g][1], 3 * ROW);
        a.pages[g][1] = 3 * ROW;
    }
    bad |= dev_chunks(&a, 0, HALF, N, 50, want, &e) ||
           dev_chunks(&b, 0, HALF, N, 50, got, &e);
    ok(!bad && !memcmp(got, want, n), "kv %d %d: rows out and in %s", kt, vt,
       e.msg);
    dev_close(&b);
    bad =
        dev_open(&b, m, &o, kt, vt, &e) || dev_chunks(&b, 0, 0, N, N, got, &e);
    ok(!bad && !memcmp(got + HALF * VOCAB, want, n), "kv %d %d: a copied page",
       kt, vt);
    dev_close(&a);
    dev_close(&b);
    free(want);
    free(got);
}

/* ---- the shared file ---- */

static char folder[128];

/* The only file in FOLDER that is finished; how many there are. */
static int packs(char path[400])
{
    DIR *d = opendir(folder);
    struct dirent *f;
    int n = 0;

    while (d && (f = readdir(d)))
        if (strstr(f->d_name, ".pack")) {
            snprintf(path, 400, "%s/%s", folder, f->d_name);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

static int shared_run(const struct made *m, const float *want, bool *shared)
{
    struct be_opts o = {.threads = 2,
                        .cpu_mask = ~0u,
                        .pack = true,
                        .share_dir = folder,
                        .model_id = "0123456789abcdef0123456789abcdef",
                        .model_path = m->path};
    struct be_stats s;
    struct dev d;
    float *got = calloc(all, sizeof *got);
    int good = 0;

    *shared = false;
    if (!dev_open(&d, m, &o, KV_F16, KV_F16, NULL)) {
        good = !dev_chunks(&d, 0, 0, 60, N, got, NULL) &&
               !memcmp(got, want, (size_t)60 * VOCAB * sizeof *got);
        be_stats(&s, d.be);
        *shared = s.shared;
        dev_close(&d);
    }
    free(got);
    return good;
}

static void clear_folder(void)
{
    char path[400];

    while (packs(path) > 0 && !unlink(path))
        ;
}

static void spoil(const struct made *m, const float *want)
{
    char path[400];
    bool shared;
    int good = 0;
    struct stat st;
    unsigned char c;

    for (int i = 0; i < 48; i++) { /* every byte of the head */
        int fd = packs(path) == 1 ? open(path, O_RDWR) : -1;

        good += fd >= 0 && pread(fd, &c, 1, i) == 1 && (c ^= 0x10, 1) &&
                pwrite(fd, &c, 1, i) == 1 && shared_run(m, want, &shared) &&
                shared;
        close(fd);
    }
    ok(good == 48, "shared: a head with a wrong byte is made again");
    good = packs(path) == 1 && !stat(path, &st) &&
           !truncate(path, st.st_size - 1) && shared_run(m, want, &shared) &&
           shared && !stat(path, &st) && !truncate(path, 3) &&
           shared_run(m, want, &shared) && shared;
    ok(good, "shared: so is a short file");
    good = !chmod(path, 0644) && shared_run(m, want, &shared) && shared &&
           !stat(path, &st) && (st.st_mode & 0777) == 0600;
    ok(good, "shared: and one that others may read");
    unlink(path);
    good = !mkdir(path, 0700) && shared_run(m, want, &shared) && !shared;
    rmdir(path);
    ok(good, "shared: what cannot be replaced is passed over");
}

static void test_share(const struct made *m, const float *want)
{
    char path[400], first[400];
    bool shared;
    struct stat st;
    int good = 1, status;

    snprintf(folder, sizeof folder, "%s.d", m->path);
    ok(shared_run(m, want, &shared) && shared && packs(first) == 1 &&
           !stat(folder, &st) && (st.st_mode & 0777) == 0700 &&
           !stat(first, &st) && (st.st_mode & 0777) == 0600,
       "shared: made");
    ok(shared_run(m, want, &shared) && shared && packs(path) == 1 &&
           !strcmp(path, first),
       "shared: and used");
    spoil(m, want);
    ok(shared_run(m, want, &shared) && shared && packs(first) == 1,
       "shared: made once more");
    ok(!utimensat(AT_FDCWD, m->path, (struct timespec[2]){{0}, {1, 0}}, 0) &&
           shared_run(m, want, &shared) && shared && packs(path) == 1 &&
           strcmp(path, first) != 0,
       "shared: another time of the model is another file, and only it stays");
    clear_folder();
    for (int i = 0; i < 4; i++)
        if (!fork())
            _exit(!(shared_run(m, want, &shared) && shared));
    for (int i = 0; i < 4; i++)
        good &= wait(&status) > 0 && status == 0;
    ok(good && packs(path) == 1, "shared: made by four processes at once");
    ok(!chmod(folder, 0777) && shared_run(m, want, &shared) && !shared,
       "shared: not from a folder that all may write to");
    clear_folder();
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s", m->path);
    ok(shared_run(m, want, &shared) && !shared,
       "shared: not where there is no folder");
}

/* ---- what is refused ---- */

static struct be *plain(void)
{
    struct be *b = NULL;

    be_open(&b, "cpu",
            &(struct be_opts){.threads = 1, .cpu_mask = ~0u, .pack = true},
            NULL);
    return b;
}

static void no_weight(const char *what, struct be_tensor t, enum be_use use,
                      enum err_code code)
{
    static const unsigned char zeros[1 << 12];
    struct be *b = plain();
    struct err e = {0};

    t.name = "the.weight";
    t.data = zeros;
    t.nocache = true;
    ok(!be_weight(b, &t, use, &e) && e.code == code && strstr(e.msg, t.name),
       "%s: %s", what, e.msg);
    be_close(b);
}

static void test_weights(void)
{
    no_weight(
        "unknown type",
        (struct be_tensor){
            .type = 4242, .n_in = 32, .n_out = 1, .n_mat = 1, .bytes = 32},
        BE_ROWS, ERR_UNSUPPORTED);
    no_weight(
        "half a block",
        (struct be_tensor){
            .type = Q8_0, .n_in = 48, .n_out = 1, .n_mat = 1, .bytes = 51},
        BE_MATRIX, ERR_FORMAT);
    no_weight(
        "short data",
        (struct be_tensor){
            .type = Q8_0, .n_in = 64, .n_out = 2, .n_mat = 1, .bytes = 135},
        BE_MATRIX, ERR_FORMAT);
    no_weight("no rows",
              (struct be_tensor){
                  .type = F32, .n_in = 4, .n_out = 0, .n_mat = 1, .bytes = 0},
              BE_MATRIX, ERR_FORMAT);
    no_weight("sizes that overflow",
              (struct be_tensor){.type = F32,
                                 .n_in = INT64_MAX / 2,
                                 .n_out = INT64_MAX / 2,
                                 .n_mat = 4,
                                 .bytes = 16},
              BE_MATRIX, ERR_FORMAT);
    no_weight(
        "negative size",
        (struct be_tensor){
            .type = F32, .n_in = -4, .n_out = -1, .n_mat = 1, .bytes = 16},
        BE_VECTOR, ERR_FORMAT);
}

/* Change operation WHICH of kind OP, or the plan, and it must not compile. */
typedef void change_fn(struct be_op *o, struct be_plan_desc *d);
static void no_plan(const struct made *m, const char *what, enum be_opcode op,
                    int which, change_fn *change)
{
    struct dev d = {.be = plain()};
    struct be_op ops[MAX_OPS], *o = ops;
    struct be_plan_desc desc = m->desc;
    struct err e = {0};
    int bad = dev_weights(&d, m, ops, &e);

    desc.op = ops;
    while (o->op != op || which--)
        o++;
    change(o, &desc);
    ok(!bad && be_plan_new(&d.plan, d.be, &desc, &e) && !d.plan && e.code,
       "%s: %s", what, e.msg);
    dev_close(&d);
}

#define CHANGE(name, code)                                                     \
    static void name(struct be_op *o, struct be_plan_desc *d)                  \
    {                                                                          \
        (void)o, (void)d;                                                      \
        code;                                                                  \
    }
CHANGE(slot, o->in = (enum be_slot)99)
CHANGE(narrow, d->width[BE_N]--)
CHANGE(narrow_x, d->width[BE_X]--)
CHANGE(narrow_q, d->width[BE_Q]--)
CHANGE(negative, d->width[BE_TMP] = -1)
CHANGE(none, o->w = 0)
CHANGE(absent, o->w = 9999)
CHANGE(other_use, o->w = o->bias)
CHANGE(other_shape, o->w2 = o->w - 1)
CHANGE(bias, o->bias = o->bias2 = o->w)
CHANGE(act, o->act = 77)
CHANGE(heads, o->heads = 0)
CHANGE(many_heads, o->heads = INT32_MAX)
CHANGE(table, o->rope = 2)
CHANGE(wide_rope, o->head_dim = HD / 2; o->heads *= 2)
CHANGE(period, o->period = 0)
CHANGE(vocab, d->n_vocab++)
CHANGE(used, o->used = EXPERTS + 1)
CHANGE(experts, o->experts++)
CHANGE(opcode, o->op = (enum be_opcode)99)

static void test_plans(const struct made *m)
{
    no_plan(m, "a slot that is not", BE_NORM, 0, slot);
    no_plan(m, "N too narrow", BE_NORM, 0, narrow);
    no_plan(m, "X too narrow", BE_NORM, 0, narrow_x);
    no_plan(m, "Q too narrow", BE_NORM, 0, narrow_q);
    no_plan(m, "negative width", BE_NORM, 0, negative);
    no_plan(m, "no weight", BE_MUL, 0, none);
    no_plan(m, "a weight that is not", BE_LOGITS, 0, absent);
    no_plan(m, "a vector as a matrix", BE_LOGITS, 0, other_use);
    no_plan(m, "up unlike gate", BE_GLU, 1, other_shape);
    no_plan(m, "a matrix as a bias", BE_GLU, 1, bias);
    no_plan(m, "activation function", BE_GLU, 0, act);
    no_plan(m, "no heads", BE_ATTEND, 0, heads);
    no_plan(m, "too many heads", BE_NORM_HEADS, 0, many_heads);
    no_plan(m, "no such table", BE_ROPE, 0, table);
    no_plan(m, "pairs beyond the head", BE_ROPE, 0, wide_rope);
    no_plan(m, "period", BE_SCALE_POS, 0, period);
    no_plan(m, "vocabulary", BE_LOGITS, 0, vocab);
    no_plan(m, "more experts used than there are", BE_ROUTE, 0, used);
    no_plan(m, "experts nobody routes to", BE_EXPERTS, 0, experts);
    no_plan(m, "operation", BE_ADD, 0, opcode);
}

static void test_steps(const struct made *m)
{
    struct be_opts o = {.threads = 2, .cpu_mask = ~0u, .pack = true};
    struct dev d;
    struct err e = {0};
    int32_t tok = VOCAB, pos = 0, seq = 0;
    uint8_t want = 1;
    float l[VOCAB];
    int bad = dev_open(&d, m, &o, KV_F16, KV_F16, &e);

    ok(!bad && dev_run(&d, 1, &tok, &pos, &seq, &want, l, &e) &&
           e.code == ERR_FORMAT,
       "a token too great: %s", e.msg);
    e = (struct err){0};
    tok = -1;
    ok(dev_run(&d, 1, &tok, &pos, &seq, &want, l, &e), "negative: %s", e.msg);
    e = (struct err){0};
    tok = 0;
    pos = ROW * BE_PAGE;
    ok(dev_run(&d, 1, &tok, &pos, &seq, &want, l, &e), "position: %s", e.msg);
    e = (struct err){0};
    pos = 0;
    d.pages[1][0] = -1;
    ok(dev_run(&d, 1, &tok, &pos, &seq, &want, l, &e), "page: %s", e.msg);
    dev_close(&d);
    e = (struct err){0};
    ok(be_open(&d.be, "abacus", &o, &e) && e.code == ERR_UNSUPPORTED,
       "device: %s", e.msg);
}

int main(void)
{
    struct made *m = made_model(Q8_0, 1, false);
    struct be_opts o = {.threads = 1, .cpu_mask = ~0u, .pack = true};
    float *want = calloc(all, sizeof *want);
    struct dev d;

    m->rng = 5;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < N; i++)
            tokens[s][i] = (int32_t)(made_random(m) % VOCAB);
    test_type("f32", F32, 1e-5, 7);
    test_type("f16", F16, 1e-5, 3);
    test_type("q8_0", Q8_0, 0.05, 7);
    test_type("q4_0", Q4_0, 0.05, 3);
    test_batches(m, KV_F16, KV_F16, 2);
    test_batches(m, KV_F32, KV_BF16, 5);
    test_batches(m, KV_Q8_0, KV_Q4_0, 1);
    for (enum kern_kv t = 0; t < KV_NTYPE; t++)
        test_pages(m, t, (enum kern_kv)(KV_NTYPE - 1 - t));
    if (!dev_open(&d, m, &o, KV_F16, KV_F16, NULL))
        dev_chunks(&d, 0, 0, N, N, want, NULL);
    dev_close(&d);
    test_share(m, want);
    test_weights();
    test_plans(m);
    test_steps(m);
    made_close(m);
    free(want);
    return tap_done();
}
