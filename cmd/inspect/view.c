/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "cmd/inspect/inspect.h"

bool wanted(const struct view *w, struct gguf_str name)
{
    char s[80];

    if (!w->tensors)
        return true;
    snprintf(s, sizeof s, "%.*s", (int)name.n, name.p);
    return !fnmatch(w->tensors, s, 0);
}

bool any_wanted(const struct view *w, const struct gguf *g)
{
    for (size_t i = 0; i < gguf_ntensor(g); i++)
        if (wanted(w, gguf_tensor_at(g, i)->name))
            return true;
    return false;
}

void put_heading(const struct view *w, const struct gguf *g)
{
    if (!w->tensors || !w->many)
        return;
    put_text((struct gguf_str){gguf_path(g), strlen(gguf_path(g))}, true);
    puts(":");
}

bool has_vocabulary(const struct gguf *g)
{
    return gguf_key(g, "tokenizer.ggml.tokens") != NULL;
}
