/* SPDX-License-Identifier: MIT */
#include "draft/cost.h"

/* Before it is measured, a column beside others costs so much of the first:
 * less than on most machines, so that it is tried and known. */
static const double column = 0.06;

void cost_add(struct cost *c, int n, double seconds)
{
    double is, was, part, swing;

    if (n < 1 || n > COST_COLUMNS || !(seconds > 0))
        return;
    was = c->seconds[n];
    if (!c->times[n]++) {
        c->seconds[n] = seconds;
        return;
    }
    /* The first one warms up; a step may have been interrupted. */
    if (c->times[n] == 2 && seconds < was)
        was = seconds;
    is = seconds < 2 * was ? seconds : 2 * was;
    part = c->times[n] < 8 ? 0.3 : 0.15;
    swing = 1 + 0.8 * part * (is / was - 1);
    for (int i = 1; i <= COST_COLUMNS; i++)
        c->seconds[i] *= swing;
    c->seconds[n] = was + part * (is - was);
}

static double grown(double seconds, int from, int to)
{
    return seconds * (1 + column * (to - 1)) / (1 + column * (from - 1));
}

double cost_of(const struct cost *c, int n)
{
    int below, above;

    if (n > COST_COLUMNS)
        return grown(cost_of(c, COST_COLUMNS), COST_COLUMNS, n);
    below = above = n;
    while (below >= 1 && !c->times[below])
        below--;
    while (above <= COST_COLUMNS && !c->times[above])
        above++;
    if (below == n)
        return c->seconds[n];
    if (below < 1)
        return above > COST_COLUMNS ? 0 : grown(c->seconds[above], above, n);
    if (above > COST_COLUMNS)
        return grown(c->seconds[below], below, n);
    return c->seconds[below] + (c->seconds[above] - c->seconds[below]) *
                                   (n - below) / (above - below);
}
