/* SPDX-License-Identifier: MIT
 * list.h - every folder here: X(name), whose name_init() fills its part of
 * struct kern. */
X(act)
X(norm)
X(unary)
X(vec)
X(rope)
X(soft)
X(kvrow)
X(attend)
