/* SPDX-License-Identifier: MIT
 * chat.h - what a model answers: text, reasoning and tool calls out of it, and
 * back into it.
 *
 * A dialect is how a family of models writes its calls; a style is how it marks
 * its reasoning.  Both are rows of tables in dialects.c, and one machine reads
 * and one writes whatever the rows say:
 *
 *     chat_new(&c, &(struct chat_opts){.dialect = d, .fn = seen}, &e);
 *     while ((n = read(...)) > 0)
 *         chat_feed(c, p, n, &e);
 *     chat_finish(c, &e);
 *
 * The events do not depend on how the text is cut, but for where their texts
 * are.  Of a sequence no more is kept than CHAT_KEEP bytes, twice; time is
 * linear.
 */
#ifndef LLM_CHAT_CHAT_H
#define LLM_CHAT_CHAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct json_t; /* jansson's */

enum {
    CHAT_KEEP = 1 << 20,  /* bytes that wait for what they are */
    CHAT_MAX_NAME = 256,  /* bytes of a tool's name, an id, a key */
    CHAT_MAX_SPACE = 4096 /* white space between the parts of a call */
};

struct chat_dialect;
struct chat_style;

/* By name, or NULL; and in order, NULL after the last. */
const struct chat_dialect *chat_dialect(const char *name);
const struct chat_dialect *chat_dialect_at(size_t i);
const char *chat_dialect_name(const struct chat_dialect *d);
const char *chat_dialect_models(const struct chat_dialect *d); /* for people */
/* How those models mark reasoning, unless they are told apart better. */
const struct chat_style *chat_dialect_style(const struct chat_dialect *d);
const struct chat_style *chat_style(const char *name);
const struct chat_style *chat_style_at(size_t i);
const char *chat_style_name(const struct chat_style *s);

/* The dialect and the style that the chat template P[N] shows; false when it
 * shows none that is known.  A template that knows no tools is of the dialect
 * "none". */
bool chat_recognise(const struct chat_dialect **d, const struct chat_style **s,
                    const char *p, size_t n);

/* Does the text P[N], of which all tags count, end within reasoning?  What
 * stands before AT counts only when it ends with a tag and white space. */
bool chat_ends_inside(const char *p, size_t n, size_t at);

/* ---- reading ---- */

enum chat_kind {
    CHAT_TEXT,      /* TEXT */
    CHAT_REASONING, /* TEXT */
    CHAT_TOOL,      /* a call begins: CALL, ID, NAME */
    CHAT_ARGUMENTS, /* more of its arguments, JSON: CALL, TEXT */
    CHAT_END        /* it is whole, or not: CALL, ERROR */
};
extern const char *const chat_kind_words[];

struct chat_event {
    enum chat_kind kind;
    size_t call;    /* counted from 0 */
    const char *id; /* the model's own, or made of CALL */
    const char *name;
    const char *text; /* N bytes, whole characters where they are such; of
                         arguments always UTF-8 */
    size_t n;
    const char *error; /* why the call is not whole, or NULL */
};
typedef int chat_event_fn(void *arg, const struct chat_event *ev,
                          struct err *e);

struct chat_opts {
    const struct chat_dialect *dialect;
    const struct chat_style *style; /* NULL: the dialect's */
    bool inside;                    /* the prompt ended within reasoning */
    /* An array of tools, as in OpenAI's requests, or NULL: which types their
     * parameters have.  It must live as long as what uses it. */
    const struct json_t *tools;
    chat_event_fn *fn; /* what it returns but 0 ends the call that made it */
    void *arg;
};

struct chat;
int chat_new(struct chat **out, const struct chat_opts *o, struct err *e);
void chat_free(struct chat *c); /* NULL may be freed */
/* More of the answer.  What is certain of it comes as events at once. */
int chat_feed(struct chat *c, const void *p, size_t n, struct err *e);
/* That was all of it. */
int chat_finish(struct chat *c, struct err *e);

/* ERR_FORMAT unless TOOLS is such an array; a tool may be given as its
 * function alone. */
int chat_check_tools(const struct json_t *tools, struct err *e);

/* ---- whole messages ---- */

struct chat_call {
    struct buf id, name, arguments; /* JSON */
    struct buf error;               /* empty: it is whole */
};
/* Zeroed, it is empty. */
struct chat_message {
    struct buf content, reasoning;
    struct chat_call *call;
    size_t ncall, cap;
};

/* A chat_event_fn: ARG is the message. */
int chat_collect(void *arg, const struct chat_event *ev, struct err *e);
void chat_message_free(struct chat_message *m);
/* Append it as OpenAI's JSON: role, content, and where there are such
 * reasoning_content, tool_calls, invalid_tool_calls. */
void chat_message_json(struct buf *out, const struct chat_message *m);
/* The other way; ERR_FORMAT names what is wrong. */
int chat_message_load(struct chat_message *m, const struct json_t *json,
                      struct err *e);

/* Append M as the model itself would have said it.  O->fn is not used.
 * ERR_UNSUPPORTED when the dialect cannot say it so that it is read back: what
 * is appended is always read as M.  White space alone beside calls is no
 * content. */
int chat_write(struct buf *out, const struct chat_message *m,
               const struct chat_opts *o, struct err *e);

#endif
