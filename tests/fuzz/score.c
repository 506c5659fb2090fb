/* SPDX-License-Identifier: MIT
 * score.c - any bytes as a request, or, where the first byte is odd, as what is
 * kept of a run.
 *
 * What must hold: choices lie in their text, an answer is one of them, and an
 * id is JSON; what is unpacked is of tokens that there are, and packed again it
 * is unpacked as the same. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "score/kept.h"
#include "score/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { VOCAB = 300 };

static void must(int good)
{
    if (!good)
        abort();
}

static void request(const uint8_t *p, size_t n, bool letters)
{
    static struct score_request q;
    struct err e = {0};

    if (score_request(&q, p, n, letters, &e)) {
        must(e.code == ERR_FORMAT && e.msg[0]);
        return;
    }
    must(q.n > 0 && q.n <= SCORE_MAX_CHOICES && q.answer >= -1 &&
         q.answer < q.n);
    for (int i = 0; i < q.n; i++)
        must(q.choice[i].at <= q.text.n &&
             q.choice[i].n <= q.text.n - q.choice[i].at &&
             q.choice[i].chars <= q.choice[i].n);
    if (q.id.n) {
        json_t *id = json_loadb((char *)q.id.p, q.id.n, JSON_DECODE_ANY, NULL);

        must(id != NULL);
        json_decref(id);
    }
}

static void kept(const uint8_t *p, size_t n)
{
    struct score_kept a, b;
    struct err e = {0};
    struct buf z = {0};
    size_t k = p[0] & 7, m = p[0] >> 3 & 7, count = 1 + (p[0] >> 6);

    must(!score_kept_new(&a, count, k, m, NULL));
    must(!score_kept_new(&b, count, k, m, NULL));
    if (score_kept_unpack(&a, p + 1, n - 1, VOCAB, &e)) {
        must(e.code == ERR_FORMAT);
    } else {
        for (size_t i = 0; i < count * k; i++)
            must(a.top[i].id < VOCAB);
        for (size_t i = 0; i < count * m; i++)
            must(a.drawn[i].id < VOCAB);
        must(!score_kept_pack(&z, &a, NULL));
        must(!score_kept_unpack(&b, z.p, z.n, VOCAB, NULL));
        must(!memcmp(a.top, b.top, count * k * sizeof *a.top));
        must(!memcmp(a.drawn, b.drawn, count * m * sizeof *a.drawn));
    }
    buf_free(&z);
    score_kept_free(&a);
    score_kept_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 2)
        return 0;
    if (p[0] & 1)
        kept(p + 1, n - 1);
    else
        request(p + 1, n - 1, p[0] & 2);
    return 0;
}
