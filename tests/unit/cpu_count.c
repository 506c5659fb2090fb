/* SPDX-License-Identifier: MIT
 * cpu_count.c - processors counted on machines that are only told of. */
#define _XOPEN_SOURCE 700 /* nftw, mkdtemp */
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "tests/unit/tap.h"

static char root[] = "/tmp/llm-cpu-XXXXXX";

static int drop(const char *path, const struct stat *st, int type,
                struct FTW *at)
{
    (void)st;
    (void)type;
    return at->level ? remove(path) : 0;
}

/* Forget the machine before. */
static void machine(void)
{
    nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* PATH of it holds N bytes of TEXT. */
static void bytes(const char *path, const char *text, size_t n)
{
    char full[512];
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + sizeof root; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(full, 0777);
    }
    f = fopen(full, "w");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f)) {
        perror(full);
        exit(1);
    }
}

static void file(const char *path, const char *text)
{
    bytes(path, text, strlen(text));
}

static void allowed(const char *text)
{
    char s[4000];

    snprintf(s, sizeof s,
             "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems:\t0\n",
             text);
    file("/proc/self/status", s);
}

static void of_cpu(int cpu, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, name);
    file(path, text);
}

/* Processors FROM..FROM+N-1: threads of cores, EACH side by side, or two APART.
 */
static void threads(int from, int n, int each, bool apart)
{
    for (int i = 0; i < n; i++) {
        char s[64];
        int core = apart ? i % (n / each) : i / each;

        if (apart)
            snprintf(s, sizeof s, "%d,%d\n", from + core,
                     from + core + n / each);
        else
            snprintf(s, sizeof s, "%d-%d\n", from + core * each,
                     from + core * each + each - 1);
        of_cpu(from + i, "topology/core_cpus_list", s);
    }
}

static void capacity(int from, int n, const char *text)
{
    while (n--)
        of_cpu(from++, "cpu_capacity", text);
}

static void is(const char *what, int usable, int cores, int fast, int quota)
{
    struct cpu_count c;

    cpu_count(&c, root);
    ok(c.usable == usable && c.cores == cores && c.fast == fast &&
           c.quota == quota,
       "%s: %d usable, %d cores, %d fast, quota %d", what, c.usable, c.cores,
       c.fast, c.quota);
}

static void kinds(void)
{
    machine();
    is("nothing is known", 0, 0, 0, 0);
    allowed("0-3");
    is("no topology", 4, 4, 4, 0);

    machine();
    allowed("0-127");
    file("/sys/devices/system/cpu/online", "0-7\n");
    is("most processors are not there", 8, 8, 8, 0);

    machine();
    allowed("0-15");
    threads(0, 16, 2, true);
    is("8 cores of 2 threads, numbered apart", 16, 8, 8, 0);
    allowed("0-7");
    is("each core's first thread", 8, 8, 8, 0);
    allowed("8-15");
    is("and second", 8, 8, 8, 0);
    allowed("3,4,11,12");
    is("two whole cores", 4, 2, 2, 0);

    machine();
    allowed("0-31");
    threads(0, 32, 4, false);
    is("8 cores of 4 threads", 32, 8, 8, 0);
    allowed("2-5");
    is("halves of two cores", 4, 2, 2, 0);

    machine();
    allowed("0-1");
    of_cpu(0, "topology/thread_siblings_list", "0-1\n");
    of_cpu(1, "topology/thread_siblings_list", "0-1\n");
    is("an older name", 2, 1, 1, 0);

    machine();
    allowed("0-2,1500,8191");
    is("large numbers", 5, 5, 5, 0);
}

static void hybrid(void)
{
    /* 8 cores of 2 threads, 16 of one. */
    machine();
    allowed("0-31");
    threads(0, 16, 2, false);
    threads(16, 16, 1, false);
    file("/sys/devices/cpu_core/cpus", "0-15\n");
    file("/sys/devices/cpu_atom/cpus", "16-31\n");
    is("performance and efficiency cores", 32, 24, 8, 0);
    capacity(0, 32, "1024\n");
    capacity(16, 16, "600\n");
    is("with capacities", 32, 24, 8, 0);
    allowed("16-31");
    is("efficiency cores alone", 16, 16, 16, 0);
    allowed("14-17");
    is("some of both", 4, 3, 1, 0);

    machine();
    allowed("0-7");
    capacity(0, 4, "300\n");
    capacity(4, 3, "800\n");
    capacity(7, 1, "1024\n");
    is("4 small, 3 large, 1 larger", 8, 8, 4, 0);
    allowed("0-3");
    is("the small ones alone", 4, 4, 4, 0);
    capacity(0, 4, "750\n");
    allowed("0-7");
    is("hardly smaller ones", 8, 8, 8, 0);
    capacity(0, 8, "0\n");
    is("no capacity at all", 8, 8, 8, 0);
}

