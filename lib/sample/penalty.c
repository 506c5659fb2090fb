/* SPDX-License-Identifier: MIT
 * penalty.c - what changes scores: biases, and penalties for what was there
 * before. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/op/math/math.h"
#include "sample/sample_impl.h"

/* A bias or a penalty alone does not rule out a token, nor make it certain. */
static float finite(double x)
{
    return x < -(double)FLT_MAX  ? -FLT_MAX
           : x > (double)FLT_MAX ? FLT_MAX
                                 : (float)x;
}

void penalty_bias(struct sampler *s)
{
    float *x = choice_edit(s);

    for (int i = 0; i < s->o.nbias; i++) {
        float *y = &x[s->bias[i].id];

        /* What is not finite stays, to be found. */
        if (isfinite(*y))
            *y = finite((double)*y + (double)s->bias[i].add);
    }
    choice_edited(s);
}

/* Where the last LAST of N tokens begin; -1: all. */
static int start(int n, int last)
{
    return last >= 0 && n > last ? n - last : 0;
}

static float penalized(const struct sample_opts *o, double x, uint32_t times)
{
    double by = (double)o->repeat_penalty;

    x = x > 0 ? x / by : x * by;
    return finite(x - (times * (double)o->frequency_penalty +
                       (double)o->presence_penalty));
}

void penalty_repeat(struct sampler *s, const int32_t *history, int n)
{
    const struct sample_opts *o = &s->o;
    int from = start(n, o->repeat_last_n);
    float *x = choice_edit(s);

    for (int i = from; i < n; i++)
        if (history[i] >= 0 && (size_t)history[i] < s->n)
            s->count[history[i]]++;
    for (int i = from; i < n; i++) {
        uint32_t id = (uint32_t)history[i];
        uint32_t times = id < s->n ? s->count[id] : 0;

        if (!times)
            continue; /* none of ours, or done */
        s->count[id] = 0;
        if (isfinite(x[id]))
            x[id] = penalized(o, (double)x[id], times);
    }
    choice_edited(s);
}

/* ---- DRY ---- */

/* REPEAT[k]: how many of the last tokens of H[N] are also the last of its
 * N - k first ones, k from 1 on: the Z function of the tokens backwards. */
static void repeats(int32_t *repeat, const int32_t *h, int n)
{
    const int32_t *last = h + n - 1;
    int from = 0, to = 0; /* the match that reaches furthest back */

    for (int k = 1; k < n; k++) {
        int m = 0;

        if (k < to) {
            m = repeat[k - from];
            if (m > to - k)
                m = to - k;
        }
        while (k + m < n && last[-m] == last[-(k + m)])
            m++;
        repeat[k] = m;
        if (k + m > to) {
            from = k;
            to = k + m;
        }
    }
}

/* In TEXT, the furthest end of a breaker that begins in its first HEAD bytes;
 * 0: there is none. */
static size_t breaker_end(const struct sample_opts *o, const char *text,
                          size_t head, size_t n)
{
    size_t end = 0;

    for (int at = 0; at < o->nbreakers; at += o->breakers[at] + 1) {
        size_t len = o->breakers[at];

        for (size_t i = 0; i < head && i + len <= n; i++)
            if (!memcmp(text + i, o->breakers + at + 1, len) && i + len > end)
                end = i + len;
    }
    return end;
}

/* Put the text of ID before what is in s->text, of which no more is kept than a
 * breaker may need; *LEN: its length. */
static int prepend(struct sampler *s, size_t *len, uint32_t id, struct err *e)
{
    unsigned char after[ORDER_BREAKER];
    size_t n = s->text.n < sizeof after ? s->text.n : sizeof after;

    if (n)
        memcpy(after, s->text.p, n);
    s->text.n = 0;
    if (s->o.text(&s->text, s->o.text_arg, id, e))
        return -1;
    *len = s->text.n;
    buf_put(&s->text, after, n);
    return buf_ok(&s->text, e);
}

/* How many of the last tokens of H[N] have no part in a breaker, nor one before
 * them that has; -1 with *E. */
static int unbroken(struct sampler *s, const int32_t *h, int n, struct err *e)
{
    size_t bytes = 0, best = SIZE_MAX; /* from the end of the text */
    int count = n;

    s->text.n = 0;
    for (int i = n; s->o.nbreakers && i--;) {
        size_t len, end;

        if (prepend(s, &len, (uint32_t)h[i], e))
            return -1;
        end = breaker_end(&s->o, (char *)s->text.p, len, s->text.n);
        bytes += len;
        if (end && bytes - end < best)
            best = bytes - end;
        if (best != SIZE_MAX && bytes > best + ORDER_BREAKER)
            break;
    }
    if (best == SIZE_MAX)
        return n;
    /* Tokens are inside while they end before that many bytes. */
    bytes = 0;
    for (count = 0; count < n; count++) {
        s->text.n = 0;
        if (s->o.text(&s->text, s->o.text_arg, (uint32_t)h[n - 1 - count], e))
            return -1;
        bytes += s->text.n;
        if (bytes > best)
            break;
    }
    return count;
}

/* Does its own text hold a breaker? */
static int breaks(struct sampler *s, uint32_t id, struct err *e)
{
    if (!s->o.nbreakers)
        return 0;
    s->text.n = 0;
    if (s->o.text(&s->text, s->o.text_arg, id, e))
        return -1;
    return breaker_end(&s->o, (char *)s->text.p, s->text.n, s->text.n) > 0;
}

/* Of the tokens that followed where the last ones were before, the score falls
 * by the longest such repetition. */
static int penalize(struct sampler *s, const int32_t *h, int n, int limit,
                    float *x, struct err *e)
{
    const struct sample_opts *o = &s->o;
    int rc = 0;

    for (int k = 1; k < n; k++) {
        uint32_t id = (uint32_t)h[n - k];
        int m = s->repeat[k] < limit ? s->repeat[k] : limit;

        if (id < s->n && m >= o->dry_allowed_length &&
            (uint32_t)m + 1 > s->count[id])
            s->count[id] = (uint32_t)m + 1;
    }
    for (int k = 1; k < n; k++) {
        uint32_t id = (uint32_t)h[n - k];
        uint32_t m = id < s->n ? s->count[id] : 0;
        int is = m ? breaks(s, id, e) : 1;

        if (is < 0)
            rc = -1; /* and all counts become 0 */
        if (m)
            s->count[id] = 0;
        if (is || !isfinite(x[id]))
            continue;
        x[id] = finite((double)x[id] -
                       (double)o->dry_multiplier *
                           kern_pow_f64((double)o->dry_base,
                                        (double)m - 1 - o->dry_allowed_length));
    }
    return rc;
}

int penalty_dry(struct sampler *s, const int32_t *history, int n, struct err *e)
{
    const struct sample_opts *o = &s->o;
    int from = start(n, o->dry_penalty_last_n), limit;
    const int32_t *h;
    int rc;

    n -= from;
    if (n <= o->dry_allowed_length)
        return 0;
    h = history + from;
    if ((size_t)n > s->room) {
        size_t room = (size_t)n + (size_t)n / 2;
        int32_t *p = realloc(s->repeat, room * sizeof *p);

        if (!p)
            return err_nomem(e);
        s->repeat = p;
        s->room = room;
    }
    limit = unbroken(s, h, n, e);
    if (limit < o->dry_allowed_length)
        return limit < 0 ? -1 : 0;
    repeats(s->repeat, h, n);
    rc = penalize(s, h, n, limit, choice_edit(s), e);
    choice_edited(s);
    return rc;
}
