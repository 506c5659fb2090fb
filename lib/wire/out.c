/* SPDX-License-Identifier: MIT
 * out.c - records to a file descriptor.
 *
 * A record is put together from segments: small pieces that stand in HEAD, and
 * the caller's own arrays, which go to writev() from where they lie.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/num.h"
#include "base/utf8.h"
#include "wire/wire_impl.h"

enum { NSEG = 8, HOLD_MAX = 64 << 10 };

struct seg {
    const void *p; /* NULL: in HEAD, at OFF */
    size_t off, n;
};

struct wire_out {
    int fd;
    enum wire_format format;
    const char *name;
    struct err err; /* the first failure */
    struct buf head;
    size_t mark; /* where HEAD's open segment starts */
    struct seg seg[NSEG];
    int nseg;
    struct buf whole, json; /* for WIRE_JSON */
    bool hold;
    struct buf held;    /* records made while HOLD */
    struct buf swap[2]; /* for big-endian hosts */
    struct scan scan;
};

int wire_out_open(struct wire_out **out, int fd, enum wire_format format,
                  struct err *e)
{
    struct wire_out *w = calloc(1, sizeof *w);

    assert(format != WIRE_TEXT);
    if (!w)
        return err_nomem(e);
    w->fd = fd;
    w->format = format;
    w->name = "standard output";
    *out = w;
    return 0;
}

void wire_out_name(struct wire_out *w, const char *name)
{
    w->name = name;
}

/* Keep the first failure, and give it to the caller. */
static int fail(struct wire_out *w, struct err *e)
{
    return err_set(e, w->err.code, "%s", w->err.msg);
}

/* All of V[N], however the system cuts it. */
static int write_all(struct wire_out *w, struct iovec *v, int n)
{
    while (n) {
        ssize_t got = writev(w->fd, v, n);
        size_t k = got < 0 ? 0 : (size_t)got;

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            poll(&(struct pollfd){w->fd, POLLOUT, 0}, 1, -1);
        else if (got < 0 && errno != EINTR)
            return err_set(&w->err, ERR_IO, "%s: %s", w->name, strerror(errno));
        for (; n && k >= v->iov_len; v++, n--)
            k -= v->iov_len;
        if (n) {
            v->iov_base = (char *)v->iov_base + k;
            v->iov_len -= k;
        }
    }
    return 0;
}

int wire_out_flush(struct wire_out *w, struct err *e)
{
    struct iovec v = {w->held.p, w->held.n};

    if (!w->err.code && w->held.n && write_all(w, &v, 1))
        return err_set(e, w->err.code, "%s", w->err.msg);
    w->held.n = 0;
    return 0;
}

void wire_out_hold(struct wire_out *w)
{
    w->hold = true;
}

/* A record in N parts goes out, or waits with others. */
static int write_record(struct wire_out *w, struct iovec *v, int n)
{
    size_t size = 0;

    if (!w->hold)
        return write_all(w, v, n);
    for (int i = 0; i < n; i++)
        size += v[i].iov_len;
    if (size + w->held.n > HOLD_MAX && wire_out_flush(w, &w->err))
        return -1;
    if (size > HOLD_MAX / 4)
        return wire_out_flush(w, &w->err) ? -1 : write_all(w, v, n);
    for (int i = 0; i < n; i++)
        buf_put(&w->held, v[i].iov_base, v[i].iov_len);
    return buf_ok(&w->held, &w->err);
}

int wire_out_close(struct wire_out *w, struct err *e)
{
    int r = 0;

    if (!w)
        return 0;
    wire_out_flush(w, &w->err);
    if (w->err.code)
        r = err_set(e, w->err.code, "%s", w->err.msg);
    buf_free(&w->held);
    buf_free(&w->head);
    buf_free(&w->whole);
    buf_free(&w->json);
    buf_free(&w->swap[0]);
    buf_free(&w->swap[1]);
    free(w);
    return r;
}

/* Close HEAD's open segment. */
static void seal(struct wire_out *w)
{
    if (w->head.n > w->mark)
        w->seg[w->nseg++] = (struct seg){NULL, w->mark, w->head.n - w->mark};
    w->mark = w->head.n;
    assert(w->nseg < NSEG);
}

/* N bytes at P, not copied. */
static void attach(struct wire_out *w, const void *p, size_t n)
{
    seal(w);
    if (n)
        w->seg[w->nseg++] = (struct seg){p, 0, n};
    assert(w->nseg < NSEG);
}

/* Begin a record, unless a failure sticks. */
static struct buf *begin(struct wire_out *w)
{
    w->head.n = w->mark = 0;
    w->nseg = 0;
    return &w->head;
}

