/* SPDX-License-Identifier: MIT
 * child.c - a process that ends with this one. */
#define _DEFAULT_SOURCE /* SOCK_CLOEXEC */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/spec/spec.h"

static void be_child(const char *command, int in, int out, pid_t parent)
{
    setpgid(0, 0); /* Ctrl-C is for us: its end comes with ours */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(in, 0) == 0 && dup2(out, 1) == 1)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

int child_start(struct draft_process_opts *o, const char *command,
                struct err *e)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    pid_t parent = getpid();

    /* Not pipes: see process.c. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) ||
        (o->pid = fork()) < 0) {
        err_set(e, ERR_IO, "%s: %s", command, strerror(errno));
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
        }
        return -1;
    }
    if (!o->pid)
        be_child(command, in[1], out[1], parent);
    setpgid(o->pid, o->pid);
    close(in[1]);
    close(out[1]);
    o->in = in[0];
    o->out = out[0];
    return 0;
}
