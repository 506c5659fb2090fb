/* SPDX-License-Identifier: MIT
 * jinja.h - chat templates: Jinja as transformers configures it.
 *
 * trim_blocks, lstrip_blocks, loop controls, "generation" blocks, and the
 * immutable sandbox: a template sees data and can change none of it.
 *
 *     struct jinja *t;
 *     struct jinja_text text = {0};
 *     jinja_open(&t, source, n, &e);
 *     jinja_render(&text, t, &vars, &e);
 *
 * Every byte of what comes out has an origin: the template, or data.  Strings
 * keep it through all operations, byte by byte, and numbers through
 * arithmetic.  Where it is not clear, it is data.
 *
 * Templates and data may be hostile: the limits below hold for each rendering,
 * and an error names the line of the template and what was wrong there.
 */
#ifndef LLM_JINJA_JINJA_H
#define LLM_JINJA_JINJA_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

struct json_t; /* jansson's */
struct jinja;

enum {
    JINJA_MAX_TEMPLATE = 1 << 20, /* bytes of a template */
    JINJA_MAX_OUTPUT = 16 << 20,  /* bytes that come out */
    JINJA_MAX_MEMORY = 48 << 20, /* bytes of values, and of a parsed template */
    JINJA_MAX_STEPS = 6000000,   /* operations; long strings count more */
    JINJA_MAX_DEPTH = 1000,      /* calls, blocks, lists within each other */
};

/* Parse the template SOURCE[N].  ERR_FORMAT says which line is wrong;
 * ERR_UNSUPPORTED names a tag that needs other templates. */
int jinja_open(struct jinja **out, const char *source, size_t n, struct err *e);
void jinja_close(struct jinja *t);

/* What a template sees. */
struct jinja_vars {
    const struct json_t *data; /* an object: each key a variable */
    const struct json_t *own;  /* the same, below those: text of these counts as
                                  the template's */
    const char *const *roles;  /* what may stand under "role" and still count as
                                  the template's; ends at NULL */
    struct tm now;             /* what strftime_now() shows */
};

/* Zeroed it is empty and ready. */
struct jinja_text {
    struct buf text;
    struct buf data; /* for each byte 1: it came from data */
    bool raised;     /* the error is one that the template itself raised */
};

/* Append what T makes of V.  ERR_FORMAT: what the template itself raised, or
 * what went wrong in it, and where. */
int jinja_render(struct jinja_text *out, const struct jinja *t,
                 const struct jinja_vars *v, struct err *e);

#endif
