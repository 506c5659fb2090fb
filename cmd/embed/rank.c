/* SPDX-License-Identifier: MIT
 * rank.c - texts by how near they are to a query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/quote.h"
#include "cmd/embed/embed.h"
#include "embed/vector.h"

int ranking_add(struct ranking *r, double score, uint64_t index, json_t *id,
                struct buf *text, struct err *e)
{
    if (r->n == r->cap) {
        size_t cap = r->cap + r->cap / 2 + 64;
        struct hit *h = cap < SIZE_MAX / sizeof *h
                            ? realloc(r->hit, cap * sizeof *h)
                            : NULL;

        if (!h) {
            json_decref(id);
            return err_nomem(e);
        }
        r->hit = h;
        r->cap = cap;
    }
    r->hit[r->n++] = (struct hit){score, index, id, *text};
    *text = (struct buf){0};
    return 0;
}

void ranking_free(struct ranking *r)
{
    for (size_t i = 0; i < r->n; i++) {
        json_decref(r->hit[i].id);
        buf_free(&r->hit[i].text);
    }
    free(r->hit);
    *r = (struct ranking){0};
}

/* The best first, the first of equals. */
static int by_score(const void *x, const void *y)
{
    const struct hit *a = x, *b = y;

    if (a->score > b->score || a->score < b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int show(const struct hit *h, const uint64_t *seq, struct err *e)
{
    struct buf b = {0};

    if (seq)
        buf_printf(&b, "%llu\t", (unsigned long long)*seq);
    buf_printf(&b, "%.6f\t%llu", h->score, (unsigned long long)h->index);
    if (h->text.p) {
        buf_putc(&b, '\t');
        quote_put(&b, h->text.p, h->text.n);
    }
    buf_putc(&b, '\n');
    if (!buf_ok(&b, e))
        fwrite(b.p, 1, b.n, stdout);
    buf_free(&b);
    return b.bad ? -1 : 0;
}

static json_t *json_of(const struct hit *h)
{
    json_t *o = json_object();

    json_object_set_new(o, "index", json_integer((json_int_t)h->index));
    json_object_set_new(o, "score", json_real(h->score));
    if (h->id)
        json_object_set(o, "id", h->id);
    if (h->text.p)
        json_object_set_new(o, "text",
                            json_stringn((const char *)h->text.p, h->text.n));
    return o;
}

static int put_record(struct program *p, const struct ranking *r, size_t n,
                      const uint64_t *seq, const json_t *id, struct err *e)
{
    json_t *o = json_object(), *list = json_array();
    int rc;

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_of(&r->hit[i]));
    if (id)
        json_object_set(o, "id", (json_t *)(uintptr_t)id);
    rc = json_object_set_new(o, "results", list)
             ? err_nomem(e)
             : wire_put_other(p->out, "ranking", seq, o, e);
    json_decref(o);
    return rc;
}

int ranking_put(struct program *p, struct ranking *r, const uint64_t *seq,
                const json_t *id, struct err *e)
{
    size_t n = p->top && (size_t)p->top < r->n ? (size_t)p->top : r->n;

    if (r->n)
        qsort(r->hit, r->n, sizeof *r->hit, by_score);
    if (p->out)
        return put_record(p, r, n, seq, id, e);
    for (size_t i = 0; i < n; i++)
        if (show(&r->hit[i], seq, e))
            return -1;
    return 0;
}

/* ---- a query with its documents ---- */

struct document {
    struct unit unit;
    json_t *id;
    struct buf text;
};

struct request {
    struct item item; /* first */
    uint64_t seq;
    json_t *id;
    struct lora_choice lora;
    struct unit query; /* unless the model takes pairs */
    struct document *doc;
    size_t n;
};

static struct request *of(struct item *it)
{
    return (struct request *)(void *)it;
}

static void request_free(struct item *it)
{
    struct request *q = of(it);

    for (size_t i = 0; i < q->n; i++) {
        unit_free(&q->doc[i].unit);
        json_decref(q->doc[i].id);
        buf_free(&q->doc[i].text);
    }
    free(q->doc);
    unit_free(&q->query);
    json_decref(q->id);
    lora_choice_fini(&q->lora);
    free(q);
}

static int put_results(struct program *p, struct request *q, struct err *e)
{
    size_t n = (size_t)embed_width(p->embed);
    struct ranking r = {0};
    int rc = 0;

    for (size_t i = 0; !rc && i < q->n; i++) {
        struct document *d = &q->doc[i];
        double score = p->rank ? unit_score(p, d->unit.job.v)
                               : embed_cosine(q->query.job.v, d->unit.job.v, n);

        rc = ranking_add(&r, score, i, json_incref(d->id), &d->text, e);
    }
    rc = rc || ranking_put(p, &r, &q->seq, q->id, e);
    ranking_free(&r);
    return rc ? -1 : 0;
}

static int request_tell(struct program *p, struct item *it, struct err *e)
{
    struct request *q = of(it);
    bool bad = it->failed.code != ERR_NONE;
    struct wire_end end = {.seq = q->seq,
                           .why = bad ? "error" : "input",
                           .ntokens = (uint64_t)q->query.job.n};

    for (size_t i = 0; i < q->n; i++)
        end.ntokens += (uint64_t)q->doc[i].unit.job.n;
    if (bad ? queue_failure(p->out, &p->worst, q->seq, &it->failed, e)
            : put_results(p, q, e))
        return -1;
    return p->out ? wire_put_end(p->out, &end, e) : 0;
}

/* A document is a text, or an object with "text", and maybe "id". */
static int prepare(struct program *p, struct request *q, const json_t *query,
                   const json_t *documents, struct err *e)
{
    size_t n = json_array_size(documents);

    q->doc = calloc(n + 1, sizeof *q->doc);
    if (!q->doc)
        return err_nomem(e);
    if (!p->rank &&
        unit_text(p, &q->item, &q->query, p->query_prefix, json_text(query), e))
        return -1;
    while (q->n < n) {
        const json_t *v = json_array_get(documents, q->n);
        const json_t *s = json_is_object(v) ? json_object_get(v, "text") : v;
        struct document *d = &q->doc[q->n++];

        if (!json_is_string(s))
            return err_set(e, ERR_FORMAT, "document %zu has no text", q->n - 1);
        d->id = json_incref(json_object_get(v, "id"));
        if (!p->out)
            buf_put(&d->text, json_string_value(s), json_string_length(s));
        if (buf_ok(&d->text, e) ||
            (p->rank ? unit_pair(p, &q->item, &d->unit, json_text(query),
                                 json_text(s), e)
                     : unit_text(p, &q->item, &d->unit, p->prefix, json_text(s),
                                 e)))
            return -1;
    }
    return 0;
}

int rank_request(struct program *p, const json_t *query,
                 const json_t *documents, json_t *id, const json_t *lora,
                 struct err *e)
{
    struct request *q = calloc(1, sizeof *q);
    struct err *mine;
    int rc;

    if (!q) {
        json_decref(id);
        return err_nomem(e);
    }
    q->item.tell = request_tell;
    q->item.free = request_free;
    q->seq = p->next++;
    q->id = id;
    queue_add(&p->queue, &q->item);
    mine = &q->item.failed;
    rc = lora_take(&q->lora, &p->load.loras, p->load.model, lora, mine) ||
         prepare(p, q, query, documents, mine);
    q->query.job.adapt = lora_chosen(&q->lora);
    for (size_t i = 0; i < q->n; i++)
        q->doc[i].unit.job.adapt = lora_chosen(&q->lora);
    if (!rc || mine->code != ERR_NOMEM)
        return 0;
    *e = *mine;
    return -1;
}
