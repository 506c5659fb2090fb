/* SPDX-License-Identifier: MIT
 * adapt.c - the adapters of sequences: what keeps those apart that are read
 * with different ones. */
#include <stdlib.h>
#include <string.h>

#include "kv/kv_impl.h"

int kv_adapt_copy(struct kv_adapt *to, const struct kv_adapt *a, struct err *e)
{
    const char *text = kv_adapt_text(a);
    size_t n = strlen(text) + 1;
    char *words = n > 1 ? malloc(n) : NULL;
    float *scale = NULL;

    if (a->scale && a->n)
        scale = malloc((size_t)a->n * sizeof *scale);
    if ((n > 1 && !words) || (a->scale && a->n && !scale)) {
        free(words);
        free(scale);
        return err_nomem(e);
    }
    if (words)
        memcpy(words, text, n);
    if (scale)
        memcpy(scale, a->scale, (size_t)a->n * sizeof *scale);
    kv_adapt_fini(to);
    *to = (struct kv_adapt){words, scale, scale ? a->n : 0};
    return 0;
}

void kv_adapt_fini(struct kv_adapt *a)
{
    free((char *)(uintptr_t)a->text);
    free((float *)(uintptr_t)a->scale);
    *a = (struct kv_adapt){0};
}

const XXH128_hash_t *kv_salt(XXH128_hash_t *salt, const char *text)
{
    if (!*text)
        return NULL;
    *salt = XXH3_128bits(text, strlen(text));
    return salt;
}

static int adopt(struct kv_seq *s, const struct kv_adapt *a, struct err *e)
{
    /* Most have none: nothing is kept of that. */
    if ((a->text || a->scale || s->adapt.text || s->adapt.scale) &&
        kv_adapt_copy(&s->adapt, a, e))
        return -1;
    kv_salt(&s->salt, kv_adapt_text(a));
    s->foreign = false;
    return 0;
}

int kv_seq_adapt(struct kv_seq *s, const struct kv_adapt *a, struct err *e)
{
    const char *is = kv_adapt_text(&s->adapt), *wanted;

    a = a ? a : &s->kv->adapt;
    wanted = kv_adapt_text(a);
    if (s->n && strcmp(is, wanted))
        return err_set(e, ERR_FORMAT,
                       "a state read with adapters %.150s, not %.150s",
                       *is ? is : "none", *wanted ? wanted : "none");
    return adopt(s, a, e);
}

int kv_seq_loaded(struct kv_seq *s, const char *text, struct err *e)
{
    if (!strcmp(text, kv_adapt_text(&s->kv->adapt)))
        return adopt(s, &s->kv->adapt, e);
    if (adopt(s, &(struct kv_adapt){.text = text}, e))
        return -1;
    s->foreign = *text;
    return 0;
}

const float *kv_seq_scale(const struct kv_seq *s)
{
    return s->adapt.scale;
}

struct kv_seq *kv_seq_like(const struct kv_seq *s)
{
    struct kv_seq *new = kv_seq_new(s->kv);

    if (!new || adopt(new, &s->adapt, NULL)) {
        kv_seq_free(new);
        return NULL;
    }
    new->foreign = s->foreign;
    return new;
}
