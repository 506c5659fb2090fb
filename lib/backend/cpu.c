/* SPDX-License-Identifier: MIT
 * cpu.c - the CPU device: open, close, and what it says of itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/cpu_impl.h"
#include "base/cpu.h"
#include "base/pages.h"

static void cpu_close(struct be *be)
{
    struct cpu *b = (struct cpu *)be;

    team_free(b->team);
    for (size_t i = 0; i < b->nw; i++)
        cpu_weight_free(b->w[i]);
    free(b->w);
    for (int i = 0; i < b->nregion; i++) {
        if (b->region[i].map)
            munmap(b->region[i].map, b->region[i].map_n);
        else
            pages_free(b->region[i].p, b->region[i].n);
    }
    free(b->region);
    cpu_kv_free(b);
    free(b->share_dir);
    free(b->model_path);
    free(b);
}

/* A core's hyperthreads share the units that int8 products keep busy, and the
 * cache that activations are held in: one thread for each core is best for
 * prompts, too.  Slower cores would hold up the others, which have as many
 * panels each. */
static int threads(struct cpu *b, const struct be_opts *o, struct err *e)
{
    b->with[0] = o->threads ? o->threads : cpu_cores();
    b->with[1] = o->threads_batch ? o->threads_batch : b->with[0];
    for (int i = 0; i < 2; i++) {
        if (b->with[i] < 1 || b->with[i] > TEAM_MAX)
            return err_set(e, ERR_USAGE, "%d threads: 1 to %d are possible",
                           b->with[i], TEAM_MAX);
        if (b->n < b->with[i])
            b->n = b->with[i];
    }
    return 0;
}

/* Three quarters of a core's second cache: the rest is for panels. */
static size_t cache(void)
{
    long n = -1;

#ifdef _SC_LEVEL2_CACHE_SIZE
    n = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    /* Some systems do not know. */
    if (n < 1 << 18 || n > 1 << 24)
        n = 1 << 20;
    return (size_t)n / 4 * 3;
}

static int cpu_open(struct be **out, const struct be_opts *o, struct err *e)
{
    struct cpu *b = calloc(1, sizeof *b);

    if (!b)
        return err_nomem(e);
    b->be.dev = &be_cpu;
    b->cache = cache();
    b->pack = o->pack;
    snprintf(b->model_id, sizeof b->model_id, "%s", o->model_id);
    if (o->share_dir && o->model_path) {
        b->share_dir = strdup(o->share_dir);
        b->model_path = strdup(o->model_path);
        if (!b->share_dir || !b->model_path) {
            err_nomem(e);
            goto fail;
        }
    }
    kern_init(&b->kern, cpu_flags() & o->cpu_mask);
    if (threads(b, o, e))
        goto fail;
    b->team = team_new(b->n, e);
    if (!b->team)
        goto fail;
    *out = &b->be;
    return 0;
fail:
    cpu_close(&b->be);
    return -1;
}

/* Does the system keep the memory at P in large pages?  Its own list of this
 * process's memory says so, in the lines after the one that P is in. */
static bool large_pages(const void *p)
{
    unsigned long from, to, at = (unsigned long)p, kb;
    char line[512];
    bool in = false, large = false;
    FILE *f = fopen("/proc/self/smaps", "re");

    if (!f)
        return false;
    while (!large && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            in = from <= at && at < to;
        else if (in && (sscanf(line, "AnonHugePages: %lu", &kb) == 1 ||
                        sscanf(line, "FilePmdMapped: %lu", &kb) == 1 ||
                        sscanf(line, "ShmemPmdMapped: %lu", &kb) == 1))
            large = kb > 0;
    }
    fclose(f);
    return large;
}

static void cpu_set_tap(struct be *be, be_tap_fn *fn, void *arg)
{
    struct cpu *b = (struct cpu *)be;

    b->tap = fn;
    b->tap_arg = arg;
}

static void cpu_stats(struct be_stats *s, const struct be *be)
{
    const struct cpu *b = (const struct cpu *)be;

    *s = (struct be_stats){.threads = b->with[0], .threads_batch = b->with[1]};
    for (const struct cpu_level *l = cpu_level; l->name; l++)
        if ((b->kern.flags & l->flags) == l->flags)
            snprintf(s->isa, sizeof s->isa, "%s", l->name);
    for (int i = 0; i < b->nregion; i++) {
        s->packed += b->region[i].n;
        s->shared |= b->region[i].map != NULL;
        s->large_pages |= large_pages(b->region[i].p);
    }
    for (size_t i = 0; i < b->nw; i++) {
        const struct cpu_weight *w = b->w[i];

        if (w->use == BE_ROWS || (w->use == BE_MATRIX && !w->stride))
            s->mapped += w->row * (uint64_t)(w->n_out * w->n_mat);
    }
}

const struct be_device be_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .weight = cpu_weight_add,
    .kv_init = cpu_kv_init,
    .kv_copy = cpu_kv_copy,
    .kv_row = cpu_kv_row,
    .kv_get = cpu_kv_get,
    .kv_put = cpu_kv_put,
    .plan_new = cpu_plan_new,
    .plan_free = cpu_plan_free,
    .run = cpu_run,
    .peaks = cpu_run_peaks,
    .exact = cpu_head_exact,
    .tap = cpu_set_tap,
    .stats = cpu_stats,
};
