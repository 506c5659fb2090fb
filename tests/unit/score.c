/* SPDX-License-Identifier: MIT
 * score.c - distributions against plain loops in long double, what is kept of
 * them, numbers about numbers, and lines of JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "score/dist.h"
#include "score/kept.h"
#include "score/request.h"
#include "score/stat.h"
#include "tests/unit/tap.h"

enum { MAXN = 3000 };

static kern_unary_fn *kexp;

static double draw(uint64_t i)
{
    return rng_unit(7, 1, i);
}

/* Logits of N tokens, some equal, as sharp as SCALE. */
static void fill(float *v, int n, int which, double scale)
{
    for (int i = 0; i < n; i++)
        v[i] = (float)(floor(draw((uint64_t)(which * MAXN + i)) * 4096) / 4096 *
                       scale);
}

static long double plain_lse(const float *v, int n)
{
    long double max = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++)
        max = (long double)v[i] > max ? (long double)v[i] : max;
    for (int i = 0; i < n; i++)
        sum += expl((long double)v[i] - max);
    return max + logl(sum);
}

static void distributions(void)
{
    static float v[MAXN], u[MAXN], w[2][MAXN];
    static const int sizes[] = {1, 2, 7, 8, 40, 1001, MAXN};
    struct score_dist p, q;

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k];
        double worst = 0;
        long double lse, lse2, kl = 0;

        fill(v, n, 1, 12);
        fill(u, n, 2, 9);
        lse = plain_lse(v, n);
        lse2 = plain_lse(u, n);
        if (score_dist(&p, v, (size_t)n, w[0], kexp, NULL) ||
            score_dist(&q, u, (size_t)n, w[1], kexp, NULL)) {
            ok(0, "%d tokens", n);
            continue;
        }
        for (int i = 0; i < n; i++) {
            long double lp = (long double)v[i] - lse,
                        lq = (long double)u[i] - lse2;

            worst = fmax(
                worst,
                fabs((double)(lp - (long double)score_lp(&p, (uint32_t)i))));
            kl += expl(lp) * (lp - lq);
        }
        ok(worst < 2e-6, "%d tokens: log-probabilities, within %g", n, worst);
        ok(fabs(score_kl(&p, &q) - (double)kl) < 1e-6,
           "%d tokens: divergence %.9g", n, (double)kl);
        ok(score_kl(&p, &p) == 0, "%d tokens: none from itself", n);
    }
}

static void extremes(void)
{
    float v[4] = {1, 2, NAN, 0}, u[4] = {0, 0, 0, -INFINITY}, w[4], w2[4];
    struct score_dist p, q;
    struct err e = {0};

    ok(score_dist(&p, v, 4, w, kexp, &e) && e.code == ERR_FORMAT, "NaN: %s",
       e.msg);
    v[2] = INFINITY;
    ok(score_dist(&p, v, 4, w, kexp, NULL) == -1, "infinity is none");
    for (int i = 0; i < 4; i++)
        v[i] = -INFINITY;
    e.code = 0;
    ok(score_dist(&p, v, 4, w, kexp, &e) && e.code == ERR_FORMAT,
       "minus infinity everywhere: %s", e.msg);
    v[1] = v[2] = 3;
    ok(!score_dist(&p, v, 4, w, kexp, NULL) && score_first(&p) == 1 &&
           score_lp(&p, 0) == -INFINITY &&
           fabs(score_lp(&p, 2) + log(2)) < 1e-6,
       "minus infinity here and there; the first of equals");
    ok(!score_dist(&q, u, 4, w2, kexp, NULL) &&
           fabs(score_kl(&p, &q) - log(1.5)) < 1e-6,
       "what is impossible adds nothing");
    ok(score_kl(&q, &p) == INFINITY, "what only the other finds impossible");
}

