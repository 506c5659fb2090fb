/* SPDX-License-Identifier: MIT */
#include "cmd/common/sampling.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Values that the command line cannot give: not given. */
static float temp = NAN, top_p = NAN, min_p = NAN, repeat_penalty = NAN,
             presence_penalty = NAN, frequency_penalty = NAN;
static int top_k = INT_MIN, repeat_last_n = INT_MIN;
static long long seed = -1;
static struct cli_list bias;

const struct cli_opt sampling_opts[] = {
    {0, "temp", CLI_FLOAT, &temp, "number",
     "temperature; 0: the most probable token (default: 0.8)"},
    {0, "top-k", CLI_INT, &top_k, "count",
     "of the most probable tokens; 0: all (default: 40)"},
    {0, "top-p", CLI_FLOAT, &top_p, "number",
     "of tokens that together are this probable (default: 0.95)"},
    {0, "min-p", CLI_FLOAT, &min_p, "number",
     "of tokens this probable beside the first (default: 0.05)"},
    {0, "repeat-penalty", CLI_FLOAT, &repeat_penalty, "number",
     "divide scores of tokens that were there (default: 1)"},
    {0, "presence-penalty", CLI_FLOAT, &presence_penalty, "number",
     "less for tokens that were there (default: 0)"},
    {0, "frequency-penalty", CLI_FLOAT, &frequency_penalty, "number",
     "less each time that a token was there (default: 0)"},
    {0, "repeat-last-n", CLI_INT, &repeat_last_n, "count",
     "tokens that penalties look back; -1: all (default: 64)"},
    {'s', "seed", CLI_LONG, &seed, "number",
     "of the draws; -1: a random one (default)"},
    {0, "logit-bias", CLI_LIST, &bias, "id=number",
     "add to the score of a token; -inf: never draw it"},
    {0},
};

enum kind { INT, FLOAT };

/* The options that are numbers, and their keys in a model's file. */
static const struct option {
    const char *name, *key;
    enum kind kind;
    size_t at; /* in struct sample_opts */
    const void *given;
} options[] = {
#define AT(f) offsetof(struct sample_opts, f)
    {"temp", "general.sampling.temp", FLOAT, AT(temp), &temp},
    {"top-k", "general.sampling.top_k", INT, AT(top_k), &top_k},
    {"top-p", "general.sampling.top_p", FLOAT, AT(top_p), &top_p},
    {"min-p", "general.sampling.min_p", FLOAT, AT(min_p), &min_p},
    {"repeat-penalty", "general.sampling.penalty_repeat", FLOAT,
     AT(repeat_penalty), &repeat_penalty},
    {"presence-penalty", NULL, FLOAT, AT(presence_penalty), &presence_penalty},
    {"frequency-penalty", NULL, FLOAT, AT(frequency_penalty),
     &frequency_penalty},
    {"repeat-last-n", "general.sampling.penalty_last_n", INT, AT(repeat_last_n),
     &repeat_last_n},
#undef AT
};
enum { NOPTIONS = sizeof options / sizeof *options };

static void put_int(struct sampling *s, const struct option *o, int v)
{
    memcpy((char *)&s->o + o->at, &v, sizeof v);
}

static void put_float(struct sampling *s, const struct option *o, double v)
{
    float f = (float)v;

    memcpy((char *)&s->o + o->at, &f, sizeof f);
}

/* ---- biases ---- */

static int add_bias(struct sampling *s, long long id, double add, struct err *e)
{
    struct sample_bias *p;

    if (id < 0 || id > UINT32_MAX || !(add < INFINITY))
        return err_set(
            e, ERR_USAGE,
            "option 'logit-bias': wants an id and a number, or -inf");
    p = realloc(s->bias, ((size_t)s->o.nbias + 1) * sizeof *p);
    if (!p)
        return err_nomem(e);
    p[s->o.nbias++] = (struct sample_bias){(uint32_t)id, (float)add};
    s->o.bias = s->bias = p;
    return 0;
}

