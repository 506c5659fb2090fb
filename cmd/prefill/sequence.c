/* SPDX-License-Identifier: MIT
 * sequence.c - one sequence: read, and what it gives. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/progress.h"
#include "cmd/common/sampling.h"
#include "cmd/prefill/prefill.h"

int prefill_open(struct prefill *r, struct err *e)
{
    r->step = step_new(r->load.model, r->load.kv, e);
    return r->step ? 0 : -1;
}

static void sequence_free(struct sequence *s)
{
    if (!s)
        return;
    kv_seq_free(s->kv);
    prompt_free(s->prompt);
    free(s->logits);
    free(s);
}

void prefill_close(struct prefill *r)
{
    while (r->kept) {
        struct sequence *s = r->kept;

        r->kept = s->next;
        sequence_free(s);
    }
    step_free(r->step);
    kv_disk_close(r->cache);
}

struct sequence *sequence_new(struct prefill *r, struct prompt *p,
                              struct err *e)
{
    struct sequence *s = calloc(1, sizeof *s);

    if (!s) {
        err_nomem(e);
        return NULL;
    }
    s->prompt = p;
    s->seq = p->seq;
    s->starts = true;
    r->count++;
    return s;
}

/* The ten most probable successors, for people. */
static void show_top(const struct prefill *r, const float *v, uint64_t seq,
                     long long pos)
{
    int n = model_n_vocab(r->load.model), top[10], ntop = 0;

    for (int id = 0; id < n; id++) {
        int at = ntop;

        while (at && v[id] > v[top[at - 1]])
            at--;
        if (at == 10)
            continue;
        if (ntop < 10)
            ntop++;
        memmove(top + at + 1, top + at, (size_t)(ntop - at - 1) * sizeof *top);
        top[at] = id;
    }
    for (int i = 0; i < ntop; i++) {
        struct buf text = {0}, quoted = {0};
        uint32_t id = (uint32_t)top[i];

        tok_decode(&text, r->load.tok, &id, 1, TOK_SHOW_SPECIAL, NULL);
        wire_json_string(&quoted, text.p ? (void *)text.p : "", text.n);
        printf("%llu\t%lld\t%u\t%.4f\t%.*s\n", (unsigned long long)seq, pos, id,
               (double)v[id], (int)quoted.n, (char *)quoted.p);
        buf_free(&text);
        buf_free(&quoted);
    }
}

static int put_logits(struct prefill *r, struct sequence *s, const float *v,
                      int pos, struct err *e)
{
    struct wire_logits l = {.seq = s->seq,
                            .pos = (uint64_t)pos,
                            .v = v,
                            .n = (size_t)model_n_vocab(r->load.model)};

    if (r->out)
        return wire_put_logits(r->out, &l, e);
    show_top(r, v, s->seq, pos);
    return 0;
}

static int check(const struct prefill *r, const struct prompt *p, struct err *e)
{
    if (!p->n)
        return err_set(e, ERR_FORMAT, "there are no tokens to read");
    return step_check(r->load.model, p->ids, p->n, model_context(r->load.model),
                      e);
}

/* What llm-sample should know of the model: which tokens end a text, which may
 * never be drawn, and what its file recommends. */
static int put_settings(struct prefill *r, uint64_t seq, struct err *e)
{
    const struct tok *t = r->load.tok;
    uint32_t n = (uint32_t)model_n_vocab(r->load.model);
    struct buf text = {0};
    json_t *o = json_object(), *eog = json_array(), *never = json_array(),
           *model = NULL;
    int rc = sampling_json(&text, r->load.gguf, e);

    for (uint32_t id = 0; id < n; id++) {
        if (id < tok_count(t) && tok_is_eog(t, id))
            json_array_append_new(eog, json_integer(id));
        if (id >= tok_count(t) || tok_is_suppressed(t, id))
            json_array_append_new(never, json_integer(id));
    }
    if (!rc && text.n)
        model = json_loadb((char *)text.p, text.n, 0, NULL);
    json_object_set_new(o, "eog", eog);
    json_object_set_new(o, "suppress", never);
    if (model)
        json_object_set_new(o, "sampling", model);
    if (!rc)
        rc = wire_put_set(r->out, seq, o, e);
    json_decref(o);
    buf_free(&text);
    return rc;
}

static int put_tokens(struct prefill *r, struct sequence *s, const int32_t *ids,
                      int n, struct err *e)
{
    struct buf text = {0};
    struct wire_tokens t = {
        .seq = s->seq, .ids = (const uint32_t *)ids, .n = (size_t)n};
    int rc = tok_decode(&text, r->load.tok, t.ids, t.n,
                        s->starts ? TOK_AT_START : 0, e);

    t.text = text.p ? text.p : (const void *)"";
    t.ntext = text.n;
    if (!rc && r->out)
        rc = wire_put_tokens(r->out, &t, e);
    s->starts = n && tok_starts_text(r->load.tok, (uint32_t)ids[n - 1]);
    buf_free(&text);
    return rc;
}