static void most_probable(void)
{
    static float v[MAXN], w[MAXN];
    static struct sample_top top[MAXN];
    static const size_t ks[] = {0, 1, 2, 5, 64, 999, 1000, 2000};
    struct score_dist d;

    fill(v, 1000, 3, 3);
    v[500] = v[501] = v[20] = 4;
    score_dist(&d, v, 1000, w, kexp, NULL);
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        size_t k = ks[i], n = score_top(top, k, &d);
        bool right = n == (k < 1000 ? k : 1000);
        long double rest = 0, lse = plain_lse(v, 1000);
        char in[1000] = {0};

        for (size_t j = 0; j < n; j++) {
            in[top[j].id] = 1;
            if (j && (v[top[j].id] > v[top[j - 1].id] ||
                      (v[top[j].id] == v[top[j - 1].id] &&
                       top[j].id < top[j - 1].id)))
                right = false;
            right &= top[j].lp == score_lp(&d, top[j].id);
        }
        /* None that is left is before one that is in. */
        for (int j = 0; j < 1000; j++) {
            if (in[j])
                continue;
            rest += expl((long double)v[j] - lse);
            if (n && (v[j] > v[top[n - 1].id] || (v[j] == v[top[n - 1].id] &&
                                                  (uint32_t)j < top[n - 1].id)))
                right = false;
        }
        ok(right, "the %zu most probable", k);
        ok(n == 1000 ? score_tail(&d, top, n) == -INFINITY
                     : fabs(score_tail(&d, top, n) - (double)logl(rest)) < 1e-5,
           "and what is left beside them");
    }
}

static void bounds(void)
{
    static float v[MAXN], u[MAXN], w[2][MAXN];
    static struct sample_top top[MAXN], drawn[64];
    struct score_dist p, q;
    double kl, last = 0, sum = 0;
    bool less = true, there = true;

    fill(v, 1000, 4, 5);
    fill(u, 1000, 5, 5);
    score_dist(&p, v, 1000, w[0], kexp, NULL);
    score_dist(&q, u, 1000, w[1], kexp, NULL);
    kl = score_kl(&p, &q);
    for (size_t k = 0; k <= 1000; k += 20) {
        size_t n = score_top(top, k, &p);
        double b = score_kl_kept(top, n, score_tail(&p, top, n), &q);

        less &= b <= kl + 2e-6 && b >= last - 2e-6;
        last = b;
    }
    ok(less, "what is kept bounds the divergence, the more the nearer");
    ok(fabs(last - kl) < 1e-6, "all of it is exact: %.9g, %.9g", last, kl);
    /* Over all beginnings the estimate has no error left. */
    score_top(top, 30, &p);
    for (int i = 0; i < 2000; i++) {
        double e;

        if (score_draw(drawn, 16, &p, top, 30, (i + 0.5) / 2000) != 16)
            there = false;
        for (int j = 0; j < 16; j++)
            for (int k = 0; k < 30; k++)
                there &= drawn[j].id != top[k].id;
        e = score_kl_drawn(top, 30, score_tail(&p, top, 30), drawn, 16, &q);
        sum += e;
        if (i % 500 == 0)
            ok(fabs(e - kl) < 0.5 * kl, "one drawing is near: %.4f of %.4f", e,
               kl);
    }
    ok(there, "no token is both kept and drawn");
    ok(fabs(sum / 2000 - kl) < 2e-3 * kl,
       "the mean of all is exact: %.6f, %.6f", sum / 2000, kl);
    score_top(top, 1000, &p);
    ok(score_draw(drawn, 16, &p, top, 1000, 0.5) == 0,
       "nothing is left to draw");
}

/* ---- what is kept ---- */

static bool same(const struct score_kept *a, const struct score_kept *b)
{
    return !memcmp(a->lp, b->lp, a->n * sizeof *a->lp) &&
           !memcmp(a->tail, b->tail, a->n * sizeof *a->tail) &&
           !memcmp(a->top, b->top, a->n * a->k * sizeof *a->top) &&
           !memcmp(a->drawn, b->drawn, a->n * a->m * sizeof *a->drawn);
}

