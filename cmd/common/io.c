/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "cmd/common/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *form, *file;

const struct cli_opt io_stream_opts[] = {
    {'f', "format", CLI_STR, &form, "text|json|cbor",
     "write this form; default: text on a terminal, else cbor"},
    {'o', "output", CLI_STR, &file, "file",
     "write there, not to standard output"},
    {0},
};
const struct cli_opt io_file_opts[] = {
    {'o', "output", CLI_STR, &file, "file",
     "write there, not to standard output"},
    {0},
};

const char *io_output_name(void)
{
    return file ? file : "standard output";
}

/* What -o names is written beside it and takes its name when it is whole: a run
 * that dies leaves the old file, and an input may be its own output. */
static char *final_name, *volatile temporary;

static void remove_temporary(void)
{
    if (temporary)
        unlink(temporary);
}

/* A signal that ends the program takes it away, too; not in a process that was
 * forked and is no other program yet. */
static pid_t owner;

static void on_signal(int sig)
{
    if (temporary && getpid() == owner)
        unlink(temporary);
    raise(sig); /* which is as ever again, and comes when this returns */
}

static void catch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction on = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND},
                     was;

    owner = getpid();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &was) && was.sa_handler == SIG_DFL)
            sigaction(ends[i], &on, NULL);
}

static int publish(void)
{
    char *was = temporary;

    if (rename(temporary, final_name)) {
        warn("%s: %s", file, strerror(errno));
        return -1;
    }
    temporary = NULL;
    free(was);
    return 0;
}

/* A new file beside the one that FILE is or will be; -1 with errno. */
static int open_temporary(mode_t mode)
{
    mode_t mask = umask(0);
    size_t n;
    int fd;

    umask(mask);
    final_name = realpath(file, NULL);
    if (!final_name)
        final_name = strdup(file);
    n = final_name ? strlen(final_name) + 8 : 0;
    temporary = final_name ? malloc(n) : NULL;
    if (!temporary)
        return -1;
    snprintf(temporary, n, "%s.XXXXXX", final_name);
    fd = mkstemp(temporary);
    if (fd < 0) {
        int why = errno;

        free(temporary);
        temporary = NULL;
        errno = why;
        return -1;
    }
    atexit(remove_temporary);
    catch_signals();
    cli_at_finish(publish);
    fchmod(fd, mode ? mode & 07777 : 0666 & ~mask);
    return fd;
}

/* The file takes the place of descriptor 1, so that whatever writes to
 * standard output, by stdio or not, writes there. */
void io_output(void)
{
    struct stat st = {0};
    int fd;

    if (!file)
        return;
    if (!stat(file, &st) && !S_ISREG(st.st_mode))
        fd = open(file, O_WRONLY);
    else
        fd = open_temporary(st.st_mode);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        struct err e = {0};

        err_set(&e, ERR_IO, "%s: %s", file, strerror(errno));
        die(&e);
    }
    if (fd != STDOUT_FILENO)
        close(fd);
}

void io_form(const char *word)
{
    form = word;
}

enum wire_format io_format(const struct cli *c)
{
    static const char *const words[] = {"cbor", "json", "text", NULL};
    bool tty;
    enum wire_format f;

    /* A wrong word must not cost the file. */
    f = form ? (enum wire_format)cli_choice(c, "format", form, words)
             : WIRE_CBOR;
    io_output();
    tty = isatty(STDOUT_FILENO);
    if (!form)
        return tty ? WIRE_TEXT : WIRE_CBOR;
    if (f == WIRE_CBOR && tty)
        usage_error(c,
                    "%s is a terminal, and cbor is not for reading: "
                    "use -f text, -f json, -o or a pipe",
                    io_output_name());
    return f;
}

enum wire_format io_stream(const struct cli *c, struct wire_out **w)
{
    enum wire_format f = io_format(c);
    struct err e = {0};

    *w = NULL;
    if (f == WIRE_TEXT)
        return f;
    if (wire_out_open(w, STDOUT_FILENO, f, &e))
        die(&e);
    wire_out_name(*w, io_output_name());
    return f;
}

void io_stream_close(struct wire_out *w, int st)
{
    struct err e = {0};

    if (!wire_out_close(w, &e))
        return;
    if (!st)
        die(&e);
    exit(st); /* it was said before */
}

int io_open(const char *operand, const char **name, struct err *e)
{
    struct stat st, out;
    int fd = STDIN_FILENO;

    *name = operand;
    if (!strcmp(operand, "-"))
        *name = "standard input";
    else
        fd = open(operand, O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        return err_set(e, ERR_IO, "%s: %s", *name, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        if (fd != STDIN_FILENO)
            close(fd);
        return err_set(e, ERR_IO, "%s: %s", *name, strerror(EISDIR));
    }
    /* A program that read what it writes would never end. */
    if (S_ISREG(st.st_mode) && !fstat(STDOUT_FILENO, &out) &&
        st.st_dev == out.st_dev && st.st_ino == out.st_ino) {
        if (fd != STDIN_FILENO)
            close(fd);
        return err_set(e, ERR_IO, "%s: input file is output file", *name);
    }
    return fd;
}

int io_each(char **operand, int n, io_fn *fn, void *arg)
{
    static char dash[] = "-", *none[] = {dash};
    int worst = 0;

    if (!n) {
        operand = none;
        n = 1;
    }
    for (int i = 0; i < n; i++) {
        struct err e = {0};
        const char *name;
        int fd = io_open(operand[i], &name, &e);

        if (fd >= 0) {
            fn(arg, fd, name, &e);
            if (fd != STDIN_FILENO)
                close(fd);
        }
        if (!e.code)
            continue;
        if (e.code == ERR_NOMEM)
            die(&e);
        warn("%s", e.msg);
        worst = status(&e) > worst ? status(&e) : worst;
    }
    return worst;
}
