/* SPDX-License-Identifier: MIT */
#include "run/retext.h"

#include <stdlib.h>
#include <string.h>

enum {
    BEFORE = 4,       /* tokens that what is added is looked at with */
    TAIL_MOST = 4096, /* bytes of a text that are tokens anew each time, and */
    TAIL = 512        /* that stay so when there are more */
};

struct retext {
    const struct tok *ours, *theirs;
    struct tok_enc *to_ours, *to_theirs;
    struct tok_ids ids;
    struct buf text, added, joined;
    size_t *end; /* of each token's text */
    int n, cap;
    /* Up to here the words stay what they are. */
    size_t fixed;
    int fixed_words;
    int given; /* tokens, of ADDED */
};

struct retext *retext_new(const struct tok *ours, const struct tok *theirs,
                          struct err *e)
{
    struct retext *r = calloc(1, sizeof *r);

    if (!r) {
        err_nomem(e);
        return NULL;
    }
    r->ours = ours;
    r->theirs = theirs;
    r->to_ours = tok_enc_new(ours, TOK_NO_BOS | TOK_NO_EOS, e);
    if (r->to_ours)
        r->to_theirs = tok_enc_new(theirs, TOK_NO_BOS | TOK_NO_EOS, e);
    if (!r->to_theirs) {
        retext_free(r);
        return NULL;
    }
    return r;
}

void retext_free(struct retext *r)
{
    if (!r)
        return;
    tok_enc_free(r->to_ours);
    tok_enc_free(r->to_theirs);
    tok_ids_free(&r->ids);
    buf_free(&r->text);
    buf_free(&r->added);
    buf_free(&r->joined);
    free(r->end);
    free(r);
}

static int add_text(struct retext *r, int32_t t, struct err *e)
{
    uint32_t id = (uint32_t)t;

    if (r->n == r->cap) {
        int cap = r->cap * 2 + 64;
        size_t *end = realloc(r->end, (size_t)cap * sizeof *end);

        if (!end)
            return err_nomem(e);
        r->end = end;
        r->cap = cap;
    }
    if (tok_decode(&r->text, r->ours, &id, 1, r->text.n ? 0 : TOK_AT_START, e))
        return -1;
    r->end[r->n++] = r->text.n;
    return 0;
}

/* Of the words behind the fixed ones, fix those before the last TAIL bytes, if
 * their texts are that text. */
static int fix(struct retext *r, const struct ids *words, struct err *e)
{
    size_t at = r->fixed;
    int i = r->fixed_words;

    while (i < words->n && at + TAIL < r->text.n) {
        uint32_t id = (uint32_t)words->p[i];

        r->joined.n = 0;
        if (tok_decode(&r->joined, r->theirs, &id, 1,
                       i == r->fixed_words ? TOK_AT_START : 0, e))
            return -1;
        if (at + r->joined.n > r->text.n ||
            memcmp(r->text.p + at, r->joined.p, r->joined.n))
            break;
        at += r->joined.n;
        i++;
    }
    r->fixed = at;
    r->fixed_words = i;
    return 0;
}

int retext_begin(struct retext *r, struct ids *words, const int32_t *t, int n,
                 int same, struct err *e)
{
    if (same < r->n) {
        r->n = same;
        r->text.n = same ? r->end[same - 1] : 0;
    }
    while (r->n < n)
        if (add_text(r, t[r->n], e))
            return -1;
    if (r->fixed > r->text.n) {
        r->fixed = 0;
        r->fixed_words = 0;
    }
    r->added.n = 0;
    r->given = 0;
    words->n = r->fixed_words;
    r->ids.n = 0;
    if (!words->n && tok_adds_bos(r->theirs) &&
        tok_role(r->theirs, TOK_BOS) >= 0 &&
        ids_push(words, tok_role(r->theirs, TOK_BOS), e))
        return -1;
    if (r->text.n > r->fixed &&
        tok_encode(r->to_theirs, &r->ids, r->text.p + r->fixed,
                   r->text.n - r->fixed, e))
        return -1;
    for (size_t i = 0; i < r->ids.n; i++)
        if (ids_push(words, (int32_t)r->ids.p[i], e))
            return -1;
    return r->text.n - r->fixed > TAIL_MOST ? fix(r, words, e) : 0;
}

int retext_add(struct retext *r, int32_t word, struct err *e)
{
    uint32_t id = (uint32_t)word;

    return tok_decode(&r->added, r->theirs, &id, 1,
                      r->text.n ? 0 : TOK_AT_START, e);
}

int retext_next(struct retext *r, int32_t *id, bool last, struct err *e)
{
    size_t before = r->n > BEFORE ? r->end[r->n - BEFORE - 1] : 0, at = 0;
    size_t i = 0;

    if (!r->added.n)
        return 0;
    before = r->text.n - before;
    r->joined.n = 0;
    if (before)
        buf_put(&r->joined, r->text.p + r->text.n - before, before);
    buf_put(&r->joined, r->added.p, r->added.n);
    r->ids.n = 0;
    if (buf_ok(&r->joined, e) ||
        tok_encode(r->to_ours, &r->ids, r->joined.p, r->joined.n, e))
        return -1;
    /* Where what was added begins a token, too. */
    for (; i < r->ids.n && at < before; i++) {
        r->joined.n = 0;
        if (tok_decode(&r->joined, r->ours, &r->ids.p[i], 1,
                       i ? 0 : TOK_AT_START, e))
            return -1;
        at += r->joined.n;
    }
    i += (size_t)r->given;
    if (at != before || i >= r->ids.n || (!last && i + 1 == r->ids.n))
        return 0;
    *id = (int32_t)r->ids.p[i];
    r->given++;
    return 1;
}