/* One JSON line of the CBOR record P[N]. */
static int emit_json(struct wire_out *w, const unsigned char *p, size_t n)
{
    struct iovec v;
    int r;

    /* Tag 55799 means nothing outside CBOR. */
    if (n >= 3 && !memcmp(p, "\xd9\xd9\xf7", 3))
        p += 3, n -= 3;
    scan_init(&w->scan);
    r = scan_more(&w->scan, p, n, &w->err);
    assert(r);
    if (r < 0)
        return -1;
    w->json.n = 0;
    json_record(&w->json, p, &w->scan);
    buf_putc(&w->json, '\n');
    if (buf_ok(&w->json, &w->err))
        return -1;
    v = (struct iovec){w->json.p, w->json.n};
    return write_record(w, &v, 1);
}

/* Write what begin(), the put_ functions and attach() made. */
static int emit(struct wire_out *w, struct err *e)
{
    struct iovec v[NSEG];

    seal(w);
    if (w->err.code || buf_ok(&w->head, &w->err) ||
        buf_ok(&w->swap[0], &w->err) || buf_ok(&w->swap[1], &w->err))
        return fail(w, e);
    for (int i = 0; i < w->nseg; i++) {
        const struct seg *s = &w->seg[i];
        const void *p = s->p ? s->p : w->head.p + s->off;

        v[i] = (struct iovec){(void *)(uintptr_t)p, s->n};
    }
    if (w->format == WIRE_CBOR)
        return write_record(w, v, w->nseg) ? fail(w, e) : 0;
    w->whole.n = 0;
    for (int i = 0; i < w->nseg; i++)
        buf_put(&w->whole, v[i].iov_base, v[i].iov_len);
    if (buf_ok(&w->whole, &w->err) || emit_json(w, w->whole.p, w->whole.n))
        return fail(w, e);
    return 0;
}

/* A typed array of N values of SIZE bytes each, not copied where memory already
 * has the order of the stream. */
static void put_array(struct wire_out *w, unsigned tag, size_t size,
                      const void *p, size_t n, struct buf *swap)
{
    wire_put_tag(&w->head, tag);
    wire_put_bytes_head(&w->head, size * n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    unsigned char *to;

    swap->n = 0;
    to = buf_add(swap, size * n);
    for (size_t i = 0; to && i < n; i++)
        for (size_t k = 0; k < size; k++)
            to[size * i + k] =
                ((const unsigned char *)p)[size * i + size - 1 - k];
    p = to;
#endif
    (void)swap;
    attach(w, p, size * n);
}

static void put_array32(struct wire_out *w, unsigned tag, const void *p,
                        size_t n, struct buf *swap)
{
    put_array(w, tag, 4, p, n, swap);
}

static void put_str(struct buf *b, const char *key, const char *s)
{
    if (!s)
        return;
    wire_put_key(b, key);
    wire_put_text(b, s, strlen(s));
}

static void put_count(struct buf *b, const char *key, uint64_t v)
{
    if (!v)
        return;
    wire_put_key(b, key);
    wire_put_uint(b, v);
}

/* "s" and "t", which sort before all other keys but one-letter ones. */
static void put_seq(struct buf *b, const uint64_t *seq, const char *kind)
{
    if (seq) {
        wire_put_key(b, "s");
        wire_put_uint(b, *seq);
    }
    put_str(b, "t", kind);
}

int wire_put_header(struct wire_out *w, const struct wire_header *h,
                    struct err *e)
{
    struct buf *b = begin(w);

    wire_put_tag(b, TAG_SELF);
    wire_put_map(b, 2 + !!h->by);
    put_str(b, "by", h->by);
    wire_put_key(b, "llm");
    wire_put_uint(b, WIRE_VERSION);
    wire_put_key(b, "model");
    wire_put_map(b, !!h->id + !!h->name + !!h->path + !!h->vocab +
                        (size_t) !!h->adapters);
    put_str(b, "id", h->id);
    put_str(b, "name", h->name);
    put_str(b, "path", h->path);
    put_str(b, "vocab", h->vocab);
    put_str(b, "adapters", h->adapters);
    return emit(w, e);
}

/* [[[id, lp], ...], ...] */
static void put_top(struct buf *b, const struct wire_tokens *r)
{
    if (!r->top)
        return;
    wire_put_key(b, "top");
    wire_put_array(b, r->n);
    for (size_t i = 0; i < r->n; i++) {
        wire_put_array(b, r->ntop);
        for (size_t k = 0; k < r->ntop; k++) {
            const struct wire_top *t = &r->top[i * r->ntop + k];

            wire_put_array(b, 2);
            wire_put_uint(b, t->id);
            wire_put_double(b, (double)t->lp);
        }
    }
}

int wire_put_tokens(struct wire_out *w, const struct wire_tokens *r,
                    struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 3 + !!r->text + !!r->lp + (size_t) !!r->top);
    put_seq(b, &r->seq, "tokens");
    if (r->lp) {
        wire_put_key(b, "lp");
        put_array32(w, TAG_F32, r->lp, r->n, &w->swap[0]);
    }
    wire_put_key(b, "ids");
    put_array32(w, TAG_U32, r->ids, r->n, &w->swap[1]);
    put_top(b, r);
    if (r->text) {
        wire_put_key(b, "text");
        wire_put_bytes_head(b, r->ntext);
        attach(w, r->text, r->ntext);
    }
    return emit(w, e);
}

