/* SPDX-License-Identifier: MIT
 * types.h - the types with blocks of 32. */
X(q4_0)
X(q4_1)
X(q5_0)
X(q5_1)
X(q8_0)
X(iq4_nl)
X(mxfp4)
