/* SPDX-License-Identifier: MIT
 * tok_make.h - for tests: tiny vocabularies of every kind, random text of many
 * scripts, and the laws that every vocabulary keeps. */
#ifndef LLM_TESTS_TOK_MAKE_H
#define LLM_TESTS_TOK_MAKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gguf/write.h"
#include "tok/tok.h"

/* ---- numbers from a seed ---- */

struct rnd {
    uint64_t s; /* not 0 */
};

static inline uint32_t rnd_get(struct rnd *r)
{
    r->s ^= r->s >> 12;
    r->s ^= r->s << 25;
    r->s ^= r->s >> 27;
    return (uint32_t)(r->s * 2685821657736338717u >> 32);
}

static inline size_t rnd_below(struct rnd *r, size_t n)
{
    return n ? rnd_get(r) % n : 0;
}

/* ---- making a vocabulary ---- */

struct make {
    struct buf strings, types, scores, merges;
    uint32_t n, nmerge;
    char **spelling;
};

/* The id of the token spelled S, which is added if it is not there. */
static inline uint32_t make_token(struct make *m, const char *s,
                                  enum tok_type type, float score)
{
    unsigned char w[8];

    for (uint32_t i = 0; i < m->n; i++)
        if (!strcmp(m->spelling[i], s))
            return i;
    m->spelling = realloc(m->spelling, (m->n + 1) * sizeof *m->spelling);
    m->spelling[m->n] = strdup(s);
    wr_u64(w, strlen(s));
    buf_put(&m->strings, w, 8);
    buf_puts(&m->strings, s);
    wr_u32(w, (uint32_t)type);
    buf_put(&m->types, w, 4);
    buf_put(&m->scores, &score, 4);
    return m->n++;
}

static inline void make_merge(struct make *m, const char *a, const char *b)
{
    unsigned char w[8];
    char joint[256];

    wr_u64(w, strlen(a) + strlen(b) + 1);
    buf_put(&m->merges, w, 8);
    buf_printf(&m->merges, "%s %s", a, b);
    m->nmerge++;
    snprintf(joint, sizeof joint, "%s%s", a, b);
    make_token(m, joint, TOK_NORMAL, -(float)m->n);
}

static inline void make_byte_tokens(struct make *m)
{
    char s[8];

    for (int b = 0; b < 256; b++) {
        snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        make_token(m, s, TOK_BYTE, 0);
    }
}

/* GPT-2's letter for byte B. */
static inline size_t make_letter(char *to, int b)
{
    int cp = 256;

    if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174)
        return utf8_put((unsigned char *)to, (uint32_t)b);
    for (int k = 0; k < b; k++)
        cp += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
    return utf8_put((unsigned char *)to, (uint32_t)cp);
}

/* What all vocabularies know: their tokens are the heads of these words. */
static const char *const make_words[] = {
    " the",   " world", "hello", " hello", "ing",      "123",  " 4567",
    "été",    " café",  "你好",  "世界",   "  ",       "    ", "\n\n",
    "привет", " мир",   "=====", "____",   "'s",       "'ll",  "।",
    "สวัสดี",   "😀",      "안녕",  "()",     " return;", "\t\t", "aaaa",
    "...",    "Ünï",    "\r\n",  "ſt",     "e\u0301",  "नमस्ते", NULL};

/* S in an alphabet: GPT-2's when BYTES, else with U+2581 for spaces; one part
 * after the other. */
static inline int make_parts(char part[64][8], const char *s, bool bytes)
{
    int n = 0;

    for (size_t i = 0, len; s[i]; i += len) {
        uint32_t cp;

        len = 1;
        if (bytes) {
            part[n][make_letter(part[n], (unsigned char)s[i])] = 0;
        } else if (s[i] == ' ') {
            strcpy(part[n], "\u2581");
        } else {
            len = utf8_get((const unsigned char *)s + i, strlen(s + i), &cp);
            memcpy(part[n], s + i, len);
            part[n][len] = 0;
        }
        n++;
    }
    return n;
}

