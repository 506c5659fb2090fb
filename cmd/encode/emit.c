/* SPDX-License-Identifier: MIT
 * emit.c - what tok-encode writes: records, readable lines, or counts. */
#include "cmd/encode/encode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/common/quote.h"

static int print_tokens(struct run *r, struct err *e)
{
    struct buf piece = {0};

    r->text.n = 0;
    for (size_t i = 0; i < r->ids.n; i++) {
        piece.n = 0;
        if (tok_decode(&piece, r->t, &r->ids.p[i], 1, TOK_SHOW_SPECIAL, e))
            break;
        buf_printf(&r->text, "%u\t", r->ids.p[i]);
        quote_put(&r->text, piece.p, piece.n);
        buf_putc(&r->text, '\n');
    }
    buf_free(&piece);
    if (buf_ok(&r->text, e))
        return -1;
    fwrite(r->text.p, 1, r->text.n, stdout);
    return 0;
}

/* Is ID what the model puts around a text: BOS and CLS, EOS and SEP? */
static bool is_frame(const struct run *r, uint32_t id, bool front)
{
    return (int32_t)id == tok_role(r->t, front ? TOK_BOS : TOK_EOS) ||
           (int32_t)id == tok_role(r->t, front ? TOK_CLS : TOK_SEP);
}

/* The text of the tokens in r->ids, but for the first and the last of the
 * sequence where the model put them there. */
static int decode(struct run *r, bool last, struct err *e)
{
    const uint32_t *p = r->ids.p;
    size_t n = r->ids.n;
    unsigned flags = r->flags & TOK_SPECIAL ? TOK_SHOW_SPECIAL : 0u;

    if (r->at_start && n && !(r->flags & TOK_NO_BOS) && tok_adds_bos(r->t) &&
        is_frame(r, p[0], true)) {
        p++;
        n--;
    }
    if (last && n && !(r->flags & TOK_NO_EOS) &&
        (r->flags & TOK_ADD_EOS || tok_adds_eos(r->t)) &&
        is_frame(r, p[n - 1], false))
        n--;
    r->text.n = 0;
    if (!n)
        return 0;
    if (tok_decode(&r->text, r->t, p, n,
                   flags | (r->at_start ? TOK_AT_START : 0u), e))
        return -1;
    r->at_start = tok_starts_text(r->t, p[n - 1]);
    return 0;
}

int emit_tokens(struct run *r, const void *p, size_t n, bool last,
                struct err *e)
{
    struct wire_tokens rec = {
        .seq = r->seq, .ids = r->ids.p, .n = r->ids.n, .text = p, .ntext = n};

    r->ntoken += r->ids.n;
    if (r->count_only || !r->ids.n)
        return 0;
    if (!r->out)
        return print_tokens(r, e);
    if (!tok_verbatim(r->t)) {
        if (decode(r, last, e))
            return -1;
        rec.text = r->text.p ? r->text.p : (const void *)"";
        rec.ntext = r->text.n;
    }
    return wire_put_tokens(r->out, &rec, e);
}

void begin_sequence(struct run *r)
{
    tok_begin(r->enc);
    r->ntoken = 0;
    r->at_start = true;
}

int end_sequence(struct run *r, struct err *e)
{
    struct wire_end rec = {
        .seq = r->seq++, .why = "input", .ntokens = r->ntoken};

    if (r->count_only)
        return printf("%zu\n", r->ntoken) < 0
                   ? err_set(e, ERR_IO, "%s", strerror(errno))
                   : 0;
    if (!r->out)
        return 0;
    return wire_put_end(r->out, &rec, e);
}
