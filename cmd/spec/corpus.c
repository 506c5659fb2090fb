/* SPDX-License-Identifier: MIT
 * corpus.c - a text, or tokens, that answers may repeat. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "cmd/spec/spec.h"
#include "wire/wire.h"

enum { BREAK = -1 }; /* between two sequences: nothing is that token */

static int add(struct buf *to, const uint32_t *ids, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        int32_t id = ids[i] <= INT32_MAX ? (int32_t)ids[i] : BREAK;

        buf_put(to, &id, sizeof id);
    }
    return buf_ok(to, e);
}

/* Sequences that are mixed in the stream are in pieces here. */
static int read_stream(struct buf *to, const char *path, const struct load *l,
                       struct err *e)
{
    static const uint32_t none = UINT32_MAX;
    struct wire_in *in = NULL;
    struct wire_rec r;
    uint64_t last = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC), got;

    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    got = wire_in_open(&in, fd, path, e) ? -1 : 1;
    while (got > 0 && (got = wire_next(in, &r, e)) > 0) {
        int rc = 0;

        if (r.kind == WIRE_HEADER)
            rc = wire_check_vocab(&r.header, l->vocab, e);
        if (r.kind == WIRE_END || (r.kind == WIRE_TOKENS && r.seq != last))
            rc = add(to, &none, 1, e);
        if (!rc && r.kind == WIRE_TOKENS)
            rc = add(to, r.tokens.ids, r.tokens.n, e);
        last = r.seq;
        if (rc)
            got = err_prefix(e, "%s", path);
    }
    wire_in_close(in);
    close(fd);
    return got;
}

static int read_text(struct buf *to, const struct map *m, const struct load *l,
                     struct err *e)
{
    struct tok_enc *enc = tok_enc_new(l->tok, TOK_NO_BOS | TOK_NO_EOS, e);
    struct tok_ids ids = {0};
    int rc = enc ? 0 : -1;

    if (!rc && m->n)
        rc = tok_encode(enc, &ids, m->p, m->n, e) || add(to, ids.p, ids.n, e);
    tok_ids_free(&ids);
    tok_enc_free(enc);
    return rc ? -1 : 0;
}

static bool is_stream(const struct map *m)
{
    static const char *const begins[] = {"\xd9\xd9\xf7", "{\"by\"", "{\"llm\"",
                                         "{\"t\""};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t n = strlen(begins[i]);

        if (m->n >= n && !memcmp(m->p, begins[i], n))
            return true;
    }
    return false;
}

int corpus_read(int32_t **ids, size_t *n, const char *path,
                const struct load *l, struct err *e)
{
    struct map m = {0};
    struct buf got = {0};
    int rc;

    if (map_open(&m, path, e))
        return -1;
    rc = is_stream(&m) ? read_stream(&got, path, l, e)
                       : read_text(&got, &m, l, e);
    map_close(&m);
    if (rc) {
        buf_free(&got);
        return -1;
    }
    *ids = (int32_t *)(void *)got.p;
    *n = got.n / sizeof **ids;
    return 0;
}
