/* SPDX-License-Identifier: MIT
 *
 * A folder to a GGUF. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "cmd/common/cleanup.h"
#include "cmd/common/cli.h"
#include "cmd/common/progress.h"
#include "cmd/convert/convert.h"

static void progress(void *arg, uint64_t done, uint64_t all)
{
    (void)arg;
    progress_part(all ? (double)done / (double)all : 1);
}

struct pool *convert_pool(int threads)
{
    struct err e = {0};
    struct pool *p;
    sigset_t old;

    cleanup_block(&old);
    p = pool_new(threads, &e);
    cleanup_unblock(&old);
    if (!p)
        die(&e);
    return p;
}

/* A file that is read may not be what is written: -1. */
static int other_file(const struct convert *c, const char *output,
                      struct err *e)
{
    const char *last = "";
    struct stat out, in;

    if (stat(output, &out))
        return 0;
    for (size_t i = 0; i < convert_n(c); i++)
        for (size_t k = 0; k < convert_at(c, i)->npiece; k++) {
            const char *path = convert_at(c, i)->piece[k].from->path;

            if (!strcmp(path, last) || stat(last = path, &in))
                continue;
            if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
                return err_set(e, ERR_USAGE, "%s: input file is output file",
                               output);
        }
    return 0;
}

static int write_model(const struct convert *c, const struct job *j,
                       struct err *e)
{
    struct convert_run r = {.pool = convert_pool(j->threads),
                            .cpu = cpu_flags(),
                            .progress = progress};
    struct gguf_file *f;
    int rc;

    progress_init(j->quiet);
    rc = cleanup_open(&f, j->output, e);
    if (!rc && (gguf_file_head(f, convert_head(c), e) ||
                convert_write(c, f, &r, e) || cleanup_close(f, e))) {
        cleanup_abandon(f);
        rc = -1;
    }
    progress_clear();
    pool_free(r.pool);
    return rc;
}

/* A line of standard error for each that the library says. */
static void notes(const struct convert *c, const struct job *j)
{
    const char *p = convert_notes(c);

    for (size_t n; *p && !j->quiet; p += n + 1) {
        n = strcspn(p, "\n");
        warn("%s: %.*s", j->input, (int)n, p);
    }
}

int convert_to_gguf(const struct job *j)
{
    struct convert *c;
    struct err e = {0};

    if (convert_open(&c, j->input, &j->want, &e))
        die(&e);
    notes(c, j);
    if (j->dry_run)
        convert_show(c, j);
    else if (other_file(c, j->output, &e) || write_model(c, j, &e))
        warn("%s", e.msg);
    convert_close(c);
    return cli_finish(e.code ? status(&e) : 0);
}
