/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cmd/check/check.h"
#include "cmd/common/quote.h"

static uint32_t not_full(uint32_t state)
{
    if (state == GRAMMAR_FULL)
        die(&(struct err){ERR_UNSUPPORTED, "the grammar has too many states"});
    return state;
}

static uint32_t by_bytes(const struct check *c, const unsigned char *p,
                         size_t n, size_t *bad)
{
    uint32_t s = grammar_start(c->g), next;

    for (size_t i = 0; i < n; i++, s = next) {
        next = not_full(grammar_byte(c->g, s, p[i]));
        if (next == GRAMMAR_DEAD) {
            *bad = i;
            return s;
        }
    }
    return s;
}

/* The text of token ID, the first of a text or not. */
static void text_of(struct buf *out, const struct check *c, uint32_t id,
                    bool first)
{
    struct err e = {0};

    out->n = 0;
    if (tok_decode(out, c->tok, &id, 1,
                   TOK_SHOW_SPECIAL | (first ? TOK_AT_START : 0), &e))
        die(&e);
}

static uint32_t by_tokens(const struct check *c, const unsigned char *p,
                          size_t n, size_t *bad)
{
    uint32_t s = grammar_start(c->g), next;
    struct tok_ids ids = {0};
    struct buf text = {0};
    struct err e = {0};
    uint64_t replaced = tok_replaced(c->enc);
    size_t at = 0;

    if (tok_encode(c->enc, &ids, p, n, &e))
        die(&e);
    if (tok_replaced(c->enc) != replaced) { /* it has none for some of them */
        tok_ids_free(&ids);
        return by_bytes(c, p, n, bad);
    }
    for (size_t i = 0; i < ids.n; i++, s = next) {
        uint32_t id = ids.p[i];

        text_of(&text, c, id, i == 0);
        /* A text's first token may have lost the space before it. */
        if (i == 0 && !c->vocab.control[id] && text.n != c->vocab.len[id])
            next = grammar_bytes(c->g, s, text.p, text.n);
        else
            next = grammar_token(c->g, s, id);
        if (not_full(next) == GRAMMAR_DEAD) {
            *bad = at;
            break;
        }
        at += text.n;
    }
    tok_ids_free(&ids);
    buf_free(&text);
    return s;
}

uint32_t check_state(const struct check *c, const void *p, size_t n,
                     size_t *bad)
{
    *bad = SIZE_MAX;
    return c->tok ? by_tokens(c, p, n, bad) : by_bytes(c, p, n, bad);
}

static void put_string(struct buf *out, const void *p, size_t n)
{
    struct err e = {0};

    quote_put(out, p, n);
    if (buf_ok(out, &e))
        die(&e);
}

bool check_text(const struct check *c, const void *p, size_t n)
{
    size_t bad;
    uint32_t s = check_state(c, p, n, &bad);
    bool match = bad == SIZE_MAX && grammar_ends(c->g, s);
    struct buf out = {0};

    if (bad != SIZE_MAX)
        buf_printf(&out, "no %zu\t", bad);
    else
        buf_puts(&out, match ? "match\t" : "more\t");
    put_string(&out, p, n);
    buf_putc(&out, '\n');
    fwrite(out.p, 1, out.n, stdout);
    buf_free(&out);
    return match;
}

/* ---- what may come ---- */

static void put_byte(int b)
{
    if (b > 0x20 && b < 0x7f)
        printf("%c", b);
    else
        printf("\\x%02x", (unsigned)b);
}

static void next_bytes(const struct check *c, uint32_t state)
{
    bool next[257] = {false};

    grammar_next(c->g, state, next);
    for (int b = 0; b < 256; b++) {
        int last = b;

        if (!next[b])
            continue;
        while (next[last + 1])
            last++;
        put_byte(b);
        if (last > b + 1)
            putchar('-');
        else if (last > b)
            putchar('\n');
        if (last > b)
            put_byte(last);
        putchar('\n');
        b = last;
    }
}

static void next_tokens(const struct check *c, uint32_t state)
{
    struct err e = {0};
    struct buf out = {0};
    const uint64_t *mask = grammar_mask(c->g, state, &e);
    bool end = grammar_ends(c->g, state);

    if (!mask)
        die(&e);
    for (uint32_t id = 0; id < c->vocab.n; id++) {
        if (!(mask[id / 64] >> id % 64 & 1) || (c->vocab.end[id] && end))
            continue;
        out.n = 0;
        buf_printf(&out, "%lu\t", (unsigned long)id);
        put_string(&out, c->vocab.text[id], c->vocab.len[id]);
        buf_putc(&out, '\n');
        fwrite(out.p, 1, out.n, stdout);
    }
    buf_free(&out);
}

void check_next(const struct check *c, uint32_t state)
{
    if (c->tok)
        next_tokens(c, state);
    else
        next_bytes(c, state);
    if (grammar_ends(c->g, state))
        puts("end");
}
