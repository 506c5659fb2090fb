/* SPDX-License-Identifier: MIT
 * schema_members.c - how objects of a case may be made.
 *
 * All names that a case speaks of are members of their own, each at most once.
 * The other names fall into classes by the patterns that match them; those that
 * must satisfy the same are one member, which may come again.
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"

enum {
    MAX_PATTERNS = 16,
    MAX_CLASSES = 64,
    MAX_CHOICES = 64,
};

struct class
{
    const struct dfa *d;
    uint32_t match; /* a bit for each pattern */
    uint32_t state;
};

struct members {
    struct schema *s;
    const struct schema_case *c;
    struct buf name; /* struct schema_text */
    const struct dfa *pattern[MAX_PATTERNS];
    size_t npattern, nclass, nname;
    struct class class[MAX_CLASSES];
    struct schema_text *names;
};

static int by_text(const void *a, const void *b)
{
    const struct schema_text *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

/* ---- what a case speaks of ---- */

static int speak(struct members *m, const struct schema_need *need,
                 const struct schema_keys *k)
{
    const char *key;
    json_t *v;

    json_object_foreach(k->names, key, v)
    {
        struct schema_text t = {key, strlen(key)};

        buf_put(&m->name, &t, sizeof t);
    }
    buf_put(&m->name, k->text, k->ntext * sizeof *k->text);
    for (size_t i = 0; i < k->nmatch; i++) {
        size_t j = 0;

        while (j < m->npattern && m->pattern[j] != k->match[i])
            j++;
        if (j == MAX_PATTERNS)
            return schema_fail(m->s, need->node, need->word, ERR_UNSUPPORTED,
                               "too many patterns");
        m->pattern[j] = k->match[i];
        if (j == m->npattern)
            m->npattern++;
    }
    for (size_t i = 0; i < k->nsub; i++)
        if (speak(m, need, k->sub[i]))
            return -1;
    return schema_work(m->s, m->name.n / sizeof(struct schema_text) + 1) ||
                   buf_ok(&m->name, m->s->e)
               ? -1
               : 0;
}

static int names(struct members *m)
{
    struct schema_text *t;
    size_t n;

    for (const struct schema_need *a = m->c->all; a; a = a->next)
        if (speak(m, a, a->keys))
            return -1;
    for (const struct schema_need *a = m->c->some; a; a = a->next)
        if (speak(m, a, a->keys))
            return -1;
    n = m->name.n / sizeof *t;
    t = schema_alloc(m->s, n, sizeof *t);
    if (!t)
        return -1;
    if (n) {
        memcpy(t, m->name.p, m->name.n);
        qsort(t, n, sizeof *t, by_text);
    }
    for (size_t i = 0; i < n; i++)
        if (!i || by_text(&t[i], &t[m->nname - 1]))
            t[m->nname++] = t[i];
    m->names = t;
    return 0;
}

static bool class_has(const struct members *m, const struct schema_keys *k,
                      const struct class *c)
{
    bool in = false;

    for (size_t i = 0; i < k->nmatch; i++)
        for (size_t j = 0; j < m->npattern; j++)
            in |= m->pattern[j] == k->match[i] && c->match >> j & 1;
    for (size_t i = 0; i < k->nsub; i++)
        in |= class_has(m, k->sub[i], c);
    return in != k->not ;
}

static int add_class(struct members *m, const struct dfa *d, uint32_t match)
{
    if (dfa_empty(d))
        return 0;
    if (m->nclass == MAX_CLASSES)
        return schema_fail(m->s, m->c->all ? m->c->all->node : 1, NULL,
                           ERR_UNSUPPORTED, "too many patterns of names");
    m->class[m->nclass++] = (struct class){d, match, 0};
    return 0;
}

/* All names that are not spoken of: made once for the same ones. */
static int rest_of(struct members *m, const struct dfa **out)
{
    struct schema *s = m->s;
    struct buf key = {0};
    const struct dfa *d;
    uint32_t id = INTERN_NONE;
    bool fresh = false;
    int rc = 0;

    for (size_t i = 0; i < m->nname; i++) {
        buf_put(&key, m->names[i].p, m->names[i].n);
        buf_putc(&key, 0);
    }
    for (buf_putc(&key, 1); key.n % 4;)
        buf_putc(&key, 0);
    if (!key.bad)
        id = intern_put(&s->rest, (uint32_t *)(void *)key.p, key.n / 4, &fresh);
    buf_free(&key);
    if (id == INTERN_NONE)
        return err_nomem(s->e);
    if (!fresh) {
        memcpy(out, s->rest_dfa.p + id * sizeof *out, sizeof *out);
        return 0;
    }
    rc = schema_texts_dfa(s, m->names, m->nname, &d) ||
         schema_dfa(s, '!', d, NULL, &d);
    if (rc)
        return -1;
    buf_put(&s->rest_dfa, &d, sizeof d);
    *out = d;
    return buf_ok(&s->rest_dfa, s->e);
}

/* The classes of the other names. */
static int classes(struct members *m)
{
    const struct dfa *rest = NULL, *in, *out;

    if (rest_of(m, &rest) || add_class(m, rest, 0))
        return -1;
    for (size_t i = 0; i < m->npattern; i++) {
        size_t n = m->nclass;

        for (size_t j = 0; j < n; j++) {
            const struct dfa *d = m->class[j].d, *p = m->pattern[i];

            if (schema_dfa(m->s, '&', d, p, &in) ||
                schema_dfa(m->s, '!', p, NULL, &out) ||
                schema_dfa(m->s, '&', d, out, &out))
                return -1;
            if (dfa_empty(out)) {
                m->class[j].match |= 1u << i;
                continue;
            }
            m->class[j].d = out;
            if (add_class(m, in, m->class[j].match | 1u << i))
                return -1;
        }
    }
    return 0;
}

static int class_states(struct members *m)
{
    size_t n = 0;
    uint32_t *lit;

    for (const struct schema_need *a = m->c->all; a; a = a->next)
        n++;
    lit = schema_alloc(m->s, n, sizeof *lit);
    if (!lit)
        return -1;
    for (size_t i = 0; i < m->nclass; i++) {
        size_t k = 0;

        for (const struct schema_need *a = m->c->all; a; a = a->next)
            if (class_has(m, a->keys, &m->class[i]))
                lit[k++] = a->lit;
        m->class[i].state = schema_state(m->s, lit, k);
        if (m->class[i].state == LIT_BAD)
            return -1;
    }
    return 0;
}

/* Are classes A and B alike, in what they must satisfy and are needed for? */
static bool alike(const struct members *m, const struct class *a,
                  const struct class *b)
{
    if (a->state != b->state)
        return false;
    for (const struct schema_need *n = m->c->some; n; n = n->next)
        if (class_has(m, n->keys, a) != class_has(m, n->keys, b))
            return false;
    return true;
}

static int merge(struct members *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nclass; i++) {
        size_t j = 0;

        while (j < n && !alike(m, &m->class[j], &m -> class[i]))
            j++;
        if (j == n)
            m->class[n++] = m->class[i];
        else if (schema_dfa(m->s, '|', m->class[j].d, m->class[i].d,
                            &m->class[j].d))
            return -1;
    }
    m->nclass = n;
    return 0;
}

