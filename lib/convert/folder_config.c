/* SPDX-License-Identifier: MIT
 *
 * config.json of a GGUF's keys, and the index of several files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/folder_impl.h"
#include "convert/hfconfig.h"

void folder_set(struct folder *f, const char *name, json_t *v)
{
    if (json_object_set_new(f->config, name, v))
        f->nomem = true;
}

double folder_shortest(double v)
{
    char s[40];

    for (int n = 6; n <= 9; n++) {
        snprintf(s, sizeof s, "%.*g", n, v);
        if (strtof(s, NULL) == (float)v)
            return strtod(s, NULL);
    }
    return v;
}

/* "a" of "a|b" */
static const char *first_name(char to[64], const char *names)
{
    snprintf(to, 64, "%.*s", (int)strcspn(names, "|"), names);
    return to;
}

/* ---- values of the tables ---- */

/* 1 / sqrt(x), back: most are whole numbers. */
static json_t *squared(double v)
{
    double x = 1 / (v * v), whole = round(x);

    return fabs(x - whole) <= 1e-5 * x ? json_integer((json_int_t)whole)
                                       : json_real(folder_shortest(x));
}

static int number(struct folder *f, const struct convert_key *k,
                  const char *name, struct err *e)
{
    double v = 0;
    int rc = folder_num(&v, f, k->key, e);

    if (rc < 0)
        return -1;
    if (!rc && !isfinite(k->def))
        return 0;
    if (k->kind == CONVERT_CAP) {
        v = rc ? v : k->def;
        folder_set(f, name,
                   v == 0 ? json_null() : json_real(folder_shortest(v)));
    } else if (k->kind == CONVERT_ROOT) {
        if (rc && !(v > 0))
            return err_set(e, ERR_UNSUPPORTED, "%s: key '%s.%s': is %g",
                           gguf_path(f->g), f->m->arch, k->key, v);
        folder_set(f, name,
                   rc ? squared(v) : json_integer(folder_size(f, 'H')));
    } else {
        folder_set(f, name, json_real(rc ? folder_shortest(v) : k->def));
    }
    return 0;
}

static int value(struct folder *f, const struct convert_key *k, struct err *e)
{
    const struct gguf_val *v;
    char name[64];
    int64_t i = 0;
    int rc;

    /* A value that has a key and no name must be what it always is. */
    if (!k->config) {
        double d = k->def;

        if (!k->key || k->kind != CONVERT_F32)
            return 0;
        return folder_num(&d, f, k->key, e) < 0 || (float)d != (float)k->def
                   ? err_set(e, ERR_UNSUPPORTED, "%s: key '%s.%s': is not %g",
                             gguf_path(f->g), f->m->arch, k->key, k->def)
                   : 0;
    }
    first_name(name, k->config);
    switch (k->kind) {
    case CONVERT_U32:
        if (k->letter) {
            folder_set(f, name, json_integer(folder_size(f, k->letter)));
            return 0;
        }
        rc = folder_int(&i, f, k->key, e);
        if (rc > 0 || (!rc && isfinite(k->def)))
            folder_set(f, name, json_integer(rc ? i : (int64_t)k->def));
        return rc < 0 ? -1 : 0;
    case CONVERT_BOOL:
        v = folder_key(f, k->key);
        folder_set(f, name, json_boolean(v ? *v->p : k->def > 0));
        return 0;
    case CONVERT_FLAG:
        /* One value may be two switches. */
        folder_set(
            f, name,
            json_boolean(folder_size(f, k->letter) ||
                         json_is_true(json_object_get(f->config, name))));
        return 0;
    case CONVERT_NOT:
        folder_set(f, name, json_boolean(!folder_size(f, k->letter)));
        return 0;
    default:
        return number(f, k, name, e);
    }
}

/* The first of the values that it may have, but for the name of a function
 * which has meant another one.  What may be anything, and what only matters
 * beyond the context, is left out. */
