/* SPDX-License-Identifier: MIT
 * chat.c - answers of models: what each dialect's text is read as, in every
 * cut; random messages there and back; and text that is hostile. */
#include "chat/chat.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/unit/chat_data.h"
#include "tests/unit/tap.h"

static uint64_t rnd_at;

static size_t rnd(size_t n)
{
    return (size_t)(rng_unit(6, 3, rnd_at++) * (double)n);
}

/* ---- events as one text, whatever their cuts ---- */

static int merge(void *arg, const struct chat_event *ev, struct err *e)
{
    static int last = -1;
    struct buf *b = arg;
    bool text = ev->kind != CHAT_TOOL && ev->kind != CHAT_END;

    (void)e;
    if (!b->n)
        last = -1;
    if (!text || (int)ev->kind != last)
        buf_printf(b, "|%s:", chat_kind_words[ev->kind]);
    last = text ? (int)ev->kind : -1;
    if (ev->kind == CHAT_TOOL)
        buf_printf(b, "%s %s", ev->id, ev->name);
    else if (ev->error)
        buf_puts(b, ev->error);
    buf_put(b, ev->text, ev->n);
    return 0;
}

/* Feed P[N] in pieces of at most MAX bytes. */
static int parse(const struct chat_opts *opts, chat_event_fn *fn, void *arg,
                 const void *p, size_t n, size_t max)
{
    struct chat_opts o = *opts;
    struct chat *c;
    const char *s = p;
    int r = 0;

    o.fn = fn;
    o.arg = arg;
    if (chat_new(&c, &o, NULL))
        return -1;
    for (size_t k; n && !r; s += k, n -= k) {
        k = max < 2 ? max : 1 + rnd(max);
        k = k < n ? k : n;
        r = chat_feed(c, s, k, NULL);
    }
    r |= chat_finish(c, NULL);
    chat_free(c);
    return r;
}

static bool events_are(const struct chat_opts *o, const char *text,
                       const char *events)
{
    static const size_t cuts[] = {1 << 20, 1, 2, 3, 7};
    struct buf b = {0};
    bool good = true;

    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && good; i++) {
        b.n = 0;
        good = !parse(o, merge, &b, text, strlen(text), cuts[i]) &&
               !strcmp(buf_str(&b), events);
    }
    if (!good)
        printf("# %s\n# not %s\n", buf_str(&b), events);
    buf_free(&b);
    return good;
}

/* ---- texts and what they are ---- */

static void test_canonical(void)
{
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        const struct canonical *k = &canonical[i];
        struct chat_opts o = {.dialect = chat_dialect(k->dialect)};
        struct chat_message m = {0};
        struct buf b = {0};
        bool good = events_are(&o, k->text, k->events);

        parse(&o, chat_collect, &m, k->text, strlen(k->text), 3);
        good = good && !chat_write(&b, &m, &o, NULL) &&
               !strcmp(buf_str(&b), k->text);
        ok(good, "%s: text %zu there and back", k->dialect, i);
        if (!good)
            printf("# written: %s\n", buf_str(&b));
        chat_message_free(&m);
        buf_free(&b);
    }
}

static void test_others(void)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct other *k = &others[i];
        json_t *tools = k->tools ? json_loads(k->tools, 0, NULL) : NULL;
        struct chat_opts o = {.dialect = chat_dialect(k->dialect),
                              .inside = k->inside,
                              .tools = tools};

        ok(events_are(&o, k->text, k->events), "%s: other text %zu", k->dialect,
           i);
        json_decref(tools);
    }
}

/* ---- random messages ---- */

static const char *const tame[] = {
    "a",    "Zürich", " ", "\n",   "\"",        "\\",   "'",  "é",
    "漢字", "😀",      "1", "true", "null",      "x\ty", ", ", ": ",
    "}",    "]",      "-", "0.5",  "and\nmore", "|",    "$",
};
static const char *const wild[] = {
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<",
    "</",
    ">",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "<|python_tag|>",
    "{",
    "<function=",
    "</function>",
    "<parameter=x>",
    "</parameter>",
    "\n</parameter>",
    "<arg_key>",
    "</arg_value>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁sep｜>",
    "</｜DSML｜parameter>",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "{\"name\": \"f\", \"arguments\": {}}",
    "```json\n",
    "[",
    "\"}",
    ";",
};
enum { NTAME = sizeof tame / sizeof *tame, NWILD = sizeof wild / sizeof *wild };

static void random_text(struct buf *b, size_t max, bool is_wild)
{
    for (size_t n = rnd(max + 1); n; n--)
        buf_puts(b, is_wild && rnd(2) ? wild[rnd(NWILD)] : tame[rnd(NTAME)]);
}

