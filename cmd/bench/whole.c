/* SPDX-License-Identifier: MIT
 * whole.c - from the start: loading a model, and a process up to its first
 * token. */
#define _DEFAULT_SOURCE /* mincore */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/rng.h"
#include "cmd/bench/bench.h"
#include "run/run.h"

struct whole {
    struct bench *b;
    const struct bench_test *t;
};

/* ---- the page cache ---- */

/* How many of the pages of PATH are in memory; false: that is not known. */
static bool resident(uint64_t *in, uint64_t *of, const char *path)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n;
    int fd = open(path, O_RDONLY);
    unsigned char *v = NULL;
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return false;
    n = ((size_t)st.st_size + page - 1) / page;
    v = malloc(n);
    if (!v || mincore(p, (size_t)st.st_size, v)) {
        free(v);
        munmap(p, (size_t)st.st_size);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        *in += v[i] & 1;
    *of += n;
    free(v);
    munmap(p, (size_t)st.st_size);
    return true;
}

/* Ask the system to forget the model's files; the part that it did not: -1 when
 * that is not known. */
static double forget(const struct gguf *g)
{
    uint64_t in = 0, of = 0;

    for (int i = 0; i < gguf_nshard(g); i++) {
        const char *path = gguf_shard_at(g, i)->path;
        int fd = open(path, O_RDONLY);

        if (fd >= 0) {
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
        if (!resident(&in, &of, path))
            return -1;
    }
    return of ? (double)in / (double)of : -1;
}

/* ---- load ---- */

static int load_run(void *arg, struct bench_one *o, struct err *e)
{
    const struct whole *w = arg;
    struct load l;
    double cpu, from;

    (void)e;
    if (w->t->cold)
        o->cached = forget(w->b->model->gguf);
    cpu = machine_cpu_time();
    from = machine_now();
    load_open(&l, w->b->cli, w->b->model->operand, 1, RUN_CHUNK, false);
    o->value = 1e3 * (machine_now() - from);
    o->cpu = machine_cpu_time() - cpu;
    be_stats(&w->b->model->stats, l.be);
    load_close(&l);
    o->ms[0] = o->value;
    o->nms = 1;
    return 0;
}

int bench_load(struct bench *b, struct bench_test *t, struct err *e)
{
    struct whole w = {b, t};

    t->kind = BENCH_LOAD;
    load_set(t->threads, -1);
    return bench_measure(b, t, load_run, NULL, &w, e);
}

/* ---- first ---- */

/* This very file, by the name of the program that continues prompts: so it is
 * the same build, whatever else is installed. */
static int first_run(void *arg, struct bench_one *o, struct err *e)
{
    const struct whole *w = arg;
    char threads[16], input[256];
    const char *argv[13 + LOAD_WORDS] = {
        "llm-decode", "-q", "-f", "json", "--ignore-eos", "--temp",
        "0",          "-n", "1",  "-t",   threads};
    struct process p = {.path = "/proc/self/exe",
                        .argv = argv,
                        .input = input,
                        .until = "\"t\":\"tokens\""};
    int at = snprintf(input, sizeof input, "{\"t\":\"tokens\",\"ids\":["), n;
    char word[32];

    snprintf(threads, sizeof threads, "%d", w->t->threads);
    n = 11 + load_words(argv + 11);
    argv[n++] = "--"; /* it may begin with a dash */
    argv[n] = w->b->model->path;
    for (int i = 0; i < BENCH_FIRST_PROMPT; i++)
        at += snprintf(input + at, sizeof input - (size_t)at, "%s%d",
                       i ? "," : "",
                       (int)(rng_unit(1, 1, (uint64_t)i) *
                             (double)w->b->model->config.tokens));
    snprintf(input + at, sizeof input - (size_t)at, "]}\n");
    if (w->t->cold)
        o->cached = forget(w->b->model->gguf);
    if (process_run(&p, e)) {
        buf_free(&p.out);
        return -1;
    }
    process_status(word, p.status);
    buf_free(&p.out);
    buf_free(&p.err);
    if (p.status || p.first < 0)
        return err_set(e, ERR_IO, "llm-decode: %s", word);
    o->value = o->ms[0] = 1e3 * p.first;
    o->nms = 1;
    o->cpu = p.cpu;
    o->rss = p.rss;
    return 0;
}

int bench_first(struct bench *b, struct bench_test *t, struct err *e)
{
    struct whole w = {b, t};

    t->kind = BENCH_FIRST;
    t->prompt = BENCH_FIRST_PROMPT;
    t->n = 1;
    return bench_measure(b, t, first_run, NULL, &w, e);
}
