/* SPDX-License-Identifier: MIT
 * math.h - sine, exponential, logarithm and power in double, the same bits on
 * every machine: for rope's tables and other few numbers. */
#ifndef LLM_KERNELS_OP_MATH_MATH_H
#define LLM_KERNELS_OP_MATH_MATH_H

/* Sine and cosine of |x| <= 1e7, within 1e-15; further out the error grows
 * with |x|, and from 2^50 on both are NaN. */
void kern_sincos(double x, double *s, double *c);
/* Within 2 units in the last place (of results above 2^-1022). */
double kern_exp_f64(double x);
double kern_log_f64(double x);           /* NaN below 0, -infinity at 0 */
double kern_pow_f64(double a, double b); /* NaN for a < 0 */

#endif
