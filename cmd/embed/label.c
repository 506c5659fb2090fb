/* SPDX-License-Identifier: MIT
 * label.c - models that rank: which output counts, and how pairs are written.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/embed/embed.h"

static bool is(struct gguf_str s, const char *word)
{
    return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

static bool has(struct gguf_str s, const char *word)
{
    for (size_t n = strlen(word); s.n >= n; s.p++, s.n--)
        if (!memcmp(s.p, word, n))
            return true;
    return false;
}

/* The output by which to rank; -1: nobody says. */
static int find_label(const struct cli *c, const struct program *p,
                      const char *label)
{
    int n = embed_width(p->embed);
    long i;
    char *end;

    for (i = 0; i < n; i++)
        if (is(embed_label(p->embed, (int)i), label ? label : "yes"))
            return (int)i;
    if (!label)
        return n == 1 ? 0 : -1;
    i = strtol(label, &end, 10);
    if (!*label || *end || i < 0 || i >= n)
        usage_error(c, "--label: the model has no '%s' among its %d outputs",
                    label, n);
    return (int)i;
}

void rank_open(const struct cli *c, struct program *p, const char *pair,
               const char *label, bool changed, bool ranked)
{
    struct err e = {0};

    if (!p->rank) {
        if (pair || label || p->probabilities)
            usage_error(c, "--pair, --label and --probabilities are for "
                           "models that rank");
        return;
    }
    if (changed)
        usage_error(c, "--dimensions and prefixes are not for models that "
                       "rank");
    p->label = find_label(c, p, label);
    if (p->label < 0 && (ranked || p->probabilities))
        usage_error(c, "the model has %d outputs: --label",
                    embed_width(p->embed));
    p->pattern = (struct gguf_str){pair, pair ? strlen(pair) : 0};
    if (!pair && gguf_get_str(&p->pattern, p->load.gguf,
                              "tokenizer.chat_template.rerank", &e) < 0)
        die(&e);
    if (p->pattern.n &&
        (!has(p->pattern, "{query}") || !has(p->pattern, "{document}"))) {
        err_set(&e, ERR_UNSUPPORTED,
                "%s: its template 'rerank' has no {query} and {document}: "
                "--pair",
                gguf_path(p->load.gguf));
        die(&e);
    }
}
