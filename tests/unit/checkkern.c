/* SPDX-License-Identifier: MIT
 * checkkern.c - every type that weights may have, at every instruction set
 * that this machine has: pack() and mul() give the bits of dot(), dequant()
 * those of the reference, and nothing reads or writes where it should not.
 *
 *     checkkern [--seed N] [TYPE...]    test
 *     checkkern --list                  which has functions of its own
 *     checkkern --bench [TYPE...]       speed of one thread
 */
#include "kern_check.h"
#include "tap.h"

#include <ctype.h>
#include <math.h>

#define DIR_ "../shared/oracle/quants/"

enum { MAX_N = 2560, CASES = 60 };

/* The last level is AMX with tiles of plain C. */
enum { LEVELS = CHECK_LEVELS + 1 };

static struct cpu_level level[LEVELS];
static struct kern kern[LEVELS];
static struct check_mem rows_mem, panel_mem, tile_mem, y_mem;
enum { MAX_W = 2 * KERN_TILE + 20 };
static float want[MAX_W * KERN_ROWS];

/* Is one of the values that the block at P stands for no number, or do all
 * lie outside LO..HI in magnitude? */
static int outside(const struct kern_quant *q, const void *p, float lo,
                   float hi)
{
    float y[256], top = 0;

    q->dequant(y, p, q->elems);
    for (int i = 0; i < q->elems; i++) {
        if (!isfinite(y[i]))
            return 1;
        top = fabsf(y[i]) > top ? fabsf(y[i]) : top;
    }
    return !(top >= lo && top <= hi);
}

static void random_bytes(uint8_t *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)rnd();
}

/* A block of ordinary numbers. */
static void tame_block(const struct kern_quant *q, uint8_t *p)
{
    do
        random_bytes(p, q->bytes);
    while (outside(q, p, 0.0625f, 16));
}

/* One whose bytes are the same from some place on, or up to it: all its
 * integers at their ends, while its scale is a number. */
static void end_block(const struct kern_quant *q, uint8_t *p)
{
    static const uint8_t with[] = {0, 0xff, 0x80, 0x7f, 0x88, 0x77, 0x0f, 0xf0};
    uint8_t t[512];

    tame_block(q, p);
    for (int i = 0; i < 20; i++) {
        int at = q->bytes > 1 ? rnd_to(q->bytes < 20 ? q->bytes : 20) : 0;
        int after = rnd_to(2);
        uint8_t b = with[rnd_to((int)sizeof with)];

        memcpy(t, p, (size_t)q->bytes);
        if (after)
            memset(t + at, b, (size_t)(q->bytes - at));
        else
            memset(t, b, (size_t)(q->bytes - at));
        if (!outside(q, t, 0, 65504)) {
            memcpy(p, t, (size_t)q->bytes);
            return;
        }
    }
}

/* How 0..5: ordinary, ends, one block of any bytes, all of any bytes, ordinary
 * with many zeros, and one block of any numbers again and again, so that the
 * least scale counts too. */
static void random_row(const struct kern_quant *q, uint8_t *p, int64_t n,
                       int how)
{
    int nb = (int)(n / q->elems);

    for (int b = 0; b < nb; b++) {
        uint8_t *at = p + (size_t)b * (size_t)q->bytes;

        if (how == 1)
            end_block(q, at);
        else if (how == 3)
            random_bytes(at, q->bytes);
        else if (how == 4 && rnd_to(2))
            memset(at, 0, (size_t)q->bytes);
        else
            tame_block(q, at);
    }
    if (how == 5) {
        do {
            random_bytes(p, q->bytes);
            if (rnd_to(2)) /* many scales come first */
                p[0] = (uint8_t)rnd_to(4);
        } while (outside(q, p, 0, 65504));
        for (int b = 1; b < nb; b++)
            memcpy(p + (size_t)b * (size_t)q->bytes, p, (size_t)q->bytes);
    }
    if (how == 2)
        random_bytes(p + (size_t)rnd_to(nb) * (size_t)q->bytes, q->bytes);
}

