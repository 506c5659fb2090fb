/* SPDX-License-Identifier: MIT
 * opts.c - the options: names, defaults, ranges, and the order of samplers. */
#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>

#include "sample/sample_impl.h"

#define FINITE   -FLT_MAX, FLT_MAX, "not a finite number"
#define POSITIVE 0, FLT_MAX, "not a finite number from 0 on"
#define PART     0, 1, "not in 0 to 1"
#define COUNT    -1, INT_MAX, "not a count, nor -1 for all"
#define F(f)     false, offsetof(struct sample_opts, f)
#define I(f)     true, offsetof(struct sample_opts, f)

const struct sample_option sample_options[] = {
    {"temp", F(temp), FINITE},
    {"dynatemp-range", F(dynatemp_range), POSITIVE},
    {"dynatemp-exp", F(dynatemp_exp), POSITIVE},
    {"top-k", I(top_k), -1, INT_MAX, "not a count, nor 0 or -1 for all"},
    {"top-p", F(top_p), PART},
    {"min-p", F(min_p), PART},
    {"typical", F(typical), PART},
    {"top-n-sigma", F(top_n_sigma), FINITE},
    {"xtc-probability", F(xtc_probability), PART},
    {"xtc-threshold", F(xtc_threshold), PART},
    {"repeat-penalty", F(repeat_penalty), FLT_MIN, FLT_MAX,
     "not a finite number greater than 0"},
    {"presence-penalty", F(presence_penalty), FINITE},
    {"frequency-penalty", F(frequency_penalty), FINITE},
    {"repeat-last-n", I(repeat_last_n), COUNT},
    {"dry-multiplier", F(dry_multiplier), POSITIVE},
    {"dry-base", F(dry_base), 1, FLT_MAX, "not a finite number from 1 on"},
    {"dry-allowed-length", I(dry_allowed_length), 0, INT_MAX, "not a count"},
    {"dry-penalty-last-n", I(dry_penalty_last_n), COUNT},
    {"mirostat", I(mirostat), 0, 2, "not 0, 1 or 2"},
    {"mirostat-ent", F(mirostat_ent), POSITIVE},
    {"mirostat-lr", F(mirostat_lr), POSITIVE},
    {"adaptive-target", F(adaptive_target), -FLT_MAX, 1,
     "not in 0 to 1, nor negative for none"},
    {"adaptive-decay", F(adaptive_decay), 0, (double)0.99f, "not in 0 to 0.99"},
    {"min-keep", I(min_keep), 0, INT_MAX, "not a count"},
};
const size_t sample_noptions = sizeof sample_options / sizeof *sample_options;

/* Spellings without '_' and '-'. */
static const struct {
    const char *name;
    enum order step;
} spellings[] = {
    {"penalties", ORDER_PENALTIES},
    {"dry", ORDER_DRY},
    {"topnsigma", ORDER_TOP_N_SIGMA},
    {"topk", ORDER_TOP_K},
    {"typp", ORDER_TYPICAL},
    {"typ", ORDER_TYPICAL},
    {"typical", ORDER_TYPICAL},
    {"typicalp", ORDER_TYPICAL},
    {"topp", ORDER_TOP_P},
    {"nucleus", ORDER_TOP_P},
    {"minp", ORDER_MIN_P},
    {"xtc", ORDER_XTC},
    {"temperature", ORDER_TEMPERATURE},
    {"temp", ORDER_TEMPERATURE},
    {"adaptivep", ORDER_ADAPTIVE_P},
};

static const char *const written[] = {
    "penalties", "dry",   "top_n_sigma", "top_k",       "typ_p",
    "top_p",     "min_p", "xtc",         "temperature", "adaptive_p"};

