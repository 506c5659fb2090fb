/* SPDX-License-Identifier: MIT
 * cpu_count.c - how many threads are worth having.
 *
 * What the kernel's files say is not trusted further than it makes sense: a
 * list that cannot be read is as one that is not there. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"

enum { MOST = 8192, FILE_MAX = 32768 };

/* A set of processors. */
struct set {
    uint64_t w[MOST / 64];
};

static bool has(const struct set *s, int i)
{
    return s->w[i / 64] >> i % 64 & 1;
}

static int count(const struct set *s)
{
    int n = 0;

    for (int i = 0; i < MOST; i++)
        n += has(s, i);
    return n;
}

/* False when the two have nothing in common. */
static bool both(struct set *out, const struct set *a, const struct set *b)
{
    uint64_t any = 0;

    for (int i = 0; i < MOST / 64; i++)
        any |= out->w[i] = a->w[i] & b->w[i];
    return any;
}

/* ---- files ---- */

/* All of ROOT/FOLDER/NAME, as a string.  False: it is not there, or longer
 * than any such file is. */
static bool text(char to[FILE_MAX], const char *root, const char *folder,
                 const char *name)
{
    char path[4096];
    size_t n;
    FILE *f;
    int len = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);

    if (len < 0 || len >= (int)sizeof path || !(f = fopen(path, "re")))
        return false;
    n = fread(to, 1, FILE_MAX, f);
    fclose(f);
    if (n == FILE_MAX)
        return false;
    to[n] = 0;
    return true;
}

/* A decimal number of at most 15 digits at *P, which moves behind it. */
static bool number(const char **p, int64_t *v)
{
    int n = 0;

    for (*v = 0; **p >= '0' && **p <= '9' && n < 16; n++)
        *v = *v * 10 + *(*p)++ - '0';
    return n > 0 && n < 16;
}

static bool end(const char *p)
{
    return *p == '\n' || !*p;
}

/* "0-3,8,10-11" and the end of the line. */
static bool list(struct set *s, const char *p)
{
    int64_t a, b;

    memset(s, 0, sizeof *s);
    do {
        if (!number(&p, &a))
            return false;
        b = a;
        if (*p == '-') {
            p++;
            if (!number(&p, &b))
                return false;
        }
        if (b < a || b >= MOST)
            return false;
        for (; a <= b; a++)
            s->w[a / 64] |= UINT64_C(1) << a % 64;
    } while (*p++ == ',');
    return end(p - 1);
}

static bool list_file(struct set *s, const char *root, const char *folder,
                      const char *name)
{
    char t[FILE_MAX];

    return text(t, root, folder, name) && list(s, t);
}

static bool number_file(int64_t *v, const char *root, const char *folder,
                        const char *name)
{
    char t[FILE_MAX];
    const char *p = t;

    return text(t, root, folder, name) && number(&p, v) && (*p == '\n' || !*p);
}

/* ---- processors ---- */

/* Those in the affinity mask that are online. */
static bool usable(struct set *s, const char *root)
{
    static const char key[] = "\nCpus_allowed_list:";
    char t[FILE_MAX];
    const char *p;
    struct set online;

    if (!text(t, root, "/proc/self", "status") || !(p = strstr(t, key)))
        return false;
    p += sizeof key - 1;
    p += strspn(p, " \t");
    if (!list(s, p))
        return false;
    return !list_file(&online, root, "/sys/devices/system/cpu", "online") ||
           both(s, s, &online);
}

static const char *folder_of(char to[64], int cpu, const char *sub)
{
    snprintf(to, 64, "/sys/devices/system/cpu/cpu%d%s", cpu, sub);
    return to;
}

/* Of each core's threads leave one. */
static void cores(struct set *s, const char *root)
{
    char folder[64];
    struct set thread;

    for (int i = 0; i < MOST; i++) {
        if (!has(s, i))
            continue;
        folder_of(folder, i, "/topology");
        if (!list_file(&thread, root, folder, "core_cpus_list") &&
            !list_file(&thread, root, folder, "thread_siblings_list"))
            continue;
        for (int j = i + 1; j < MOST; j++)
            if (has(&thread, j))
                s->w[j / 64] &= ~(UINT64_C(1) << j % 64);
    }
}

static int falling(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x < y) - (x > y);
}

