/* SPDX-License-Identifier: MIT
 * ngram.c - what followed the same tokens before: in the sequence itself, or
 * in a fixed text. */
#include <stdlib.h>
#include <string.h>

#include "draft/draft.h"
#include "draft/repeats.h"

/* What stands between texts, and what of the old one is said again. */
enum { BREAK = -1, AGAIN = 32 };

struct source {
    struct drafter d;
    struct repeats *fixed; /* NULL: each sequence has its own */
    char *name;
    size_t least;
};

struct lookup {
    struct source *from;
    struct repeats *own;
    struct repeats_place place;
    int seen;  /* tokens of the sequence so far */
    size_t at; /* of the next guess */
    size_t n;  /* tokens that led there */
};

static int lookup_open(void **out, struct drafter *d, uint64_t number,
                       const void *request, struct err *e)
{
    struct lookup *l = calloc(1, sizeof *l);

    (void)number;
    (void)request;
    if (!l)
        return err_nomem(e);
    l->from = (struct source *)d;
    if (!l->from->fixed && !(l->own = repeats_new())) {
        free(l);
        return err_nomem(e);
    }
    *out = l;
    return 0;
}

static void lookup_close(void *seq)
{
    struct lookup *l = seq;

    repeats_free(l->own);
    free(l);
}

static int see(struct lookup *l, int32_t t, struct err *e)
{
    if (l->own)
        return repeats_add(l->own, t) ? err_nomem(e) : 0;
    repeats_follow(l->from->fixed, &l->place, t);
    return 0;
}

static int lookup_begin(void *seq, const int32_t *t, int n, int same,
                        double worth, struct err *e)
{
    struct lookup *l = seq;

    (void)worth;
    /* Tokens were taken back.  What they were may stay; here begins another
     * text. */
    if (same < l->seen) {
        if (see(l, BREAK, e))
            return -1;
        l->seen = same < AGAIN ? 0 : same - AGAIN;
    }
    for (; l->seen < n; l->seen++)
        if (see(l, t[l->seen], e))
            return -1;
    if (l->own) {
        l->n = repeats_last(l->own, &l->at);
    } else {
        l->n = l->place.n;
        l->at = repeats_next(l->from->fixed, &l->place);
    }
    if (l->n < l->from->least)
        l->n = 0;
    return 0;
}

/* The more tokens lead there, the surer it is. */
static int lookup_next(void *seq, struct draft_token *g, struct err *e)
{
    struct lookup *l = seq;
    const struct repeats *r = l->own ? l->own : l->from->fixed;
    size_t n;
    const int32_t *text = repeats_text(r, &n);

    (void)e;
    if (!l->n || l->at >= n || text[l->at] == BREAK)
        return 0;
    *g = (struct draft_token){
        text[l->at], l->n < DRAFT_CLASSES ? (int)l->n : DRAFT_CLASSES - 1};
    l->at++;
    l->n++;
    return 1;
}

static void source_free(struct drafter *d)
{
    struct source *s = (struct source *)d;

    repeats_free(s->fixed);
    free(s->name);
    free(s);
}

static struct source *source_new(int least, struct err *e)
{
    struct source *s = calloc(1, sizeof *s);

    if (!s) {
        err_nomem(e);
        return NULL;
    }
    s->least = (size_t)least;
    s->d = (struct drafter){.name = "ngram",
                            .cost = DRAFT_FREE,
                            .open = lookup_open,
                            .begin = lookup_begin,
                            .next = lookup_next,
                            .close = lookup_close,
                            .free = source_free};
    for (int i = 0; i < DRAFT_CLASSES; i++)
        s->d.prior[i] = 0.9f - 1.2f / (float)(i + 2);
    return s;
}

struct drafter *draft_ngram(int least, struct err *e)
{
    struct source *s = source_new(least, e);

    return s ? &s->d : NULL;
}

struct drafter *draft_corpus(const char *name, const int32_t *t, size_t n,
                             int least, struct err *e)
{
    struct source *s = source_new(least, e);
    size_t len = strlen(name) + 1;
    bool good;

    if (!s)
        return NULL;
    s->name = malloc(len);
    s->fixed = repeats_new();
    good = s->name && s->fixed;
    for (size_t i = 0; good && i < n; i++)
        good = !repeats_add(s->fixed, t[i]);
    if (!good) {
        source_free(&s->d);
        err_nomem(e);
        return NULL;
    }
    memcpy(s->name, name, len);
    s->d.name = s->name;
    return &s->d;
}
