/* SPDX-License-Identifier: MIT
 * input.c - streams, lines, and lines of JSON. */
#include <stdlib.h>
#include <string.h>

#include "cmd/common/lines.h"
#include "cmd/embed/embed.h"

/* ---- streams ---- */

static void given_free(void *data)
{
    struct given *g = data;

    json_decref(g->id);
    lora_choice_fini(&g->lora);
    free(g->v);
    free(g);
}

static int on_open(void *arg, struct prompt *q, struct err *e)
{
    (void)arg;
    q->data = calloc(1, sizeof(struct given));
    q->free_data = given_free;
    return q->data ? 0 : err_nomem(e);
}

static int take_id(struct prompt *q, const struct wire_rec *r, struct err *e)
{
    struct given *g = q->data;
    struct buf text = {0};
    int got = wire_get_json(&text, r, "id", e);

    if (got > 0) {
        json_decref(g->id);
        g->id = json_loadb((const char *)text.p, text.n, JSON_DECODE_ANY, NULL);
    }
    buf_free(&text);
    return got < 0 ? -1 : 0;
}

static int on_set(void *arg, struct prompt *q, const struct wire_rec *r,
                  struct err *e)
{
    const struct program *p = arg;
    struct given *g = q->data;

    return take_id(q, r, e) ||
                   lora_set(&g->lora, &p->load.loras, p->load.model, r, e)
               ? -1
               : 0;
}

/* A vector of earlier is compared, and else passed on. */
static int on_other(void *arg, struct prompt *q, const struct wire_rec *r,
                    struct err *e)
{
    const struct program *p = arg;
    struct given *g = q->data;
    struct wire_embedding x;

    if (!p->similar.p || strcmp(r->t, "embedding"))
        return 0;
    if (wire_get_embedding(&x, r, e) || take_id(q, r, e))
        return -1;
    if (x.has_pos || g->v)
        return err_set(e, ERR_FORMAT, "it has more than one vector");
    g->v = malloc((x.n + 1) * sizeof *g->v);
    if (!g->v)
        return err_nomem(e);
    if (x.n)
        memcpy(g->v, x.v, x.n * sizeof *g->v);
    g->n = x.n;
    return 1;
}

int stream_input(void *program, int fd, const char *name, struct err *e)
{
    struct program *p = program;
    struct prompts_use use = {.open = on_open,
                              .set = on_set,
                              .other = on_other,
                              .arg = p,
                              .vocab = p->load.vocab};
    struct err failed = {0};
    struct prompts *in;
    struct prompt *q;
    int got = 1, rc = 0;

    if (prompts_open(&in, fd, name, &use, e))
        return -1;
    while (!rc && (got > 0 || unit_busy(p))) {
        while (!rc && got > 0 && unit_room(p) &&
               prompts_wait(in, unit_busy(p) ? 0 : -1)) {
            got = prompts_next(&q, in, &failed);
            if (got == 1)
                rc = vector_prompt(p, q, e);
        }
        if (!rc && unit_busy(p))
            rc = unit_step(p, e);
    }
    if (!rc)
        rc = prompts_pass(p->out, in, e);
    if (!rc && got < 0) {
        *e = failed;
        rc = -1;
    }
    prompts_close(in);
    return rc;
}

/* ---- lines ---- */

static int bad(const char *key, const char *what, struct err *e)
{
    return err_set(e, ERR_FORMAT, "\"%s\" is not %s", key, what);
}

static int request(struct program *p, const json_t *o, struct err *e)
{
    const json_t *query = json_object_get(o, "query"),
                 *documents = json_object_get(o, "documents"),
                 *document = json_object_get(o, "document"),
                 *text = json_object_get(o, "text"),
                 *lora = json_object_get(o, "lora");
    json_t *id = json_object_get(o, "id");
    struct gguf_str q = json_text(query);

    if (p->rerank) {
        if (!json_is_string(query))
            return bad("query", "a text", e);
        if (!json_is_array(documents))
            return bad("documents", "a list", e);
        return rank_request(p, query, documents, json_incref(id), lora, e);
    }
    if (json_is_string(text))
        return vector_text(p, NULL, json_text(text), json_incref(id), lora, e);
    if (text || !p->rank || p->similar.p)
        return bad("text", "a text", e);
    if (!json_is_string(query))
        return bad("query", "a text", e);
    if (!json_is_string(document))
        return bad("document", "a text", e);
    return vector_text(p, &q, json_text(document), json_incref(id), lora, e);
}

static int line(struct program *p, const unsigned char *text, size_t n,
                struct err *e)
{
    json_error_t je;
    size_t blank = 0;
    json_t *o;
    int rc;

    if (!p->requests)
        return vector_text(p, NULL, (struct gguf_str){(const char *)text, n},
                           NULL, NULL, e);
    while (blank < n && strchr(" \t\r", text[blank]) && text[blank])
        blank++;
    if (blank == n)
        return 0;
    o = json_loadb((const char *)text, n,
                   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    if (!o)
        return err_set(e, ERR_FORMAT, "column %d: %s", je.column, je.text);
    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(e, ERR_FORMAT, "it is no object");
    }
    rc = request(p, o, e);
    json_decref(o);
    return rc;
}

int line_input(void *program, int fd, const char *name, struct err *e)
{
    struct program *p = program;
    struct lines l = {.fd = fd, .name = name};
    struct err failed = {0};
    const unsigned char *text = NULL;
    size_t n = 0;
    int got = 1, rc = 0;

    while (!rc && (got > 0 || unit_busy(p))) {
        while (!rc && got > 0 && unit_room(p) &&
               lines_ready(&l, !unit_busy(p))) {
            got = lines_next(&text, &n, &l, &failed);
            if (got == 1 && line(p, text, n, &failed)) {
                err_prefix(&failed, "%s: line %llu", name, l.number);
                got = -1;
            }
        }
        if (!rc && unit_busy(p))
            rc = unit_step(p, e);
    }
    if (!rc && got < 0) {
        *e = failed;
        rc = -1;
    }
    buf_free(&l.in);
    return rc;
}
