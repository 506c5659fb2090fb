/* SPDX-License-Identifier: MIT
 * cpu_share.c - packed weights in a file that processes share.
 *
 * The file's name is "llm-MODEL-STATE-LAYOUT.pack": hashes of the model file's
 * real path; of its id, size, time, inode and this format's version; and of how
 * the weights are laid out.  A file of the same MODEL and another STATE is
 * stale, and goes when a new one is made.
 *
 *   0     magic, version, finished, size of the file, STATE and LAYOUT
 *   40    XXH3-64 of the 40 bytes before
 *   4096  panels
 *
 * It is made beside its name, whole, and then renamed.  Two processes that make
 * it at once do so for nothing but time: the later name wins, and both go on
 * with what they made.  Its maker holds a lock on it, so that the next one can
 * tell what a killed one left behind.  Whatever is wrong with a file or its
 * folder means no file: the caller packs in private memory. */
#define _DEFAULT_SOURCE /* madvise, realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "backend/cpu_impl.h"
#include "base/buf.h"
#include "base/num.h"

enum { VERSION = 1, HEAD = 48, DATA = 4096, PREFIX = 21, STALE = 38 };
static const char magic[8] = "llmpack";

struct share {
    struct cpu *b;
    int dir;
    char name[64]; /* "llm-MODEL-STATE-LAYOUT.pack" */
    uint64_t state, layout;
    uint64_t size; /* of the file */
    /* Packing it: */
    struct cpu_weight **w;
    size_t nw;
    const size_t *offset;
    char *to;
};

static void add_u64(struct buf *b, uint64_t v)
{
    char s[8];

    wr_u64(s, v);
    buf_put(b, s, sizeof s);
}

/* What the model file is now.  False: it is not there. */
static bool identify(struct share *s, uint64_t *model)
{
    struct stat st;
    struct buf b = {0};
    char *real = realpath(s->b->model_path, NULL);
    bool good = real && !stat(real, &st);

    if (good) {
        *model = XXH3_64bits(real, strlen(real));
        buf_puts(&b, s->b->model_id);
        add_u64(&b, VERSION);
        add_u64(&b, (uint64_t)st.st_size);
        add_u64(&b, (uint64_t)st.st_mtim.tv_sec);
        add_u64(&b, (uint64_t)st.st_mtim.tv_nsec);
        add_u64(&b, (uint64_t)st.st_dev);
        add_u64(&b, (uint64_t)st.st_ino);
        good = !buf_ok(&b, NULL);
        s->state = XXH3_64bits(b.p, b.n);
    }
    free(real);
    buf_free(&b);
    return good;
}

/* Everything that decides what stands where. */
static bool describe(struct share *s)
{
    struct buf b = {0};
    bool good;

    add_u64(&b, s->b->kern.flags);
    for (size_t i = 0; i < s->nw; i++) {
        const struct cpu_weight *w = s->w[i];

        buf_printf(&b, "%s %s %s;", w->name, w->q->name, w->q->layout);
        add_u64(&b, (uint64_t)w->n_in);
        add_u64(&b, (uint64_t)w->n_out);
        add_u64(&b, (uint64_t)w->n_mat);
        add_u64(&b, w->panel);
        add_u64(&b, w->stride);
        add_u64(&b, s->offset[i]);
    }
    good = !buf_ok(&b, NULL);
    s->layout = XXH3_64bits(b.p, b.n);
    buf_free(&b);
    return good;
}

static void head_of(const struct share *s, unsigned char h[HEAD], bool done)
{
    memcpy(h, magic, 8);
    wr_u32(h + 8, VERSION);
    wr_u32(h + 12, done);
    wr_u64(h + 16, s->size);
    wr_u64(h + 24, s->state);
    wr_u64(h + 32, s->layout);
    wr_u64(h + 40, XXH3_64bits(h, 40));
}

/* The folder must be nobody else's to write in: what is in these files is
 * believed. */
static int open_dir(const char *path)
{
    struct stat st;
    int fd;

    if (mkdir(path, 0700) && errno != EEXIST)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() ||
                    st.st_mode & (S_IWGRP | S_IWOTH))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Are the first panels of all weights at P what pack() makes now?  A version
 * that somebody forgot to raise must not become wrong results. */
static bool current(const struct share *s, const char *p)
{
    size_t most = 1;
    char *panel;
    bool good;

    for (size_t i = 0; i < s->nw; i++)
        most = s->w[i]->panel > most ? s->w[i]->panel : most;
    panel = malloc(most);
    good = panel;
    for (size_t i = 0; i < s->nw && good; i++) {
        cpu_weight_pack(s->w[i], 0, 0, panel);
        good = !memcmp(panel, p + s->offset[i], s->w[i]->panel);
    }
    free(panel);
    return good;
}

