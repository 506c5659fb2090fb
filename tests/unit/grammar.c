/* SPDX-License-Identifier: MIT
 * grammar.c - random grammars against a plain matcher, masks against each token
 * one by one, members in any order against all orders, places that are gone
 * back to, triggers, and names of tokens. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "grammar/build.h"
#include "grammar/grammar_impl.h"
#include "grammar/match.h"
#include "tests/unit/tap.h"

static uint64_t rnd_at;

/* 0 to N - 1. */
static int rnd(int n)
{
    return (int)(rng_unit(6, 30, rnd_at++) * n);
}

/* ---- a vocabulary ---- */

enum { NVOCAB = 400, MAXTOKEN = 12 };

static uint8_t token_text[NVOCAB][MAXTOKEN + 1];
static const uint8_t *token_at[NVOCAB];
static uint32_t token_len[NVOCAB];
static uint8_t token_control[NVOCAB], token_end[NVOCAB];
static struct grammar_vocab vocab = {.n = NVOCAB,
                                     .text = token_at,
                                     .len = token_len,
                                     .control = token_control,
                                     .end = token_end};

static void set_token(uint32_t id, const char *text)
{
    token_len[id] = (uint32_t)strlen(text);
    memcpy(token_text[id], text, token_len[id]);
    token_at[id] = token_text[id];
}

/* Texts of the letters that grammars here have, broken characters included; two
 * that end a text, two that control, one that is empty. */
static void make_vocab(void)
{
    static const char *const part[] = {"a",    "b",    "c",    "d",   "a",
                                       "b",    "\xc3", "\xa9", "é",   "ab",
                                       "\xf0", "\x9f", "😀",    "\\n", "("};

    for (uint32_t id = 0; id < NVOCAB; id++) {
        char text[MAXTOKEN + 1] = "";
        int n = 1 + rnd(rnd(3) ? 3 : 7);

        while (n--) {
            const char *s = part[rnd(sizeof part / sizeof *part)];

            if (strlen(text) + strlen(s) <= MAXTOKEN)
                memcpy(text + strlen(text), s, strlen(s) + 1);
        }
        set_token(id, text);
    }
    for (uint32_t id = 0; id < 5; id++)
        set_token(id, (const char *[]){"a", "b", "c", "d", ""}[id]);
    set_token(5, "<|end|>");
    set_token(6, "<eos>");
    set_token(7, "<tool>");
    set_token(8, "<think>");
    token_control[5] = token_control[6] = token_control[7] = token_control[8] =
        1;
    token_end[5] = token_end[6] = 1;
}

static bool in_mask(const uint64_t *mask, uint32_t id)
{
    return mask[id / 64] >> id % 64 & 1;
}

/* Walks of random tokens that the mask allows; at each place the mask must say
 * of each token what the state after it says.  "" or what was wrong. */
static const char *walk_masks(struct grammar *g, int walks, int length)
{
    for (int w = 0; w < walks; w++) {
        uint32_t s = grammar_start(g);

        for (int i = 0; i < length; i++) {
            const uint64_t *mask = grammar_mask(g, s, NULL);
            uint32_t may[NVOCAB], n = 0, id;

            if (!mask)
                return "no mask";
            for (id = 0; id < NVOCAB; id++) {
                uint32_t to = grammar_token(g, s, id);
                bool goes = to > GRAMMAR_FULL;

                if (to == GRAMMAR_FULL)
                    return ""; /* too many, of each token at each place */
                if (goes != in_mask(grammar_mask(g, s, NULL), id))
                    return "a token's bit is wrong";
                if (goes)
                    may[n++] = id;
            }
            if (!n)
                break;
            id = may[rnd((int)n)];
            s = grammar_token(g, s, id);
            if (token_end[id])
                break;
        }
    }
    return "";
}

/* ---- the plain matcher ---- */

enum { MAXNODE = 60, MAXCHILD = 4, MAXRULE = 4, MAXTEXT = 24 };
enum kind { LETTERS, CLASS, SEQ, ALT, REPEAT, RULE };

struct node {
    enum kind kind;
    char text[8];
    bool negated;
    int child[MAXCHILD], n, min, max;
};

static struct node nodes[MAXNODE];
static int nnode, body[MAXRULE], nrule;

/* Sets of positions in a text are bits. */
static const char *text;
static int ntext;
static uint32_t memo[MAXNODE][MAXTEXT + 1];
static bool known[MAXNODE][MAXTEXT + 1];

static uint32_t ends_from(int node, int at);