/* Activations: normal, or all at their ends, with zeros, or with anything. */
static void random_column(float *x, int64_t n, int how)
{
    float scale = ldexpf(1, rnd_to(9) - 4), sign = rnd_to(2) ? 1 : -1;

    for (int64_t i = 0; i < n; i++) {
        x[i] = rnd_normal() * scale;
        if (how == 1)
            x[i] = sign * scale;
        else if (how == 2)
            x[i] = rnd_to(2) ? scale : -scale;
        else if (how == 3 && i / 32 % 3 == 1)
            x[i] = 0;
        else if (how == 4 && rnd_to(200) == 0)
            x[i] = check_float(rnd());
        else if (how == 5)
            x[i] = i % 32 ? 0 : 100 * scale;
    }
}

/* One panel times one tile: every level's Y[c][r] into what it promises. */
struct product {
    const struct kern_quant *q; /* the reference */
    int type, rows, w, begin;   /* BEGIN: memory at its page's beginning */
    int64_t n;
    size_t stride, ldy;
    uint8_t *row;
    void *tile;
};

/* The tile that column C stands in, as column I of W. */
static char *tile_of(const struct product *p, int c, int *w, int *i)
{
    *i = c % KERN_TILE;
    *w = p->w - (c - *i) < KERN_TILE ? p->w - (c - *i) : KERN_TILE;
    return (char *)p->tile + kern_tile_bytes(p->q->act, p->n, c - *i);
}

static void product_make(struct product *p)
{
    static float x[MAX_N];
    size_t size = (size_t)(p->n / p->q->elems) * (size_t)p->q->bytes;
    int how = rnd_to(6), each = rnd_to(7);
    int block = kern_act_block(p->q->act);

    p->stride = size + (size_t)rnd_to(4);
    p->row = check_mem_at(rows_mem, (size_t)(p->rows - 1) * p->stride + size,
                          !p->begin);
    for (int r = 0; r < p->rows; r++)
        random_row(p->q, p->row + (size_t)r * p->stride, p->n, how);
    p->tile = check_mem_at(tile_mem, kern_tile_bytes(p->q->act, p->n, p->w),
                           p->begin ? 0 : 4);
    for (int c = 0; c < p->w; c++) {
        /* In two parts, as threads do. */
        int64_t at = rnd_to((int)(p->n / block) + 1) * block;
        int w, i;
        char *t = tile_of(p, c, &w, &i);

        random_column(x, p->n, each < 6 ? each : rnd_to(6));
        kern[0].act[p->q->act](t, w, i, x + at, at, p->n - at);
        kern[0].act[p->q->act](t, w, i, x, 0, at);
    }
}

static void product_want(const struct product *p)
{
    static uint8_t zero[MAX_N * 4];

    for (int c = 0; c < p->w; c++) {
        int w, i;
        const char *t = tile_of(p, c, &w, &i);

        for (int r = 0; r < KERN_ROWS; r++)
            want[c * KERN_ROWS + r] =
                p->q->dot(r < p->rows ? p->row + (size_t)r * p->stride : zero,
                          t, p->n, w, i);
    }
}

/* Is A what B says: the same, or, a bound, no less? */
static bool good(float a, float b, bool bound)
{
    if (!bound)
        return check_same(a, b);
    return isnan(b) ? !(a < INFINITY) : !(a < b);
}

/* The first wrong one of Q's mul(), or most(), as 1 + c * 16 + r; 1000 for a
 * byte that was none of its own; 0 when all is well. */
static int product_check(const struct product *p, const struct kern_quant *q,
                         bool bound)
{
    size_t size = kern_panel(q, p->n), ny = (size_t)(p->w - 1) * p->ldy + 16;
    uint8_t *panel = check_mem_at(panel_mem, size, p->begin ? 0 : 64);
    uint8_t *end = (uint8_t *)panel_mem.map + panel_mem.size;
    float *y = check_mem_at(y_mem, ny * 4, p->begin ? 0 : 4);

    memset(panel_mem.map, 0xa5, panel_mem.size);
    memset(y_mem.map, 0xa5, y_mem.size);
    q->pack(panel, p->row, p->stride, p->rows, p->n);
    (bound ? q->most : q->mul)(y, p->ldy, panel, p->tile, p->n, p->w);
    for (const uint8_t *g = panel + size; g < end; g++)
        if (*g != 0xa5)
            return 1000;
    for (size_t i = 0; i < ny; i++)
        if (i % p->ldy >= 16 && memcmp(y + i, "\xa5\xa5\xa5\xa5", 4) != 0)
            return 1000;
    for (int c = 0; c < p->w; c++)
        for (int r = 0; r < KERN_ROWS; r++)
            if (!good(y[(size_t)c * p->ldy + (size_t)r],
                      want[c * KERN_ROWS + r], bound))
                return 1 + c * KERN_ROWS + r;
    return 0;
}

