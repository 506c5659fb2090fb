/* SPDX-License-Identifier: MIT
 * draft.c - whom to ask, and how much of what they offer is run.
 *
 * What is offered is held against the tokens that come, whether it was run or
 * not: so a drafter that costs nothing is known before it is relied on.  Of
 * all lengths of all offers that one is run which promises the most tokens a
 * second for the step.
 */
#include "draft/draft.h"

#include <stdlib.h>
#include <time.h>

#include "draft/cost.h"

enum {
    PLAIN_FIRST = 3,   /* steps without guesses, to know what they take */
    PLAIN_AGAIN = 256, /* one after so many with guesses */
    ASK_FIRST = 3,     /* times that a costly drafter is asked to be known */
    ASK_AGAIN = 64,    /* steps after which one that did not pay is asked */
    HOPED = 256,       /* tokens that may come, where nothing says fewer */
    READ_LEAST = 32,   /* tokens of a prompt, to know anything of it */
    FOREVER = 1000000  /* seconds */
};
static const float known_most = 128; /* tries that count as one before halve */
static const double margin = 1.01;   /* a step with guesses must promise */
/* What may be lost by trying: of all time, and tokens' worth besides; and, of
 * the time of all tokens that may come, by reading what came before. */
static const double lose = 0.012, lose_first = 2, lose_read = 0.01;

/* What a drafter offered, from the place AT on; JUDGED of it came true. */
struct offer {
    struct draft_token t[DRAFT_MAX];
    int n, at, judged;
};

struct member {
    struct drafter *d;
    struct draft_stats st;
    float right[DRAFT_CLASSES], tries[DRAFT_CLASSES];
    float good;  /* guesses of an offer that were right, lately */
    double gain; /* speed of steps in which it was asked, beside plain ones */
    int tried;   /* such steps */
    int idle;    /* steps since then */
    bool asked;  /* in this step, at a cost */
};

struct draft {
    struct draft_config c;
    struct member *m;
    struct cost cost;
    struct draft_totals total;
    double plain;   /* what all tokens would have taken without guesses */
    double balance; /* seconds won, less those lost; see hold_balance() */
    int since_plain;
    /* The step that is prepared: */
    int nseq, columns;
    double expect; /* tokens */
    double extra;  /* seconds of drafters */
    bool off, guessed;
};

struct draft_seq {
    struct draft *d;
    void **s;            /* [n]: NULL where a drafter is left out */
    struct offer *offer; /* [n] */
    bool *knows;         /* [n]: it was asked before */
    int left;            /* tokens that may come */
    int chosen;          /* whose guesses are run; -1: nobody's */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int draft_new(struct draft **out, const struct draft_config *c, struct err *e)
{
    struct draft *d = calloc(1, sizeof *d);

    if (d)
        d->m = calloc((size_t)c->n + 1, sizeof *d->m);
    if (!d || !d->m) {
        for (int i = 0; i < c->n; i++)
            c->v[i]->free(c->v[i]);
        free(d);
        return err_nomem(e);
    }
    d->c = *c;
    d->c.v = NULL;
    if (d->c.most > DRAFT_MAX)
        d->c.most = DRAFT_MAX;
    if (d->c.least < 1)
        d->c.least = 1;
    for (int i = 0; i < c->n; i++) {
        d->m[i].d = c->v[i];
        d->m[i].st.name = c->v[i]->name;
        d->m[i].good = 2;
    }
    *out = d;
    return 0;
}

void draft_free(struct draft *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->c.n; i++)
        d->m[i].d->free(d->m[i].d);
    free(d->m);
    free(d);
}

/* Member I has failed. */
static void leave_out(struct draft *d, int i, const struct err *why)
{
    struct member *m = &d->m[i];

    if (!m->st.left_out && d->c.warn)
        d->c.warn(d->c.arg, m->d->name, why->msg);
    m->st.left_out = true;
}

int draft_open(struct draft_seq **out, struct draft *d, uint64_t number,
               const void *request, struct err *e)
{
    struct draft_seq *s = calloc(1, sizeof *s);

    if (s) {
        s->s = calloc((size_t)d->c.n + 1, sizeof *s->s);
        s->offer = calloc((size_t)d->c.n + 1, sizeof *s->offer);
        s->knows = calloc((size_t)d->c.n + 1, sizeof *s->knows);
    }
    if (!s || !s->s || !s->offer || !s->knows) {
        draft_close(s);
        return err_nomem(e);
    }
    s->d = d;
    s->chosen = -1;
    for (int i = 0; i < d->c.n; i++) {
        struct err why = {0};

        if (!d->m[i].st.left_out &&
            d->m[i].d->open(&s->s[i], d->m[i].d, number, request, &why))
            leave_out(d, i, &why);
    }
    *out = s;
    return 0;
}

void draft_close(struct draft_seq *s)
{
    if (!s)
        return;
    for (int i = 0; s->d && i < s->d->c.n; i++)
        if (s->s[i])
            s->d->m[i].d->close(s->s[i]);
    free(s->s);
    free(s->offer);
    free(s->knows);
    free(s);
}

