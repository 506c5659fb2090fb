/* SPDX-License-Identifier: MIT
 * match.c - one of several literals, a byte at a time; and what may come at a
 * place of a pattern. */
#include <assert.h>

#include "chat/chat_impl.h"

bool match_is_op(char b)
{
    return (b > 0 && b <= 7) || (b >= 0x0e && b <= 0x16);
}

size_t match_literal(const char *p)
{
    size_t n = 0;

    while (p[n] && !match_is_op(p[n]))
        n++;
    return n;
}

static bool opens(char b)
{
    return b == *PARAMS || b == *CALLS || b == *MAYBE;
}

const char *match_after(const char *p)
{
    for (int depth = 1; depth; p++) {
        if (opens(*p))
            depth++;
        else if (*p == *FIN)
            depth--;
    }
    return p;
}

const char *match_group(const char *text, const char *fin)
{
    const char *stack[4];
    int depth = 0;

    for (; text < fin; text++) {
        if (opens(*text))
            stack[depth++] = text + 1;
        else if (*text == *FIN)
            depth--;
        assert(depth < 4);
    }
    return stack[depth - 1];
}

void match_init(struct matcher *m)
{
    m->n = 0;
    m->nhold = 0;
    m->space = m->end = false;
}

void match_add(struct matcher *m, const char *p, size_t n, const char *next)
{
    assert(m->n < MAX_ALTERNATIVES && n && n < sizeof m->hold);
    m->lit[m->n++] = (struct literal){p, n, next};
}

void match_pattern(struct matcher *m, const char *text, const char *pc)
{
    for (;;) {
        if (!*pc) {
            m->end = true;
            return;
        } else if (*pc == *SPACE("")) {
            m->space = true;
            pc = strchr(pc + 1, *pc) + 1;
        } else if (opens(*pc)) {
            match_pattern(m, text, pc + 1);
            pc = match_after(pc + 1);
        } else if (*pc == *FIN) {
            const char *group = match_group(text, pc);

            if (group[-1] != *MAYBE)
                match_pattern(m, text, group);
            pc++;
        } else if (*pc == *DONE) {
            pc++;
        } else {
            size_t n = match_literal(pc);

            match_add(m, pc, n, pc + n);
            return;
        }
    }
}

int match_byte(struct matcher *m, unsigned char b, char *out, size_t *n)
{
    *n = 0;
    m->hold[m->nhold++] = (char)b;
    while (m->nhold) {
        for (int i = 0; i < m->n; i++) {
            const struct literal *l = &m->lit[i];

            if (m->nhold > l->n || memcmp(l->p, m->hold, m->nhold))
                continue;
            if (m->nhold < l->n)
                return -1;
            m->nhold = 0;
            return i;
        }
        out[(*n)++] = m->hold[0];
        memmove(m->hold, m->hold + 1, --m->nhold);
    }
    return -1;
}
