/* SPDX-License-Identifier: MIT
 * list.h - every tensor type that weights may have, one line each: a folder
 * here and its name; X(name, id in the file, elements and bytes of a block,
 * activations that products with it take). */
X(f32, 0, 1, 4, KERN_ACT_F32)
X(f16, 1, 1, 2, KERN_ACT_F32)
X(bf16, 30, 1, 2, KERN_ACT_F32)
X(q4_0, 2, 32, 18, KERN_ACT_Q32)
X(q4_1, 3, 32, 20, KERN_ACT_Q32)
X(q5_0, 6, 32, 22, KERN_ACT_Q32)
X(q5_1, 7, 32, 24, KERN_ACT_Q32)
X(q8_0, 8, 32, 34, KERN_ACT_Q32)
X(iq4_nl, 20, 32, 18, KERN_ACT_Q32)
X(mxfp4, 39, 32, 17, KERN_ACT_Q32)
X(q2_k, 10, 256, 84, KERN_ACT_Q256)
X(q3_k, 11, 256, 110, KERN_ACT_Q256)
X(q4_k, 12, 256, 144, KERN_ACT_Q256)
X(q5_k, 13, 256, 176, KERN_ACT_Q256)
X(q6_k, 14, 256, 210, KERN_ACT_Q256)
X(iq4_xs, 23, 256, 136, KERN_ACT_Q256)
