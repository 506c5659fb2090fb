/* SPDX-License-Identifier: MIT
 * mkhf.h - a small folder as Hugging Face has them, of any model in the
 * tables of lib/convert: sizes are fixed, weights follow from a seed. */
#ifndef LLM_TESTS_MKHF_H
#define LLM_TESTS_MKHF_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/newfile.h"
#include "base/num.h"
#include "base/rng.h"
#include "convert/table.h"
#include "safetensors/write.h"

struct mkhf {
    const char *dir;
    const struct convert_model *m;
    enum safetensors_dtype dtype; /* F32, F16 or BF16 */
    int shards;
    bool fused;                /* of several names the last */
    int layers, embedding, ff; /* 0: small */
    int size[128];
};

static void mkhf_die(const char *what)
{
    fprintf(stderr, "mkhf: %s\n", what);
    exit(1);
}

static void mkhf_save(const struct mkhf *k, const char *name, const void *p,
                      size_t n)
{
    char path[512];
    struct newfile *f;
    struct err e = {0};

    snprintf(path, sizeof path, "%s/%s", k->dir, name);
    if (newfile_open(&f, path, &e) || newfile_put(f, 0, p, n, &e) ||
        newfile_close(f, &e))
        mkhf_die(e.msg);
}

static void mkhf_save_json(const struct mkhf *k, const char *name, json_t *j)
{
    char *s = json_dumps(j, JSON_INDENT(2));

    if (!s)
        mkhf_die("out of memory");
    mkhf_save(k, name, s, strlen(s));
    free(s);
    json_decref(j);
}

/* ---- config.json ---- */

