/* SPDX-License-Identifier: MIT
 * ids.h - a list of tokens that grows. */
#ifndef LLM_RUN_IDS_H
#define LLM_RUN_IDS_H

#include <stdint.h>

#include "base/err.h"

struct ids {
    int32_t *p;
    int n, cap;
};

int ids_push(struct ids *v, int32_t id, struct err *e);

#endif
