/* SPDX-License-Identifier: MIT
 * list.h - every tensor type that weights may have, one line each: a folder
 * here and its name; X(name, id in the file, elements and bytes of a block,
 * activations that products with it take). */
X(f32, 0, 1, 4, KERN_ACT_F32)
X(f16, 1, 1, 2, KERN_ACT_F32)
X(bf16, 30, 1, 2, KERN_ACT_F32)