static json_t *random_value(int depth, bool is_wild)
{
    struct buf b = {0};
    json_t *v;

    switch (rnd(depth ? 8 : 6)) {
    case 0:
        return json_integer((json_int_t)rnd(1 << 20) - 1000);
    case 1:
        return json_real((double)rnd(1000) / 8 + 0.5);
    case 2:
        return rnd(2) ? json_true() : json_false();
    case 3:
        return json_null();
    case 6:
        v = json_array();
        for (size_t n = rnd(4); n; n--)
            json_array_append_new(v, random_value(depth - 1, is_wild));
        return v;
    case 7:
        v = json_object();
        for (size_t n = rnd(4); n; n--) {
            b.n = 0;
            random_text(&b, 3, is_wild);
            json_object_set_new(v, buf_str(&b),
                                random_value(depth - 1, is_wild));
        }
        buf_free(&b);
        return v;
    default:
        random_text(&b, 6, is_wild);
        v = json_string(buf_str(&b));
        buf_free(&b);
        return v;
    }
}

#define RANDOM_TOOLS                                                           \
    "[{\"name\": \"get_weather\", \"parameters\": {\"properties\": "           \
    "{\"city\": {\"type\": \"string\"}, \"n\": {\"type\": \"integer\"}}}}, "   \
    "{\"function\": {\"name\": \"add\", \"parameters\": {\"properties\": "     \
    "{\"opts\": {\"type\": [\"array\", \"string\"]}, \"code\": {\"anyOf\": "   \
    "[{\"type\": \"object\"}, {\"type\": \"null\"}]}}}}}]"

static json_t *random_call(size_t i, bool is_wild)
{
    static const char *const names[] = {
        "get_weather",      "add",    "a.b-c", "brave_search",
        "code_interpreter", "python", "größe"};
    static const char *const keys[] = {"city", "n",     "opts", "x-y",
                                       "näme", "query", "code"};
    json_t *args = json_object(), *call;
    char *text;

    for (size_t n = rnd(4); n; n--)
        json_object_set_new(args, keys[rnd(7)], random_value(3, is_wild));
    text = json_dumps(args, rnd(2) ? JSON_COMPACT : 0);
    call = json_pack("{s:o, s:s, s:{s:s, s:o}}", "id",
                     json_sprintf("functions.add:%d", (int)i), "type",
                     "function", "function", "name", names[rnd(7)], "arguments",
                     rnd(2) ? json_string(text) : json_incref(args));
    free(text);
    json_decref(args);
    return call;
}

static json_t *random_message(bool is_wild, bool reasoning)
{
    struct buf b = {0};
    json_t *m = json_pack("{s:s}", "role", "assistant");
    size_t n = rnd(4);

    if (rnd(4))
        random_text(&b, 8, is_wild);
    json_object_set_new(m, "content", json_string(buf_str(&b)));
    b.n = 0;
    if (reasoning && rnd(2)) {
        random_text(&b, 8, is_wild);
        json_object_set_new(m, "reasoning_content", json_string(buf_str(&b)));
    }
    if (n)
        json_object_set_new(m, "tool_calls", json_array());
    for (size_t i = 0; i < n; i++)
        json_array_append_new(json_object_get(m, "tool_calls"),
                              random_call(i, is_wild));
    buf_free(&b);
    return m;
}

static bool blank(const struct buf *b)
{
    return strspn((const char *)b->p, " \n\t") == b->n;
}