static void kept(void)
{
    struct score_kept a, b;
    struct buf z = {0};
    struct err e = {0};
    int bad = 0, told = 0;

    score_kept_new(&a, 20, 5, 3, NULL);
    score_kept_new(&b, 20, 5, 3, NULL);
    for (size_t i = 0; i < 20; i++) {
        a.lp[i] = (float)log(draw(i));
        a.tail[i] = i % 4 ? (float)log(draw(i + 100)) : -INFINITY;
        for (size_t k = 0; k < 5; k++)
            a.top[i * 5 + k] =
                (struct sample_top){(uint32_t)(i * k), -(float)k};
        for (size_t k = 0; k < 3; k++)
            a.drawn[i * 3 + k] = (struct sample_top){(uint32_t)(i + k), -9};
    }
    ok(!score_kept_pack(&z, &a, NULL) &&
           !score_kept_unpack(&b, z.p, z.n, 100, &e) && same(&a, &b),
       "what is packed is unpacked: %zu bytes %s", z.n, e.msg);
    ok(score_kept_unpack(&b, z.p, z.n, 76, &e) == -1 && e.code == ERR_FORMAT,
       "an id that is none: %s", e.msg);
    b.n = 19;
    ok(score_kept_unpack(&b, z.p, z.n, 100, NULL) == -1, "of other sizes");
    b.n = 20;
    for (size_t n = 0; n < z.n; n++)
        bad += score_kept_unpack(&b, z.p, n, 100, NULL) == 0;
    ok(!bad, "cut anywhere, it is refused");
    for (size_t i = 0; i < 8 * z.n; i++) {
        z.p[i / 8] ^= (unsigned char)(1u << i % 8);
        told += score_kept_unpack(&b, z.p, z.n, 100, NULL) != 0;
        z.p[i / 8] ^= (unsigned char)(1u << i % 8);
    }
    ok(told > 0, "of %zu changed bits %d are found", 8 * z.n, told);
    e.code = 0;
    score_kept_free(&b);
    ok(score_kept_new(&b, SIZE_MAX / 8, 9, 0, &e) == -1 &&
           e.code == ERR_FORMAT &&
           score_kept_new(&b, 9, SIZE_MAX / 8, 0, NULL) == -1 &&
           score_kept_new(&b, 9, 0, SIZE_MAX / 8, NULL) == -1,
       "too much: %s", e.msg);
    score_kept_free(&a);
    buf_free(&z);
}

/* ---- numbers ---- */

static void numbers(void)
{
    float v[5] = {4, 1, 3, 2, 10}, u[5] = {3, 1, 2, 2, 9};
    struct score_mean m = score_mean(v, 5), d = score_mean_diff(v, u, 5);
    double lo, hi;

    ok(m.mean == 4 && fabs(m.se - sqrt(12.5 / 5)) < 1e-12 &&
           fabs(m.rms - sqrt(26)) < 1e-12,
       "mean, standard error, root mean square");
    ok(fabs(d.mean - 0.6) < 1e-12 && fabs(d.se - sqrt(0.3 / 5)) < 1e-12,
       "of differences");
    ok(score_mean(v, 1).se == 0 && score_mean(v, 0).mean == 0, "of few");
    score_sort(v, 5);
    ok(score_at(v, 5, 0) == 1 && score_at(v, 5, 1) == 10 &&
           score_at(v, 5, 0.5) == 3 && score_at(v, 5, 0.625) == 3.5 &&
           score_at(v, 1, 0.3) == 1,
       "quantiles");
    score_interval(&lo, &hi, 13, 20);
    ok(fabs(lo - 0.432854) < 1e-5 && fabs(hi - 0.818808) < 1e-5,
       "an interval: %.6f to %.6f", lo, hi);
    score_interval(&lo, &hi, 0, 10);
    ok(lo == 0 && fabs(hi - 0.277533) < 1e-5, "of none: %.6f to %.6f", lo, hi);
    score_interval(&lo, &hi, 10, 10);
    ok(fabs(hi - 1) < 1e-12 && fabs(lo - 0.722467) < 1e-5,
       "of all: %.6f to %.6f", lo, hi);
    score_interval(&lo, &hi, 0, 0);
    ok(lo == 0 && hi == 1, "of nothing");
}