void sample_defaults(struct sample_opts *o)
{
    static const char breakers[] = "\n:\"*";

    *o = (struct sample_opts){.temp = 0.8f,
                              .dynatemp_exp = 1,
                              .top_k = 40,
                              .top_p = 0.95f,
                              .min_p = 0.05f,
                              .typical = 1,
                              .top_n_sigma = -1,
                              .xtc_threshold = 0.1f,
                              .repeat_penalty = 1,
                              .repeat_last_n = 64,
                              .dry_base = 1.75f,
                              .dry_allowed_length = 2,
                              .dry_penalty_last_n = 64,
                              .mirostat_ent = 5,
                              .mirostat_lr = 0.1f,
                              .adaptive_target = -1,
                              .adaptive_decay = 0.9f,
                              .norder = ORDER_KINDS};
    for (int i = 0; i < ORDER_KINDS; i++)
        o->order[i] = (unsigned char)i;
    for (const char *p = breakers; *p; p++)
        sample_add_breaker(o, p, 1, NULL);
}

static double value(const struct sample_opts *o, const struct sample_option *t)
{
    const char *p = (const char *)o + t->at;
    float f;
    int i;

    memcpy(&i, p, sizeof i);
    memcpy(&f, p, sizeof f);
    return t->integer ? i : (double)f;
}

int sample_check(const struct sample_opts *o, struct err *e)
{
    for (size_t i = 0; i < sample_noptions; i++) {
        const struct sample_option *t = &sample_options[i];
        double v = value(o, t);

        if (!(v >= t->least && v <= t->most))
            return err_set(e, ERR_USAGE, "option '%s': %s", t->name, t->rule);
    }
    for (int i = 0; i < o->nbias; i++)
        if (!(o->bias[i].add < INFINITY))
            return err_set(e, ERR_USAGE,
                           "option 'logit-bias': neither finite nor -inf");
    return 0;
}

/* The step of this name; -1: none. */
static int spelled(const char *p, size_t n)
{
    char name[32];
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '_' || p[i] == '-')
            continue;
        if (len == sizeof name - 1)
            return -1;
        name[len++] = (char)tolower((unsigned char)p[i]);
    }
    name[len] = 0;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (!strcmp(spellings[i].name, name))
            return (int)spellings[i].step;
    return -1;
}

static int add_step(struct sample_opts *o, const char *p, size_t n,
                    struct err *e)
{
    int step;

    for (; n && *p == ' '; p++)
        n--;
    while (n && p[n - 1] == ' ')
        n--;
    if (!n)
        return 0;
    step = spelled(p, n);
    if (step < 0)
        return err_set(e, ERR_USAGE,
                       "option 'samplers': '%.*s' is none of penalties, dry, "
                       "top_n_sigma, top_k, typ_p, top_p, min_p, xtc, "
                       "temperature, adaptive_p",
                       n < 32 ? (int)n : 32, p);
    if (o->norder == SAMPLE_MAX_ORDER)
        return err_set(e, ERR_USAGE, "option 'samplers': more than %d",
                       SAMPLE_MAX_ORDER);
    o->order[o->norder++] = (unsigned char)step;
    return 0;
}

int sample_set_order(struct sample_opts *o, const char *names, size_t n,
                     struct err *e)
{
    size_t from = 0;

    o->norder = 0;
    for (size_t i = 0; i <= n; i++)
        if (i == n || names[i] == ';' || names[i] == ',') {
            if (add_step(o, names + from, i - from, e))
                return -1;
            from = i + 1;
        }
    return 0;
}

void sample_put_order(struct buf *out, const struct sample_opts *o)
{
    for (int i = 0; i < o->norder; i++) {
        if (i)
            buf_putc(out, ';');
        buf_puts(out, written[o->order[i]]);
    }
}

int sample_add_breaker(struct sample_opts *o, const void *p, size_t n,
                       struct err *e)
{
    if (!n || n > ORDER_BREAKER)
        return err_set(e, ERR_USAGE,
                       "option 'dry-sequence-breaker': not 1 to %d bytes",
                       ORDER_BREAKER);
    if (n + 1 > (size_t)(SAMPLE_BREAKERS - o->nbreakers))
        return err_set(e, ERR_USAGE,
                       "option 'dry-sequence-breaker': more than %d bytes",
                       SAMPLE_BREAKERS);
    o->breakers[o->nbreakers++] = (unsigned char)n;
    memcpy(o->breakers + o->nbreakers, p, n);
    o->nbreakers += (int)n;
    return 0;
}
