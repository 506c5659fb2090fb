/* SPDX-License-Identifier: MIT
 *
 * Edits in place, killed before and amid every system call that writes: the
 * file is the old one, the new one, or one that nobody takes for a GGUF and
 * that can be made the old one. */
#define _GNU_SOURCE /* syscall */
#include "gguf/patch.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3 * 8192 };

/* ---- system calls that end the process at the one whose turn it is ---- */

static int turn = -1, calls;
static bool half; /* of what is to be written is, before */

static void count(void)
{
    if (calls++ == turn)
        _exit(9);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (calls == turn && half)
        syscall(SYS_pwrite64, fd, p, n / 2, at);
    count();
    return syscall(SYS_pwrite64, fd, p, n, at);
}

int fsync(int fd)
{
    count();
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    count();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    count();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* ---- */

static char dir[] = "/tmp/patch.XXXXXX", path[64], journal[80];
static unsigned char before[SIZE], after[SIZE], now[SIZE];

static void put(const char *name, const void *p, size_t n)
{
    FILE *f = fopen(name, "wb");

    if (!f || fwrite(p, 1, n, f) != n || fclose(f))
        exit(1);
}

static void get(void)
{
    FILE *f = fopen(path, "rb");

    if (!f || fread(now, 1, SIZE, f) != SIZE || fclose(f))
        exit(1);
}

static bool there(const char *name)
{
    struct stat st;

    return !lstat(name, &st);
}

/* A file, and bytes FROM to TO of it that are to change. */
static void make(size_t from, size_t to)
{
    for (size_t i = 0; i < SIZE; i++)
        before[i] = (unsigned char)(i * 7 + i / 256);
    memcpy(before, "GGUF", 4);
    memcpy(after, before, SIZE);
    for (size_t i = from; i < to; i++)
        after[i] = (unsigned char)~before[i];
    put(path, before, SIZE);
    syscall(SYS_unlinkat, AT_FDCWD, journal, 0);
}

/* In a child that is killed at call TURN: its status. */
static int patch_killed(int at, bool partly)
{
    pid_t pid = fork();
    int st;

    if (!pid) {
        calls = 0;
        turn = at;
        half = partly;
        _exit(gguf_patch(path, before, after, SIZE, NULL) ? 1 : 0);
    }
    return waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static bool is_old(void)
{
    return !memcmp(now, before, SIZE);
}

static bool is_new(void)
{
    return !memcmp(now, after, SIZE);
}

/* What is left after a kill: 0 when it is as the header says. */
static bool left_well(void)
{
    struct err e = {0};
    bool marked;
    int rc;

    get();
    marked = !memcmp(now, GGUF_PATCHING, 4);
    if (!marked && !is_old() && !is_new())
        return false;
    if (marked && !there(journal))
        return false;
    rc = gguf_patch_undo(path, &e);
    get();
    return rc == marked && !there(journal) &&
           (is_old() || (!marked && is_new()));
}

/* TORN: of a write there may be half. */
static void test_kills(const char *what, size_t from, size_t to, bool torn,
                       int least)
{
    int n = 0, bad = 0, st = 9;

    for (; st == 9 && n < 100; n++)
        for (int partly = 0; partly < 1 + torn; partly++) {
            make(from, to);
            st = patch_killed(n, partly);
            bad += !left_well();
        }
    get();
    ok(!bad && st == 0 && n > least && is_new(),
       "%s: killed at each of %d calls, it is well or can be made so", what,
       n - 1);
}

static void test_sector(void)
{
    make(1024, 1536);
    calls = 0;
    ok(!gguf_patch(path, before, after, SIZE, NULL) && calls == 2,
       "a sector is one write, and on disk");
    get();
    ok(is_new() && !there(journal), "the new bytes are there");
    make(9, 9);
    ok(!gguf_patch(path, before, after, SIZE, NULL), "nothing may change");
}

static void test_refused(void)
{
    struct err e = {0};
    int fd, rc;

    make(100, 9000);
    before[20] ^= 1;
    ok(gguf_patch(path, before, after, SIZE, &e) == -1 && e.code == ERR_IO,
       "a file that is another by now: %s", e.msg);
    before[20] ^= 1;
    get();
    ok(is_old() && !there(journal), "it is left alone");
    fd = open(path, O_RDONLY);
    rc = gguf_patch(path, before, after, SIZE, NULL);
    get();
    ok((rc == 1 && is_old()) || (rc == 0 && is_new()),
       "a file that is open: %s", rc ? "left alone" : "there are no leases");
    close(fd);
    e = (struct err){0};
    ok(gguf_patch(dir, before, after, SIZE, &e) == -1, "a folder: %s", e.msg);
}

/* A journal, as a kill leaves it, then changed. */
static void test_journals(void)
{
    unsigned char b[2 * SIZE];
    size_t n, taken = 0;
    FILE *f;
    struct err e = {0};

    make(100, 9000);
    /* Written, on disk, renamed, on disk; then comes the magic. */
    ok(patch_killed(4, false) == 9 && there(journal), "a journal is there");
    f = fopen(journal, "rb");
    n = f ? fread(b, 1, sizeof b, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i < n; i += 97) {
        b[i] ^= 4;
        put(journal, b, n);
        b[i] ^= 4;
        taken += gguf_patch_undo(path, NULL) != -1;
    }
    for (size_t i = 0; i < n; i += i < 64 ? 1 : 1001) {
        put(journal, b, i);
        taken += gguf_patch_undo(path, NULL) != -1;
    }
    get();
    ok(n > 17000 && !taken && is_old(), "damaged journals change nothing");
    put(journal, b, n);
    now[5000] ^= 1;
    put(path, now, SIZE);
    ok(gguf_patch_undo(path, &e) == -1 && strstr(e.msg, "of another file"),
       "a journal of another file: %s", e.msg);
    syscall(SYS_unlinkat, AT_FDCWD, journal, 0);
    ok(!symlink(path, journal) && gguf_patch_undo(path, NULL) == -1,
       "a link is no journal");
    syscall(SYS_unlinkat, AT_FDCWD, journal, 0);
    ok(gguf_patch_undo(path, NULL) == 0, "none: nothing to do");
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/m.gguf", dir);
    snprintf(journal, sizeof journal, "%s.gguf-set", path);
    test_sector();
    test_kills("one sector", 1100, 1200, false, 2);
    test_kills("two sectors", 1000, 1040, true, 8);
    test_kills("some pages", 8, 20000, true, 8);
    test_refused();
    test_journals();
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    syscall(SYS_unlinkat, AT_FDCWD, journal, 0);
    rmdir(dir);
    return tap_done();
}
