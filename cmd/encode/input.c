/* SPDX-License-Identifier: MIT
 * input.c - what tok-encode reads: a text, lines, or requests. */
#include "cmd/encode/encode.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

ssize_t input_fill(struct run *r, int fd, const char *name, struct err *e)
{
    unsigned char *to = buf_reserve(&r->in, CHUNK);
    ssize_t n;

    if (!to)
        return err_nomem(e);
    if (r->out && wire_out_flush(r->out, e))
        return -1;
    do
        n = read(fd, to, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    r->in.n += (size_t)n;
    return n;
}

int encode_text(void *run, int fd, const char *name, struct err *e)
{
    struct run *r = run;
    size_t used, enough = 0;
    ssize_t n = 1;

    r->in.n = 0;
    if (spans_sniff(r, fd, name, e))
        return e->code ? -1 : encode_spans(r, fd, name, e);
    begin_sequence(r);
    for (bool had = r->in.n; had || n; had = false) {
        n = had ? 1 : input_fill(r, fd, name, e);
        if (n < 0)
            return -1;
        if (n && r->in.n < enough)
            continue;
        r->ids.n = 0;
        if (tok_feed_pool(r->enc, r->pool, &r->ids, r->in.p, r->in.n, n == 0,
                          &used, e) ||
            emit_tokens(r, r->in.p, used, n == 0, e))
            return -1;
        r->in.n -= used;
        memmove(r->in.p, r->in.p + used, r->in.n);
        /* A piece longer than what was read: look again when there is twice
         * as much, or its length would count squared. */
        enough = used ? 0 : 2 * r->in.n;
    }
    return end_sequence(r, e);
}

static int encode_line(struct run *r, const unsigned char *p, size_t n,
                       struct err *e)
{
    begin_sequence(r);
    r->ids.n = 0;
    if (tok_encode(r->enc, &r->ids, p, n, e) || emit_tokens(r, p, n, true, e))
        return -1;
    return end_sequence(r, e);
}

/* The prompt of a request that is a list of token ids already. */
static int prompt_ids(struct run *r, const json_t *list, struct err *e)
{
    size_t n = json_array_size(list);

    r->ids.n = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        struct tok_ids *ids = &r->ids;

        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= tok_count(r->t))
            return err_set(e, ERR_FORMAT,
                           "\"prompt\": element %zu is not a token", i);
        if (ids->n == ids->cap) {
            size_t cap = ids->cap + ids->cap / 2 + 64;
            uint32_t *p = realloc(ids->p, cap * sizeof *p);

            if (!p)
                return err_nomem(e);
            ids->p = p;
            ids->cap = cap;
        }
        ids->p[ids->n++] = (uint32_t)json_integer_value(v);
    }
    return 0;
}

/* The request: its prompt as tokens, everything else in a set record. */
static int encode_request(struct run *r, const unsigned char *p, size_t n,
                          struct err *e)
{
    json_error_t je;
    json_t *o = json_loadb((const char *)p, n,
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    json_t *prompt = json_object_get(o, "prompt");
    struct buf text = {0};
    int rc = -1;

    begin_sequence(r);
    if (!o) {
        err_set(e, ERR_FORMAT, "column %d: %s", je.column, je.text);
    } else if (!json_is_string(prompt) && !json_is_array(prompt)) {
        err_set(e, ERR_FORMAT,
                "no \"prompt\" that is a string or a list of "
                "tokens");
    } else if (json_is_array(prompt)) {
        if (!prompt_ids(r, prompt, e))
            rc = tok_decode(&text, r->t, r->ids.p, r->ids.n, TOK_AT_START, e);
    } else {
        r->ids.n = 0;
        buf_put(&text, json_string_value(prompt), json_string_length(prompt));
        rc = buf_ok(&text, e) || tok_encode(r->enc, &r->ids, text.p, text.n, e);
    }
    if (!rc) {
        json_object_del(o, "prompt");
        if (r->out && json_object_size(o))
            rc = wire_put_set(r->out, r->seq, o, e);
    }
    if (!rc)
        rc = emit_tokens(r, text.p ? text.p : (const void *)"", text.n, true,
                         e) ||
             end_sequence(r, e);
    json_decref(o);
    buf_free(&text);
    return rc ? -1 : 0;
}

/* Call FN for each line of the input, which need not end in one. */
static int each_line(struct run *r, int fd, const char *name,
                     int (*fn)(struct run *, const unsigned char *, size_t,
                               struct err *),
                     struct err *e)
{
    unsigned long long line = 1;
    size_t known = 0; /* bytes at the front that are known to have no newline */
    ssize_t n;

    r->in.n = 0;
    do {
        unsigned char *p, *end, *nl;

        n = input_fill(r, fd, name, e);
        if (n < 0)
            return -1;
        p = r->in.p;
        end = p + r->in.n;
        while ((nl = memchr(p + known, '\n', (size_t)(end - p) - known)) ||
               (!n && p < end)) {
            size_t len = (size_t)((nl ? nl : end) - p);

            if (fn(r, p, len, e))
                return err_prefix(e, "%s: line %llu", name, line);
            line++;
            known = 0;
            p = nl ? nl + 1 : end;
        }
        r->in.n = known = (size_t)(end - p);
        memmove(r->in.p, p, r->in.n);
    } while (n);
    return 0;
}

int encode_lines(void *run, int fd, const char *name, struct err *e)
{
    return each_line(run, fd, name, encode_line, e);
}

int encode_requests(void *run, int fd, const char *name, struct err *e)
{
    return each_line(run, fd, name, encode_request, e);
}
