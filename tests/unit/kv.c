/* SPDX-License-Identifier: MIT
 * kv.c - sequences over pages, against a model of them; states to records and
 * back, whole and damaged.
 *
 * The device here is a fake one: what it keeps at a position is made up from
 * the layer and all tokens up to there, as a model's would be.  So a page that
 * is shared, copied, found again or let go wrongly shows up as wrong bytes. */
#include "kv/kv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "kv/kv_impl.h"
#include "tests/unit/tap.h"

/* ---- the device ---- */

enum { MAX_LAYERS = 8 };

struct be {
    struct be_kv_layer layer[MAX_LAYERS];
    int nlayer;
    enum kern_kv type[2];
    int npages[BE_MAX_GROUPS];
    unsigned char *data[MAX_LAYERS][2];
    int copies;
};

size_t be_kv_row(const struct be *b, int layer, int which)
{
    const struct be_kv_layer *l = &b->layer[layer];

    return kv_row_bytes(b->type[which], l->heads, which ? l->dv : l->dk);
}

int be_kv_init(struct be *b, const struct be_kv_spec *s, struct err *e)
{
    (void)e;
    b->nlayer = s->nlayer;
    b->type[0] = s->ktype;
    b->type[1] = s->vtype;
    memcpy(b->layer, s->layer, (size_t)s->nlayer * sizeof *s->layer);
    memcpy(b->npages, s->npages, sizeof s->npages);
    for (int i = 0; i < s->nlayer; i++)
        for (int w = 0; w < 2 && s->layer[i].group >= 0; w++)
            b->data[i][w] = calloc((size_t)s->npages[s->layer[i].group],
                                   BE_PAGE * be_kv_row(b, i, w));
    return 0;
}

static unsigned char *at(const struct be *b, int layer, int which, int page,
                         int pos)
{
    if (page < 0 || page >= b->npages[b->layer[layer].group] || pos < 0 ||
        pos >= BE_PAGE)
        exit(9);
    return b->data[layer][which] +
           ((size_t)page * BE_PAGE + (size_t)pos) * be_kv_row(b, layer, which);
}

void be_kv_copy(struct be *b, int group, int src, int dst)
{
    for (int i = 0; i < b->nlayer; i++)
        for (int w = 0; w < 2 && b->layer[i].group == group; w++)
            memcpy(at(b, i, w, dst, 0), at(b, i, w, src, 0),
                   BE_PAGE * be_kv_row(b, i, w));
    b->copies++;
}

void be_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
               void *dst)
{
    memcpy(dst, at(b, layer, which, page, pos),
           (size_t)n * be_kv_row(b, layer, which));
}

void be_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
               const void *src)
{
    memcpy(at(b, layer, which, page, pos), src,
           (size_t)n * be_kv_row(b, layer, which));
}

static void be_reset(struct be *b)
{
    for (int i = 0; i < b->nlayer; i++)
        for (int w = 0; w < 2; w++)
            free(b->data[i][w]);
    *b = (struct be){0};
}

/* ---- a model ---- */

static const struct kv_layer layers[] = {
    {2, 4, 8, 0}, {1, 4, 4, 40}, {0, 0, 0, 0}, {1, 2, 6, 130}, {1, 4, 4, 40},
};
enum { NLAYER = sizeof layers / sizeof *layers };

static struct kv_config config(int64_t positions, int max_batch, int nseq)
{
    return (struct kv_config){.nlayer = NLAYER,
                              .layer = layers,
                              .ktype = KV_F16,
                              .vtype = KV_F32,
                              .positions = positions,
                              .max_batch = max_batch,
                              .nseq = nseq,
                              .model_id = "0123456789abcdef0123456789abcdef",
                              .rope = "base 10000"};
}

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static int below(int n)
{
    return (int)(rnd() % (unsigned)n);
}

/* What the device has at position POS after the tokens T, once they ran. */
static void make_row(unsigned char *row, size_t n, int layer, int which,
                     const int32_t *t, int pos)
{
    uint64_t h = XXH3_64bits_withSeed(t, ((size_t)pos + 1) * sizeof *t,
                                      (uint64_t)(2 * layer + which));

    for (size_t i = 0; i < n; i++)
        row[i] = (unsigned char)(h >> 8 * (i % 8)) ^ (unsigned char)(i / 8);
}