int wire_put_logits(struct wire_out *w, const struct wire_logits *r,
                    struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 4);
    put_seq(b, &r->seq, "logits");
    wire_put_key(b, "v");
    put_array32(w, TAG_F32, r->v, r->n, &w->swap[0]);
    wire_put_key(b, "pos");
    wire_put_uint(b, r->pos);
    return emit(w, e);
}

int wire_put_end(struct wire_out *w, const struct wire_end *r, struct err *e)
{
    struct buf *b = begin(w);
    bool time = r->first > 0 || r->total > 0;

    wire_put_map(b, 4 + !!r->stop + (size_t)time);
    put_seq(b, &r->seq, "end");
    put_str(b, "why", r->why);
    if (r->stop) {
        wire_put_key(b, "stop");
        if (utf8_all(r->stop, r->nstop)) {
            wire_put_text(b, r->stop, r->nstop);
        } else {
            wire_put_bytes_head(b, r->nstop);
            buf_put(b, r->stop, r->nstop);
        }
    }
    if (time) {
        wire_put_key(b, "time");
        wire_put_map(b, (r->first > 0) + (size_t)(r->total > 0));
        if (r->first > 0) {
            wire_put_key(b, "first");
            wire_put_double(b, r->first);
        }
        if (r->total > 0) {
            wire_put_key(b, "total");
            wire_put_double(b, r->total);
        }
    }
    wire_put_key(b, "usage");
    wire_put_map(b, 1 + !!r->nprompt + (size_t) !!r->nreused);
    put_count(b, "prompt", r->nprompt);
    put_count(b, "reused", r->nreused);
    wire_put_key(b, "tokens");
    wire_put_uint(b, r->ntokens);
    return emit(w, e);
}

int wire_put_error(struct wire_out *w, const struct wire_error *r,
                   struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 3 + (size_t)!r->whole);
    put_seq(b, r->whole ? NULL : &r->seq, "error");
    put_str(b, "msg", r->msg ? r->msg : "");
    put_str(b, "code", r->code ? r->code : "");
    return emit(w, e);
}

static void put_number(struct buf *b, const char *key, uint64_t v)
{
    wire_put_key(b, key);
    wire_put_uint(b, v);
}

/* N bytes at P, or no key when P is NULL. */
static void put_bytes(struct wire_out *w, const char *key, const void *p,
                      size_t n)
{
    if (!p)
        return;
    wire_put_key(&w->head, key);
    wire_put_bytes_head(&w->head, n);
    attach(w, p, n);
}

int wire_put_span(struct wire_out *w, const struct wire_span *r, struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 4);
    put_seq(b, &r->seq, "text");
    put_bytes(w, "text", r->text, r->ntext);
    wire_put_key(b, "control");
    wire_put_bool(b, r->control);
    return emit(w, e);
}

int wire_put_delta(struct wire_out *w, const struct wire_delta *r,
                   struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 3 + (size_t)r->has_call + !!r->id + !!r->name + !!r->text +
                        !!r->error);
    put_seq(b, &r->seq, "delta");
    put_str(b, "id", r->id);
    if (r->has_call)
        put_number(b, "call", r->call);
    put_str(b, "kind", r->kind);
    put_str(b, "name", r->name);
    put_bytes(w, "text", r->text, r->ntext);
    put_str(b, "error", r->error);
    return emit(w, e);
}

