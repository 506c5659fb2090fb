/* SPDX-License-Identifier: MIT
 * json.c - any JSON value (RFC 8259), nested up to a depth: each has nodes of
 * its own, but the terminals are the same for all. */
#include <string.h>

#include "grammar/build.h"

/* Nodes of a number and of a string. */
static int terminals(uint32_t *number, uint32_t *string, struct build *b,
                     struct err *e)
{
    static const char pattern[] =
        "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?";
    struct dfa *n = NULL, *any = NULL, *s = NULL;
    int rc = dfa_regex(&n, pattern, sizeof pattern - 1, DFA_WHOLE, e) ||
             dfa_length(&any, 0, -1, e) || dfa_json(&s, any, e);

    if (!rc) {
        *number = build_dfa(b, n);
        *string = build_dfa(b, s);
    }
    dfa_free(n);
    dfa_free(any);
    dfa_free(s);
    return rc;
}

static uint32_t text(struct build *b, const char *s)
{
    return build_bytes(b, s, strlen(s));
}

/* OPEN, items with commas between them, CLOSE. */
static uint32_t list(struct build *b, const char *open, uint32_t item,
                     const char *close, uint32_t space)
{
    uint32_t comma[] = {space, text(b, ","), space, item};
    uint32_t more = build_repeat(b, build_seq(b, comma, 4), 0, -1);
    uint32_t some[] = {item, more, space};
    uint32_t items = build_repeat(b, build_seq(b, some, 3), 0, 1);
    uint32_t all[] = {text(b, open), space, items, text(b, close)};

    return build_seq(b, all, 4);
}

uint32_t build_space(struct build *b)
{
    static const struct dfa_range white[] = {
        {' ', ' '}, {'\t', '\n'}, {'\r', '\r'}};

    return build_repeat(b, build_class(b, white, 3, false), 0, BUILD_SPACE);
}

int build_json(uint32_t *node, struct build *b, struct err *e)
{
    uint32_t key, number, space = build_space(b), value = 0, scalar;

    if (terminals(&number, &key, b, e))
        return -1;
    scalar = build_alt(b,
                       (uint32_t[]){key, number, text(b, "true"),
                                    text(b, "false"), text(b, "null")},
                       5);
    for (int depth = 0; depth < BUILD_JSON_DEPTH; depth++) {
        uint32_t inner = depth ? value : build_never(b);
        uint32_t member[] = {key, space, text(b, ":"), space, inner};
        uint32_t any[] = {scalar, list(b, "[", inner, "]", space),
                          list(b, "{", build_seq(b, member, 5), "}", space)};

        value = build_alt(b, any, 3);
    }
    *node = value;
    return 0;
}

int grammar_json(struct grammar **out, const struct grammar_vocab *v,
                 struct err *e)
{
    struct build *b = build_new(v, e);
    uint32_t node;

    *out = NULL;
    if (!b)
        return -1;
    if (build_json(&node, b, e)) {
        build_free(b);
        return -1;
    }
    return build_grammar(out, b, node, e);
}
