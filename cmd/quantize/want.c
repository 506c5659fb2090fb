/* SPDX-License-Identifier: MIT
 *
 * What options say of types and sizes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/common/size.h"
#include "cmd/quantize/quantize.h"

static uint32_t type_named(const struct cli *c, const char *option,
                           const char *name)
{
    const struct gguf_type_info *t = gguf_type_by_name(name);
    struct quantize q;

    quantize_init(&q, 0);
    if (!t || !quantize_type(&q, t->id))
        usage_error(c, "--%s: '%s' is no type that tensors can be given",
                    option, name);
    return t->id;
}

static void one_tensor(struct plan_override *o, const struct cli *c,
                       const char *s)
{
    const char *eq = strrchr(s, '=');
    char *regex, why[200];
    int rc;

    if (!eq || eq == s || !eq[1])
        usage_error(c, "--tensor: '%s' is no REGEX=TYPE", s);
    o->type = type_named(c, "tensor", eq + 1);
    regex = strndup(s, (size_t)(eq - s));
    if (!regex)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    rc = regcomp(&o->regex, regex, REG_EXTENDED | REG_NOSUB);
    if (rc) {
        regerror(rc, &o->regex, why, sizeof why);
        usage_error(c, "--tensor: '%s': %s", regex, why);
    }
    free(regex);
}

void want_types(struct job *j, const struct cli *c,
                const struct cli_list *tensors, const char *embedding,
                const char *output)
{
    struct plan_override *o = calloc((size_t)tensors->n + 1, sizeof *o);

    if (!o)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    for (int i = 0; i < tensors->n; i++)
        one_tensor(&o[i], c, tensors->v[i]);
    j->want.override = o;
    j->want.noverride = tensors->n;
    j->want.embedding =
        embedding ? type_named(c, "embedding", embedding) : PLAN_NONE;
    j->want.output = output ? type_named(c, "output-type", output) : PLAN_NONE;
}

void want_free(struct job *j)
{
    struct plan_override *o =
        (struct plan_override *)(uintptr_t)j->want.override;

    for (int i = 0; i < j->want.noverride; i++)
        regfree(&o[i].regex);
    free(o);
}

void want_target(struct target *t, const struct cli *c, const char *s)
{
    char *end;
    double v;

    errno = 0;
    v = strtod(s, &end);
    *t = (struct target){0};
    if (end != s && !errno && v > 0 && v < 0x1p60 && !strcasecmp(end, "bpw"))
        t->bits = v;
    else if (!size_parse(&t->bytes, s) || !t->bytes)
        usage_error(c,
                    "--target-size: '%s' is neither bytes, with K, M or G if "
                    "need be, nor bits of a weight, as 4.5bpw",
                    s);
}