static inline void make_merged_words(struct make *m, bool bytes)
{
    for (int i = 0; make_words[i]; i++) {
        char part[64][8], head[256] = "";
        int n = make_parts(part, make_words[i], bytes);

        for (int k = 0; k < n; k++) {
            make_token(m, part[k], TOK_NORMAL, -(float)(m->n + 1));
            if (k)
                make_merge(m, head, part[k]);
            strcat(head, part[k]);
        }
    }
}

static inline void make_scored_words(struct make *m)
{
    for (int i = 0; make_words[i]; i++) {
        char part[64][8], head[256] = "";
        int n = make_parts(part, make_words[i], false);

        for (int k = 0; k < n; k++) {
            strcat(head, part[k]);
            make_token(m, part[k], TOK_NORMAL, -(float)(m->n + 1));
            make_token(m, head, TOK_NORMAL, -(float)(m->n + 1) / 3);
        }
    }
}

static inline void make_bert(struct make *m)
{
    static const char *const word[] = {
        "\u2581the", "\u2581world", "\u2581hello", "ing",     "\u2581caf",
        "e",         "\u2581你",    "\u2581好",    "\u2581!", "\u2581,",
        "\u2581x",   "yz",          "\u2581при",   "вет",     "\u2581a",
        "a",         "aa",          "\u25811",     "23",      "\u2581.",
        "\u2581_",   "\u2581ss",    "\u2581안",    "\u2581-", "\u2581[",
        "\u2581]",   "mask",        "\u2581mask",  "\u2581'", "s"};

    make_token(m, "[PAD]", TOK_CONTROL, 0);
    make_token(m, "[UNK]", TOK_UNKNOWN, 0);
    make_token(m, "[CLS]", TOK_CONTROL, 0);
    make_token(m, "[SEP]", TOK_CONTROL, 0);
    make_token(m, "[MASK]", TOK_CONTROL, 0);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        make_token(m, word[i], TOK_NORMAL, 0);
}

static inline void make_rwkv(struct make *m)
{
    char s[8];

    make_token(m, "<s>", TOK_CONTROL, 0);
    for (int b = 0; b < 256; b++) {
        if (b > 32 && b < 127 && b != '\\')
            snprintf(s, sizeof s, "%c", b);
        else
            snprintf(s, sizeof s, "\\x%02x", (unsigned)b);
        make_token(m, s, TOK_NORMAL, 0);
    }
    for (int i = 0; make_words[i]; i++) {
        char head[256] = "";

        for (size_t k = 0; make_words[i][k]; k++) {
            unsigned char c = (unsigned char)make_words[i][k];
            size_t at = strlen(head);

            if (c == '\n' || c == '\t' || c == '\r')
                snprintf(head + at, 3, "\\%c",
                         c == '\n'   ? 'n'
                         : c == '\t' ? 't'
                                     : 'r');
            else if (c >= 127)
                snprintf(head + at, 5, "\\x%02x", (unsigned)c);
            else
                snprintf(head + at, 2, "%c", c);
            if (k % 3 == 1 || !make_words[i][k + 1])
                make_token(m, head, TOK_NORMAL, 0);
        }
    }
}

/* A table for "t5": \t and \n are spaces, U+FB01 is "fi", U+200B is nothing,
 * A to Z are small.  In the layout of darts-clone, a block of 256 units for the
 * children of each node. */
