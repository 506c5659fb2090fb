/* SPDX-License-Identifier: MIT
 * stats.c - what each drafter proposed, and what it was worth. */
#include <jansson.h>
#include <stdio.h>

#include "cmd/spec/spec.h"

static long long sum(const int64_t *v)
{
    long long n = 0;

    for (int i = 0; i < DRAFT_MAX; i++)
        n += v[i];
    return n;
}

static void show_drafter(const struct draft_stats *s)
{
    char line[400];
    long long run = sum(s->run), taken = sum(s->taken);
    size_t at = 0;

    warn("drafter %s%s: %lld offers, %lld used; %lld of %lld guesses right "
         "(%.0f %%), %.3f s",
         s->name, s->left_out ? " (left out)" : "", (long long)s->asked,
         (long long)s->used, taken, run,
         run ? 100.0 * (double)taken / (double)run : 0.0, s->seconds);
    for (int i = 0; i < DRAFT_MAX && s->run[i]; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, " %.0f",
                               100.0 * (double)s->taken[i] / (double)s->run[i]);
    if (at)
        warn("  right by place, %%:%s", line);
}

void stats_show(const struct draft *d)
{
    struct draft_stats s;
    struct draft_totals t;
    char line[400];
    size_t at = 0;

    for (int i = 0; draft_stats(&s, d, i); i++)
        show_drafter(&s);
    draft_totals(&t, d);
    for (int i = 0; i <= DRAFT_MAX; i++)
        if (t.cost[i] > 0)
            at += (size_t)snprintf(line + at, sizeof line - at, " %d:%.2f",
                                   i + 1, 1e3 * t.cost[i]);
    if (at)
        warn("steps by columns, ms:%s", line);
    warn("%lld tokens in %lld steps (%lld with guesses), %.2f a step; %.3f s "
         "and %.3f s of drafters; gain %.2f",
         (long long)t.tokens, (long long)t.steps, (long long)t.drafted,
         t.steps ? (double)t.tokens / (double)t.steps : 0.0, t.seconds,
         t.drafting, t.gain);
}

/* ---- as a record ---- */

static json_t *counts(const int64_t *v, int n)
{
    json_t *a = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_integer((json_int_t)v[i]));
    return a;
}

static json_t *drafter_json(const struct draft_stats *s)
{
    json_t *o = json_object(), *name = json_string(s->name);
    int n = DRAFT_MAX;

    while (n && !s->run[n - 1])
        n--;
    json_object_set_new(o, "name", name ? name : json_string("?"));
    if (s->left_out)
        json_object_set_new(o, "left_out", json_true());
    json_object_set_new(o, "offers", json_integer((json_int_t)s->asked));
    json_object_set_new(o, "used", json_integer((json_int_t)s->used));
    json_object_set_new(o, "run", counts(s->run, n));
    json_object_set_new(o, "right", counts(s->taken, n));
    json_object_set_new(o, "seconds", json_real(s->seconds));
    return o;
}

int stats_put(struct wire_out *w, const struct draft *d, struct err *e)
{
    json_t *o = json_object(), *all = json_array(), *cost = json_array();
    struct draft_stats s;
    struct draft_totals t;
    int rc, n = DRAFT_MAX + 1;

    for (int i = 0; draft_stats(&s, d, i); i++)
        json_array_append_new(all, drafter_json(&s));
    draft_totals(&t, d);
    while (n && !(t.cost[n - 1] > 0))
        n--;
    for (int i = 0; i < n; i++)
        json_array_append_new(cost, json_real(1e3 * t.cost[i]));
    rc = json_object_set_new(o, "drafters", all) ||
         json_object_set_new(o, "steps", json_integer((json_int_t)t.steps)) ||
         json_object_set_new(o, "drafted",
                             json_integer((json_int_t)t.drafted)) ||
         json_object_set_new(o, "tokens", json_integer((json_int_t)t.tokens)) ||
         json_object_set_new(o, "seconds", json_real(t.seconds)) ||
         json_object_set_new(o, "drafting", json_real(t.drafting)) ||
         json_object_set_new(o, "gain", json_real(t.gain)) ||
         json_object_set_new(o, "step_ms", cost);
    rc = rc ? err_nomem(e) : wire_put_other(w, "drafts", NULL, o, e);
    json_decref(o);
    return rc;
}
