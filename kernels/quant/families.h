/* SPDX-License-Identifier: MIT
 * families.h - types whose products are written once: X(folder here), whose
 * folder_init() puts the best functions that FLAGS (CPU_ bits) allow over the
 * reference ones of all types in its types.h. */
X(floats)
X(tile32)
X(tile256)
X(x8)
