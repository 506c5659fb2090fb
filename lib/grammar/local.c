/* SPDX-License-Identifier: MIT */
#include "grammar/local.h"

#include <stdlib.h>
#include <string.h>

/* Where a walk down the trie is, by depth. */
struct at {
    uint32_t place, times, end; /* END: the node behind all below */
    uint32_t exits;             /* ends of the terminal so far */
};

struct exit {
    uint32_t depth, times;
};

struct walk {
    const struct grammar *g;
    const struct grammar_trie *t;
    uint32_t again;
    struct at *at;
    struct exit *exit;
    uint32_t (*row)[256]; /* where places go, of those met last */
    uint32_t of_row[64];
    struct buf stay;  /* pairs: id, need */
    struct buf leave; /* struct leaving */
};

struct leaving {
    uint32_t times;
    struct grammar_text text;
};

static uint32_t next(struct walk *w, uint32_t p, uint8_t byte)
{
    uint32_t slot = p % 64;

    if (w->of_row[slot] != p) {
        uint32_t n;
        const struct edge *e = machine_edges(&w->g->m, p, &n);

        w->of_row[slot] = p;
        memset(w->row[slot], 0xff, sizeof w->row[slot]);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t b = e[i].first; b <= e[i].last; b++)
                w->row[slot][b] = e[i].to;
    }
    return w->row[slot][byte];
}

/* All below node I leave, at each end of the terminal on the way. */
static void leaves(struct walk *w, uint32_t i, uint32_t exits)
{
    const struct grammar_vocab *v = w->g->v;

    if (!exits)
        return;
    for (uint32_t k = w->t->at[i]; k < w->t->at[w->t->skip[i]]; k++)
        for (uint32_t x = 0; x < exits; x++) {
            uint32_t id = w->t->id[k], from = w->exit[x].depth;
            struct leaving l = {w->exit[x].times,
                                {v->text[id] + from, v->len[id] - from, id}};

            buf_put(&w->leave, &l, sizeof l);
        }
}

static void walk(struct walk *w, uint32_t start)
{
    const struct grammar_trie *t = w->t;
    uint32_t depth = 0;

    w->at[0] = (struct at){start, 0, t->n, 0};
    for (uint32_t i = 1; i < t->n;) {
        struct at *up, *now;
        bool ends;

        while (i >= w->at[depth].end)
            depth--;
        up = &w->at[depth];
        now = up + 1;
        now->place = next(w, up->place, t->byte[i]);
        if (now->place == UNKNOWN) {
            leaves(w, i, up->exits);
            i = t->skip[i];
            continue;
        }
        ends = w->g->m.ends.p[now->place];
        now->exits = up->exits;
        now->times = up->times + (ends && w->again != UNKNOWN);
        if (ends)
            w->exit[now->exits++] = (struct exit){depth + 1, now->times};
        if (ends && w->again != UNKNOWN)
            now->place = w->again;
        now->end = t->skip[i];
        for (uint32_t k = t->at[i]; k < t->at[i + 1]; k++)
            buf_put(&w->stay,
                    (uint32_t[]){t->id[k],
                                 w->again == UNKNOWN ? 0 : now->times + !ends},
                    8);
        depth++;
        i++;
    }
}

/* ---- what was found ---- */

static int keep(struct local *l, const struct walk *w, struct err *e)
{
    const uint32_t *pair = (const uint32_t *)(const void *)w->stay.p;
    size_t n = w->stay.n / 8, words = ((size_t)w->g->v->n + 63) / 64;
    bool many = n > words / 2;
    uint32_t *at;

    for (size_t i = 0; i < n; i++)
        if (pair[2 * i + 1] > l->need)
            l->need = pair[2 * i + 1];
    l->upto = calloc((size_t)l->need + 2, sizeof *l->upto);
    if (!l->upto)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++)
        l->upto[pair[2 * i + 1]]++;
    for (uint32_t k = 1; k <= l->need; k++)
        l->upto[k] += l->upto[k - 1];
    l->memory += ((size_t)l->need + 2) * 4;
    if (many) {
        l->bits = calloc(words, sizeof *l->bits);
        if (!l->bits)
            return err_nomem(e);
        l->memory += words * sizeof *l->bits;
        for (size_t i = 0; i < n; i++)
            l->bits[pair[2 * i] / 64] |= UINT64_C(1) << pair[2 * i] % 64;
        if (!l->need)
            return 0;
    }
    l->id = malloc(n * sizeof *l->id + 1);
    at = calloc((size_t)l->need + 2, sizeof *at);
    if (!l->id || !at) {
        free(at);
        return err_nomem(e);
    }
    l->memory += n * sizeof *l->id;
    memcpy(at + 1, l->upto, ((size_t)l->need + 1) * sizeof *at);
    for (size_t i = 0; i < n; i++)
        l->id[at[pair[2 * i + 1]]++] = pair[2 * i];
    free(at);
    return 0;
}

static int by_times(const void *a, const void *b)
{
    const struct leaving *x = a, *y = b;

    return x->times < y->times ? -1 : x->times > y->times;
}

static int ways(struct local *l, const struct walk *w, struct err *e)
{
    struct leaving *x = (struct leaving *)(void *)w->leave.p;
    size_t n = w->leave.n / sizeof *x, i = 0, k;
    struct grammar_text *text = malloc(n * sizeof *text + 1);
    int rc = text ? 0 : err_nomem(e);

    if (n && w->again != UNKNOWN)
        qsort(x, n, sizeof *x, by_times);
    while (i < n && !rc) {
        struct local_way *more =
            realloc(l->way, ((size_t)l->nway + 1) * sizeof *more);

        if (!more) {
            rc = err_nomem(e);
            break;
        }
        l->way = more;
        more += l->nway;
        more->times = x[i].times;
        for (k = 0; i < n && x[i].times == more->times; i++)
            text[k++] = x[i].text;
        rc = grammar_trie_new(&more->rest, text, k, e);
        if (!rc) {
            l->memory += more->rest->memory + sizeof *more;
            l->nway++;
        }
    }
    free(text);
    return rc;
}

void local_free(struct local *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->nway; i++)
        grammar_trie_free(l->way[i].rest);
    free(l->way);
    free(l->upto);
    free(l->id);
    free(l->bits);
    free(l);
}

struct local *local_new(const struct grammar *g, uint32_t p, uint32_t again,
                        struct err *e)
{
    struct walk w = {.g = g, .t = g->trie, .again = again};
    struct local *l = calloc(1, sizeof *l);
    size_t depth = (size_t)g->trie->depth + 2;
    int rc = -1;

    w.at = malloc(depth * sizeof *w.at);
    w.exit = malloc(depth * sizeof *w.exit);
    w.row = malloc(64 * sizeof *w.row);
    memset(w.of_row, 0xff, sizeof w.of_row);
    if (!l || !w.at || !w.exit || !w.row) {
        err_nomem(e);
    } else {
        l->memory = sizeof *l;
        walk(&w, p);
        if (!buf_ok(&w.stay, e) && !buf_ok(&w.leave, e))
            rc = keep(l, &w, e) || ways(l, &w, e);
    }
    free(w.at);
    free(w.exit);
    free(w.row);
    buf_free(&w.stay);
    buf_free(&w.leave);
    if (!rc)
        return l;
    local_free(l);
    return NULL;
}