static inline void make_charsmap(struct buf *b)
{
    enum { N = 12288 };
    static const struct {
        const char *from, *to;
    } map[] = {{"\t", " "}, {"\n", " "}, {"\uFB01", "fi"}, {"\u200b", ""}};
    static uint32_t unit[N];
    struct buf text = {0};
    unsigned char w[4];
    uint32_t next = 512;

    memset(unit, 0, sizeof unit);
    unit[0] = 256u << 10;
    buf_putc(&text, 0);
    for (int i = 0; i < 4 + 26; i++) {
        char from[2] = {(char)('A' + i - 4)}, to[2] = {(char)('a' + i - 4)};
        uint32_t at = 0, base = 256;

        for (const char *f = i < 4 ? map[i].from : from; *f; f++) {
            at = base ^ (unsigned char)*f;
            if (!unit[at]) {
                unit[at] = (unsigned char)*f | (at ^ next) << 10;
                next += 256;
            }
            base = unit[at] >> 10 ^ at;
        }
        unit[at] |= 1u << 8; /* and its value: */
        unit[base] = 0x80000000u | (uint32_t)text.n;
        buf_puts(&text, i < 4 ? map[i].to : to);
        buf_putc(&text, 0);
    }
    wr_u32(w, N * 4);
    buf_put(b, w, 4);
    for (int i = 0; i < N; i++) {
        wr_u32(w, unit[i]);
        buf_put(b, w, 4);
    }
    buf_put(b, text.p, text.n);
    buf_free(&text);
}

static inline struct gguf_str make_str(const char *s)
{
    return (struct gguf_str){s, strlen(s)};
}

/* Append a GGUF with a vocabulary of KIND and pre-tokenizer PRE to FILE. */
static inline int make_vocab(struct buf *file, const char *kind,
                             const char *pre)
{
    struct make m = {0};
    struct gguf_out o;
    struct err e = {0};
    int rc;

    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture", make_str("llama"));
    gguf_put_str(&o, "tokenizer.ggml.model", make_str(kind));
    if (pre)
        gguf_put_str(&o, "tokenizer.ggml.pre", make_str(pre));
    if (!strcmp(kind, "bert")) {
        make_bert(&m);
        gguf_put_int(&o, "tokenizer.ggml.unknown_token_id", GGUF_U32, 1);
        gguf_put_int(&o, "tokenizer.ggml.cls_token_id", GGUF_U32, 2);
        gguf_put_int(&o, "tokenizer.ggml.seperator_token_id", GGUF_U32, 3);
        gguf_put_int(&o, "tokenizer.ggml.mask_token_id", GGUF_U32, 4);
    } else if (!strcmp(kind, "rwkv")) {
        make_rwkv(&m);
    } else {
        make_token(&m, "<unk>", TOK_UNKNOWN, 0);
        make_token(&m, "<s>", TOK_CONTROL, 0);
        make_token(&m, "</s>", TOK_CONTROL, 0);
        gguf_put_int(&o, "tokenizer.ggml.unknown_token_id", GGUF_U32, 0);
        gguf_put_int(&o, "tokenizer.ggml.bos_token_id", GGUF_U32, 1);
        gguf_put_int(&o, "tokenizer.ggml.eos_token_id", GGUF_U32, 2);
    }
    if (!strcmp(kind, "gpt2")) {
        for (int b = 0; b < 256; b++) {
            char s[8] = {0};

            make_letter(s, b);
            make_token(&m, s, TOK_NORMAL, 0);
        }
        make_merged_words(&m, true);
    } else if (!strcmp(kind, "gemma4")) {
        make_byte_tokens(&m);
        make_merged_words(&m, false);
    } else if (!strcmp(kind, "llama")) {
        make_byte_tokens(&m);
        make_scored_words(&m);
    } else if (!strcmp(kind, "t5")) {
        struct buf table = {0};

        make_scored_words(&m);
        make_token(&m, "\u2581", TOK_NORMAL, -3);
        make_charsmap(&table);
        gguf_put_arr(&o, "tokenizer.ggml.precompiled_charsmap", GGUF_U8,
                     table.n, table.p, table.n);
        buf_free(&table);
    }
    make_token(&m, "<|im_start|>", TOK_CONTROL, 0);
    make_token(&m, "<|im_end|>", TOK_CONTROL, 0);
    make_token(&m, "<|im_", TOK_CONTROL, 0);
    make_token(&m, "<tool>", TOK_USER_DEFINED, 0);
    make_token(&m, "<tool><tool>", TOK_USER_DEFINED, 0);
    gguf_put_arr(&o, "tokenizer.ggml.tokens", GGUF_STR, m.n, m.strings.p,
                 m.strings.n);
    gguf_put_arr(&o, "tokenizer.ggml.token_type", GGUF_I32, m.n, m.types.p,
                 m.types.n);
    if (!strcmp(kind, "llama") || !strcmp(kind, "t5"))
        gguf_put_arr(&o, "tokenizer.ggml.scores", GGUF_F32, m.n, m.scores.p,
                     m.scores.n);
    if (m.nmerge)
        gguf_put_arr(&o, "tokenizer.ggml.merges", GGUF_STR, m.nmerge,
                     m.merges.p, m.merges.n);
    rc = gguf_out_head(file, &o, &e);
    gguf_out_fini(&o);
    for (uint32_t i = 0; i < m.n; i++)
        free(m.spelling[i]);
    free(m.spelling);
    buf_free(&m.strings);
    buf_free(&m.types);
    buf_free(&m.scores);
    buf_free(&m.merges);
    return rc;
}