static void mkhf_sizes(struct mkhf *k)
{
    static const struct {
        char letter;
        int n;
    } sizes[] = {{'D', 32}, {'L', 4},   {'A', 4},   {'B', 2}, {'H', 8},
                 {'F', 64}, {'V', 300}, {'P', 128}, {'T', 2}, {'E', 4},
                 {'X', 2},  {'M', 16},  {'S', 24},  {'1', 1}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        k->size[(int)sizes[i].letter] = sizes[i].n;
    for (size_t i = 0; k->m->keys[i]; i++)
        for (const struct convert_key *r = k->m->keys[i];
             r->config || r->key || r->letter; r++) {
            if (r->kind == CONVERT_FLAG)
                k->size[(int)r->letter] = r->def > 0;
            else if (r->kind == CONVERT_NOT)
                k->size[(int)r->letter] = !(r->def > 0);
            else if (r->letter == 'B' && !r->config)
                k->size['B'] = k->size['A'];
            else if (r->letter == 'T' && !r->config)
                k->size['T'] = (int)r->def;
        }
    k->size['Q'] = k->size['A'] * k->size['H'];
    k->size['K'] = k->size['B'] * k->size['H'];
    k->size['W'] = k->size['Q'] + 2 * k->size['K'];
    k->size['U'] = 2 * k->size['F'];
    k->size['N'] = 2 * k->size['M'];
}

static json_t *mkhf_value(const struct mkhf *k, const struct convert_key *r)
{
    switch (r->kind) {
    case CONVERT_U32:
        return json_integer(r->letter ? k->size[(int)r->letter] : 2);
    case CONVERT_F32:
        return json_real(r->def);
    case CONVERT_ROOT:
        return json_integer(k->size['H']);
    case CONVERT_CAP:
        return r->def > 0 ? json_real(r->def) : json_null();
    default:
        return json_boolean(r->def > 0);
    }
}

static void mkhf_config(const struct mkhf *k)
{
    json_t *j = json_object();
    char name[64];

    json_object_set_new(j, "model_type", json_string(k->m->type));
    snprintf(name, sizeof name, "%.*s", (int)strcspn(k->m->classes, "|"),
             k->m->classes);
    json_object_set_new(j, "architectures", json_pack("[s]", name));
    for (size_t i = 0; k->m->keys[i]; i++)
        for (const struct convert_key *r = k->m->keys[i];
             r->config || r->key || r->letter; r++)
            if (r->config) {
                snprintf(name, sizeof name, "%.*s",
                         (int)strcspn(r->config, "|"), r->config);
                json_object_set_new(j, name, mkhf_value(k, r));
            }
    if (k->m->theta > 0)
        json_object_set_new(j, "rope_theta", json_real(k->m->theta));
    if (k->m->window > 0)
        json_object_set_new(j, "sliding_window", json_integer(16));
    if (k->m->flags & CONVERT_BOTH_WAYS)
        json_object_set_new(j, "use_bidirectional_attention", json_true());
    json_object_set_new(j, "bos_token_id", json_integer(256));
    json_object_set_new(j, "eos_token_id", json_integer(257));
    json_object_set_new(j, "pad_token_id", json_integer(1));
    mkhf_save_json(k, "config.json", j);
}

/* ---- tokenizer.json: bytes, as GPT-2 spells them ---- */

static void mkhf_tokenizer(const struct mkhf *k)
{
    static const char *const special[] = {"<s>", "</s>"};
    json_t *vocab = json_object(), *added = json_array();
    int other = 256;

    for (int c = 0; c < 256; c++) {
        bool shown = (c > 32 && c < 127) || (c > 160 && c != 173);
        int cp = shown ? c : other++;
        char s[3] = {(char)cp, 0, 0};

        if (cp >= 128) {
            s[0] = (char)(0xc0 | cp >> 6);
            s[1] = (char)(0x80 | (cp & 63));
        }
        json_object_set_new(vocab, s, json_integer(c));
    }
    for (int i = 0; i < 2; i++) {
        json_object_set_new(vocab, special[i], json_integer(256 + i));
        json_array_append_new(
            added, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", 256 + i,
                             "content", special[i], "single_word", 0, "lstrip",
                             0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    mkhf_save_json(
        k, "tokenizer.json",
        json_pack("{s:s,s:o,s:n,s:{s:s,s:b,s:b,s:b},s:n,s:{s:s},"
                  "s:{s:s,s:n,s:n,s:n,s:n,s:b,s:b,s:o,s:[]}}",
                  "version", "1.0", "added_tokens", added, "normalizer",
                  "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0,
                  "trim_offsets", 1, "use_regex", 1, "post_processor",
                  "decoder", "type", "ByteLevel", "model", "type", "BPE",
                  "dropout", "unk_token", "continuing_subword_prefix",
                  "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                  "vocab", vocab, "merges"));
    mkhf_save_json(
        k, "tokenizer_config.json",
        json_pack("{s:s,s:s}", "bos_token", "<s>", "eos_token", "</s>"));
}

/* ---- weights ---- */

struct mkhf_tensor {
    char name[128];
    int ndim;
    uint64_t shape[4], n;
};

struct mkhf_list {
    struct mkhf_tensor *t;
    size_t n;
};

static void mkhf_add(struct mkhf_list *l, const struct mkhf *k,
                     const struct convert_name *r, int layer, int expert)
{
    struct mkhf_tensor *t = realloc(l->t, (l->n + 1) * sizeof *t);
    const char *p = r->hf;
    size_t at;
    bool first = true;

    if (!t)
        mkhf_die("out of memory");
    l->t = t;
    t += l->n;
    *t = (struct mkhf_tensor){.n = 1};
    at = r->flags & CONVERT_TOP ? 0 : strcspn(k->m->prefix, "|");
    memcpy(t->name, k->m->prefix, at);
    for (; *p && at < 100; p++)
        if (p[0] == '%' && p[1] == 'd') {
            at += (size_t)snprintf(t->name + at, 20, "%d",
                                   first ? layer : expert);
            first = false;
            p++;
        } else {
            t->name[at++] = *p;
        }
    t->name[at] = 0;
    t->ndim = (int)strlen(r->shape);
    for (int i = 0; i < t->ndim; i++) {
        t->shape[i] = (uint64_t)k->size[(int)r->shape[i]];
        t->n *= t->shape[i];
    }
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->t[i].name, t->name))
            return; /* both halves are of it */
    l->n++;
}

/* The tensors of all rows that this model has. */
static void mkhf_names(struct mkhf_list *l, const struct mkhf *k)
{
    for (size_t i = 0; k->m->names[i]; i++)
        for (const struct convert_name *r = k->m->names[i]; r->hf; r++) {
            bool layers = strstr(r->gguf, "%d"), more;
            const struct convert_name *use = r;

            do {
                more = r[1].hf && !strcmp(r[1].gguf, use->gguf);
                r += more;
            } while (more);
            use = k->fused ? r : use;
            if (use->when && !k->size[(int)use->when])
                continue;
            for (int y = 0; y < (layers ? k->size['L'] : 1); y++)
                for (int x = 0;
                     x < (use->change == CONVERT_STACK ? k->size['E'] : 1); x++)
                    if (y || !(use->flags & CONVERT_LATER))
                        mkhf_add(l, k, use, y, x);
        }
}

/* Element I of tensor NAME, before its type. */
static float mkhf_element(const char *name, uint64_t i)
{
    uint64_t h = 1469598103934665603u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (float)(rng_unit(11, h, i) - 0.5);
}

/* Rounded to even. */
static uint16_t mkhf_bf16(float f)
{
    uint32_t u;

    memcpy(&u, &f, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static void mkhf_bytes(struct buf *b, const struct mkhf *k,
                       const struct mkhf_tensor *t)
{
    size_t each = safetensors_dtype_size(k->dtype);
    unsigned char *p = buf_add(b, (size_t)t->n * each);

    if (!p)
        mkhf_die("out of memory");
    for (uint64_t i = 0; i < t->n; i++, p += each) {
        float f = mkhf_element(t->name, i);
        uint32_t u;

        if (k->dtype == SAFETENSORS_F32) {
            memcpy(&u, &f, 4);
            wr_u32(p, u);
        } else if (k->dtype == SAFETENSORS_BF16) {
            wr_u16(p, mkhf_bf16(f));
        } else { /* of ten bits, so that it is exact */
            int m = (int)(f * 1024), e = 25;
            uint16_t sign = m < 0 ? 0x8000 : 0;

            m = m < 0 ? -m : m;
            while (m && m < 1024) {
                m <<= 1;
                e--;
            }
            wr_u16(p,
                   m ? (uint16_t)(sign | (e - 10) << 10 | (m & 1023)) : sign);
        }
    }
}

static void mkhf_shard(const struct mkhf *k, const struct mkhf_list *l,
                       int shard, json_t *map)
{
    struct safetensors_out o = {0};
    struct buf head = {0}, data = {0};
    char name[64] = "model.safetensors";
    struct err e = {0};

    if (k->shards > 1)
        snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", shard + 1,
                 k->shards);
    for (size_t i = 0; i < l->n; i++) {
        const struct mkhf_tensor *t = &l->t[i];

        if ((int)(i % (size_t)k->shards) != shard)
            continue;
        safetensors_put(&o, t->name, k->dtype, t->ndim, t->shape);
        mkhf_bytes(&data, k, t);
        json_object_set_new(map, t->name, json_string(name));
    }
    if (safetensors_head(&head, &o, &e))
        mkhf_die(e.msg);
    buf_put(&head, data.p, data.n);
    if (buf_ok(&head, &e))
        mkhf_die(e.msg);
    mkhf_save(k, name, head.p, head.n);
    buf_free(&head);
    buf_free(&data);
    safetensors_fini(&o);
}

/* The whole folder, which need not be there. */
static void mkhf_folder(struct mkhf *k)
{
    struct mkhf_list l = {0};
    json_t *map = json_object();

    mkdir(k->dir, 0777);
    k->shards = k->shards ? k->shards : 1;
    mkhf_sizes(k);
    mkhf_config(k);
    mkhf_tokenizer(k);
    mkhf_names(&l, k);
    for (int i = 0; i < k->shards; i++)
        mkhf_shard(k, &l, i, map);
    if (k->shards > 1)
        mkhf_save_json(k, "model.safetensors.index.json",
                       json_pack("{s:{},s:O}", "metadata", "weight_map", map));
    json_decref(map);
    free(l.t);
}

#endif
