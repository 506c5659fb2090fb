/* SPDX-License-Identifier: MIT
 * build_impl.h - a grammar under construction, its insides. */
#ifndef LLM_GRAMMAR_BUILD_IMPL_H
#define LLM_GRAMMAR_BUILD_IMPL_H

#include "grammar/grammar_impl.h"

struct build {
    struct machine m;
    const struct grammar_vocab *v;
    struct intern terms;   /* automata */
    struct buf term_place; /* uint32_t: the first place of each */
    struct intern classes; /* of characters, as they were asked for */
    struct buf class_node; /* uint32_t: the node of each */
    struct buf words;
    struct err err;
};

/* The node of these words. */
uint32_t build_words(struct build *b, const uint32_t *w, size_t n);
/* fuse.c: ROOT with its small regular parts as terminals. */
uint32_t build_fuse(struct build *b, uint32_t root);
/* Keep a failure, unless there is one already; 0. */
uint32_t build_fail(struct build *b, enum err_code code, const char *what);

#endif
