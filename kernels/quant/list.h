/* SPDX-License-Identifier: MIT
 * list.h - every tensor type that weights may have, one line each: a folder
 * here and its name; X(name, id in the file, elements and bytes of a block,
 * activations that products with it take). */