/* ---- text ---- */

static const char *const make_bits[] = {"Hello",
                                        " world",
                                        "the ",
                                        "don't",
                                        "I'LL",
                                        "it's ",
                                        "we’ve",
                                        "naïve ",
                                        "Straße",
                                        "ĲSSEL",
                                        "été ",
                                        "e\u0301a\u0308",
                                        "привет ",
                                        "Ёлка",
                                        "Ωμέγα ",
                                        "ελληνικά",
                                        "你好",
                                        "世界。",
                                        "漢字かな",
                                        "カタカナ ",
                                        "ｶﾞ",
                                        "안녕 하세요",
                                        "ㄱㄴ",
                                        "สวัสดีครับ",
                                        "नमस्ते ",
                                        "हिन्दी",
                                        "မြန်မာ",
                                        "ភាសា",
                                        "مرحبا ",
                                        "שלום",
                                        "😀",
                                        "👩‍👩‍👧",
                                        "🇩🇪",
                                        "1️⃣",
                                        "½",
                                        "²³",
                                        "Ⅷ",
                                        "٣٤٥",
                                        "१२३",
                                        "１２",
                                        "1",
                                        "12",
                                        "123",
                                        "1234",
                                        "12345678",
                                        "3.14",
                                        "1,000",
                                        ".",
                                        ",",
                                        "...",
                                        "!?",
                                        "--",
                                        "(",
                                        ")",
                                        "[x]",
                                        "{}",
                                        "<>",
                                        "</s>",
                                        "<s>",
                                        "\"",
                                        "'",
                                        "''",
                                        "_",
                                        "____",
                                        "==",
                                        "=>",
                                        "#",
                                        "//",
                                        "/*",
                                        "\\",
                                        "$",
                                        "€",
                                        "™",
                                        "…",
                                        "“",
                                        "”",
                                        "「",
                                        " ",
                                        "  ",
                                        "   ",
                                        "       ",
                                        "\n",
                                        "\n\n",
                                        "\n \n",
                                        "\r\n",
                                        "\r",
                                        "\t",
                                        "\t\t",
                                        " \t ",
                                        "\v",
                                        "\f",
                                        "\xc2\x85",
                                        "\u00a0",
                                        "\u2003",
                                        "\u3000",
                                        "\u2028",
                                        "\u200b",
                                        "\u200d",
                                        "\ufeff",
                                        "\u180e",
                                        "\x1c",
                                        "\u2581",
                                        "\u2581\u2581",
                                        "\ufffd",
                                        "\x7f",
                                        "\x01",
                                        "ſ",
                                        "'ſ",
                                        "K",
                                        "ǅ",
                                        "ʰ",
                                        "ª",
                                        "İi",
                                        "ı",
                                        "\ufb01",
                                        "camelCaseWord",
                                        "HTTPServer",
                                        "snake_case",
                                        "x=1;",
                                        "for(i=0;",
                                        "a",
                                        "A",
                                        "z",
                                        "<|im_start|>",
                                        "<|im_end|>",
                                        "<|im_",
                                        "<tool>",
                                        "<mask>",
                                        "[MASK]",
                                        "<|endoftext|>",
                                        "IMGIMGABZ",
                                        "<sentinel:12>",
                                        "\U0001f130",
                                        "\u0300",
                                        "\u093f",
                                        "\ue000",
                                        "\U000e0001",
                                        "\U0010ffff",
                                        "\u0378"};
