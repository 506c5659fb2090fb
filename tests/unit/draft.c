/* SPDX-License-Identifier: MIT
 * draft.c - repetitions against a search, costs, and who is asked when. */
#include "draft/draft.h"

#include <stdlib.h>
#include <string.h>

#include "draft/cost.h"
#include "draft/repeats.h"
#include "tests/unit/tap.h"

enum { NTEXT = 3000 };

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* A text of ALPHABET tokens that often says again what it said. */
static void make_text(int32_t *t, int n, uint32_t alphabet)
{
    for (int i = 0; i < n;) {
        int len = 1 + (int)rnd(20), from = i > 30 ? (int)rnd((uint32_t)i) : -1;

        if (from >= 0 && rnd(2))
            for (; len && i < n; len--)
                t[i++] = t[from++];
        else
            t[i++] = (int32_t)rnd(alphabet);
    }
}

static bool is_same(const int32_t *a, const int32_t *b, size_t n)
{
    return !n || !memcmp(a, b, n * sizeof *a);
}

/* The longest end of T[N] that ends before its last token, too. */
static size_t longest_repeat(const int32_t *t, size_t n)
{
    size_t best = 0;

    for (size_t end = 1; end < n; end++) {
        size_t k = 0;

        while (k < end && t[end - 1 - k] == t[n - 1 - k])
            k++;
        if (k > best)
            best = k;
    }
    return best;
}

/* The longest end of S[M] that stands in T[N]. */
static size_t longest_found(const int32_t *t, size_t n, const int32_t *s,
                            size_t m)
{
    size_t best = 0;

    for (size_t end = 1; end <= n; end++) {
        size_t k = 0;

        while (k < end && k < m && t[end - 1 - k] == s[m - 1 - k])
            k++;
        if (k > best)
            best = k;
    }
    return best;
}

static void check_repeats(uint32_t alphabet)
{
    static int32_t t[NTEXT], s[NTEXT];
    struct repeats *r = repeats_new();
    struct repeats_place p = {0};
    size_t bad = 0, next, n;

    make_text(t, NTEXT, alphabet);
    for (size_t i = 0; r && i < NTEXT; i++) {
        size_t want, got;

        if (repeats_add(r, t[i]))
            break;
        if (i >= 600 && i % 7)
            continue;
        want = longest_repeat(t, i + 1);
        got = repeats_last(r, &next);
        bad += got != want;
        if (got && got == want)
            bad += next < got || next > i ||
                   !is_same(t + next - got, t + i + 1 - got, got);
    }
    ok(r && !bad, "%u tokens: the longest end that was there before", alphabet);
    make_text(s, NTEXT, alphabet + 1);
    memcpy(s + 100, t + 1000, 500 * sizeof *s);
    for (size_t i = 0; r && i < NTEXT; i++) {
        repeats_follow(r, &p, s[i]);
        if (i >= 700 && i % 13)
            continue;
        bad += p.n != longest_found(t, NTEXT, s, i + 1);
        next = repeats_next(r, &p);
        if (p.n && next <= NTEXT)
            bad += next < p.n || !is_same(t + next - p.n, s + i + 1 - p.n, p.n);
    }
    ok(r && !bad, "%u tokens: the longest end that another text has", alphabet);
    ok(r && repeats_text(r, &n) && n == NTEXT, "all of it is kept");
    repeats_free(r);
}

static void check_cost(void)
{
    struct cost c = {0};
    double two;

    ok(cost_of(&c, 1) <= 0, "nothing is known");
    for (int i = 0; i < 20; i++)
        cost_add(&c, 1, 1e-3);
    ok(cost_of(&c, 1) > 0.99e-3 && cost_of(&c, 1) < 1.01e-3, "one column");
    ok(cost_of(&c, 8) > 1e-3 && cost_of(&c, 8) < 2e-3, "before it is known");
    for (int i = 0; i < 50; i++) {
        cost_add(&c, 9, 3e-3);
        cost_add(&c, 1, 1e-3);
    }
    ok(cost_of(&c, 9) > 2.7e-3 && cost_of(&c, 9) < 3.3e-3 &&
           cost_of(&c, 5) > 1.7e-3 && cost_of(&c, 5) < 2.3e-3,
       "nine, and between the two");
    /* The machine is half as fast now: seen at one, true of the other. */
    two = cost_of(&c, 9);
    for (int i = 0; i < 60; i++)
        cost_add(&c, 1, 2e-3);
    ok(cost_of(&c, 1) > 1.9e-3 && cost_of(&c, 9) > 1.6 * two,
       "what one says goes for the other");
    cost_add(&c, 0, 1);
    cost_add(&c, COST_COLUMNS + 1, 1);
    ok(cost_of(&c, COST_COLUMNS) > cost_of(&c, 9) &&
           cost_of(&c, 1000) > cost_of(&c, COST_COLUMNS),
       "and beyond");
}

