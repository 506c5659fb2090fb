/* SPDX-License-Identifier: MIT
 *
 * What stands behind the model: sentence-transformers' modules (pooling, dense
 * layers), and the labels of a ranker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"

/* llama.cpp's numbers of <arch>.pooling_type. */
enum { POOL_MEAN = 1, POOL_CLS = 2, POOL_LAST = 3, POOL_RANK = 4 };

static const struct {
    const char *flag, *mode; /* as it was, and is now */
    int type;
} modes[] = {
    {"pooling_mode_mean_tokens", "mean", POOL_MEAN},
    {"pooling_mode_cls_token", "cls", POOL_CLS},
    {"pooling_mode_lasttoken", "lasttoken", POOL_LAST},
};
enum { NMODE = sizeof modes / sizeof *modes };

static int refuse(const struct convert *c, const char *file, const char *what,
                  struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "%s/%s: '%.60s' is not supported",
                   c->hf.dir, file, what);
}

/* FOLDER/config.json. */
static int module_config(json_t **out, const struct convert *c,
                         const char *folder, struct err *e)
{
    struct buf name = {0};
    int rc = -1;

    buf_printf(&name, "%s/config.json", folder);
    if (!buf_ok(&name, e))
        rc = hfconfig_json(out, c->hf.dir, buf_str(&name), e);
    if (rc == 0)
        rc = err_set(e, ERR_IO, "%s/%s: is not there", c->hf.dir,
                     buf_str(&name));
    else if (rc > 0 && !json_is_object(*out))
        rc = err_set(e, ERR_FORMAT, "%s/%s: is no JSON object", c->hf.dir,
                     buf_str(&name));
    buf_free(&name);
    return rc < 0 ? -1 : 0;
}

static int pooling(struct convert *c, const char *folder, struct err *e)
{
    json_t *o = NULL, *v;
    const char *key;
    int type = 0, some = 0, rc = module_config(&o, c, folder, e);

    if (!rc)
        json_object_foreach(o, key, v)
        {
            bool known = json_is_number(v) || !json_is_true(v) ||
                         !strcmp(key, "include_prompt");

            for (int i = 0; i < NMODE; i++)
                if (json_is_true(v)
                        ? !strcmp(key, modes[i].flag)
                        : !strcmp(key, "pooling_mode") && json_is_string(v) &&
                              !strcmp(json_string_value(v), modes[i].mode)) {
                    type = modes[i].type;
                    some++;
                    known = true;
                }
            if (!known || (!strcmp(key, "pooling_mode") && !some)) {
                rc = refuse(c, folder, key, e);
                break;
            }
        }
    if (!rc && some != 1)
        rc = err_set(e, ERR_UNSUPPORTED,
                     "%s/%s: %d ways of pooling at once are not supported",
                     c->hf.dir, folder, some);
    if (!rc)
        rc = convert_put_u32(c, "pooling_type", type, e);
    json_decref(o);
    return rc;
}

static int dense_sizes(struct convert *c, int n, const json_t *o, struct err *e)
{
    static const char *const names[] = {"in_features", "out_features"};
    static const char *const keys[2][2] = {
        {"dense_2_feat_in", "dense_2_feat_out"},
        {"dense_3_feat_in", "dense_3_feat_out"}};

    for (int i = 0; i < 2; i++) {
        const json_t *v = json_object_get(o, names[i]);

        if (!json_is_integer(v) || json_integer_value(v) < 1 ||
            json_integer_value(v) > 1 << 20)
            return err_set(e, ERR_FORMAT, "%s: a dense layer has no '%s'",
                           c->hf.dir, names[i]);
        c->dense_size[n][i] = json_integer_value(v);
        if (convert_put_u32(c, keys[n][i], json_integer_value(v), e))
            return -1;
    }
    return 0;
}

static int dense(struct convert *c, const char *folder, struct err *e)
{
    json_t *o = NULL;
    const char *act;
    struct buf path = {0};
    int n = 0, rc = module_config(&o, c, folder, e);

    while (n < CONVERT_MAX_DENSE && c->dense[n])
        n++;
    if (!rc && n == CONVERT_MAX_DENSE)
        rc = refuse(c, folder, "a third dense layer", e);
    if (!rc) {
        act = json_string_value(json_object_get(o, "activation_function"));
        if (act && !strstr(act, "Identity"))
            rc = refuse(c, folder, act, e);
    }
    if (!rc)
        rc = dense_sizes(c, n, o, e);
    json_decref(o);
    if (rc)
        return -1;
    buf_printf(&path, "%s/%s", c->hf.dir, folder);
    rc = buf_ok(&path, e);
    if (!rc)
        rc = safetensors_open(&c->dense[n], buf_str(&path), e);
    buf_free(&path);
    return rc;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

static int module(struct convert *c, const json_t *m, struct err *e)
{
    const char *type = json_string_value(json_object_get(m, "type")),
               *path = json_string_value(json_object_get(m, "path"));

    if (!type || !path || strchr(path, '/') || !strcmp(path, ".."))
        return err_set(e, ERR_FORMAT,
                       "%s/modules.json: a module has no type and folder",
                       c->hf.dir);
    if (ends_in(type, ".Pooling"))
        return pooling(c, path, e);
    if (ends_in(type, ".Dense"))
        return dense(c, path, e);
    if (!ends_in(type, ".Transformer") && !ends_in(type, ".Normalize"))
        return refuse(c, "modules.json", type, e);
    return 0;
}

/* What a ranker's scores are of, in their order. */
static int put_labels(struct convert *c, struct err *e)
{
    static const char key[] = "classifier.output_labels";
    const json_t *all = json_object_get(c->hf.root, "id2label");
    struct buf b = {0};
    size_t n = json_object_size(all);
    int rc = 0;

    for (size_t i = 0; i < n && !rc; i++) {
        char number[24];
        const char *s;
        unsigned char len[8];

        snprintf(number, sizeof number, "%zu", i);
        s = json_string_value(json_object_get(all, number));
        if (!s)
            rc = err_set(e, ERR_FORMAT, "%s/config.json: 'id2label' has no %zu",
                         c->hf.dir, i);
        else {
            wr_u64(len, strlen(s));
            buf_put(&b, len, 8);
            buf_puts(&b, s);
        }
    }
    if (!rc)
        rc = buf_ok(&b, e);
    if (!rc && n) {
        const char *name = convert_key_name(c, key, e);

        rc = name ? 0 : -1;
        if (name)
            gguf_put_arr(&c->out, name, GGUF_STR, n, b.p, b.n);
    }
    buf_free(&b);
    return rc;
}

int convert_modules(struct convert *c, struct err *e)
{
    json_t *all, *m;
    size_t i;
    int rc = hfconfig_json(&all, c->hf.dir, "modules.json", e);

    if (convert_size(c, 'r')) {
        json_decref(all);
        return rc < 0 || put_labels(c, e) ||
                       convert_put_u32(c, "pooling_type", POOL_RANK, e)
                   ? -1
                   : 0;
    }
    if (rc <= 0)
        return rc;
    rc = 0;
    if (!json_is_array(all))
        rc = err_set(e, ERR_FORMAT, "%s/modules.json: is no list", c->hf.dir);
    json_array_foreach(all, i, m) if (!rc) rc = module(c, m, e);
    json_decref(all);
    return rc;
}
