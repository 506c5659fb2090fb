/* SPDX-License-Identifier: MIT
 *
 * Pair i of n turns by position * base^(-i / n), scaled so that more positions
 * fit than a model first learned:
 *   linear    all angles divided by a factor
 *   llama3    each angle divided by its own (the tensor rope_freqs)
 *   longrope  the same (rope_factors_long when the context is longer than the
 *             first one, else rope_factors_short); cos and sin grow
 *   yarn      fast pairs stay, slow ones are divided by the factor, those
 *             between are mixed; cos and sin grow (arXiv 2309.00071)
 */
#include "model/rope.h"

#include <float.h>
#include <math.h>

#include <xxhash.h>

#include "kernels/op/math/math.h"
#include "model/arch.h"
#include "model/bind.h"

enum scaling { SCALE_NONE, SCALE_LINEAR, SCALE_YARN, SCALE_LONG };

struct rope {
    enum scaling type;
    int dims, original;
    double base, factor, mscale;
    double fast, slow;    /* yarn: turns within ORIGINAL positions */
    const float *divisor; /* [dims / 2], or NULL */
    const char *word;
};

static double yarn_mscale(double factor, double m)
{
    return factor <= 1 ? 1 : 0.1 * m * kern_log_f64(factor) + 1;
}

static void read_yarn(struct build *b, struct rope *r)
{
    double mul = params_num(b, "rope.scaling.yarn_log_multiplier", 0, 0, 1e6);
    double ext = params_num(b, "rope.scaling.yarn_ext_factor", 1, -1, 1e6);
    double m = yarn_mscale(r->factor, 1);

    if (mul > 0)
        m /= yarn_mscale(r->factor, mul);
    r->mscale *=
        params_num(b, "rope.scaling.yarn_attn_factor", m, FLT_MIN, 1e6);
    r->fast = params_num(b, "rope.scaling.yarn_beta_fast", 32, FLT_MIN, 1e6);
    r->slow = params_num(b, "rope.scaling.yarn_beta_slow", 1, FLT_MIN, 1e6);
    /* Below 0: not set. */
    if (ext >= 0 && ext != 1)
        arch_fail(b, ERR_UNSUPPORTED,
                  "key '%s.rope.scaling.yarn_ext_factor': %g is not supported",
                  b->arch->name, ext);
}

static void read_long(struct build *b, struct rope *r)
{
    bool more = b->context > r->original;

    bind_floats(b,
                more ? "rope_factors_short.weight" : "rope_factors_long.weight",
                r->dims / 2);
    r->divisor = bind_floats(
        b, more ? "rope_factors_long.weight" : "rope_factors_short.weight",
        r->dims / 2);
    r->factor = 1;
    r->word = more ? "longrope, long" : "longrope, short";
    if (!params_has(b, "rope.scaling.attn_factor") &&
        b->p.context > r->original && r->original > 1)
        r->mscale = sqrt(1 + kern_log_f64((double)b->p.context / r->original) /
                                 kern_log_f64(r->original));
}

static void read_scaling(struct build *b, struct rope *r)
{
    static const char *const words[] = {"none", "linear", "yarn", "longrope",
                                        NULL};
    double f = params_num(b, "rope.scale_linear", 0, 0, 1e6);

    r->type =
        (enum scaling)params_word(b, "rope.scaling.type", words, SCALE_LINEAR);
    r->factor = params_num(b, "rope.scaling.factor", f, 0, 1e6);
    /* 0, as some files say, is none. */
    if (r->factor == 0 || r->type == SCALE_NONE)
        r->factor = 1;
    r->original = params_int(b, "rope.scaling.original_context_length",
                             b->p.context, 0, 1 << 30);
    r->original = r->original ? r->original : b->p.context;
    r->mscale = params_num(b, "rope.scaling.attn_factor", 1, FLT_MIN, 1e6);
    r->word = words[r->type];
    if (r->type == SCALE_YARN)
        read_yarn(b, r);
    /* Files of some converters have these without the word. */
    if (r->type == SCALE_LONG || bind_has(b, "rope_factors_long.weight")) {
        if (r->type == SCALE_YARN)
            arch_fail(b, ERR_UNSUPPORTED,
                      "tensor 'rope_factors_long.weight' beside yarn is not "
                      "supported");
        read_long(b, r);
    } else if (bind_has(b, "rope_freqs.weight")) {
        r->divisor = bind_floats(b, "rope_freqs.weight", r->dims / 2);
        r->word = "divisors";
    }
    for (int i = 0; !b->bad && r->divisor && i < r->dims / 2; i++)
        if (!(r->divisor[i] > 0 && r->divisor[i] < INFINITY))
            arch_fail(b, ERR_FORMAT, "a rope factor is %g, must be above 0",
                      (double)r->divisor[i]);
}

