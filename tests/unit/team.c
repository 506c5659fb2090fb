/* SPDX-License-Identifier: MIT
 * team.c - members keep step, however many of them take part. */
#include <stdbool.h>

#include "base/team.h"
#include "tests/unit/tap.h"

enum { MOST = 9, STEPS = 300 };

struct count {
    struct team *team;
    int n; /* that take part */
    int at[MOST], runs[MOST], wrong[MOST];
    long before, after; /* written by the caller, and by a member */
};

static void step_together(void *arg, int id)
{
    struct count *c = arg;

    c->runs[id]++;
    c->wrong[id] += c->before != c->n;
    for (int i = 0; i < STEPS; i++) {
        c->at[id]++;
        team_barrier(c->team, id);
        for (int j = 0; j < c->n; j++)
            c->wrong[id] += c->at[j] != c->at[id];
        /* One that is late, each time another. */
        for (volatile int j = i % c->n == id ? 2000 : 0; j; j--)
            ;
        team_barrier(c->team, id);
    }
    if (id == c->n - 1)
        c->after = c->n;
}

/* Runs of N members of C's team. */
static bool run(struct count *c, int n)
{
    int wrong = 0, size = team_size(c->team);

    for (int i = 0; i < size; i++)
        c->at[i] = c->runs[i] = c->wrong[i] = 0;
    c->before = c->n = n;
    c->after = 0;
    team_run(c->team, n, step_together, c);
    for (int i = 0; i < size; i++)
        wrong += c->wrong[i] + (c->at[i] != (i < n ? STEPS : 0)) +
                 (c->runs[i] != (i < n));
    return !wrong && c->after == n;
}

int main(void)
{
    for (int n = 1; n <= MOST; n += 2) {
        struct count c = {.team = team_new(n, NULL)};
        bool good = true;

        for (int i = 0; i < 3; i++)
            good &= run(&c, n);
        ok(good, "a team of %d keeps step", n);
        for (int i = 0; i < 3; i++)
            for (int k = 1; k <= n; k++)
                good &= run(&c, i % 2 ? n + 1 - k : k);
        ok(good, "any part of it, growing and shrinking");
        for (int i = 0; i < 20; i++) {
            good &= run(&c, i % 2 ? 1 : n);
            good &= run(&c, (n + 1) / 2);
        }
        ok(good, "whole, alone and half");
        team_free(c.team);
    }
    for (int i = 0; i < 100; i++)
        team_free(team_new(1 + i % 4, NULL));
    ok(true, "teams that never ran");
    return tap_done();
}
