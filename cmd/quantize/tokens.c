/* SPDX-License-Identifier: MIT
 *
 * The tokens on which a model's loss is measured: of a text, or of a stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/io.h"
#include "cmd/common/prompts.h"
#include "cmd/quantize/quantize.h"
#include "run/step.h"
#include "tok/tok.h"

enum { PIECE = 1 << 16, LEAST = 256 };

struct source {
    struct score_apart *a;
    const struct gguf *g;
    size_t most; /* tokens */
    int32_t bos; /* which is before them, and not one of them; or -1 */
    int fd;
    const char *name;
};

/* Does the file begin as a stream does?  What cannot be looked at twice is
 * taken for one. */
static bool is_stream(int fd)
{
    unsigned char first;

    return pread(fd, &first, 1, 0) != 1 || first == 0xd9 || first == '{';
}

static ssize_t fill(struct buf *b, const struct source *t, struct err *e)
{
    unsigned char *to = buf_reserve(b, PIECE);
    ssize_t n;

    if (!to)
        return err_nomem(e);
    do
        n = read(t->fd, to, PIECE);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(e, ERR_IO, "%s: %s", t->name, strerror(errno));
    b->n += (size_t)n;
    return n;
}

/* As many tokens as are wanted, or the text has. */
static int encode(struct tok_ids *ids, struct tok_enc *enc,
                  const struct source *t, struct err *e)
{
    struct buf b = {0};
    size_t used;
    ssize_t n = 1;

    tok_begin(enc);
    while (n > 0 && ids->n < t->most) {
        n = fill(&b, t, e);
        if (n < 0 || tok_feed(enc, ids, b.p ? b.p : (const void *)"", b.n, !n,
                              &used, e)) {
            buf_free(&b);
            return -1;
        }
        b.n -= used;
        if (b.n)
            memmove(b.p, b.p + used, b.n);
    }
    buf_free(&b);
    if (ids->n > t->most)
        ids->n = t->most;
    return 0;
}

static int add_text(struct source *t, const struct tok *tok, struct err *e)
{
    struct tok_enc *enc = tok_enc_new(tok, TOK_NO_BOS | TOK_NO_EOS, e);
    struct tok_ids ids = {0};
    int rc = enc ? encode(&ids, enc, t, e) : -1;

    if (!rc)
        rc = score_apart_add(t->a, (const int32_t *)ids.p, ids.n, e);
    tok_ids_free(&ids);
    tok_enc_free(enc);
    return rc;
}

/* One sequence of a stream. */
static int add_prompt(struct source *t, struct prompt *q, struct err *e)
{
    size_t have = score_apart_count(t->a), n = (size_t)q->n, room;
    int rc = 0;

    if (q->failed.code) {
        *e = q->failed;
        rc = -1;
    } else if (have < t->most) {
        room = t->most - have + (n && q->ids[0] == t->bos);
        rc = score_apart_add(t->a, q->ids, n < room ? n : room, e);
    }
    prompt_free(q);
    return rc;
}

static int add_stream(struct source *t, struct err *e)
{
    char vocab[33];
    struct prompts_use use = {.vocab = vocab};
    struct prompts *in;
    struct prompt *q;
    int got, rc = 0;

    gguf_vocab_id(vocab, t->g);
    if (prompts_open(&in, t->fd, t->name, &use, e))
        return -1;
    while (!rc && (got = prompts_next(&q, in, e)) != 0) {
        if (got < 0)
            rc = -1;
        else if (got == 1)
            rc = add_prompt(t, q, e);
    }
    prompts_close(in);
    return rc;
}

int tokens_add(struct score_apart *a, const struct gguf *g,
               const struct tok *tok, const struct job *j, struct err *e)
{
    struct source t = {.a = a,
                       .g = g,
                       .most = (size_t)j->tokens,
                       .bos = tok_adds_bos(tok) ? tok_role(tok, TOK_BOS) : -1};
    int rc;

    t.fd = io_open(j->text, &t.name, e);
    if (t.fd < 0)
        return -1;
    rc = is_stream(t.fd) ? add_stream(&t, e) : add_text(&t, tok, e);
    if (t.fd != STDIN_FILENO)
        close(t.fd);
    if (!rc && score_apart_count(a) < LEAST)
        rc = err_set(e, ERR_FORMAT,
                     "%s: has %zu tokens that can be scored; %d are needed",
                     t.name, score_apart_count(a), LEAST);
    return rc;
}
