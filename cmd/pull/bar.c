/* SPDX-License-Identifier: MIT */
#include "cmd/pull/bar.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cmd/pull/pull.h"

static struct {
    const char *what;
    int64_t from, total;
    double start, last;
    int shown; /* columns in use */
} bar;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int columns(void)
{
    struct winsize w;

    if (!ioctl(2, TIOCGWINSZ, &w) && w.ws_col >= 20)
        return w.ws_col < 200 ? w.ws_col : 200;
    return 80;
}

void bar_start(const char *what, int64_t from, int64_t total)
{
    bar_end();
    if (pull_set.quiet || !isatty(2))
        return;
    bar.what = what;
    bar.from = from;
    bar.total = total;
    bar.start = now();
    bar.last = 0;
}

/* Spaces wipe what a longer line left: no escape sequence is needed, so that
 * a dumb terminal and a captured log stay readable. */
static void show(const char *line)
{
    int width = columns() - 1, n = (int)strlen(line);

    if (n > width)
        n = width;
    fprintf(stderr, "\r%.*s%*s", n, line, bar.shown > n ? bar.shown - n : 0,
            "");
    bar.shown = n;
    fflush(stderr);
}

void bar_at(int64_t n)
{
    double t = now(), rate;
    char line[256], left[32] = "", part[64];
    long eta;

    /* The first look comes late enough for a rate to mean something. */
    if (!bar.what || t - bar.start < 0.2 || t - bar.last < 0.1)
        return;
    bar.last = t;
    rate = (double)(n - bar.from) / (t - bar.start);
    if (bar.total > 0) {
        snprintf(part, sizeof part, "%3d%%  %.1f of %.1f MB",
                 (int)(100 * n / bar.total), (double)n * 1e-6,
                 (double)bar.total * 1e-6);
        eta = rate > 0 ? (long)((double)(bar.total - n) / rate + 0.5) : -1;
        if (eta >= 0 && eta < 360000)
            snprintf(left, sizeof left, "  ETA %ld:%02ld", eta / 60, eta % 60);
    } else {
        snprintf(part, sizeof part, "%.1f MB", (double)n * 1e-6);
    }
    snprintf(line, sizeof line, "%.40s  %s  %.1f MB/s%s", bar.what, part,
             rate * 1e-6, left);
    show(line);
}

void bar_end(void)
{
    if (bar.shown) {
        show("");
        fputc('\r', stderr);
        fflush(stderr);
    }
    bar.what = NULL;
    bar.shown = 0;
}