/* Run the tokens T[FROM..TO-1] of S, which has room for them. */
static void run(struct be *b, const struct kv_seq *s, const int32_t *t,
                int from, int to)
{
    unsigned char row[256];

    for (int i = 0; i < b->nlayer; i++) {
        int g = b->layer[i].group;

        for (int p = from; p < to && g >= 0; p++)
            for (int w = 0; w < 2; w++) {
                make_row(row, be_kv_row(b, i, w), i, w, t, p);
                be_kv_put(b, i, w, kv_seq_pages(s, g)[p / BE_PAGE], p % BE_PAGE,
                          1, row);
            }
    }
}

/* Has S all that its next token sees, and what WINDOW layers are to keep? */
static bool sound(const struct be *b, const struct kv_seq *s)
{
    const int32_t *t = kv_seq_tokens(s);
    unsigned char want[256], got[256];

    for (int i = 0; i < b->nlayer; i++) {
        int g = b->layer[i].group, n = kv_seq_n(s);
        int low = layers[i].window ? n - layers[i].window + 1 : 0;

        for (int p = low > 0 ? low : 0; p < n && g >= 0; p++)
            for (int w = 0; w < 2; w++) {
                size_t k = be_kv_row(b, i, w);
                int page = kv_seq_pages(s, g)[p / BE_PAGE];

                if (page < 0)
                    return false;
                make_row(want, k, i, w, t, p);
                be_kv_get((struct be *)(uintptr_t)b, i, w, page, p % BE_PAGE, 1,
                          got);
                if (memcmp(want, got, k))
                    return false;
            }
    }
    return true;
}

/* Add the tokens T[N] to S in steps of at most STEP; the last N that fit. */
static int extend(struct be *b, struct kv_seq *s, const int32_t *t, int n,
                  int step)
{
    int32_t all[4096];
    struct err e = {0};

    while (n) {
        int k = n < step ? n : step, at0 = kv_seq_n(s);

        if (kv_seq_reserve(s, k, &e))
            return -1;
        if (at0)
            memcpy(all, kv_seq_tokens(s), (size_t)at0 * sizeof *all);
        memcpy(all + at0, t, (size_t)k * sizeof *all);
        run(b, s, all, at0, at0 + k);
        kv_seq_commit(s, t, k);
        t += k;
        n -= k;
    }
    return 0;
}

static void make_tokens(int32_t *t, int n, int kind)
{
    for (int i = 0; i < n; i++)
        t[i] = (int32_t)(XXH3_64bits_withSeed(&i, sizeof i, (uint64_t)kind) %
                         50000);
}

static int used(const struct kv *kv)
{
    struct kv_stats s;

    kv_stats(&s, kv);
    return (int)s.used;
}

/* ---- sequences ---- */

