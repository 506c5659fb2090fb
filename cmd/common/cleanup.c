/* SPDX-License-Identifier: MIT */
#include "cmd/common/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/cli.h"

static const int stop[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
enum { NSTOP = sizeof stop / sizeof *stop };

/* Changed with the signals blocked only. */
static char **list;
static size_t count, room;

static void on_signal(int sig)
{
    /* The latest first: folders come before what is in them. */
    for (size_t i = count; i-- > 0;)
        if (unlink(list[i]))
            rmdir(list[i]);
    _exit(128 + sig);
}

void cleanup_block(sigset_t *old)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < NSTOP; i++)
        sigaddset(&set, stop[i]);
    sigprocmask(SIG_BLOCK, &set, old);
}

void cleanup_unblock(const sigset_t *old)
{
    sigprocmask(SIG_SETMASK, old, NULL);
}

/* A program that was told to ignore one of them goes on ignoring it. */
static void catch_signals(void)
{
    static bool done;
    struct sigaction on = {.sa_handler = on_signal}, was;

    for (int i = 0; !done && i < NSTOP; i++)
        if (!sigaction(stop[i], NULL, &was) && was.sa_handler != SIG_IGN)
            sigaction(stop[i], &on, NULL);
    done = true;
}

/* With the signals blocked. */
static void add(const char *name)
{
    char *copy = strdup(name);

    if (copy && count == room) {
        size_t more = room ? 2 * room : 16;
        char **to = realloc(list, more * sizeof *to);

        if (to) {
            list = to;
            room = more;
        }
    }
    if (!copy || count == room)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    list[count++] = copy;
    catch_signals();
}

static void forget(const char *name)
{
    for (size_t i = count; i-- > 0;)
        if (!strcmp(list[i], name)) {
            free(list[i]);
            count--;
            memmove(list + i, list + i + 1, (count - i) * sizeof *list);
            return;
        }
}

void cleanup_add(const char *name)
{
    sigset_t old;

    cleanup_block(&old);
    add(name);
    cleanup_unblock(&old);
}

void cleanup_forget(const char *name)
{
    sigset_t old;

    cleanup_block(&old);
    forget(name);
    cleanup_unblock(&old);
}

int cleanup_open(struct gguf_file **f, const char *path, struct err *e)
{
    sigset_t old;
    int rc;

    cleanup_block(&old);
    rc = gguf_file_open(f, path, e);
    if (!rc)
        add(gguf_file_temporary(*f));
    cleanup_unblock(&old);
    return rc;
}

int cleanup_close(struct gguf_file *f, struct err *e)
{
    char *temp = strdup(gguf_file_temporary(f));
    sigset_t old;
    int rc;

    if (!temp)
        return err_nomem(e);
    /* What takes long may be interrupted, the naming not. */
    rc = gguf_file_sync(f, e);
    cleanup_block(&old);
    if (!rc)
        rc = gguf_file_close(f, e);
    if (!rc)
        forget(temp);
    cleanup_unblock(&old);
    free(temp);
    return rc;
}

void cleanup_abandon(struct gguf_file *f)
{
    sigset_t old;

    if (!f)
        return;
    cleanup_block(&old);
    forget(gguf_file_temporary(f));
    gguf_file_abandon(f);
    cleanup_unblock(&old);
}
