/* SPDX-License-Identifier: MIT
 * sample.c - the chain: which steps there are, and the draw at its end.
 *
 * The draw walks the tokens that are left in order of their ids: then a chain
 * that leaves all of them needs no sorting at all.
 */
#include "sample/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/op/math/math.h"
#include "kernels/op/unary/unary.h"
#include "sample/sample_impl.h"

static bool has_penalties(const struct sample_opts *o)
{
    return o->repeat_last_n &&
           (o->repeat_penalty != 1 || /* exact: off */
            o->presence_penalty != 0 || o->frequency_penalty != 0);
}

static bool has_dry(const struct sample_opts *o)
{
    return o->dry_multiplier > 0 && o->dry_penalty_last_n;
}

static bool has_top_n_sigma(const struct sample_opts *o)
{
    return o->top_n_sigma > 0;
}

static bool has_top_k(const struct sample_opts *o)
{
    return o->top_k > 0;
}

static bool has_typical(const struct sample_opts *o)
{
    return o->typical < 1;
}

static bool has_top_p(const struct sample_opts *o)
{
    return o->top_p < 1;
}

static bool has_min_p(const struct sample_opts *o)
{
    return o->min_p > 0;
}

static bool has_xtc(const struct sample_opts *o)
{
    return o->xtc_probability > 0 && o->xtc_threshold <= 0.5f;
}

static bool has_temperature(const struct sample_opts *o)
{
    return o->temp != 1 || o->dynatemp_range > 0;
}

/* By enum order.  Those that CUT are not used with mirostat; those that look
 * BACK change scores by the history.  adaptive-p comes after all others. */
static const struct {
    bool (*active)(const struct sample_opts *o);
    void (*step)(struct sampler *s);
    bool cuts, back;
} steps[ORDER_KINDS] = {
    [ORDER_PENALTIES] = {has_penalties, NULL, false, true},
    [ORDER_DRY] = {has_dry, NULL, false, true},
    [ORDER_TOP_N_SIGMA] = {has_top_n_sigma, cut_top_n_sigma, true, false},
    [ORDER_TOP_K] = {has_top_k, cut_top_k, true, false},
    [ORDER_TYPICAL] = {has_typical, cut_typical, true, false},
    [ORDER_TOP_P] = {has_top_p, cut_top_p, true, false},
    [ORDER_MIN_P] = {has_min_p, cut_min_p, true, false},
    [ORDER_XTC] = {has_xtc, cut_xtc, true, false},
    [ORDER_TEMPERATURE] = {has_temperature, temperature_apply, false, false},
};

static bool listed(const struct sample_opts *o, enum order step)
{
    return memchr(o->order, (int)step, (size_t)o->norder) != NULL;
}

static bool used(const struct sample_opts *o, enum order step)
{
    return listed(o, step) && steps[step].active(o);
}

static bool greedy(const struct sample_opts *o)
{
    return o->temp <= 0 && !(o->dynatemp_range > 0);
}

/* Mirostat or adaptive-p. */
static bool learns(const struct sample_opts *o)
{
    return !greedy(o) && (o->mirostat || (o->adaptive_target >= 0 &&
                                          listed(o, ORDER_ADAPTIVE_P)));
}

/* ---- making one ---- */

static int check(const struct sample_opts *o, size_t n, struct err *e)
{
    if (sample_check(o, e))
        return -1;
    if (!n)
        return err_set(e, ERR_USAGE, "there are no tokens to choose from");
    for (int i = 0; i < o->nbias; i++)
        if (o->bias[i].id >= n)
            return err_set(e, ERR_USAGE,
                           "option 'logit-bias': %lu is none of %zu ids",
                           (unsigned long)o->bias[i].id, n);
    if (used(o, ORDER_DRY) && o->nbreakers && !o->text)
        return err_set(e, ERR_UNSUPPORTED,
                       "option 'dry-sequence-breaker' needs text, and there "
                       "are only ids; 'none' does without");
    return 0;
}

static void rule_out(struct sampler *s, uint32_t id)
{
    s->never[id / SELECT_BLOCK] &= ~(UINT64_C(1) << id % SELECT_BLOCK);
}

/* Biases that rule out are kept as bits, all others as they are. */
static int copy_lists(struct sampler *s, const struct sample_opts *o,
                      struct err *e)
{
    size_t words = select_blocks(s->n);

