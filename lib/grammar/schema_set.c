/* SPDX-License-Identifier: MIT
 * schema_set.c - what sets of values have in common, and have together. */
#include <stdlib.h>
#include <string.h>

#include "grammar/dfa_impl.h"
#include "grammar/schema.h"

enum {
    MAX_CASES = 2000,
    MAX_CELLS = 8 << 20, /* of all automata */
    MAX_LANGS = 8,       /* of strings, before they become one automaton */
    FEW = 4096,          /* lengths that become part of an automaton at once */
};

/* ---- automata ---- */

int schema_dfa_keep(struct schema *s, struct dfa *d)
{
    buf_put(&s->dfa, &d, sizeof d);
    if (buf_ok(&s->dfa, s->e)) {
        dfa_free(d);
        return -1;
    }
    s->cells += (size_t)d->n * d->nclass;
    if (s->cells > MAX_CELLS)
        return err_set(s->e, ERR_UNSUPPORTED, "too large a schema");
    return schema_work(s, (size_t)d->n * d->nclass);
}

int schema_dfa(struct schema *s, char op, const struct dfa *a,
               const struct dfa *b, const struct dfa **out)
{
    struct dfa *d;
    int rc = op == '&'   ? dfa_and(&d, a, b, s->e)
             : op == '|' ? dfa_or(&d, a, b, s->e)
                         : dfa_not(&d, a, s->e);

    if (rc || schema_dfa_keep(s, d))
        return -1;
    *out = d;
    return 0;
}

int schema_texts_dfa(struct schema *s, const struct schema_text *text, size_t n,
                     const struct dfa **out)
{
    const struct dfa **all = schema_alloc(s, n, sizeof *all);
    struct dfa *d;

    if (!all)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (dfa_text(&d, text[i].p, text[i].n, s->e) || schema_dfa_keep(s, d))
            return -1;
        all[i] = d;
    }
    /* By twos: texts that are next to each other begin alike. */
    for (; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n; i += 2) {
            all[i / 2] = all[i];
            if (i + 1 < n &&
                schema_dfa(s, '|', all[i], all[i + 1], &all[i / 2]))
                return -1;
        }
    if (!n) {
        if (dfa_length(&d, 1, 0, s->e) || schema_dfa_keep(s, d))
            return -1;
        all[0] = d;
    }
    *out = all[0];
    return 0;
}

static int lang_dfa(struct schema *s, const struct schema_lang *l,
                    const struct dfa **out)
{
    const struct dfa *of = l->d;
    struct dfa *d;

    *out = of;
    if (of && !l->min && l->max < 0)
        return 0;
    if (dfa_length(&d, l->min, l->max, s->e) || schema_dfa_keep(s, d))
        return -1;
    *out = d;
    return of ? schema_dfa(s, '&', of, d, out) : 0;
}

int schema_set_dfa(struct schema *s, const struct schema_set *a,
                   const struct dfa **out)
{
    const struct dfa *d;

    if (schema_texts_dfa(s, a->text, a->ntext, out))
        return -1;
    for (size_t i = 0; i < a->nlang; i++)
        if (lang_dfa(s, &a->lang[i], &d) || schema_dfa(s, '|', *out, d, out))
            return -1;
    return 0;
}

/* ---- sets ---- */

static const struct schema_lang any_text = {0, -1, NULL};
static const struct schema_case any_case = {.max = -1};

void schema_set_none(struct schema_set *out)
{
    *out = (struct schema_set){0};
}

void schema_set_all(enum schema_type t, struct schema_set *out)
{
    schema_set_none(out);
    if (t <= TYPE_BOOL) {
        out->bits = t == TYPE_NULL ? 1 : 3;
    } else if (t <= TYPE_STRING) {
        out->lang = &any_text;
        out->nlang = 1;
    } else {
        out->cases = &any_case;
        out->ncase = 1;
    }
}

void schema_set_lang(struct schema *s, int64_t min, int64_t max,
                     const struct dfa *d, struct schema_set *out)
{
    struct schema_lang *l = schema_alloc(s, 1, sizeof *l);

    schema_set_none(out);
    if (!l || (max >= 0 && max < min) || (d && dfa_empty(d)))
        return;
    *l = (struct schema_lang){min, max, d};
    out->lang = l;
    out->nlang = 1;
}

bool schema_set_empty(enum schema_type t, const struct schema_set *a)
{
    return t <= TYPE_BOOL     ? !a->bits
           : t <= TYPE_STRING ? !a->ntext && !a->nlang
                              : !a->ncase;
}

/* ---- numbers and strings ---- */

static int compare(const struct schema_text *a, const struct schema_text *b)
{
    int c = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);

    return c ? c : a->n < b->n ? -1 : a->n > b->n;
}