/* "ID=ADD" */
static int bias_word(struct sampling *s, const char *word, struct err *e)
{
    char *end;
    long long id = strtoll(word, &end, 10);
    double add = NAN;

    if (end != word && *end == '=' && end[1]) {
        const char *number = end + 1;

        add = strtod(number, &end);
        if (*end || end == number)
            add = NAN;
    } else {
        id = -1;
    }
    if (add_bias(s, id, add, e))
        return e && e->code == ERR_USAGE ? err_prefix(e, "'%s'", word) : -1;
    return 0;
}

static bool json_add(double *add, const json_t *v)
{
    const char *s = json_string_value(v);

    *add = json_is_false(v) || (s && !strcmp(s, "-Infinity"))
               ? -INFINITY
               : json_number_value(v);
    return json_is_number(v) || *add == -INFINITY;
}

/* {"ID": ADD, ...} or [[ID, ADD], "ID=ADD", ...] */
static int bias_json(struct sampling *s, json_t *o, struct err *e)
{
    const char *key;
    json_t *v;
    size_t i;
    double add;

    json_object_foreach(o, key, v)
    {
        char *end;
        long long id = strtoll(key, &end, 10);

        if (add_bias(s, *end || end == key ? -1 : id,
                     json_add(&add, v) ? add : NAN, e))
            return -1;
    }
    json_array_foreach(o, i, v)
    {
        const json_t *id = json_array_get(v, 0);

        if (json_is_string(v)
                ? bias_word(s, json_string_value(v), e)
                : add_bias(s,
                           json_is_integer(id) && json_array_size(v) == 2
                               ? json_integer_value(id)
                               : -1,
                           json_add(&add, json_array_get(v, 1)) ? add : NAN, e))
            return -1;
    }
    if (!json_is_object(o) && !json_is_array(o))
        return add_bias(s, -1, 0, e);
    return 0;
}

/* ---- the seed ---- */

static uint64_t random_seed(void)
{
    static uint64_t v;
    struct timespec t = {0};
    int fd;

    if (v)
        return v;
    fd = open("/dev/urandom", O_RDONLY);
    if (fd < 0 || read(fd, &v, sizeof v) != sizeof v) {
        clock_gettime(CLOCK_REALTIME, &t);
        v = (uint64_t)t.tv_sec * 1000000007 + (uint64_t)t.tv_nsec * 65537 +
            (uint64_t)getpid();
    }
    if (fd >= 0)
        close(fd);
    v >>= 16; /* exact in every reader of JSON */
    v += !v;
    return v;
}

/* ---- the model ---- */

/* What is recommended that cannot be done here. */
static void warn_of_others(const struct gguf *g)
{
    static const char *const others[] = {"mirostat", "xtc_probability",
                                         "sequence"};
    struct gguf_str order;
    double v;

    for (size_t i = 0; i < 3; i++) {
        char key[64] = "general.sampling.";

        memcpy(key + strlen(key), others[i], strlen(others[i]) + 1);
        v = 0;
        if (gguf_get_float(&v, g, key, NULL) > 0
                ? v > 0
                : gguf_get_str(&order, g, key, NULL) > 0)
            warn("%s: %s is not followed", gguf_path(g), key);
    }
}

static int from_model(struct sampling *s, const struct gguf *g, struct err *e)
{
    struct err wrong = {0};

    for (size_t i = 0; i < NOPTIONS; i++) {
        const struct option *o = &options[i];
        int64_t n = 0;
        double v = 0;
        int got;

        if (!o->key || s->over & 1u << i)
            continue;
        got = o->kind == INT ? gguf_get_int(&n, g, o->key, INT_MIN, INT_MAX, e)
                             : gguf_get_float(&v, g, o->key, e);
        if (got < 0)
            return -1;
        if (got && o->kind == INT)
            put_int(s, o, n < -1 ? -1 : (int)n);
        else if (got)
            put_float(s, o, v);
        if (got && sample_check(&s->o, &wrong))
            return err_set(e, ERR_FORMAT, "%s: key '%s': %s", gguf_path(g),
                           o->key, wrong.msg);
    }
    return 0;
}