static void test_basics(void)
{
    struct kv_config c = config(1000, 70, 4);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct kv_seq *s, *f, *m;
    struct kv_stats st;
    int32_t t[1200];

    make_tokens(t, 1200, 1);
    ok(!kv_new(&kv, &b, &c, &e) && kv_ngroup(kv) == 3, "three groups");
    kv_stats(&st, kv);
    ok(st.pages == 19 && st.used == 0 && b.npages[0] == 19 &&
           b.npages[1] < 19 && b.npages[1] >= 4 * 2,
       "a page for each sequence's rest; windows have fewer");
    ok(st.bytes_page == 64 * (2 * (8 * 2 + 16 * 4) / 2 + 2 * (4 * 2 + 4 * 4) +
                              (2 * 2 + 6 * 4)),
       "bytes of a page: %d", (int)st.bytes_page);
    s = kv_seq_new(kv);
    ok(!extend(&b, s, t, 300, 70) && sound(&b, s), "300 tokens");
    ok(kv_seq_pages(s, 0)[0] >= 0 && kv_seq_pages(s, 1)[0] == -1 &&
           kv_seq_pages(s, 1)[4] >= 0 && kv_seq_pages(s, 0)[5] == -1,
       "a window has let its first pages go");
    f = kv_seq_fork(s);
    ok(used(kv) == 5 && sound(&b, f), "a fork has the same pages");
    ok(!extend(&b, f, t, 1, 1) && b.copies == 3 && used(kv) == 6,
       "writing copies the last, in each group");
    ok(sound(&b, f) && sound(&b, s), "and both are right");
    ok(!kv_seq_cut(f, 300) && !extend(&b, f, t + 300, 90, 70) &&
           !extend(&b, s, t + 300, 90, 70) && sound(&b, s) && sound(&b, f),
       "both go on with the same tokens");
    ok(used(kv) == 8, "and full pages are one again: %d", used(kv));
    ok(kv_seq_cut(s, 100) == -1 && kv_seq_n(s) == 390 && sound(&b, s),
       "no way back to what windows have let go");
    kv_seq_free(f);
    kv_seq_free(s);
    ok(!used(kv), "nothing is held");
    m = kv_seq_new(kv);
    ok(kv_seq_match(m, t, 385) == 384 && sound(&b, m) && used(kv) == 6,
       "what is gone is found");
    kv_seq_free(m);
    m = kv_seq_new(kv);
    ok(kv_seq_match(m, t, 384) == 320 && sound(&b, m),
       "a last token is left to run");
    kv_seq_free(m);
    m = kv_seq_new(kv);
    ok(kv_seq_match(m, t, 200) == 192 && sound(&b, m),
       "also where windows have gone on, while their pages are kept");
    kv_seq_free(m);
    m = kv_seq_new(kv);
    t[30]++;
    ok(kv_seq_match(m, t, 1200) == 0 && !used(kv), "nor with another token");
    ok(!extend(&b, m, t, 1000, 70) && sound(&b, m) &&
           kv_seq_reserve(m, 1200, &e) && e.code == ERR_NOMEM &&
           !strcmp(e.msg, "the KV cache is full") && sound(&b, m),
       "1,200 tokens more do not fit: %s", e.msg);
    kv_seq_free(m);
    kv_free(kv);
    be_reset(&b);
}

/* A pool without a page to spare. */
static void test_full(void)
{
    struct kv_config c = config(256, 64, 1);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct kv_seq *s, *f;
    int32_t t[400];

    make_tokens(t, 400, 2);
    kv_new(&kv, &b, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 250, 64);
    f = kv_seq_fork(s);
    ok(kv_seq_reserve(f, 1, &e) && e.code == ERR_NOMEM && kv_seq_n(f) == 250 &&
           sound(&b, f) && sound(&b, s),
       "no page to copy to: refused, and nothing has changed");
    ok(!kv_seq_reserve(f, 0, NULL), "no tokens need none");
    kv_seq_free(s);
    ok(!extend(&b, f, t + 250, 6, 6) && sound(&b, f) && b.copies == 0,
       "alone again it needs no copy");
    ok(extend(&b, f, t, 1, 1) && kv_seq_n(f) == 256, "full");
    ok(!kv_seq_cut(f, 240) && !extend(&b, f, t, 16, 16) && sound(&b, f),
       "a named page is written again after a cut");
    s = kv_seq_new(kv);
    ok(kv_seq_match(s, t, 400) == 192, "and no longer found");
    kv_seq_free(s);
    kv_seq_free(f);
    /* What was kept goes, the least recently used first. */
    s = kv_seq_new(kv);
    ok(!extend(&b, s, t + 100, 130, 64) && sound(&b, s), "other tokens");
    f = kv_seq_new(kv);
    ok(kv_seq_match(f, t, 400) == 0 || sound(&b, f), "the rest is right");
    kv_seq_free(f);
    kv_seq_free(s);
    kv_free(kv);
    be_reset(&b);
    c.positions = (int64_t)1 << 40;
    e = (struct err){0};
    ok(kv_new(&kv, &b, &c, &e) && e.code == ERR_NOMEM, "%s", e.msg);
    c = config(100, 1, 1);
    c.vtype = KV_Q8_0;
    e = (struct err){0};
    ok(kv_new(&kv, &b, &c, &e) && e.code == ERR_UNSUPPORTED, "%s", e.msg);
    c = config(1000, 1, 1);
    c.layer = (struct kv_layer[]){
        {1, 1, 1, 0}, {1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 3}, {1, 1, 1, 4}};
    e = (struct err){0};
    ok(kv_new(&kv, &b, &c, &e) && e.code == ERR_UNSUPPORTED, "%s", e.msg);
}

