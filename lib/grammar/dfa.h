/* SPDX-License-Identifier: MIT
 * dfa.h - regular languages over code points or bytes, as deterministic
 * automata: the algebra that schemas need of strings and numbers.
 *
 * A dfa over code points (0 to 0x10ffff; surrogates are none) is made from a
 * regular expression, a length or another dfa; dfa_utf8() makes one over the
 * bytes of its texts, dfa_json() one over the bytes of a JSON string with that
 * content, quotes included, in every way to escape it.  All are minimal, and
 * refused with ERR_UNSUPPORTED beyond a number of states.
 */
#ifndef LLM_GRAMMAR_DFA_H
#define LLM_GRAMMAR_DFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct dfa;
struct dfa_range {
    uint32_t first, last; /* inclusive */
};

enum dfa_where {
    DFA_WHOLE,    /* all of a text is as the pattern says */
    DFA_ANYWHERE, /* some part of it */
    DFA_PART,     /* the text is such a part of another that is not known: ^, $
                     and look-ahead are not supported */
};
/* The texts that PATTERN (UTF-8, ECMA-262 with the u flag) matches.  ERR_FORMAT
 * names the offset; ERR_UNSUPPORTED what is not regular (back references), or
 * not known (look-behind). */
int dfa_regex(struct dfa **out, const char *pattern, size_t n,
              enum dfa_where where, struct err *e);
/* One text; all texts of MIN to MAX code points (MAX -1: or more). */
int dfa_text(struct dfa **out, const char *utf8, size_t n, struct err *e);
int dfa_length(struct dfa **out, int64_t min, int64_t max, struct err *e);
int dfa_and(struct dfa **out, const struct dfa *a, const struct dfa *b,
            struct err *e);
int dfa_or(struct dfa **out, const struct dfa *a, const struct dfa *b,
           struct err *e);
int dfa_not(struct dfa **out, const struct dfa *a, struct err *e);
/* Code points to bytes. */
int dfa_utf8(struct dfa **out, const struct dfa *a, struct err *e);
int dfa_json(struct dfa **out, const struct dfa *a, struct err *e);
bool dfa_empty(const struct dfa *a);
bool dfa_match(const struct dfa *a, const char *utf8, size_t n);
void dfa_free(struct dfa *a);

#endif