int sampling_json(struct buf *out, const struct gguf *g, struct err *e)
{
    struct sampling s = {0};
    bool any = false;

    sample_defaults(&s.o);
    if (from_model(&s, g, e))
        return -1;
    for (size_t i = 0; i < NOPTIONS; i++) {
        const struct option *o = &options[i];
        float f;
        int n;

        if (!o->key || !gguf_key(g, o->key))
            continue;
        buf_printf(out, "%s\"%s\":", any ? "," : "{", o->name);
        any = true;
        memcpy(&n, (char *)&s.o + o->at, sizeof n);
        memcpy(&f, (char *)&s.o + o->at, sizeof f);
        if (o->kind == INT)
            buf_printf(out, "%d", n);
        else
            buf_printf(out, "%.9g", (double)f);
    }
    if (any)
        buf_putc(out, '}');
    return buf_ok(out, e);
}

static int model_option(struct sampling *s, const char *name, const json_t *v,
                        struct err *e)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        const struct option *o = &options[i];

        if (strcmp(o->name, name))
            continue;
        if (o->kind == INT
                ? !json_is_integer(v) || json_integer_value(v) > INT_MAX ||
                      json_integer_value(v) < INT_MIN
                : !json_is_number(v))
            return err_set(e, ERR_FORMAT, "sampling: '%s' is not a number",
                           name);
        if (s->over & 1u << i)
            return 0;
        if (o->kind == INT)
            put_int(s, o, (int)json_integer_value(v));
        else
            put_float(s, o, json_number_value(v));
        return 0;
    }
    return err_set(e, ERR_UNSUPPORTED, "sampling: option '%.64s' is not known",
                   name);
}

/* KEY of R as jansson has it, the caller's; NULL with 0 when it is absent. */
static int get(json_t **out, const struct wire_rec *r, const char *key,
               struct err *e)
{
    struct buf text = {0};
    int got = wire_get_json(&text, r, key, e);

    *out = NULL;
    if (got > 0) {
        *out = json_loadb((const char *)text.p, text.n,
                          JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (!*out)
            got = err_set(e, ERR_FORMAT, "key '%s' is malformed", key);
    }
    buf_free(&text);
    return got;
}

/* ---- the command line ---- */

static int from_command_line(struct sampling *s, struct err *e)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        const struct option *o = &options[i];
        float f;
        int n;

        memcpy(&n, o->given, sizeof n);
        memcpy(&f, o->given, sizeof f);
        if (o->kind == INT ? n == INT_MIN : isnan(f))
            continue;
        s->over |= 1u << i;
        if (o->kind == INT)
            put_int(s, o, n);
        else
            put_float(s, o, (double)f);
    }
    if (seed < -1)
        return err_set(e, ERR_USAGE,
                       "option 'seed': not a number from 0 on, nor -1");
    s->o.seed = seed < 0 ? random_seed() : (uint64_t)seed;
    for (int i = 0; i < bias.n; i++)
        if (bias_word(s, bias.v[i], e))
            return -1;
    return sample_check(&s->o, e);
}

void sampling_init(struct sampling *s, const struct cli *c,
                   const struct gguf *g)
{
    struct err e = {0};

    *s = (struct sampling){0};
    sample_defaults(&s->o);
    if (from_command_line(s, &e)) {
        if (e.code == ERR_USAGE)
            usage_error(c, "%s", e.msg);
        die(&e);
    }
    if (!g)
        return;
    if (from_model(s, g, &e))
        die(&e);
    warn_of_others(g);
}

