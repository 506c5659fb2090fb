/* SPDX-License-Identifier: MIT
 * vector.c - one text, and its vector. */
#include <stdlib.h>
#include <string.h>

#include "cmd/embed/embed.h"
#include "embed/vector.h"

struct vector {
    struct item item; /* first */
    struct unit unit;
    uint64_t seq;
    struct prompt *prompt; /* or NULL */
    json_t *id;
    struct lora_choice lora;
    struct buf text; /* for --similar */
};

static struct vector *of(struct item *it)
{
    return (struct vector *)(void *)it;
}

static void vector_free(struct item *it)
{
    struct vector *x = of(it);

    unit_free(&x->unit);
    prompt_free(x->prompt);
    json_decref(x->id);
    lora_choice_fini(&x->lora);
    buf_free(&x->text);
    free(x);
}

/* ---- what is said ---- */

static int put_vectors(struct program *p, struct vector *x, struct err *e)
{
    const struct embed_job *job = &x->unit.job;
    size_t n = (size_t)embed_width(p->embed);
    bool each = embed_by_token(p->embed);

    for (int i = 0; i < job->rows; i++)
        if (write_vector(p, x->seq, x->id, each ? i : -1,
                         job->v + (size_t)i * n, e))
            return -1;
    return 0;
}

static int tell(struct program *p, struct item *it, struct err *e)
{
    struct vector *x = of(it);
    bool bad = it->failed.code != ERR_NONE;
    struct wire_end end = {.seq = x->seq,
                           .why = bad ? "error" : "input",
                           .ntokens = (uint64_t)x->unit.job.n};

    if (p->out && x->prompt && prompt_pass(p->out, x->prompt, e))
        return -1;
    if (bad ? queue_failure(p->out, &p->worst, x->seq, &it->failed, e)
            : put_vectors(p, x, e))
        return -1;
    return p->out ? wire_put_end(p->out, &end, e) : 0;
}

/* ---- the query of --similar, and what is compared with it ---- */

static int tell_query(struct program *p, struct item *it, struct err *e)
{
    struct vector *x = of(it);

    (void)e;
    if (it->failed.code) {
        err_prefix(&it->failed, "--similar");
        die(&it->failed); /* there is nothing to compare with */
    }
    p->query = x->unit.job.v;
    x->unit.job.v = NULL;
    return 0;
}

static int compare(struct program *p, double *score, const struct vector *x,
                   struct err *e)
{
    const struct given *g = x->prompt ? x->prompt->data : NULL;
    size_t n = (size_t)embed_width(p->embed);

    if (p->rank) {
        *score = unit_score(p, x->unit.job.v);
        return 0;
    }
    if (!g || !g->v) {
        *score = embed_cosine(p->query, x->unit.job.v, n);
        return 0;
    }
    if (g->n != n)
        return err_set(e, ERR_FORMAT, "it has %zu numbers, the query has %zu",
                       g->n, n);
    if (!embed_finite(g->v, n))
        return err_set(e, ERR_FORMAT, "its vector is not finite");
    *score = embed_cosine(p->query, g->v, n);
    return 0;
}

static int tell_similar(struct program *p, struct item *it, struct err *e)
{
    struct vector *x = of(it);
    uint64_t index = p->index++;
    double score = 0;
    json_t *id = x->id;

    if (!it->failed.code)
        compare(p, &score, x, &it->failed);
    if (it->failed.code)
        return queue_failure(p->out, &p->worst, x->seq, &it->failed, e);
    x->id = NULL;
    return ranking_add(&p->found, score, index, id, &x->text, e);
}

/* ---- where they come from ---- */

static struct vector *vector_new(struct program *p, uint64_t seq, json_t *id)
{
    struct vector *x = calloc(1, sizeof *x);

    if (!x) {
        json_decref(id);
        return NULL;
    }
    x->item.tell = p->similar.p ? tell_similar : tell;
    x->item.free = vector_free;
    x->seq = seq;
    x->id = id;
    queue_add(&p->queue, &x->item);
    return x;
}

/* What went wrong with it alone is told in its turn. */
static int outcome(struct vector *x, int rc, struct err *e)
{
    if (!rc || x->item.failed.code != ERR_NOMEM)
        return 0;
    *e = x->item.failed;
    return -1;
}

int vector_text(struct program *p, const struct gguf_str *query,
                struct gguf_str text, json_t *id, const json_t *lora,
                struct err *e)
{
    struct vector *x = vector_new(p, p->next++, id);
    struct err *mine;
    int rc;

    if (!x)
        return err_nomem(e);
    mine = &x->item.failed;
    if (p->similar.p)
        buf_put(&x->text, text.p, text.n);
    if (lora_take(&x->lora, &p->load.loras, p->load.model, lora, mine))
        rc = -1;
    else if (query)
        rc = unit_pair(p, &x->item, &x->unit, *query, text, mine);
    else if (p->similar.p && p->rank)
        rc = unit_pair(p, &x->item, &x->unit, p->similar, text, mine);
    else
        rc = unit_text(p, &x->item, &x->unit, p->prefix, text, mine);
    x->unit.job.adapt = lora_chosen(&x->lora);
    return outcome(x, rc || buf_ok(&x->text, mine), e);
}

int vector_query(struct program *p, struct err *e)
{
    struct vector *x = vector_new(p, 0, NULL);

    if (!x)
        return err_nomem(e);
    x->item.tell = tell_query;
    return outcome(x,
                   unit_text(p, &x->item, &x->unit, p->query_prefix, p->similar,
                             &x->item.failed),
                   e);
}

static int use_prompt(struct program *p, struct vector *x, struct err *e)
{
    struct prompt *q = x->prompt;
    const struct given *g = q->data;

    if (q->failed.code) {
        *e = q->failed;
        return -1;
    }
    if (p->similar.p && p->rank)
        return err_set(e, ERR_UNSUPPORTED,
                       "what ranks needs texts, not tokens or vectors");
    if (g->v)
        return 0;
    if (!q->n)
        return err_set(e, ERR_FORMAT, "there are no tokens to embed");
    unit_tokens(p, &x->item, &x->unit, q->ids, q->n);
    x->unit.job.adapt = lora_chosen(&g->lora);
    return 0;
}

int vector_prompt(struct program *p, struct prompt *q, struct err *e)
{
    struct given *g = q->data;
    struct vector *x = vector_new(p, q->seq, g->id);

    g->id = NULL;
    if (!x) {
        prompt_free(q);
        return err_nomem(e);
    }
    x->prompt = q;
    return outcome(x, use_prompt(p, x, &x->item.failed), e);
}