/* Has more been lost than may be? */
static bool is_lost(const struct draft *d, double besides)
{
    return d->balance < -lose * d->total.seconds - besides;
}

void draft_step(struct draft *d, int nseq)
{
    double each = nseq ? cost_of(&d->cost, nseq) / nseq : 0;

    d->nseq = d->columns = nseq;
    d->expect = nseq;
    d->extra = 0;
    d->guessed = false;
    d->off = nseq < 1 || nseq > DRAFT_SEQUENCES ||
             (!d->c.all && (d->cost.times[nseq] < PLAIN_FIRST ||
                            d->since_plain >= PLAIN_AGAIN ||
                            is_lost(d, (lose_first + 1) * each)));
    for (int i = 0; i < d->c.n; i++) {
        d->m[i].idle++;
        d->m[i].asked = false;
    }
}

/* ---- what is known of a drafter ---- */

static void learn(struct member *m, int sure, bool right)
{
    if (m->tries[sure] >= known_most) {
        m->tries[sure] /= 2;
        m->right[sure] /= 2;
    }
    m->tries[sure]++;
    m->right[sure] += right;
}

/* How often guesses of this confidence are right. */
static double chance(const struct member *m, int sure)
{
    return (m->right[sure] + 2 * m->d->prior[sure]) / (m->tries[sure] + 2);
}

/* Hold what M offered against the tokens that have come. */
static void judge(struct member *m, struct offer *o, const int32_t *t, int n,
                  int same)
{
    bool over = o->n && same < o->at;

    while (!over && o->judged < o->n && o->at + o->judged < n) {
        const struct draft_token *g = &o->t[o->judged];
        bool right = t[o->at + o->judged] == g->id;

        learn(m, g->sure, right);
        over = !right;
        o->judged += right;
    }
    if (over || (o->n && o->judged == o->n)) {
        m->good += 0.1f * ((float)o->judged - m->good);
        o->n = 0;
    }
}

/* ---- asking ---- */

/* Tokens a second of the step with N columns and EXPECT tokens more, after
 * drafters have taken EXTRA. */
static double rate(const struct draft *d, int n, double expect, double extra)
{
    int columns = d->columns + n;

    if (columns > COST_COLUMNS)
        return 0;
    return (d->expect + expect) / (cost_of(&d->cost, columns) + extra);
}

/* The best that is found so far. */
struct best {
    double rate, expect;
    int who, n;
};

/* Could guesses of M pay, were all of them right? */
static bool can_pay(const struct draft *d, const struct member *m, int most)
{
    double plain = rate(d, 0, 0, 0) * margin;
    int n = 1;

    while (n <= most && rate(d, n, n, d->extra + n * m->d->guess) <= plain)
        n++;
    return n <= most;
}

/* Seconds that M may read for, when it comes to know a sequence of N tokens, of
 * which MOST may follow; 0: too few to begin. */
static double reading(const struct draft *d, const struct member *m, int n,
                      int most)
{
    double each = cost_of(&d->cost, d->nseq) / d->nseq;
    double s = each * (1 + lose_read * (most < HOPED ? most : HOPED));
    int least = n < READ_LEAST ? n : READ_LEAST;

    return s < least * m->d->read ? 0 : s;
}

/* Should M, which takes time, be asked for more than there is in B? */
static bool is_worth_asking(const struct draft *d, const struct member *m,
                            const struct best *b)
{
    double each;

    if (d->off || d->c.all)
        return !d->off;
    each = cost_of(&d->cost, d->nseq) / d->nseq;
    if (m->tried >= ASK_FIRST && m->gain > b->rate * each)
        return true;
    return !is_lost(d, lose_first * each) &&
           (m->tried < ASK_FIRST || m->idle > ASK_AGAIN);
}

/* Seconds that member I of S may take; 0: it is not to be asked. */
static double worth_of(const struct draft_seq *s, int i, int n, int most,
                       const struct best *b)
{
    const struct draft *d = s->d;
    const struct member *m = &d->m[i];

    if (m->d->cost == DRAFT_FREE || !is_worth_asking(d, m, b))
        return 0;
    if (d->c.all)
        return FOREVER;
    if (!can_pay(d, m, most))
        return 0;
    if (m->d->cost == DRAFT_WORKS && !s->knows[i])
        return reading(d, m, n, s->left);
    /* One that gave nothing lately has some time, or it never could again. */
    return (m->good > 1 ? m->good : 1) * cost_of(&d->cost, d->nseq) / d->nseq /
           2;
}

static bool is_better(const struct draft *d, const struct best *b, double rate,
                      double expect)
{
    return d->c.all ? expect > b->expect : rate > b->rate * margin;
}

