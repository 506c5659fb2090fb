/* SPDX-License-Identifier: MIT
 * inspect.h - gguf-inspect's parts: values, and a view per option. */
#ifndef LLM_CMD_INSPECT_H
#define LLM_CMD_INSPECT_H

#include <stdbool.h>

#include "cmd/common/cli.h"
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

/* Text from a file.  put_text() escapes what a terminal might obey and, when
 * LINE, newlines and tabs too; put_string() writes a JSON string, or
 * {"base64": "..."} when S is not UTF-8. */
void put_text(struct gguf_str s, bool line);
void put_string(struct gguf_str s);
void put_cstring(const char *s);

/* A number in its shortest exact form; JSON has no NaN or infinity and few
 * readers keep integers beyond int64_t, so those become strings there. */
void put_number(enum gguf_type type, const unsigned char *p, bool json);

/* A whole value for people (elided unless ALL), bare (--key), or as JSON. */
void put_value(const struct gguf_val *v, bool all);
void put_bare(const struct gguf_val *v, bool terminal);
void put_json_value(const struct gguf_val *v);
/* "u32", "str[49152]" */
void put_type(const struct gguf_val *v);

/* "1.5 GiB"; in BUF. */
const char *size_text(char buf[32], uint64_t bytes);
/* "134.5 M"; in BUF. */
const char *count_text(char buf[32], uint64_t n);

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
