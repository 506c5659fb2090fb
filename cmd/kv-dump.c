/* SPDX-License-Identifier: MIT
 * kv-dump.c - KV states without their model: shown, checked, changed,
 * compared. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/dump/dump.h"

static const char *format, *types, *values, *diff;
static int check, quiet, zstd, no_zstd;
static long long cut = LLONG_MIN, seq = LLONG_MIN;

static const struct cli_opt opts[] = {
    {0, "check", CLI_FLAG, &check, NULL, "verify every sum, say nothing else"},
    {0, "convert", CLI_STR, &types, "k[,v]",
     "write states with these types of K and V"},
    {0, "cut", CLI_LONG, &cut, "count", "write states of the first tokens"},
    {0, "diff", CLI_STR, &diff, "file", "compare with the state there"},
    {'f', "format", CLI_STR, &format, "text|json|cbor",
     "show states, or write them"},
    {0, "no-zstd", CLI_FLAG, &no_zstd, NULL, "write states not compressed"},
    {0, "", CLI_GROUP, io_file_opts, NULL, NULL},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "the summary only"},
    {0, "seq", CLI_LONG, &seq, "number", "only this sequence of the stream"},
    {0, "values", CLI_STR, &values, "layer[:head[:position]]",
     "print elements; each is a number, a range 3-5, or *"},
    {0, "zstd", CLI_FLAG, &zstd, NULL, "write states compressed"},
    {0},
};

static const struct cli cli = {
    .prog = "kv-dump",
    .operands = "[file ...]",
    .what = "show, check, change and compare KV states",
    .opt = opts,
};

static int type_word(const char *s, size_t n)
{
    int t = kv_type_find(s, n);

    if (t < 0)
        usage_error(&cli,
                    "--convert: '%.*s' is none of f32, f16, bf16, q8_0, q4_0",
                    n < 64 ? (int)n : 64, s);
    return t;
}

/* A number of *S, which is left behind it; -1 for none. */
static int number(const char **s)
{
    char *end;
    long v;

    if (**s < '0' || **s > '9')
        return -1;
    errno = 0;
    v = strtol(*s, &end, 10);
    *s = end;
    return errno || v > INT_MAX ? -1 : (int)v;
}

/* "3", "3-5" or "*" at *S, up to ':' or the end. */
static bool range(struct range *r, const char **s)
{
    r->low = 0;
    r->high = INT_MAX;
    if (**s == '*') {
        ++*s;
    } else {
        r->low = r->high = number(s);
        if (**s == '-') {
            ++*s;
            r->high = number(s);
        }
    }
    return r->low >= 0 && r->high >= r->low && (!**s || **s == ':');
}

static void set_values(struct job *j)
{
    struct range *r[] = {&j->layer, &j->head, &j->pos};
    const char *s = values;
    bool good = true;

    j->values = true;
    j->head = j->pos = (struct range){0, INT_MAX};
    for (int i = 0; good; i++) {
        good = i < 3 && range(r[i], &s);
        if (!*s)
            break;
        s++; /* a colon, when it was good */
    }
    if (!good)
        usage_error(&cli, "--values: '%s' is not layer[:head[:position]]",
                    values);
}

/* What the options say of how states are changed: is any? */
static bool set_change(struct job *j)
{
    size_t n = types ? strcspn(types, ",") : 0;

    j->cut = j->kt = j->vt = j->zstd = -1;
    if (cut != LLONG_MIN && (cut < 0 || cut > INT_MAX))
        usage_error(&cli, "--cut: %lld is not in 0..%d", cut, INT_MAX);
    if (cut >= 0)
        j->cut = (int)cut;
    if (types) {
        j->kt = j->vt = type_word(types, n);
        if (types[n])
            j->vt = type_word(types + n + 1, strlen(types + n + 1));
    }
    if (zstd && no_zstd)
        usage_error(&cli, "--zstd and --no-zstd exclude each other");
    if (zstd || no_zstd)
        j->zstd = zstd;
    return cut >= 0 || types || zstd || no_zstd;
}

static void set_job(struct job *j)
{
    static const char *const words[] = {"cbor", "json", "text", NULL};
    bool change = set_change(j);

    j->check = check;
    j->quiet = quiet;
    if (seq != LLONG_MIN && seq < 0)
        usage_error(&cli, "--seq: %lld is below 0", seq);
    j->one = seq >= 0;
    j->seq = seq >= 0 ? (uint64_t)seq : 0;
    if ((values != NULL) + check + (diff != NULL) + change > 1)
        usage_error(&cli, "--values, --check, --diff and what changes states "
                          "exclude each other");
    j->format =
        format ? (enum wire_format)cli_choice(&cli, "format", format, words)
               : WIRE_TEXT;
    if (j->format == WIRE_CBOR && (values || check || diff))
        usage_error(&cli, "--values, --check and --diff write no cbor");
    if (values)
        set_values(j);
    io_output();
    if (!format && change && !isatty(STDOUT_FILENO))
        j->format = WIRE_CBOR;
    if (j->format == WIRE_CBOR && isatty(STDOUT_FILENO))
        usage_error(&cli,
                    "%s is a terminal, and cbor is not for reading: use "
                    "-f text, -f json, -o or a pipe",
                    io_output_name());
}

/* A file of states is on the disk before it takes its name. */
static void sync_output(void)
{
    struct stat st;
    struct err e = {0};

    if (fstat(STDOUT_FILENO, &st) || !S_ISREG(st.st_mode) ||
        !fsync(STDOUT_FILENO))
        return;
    err_set(&e, ERR_IO, "%s: %s", io_output_name(), strerror(errno));
    die(&e);
}

int main(int argc, char **argv)
{
    struct job j = {0};
    struct pass p = {.job = &j};
    struct err e = {0};
    int i = cli_parse(&cli, argc, argv), st;

    set_job(&j);
    if (diff && argc - i > 1)
        usage_error(&cli, "--diff takes one operand, not %d", argc - i);
    if (diff)
        return cli_finish(diff_files(&j, i < argc ? argv[i] : "-", diff));
    if (j.format == WIRE_CBOR) {
        if (wire_out_open(&j.w, STDOUT_FILENO, WIRE_CBOR, &e))
            die(&e);
        wire_out_name(j.w, io_output_name());
    }
    st = io_each(argv + i, argc - i, pass_file, &p);
    if (!j.w)
        return cli_finish(st);
    if (wire_out_close(j.w, &e) && !st)
        die(&e);
    /* What is not whole takes no name. */
    if (st)
        exit(st);
    sync_output();
    return cli_finish(st);
}