/* Run the next N tokens. */
static int run_chunk(struct prefill *r, struct sequence *s, const int32_t *t,
                     int n, bool last, struct err *e)
{
    struct step_part part = {.seq = s->kv,
                             .tok = t,
                             .n = n,
                             .want = r->all            ? STEP_ALL
                                     : last && r->want ? STEP_LAST
                                                       : STEP_NONE};
    size_t nv = (size_t)model_n_vocab(r->load.model);
    const float *logits;
    int at = kv_seq_n(s->kv);

    if (step_run(r->step, &part, 1, &logits, e))
        return -1;
    for (int i = 0; r->all && i < n; i++)
        if (put_logits(r, s, logits + nv * (size_t)i, at + i, e))
            return -1;
    if (r->all || !last || !r->want)
        return 0;
    if (!s->logits && !(s->logits = malloc(nv * sizeof *s->logits)))
        return err_nomem(e);
    memcpy(s->logits, logits, nv * sizeof *s->logits);
    return 0;
}

int sequence_read(struct prefill *r, struct sequence *s, struct err *e)
{
    struct prompt *p = s->prompt;

    if (r->out && prompt_pass(r->out, p, e))
        return -1;
    if (check(r, p, e) || (r->out && r->want && put_settings(r, s->seq, e)) ||
        put_tokens(r, s, p->ids, p->n, e))
        return -1;
    if (r->all) { /* states have no logits */
        struct kv_seq *empty = kv_seq_like(s->kv);

        if (!empty)
            return err_nomem(e);
        kv_seq_free(s->kv);
        s->kv = empty;
    } else if (step_begin(r->load.kv, &s->kv, p->ids, p->n, e) ||
               (r->cache && kv_disk_load(r->cache, &s->kv, p->ids, p->n, e))) {
        return -1;
    }
    s->reused = kv_seq_n(s->kv);
    for (int at = s->reused; at < p->n;) {
        int n = p->n - at < r->chunk ? p->n - at : r->chunk;

        if (run_chunk(r, s, p->ids + at, n, at + n == p->n, e))
            return -1;
        at += n;
        if (r->cache && state_cache_save(r->cache, s->kv, e))
            return -1;
        progress_show(at, p->n);
    }
    progress_clear();
    return 0;
}

int sequence_logits(struct prefill *r, struct sequence *s, struct err *e)
{
    return s->logits ? put_logits(r, s, s->logits, kv_seq_n(s->kv) - 1, e) : 0;
}

int sequence_done(struct prefill *r, struct sequence *s, const struct err *why,
                  bool keep, struct err *e)
{
    struct wire_end end = {.seq = s->seq,
                           .why = why ? "error" : "input",
                           .nprompt = 0,
                           .ntokens = (uint64_t)s->prompt->n};
    struct wire_error error = {.seq = s->seq, .code = "error"};
    int rc = 0;

    if (why) {
        error.msg = why->msg;
        error.code = err_word(why->code);
        warn("sequence %llu: %s", (unsigned long long)s->seq, why->msg);
        if (status(why) > r->worst)
            r->worst = status(why);
        if (r->out)
            rc = wire_put_error(r->out, &error, e);
    }
    if (keep && !why) {
        struct sequence **p = &r->kept;

        while (*p)
            p = &(*p)->next;
        *p = s;
        return rc;
    }
    if (!rc && r->out)
        rc = wire_put_end(r->out, &end, e);
    sequence_free(s);
    return rc;
}

/* ---- --follow ---- */

static struct sequence **find(struct prefill *r, uint64_t seq)
{
    struct sequence **p = &r->kept;

    while (*p && (*p)->seq != seq)
        p = &(*p)->next;
    return p;
}

static int more_tokens(struct prefill *r, struct sequence *s,
                       const struct wire_tokens *t, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        int32_t id = (int32_t)t->ids[i];

        if (step_check(r->load.model, &id, 1, 0, e))
            return -1;
        if (kv_seq_n(s->kv) == model_context(r->load.model))
            return err_set(e, ERR_CONTEXT, "the context of %d tokens is full",
                           model_context(r->load.model));
        if (run_chunk(r, s, &id, 1, i == t->n - 1, e))
            return -1;
    }
    return t->n && !r->all ? sequence_logits(r, s, e) : 0;
}

static int follow_record(struct prefill *r, const struct wire_rec *rec,
                         struct err *e)
{
    struct sequence **p = find(r, rec->seq), *s = *p;
    struct err mine = {0};

    if (!s || (rec->kind != WIRE_TOKENS && rec->kind != WIRE_END))
        return 0;
    if (rec->kind == WIRE_TOKENS && !more_tokens(r, s, &rec->tokens, &mine))
        return 0;
    if (mine.code == ERR_NOMEM) {
        *e = mine;
        return -1;
    }
    *p = s->next;
    return sequence_done(r, s, mine.code ? &mine : NULL, false, e);
}

int prefill_follow(struct prefill *r, int fd, const char *name, struct err *e)
{
    struct wire_in *in;
    struct wire_rec rec;
    int got = 1;

    if (!r->kept)
        return 0;
    if (wire_in_open(&in, fd, name, e))
        return -1;
    while (r->kept && (got = wire_next(in, &rec, e)) > 0)
        if (follow_record(r, &rec, e)) {
            got = -1;
            break;
        }
    wire_in_close(in);
    return got < 0 ? -1 : 0;
}
