/* SPDX-License-Identifier: MIT
 *
 * mkkv [NAME=VALUE ...] - write a KV state to standard output, for tests.
 *
 *   n=N  seq=N  seed=N      tokens, the sequence's number, what fills it
 *   types=K,V               f16,f16
 *   layers=H:K:V:W,...      heads, their sizes, window; H may be 0
 *   model=TEXT  rope=TEXT   what the head says
 *   zstd=1  header=0        compressed; without the stream's header
 *   fast=1                  the same bytes everywhere: for large ones
 *
 * Elements are multiples of 1/64 within -1 and 1 (of 1/8, q4_0), so that
 * conversions which can be exact are.  They depend on the seed, the layer and
 * the position alone: a state of fewer tokens is the beginning of a longer one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "kv/state.h"

static struct kv_state x = {.model = "0123456789abcdef0123456789abcdef",
                            .rope = "base 10000"};
static struct kv_state_layer layer[64];
static uint64_t seq, seed = 1;
static const char *layers = "2:32:32:0,1:32:64:100";
static int zstd, header = 1, fast;

static _Noreturn void bad(const char *what)
{
    fprintf(stderr, "mkkv: %s?\n", what);
    exit(2);
}

static void option(char *s)
{
    char *v = strchr(s, '=');
    size_t n;

    if (!v)
        bad(s);
    *v++ = 0;
    if (!strcmp(s, "n")) {
        x.n = (int)strtol(v, NULL, 10);
    } else if (!strcmp(s, "seq")) {
        seq = strtoull(v, NULL, 10);
    } else if (!strcmp(s, "seed")) {
        seed = strtoull(v, NULL, 10);
    } else if (!strcmp(s, "types")) {
        n = strcspn(v, ",");
        x.ktype = (enum kern_kv)kv_type_find(v, n);
        x.vtype = (enum kern_kv)kv_type_find(v + n + 1, strlen(v + n + 1));
    } else if (!strcmp(s, "layers")) {
        layers = v;
    } else if (!strcmp(s, "model")) {
        x.model = v;
    } else if (!strcmp(s, "rope")) {
        x.rope = v;
    } else if (!strcmp(s, "zstd")) {
        zstd = *v == '1';
    } else if (!strcmp(s, "header")) {
        header = *v == '1';
    } else if (!strcmp(s, "fast")) {
        fast = *v == '1';
    } else {
        bad(s);
    }
}

static uint32_t mix(uint64_t v)
{
    v = (v ^ v >> 31) * 0x9e3779b97f4a7c15u;
    v = (v ^ v >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(v >> 32);
}

static void make_layers(void)
{
    const char *s = layers;

    for (; *s; x.nlayer++) {
        struct kv_state_layer *l = &layer[x.nlayer];
        char *end;

        if (x.nlayer == 64)
            bad("layers");
        l->heads = (int)strtol(s, &end, 10);
        if (l->heads) {
            l->dk = (int)strtol(end + 1, &end, 10);
            l->dv = (int)strtol(end + 1, &end, 10);
            l->window = (int)strtol(end + 1, &end, 10);
            l->from = kv_state_low(l->window, x.n) / BE_PAGE * BE_PAGE;
        }
        s = *end ? end + 1 : end;
    }
    x.layer = layer;
}

/* -64..64: element I of a row. */
static int element(uint64_t row, int i)
{
    return (int)(mix(row * 0x10001 + (uint64_t)i) % 129) - 64;
}

/* V / 64 as a half: exact. */
static uint16_t half(int v)
{
    int a = v < 0 ? -v : v, e = 0;

    if (!a)
        return 0;
    while (a >> (e + 1))
        e++;
    return (uint16_t)((v < 0) << 15 | (e + 9) << 10 | (a << (10 - e) & 0x3ff));
}

/* One of WIDTH elements. */
static void put_row(struct buf *b, enum kern_kv t, int width, uint64_t row)
{
    for (int i = 0; i < width; i++) {
        float f = (float)element(row, i) / 64;
        uint32_t u;
        uint16_t h = half(element(row, i));
        unsigned char out[4];

        memcpy(&u, &f, 4);
        wr_u32(out, u);
        if (t == KV_F32) {
            buf_put(b, out, 4);
        } else if (t == KV_BF16) {
            buf_put(b, out + 2, 2);
        } else if (t == KV_F16) {
            buf_put(b, &h, 2);
        } else if (t == KV_Q8_0) {
            if (i % 32 == 0)
                buf_put(b, "\x00\x24", 2); /* 1/64 */
            buf_putc(b, element(row, i) & 255);
        } else if (i % 32 < 16) {
            if (i % 32 == 0)
                buf_put(b, "\x00\x30", 2); /* 1/8 */
            buf_putc(b, (element(row, i) / 9 + 8) |
                            (element(row, i + 16) / 9 + 8) << 4);
        }
    }
}

static void put_page(struct kv_writer *k, int i, int page, struct err *e)
{
    static struct buf b[2];
    struct kv_page p = {.zstd = zstd};
    int left = x.n - page * BE_PAGE;

    for (int w = 0; w < 2; w++) {
        int width = layer[i].heads * (w ? layer[i].dv : layer[i].dk);

        if (fast && b[w].n)
            continue;
        b[w].n = 0;
        for (int r = 0; r < (left < BE_PAGE ? left : BE_PAGE); r++)
            put_row(&b[w], w ? x.vtype : x.ktype, width,
                    (seed * 1000 + (uint64_t)(2 * i + w)) << 24 |
                        (uint64_t)(page * BE_PAGE + r));
    }
    p.k = b[0].p;
    p.v = b[1].p;
    if (b[0].bad || b[1].bad || kv_writer_page(k, &p, e))
        bad(e->msg);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct wire_out *w;
    struct kv_writer *k;
    int32_t *ids;
    int i, page;

    x.n = 100;
    while (*++argv)
        option(*argv);
    (void)argc;
    make_layers();
    ids = malloc(((size_t)x.n + 1) * sizeof *ids);
    for (i = 0; ids && i < x.n; i++)
        ids[i] = (int32_t)(mix(seed << 32 | (uint64_t)i) % 1000);
    x.ids = ids;
    if (!ids || wire_out_open(&w, STDOUT_FILENO, WIRE_CBOR, &e))
        bad("memory");
    if (header)
        wire_put_header(w, &(struct wire_header){.by = "mkkv", .id = x.model},
                        &e);
    if (kv_writer_new(&k, w, seq, &x, &e))
        bad(e.msg);
    while (kv_writer_next(k, &i, &page))
        put_page(k, i, page, &e);
    if (kv_writer_end(k, &e) || wire_out_close(w, &e))
        bad(e.msg);
    kv_writer_free(k);
    free(ids);
    return 0;
}
