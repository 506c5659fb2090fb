/* SPDX-License-Identifier: MIT
 *
 * The views that read every tensor: --check, but for its look at the metadata
 * (sound.c), and --hash.  Each tensor is one
 * job of a thread pool; results are printed in file order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cmd/inspect/inspect.h"
#include "gguf/check.h"
#include "gguf/hash.h"

struct result {
    uint64_t bad, first;
};

struct run {
    const struct gguf *g;
    struct result *result;
    char (*hash)[33];
};

static void *array(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    return p;
}

static void for_tensors(const struct view *w, pool_fn *fn, struct run *r)
{
    int n = (int)gguf_ntensor(r->g); /* the reader's limit is 2^20 */
    int threads = w->threads < n ? w->threads : n;
    struct err e = {0};
    struct pool *p = pool_new(threads > 0 ? threads : 1, &e);

    if (!p)
        die(&e);
    pool_run(p, fn, r, n);
    pool_free(p);
}

static void check_one(void *arg, int job, int worker)
{
    struct run *r = arg;
    struct result *to = &r->result[job];

    (void)worker;
    to->bad = gguf_bad_blocks(&to->first, gguf_tensor_at(r->g, (size_t)job));
}

static void hash_one(void *arg, int job, int worker)
{
    struct run *r = arg;

    (void)worker;
    gguf_tensor_hash(r->hash[job], gguf_tensor_at(r->g, (size_t)job));
}

static void say(const struct gguf *g, const struct view *w, const char *json,
                const char *text, uint64_t n, int shard)
{
    const char *path = gguf_shard_at(g, shard)->path;

    if (w->json) {
        fputs("{\"file\":", stdout);
        put_cstring(path);
        printf(",\"problem\":\"%s\",\"bytes\":%llu}\n", json,
               (unsigned long long)n);
    } else {
        put_text((struct gguf_str){path, strlen(path)}, true);
        printf(": %llu bytes %s\n", (unsigned long long)n, text);
    }
}

static void say_bad(const struct gguf *g, const struct view *w,
                    const struct gguf_tensor *t, struct result r)
{
    const struct gguf_type_info *type = gguf_type_info(t->type);
    const char *what =
        type->elems > 1 || t->type == GGUF_T_Q8_K ? "block" : "element";

    if (w->json) {
        fputs("{\"file\":", stdout);
        put_cstring(gguf_shard_at(g, t->shard)->path);
        fputs(",\"problem\":\"nan\",\"tensor\":", stdout);
        put_string(t->name);
        printf(",\"type\":\"%s\",\"bad\":%llu,\"of\":%llu,\"first\":%llu}\n",
               type->name, (unsigned long long)r.bad,
               (unsigned long long)(t->bytes / type->bytes),
               (unsigned long long)r.first);
        return;
    }
    put_text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}, true);
    fputs(": tensor '", stdout);
    put_text(t->name, true);
    printf("': NaN or infinite %s in %llu of %llu %s%ss, first in %s %llu\n",
           *what == 'b' ? "scale" : "value", (unsigned long long)r.bad,
           (unsigned long long)(t->bytes / type->bytes),
           *what == 'b' ? type->name : "", *what == 'b' ? " block" : "element",
           what, (unsigned long long)r.first);
}

int show_check(const struct gguf *g, const struct view *w)
{
    struct run r = {.g = g};
    size_t problems = (size_t)check_metadata(g, w);

    for (int i = 0; i < gguf_nshard(g); i++) {
        uint64_t gaps = gguf_gaps(g, i), trail = gguf_trailing(g, i);

        if (gaps)
            say(g, w, "gaps", "between tensors belong to none", gaps, i);
        if (trail)
            say(g, w, "trailing", "follow the last tensor", trail, i);
        problems += (gaps > 0) + (trail > 0);
    }
    r.result = array(gguf_ntensor(g), sizeof *r.result);
    for_tensors(w, check_one, &r);
    for (size_t i = 0; i < gguf_ntensor(g); i++) {
        if (!r.result[i].bad || !wanted(w, gguf_tensor_at(g, i)->name))
            continue;
        say_bad(g, w, gguf_tensor_at(g, i), r.result[i]);
        problems++;
    }
    free(r.result);
    if (!problems && !w->json && !w->quiet) {
        put_text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}, true);
        printf(": ok\n");
    }
    return problems ? 3 : 0;
}

int show_hash(const struct gguf *g, const struct view *w)
{
    size_t n = gguf_ntensor(g);
    struct run r = {.g = g};
    char all[33];

    r.hash = array(n, sizeof *r.hash);
    for_tensors(w, hash_one, &r);
    gguf_whole_hash(all, g, (const char(*)[33])r.hash);
    if (w->json) {
        fputs("{\"file\":", stdout);
        put_cstring(gguf_path(g));
        printf(",\"hash\":\"%s\"%s", all, w->quiet ? "" : ",\"tensors\":{");
    } else if (!w->quiet) {
        put_heading(w, g);
    }
    for (size_t i = 0, any = 0; !w->quiet && i < n; i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);

        if (!wanted(w, t->name))
            continue;
        if (w->json) {
            fputs(any++ ? "," : "", stdout);
            put_string(t->name);
            printf(":\"%s\"", r.hash[i]);
        } else {
            printf("%s  ", r.hash[i]);
            put_text(t->name, true);
            putchar('\n');
        }
    }
    free(r.hash);
    if (w->json) {
        puts(w->quiet ? "}" : "}}");
    } else if (!w->tensors || w->quiet) {
        printf("%s  ", all);
        put_text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}, true);
        putchar('\n');
    }
    return 0;
}