static uint32_t ends_of(int node, uint32_t from)
{
    uint32_t to = 0;

    for (int i = 0; i <= ntext; i++)
        if (from >> i & 1)
            to |= ends_from(node, i);
    return to;
}

static uint32_t repeated(const struct node *n, int at)
{
    uint32_t now = 1u << at, all = n->min ? 0 : now;

    /* After so many times as the text is long nothing changes any more, but
     * for empty times. */
    for (int i = 1; n->max < 0 ? i <= n->min + ntext + 1 : i <= n->max; i++) {
        now = ends_of(n->child[0], now);
        if (i >= n->min)
            all |= now;
    }
    return all;
}

static uint32_t ends_from(int node, int at)
{
    const struct node *n = &nodes[node];
    uint32_t to = 0;
    size_t len = strlen(n->text);

    if (known[node][at])
        return memo[node][at];
    /* What begins with itself, which only what matches nothing may. */
    known[node][at] = true;
    memo[node][at] = 0;
    switch (n->kind) {
    case LETTERS:
        if ((size_t)(ntext - at) >= len && !memcmp(text + at, n->text, len))
            to = 1u << (at + (int)len);
        break;
    case CLASS:
        if (at < ntext && (strchr(n->text, text[at]) != NULL) != n->negated)
            to = 1u << (at + 1);
        break;
    case SEQ:
        to = 1u << at;
        for (int i = 0; i < n->n; i++)
            to = ends_of(n->child[i], to);
        break;
    case ALT:
        for (int i = 0; i < n->n; i++)
            to |= ends_from(n->child[i], at);
        break;
    case REPEAT:
        to = repeated(n, at);
        break;
    case RULE:
        to = ends_from(body[n->min], at);
        break;
    }
    memo[node][at] = to;
    return to;
}

static bool matches(int root, const char *s)
{
    text = s;
    ntext = (int)strlen(s);
    memset(known, 0, sizeof known);
    return ends_from(root, 0) >> ntext & 1;
}

/* ---- random grammars ---- */

static void put(struct buf *out, int node)
{
    const struct node *n = &nodes[node];

    switch (n->kind) {
    case LETTERS:
        buf_printf(out, "\"%s\"", n->text);
        break;
    case CLASS:
        buf_printf(out, "[%s%s]", n->negated ? "^" : "", n->text);
        break;
    case SEQ:
    case ALT:
        buf_putc(out, '(');
        for (int i = 0; i < n->n; i++) {
            buf_puts(out, !i ? "" : n->kind == ALT ? " | " : " ");
            put(out, n->child[i]);
        }
        buf_putc(out, ')');
        break;
    case REPEAT:
        put(out, n->child[0]);
        buf_printf(out, "{%d,", n->min);
        if (n->max >= 0)
            buf_printf(out, "%d", n->max);
        buf_putc(out, '}');
        break;
    case RULE:
        buf_printf(out, "r%d", n->min);
        break;
    }
}

static void letters(struct node *n, int max)
{
    int k = rnd(max + 1);

    for (int i = 0; i < k; i++)
        n->text[i] = "abcd"[rnd(4)];
}

static int make(int depth)
{
    int id = nnode < MAXNODE - 1 ? nnode++ : MAXNODE - 1, pick;
    struct node *n = &nodes[id];

    *n = (struct node){0};
    pick = depth <= 0 || nnode >= MAXNODE - 8 ? rnd(3) : rnd(9);
    if (pick == 0) {
        letters(n, 3);
    } else if (pick == 1) {
        n->kind = CLASS;
        letters(n, 3);
        n->negated = rnd(4) == 0;
    } else if (pick == 2) {
        n->kind = RULE;
        n->min = rnd(nrule);
    } else if (pick < 5) {
        n->kind = SEQ;
        for (n->n = 0; n->n < 2 + rnd(2);)
            n->child[n->n++] = make(depth - 1);
    } else if (pick < 7) {
        n->kind = ALT;
        for (n->n = 0; n->n < 2 + rnd(2);)
            n->child[n->n++] = make(depth - 1);
    } else {
        n->kind = REPEAT;
        n->min = rnd(3) ? rnd(3) : rnd(7);
        n->max = rnd(3) ? n->min + rnd(4) : -1;
        n->child[0] = make(depth - 1);
    }
    return id;
}

static void random_grammar(struct buf *out)
{
    out->n = 0;
    nnode = 0;
    nrule = 1 + rnd(MAXRULE);
    for (int i = 0; i < nrule; i++) {
        body[i] = make(i ? 2 : 4);
        buf_printf(out, i ? "r%d ::= " : "root ::= ", i);
        put(out, body[i]);
        buf_putc(out, '\n');
    }
    buf_puts(out, "r0 ::= root\n");
}

