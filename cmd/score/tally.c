/* SPDX-License-Identifier: MIT
 * tally.c - numbers about tokens, of a sequence and of all. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/score/score.h"
#include "kernels/op/math/math.h"

#define LN2 0.69314718055994530942

void tally_free(struct tally *t)
{
    score_list_free(&t->lp);
    score_list_free(&t->base);
    score_list_free(&t->kl);
    score_list_free(&t->dp);
    score_list_free(&t->estimate);
}

int tally_add(struct tally *t, const struct scored *s, const struct tok *tok,
              const int32_t *ids, struct err *e)
{
    struct buf text = {0};
    int rc = 0;

    for (int i = 0; !rc && i < s->n; i++) {
        uint32_t id = (uint32_t)ids[i];
        bool starts = !i || tok_starts_text(tok, (uint32_t)ids[i - 1]);
        float dp;

        if (isnan(s->lp[i]))
            continue;
        text.n = 0;
        rc = tok_decode(&text, tok, &id, 1, starts ? TOK_AT_START : 0, e) ||
             score_list_add(&t->lp, &s->lp[i], 1, e);
        t->bytes += text.n;
        if (!s->base || rc)
            continue;
        dp = (float)(kern_exp_f64((double)s->lp[i]) -
                     kern_exp_f64((double)s->base[i]));
        rc = score_list_add(&t->base, &s->base[i], 1, e) ||
             score_list_add(&t->kl, &s->kl[i], 1, e) ||
             score_list_add(&t->dp, &dp, 1, e) ||
             score_list_add(&t->estimate, &s->estimate[i], 1, e);
        t->agree += s->agree[i];
    }
    t->tokens += (uint64_t)s->n;
    buf_free(&text);
    return rc ? -1 : 0;
}

int tally_join(struct tally *t, const struct tally *m, struct err *e)
{
    if (score_list_add(&t->lp, m->lp.v, m->lp.n, e) ||
        score_list_add(&t->base, m->base.v, m->base.n, e) ||
        score_list_add(&t->kl, m->kl.v, m->kl.n, e) ||
        score_list_add(&t->dp, m->dp.v, m->dp.n, e) ||
        score_list_add(&t->estimate, m->estimate.v, m->estimate.n, e))
        return -1;
    t->agree += m->agree;
    t->tokens += m->tokens;
    t->bytes += m->bytes;
    t->sequences += m->sequences;
    t->requests += m->requests;
    t->questions += m->questions;
    t->right += m->right;
    t->right_norm += m->right_norm;
    t->kept = m->kept ? m->kept : t->kept;
    return 0;
}

/* ---- as a record ---- */

static void put_int(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_integer((json_int_t)v));
}

/* JSON has no numbers for what is not finite. */
static void put_real(json_t *o, const char *key, double v)
{
    json_object_set_new(o, key,
                        isfinite(v) ? json_real(v)
                        : v > 0     ? json_string("Infinity")
                        : v < 0     ? json_string("-Infinity")
                                    : json_string("NaN"));
}

static void put_perplexity(json_t *o, const struct tally *t)
{
    struct score_mean m = score_mean(t->lp.v, t->lp.n);
    double ppl = exp(-m.mean), sum = m.mean * (double)t->lp.n;

    put_int(o, "tokens", t->tokens);
    put_int(o, "scored", t->lp.n);
    if (!t->lp.n)
        return;
    put_real(o, "lp", sum);
    put_real(o, "nll", -m.mean);
    put_real(o, "nll_se", m.se);
    put_real(o, "ppl", ppl);
    put_real(o, "ppl_se", ppl * m.se);
    put_int(o, "bytes", t->bytes);
    if (t->bytes)
        put_real(o, "bits_per_byte", -sum / LN2 / (double)t->bytes);
}

struct point {
    const char *key;
    double at;
};
static const struct point kl_points[] = {{"kl_median", .5}, {"kl_p90", .9},
                                         {"kl_p95", .95},   {"kl_p99", .99},
                                         {"kl_p999", .999}, {"kl_max", 1}};
static const struct point dp_points[] = {
    {"dp_min", 0},   {"dp_p1", .01},    {"dp_p5", .05},  {"dp_p10", .1},
    {"dp_p25", .25}, {"dp_median", .5}, {"dp_p75", .75}, {"dp_p90", .9},
    {"dp_p95", .95}, {"dp_p99", .99},   {"dp_max", 1}};

