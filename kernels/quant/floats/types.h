/* SPDX-License-Identifier: MIT
 * types.h - the floats that weights are kept as: X(name, bytes). */
X(f32, 4)
X(f16, 2)
X(bf16, 2)
