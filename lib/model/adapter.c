/* SPDX-License-Identifier: MIT */
#include "model/adapter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct adapter {
    const struct gguf *g;
    double alpha;
    char id[33];
};

enum { SUFFIX = 7, MOST_NAME = 96 };

int adapter_part(struct gguf_str *base, const struct gguf_tensor *t)
{
    const char *end = t->name.p + t->name.n - SUFFIX;

    if (t->name.n <= SUFFIX || memcmp(end, ".lora_", SUFFIX - 1) ||
        (end[SUFFIX - 1] != 'a' && end[SUFFIX - 1] != 'b'))
        return 0;
    *base = (struct gguf_str){t->name.p, t->name.n - SUFFIX};
    return end[SUFFIX - 1];
}

static int shown(const struct gguf_str *s)
{
    return s->n > 80 ? 80 : (int)s->n;
}

/* KEY must be WORD. */
static int must_be(const struct gguf *g, const char *key, const char *word,
                   struct err *e)
{
    struct gguf_str s;
    int r = gguf_get_str(&s, g, key, e);

    if (r < 0)
        return -1;
    if (!r)
        return err_set(e, ERR_FORMAT, "%s: no adapter: key '%s' is missing",
                       gguf_path(g), key);
    if (s.n == strlen(word) && !memcmp(s.p, word, s.n))
        return 0;
    return err_set(e, ERR_UNSUPPORTED, "%s: key '%s' is '%.*s', not '%s'",
                   gguf_path(g), key, shown(&s), s.p, word);
}

static int check_keys(struct adapter *a, struct err *e)
{
    /* The last two say what it is good for. */
    static const char *const known[] = {"adapter.type", "adapter.lora.alpha",
                                        "adapter.lora.task_name",
                                        "adapter.lora.prompt_prefix"};
    const struct gguf *g = a->g;

    if (must_be(g, "general.type", "adapter", e) ||
        must_be(g, "adapter.type", "lora", e))
        return -1;
    for (size_t i = 0; i < gguf_nkey(g); i++) {
        struct gguf_str k = gguf_key_at(g, i)->key;
        bool good = k.n < 8 || memcmp(k.p, "adapter.", 8) != 0;

        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            good |= k.n == strlen(known[j]) && !memcmp(k.p, known[j], k.n);
        if (!good)
            return err_set(e, ERR_UNSUPPORTED,
                           "%s: key '%.*s' is not supported", gguf_path(g),
                           shown(&k), k.p);
    }
    if (gguf_get_float(&a->alpha, g, "adapter.lora.alpha", e) < 0)
        return err_prefix(e, "%s", gguf_path(g));
    if (!isfinite(a->alpha) || fabs(a->alpha) > 1e9)
        return err_set(e, ERR_FORMAT, "%s: key 'adapter.lora.alpha' is %g",
                       gguf_path(g), a->alpha);
    return 0;
}

static int check_pair(const struct gguf *g, const struct gguf_tensor *t,
                      struct err *e)
{
    struct gguf_str base;
    char name[MOST_NAME + SUFFIX + 1];
    const struct gguf_tensor *other;
    int part = adapter_part(&base, t), n = shown(&t->name);

    if (!part)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: tensor '%.*s' is neither .lora_a nor .lora_b",
                       gguf_path(g), n, t->name.p);
    if (base.n > MOST_NAME || memchr(base.p, 0, base.n))
        return err_set(e, ERR_FORMAT, "%s: tensor '%.*s': impossible name",
                       gguf_path(g), n, t->name.p);
    if (t->ne[2] != 1 || t->ne[3] != 1)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: tensor '%.*s' adapts experts, which is not "
                       "supported",
                       gguf_path(g), n, t->name.p);
    snprintf(name, sizeof name, "%.*s.lora_%c", (int)base.n, base.p,
             part == 'a' ? 'b' : 'a');
    other = gguf_tensor(g, name);
    if (!other)
        return err_set(e, ERR_FORMAT, "%s: tensor '%s' is missing",
                       gguf_path(g), name);
    if (part == 'a' && t->ne[1] != other->ne[0])
        return err_set(e, ERR_FORMAT, "%s: tensor '%s': rank %llu, but %llu",
                       gguf_path(g), name, (unsigned long long)other->ne[0],
                       (unsigned long long)t->ne[1]);
    return 0;
}

/* Not of samples, as a model's: all of it is read anyway. */
static int make_id(struct adapter *a, struct err *e)
{
    XXH3_state_t *h = XXH3_createState();
    XXH128_canonical_t c;

    if (!h)
        return err_nomem(e);
    gguf_model_id(a->id, a->g);
    XXH3_128bits_reset(h);
    XXH3_128bits_update(h, a->id, 32);
    for (size_t i = 0; i < gguf_ntensor(a->g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(a->g, i);

        XXH3_128bits_update(h, t->name.p, t->name.n);
        XXH3_128bits_update(h, t->p, t->bytes);
    }
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h));
    XXH3_freeState(h);
    for (int i = 0; i < 16; i++)
        snprintf(a->id + 2 * i, 3, "%02x", c.digest[i]);
    return 0;
}

static int check(struct adapter *a, struct err *e)
{
    if (check_keys(a, e))
        return -1;
    if (!gguf_ntensor(a->g))
        return err_set(e, ERR_FORMAT, "%s: an adapter without tensors",
                       gguf_path(a->g));
    for (size_t i = 0; i < gguf_ntensor(a->g); i++)
        if (check_pair(a->g, gguf_tensor_at(a->g, i), e))
            return -1;
    return make_id(a, e);
}

int adapter_open(struct adapter **out, const struct gguf *g, struct err *e)
{
    struct adapter *a = calloc(1, sizeof *a);

    *out = NULL;
    if (!a)
        return err_nomem(e);
    a->g = g;
    if (check(a, e)) {
        free(a);
        return -1;
    }
    *out = a;
    return 0;
}

void adapter_close(struct adapter *a)
{
    free(a);
}

const struct gguf *adapter_gguf(const struct adapter *a)
{
    return a->g;
}

const char *adapter_id(const struct adapter *a)
{
    return a->id;
}

double adapter_alpha(const struct adapter *a)
{
    return a->alpha;
}
