/* SPDX-License-Identifier: MIT
 * schema_number.c - what numbers are spelled like, as automata.
 *
 * One machine reads a number and keeps what a constraint needs to know: how the
 * digits compare with a bound's, the remainder so far.  All the states that it
 * can come to are those of the automaton.  After the "e" of an exponent all
 * that counts is between which two exponents the number is as it should be.
 */
#include "grammar/schema_number.h"

#include <stdlib.h>
#include <string.h>

#include "grammar/dfa_impl.h"
#include "grammar/intern.h"
#include "grammar/schema_decimal.h"

enum phase { START, MINUS, ZERO, INT, DOT, FRAC, EXP, SIGN, DIGITS, DEAD };
enum { EQ, LT, GT }; /* of what was read to a bound */
enum {
    INT_DIGITS = 16,  /* before a point */
    FRAC_DIGITS = 16, /* before an exponent */
    LOW_EXP = -324,   /* exponents: to -5, and from 16 on */
    SMALL_EXP = -5,
    LARGE_EXP = 16,
    HIGH_EXP = 308,
    EXACT_DIGITS = 15, /* that a double has, whatever they are */
    MAX_DIVISOR = 5000,
};
static const char largest[] = "17976931348623157"; /* and e308: of a double */

/* What is asked. */
struct ask {
    enum number_kind kind;
    bool flip;          /* the sign is taken for the other one */
    bool whole, broken; /* spelled without a point or exponent; with one */
    struct decimal at;  /* of NUMBER_LEAST */
    uint32_t m;         /* multiples of M / 10^SCALE */
    int scale;
    bool even; /* all whole numbers are multiples */
};

/* Unused fields are 0, so that equal places are equal. */
struct place {
    uint32_t phase, neg;
    uint32_t nint, nfrac; /* digits, as far as they count */
    uint32_t cmp, pos;    /* plain digits and the bound's */
    uint32_t mant, top;   /* a mantissa's and the bound's; and LARGEST's */
    uint32_t rem, zero, nine;
    uint32_t tail;  /* the last digit of a mantissa is 0 */
    int32_t lo, hi; /* exponents that are good */
    uint32_t esign, nexp, exp;
};
enum { WORDS = sizeof(struct place) / 4 };

static uint32_t compare(uint32_t cmp, char c, const char *d, int n, int i)
{
    char other = i >= 0 && i < n ? d[i] : '0';

    return cmp != EQ ? cmp : c < other ? LT : c > other ? GT : EQ;
}

/* ---- of the bound ---- */

/* Does a magnitude that compares CMP with the bound's make it? */
static bool at_least(const struct ask *q, bool neg, uint32_t cmp)
{
    bool minus = neg != q->flip;

    if (q->at.neg || !q->at.n)
        return !minus || cmp != GT;
    return !minus && cmp != LT;
}

static void bound_digit(const struct ask *q, struct place *p, char c)
{
    int e = q->at.exp, n = q->at.n, cap, i;

    if (!n) {
        p->cmp = c != '0' ? GT : p->cmp;
        return;
    }
    if (p->phase == INT) {
        if (e < 0) {
            p->cmp = GT;
            return;
        }
        if ((int)p->pos <= e)
            p->cmp = compare(p->cmp, c, q->at.d, n, (int)p->pos);
        if ((int)p->pos < e + 2)
            p->pos++;
        return;
    }
    if (p->cmp != EQ)
        return;
    i = e + 1 + (int)p->pos;
    cap = n - e - 1;
    p->cmp = compare(EQ, c, q->at.d, n, i);
    p->pos = p->cmp == EQ && (int)p->pos < cap ? p->pos + 1 : p->pos;
    if (p->cmp != EQ)
        p->pos = 0;
}

/* The whole part is over. */
static uint32_t bound_int(const struct ask *q, const struct place *p)
{
    if (!q->at.n)
        return p->cmp;
    if (p->phase == ZERO)
        return q->at.exp >= 0 ? LT : EQ;
    if (q->at.exp < 0)
        return GT;
    return (int)p->pos < q->at.exp + 1   ? LT
           : (int)p->pos > q->at.exp + 1 ? GT
                                         : p->cmp;
}

static bool bound_ends(const struct ask *q, const struct place *p)
{
    uint32_t cmp = p->cmp;

    if (p->phase != FRAC) {
        cmp = bound_int(q, p);
        /* What is left of the bound is after its point. */
        if (cmp == EQ && q->at.n > q->at.exp + 1)
            cmp = LT;
    } else if (cmp == EQ && q->at.n && (int)p->pos < q->at.n - q->at.exp - 1) {
        cmp = LT;
    }
    return at_least(q, p->neg, cmp);
}

