/* SPDX-License-Identifier: MIT
 * sampling.c - the sampler's options on the command line and in a model's
 * file. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/common/sampling_impl.h"

/* Values that the command line cannot give: not given. */
static float temp = NAN, dynatemp_range = NAN, dynatemp_exp = NAN, top_p = NAN,
             min_p = NAN, typical = NAN, top_n_sigma = NAN,
             xtc_probability = NAN, xtc_threshold = NAN, repeat_penalty = NAN,
             presence_penalty = NAN, frequency_penalty = NAN,
             dry_multiplier = NAN, dry_base = NAN, mirostat_ent = NAN,
             mirostat_lr = NAN, adaptive_target = NAN, adaptive_decay = NAN;
static int top_k = INT_MIN, repeat_last_n = INT_MIN,
           dry_allowed_length = INT_MIN, dry_penalty_last_n = INT_MIN,
           mirostat = INT_MIN, min_keep = INT_MIN;
static long long seed = -1;
static const char *samplers, *logprobs_of;
static struct cli_list bias, never, breakers;

const struct cli_opt sampling_opts[] = {
    {0, "samplers", CLI_STR, &samplers, "name;name...",
     "which ones, in their order; see llm-sample(1)"},
    {0, "temp", CLI_FLOAT, &temp, "number",
     "temperature; 0: the most probable token (default: 0.8)"},
    {0, "dynatemp-range", CLI_FLOAT, &dynatemp_range, "number",
     "the temperature may be this much off, by entropy (default: 0)"},
    {0, "dynatemp-exp", CLI_FLOAT, &dynatemp_exp, "number",
     "its exponent (default: 1)"},
    {0, "top-k", CLI_INT, &top_k, "count",
     "of the most probable tokens; 0: all (default: 40)"},
    {0, "top-p", CLI_FLOAT, &top_p, "number",
     "of tokens that together are this probable (default: 0.95)"},
    {0, "min-p", CLI_FLOAT, &min_p, "number",
     "of tokens this probable beside the first (default: 0.05)"},
    {0, "typical", CLI_FLOAT, &typical, "number",
     "of the least surprising ones, this probable (default: 1, all)"},
    {0, "top-n-sigma", CLI_FLOAT, &top_n_sigma, "number",
     "of scores this many deviations off the first (default: -1, all)"},
    {0, "xtc-probability", CLI_FLOAT, &xtc_probability, "number",
     "how often to leave out the first choices (default: 0)"},
    {0, "xtc-threshold", CLI_FLOAT, &xtc_threshold, "number",
     "those at least this probable, but one (default: 0.1)"},
    {0, "min-keep", CLI_INT, &min_keep, "count",
     "what any of these but --top-k leaves (default: 0)"},
    {0, "repeat-penalty", CLI_FLOAT, &repeat_penalty, "number",
     "divide scores of tokens that were there (default: 1)"},
    {0, "presence-penalty", CLI_FLOAT, &presence_penalty, "number",
     "less for tokens that were there (default: 0)"},
    {0, "frequency-penalty", CLI_FLOAT, &frequency_penalty, "number",
     "less each time that a token was there (default: 0)"},
    {0, "repeat-last-n", CLI_INT, &repeat_last_n, "count",
     "tokens that penalties look back; -1: all (default: 64)"},
    {0, "dry-multiplier", CLI_FLOAT, &dry_multiplier, "number",
     "penalty for going on with a repetition (default: 0, none)"},
    {0, "dry-base", CLI_FLOAT, &dry_base, "number",
     "and times this for each further token (default: 1.75)"},
    {0, "dry-allowed-length", CLI_INT, &dry_allowed_length, "count",
     "tokens that may be repeated (default: 2)"},
    {0, "dry-penalty-last-n", CLI_INT, &dry_penalty_last_n, "count",
     "tokens that it looks back; -1: all (default: 64)"},
    {0, "dry-sequence-breaker", CLI_LIST, &breakers, "text",
     "a repetition ends there; none: nowhere (default: \\n : \" *)"},
    {0, "mirostat", CLI_INT, &mirostat, "0|1|2",
     "aim at a surprise, by version 1 or 2 (default: 0, no)"},
    {0, "mirostat-ent", CLI_FLOAT, &mirostat_ent, "number",
     "the surprise, tau (default: 5)"},
    {0, "mirostat-lr", CLI_FLOAT, &mirostat_lr, "number",
     "the learning rate, eta (default: 0.1)"},
    {0, "adaptive-target", CLI_FLOAT, &adaptive_target, "number",
     "aim at tokens of this probability (default: -1, no)"},
    {0, "adaptive-decay", CLI_FLOAT, &adaptive_decay, "number",
     "how long it remembers (default: 0.9)"},
    {'s', "seed", CLI_LONG, &seed, "number",
     "of the draws; -1: a random one (default)"},
    {0, "logit-bias", CLI_LIST, &bias, "id=number",
     "add to the score of a token; -inf: never draw it"},
    {0, "suppress", CLI_LIST, &never, "id[,id...]", "never draw these"},
    {0, "logprobs-of", CLI_STR, &logprobs_of, "model|sampled",
     "log-probabilities before or after all of this (default: model)"},
    {0},
};

