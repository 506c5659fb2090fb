/* SPDX-License-Identifier: MIT
 *
 * A byte that chooses the kind, a grammar up to a NUL, and then what chooses
 * tokens, of which there are all bytes and some texts.  What compiles is
 * walked: at each place a mask must say of each token what the state after it
 * says, what may end must, and some token must come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const text[] = {
    "a", "b",  "c",    "ab",   "1",     "12",         "0",        "\"",
    "{", "}",  "[",    "]",    ":",     ",",          "\":",      "\",",
    " ", "\n", "\\",   "\\\"", "null",  "true",       "\"a\": ",  "{\"a\":1}",
    "-", ".",  "e",    "\xc3", "\xa9",  "é",          "\xf0\x9f", "\x98\x80",
    "😀", "x",  "\\u0", "0061", "  \n ", "aaaaaaaaaa", "<t>",      "<|e|>",
};
enum { NTEXT = sizeof text / sizeof *text, N = 256 + NTEXT };

static void must(bool good, const char *why)
{
    if (!good) {
        fprintf(stderr, "grammar: %s\n", why);
        abort();
    }
}

static void walk(struct match *m, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n && i < 64; i++) {
        const uint64_t *mask;
        uint32_t may[N], k = 0;
        uint64_t copy[(N + 63) / 64];

        if (match_mask(&mask, m, NULL))
            return; /* limits */
        memset(copy, 0xff, sizeof copy);
        if (mask)
            memcpy(copy, mask, sizeof copy);
        for (uint32_t id = 0; id < N; id++) {
            struct err e = {0};

            if (match_accept(m, id, &e)) {
                if (e.code == ERR_UNSUPPORTED)
                    return;
                must(!(copy[id / 64] >> id % 64 & 1),
                     "a token of the mask was refused");
                continue;
            }
            must(copy[id / 64] >> id % 64 & 1,
                 "a token was taken that the mask has not");
            match_back(m, 1);
            may[k++] = id;
        }
        must(k > 0, "nothing may come");
        k = may[p[i] % k];
        if (match_accept(m, k, NULL) || k == N - 1)
            return;
        if (p[i] > 250)
            match_back(m, p[i] - 250u);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t *at[N];
    static uint8_t byte[256];
    static uint32_t len[N];
    static uint8_t control[N], end[N];
    struct grammar_vocab v = {
        .n = N, .text = at, .len = len, .control = control, .end = end};
    const char *p = (const char *)data + 1;
    const uint8_t *rest;
    size_t n;
    struct grammar *g = NULL;
    struct match *m;
    struct err e = {0};
    int rc;

    for (uint32_t i = 0; i < N; i++) {
        byte[i % 256] = (uint8_t)(i % 256);
        at[i] = i < 256 ? &byte[i] : (const uint8_t *)text[i - 256];
        len[i] = i < 256 ? 1 : (uint32_t)strlen(text[i - 256]);
        control[i] = i >= N - 2;
        end[i] = i == N - 1;
    }
    if (!size)
        return 0;
    rest = memchr(p, 0, size - 1);
    n = rest ? (size_t)(rest - (const uint8_t *)p) : size - 1;
    if (data[0] % 3 == 0)
        rc = grammar_gbnf(&g, p, n, &v, &e);
    else if (data[0] % 3 == 1)
        rc = grammar_regex(&g, p, n, &v, &e);
    else
        rc = grammar_schema(&g, p, n, &v, &e);
    must(rc ? !g && e.code && *e.msg : g != NULL, "an error without a text");
    if (rc)
        return 0;
    if (!match_new(&m, g, data[0] & 64 ? "ab" : NULL, 2, &v, NULL)) {
        walk(m, rest ? rest + 1 : NULL,
             rest ? (size_t)(data + size - rest - 1) : 0);
        match_free(m);
    }
    grammar_free(g);
    return 0;
}
