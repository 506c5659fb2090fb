/* SPDX-License-Identifier: MIT
 * dump.h - kv-dump's parts. */
#ifndef LLM_CMD_DUMP_H
#define LLM_CMD_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/common/io.h"
#include "kv/state.h"

/* A part of a state: LOW..HIGH, both in it. */
struct range {
    int low, high;
};

/* What is asked for. */
struct job {
    enum wire_format format; /* WIRE_CBOR: states are written */
    struct wire_out *w;      /* then */
    bool check, quiet;
    bool values; /* of these */
    struct range layer, head, pos;
    int cut;    /* tokens; -1: all */
    int kt, vt; /* enum kern_kv; -1: as they are */
    int zstd;   /* 0, 1; -1: as it is */
    bool one;   /* only sequence SEQ */
    uint64_t seq;
};

/* ---- rows.c: rows of elements to floats and back ---- */

/* Row I of P, WIDTH elements of type T. */
void rows_get(float *x, const void *p, enum kern_kv t, int width, int i);
/* N rows of WIDTH elements, of type FROM, in the empty OUT as TO. */
void rows_convert(struct buf *out, const void *p, enum kern_kv from,
                  enum kern_kv to, int width, int n);

/* ---- show.c: states for people and jq ---- */

struct shown; /* what is gathered of one state */

struct shown *shown_new(const struct job *j, const struct kv_state *x);
void shown_free(struct shown *s);
void shown_page(struct shown *s, const struct kv_page *p);
/* It is whole: print it. */
void shown_end(struct shown *s, const char *file, uint64_t seq);
/* Those elements of P that --values asks for. */
void show_values(const struct job *j, const struct kv_state *x, uint64_t seq,
                 const struct kv_page *p);
/* F in the fewest digits that give it back. */
void show_float(float f);

/* ---- pass.c, diff.c ---- */

/* Every state of FD: shown, checked, or written.  For io_each(). */
struct pass {
    const struct job *job;
    uint64_t states; /* seen */
};
int pass_file(void *pass, int fd, const char *name, struct err *e);

/* Compare the states of two files: an exit status. */
int diff_files(const struct job *j, const char *a, const char *b);

#endif