/* The pair that turns N times within the original positions. */
static double yarn_pair(const struct rope *r, double n)
{
    static const double two_pi = 6.283185307179586;

    return r->dims * kern_log_f64(r->original / (n * two_pi)) /
           (2 * kern_log_f64(r->base));
}

static void fill(double *freq, const struct rope *r)
{
    double lo = 0, hi = 0;

    if (r->type == SCALE_YARN) {
        lo = fmax(floor(yarn_pair(r, r->fast)), 0);
        hi = fmin(ceil(yarn_pair(r, r->slow)), r->dims - 1);
        hi = lo == hi ? hi + 0.001 : hi;
    }
    for (int i = 0; i < r->dims / 2; i++) {
        double f = kern_pow_f64(r->base, -(2.0 * i) / r->dims), slow;

        if (r->divisor)
            f /= r->divisor[i];
        slow = f / r->factor;
        if (r->type == SCALE_YARN) {
            double mix = fmin(fmax((i - lo) / (hi - lo), 0), 1);

            slow = slow * mix + f * (1 - mix);
        }
        freq[i] = slow;
    }
}

static int add_table(struct build *b, const struct rope *r)
{
    size_t n = (size_t)r->dims / 2;
    double *freq = b->bad ? NULL : arena_array(b->mem, n, sizeof *freq);

    if (!b->bad && !freq) {
        err_nomem(b->e);
        b->bad = true;
    }
    if (b->bad)
        return 0;
    fill(freq, r);
    for (size_t i = 0; i < n; i++)
        if (!(freq[i] >= 0 && freq[i] <= 1e5))
            return arch_fail(b, ERR_FORMAT,
                             "the rope keys make pair %zu turn by %g", i,
                             freq[i]);
    b->rope[b->nrope] = (struct be_rope){(int)n, freq, (float)r->mscale};
    buf_printf(&b->rope_text,
               "%s%s, base %g, factor %g, times %g, %d of %d in %s, %016llx",
               b->nrope ? "; windows: " : "", r->word, r->base, r->factor,
               r->mscale, r->dims, b->p.dk,
               b->arch->flags & ARCH_PAIRS ? "pairs" : "halves",
               (unsigned long long)XXH3_64bits(freq, n * sizeof *freq));
    return b->nrope++;
}

void rope_read(struct build *b, double base, double window_base,
               bool window_scaled)
{
    struct rope r = {.fast = 32, .slow = 1}, w;
    bool windows = false;
    int second;

    r.dims = params_int(b, "rope.dimension_count", b->p.dk, 2, b->p.dk);
    r.base = params_num(b, "rope.freq_base", base, 1 + FLT_EPSILON, 1e15);
    window_base = params_num(b, "rope.freq_base_swa",
                             window_base > 0 ? window_base : r.base,
                             1 + FLT_EPSILON, 1e15);
    if (b->bad)
        return;
    if (r.dims % 2)
        arch_fail(b, ERR_FORMAT, "key '%s.rope.dimension_count': %d is odd",
                  b->arch->name, r.dims);
    read_scaling(b, &r);
    add_table(b, &r);
    for (int l = 0; l < b->p.nlayer && !b->bad; l++)
        windows |= b->p.layer[l].window > 0;
    w = r;
    w.base = window_base;
    if (!window_scaled) {
        w.type = SCALE_NONE;
        w.word = "none";
        w.divisor = NULL;
        w.factor = w.mscale = 1;
    }
    if (!windows ||
        (w.base == r.base && w.type == r.type && w.factor == r.factor))
        return;
    second = add_table(b, &w);
    for (int l = 0; l < b->p.nlayer && !b->bad; l++)
        if (b->p.layer[l].window)
            b->p.layer[l].rope = second;
}