    s->masked = malloc(words * sizeof *s->masked);
    s->never = malloc(words * sizeof *s->never);
    s->bias = malloc(((size_t)o->nbias + 1) * sizeof *s->bias);
    if (!s->masked || !s->never || !s->bias)
        return err_nomem(e);
    memset(s->never, 0xff, words * sizeof *s->never);
    s->o.nbias = 0;
    for (int i = 0; i < o->nbias; i++)
        if (o->bias[i].add > -INFINITY)
            s->bias[s->o.nbias++] = o->bias[i];
        else
            rule_out(s, o->bias[i].id);
    for (int i = 0; i < o->nnever; i++)
        if (o->never[i] < s->n)
            rule_out(s, o->never[i]);
    s->some_never = false;
    for (size_t i = 0; i < words; i++)
        s->some_never |= s->never[i] != UINT64_MAX;
    s->o.bias = s->bias;
    s->o.never = NULL;
    s->o.nnever = 0;
    return 0;
}

static int make(struct sampler *s, const struct sample_opts *o, struct err *e)
{
    size_t n = s->n, lists = used(o, ORDER_TYPICAL) ? 3 : 2;
    bool back = used(o, ORDER_PENALTIES) || used(o, ORDER_DRY);

    if (copy_lists(s, o, e))
        return -1;
    s->max = malloc(select_blocks(n) * sizeof *s->max);
    s->list = malloc(lists * n * sizeof *s->list);
    s->w = malloc(n * sizeof *s->w);
    if (back)
        s->count = calloc(n, sizeof *s->count);
    if (back || s->o.nbias)
        s->work = calloc(n, sizeof *s->work);
    if (!s->max || !s->list || !s->w || (back && !s->count) ||
        ((back || s->o.nbias) && !s->work))
        return err_nomem(e);
    return 0;
}

struct sampler *sampler_new(const struct sample_opts *o, int n_vocab,
                            struct err *e)
{
    struct kern k;
    struct sampler *s;

    if (check(o, n_vocab > 0 ? (size_t)n_vocab : 0, e))
        return NULL;
    s = calloc(1, sizeof *s);
    if (!s) {
        err_nomem(e);
        return NULL;
    }
    unary_init(&k, cpu_flags());
    s->exp = k.unary[KERN_EXP];
    s->o = *o;
    s->n = (size_t)n_vocab;
    if (make(s, o, e)) {
        sampler_free(s);
        return NULL;
    }
    return s;
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    free(s->bias);
    free(s->max);
    free(s->list);
    free(s->w);
    free(s->work);
    free(s->count);
    free(s->never);
    free(s->masked);
    free(s->repeat);
    free(s->memory);
    buf_free(&s->text);
    free(s);
}

/* ---- one draw ---- */

/* All tokens that may be drawn, with their scores. */
static void begin(struct sampler *s, const float *logits,
                  const uint64_t *allowed)
{
    s->c = (struct choice){.x = logits,
                           .peaks = s->peaks,
                           .all = true,
                           .list = s->list,
                           .temp = 1};
    if (!allowed || !s->some_never) {
        s->c.allowed = allowed ? allowed : s->some_never ? s->never : NULL;
    } else {
        for (size_t i = 0; i < select_blocks(s->n); i++)
            s->masked[i] = allowed[i] & s->never[i];
        s->c.allowed = s->masked;
    }
}

static int run_step(struct sampler *s, enum order step, const int32_t *history,
                    int nhist, struct err *e)
{
    const struct sample_opts *o = &s->o;

    if (step == ORDER_ADAPTIVE_P || !steps[step].active(o))
        return 0;
    if (step == ORDER_PENALTIES)
        penalty_repeat(s, history, nhist);
    if (step == ORDER_DRY && penalty_dry(s, history, nhist, e))
        return -1;
    if (steps[step].back || greedy(o) || (o->mirostat && steps[step].cuts))
        return 0;
    if (choice_scan(s, e))
        return -1;
    steps[step].step(s);
    return 0;
}

