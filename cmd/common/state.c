/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "cmd/common/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/common/model.h"

static const char *cache_dir;
static int cache_size = 1024;

const struct cli_opt state_cache_opts[] = {
    {0, "cache", CLI_STR, &cache_dir, "folder",
     "keep what is read there, and begin with what is there"},
    {0, "cache-size", CLI_INT, &cache_size, "megabytes",
     "what that folder may take; default: 1024"},
    {0},
};

struct kv_disk *state_cache(const struct cli *c, const struct load *l)
{
    struct kv_disk *d = NULL;
    struct err e = {0};

    if (cache_size < 0)
        usage_error(c, "--cache-size must be at least 0");
    if (cache_dir &&
        kv_disk_open(&d, l->kv, cache_dir, (uint64_t)cache_size * 1000000, &e))
        die(&e);
    return d;
}

int state_cache_save(struct kv_disk *d, const struct kv_seq *s, struct err *e)
{
    static bool told;
    struct err mine = {0};

    if (!kv_disk_save(d, s, &mine))
        return 0;
    if (mine.code == ERR_NOMEM) {
        *e = mine;
        return -1;
    }
    if (!told)
        warn("%s; what is read is not kept", mine.msg);
    told = true;
    return 0;
}

static int read_records(struct kv_seq **out, const struct load *l,
                        struct wire_in *in, struct err *e)
{
    struct kv_load *k = kv_load_new(l->kv, e);
    struct wire_rec r;
    bool any = false;
    uint64_t seq = 0;
    int got = -1, whole = 0;

    while (k && !whole && (got = wire_next(in, &r, e)) > 0) {
        if (r.kind != WIRE_KV || (any && r.seq != seq))
            continue;
        any = true;
        seq = r.seq;
        whole = kv_load_add(k, &r, e);
        if (whole < 0) {
            err_prefix(e, "record %llu", (unsigned long long)r.number);
            got = -1;
            break;
        }
    }
    if (whole > 0)
        *out = kv_load_take(k);
    else if (!got)
        got =
            err_set(e, ERR_FORMAT,
                    any ? "the state is not whole" : "there is no state in it");
    kv_load_free(k);
    return whole > 0 ? 0 : got < 0 ? -1 : 0;
}

int state_read(struct kv_seq **out, const struct load *l, const char *path,
               bool may_lack, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
    struct wire_in *in;

    *out = NULL;
    if (fd < 0 && errno == ENOENT && may_lack)
        return 0;
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    rc = wire_in_open(&in, fd, path, e);
    if (!rc) {
        rc = read_records(out, l, in, e);
        wire_in_close(in);
    }
    close(fd);
    return rc ? err_prefix(e, "%s", path) : 0;
}

static int write_to(int fd, const char *path, const char *by,
                    const struct load *l, const struct kv_seq *s,
                    unsigned flags, struct err *e)
{
    struct wire_out *w;
    int rc;

    if (wire_out_open(&w, fd, WIRE_CBOR, e))
        return -1;
    wire_out_name(w, path);
    rc = load_header_try(w, by, l, e);
    if (!rc)
        rc = kv_save(w, 0, s, flags, e);
    return wire_out_close(w, e) ? -1 : rc;
}

/* Beside the file NAME, in place of which it comes when it is whole. */
static int replace(const char *name, mode_t mode, const char *by,
                   const struct load *l, const struct kv_seq *s, unsigned flags,
                   struct err *e)
{
    size_t n = strlen(name) + 8;
    char *tmp = malloc(n);
    int fd, rc;

    if (!tmp)
        return err_nomem(e);
    snprintf(tmp, n, "%s.XXXXXX", name);
    fd = mkstemp(tmp);
    if (fd < 0) {
        free(tmp);
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    }
    fchmod(fd, mode);
    rc = write_to(fd, name, by, l, s, flags, e);
    if (!rc && fsync(fd))
        rc = err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    if (close(fd) && !rc)
        rc = err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    if (!rc && rename(tmp, name))
        rc = err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    if (rc)
        unlink(tmp);
    free(tmp);
    return rc;
}

/* What is no file, a pipe or a device, is written as it is. */
int state_write(const char *path, const char *by, const struct load *l,
                const struct kv_seq *s, unsigned flags, struct err *e)
{
    mode_t mask = umask(0);
    struct stat st;
    char *real;
    int rc, fd;

    umask(mask);
    if (stat(path, &st))
        return replace(path, 0666 & ~mask, by, l, s, flags, e);
    if (S_ISREG(st.st_mode)) {
        real = realpath(path, NULL);
        rc =
            replace(real ? real : path, st.st_mode & 07777, by, l, s, flags, e);
        free(real);
        return rc;
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    rc = write_to(fd, path, by, l, s, flags, e);
    if (close(fd) && !rc)
        rc = err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    return rc;
}
