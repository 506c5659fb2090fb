/* SPDX-License-Identifier: MIT
 * request.c - from a request to the text of its template.
 *
 * The template sees the request as it is.  Only where it fails on that, and
 * has not refused it itself, what OpenAI's interface leaves open is put as
 * templates want it, and it is tried once more: arguments of calls that are a
 * string of JSON become what the string says, content that is null becomes
 * empty, and content in parts that are all text becomes one text.
 */
#include <jansson.h>
#include <string.h>

#include "chat/chat.h"
#include "cmd/render/render.h"

/* Words that may stand in a control token, as in <|user|>. */
static const char *const roles[] = {
    "system",        "user",    "assistant", "tool",        "developer",
    "function",      "ipython", "model",     "observation", "user_system",
    "tool_response", "context", NULL};

/* Keys of a request that are options of its sequence. */
static const char *const options[] = {
    "id",
    "count",
    "stop",
    "seed",
    "temp",
    "dynatemp-range",
    "dynatemp-exp",
    "top-k",
    "top-p",
    "min-p",
    "typical",
    "top-n-sigma",
    "xtc-probability",
    "xtc-threshold",
    "min-keep",
    "repeat-penalty",
    "presence-penalty",
    "frequency-penalty",
    "repeat-last-n",
    "dry-multiplier",
    "dry-base",
    "dry-allowed-length",
    "dry-penalty-last-n",
    "dry-sequence-breaker",
    "mirostat",
    "mirostat-ent",
    "mirostat-lr",
    "adaptive-target",
    "adaptive-decay",
    "samplers",
    "logit-bias",
    "suppress-token",
    "logprobs",
    "logprobs-of",
    "prompt-logprobs",
    "ignore-eos",
    "ban-string",
    "ban-regex",
    "grammar",
    "json",
    "schema",
    "regex",
    "trigger",
};

json_t *request_options(json_t *o)
{
    json_t *set = json_object();

    for (size_t i = 0; set && i < sizeof options / sizeof *options; i++) {
        json_t *v = json_object_get(o, options[i]);

        if (v)
            json_object_set(set, options[i], v);
    }
    return set;
}

/* ---- what templates want ---- */

/* {"arguments": "{...}"} becomes {"arguments": {...}}; true: it did. */
static bool parse_arguments(json_t *call)
{
    json_t *f = json_object_get(call, "function"), *s, *v;

    f = json_is_object(f) ? f : call;
    s = json_object_get(f, "arguments");
    if (!json_is_string(s))
        return false;
    v = json_loadb(json_string_value(s), json_string_length(s), JSON_ALLOW_NUL,
                   NULL);
    if (!json_is_object(v)) {
        json_decref(v);
        return false;
    }
    return !json_object_set_new(f, "arguments", v);
}

static bool parse_calls(json_t *messages)
{
    bool any = false;
    json_t *m, *call;
    size_t i, k;

    json_array_foreach(messages, i, m)
    {
        json_array_foreach(json_object_get(m, "tool_calls"), k, call)
        {
            any |= parse_arguments(call);
        }
        call = json_object_get(m, "function_call");
        any |= call && parse_arguments(call);
    }
    return any;
}

/* Parts that are all text, as one string; NULL when they are not. */
static json_t *joined(const json_t *parts)
{
    struct buf b = {0};
    json_t *p, *s = NULL;
    size_t i;

    json_array_foreach(parts, i, p)
    {
        const json_t *text = json_object_get(p, "text");

        if (!json_is_string(text))
            break;
        buf_put(&b, json_string_value(text), json_string_length(text));
    }
    if (i == json_array_size(parts) && !b.bad)
        s = json_stringn(b.p ? (const char *)b.p : "", b.n);
    buf_free(&b);
    return s;
}

static bool plain_content(json_t *messages)
{
    bool any = false;
    json_t *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        json_t *c = json_object_get(m, "content"),
               *s = json_is_null(c)    ? json_string("")
                    : json_is_array(c) ? joined(c)
                                       : NULL;

        any |= s && !json_object_set_new(m, "content", s);
    }
    return any;
}

/* ---- rendering ---- */

/* A request that gives a special token as the model has it gives the
 * template's own. */
