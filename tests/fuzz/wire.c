/* SPDX-License-Identifier: MIT
 * wire.c - any bytes as a stream: read, copied as CBOR and as JSON, and the
 * copies read again.
 *
 * What must hold: CBOR goes through byte for byte; the copy reads back as the
 * same kinds of records; JSON does where JSON can say the same at all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { KEEP = 4096 };
static FILE *file[3]; /* the input, as CBOR, as JSON */

static void must(int good)
{
    if (!good)
        abort();
}

static int rewound(FILE *f, int empty)
{
    int fd = fileno(f);

    if (empty)
        must(!ftruncate(fd, 0));
    must(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* Look at everything that R points to: a sanitizer sees what is not there. */
static uint64_t look(const struct wire_rec *r)
{
    static const char *const keys[] = {"id", "temp", "s", "x", "t", "text"};
    uint64_t sum = r->seq + strlen(r->t);
    struct buf b = {0};

    if (r->kind == WIRE_TOKENS) {
        for (size_t i = 0; i < r->tokens.n; i++)
            sum += r->tokens.ids[i] + (r->tokens.lp && r->tokens.lp[i] > 0);
        for (size_t i = 0; i < r->tokens.ntext; i++)
            sum += ((const uint8_t *)r->tokens.text)[i];
    } else if (r->kind == WIRE_LOGITS) {
        for (size_t i = 0; i < r->logits.n; i++)
            sum += r->logits.v[i] > 0;
    } else if (r->kind == WIRE_END) {
        sum += strlen(r->end.why);
        for (size_t i = 0; i < r->end.nstop; i++)
            sum += (uint8_t)r->end.stop[i];
    } else if (r->kind == WIRE_ERROR) {
        sum += strlen(r->error.code) + strlen(r->error.msg);
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *s;
        int64_t k;
        double f;
        bool yes;
        size_t len;

        if (wire_get_str(&s, &len, r, keys[i], NULL) > 0)
            sum += len ? (uint8_t)s[len - 1] : 0;
        wire_get_int(&k, r, keys[i], -5, 1 << 20, NULL);
        wire_get_float(&f, r, keys[i], NULL);
        wire_get_bool(&yes, r, keys[i], NULL);
        wire_get_json(&b, r, keys[i], NULL);
    }
    sum += b.n;
    buf_free(&b);
    return sum;
}

/* Read FD to its end; the kinds of the first records, and how many came. */
static size_t read_all(int fd, uint8_t *kinds, struct wire_out **w,
                       struct err *e)
{
    struct wire_in *in;
    struct wire_rec r;
    size_t n = 0;
    int got;

    *e = (struct err){0};
    must(!wire_in_open(&in, fd, "x", e));
    while ((got = wire_next(in, &r, e)) > 0) {
        look(&r);
        if (n < KEEP)
            kinds[n] = (uint8_t)r.kind;
        n++;
        for (int i = 0; w && i < 2; i++)
            must(!wire_put(w[i], &r, e));
    }
    must((got == 0) == (e->code == ERR_NONE));
    wire_in_close(in);
    return n;
}

/* What CBOR can say and JSON cannot; all else must be read back. */
static bool beyond_json(const char *msg)
{
    static const char *const why[] = {"too big", "duplicate object key",
                                      "NUL byte in object key"};

    if (!strstr(msg, "JSON: "))
        return true;
    for (size_t i = 0; i < sizeof why / sizeof *why; i++)
        if (strstr(msg, why[i]))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t kinds[KEEP], again[KEEP];
    struct err e = {0};
    struct wire_out *w[2];
    size_t k, back;
    int fd[3];

    for (int i = 0; i < 3; i++) {
        if (!file[i])
            file[i] = tmpfile();
        must(file[i] != NULL);
        fd[i] = rewound(file[i], 1);
    }
    must(write(fd[0], p, n) == (ssize_t)n);
    rewound(file[0], 0);
    must(!wire_out_open(&w[0], fd[1], WIRE_CBOR, &e));
    must(!wire_out_open(&w[1], fd[2], WIRE_JSON, &e));
    k = read_all(fd[0], kinds, w, &e);
    must(!wire_out_close(w[0], NULL) && !wire_out_close(w[1], NULL));
    if (!k)
        return 0;
    back = read_all(rewound(file[1], 0), again, NULL, &e);
    must(!e.code && back == k);
    must(!memcmp(kinds, again, k < KEEP ? k : KEEP));
    back = read_all(rewound(file[2], 0), again, NULL, &e);
    must(back <= k && (e.code || back == k) && beyond_json(e.msg));
    must(!memcmp(kinds, again, back < KEEP ? back : KEEP));
    return 0;
}
