/* SPDX-License-Identifier: MIT
 * cli.h - what every command shares: its option table, and how it dies. */
#ifndef LLM_CMD_CLI_H
#define LLM_CMD_CLI_H

#include "base/err.h"

enum cli_kind {
    CLI_FLAG,  /* int*, set to 1 */
    CLI_INT,   /* int*, within the limits of int */
    CLI_LONG,  /* long long* */
    CLI_FLOAT, /* float* */
    CLI_STR,   /* const char**; the last one wins */
    CLI_LIST,  /* struct cli_list*; every one is kept, in order */
    CLI_GROUP, /* const struct cli_opt*: a shared table, ends as this one */
};

struct cli_list {
    const char **v;
    int n;
};

struct cli_opt {
    char letter;      /* 0: long form only */
    const char *name; /* long form, without the dashes */
    enum cli_kind kind;
    const void *out;  /* where the value goes, by KIND */
    const char *arg;  /* what the argument is called; NULL for a flag */
    const char *help; /* one line, lower case, no full stop */
};

struct cli {
    const char *prog;          /* "tok-encode" */
    const char *operands;      /* "model [file ...]" */
    const char *what;          /* the NAME line of the man page */
    const struct cli_opt *opt; /* ends at an entry without a name */
};

/* Parse argv by C's table, answer -h and -V, and return the index of the
 * first operand.  Exits with status 2 on a usage error. */
int cli_parse(const struct cli *c, int argc, char **argv);

/* "prog: message" on stderr, bytes that a terminal might obey shown escaped.
 * status() is the exit code for E (STYLE: errors); die() exits with it. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int status(const struct err *e);
_Noreturn void die(const struct err *e);
_Noreturn void usage(const struct cli *c);
/* warn(), then usage(). */
_Noreturn void usage_error(const struct cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Close stdout and say so if that fails; the value for main() to return. */
int cli_finish(int st);
/* What cli_finish() calls when all is written: non-zero, after a warning, for a
 * failure. */
void cli_at_finish(int (*fn)(void));

/* Options that must be one of a few words: the index of WORD in WORDS (NULL
 * ends them); exits with a usage error that lists them otherwise. */
int cli_choice(const struct cli *c, const char *option, const char *word,
               const char *const *words);

#endif
