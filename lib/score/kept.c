/* SPDX-License-Identifier: MIT */
#include "score/kept.h"

#include <math.h>
#include <stdlib.h>
#include <zstd.h>

enum { LEVEL = 3 };

int score_kept_new(struct score_kept *b, size_t n, size_t k, size_t m,
                   struct err *e)
{
    *b = (struct score_kept){.n = n, .k = k, .m = m};
    if (n > SCORE_KEPT_WORDS || k > SCORE_KEPT_WORDS / (n + 1) ||
        m > SCORE_KEPT_WORDS / (n + 1))
        return err_set(e, ERR_FORMAT, "too much is kept of a token");
    b->lp = calloc(n + 1, sizeof *b->lp);
    b->tail = calloc(n + 1, sizeof *b->tail);
    b->top = calloc(n * k + 1, sizeof *b->top);
    b->drawn = calloc(n * m + 1, sizeof *b->drawn);
    if (b->lp && b->tail && b->top && b->drawn)
        return 0;
    score_kept_free(b);
    return err_nomem(e);
}

void score_kept_free(struct score_kept *b)
{
    free(b->lp);
    free(b->tail);
    free(b->top);
    free(b->drawn);
    *b = (struct score_kept){0};
}

struct score_kept score_kept_part(const struct score_kept *b, size_t i,
                                  size_t n)
{
    return (struct score_kept){n,
                               b->k,
                               b->m,
                               b->lp + i,
                               b->tail + i,
                               b->top + i * b->k,
                               b->drawn + i * b->m};
}

static size_t words(const struct score_kept *b)
{
    return 2 * b->n * (1 + b->k + b->m);
}

/* Word I of W in P, in planes. */
static void put(unsigned char *p, size_t w, size_t i, uint32_t v)
{
    for (size_t k = 0; k < 4; k++)
        p[k * w + i] = (unsigned char)(v >> 8 * k);
}

static uint32_t get(const unsigned char *p, size_t w, size_t i)
{
    uint32_t v = 0;

    for (size_t k = 0; k < 4; k++)
        v |= (uint32_t)p[k * w + i] << 8 * k;
    return v;
}

static uint32_t bits(float f)
{
    uint32_t v;

    memcpy(&v, &f, sizeof v);
    return v;
}

static float from_bits(uint32_t v)
{
    float f;

    memcpy(&f, &v, sizeof f);
    return f;
}

/* N tokens as the words from I on. */
static void put_tokens(unsigned char *p, size_t w, size_t i,
                       const struct sample_top *t, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        put(p, w, i + k, t[k].id);
        put(p, w, i + n + k, bits(t[k].lp));
    }
}

static void get_tokens(const unsigned char *p, size_t w, size_t i,
                       struct sample_top *t, size_t n)
{
    for (size_t k = 0; k < n; k++)
        t[k] = (struct sample_top){get(p, w, i + k),
                                   from_bits(get(p, w, i + n + k))};
}

int score_kept_pack(struct buf *out, const struct score_kept *b, struct err *e)
{
    size_t w = words(b), room = ZSTD_compressBound(4 * w), got;
    unsigned char *plain = malloc(4 * w + 1), *to = buf_reserve(out, room);

    if (!plain || !to) {
        free(plain);
        return err_nomem(e);
    }
    for (size_t i = 0; i < b->n; i++) {
        put(plain, w, i, bits(b->lp[i]));
        put(plain, w, b->n + i, bits(b->tail[i]));
    }
    put_tokens(plain, w, 2 * b->n, b->top, b->n * b->k);
    put_tokens(plain, w, 2 * b->n * (1 + b->k), b->drawn, b->n * b->m);
    got = ZSTD_compress(to, room, plain, 4 * w, LEVEL);
    free(plain);
    if (ZSTD_isError(got)) /* of memory alone: the room is enough */
        return err_nomem(e);
    out->n += got;
    return 0;
}

/* Log-probabilities, in order, of tokens that there are? */
static bool sound(const struct score_kept *b, size_t n_vocab)
{
    for (size_t i = 0; i < b->n; i++)
        if (!(b->lp[i] < 0.001f) || !(b->tail[i] < 0.001f))
            return false;
    for (size_t i = 0; i < b->n * b->k; i++)
        if (b->top[i].id >= n_vocab || !(b->top[i].lp < 0.001f) ||
            (i % b->k && !(b->top[i].lp <= b->top[i - 1].lp)))
            return false;
    for (size_t i = 0; i < b->n * b->m; i++)
        if (b->drawn[i].id >= n_vocab || !(b->drawn[i].lp < 0.001f))
            return false;
    return true;
}

int score_kept_unpack(struct score_kept *b, const void *p, size_t len,
                      size_t n_vocab, struct err *e)
{
    size_t w = words(b);
    unsigned char *plain;

    if (ZSTD_getFrameContentSize(p, len) != (unsigned long long)4 * w)
        return err_set(e, ERR_FORMAT,
                       "'z' is not of as many tokens as it "
                       "should be");
    plain = malloc(4 * w + 1);
    if (!plain)
        return err_nomem(e);
    if (ZSTD_decompress(plain, 4 * w, p, len) != 4 * w) {
        free(plain);
        return err_set(e, ERR_FORMAT, "'z' is no frame of zstd");
    }
    for (size_t i = 0; i < b->n; i++) {
        b->lp[i] = from_bits(get(plain, w, i));
        b->tail[i] = from_bits(get(plain, w, b->n + i));
    }
    get_tokens(plain, w, 2 * b->n, b->top, b->n * b->k);
    get_tokens(plain, w, 2 * b->n * (1 + b->k), b->drawn, b->n * b->m);
    free(plain);
    if (!sound(b, n_vocab))
        return err_set(e, ERR_FORMAT, "'z' has no log-probabilities in order");
    return 0;
}
