/* SPDX-License-Identifier: MIT
 * request.c - texts with what may follow them.  What their tokens begin with in
 * common is read once. */
#include "score/request.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/score/score.h"

/* The text with one of its continuations. */
struct choice {
    struct score_job job;
    struct place place;
    struct scored scored;
    struct tok_ids ids;
    size_t chars;
    double lp;
    int ntoken;
};

struct request {
    struct item item; /* first */
    uint64_t seq;
    struct score_job prefix; /* n = 0: they have none */
    struct place place;      /* of the prefix */
    struct choice *choice;
    int n, answer;
    struct buf id;
};

static struct request *of(struct item *it)
{
    return (struct request *)(void *)it;
}

static void request_free(struct item *it)
{
    struct request *q = of(it);

    score_drop(&q->prefix);
    for (int i = 0; i < q->n; i++) {
        scored_free(&q->choice[i].scored);
        tok_ids_free(&q->choice[i].ids);
    }
    free(q->choice);
    buf_free(&q->id);
    free(q);
}

static int request_ended(struct program *p, struct item *it,
                         struct score_job *job, struct err *e);

/* ---- tokens ---- */

/* How many tokens A and B have in common at the front. */
static size_t common(const struct tok_ids *a, const struct tok_ids *b)
{
    size_t n = 0;

    while (n < a->n && n < b->n && a->p[n] == b->p[n])
        n++;
    return n;
}

/* C follows on CONTEXT, whose own tokens are HEAD. */
static int encode(struct program *p, struct request *q, struct choice *c,
                  struct tok_enc *enc, const struct tok_ids *head,
                  const struct score_request *r, const struct score_choice *s,
                  struct err *e)
{
    struct buf text = {0};
    size_t from;
    int rc;

    buf_put(&text, r->context.p, r->context.n);
    buf_put(&text, r->text.p + s->at, s->n);
    rc = buf_ok(&text, e) || tok_encode(enc, &c->ids, text.p, text.n, e);
    buf_free(&text);
    if (rc)
        return -1;
    if (c->ids.n > INT32_MAX / 4)
        return err_set(e, ERR_FORMAT, "too many tokens");
    from = common(head, &c->ids);
    from = from < 1 ? 1 : from;
    if (from >= c->ids.n)
        return err_set(e, ERR_FORMAT, "continuation %d has no tokens to score",
                       (int)(c - q->choice));
    c->chars = s->chars;
    c->ntoken = (int)(c->ids.n - from);
    c->place = (struct place){&q->item, &c->scored, 0, request_ended};
    c->job = (struct score_job){.tok = (const int32_t *)c->ids.p,
                                .n = (int)c->ids.n,
                                .from = (int)from,
                                .data = &c->place};
    return scored_new(&c->scored, p, (int)c->ids.n, NULL, e);
}

/* The tokens that all begin with, before any that is scored: each then runs the
 * token by which its first is expected. */
static void find_prefix(struct request *q)
{
    size_t n = q->choice[0].ids.n;

    if (q->n < 2)
        return;
    for (int i = 0; i < q->n; i++) {
        size_t same = common(&q->choice[0].ids, &q->choice[i].ids);
        size_t before = (size_t)q->choice[i].job.from - 1;

        n = same < n ? same : n;
        n = before < n ? before : n;
    }
    q->place = (struct place){&q->item, NULL, 0, request_ended};
    q->prefix = (struct score_job){.tok = q->choice[0].job.tok,
                                   .n = (int)n,
                                   .from = (int)n,
                                   .keep = true,
                                   .data = &q->place};
}

static int prepare(struct program *p, struct request *q, struct tok_enc *enc,
                   const struct score_request *r, struct err *e)
{
    struct tok_ids head = {0};
    int rc;

    q->choice = calloc((size_t)r->n, sizeof *q->choice);
    if (!q->choice)
        return err_nomem(e);
    q->answer = r->answer;
    buf_put(&q->id, r->id.p, r->id.n);
    rc = buf_ok(&q->id, e) ||
         tok_encode(enc, &head, r->context.p, r->context.n, e);
    for (; !rc && q->n < r->n; q->n++)
        if (encode(p, q, &q->choice[q->n], enc, &head, r, &r->choice[q->n],
                   e)) {
            q->n++;
            rc = -1;
            break;
        }
    tok_ids_free(&head);
    if (!rc)
        find_prefix(q);
    return rc ? -1 : 0;
}

