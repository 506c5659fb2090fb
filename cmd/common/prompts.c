/* SPDX-License-Identifier: MIT */
#include "cmd/common/prompts.h"

#include <stdlib.h>
#include <string.h>

struct prompts {
    struct wire_in *in;
    const char *name;
    struct prompts_use use;
    struct prompt *open;         /* in order of appearance */
    struct prompt *whole, **end; /* to be given */
    struct buf pass;             /* of no sequence, as that of a prompt */
    bool over;                   /* the input has ended, or failed */
    struct err failed;
};

int prompts_open(struct prompts **out, int fd, const char *name,
                 const struct prompts_use *use, struct err *e)
{
    struct prompts *p = calloc(1, sizeof *p);

    if (!p)
        return err_nomem(e);
    if (wire_in_open(&p->in, fd, name, e)) {
        free(p);
        return -1;
    }
    p->name = name;
    p->use = *use;
    p->end = &p->whole;
    *out = p;
    return 0;
}

void prompt_no_state(struct prompt *p)
{
    kv_load_free(p->load);
    kv_seq_free(p->state);
    p->load = NULL;
    p->state = NULL;
}

void prompt_free(struct prompt *p)
{
    if (!p)
        return;
    if (p->free_data)
        p->free_data(p->data);
    prompt_no_state(p);
    buf_free(&p->pass);
    free(p->ids);
    free(p);
}

void prompts_close(struct prompts *p)
{
    struct prompt *list[2] = {p->open, p->whole};

    for (int i = 0; i < 2; i++)
        for (struct prompt *q = list[i], *n; q; q = n) {
            n = q->next;
            prompt_free(q);
        }
    wire_in_close(p->in);
    buf_free(&p->pass);
    free(p);
}

bool prompts_wait(const struct prompts *p, int ms)
{
    return p->whole || p->over || wire_in_wait(p->in, ms);
}

int prompt_of_state(struct prompt *p, struct err *e)
{
    p->n = p->cap = kv_seq_n(p->state);
    p->ids = malloc(((size_t)p->n + 1) * sizeof *p->ids);
    if (!p->ids)
        return err_nomem(e);
    if (p->n)
        memcpy(p->ids, kv_seq_tokens(p->state), (size_t)p->n * sizeof *p->ids);
    return 0;
}

static int keep(struct buf *pass, const struct wire_rec *r, struct err *e)
{
    buf_put(pass, &r->nraw, sizeof r->nraw);
    buf_put(pass, r->raw, r->nraw);
    return buf_ok(pass, e);
}

static int put(struct wire_out *w, const struct buf *pass, struct err *e)
{
    struct wire_rec r = {0};

    for (size_t at = 0; at < pass->n; at += r.nraw) {
        memcpy(&r.nraw, pass->p + at, sizeof r.nraw);
        at += sizeof r.nraw;
        r.raw = pass->p + at;
        if (wire_put(w, &r, e))
            return -1;
    }
    return 0;
}

int prompt_keep(struct prompt *p, const struct wire_rec *r, struct err *e)
{
    return keep(&p->pass, r, e);
}

int prompt_pass(struct wire_out *w, const struct prompt *p, struct err *e)
{
    return put(w, &p->pass, e);
}

int prompts_pass(struct wire_out *w, const struct prompts *p, struct err *e)
{
    return w ? put(w, &p->pass, e) : 0;
}

static struct prompt *find(struct prompts *p, uint64_t seq, struct err *e)
{
    struct prompt **q = &p->open;

    while (*q && (*q)->seq != seq)
        q = &(*q)->next;
    if (!*q) {
        *q = calloc(1, sizeof **q);
        if (!*q) {
            err_nomem(e);
            return NULL;
        }
        (*q)->seq = seq;
        if (p->use.open && p->use.open(p->use.arg, *q, e))
            return NULL;
    }
    return *q;
}

static void complete(struct prompts *p, struct prompt *done)
{
    struct prompt **q = &p->open;

    while (*q != done)
        q = &(*q)->next;
    *q = done->next;
    done->next = NULL;
    *p->end = done;
    p->end = &done->next;
    if (done->load && !done->state && !done->failed.code)
        err_set(&done->failed, ERR_FORMAT, "its state is not whole");
}

static void complete_all(struct prompts *p)
{
    while (p->open)
        complete(p, p->open);
}

