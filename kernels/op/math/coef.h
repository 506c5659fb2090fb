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

/* (Phi(x) - 1/2) / x as a polynomial of x^2 below 1, and
 * Phi(-a) e^(a^2 / 2) (a + K) as one of (a - K) / (a + K), a from 1 to END:
 * minimax, within 2^-24.5. */
#define F32_PHI0    0x1.988454p-2f
#define F32_PHI1    -0x1.105862p-4f
#define F32_PHI2    0x1.46d558p-7f
#define F32_PHI3    -0x1.376eacp-10f
#define F32_PHI4    0x1.e26c88p-14f
#define F32_PHI5    -0x1.122004p-17f
#define F32_ERF_K   4.0f
#define F32_ERF_END 13.0f
#define F32_ERF0    0x1.82b4bcp-1f
#define F32_ERF1    -0x1.373e3ap-1f
#define F32_ERF2    0x1.8c6d78p-2f
#define F32_ERF3    -0x1.7dffa4p-3f
#define F32_ERF4    0x1.eee176p-5f
#define F32_ERF5    -0x1.ece07p-8f
#define F32_ERF6    -0x1.d03ecap-9f
#define F32_ERF7    0x1.8b8d2p-10f
#define F32_ERF8    0x1.dee62ap-13f

#endif