static void fixed(struct folder *f, const struct convert_fixed *x)
{
    static const char tanh_name[] = "gelu_pytorch_tanh";
    char s[64], *end;
    double v;

    if (hfconfig_among("true", x->values) && hfconfig_among("false", x->values))
        return;
    if (!strcmp(x->config, "rotary_scaling_factor"))
        return;
    first_name(s, x->values);
    if (hfconfig_among(tanh_name, x->values))
        snprintf(s, sizeof s, "%s", tanh_name);
    v = strtod(s, &end);
    if (!strcmp(x->config, "mlp_only_layers"))
        folder_set(f, x->config, json_array());
    else if (!*s)
        folder_set(f, x->config, json_null());
    else if (!strcmp(s, "true") || !strcmp(s, "false"))
        folder_set(f, x->config, json_boolean(*s == 't'));
    else if (!*end)
        folder_set(f, x->config, json_integer((json_int_t)v));
    else
        folder_set(f, x->config, json_string(s));
}

/* ---- windows ---- */

static bool native(const struct convert_model *m, int64_t l, int64_t period)
{
    return m->windows == CONVERT_WINDOW_ALL    ? true
           : m->windows == CONVERT_WINDOW_LAST ? l % period < period - 1
                                               : l % period != 0;
}

/* Does layer L see a window? */
static int slides(bool *is, const struct folder *f, const struct gguf_val *v,
                  int64_t l, struct err *e)
{
    int64_t period = f->m->period ? f->m->period : 1, x;

    if (v && v->type == GGUF_ARR) {
        if (!gguf_elem_int(&x, v, (uint64_t)l))
            return err_set(e, ERR_UNSUPPORTED, "%s: key '%.*s': not usable",
                           gguf_path(f->g), (int)v->key.n, v->key.p);
        *is = x != 0;
        return 0;
    }
    if (v && (!gguf_val_int(&period, v) || period < 1))
        period = 1;
    *is = native(f->m, l, period);
    return 0;
}

static const char *const window_names[] = {"sliding_window", "local_attention"};

int folder_windows(struct folder *f, struct err *e)
{
    const struct gguf_val *v =
        folder_key(f, "attention.sliding_window_pattern");
    bool modern = f->m->windows == CONVERT_WINDOW_FIRST,
         all = f->m->windows == CONVERT_WINDOW_ALL;
    int64_t w = 0, n = folder_size(f, 'L');
    int rc = folder_int(&w, f, "attention.sliding_window", e);
    json_t *types;

    if (rc < 0)
        return -1;
    /* No key is no window, but for models that are older than it. */
    if (!rc && !modern)
        w = (int64_t)f->m->window;
    if (f->m->windows == CONVERT_WINDOW_NONE)
        return rc && w ? err_set(e, ERR_UNSUPPORTED,
                                 "%s: key '%s.attention.sliding_window': has "
                                 "no place in a %s",
                                 gguf_path(f->g), f->m->arch, f->m->type)
                       : 0;
    /* A model that has none need not say so. */
    if (!rc && all)
        w = 0;
    /* Where layers say for themselves that they have none, readers want some
     * number nevertheless. */
    folder_set(f, window_names[modern],
               w || !all ? json_integer(w ? w : f->m->window) : json_null());
    if (all)
        return 0;
    types = json_array();
    for (int64_t l = 0; l < n; l++) {
        bool is = false;

        if (slides(&is, f, v, l, e)) {
            json_decref(types);
            return -1;
        }
        json_array_append_new(types, json_string(is && w ? "sliding_attention"
                                                         : "full_attention"));
    }
    folder_set(f, "layer_types", types);
    return 0;
}

/* ---- the whole ---- */

static void ids(struct folder *f)
{
    static const struct {
        const char *name, *key;
    } id[] = {{"bos_token_id", "tokenizer.ggml.bos_token_id"},
              {"eos_token_id", "tokenizer.ggml.eos_token_id"},
              {"pad_token_id", "tokenizer.ggml.padding_token_id"}};

    for (size_t i = 0; i < 3; i++) {
        const struct gguf_val *v = gguf_key(f->g, id[i].key);
        int64_t x;

        folder_set(f, id[i].name,
                   v && gguf_val_int(&x, v) && x < folder_size(f, 'V')
                       ? json_integer(x)
                       : json_null());
    }
}

