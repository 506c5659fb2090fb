/* SPDX-License-Identifier: MIT
 *
 * adapter_config.json: what it asks for is done or refused by name. */
#include <math.h>
#include <string.h>

#include "convert/hfconfig.h"
#include "convert/peft_impl.h"

static const char file[] = "adapter_config.json";

/* Of training, of how it was kept, and which modules it has: the tensors say
 * that, too. */
static const char harmless[] =
    "task_type|auto_mapping|revision|inference_mode|lora_dropout|"
    "target_modules|exclude_modules|layers_to_transform|layers_pattern|"
    "peft_version|loftq_config|eva_config|corda_config|lora_ga_config|"
    "megatron_config|megatron_core|runtime_config|ensure_weight_tying|"
    "qalora_group_size|arrow_config|parent_library|base_model_class|"
    "base_model_name_or_path|peft_type|r|lora_alpha|use_rslora|bias|"
    "rank_pattern|alpha_pattern|init_lora_weights";

/* These begin with other weights of the base than those that it has. */
static const char begins[] = "true|false|gaussian|eva|orthogonal|lora_ga";

static bool empty(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v) ||
           (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v));
}

static int refuse(const char *dir, const char *key, const json_t *v,
                  struct err *e)
{
    const char *s = json_string_value(v);

    return err_set(e, ERR_UNSUPPORTED, "%s/%s: '%s'%s%.40s%s is not supported",
                   dir, file, key, s ? ": '" : "", s ? s : "", s ? "'" : "");
}

static int number(double *to, const json_t *j, const char *dir, const char *key,
                  struct err *e)
{
    const json_t *v = json_object_get(j, key);

    *to = json_number_value(v);
    return json_is_number(v) && *to > 0 && *to < 1e9
               ? 0
               : err_set(e, ERR_FORMAT, "%s/%s: '%s': is no number above 0",
                         dir, file, key);
}

/* Names of modules, and numbers: no expressions. */
static int pattern(json_t **to, const json_t *j, const char *dir,
                   const char *key, struct err *e)
{
    const char *name;
    json_t *v, *all = json_object_get(j, key);

    *to = NULL;
    if (empty(all))
        return 0;
    if (!json_is_object(all))
        return refuse(dir, key, all, e);
    json_object_foreach(all, name, v)
    {
        size_t n =
            strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789_.");

        if (name[n] || !json_is_number(v) || !(json_number_value(v) > 0))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s/%s: '%s': '%.60s' is not supported", dir, file,
                           key, name);
    }
    *to = all;
    return 0;
}

static int check(struct peft_config *c, const char *dir, struct err *e)
{
    const char *type = json_string_value(json_object_get(c->j, "peft_type")),
               *bias = json_string_value(json_object_get(c->j, "bias")), *key;
    const json_t *first = json_object_get(c->j, "init_lora_weights");
    json_t *v;

    if (!type || strcmp(type, "LORA"))
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/%s: 'peft_type': '%.40s' is not supported", dir,
                       file, type ? type : "?");
    if (bias && strcmp(bias, "none"))
        return refuse(dir, "bias", json_object_get(c->j, "bias"), e);
    if (json_is_string(first) &&
        !hfconfig_among(json_string_value(first), begins))
        return refuse(dir, "init_lora_weights", first, e);
    json_object_foreach(
        c->j, key,
        v) if (!empty(v) &&
               !hfconfig_among(key, harmless)) return refuse(dir, key, v, e);
    return 0;
}

int peft_config_open(struct peft_config *c, const char *dir, struct err *e)
{
    int rc;

    *c = (struct peft_config){0};
    rc = hfconfig_json(&c->j, dir, file, e);
    if (!rc)
        return err_set(e, ERR_IO, "%s/%s: it is not there", dir, file);
    if (rc < 0)
        return -1;
    if (!json_is_object(c->j))
        return err_set(e, ERR_FORMAT, "%s/%s: is no object", dir, file);
    c->root = json_is_true(json_object_get(c->j, "use_rslora"));
    c->base =
        json_string_value(json_object_get(c->j, "base_model_name_or_path"));
    if (check(c, dir, e) || number(&c->alpha, c->j, dir, "lora_alpha", e) ||
        number(&c->rank, c->j, dir, "r", e) ||
        pattern(&c->alphas, c->j, dir, "alpha_pattern", e) ||
        pattern(&c->ranks, c->j, dir, "rank_pattern", e))
        return -1;
    return 0;
}

void peft_config_close(struct peft_config *c)
{
    json_decref(c->j);
    *c = (struct peft_config){0};
}

/* The number of the first name that MODULE is, or ends in after a dot. */
static double of_module(const json_t *all, const char *module, double otherwise)
{
    size_t n = strlen(module);
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)all, name, v)
    {
        size_t k = strlen(name);

        if (n >= k && !strcmp(module + n - k, name) &&
            (n == k || module[n - k - 1] == '.'))
            return json_number_value(v);
    }
    return otherwise;
}

double peft_config_scale(const struct peft_config *c, const char *module,
                         double r)
{
    double alpha = of_module(c->alphas, module, c->alpha);

    return alpha / (c->root ? sqrt(r) : r);
}
