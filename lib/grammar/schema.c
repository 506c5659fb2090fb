/* SPDX-License-Identifier: MIT
 * schema.c - from a JSON Schema to a grammar: states become rules. */
#include "grammar/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

/* Adds the states that a plan leads to. */
static void reach(const struct schema_plan *p, struct buf *todo)
{
    for (size_t i = 0; p->member && i < p->n; i++)
        buf_put(todo, &p->member[i].state, sizeof(uint32_t));
    if (p->item)
        buf_put(todo, p->item, ((p->n + 1) << p->ncounter) * sizeof(uint32_t));
    if (p->value)
        buf_put(todo, p->value, p->nvalue * sizeof(uint32_t));
}

static int plan(struct schema *s, uint32_t id, struct buf *todo)
{
    const struct schema_plan *out = NULL;

    for (int t = 0; t < NTYPE; t++) {
        const struct schema_set *set =
            schema_state_set(s, id, (enum schema_type)t);

        if (!set)
            return -1;
        for (size_t i = 0; t >= TYPE_ARRAY && i < set->ncase; i++)
            if ((t == TYPE_ARRAY ? schema_items
                                 : schema_members)(s, &set->cases[i], &out))
                return -1;
    }
    schema_state_at(s, id)->plan = out;
    for (; out; out = out->next)
        reach(out, todo);
    return buf_ok(todo, s->e);
}

/* The states that START leads to, itself first, each once. */
static int states(struct schema *s, uint32_t start, struct buf *all)
{
    struct buf todo = {0};
    int rc = 0;
    uint32_t id;

    buf_put(&todo, &start, sizeof start);
    for (size_t i = 0; !rc && i < todo.n / sizeof id; i++) {
        memcpy(&id, todo.p + i * sizeof id, sizeof id);
        if (schema_state_at(s, id)->planned)
            continue;
        schema_state_at(s, id)->planned = true;
        buf_put(all, &id, sizeof id);
        rc = plan(s, id, &todo) || schema_work(s, 100);
    }
    rc = rc || buf_ok(&todo, s->e) || buf_ok(all, s->e);
    buf_free(&todo);
    return rc ? -1 : 0;
}

/* ---- which have values ---- */

static bool members_live(const struct schema *s, const struct schema_plan *p)
{
    int64_t required = 0, n = 0;

    for (size_t i = 0; i < p->n; i++) {
        bool live = schema_state_at(s, p->member[i].state)->live;

        if (p->member[i].required && !live)
            return false;
        required += p->member[i].required;
        if (live)
            n = p->member[i].d || n == INT64_MAX ? INT64_MAX : n + 1;
    }
    return n >= p->min && (p->max < 0 || required <= p->max);
}

static int plan_live(struct schema *s, const struct schema_plan *p, bool *live)
{
    if (p->type == TYPE_ARRAY)
        return schema_write_items(s, NULL, p, live, NULL);
    *live = members_live(s, p);
    return 0;
}

static int state_live(struct schema *s, uint32_t id, bool *live)
{
    const struct schema_plan *p = schema_state_at(s, id)->plan;

    *live = false;
    for (int t = 0; t <= TYPE_STRING && !*live; t++)
        *live = !schema_set_empty((enum schema_type)t,
                                  schema_state_set(s, id, (enum schema_type)t));
    for (; p && !*live; p = p->next)
        if (plan_live(s, p, live))
            return -1;
    return 0;
}

/* Until no more are found to have one. */
static int lives(struct schema *s, const uint32_t *id, size_t n)
{
    for (bool more = true; more;) {
        more = false;
        if (schema_work(s, n))
            return -1;
        for (size_t i = n; i-- > 0;) {
            bool live = false;

            if (schema_state_at(s, id[i])->live)
                continue;
            if (state_live(s, id[i], &live))
                return -1;
            schema_state_at(s, id[i])->live = live;
            more |= live;
        }
    }
    return 0;
}

/* ---- rules ---- */

static int members(struct schema_write *w, const struct schema_plan *p,
                   uint32_t *node)
{
    struct build_member *m = schema_alloc(w->s, p->n, sizeof *m);
    uint32_t key, all[5];
    int n = 0;

    if (!m)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        const struct schema_member *it = &p->member[i];

        if (!schema_state_at(w->s, it->state)->live)
            continue;
        if (schema_write_name(w, it, &key))
            return -1;
        all[0] = key;
        all[1] = w->colon;
        all[2] = schema_state_at(w->s, it->state)->node;
        m[n++] = (struct build_member){build_seq(w->b, all, 3), it->required,
                                       it->d != NULL};
    }
    *node = build_members(w->b, m, n, w->comma, (int)p->min, (int)p->max);
    return 0;
}