static void put_kv_head(struct wire_out *w, const struct wire_kv *r)
{
    struct buf *b = &w->head;

    wire_put_map(b, 12 + (size_t) !!r->adapters);
    put_number(b, "n", r->n);
    put_seq(b, &r->seq, "kv");
    wire_put_key(b, "ids");
    put_array32(w, TAG_U32, r->ids, r->nids, &w->swap[0]);
    put_str(b, "sum", r->sum);
    put_str(b, "part", r->part);
    put_str(b, "rope", r->rope);
    put_str(b, "model", r->model);
    put_str(b, "types", r->types);
    wire_put_key(b, "layers");
    put_array32(w, TAG_U32, r->layers, r->nlayers, &w->swap[1]);
    put_number(b, "version", r->version);
    put_str(b, "adapters", r->adapters);
    put_number(b, "page_size", r->page_size);
}

static void put_kv_page(struct wire_out *w, const struct wire_kv *r)
{
    struct buf *b = &w->head;

    wire_put_map(b, 8 + !!r->k + !!r->v + (size_t) !!r->z);
    put_bytes(w, "k", r->k, r->nk);
    put_number(b, "n", r->n);
    put_seq(b, &r->seq, "kv");
    put_bytes(w, "v", r->v, r->nv);
    put_bytes(w, "z", r->z, r->nz);
    put_number(b, "pos", r->pos);
    put_str(b, "sum", r->sum);
    put_number(b, "page", r->page);
    put_str(b, "part", r->part);
    put_number(b, "layer", r->layer);
}

int wire_put_kv(struct wire_out *w, const struct wire_kv *r, struct err *e)
{
    struct buf *b = begin(w);

    if (!strcmp(r->part, "head")) {
        put_kv_head(w, r);
    } else if (!strcmp(r->part, "page")) {
        put_kv_page(w, r);
    } else {
        wire_put_map(b, 5);
        put_seq(b, &r->seq, "kv");
        put_str(b, "sum", r->sum);
        put_str(b, "part", r->part);
        put_number(b, "records", r->records);
    }
    return emit(w, e);
}

int wire_put_other(struct wire_out *w, const char *t, const uint64_t *seq,
                   const struct json_t *keys, struct err *e)
{
    struct buf *b = begin(w);
    json_t *obj = json_copy((json_t *)(uintptr_t)keys);
    int r;

    assert(json_is_object(keys) && (!seq || *seq <= INT64_MAX));
    if (!obj || json_object_set_new(obj, "t", json_string(t)) ||
        (seq && json_object_set_new(obj, "s", json_integer((json_int_t)*seq))))
        r = err_nomem(e);
    else
        r = json_to_cbor(b, obj, e);
    json_decref(obj);
    return r ? -1 : emit(w, e);
}

int wire_put_set(struct wire_out *w, uint64_t seq, const struct json_t *options,
                 struct err *e)
{
    return wire_put_other(w, "set", &seq, options, e);
}

int wire_put_kept(struct wire_out *w, const struct wire_kept *r, struct err *e)
{
    struct buf *b = begin(w);

    wire_put_map(b, 10);
    put_number(b, "k", r->k);
    put_number(b, "m", r->m);
    put_number(b, "n", r->n);
    put_seq(b, &r->seq, "kept");
    put_bytes(w, "z", r->z, r->nz);
    put_number(b, "pos", r->pos);
    put_number(b, "skip", r->skip);
    put_number(b, "stride", r->stride);
    put_number(b, "context", r->context);
    return emit(w, e);
}

int wire_put_embedding(struct wire_out *w, const struct wire_embedding *r,
                       struct err *e)
{
    static const struct {
        unsigned tag, size;
    } types[] = {[WIRE_F32] = {TAG_F32, 4},
                 [WIRE_F16] = {TAG_F16, 2},
                 [WIRE_INT8] = {TAG_I8, 1}};
    struct buf *b = begin(w);
    bool scale = r->type == WIRE_INT8;

    wire_put_map(b, 3 + !!r->id + (size_t)r->has_pos + (size_t)scale +
                        (size_t)r->has_score);
    put_seq(b, &r->seq, "embedding");
    wire_put_key(b, "v");
    put_array(w, types[r->type].tag, types[r->type].size, r->v, r->n,
              &w->swap[0]);
    if (r->id) {
        wire_put_key(b, "id");
        if (json_value_to_cbor(b, r->id, e))
            return -1;
    }
    if (r->has_pos)
        put_number(b, "pos", r->pos);
    if (scale) {
        wire_put_key(b, "scale");
        wire_put_double(b, r->scale);
    }
    if (r->has_score) {
        wire_put_key(b, "score");
        wire_put_double(b, r->score);
    }
    return emit(w, e);
}

int wire_put(struct wire_out *w, const struct wire_rec *r, struct err *e)
{
    begin(w);
    attach(w, r->raw, r->nraw);
    return emit(w, e);
}
