/* SPDX-License-Identifier: MIT
 * render.h - what the files of chat-render share: one run of the program. */
#ifndef LLM_CMD_RENDER_H
#define LLM_CMD_RENDER_H

#include <stdbool.h>
#include <time.h>

#include "gguf/gguf.h"
#include "jinja/jinja.h"
#include "wire/wire.h"

struct render {
    struct gguf *g;       /* NULL: no model */
    const char *template; /* --template: a name or a file */
    const char *prefill;
    bool no_prompt, parse_arguments;
    struct json_t *own;    /* what the program gives: special tokens ... */
    struct json_t *kwargs; /* -D and --kwargs */
    struct tm now;
    struct wire_out *out; /* NULL: text on standard output */
    uint64_t seq;
    int worst; /* exit status of the requests so far */
    struct jinja *usual, *tools;
    struct buf in;
};

/* source.c: find the templates of the run.  ERR_UNSUPPORTED when there is
 * none. */
int source_open(struct render *r, struct err *e);
void source_close(struct render *r);
/* The template for a request with, or without, tools. */
const struct jinja *source_for(const struct render *r, bool tools);
/* Special tokens of the model, as variables. */
int source_tokens(struct json_t *own, const struct gguf *g, struct err *e);

/* request.c: the text for the request O, which is changed. */
int request_render(struct jinja_text *out, const struct render *r,
                   struct json_t *o, struct err *e);
/* Does the text for O end within reasoning? */
bool request_inside(const struct jinja_text *text, const struct render *r,
                    const struct json_t *o);
/* What of O are options of the sequence, for its "set" record. */
struct json_t *request_options(struct json_t *o);

/* write.c: a request that FD gives, or one on each line, as io_each() wants
 * it. */
int write_one(void *render, int fd, const char *name, struct err *e);
int write_lines(void *render, int fd, const char *name, struct err *e);

#endif