static int texts;

static const char *compare(struct grammar *g, int *match)
{
    static char s[MAXTEXT + 1];
    uint32_t at;

    for (int k = 0; k < 60; k++) {
        int n = rnd(rnd(2) ? 5 : 13);
        bool want;

        /* Half of them along what may come, so that more match. */
        at = grammar_start(g);
        for (int i = 0; i < n; i++) {
            bool next[256];
            int letter = "abcd"[rnd(4)];

            grammar_next(g, at, next);
            for (int tries = 0; tries < 6 && k & 1 && !next[letter]; tries++)
                letter = "abcd"[rnd(4)];
            s[i] = (char)letter;
            at = grammar_byte(g, at, (uint8_t)letter);
        }
        s[n] = 0;
        want = matches(body[0], s);
        *match += want;
        at = grammar_bytes(g, grammar_start(g), s, (size_t)n);
        if (at == GRAMMAR_FULL)
            continue; /* some have as many stacks as there are texts */
        texts++;
        if (want != grammar_ends(g, at))
            return s;
    }
    return "";
}

static void random_grammars(void)
{
    struct buf b = {0};
    int compiled = 0, match = 0, other = 0;

    for (int i = 0; i < 1500; i++) {
        struct grammar *g;
        struct err e = {0};
        const char *wrong;

        random_grammar(&b);
        if (grammar_gbnf(&g, buf_str(&b), b.n, &vocab, &e)) {
            other += !strstr(e.msg, "left-recursive") &&
                     !strstr(e.msg, "matches nothing");
            continue;
        }
        compiled++;
        wrong = compare(g, &match);
        if (*wrong) {
            ok(0, "text '%s' of\n%s", wrong, buf_str(&b));
            grammar_free(g);
            break;
        }
        if (i % 10 == 0 && *(wrong = walk_masks(g, 2, 8))) {
            ok(0, "%s, of\n%s", wrong, buf_str(&b));
            grammar_free(g);
            break;
        }
        grammar_free(g);
    }
    ok(compiled > 500, "%d random grammars as a plain matcher has them",
       compiled);
    ok(match > 5000 && texts > compiled * 58, "%d texts, %d match", texts,
       match);
    ok(!other, "the others are left-recursive or empty");
    buf_free(&b);
}

/* ---- masks ---- */

static void masks(void)
{
    static const char *const grammar[] = {
        "root ::= [a-d]{2,40} \"(\"",
        "root ::= \"\\\"\"? ([^\\\\\"(] | \"\\\\\" [n\\\\]){0,9} \"(\"",
        "root ::= ([a-c]{2,5} [b-d]{0,70})+ \"(\"",
        "root ::= ([a-d]{3,20} | [é😀]{1,3}) [abé]{0,60} \"é\"",
        "root ::= [^x]* \"(\" | <tool> [a-z]+ <|end|> \"b\"",
        "root ::= (!<think>)* <think> \"a\"",
        "root ::= \"(\" root \")\" | [ab]+ root? \"c\"",
        "root ::= <[0]>{1,3} .{40,50} | <[1]> !<[0]> \"c\"",
        "root ::= [\\u0080-\\U0010ffff]+ \"a\" .*",
        "a ::= \"a\" a \"b\" | \"ab\"{0,33} # \nroot ::= a \"d\"",
        "root ::= (\"a\" | \"ab\" | \"abc\"){0,50} \"c\"{9,41}",
    };

    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++) {
        struct grammar *g;
        struct err e = {0};
        const char *wrong;

        if (grammar_gbnf(&g, grammar[i], strlen(grammar[i]), &vocab, &e)) {
            ok(0, "%s: %s", grammar[i], e.msg);
            continue;
        }
        wrong = walk_masks(g, 12, 30);
        ok(!*wrong, "mask of %.*s: %s", (int)strcspn(grammar[i], "#\n"),
           grammar[i], *wrong ? wrong : "exact");
        grammar_free(g);
    }
}

/* ---- members ---- */

static const struct build_member none[1];

/* Does S have members "a" to "d", one letter each and commas between, as M
 * says?
 */
static bool members_match(const char *s, const struct build_member *m, int n,
                          int min, int max)
{
    int seen[4] = {0}, count = 0;

    for (; *s; s++) {
        int k = *s - 'a';

        if (count && *s++ != ',')
            return false;
        k = *s - 'a';
        if (k < 0 || k >= n || (seen[k]++ && !m[k].again))
            return false;
        count++;
    }
    for (int i = 0; i < n; i++)
        if (m[i].required && !seen[i])
            return false;
    return count >= min && (max < 0 || count <= max);
}