static void names(struct folder *f)
{
    static const char *const dtype[] = {"bfloat16", "float16", "float32"};
    uint32_t type = f->main;
    char s[64];
    json_t *classes = json_array();

    if (f->want.type != CONVERT_AUTO)
        type = f->want.type == CONVERT_TO_F32   ? GGUF_T_F32
               : f->want.type == CONVERT_TO_F16 ? GGUF_T_F16
                                                : GGUF_T_BF16;
    json_array_append_new(classes, json_string(first_name(s, f->m->classes)));
    folder_set(f, "architectures", classes);
    folder_set(f, "model_type", json_string(f->m->type));
    folder_set(f, "torch_dtype",
               json_string(dtype[type == GGUF_T_F16   ? 1
                                 : type == GGUF_T_F32 ? 2
                                                      : 0]));
}

/* Keys that say what the architecture does anyway. */
static int granted(struct folder *f, struct err *e)
{
    const struct gguf_val *v = folder_key(f, "attention.causal");

    folder_key(f, "vocab_size");
    if (v && *v->p != !(f->m->flags & CONVERT_ENCODER))
        return err_set(e, ERR_UNSUPPORTED,
                       "%s: key '%s.attention.causal': is not what a %s does",
                       gguf_path(f->g), f->m->arch, f->m->type);
    return 0;
}

/* By llama.cpp's numbers of <arch>.pooling_type; rankers are none of these. */
static const char *const pools[] = {NULL, "mean_tokens", "cls_token",
                                    "lasttoken"};

static int pooling(const struct folder *f, int64_t *type)
{
    char name[100];
    const struct gguf_val *v;

    snprintf(name, sizeof name, "%s.pooling_type", f->m->arch);
    v = gguf_key(f->g, name);
    return v && gguf_val_int(type, v) && *type >= 0 && *type < 4;
}

const char *folder_pooling(const struct folder *f)
{
    int64_t type = 0;

    return pooling(f, &type) ? pools[type] : NULL;
}

uint64_t folder_width(const struct folder *f)
{
    return (uint64_t)folder_size(f, 'D');
}

int folder_values(struct folder *f, struct err *e)
{
    int64_t pool;

    if (pooling(f, &pool))
        folder_key(f, "pooling_type");
    names(f);
    for (size_t i = 0; f->m->fixed[i]; i++)
        for (const struct convert_fixed *x = f->m->fixed[i]; x->config; x++)
            fixed(f, x);
    for (size_t i = 0; f->m->keys[i]; i++)
        for (const struct convert_key *k = f->m->keys[i];
             k->config || k->key || k->letter; k++)
            if (value(f, k, e))
                return -1;
    ids(f);
    return granted(f, e);
}

static int dump(struct buf *to, const json_t *j, struct err *e)
{
    char *s = j ? json_dumps(j, JSON_INDENT(2) | JSON_SORT_KEYS |
                                    JSON_REAL_PRECISION(15))
                : NULL;

    if (!s)
        return err_nomem(e);
    buf_puts(to, s);
    buf_putc(to, '\n');
    free(s);
    return buf_ok(to, e);
}

int folder_config(struct buf *to, const struct folder *f, struct err *e)
{
    return dump(to, f->config, e);
}

int folder_index(struct buf *to, const struct folder *f, struct err *e)
{
    json_t *map = json_object(), *j;
    int rc;

    if (folder_nfile(f) < 2) {
        json_decref(map);
        return 0;
    }
    for (size_t i = 0; i < folder_nfile(f); i++) {
        const struct folder_file *x = folder_file(f, i);

        for (size_t k = 0; k < x->n; k++)
            json_object_set_new(map, folder_at(f, x->first + k)->name,
                                json_string(x->name));
    }
    j = json_pack("{s:{s:I},s:o}", "metadata", "total_size",
                  (json_int_t)f->bytes, "weight_map", map);
    rc = dump(to, j, e);
    json_decref(j);
    return rc;
}