/* Exponents after a mantissa: between LO and HI. */
static void bound_exp(const struct ask *q, struct place *p)
{
    uint32_t mant = p->mant;
    int from = q->at.exp; /* from there on the number is larger */
    bool small = at_least(q, p->neg, LT), large = at_least(q, p->neg, GT);

    p->lo = LOW_EXP;
    p->hi = HIGH_EXP;
    if (small && large)
        return;
    if (!small && !large) {
        p->hi = LOW_EXP - 1;
        return;
    }
    if (!q->at.n) {
        if (!large)
            p->hi = LOW_EXP - 1;
        return;
    }
    if (mant == EQ && (int)p->nfrac + 1 < q->at.n)
        mant = LT;
    if (mant == LT || (mant == EQ && !at_least(q, p->neg, EQ) && large) ||
        (mant == EQ && at_least(q, p->neg, EQ) && small))
        from++;
    if (large)
        p->lo = from;
    else
        p->hi = from - 1;
}

/* ---- of multiples ---- */

static uint32_t times(uint32_t rem, int power, uint32_t m)
{
    uint64_t r = rem;

    while (power-- > 0 && r)
        r = r * 10 % m;
    return (uint32_t)r;
}

static void multiple_exp(const struct ask *q, struct place *p)
{
    int e = LARGE_EXP, first;

    /* The digits come to D / 10^nfrac, so that more than SCALE of them are
     * never a multiple. */
    for (int x = SMALL_EXP; x >= LOW_EXP; x--) {
        int power = q->scale + x - (int)p->nfrac;

        if (power < 0 || p->zero || times(p->rem, power, q->m))
            break;
        e = x;
    }
    first = e;
    p->lo = first;
    p->hi = q->even ? HIGH_EXP : SMALL_EXP;
    if (q->kind == NUMBER_UNEVEN) {
        p->lo = LOW_EXP;
        p->hi = first < SMALL_EXP + 1 ? first - 1 : SMALL_EXP;
    }
}

/* ---- the machine ---- */

static void count(const struct ask *q, struct place *p, char c)
{
    bool frac = p->phase == FRAC;

    if (frac)
        p->nfrac += p->nfrac <= FRAC_DIGITS;
    else
        p->nint += p->nint <= INT_DIGITS;
    if (p->nint == 1) {
        p->top = compare(p->top, c, largest, sizeof largest - 1,
                         (int)p->nint + (int)p->nfrac - 1);
        p->tail = frac && c == '0';
    }
    switch (q->kind) {
    case NUMBER_LEAST:
        if (p->nint == 1 && q->at.n)
            p->mant = compare(p->mant, c, q->at.d, q->at.n,
                              (int)p->nint + (int)p->nfrac - 1);
        bound_digit(q, p, c);
        break;
    case NUMBER_WHOLE:
        if (frac && (c != '0' || p->nfrac > 1))
            p->zero = 1; /* not whole, unless it has an exponent */
        break;
    case NUMBER_BROKEN:
        if (frac && p->pos < EXACT_DIGITS) {
            p->zero |= c != '0';
            p->nine |= c != '9';
            p->pos++;
        }
        break;
    case NUMBER_PARTS:
    case NUMBER_UNEVEN:
        if (!frac || (int)p->pos < q->scale) {
            p->rem = (uint32_t)(((uint64_t)p->rem * 10 + (uint32_t)(c - '0')) %
                                q->m);
            p->pos += frac;
        } else if (c != '0') {
            p->zero = 1; /* too fine */
        }
        break;
    default:
        break;
    }
}

/* Digits count only as long as an exponent may come. */
static void forget(struct place *p)
{
    if (p->nint != 1 || p->nfrac > FRAC_DIGITS) {
        p->top = p->mant = p->tail = 0;
        if (p->phase == FRAC) {
            p->nfrac = FRAC_DIGITS + 1;
            p->nint = 0;
        }
    }
}

static void point(const struct ask *q, struct place *p)
{
    if (q->kind == NUMBER_LEAST) {
        p->cmp = bound_int(q, p);
        p->pos = 0;
    } else if (q->kind == NUMBER_BROKEN) {
        /* Digits beyond those that a double keeps say nothing. */
        if (p->nint >= EXACT_DIGITS) {
            p->phase = DEAD;
            return;
        }
        p->pos = p->nint;
    } else if ((q->kind == NUMBER_PARTS || q->kind == NUMBER_UNEVEN) &&
               !q->even && p->nint > EXACT_DIGITS) {
        p->phase = DEAD;
        return;
    }
    if (p->phase == ZERO)
        p->nint = 0;
    p->phase = q->whole ? DEAD : DOT;
    forget(p);
}