static const char *const make_bad[] = {
    "\x80",     "\xbf",         "\xc3",     "\xe2\x96", "\xf0\x9f\x98",
    "\xc0\xaf", "\xed\xa0\x80", "\xff",     "\xfe",     "\xf4\x90\x80\x80",
    "\xe2",     "\xf0",         "\xe0\x80", "\xc3(",    "\xb2",
    "\xbc"};

/* Append about N bytes of text to B; T, when not NULL, gives spellings. */
static inline void make_text(struct buf *b, struct rnd *r, size_t n,
                             const struct tok *t)
{
    size_t end = b->n + n;

    while (b->n < end && !b->bad) {
        uint32_t what = rnd_get(r) % 100;

        if (what < 70) {
            buf_puts(
                b,
                make_bits[rnd_below(r, sizeof make_bits / sizeof *make_bits)]);
        } else if (what < 76) {
            buf_puts(
                b, make_bad[rnd_below(r, sizeof make_bad / sizeof *make_bad)]);
        } else if (what < 80) {
            size_t k = rnd_below(r, 8);

            while (k--)
                buf_putc(b, (int)rnd_below(r, 256));
        } else if (what < 84) {
            unsigned char c[4];
            uint32_t cp = rnd_get(r) >> rnd_below(r, 32);

            cp %= 0x110000;
            if (cp < 0xd800 || cp > 0xdfff)
                buf_put(b, c, utf8_put(c, cp));
        } else if (what < 86) {
            const char *s =
                make_bits[rnd_below(r, sizeof make_bits / sizeof *make_bits)];
            size_t k = rnd_below(r, 60);

            while (k--)
                buf_puts(b, s);
        } else if (t) {
            struct gguf_str s = {"", 0};
            size_t tries = 40;

            /* half of these: tokens found before the text is split */
            do
                s = tok_spelling(t, (uint32_t)rnd_below(r, tok_count(t)));
            while (what < 93 && --tries &&
                   (s.n < 3 || s.p[0] != '<' || s.p[s.n - 1] != '>'));
            if (s.n < 64)
                buf_put(b, s.p, s.n);
        }
    }
}

/* ---- laws ---- */

struct law {
    const struct tok *t;
    unsigned flags;
    struct tok_enc *used; /* has a cache of what it met before */
    struct tok_ids want, got;
    struct buf back;
    char why[700];
};

static inline int law_open(struct law *l, const struct tok *t, unsigned flags)
{
    *l = (struct law){.t = t, .flags = flags};
    l->used = tok_enc_new(t, flags, NULL);
    return l->used ? 0 : -1;
}

static inline void law_close(struct law *l)
{
    tok_enc_free(l->used);
    tok_ids_free(&l->want);
    tok_ids_free(&l->got);
    buf_free(&l->back);
}

static inline bool law_same(struct law *l, const char *what, size_t part)
{
    size_t i = 0;

    while (i < l->got.n && i < l->want.n && l->got.p[i] == l->want.p[i])
        i++;
    if (i == l->got.n && i == l->want.n)
        return true;
    snprintf(l->why, sizeof l->why,
             "%s, parts of %zu: token %zu of %zu is %ld, not %ld of %zu", what,
             part, i, l->got.n, i < l->got.n ? (long)l->got.p[i] : -1,
             i < l->want.n ? (long)l->want.p[i] : -1, l->want.n);
    return false;
}

/* Feed P[N] in parts of PART bytes, or with PART 0 of random sizes; each from
 * memory of its own, so that nothing behind it can be read. */
