/* SPDX-License-Identifier: MIT
 * gguf-set.c - a model's metadata, edited. */
#include <stdlib.h>
#include <string.h>

#include "cmd/common/progress.h"
#include "cmd/common/size.h"
#include "cmd/set/set.h"
#include "gguf/patch.h"

static struct wish wish;
static const char *format = "text", *output, *reserve;
static int dry_run, force, quiet;

static const struct cli_opt opts[] = {
    {0, "chat-template", CLI_STR, &wish.chat_template, "file",
     "the chat template is this file's text"},
    {0, "delete", CLI_LIST, &wish.deleted, "key", "take this key away"},
    {'n', "dry-run", CLI_FLAG, &dry_run, NULL,
     "show old and new values, and write nothing"},
    {0, "force", CLI_FLAG, &force, NULL,
     "set what the tensors or other keys must agree with"},
    {'f', "format", CLI_STR, &format, "text|json", "how --dry-run prints"},
    {0, "from", CLI_STR, &wish.from, "file",
     "keys and values of a JSON object; null takes away"},
    {'o', "output", CLI_STR, &output, "file",
     "write a new model there, and leave the old one"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no notes and no progress"},
    {0, "rename", CLI_LIST, &wish.renamed, "old=new", "rename a key"},
    {0, "reserve", CLI_STR, &reserve, "size",
     "leave so much room for keys to come"},
    {0, "type", CLI_STR, &wish.type, "type",
     "the type of new keys that say none"},
    {0},
};
static const struct cli cli = {"gguf-set", "file [key=value ...]",
                               "edit a model's metadata", opts};

static uint64_t reserved(void)
{
    uint64_t n = 0;

    if (reserve && (!size_parse(&n, reserve) || n < 1 || n > 1 << 30))
        usage_error(&cli, "--reserve: '%s' is no size up to 1G", reserve);
    return n;
}

/* The file, as it was before an edit of it was cut short, if one was. */
static struct gguf *open_model(const char *path)
{
    struct err e = {0};
    struct gguf *g;
    int undone = dry_run ? 0 : gguf_patch_undo(path, &e);

    if (undone < 0 || gguf_open(&g, path, &e))
        die(&e);
    if (undone && !quiet)
        warn("%s: an edit that was cut short is undone", path);
    return g;
}

static bool same(const struct gguf_val *a, const struct gguf_val *b)
{
    return a->type == b->type && a->elem == b->elem && a->n == b->n &&
           a->bytes == b->bytes && !memcmp(a->p, b->p, a->bytes) &&
           a->key.n == b->key.n && !memcmp(a->key.p, b->key.p, a->key.n);
}

/* Is everything as it was asked for already? */
static bool nothing(const struct edits *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].old || s->v[i].deleted || !same(s->v[i].old, &s->v[i].now))
            return false;
    return true;
}

static void note(const char *path, const struct edits *s,
                 const struct layout *p, bool in_place)
{
    if (quiet)
        return;
    warn("%s: %zu key%s changed, %s%s", output ? output : path, s->n,
         s->n == 1 ? "" : "s", in_place ? "in place" : "the file written anew",
         p->in_place && !in_place ? ": some program has it open" : "");
}

static int edit(struct gguf **g, const char *path, const struct edits *s,
                bool json, struct err *e)
{
    bool in_place = false, done = nothing(s) && !output && !reserve;
    struct layout p = {0};
    int rc = force ? 0 : guard_edits(*g, s, e);

    if (!rc)
        rc = layout_make(&p, *g, s, reserved(), output != NULL, force, e);
    if (!rc && dry_run)
        show_edits(*g, s, &p, json);
    else if (!rc && done && !quiet)
        warn("%s: nothing changes", path);
    else if (!rc && !done)
        rc = layout_apply(&in_place, &p, g, output, e);
    if (!rc && !dry_run && !done)
        note(path, s, &p, in_place);
    layout_fini(&p);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    int i = cli_parse(&cli, argc, argv), rc;
    struct err e = {0};
    struct edits s;
    struct gguf *g;
    char *first;
    bool json;

    if (i == argc)
        usage_error(&cli, "no file is named");
    json = cli_choice(&cli, "format", format, formats) == 1;
    if (output && dry_run)
        usage_error(&cli, "--output and --dry-run exclude each other");
    wish.set = argv + i + 1;
    wish.nset = argc - i - 1;
    reserved();
    progress_init(quiet);
    g = open_model(argv[i]);
    if (output && gguf_nshard(g) > 1)
        usage_error(&cli, "%s is split: it is edited in place, or merged first",
                    argv[i]);
    rc = edits_make(&s, g, &wish, &cli, &e);
    first = strdup(gguf_shard_at(g, 0)->path);
    if (!rc && !first)
        rc = err_nomem(&e);
    if (!rc)
        rc = edit(&g, first, &s, json, &e);
    free(first);
    if (rc)
        warn("%s", e.msg);
    edits_fini(&s);
    gguf_close(g);
    return cli_finish(rc ? status(&e) : 0);
}
