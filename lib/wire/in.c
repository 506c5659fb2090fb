/* SPDX-License-Identifier: MIT
 * in.c - bytes from a file descriptor, cut into records.
 *
 * The buffer holds the record at hand and what came with it.  It grows by
 * doubling, but only when it is full of bytes that have arrived.  Bytes are
 * moved at most once, when more must be read behind an unfinished record.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "wire/wire_impl.h"

enum { READ_MIN = 1 << 16 };

int wire_in_open(struct wire_in **out, int fd, const char *name, struct err *e)
{
    struct wire_in *in = calloc(1, sizeof *in);

    if (!in)
        return err_nomem(e);
    in->fd = fd;
    in->name = name;
    in->json = true;
    *out = in;
    return 0;
}

void wire_in_close(struct wire_in *in)
{
    if (!in)
        return;
    buf_free(&in->cbor);
    buf_free(&in->ids);
    buf_free(&in->lp);
    buf_free(&in->text);
    buf_free(&in->str);
    buf_free(&in->opt);
    buf_free(&in->layers);
    buf_free(&in->head);
    free(in->p);
    free(in);
}

int wire_in_begin(struct wire_in *in, const void *p, size_t n, struct err *e)
{
    assert(!in->n);
    if (!n)
        return 0;
    in->p = malloc(n);
    if (!in->p)
        return err_nomem(e);
    memcpy(in->p, p, n);
    in->n = in->cap = n;
    return 0;
}

void wire_in_before(struct wire_in *in, void (*fn)(void *), void *arg)
{
    in->before = fn;
    in->arg = arg;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool wire_in_wait(const struct wire_in *in, int ms)
{
    struct pollfd fd = {in->fd, POLLIN, 0};
    size_t at = in->pos;

    /* The end of a line is no beginning of a record. */
    while (in->json && at < in->n && is_space(in->p[at]))
        at++;
    return at < in->n || poll(&fd, 1, ms) > 0;
}

const struct wire_header *wire_in_header(const struct wire_in *in)
{
    return in->has_header ? &in->header : NULL;
}

/* Read what there is behind what we have: 1, 0 at the end, -1. */
static int fill(struct wire_in *in, struct err *e)
{
    ssize_t got;

    if (in->pos) {
        memmove(in->p, in->p + in->pos, in->n - in->pos);
        in->n -= in->pos;
        in->pos = 0;
    }
    if (in->cap - in->n < READ_MIN) {
        size_t cap = 2 * in->cap > 2 * READ_MIN ? 2 * in->cap : 2 * READ_MIN;
        unsigned char *p = realloc(in->p, cap);

        if (!p)
            return err_nomem(e);
        in->p = p;
        in->cap = cap;
    }
    if (in->before)
        in->before(in->arg);
    for (;;) {
        got = read(in->fd, in->p + in->n, in->cap - in->n);
        if (got >= 0)
            break;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            poll(&(struct pollfd){in->fd, POLLIN, 0}, 1, -1);
        else if (errno != EINTR)
            return err_set(e, ERR_IO, "%s", strerror(errno));
    }
    in->n += (size_t)got;
    return got > 0;
}

/* More of the record that needs it, or a failure. */
static int fill_record(struct wire_in *in, size_t limit, struct err *e)
{
    int r;

    if (in->n - in->pos >= limit)
        return err_set(e, ERR_FORMAT, "longer than %zu bytes", limit);
    r = fill(in, e);
    if (r)
        return r < 0 ? -1 : 0;
    return err_set(e, ERR_FORMAT, "the input ends inside it");
}

static int next_cbor(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    static const unsigned char self[3] = {0xd9, 0xd9, 0xf7};
    size_t tag = in->p[in->pos] == 0xd9 ? sizeof self : 0;
    int r = 0;

    while (in->n - in->pos < tag)
        if (fill_record(in, WIRE_MAX_RECORD, e))
            return -1;
    if (tag && memcmp(in->p + in->pos, self, tag))
        return err_set(e, ERR_FORMAT, "not a map");
    scan_init(&in->keys);
    for (;;) {
        const unsigned char *p = in->p + in->pos + tag;

        r = scan_more(&in->keys, p, in->n - in->pos - tag, e);
        if (r)
            break;
        if (fill_record(in, WIRE_MAX_RECORD, e))
            return -1;
    }
    if (r < 0)
        return -1;
    rec->raw = in->p + in->pos;
    rec->nraw = tag + in->keys.off;
    rec->map = rec->raw + tag;
    in->pos += rec->nraw;
    return 0;
}

