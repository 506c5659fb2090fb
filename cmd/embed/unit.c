/* SPDX-License-Identifier: MIT
 * unit.c - texts and pairs as tokens that run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/progress.h"
#include "cmd/embed/embed.h"

struct gguf_str json_text(const json_t *s)
{
    return (struct gguf_str){json_string_value(s), json_string_length(s)};
}

void unit_free(struct unit *u)
{
    free(u->job.v);
    free(u->type);
    tok_ids_free(&u->ids);
}

static int most(const struct program *p)
{
    return p->truncate ? model_context(p->load.model) : INT32_MAX;
}

/* Leave N of IDS, of which there are more, and what stands at their end. */
static void cut(const struct program *p, int32_t *ids, int was, int n)
{
    int32_t last = ids[was - 1];

    if (last == tok_role(p->load.tok, TOK_EOS) ||
        last == tok_role(p->load.tok, TOK_SEP))
        ids[n - 1] = last;
}

void unit_tokens(struct program *p, struct item *it, struct unit *u,
                 int32_t *ids, int n)
{
    if (n > most(p)) {
        cut(p, ids, n, most(p));
        n = most(p);
    }
    u->item = it;
    u->job = (struct embed_job){.tok = ids, .type = u->type, .n = n, .data = u};
    it->left++;
    embed_add(p->embed, &u->job);
}

static int run(struct program *p, struct item *it, struct unit *u,
               struct err *e)
{
    if (!u->ids.n)
        return err_set(e, ERR_FORMAT, "there are no tokens to embed");
    if (u->ids.n > INT32_MAX / 4)
        return err_set(e, ERR_FORMAT, "too many tokens");
    unit_tokens(p, it, u, (int32_t *)u->ids.p, (int)u->ids.n);
    return 0;
}

int unit_text(struct program *p, struct item *it, struct unit *u,
              struct gguf_str prefix, struct gguf_str text, struct err *e)
{
    struct buf b = {0};
    int rc;

    if (!prefix.n) {
        rc = tok_encode(p->enc, &u->ids, text.p, text.n, e);
    } else {
        buf_put(&b, prefix.p, prefix.n);
        buf_put(&b, text.p, text.n);
        rc = buf_ok(&b, e) || tok_encode(p->enc, &u->ids, b.p, b.n, e);
    }
    buf_free(&b);
    return rc ? -1 : run(p, it, u, e);
}

/* ---- pairs ---- */

/* Append S, whose spellings of control tokens are text where PLAIN. */
static void put(struct buf *text, struct buf *marks, struct gguf_str s,
                bool plain)
{
    void *m = buf_add(marks, s.n);

    buf_put(text, s.p, s.n);
    if (m)
        memset(m, plain, s.n);
}

static int by_pattern(struct program *p, struct unit *u, struct gguf_str query,
                      struct gguf_str document, struct err *e)
{
    static const char q[] = "{query}", d[] = "{document}";
    struct buf text = {0}, marks = {0};
    struct gguf_str s = p->pattern;
    int rc;

    for (size_t n; s.n; s.p += n, s.n -= n) {
        n = 1;
        if (s.n >= sizeof q - 1 && !memcmp(s.p, q, sizeof q - 1)) {
            put(&text, &marks, query, true);
            n = sizeof q - 1;
        } else if (s.n >= sizeof d - 1 && !memcmp(s.p, d, sizeof d - 1)) {
            put(&text, &marks, document, true);
            n = sizeof d - 1;
        } else {
            put(&text, &marks, (struct gguf_str){s.p, 1}, false);
        }
    }
    u->ids.n = 0;
    rc = buf_ok(&text, e) || buf_ok(&marks, e) ||
         tok_encode_spans(p->enc, &u->ids, text.p, marks.p, text.n, e);
    buf_free(&text);
    buf_free(&marks);
    return rc ? -1 : 0;
}

/* The longest beginning of the document with which it is short enough. */
static int fit_pattern(struct program *p, struct unit *u, struct gguf_str query,
                       struct gguf_str document, struct err *e)
{
    size_t fits = 0, not = document.n;

