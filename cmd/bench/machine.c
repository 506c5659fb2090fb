/* SPDX-License-Identifier: MIT
 * machine.c - time, memory, and what else the machine is doing. */
#define _DEFAULT_SOURCE /* getloadavg */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cmd/bench/bench.h"

double machine_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double usage_of(int who)
{
    struct rusage u;

    if (getrusage(who, &u))
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double machine_cpu_time(void)
{
    return usage_of(RUSAGE_SELF) + usage_of(RUSAGE_CHILDREN);
}

/* The rest of the first line of PATH that begins with KEY; false: none. */
static bool line_of(char *out, size_t n, const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    char line[512];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        found = !strncmp(line, key, strlen(key));
        if (found)
            snprintf(out, n, "%s", line + strlen(key));
    }
    if (f)
        fclose(f);
    return found;
}

const char *machine_cpu(char name[128])
{
    struct utsname u;
    char line[512] = "";
    const char *p = line;

    if (line_of(line, sizeof line, "/proc/cpuinfo", "model name") &&
        (p = strchr(line, ':'))) {
        p += 1 + strspn(p + 1, " \t");
        snprintf(name, 128, "%.*s", (int)strcspn(p, "\n") % 128, p);
        return name;
    }
    snprintf(name, 128, "%.127s", uname(&u) ? "unknown" : u.machine);
    return name;
}

double machine_load(void)
{
    double v;

    return getloadavg(&v, 1) == 1 ? v : -1;
}

/* ---- memory ---- */

/* Without a mark that can be set anew, the most would be that of measuring the
 * memory itself. */
static bool marked;

void machine_rss_begin(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    marked = f && fputs("5", f) >= 0; /* the mark of the most, no more */
    if (f && fclose(f))
        marked = false;
}

uint64_t machine_rss(void)
{
    char line[128];

    if (!marked || !line_of(line, sizeof line, "/proc/self/status", "VmHWM:"))
        return 0;
    return strtoull(line, NULL, 10) * 1024;
}

/* ---- others ---- */

void machine_begin(struct machine_mark *m)
{
    double v[8] = {0}, tick = (double)sysconf(_SC_CLK_TCK);
    char line[512], *p = line;
    int n = 0;

    *m = (struct machine_mark){machine_now(), machine_cpu_time(), -1, 0};
    if (!line_of(line, sizeof line, "/proc/stat", "cpu "))
        return;
    for (char *end; n < 8; n++, p = end) {
        v[n] = strtod(p, &end);
        if (end == p)
            break;
    }
    /* user, nice, system, idle, iowait, irq, softirq, steal */
    if (n < 4 || tick <= 0)
        return;
    m->busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / tick;
    m->steal = v[7] / tick;
}

void machine_since(double *others, double *steal, const struct machine_mark *m)
{
    struct machine_mark now;
    double busy, seconds, all = (double)sysconf(_SC_NPROCESSORS_ONLN);

    machine_begin(&now);
    seconds = now.wall - m->wall;
    *others = *steal = -1;
    /* The system counts in hundredths of a second. */
    if (m->busy < 0 || now.busy < 0 || seconds < 0.2)
        return;
    busy = now.busy - m->busy - (now.own - m->own);
    *others = busy > 0 ? busy / seconds : 0;
    *steal = (now.steal - m->steal) / seconds / (all > 0 ? all : 1);
}