/* How many of the cores S to take.  Each gets as much to do as any other, so
 * that the slowest decides: as many of the fastest as make the most of number
 * times capacity.  A core that says nothing of itself is as fast as any. */
static int fastest(const struct set *s, const char *root)
{
    int cap[MOST], n = 0, best = 0;
    char folder[64];

    for (int i = 0; i < MOST; i++) {
        int64_t v;

        if (!has(s, i))
            continue;
        if (!number_file(&v, root, folder_of(folder, i, ""), "cpu_capacity") ||
            v < 1 || v > 1024)
            v = 1024;
        cap[n++] = (int)v;
    }
    qsort(cap, (size_t)n, sizeof *cap, falling);
    for (int i = 0; i < n; i++)
        if ((int64_t)cap[i] * (i + 1) >= (int64_t)cap[best] * (best + 1))
            best = i;
    return best + 1;
}

/* ---- control groups ---- */

/* The least of *LEAST and what one group's files allow, in thousandths. */
static void quota(int64_t *least, const char *root, const char *folder)
{
    char t[FILE_MAX];
    const char *p = t;
    int64_t q, period;

    if (text(t, root, folder, "cpu.max")) { /* "max 100000", "150000 100000" */
        if (!number(&p, &q) || *p++ != ' ' || !number(&p, &period) || !end(p))
            return;
    } else if (!number_file(&q, root, folder, "cpu.cfs_quota_us") ||
               !number_file(&period, root, folder, "cpu.cfs_period_us")) {
        return; /* -1: none */
    }
    if (q > 0 && period > 0 && (!*least || *least > q * 1000 / period))
        *least = q * 1000 / period ? q * 1000 / period : 1;
}

/* That of group PATH and those that it is in, as far as they can be seen: a
 * container may see its own as the root, while its path is as outside. */
static void quotas(int64_t *least, const char *root, const char *mount,
                   const char *path)
{
    char folder[4096];
    int len = snprintf(folder, sizeof folder, "%s%s", mount, path);
    char *slash, *end = folder + strlen(mount);

    if (len < 0 || len >= (int)sizeof folder || strstr(path, "/.."))
        *end = 0;
    quota(least, root, folder);
    while ((slash = strrchr(end, '/'))) {
        *slash = 0;
        quota(least, root, folder);
    }
}

/* Is CPU among "cpu,cpuacct"? */
static bool names_cpu(const char *p)
{
    for (; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, "cpu", 3) && (!p[3] || p[3] == ','))
            return true;
    return false;
}

/* Lines "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1. */
static int groups(const char *root)
{
    static const char *const mount[2][2] = {
        {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
        {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}};
    char t[FILE_MAX], *line, *next, *name, *path;
    int64_t least = 0;

    if (!text(t, root, "/proc/self", "cgroup"))
        snprintf(t, sizeof t, "0::/\n1:cpu:/\n");
    for (line = t; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        name = strchr(line, ':');
        path = name ? strchr(name + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        if (*++name && !names_cpu(name))
            continue;
        for (int i = 0; i < 2; i++)
            quotas(&least, root, mount[!*name][i], path);
    }
    return least > INT32_MAX ? INT32_MAX : (int)least;
}

void cpu_count(struct cpu_count *n, const char *root)
{
    struct set s, fast;

    memset(n, 0, sizeof *n);
    n->quota = groups(root);
    if (!usable(&s, root))
        return;
    n->usable = count(&s);
    cores(&s, root);
    n->cores = count(&s);
    /* What Intel calls its performance cores, where there are others. */
    if (list_file(&fast, root, "/sys/devices/cpu_core", "cpus"))
        both(&fast, &fast, &s);
    else
        memset(&fast, 0, sizeof fast);
    n->fast = fastest(count(&fast) ? &fast : &s, root);
}

/* N of them, as the quota allows. */
static int limited(const struct cpu_count *c, int n)
{
    if (n < 1)
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (c->quota && n > c->quota / 1000)
        n = c->quota / 1000;
    return n < 1 ? 1 : n;
}

int cpu_threads(void)
{
    struct cpu_count c = {.quota = groups("")};
    struct set s;

    return limited(&c, usable(&s, "") ? count(&s) : 0);
}

int cpu_cores(void)
{
    struct cpu_count c;

    cpu_count(&c, "");
    return limited(&c, c.fast);
}