#if defined(__x86_64__)
void emulated_tile32(struct kern *k);
void emulated_tile256(struct kern *k);
#endif

static void levels(void)
{
    for (int l = 0; l < CHECK_LEVELS; l++)
        level[l] = check_level[l];
    level[CHECK_LEVELS].name = "amx, emulated";
    level[CHECK_LEVELS].flags = CPU_AVX2 | CPU_AVX512 | CPU_AVX512VNNI;
    for (int l = 0; l < LEVELS; l++)
        kern_init(&kern[l], level[l].flags & cpu_flags());
#if defined(__x86_64__)
    emulated_tile32(&kern[CHECK_LEVELS]);
    emulated_tile256(&kern[CHECK_LEVELS]);
#endif
}

static int has(int l)
{
    return !(level[l].flags & ~cpu_flags());
}

/* Does level L have a function of its own for type T? */
static int own(int l, int t)
{
    const struct kern_quant *a = &kern[l].quant[t];

    if (!has(l))
        return 0;
    for (int i = 0; i < l; i++) {
        const struct kern_quant *b = &kern[i].quant[t];

        if (a->mul == b->mul && a->pack == b->pack && a->dequant == b->dequant)
            return 0;
    }
    return 1;
}

/* Every W and number of rows, and N of odd and even numbers of blocks. */
static void product_shape(struct product *p, int i)
{
    int most = MAX_N / p->q->elems;

    /* Of one tile for the most part. */
    p->w = 1 + i % (i % 4 ? 24 : MAX_W);
    p->rows = i % 3 ? 1 + rnd_to(KERN_ROWS) : KERN_ROWS;
    p->begin = rnd_to(2);
    p->ldy = KERN_ROWS + (size_t)rnd_to(20);
    if (most > 65)
        most = p->q->elems == 1 ? 300 : 65;
    p->n =
        (int64_t)(i < 24 ? 1 + i / 2 % most : 1 + rnd_to(most)) * p->q->elems;
}

static void check_products(int t)
{
    int bad[LEVELS] = {0};

    for (int i = 0; i < CASES; i++) {
        struct product p = {.q = &kern[0].quant[t], .type = t};

        check_what = "ref";
        product_shape(&p, i);
        product_make(&p);
        product_want(&p);
        for (int l = 0; l < LEVELS; l++) {
            int e;

            check_what = level[l].name;
            e = own(l, t) ? product_check(&p, &kern[l].quant[t], false) : 0;
            if (e && !bad[l]++)
                printf("# n %d, %d rows, w %d: %s, row %d, column %d\n",
                       (int)p.n, p.rows, p.w,
                       e == 1000 ? "a byte beyond" : "differs",
                       (e - 1) % KERN_ROWS, (e - 1) / KERN_ROWS);
        }
    }
    for (int l = 0; l < LEVELS; l++)
        if (own(l, t))
            ok(!bad[l], "%s %s: %d products", kern[l].quant[t].name,
               level[l].name, CASES);
}

/* Panels of two planes: the same products, and bounds that are near them. */
static void check_split(void)
{
    int bad[LEVELS] = {0}, low[LEVELS] = {0};

    for (int i = 0; i < 2 * CASES; i++) {
        struct product p = {.q = &kern[0].quant[KERN_q8_0]};

        check_what = "ref";
        product_shape(&p, i);
        product_make(&p);
        product_want(&p);
        for (int c = 0; c < p.w; c++) {
            int w, at;
            char *t = tile_of(&p, c, &w, &at);

            kern_most(t, w, at, p.n);
        }
        for (int l = 0; l < LEVELS; l++) {
            check_what = level[l].name;
            if (!has(l) || !kern[l].split.mul)
                continue;
            bad[l] += product_check(&p, &kern[l].split, false) != 0;
            low[l] += product_check(&p, &kern[l].split, true) != 0;
        }
    }
    for (int l = 0; l < LEVELS; l++)
        if (has(l) && kern[l].split.mul)
            ok(!bad[l] && !low[l], "q8_0 in two planes, %s: %d wrong, %d low",
               level[l].name, bad[l], low[l]);
}