static bool equal(const struct buf *a, const struct buf *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

static bool same(struct chat_message *a, struct chat_message *b)
{
    bool none = a->ncall && !b->content.n;

    buf_str(&a->content);
    if (a->ncall != b->ncall || !equal(&a->reasoning, &b->reasoning) ||
        !(equal(&a->content, &b->content) || (none && blank(&a->content))))
        return false;
    for (size_t i = 0; i < a->ncall; i++) {
        json_t *x = json_loads(buf_str(&a->call[i].arguments), 0, NULL);
        json_t *y = json_loads(buf_str(&b->call[i].arguments), 0, NULL);
        bool good = equal(&a->call[i].name, &b->call[i].name) &&
                    !b->call[i].error.n && x && json_equal(x, y);

        json_decref(x);
        json_decref(y);
        if (!good)
            return false;
    }
    return true;
}

/* One message: 1 there and back, 0 refused, -1 wrong. */
static int round_trip(const struct chat_opts *o, const json_t *json)
{
    struct chat_message m = {0}, back = {0};
    struct buf text = {0}, again = {0};
    struct err e = {0};
    int r = -1;

    if (chat_message_load(&m, json, &e))
        goto out;
    if (chat_write(&text, &m, o, &e)) {
        r = e.code == ERR_UNSUPPORTED && !text.n ? 0 : -1;
        goto out;
    }
    if (!parse(o, chat_collect, &back, text.p, text.n, 1 + rnd(9)) &&
        same(&m, &back) && !chat_write(&again, &back, o, &e) &&
        equal(&text, &again))
        r = 1;
    /* Ids that are made up may be more than there were. */
    if (r < 0 && same(&m, &back) && again.n > text.n)
        r = 1;
out:
    if (r < 0)
        printf("# %s\n# %s\n# %s\n", e.msg, buf_str(&text), buf_str(&again));
    chat_message_free(&m);
    chat_message_free(&back);
    buf_free(&text);
    buf_free(&again);
    return r;
}

/* Tame ones must go through; of wild ones none may change.  With TOOLS that say
 * what types there are, some others cannot be said. */
static void test_random(const struct chat_dialect *d, const json_t *tools)
{
    const struct chat_style *none = chat_style("none");
    struct chat_opts o = {.dialect = d, .tools = tools};
    int wrong = 0, refused = 0, through = 0;
    bool calls = strcmp(chat_dialect_name(d), "none");
    bool harmony = !strcmp(chat_dialect_name(d), "harmony");

    for (int i = 0; i < 400; i++) {
        bool is_wild = i % 2;
        bool reasoning = harmony || chat_dialect_style(d) != none;
        json_t *m = random_message(is_wild, reasoning);
        int r;

        if (!calls)
            json_object_del(m, "tool_calls");
        r = round_trip(&o, m);
        wrong += r < 0;
        refused += !r && !is_wild && !tools;
        through += r > 0 && is_wild;
        if (r < 0 || (!r && !is_wild && !tools)) {
            char *s = json_dumps(m, 0);

            printf("# %s: %s\n", r ? "wrong" : "refused", s);
            free(s);
        }
        json_decref(m);
    }
    ok(!wrong && !refused && through > 10,
       "%s%s: random messages there and back: %d wrong, %d refused, %d wild",
       chat_dialect_name(d), tools ? ", with tools" : "", wrong, refused,
       through);
}

/* ---- hostile texts ---- */

static int count(void *arg, const struct chat_event *ev, struct err *e)
{
    (void)e;
    *(size_t *)arg += ev->kind == CHAT_TEXT ? ev->n : 0;
    return 0;
}

/* 1 MB of WHAT, over and over. */
static void test_much(const char *dialect, const char *what, bool lossless)
{
    struct chat_opts o = {.dialect = chat_dialect(dialect)};
    size_t len = strlen(what), n = 0, total = (1u << 20) / len * len;
    char *p = malloc(total);

    for (size_t i = 0; i < total; i += len)
        memcpy(p + i, what, len);
    ok(!parse(&o, count, &n, p, total, 1 << 16) && (!lossless || n == total),
       "%s: 1 MB of %.40s", dialect, *what == ' ' ? "white space" : what);
    free(p);
}

static void test_deep(void)
{
    struct chat_opts o = {.dialect = chat_dialect("hermes")};
    struct buf b = {0}, got = {0};

    buf_puts(&b, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ");
    for (int i = 0; i < 100000; i++)
        buf_putc(&b, '[');
    ok(!parse(&o, merge, &got, b.p, b.n, 100) &&
           strstr(buf_str(&got), "|end:it is not JSON|text:[["),
       "arrays within arrays are no call");
    buf_free(&b);
    buf_free(&got);
}

static int stop(void *arg, const struct chat_event *ev, struct err *e)
{
    (void)arg;
    (void)ev;
    return err_set(e, ERR_IO, "stop");
}

static void test_api(void)
{
    struct chat_opts o = {.dialect = chat_dialect("hermes"), .fn = stop};
    struct err e = {0};
    struct chat *c;

    ok(!chat_new(&c, &o, &e) && chat_feed(c, "text", 4, &e) &&
           e.code == ERR_IO && chat_feed(c, "more", 4, NULL),
       "what the caller's function says ends it");
    chat_free(c);
    o.style = chat_style("none");
    o.inside = true;
    e = (struct err){0};
    ok(chat_new(&c, &o, &e) && e.code == ERR_USAGE,
       "no answer is inside of what is not marked");
    ok(!chat_dialect("x") && !chat_style("x"), "names that there are not");
}

int main(void)
{
    json_t *tools = json_loads(RANDOM_TOOLS, 0, NULL);
    const struct chat_dialect *d;

    test_canonical();
    test_others();
    ok(!chat_check_tools(tools, NULL), "tools are such");
    for (size_t i = 0; (d = chat_dialect_at(i)); i++) {
        test_random(d, NULL);
        test_random(d, tools);
    }
    json_decref(tools);
    test_much("hermes", "<tool_call>", true);
    test_much("hermes", "<tool_call>{\"a\":\"", true);
    /* Each opener begins what may be a call for as long as it likes. */
    test_much("hermes", "<tool_call>{\",\":\"<tool_call>{\",\":\"", true);
    test_much("hermes", "<think", true);
    test_much("hermes", " \n", false);
    test_much("hermes", "x ", true);
    test_much("llama3", "<|python_tag|>a.call(", false);
    test_much("mistral-v3", "[TOOL_CALLS][{\"arguments\":{\"a\":\"", true);
    test_much("qwen3-coder", "<tool_call><function=f><parameter=a>", false);
    test_much("glm", "<tool_call>f<arg_key>", false);
    test_much("deepseek-v3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
              true);
    test_much("harmony", "<|channel|>", true);
    test_much("harmony", "<|channel|>final<|message|><|end|>", false);
    test_deep();
    test_api();
    return tap_done();
}
