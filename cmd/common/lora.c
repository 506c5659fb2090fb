/* SPDX-License-Identifier: MIT */
#include "cmd/common/lora.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/wanted.h"

static struct cli_list asked;

const struct cli_opt lora_opts[] = {
    {0, "lora", CLI_LIST, &asked, "[name=]file[:scale]",
     "add this LoRA adapter; default of scale: 1"},
    {0},
};

int lora_words(const char *w[LORA_WORDS])
{
    int n = 0;

    for (int i = 0; i < asked.n && i < MODEL_MAX_ADAPTERS; i++) {
        w[n++] = "--lora";
        w[n++] = asked.v[i];
    }
    return n;
}

/* ---- the command line ---- */

static void *must(void *p)
{
    if (!p)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    return p;
}

/* The colon before a number that WORD ends in; NULL: there is none. */
static const char *scale_of(const char *word, float *scale)
{
    const char *colon = strrchr(word, ':');
    char *end;

    if (!colon || !colon[1] || !strchr("+-.0123456789", colon[1]))
        return NULL;
    *scale = strtof(colon + 1, &end);
    return *end ? NULL : colon;
}

/* How long the name is that WORD begins with, before '='; 0: there is none. */
static size_t name_of(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return word[n] == '=' ? n : 0;
}

static char *piece(const char *p, size_t n)
{
    char *s = must(malloc(n + 1));

    memcpy(s, p, n);
    s[n] = 0;
    return s;
}

/* The last part of PATH, without ".gguf". */
static char *name_from(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = strlen(base);

    if (n > 5 && !strcmp(base + n - 5, ".gguf"))
        n -= 5;
    return piece(base, n);
}

static int find(const struct loras *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->name[i], name))
            return i;
    return -1;
}

static void add(struct loras *l, const struct cli *c, const char *word)
{
    size_t n = name_of(word);
    const char *file = word + (n ? n + 1 : 0), *colon;
    struct adapter *a;
    struct err e = {0};
    float scale = 1;
    char *path, *name;

    colon = scale_of(file, &scale);
    path = piece(file, colon ? (size_t)(colon - file) : strlen(file));
    name = n ? piece(word, n) : name_from(path);
    if (!*path || !isfinite(scale))
        usage_error(c, "--lora %s: %s", word,
                    *path ? "its scale is no number" : "a file is missing");
    if (find(l, name) >= 0)
        usage_error(c,
                    "--lora: two are called '%s': give one a name, "
                    "name=file",
                    name);
    if (gguf_open(&l->gguf[l->n], path, &e) ||
        adapter_open(&a, l->gguf[l->n], &e))
        die(&e);
    free(path);
    l->name[l->n] = name;
    l->v[l->n++] = (struct model_adapter){a, scale};
}

void loras_open(struct loras *l, const struct cli *c)
{
    size_t n = (size_t)asked.n + 1;

    *l = (struct loras){0};
    if (asked.n > MODEL_MAX_ADAPTERS)
        usage_error(c, "--lora: at most %d", MODEL_MAX_ADAPTERS);
    l->name = must(calloc(n, sizeof *l->name));
    l->gguf = must(calloc(n, sizeof *l->gguf));
    l->v = must(calloc(n, sizeof *l->v));
    for (int i = 0; i < asked.n; i++)
        add(l, c, asked.v[i]);
}

void loras_close(struct loras *l)
{
    for (int i = 0; i < l->n; i++) {
        adapter_close((struct adapter *)(uintptr_t)l->v[i].a);
        gguf_close(l->gguf[i]);
        free(l->name[i]);
    }
    free(l->name);
    free(l->gguf);
    free(l->v);
    *l = (struct loras){0};
}

/* ---- a sequence ---- */

/* Which one the object V names. */
static int which(const struct loras *l, json_t *v, struct err *e)
{
    json_t *name = json_object_get(v, "name"),
           *index = json_object_get(v, "index");
    const char *key;
    json_t *any;
    int i;

    json_object_foreach(v, key, any)
    {
        if (strcmp(key, "name") && strcmp(key, "index") && strcmp(key, "scale"))
            return err_set(e, ERR_UNSUPPORTED, "lora: '%.64s' is not known",
                           key);
    }
    if (!json_is_object(v) || !name == !index)
        return err_set(e, ERR_FORMAT,
                       "lora: no object with either a name or an index");
    if (name && !json_is_string(name))
        return err_set(e, ERR_FORMAT, "lora: a name that is no text");
    if (name) {
        i = find(l, json_string_value(name));
        if (i < 0 || strlen(l->name[i]) != json_string_length(name))
            return err_set(e, ERR_FORMAT, "lora: no adapter '%.64s' was loaded",
                           json_string_value(name));
        return i;
    }
    if (!json_is_integer(index) || json_integer_value(index) < 0 ||
        json_integer_value(index) >= l->n)
        return err_set(e, ERR_FORMAT, "lora: an index that is none of %d",
                       l->n);
    return (int)json_integer_value(index);
}

static int one(float *scale, bool *seen, const struct loras *l, json_t *v,
               struct err *e)
{
    json_t *own = json_object_get(v, "scale");
    int i = which(l, v, e);

    if (i < 0)
        return -1;
    if (seen[i])
        return err_set(e, ERR_FORMAT, "lora: adapter '%.64s' twice",
                       l->name[i]);
    seen[i] = true;
    scale[i] = l->v[i].scale;
    if (!own)
        return 0;
    scale[i] = (float)json_number_value(own);
    if (!json_is_number(own) || !isfinite(scale[i]))
        return err_set(e, ERR_FORMAT, "lora: a scale that is no number");
    return 0;
}

int lora_take(struct lora_choice *c, const struct loras *l,
              const struct model *m, const json_t *v, struct err *e)
{
    bool seen[MODEL_MAX_ADAPTERS] = {false};
    float *scale;
    int rc = 0;

    if (!v || json_is_null(v))
        return 0;
    scale = calloc((size_t)l->n + 1, sizeof *scale);
    if (!scale)
        rc = err_nomem(e);
    else if (!json_is_array(v))
        rc = err_set(e, ERR_FORMAT, "lora: no array");
    for (size_t i = 0; !rc && i < json_array_size(v); i++)
        rc = one(scale, seen, l, json_array_get(v, i), e);
    lora_choice_fini(c);
    if (!rc) {
        model_adapt_text(&c->text, m, scale);
        rc = buf_ok(&c->text, e);
    }
    if (rc) {
        free(scale);
        return -1;
    }
    c->adapt = (struct kv_adapt){(const char *)c->text.p, scale, l->n};
    c->made = true;
    return 0;
}

int lora_set(struct lora_choice *c, const struct loras *l,
             const struct model *m, const struct wire_rec *r, struct err *e)
{
    json_t *v;
    int rc;

    if (!wanted_has(r, "lora"))
        return 0;
    if (!(v = wanted_json(r, "lora", e)))
        return -1;
    rc = lora_take(c, l, m, v, e);
    json_decref(v);
    return rc;
}

const struct kv_adapt *lora_chosen(const struct lora_choice *c)
{
    return c->made ? &c->adapt : NULL;
}

void lora_choice_fini(struct lora_choice *c)
{
    free((float *)(uintptr_t)c->adapt.scale);
    buf_free(&c->text);
    *c = (struct lora_choice){0};
}
