/* SPDX-License-Identifier: MIT
 * regex.c - the compiler of splitting patterns against a plain backtracking
 * matcher, on random text: the same matches, and in parts either the same or
 * "more".
 *
 *     regex [seed [rounds]] */
#define PRETOK_DATA
#include "tok/regex.h"
#include "base/unicode.h"
#include "tests/unit/tap.h"
#include "tests/unit/tok_make.h"
#include "tok/pretok_table.h"

static uint64_t seed = 1;
static size_t rounds = 300;

static const char *const alphabet[] = {
    "a",    "b",   "Z",         "é",      "ß",      "Ж",      "я",
    "漢",   "字",  "か",        "カ",     "한",     "1",      "2",
    "३",    "²",   "½",         "Ⅷ",      ".",      ",",      "!",
    "'",    "\"",  "(",         "$",      "+",      "_",      "-",
    "|",    " ",   "  ",        "\n",     "\r",     "\t",     "。",
    "「",   "…",   "€",         "\u0301", "\u093f", "\u00a0", "\u3000",
    "'s",   "'LL", "s",         "d",      "A",      "Img",    "IMG",
    "<",    ">",   "sentinel:", "ǅ",      "ʰ",      "\xc3",   "\xe2\x96",
    "\xff", "ſ",   "가",        "ㄱ",     "\u200d", "１",     "IMGIMGAZ"};

static void text(struct buf *b, struct rnd *r)
{
    size_t n = rnd_below(r, 24);

    b->n = 0;
    while (n--) {
        const char *s =
            alphabet[rnd_below(r, sizeof alphabet / sizeof *alphabet)];
        size_t k = rnd_below(r, 8) ? 1 : rnd_below(r, 8);

        while (k--)
            buf_puts(b, s);
    }
}

/* ---- the plain matcher ---- */

struct n {
    enum { SET, CAT, ALT, REP, LOOK, NLOOK, END, EMPTY } kind;
    struct n *a, *b;
    int min, max;
    const char *set; /* "[...]", "\\s", "." or a character */
    bool fold;
};

static struct n pool[1000];
static int npool;
static const char *pat;
static bool folding;

static struct n *node(int kind, struct n *a, struct n *b)
{
    pool[npool] = (struct n){.a = a, .b = b, .set = pat, .fold = folding};
    pool[npool].kind = kind;
    return &pool[npool++];
}

static uint32_t get(const char **s)
{
    uint32_t cp;

    *s += utf8_get((const unsigned char *)*s, strlen(*s), &cp);
    return cp;
}

/* One element of a class at *S: \p{..}, \s, \n, a character.  Whether it is a
 * property, and then whether CP has it in *HAS; else the character in *CH. */
static bool element(const char **s, uint32_t cp, bool *has, uint32_t *ch)
{
    uint8_t u = unicode_class(cp);
    char name[8] = {0}, c;

    if (**s != '\\') {
        *ch = get(s);
        return false;
    }
    c = (*s)[1];
    *s += 2;
    if (c == 'p' || c == 'P') {
        memcpy(name, *s + 1, strcspn(*s + 1, "}"));
        *s += strlen(name) + 2;
        *has = !strcmp(name, "Han") ? (u & UNI_HAN) != 0
                                    : unicode_category_is(u, name);
        *has ^= c == 'P';
        return true;
    }
    if (c == 's' || c == 'S') {
        *has = !!(u & UNI_SPACE) ^ (c == 'S');
        return true;
    }
    if (c == 'd' || c == 'D') {
        *has = unicode_category_is(u, "Nd") ^ (c == 'D');
        return true;
    }
    *ch = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : (uint32_t)c;
    return false;
}

static bool like(uint32_t a, uint32_t b, bool fold)
{
    if (fold && a < 128 && b == 0x17f && (a | 32) == 's')
        return true;
    if (fold && b == 0x212a && (a | 32) == 'k')
        return true;
    if (fold && a < 128 && b < 128 && (a | 32) >= 'a' && (a | 32) <= 'z')
        return (a | 32) == (b | 32);
    return a == b;
}

static bool in(const struct n *n, uint32_t cp)
{
    const char *s = n->set;
    bool neg = false, hit = false, has;
    uint32_t lo, hi;

    if (*s == '.')
        return cp != '\n';
    if (*s != '[')
        return element(&s, cp, &has, &lo) ? has : like(lo, cp, n->fold);
    if (*++s == '^') {
        neg = true;
        s++;
    }
    while (*s != ']') {
        if (element(&s, cp, &has, &lo)) {
            hit |= has;
            continue;
        }
        hi = lo;
        if (*s == '-' && s[1] != ']') {
            s++;
            element(&s, cp, &has, &hi);
        }
        hit |= cp >= lo && cp <= hi;
        for (uint32_t c = lo; n->fold && c <= hi; c++)
            hit |= like(c, cp, true);
    }
    return hit != neg;
}