static int put_points(json_t *o, const struct score_list *l,
                      const struct point *p, size_t n, struct err *e)
{
    float *v = malloc((l->n + 1) * sizeof *v);

    if (!v)
        return err_nomem(e);
    memcpy(v, l->v, l->n * sizeof *v);
    score_sort(v, l->n);
    for (size_t i = 0; i < n; i++)
        put_real(o, p[i].key, score_at(v, l->n, p[i].at));
    free(v);
    return 0;
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* How it compares. */
static int put_compared(json_t *o, const struct tally *t, struct err *e)
{
    size_t n = t->kl.n;
    struct score_mean kl = score_mean(t->kl.v, n), dp = score_mean(t->dp.v, n),
                      base = score_mean(t->base.v, n),
                      ratio = score_mean_diff(t->base.v, t->lp.v, n);
    double part = n ? (double)t->agree / (double)n : 0;

    if (!n)
        return 0;
    put_real(o, "kl", kl.mean);
    put_real(o, "kl_se", kl.se);
    if (t->kept) {
        struct score_mean m = score_mean(t->estimate.v, n);

        put_int(o, "kl_kept", t->kept);
        put_real(o, "kl_estimate", m.mean);
        put_real(o, "kl_estimate_se", m.se);
    }
    put_real(o, "top1", part);
    put_real(o, "top1_se",
             n > 1 ? sqrt(part * (1 - part) / (double)(n - 1)) : 0);
    put_real(o, "dp", dp.mean);
    put_real(o, "dp_se", dp.se);
    put_real(o, "dp_rms", dp.rms);
    put_real(o, "base_nll", -base.mean);
    put_real(o, "base_ppl", exp(-base.mean));
    put_real(o, "ppl_ratio", exp(ratio.mean));
    put_real(o, "ln_ppl_ratio", ratio.mean);
    put_real(o, "ln_ppl_ratio_se", ratio.se);
    return put_points(o, &t->kl, kl_points, COUNT(kl_points), e) ||
                   put_points(o, &t->dp, dp_points, COUNT(dp_points), e)
               ? -1
               : 0;
}

static void put_accuracy(json_t *o, const char *key, uint64_t hit, uint64_t n)
{
    char name[32];
    double lo, hi;

    score_interval(&lo, &hi, hit, n);
    put_real(o, key, (double)hit / (double)n);
    snprintf(name, sizeof name, "%s_low", key);
    put_real(o, name, lo);
    snprintf(name, sizeof name, "%s_high", key);
    put_real(o, name, hi);
}

static void put_questions(json_t *o, const struct tally *t)
{
    if (t->requests)
        put_int(o, "requests", t->requests);
    if (!t->questions)
        return;
    put_int(o, "questions", t->questions);
    put_accuracy(o, "acc", t->right, t->questions);
    put_accuracy(o, "acc_norm", t->right_norm, t->questions);
}

/* ---- for people ---- */

static double real(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void show(const json_t *o, const struct tally *t)
{
    if (t->questions)
        printf("  accuracy      %.4f (%.4f to %.4f), by length %.4f (%.4f to "
               "%.4f)\n",
               real(o, "acc"), real(o, "acc_low"), real(o, "acc_high"),
               real(o, "acc_norm"), real(o, "acc_norm_low"),
               real(o, "acc_norm_high"));
    if (t->lp.n)
        printf("  perplexity    %.4f +- %.4f\n"
               "  nats a token  %.5f +- %.5f\n"
               "  bits a byte   %.5f\n",
               real(o, "ppl"), real(o, "ppl_se"), real(o, "nll"),
               real(o, "nll_se"), real(o, "bits_per_byte"));
    if (!t->kl.n)
        return;
    printf("  the other's   %.4f, ratio %.5f (ln %.5f +- %.5f)\n",
           real(o, "base_ppl"), real(o, "ppl_ratio"), real(o, "ln_ppl_ratio"),
           real(o, "ln_ppl_ratio_se"));
    printf("  KL            %.6f +- %.6f%s\n", real(o, "kl"), real(o, "kl_se"),
           t->kept ? ", at least" : "");
    if (t->kept)
        printf("  KL, estimated %.6f +- %.6f\n", real(o, "kl_estimate"),
               real(o, "kl_estimate_se"));
    printf("  KL, quantiles 50%% %.6f, 90%% %.6f, 99%% %.6f, most %.6f\n",
           real(o, "kl_median"), real(o, "kl_p90"), real(o, "kl_p99"),
           real(o, "kl_max"));
    printf("  same first    %.3f%% +- %.3f%%\n", 100 * real(o, "top1"),
           100 * real(o, "top1_se"));
    printf("  probability   %+.3f%% +- %.3f%%, root mean square %.3f%%\n",
           100 * real(o, "dp"), 100 * real(o, "dp_se"),
           100 * real(o, "dp_rms"));
    printf("  quantiles     5%% %+.3f%%, 25%% %+.3f%%, 75%% %+.3f%%, "
           "95%% %+.3f%%\n",
           100 * real(o, "dp_p5"), 100 * real(o, "dp_p25"),
           100 * real(o, "dp_p75"), 100 * real(o, "dp_p95"));
}

int tally_put(const struct program *p, const struct tally *t,
              const uint64_t *seq, struct err *e)
{
    json_t *o = json_object();
    int rc = o ? 0 : err_nomem(e);

    if (!rc) {
        if (!seq && t->sequences)
            put_int(o, "sequences", t->sequences);
        put_questions(o, t);
        put_perplexity(o, t);
        rc = put_compared(o, t, e);
    }
    if (!rc && p->out) {
        rc = wire_put_other(p->out, "score", seq, o, e);
    } else if (!rc) {
        if (seq)
            printf("sequence %llu", (unsigned long long)*seq);
        else if (t->requests)
            printf("all %llu requests", (unsigned long long)t->requests);
        else
            printf("all %llu sequences", (unsigned long long)t->sequences);
        printf(": %zu of %llu tokens\n", t->lp.n,
               (unsigned long long)t->tokens);
        show(o, t);
    }
    json_decref(o);
    return rc ? -1 : 0;
}