static void exponent(const struct ask *q, struct place *p)
{
    struct place to = {.phase = EXP, .neg = p->neg};
    bool over = p->top == GT;

    p->lo = LOW_EXP;
    p->hi = HIGH_EXP;
    if (q->kind == NUMBER_LEAST)
        bound_exp(q, p);
    else if (q->kind == NUMBER_WHOLE)
        p->lo = LARGE_EXP;
    else if (q->kind == NUMBER_BROKEN)
        p->hi = SMALL_EXP;
    else if (q->kind == NUMBER_PARTS || q->kind == NUMBER_UNEVEN)
        multiple_exp(q, p);
    to.lo = p->lo < LOW_EXP ? LOW_EXP : p->lo;
    to.hi = p->hi > HIGH_EXP - over ? HIGH_EXP - over : p->hi;
    to.neg = 0;
    if (to.lo > to.hi || q->whole)
        to = (struct place){.phase = DEAD};
    *p = to;
}

static void exp_digit(struct place *p, char c)
{
    int limit = p->esign ? -p->lo : p->hi;

    if (p->nexp == 3 || (p->nexp == 0 && c == '0' && !p->esign) ||
        (p->nexp == 2 && p->exp < 10)) {
        p->phase = DEAD;
        return;
    }
    p->phase = DIGITS;
    p->exp = p->exp * 10 + (uint32_t)(c - '0');
    p->nexp++;
    if ((int)p->exp > limit)
        p->phase = DEAD;
}

static void step(const struct ask *q, struct place *p, char c)
{
    bool digit = c >= '0' && c <= '9', first = p->phase <= MINUS;

    if (p->phase == START && c == '-') {
        p->phase = MINUS;
        p->neg = 1;
    } else if (first && c == '0') {
        p->phase = ZERO;
    } else if ((first || p->phase == INT) && digit) {
        p->phase = INT;
        count(q, p, c);
        if (p->nint > 1)
            p->top = p->mant = 0;
    } else if ((p->phase == INT && c == '.' && p->nint <= INT_DIGITS) ||
               (p->phase == ZERO && c == '.')) {
        point(q, p);
    } else if ((p->phase == DOT || p->phase == FRAC) && digit) {
        p->phase = FRAC;
        count(q, p, c);
        forget(p);
    } else if ((p->phase == INT || p->phase == FRAC) && c == 'e' &&
               p->nint == 1 && p->nfrac <= FRAC_DIGITS && !p->tail) {
        exponent(q, p);
    } else if (p->phase == EXP && (c == '+' || c == '-')) {
        p->phase = SIGN;
        p->esign = c == '-';
    } else if ((p->phase == SIGN || p->phase == DIGITS) && digit) {
        exp_digit(p, c);
    } else {
        p->phase = DEAD;
    }
    if (p->phase == DEAD)
        *p = (struct place){.phase = DEAD};
}

static bool ends(const struct ask *q, const struct place *p)
{
    int x = p->esign ? -(int)p->exp : (int)p->exp;
    bool frac = p->phase == FRAC, multiple;

    if (p->phase == DIGITS)
        return x >= p->lo && x <= p->hi && (x <= SMALL_EXP || x >= LARGE_EXP);
    if (p->phase != ZERO && p->phase != INT && !frac)
        return false;
    if (q->broken && !frac)
        return false;
    switch (q->kind) {
    case NUMBER_LEAST:
        return bound_ends(q, p);
    case NUMBER_WHOLE:
        return !p->zero;
    case NUMBER_BROKEN:
        return frac && p->zero && (p->nine || p->pos < EXACT_DIGITS);
    case NUMBER_PARTS:
    case NUMBER_UNEVEN:
        multiple = !p->zero &&
                   !times(p->rem, q->scale - (frac ? (int)p->pos : 0), q->m);
        return multiple == (q->kind == NUMBER_PARTS);
    default:
        return true;
    }
}

/* ---- its states ---- */

static const char symbols[] = "0123456789.e+-";
enum { NSYMBOL = sizeof symbols - 1 };

static void classes(struct dfa *d)
{
    static const struct {
        uint8_t first, class;
    } at[] = {{0, 0},    {'+', 13}, {',', 0},  {'-', 14}, {'.', 11},
              {'/', 0},  {'0', 1},  {'1', 2},  {'2', 3},  {'3', 4},
              {'4', 5},  {'5', 6},  {'6', 7},  {'7', 8},  {'8', 9},
              {'9', 10}, {':', 0},  {'e', 12}, {'f', 0}};

    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        d->first[i] = at[i].first;
        d->class[i] = at[i].class;
    }
}

