/* SPDX-License-Identifier: MIT
 * jinja.c - any bytes as a template: those before the first NUL, or all; what
 * is behind it is JSON for its variables, else there are some.
 *
 * What must hold: it ends; each byte has an origin; without data none is data;
 * and a character that only the data has never counts as the template's. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jinja/jinja.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define MARK "\xee\x80\x80" /* U+E000, which nobody uses */

static const char usual[] =
    "{\"x\":\"a" MARK "b\",\"n\":5,\"l\":[3,1,\"" MARK
    "\"],\"e\":\"\",\"no\":null,\"f\":2.5,"
    "\"messages\":[{\"role\":\"system\",\"content\":\"" MARK "S\"},"
    "{\"role\":\"user\",\"content\":\"hi " MARK " there\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":"
    "{\"name\":\"" MARK "\",\"arguments\":{\"a\":[1,{\"" MARK "\":2}]}}}]}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],"
    "\"add_generation_prompt\":true}";

static void must(int good)
{
    if (!good)
        abort();
}

static bool has(const uint8_t *p, size_t n, const char *s)
{
    size_t k = strlen(s);

    for (size_t i = 0; i + k <= n; i++)
        if (!memcmp(p + i, s, k))
            return true;
    return false;
}

static void render(const struct jinja *t, const json_t *data, bool marked)
{
    struct jinja_vars v = {.data = data};
    struct jinja_text out = {0};
    struct err e = {0};

    v.now.tm_year = 126;
    v.now.tm_mday = 5;
    if (jinja_render(&out, t, &v, &e)) {
        must(e.code && e.msg[0]);
    } else {
        must(out.text.n == out.data.n);
        for (size_t i = 0; i < out.text.n; i++) {
            must(out.data.p[i] <= (data != NULL));
            if (marked && out.text.n - i >= 3 &&
                !memcmp(out.text.p + i, MARK, 3))
                must(out.data.p[i] && out.data.p[i + 1] && out.data.p[i + 2]);
        }
    }
    buf_free(&out.text);
    buf_free(&out.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const uint8_t *nul = n ? memchr(p, 0, n) : NULL;
    size_t len = nul ? (size_t)(nul - p) : n;
    struct err e = {0};
    struct jinja *t;
    json_t *data = NULL;
    /* The template can make the character itself by these. */
    bool own = has(p, n, MARK) || has(p, len, "\\") || has(p, len, "%") ||
               has(p, len, "format") || has(p, len, "from_json");

    if (jinja_open(&t, (const char *)p, len, &e)) {
        must(e.code && e.msg[0]);
        return 0;
    }
    if (nul)
        data = json_loadb((const char *)nul + 1, n - len - 1, 0, NULL);
    if (!json_is_object(data)) {
        json_decref(data);
        data = json_loads(usual, 0, NULL);
    }
    render(t, NULL, false);
    render(t, data, !own);
    json_decref(data);
    jinja_close(t);
    return 0;
}
