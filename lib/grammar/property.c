/* SPDX-License-Identifier: MIT
 * property.c - sets of symbols by what Unicode says of them. */
#include <string.h>

#include "base/unicode.h"
#include "grammar/nfa.h"

/* Long names of general categories, in the order of enum uni_category, and then
 * of their groups. */
static const struct {
    const char *name, *shorter;
    uint32_t set;
} categories[] = {
#define ONE(name, shorter, c)                                                  \
    {                                                                          \
        name, shorter, UINT32_C(1) << (c)                                      \
    }
    ONE("Uppercase_Letter", "Lu", UNI_LU),
    ONE("Lowercase_Letter", "Ll", UNI_LL),
    ONE("Titlecase_Letter", "Lt", UNI_LT),
    ONE("Modifier_Letter", "Lm", UNI_LM),
    ONE("Other_Letter", "Lo", UNI_LO),
    ONE("Nonspacing_Mark", "Mn", UNI_MN),
    ONE("Spacing_Mark", "Mc", UNI_MC),
    ONE("Enclosing_Mark", "Me", UNI_ME),
    ONE("Decimal_Number", "Nd", UNI_ND),
    ONE("Letter_Number", "Nl", UNI_NL),
    ONE("Other_Number", "No", UNI_NO),
    ONE("Connector_Punctuation", "Pc", UNI_PC),
    ONE("Dash_Punctuation", "Pd", UNI_PD),
    ONE("Open_Punctuation", "Ps", UNI_PS),
    ONE("Close_Punctuation", "Pe", UNI_PE),
    ONE("Initial_Punctuation", "Pi", UNI_PI),
    ONE("Final_Punctuation", "Pf", UNI_PF),
    ONE("Other_Punctuation", "Po", UNI_PO),
    ONE("Math_Symbol", "Sm", UNI_SM),
    ONE("Currency_Symbol", "Sc", UNI_SC),
    ONE("Modifier_Symbol", "Sk", UNI_SK),
    ONE("Other_Symbol", "So", UNI_SO),
    ONE("Space_Separator", "Zs", UNI_ZS),
    ONE("Line_Separator", "Zl", UNI_ZL),
    ONE("Paragraph_Separator", "Zp", UNI_ZP),
    ONE("Control", "Cc", UNI_CC),
    ONE("Format", "Cf", UNI_CF),
    ONE("Private_Use", "Co", UNI_CO),
    ONE("Unassigned", "Cn", UNI_CN),
    ONE("digit", "Nd", UNI_ND),
    ONE("punct", "Po", UNI_PO),
#undef ONE
    {"Cased_Letter", "LC", 7u << UNI_LU},
    {"Letter", "L", UNI_L},
    {"Mark", "M", UNI_M},
    {"Combining_Mark", "M", UNI_M},
    {"Number", "N", UNI_N},
    {"Punctuation", "P", UNI_P},
    {"Symbol", "S", UNI_S},
    {"Separator", "Z", UNI_Z},
    {"Other", "C", UNI_C},
    {"Any", "Any", UINT32_MAX},
    {"Assigned", "Assigned", ~(UINT32_C(1) << UNI_CN)},
};

static bool named_so(const char *name, const unsigned char *s, size_t n)
{
    return strlen(name) == n && !memcmp(name, s, n);
}

/* Add to SET all code points of these categories, or with this bit. */
static void add_categories(struct buf *set, uint32_t categories_set,
                           uint8_t bit)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        uint8_t u = unicode_class(cp);
        bool in = cp < 0x110000 && !(cp >= 0xd800 && cp < 0xe000) &&
                  (bit ? u & bit : unicode_is(u, categories_set));

        if (in && first == UINT32_MAX)
            first = cp;
        if (!in && first != UINT32_MAX) {
            nfa_range(set, first, cp - 1);
            first = UINT32_MAX;
        }
    }
}

void nfa_property(struct buf *set, const unsigned char *name, size_t n)
{
    if (named_so("ASCII", name, n))
        nfa_range(set, 0, 0x7f);
    else if (named_so("White_Space", name, n) || named_so("space", name, n))
        add_categories(set, 0, UNI_SPACE);
    for (size_t i = 0; i < sizeof categories / sizeof *categories && !set->n;
         i++)
        if (named_so(categories[i].name, name, n) ||
            named_so(categories[i].shorter, name, n))
            add_categories(set, categories[i].set, 0);
}
