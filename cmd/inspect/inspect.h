/* SPDX-License-Identifier: MIT
 * inspect.h - gguf-inspect's parts: a view per option. */
#ifndef LLM_CMD_INSPECT_H
#define LLM_CMD_INSPECT_H

#include <stdbool.h>

#include "cmd/common/cli.h"
#include "cmd/common/size.h"
#include "cmd/common/value.h"
#include "gguf/config.h"
#include "gguf/gguf.h"

struct view {
    bool json, all, quiet;
    bool many;     /* operands */
    bool terminal; /* stdout is one */
    int threads;
    const char *tensors; /* a glob, or NULL */
    int64_t context;     /* below 0: a few */
    const struct gguf_type_info *kt, *vt;
};

/* Does NAME match the view's glob?  Does any tensor of G? */
bool wanted(const struct view *w, struct gguf_str name);
bool any_wanted(const struct view *w, const struct gguf *g);

/* With a glob and several models: a line that says whose tensors follow. */
void put_heading(const struct view *w, const struct gguf *g);

/* Has G tokens, and so a vocabulary id? */
bool has_vocabulary(const struct gguf *g);

/* The contexts to estimate memory for, ending at 0. */
int memory_rows(int64_t row[4], const struct view *w,
                const struct gguf_config *c);

struct type_sum {
    const struct gguf_type_info *type;
    uint64_t tensors, elements, bytes;
};
enum { TYPE_SUMS = 64 };
/* One per type in use, the largest first; how many. */
int sum_types(struct type_sum sum[TYPE_SUMS], const struct gguf *g);

/* The views: each returns an exit status and has said on stderr why. */
int show_text(const struct gguf *g, const struct view *w);
int show_json(const struct gguf *g, const struct view *w);
int show_keys(const struct gguf *g, const struct view *w,
              const struct cli_list *names);
/* A part of show_check(): says what is wrong with the metadata; how many. */
int check_metadata(const struct gguf *g, const struct view *w);
int show_check(const struct gguf *g, const struct view *w);
int show_hash(const struct gguf *g, const struct view *w);
int show_diff(const struct gguf *a, const struct gguf *b, const struct view *w);

#endif
