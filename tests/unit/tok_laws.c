/* SPDX-License-Identifier: MIT
 * tok_laws.c - what holds for every vocabulary and every text, on random text:
 * a text in parts has the tokens of the whole; threads change nothing; a cache
 * changes nothing; lossless vocabularies give the bytes back.
 *
 *     tok_laws [seed [rounds [name]]]
 *
 * Vocabularies made here, one for each kind and each splitting rule, and those
 * of ../shared/oracle/vocab where that folder is. */
#include <dirent.h>
#include <zstd.h>

#include "base/map.h"
#include "tests/unit/tap.h"
#include "tests/unit/tok_make.h"

#define DIR_ "../shared/oracle/vocab/"

static uint64_t seed = 1;
static size_t rounds = 30;
static const char *only;

static void show(const char *name, const unsigned char *p, size_t n,
                 unsigned flags, const char *why)
{
    printf("# %s, flags %u: %s\n#   '", name, flags, why);
    for (size_t i = 0; i < n && i < 400; i++)
        if (p[i] >= 32 && p[i] < 127 && p[i] != '\'' && p[i] != '\\')
            putchar(p[i]);
        else
            printf("\\%03o", p[i]);
    printf("'\n");
}

static int broken(struct law *l, const char *name, struct buf *b,
                  struct pool *pool, bool deep, struct rnd *r)
{
    if (law_check(l, b->p, b->n, pool, deep, r))
        return 0;
    show(name, b->p, b->n < 80 ? b->n : 80, l->flags, l->why);
    if (b->n < 20000) {
        law_shrink(l, b->p, &b->n, pool, deep);
        show(name, b->p, b->n, l->flags, *l->why ? l->why : "(not again)");
    }
    return 1;
}

static void check(const char *name, const struct gguf *g, const char *pre)
{
    static const unsigned flags[] = {TOK_NO_BOS | TOK_NO_EOS, TOK_SPECIAL,
                                     TOK_SPECIAL | TOK_NO_BOS | TOK_NO_EOS};
    struct rnd r = {seed * 2654435761u + 1};
    struct tok *t;
    struct err e = {0};
    struct buf b = {0};
    int bad = 0;

    if (tok_open(&t, g, pre, &e)) {
        ok(0, "%s opens: %s", name, e.msg);
        return;
    }
    for (int f = 0; f < 3 && !bad; f++) {
        struct law l;

        law_open(&l, t, flags[f]);
        for (size_t i = 0; i < rounds && !bad; i++) {
            b.n = 0;
            make_text(&b, &r, rnd_below(&r, i % 4 ? 60 : 700), t);
            bad += broken(&l, name, &b, NULL, true, &r);
        }
        for (size_t i = 0; i < rounds / 30 && !bad; i++) {
            int threads = 2 + (int)rnd_below(&r, 4);
            struct pool *pool = pool_new(threads, NULL);

            b.n = 0;
            make_text(&b, &r, (70 << 10) * (size_t)threads, t);
            bad += broken(&l, name, &b, pool, false, &r);
            pool_free(pool);
        }
        law_close(&l);
    }
    ok(!bad, "%s: parts, threads and caches change nothing", name);
    buf_free(&b);
    tok_close(t);
}

static void check_made(const char *kind, const char *pre)
{
    char name[80];
    struct buf file = {0};
    struct gguf *g;
    struct err e = {0};

    snprintf(name, sizeof name, "%s%s%s", kind, pre ? "/" : "", pre ? pre : "");
    if (only && strcmp(only, name))
        return;
    if (make_vocab(&file, kind, pre) ||
        gguf_open_memory(&g, name, &(struct gguf_str){(char *)file.p, file.n},
                         1, &e)) {
        ok(0, "%s is made: %s", name, e.msg);
    } else {
        check(name, g, NULL);
        gguf_close(g);
    }
    buf_free(&file);
}

static void check_shared(const char *name)
{
    char path[300];
    struct map m;
    struct buf b = {0};
    struct gguf *g;
    struct err e = {0};
    unsigned long long n;
    void *to;

    if (only && strcmp(only, name))
        return;
    snprintf(path, sizeof path, DIR_ "%s.gguf.zst", name);
    if (map_open(&m, path, &e)) {
        ok(0, "%s: %s", name, e.msg);
        return;
    }
    n = ZSTD_getFrameContentSize(m.p, m.n);
    to = n && n < 1 << 28 ? buf_add(&b, (size_t)n) : NULL;
    if (!to || ZSTD_decompress(to, (size_t)n, m.p, m.n) != n ||
        gguf_open_memory(&g, name, &(struct gguf_str){(char *)b.p, b.n}, 1,
                         &e)) {
        ok(0, "%s: %s", name, e.msg);
    } else {
        check(name, g, NULL);
        gguf_close(g);
    }
    buf_free(&b);
    map_close(&m);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    /* one name for each rule of lib/tok/pretok_table.h */
    static const char *const pre[] = {"afmoe",
                                      "bailingmoe",
                                      "bloom",
                                      "chameleon",
                                      "codeshell",
                                      "deepseek-coder",
                                      "deepseek-llm",
                                      "deepseek-v3",
                                      "default",
                                      "exaone-moe",
                                      "falcon",
                                      "gpt-2",
                                      "gpt-4o",
                                      "jais-2",
                                      "kimi-k2",
                                      "laguna",
                                      "llama-bpe",
                                      "minicpm5",
                                      "gemma4",
                                      "qwen2",
                                      "qwen35",
                                      "seed-coder",
                                      "superbpe",
                                      "tekken",
                                      "tiny_aya",
                                      "viking",
                                      "whitespace",
                                      "youtu",
                                      "sarvam-moe",
                                      "modern-bert",
                                      NULL};
    char *name[128];
    int n = 0;
    DIR *d;
    struct dirent *de;

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        rounds = strtoul(argv[2], NULL, 0);
    if (argc > 3)
        only = argv[3];
    for (int i = 0; pre[i]; i++)
        check_made("gpt2", pre[i]);
    check_made("gemma4", NULL);
    check_made("llama", NULL);
    check_made("bert", NULL);
    check_made("t5", NULL);
    check_made("rwkv", NULL);
    d = opendir(DIR_);
    while (d && (de = readdir(d)) && n < 128) {
        char *dot = strstr(de->d_name, ".gguf.zst");

        if (dot)
            name[n++] = strndup(de->d_name, (size_t)(dot - de->d_name));
    }
    if (d)
        closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int i = 0; i < n; i++) {
        check_shared(name[i]);
        free(name[i]);
    }
    return tap_done();
}