/* Let member I of S offer guesses, and see how many of them are best run. */
static int ask(struct draft_seq *s, int i, const int32_t *t, int n, int same,
               int most, struct best *b, struct err *e)
{
    struct draft *d = s->d;
    struct member *m = &d->m[i];
    struct offer *o = &s->offer[i];
    bool works = m->d->cost == DRAFT_WORKS, paid = m->d->cost != DRAFT_FREE;
    double from = now(), p = 1, expect = 0, before = 0, at;
    double worth = worth_of(s, i, n, most, b);
    int got = 1;

    if (worth > 0) {
        m->asked = true;
        m->idle = 0;
    } else if (works || (paid && m->tried >= ASK_FIRST)) {
        return 0;
    }
    if (m->d->begin(s->s[i], t, n, same, worth, e))
        return -1;
    *o = (struct offer){.at = n};
    while (o->n < most && (p > 0.02 || d->c.all)) {
        struct draft_token *g = &o->t[o->n];
        double r;

        got = m->d->next(s->s[i], g, e);
        if (got <= 0)
            break;
        o->n++;
        p *= chance(m, g->sure);
        expect += p;
        at = paid && s->knows[i] ? d->extra + now() - from : d->extra;
        r = rate(d, o->n, expect, at);
        if (o->n >= d->c.least && is_better(d, b, r, expect))
            *b = (struct best){r / margin, expect, i, o->n};
        if (works && r < before && !d->c.all)
            break;
        before = r;
    }
    at = now() - from;
    m->st.seconds += at;
    /* To read the prompt is what it costs to have it. */
    if (works && !s->knows[i])
        d->total.drafting += at;
    else
        d->extra += at;
    s->knows[i] = true;
    m->st.asked += o->n > 0;
    return got < 0 ? -1 : 0;
}

int draft_guess(struct draft_seq *s, const int32_t *t, int n, int same,
                int most, int32_t guess[DRAFT_MAX])
{
    struct draft *d = s->d;
    struct best b = {.rate = rate(d, 0, 0, 0), .who = -1};

    s->chosen = -1;
    s->left = most;
    most = most < d->c.most ? most : d->c.most;
    for (int i = 0; i < d->c.n; i++)
        judge(&d->m[i], &s->offer[i], t, n, same);
    for (int c = DRAFT_FREE; c <= DRAFT_WORKS; c++)
        for (int i = 0; i < d->c.n; i++) {
            struct err why = {0};

            if ((int)d->m[i].d->cost != c || d->m[i].st.left_out || !s->s[i])
                continue;
            if (ask(s, i, t, n, same, most, &b, &why))
                leave_out(d, i, &why);
        }
    if (d->off || b.who < 0 || d->m[b.who].st.left_out)
        return 0;
    for (int i = 0; i < b.n; i++)
        guess[i] = s->offer[b.who].t[i].id;
    s->chosen = b.who;
    d->columns += b.n;
    d->expect += b.expect;
    return b.n;
}

/* ---- what came of it ---- */

void draft_ran(struct draft_seq *s, int n)
{
    struct draft_stats *st;

    if (s->chosen < 0 || !n)
        return;
    st = &s->d->m[s->chosen].st;
    st->used++;
    s->d->guessed = true;
    for (int i = 0; i < n; i++)
        st->run[i]++;
}

void draft_took(struct draft_seq *s, int i)
{
    s->d->m[s->chosen].st.taken[i]++;
}

/* What was won is no reason to lose much later. */
static void hold_balance(struct draft *d, double won, double each)
{
    d->balance += won;
    if (d->balance > 4 * each)
        d->balance = 4 * each;
}

void draft_done(struct draft *d, int columns, int tokens, double seconds)
{
    double is = cost_of(&d->cost, columns), each, took;

    if (d->nseq < 1)
        return;
    cost_add(&d->cost, columns, seconds);
    each = cost_of(&d->cost, d->nseq) / d->nseq;
    took = is > 0 && seconds > 2 * is ? 2 * is : seconds;
    d->total.steps++;
    d->total.drafted += d->guessed;
    d->total.tokens += tokens;
    d->total.seconds += seconds;
    d->total.drafting += d->extra;
    d->plain += each * tokens;
    d->since_plain = d->guessed ? d->since_plain + 1 : 0;
    hold_balance(d, d->guessed ? each * tokens - took - d->extra : -d->extra,
                 each);
    for (int i = 0; i < d->c.n; i++) {
        struct member *m = &d->m[i];
        double gain = each * tokens / (took + d->extra);

        if (m->asked)
            m->gain += (m->tried++ < 4 ? 0.5 : 0.1) * (gain - m->gain);
    }
}

bool draft_stats(struct draft_stats *s, const struct draft *d, int i)
{
    if (i >= d->c.n)
        return false;
    *s = d->m[i].st;
    return true;
}

void draft_totals(struct draft_totals *t, const struct draft *d)
{
    *t = d->total;
    t->gain = t->seconds > 0 ? d->plain / (t->seconds + t->drafting) : 1;
    for (int i = 0; i <= DRAFT_MAX; i++)
        t->cost[i] = d->cost.times[i + 1] ? d->cost.seconds[i + 1] : 0;
}