static struct n *parse(void);

static struct n *parse_atom(void)
{
    struct n *n;
    int look = 0;

    if (*pat == '(') {
        bool before = folding;

        pat++;
        if (!strncmp(pat, "?:", 2)) {
            pat += 2;
        } else if (!strncmp(pat, "?i:", 3)) {
            pat += 3;
            folding = true;
        } else if (*pat == '?') {
            look = pat[1];
            pat += 2;
        }
        n = parse();
        folding = before;
        pat++;
        if (look)
            n = node(look == '!' ? NLOOK : LOOK, n, NULL);
        return n;
    }
    n = node(*pat == '$' ? END : SET, NULL, NULL);
    if (*pat == '[') {
        pat += pat[1] == '^' ? 2 : 1;
        while (*pat != ']') {
            bool has;
            uint32_t c;

            element(&pat, 0, &has, &c);
        }
        pat++;
    } else {
        bool has;
        uint32_t c;

        element(&pat, 0, &has, &c);
    }
    return n;
}

static struct n *parse_sequence(void)
{
    struct n *all = node(EMPTY, NULL, NULL);

    while (*pat && *pat != '|' && *pat != ')') {
        struct n *n = parse_atom();

        while (*pat && strchr("?*+{", *pat)) {
            int min = *pat == '+', max = *pat == '?' ? 1 : -1;

            if (*pat == '{') {
                char *end;

                min = max = (int)strtol(pat + 1, &end, 10);
                if (*end == ',')
                    max = end[1] == '}' ? (end++, -1)
                                        : (int)strtol(end + 1, &end, 10);
                pat = end;
            }
            pat++;
            pat += *pat == '+';
            n = node(REP, n, NULL);
            n->min = min;
            n->max = max;
        }
        all = node(CAT, all, n);
    }
    return all;
}

static struct n *parse(void)
{
    struct n *n = parse_sequence();

    while (*pat == '|') {
        pat++;
        n = node(ALT, n, parse_sequence());
    }
    return n;
}

struct then {
    const struct n *n;
    int count; /* of a REP already matched; -1: N from its start */
    size_t from;
    const struct then *next;
};

static const struct buf *subject;
static size_t matched;

static bool go(const struct n *n, size_t at, const struct then *k);

static bool again(const struct n *n, int count, size_t at, const struct then *k)
{
    struct then t = {n, count + 1, at, k};

    if ((n->max < 0 || count < n->max) && go(n->a, at, &t))
        return true;
    if (count < n->min)
        return false;
    if (k)
        return k->count < 0 ? go(k->n, at, k->next)
               : k->from == at && k->count > k->n->min
                   ? false
                   : again(k->n, k->count, at, k->next);
    matched = at;
    return true;
}

static bool leave(size_t at, const struct then *k)
{
    if (!k) {
        matched = at;
        return true;
    }
    if (k->count < 0)
        return go(k->n, at, k->next);
    if (k->from == at && k->count > k->n->min)
        return false; /* a repeat of nothing */
    return again(k->n, k->count, at, k->next);
}

static bool go(const struct n *n, size_t at, const struct then *k)
{
    struct then t = {n->b, -1, 0, k};
    uint32_t cp = 0;
    size_t len = 0;

    if (at < subject->n)
        len = utf8_get(subject->p + at, subject->n - at, &cp);
    switch (n->kind) {
    case SET:
        return len && in(n, cp) && leave(at + len, k);
    case CAT:
        return go(n->a, at, &t);
    case ALT:
        return go(n->a, at, k) || go(n->b, at, k);
    case REP:
        return again(n, 0, at, k);
    case LOOK:
    case NLOOK:
        /* the parser wraps the class in CAT with EMPTY */
        return (len && in(n->a->b, cp)) == (n->kind == LOOK) && leave(at, k);
    case END:
        return at == subject->n && leave(at, k);
    case EMPTY:
        return leave(at, k);
    }
    return false;
}

static size_t expect(const struct n *n, const struct buf *b, size_t at)
{
    subject = b;
    return go(n, at, NULL) ? matched - at : 0;
}

static int differ(const char *what, const struct buf *b, size_t at, size_t got,
                  size_t want)
{
    printf("# %s at %zu: %ld, not %zu: ", what, at, (long)got, want);
    for (size_t i = 0; i < b->n; i++)
        printf(b->p[i] < 32 ? "\\%03o" : "%c", b->p[i]);
    putchar('\n');
    return 1;
}