/* Values of every level that has its own way, from any bytes. */
static void check_dequant(int t)
{
    static float a[MAX_N], b[MAX_N];
    const struct kern_quant *q = &kern[0].quant[t];

    for (int l = 1; l < LEVELS; l++) {
        int bad = 0;

        if (!has(l) || kern[l].quant[t].dequant == q->dequant)
            continue;
        check_what = level[l].name;
        for (int i = 0; i < 20; i++) {
            int64_t n = (1 + rnd_to(MAX_N / q->elems)) * (int64_t)q->elems;
            size_t size = (size_t)(n / q->elems) * (size_t)q->bytes;
            uint8_t *p = check_mem_at(rows_mem, size, (size_t)rnd_to(2));

            random_row(q, p, n, rnd_to(6));
            q->dequant(a, p, n);
            memset(b, 0xa5, sizeof b);
            kern[l].quant[t].dequant(b, p, n);
            for (int64_t j = 0; j < n; j++)
                bad += !check_same(a[j], b[j]);
            bad += n < MAX_N && memcmp(b + n, "\xa5\xa5\xa5\xa5", 4) != 0;
        }
        ok(!bad, "%s %s: values", q->name, level[l].name);
    }
}

static void *read_all(const char *dir, const char *name, const char *end,
                      size_t *n)
{
    char file[256];
    size_t len;
    FILE *f;
    char *p;

    snprintf(file, sizeof file, "%s%s%s", dir, name, end);
    len = strlen(file) - strlen(end);
    for (size_t i = strlen(dir); i < len; i++)
        file[i] = (char)toupper((unsigned char)file[i]);
    f = fopen(file, "rb");
    if (!f)
        return NULL;
    p = malloc(1 << 20);
    *n = p ? fread(p, 1, 1 << 20, f) : 0;
    fclose(f);
    return p;
}

/* Other people's values of the same bytes, where that folder is. */
static void check_values(int t, const char *dir)
{
    const struct kern_quant *q = &kern[0].quant[t];
    size_t nq = 0, ny = 0, bad = 0;
    char *block = read_all(dir, q->name, ".q", &nq);
    float *y = read_all(dir, q->name, ".f32", &ny);
    float *got = calloc(1, ny + 1);

    if (block && y && got) {
        size_t n = nq / (size_t)q->bytes * (size_t)q->elems;

        if (n * 4 == ny)
            q->dequant(got, block, (int64_t)n);
        for (size_t i = 0; i < ny / 4; i++)
            bad += !check_same(got[i], y[i]);
        ok(n > 0 && n * 4 == ny && !bad, "%s: values of %s", q->name,
           strchr(dir + 10, '/') + 1);
    }
    free(block);
    free(y);
    free(got);
}

static void list(void)
{
    for (int t = 0; t < KERN_NQUANT; t++)
        for (int l = 0; l < LEVELS; l++)
            if (own(l, t))
                printf("%-8s %-7s %-8s %6.3f bits\n", kern[l].quant[t].name,
                       level[l].name, kern[l].quant[t].layout,
                       (double)kern[l].quant[t].panel_bytes * 8 /
                           (KERN_ROWS * kern[l].quant[t].elems));
}

enum { BENCH_N = 2048, BENCH_PANELS = 16, BENCH_W = 240 };

/* The best of several runs of packing all panels (W 0), or of multiplying them
 * by W columns, in seconds. */