/* From the model's scores to what one is drawn of. */
static int run_chain(struct sampler *s, uint64_t pos, const int32_t *history,
                     int nhist, struct err *e)
{
    const struct sample_opts *o = &s->o;

    if (o->nbias)
        penalty_bias(s);
    for (int i = 0; i < o->norder; i++)
        if (run_step(s, (enum order)o->order[i], history, nhist, e))
            return -1;
    if (choice_scan(s, e))
        return -1;
    if (!learns(o))
        return 0;
    if (target_begin(s, pos, e))
        return -1;
    if (o->mirostat)
        target_mirostat(s);
    else
        target_adaptive_p(s);
    return 0;
}

void sampler_peaks(struct sampler *s, const float *peaks)
{
    s->peaks = peaks;
}

bool sampler_greedy(const struct sampler *s)
{
    return greedy(&s->o);
}

void sampler_exact(struct sampler *s, sampler_exact_fn *exact, void *arg)
{
    s->exact = exact;
    s->exact_arg = arg;
}

/* What was drawn. */
struct drawn {
    uint32_t id;
    float score;
    double weight, z; /* its weight, and that of all */
};

static struct drawn draw(struct sampler *s)
{
    const struct choice *c = &s->c;
    struct drawn d = {0};
    size_t n, at = 0;
    double have = 0, u;

    if (!c->all)
        choice_by_id(s);
    d.z = choice_weigh(s);
    u = s->u * d.z;
    n = c->all ? s->n : c->n;
    /* Sums in different orders may differ: then it is the last that counts. */
    for (size_t i = 0; i < n && have <= u; i++) {
        have += (double)s->w[i];
        if (s->w[i] > 0)
            at = i;
    }
    d.weight = (double)s->w[at];
    d.id = c->all ? (uint32_t)at : select_id(c->list[at]);
    d.score = c->all ? c->x[at] : select_score(c->list[at]);
    return d;
}

/* The most probable one. */
static struct drawn first(struct sampler *s)
{
    struct choice *c = &s->c;
    uint32_t id = select_first(s->max, c->top, c->x, s->n, c->allowed);

    c->list[0] = select_item(c->top, id);
    c->n = 1;
    c->all = false;
    c->by_score = true;
    return (struct drawn){id, c->top, 1, 1};
}

/* The logarithm of its probability, and the most probable tokens, of those that
 * are left. */
static void describe(struct sampler *s, struct sample_result *r,
                     const struct drawn *d)
{
    struct choice *c = &s->c;
    double ln_z = kern_log_f64(d->z);
    size_t n = 0;

    r->lp = (float)((double)choice_below(c, d->score) - ln_z);
    if (r->ntop > 0 && r->top) {
        choice_top(s, (size_t)r->ntop < s->n ? (size_t)r->ntop : s->n);
        n = c->n;
    }
    for (size_t i = 0; i < n; i++)
        r->top[i] = (struct sample_top){
            select_id(c->list[i]),
            (float)((double)choice_below(c, select_score(c->list[i])) - ln_z)};
    r->ntop = (int)n;
}

/* From logits to a token. */
static int pick(struct sampler *s, struct drawn *d, const float *logits,
                uint64_t pos, const int32_t *history, int nhist,
                const uint64_t *allowed, struct err *e)
{
    begin(s, logits, allowed);
    if (run_chain(s, pos, history, nhist, e))
        return -1;
    *d = greedy(&s->o) ? first(s) : draw(s);
    return 0;
}

int sampler_pick(struct sampler *s, struct sample_result *r,
                 const float *logits, uint64_t seq, uint64_t pos,
                 const int32_t *history, int nhist, const uint64_t *allowed,
                 bool want_lp, struct err *e)
{
    struct drawn d;
    int rc;

    s->u = rng_unit(s->o.seed, seq, pos);
    s->other = rng_other(s->o.seed, seq, pos);
    do {
        rc = pick(s, &d, logits, pos, history, nhist, allowed, e);
    } while (!rc && s->exact && s->exact(s->exact_arg, d.id));
    s->peaks = NULL;
    s->exact = NULL;
    if (rc) {
        r->none = s->c.none;
        return -1;
    }
    if (learns(&s->o))
        target_learn(s, pos, d.id, d.weight / d.z);
    r->id = d.id;
    if (want_lp && !s->o.lp_sampled) {
        begin(s, logits, NULL);
        s->c.allowed = NULL;
        if (choice_scan(s, e))
            return -1;
        d.score = logits[d.id];
        d.z = choice_weigh(s);
    }
    if (want_lp)
        describe(s, r, &d);
    return 0;
}
