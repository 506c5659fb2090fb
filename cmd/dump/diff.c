/* SPDX-License-Identifier: MIT
 * diff.c - two states side by side, a page at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/dump/dump.h"

/* One of the two: the state of one sequence of a file. */
struct side {
    const char *name;
    int fd;
    struct wire_in *in;
    struct kv_reader *reader;
    bool begun, over;
    uint64_t seq;
    struct kv_page page; /* the next; none when OVER */
};

struct measure {
    double max, square;
    uint64_t n;
};

struct diff {
    const struct job *job;
    struct side side[2];
    const struct kv_state *x[2];
    struct measure (*layer)[2]; /* K and V */
    float *row[2];
    bool any; /* difference */
};

/* The next record of the side's state, after which the rest of the input holds
 * no other: what it was, 0 at the end. */
static int read_record(struct side *s, const struct job *j, struct err *e)
{
    struct wire_rec r;
    int got;

    while ((got = wire_next(s->in, &r, e)) > 0) {
        if (r.kind != WIRE_KV || (j->one && r.seq != j->seq))
            continue;
        if (s->over || (s->begun && r.seq != s->seq)) {
            err_set(e, ERR_USAGE, "%s: it has more than one state%s", s->name,
                    s->over && r.seq == s->seq ? " of this sequence"
                                               : ": --seq chooses");
            return -1;
        }
        s->seq = r.seq;
        s->begun = true;
        got = kv_reader_add(s->reader, &s->page, &r, e);
        return got < 0 ? err_prefix(e, "%s: record %llu", s->name,
                                    (unsigned long long)r.number)
                       : got;
    }
    if (got < 0)
        return -1;
    if (!s->begun)
        return err_set(e, ERR_FORMAT, "%s: no KV state in it", s->name);
    return kv_reader_whole(s->reader, e) ? err_prefix(e, "%s", s->name) : 0;
}

/* The next page, or OVER: then all of the input has been read. */
static int advance(struct side *s, const struct job *j, struct err *e)
{
    int got = read_record(s, j, e);

    if (got == KV_GOT_END) {
        s->over = true;
        got = read_record(s, j, e);
    }
    return got < 0 ? -1 : 0;
}

static int open_side(struct side *s, const char *file, const struct job *j,
                     struct err *e)
{
    s->fd = io_open(file, &s->name, e);
    if (s->fd < 0 || wire_in_open(&s->in, s->fd, s->name, e) ||
        !(s->reader = kv_reader_new(e)))
        return -1;
    return read_record(s, j, e) < 0 ? -1 : 0;
}

static void close_side(struct side *s)
{
    wire_in_close(s->in);
    kv_reader_free(s->reader);
    if (s->fd > STDIN_FILENO)
        close(s->fd);
}

/* ---- what is said ---- */

static void say_texts(struct diff *d, const char *what, const char *a,
                      const char *b)
{
    struct buf out = {0};
    bool json = d->job->format == WIRE_JSON;

    d->any = true;
    if (d->job->quiet)
        return;
    if (json) {
        buf_printf(&out, "{\"what\":\"%s\",\"a\":", what);
        wire_json_string(&out, a, strlen(a));
        buf_puts(&out, ",\"b\":");
        wire_json_string(&out, b, strlen(b));
        buf_puts(&out, "}\n");
    } else {
        buf_printf(&out, "%s: ", what);
        wire_json_string(&out, a, strlen(a));
        buf_puts(&out, " and ");
        wire_json_string(&out, b, strlen(b));
        buf_putc(&out, '\n');
    }
    if (!out.bad)
        fwrite(out.p, 1, out.n, stdout);
    buf_free(&out);
}

static void compare_texts(struct diff *d, const char *what, const char *a,
                          const char *b)
{
    if (strcmp(a, b))
        say_texts(d, what, a, b);
}

static void compare_tokens(struct diff *d)
{
    const struct kv_state *a = d->x[0], *b = d->x[1];
    int n = a->n < b->n ? a->n : b->n, same = 0;

    while (same < n && a->ids[same] == b->ids[same])
        same++;
    if (same == a->n && same == b->n)
        return;
    d->any = true;
    if (d->job->quiet)
        return;
    printf(d->job->format == WIRE_JSON
               ? "{\"what\":\"tokens\",\"a\":%d,\"b\":%d,\"equal\":%d}\n"
               : "tokens: %d and %d, of which the first %d are equal\n",
           a->n, b->n, same);
}

/* False when their pages cannot be compared. */
static bool compare_heads(struct diff *d)
{
    const struct kv_state *a = d->x[0], *b = d->x[1];
    char s[2][64];

    compare_texts(d, "model", a->model, b->model);
    compare_texts(d, "rope", a->rope, b->rope);
    compare_texts(d, "adapters", a->adapters, b->adapters);
    for (int i = 0; i < 2; i++)
        snprintf(s[i], sizeof s[i], "%s,%s", kv_type_name(d->x[i]->ktype),
                 kv_type_name(d->x[i]->vtype));
    compare_texts(d, "types", s[0], s[1]);
    compare_tokens(d);
    for (int k = 0; k < (a->nlayer > b->nlayer ? a->nlayer : b->nlayer); k++) {
        bool shape = k < a->nlayer && k < b->nlayer &&
                     a->layer[k].heads == b->layer[k].heads &&
                     a->layer[k].dk == b->layer[k].dk &&
                     a->layer[k].dv == b->layer[k].dv;

        if (shape && !memcmp(&a->layer[k], &b->layer[k], sizeof *a->layer))
            continue;
        for (int i = 0; i < 2; i++) {
            const struct kv_state_layer *l =
                k < d->x[i]->nlayer ? &d->x[i]->layer[k] : NULL;

            if (l)
                snprintf(s[i], sizeof s[i], "%d x %d,%d window %d from %d",
                         l->heads, l->dk, l->dv, l->window, l->from);
            else
                snprintf(s[i], sizeof s[i], "none");
        }
        {
            char what[32];

            snprintf(what, sizeof what, "layer %d", k);
            say_texts(d, what, s[0], s[1]);
        }
        if (!shape)
            return false;
    }
    return true;
}

