/* SPDX-License-Identifier: MIT
 * other.c - another program, in turns with ours: --vs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/bench.h"

struct other {
    const char *command;
    regex_t regex;
    bool by_regex;
};

struct other *other_new(const struct cli *c, const char *command,
                        const char *regex)
{
    struct other *o = calloc(1, sizeof *o);
    char why[200];
    int rc;

    if (!o)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    o->command = command;
    o->by_regex = regex != NULL;
    rc = regex ? regcomp(&o->regex, regex, REG_EXTENDED | REG_NEWLINE) : 0;
    if (rc) {
        regerror(rc, &o->regex, why, sizeof why);
        usage_error(c, "--vs-regex: '%s': %s", regex, why);
    }
    return o;
}

void other_free(struct other *o)
{
    if (o && o->by_regex)
        regfree(&o->regex);
    free(o);
}

bool other_does(const struct other *o, enum bench_kind kind)
{
    return kind == BENCH_PREFILL || kind == BENCH_DECODE ||
           (kind == BENCH_FIRST && !o->by_regex);
}

const char *other_by(const struct other *o)
{
    return o->by_regex ? "regex" : "wall";
}

/* ---- the command ---- */

/* As one word of the shell. */
static void put_word(struct buf *b, const char *s)
{
    buf_putc(b, '\'');
    for (; *s; s++)
        if (*s == '\'')
            buf_puts(b, "'\\''");
        else
            buf_putc(b, *s);
    buf_putc(b, '\'');
}

/* Other braces than those of these names are the shell's. */
static void fill_in(struct buf *b, const char *command,
                    const struct bench_test *t, const struct bench_model *m)
{
    const struct {
        const char *name;
        int value;
    } names[] = {{"{prompt}", t->prompt},   {"{n}", t->n},
                 {"{threads}", t->threads}, {"{depth}", t->depth},
                 {"{batch}", t->batch},     {"{model}", 0}};
    size_t count = sizeof names / sizeof *names;

    while (*command) {
        size_t i = 0;

        while (i < count &&
               strncmp(command, names[i].name, strlen(names[i].name)) != 0)
            i++;
        if (i == count) {
            buf_putc(b, *command++);
            continue;
        }
        command += strlen(names[i].name);
        if (i == count - 1)
            put_word(b, m->path);
        else
            buf_printf(b, "%d", names[i].value);
    }
}

/* ---- its number ---- */

/* The last match, or what the first group of it is, must be a number. */
static int find_number(double *value, const struct other *o, const char *text,
                       struct err *e)
{
    regmatch_t m[2];
    char number[64] = "", *end = number;
    int group = o->regex.re_nsub > 0;

    for (int flags = 0; *text && !regexec(&o->regex, text, 2, m, flags);
         flags = REG_NOTBOL) {
        const regmatch_t *g = &m[group];

        if (g->rm_so >= 0)
            snprintf(number, sizeof number, "%.*s",
                     g->rm_eo - g->rm_so < 64 ? (int)(g->rm_eo - g->rm_so) : 0,
                     text + g->rm_so);
        text += m[0].rm_eo > m[0].rm_so ? m[0].rm_eo : m[0].rm_eo + 1;
        if (m[0].rm_eo == m[0].rm_so && !text[-1])
            break;
    }
    *value = strtod(number, &end);
    if (end == number || *end || !(*value > 0 && *value < 1e300))
        return err_set(e, ERR_FORMAT,
                       "--vs: its output has no number that --vs-regex takes, "
                       "which must be more than 0");
    return 0;
}

/* The last line of what it said. */
static const char *last_line(struct buf *b)
{
    const char *s;

    while (b->n && (b->p[b->n - 1] == '\n' || b->p[b->n - 1] == ' '))
        b->n--;
    s = strrchr(buf_str(b), '\n');
    return s ? s + 1 : buf_str(b);
}

static double by_wall(const struct bench_test *t, double seconds)
{
    if (t->kind == BENCH_FIRST)
        return 1e3 * seconds;
    return (double)(t->prompt + t->n) * t->batch / seconds;
}

int other_run(double *value, double *cpu, uint64_t *rss, const struct other *o,
              const struct bench_test *t, const struct bench_model *m,
              struct err *e)
{
    struct buf command = {0};
    const char *argv[] = {"sh", "-c", NULL, NULL};
    struct process p = {.path = "/bin/sh", .argv = argv, .catch_err = true};
    char word[32];
    int rc;

    fill_in(&command, o->command, t, m);
    argv[2] = buf_str(&command);
    rc = buf_ok(&command, e) || process_run(&p, e) ? -1 : 0;
    if (!rc && p.status) {
        process_status(word, p.status);
        rc = err_set(e, ERR_IO, "--vs: %s: %.300s", word, last_line(&p.err));
    }
    if (!rc) {
        *value = by_wall(t, p.wall);
        *cpu = p.cpu;
        *rss = p.rss;
    }
    if (!rc && o->by_regex)
        rc = find_number(value, o, buf_str(&p.out), e);
    buf_free(&command);
    buf_free(&p.out);
    buf_free(&p.err);
    return rc;
}
