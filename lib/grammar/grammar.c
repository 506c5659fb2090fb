/* SPDX-License-Identifier: MIT */
#include "grammar/build.h"

static int regex(struct grammar **out, const char *text, size_t n,
                 enum dfa_where where, const struct grammar_vocab *v,
                 struct err *e)
{
    struct build *b;
    struct dfa *d;
    uint32_t root;

    *out = NULL;
    if (dfa_regex(&d, text, n, where, e))
        return -1;
    b = build_new(v, e);
    if (!b) {
        dfa_free(d);
        return -1;
    }
    root = build_dfa(b, d);
    dfa_free(d);
    return build_grammar(out, b, root, e);
}

int grammar_regex(struct grammar **out, const char *text, size_t n,
                  const struct grammar_vocab *v, struct err *e)
{
    return regex(out, text, n, DFA_WHOLE, v, e);
}

int grammar_regex_part(struct grammar **out, const char *text, size_t n,
                       struct err *e)
{
    return regex(out, text, n, DFA_PART, NULL, e);
}
