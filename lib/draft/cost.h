/* SPDX-License-Identifier: MIT
 * cost.h - how long a step of so many columns takes, as measured.
 *
 * What a machine can do swings by a factor of two between minutes, so what one
 * measurement says of the machine goes over to the other counts.
 */
#ifndef LLM_DRAFT_COST_H
#define LLM_DRAFT_COST_H

enum { COST_COLUMNS = 64 };

struct cost {
    double seconds[COST_COLUMNS + 1]; /* 0: not measured */
    int times[COST_COLUMNS + 1];
};

void cost_add(struct cost *c, int columns, double seconds);
/* What a step of so many takes (1 or more; beyond COST_COLUMNS it is not
 * measured); 0 when nothing is known. */
double cost_of(const struct cost *c, int columns);

#endif
