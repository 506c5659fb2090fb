/* SPDX-License-Identifier: MIT
 * model.c - what a model is: the bytes and the products that a token needs. */
#include <math.h>
#include <string.h>

#include "cmd/bench/bench.h"
#include "cmd/common/model.h"
#include "run/run.h"

static bool begins(struct gguf_str s, const char *with)
{
    return s.n >= strlen(with) && !memcmp(s.p, with, strlen(with));
}

static bool has(struct gguf_str s, const char *word)
{
    for (size_t n = strlen(word), i = 0; i + n <= s.n; i++)
        if (!memcmp(s.p + i, word, n))
            return true;
    return false;
}

/* Weights that are multiplied as int8. */
static double int8(const struct gguf_tensor *t)
{
    const struct gguf_type_info *i = gguf_type_info(t->type);

    if (t->ndim < 2 || t->type == GGUF_T_F32 || t->type == GGUF_T_F16 ||
        t->type == GGUF_T_BF16)
        return 0;
    return (double)t->bytes / i->bytes * i->elems;
}

static void count(struct bench_model *m)
{
    const struct gguf_tensor *head = gguf_tensor(m->gguf, "output.weight");
    double used = m->config.experts > 0 ? (double)m->config.experts_used /
                                              (double)m->config.experts
                                        : 1;

    if (!head)
        head = gguf_tensor(m->gguf, "token_embd.weight");
    if (head) {
        m->head = (double)head->bytes;
        m->head_products = int8(head);
    }
    for (size_t i = 0; i < gguf_ntensor(m->gguf); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(m->gguf, i);
        bool expert = has(t->name, "_exps");

        m->bytes += (double)t->bytes;
        if (!begins(t->name, "blk."))
            continue;
        if (expert)
            m->experts += (double)t->bytes;
        else
            m->dense += (double)t->bytes;
        m->products += int8(t) * (expert ? used : 1);
    }
}

void bench_model_open(struct bench_model *m, const struct cli *c,
                      const char *operand)
{
    const char *w[LOAD_WORDS], *kv, *comma;
    char first[16];
    struct load l;
    struct err e = {0};

    memset(m, 0, sizeof *m);
    m->operand = operand;
    m->gguf = model_operand(operand);
    m->path = gguf_path(m->gguf);
    m->name = strrchr(m->path, '/') ? strrchr(m->path, '/') + 1 : m->path;
    gguf_model_id(m->id, m->gguf);
    if (gguf_config_init(&m->config, m->gguf, &e))
        die(&e);
    count(m);
    /* Whatever is wrong with the model or the options is said here. */
    load_open(&l, c, operand, 1, RUN_CHUNK, false);
    be_stats(&m->stats, l.be);
    kv = model_kv(l.model)->adapt.text;
    m->adapters = strdup(kv ? kv : "");
    if (!m->adapters)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    load_close(&l);
    load_words(w);
    kv = w[1];
    comma = strchr(kv, ',');
    snprintf(first, sizeof first, "%.*s",
             (int)(comma ? comma - kv : (long)strlen(kv)) % 16, kv);
    m->k = gguf_type_by_name(first);
    m->v = comma ? gguf_type_by_name(comma + 1) : m->k;
}

void bench_model_close(struct bench_model *m)
{
    gguf_config_fini(&m->config);
    free(m->adapters);
    gguf_close(m->gguf);
}

double bench_model_bytes(const struct bench_model *m,
                         const struct bench_test *t)
{
    int columns = t->batch, at = t->depth + t->n / 2;
    double experts = m->experts;
    uint64_t kv = 0, state = 0;

    if (t->kind != BENCH_DECODE)
        return 0;
    /* Which of the experts are used by any of the columns, by chance. */
    if (m->config.experts > 0)
        experts *= 1 - pow(1 - (double)m->config.experts_used /
                                   (double)m->config.experts,
                           columns);
    if (!m->k || !m->v ||
        !gguf_kv_bytes(&kv, &state, &m->config, at, m->k, m->v))
        return 0;
    return (m->dense + experts + m->head) / columns + (double)(kv + state);
}

double bench_model_products(const struct bench_model *m,
                            const struct bench_test *t)
{
    if (t->kind != BENCH_PREFILL || !(m->products > 0))
        return 0;
    return 2 * (m->products + m->head_products / t->prompt);
}
