/* SPDX-License-Identifier: MIT
 * sampling_text.c - texts of tokens for the sampler: of programs that have a
 * model. */
#include "cmd/common/sampling.h"

static int text(struct buf *out, const void *arg, uint32_t id, struct err *e)
{
    return tok_decode(out, arg, &id, 1, 0, e);
}

void sampling_texts(struct sampling *s, const struct tok *t)
{
    s->o.text = text;
    s->o.text_arg = t;
}