/* Cutting off what was just added always works, as drafts need it. */
static void test_drafts(void)
{
    struct kv_config c = config(2048, 80, 1);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct kv_seq *s;
    int32_t t[2100];
    int good = 1, n = 0;

    make_tokens(t, 2100, 3);
    kv_new(&kv, &b, &c, &e);
    s = kv_seq_new(kv);
    while (n + 80 < 2048 && good) {
        int add = 1 + below(80), keep = 1 + below(add);

        good = !extend(&b, s, t + n, add, 80);
        n += keep;
        good = good && !kv_seq_cut(s, n) && sound(&b, s);
        if (n > 200) /* a state can be cut by one, too */
            good = good && kv_seq_n(s) == n;
    }
    ok(good, "drafts of up to 80 tokens, cut");
    kv_seq_free(s);
    kv_free(kv);
    be_reset(&b);
}

/* Any operations, in any order, on sequences with much in common. */
static void test_random(int rounds, int64_t positions)
{
    enum { NSEQ = 6 };
    struct kv_config c = config(positions, 64, NSEQ);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct kv_seq *s[NSEQ];
    int32_t t[3][1000];
    int matched = 0, full = 0, cut = 0, good = 1;

    for (int i = 0; i < 3; i++)
        make_tokens(t[i], 1000, 4);
    /* The second and third differ from token 100 and 300 on. */
    make_tokens(t[1] + 100, 900, 5);
    make_tokens(t[2] + 300, 700, 6);
    kv_new(&kv, &b, &c, &e);
    for (int i = 0; i < NSEQ; i++)
        s[i] = kv_seq_new(kv);
    for (int k = 0; k < rounds && good; k++) {
        int i = below(NSEQ), n = kv_seq_n(s[i]), kind = below(3), add;

        switch (below(8)) {
        case 0:
            kv_seq_free(s[i]);
            s[i] = kv_seq_new(kv);
            matched += kv_seq_match(s[i], t[kind], 1 + below(600)) > 0;
            break;
        case 1:
            kv_seq_free(s[i]);
            s[i] = kv_seq_fork(s[(i + 1 + below(NSEQ - 1)) % NSEQ]);
            break;
        case 2:
            cut += n && !kv_seq_cut(s[i], below(n + 1));
            break;
        default:
            add = 1 + below(64);
            if (n + add <= 1000)
                full += extend(&b, s[i], t[kind] + n, add, 64) != 0;
        }
        for (i = 0; i < NSEQ; i++)
            good = good && sound(&b, s[i]);
    }
    ok(good && matched && cut && (positions > 4000 || full),
       "%d random steps, %d matched, %d cut, %d refused", rounds, matched, cut,
       full);
    for (int i = 0; i < NSEQ; i++)
        kv_seq_free(s[i]);
    ok(!used(kv), "nothing is held after them");
    kv_free(kv);
    be_reset(&b);
}

/* ---- states ---- */

static FILE *scratch;

static int rewound(void)
{
    int fd = fileno(scratch);

    if (lseek(fd, 0, SEEK_SET))
        exit(9);
    return fd;
}

static void slurp(struct buf *to)
{
    int fd = fileno(scratch);
    size_t n = (size_t)lseek(fd, 0, SEEK_END);

    to->n = 0;
    rewound();
    if (read(fd, buf_add(to, n), n) != (ssize_t)n)
        exit(9);
}

static void hold(const void *p, size_t n)
{
    int fd = fileno(scratch);

    if (ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n)
        exit(9);
}

/* The state of S as a file, after a header. */
static void save(struct buf *to, const struct kv_seq *s, unsigned flags,
                 enum wire_format f)
{
    struct err e = {0};
    struct wire_out *w;

