/* SPDX-License-Identifier: MIT
 * rec.c - what a record's keys mean.
 *
 * Values are views of the record where they can be.  The strings of a record
 * that need a NUL go to one buffer, which is given the record's size before
 * the first: a string is never longer than its item, so nothing moves.
 */
#include <string.h>

#include "wire/wire_impl.h"

static int load_tokens(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_tokens *k = &rec->tokens;
    const void *lp, *ids;
    struct value v;
    size_t nlp;
    int r;

    k->seq = rec->seq;
    r = opt_array(&ids, &k->n, in, rec->map, "ids", 'u', e);
    if (r <= 0)
        return r ? -1 : err_set(e, ERR_FORMAT, "tokens without ids");
    k->ids = ids;
    r = opt_array(&lp, &nlp, in, rec->map, "lp", 'f', e);
    if (r < 0)
        return -1;
    if (r && nlp != k->n)
        return err_set(e, ERR_FORMAT, "%zu lp for %zu ids", nlp, k->n);
    k->lp = r ? lp : NULL;
    if (!find_value(&v, &in->keys, rec->map, "text"))
        return 0;
    in->text.n = 0;
    return get_bytes(&k->text, &k->ntext, &v, &in->text, e);
}

static int load_logits(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_logits *k = &rec->logits;
    const void *v;
    int r;

    k->seq = rec->seq;
    if (opt_uint(&k->pos, &in->keys, rec->map, "pos", e))
        return -1;
    r = opt_array(&v, &k->n, in, rec->map, "v", 'f', e);
    if (r <= 0)
        return r ? -1 : err_set(e, ERR_FORMAT, "logits without v");
    k->v = v;
    return 0;
}

static int load_end(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_end *k = &rec->end;
    const unsigned char *map;
    const void *stop = NULL;
    struct value v;
    int r;

    k->seq = rec->seq;
    if (!find_value(&v, &in->keys, rec->map, "why"))
        return err_set(e, ERR_FORMAT, "end without why");
    if (get_cstr(&k->why, &v, &in->str, e))
        return -1;
    if (find_value(&v, &in->keys, rec->map, "stop") &&
        get_bytes(&stop, &k->nstop, &v, &in->str, e))
        return -1;
    k->stop = stop;
    r = opt_map(in, &map, rec->map, "usage", e);
    if (r < 0 || (r && (opt_uint(&k->ntokens, &in->sub, map, "tokens", e) ||
                        opt_uint(&k->nprompt, &in->sub, map, "prompt", e) ||
                        opt_uint(&k->nreused, &in->sub, map, "reused", e))))
        return -1;
    r = opt_map(in, &map, rec->map, "time", e);
    if (r < 0 || (r && find_value(&v, &in->sub, map, "first") &&
                  get_double(&k->first, &v, e)))
        return -1;
    return r && find_value(&v, &in->sub, map, "total")
               ? get_double(&k->total, &v, e)
               : 0;
}

static int load_error(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_error *k = &rec->error;

    k->seq = rec->seq;
    k->whole = !rec->has_seq;
    k->code = k->msg = "";
    return opt_cstr(&k->code, &in->keys, rec->map, "code", &in->str, e) ||
                   opt_cstr(&k->msg, &in->keys, rec->map, "msg", &in->str, e)
               ? -1
               : 0;
}

static int load_span(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_span *k = &rec->span;
    struct value v;

    k->seq = rec->seq;
    k->control = false;
    if (!find_value(&v, &in->keys, rec->map, "text"))
        return err_set(e, ERR_FORMAT, "text without text");
    in->text.n = 0;
    return get_bytes(&k->text, &k->ntext, &v, &in->text, e) ||
                   wire_get_bool(&k->control, rec, "control", e) < 0
               ? -1
               : 0;
}

static int load_header(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct wire_header *h = &in->header;
    const unsigned char *map;
    struct value v;
    uint64_t version = 0;
    int r;

    rec->t = "";
    in->head.n = 0;
    in->has_header = false;
    buf_reserve(&in->head, rec->nraw);
    *h = (struct wire_header){0};
    if (!find_value(&v, &in->keys, rec->map, "llm"))
        return wrong("llm", "a version", e);
    if (get_uint(&version, &v, e))
        return -1;
    if (version != WIRE_VERSION)
        return err_set(e, ERR_UNSUPPORTED,
                       "version %llu of the stream; this program reads %d",
                       (unsigned long long)version, WIRE_VERSION);
    if (opt_cstr(&h->by, &in->keys, rec->map, "by", &in->head, e))
        return -1;
    r = opt_map(in, &map, rec->map, "model", e);
    if (r < 0 ||
        (r &&
         (opt_cstr(&h->path, &in->sub, map, "path", &in->head, e) ||
          opt_cstr(&h->name, &in->sub, map, "name", &in->head, e) ||
          opt_cstr(&h->id, &in->sub, map, "id", &in->head, e) ||
          opt_cstr(&h->vocab, &in->sub, map, "vocab", &in->head, e) ||
          opt_cstr(&h->adapters, &in->sub, map, "adapters", &in->head, e))))
        return -1;
    in->has_header = true;
    rec->kind = WIRE_HEADER;
    rec->header = *h;
    return 0;
}

int rec_load(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    static const struct {
        const char *t;
        enum wire_kind kind;
        int (*load)(struct wire_in *, struct wire_rec *, struct err *);
    } kinds[] = {
        {"tokens", WIRE_TOKENS, load_tokens},
        {"logits", WIRE_LOGITS, load_logits},
        {"set", WIRE_SET, NULL},
        {"end", WIRE_END, load_end},
        {"error", WIRE_ERROR, load_error},
        {"kv", WIRE_KV, NULL},
        {"text", WIRE_SPAN, load_span},
    };
    struct value v;

    in->opt.n = 0;
    if (scan_find(&in->keys, rec->map, "llm"))
        return load_header(in, rec, e);
    in->str.n = 0;
    if (!find_value(&v, &in->keys, rec->map, "t"))
        return err_set(e, ERR_FORMAT, "neither t nor llm: not a record");
    /* Nothing here is longer than the record. */
    if (v.it.type == ITEM_TEXT || v.it.type == ITEM_TEXT_INDEF)
        buf_reserve(&in->str, v.n + 1);
    if (get_cstr(&rec->t, &v, &in->str, e) ||
        opt_uint(&rec->seq, &in->keys, rec->map, "s", e))
        return -1;
    rec->has_seq = find_value(&v, &in->keys, rec->map, "s");
    rec->kind = WIRE_OTHER;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].t, rec->t))
            continue;
        rec->kind = kinds[i].kind;
        rec->t = kinds[i].t;
        in->str.n = 0;
        if (rec->kind == WIRE_END || rec->kind == WIRE_ERROR)
            buf_reserve(&in->str, rec->nraw);
        return kinds[i].load ? kinds[i].load(in, rec, e) : 0;
    }
    return 0;
}

int wire_check_vocab(const struct wire_header *h, const char *vocab,
                     struct err *e)
{
    if (!h || !h->vocab || !vocab || !strcmp(h->vocab, vocab))
        return 0;
    return err_set(e, ERR_FORMAT,
                   "made with the vocabulary of another model%s%s",
                   h->name || h->path ? ": " : "",
                   h->name   ? h->name
                   : h->path ? h->path
                             : "");
}
