/* SPDX-License-Identifier: MIT
 * pretok.h - splitting text into the pieces that are merged, by the name of
 * the model's pre-tokenizer.  The names and rules are in pretok_table.h. */
#ifndef LLM_TOK_PRETOK_H
#define LLM_TOK_PRETOK_H

#include "tok/regex.h"

#include "tok/pretok_table.h"

enum { PRETOK_LEVELS = 8 };

/* Each level splits what the level before left whole: a match is a piece, and
 * so is what lies between two matches. */
struct pretok_level {
    enum pretok_kind kind;
    struct regex *re; /* NULL for the kinds that no pattern says */
};

struct pretok {
    unsigned flags; /* of the name, in pretok_table.h */
    int nlevel;
    struct pretok_level level[PRETOK_LEVELS];
};

/* Make the rules of NAME ready; ERR_UNSUPPORTED when there is no such name. */
int pretok_open(struct pretok *pt, const char *name, struct err *e);
void pretok_close(struct pretok *pt);

/* A name and what it stands for: steps up to one of kind 0.  Names of the same
 * STEP split alike. */
struct pretok_info {
    const char *name, *rule;
    unsigned flags;
    const struct pretok_step *step;
};
/* Name I of the table, in order of strcmp(); false past the last. */
bool pretok_at(struct pretok_info *out, size_t i);

/* Call FN for each piece of the text that begins at P, in order, until one
 * begins at or after STOP.  END and FINAL as in regex.h.  Returns where it
 * stopped: before STOP only when what follows END could change the pieces. */
typedef void pretok_fn(void *arg, const unsigned char *p, size_t n,
                       const unsigned char *end);
const unsigned char *pretok_walk(const struct pretok *pt,
                                 const unsigned char *p,
                                 const unsigned char *stop,
                                 const unsigned char *end, bool final,
                                 pretok_fn *fn, void *arg);

/* A place in FROM..TO where a piece begins whatever stands around; NULL when
 * none is found. */
const unsigned char *pretok_cut(const struct pretok *pt,
                                const unsigned char *from,
                                const unsigned char *to);

#endif