static void members(void)
{
    int tried = 0, match = 0;

    for (int i = 0; i < 300; i++) {
        struct build *b = build_new(NULL, NULL);
        int n = rnd(5), min = rnd(4), max = rnd(3) ? min + rnd(3) : -1;
        struct build_member m[4];
        struct grammar *g;
        struct err e = {0};

        for (int k = 0; k < n; k++)
            m[k] = (struct build_member){
                build_bytes(b, (char[]){(char)('a' + k)}, 1), rnd(3) == 0,
                rnd(4) == 0};
        if (build_grammar(&g, b,
                          build_members(b, n ? m : none, n,
                                        build_bytes(b, ",", 1), min, max),
                          &e))
            g = NULL;
        for (int k = 0; k < 400; k++) {
            char s[12] = "";
            int len = rnd(6);
            uint32_t at = g ? grammar_start(g) : GRAMMAR_DEAD;
            bool want;

            for (int x = 0; x < len; x++)
                s[x] = x % 2 && rnd(20) ? ',' : (char)('a' + rnd(4));
            if (rnd(2) && len > 1 && s[len - 1] == ',')
                s[len - 1] = 0;
            want = members_match(s, m, n, min, max);
            tried++;
            match += want;
            if (want !=
                (g && grammar_ends(g, grammar_bytes(g, at, s, strlen(s))))) {
                ok(0, "members, text '%s' min %d max %d", s, min, max);
                grammar_free(g);
                return;
            }
        }
        grammar_free(g);
    }
    ok(match > 1000, "members in any order: %d of %d texts match", match,
       tried);
}

/* ---- places ---- */

static void places(void)
{
    static const char text_of[] = "root ::= [ab]{2,30} \"c\" \"d\"?";
    struct grammar *g;
    struct match *m;
    uint32_t done[64];
    bool same = true;

    if (!ok(!grammar_gbnf(&g, text_of, strlen(text_of), &vocab, NULL) &&
                !match_new(&m, g, NULL, 0, &vocab, NULL),
            "a place in a grammar"))
        return;
    ok(match_accept(m, 2, NULL) && match_count(m) == 0 && !match_ends(m),
       "what may not come changes nothing");
    for (int i = 0; i < 200; i++) {
        const uint64_t *mask;
        size_t n = match_count(m), back = (size_t)rnd((int)n + 1);

        if (rnd(5) == 0)
            same &= !grammar_restart(g, NULL);
        if (match_done(m) || n > 40 || rnd(3) == 0)
            match_back(m, back);
        for (size_t k = match_count(m); k < 60; k++) {
            uint32_t id = (uint32_t)rnd(NVOCAB);

            same &= !match_mask(&mask, m, NULL) &&
                    in_mask(mask, id) == match_takes(m, id);
            if (token_end[id] || match_accept(m, id, NULL))
                break;
            done[k] = id;
        }
    }
    /* The same tokens again from the start. */
    {
        struct match *again;
        const uint64_t *x, *y;
        uint64_t copy[(NVOCAB + 63) / 64];

        same &= !match_new(&again, g, NULL, 0, &vocab, NULL);
        for (size_t k = 0; k < match_count(m); k++)
            same &= !match_accept(again, done[k], NULL);
        same &= !match_mask(&x, again, NULL);
        memcpy(copy, x, sizeof copy);
        same &= !match_mask(&y, m, NULL) && !memcmp(copy, y, sizeof copy);
        match_free(again);
    }
    ok(same, "going back leaves no trace, nor does beginning again");
    match_back(m, 99999);
    ok(match_count(m) == 0, "back to the start");
    ok(!match_accept(m, 0, NULL) && !match_accept(m, 0, NULL) &&
           !match_accept(m, 2, NULL) && match_ends(m) && !match_done(m) &&
           !match_accept(m, 3, NULL) && match_done(m),
       "ends and done");
    ok(!match_accept(m, 5, NULL) && match_done(m) && match_accept(m, 0, NULL),
       "a token that ends texts comes last");
    match_free(m);
    grammar_free(g);
}

