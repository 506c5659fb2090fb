/* SPDX-License-Identifier: MIT
 * process.c - another process, from its start to its end. */
#define _DEFAULT_SOURCE /* wait4 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/bench/bench.h"

enum { KEEP = 1 << 20, CHUNK = 1 << 14 };

void process_status(char word[32], int status)
{
    if (WIFSIGNALED(status))
        snprintf(word, 32, "signal %d", WTERMSIG(status));
    else
        snprintf(word, 32, "exit %d", WEXITSTATUS(status));
}

/* In a group of its own: what is typed at the terminal is for us. */
static void be_child(const struct process *p, const int in[2], const int out[2],
                     const int err[2])
{
    int null = in[0] < 0 ? open("/dev/null", O_RDONLY) : in[0];

    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    if (dup2(null, 0) == 0 && dup2(out[1], 1) == 1 &&
        (!p->catch_err || dup2(err[1], 2) == 2)) {
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
            close(err[i]);
        }
        execv(p->path, (char *const *)(uintptr_t)p->argv);
    }
    _exit(127);
}

/* The last KEEP bytes are enough. */
static void keep(struct buf *b, const char *p, size_t n)
{
    if (b->n > KEEP) {
        memmove(b->p, b->p + b->n - KEEP / 2, KEEP / 2);
        b->n = KEEP / 2;
    }
    buf_put(b, p, n);
}

static bool has(struct buf *b, const char *word)
{
    return strstr(buf_str(b), word) != NULL;
}

/* Read what it says until it has closed both. */
static int listen_to(struct process *p, pid_t pid, int out, int err,
                     double from, struct err *e)
{
    struct pollfd fd[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    struct buf *to[2] = {&p->out, &p->err};
    bool told = false;

    while (fd[0].fd >= 0 || fd[1].fd >= 0) {
        char chunk[CHUNK];

        if (bench_interrupted && !told) {
            told = true;
            kill(-pid, SIGTERM);
        }
        if (poll(fd, 2, 500) < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            ssize_t n;

            if (fd[i].fd < 0 || !fd[i].revents)
                continue;
            n = read(fd[i].fd, chunk, sizeof chunk);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                fd[i].fd = -1;
            else
                keep(to[i], chunk, (size_t)n);
            if (!i && p->until && p->first < 0 && has(&p->out, p->until))
                p->first = machine_now() - from;
        }
    }
    return 0;
}

static void close_all(int fd[2])
{
    for (int i = 0; i < 2; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
        fd[i] = -1;
    }
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* It is small: a pipe holds all of it. */
static void give(int *fd, const char *input)
{
    if (*fd < 0)
        return;
    if (write(*fd, input, strlen(input)) < 0)
        input = NULL; /* it has ended, which its status says */
    close_one(fd);
}

static int wait_for(struct process *p, pid_t pid, double from, struct err *e)
{
    struct rusage u;

    while (wait4(pid, &p->status, 0, &u) < 0)
        if (errno != EINTR)
            return err_set(e, ERR_IO, "wait: %s", strerror(errno));
    p->wall = machine_now() - from;
    p->cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
             1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    p->rss = (uint64_t)u.ru_maxrss * 1024;
    return 0;
}

int process_run(struct process *p, struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, rc;
    double from = machine_now();
    pid_t pid = -1;

    p->first = -1;
    p->out.n = p->err.n = 0;
    /* Whoever does not read what it gets is no reason to die. */
    signal(SIGPIPE, SIG_IGN);
    if ((p->input && pipe(in)) || pipe(out) || (p->catch_err && pipe(err)) ||
        (pid = fork()) < 0)
        err_set(e, ERR_IO, "%s: %s", p->path, strerror(errno));
    if (!pid)
        be_child(p, in, out, err);
    close_one(&in[0]);
    close_one(&out[1]);
    close_one(&err[1]);
    rc = pid < 0 ? -1 : 0;
    if (!rc) {
        setpgid(pid, pid);
        give(&in[1], p->input);
        rc = listen_to(p, pid, out[0], err[0], from, e);
        if (rc)
            kill(-pid, SIGKILL);
        rc = wait_for(p, pid, from, e) || rc ? -1 : 0;
    }
    close_all(in);
    close_all(out);
    close_all(err);
    signal(SIGPIPE, SIG_DFL);
    if (!rc && (p->out.bad || p->err.bad))
        rc = err_nomem(e);
    return rc || bench_interrupted ? -1 : 0;
}