static inline int law_feed(struct law *l, struct tok_enc *enc,
                           struct pool *pool, const unsigned char *p, size_t n,
                           size_t part, struct rnd *r, struct err *e)
{
    size_t at = 0, have = 0, used;
    int rc = 0;

    l->got.n = 0;
    tok_begin(enc);
    do {
        size_t k = part              ? part
                   : rnd_below(r, 2) ? 1 + rnd_below(r, 40)
                                     : 1 + rnd_below(r, n + 1);
        bool last;
        unsigned char *copy;

        have = k > n - have ? n : have + k;
        last = have == n && (part || rnd_below(r, 2));
        copy = malloc(have - at + !(have - at));
        memcpy(copy, p + at, have - at);
        used = 0;
        rc |= pool ? tok_feed_pool(enc, pool, &l->got, copy, have - at, last,
                                   &used, e)
                   : tok_feed(enc, &l->got, copy, have - at, last, &used, e);
        free(copy);
        if (used > have - at || (last && used != have - at && !rc)) {
            snprintf(l->why, sizeof l->why, "used %zu of %zu", used, have - at);
            return -1;
        }
        at += used;
        if (last || rc)
            break;
    } while (1);
    return rc;
}

/* All laws for the text P[N]; false and l->why when one is broken.  POOL may
 * be NULL.  DEEP: also parts of one byte, whose time is the square of N. */
static inline bool law_check(struct law *l, const unsigned char *p, size_t n,
                             struct pool *pool, bool deep, struct rnd *r)
{
    struct err e = {0}, e2 = {0};
    struct tok_enc *fresh = tok_enc_new(l->t, l->flags, NULL);
    size_t parts[] = {1, 7, 0};
    bool good = true;
    int rc;

    l->want.n = 0;
    *l->why = 0;
    rc = tok_encode(fresh, &l->want, p, n, &e);
    if (rc && e.code != ERR_UNSUPPORTED) {
        snprintf(l->why, sizeof l->why, "error: %s", e.msg);
        good = false;
    }
    tok_enc_free(fresh);
    for (int i = deep ? 0 : 2; i < 3 && good; i++) {
        int rc2 = law_feed(l, l->used, NULL, p, n, parts[i], r, &e2);

        good = !*l->why && (rc ? rc2 : law_same(l, "feed", parts[i]) && !rc2);
        if (!good && !*l->why)
            snprintf(l->why, sizeof l->why, "feed gives %d, encode %d: %s", rc2,
                     rc, rc ? e.msg : e2.msg);
    }
    for (size_t part = 0; pool && part < 2 && good; part++) {
        int rc2 = law_feed(l, l->used, pool, p, n, part ? n + 1 : 0, r, &e2);

        good = !*l->why && (rc ? rc2 : law_same(l, "pool", part) && !rc2);
        if (!good && !*l->why)
            snprintf(l->why, sizeof l->why, "pool gives %d, encode %d", rc2,
                     rc);
    }
    if (good && !rc && tok_lossless(l->t) && l->flags & TOK_NO_BOS &&
        l->flags & TOK_NO_EOS) {
        l->back.n = 0;
        tok_decode(&l->back, l->t, l->want.p, l->want.n,
                   TOK_AT_START |
                       (l->flags & TOK_SPECIAL ? TOK_SHOW_SPECIAL : 0),
                   NULL);
        good = l->back.n == n && !memcmp(l->back.p, p, n);
        if (!good)
            snprintf(l->why, sizeof l->why, "%zu bytes come back as %zu", n,
                     l->back.n);
    }
    return good;
}

/* The shortest broken text found by leaving out stretches of P[*N]. */
static inline void law_shrink(struct law *l, unsigned char *p, size_t *n,
                              struct pool *pool, bool deep)
{
    unsigned char *q = malloc(*n + 1);

    for (size_t len = *n / 2; len; len = *n < 20 && len > 1 ? 1 : len / 2)
        for (size_t at = 0; at + len <= *n;) {
            struct rnd r = {7};

            memcpy(q, p, at);
            memcpy(q + at, p + at + len, *n - at - len);
            if (law_check(l, q, *n - len, pool, deep, &r)) {
                at += len;
                continue;
            }
            *n -= len;
            memcpy(p, q, *n);
        }
    free(q);
    {
        struct rnd r = {7};

        law_check(l, p, *n, pool, deep, &r);
    }
}

#endif