/* Map FD, which is a finished file of ours, or else is not taken. */
static bool map_file(const struct share *s, int fd, struct cpu_region *r)
{
    struct stat st;
    unsigned char want[HEAD], have[HEAD];
    void *p;

    head_of(s, want, true);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_mode & 0077 || (uint64_t)st.st_size != s->size ||
        pread(fd, have, HEAD, 0) != HEAD || memcmp(want, have, HEAD) != 0)
        return false;
    p = mmap(NULL, (size_t)s->size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return false;
#ifdef MADV_HUGEPAGE
    madvise(p, (size_t)s->size, MADV_HUGEPAGE);
#endif
    if (!current(s, (const char *)p + DATA)) {
        munmap(p, (size_t)s->size);
        return false;
    }
    r->map = p;
    r->map_n = (size_t)s->size;
    r->p = r->map + DATA;
    return true;
}

/* ---- making it ---- */

/* Every thread packs its share of every matrix. */
static void pack_all(void *arg, int id)
{
    struct share *s = arg;

    for (size_t i = 0; i < s->nw; i++) {
        struct cpu_weight *w = s->w[i];
        int64_t p0 = cpu_part(w->npanel, id, s->b->n),
                p1 = cpu_part(w->npanel, id + 1, s->b->n);

        for (int64_t m = 0; m < w->n_mat && p0 < p1; m++) {
            int64_t behind = p0;

            for (int64_t p = p0; p < p1; p++) {
                cpu_weight_pack(w, m, p,
                                s->to + s->offset[i] +
                                    (size_t)(m * w->npanel + p) * w->stride);
                behind = cpu_weight_forget(w, m, behind, p + 1, p + 1 == p1);
            }
        }
    }
}

/* Fill the empty file FD. */
static bool fill(struct share *s, int fd)
{
    unsigned char h[HEAD];
    char *p;

    /* A full disk must say so now, not as a signal while packing. */
    if (posix_fallocate(fd, 0, (off_t)s->size))
        return false;
    p = mmap(NULL, (size_t)s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return false;
    s->to = p + DATA;
    team_run(s->b->team, s->b->n, pack_all, s);
    munmap(p, (size_t)s->size);
    head_of(s, h, true);
    /* What the head promises must be on the disk before it is. */
    return !fdatasync(fd) && pwrite(fd, h, HEAD, 0) == HEAD;
}

/* Did the maker of file NAME end without giving it its name?  A file system
 * without locks cannot say: then after an hour. */
static bool abandoned(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool yes;

    if (fd < 0)
        return false;
    yes = !flock(fd, LOCK_SH | LOCK_NB) ||
          (errno != EWOULDBLOCK && !fstat(fd, &st) &&
           st.st_mtime <= time(NULL) - 3600);
    close(fd);
    return yes;
}

/* Files of the same model path whose state is another, and what makers left
 * behind. */
static void sweep(const struct share *s)
{
    int fd = dup(s->dir);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *f;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((f = readdir(d))) {
        bool left = strstr(f->d_name, ".new-");

        if (strncmp(f->d_name, s->name, PREFIX) ||
            (!left && !strncmp(f->d_name, s->name, STALE)))
            continue;
        if (left && !abandoned(s->dir, f->d_name))
            continue;
        unlinkat(s->dir, f->d_name, 0);
    }
    closedir(d);
}

static bool make(struct share *s, struct cpu_region *r)
{
    char temp[96];
    int fd;
    bool good;

    snprintf(temp, sizeof temp, "%s.new-%ld", s->name, (long)getpid());
    unlinkat(s->dir, temp, 0);
    fd = openat(s->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    flock(fd, LOCK_EX | LOCK_NB); /* until it is closed: see sweep() */
    good = fill(s, fd) && map_file(s, fd, r) &&
           !renameat(s->dir, temp, s->dir, s->name);
    if (!good)
        unlinkat(s->dir, temp, 0);
    if (!good && r->map) {
        munmap(r->map, r->map_n);
        r->map = r->p = NULL;
    }
    close(fd);
    if (good)
        sweep(s);
    return good;
}

bool cpu_share_open(struct cpu *b, struct cpu_region *r, struct cpu_weight **w,
                    size_t nw, const size_t *offset, size_t n)
{
    struct share s = {.b = b, .w = w, .nw = nw, .offset = offset};
    uint64_t model;
    bool good = false;
    int fd;

    /* The file is as long as the address space and off_t can say. */
    if (n > (size_t)INT64_MAX / 2 || !identify(&s, &model) || !describe(&s))
        return false;
    s.size = (uint64_t)n + DATA;
    snprintf(s.name, sizeof s.name, "llm-%016llx-%016llx-%016llx.pack",
             (unsigned long long)model, (unsigned long long)s.state,
             (unsigned long long)s.layout);
    s.dir = open_dir(b->share_dir);
    if (s.dir < 0)
        return false;
    fd = openat(s.dir, s.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        good = map_file(&s, fd, r);
        close(fd);
    }
    if (!good)
        good = make(&s, r);
    close(s.dir);
    return good;
}
