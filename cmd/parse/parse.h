/* SPDX-License-Identifier: MIT
 * parse.h - what the files of chat-parse share. */
#ifndef LLM_CMD_PARSE_H
#define LLM_CMD_PARSE_H

#include "chat/chat.h"
#include "cmd/common/io.h"
#include "wire/wire.h"

struct gguf;
struct tok;
struct json_t;

/* What is asked for, and how the answers are to be read. */
struct parse {
    /* from the command line; NULL: not said */
    const char *dialect, *style, *model, *template, *tools_file;
    bool inside, message;

    struct wire_out *out; /* NULL: text, or whole messages */
    struct chat_opts o;   /* once chosen */
    bool chosen;
    struct json_t *tools;
    struct gguf *g; /* of MODEL, or of the header's path */
    struct tok *tok;
    char *path; /* which that was */
    char vocab[33];
    struct buf text;
};

/* choose.c: what the command line says of dialect, style and tools; exits with
 * a usage error.  CHOSEN says whether that was enough. */
void choose_by_options(struct parse *p, const struct cli *c);
/* What header H says (NULL: there is none), where the options did not. */
int choose_by_header(struct parse *p, const struct wire_header *h,
                     struct err *e);
void choose_free(struct parse *p);
/* --list: those that there are, or the one that was chosen. */
void choose_list(const struct parse *p);

/* answer.c: the answers of a stream, by number. */
int answer_feed(struct parse *p, uint64_t number, const void *text, size_t n,
                struct err *e);
/* The tokens R of it. */
int answer_tokens(struct parse *p, const struct wire_tokens *r, struct err *e);
/* It begins within reasoning, where that is marked. */
int answer_inside(struct parse *p, uint64_t number, struct err *e);
int answer_end(struct parse *p, uint64_t number, struct err *e);
int answer_end_all(struct parse *p, struct err *e);

/* write.c: messages from FD as text, each with a NUL behind it if NUL. */
int write_messages(const struct parse *p, int fd, const char *name, bool nul,
                   struct err *e);

/* All of FD, appended to B. */
int read_all(struct buf *b, int fd, const char *name, struct err *e);

#endif
