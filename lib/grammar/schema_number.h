/* SPDX-License-Identifier: MIT
 * schema_number.h - numbers as languages of how they are spelled.
 *
 * A number may be spelled as Python's and JavaScript's JSON writers do:
 *
 *     -? (0 | [1-9] [0-9]*)                              whole numbers
 *     -? (0 | [1-9] [0-9]{0,15}) \. [0-9]+
 *     -? [1-9] (\. [0-9]{0,15} [1-9])? e (\+ E | - E)   E: +16 to +308, and -5
 *                                                        (or -05) to -324
 *
 * Bounds hold for the number that is written and for the double that it is read
 * as.  Each constraint is made for itself and for its opposite: a few spellings
 * that are between the two (1.00000000000000000001, which is 1 as a double) are
 * in neither.
 */
#ifndef LLM_GRAMMAR_SCHEMA_NUMBER_H
#define LLM_GRAMMAR_SCHEMA_NUMBER_H

#include "grammar/dfa.h"
#include "grammar/schema_decimal.h"

enum number_kind {
    NUMBER_ANY,
    NUMBER_WHOLE, /* 1.0 is whole, too */
    NUMBER_BROKEN,
    NUMBER_LEAST,  /* at least A */
    NUMBER_ABOVE,  /* more than A */
    NUMBER_MOST,   /* at most A */
    NUMBER_BELOW,  /* less than A */
    NUMBER_PARTS,  /* a multiple of A */
    NUMBER_UNEVEN, /* no multiple of A */
};
int schema_number_dfa(struct dfa **out, enum number_kind kind,
                      const struct decimal *a, struct err *e);

#endif
