/* SPDX-License-Identifier: MIT
 * spans.c - streams of text, as chat-render writes them.
 *
 * A sequence is encoded when all of it is there, as one text: where its records
 * part it makes no difference to the tokens, but that control tokens are made
 * of control text alone.
 */
#include "cmd/encode/encode.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/common/cli.h"

/* A sequence that is arriving. */
struct arriving {
    uint64_t seq;
    struct buf text;
    struct buf plain; /* for each byte: no control token has it */
    struct arriving *next;
};

/* How a stream begins: in CBOR, and as JSON from a program or by hand.  Text
 * that is UTF-8 has none of the first, and hardly the others. */
static const char *const starts[] = {"\xd9\xd9\xf7", "{\"by\":\"chat-render\",",
                                     "{\"llm\":1,", "{\"t\":\"text\","};

bool spans_sniff(struct run *r, int fd, const char *name, struct err *e)
{
    bool maybe = true;

    while (maybe) {
        size_t had = r->in.n;

        maybe = false;
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            size_t n = strlen(starts[i]);

            if (memcmp(r->in.p ? r->in.p : (const void *)"", starts[i],
                       had < n ? had : n))
                continue;
            if (had >= n)
                return true;
            maybe = true;
        }
        if (maybe && input_fill(r, fd, name, e) < 0)
            return true;
        maybe &= r->in.n > had;
    }
    return false;
}

static struct arriving *find(struct arriving **list, uint64_t seq,
                             struct err *e)
{
    struct arriving *a;

    for (; *list; list = &(*list)->next)
        if ((*list)->seq == seq)
            return *list;
    a = calloc(1, sizeof *a);
    if (!a) {
        err_nomem(e);
        return NULL;
    }
    a->seq = seq;
    *list = a;
    return a;
}

static void forget(struct arriving **list, uint64_t seq)
{
    for (; *list; list = &(*list)->next) {
        struct arriving *a = *list;

        if (a->seq != seq)
            continue;
        *list = a->next;
        buf_free(&a->text);
        buf_free(&a->plain);
        free(a);
        return;
    }
}

/* A whole sequence. */
static int finish(struct run *r, struct arriving **list, uint64_t seq,
                  struct err *e)
{
    struct arriving *a = find(list, seq, e);
    const void *text;
    unsigned flags = r->flags;
    uint64_t next = r->seq > seq ? r->seq : seq + 1;
    int rc;

    if (!a)
        return -1;
    text = a->text.p ? a->text.p : (const void *)"";
    begin_sequence(r);
    r->seq = seq;
    r->ids.n = 0;
    r->flags |= TOK_SPECIAL | (flags & TOK_ADD_EOS ? 0u : TOK_NO_EOS);
    rc = buf_ok(&a->text, e) || buf_ok(&a->plain, e) ||
         tok_encode_spans(r->enc, &r->ids, text, a->plain.p, a->text.n, e) ||
         emit_tokens(r, text, a->text.n, true, e) || end_sequence(r, e);
    r->flags = flags;
    r->seq = next;
    forget(list, seq);
    return rc ? -1 : 0;
}

static int add(struct arriving **list, const struct wire_span *s, struct err *e)
{
    struct arriving *a = find(list, s->seq, e);
    unsigned char *plain;

    if (!a)
        return -1;
    buf_put(&a->text, s->text, s->ntext);
    plain = buf_add(&a->plain, s->ntext);
    if (!plain)
        return s->ntext ? err_nomem(e) : 0;
    memset(plain, !s->control, s->ntext);
    return 0;
}

static int record(struct run *r, struct arriving **list,
                  const struct wire_rec *rec, const char *vocab, struct err *e)
{
    switch (rec->kind) {
    case WIRE_HEADER:
        while (*list)
            if (finish(r, list, (*list)->seq, e))
                return -1;
        return wire_check_vocab(&rec->header, vocab, e);
    case WIRE_SPAN:
        return add(list, &rec->span, e);
    case WIRE_END:
        if (!strcmp(rec->end.why, "input"))
            return finish(r, list, rec->seq, e);
        forget(list, rec->seq);
        break;
    case WIRE_ERROR:
        if (!r->out)
            warn("%s", rec->error.msg);
        break;
    case WIRE_TOKENS:
        return err_set(e, ERR_FORMAT, "record %llu: tokens already",
                       (unsigned long long)rec->number);
    default:
        break;
    }
    return r->out ? wire_put(r->out, rec, e) : 0;
}

int encode_spans(struct run *r, int fd, const char *name, struct err *e)
{
    struct arriving *list = NULL;
    struct wire_in *in;
    struct wire_rec rec;
    int got;

    if (wire_in_open(&in, fd, name, e))
        return -1;
    got = wire_in_begin(in, r->in.p, r->in.n, e);
    while (!got && (got = wire_next(in, &rec, e)) > 0) {
        got = record(r, &list, &rec, r->vocab, e);
        if (!got && r->out && !wire_in_wait(in, 0))
            got = wire_out_flush(r->out, e);
    }
    while (!got && list)
        got = finish(r, &list, list->seq, e);
    while (list)
        forget(&list, list->seq);
    wire_in_close(in);
    return got;
}