int sampling_copy(struct sampling *to, const struct sampling *from,
                  struct err *e)
{
    size_t n = (size_t)from->o.nbias;

    *to = *from;
    to->o.bias = to->bias = NULL;
    if (!n)
        return 0;
    to->bias = malloc(n * sizeof *to->bias);
    if (!to->bias) {
        to->o.nbias = 0;
        return err_nomem(e);
    }
    memcpy(to->bias, from->bias, n * sizeof *to->bias);
    to->o.bias = to->bias;
    return 0;
}

void sampling_fini(struct sampling *s)
{
    free(s->bias);
    s->bias = NULL;
    s->o.bias = NULL;
    s->o.nbias = 0;
}

/* ---- a sequence's own ---- */

static int set_number(struct sampling *s, const struct wire_rec *r, size_t i,
                      struct err *e)
{
    const struct option *o = &options[i];
    int64_t n = 0;
    double v = 0;
    int got = o->kind == INT ? wire_get_int(&n, r, o->name, INT_MIN, INT_MAX, e)
                             : wire_get_float(&v, r, o->name, e);

    if (got <= 0)
        return got < 0 ? -1 : 1;
    s->over |= 1u << i;
    if (o->kind == INT)
        put_int(s, o, (int)n);
    else
        put_float(s, o, v);
    return sample_check(&s->o, e) ? -1 : 1;
}

static int set_seed(struct sampling *s, const struct wire_rec *r, struct err *e)
{
    int64_t n = -1;

    if (wire_get_int(&n, r, "seed", -1, INT64_MAX, e) < 0)
        return -1;
    if (n >= 0) {
        s->o.seed = (uint64_t)n;
        s->own_seed = true;
    }
    return 1;
}

/* In place of those of the command line. */
static int set_bias(struct sampling *s, const struct wire_rec *r, struct err *e)
{
    json_t *v;
    int rc = get(&v, r, "logit-bias", e);

    if (rc > 0 && !json_is_null(v)) {
        sampling_fini(s);
        rc = bias_json(s, v, e) ? -1 : 1;
    }
    json_decref(v);
    return rc < 0 ? -1 : 1;
}

/* What is wrong in a record is not wrong usage. */
static int in_record(int rc, struct err *e)
{
    if (rc < 0 && e && e->code == ERR_USAGE)
        e->code = ERR_FORMAT;
    return rc;
}

int sampling_set_model(struct sampling *s, const struct wire_rec *r,
                       struct err *e)
{
    const char *name;
    json_t *o, *v;
    int rc = get(&o, r, "sampling", e);

    if (rc > 0 && !json_is_null(o) && !json_is_object(o))
        rc = err_set(e, ERR_FORMAT, "key 'sampling' is not a map");
    json_object_foreach(o, name, v) if (rc > 0 && model_option(s, name, v, e))
        rc = -1;
    json_decref(o);
    return in_record(rc < 0 ? -1 : sample_check(&s->o, e), e);
}

int sampling_set(struct sampling *s, const struct wire_rec *r, const char *key,
                 size_t n, struct err *e)
{
    for (size_t i = 0; i < NOPTIONS; i++)
        if (strlen(options[i].name) == n && !memcmp(options[i].name, key, n))
            return in_record(set_number(s, r, i, e), e);
    if (n == 4 && !memcmp(key, "seed", n))
        return set_seed(s, r, e);
    if (n == 10 && !memcmp(key, "logit-bias", n))
        return in_record(set_bias(s, r, e), e);
    return 0;
}

int sampling_put_seed(struct wire_out *w, uint64_t seq,
                      const struct sampling *s, struct err *e)
{
    json_t *o;
    int rc;

    if (s->own_seed || !(s->o.temp > 0))
        return 0;
    o = json_pack("{sI}", "seed", (json_int_t)s->o.seed);
    if (!o)
        return err_nomem(e);
    rc = wire_put_set(w, seq, o, e);
    json_decref(o);
    return rc;
}
