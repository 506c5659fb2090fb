/* SPDX-License-Identifier: MIT
 * schema_decimal.h - the numbers in a schema, as they are written there. */
#ifndef LLM_GRAMMAR_SCHEMA_DECIMAL_H
#define LLM_GRAMMAR_SCHEMA_DECIMAL_H

#include <stdbool.h>

#include "base/buf.h"

enum { DECIMAL_MAX = 400, DECIMAL_EXP = 350 };

/* 0 where N is 0; else d[0].d[1]...d[n - 1] times 10^exp, d[0] and d[n - 1]
 * other than '0'. */
struct decimal {
    bool neg;
    bool real; /* written with a point or an exponent: taken as a double */
    int n, exp;
    char d[DECIMAL_MAX];
};

/* A JSON number; ERR_UNSUPPORTED beyond DECIMAL_MAX digits, or 10 to the power
 * of DECIMAL_EXP. */
int schema_decimal_read(struct decimal *out, const char *p, size_t n,
                        struct err *e);
bool schema_decimal_whole(const struct decimal *a);
/* The number as Python's writer spells it, equal ones alike: what is not whole
 * is the nearest double's shortest spelling. */
void schema_decimal_write(struct buf *out, const struct decimal *a);
/* All that A may be spelled as: texts that each end in a NUL. */
void schema_decimal_spellings(struct buf *out, const struct decimal *a);
/* The least whole number that is at least A; STRICT: more than A. */
int schema_decimal_ceiling(struct decimal *out, const struct decimal *a,
                           bool strict, struct err *e);
/* The least double that is at least A (or more), in its shortest spelling; or
 * there is none, or all are. */
enum schema_reach { REACH_SOME, REACH_NONE, REACH_ALL };
enum schema_reach schema_decimal_double(struct decimal *out,
                                        const struct decimal *a, bool strict);

#endif