    hold("", 0);
    rewound();
    wire_out_open(&w, fileno(scratch), f, &e);
    wire_put_header(w, &(struct wire_header){.by = "kv"}, &e);
    if (kv_save(w, 7, s, flags, &e) || wire_out_close(w, &e))
        printf("# %s\n", e.msg);
    slurp(to);
}

/* What scratch holds, loaded: the sequence, or NULL and *E. */
static struct kv_seq *load(struct kv *kv, struct err *e)
{
    struct kv_load *l = kv_load_new(kv, e);
    struct kv_seq *s = NULL;
    struct wire_in *in;
    struct wire_rec r;
    int got;

    *e = (struct err){0};
    wire_in_open(&in, rewound(), "in", e);
    while ((got = wire_next(in, &r, e)) > 0)
        if (r.kind == WIRE_KV && kv_load_add(l, &r, e) < 0)
            break;
    if (!got && !kv_load_whole(l, e))
        s = kv_load_take(l);
    wire_in_close(in);
    kv_load_free(l);
    return s;
}

static struct kv_seq *load_bytes(struct kv *kv, const struct buf *f,
                                 struct err *e)
{
    hold(f->p, f->n);
    return load(kv, e);
}

/* The same tokens, and pages of the same bytes where windows look. */
static bool same_as(const struct be *b, const struct kv_seq *s,
                    const int32_t *t, int n)
{
    return kv_seq_n(s) == n &&
           (!n || !memcmp(kv_seq_tokens(s), t, (size_t)n * sizeof *t)) &&
           sound(b, s);
}

static void test_states(void)
{
    static const int lengths[] = {0, 1, 63, 64, 65, 170, 400};
    struct kv_config c = config(1000, 64, 2);
    struct be b = {0}, b2 = {0};
    struct err e = {0};
    struct kv *kv, *other;
    struct buf f = {0}, j = {0};
    int32_t t[500];

    make_tokens(t, 500, 7);
    kv_new(&kv, &b, &c, &e);
    c.max_batch = 1;
    kv_new(&other, &b2, &c, &e);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        struct kv_seq *s = kv_seq_new(kv), *l;

        extend(&b, s, t, n, 64);
        save(&f, s, i & 1 ? KV_ZSTD : 0, WIRE_CBOR);
        l = load_bytes(other, &f, &e);
        ok(l && same_as(&b2, l, t, n), "%d tokens are restored%s%s", n,
           l ? "" : ": ", e.msg);
        ok(l && !extend(&b2, l, t + n, 70, 1) && sound(&b2, l) &&
               (!n || !kv_seq_cut(l, n + 69)),
           "and go on");
        kv_seq_free(l);
        save(&j, s, 0, WIRE_JSON);
        l = load_bytes(other, &j, &e);
        ok(l && same_as(&b2, l, t, n), "the same as JSON%s%s", l ? "" : ": ",
           e.msg);
        /* What prompts ask for: one less, so that the last token runs. */
        ok(l && (!n || !kv_seq_cut(l, n - 1)) && sound(&b2, l),
           "it can be cut by a token");
        kv_seq_free(l);
        kv_seq_free(s);
    }
    ok(!used(other), "loading holds nothing that is not asked for");
    buf_free(&f);
    buf_free(&j);
    kv_free(kv);
    kv_free(other);
    be_reset(&b);
    be_reset(&b2);
}

/* Cut to where a window's first page begins with the very first position that
 * the next token sees: such a state is whole, too. */
static void test_edge(void)
{
    struct kv_config c = config(1000, 64, 2);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct buf f = {0};
    struct kv_seq *s, *l;
    int32_t t[300];

    make_tokens(t, 300, 12);
    kv_new(&kv, &b, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 232, 58);
    extend(&b, s, t + 232, 1, 1);
    ok(!kv_seq_cut(s, 231) && sound(&b, s), "cut to a page's edge");
    save(&f, s, 0, WIRE_CBOR);
    l = load_bytes(kv, &f, &e);
    ok(l && same_as(&b, l, t, 231) && !extend(&b, l, t + 231, 9, 3) &&
           sound(&b, l),
       "saved and restored%s%s", l ? "" : ": ", e.msg);
    kv_seq_free(l);
    kv_seq_free(s);
    buf_free(&f);
    kv_free(kv);
    be_reset(&b);
}