static void quotas(void)
{
    machine();
    allowed("0-7");
    file("/proc/self/cgroup", "0::/a.slice/b.scope\n");
    is("a group with no files", 8, 8, 8, 0);
    file("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n");
    is("no quota", 8, 8, 8, 0);
    file("/sys/fs/cgroup/a.slice/cpu.max", "250000 100000\n");
    is("the parent's", 8, 8, 8, 2500);
    file("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "150000 100000\n");
    is("the least of both", 8, 8, 8, 1500);
    file("/sys/fs/cgroup/cpu.max", "1 100000\n");
    is("hardly any", 8, 8, 8, 1);

    machine();
    allowed("0-7");
    file("/proc/self/cgroup", "0::/../../x\n");
    file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    is("a path beyond the root", 8, 8, 8, 4000);
    file("/proc/self/cgroup", "0::/of/the/host\n");
    is("a container's root", 8, 8, 8, 4000);
    machine();
    allowed("0-7");
    file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    is("no list of groups", 8, 8, 8, 4000);

    machine();
    allowed("0-7");
    file("/proc/self/cgroup", "5:cpuset:/q\n4:cpuacct,cpu:/j/k\n0::/\n");
    file("/sys/fs/cgroup/cpu/q/cpu.cfs_quota_us", "100000\n");
    file("/sys/fs/cgroup/cpu/q/cpu.cfs_period_us", "100000\n");
    file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    is("version 1, another controller's", 8, 8, 8, 0);
    file("/sys/fs/cgroup/cpu/j/cpu.cfs_quota_us", "300000\n");
    file("/sys/fs/cgroup/cpu/j/cpu.cfs_period_us", "100000\n");
    is("version 1, the parent's", 8, 8, 8, 3000);
    file("/sys/fs/cgroup/unified/cpu.max", "200000 100000\n");
    is("both versions", 8, 8, 8, 2000);
}

static void hostile(void)
{
    static const char *const lists[] = {
        "",       "-",  "x",  "3-",  "3-1",  "0-8192",     "99999999999999999",
        "0-3,,5", "0,", "-1", "0 1", "0-3;", "4294967296",
    };
    static const char *const maxes[] = {
        "",       "max",     "-5 100000",           "0 100000", "100000 0",
        "100000", "1 2 3 4", "99999999999999999 1", "\n1 1",
    };
    char long_one[40000];

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        machine();
        allowed(lists[i]);
        is(lists[i], 0, 0, 0, 0);
        allowed("0-3");
        file("/sys/devices/cpu_core/cpus", lists[i]);
        file("/sys/devices/system/cpu/online", lists[i]);
        for (int c = 0; c < 4; c++) {
            of_cpu(c, "topology/core_cpus_list", lists[i]);
            of_cpu(c, "cpu_capacity", lists[i]);
        }
        is(lists[i], 4, 4, 4, 0);
    }
    for (size_t i = 0; i < sizeof maxes / sizeof *maxes; i++) {
        struct cpu_count c;

        machine();
        file("/proc/self/cgroup", i % 2 ? ":::::\n\n0::\n" : "0:cpu\n0::/\n");
        file("/sys/fs/cgroup/cpu.max", maxes[i]);
        cpu_count(&c, root);
        ok(c.quota >= 0 && c.quota < 2, "strange quota %zu: %d", i, c.quota);
    }
    machine();
    memset(long_one, '7', sizeof long_one);
    bytes("/proc/self/status", long_one, sizeof long_one);
    bytes("/proc/self/cgroup", long_one, sizeof long_one);
    is("files too long", 0, 0, 0, 0);
    long_one[0] = ':';
    long_one[1] = ':';
    long_one[2] = '/';
    bytes("/proc/self/cgroup", long_one, 20000);
    is("a path too long", 0, 0, 0, 0);
    memset(long_one, 0, sizeof long_one);
    bytes("/proc/self/status", long_one, 100);
    bytes("/proc/self/cgroup", long_one, 100);
    is("zeros", 0, 0, 0, 0);
    /* Siblings that do not list each other: whoever stands first stays. */
    machine();
    allowed("0-3");
    of_cpu(0, "topology/core_cpus_list", "1-3\n");
    of_cpu(3, "topology/core_cpus_list", "0-3\n");
    is("strange siblings", 4, 1, 1, 0);
}

int main(void)
{
    if (!mkdtemp(root)) {
        perror(root);
        return 1;
    }
    kinds();
    hybrid();
    quotas();
    hostile();
    machine();
    remove(root);
    ok(cpu_cores() >= 1 && cpu_cores() <= cpu_threads(),
       "here: %d cores, %d threads", cpu_cores(), cpu_threads());
    return tap_done();
}