/* ---- values ---- */

static double apart(float a, float b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs((double)a - (double)b) : INFINITY;
}

static void compare_pages(struct diff *d)
{
    const struct kv_page *a = &d->side[0].page, *b = &d->side[1].page;
    const struct kv_state_layer *l = &d->x[0]->layer[a->layer];
    int n = a->n < b->n ? a->n : b->n;

    for (int w = 0; w < 2; w++) {
        struct measure *m = &d->layer[a->layer][w];
        int width = l->heads * (w ? l->dv : l->dk);

        for (int i = 0; i < n; i++) {
            rows_get(d->row[0], w ? a->v : a->k,
                     w ? d->x[0]->vtype : d->x[0]->ktype, width, i);
            rows_get(d->row[1], w ? b->v : b->k,
                     w ? d->x[1]->vtype : d->x[1]->ktype, width, i);
            for (int k = 0; k < width; k++) {
                double far = apart(d->row[0][k], d->row[1][k]);

                m->max = far > m->max ? far : m->max;
                m->square += far * far;
            }
            m->n += (uint64_t)width;
        }
    }
}

/* Which of the two pages comes first: below 0, 0 or above. */
static int order(const struct diff *d)
{
    const struct side *a = &d->side[0], *b = &d->side[1];

    if (a->over || b->over)
        return a->over - b->over;
    return a->page.page != b->page.page ? a->page.page - b->page.page
                                        : a->page.layer - b->page.layer;
}

/* Pages that only one side has are told by their heads. */
static int compare_all(struct diff *d, struct err *e)
{
    if (advance(&d->side[0], d->job, e) || advance(&d->side[1], d->job, e))
        return -1;
    while (!d->side[0].over || !d->side[1].over) {
        int o = order(d);

        if (!o)
            compare_pages(d);
        if ((o <= 0 && advance(&d->side[0], d->job, e)) ||
            (o >= 0 && advance(&d->side[1], d->job, e)))
            return -1;
    }
    return 0;
}

static double rms(const struct measure *m)
{
    return m->n ? sqrt(m->square / (double)m->n) : 0;
}

static void json_measure(const char *name, const struct measure *m)
{
    printf(",\"%s\":{\"max\":", name);
    if (isfinite(m->max))
        printf("%.9g,\"rms\":%.9g}", m->max, rms(m));
    else
        printf("\"Infinity\",\"rms\":\"Infinity\"}");
}

static void say_layers(struct diff *d)
{
    bool first = true;

    for (int i = 0; i < d->x[0]->nlayer; i++) {
        const struct measure *k = &d->layer[i][0], *v = &d->layer[i][1];

        if (k->max == 0 && v->max == 0)
            continue;
        d->any = true;
        if (d->job->quiet)
            continue;
        if (d->job->format == WIRE_JSON) {
            printf("{\"what\":\"values\",\"layer\":%d", i);
            json_measure("k", k);
            json_measure("v", v);
            printf("}\n");
            continue;
        }
        if (first)
            printf("layer      K max      K rms      V max      V rms\n");
        first = false;
        printf("%5d %10.4g %10.4g %10.4g %10.4g\n", i, k->max, rms(k), v->max,
               rms(v));
    }
}

static float *row_of(const struct kv_state *x)
{
    int most = 1;

    for (int i = 0; i < x->nlayer; i++) {
        const struct kv_state_layer *l = &x->layer[i];

        most = l->heads * l->dk > most ? l->heads * l->dk : most;
        most = l->heads * l->dv > most ? l->heads * l->dv : most;
    }
    return malloc((size_t)most * sizeof(float));
}

static int diff(struct diff *d, struct err *e)
{
    for (int i = 0; i < 2; i++) {
        d->x[i] = kv_reader_state(d->side[i].reader);
        d->row[i] = row_of(d->x[i]);
    }
    d->layer = calloc((size_t)d->x[0]->nlayer, sizeof *d->layer);
    if (!d->layer || !d->row[0] || !d->row[1])
        return err_nomem(e);
    if (!compare_heads(d))
        return 0;
    if (compare_all(d, e))
        return -1;
    say_layers(d);
    return 0;
}

int diff_files(const struct job *j, const char *a, const char *b)
{
    struct diff d = {.job = j, .side = {{.fd = -1}, {.fd = -1}}};
    struct err e = {0};
    int r = open_side(&d.side[0], a, j, &e) || open_side(&d.side[1], b, j, &e)
                ? -1
                : diff(&d, &e);

    close_side(&d.side[0]);
    close_side(&d.side[1]);
    free(d.layer);
    free(d.row[0]);
    free(d.row[1]);
    if (!r)
        return d.any;
    warn("%s", e.msg);
    return status(&e);
}