/* Loaded pages are not found, nor what follows, unless the caller says so. */
static void test_alone(void)
{
    struct kv_config c = config(1000, 64, 3);
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct buf f = {0};
    struct kv_seq *s, *l, *m;
    int32_t t[300];

    make_tokens(t, 300, 8);
    kv_new(&kv, &b, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 100, 64);
    save(&f, s, 0, WIRE_CBOR);
    kv_seq_free(s);
    kv_free(kv);
    be_reset(&b);
    kv_new(&kv, &b, &c, &e);
    l = load_bytes(kv, &f, &e);
    extend(&b, l, t + 100, 100, 64);
    m = kv_seq_new(kv);
    ok(!kv_seq_match(m, t, 300), "what was loaded is not found");
    kv_seq_share(l);
    ok(kv_seq_match(m, t, 300) == 192 && sound(&b, m), "until it is shared");
    kv_seq_free(m);
    kv_seq_free(l);
    buf_free(&f);
    kv_free(kv);
    be_reset(&b);
}

/* A state that this cache cannot take, and why. */
static void refuse(const struct buf *f, const struct kv_config *c,
                   const char *why)
{
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct kv_seq *l;

    kv_new(&kv, &b, c, &e);
    l = load_bytes(kv, f, &e);
    ok(!l && strstr(e.msg, why) && !used(kv), "refused: %s", e.msg);
    kv_seq_free(l);
    kv_free(kv);
    be_reset(&b);
}

static void test_others(void)
{
    struct kv_config c = config(1000, 64, 1), d = c;
    struct kv_layer mine[NLAYER];
    struct be b = {0};
    struct err e = {0};
    struct kv *kv;
    struct buf f = {0};
    struct kv_seq *s;
    int32_t t[300];

    make_tokens(t, 300, 9);
    kv_new(&kv, &b, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 300, 64);
    save(&f, s, 0, WIRE_CBOR);
    d.model_id = "f123456789abcdef0123456789abcdef";
    refuse(&f, &d, "another model");
    d = c;
    d.rope = "base 500000";
    refuse(&f, &d, "rope parameters: base 10000, not base 500000");
    d = c;
    d.ktype = KV_BF16;
    refuse(&f, &d, "K and V are f16,f32, not bf16,f32");
    d = c;
    d.nlayer--;
    refuse(&f, &d, "5 layers, not 4");
    memcpy(mine, layers, sizeof mine);
    mine[3].window = 128;
    d = c;
    d.layer = mine;
    refuse(&f, &d, "layer 3 has 1 heads of 2,6 elements and window 130");
    d = c;
    d.positions = 256;
    refuse(&f, &d, "the KV cache is full");
    kv_seq_free(s);
    buf_free(&f);
    kv_free(kv);
    be_reset(&b);
}

/* Every record left out, doubled, and changed for its neighbour. */
static void test_order(void)
{
    struct kv_config c = config(1000, 64, 1);
    struct be b = {0}, b2 = {0};
    struct err e = {0};
    struct kv *kv, *other;
    struct kv_seq *s;
    struct buf f = {0}, g = {0};
    size_t from[64];
    struct wire_in *in;
    struct wire_rec r;
    int32_t t[150];
    int n = 0, bad = 0;

    make_tokens(t, 150, 10);
    kv_new(&kv, &b, &c, &e);
    kv_new(&other, &b2, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 150, 64);
    save(&f, s, 0, WIRE_CBOR);
    wire_in_open(&in, rewound(), "in", &e);
    for (from[0] = 0; wire_next(in, &r, &e) > 0; n++)
        from[n + 1] = from[n] + r.nraw;
    wire_in_close(in);
    for (int i = 1; i < n; i++)
        for (int how = 0; how < 3; how++) {
            struct kv_seq *l;

            if (how == 1 && i == n - 1)
                continue; /* after its end, a state is there */
            if (how == 2 && i == n - 1)
                continue; /* no neighbour */
            g.n = 0;
            buf_put(&g, f.p, from[i]);
            if (how == 1)
                buf_put(&g, f.p + from[i], from[i + 1] - from[i]);
            if (how == 2) {
                buf_put(&g, f.p + from[i + 1], from[i + 2] - from[i + 1]);
                buf_put(&g, f.p + from[i], from[i + 1] - from[i]);
                buf_put(&g, f.p + from[i + 2], f.n - from[i + 2]);
            } else {
                buf_put(&g, f.p + from[i + !how], f.n - from[i + !how]);
            }
            l = load_bytes(other, &g, &e);
            if (l || e.code != ERR_FORMAT || used(other)) {
                printf("# record %d, %d: taken\n", i, how);
                bad++;
            }
            kv_seq_free(l);
        }
    ok(n == 13 && !bad,
       "%d records: one left out, doubled, or out of order is refused", n);
    g.n = 0;
    buf_put(&g, f.p, f.n);
    buf_put(&g, f.p + from[n - 1], f.n - from[n - 1]);
    ok(!load_bytes(other, &g, &e) && strstr(e.msg, "had its end"),
       "so is a second end: %s", e.msg);
    buf_free(&f);
    buf_free(&g);
    kv_seq_free(s);
    kv_free(kv);
    kv_free(other);
    be_reset(&b);
    be_reset(&b2);
}