/* ---- requests ---- */

static void request(const char *line, bool letters, const char *context,
                    const char *texts, int answer)
{
    static struct score_request q;
    struct err e = {0};
    struct buf all = {0};
    int rc = score_request(&q, line, strlen(line), letters, &e);

    for (int i = 0; !rc && i < q.n; i++) {
        buf_put(&all, q.text.p + q.choice[i].at, q.choice[i].n);
        buf_puts(&all, "|");
    }
    if (!context)
        ok(rc == -1 && e.code == ERR_FORMAT && strstr(e.msg, texts), "%s: %s",
           line, e.msg);
    else
        ok(!rc && !strcmp(buf_str(&q.context), context) &&
               !strcmp(buf_str(&all), texts) && q.answer == answer,
           "%s: %d choices, answer %d %s", line, q.n, q.answer, e.msg);
    buf_free(&all);
    score_request_free(&q);
    memset(&q, 0, sizeof q);
}

static void requests(void)
{
    request("{\"prompt\":\"a \",\"continuations\":[\"b\",\"\"]}", false, "a ",
            "b||", -1);
    request("{\"continuation\":\"b\",\"answer\":\"0\"}", false, "", "b|", 0);
    request("{\"ctx\":\" a [x]b  c [title] d\",\"endings\":[\" e \",\"[f\"],"
            "\"label\":\"1\"}",
            false, "a b c. d", " e| [f|", 1);
    request("{\"ctx_a\":\"a\",\"ctx_b\":\"\",\"endings\":[\"e\"]}", false, "a",
            " e|", -1);
    request(
        "{\"question\":\" q? \",\"choices\":[\"a\",\"b\"],\"answer\":\"B\"}",
        false, "Question: q?\nAnswer:", " a| b|", 1);
    request("{\"question\":\"q\",\"choices\":[\"a\"],\"subject\":\"x_y\"}",
            true,
            "The following are multiple choice questions (with answers) about "
            "x y.\n\nq\nA. a\nAnswer:",
            " A|", -1);
    request(
        "{\"question\":\"q\",\"choices\":{\"text\":[\"a\",\"b\"],\"label\":["
        "\"B\",\"A\"]},\"answerKey\":\"A\"}",
        false, "Question: q\nAnswer:", " a| b|", 1);
    request("{\"question\":\"q\",\"choices\":[\"a\"],\"answer\":null}", false,
            "Question: q\nAnswer:", " a|", -1);
    request("{", false, NULL, "column", 0);
    request("7", false, NULL, "column", 0);
    request("{\"prompt\":\"a\"}", false, NULL, "neither", 0);
    request("{\"continuation\":\"a\",\"answer\":1}", false, NULL,
            "none of the 1", 0);
    request("{\"continuation\":\"a\",\"answer\":\"9999999999999999999999\"}",
            false, NULL, "none of the 1", 0);
    request("{\"continuation\":\"a\",\"answer\":{}}", false, NULL,
            "none of the 1", 0);
    request("{\"continuation\":\"a\",\"continuation\":\"a\"}", false, NULL,
            "column", 0);
}

int main(void)
{
    struct kern k;

    kern_init(&k, cpu_flags());
    kexp = k.unary[KERN_EXP];
    distributions();
    extremes();
    most_probable();
    bounds();
    kept();
    numbers();
    requests();
    return tap_done();
}