static int machine_dfa(struct dfa **out, const struct ask *q, struct err *e)
{
    struct place dead = {.phase = DEAD}, start = {.phase = START};
    struct intern places = {0};
    struct buf next = {0};
    struct dfa *d = NULL;
    uint32_t id[1 + NSYMBOL], word[WORDS];
    int rc = 0;

    memcpy(word, &start, sizeof word);
    intern_put(&places, word, WORDS, NULL);
    memcpy(word, &dead, sizeof word);
    id[0] = intern_put(&places, word, WORDS, NULL);
    for (uint32_t s = 0; !rc && s < places.n; s++) {
        for (int c = 0; c < NSYMBOL; c++) {
            struct place p;

            memcpy(&p, intern_get(&places, s), sizeof p);
            step(q, &p, symbols[c]);
            memcpy(word, &p, sizeof word);
            id[1 + c] = intern_put(&places, word, WORDS, NULL);
            if (id[1 + c] == INTERN_NONE)
                rc = err_nomem(e);
        }
        buf_put(&next, id, sizeof id);
        if (places.n > DFA_MAX_STATES)
            rc = dfa_too_large(e);
    }
    if (!rc)
        rc = buf_ok(&next, e);
    if (!rc && !(d = dfa_new(places.n, 1 + NSYMBOL, 19, false, e)))
        rc = -1;
    if (!rc) {
        classes(d);
        memcpy(d->next, next.p, next.n);
        for (uint32_t s = 0; s < places.n; s++) {
            struct place p;

            memcpy(&p, intern_get(&places, s), sizeof p);
            d->ends[s] = ends(q, &p);
        }
        rc = dfa_minimize(d, e);
    }
    intern_free(&places);
    buf_free(&next);
    if (rc)
        dfa_free(d);
    else
        *out = d;
    return rc;
}

/* Numbers that are at least A (more, if STRICT); FLIP: at most.  Whole ones and
 * others have bounds of their own: those are read as doubles. */
static int bound(struct dfa **out, const struct decimal *a, bool strict,
                 bool flip, struct err *e)
{
    struct ask q = {.kind = NUMBER_LEAST, .flip = flip, .whole = true};
    struct decimal mirrored = *a;
    struct dfa *whole = NULL, *broken = NULL;
    enum schema_reach reach;
    int rc;

    if (flip)
        mirrored.neg = a->n && !a->neg;
    if (schema_decimal_ceiling(&q.at, &mirrored, strict, e))
        return -1;
    rc = machine_dfa(&whole, &q, e);
    q.whole = false;
    q.broken = true;
    if (!rc) {
        reach = schema_decimal_double(&q.at, &mirrored, strict);
        if (reach == REACH_NONE) {
            *out = whole;
            return 0;
        }
        if (reach == REACH_ALL)
            q.kind = NUMBER_ANY;
        rc = machine_dfa(&broken, &q, e);
    }
    if (!rc)
        rc = dfa_or(out, whole, broken, e);
    dfa_free(whole);
    dfa_free(broken);
    return rc;
}

static int divisor(struct ask *q, const struct decimal *a, struct err *e)
{
    uint64_t m = 0, power = 1;
    int scale = a->n - 1 - a->exp;

    if (!a->n || a->neg)
        return err_set(e, ERR_FORMAT, "not more than 0");
    for (int i = 0; i < a->n || i <= a->exp; i++) {
        m = m * 10 + (uint64_t)(i < a->n ? a->d[i] - '0' : 0);
        if (m > MAX_DIVISOR)
            return err_set(e, ERR_UNSUPPORTED, "too large a divisor");
    }
    if (scale > 18)
        return err_set(e, ERR_UNSUPPORTED, "too fine a divisor");
    q->m = (uint32_t)m;
    q->scale = scale < 0 ? 0 : scale;
    for (int i = 0; i < q->scale; i++)
        power *= 10;
    q->even = power % m == 0;
    return 0;
}

int schema_number_dfa(struct dfa **out, enum number_kind kind,
                      const struct decimal *a, struct err *e)
{
    struct ask q = {.kind = kind};

    *out = NULL;
    switch (kind) {
    case NUMBER_LEAST:
        return bound(out, a, false, false, e);
    case NUMBER_ABOVE:
        return bound(out, a, true, false, e);
    case NUMBER_MOST:
        return bound(out, a, false, true, e);
    case NUMBER_BELOW:
        return bound(out, a, true, true, e);
    case NUMBER_PARTS:
    case NUMBER_UNEVEN:
        if (divisor(&q, a, e))
            return -1;
        break;
    default:
        break;
    }
    return machine_dfa(out, &q, e);
}
