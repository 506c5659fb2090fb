/* SPDX-License-Identifier: MIT
 * print.c - a compiled grammar, a node on each line.
 *
 *     n7 = n3 n5            one after the other
 *     n8 = n1 | n7          one of them
 *     n9 = n8{0,32}         so often
 *     n3 = "{"              this text
 *     n4 = terminal         an automaton; its places follow:
 *       12 a-z:12 ":13      from place 12, bytes and where they lead
 *       13 end              where it may end
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar_impl.h"

struct printer {
    const struct grammar *g;
    struct buf *out;
    uint32_t *todo, n;
    uint8_t *seen;
};

static void byte(struct buf *out, unsigned b)
{
    if (b > 0x20 && b < 0x7f && !strchr("\"\\:-", (int)b))
        buf_putc(out, (int)b);
    else
        buf_printf(out, "\\x%02x", b);
}

/* The name of a node, which is to be printed, too. */
static void name(struct printer *p, uint32_t node)
{
    node = p->g->target[node];
    buf_printf(p->out, "n%lu", (unsigned long)node);
    if (!p->seen[node]) {
        p->seen[node] = 1;
        p->todo[p->n++] = node;
    }
}

/* A text, if the terminal from place P on is one. */
static bool text(struct printer *p, uint32_t place)
{
    size_t from = p->out->n;
    uint32_t n;

    buf_puts(p->out, " \"");
    for (;; place++) {
        const struct edge *e = machine_edges(&p->g->m, place, &n);

        if (p->g->m.ends.p[place] && !n)
            break;
        if (p->g->m.ends.p[place] || n != 1 || e->first != e->last ||
            e->to != place + 1) {
            p->out->n = from;
            return false;
        }
        byte(p->out, e->first);
    }
    buf_puts(p->out, "\"\n");
    return true;
}

static void terminal(struct printer *p, uint32_t place)
{
    uint32_t last = place, n;

    if (text(p, place))
        return;
    buf_puts(p->out, " terminal\n");
    for (; place <= last; place++) {
        const struct edge *e = machine_edges(&p->g->m, place, &n);

        if (!n && !p->g->m.ends.p[place])
            continue; /* nothing leads there */
        buf_printf(p->out, "  %lu", (unsigned long)place);
        for (uint32_t i = 0; i < n; i++) {
            if (e[i].to > last)
                last = e[i].to;
            buf_putc(p->out, ' ');
            byte(p->out, e[i].first);
            if (e[i].last > e[i].first) {
                buf_putc(p->out, '-');
                byte(p->out, e[i].last);
            }
            buf_printf(p->out, ":%lu", (unsigned long)e[i].to);
        }
        buf_puts(p->out, p->g->m.ends.p[place] ? " end\n" : "\n");
    }
}

static void times(struct printer *p, uint32_t min, uint32_t max)
{
    buf_printf(p->out, "{%lu,", (unsigned long)min);
    if (max != NODE_NOLIMIT)
        buf_printf(p->out, "%lu", (unsigned long)max);
    buf_putc(p->out, '}');
}

static void node(struct printer *p, uint32_t id)
{
    const uint32_t *w = intern_get(&p->g->m.node, id);
    uint32_t n = intern_len(&p->g->m.node, id);

    buf_printf(p->out, "n%lu =", (unsigned long)id);
    switch (w[0]) {
    case NODE_TERM:
        terminal(p, w[1]);
        return;
    case NODE_EMPTY:
        buf_puts(p->out, " \"\"");
        break;
    case NODE_TOKEN:
        buf_printf(p->out, " %s<[%lu]>", w[2] ? "!" : "", (unsigned long)w[1]);
        break;
    case NODE_SEQ:
    case NODE_ALT:
        for (uint32_t i = 1; i < n; i++) {
            buf_puts(p->out, i > 1 && w[0] == NODE_ALT ? " | " : " ");
            name(p, w[i]);
        }
        break;
    case NODE_REPEAT:
        buf_putc(p->out, ' ');
        name(p, w[1]);
        times(p, w[2], w[3]);
        break;
    case NODE_MEMBERS:
        buf_puts(p->out, " members");
        times(p, w[2], w[3]);
        buf_puts(p->out, " between ");
        name(p, w[1]);
        buf_putc(p->out, ':');
        for (uint32_t i = 4; i < n; i += 2) {
            buf_putc(p->out, ' ');
            name(p, w[i]);
            buf_puts(p->out, w[i + 1] & MEMBER_REQUIRED ? "!" : "");
            buf_puts(p->out, w[i + 1] & MEMBER_AGAIN ? "*" : "");
        }
        break;
    default:
        buf_puts(p->out, " nothing");
    }
    buf_putc(p->out, '\n');
}

int grammar_print(struct buf *out, struct grammar *g, struct err *e)
{
    struct printer p = {.g = g, .out = out};

    p.todo = malloc(g->m.node.n * sizeof *p.todo);
    p.seen = calloc(g->m.node.n, 1);
    if (!p.todo || !p.seen) {
        free(p.todo);
        free(p.seen);
        return err_nomem(e);
    }
    buf_puts(out, "start ");
    name(&p, g->root);
    buf_putc(out, '\n');
    for (uint32_t i = 0; i < p.n; i++)
        node(&p, p.todo[i]);
    free(p.todo);
    free(p.seen);
    return buf_ok(out, e);
}
