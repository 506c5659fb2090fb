/* SPDX-License-Identifier: MIT
 * unicode.h - what is asked of a character: Unicode 15.0.
 *
 * The tables are in unicode_data.c, which tests/tools/mkunicode.py makes from
 * Debian's unicode-data.  Look-ups take any uint32_t: what is no character
 * (UTF8_BAD, a surrogate, beyond 0x10ffff) is unassigned, or a surrogate, and
 * maps to itself.
 */
#ifndef LLM_BASE_UNICODE_H
#define LLM_BASE_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* General categories: the low five bits of a class. */
enum uni_category {
    UNI_LU, UNI_LL, UNI_LT, UNI_LM, UNI_LO,
    UNI_MN, UNI_MC, UNI_ME,
    UNI_ND, UNI_NL, UNI_NO,
    UNI_PC, UNI_PD, UNI_PS, UNI_PE, UNI_PI, UNI_PF, UNI_PO,
    UNI_SM, UNI_SC, UNI_SK, UNI_SO,
    UNI_ZS, UNI_ZL, UNI_ZP,
    UNI_CC, UNI_CF, UNI_CS, UNI_CO, UNI_CN,
    UNI_NCATEGORY
};
/* clang-format on */

/* The other bits of a class. */
enum {
    UNI_CATEGORY = 0x1f,
    UNI_SPACE = 0x20, /* White_Space: \s */
    UNI_HAN = 0x40,   /* Script=Han */
    /* Hugging Face's BERT and Punctuation know the categories of Unicode 8:
     * this is a P, Cf or Mn that is none there. */
    UNI_FLIP = 0x80,
};

/* Sets of categories, for unicode_is(). */
enum {
    UNI_L = 0x1f << UNI_LU,
    UNI_M = 7 << UNI_MN,
    UNI_N = 7 << UNI_ND,
    UNI_P = 0x7f << UNI_PC,
    UNI_S = 0xf << UNI_SM,
    UNI_Z = 7 << UNI_ZS,
    UNI_C = 0x1f << UNI_CC,
};

extern const uint8_t unicode_block[0x110000 >> 7];
extern const uint8_t unicode_classes[][128];

/* Category and bits of CP. */
static inline uint8_t unicode_class(uint32_t cp)
{
    if (cp > 0x10ffff)
        return UNI_CN;
    return unicode_classes[unicode_block[cp >> 7]][cp & 127];
}

/* Is the category of class U in SET (UNI_L, UNI_M | UNI_N, 1 << UNI_ND)? */
static inline bool unicode_is(uint8_t u, uint32_t set)
{
    return set >> (u & UNI_CATEGORY) & 1;
}

/* Does any character have class U? */
bool unicode_class_used(uint8_t u);

/* NAME is a category ("Lu") or the first letter of some ("L"). */
bool unicode_category_known(const char *name);
/* Is the category of class U the one, or one of those, named NAME?  False for
 * an unknown name. */
bool unicode_category_is(uint8_t u, const char *name);

/* Punctuation to Hugging Face (BertPreTokenizer, Punctuation): P as of Unicode
 * 8, or ASCII that is neither letter, digit, space nor control. */
bool unicode_hf_punct(uint32_t cp);
/* What BertNormalizer's strip_accents takes away after NFD: Mn as of Unicode
 * 8. */
bool unicode_hf_accent(uint32_t cp);
/* What BertNormalizer's clean_text takes away: U+0000, U+FFFD, and Cc, Cf and
 * Co as of Unicode 8 but for \t \n \r.  (Unassigned characters stay.) */
bool unicode_hf_control(uint32_t cp);
/* What BertNormalizer's handle_chinese_chars puts spaces around. */
bool unicode_hf_chinese(uint32_t cp);

/* Lower case as Python's str.lower() and Rust's to_lowercase() have it for one
 * character alone (so no final sigma).  OUT takes UNI_LOWER_MAX; how many. */
#define UNI_LOWER_MAX 2
int unicode_lower(uint32_t cp, uint32_t *out);
/* Upper and title case, in the same way.  OUT takes UNI_CASE_MAX. */
#define UNI_CASE_MAX 3
int unicode_upper(uint32_t cp, uint32_t *out);
int unicode_title(uint32_t cp, uint32_t *out);
/* The derived properties Lowercase, Uppercase, Cased and Case_Ignorable. */
bool unicode_is_lower(uint32_t cp);
bool unicode_is_upper(uint32_t cp);
bool unicode_is_cased(uint32_t cp);
bool unicode_is_case_ignorable(uint32_t cp);

/* The whole canonical decomposition of CP, Hangul included.  OUT takes
 * UNI_NFD_MAX; how many.  NFD of a text is this for each character, and then a
 * stable sort by unicode_ccc() of each run of those whose ccc is not 0. */
#define UNI_NFD_MAX 4
int unicode_nfd(uint32_t cp, uint32_t *out);
/* Canonical combining class. */
int unicode_ccc(uint32_t cp);
/* The primary composite of A and B, or 0.  NFC of a text is its NFD and then:
 * each character with the last starter before it, if nothing stands between
 * them or only lower ccc's that are not 0, becomes their composite. */
uint32_t unicode_compose(uint32_t a, uint32_t b);

#endif