static void drop_own(json_t *vars, json_t *own)
{
    const char *key;
    json_t *v, *mine;
    void *next;

    json_object_foreach_safe(own, next, key, v)
    {
        mine = json_object_get(vars, key);
        if (mine && json_equal(mine, v))
            json_object_del(vars, key);
    }
}

/* The variables: the request's keys, over them its chat_template_kwargs, over
 * these what the command line says. */
static json_t *variables(const struct render *r, json_t *o)
{
    json_t *vars = json_copy(o),
           *more = json_object_get(o, "chat_template_kwargs");

    json_object_del(vars, "chat_template_kwargs");
    if (json_is_object(more))
        json_object_update(vars, more);
    json_object_update(vars, r->kwargs);
    if (r->no_prompt)
        json_object_set_new(vars, "add_generation_prompt", json_false());
    drop_own(vars, r->own);
    return vars;
}

static int render(struct jinja_text *out, const struct jinja *t,
                  const struct render *r, const json_t *vars, struct err *e)
{
    struct jinja_vars v = {
        .data = vars, .own = r->own, .roles = roles, .now = r->now};

    out->text.n = out->data.n = 0;
    out->raised = false;
    return jinja_render(out, t, &v, e);
}

static void put_prefill(struct jinja_text *out, const char *p, size_t n)
{
    unsigned char *data = n ? buf_add(&out->data, n) : NULL;

    buf_put(&out->text, p, n);
    if (data)
        memset(data, 1, n);
}

/* What the assistant's message begins with, N bytes. */
static const char *prefill_of(const struct render *r, const json_t *o,
                              size_t *n)
{
    const json_t *own = json_object_get(o, "prefill");
    const char *given = r->prefill ? r->prefill : "";

    *n = json_is_string(own) ? json_string_length(own) : strlen(given);
    return json_is_string(own) ? json_string_value(own) : given;
}

/* A tag at the end of a message opens nothing: it must be the template's. */
bool request_inside(const struct jinja_text *text, const struct render *r,
                    const json_t *o)
{
    size_t n = text->text.n, of_prefill, at, end;

    prefill_of(r, o, &of_prefill);
    end = at = n - of_prefill;
    while (end && strchr(" \n", text->text.p[end - 1]))
        end--;
    if (!end || text->data.p[end - 1])
        return chat_ends_inside((const char *)text->text.p + at, of_prefill, 0);
    return chat_ends_inside((const char *)text->text.p, n, at);
}

static int check(json_t *o, struct err *e)
{
    json_t *messages = json_object_get(o, "messages"), *m,
           *kwargs = json_object_get(o, "chat_template_kwargs"),
           *prefill = json_object_get(o, "prefill");
    size_t i;

    if (!json_is_array(messages))
        return err_set(e, ERR_FORMAT, "no \"messages\" that are an array");
    json_array_foreach(messages, i, m)
    {
        if (!json_is_object(m))
            return err_set(e, ERR_FORMAT, "message %zu is no object", i);
    }
    if (kwargs && !json_is_null(kwargs) && !json_is_object(kwargs))
        return err_set(e, ERR_FORMAT, "\"chat_template_kwargs\" is no object");
    if (prefill && !json_is_null(prefill) && !json_is_string(prefill))
        return err_set(e, ERR_FORMAT, "\"prefill\" is no string");
    return 0;
}

int request_render(struct jinja_text *out, const struct render *r, json_t *o,
                   struct err *e)
{
    json_t *tools = json_object_get(o, "tools"), *messages, *vars;
    const struct jinja *t = source_for(r, tools && !json_is_null(tools));
    struct err first = {0}, again = {0};
    int rc = 0;
    const char *prefill;
    size_t n;

    if (check(o, e))
        return -1;
    messages = json_object_get(o, "messages");
    if (r->parse_arguments)
        parse_calls(messages);
    vars = variables(r, o);
    if (!vars)
        return err_nomem(e);
    rc = render(out, t, r, vars, &first);
    if (rc && first.code == ERR_FORMAT && !out->raised &&
        parse_calls(messages) + plain_content(messages))
        rc = render(out, t, r, vars, &again);
    json_decref(vars);
    if (rc)
        return err_set(e, first.code, "%s", first.msg);
    prefill = prefill_of(r, o, &n);
    put_prefill(out, prefill, n);
    return buf_ok(&out->text, e) || buf_ok(&out->data, e) ? -1 : 0;
}