static void start(struct program *p, struct request *q)
{
    for (int i = 0; i < q->n; i++) {
        q->choice[i].job.begin = q->prefix.n ? &q->prefix : NULL;
        score_add(p->score, &q->choice[i].job);
        q->item.left++;
    }
}

static int request_ended(struct program *p, struct item *it,
                         struct score_job *job, struct err *e)
{
    struct request *q = of(it);

    (void)e;
    if (job == &q->prefix && !it->failed.code)
        start(p, q);
    if (!it->left)
        score_drop(&q->prefix);
    return 0;
}

/* ---- what is said ---- */

/* What they are ordered by. */
enum by { BY_SUM, BY_MEAN, BY_CHARS };

static double value(const struct choice *c, enum by by)
{
    return by == BY_SUM    ? c->lp
           : by == BY_MEAN ? c->lp / c->ntoken
                           : c->lp / (double)(c->chars ? c->chars : 1);
}

/* Indices, the best first, the first of equals. */
static void rank(int *order, const struct request *q, enum by by)
{
    for (int i = 0; i < q->n; i++) {
        double v = value(&q->choice[i], by);
        int at = i;

        for (; at && value(&q->choice[order[at - 1]], by) < v; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static json_t *reals(const struct request *q, enum by by)
{
    json_t *a = json_array();

    for (int i = 0; i < q->n; i++) {
        double v = value(&q->choice[i], by);

        json_array_append_new(a, isfinite(v) ? json_real(v)
                                             : json_string("-Infinity"));
    }
    return a;
}

static json_t *integers(const int *v, int n)
{
    json_t *a = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_integer(v[i]));
    return a;
}

static json_t *json_of(const struct request *q, const int *sum, const int *mean,
                       const int *chars)
{
    json_t *o = json_object(), *tokens = json_array();

    if (q->id.n)
        json_object_set_new(
            o, "id",
            json_loadb((const char *)q->id.p, q->id.n, JSON_DECODE_ANY, NULL));
    for (int i = 0; i < q->n; i++)
        json_array_append_new(tokens, json_integer(q->choice[i].ntoken));
    json_object_set_new(o, "lp", reals(q, BY_SUM));
    json_object_set_new(o, "mean", reals(q, BY_MEAN));
    json_object_set_new(o, "norm", reals(q, BY_CHARS));
    json_object_set_new(o, "tokens", tokens);
    json_object_set_new(o, "order", integers(sum, q->n));
    json_object_set_new(o, "order_mean", integers(mean, q->n));
    json_object_set_new(o, "pick", json_integer(*sum));
    json_object_set_new(o, "pick_norm", json_integer(*chars));
    if (q->answer < 0)
        return o;
    json_object_set_new(o, "answer", json_integer(q->answer));
    json_object_set_new(o, "right", json_boolean(*sum == q->answer));
    json_object_set_new(o, "right_norm", json_boolean(*chars == q->answer));
    return o;
}

static void show(const struct request *q, const int *sum)
{
    printf("%llu", (unsigned long long)q->seq);
    for (int i = 0; i < q->n; i++)
        printf("\t%d:%.4f", sum[i], q->choice[sum[i]].lp);
    if (q->answer >= 0)
        printf("\t%s", sum[0] == q->answer ? "right" : "wrong");
    putchar('\n');
}

static int put_choices(struct program *p, struct request *q, const int *sum,
                       const int *mean, const int *chars, struct err *e)
{
    json_t *o;
    int rc;

    if (!p->out) {
        show(q, sum);
        return 0;
    }
    o = json_of(q, sum, mean, chars);
    rc = o ? wire_put_other(p->out, "choice", &q->seq, o, e) : err_nomem(e);
    json_decref(o);
    return rc;
}

static int put_results(struct program *p, struct request *q, struct err *e)
{
    struct tally t = {.requests = 1};
    int *order = malloc((size_t)q->n * 3 * sizeof *order), rc = 0;

    if (!order)
        return err_nomem(e);
    for (int i = 0; !rc && i < q->n; i++) {
        struct choice *c = &q->choice[i];

        for (int k = c->job.from; k < c->job.n; k++)
            c->lp += (double)c->scored.lp[k];
        rc = tally_add(&t, &c->scored, p->load.tok, c->job.tok, e);
    }
    if (!rc) {
        for (int k = 0; k < 3; k++)
            rank(order + k * q->n, q, (enum by)k);
        t.questions = q->answer >= 0;
        t.right = t.questions && order[0] == q->answer;
        t.right_norm = t.questions && order[2 * q->n] == q->answer;
        rc = put_choices(p, q, order, order + q->n, order + 2 * q->n, e) ||
             tally_join(&p->all, &t, e);
    }
    free(order);
    tally_free(&t);
    return rc ? -1 : 0;
}

static int request_tell(struct program *p, struct item *it, struct err *e)
{
    struct request *q = of(it);
    bool bad = it->failed.code != ERR_NONE;
    struct wire_end end = {.seq = q->seq, .why = bad ? "error" : "input"};

    for (int i = 0; i < q->n; i++)
        end.ntokens += (uint64_t)q->choice[i].ntoken;
    if (bad ? queue_failure(p->out, &p->worst, q->seq, &it->failed, e)
            : put_results(p, q, e))
        return -1;
    return p->out ? wire_put_end(p->out, &end, e) : 0;
}

/* ---- the input ---- */

static int add(struct program *p, struct tok_enc *enc,
               const struct score_request *r, struct err *e)
{
    struct request *q = calloc(1, sizeof *q);

    if (!q)
        return err_nomem(e);
    q->item.tell = request_tell;
    q->item.free = request_free;
    q->seq = p->request++;
    queue_add(&p->queue, &q->item);
    if (prepare(p, q, enc, r, &q->item.failed)) {
        if (q->item.failed.code != ERR_NOMEM)
            return 0;
        *e = q->item.failed;
        return -1;
    }
    if (q->prefix.n) {
        q->item.left = 1;
        score_add(p->score, &q->prefix);
    } else {
        start(p, q);
    }
    return 0;
}

static int line(struct program *p, struct tok_enc *enc, const struct lines *l,
                const unsigned char *text, size_t n, struct err *e)
{
    static struct score_request r;
    size_t blank = 0;

    while (blank < n && strchr(" \t\r", text[blank]) && text[blank])
        blank++;
    if (blank == n)
        return 0;
    if (score_request(&r, text, n, p->letters, e))
        return err_prefix(e, "%s: line %llu", l->name, l->number);
    return add(p, enc, &r, e);
}

int request_input(void *program, int fd, const char *name, struct err *e)
{
    struct program *p = program;
    struct tok_enc *enc =
        tok_enc_new(p->load.tok, TOK_NO_EOS | (p->no_bos ? TOK_NO_BOS : 0), e);
    struct lines l = {.fd = fd, .name = name};
    struct err failed = {0};
    const unsigned char *text = NULL;
    size_t n = 0;
    int got = 1, rc = enc ? 0 : -1;

    while (!rc && (got > 0 || item_busy(p))) {
        while (!rc && got > 0 && item_room(p) &&
               lines_ready(&l, !item_busy(p))) {
            got = lines_next(&text, &n, &l, &failed);
            if (got == 1 && line(p, enc, &l, text, n, &failed))
                got = -1;
        }
        if (!rc && item_busy(p))
            rc = item_step(p, e);
    }
    if (!rc && got < 0) {
        *e = failed;
        rc = -1;
    }
    tok_enc_free(enc);
    buf_free(&l.in);
    return rc;
}
