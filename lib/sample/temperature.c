/* SPDX-License-Identifier: MIT
 * temperature.c - scores are divided: by a number, or by one that depends on
 * how sure the model is. */
#include <float.h>
#include <math.h>

#include "kernels/op/math/math.h"
#include "sample/sample_impl.h"

/* From RANGE below to RANGE above, by the part of the entropy that as many
 * tokens could have. */
static double dynamic(struct sampler *s)
{
    const struct sample_opts *o = &s->o;
    double temp = (double)o->temp, range = (double)o->dynatemp_range;
    double low = temp > range ? temp - range : 0, high = temp + range;
    double z = choice_weigh(s), entropy, part;
    size_t n = choice_count(s);

    if (n < 2)
        return 1;
    entropy = kern_log_f64(z) - choice_mean(s, z);
    part = entropy / kern_log_f64((double)n);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return low + (high - low) * kern_pow_f64(part, (double)o->dynatemp_exp);
}

void temperature_apply(struct sampler *s)
{
    double by = s->o.dynatemp_range > 0 ? dynamic(s) : (double)s->o.temp;
    double temp = (double)s->c.temp * by;

    if (!(by > 0))
        choice_top(s, 1);
    else
        s->c.temp = temp < (double)FLT_MIN   ? FLT_MIN
                    : temp > (double)FLT_MAX ? FLT_MAX
                                             : (float)temp;
}