/* Those that are numbers, their keys, and what was given. */
static const struct {
    const char *name, *key;
    const void *given;
} numbers[] = {
    {"temp", "general.sampling.temp", &temp},
    {"dynatemp-range", NULL, &dynatemp_range},
    {"dynatemp-exp", NULL, &dynatemp_exp},
    {"top-k", "general.sampling.top_k", &top_k},
    {"top-p", "general.sampling.top_p", &top_p},
    {"min-p", "general.sampling.min_p", &min_p},
    {"typical", NULL, &typical},
    {"top-n-sigma", NULL, &top_n_sigma},
    {"xtc-probability", "general.sampling.xtc_probability", &xtc_probability},
    {"xtc-threshold", "general.sampling.xtc_threshold", &xtc_threshold},
    {"min-keep", NULL, &min_keep},
    {"repeat-penalty", "general.sampling.penalty_repeat", &repeat_penalty},
    {"presence-penalty", NULL, &presence_penalty},
    {"frequency-penalty", NULL, &frequency_penalty},
    {"repeat-last-n", "general.sampling.penalty_last_n", &repeat_last_n},
    {"dry-multiplier", NULL, &dry_multiplier},
    {"dry-base", NULL, &dry_base},
    {"dry-allowed-length", NULL, &dry_allowed_length},
    {"dry-penalty-last-n", NULL, &dry_penalty_last_n},
    {"mirostat", "general.sampling.mirostat", &mirostat},
    {"mirostat-ent", "general.sampling.mirostat_tau", &mirostat_ent},
    {"mirostat-lr", "general.sampling.mirostat_eta", &mirostat_lr},
    {"adaptive-target", NULL, &adaptive_target},
    {"adaptive-decay", NULL, &adaptive_decay},
};

bool sampling_number_at(struct sampling_number *out, size_t i)
{
    if (i >= sizeof numbers / sizeof *numbers)
        return false;
    out->key = numbers[i].key;
    out->bit = 1u << i;
    out->option = sample_options;
    while (strcmp(out->option->name, numbers[i].name))
        out->option++;
    return true;
}

bool sampling_number(struct sampling_number *out, const char *name, size_t n)
{
    for (size_t i = 0; sampling_number_at(out, i); i++)
        if (strlen(out->option->name) == n &&
            !memcmp(out->option->name, name, n))
            return true;
    return false;
}

void sampling_put_number(struct sampling *s, const struct sample_option *o,
                         double v)
{
    int i = o->integer ? (int)v : 0;
    float f = (float)v;

    memcpy((char *)&s->o + o->at, o->integer ? (void *)&i : (void *)&f,
           sizeof f);
}

/* ---- the seed ---- */

static uint64_t random_seed(void)
{
    static uint64_t v;
    struct timespec t = {0};
    int fd;

    if (v)
        return v;
    fd = open("/dev/urandom", O_RDONLY);
    if (fd < 0 || read(fd, &v, sizeof v) != sizeof v) {
        clock_gettime(CLOCK_REALTIME, &t);
        v = (uint64_t)t.tv_sec * 1000000007 + (uint64_t)t.tv_nsec * 65537 +
            (uint64_t)getpid();
    }
    if (fd >= 0)
        close(fd);
    v >>= 16; /* exact in every reader of JSON */
    v += !v;
    return v;
}

/* ---- the model ---- */

static int number_from_model(struct sampling *s, const struct gguf *g,
                             const struct sampling_number *o, struct err *e)
{
    int64_t n = 0;
    double v = 0;
    int got = o->option->integer
                  ? gguf_get_int(&n, g, o->key, INT_MIN, INT_MAX, e)
                  : gguf_get_float(&v, g, o->key, e);

    /* Some write other negative numbers for "all". */
    if (got > 0)
        sampling_put_number(s, o->option,
                            o->option->integer ? (double)(n < -1 ? -1 : n) : v);
    return got;
}