/* More states than there is room for, in one text. */
static void many_states(void)
{
    static const char text_of[] =
        "root ::= ([ab]{1,9} \"c\" [a-d]{0,2}){2,1000000} \"(\"";
    struct grammar *g;
    const uint64_t *mask;
    struct match *m;
    bool good = true;

    if (grammar_gbnf(&g, text_of, strlen(text_of), &vocab, NULL) ||
        match_new(&m, g, NULL, 0, &vocab, NULL)) {
        ok(0, "a grammar with many states");
        return;
    }
    g->max_memory = 1000000;
    for (int i = 0; i < 6000 && good; i++)
        good = !match_mask(&mask, m, NULL) &&
               !match_accept(m, i % 3 == 2 ? 2 : (uint32_t)(i % 2), NULL);
    ok(good && grammar_restarts(g) > 0 && grammar_restarts(g) < 100,
       "%zu tokens take more states than there is room for: %lu times",
       match_count(m), (unsigned long)grammar_restarts(g));
    match_free(m);
    grammar_free(g);
}

/* The trigger in the text so far, and the grammar behind it, from scratch. */
static bool allowed(struct grammar *g, const char *trigger, const struct buf *b)
{
    const char *p = (const char *)b->p;
    size_t n = strlen(trigger);

    for (size_t i = 0; i + n <= b->n; i++)
        if (!memcmp(p + i, trigger, n))
            return grammar_bytes(g, grammar_start(g), p + i + n, b->n - i - n) >
                   GRAMMAR_FULL;
    return true;
}

static void triggers(void)
{
    static const char *const trigger[] = {"ab", "aab", "abab", "cc", "<tool>"};
    static const char text_of[] = "root ::= [cd]{1,9} \"b\"*";
    struct grammar *g;
    int fired = 0, refused = 0;

    if (grammar_gbnf(&g, text_of, strlen(text_of), &vocab, NULL)) {
        ok(0, "a grammar for triggers");
        return;
    }
    for (int i = 0; i < 200; i++) {
        const char *t = trigger[i % 5];
        struct buf b = {0};
        struct match *m;

        if (match_new(&m, g, t, strlen(t), &vocab, NULL))
            break;
        for (int k = 0; k < 40; k++) {
            uint32_t id = (uint32_t)rnd(rnd(9) ? 4 : NVOCAB);
            size_t had = b.n;
            const uint64_t *mask;
            bool want, got;

            if (token_end[id])
                continue;
            buf_put(&b, token_at[id], token_len[id]);
            /* Behind the trigger a control token is none of the grammar's. */
            want = allowed(g, t, &b);
            if (id > 8 || id < 4)
                refused += !want;
            got = match_takes(m, id);
            if ((id > 8 || id < 4) && want != got)
                ok(0, "trigger '%s', token %lu", t, (unsigned long)id);
            if (match_mask(&mask, m, NULL) ||
                got != (!mask || in_mask(mask, id)))
                ok(0, "mask of trigger '%s'", t);
            if (match_accept(m, id, NULL))
                b.n = had;
            else if (!match_ends(m) || match_done(m))
                fired++;
        }
        match_free(m);
        buf_free(&b);
    }
    ok(fired > 50 && refused > 100, "triggers: %d behind, %d refused", fired,
       refused);
    grammar_free(g);
}

static void errors(void)
{
    static const struct {
        const char *text;
        enum err_code code;
    } bad[] = {{"root ::= <[400]>", ERR_FORMAT},
               {"root ::= <nothing>", ERR_FORMAT},
               {"root ::= <tool", ERR_FORMAT},
               {"root ::= !\"a\"", ERR_FORMAT},
               {"root ::= root | \"a\"", ERR_UNSUPPORTED}};
    struct grammar *g;
    bool good = true;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};

        good &=
            grammar_gbnf(&g, bad[i].text, strlen(bad[i].text), &vocab, &e) &&
            e.code == bad[i].code && *e.msg && !g;
    }
    ok(good, "what is refused");
    if (grammar_regex(&g, "a", 1, NULL, NULL)) {
        ok(0, "a regular expression");
        return;
    }
    ok(!grammar_mask(g, grammar_start(g), NULL), "no mask without tokens");
    ok(grammar_byte(g, GRAMMAR_DEAD, 'a') == GRAMMAR_DEAD &&
           grammar_byte(g, GRAMMAR_FULL, 'a') == GRAMMAR_FULL &&
           !grammar_ends(g, GRAMMAR_DEAD) && !grammar_ends(g, GRAMMAR_FULL),
       "states that are none");
    grammar_free(g);
}

int main(void)
{
    make_vocab();
    random_grammars();
    masks();
    if (!grammar_vocab_index(&vocab, NULL))
        masks();
    members();
    places();
    many_states();
    triggers();
    errors();
    grammar_vocab_free(&vocab);
    return tap_done();
}
