/* SPDX-License-Identifier: MIT
 * chat_impl.h - what the files of lib/chat share: the patterns that dialects
 * are written in, and the machine that reads them.
 *
 * A pattern is what the text of a call looks like: literals, and between them
 * the parts below.  Reading and writing walk the same pattern.
 */
#ifndef LLM_CHAT_CHAT_IMPL_H
#define LLM_CHAT_CHAT_IMPL_H

#include <jansson.h>

#include "chat/chat.h"
#include "chat/scan.h"

/* ---- patterns ---- */

#define SPACE(s)                                                               \
    "\1" s "\1"       /* written so; read as any white space, or none          \
                       */
#define NAME   "\2"   /* the tool; it ends where what follows it begins */
#define ID     "\3"   /* the call's id */
#define KEY    "\4"   /* a parameter's name */
#define VALUE  "\5"   /* its value: text as it is, else JSON */
#define LINES  "\6"   /* a value on lines of its own */
#define QUOTED "\7"   /* a value that is text, without quotes in it */
#define ARGS   "\x0e" /* the rest of a JSON object: the arguments */
#define OBJECT "\x0f" /* the rest of one that has name, arguments, id */
#define DONE   "\x10" /* here the call is whole */
#define PARAMS "\x11" /* any number of parameters, up to FIN */
#define CALLS  "\x12" /* any number of further calls, up to FIN */
#define MAYBE  "\x13" /* an id or nothing, up to FIN */
#define FIN    "\x14"
#define TYPE   "\x15" /* "true" or "false": is the value text? */
#define CODE   "\x16" /* all the rest is the argument "code" */

/* How an OBJECT is written: its keys in order, "" for one that is not. */
enum layout { LAYOUT_PLAIN, LAYOUT_PARAMETERS, LAYOUT_ID_LAST };

struct pattern {
    const char *text;
    bool start; /* only where nothing was said before */
    /* Written for these tools alone, a space after each; NULL: for all that no
     * other pattern names. */
    const char *only;
};

enum { MAX_PATTERNS = 4, MAX_ALTERNATIVES = 8 };

struct chat_dialect {
    const char *name, *models;
    const char *style;
    const char *gap;     /* between text and the first call */
    const char *between; /* and between two of its own pattern */
    struct pattern pattern[MAX_PATTERNS];
    enum layout layout;
    bool functions; /* ids are functions.NAME:N and tell the name */
    bool harmony;   /* messages with headers: harmony.c */
};

struct chat_style {
    const char *name;
    const char *open, *close; /* "": none.  Their white space is optional */
};

/* ---- events, emit.c ---- */

struct emitter {
    chat_event_fn *fn;
    void *arg;
    enum chat_kind kind; /* of what is in TEXT */
    struct buf text;
    size_t ncall; /* calls begun; of arguments and ends, the last of them */
    struct err *e;
    bool bad; /* E says why; nothing more goes out */
};

void emit_text(struct emitter *m, enum chat_kind kind, const void *p, size_t n);
/* P[N] inside a JSON string, as arguments. */
void emit_escaped(struct emitter *m, const void *p, size_t n);
void emit_puts(struct emitter *m, enum chat_kind kind, const char *s);
/* The JSON text P[N] as it is, but for control characters in its strings. */
void emit_json(struct emitter *m, const void *p, size_t n);
void emit_tool(struct emitter *m, struct buf *name, struct buf *id);
void emit_end(struct emitter *m, const char *error);
/* Give out what there is, but for half a character unless ALL. */
void emit_flush(struct emitter *m, bool all);

/* ---- what type a parameter's value has, tools.c ---- */

/* Which types it may have, a bit for each; 0: nobody knows. */
unsigned tools_types(const json_t *tools, const struct buf *name,
                     const struct buf *key);
/* Is it text, whatever comes? */
bool tools_say_text(unsigned types);
/* May P[N] be JSON that is meant as such, not text? */
bool tools_say_json(unsigned types, const void *p, size_t n);

/* ---- literals, match.c ---- */

struct literal {
    const char *p;
    size_t n;
    const char *next; /* in a pattern: where to go on */
};
struct matcher {
    struct literal lit[MAX_ALTERNATIVES];
    int n;
    bool space, end; /* white space may stand before; or nothing at all */
    char hold[64];
    size_t nhold;
};
void match_init(struct matcher *m);
void match_add(struct matcher *m, const char *p, size_t n, const char *next);
/* What may come at PC of the pattern TEXT. */
void match_pattern(struct matcher *m, const char *text, const char *pc);
/* The next byte: the index of the literal that it completes, or -1.  What is no
 * part of one any more goes to OUT, *N bytes of at most sizeof m->hold. */
