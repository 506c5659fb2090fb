/* SPDX-License-Identifier: MIT */
#include "cmd/common/cli.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#ifndef LLM_VERSION
#define LLM_VERSION "unreleased"
#endif

enum { NOPT = 96, LONG = 256 };

static const char *prog = "?";

/* Write S to stderr with control characters and bad UTF-8 as \xNN. */
static void escaped(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n = strlen(s), len;
    uint32_t cp;

    for (; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            for (size_t i = 0; i < len; i++)
                fprintf(stderr, "\\x%02x", p[i]);
        else
            fwrite(p, 1, len, stderr);
    }
}

__attribute__((format(printf, 1, 0))) static void vwarn(const char *fmt,
                                                        va_list ap)
{
    char line[2048];

    vsnprintf(line, sizeof line, fmt, ap);
    fflush(stdout);
    fprintf(stderr, "%s: ", prog);
    escaped(line);
    fputc('\n', stderr);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vwarn(fmt, ap);
    va_end(ap);
}

int status(const struct err *e)
{
    static const int by_code[] = {1, 2, 1, 3, 4, 5, 6};

    return by_code[e->code];
}

_Noreturn void die(const struct err *e)
{
    warn("%s", e->msg);
    exit(status(e));
}

_Noreturn void usage(const struct cli *c)
{
    fprintf(stderr, "usage: %s [options] %s\n", c->prog, c->operands);
    exit(2);
}

_Noreturn void usage_error(const struct cli *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vwarn(fmt, ap);
    va_end(ap);
    usage(c);
}

/* The table with its groups laid out flat, in order. */
static int flatten(const struct cli_opt **flat, int n, const struct cli_opt *o)
{
    for (; o->name; o++) {
        if (o->kind == CLI_GROUP) {
            n = flatten(flat, n, o->out);
            continue;
        }
        assert(n < NOPT);
        flat[n++] = o;
    }
    return n;
}

static void help(const struct cli *c, const struct cli_opt **o, int n)
{
    printf("usage: %s [options] %s\n%s - %s\n\n", c->prog, c->operands, c->prog,
           c->what);
    for (int i = 0; i < n; i++) {
        char left[64];

        snprintf(left, sizeof left, "--%s%s%s", o[i]->name,
                 o[i]->arg ? " " : "", o[i]->arg ? o[i]->arg : "");
        printf("  %c%c%c %-22s ", o[i]->letter ? '-' : ' ',
               o[i]->letter ? o[i]->letter : ' ', o[i]->letter ? ',' : ' ',
               left);
        if (strlen(left) > 22)
            printf("\n%29s", "");
        puts(o[i]->help);
    }
    printf("  -h, %-22s %s\n  -V, %-22s %s\n", "--help", "print this help",
           "--version", "print the version");
}

/* For completions and the man page check: letter, name, argument, help. */
static void dump(const struct cli_opt **o, int n)
{
    for (int i = 0; i < n; i++)
        printf("%c\t%s\t%s\t%s\n", o[i]->letter ? o[i]->letter : '-',
               o[i]->name, o[i]->arg ? o[i]->arg : "-", o[i]->help);
}

static void store(const struct cli *c, const struct cli_opt *o, const char *s)
{
    void *out = (void *)(uintptr_t)o->out;
    char *end = NULL;

    errno = 0;
    switch (o->kind) {
    case CLI_GROUP:
        return;
    case CLI_FLAG:
        *(int *)out = 1;
        return;
    case CLI_STR:
        *(const char **)out = s;
        return;
    case CLI_LIST: {
        struct cli_list *l = out;
        const char **v = realloc(l->v, ((size_t)l->n + 1) * sizeof *v);

        if (!v)
            die(&(struct err){ERR_NOMEM, "out of memory"});
        v[l->n++] = s;
        l->v = v;
        return;
    }
    case CLI_INT:
    case CLI_LONG: {
        long long v = strtoll(s, &end, 10);

        if (o->kind == CLI_LONG)
            *(long long *)out = v;
        else
            *(int *)out = (int)v;
        if (o->kind == CLI_INT && v != (int)v)
            errno = ERANGE;
        break;
    }
    case CLI_FLOAT: {
        float v = strtof(s, &end);

        *(float *)out = v;
        if (!isfinite(v))
            errno = ERANGE;
        break;
    }
    }
    if (errno || end == s || *end)
        usage_error(c, "--%s: '%s' is not a number in range", o->name, s);
}

int cli_parse(const struct cli *c, int argc, char **argv)
{
    const struct cli_opt *flat[NOPT];
    struct option lo[NOPT + 4];
    char so[2 * NOPT + 4] = ":hV", *p = so + 3;
    int n = flatten(flat, 0, c->opt), ch, i;

    prog = c->prog;
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* that a file is too large, its writer says */
#endif
    for (i = 0; i < n; i++) {
        lo[i] = (struct option){flat[i]->name,
                                flat[i]->arg ? required_argument : no_argument,
                                NULL, LONG + i};
        if (flat[i]->letter) {
            *p++ = flat[i]->letter;
            if (flat[i]->arg)
                *p++ = ':';
            *p = 0;
        }
    }
    lo[n] = (struct option){"help", no_argument, NULL, 'h'};
    lo[n + 1] = (struct option){"version", no_argument, NULL, 'V'};
    lo[n + 2] = (struct option){"dump-options", no_argument, NULL, LONG - 1};
    lo[n + 3] = (struct option){0};

    /* getopt's own messages would show a hostile word as it is. */
    opterr = 0;
    while ((ch = getopt_long(argc, argv, so, lo, NULL)) != -1) {
        switch (ch) {
        case 'h':
            help(c, flat, n);
            exit(cli_finish(0));
        case 'V':
            printf("%s (llmutils) %s\n", c->prog, LLM_VERSION);
            exit(cli_finish(0));
        case LONG - 1:
            dump(flat, n);
            exit(cli_finish(0));
        case ':':
            usage_error(c, "option '%s' wants an argument", argv[optind - 1]);
        case '?':
            if (optopt && optopt < LONG)
                usage_error(c, "unknown option '-%c'", optopt);
            usage_error(c,
                        "option '%s' is unknown, ambiguous, or takes no "
                        "argument",
                        argv[optind - 1]);
        }
        for (i = ch >= LONG ? ch - LONG : 0; ch < LONG; i++)
            if (flat[i]->letter == ch)
                break;
        store(c, flat[i], optarg);
    }
    return optind;
}

static int (*publish)(void);

void cli_at_finish(int (*fn)(void))
{
    publish = fn;
}

int cli_finish(int st)
{
    if (ferror(stdout) | fclose(stdout)) {
        warn("standard output: %s", strerror(errno ? errno : EIO));
        return st ? st : 1;
    }
    if (publish && publish())
        return st ? st : 1;
    return st;
}

int cli_choice(const struct cli *c, const char *option, const char *word,
               const char *const *words)
{
    char all[256] = "";
    size_t n = 0;

    for (int i = 0; words[i]; i++) {
        if (!strcmp(word, words[i]))
            return i;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "",
                              words[i]);
        assert(n < sizeof all);
    }
    usage_error(c, "--%s: '%s' is none of %s", option, word, all);
}