/* Every bit of every byte changed, and every end. */
static void test_damage(unsigned flags)
{
    static const struct kv_layer few[] = {{1, 2, 2, 0}, {1, 2, 2, 5}};
    struct kv_config c = config(200, 64, 1);
    struct be b = {0}, b2 = {0};
    struct err e = {0};
    struct kv *kv, *other;
    struct kv_seq *s;
    struct buf f = {0};
    struct wire_in *in;
    struct wire_rec r;
    int32_t t[70];
    size_t head, taken = 0, changed = 0, cut = 0;

    c.nlayer = 2;
    c.layer = few;
    make_tokens(t, 70, 11);
    kv_new(&kv, &b, &c, &e);
    kv_new(&other, &b2, &c, &e);
    s = kv_seq_new(kv);
    extend(&b, s, t, 70, 64);
    save(&f, s, flags, WIRE_CBOR);
    wire_in_open(&in, rewound(), "in", &e);
    wire_next(in, &r, &e);
    head = r.nraw;
    wire_in_close(in);
    hold(f.p, f.n);
    for (size_t i = head; i < f.n; i++)
        for (int bit = 0; bit < 9; bit++) {
            unsigned char x =
                f.p[i] ^ (unsigned char)(bit < 8 ? 1 << bit : 255);
            struct kv_seq *l;

            if (pwrite(fileno(scratch), &x, 1, (off_t)i) != 1)
                exit(9);
            l = load(other, &e);
            changed++;
            if (l) {
                printf("# byte %zu, bit %d: taken\n", i, bit);
                taken++;
            }
            if (!l && e.code != ERR_FORMAT && e.code != ERR_UNSUPPORTED)
                printf("# byte %zu, bit %d: %s\n", i, bit, e.msg), taken++;
            kv_seq_free(l);
            if (pwrite(fileno(scratch), &f.p[i], 1, (off_t)i) != 1)
                exit(9);
        }
    ok(!taken, "%zu bytes, %zu changes: all refused", f.n - head, changed);
    for (size_t n = f.n; n-- > 0;) {
        struct kv_seq *l;

        if (ftruncate(fileno(scratch), (off_t)n))
            exit(9);
        l = load(other, &e);
        cut += l != NULL || e.code != ERR_FORMAT;
        kv_seq_free(l);
    }
    ok(!cut && !used(other), "and each of its %zu beginnings", f.n);
    buf_free(&f);
    kv_seq_free(s);
    kv_free(kv);
    kv_free(other);
    be_reset(&b);
    be_reset(&b2);
}

int main(void)
{
    scratch = tmpfile();
    test_basics();
    test_full();
    test_drafts();
    test_random(1500, 5000);
    test_random(3000, 900);
    test_states();
    test_edge();
    test_alone();
    test_others();
    test_order();
    test_damage(0);
    test_damage(KV_ZSTD);
    fclose(scratch);
    return tap_done();
}
