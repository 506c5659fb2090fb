/* SPDX-License-Identifier: MIT
 * kv.c - any bytes as KV states: loaded into a small cache, and through what
 * kv-dump does, as they are and once more with the sums that they should have.
 *
 * What must hold: a state that is taken can be saved and loaded again; what
 * kv-dump writes, it reads. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/dump/dump.h"
#include "kv/kv.h"
#include "kv/state_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(int good)
{
    if (!good)
        abort();
}

/* ---- a device that keeps rows ---- */

enum { NLAYER = 2, NPAGE = 16, ROW = 4 };

struct be {
    unsigned char data[NLAYER][2][NPAGE][BE_PAGE * ROW];
};

int be_kv_init(struct be *b, const struct be_kv_spec *s, struct err *e)
{
    (void)b;
    (void)e;
    must(s->npages[0] <= NPAGE && s->npages[1] <= NPAGE);
    return 0;
}

size_t be_kv_row(const struct be *b, int layer, int which)
{
    (void)b;
    (void)layer;
    (void)which;
    return ROW;
}

void be_kv_copy(struct be *b, int group, int src, int dst)
{
    memcpy(b->data[group][0][dst], b->data[group][0][src], BE_PAGE * ROW);
    memcpy(b->data[group][1][dst], b->data[group][1][src], BE_PAGE * ROW);
}

void be_kv_get(struct be *b, int layer, int which, int page, int pos, int n,
               void *dst)
{
    memcpy(dst, b->data[layer][which][page] + pos * ROW, (size_t)n * ROW);
}

void be_kv_put(struct be *b, int layer, int which, int page, int pos, int n,
               const void *src)
{
    memcpy(b->data[layer][which][page] + pos * ROW, src, (size_t)n * ROW);
}

static struct kv *cache(struct be *b)
{
    static const struct kv_layer layer[NLAYER] = {{1, 2, 2, 0}, {1, 2, 2, 5}};
    struct kv_config c = {.nlayer = NLAYER,
                          .layer = layer,
                          .ktype = KV_F16,
                          .vtype = KV_F16,
                          .positions = 512,
                          .max_batch = 8,
                          .nseq = 2,
                          .model_id = "m",
                          .rope = "r"};
    struct kv *kv;

    must(!kv_new(&kv, b, &c, NULL));
    return kv;
}

/* ---- files ---- */

enum { INPUT, FIXED, OUTPUT, AGAIN, NFILE };
static FILE *file[NFILE];

static int at_start(int f, bool empty)
{
    int fd = fileno(file[f]);

    must(!empty || !ftruncate(fd, 0));
    must(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* The first state of F in a cache: saved, and loaded again.  AGAIN: it must
 * be there. */
static void load(struct kv *kv, int f, bool again)
{
    struct err e = {0};
    struct kv_load *l = kv_load_new(kv, &e);
    struct kv_seq *s = NULL;
    struct wire_out *w;
    struct wire_in *in;
    struct wire_rec r;
    int got = 0;

    must(l && !wire_in_open(&in, at_start(f, false), "x", &e));
    while (!got && wire_next(in, &r, &e) > 0)
        if (r.kind == WIRE_KV)
            got = kv_load_add(l, &r, &e);
    must((got == 1) == !kv_load_whole(l, NULL) || got < 0);
    if (got == 1)
        s = kv_load_take(l);
    must((got == 1) == (s != NULL) && (!again || s));
    if (s && !again) {
        must(!wire_out_open(&w, at_start(OUTPUT, true), WIRE_CBOR, &e));
        must(!kv_save(w, 1, s, kv_seq_n(s) & 1 ? KV_ZSTD : 0, &e));
        must(!wire_out_close(w, &e));
    }
    wire_in_close(in);
    kv_load_free(l);
    if (s && !again)
        load(kv, OUTPUT, true);
    kv_seq_free(s);
}

/* FIXED becomes the input with the sums that its states should have, as long
 * as its records can be read at all. */
static void fix_sums(void)
{
    struct kv_state_pos at;
    struct wire_out *w;
    struct wire_in *in;
    struct wire_rec r;
    struct wire_kv k;
    char sum[KV_SUM_ALL];

    must(!wire_in_open(&in, at_start(INPUT, false), "x", NULL));
    must(!wire_out_open(&w, at_start(FIXED, true), WIRE_CBOR, NULL));
    must(!kv_state_begin(&at, NULL));
    while (wire_next(in, &r, NULL) > 0) {
        if (r.kind != WIRE_KV || wire_get_kv(&k, &r, NULL)) {
            must(!wire_put(w, &r, NULL));
            continue;
        }
        kv_state_sum(sum, &at, &k);
        k.sum = sum;
        must(!wire_put_kv(w, &k, NULL));
        if (strcmp(k.part, "end"))
            continue;
        kv_state_fini(&at);
        must(!kv_state_begin(&at, NULL));
    }
    kv_state_fini(&at);
    wire_in_close(in);
    must(!wire_out_close(w, NULL));
}

/* kv-dump on F, its output to TO: 0 when it was content. */
static int pass(int f, int to, struct job j)
{
    struct pass p = {.job = &j};
    struct err e = {0};
    int r;

    if (j.format == WIRE_CBOR)
        must(!wire_out_open(&j.w, at_start(to, true), WIRE_CBOR, &e));
    r = pass_file(&p, at_start(f, false), "x", &e);
    must((r == 0) == (e.code == ERR_NONE));
    wire_out_close(j.w, NULL);
    fflush(stdout);
    return r;
}

static void dump(int f)
{
    static const struct job show = {
        .format = WIRE_TEXT, .cut = -1, .kt = -1, .vt = -1, .zstd = -1};
    struct job j = show;

    pass(f, OUTPUT, j);
    j.format = WIRE_JSON;
    j.values = true;
    j.layer = j.head = j.pos = (struct range){0, 1};
    pass(f, OUTPUT, j);
    j = show;
    j.format = WIRE_CBOR;
    if (!pass(f, OUTPUT, j))
        must(!pass(OUTPUT, AGAIN, j));
    j.cut = 1;
    j.kt = KV_Q4_0;
    j.vt = KV_BF16;
    j.zstd = 1;
    if (!pass(f, OUTPUT, j))
        must(!pass(OUTPUT, AGAIN, j));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static struct be b;
    struct kv *kv = cache(&b);
    int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);

    for (int i = 0; i < NFILE; i++) {
        if (!file[i])
            file[i] = tmpfile();
        must(file[i] != NULL);
    }
    must(write(at_start(INPUT, true), p, n) == (ssize_t)n);
    fix_sums();
    load(kv, INPUT, false);
    load(kv, FIXED, false);
    kv_free(kv);
    fflush(stdout);
    dup2(null, STDOUT_FILENO);
    close(null);
    dump(INPUT);
    dump(FIXED);
    dup2(out, STDOUT_FILENO);
    close(out);
    return 0;
}
