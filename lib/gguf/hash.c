/* SPDX-License-Identifier: MIT */
#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include "gguf/hash.h"

#include <string.h>
#include <xxhash.h>

#include "gguf/gguf_impl.h"

enum { SAMPLE = 4096 };

static void digest(char hex[33], XXH128_hash_t h)
{
    static const char digit[] = "0123456789abcdef";
    XXH128_canonical_t c;

    XXH128_canonicalFromHash(&c, h);
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digit[c.digest[i] >> 4];
        hex[2 * i + 1] = digit[c.digest[i] & 15];
    }
    hex[32] = 0;
}

static void put_u64(XXH3_state_t *x, uint64_t v)
{
    unsigned char b[8];

    wr_u64(b, v);
    XXH3_128bits_update(x, b, 8);
}

static void put_str(XXH3_state_t *x, struct gguf_str s)
{
    put_u64(x, s.n);
    XXH3_128bits_update(x, s.p, s.n);
}

static void put_val(XXH3_state_t *x, const struct gguf_val *v)
{
    put_str(x, v->key);
    put_u64(x, v->type);
    put_u64(x, v->elem);
    put_u64(x, v->n);
    put_u64(x, v->bytes);
    XXH3_128bits_update(x, v->p, v->bytes);
}

static void put_shape(XXH3_state_t *x, const struct gguf_tensor *t)
{
    put_str(x, t->name);
    put_u64(x, t->type);
    for (int i = 0; i < GGUF_MAX_DIMS; i++)
        put_u64(x, t->ne[i]);
}

static bool starts(struct gguf_str s, const char *with)
{
    return s.n >= strlen(with) && !memcmp(s.p, with, strlen(with));
}

static bool has_tail(struct gguf_str s, const char *with)
{
    size_t n = strlen(with);

    return s.n >= n && !memcmp(s.p + s.n - n, with, n);
}

bool gguf_layout_key(struct gguf_str key)
{
    return starts(key, "split.") ||
           (key.n == 17 && starts(key, "general.alignment")) ||
           (key.n == strlen(GGUF_PADDING) && starts(key, GGUF_PADDING));
}

static void put_metadata(XXH3_state_t *x, const struct gguf *g)
{
    const struct shard *s = &g->shard[0];

    for (size_t i = 0; i < s->pub.nkey; i++)
        if (!gguf_layout_key(s->by_name[i]->key))
            put_val(x, s->by_name[i]);
}

/* Metadata and tensors, each of these by its hash in TENSOR, or, when that is
 * NULL, by how it begins. */
void gguf_whole_hash(char hex[33], const struct gguf *g,
                     const char (*tensor)[33])
{
    XXH3_state_t x;

    XXH3_INITSTATE(&x);
    XXH3_128bits_reset(&x);
    put_metadata(&x, g);
    for (size_t i = 0; i < g->ntensor; i++) {
        const struct gguf_tensor *t = g->by_name[i];

        put_shape(&x, t);
        if (tensor)
            XXH3_128bits_update(&x, tensor[t - g->tensor], 32);
        else
            XXH3_128bits_update(&x, t->p,
                                t->bytes < SAMPLE ? t->bytes : SAMPLE);
    }
    digest(hex, XXH3_128bits_digest(&x));
}

void gguf_model_id(char hex[33], const struct gguf *g)
{
    gguf_whole_hash(hex, g, NULL);
}

/* Does KEY decide what ids a text becomes, those aside that are put around
 * them? */
static bool is_vocab(struct gguf_str key)
{
    static const char unknown[] = "tokenizer.ggml.unknown_token_id";
    static const char *const out[] = {
        "_token_id",      "_token_ids",     ".add_bos_token",
        ".add_eos_token", ".add_sep_token", ".suppress_tokens",
        ".chat_template",
    };

    if (!starts(key, "tokenizer.ggml."))
        return false;
    if (key.n == sizeof unknown - 1 && starts(key, unknown))
        return true;
    for (size_t k = 0; k < sizeof out / sizeof *out; k++)
        if (has_tail(key, out[k]))
            return false;
    return true;
}

void gguf_vocab_id(char hex[33], const struct gguf *g)
{
    const struct shard *s = &g->shard[0];
    XXH3_state_t x;

    XXH3_INITSTATE(&x);
    XXH3_128bits_reset(&x);
    for (size_t i = 0; i < s->pub.nkey; i++)
        if (is_vocab(s->by_name[i]->key))
            put_val(&x, s->by_name[i]);
    digest(hex, XXH3_128bits_digest(&x));
}

void gguf_tensor_hash(char hex[33], const struct gguf_tensor *t)
{
    digest(hex, XXH3_128bits(t->p, t->bytes));
}