static int from_model(struct sampling *s, const struct gguf *g, struct err *e)
{
    struct sampling_number o;
    struct err wrong = {0};
    struct gguf_str order;
    int got;

    for (size_t i = 0; sampling_number_at(&o, i); i++) {
        if (!o.key || s->over & o.bit)
            continue;
        got = number_from_model(s, g, &o, e);
        if (got < 0)
            return -1;
        if (got && sample_check(&s->o, &wrong))
            return err_set(e, ERR_FORMAT, "%s: key '%s': %s", gguf_path(g),
                           o.key, wrong.msg);
    }
    if (s->over & SAMPLING_ORDER)
        return 0;
    got = gguf_get_str(&order, g, SAMPLING_ORDER_KEY, e);
    if (got > 0 && sample_set_order(&s->o, order.p, order.n, &wrong))
        return err_set(e, ERR_UNSUPPORTED, "%s: key '%s': %s", gguf_path(g),
                       SAMPLING_ORDER_KEY, wrong.msg);
    return got < 0 ? -1 : 0;
}

int sampling_json(struct buf *out, const struct gguf *g, struct err *e)
{
    struct sampling s = {0};
    struct sampling_number o;
    bool any = false;

    sample_defaults(&s.o);
    if (from_model(&s, g, e))
        return -1;
    for (size_t i = 0; sampling_number_at(&o, i); i++) {
        float f;
        int n;

        if (!o.key || !gguf_key(g, o.key))
            continue;
        buf_printf(out, "%s\"%s\":", any ? "," : "{", o.option->name);
        any = true;
        memcpy(&n, (char *)&s.o + o.option->at, sizeof n);
        memcpy(&f, (char *)&s.o + o.option->at, sizeof f);
        if (o.option->integer)
            buf_printf(out, "%d", n);
        else
            buf_printf(out, "%.9g", (double)f);
    }
    if (gguf_key(g, SAMPLING_ORDER_KEY)) {
        buf_puts(out, any ? ",\"samplers\":\"" : "{\"samplers\":\"");
        any = true;
        sample_put_order(out, &s.o);
        buf_putc(out, '"');
    }
    if (any)
        buf_putc(out, '}');
    return buf_ok(out, e);
}

/* ---- the command line ---- */

static void numbers_given(struct sampling *s)
{
    struct sampling_number o;

    for (size_t i = 0; sampling_number_at(&o, i); i++) {
        float f;
        int n;

        memcpy(&n, numbers[i].given, sizeof n);
        memcpy(&f, numbers[i].given, sizeof f);
        if (o.option->integer ? n == INT_MIN : isnan(f))
            continue;
        s->over |= o.bit;
        sampling_put_number(s, o.option, o.option->integer ? n : (double)f);
    }
}

static int lists_given(struct sampling *s, struct err *e)
{
    if (breakers.n)
        s->o.nbreakers = 0;
    for (int i = 0; i < breakers.n; i++)
        if (sampling_breaker(s, breakers.v[i], strlen(breakers.v[i]), e))
            return -1;
    for (int i = 0; i < bias.n; i++)
        if (sampling_bias_word(s, bias.v[i], e))
            return -1;
    for (int i = 0; i < never.n; i++)
        if (sampling_never_word(s, never.v[i], e))
            return -1;
    return 0;
}

static int from_command_line(struct sampling *s, const struct cli *c,
                             struct err *e)
{
    static const char *const words[] = {"model", "sampled", NULL};

    numbers_given(s);
    if (samplers) {
        s->over |= SAMPLING_ORDER;
        if (sample_set_order(&s->o, samplers, strlen(samplers), e))
            return -1;
    }
    if (logprobs_of)
        s->o.lp_sampled = cli_choice(c, "logprobs-of", logprobs_of, words);
    if (seed < -1)
        return err_set(e, ERR_USAGE,
                       "option 'seed': not a number from 0 on, nor -1");
    s->o.seed = seed < 0 ? random_seed() : (uint64_t)seed;
    return lists_given(s, e) ? -1 : sample_check(&s->o, e);
}

void sampling_init(struct sampling *s, const struct cli *c,
                   const struct gguf *g)
{
    struct err e = {0};

    *s = (struct sampling){0};
    sample_defaults(&s->o);
    if (from_command_line(s, c, &e)) {
        if (e.code == ERR_USAGE)
            usage_error(c, "%s", e.msg);
        die(&e);
    }
    if (g && from_model(s, g, &e))
        die(&e);
}