    while (fits + 1 < not ) {
        size_t half = fits + (not -fits) / 2;

        if (by_pattern(p, u, query, (struct gguf_str){document.p, half}, e))
            return -1;
        if (u->ids.n <= (size_t)most(p))
            fits = half;
        else
            not = half;
    }
    while (fits && ((unsigned char)document.p[fits] & 0xc0) == 0x80)
        fits--;
    return by_pattern(p, u, query, (struct gguf_str){document.p, fits}, e);
}

static int by_tokens(struct program *p, struct unit *u, struct gguf_str query,
                     struct gguf_str document, struct err *e)
{
    const struct tok *t = p->load.tok;
    size_t second;

    if (!tok_adds_eos(t) && !tok_adds_sep(t))
        return err_set(e, ERR_UNSUPPORTED,
                       "%s does not say how a query and a document are joined; "
                       "--pair does",
                       gguf_path(p->load.gguf));
    if (tok_encode_pair(p->enc, &u->ids, query.p, query.n, document.p,
                        document.n, &second, e))
        return -1;
    /* Of what is cut off, nothing is the query's. */
    if (second + 1 >= (size_t)most(p))
        return err_set(e, ERR_CONTEXT,
                       "the query's %zu tokens fill the context of %d", second,
                       most(p));
    if (embed_types(p->embed) < 2)
        return 0;
    u->type = calloc(u->ids.n + 1, sizeof *u->type);
    if (!u->type)
        return err_nomem(e);
    for (size_t i = second; i < u->ids.n; i++)
        u->type[i] = 1;
    return 0;
}

int unit_pair(struct program *p, struct item *it, struct unit *u,
              struct gguf_str query, struct gguf_str document, struct err *e)
{
    if (!p->pattern.n) {
        if (by_tokens(p, u, query, document, e))
            return -1;
        return run(p, it, u, e);
    }
    if (by_pattern(p, u, query, document, e) ||
        (u->ids.n > (size_t)most(p) && fit_pattern(p, u, query, document, e)))
        return -1;
    if (u->ids.n > (size_t)most(p))
        return err_set(e, ERR_CONTEXT,
                       "the query and what stands around it are %zu tokens, "
                       "more than the context of %d",
                       u->ids.n, most(p));
    return run(p, it, u, e);
}

double unit_score(const struct program *p, const float *v)
{
    int n = embed_width(p->embed), best = -1;
    double x = (double)v[p->label], sum = 0;

    for (int i = 0; i < n; i++)
        if (i != p->label && (best < 0 || v[i] > v[best]))
            best = i;
    /* Against the others together, exact where there is one. */
    for (int i = 0; i < n && n > 2; i++)
        if (i != p->label)
            sum += exp((double)v[i] - (double)v[best]);
    if (best >= 0)
        x -= (double)v[best] + (n > 2 ? log(sum) : 0);
    return p->probabilities ? 1 / (1 + exp(-x)) : x;
}

/* ---- many at once ---- */

enum { MOST_ITEMS = 64 }; /* that wait for the first, for each that runs */

bool unit_room(const struct program *p)
{
    return embed_free_slots(p->embed) > 0 && p->queue.n < MOST_ITEMS * p->batch;
}

bool unit_busy(const struct program *p)
{
    return p->queue.n > 0;
}

int unit_step(struct program *p, struct err *e)
{
    if (embed_busy(p->embed) && embed_step(p->embed, e))
        return -1;
    load_note(&p->load);
    progress_show(p->ended, p->ended + embed_busy(p->embed));
    return queue_tell(&p->queue, p, e);
}

int unit_ended(void *arg, struct embed_job *job, const struct err *why,
               struct err *e)
{
    struct program *p = arg;
    struct unit *u = job->data;

    (void)e;
    if (why && !u->item->failed.code)
        u->item->failed = *why;
    u->item->left--;
    p->ended++;
    return 0;
}
