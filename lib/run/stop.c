/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include <stdlib.h>
#include <string.h>

#include "grammar/grammar.h"

/* Sets that are copied share it. */
struct stop_regex {
    struct grammar *g;
    int refs;
};

static int add(struct stop_set *s, const void *p, size_t n, struct err *e)
{
    struct stop_string *v;
    char *copy;

    v = realloc(s->v, ((size_t)s->n + 1) * sizeof *v);
    if (!v)
        return err_nomem(e);
    s->v = v;
    copy = malloc(n);
    if (!copy)
        return err_nomem(e);
    memcpy(copy, p, n);
    v[s->n++] = (struct stop_string){copy, n, NULL};
    return 0;
}

int stop_add(struct stop_set *s, const void *p, size_t n, struct err *e)
{
    if (!n)
        return err_set(e, ERR_USAGE, "a text is empty");
    return add(s, p, n, e);
}

static void let_go(struct stop_regex *re)
{
    if (re && !--re->refs) {
        grammar_free(re->g);
        free(re);
    }
}

int stop_add_regex(struct stop_set *s, const void *p, size_t n, struct err *e)
{
    struct stop_regex *re = calloc(1, sizeof *re);

    if (!re)
        return err_nomem(e);
    re->refs = 1;
    if (grammar_regex_part(&re->g, p, n, e)) {
        free(re);
        return -1;
    }
    if (grammar_ends(re->g, grammar_start(re->g))) {
        let_go(re);
        return err_set(e, ERR_USAGE, "'%.*s' matches the empty text",
                       n < 64 ? (int)n : 64, (const char *)p);
    }
    if (add(s, p, n, e)) {
        let_go(re);
        return -1;
    }
    s->v[s->n - 1].re = re;
    return 0;
}

int stop_copy(struct stop_set *to, const struct stop_set *from, struct err *e)
{
    for (int i = 0; i < from->n; i++) {
        const struct stop_string *v = &from->v[i];

        if (add(to, v->p, v->n, e))
            return -1;
        if (v->re)
            v->re->refs++;
        to->v[to->n - 1].re = v->re;
    }
    return 0;
}

void stop_free(struct stop_set *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->v[i].p);
        let_go(s->v[i].re);
    }
    free(s->v);
    *s = (struct stop_set){0};
}

/* How much of TEXT[N] is V; 0: its beginning is none, and *MAY is set if it may
 * become one with more behind it. */
static size_t match(const struct stop_string *v, const char *text, size_t n,
                    bool *may)
{
    uint32_t at;

    if (!v->re) {
        size_t have = n < v->n ? n : v->n;

        if (text[0] != v->p[0] || memcmp(text, v->p, have))
            return 0;
        *may |= have < v->n;
        return have < v->n ? 0 : v->n;
    }
    at = grammar_start(v->re->g);
    for (size_t i = 0; i < n; i++) {
        at = grammar_byte(v->re->g, at, (uint8_t)text[i]);
        if (at == GRAMMAR_DEAD || at == GRAMMAR_FULL)
            return 0;
        if (grammar_ends(v->re->g, at))
            return i + 1;
    }
    *may = true;
    return 0;
}

/* The text that is held back is one that may become a stop string, and a token:
 * comparing at each place is quick enough. */
size_t stop_scan(const struct stop_set *s, const char *text, size_t n,
                 bool more, int *hit)
{
    *hit = -1;
    for (size_t at = 0; at < n; at++) {
        bool may = false;
        size_t longest = 0;

        for (int i = 0; i < s->n; i++) {
            size_t len = match(&s->v[i], text + at, n - at, &may);

            if (len > longest) {
                longest = len;
                *hit = i;
            }
        }
        if (*hit >= 0 || (may && more))
            return at;
    }
    return n;
}