static double bench_run(const struct kern_quant *q, int w, char *panel,
                        const uint8_t *row, const void *tile)
{
    static float y[BENCH_PANELS * KERN_ROWS * BENCH_W];
    size_t size = (size_t)(BENCH_N / q->elems) * (size_t)q->bytes;
    size_t step = kern_panel(q, BENCH_N);
    double best = 1e9;

    for (int i = 0; i < (w > 16 ? 20 : 300); i++) {
        double t = check_time();

        for (int p = 0; p < BENCH_PANELS; p++)
            if (w)
                q->mul(y + p * KERN_ROWS, BENCH_PANELS * KERN_ROWS,
                       panel + step * (size_t)p, tile, BENCH_N, w);
            else
                q->pack(panel + step * (size_t)p, row, size, KERN_ROWS,
                        BENCH_N);
        t = check_time() - t;
        best = t < best ? t : best;
    }
    return best;
}

static void bench(int t)
{
    static float x[BENCH_N];
    static const int width[] = {0, 1, 2, 4, 16, BENCH_W};
    const struct kern_quant *ref = &kern[0].quant[t];
    size_t size = (size_t)(BENCH_N / ref->elems) * (size_t)ref->bytes;
    double ops = 2.0 * BENCH_N * KERN_ROWS * BENCH_PANELS;
    uint8_t *row = malloc(size * KERN_ROWS);
    char *panel = NULL;
    void *tile = malloc(kern_tile_bytes(ref->act, BENCH_N, BENCH_W));

    for (int r = 0; r < KERN_ROWS; r++)
        random_row(ref, row + size * (size_t)r, BENCH_N, 0);
    for (int l = 0; l < LEVELS; l++) {
        const struct kern_quant *q = &kern[l].quant[t];
        size_t bytes = kern_panel(q, BENCH_N) * BENCH_PANELS;

        if (!own(l, t) || l == CHECK_LEVELS)
            continue;
        panel = aligned_alloc(64, (bytes + 63) / 64 * 64);
        printf("%-8s %-7s", q->name, level[l].name);
        for (int i = 0; i < 6; i++) {
            double s;

            for (int c = 0; c < width[i]; c++) {
                struct product p = {
                    .q = q, .n = BENCH_N, .w = width[i], .tile = tile};
                int w, at;
                char *to = tile_of(&p, c, &w, &at);

                random_column(x, BENCH_N, 0);
                kern[0].act[q->act](to, w, at, x, 0, BENCH_N);
            }
            s = bench_run(q, width[i], panel, row, tile);
            if (!width[i])
                printf(" pack %5.2f GB/s",
                       (double)size * KERN_ROWS * BENCH_PANELS / s * 1e-9);
            else
                printf("  %d: %.1f Gop/s", width[i], ops * width[i] / s * 1e-9);
            if (width[i] == 1)
                printf(" %.1f GB/s", (double)bytes / s * 1e-9);
        }
        printf("\n");
        free(panel);
    }
    free(row);
    free(tile);
}

static int chosen(const char *name, char **arg)
{
    if (!*arg)
        return 1;
    for (; *arg; arg++)
        if (!strcmp(name, *arg))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int benching = 0;

    check_seed = (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
    levels();
    for (argv++; argc > 1 && *argv && !strncmp(*argv, "--", 2); argv++)
        if (!strcmp(*argv, "--list")) {
            list();
            return 0;
        } else if (!strcmp(*argv, "--bench")) {
            benching = 1;
        } else if (!strcmp(*argv, "--seed") && argv[1]) {
            check_seed = strtoull(*++argv, NULL, 0);
        } else {
            fprintf(stderr, "usage: checkkern [--list | --bench | --seed n] "
                            "[type ...]\n");
            return 2;
        }
    check_seed += !check_seed;
    printf("# checkkern --seed %llu\n", (unsigned long long)check_seed);
    rows_mem = check_mem_new(KERN_ROWS * (MAX_N * 4 + 4));
    panel_mem = check_mem_new(KERN_ROWS * MAX_N * 4 + 64);
    tile_mem = check_mem_new(MAX_W * MAX_N * 4);
    y_mem = check_mem_new(MAX_W * 36 * 4);
    check_catch();
    for (int t = 0; t < KERN_NQUANT; t++) {
        check_type = kern[0].quant[t].name;
        if (!chosen(check_type, argv))
            continue;
        if (benching) {
            bench(t);
            continue;
        }
        check_products(t);
        if (t == KERN_q8_0)
            check_split();
        check_dequant(t);
        check_values(t, DIR_);
        check_values(t, DIR_ "rand/");
    }
    return benching ? 0 : tap_done();
}