int match_byte(struct matcher *m, unsigned char b, char *out, size_t *n);
/* The literal at P; the op there that ends it is not counted. */
size_t match_literal(const char *p);
bool match_is_op(char b);
/* Past the FIN of the group that P is in. */
const char *match_after(const char *p);
/* The first byte of the group whose FIN is at P. */
const char *match_group(const char *text, const char *p);

/* ---- the machine, parse.c and call.c ---- */

enum state {
    ST_TEXT,
    ST_REASONING,
    ST_NEXT,  /* one of the literals that may come now */
    ST_FIELD, /* NAME, ID, KEY, TYPE */
    ST_VALUE, /* VALUE, LINES, QUOTED */
    ST_ARGS,
    ST_OBJECT,
    ST_CODE,
    ST_HEADER, /* harmony.c has these */
    ST_BODY,
};

enum want { WANT_NOTHING, WANT_KEY, WANT_NAME, WANT_ID, WANT_ARGS };

struct chat {
    struct chat_opts o;
    const struct chat_dialect *d;
    const struct chat_style *style;
    struct emitter m;
    enum state state;
    struct matcher match;
    bool first[256]; /* bytes that may be no text: all in other states */

    /* text and reasoning */
    struct buf space; /* white space that may turn out to be a separator */
    bool said;        /* anything at all, but for reasoning */
    bool blank;       /* no text but SPACE since the last call or the start */
    const char *skip; /* white space of a tag that may still come */
    bool opening;     /* the tag that the prompt ended with may come again */

    /* What may have to be read again as something else: LOG[FROM..], of which
     * [AT..] is still to be read. */
    struct buf log;
    size_t from, at;
    bool logging;
    size_t opener;  /* length of the literal at FROM that began the call; 0:
                       it is not the first of its pattern */
    uint64_t read;  /* bytes that came, */
    uint64_t again; /* and that were read again */

    /* the call */
    int pattern;
    const char *pc;
    bool committed; /* its CHAT_TOOL is out */
    bool has_args;  /* its arguments come, or came, as JSON */
    size_t nspace;
    struct buf name, id, key, value, args;
    size_t nparams;
    bool streaming; /* the value is text, and comes out as it comes */
    bool any;       /* something of it has come */
    unsigned types;
    int told; /* by TYPE: -1 nothing, 0 JSON, 1 text */
    char lines[48];
    struct scan_json json;
    enum want want;

    /* harmony */
    struct buf header;
    enum chat_kind body;
    bool more[2]; /* there was text, or reasoning, before this message */
    bool code;    /* the arguments are no JSON */
};

/* Let the byte that was just read be read again, by another state. */
void parse_unread(struct chat *c, unsigned char b);
/* From here on it is text. */
void parse_text(struct chat *c);
/* Go back to LOG[FROM] and read it as text. */
void parse_again(struct chat *c);
/* Before a call: SPACE as text, but for the separator GAP at its end, or all of
 * it where there is nothing else. */
void parse_space(struct chat *c, const char *gap);

/* call.c: the pattern's opener has been read. */
void call_begin(struct chat *c, int pattern);
void call_byte(struct chat *c, unsigned char b);
/* The text ends here. */
void call_finish(struct chat *c);
/* It is no call, or WHY it is not whole. */
void call_fail(struct chat *c, const char *why);

/* value.c: a parameter's value, and what is JSON already */
void value_begin(struct chat *c);
void value_byte(struct chat *c, unsigned char b);
void value_finish(struct chat *c);
void value_args(struct chat *c);
void value_args_byte(struct chat *c, unsigned char b);
void value_object(struct chat *c);
void value_object_byte(struct chat *c, unsigned char b);
/* What value.c says to call.c: go on there. */
void call_go_on(struct chat *c, const char *pc);
void call_commit(struct chat *c);
bool chat_name_valid(const struct buf *b);

/* harmony.c: a header may come; one has begun, with the log. */
void harmony_begin(struct chat *c);
void harmony_open(struct chat *c);
void harmony_byte(struct chat *c, unsigned char b);
void harmony_finish(struct chat *c);
int harmony_write(struct buf *out, const struct chat_message *m, struct err *e);

#endif