static int64_t length(const struct schema_text *t)
{
    int64_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += ((unsigned char)t->p[i] & 0xc0) != 0x80;
    return n;
}

static bool matches(const struct schema_set *a, const struct schema_text *t)
{
    int64_t len = length(t);

    for (size_t i = 0; i < a->nlang; i++) {
        const struct schema_lang *l = &a->lang[i];

        if (len >= l->min && (l->max < 0 || len <= l->max) &&
            (!l->d || dfa_match(l->d, t->p, t->n)))
            return true;
    }
    return false;
}

/* Texts of A and B: those of one that the other has, too (BOTH), or all. */
static int merge(struct schema *s, const struct schema_set *a,
                 const struct schema_set *b, bool both, struct schema_set *out)
{
    size_t n = a->ntext + b->ntext, i = 0, j = 0, k = 0;
    struct schema_text *t = n ? schema_alloc(s, n, sizeof *t) : NULL;

    if (n && !t)
        return -1;
    while (i < a->ntext || j < b->ntext) {
        int c = i == a->ntext   ? 1
                : j == b->ntext ? -1
                                : compare(&a->text[i], &b->text[j]);
        const struct schema_text *it = c <= 0 ? &a->text[i] : &b->text[j];

        if (!both || c == 0 || matches(c < 0 ? b : a, it))
            t[k++] = *it;
        i += c <= 0;
        j += c >= 0;
    }
    out->text = t;
    out->ntext = k;
    return 0;
}

static int text_and(struct schema *s, const struct schema_set *a,
                    const struct schema_set *b, struct schema_set *out)
{
    size_t n = a->nlang * b->nlang, k = 0;
    struct schema_lang *l = n ? schema_alloc(s, n, sizeof *l) : NULL;

    if ((n && !l) || merge(s, a, b, true, out))
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct schema_lang x = a->lang[i / b->nlang], y = b->lang[i % b->nlang];

        if (x.min < y.min)
            x.min = y.min;
        if (x.max < 0 || (y.max >= 0 && y.max < x.max))
            x.max = y.max;
        if (!x.d)
            x.d = y.d;
        else if (y.d && y.d != x.d && schema_dfa(s, '&', x.d, y.d, &x.d))
            return -1;
        if (x.max >= 0 && x.min > x.max)
            continue;
        if (x.d && (x.min || x.max >= 0) && x.min <= FEW && x.max <= FEW) {
            if (lang_dfa(s, &x, &x.d))
                return -1;
            x.min = 0;
            x.max = -1;
        }
        if (!(x.d && dfa_empty(x.d)))
            l[k++] = x;
    }
    out->lang = l;
    out->nlang = k;
    return 0;
}

static int text_or(struct schema *s, enum schema_type t,
                   const struct schema_set *a, const struct schema_set *b,
                   struct schema_set *out)
{
    size_t n = a->nlang + b->nlang, limit = t == TYPE_NUMBER ? 1 : MAX_LANGS;
    struct schema_lang *l = n ? schema_alloc(s, n, sizeof *l) : NULL;
    const struct dfa *d;

    if ((n && !l) || merge(s, a, b, false, out))
        return -1;
    for (size_t i = 0; i < n; i++) {
        l[i] = i < a->nlang ? a->lang[i] : b->lang[i - a->nlang];
        if (!l[i].d && !l[i].min && l[i].max < 0) {
            l[0] = l[i];
            n = 1;
        }
    }
    if (n > limit) {
        struct schema_set all = {.nlang = n, .lang = l};

        if (schema_set_dfa(s, &all, &d))
            return -1;
        l[0] = (struct schema_lang){0, -1, d};
        n = 1;
    }
    out->lang = l;
    out->nlang = n;
    return 0;
}

int schema_set_not(struct schema *s, const struct schema_set *a,
                   struct schema_set *out)
{
    struct schema_set part[3], sum;
    const struct dfa *d;

    schema_set_all(TYPE_STRING, out);
    if (a->ntext) {
        if (schema_texts_dfa(s, a->text, a->ntext, &d) ||
            schema_dfa(s, '!', d, NULL, &d))
            return -1;
        schema_set_lang(s, 0, -1, d, out);
    }
    for (size_t i = 0; i < a->nlang; i++) {
        const struct schema_lang *l = &a->lang[i];

        for (int k = 0; k < 3; k++)
            schema_set_none(&part[k]);
        if (l->min)
            schema_set_lang(s, 0, l->min - 1, NULL, &part[0]);
        if (l->max >= 0)
            schema_set_lang(s, l->max + 1, -1, NULL, &part[1]);
        if (l->d) {
            if (schema_dfa(s, '!', l->d, NULL, &d))
                return -1;
            schema_set_lang(s, 0, -1, d, &part[2]);
        }
        if (text_or(s, TYPE_STRING, &part[0], &part[1], &sum) ||
            text_or(s, TYPE_STRING, &sum, &part[2], &sum) ||
            text_and(s, out, &sum, out))
            return -1;
    }
    return 0;
}

