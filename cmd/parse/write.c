/* SPDX-License-Identifier: MIT
 * write.c - messages to what their model would have said. */
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/parse/parse.h"

static int write_one(const struct parse *p, const json_t *json, bool nul,
                     struct err *e)
{
    struct chat_message m = {0};
    struct buf text = {0};
    int r = chat_message_load(&m, json, e);

    if (!r)
        r = chat_write(&text, &m, &p->o, e);
    if (!r) {
        fwrite(text.p ? (void *)text.p : "", 1, text.n, stdout);
        if (nul)
            putchar(0);
    }
    chat_message_free(&m);
    buf_free(&text);
    return r;
}

static bool at_end(const struct buf *b, size_t *at)
{
    while (*at < b->n && (b->p[*at] == ' ' || b->p[*at] == '\n' ||
                          b->p[*at] == '\t' || b->p[*at] == '\r'))
        ++*at;
    return *at == b->n;
}

int write_messages(const struct parse *p, int fd, const char *name, bool nul,
                   struct err *e)
{
    struct buf b = {0};
    size_t at = 0;
    int r = read_all(&b, fd, name, e);

    for (int i = 1; !r && !at_end(&b, &at); i++) {
        json_error_t je;
        json_t *json = json_loadb((const char *)b.p + at, b.n - at,
                                  JSON_DISABLE_EOF_CHECK, &je);

        if (!json)
            r = err_set(e, ERR_FORMAT, "message %d: %s", i, je.text);
        else if (write_one(p, json, nul, e))
            r = err_prefix(e, "message %d", i);
        at += json ? (size_t)je.position : 0;
        json_decref(json);
        if (r)
            err_prefix(e, "%s", name);
    }
    buf_free(&b);
    return r;
}