/* ---- a drafter whose guesses are right or wrong, as wanted ---- */

struct oracle {
    struct drafter d;
    int right; /* of 100 */
    bool fails;
    int asked, freed, n;
    double worth, last; /* of the first call, and of the last that waited */
};

static int oracle_open(void **s, struct drafter *d, uint64_t number,
                       const void *request, struct err *e)
{
    (void)number;
    (void)request;
    (void)e;
    *s = d;
    return 0;
}

static int oracle_begin(void *s, const int32_t *t, int n, int same,
                        double worth, struct err *e)
{
    struct oracle *o = s;

    (void)t;
    (void)same;
    if (!o->asked++)
        o->worth = worth;
    if (worth > 0)
        o->last = worth;
    o->n = n;
    return o->fails ? err_set(e, ERR_IO, "gone") : 0;
}

/* Token I of the text is I. */
static int oracle_next(void *s, struct draft_token *g, struct err *e)
{
    struct oracle *o = s;

    (void)e;
    *g = (struct draft_token){(int)rnd(100) < o->right ? o->n : -1, 3};
    o->n++;
    return 1;
}

static void oracle_close(void *s)
{
    (void)s;
}

static void oracle_free(struct drafter *d)
{
    ((struct oracle *)d)->freed++;
}

static void oracle_init(struct oracle *o, const char *name, int right,
                        enum draft_cost cost)
{
    *o = (struct oracle){.d = {.name = name,
                               .cost = cost,
                               .open = oracle_open,
                               .begin = oracle_begin,
                               .next = oracle_next,
                               .close = oracle_close,
                               .free = oracle_free},
                         .right = right};
    for (int i = 0; i < DRAFT_CLASSES; i++)
        o->d.prior[i] = 0.7f;
}

static int warned;

static void on_warn(void *arg, const char *name, const char *why)
{
    (void)arg;
    (void)why;
    warned += !strcmp(name, "gone");
}

/* A sequence of N tokens, as if a step of K columns took 1 + SLOPE (K - 1) ms:
 * the milliseconds. */
static double decode(struct draft *d, int n, double slope)
{
    static int32_t t[20000];
    struct draft_seq *s;
    int at = 1, same = 0;
    double all = 0;

    if (draft_open(&s, d, 0, NULL, NULL))
        return -1;
    while (at < n) {
        int32_t guess[DRAFT_MAX];
        int k, taken = 0;
        double ms;

        draft_step(d, 1);
        k = draft_guess(s, t, at, same, n - at - 1, guess);
        same = at;
        draft_ran(s, k);
        while (taken < k && guess[taken] == at + taken)
            draft_took(s, taken++);
        for (int i = 0; i <= taken; i++, at++)
            t[at] = at;
        ms = 1 + slope * k;
        all += ms;
        draft_done(d, k + 1, taken + 1, ms / 1e3);
    }
    draft_close(s);
    return all;
}

static struct draft *open_draft(struct drafter **v, int n)
{
    struct draft_config c = {
        .v = v, .n = n, .most = DRAFT_MAX, .least = 1, .warn = on_warn};
    struct draft *d = NULL;

    return draft_new(&d, &c, NULL) ? NULL : d;
}

static void check_policy(void)
{
    static const struct {
        int right;
        double slope, most; /* ms a token */
    } cases[] = {{100, 0.1, 0.2}, {100, 2, 1.02},  {90, 0.1, 0.35},
                 {50, 0.1, 0.8},  {0, 0.1, 1.025}, {10, 0.3, 1.025},
                 {20, 1, 1.025}};
    struct draft_stats st;
    struct draft_totals tot;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oracle o;
        struct drafter *v[] = {&o.d};
        struct draft *d;
        double ms;

        oracle_init(&o, "oracle", cases[i].right, DRAFT_FREE);
        d = open_draft(v, 1);
        ms = decode(d, 4000, cases[i].slope) / 4000;
        draft_totals(&tot, d);
        ok(ms > 0 && ms < cases[i].most,
           "%d %% right, a column %.1f: %.3f ms a token", cases[i].right,
           cases[i].slope, ms);
        ok(draft_stats(&st, d, 0) && !draft_stats(&st, d, 1) &&
               (cases[i].right > 0 || !st.taken[0]) && tot.tokens == 3999,
           "it counts");
        draft_free(d);
        ok(o.freed == 1, "freed");
    }
}