static int add(struct prompt *q, const struct wire_tokens *t, struct err *e)
{
    if (t->n > (size_t)(INT32_MAX / 4) - (size_t)q->n)
        return err_set(e, ERR_FORMAT, "too many tokens");
    if (t->n > (size_t)(q->cap - q->n)) {
        int cap = q->n + (int)t->n + q->n / 2;
        int32_t *ids = realloc(q->ids, (size_t)cap * sizeof *ids);

        if (!ids)
            return err_nomem(e);
        q->ids = ids;
        q->cap = cap;
    }
    if (t->n)
        memcpy(q->ids + q->n, t->ids, t->n * sizeof *q->ids);
    q->n += (int)t->n;
    return 0;
}

static int state(struct prompts *p, struct prompt *q, const struct wire_rec *r,
                 struct err *e)
{
    int got;

    if (!p->use.kv || q->failed.code)
        return 0;
    if (!q->load && !(q->load = kv_load_new(p->use.kv, e)))
        return -1;
    got = kv_load_add(q->load, r, e);
    if (got < 0)
        return -1;
    if (got) {
        kv_seq_free(q->state);
        q->state = kv_load_take(q->load);
        kv_load_free(q->load);
        q->load = NULL;
    }
    return 0;
}

/* A record of a sequence.  What it does wrong is the sequence's failure; -1:
 * the program's. */
static int of_sequence(struct prompts *p, struct prompt *q,
                       const struct wire_rec *r, struct err *e)
{
    struct err mine = {0};
    int rc = 0;

    if (r->kind == WIRE_TOKENS) {
        q->any = true;
        rc = add(q, &r->tokens, &mine);
    } else if (r->kind == WIRE_SET) {
        if (p->use.set)
            rc = p->use.set(p->use.arg, q, r, &mine);
        rc = rc ? rc < 0 ? -1 : 0 : prompt_keep(q, r, &mine);
    } else if (r->kind == WIRE_ERROR) {
        rc = err_set(&mine, ERR_IO, "%s", r->error.msg);
    } else if (r->kind == WIRE_KV) {
        q->any = true;
        rc = state(p, q, r, &mine);
    } else if (r->kind != WIRE_LOGITS) {
        if (p->use.other && r->kind == WIRE_OTHER)
            rc = p->use.other(p->use.arg, q, r, &mine);
        rc = rc ? rc < 0 ? -1 : 0 : prompt_keep(q, r, &mine);
    }
    if (rc && mine.code == ERR_NOMEM) {
        *e = mine;
        return -1;
    }
    if (rc && !q->failed.code) {
        q->failed = mine;
        prompt_no_state(q);
    }
    return 0;
}

/* Without a number these are about all sequences, and others about 0. */
static bool of_all(const struct wire_rec *r)
{
    static const char *const kinds[] = {"drafts", "ranking", "score"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (r->kind == WIRE_OTHER && !r->has_seq && !strcmp(r->t, kinds[i]))
            return true;
    return false;
}

static int record(struct prompts *p, const struct wire_rec *r, struct err *e)
{
    struct prompt *q;

    if (r->kind == WIRE_HEADER) {
        complete_all(p);
        return wire_check_vocab(&r->header, p->use.vocab, e);
    }
    if (r->kind == WIRE_ERROR && !r->has_seq)
        return err_set(e, ERR_IO, "%s", r->error.msg);
    if (of_all(r))
        return keep(&p->pass, r, e);
    q = find(p, r->seq, e);
    if (!q)
        return -1;
    if (r->kind == WIRE_END) {
        if (!strcmp(r->end.why, "error") && !q->failed.code)
            err_set(&q->failed, ERR_IO, "it ended with an error");
        complete(p, q);
        return 0;
    }
    return of_sequence(p, q, r, e);
}

static int give(struct prompt **out, struct prompts *p)
{
    *out = p->whole;
    p->whole = p->whole->next;
    if (!p->whole)
        p->end = &p->whole;
    (*out)->next = NULL;
    return 1;
}

int prompts_next(struct prompt **out, struct prompts *p, struct err *e)
{
    struct wire_rec r;
    int got;

    if (p->whole)
        return give(out, p);
    if (!p->over) {
        got = wire_next(p->in, &r, &p->failed);
        if (got > 0 && record(p, &r, &p->failed)) {
            err_prefix(&p->failed, "%s: record %llu", p->name,
                       (unsigned long long)r.number);
            got = -1;
        }
        p->over = got <= 0;
        /* What is not whole when the input breaks never will be. */
        if (!got)
            complete_all(p);
    }
    if (p->whole)
        return give(out, p);
    if (!p->over)
        return 2;
    if (p->failed.code) {
        if (e)
            *e = p->failed;
        return -1;
    }
    return 0;
}
