/* SPDX-License-Identifier: MIT */
#include "cmd/common/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static bool on, shown;
static double next;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_init(bool quiet)
{
    on = !quiet && isatty(STDERR_FILENO);
    next = now() + 0.5;
}

static bool due(void)
{
    return on && now() >= next;
}

static void finish(void)
{
    fflush(stderr);
    shown = true;
    next = now() + 0.1;
}

void progress_show(long long done, long long total)
{
    if (!due())
        return;
    fprintf(stderr, "\rprompt: %lld of %lld tokens", done, total);
    finish();
}

void progress_part(double part)
{
    if (!due())
        return;
    fprintf(stderr, "\r%3.0f%%", part * 100);
    finish();
}

void progress_clear(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}
