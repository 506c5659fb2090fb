/* SPDX-License-Identifier: MIT
 * types.h - the types with super-blocks of 256. */
X(q2_k)
X(q3_k)
X(q4_k)
X(q5_k)
X(q6_k)
X(iq4_xs)