/* ---- plans ---- */

/* Member I of all that there may be: first those with names. */
static bool has(const struct members *m, const struct schema_need *n, size_t i)
{
    if (i < m->nname)
        return schema_keys_have(n->keys, m->names[i].p, m->names[i].n);
    return class_has(m, n->keys, &m->class[i - m->nname]);
}

/* The plan where need K is met by member CHOICE[K]. */
static int plan(struct members *m, const struct schema_need *const *need,
                const size_t *choice, size_t nneed,
                const struct schema_plan **out)
{
    size_t n = m->nname + m->nclass, required = 0;
    struct schema_member *p = schema_alloc(m->s, n, sizeof *p);
    uint32_t *lit = schema_alloc(m->s, nneed, sizeof *lit);
    struct schema_plan *made = schema_alloc(m->s, 1, sizeof *made);
    bool again = false;

    if (!p || !lit || !made)
        return -1;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        for (size_t j = 0; j < nneed; j++)
            if (choice[j] == i) {
                p[i].required = true;
                lit[k++] = need[j]->lit;
            }
        if (i < m->nname) {
            p[i].name = m->names[i];
            p[i].state = schema_named(m->s, m->c, &p[i].name, lit, k);
            required += p[i].required;
        } else {
            p[i].d = m->class[i - m->nname].d;
            p[i].state = m->class[i - m->nname].state;
            again |= schema_state(m->s, &(uint32_t){LIT_NONE}, 1) != p[i].state;
        }
        if (p[i].state == LIT_BAD)
            return -1;
    }
    if (again && m->c->min > (int64_t)required + 1)
        return schema_fail(m->s, m->c->node, "minProperties", ERR_UNSUPPORTED,
                           "more members than have names: those may repeat");
    *made = (struct schema_plan){.next = *out,
                                 .type = TYPE_OBJECT,
                                 .min = m->c->min,
                                 .max = m->c->max,
                                 .n = n,
                                 .member = p};
    *out = made;
    return 0;
}

/* The next choice of members that may meet the needs; false after the last. */
static bool next_choice(const struct members *m,
                        const struct schema_need *const *need, size_t *choice,
                        size_t n)
{
    size_t all = m->nname + m->nclass;

    for (size_t i = 0; i < n; i++) {
        do
            choice[i]++;
        while (choice[i] < all && !has(m, need[i], choice[i]));
        if (choice[i] < all)
            return true;
        choice[i] = 0;
        while (choice[i] < all && !has(m, need[i], choice[i]))
            choice[i]++;
    }
    return false;
}

static int plans(struct members *m, const struct schema_plan **out)
{
    size_t n = 0, all = m->nname + m->nclass, made = 0;
    const struct schema_need **need;
    size_t *choice;

    for (const struct schema_need *a = m->c->some; a; a = a->next)
        n++;
    need = schema_alloc(m->s, n, sizeof *need);
    choice = schema_alloc(m->s, n, sizeof *choice);
    if (!need || !choice)
        return -1;
    n = 0;
    for (const struct schema_need *a = m->c->some; a; a = a->next) {
        while (choice[n] < all && !has(m, a, choice[n]))
            choice[n]++;
        if (choice[n] == all)
            return 0; /* nobody can meet it */
        need[n++] = a;
    }
    do {
        for (size_t i = 0; i < n; i++)
            if (choice[i] >= m->nname && need[i]->lit != LIT_ANY)
                return schema_fail(m->s, need[i]->node, need[i]->word,
                                   ERR_UNSUPPORTED,
                                   "its opposite, where names may repeat");
        if (++made > MAX_CHOICES)
            return schema_fail(m->s, n ? need[0]->node : 1,
                               n ? need[0]->word : NULL, ERR_UNSUPPORTED,
                               "too many alternatives");
        if (plan(m, need, choice, n, out))
            return -1;
    } while (next_choice(m, need, choice, n));
    return 0;
}

int schema_members(struct schema *s, const struct schema_case *c,
                   const struct schema_plan **out)
{
    struct members m = {.s = s, .c = c};
    int rc = names(&m) || classes(&m) || class_states(&m) || merge(&m) ||
             plans(&m, out);

    buf_free(&m.name);
    return rc ? -1 : 0;
}
