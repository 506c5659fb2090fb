/* SPDX-License-Identifier: MIT
 * coef.h - the constants of f32.h, and what they were fitted to. */
#ifndef LLM_KERNELS_OP_MATH_COEF_H
#define LLM_KERNELS_OP_MATH_COEF_H

#define F32_LOG2E  0x1.715476p+0f
#define F32_LN2_HI 0x1.62e43p-1f /* 21 bits: n times it is exact */
#define F32_LN2_LO -0x1.05c61p-29f
#define F32_MAGIC  12582912.0f /* 1.5 * 2^23: adding it rounds to an integer */

/* The last arguments of exp whose results are finite, and at least 2^-126. */
#define F32_EXP_MAX 0x1.62e42ep+6f
#define F32_EXP_MIN -0x1.5d589ep+6f

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, so that e^r - 1 is within 2^-26
 * of itself: minimax, then rounded one by one. */
#define F32_EXP2 0x1.fffffep-2f
#define F32_EXP3 0x1.5554b4p-3f
#define F32_EXP4 0x1.5556f2p-5f
#define F32_EXP5 0x1.12255ep-7f
#define F32_EXP6 0x1.6b9ca6p-10f

/* 2 sqrt(2 / pi), and 0.044715 times it.  Beyond END gelu is x or 0. */
#define F32_GELU_C1    0x1.988454p+0f
#define F32_GELU_C1_LO -0x1.857936p-25f
#define F32_GELU_C3    0x1.2444f2p-4f
#define F32_GELU_C3_LO 0x1.49b16ap-29f
#define F32_GELU_END   12.0f

/* Phi(-a) e^(a^2 / 2) (a + K) as a polynomial of (a - K) / (a + K), a from 0
 * to END: minimax, within 2^-24.9. */
#define F32_ERF_K   2.5f
#define F32_ERF_END 13.25f
#define F32_ERF0    0x1.69cee6p-1f
#define F32_ERF1    -0x1.bc19cap-2f
#define F32_ERF2    0x1.0e4fb6p-3f
#define F32_ERF3    0x1.2eb468p-7f
#define F32_ERF4    -0x1.0c961ap-6f
#define F32_ERF5    -0x1.a63102p-10f
#define F32_ERF6    0x1.4cf79p-9f
#define F32_ERF7    0x1.70e5aap-11f
#define F32_ERF8    -0x1.535f3ep-12f
#define F32_ERF9    -0x1.66078ep-13f

#endif
