/* SPDX-License-Identifier: MIT
 * schema_format.c - what "format" may say, as regular expressions. */
#include <string.h>

#include "grammar/schema.h"

int schema_format(struct schema *s, const struct schema_at *at,
                  const char *name, struct dfa **out)
{
    (void)out;
    return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                       "'%.60s' is not a known format", name);
}
