/* SPDX-License-Identifier: MIT
 * stats.c - what each drafter proposed, and what it was worth. */
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