/* With the text cut at every place the answer is the same, or "more". */
static int parts(const struct regex *re, const struct buf *b, size_t at,
                 size_t want)
{
    int bad = 0;

    for (size_t cut = at; cut <= b->n && !bad; cut++) {
        unsigned char *copy = malloc(cut - at + 1);
        size_t got;

        memcpy(copy, b->p + at, cut - at);
        got = regex_match(re, copy, copy + (cut - at), false);
        if (got != REGEX_MORE && got != want)
            bad = differ("cut", b, cut, got, want);
        free(copy);
    }
    return bad;
}

static int search(const struct regex *re, const struct buf *b, size_t at)
{
    const unsigned char *p = b->p + at, *end = b->p + b->n, *q = p, *s;
    size_t len = 0, n = 0, step;
    uint32_t cp;

    for (; q < end; q += step) {
        step = utf8_get(q, (size_t)(end - q), &cp);
        if ((n = regex_match(re, q, end, true)))
            break;
    }
    s = regex_search(re, p, end, true, &len);
    return s != q || len != n ? differ("search", b, at, len, n) : 0;
}

static void check(const char *name, const char *pattern)
{
    struct rnd r = {seed * 77 + 5};
    struct regex *re = NULL;
    struct err e = {0};
    struct n *n;
    struct buf b = {0};
    int bad = regex_new(&re, pattern, &e);

    npool = 0;
    pat = pattern;
    folding = false;
    n = parse();
    for (size_t i = 0; i < rounds && !bad; i++) {
        text(&b, &r);
        for (size_t at = 0, step = 1; at < b.n && !bad; at += step) {
            uint32_t cp;
            size_t want = expect(n, &b, at), got;

            step = utf8_get(b.p + at, b.n - at, &cp);
            got = regex_match(re, b.p + at, b.p + b.n, true);
            if (got != want)
                bad = differ("match", &b, at, got, want);
            else
                bad = parts(re, &b, at, want) || search(re, &b, at);
        }
    }
    ok(!bad, "%s %s", name, e.msg);
    buf_free(&b);
    regex_free(re);
}

static void check_errors(void)
{
    static const char *const wrong[] = {
        "(",     "(a",    ")",        "a)",   "[a",     "[",    "[z-a]",
        "a{",    "a{2",   "a{3,2}",   "*",    "a|*",    "\\",   "\\q",
        "\\p",   "\\p{",  "\\p{Xx}",  "a*?",  "(?=ab)", "(?<a", "(?!",
        "\\x",   "\\xg1", "a{99999}", "(?i:", "\\p{L",  "[a-",  "[]",
        "a{-1}", "(?",    "[\\",      "\xff", "[\xff]", "(?i",  "\\x{110000}"};
    int bad = 0;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        struct regex *re;

        if (!regex_new(&re, wrong[i], &e)) {
            printf("# taken: %s\n", wrong[i]);
            regex_free(re);
        } else if (e.code != ERR_FORMAT || !*e.msg) {
            printf("# %s: %d %s\n", wrong[i], e.code, e.msg);
            bad = 1;
        }
    }
    ok(!bad, "wrong patterns are told or taken, never a crash");
}

static void check_deep(void)
{
    struct buf b = {0};
    struct regex *re;
    struct err e = {0};

    for (int i = 0; i < 100000; i++)
        buf_putc(&b, '(');
    ok(regex_new(&re, buf_str(&b), &e) && e.code, "100,000 parentheses: %s",
       e.code ? "refused" : "taken");
    b.n = 0;
    for (int i = 0; i < 400; i++)
        buf_puts(&b, "(a|b)*a(a|b)");
    e = (struct err){0};
    if (!regex_new(&re, buf_str(&b), &e))
        regex_free(re);
    ok(1, "an automaton that explodes ends");
    buf_free(&b);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        rounds = strtoul(argv[2], NULL, 0);
    for (size_t i = 0; i < sizeof pretok_rules / sizeof *pretok_rules; i++)
        for (int k = 0; pretok_rules[i].step[k].kind; k++)
            if (pretok_rules[i].step[k].re) {
                char name[64];

                snprintf(name, sizeof name, "%s, step %d", pretok_rules[i].name,
                         k + 1);
                check(name, pretok_rules[i].step[k].re);
            }
    check("repeats", "(?:a{2,3}|b{2,}Z?){1,2}");
    check("look", "(?:a(?=b)|a(?!b)|\\s+(?=\\S))+");
    check("empty", "(?:a|)(?:b|)");
    check("end", "\\s+$|a$|\\S");
    check_errors();
    check_deep();
    return tap_done();
}