static void check_several(void)
{
    struct oracle bad, good, gone;
    struct drafter *v[] = {&bad.d, &gone.d, &good.d};
    struct draft *d;
    struct draft_stats a, b;
    double ms;

    oracle_init(&bad, "bad", 30, DRAFT_FREE);
    oracle_init(&gone, "gone", 100, DRAFT_FREE);
    oracle_init(&good, "good", 95, DRAFT_FREE);
    gone.fails = true;
    d = open_draft(v, 3);
    ms = decode(d, 4000, 0.1) / 4000;
    draft_stats(&a, d, 0);
    draft_stats(&b, d, 2);
    ok(ms < 0.35 && b.used > 10 * a.used, "the better one is run: %.3f, %d %d",
       ms, (int)a.used, (int)b.used);
    ok(warned == 1 && gone.asked == 1, "one that fails is left out");
    draft_free(d);
    /* One that has to be asked is, only while it pays. */
    oracle_init(&bad, "bad", 1, DRAFT_WORKS);
    d = open_draft(v, 1);
    ms = decode(d, 4000, 0.2) / 4000;
    ok(ms < 1.02 && bad.asked > 3 && bad.asked < 400, "asked %d times: %.3f",
       bad.asked, ms);
    draft_free(d);
    /* So is one that has to be waited for, and then long enough. */
    oracle_init(&bad, "bad", 0, DRAFT_WAITS);
    d = open_draft(v, 1);
    ms = decode(d, 4000, 0.2) / 4000;
    ok(ms < 1.02 && bad.asked > 20 && bad.asked < 400 && bad.last > 4e-4,
       "asked %d times, at last for %.2f ms: %.3f", bad.asked, bad.last * 1e3,
       ms);
    draft_free(d);
    oracle_init(&good, "good", 95, DRAFT_WORKS);
    v[0] = &good.d;
    d = open_draft(v, 1);
    ms = decode(d, 4000, 0.1) / 4000;
    ok(ms < 0.35 && good.asked > 200, "asked %d times: %.3f", good.asked, ms);
    draft_free(d);
}

/* What a drafter says that it costs. */
static void check_price(void)
{
    static const struct {
        const char *what;
        double guess, read; /* ms */
        bool asked;
    } cases[] = {{"a tenth of the model", 0.1, 0.05, true},
                 {"as slow as the model", 1, 0.05, false},
                 {"quick, but slow to read", 0.1, 10, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oracle o;
        struct drafter *v[] = {&o.d};
        struct draft *d;

        oracle_init(&o, "oracle", 95, DRAFT_WORKS);
        o.d.guess = cases[i].guess / 1e3;
        o.d.read = cases[i].read / 1e3;
        d = open_draft(v, 1);
        decode(d, 1000, 0.1);
        ok((o.asked > 0) == cases[i].asked, "%s: asked %d times", cases[i].what,
           o.asked);
        if (o.asked)
            ok(o.worth > 2e-3 && o.worth < 5e-3, "it may read for %.2f ms",
               o.worth * 1e3);
        draft_free(d);
    }
}

/* Tokens that are taken back. */
static void check_back(void)
{
    static const int32_t t[] = {1, 2, 3, 4, 1, 2, 3, 9, 1, 2};
    struct drafter *n = draft_ngram(1, NULL);
    struct draft_token g;
    void *s = NULL;
    bool good = n && !n->open(&s, n, 0, NULL, NULL);

    good = good && !n->begin(s, t, 6, 0, 0, NULL) && n->next(s, &g, NULL) == 1;
    ok(good && g.id == 3, "what came after it before");
    good = good && !n->begin(s, t, 8, 6, 0, NULL) && !n->next(s, &g, NULL);
    ok(good, "what never came");
    good = good && !n->begin(s, t, 2, 2, 0, NULL) && n->next(s, &g, NULL) == 1;
    ok(good && g.id == 3, "after going back");
    if (s)
        n->close(s);
    if (n)
        n->free(n);
}

int main(void)
{
    seed = 7;
    check_repeats(2);
    check_repeats(5);
    check_repeats(300);
    check_cost();
    check_policy();
    check_several();
    check_price();
    check_back();
    return tap_done();
}
