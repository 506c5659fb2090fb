/* SPDX-License-Identifier: MIT
 * set.h - the parts of gguf-set. */
#ifndef LLM_CMD_SET_H
#define LLM_CMD_SET_H

#include "cmd/common/cli.h"
#include "gguf/write.h"

struct json_t;

/* A type as people write it: "u32", "str[]", "u8[][]". */
struct set_type {
    enum gguf_type base; /* never GGUF_ARR */
    int depth;           /* of arrays */
};
bool set_type_parse(struct set_type *t, const char *s, size_t n);
/* V's; false for an array of arrays whose innermost are none. */
bool set_type_of(struct set_type *t, const struct gguf_val *v);

/* A value of type T from words or from JSON, into B; V gets its type, and
 * where it is once B has all. */
int set_text(struct gguf_val *v, struct buf *b, struct set_type t,
             const char *s, struct err *e);
int set_json(struct gguf_val *v, struct buf *b, struct set_type t,
             const struct json_t *j, struct err *e);

/* What becomes of a key. */
struct edit {
    const struct gguf_val *old; /* NULL: a new key */
    bool deleted;
    struct gguf_val now; /* unless it is deleted */
    struct buf bytes;    /* of NOW, when they are not those of OLD */
    char *name;
};

struct edits {
    struct edit *v;
    size_t n;
    const struct edit **of; /* one, or NULL, for each key of the model */
};

/* What the command line asks for. */
struct wish {
    const char *type, *from, *chat_template;
    struct cli_list deleted, renamed;
    char **set; /* NSET of "key=value" */
    int nset;
};

/* Exits where the options are wrong. */
int edits_make(struct edits *s, const struct gguf *g, const struct wish *w,
               const struct cli *c, struct err *e);
void edits_fini(struct edits *s);

/* Keys that other keys and the tensors must agree with, and values that no
 * reader takes: refused. */
int guard_edits(const struct gguf *g, const struct edits *s, struct err *e);
int guard_result(const struct gguf *before, const struct gguf *after,
                 const struct edits *s, struct err *e);

/* How the model gets its new keys. */
struct layout {
    struct gguf_out out; /* a file of its own */
    bool in_place;
    struct gguf_out here; /* if so: as long as what is there */
    uint64_t size;        /* of the file of its own */
    size_t changed;       /* bytes between the first and the last that differ */
    uint32_t alignment;
};

/* RESERVE: room for keys to come; 0 for none.  ALONE: the result is a file of
 * its own whether or not the keys fit.  The result is checked, as far as it can
 * be without being there. */
int layout_make(struct layout *p, const struct gguf *g, const struct edits *s,
                uint64_t reserve, bool alone, bool force, struct err *e);
void layout_fini(struct layout *p);

/* Carry P out on the model of PATH, whose keys are in the file FIRST; closes
 * *G, since a file that changes must not be held.  OUTPUT: a new file, or NULL.
 * *IN_PLACE: it was. */
int layout_apply(bool *in_place, const struct layout *p, struct gguf **g,
                 const char *output, struct err *e);

/* On standard output: what changes, and how. */
void show_edits(const struct gguf *g, const struct edits *s,
                const struct layout *p, bool json);

#endif
