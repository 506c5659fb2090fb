/* SPDX-License-Identifier: MIT
 * unicode_data.h - the tables of unicode_data.c that only unicode.c reads.
 */
#ifndef LLM_BASE_UNICODE_DATA_H
#define LLM_BASE_UNICODE_DATA_H

#include <stdint.h>

/* Bit u: some character has class u. */
extern const uint64_t unicode_used[4];

/* Every STEP-th of lo..hi goes to cp + delta; ascending. */
struct unicode_case {
    uint32_t lo : 24, step : 8;
    uint32_t hi;
    int32_t delta;
};
extern const struct unicode_case unicode_lowers[], unicode_uppers[];
extern const struct unicode_case unicode_titles[]; /* where not the upper */
extern const int unicode_nlowers, unicode_nuppers, unicode_ntitles;

/* Title ('t') and upper ('u') case of more than one character; ascending. */
struct unicode_special {
    uint32_t cp : 24, kind : 8;
    uint16_t to[3];
};
extern const struct unicode_special unicode_specials[];
extern const int unicode_nspecial;

/* lo..hi; ascending. */
struct unicode_run {
    uint32_t lo, hi;
};
/* Lowercase but for Ll, Uppercase but for Lu, Case_Ignorable. */
extern const struct unicode_run unicode_lowercase[], unicode_uppercase[],
    unicode_ignorable[];
extern const int unicode_nlowercase, unicode_nuppercase, unicode_nignorable;

/* cp decomposes to len characters of unicode_parts from at; ascending. */
struct unicode_decomp {
    uint32_t cp : 24, len : 8;
    uint32_t at;
};
extern const struct unicode_decomp unicode_decomps[];
extern const int unicode_ndecomp;
extern const uint32_t unicode_parts[];

/* lo..lo+more have this combining class; ascending. */
struct unicode_ccc_range {
    uint32_t lo;
    uint8_t more, ccc;
};
extern const struct unicode_ccc_range unicode_cccs[];
extern const int unicode_nccc;

/* a, b -> ab; ascending by a, then b. */
struct unicode_pair {
    uint32_t a, b, ab;
};
extern const struct unicode_pair unicode_pairs[];
extern const int unicode_npair;

#endif
