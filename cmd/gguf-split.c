/* SPDX-License-Identifier: MIT
 * gguf-split.c - a model as several files, and as one again. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/common/size.h"
#include "cmd/common/value.h"
#include "cmd/split/split.h"

static const char *format = "text", *output, *max_size;
static long long max_tensors = LLONG_MIN;
static int dry_run, force, merge, quiet;

static const struct cli_opt opts[] = {
    {'n', "dry-run", CLI_FLAG, &dry_run, NULL,
     "show the files, and write nothing"},
    {0, "force", CLI_FLAG, &force, NULL, "replace files that are there"},
    {'f', "format", CLI_STR, &format, "text|json", "how --dry-run prints"},
    {0, "max-size", CLI_STR, &max_size, "size",
     "no file is larger, unless one tensor is"},
    {0, "max-tensors", CLI_LONG, &max_tensors, "count",
     "no file has more tensors"},
    {0, "merge", CLI_FLAG, &merge, NULL, "make one file of a split model"},
    {'o', "output", CLI_STR, &output, "prefix",
     "how the files' names begin; with --merge the file"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no notes and no progress"},
    {0},
};
static const struct cli cli = {"gguf-split", "model",
                               "split a model into files, or merge them", opts};

static void show_json(const struct parts *p)
{
    fputs("{\"file\":", stdout);
    put_cstring(gguf_path(p->g));
    printf(",\"bytes\":%llu,\"files\":[", (unsigned long long)p->bytes);
    for (size_t i = 0; i < p->n; i++) {
        fputs(i ? ",{\"path\":" : "{\"path\":", stdout);
        put_cstring(p->v[i].path);
        printf(",\"tensors\":%zu,\"bytes\":%llu}", p->v[i].n,
               (unsigned long long)p->v[i].bytes);
    }
    puts("]}");
}

static void show_text(const struct parts *p)
{
    char size[32];

    for (size_t i = 0; i < p->n; i++) {
        const char *path = p->v[i].path;

        put_text((struct gguf_str){path, strlen(path)}, true);
        printf("  %zu tensor%s  %s\n", p->v[i].n, p->v[i].n == 1 ? "" : "s",
               size_text(size, p->v[i].bytes));
    }
}

static int plan(struct parts *p, const struct gguf *g, struct err *e)
{
    uint64_t bytes = UINT64_MAX;

    if (merge)
        return parts_merge(p, g, output, e);
    if (max_size && (!size_parse(&bytes, max_size) || !bytes))
        usage_error(&cli, "--max-size: '%s' is no size", max_size);
    return parts_split(p, g, output, bytes,
                       max_tensors > 0 ? (uint64_t)max_tensors : UINT64_MAX, e);
}

static void note(const struct parts *p)
{
    char size[32];

    if (quiet)
        return;
    if (merge)
        warn("%s: %s", output, size_text(size, p->bytes));
    else
        warn("%s: %zu file%s, %s", p->v[0].path, p->n, p->n == 1 ? "" : "s",
             size_text(size, p->bytes));
}

static void options(int argc, char **argv, int i)
{
    if (i == argc)
        usage_error(&cli, "no model is named");
    if (argc - i > 1)
        usage_error(&cli, "one model, not '%s', too", argv[i + 1]);
    if (!output)
        usage_error(&cli, "no --output is named");
    if (merge && (max_size || max_tensors != LLONG_MIN))
        usage_error(&cli, "--merge makes one file, whatever its size");
    if (!merge && !max_size && max_tensors == LLONG_MIN)
        usage_error(&cli, "--max-size or --max-tensors is needed, or --merge");
    if (max_tensors != LLONG_MIN && max_tensors < 1)
        usage_error(&cli, "--max-tensors: %lld is not 1 or more", max_tensors);
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    int i = cli_parse(&cli, argc, argv), rc;
    struct err e = {0};
    struct parts p;
    struct gguf *g;
    bool json;

    options(argc, argv, i);
    json = cli_choice(&cli, "format", format, formats) == 1;
    progress_init(quiet);
    g = model_operand(argv[i]);
    if (merge && gguf_nshard(g) == 1 && !gguf_key(g, "split.count"))
        usage_error(&cli, "%s is not split", argv[i]);
    rc = plan(&p, g, &e);
    if (!rc && dry_run)
        (json ? show_json : show_text)(&p);
    else if (!rc)
        rc = parts_write(&p, force, &e);
    if (rc)
        warn("%s", e.msg);
    else if (!dry_run)
        note(&p);
    parts_fini(&p);
    gguf_close(g);
    return cli_finish(rc ? status(&e) : 0);
}
