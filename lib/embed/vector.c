/* SPDX-License-Identifier: MIT */
#include "embed/vector.h"

#include <math.h>

#include "kernels/op/math/half.h"

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

void embed_normal(float *v, size_t n)
{
    double len = sqrt(dot(v, v, n));

    for (size_t i = 0; len > 0 && i < n; i++)
        v[i] = (float)((double)v[i] / len);
}

double embed_cosine(const float *a, const float *b, size_t n)
{
    double len = sqrt(dot(a, a, n)) * sqrt(dot(b, b, n));

    return len > 0 ? dot(a, b, n) / len : 0;
}

bool embed_finite(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

void embed_f16(uint16_t *to, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = f32_to_f16(v[i]);
}

float embed_int8(int8_t *to, const float *v, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fabs((double)v[i]) > most ? fabs((double)v[i]) : most;
    for (size_t i = 0; i < n; i++)
        to[i] = most > 0 ? (int8_t)nearbyint((double)v[i] * (127 / most))
                         : (int8_t)0;
    return (float)(most / 127);
}