/* Where the JSON object at IN->pos ends, counting brackets outside strings:
 * records may be laid out over lines.  What is between is jansson's. */
static int find_end(struct wire_in *in, size_t *len, struct err *e)
{
    bool string = false, escape = false;
    size_t depth = 0, i = 0;

    for (;; i++) {
        unsigned char c;

        while (in->pos + i == in->n)
            if (fill_record(in, WIRE_MAX_JSON, e))
                return -1;
        c = in->p[in->pos + i];
        if (string) {
            string = c != '"' || escape;
            escape = c == '\\' && !escape;
        } else if (c == '"') {
            string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && !--depth) {
            *len = i + 1;
            return 0;
        }
    }
}

/* Jansson has refused the record of LEN bytes.  When it was memory that failed
 * it may call that an invalid token: a record is held some three times over. */
static int json_failed(const json_error_t *je, size_t len, struct err *e)
{
    void *room = malloc(3 * len);

    free(room);
    if (!room || json_error_code(je) == json_error_out_of_memory)
        return err_nomem(e);
    return err_set(e, ERR_FORMAT, "JSON: line %d, column %d: %s", je->line,
                   je->column, je->text);
}

static int next_json(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    json_error_t je;
    json_t *obj;
    size_t len;
    int r;

    if (find_end(in, &len, e))
        return -1;
    obj = json_loadb((char *)in->p + in->pos, len,
                     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    if (!obj)
        return json_failed(&je, len, e);
    in->pos += len;
    in->cbor.n = 0;
    if (json_object_get(obj, "llm"))
        wire_put_tag(&in->cbor, TAG_SELF);
    len = in->cbor.n;
    r = json_to_cbor(&in->cbor, obj, e);
    json_decref(obj);
    if (r || buf_ok(&in->cbor, e))
        return -1;
    rec->raw = in->cbor.p;
    rec->nraw = in->cbor.n;
    rec->map = rec->raw + len;
    scan_init(&in->keys);
    r = scan_more(&in->keys, rec->map, rec->nraw - len, e);
    return r > 0 ? 0 : err_set(e, ERR_FORMAT, "not a record");
}

/* A first byte that begins no record. */
static int not_a_record(struct wire_in *in, struct err *e)
{
    const unsigned char *p = in->p + in->pos;
    size_t n = in->n - in->pos;

    if (in->number > 1)
        return err_set(e, ERR_FORMAT, "record %llu: begins with byte 0x%02x",
                       (unsigned long long)in->number, *p);
    if (n >= 4 && !memcmp(p, "GGUF", 4))
        return err_set(e, ERR_FORMAT, "a model, not a token stream");
    if (n > 64)
        n = 64;
    if (!utf8_all(p, n - utf8_tail(p, n)))
        return err_set(e, ERR_FORMAT, "not a token stream");
    for (size_t i = 0; i < n; i++)
        if ((p[i] < 0x20 && !is_space(p[i])) || p[i] == 0x7f)
            return err_set(e, ERR_FORMAT, "not a token stream");
    return err_set(e, ERR_FORMAT,
                   "text, not a token stream (tok-encode makes one of it)");
}

static int next(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    int c, r;

    in->number++;
    for (;;) {
        while (in->json && in->pos < in->n && is_space(in->p[in->pos]))
            in->pos++;
        if (in->pos < in->n)
            break;
        r = fill(in, e);
        if (r < 0)
            return -1;
        if (r)
            continue;
        if (in->number > 1)
            return 0;
        return err_set(e, ERR_FORMAT, "empty: not even a header");
    }
    c = in->p[in->pos];
    *rec = (struct wire_rec){.number = in->number, .keys = &in->keys, .in = in};
    in->json = c == '{';
    if (in->json)
        r = next_json(in, rec, e);
    else if (c == 0xd9 || (c >= 0xa0 && c <= 0xbf))
        r = next_cbor(in, rec, e);
    else
        return not_a_record(in, e);
    if (r || rec_load(in, rec, e))
        return err_prefix(e, "record %llu", (unsigned long long)in->number);
    return 1;
}

int wire_next(struct wire_in *in, struct wire_rec *rec, struct err *e)
{
    struct err mine = {0};
    int r;

    if (in->over)
        return err_set(e, ERR_FORMAT, "%s: nothing more to read", in->name);
    r = next(in, rec, &mine);
    if (r > 0)
        return 1;
    in->over = true;
    if (!r)
        return 0;
    err_prefix(&mine, "%s", in->name);
    return err_set(e, mine.code, "%s", mine.msg);
}
