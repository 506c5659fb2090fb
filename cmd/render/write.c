/* SPDX-License-Identifier: MIT
 * write.c - what chat-render reads and writes: requests in, records or text
 * out.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/cli.h"
#include "cmd/render/render.h"

enum { CHUNK = 1 << 16, MAX_REQUEST = 64 << 20 };

/* Runs of one origin, a record each. */
static int put_spans(struct render *r, const struct jinja_text *t,
                     struct err *e)
{
    const unsigned char *p = t->text.p, *data = t->data.p;
    size_t n = t->text.n;

    for (size_t at = 0, end; at < n; at = end) {
        struct wire_span s = {.seq = r->seq, .control = !data[at]};
        const unsigned char *stop = memchr(data + at, !data[at], n - at);

        end = stop ? (size_t)(stop - data) : n;
        s.text = p + at;
        s.ntext = end - at;
        if (wire_put_span(r->out, &s, e))
            return -1;
    }
    return 0;
}

static int put_end(struct render *r, const char *why, struct err *e)
{
    struct wire_end end = {.seq = r->seq, .why = why};

    return wire_put_end(r->out, &end, e);
}

static int put_options(struct render *r, json_t *o, bool inside, struct err *e)
{
    json_t *set = request_options(o);
    int rc = set ? 0 : err_nomem(e);

    if (inside)
        json_object_set_new(set, "inside", json_true());
    if (json_object_size(set))
        rc = wire_put_set(r->out, r->seq, set, e);
    json_decref(set);
    return rc;
}

static int put_failure(struct render *r, const char *where, json_t *o,
                       const struct err *failed, struct err *e)
{
    struct wire_error rec = {
        .seq = r->seq, .code = err_word(failed->code), .msg = failed->msg};
    int st = status(failed);

    warn("%s: %s", where, failed->msg);
    r->worst = st > r->worst ? st : r->worst;
    if (!r->out)
        return 0;
    return put_options(r, o, false, e) || wire_put_error(r->out, &rec, e) ||
                   put_end(r, "error", e)
               ? -1
               : 0;
}

static int put_text(struct render *r, const struct jinja_text *t, json_t *o,
                    bool line, struct err *e)
{
    if (!r->out) {
        if (t->text.n)
            fwrite(t->text.p, 1, t->text.n, stdout);
        if (line)
            putchar('\n');
        return 0;
    }
    return put_options(r, o, request_inside(t, r, o), e) ||
                   put_spans(r, t, e) || put_end(r, "input", e)
               ? -1
               : 0;
}

/* The request P[N]; WHERE it stands is for messages.  Only what stops the run
 * is -1. */
static int request(struct render *r, const unsigned char *p, size_t n,
                   const char *where, bool line, struct err *e)
{
    struct jinja_text text = {0};
    struct err failed = {0};
    json_error_t je;
    json_t *o = json_loadb((const char *)p, n,
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    int rc;

    if (json_is_array(o)) /* the messages alone */
        o = json_pack("{s:o}", "messages", o);
    if (!o)
        rc = err_set(&failed, ERR_FORMAT, "JSON: line %d, column %d: %s",
                     je.line, je.column, je.text);
    else
        rc = request_render(&text, r, o, &failed);
    if (!rc)
        rc = put_text(r, &text, o, line, e);
    else if (failed.code == ERR_NOMEM)
        rc = err_nomem(e);
    else
        rc = put_failure(r, where, o, &failed, e);
    r->seq++;
    json_decref(o);
    buf_free(&text.text);
    buf_free(&text.data);
    return rc;
}

/* Read more behind what is in r->in; how much, -1 for an error. */
static ssize_t fill(struct render *r, int fd, const char *name, struct err *e)
{
    unsigned char *to = buf_reserve(&r->in, CHUNK);
    ssize_t n;

    if (!to)
        return err_nomem(e);
    if (r->in.n > MAX_REQUEST)
        return err_set(e, ERR_FORMAT, "%s: a request of more than %d bytes",
                       name, MAX_REQUEST);
    fflush(stdout);
    do
        n = read(fd, to, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    r->in.n += (size_t)n;
    return n;
}

int write_one(void *render, int fd, const char *name, struct err *e)
{
    struct render *r = render;
    ssize_t n;

    r->in.n = 0;
    while ((n = fill(r, fd, name, e)) > 0)
        ;
    return n < 0 ? -1 : request(r, r->in.p, r->in.n, name, false, e);
}

int write_lines(void *render, int fd, const char *name, struct err *e)
{
    struct render *r = render;
    unsigned long long line = 1;
    size_t known = 0; /* bytes at the front that have no newline */
    char where[300];
    ssize_t n;

    r->in.n = 0;
    do {
        unsigned char *p, *end, *nl;

        n = fill(r, fd, name, e);
        if (n < 0)
            return -1;
        p = r->in.p;
        end = p + r->in.n;
        while ((nl = memchr(p + known, '\n', (size_t)(end - p) - known)) ||
               (!n && p < end)) {
            snprintf(where, sizeof where, "%s: line %llu", name, line++);
            if (request(r, p, (size_t)((nl ? nl : end) - p), where, true, e))
                return -1;
            known = 0;
            p = nl ? nl + 1 : end;
        }
        r->in.n = known = (size_t)(end - p);
        memmove(r->in.p, p, r->in.n);
    } while (n);
    return 0;
}