/* ---- arrays and objects ---- */

static int join_needs(struct schema *s, const struct schema_need *a,
                      const struct schema_need *b,
                      const struct schema_need **out)
{
    *out = b;
    for (; a; a = a->next) {
        struct schema_need *n = schema_alloc(s, 1, sizeof *n);

        if (!n)
            return -1;
        *n = *a;
        n->next = *out;
        *out = n;
    }
    return 0;
}

static int join_seen(struct schema *s, const struct schema_seen *a,
                     const struct schema_seen *b,
                     const struct schema_seen **out)
{
    *out = b;
    for (; a; a = a->next) {
        struct schema_seen *n = schema_alloc(s, 1, sizeof *n);

        if (!n)
            return -1;
        *n = *a;
        n->next = *out;
        *out = n;
    }
    return 0;
}

static int case_and(struct schema *s, const struct schema_case *a,
                    const struct schema_case *b, struct schema_case *out)
{
    *out = *a;
    if (b->min > a->min) {
        out->min = b->min;
        out->node = b->node;
    }
    if (a->max < 0 || (b->max >= 0 && b->max < a->max))
        out->max = b->max;
    if (!a->unique)
        out->unique = b->unique;
    return join_needs(s, b->all, a->all, &out->all) ||
                   join_needs(s, b->some, a->some, &out->some) ||
                   join_seen(s, b->seen, a->seen, &out->seen)
               ? -1
               : 0;
}

static int cases_and(struct schema *s, enum schema_type t,
                     const struct schema_set *a, const struct schema_set *b,
                     struct schema_set *out)
{
    struct buf all = {0};
    struct schema_case c;
    int rc = 0;

    for (size_t i = 0; !rc && i < a->ncase; i++)
        for (size_t j = 0; !rc && j < b->ncase; j++) {
            rc = schema_work(s, 50) ||
                 case_and(s, &a->cases[i], &b->cases[j], &c);
            if (rc || schema_dead(s, t, &c))
                continue;
            buf_put(&all, &c, sizeof c);
            out->ncase++;
            if (out->ncase > MAX_CASES)
                rc = err_set(s->e, ERR_UNSUPPORTED,
                             "too many alternatives in a schema");
        }
    if (!rc)
        rc = buf_ok(&all, s->e);
    if (!rc && out->ncase) {
        struct schema_case *p = schema_alloc(s, out->ncase, sizeof *p);

        rc = p ? 0 : -1;
        if (p)
            memcpy(p, all.p, all.n);
        out->cases = p;
    }
    buf_free(&all);
    return rc ? -1 : 0;
}

static int cases_or(struct schema *s, const struct schema_set *a,
                    const struct schema_set *b, struct schema_set *out)
{
    size_t n = a->ncase + b->ncase;
    struct schema_case *c;

    if (!a->ncase || !b->ncase) {
        *out = a->ncase ? *a : *b;
        return 0;
    }
    if (n > MAX_CASES)
        return err_set(s->e, ERR_UNSUPPORTED,
                       "too many alternatives in a schema");
    c = schema_alloc(s, n, sizeof *c);
    if (!c)
        return -1;
    memcpy(c, a->cases, a->ncase * sizeof *c);
    memcpy(c + a->ncase, b->cases, b->ncase * sizeof *c);
    out->cases = c;
    out->ncase = n;
    return 0;
}

int schema_set_and(struct schema *s, enum schema_type t,
                   const struct schema_set *a, const struct schema_set *b,
                   struct schema_set *out)
{
    struct schema_set r = {0};
    int rc = 0;

    if (t <= TYPE_BOOL)
        r.bits = a->bits & b->bits;
    else if (t <= TYPE_STRING)
        rc = text_and(s, a, b, &r);
    else if (a->cases == &any_case)
        r = *b;
    else if (b->cases == &any_case)
        r = *a;
    else
        rc = cases_and(s, t, a, b, &r);
    *out = r;
    return rc;
}

int schema_set_or(struct schema *s, enum schema_type t,
                  const struct schema_set *a, const struct schema_set *b,
                  struct schema_set *out)
{
    struct schema_set r = {0};
    int rc = 0;

    if (t <= TYPE_BOOL)
        r.bits = a->bits | b->bits;
    else if (t <= TYPE_STRING)
        rc = text_or(s, t, a, b, &r);
    else
        rc = cases_or(s, a, b, &r);
    *out = r;
    return rc;
}