/* An array or object: what is in it, between its brackets. */
static int within(struct schema_write *w, const struct schema_plan *p,
                  uint32_t *node)
{
    bool live;
    uint32_t in, all[5];

    if (plan_live(w->s, p, &live))
        return -1;
    if (!live) {
        *node = build_never(w->b);
        return 0;
    }
    if (p->type == TYPE_ARRAY ? schema_write_items(w->s, w, p, &live, &in)
                              : members(w, p, &in))
        return -1;
    all[0] = build_bytes(w->b, p->type == TYPE_ARRAY ? "[" : "{", 1);
    all[1] = w->space;
    all[2] = in;
    all[3] = w->space;
    all[4] = build_bytes(w->b, p->type == TYPE_ARRAY ? "]" : "}", 1);
    *node = build_seq(w->b, all, 5);
    return 0;
}

static int body(struct schema_write *w, uint32_t id, uint32_t *node)
{
    const struct schema_plan *p = schema_state_at(w->s, id)->plan;
    size_t n = 1;
    uint32_t *all;

    for (const struct schema_plan *q = p; q; q = q->next)
        n++;
    all = schema_alloc(w->s, n, sizeof *all);
    if (!all || schema_write_scalars(w, id, &all[0]))
        return -1;
    n = 1;
    for (; p; p = p->next)
        if (within(w, p, &all[n++]))
            return -1;
    *node = build_alt(w->b, all, (int)n);
    return 0;
}

/* What went wrong with a state does not always say where. */
static int fail_at(struct schema *s, uint32_t id)
{
    struct buf at = {0};

    if (s->e->msg[0] != '/' && s->e->code == ERR_UNSUPPORTED &&
        intern_len(&s->lits, id)) {
        schema_pointer(s, intern_get(&s->lits, id)[0] >> 1, &at);
        err_prefix(s->e, "%.200s", at.n ? buf_str(&at) : "/");
        buf_free(&at);
    }
    return -1;
}

static int rules(struct schema_write *w, const uint32_t *id, size_t n)
{
    struct schema *s = w->s;

    for (size_t i = 0; i < n; i++) {
        struct schema_state *st = schema_state_at(s, id[i]);
        struct buf name = {0};

        if (!st->live)
            continue;
        if (!st->plan) {
            if (body(w, id[i], &st->node))
                return fail_at(s, id[i]);
            continue;
        }
        if (intern_len(&s->lits, id[i]))
            schema_pointer(s, intern_get(&s->lits, id[i])[0] >> 1, &name);
        if (!name.n)
            buf_putc(&name, '/');
        st->node = build_rule(w->b, (const char *)name.p, name.n);
        buf_free(&name);
    }
    for (size_t i = 0; i < n; i++) {
        struct schema_state *st = schema_state_at(s, id[i]);
        uint32_t node;

        if (!st->live || !st->plan)
            continue;
        if (body(w, id[i], &node))
            return fail_at(s, id[i]);
        build_define(w->b, st->node, node);
    }
    return 0;
}

/* ---- all of it ---- */

static int compile(struct schema *s, const char *text, size_t n,
                   struct build *b, uint32_t *root)
{
    struct schema_write w = {.s = s, .b = b};
    struct buf all = {0};
    uint32_t start;
    int rc = schema_read(s, text, n);

    if (rc)
        return -1;
    start = schema_state(s, &s->start, 1);
    rc = start == LIT_BAD || states(s, start, &all) ||
         lives(s, (uint32_t *)(void *)all.p, all.n / sizeof start);
    if (!rc && !schema_state_at(s, start)->live)
        rc = err_set(s->e, ERR_FORMAT, "/: no value satisfies this schema");
    rc = rc || schema_write_init(&w) ||
         rules(&w, (uint32_t *)(void *)all.p, all.n / sizeof start);
    if (!rc)
        *root = schema_state_at(s, start)->node;
    schema_write_fini(&w);
    buf_free(&all);
    return rc ? -1 : 0;
}

static void fini(struct schema *s)
{
    struct dfa *d;

    for (size_t i = 0; i < s->dfa.n; i += sizeof d) {
        memcpy(&d, s->dfa.p + i, sizeof d);
        dfa_free(d);
    }
    buf_free(&s->dfa);
    buf_free(&s->number);
    buf_free(&s->node);
    buf_free(&s->under);
    buf_free(&s->states);
    buf_free(&s->made_dfa);
    intern_free(&s->node_at);
    intern_free(&s->uri);
    intern_free(&s->lits);
    intern_free(&s->made);
    intern_free(&s->rest);
    buf_free(&s->rest_dfa);
    json_decref(s->root);
    json_decref(s->kept);
    arena_free(&s->mem);
}

int grammar_schema(struct grammar **out, const char *json, size_t n,
                   const struct grammar_vocab *v, struct err *e)
{
    struct err own = {0};
    struct schema s = {.e = e ? e : &own, .kept = json_array()};
    struct build *b = build_new(v, s.e);
    uint32_t root = 0;
    int rc;

    *out = NULL;
    if (!b || !s.kept) {
        build_free(b);
        json_decref(s.kept);
        return err_nomem(s.e);
    }
    rc = compile(&s, json, n, b, &root);
    fini(&s);
    if (rc) {
        build_free(b);
        return -1;
    }
    return build_grammar(out, b, root, s.e);
}
