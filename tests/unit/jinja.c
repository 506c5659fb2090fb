/* SPDX-License-Identifier: MIT
 * jinja.c - templates: what Python makes of them, where text comes from, and
 * what ends them. */
#include "jinja/jinja.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define ORACLE "../shared/oracle/templates/"

static const char *const roles[] = {"user", "assistant", NULL};

/* What T makes of the variables; NULL with *E. */
static struct jinja_text *render(const char *t, size_t n, const json_t *data,
                                 const json_t *own, struct err *e)
{
    static struct jinja_text out;
    struct jinja_vars v = {.data = data, .own = own, .roles = roles};
    time_t now = 1772694489; /* 2026-03-05 07:08:09 */
    struct jinja *j;
    int rc;

    gmtime_r(&now, &v.now);
    buf_free(&out.text);
    buf_free(&out.data);
    out = (struct jinja_text){0};
    if (jinja_open(&j, t, n, e))
        return NULL;
    rc = jinja_render(&out, j, &v, e);
    jinja_close(j);
    return rc ? NULL : &out;
}

static bool is(const struct jinja_text *out, const json_t *want)
{
    size_t n = json_string_length(want);

    return out && out->text.n == n && out->data.n == n &&
           (!n || !memcmp(out->text.p, json_string_value(want), n));
}

static json_t *load(const char *path)
{
    json_error_t e;
    json_t *j = json_load_file(path, JSON_ALLOW_NUL, &e);

    if (!j)
        printf("# %s: %s\n", path, e.text);
    return j;
}

/* Cases {t, expect or error} on one context. */
static void snippets(const char *path)
{
    json_t *file = load(path), *c;
    size_t i, bad = 0;

    json_array_foreach(json_object_get(file, "cases"), i, c)
    {
        const json_t *t = json_object_get(c, "t"),
                     *want = json_object_get(c, "expect");
        struct err e = {0};
        struct jinja_text *out =
            render(json_string_value(t), json_string_length(t),
                   json_object_get(file, "context"), NULL, &e);

        if (want ? is(out, want) : !out)
            continue;
        bad++;
        printf("# %s\n# gives %.*s, not %s\n", json_string_value(t),
               out ? (int)out->text.n : 511,
               out ? (const char *)out->text.p : e.msg,
               want ? json_string_value(want) : "an error");
    }
    ok(i > 200 && !bad, "%s: %zu of %zu", path, i - bad, i);
    json_decref(file);
}

/* ---- the oracle's templates and conversations ---- */

static json_t *variables(const json_t *conv, const json_t *c)
{
    json_t *v = json_object();

    json_object_set(v, "messages", json_object_get(conv, "messages"));
    json_object_set(v, "tools", json_object_get(conv, "tools"));
    json_object_set_new(v, "documents", json_null());
    json_object_set(v, "add_generation_prompt",
                    json_object_get(c, "add_generation_prompt"));
    json_object_update(v, json_object_get(conv, "extra"));
    json_object_update(v, json_object_get(c, "extra_vars"));
    return v;
}

static bool as_expected(const char *t, size_t n, const json_t *conv,
                        const json_t *c, const json_t *own)
{
    const json_t *want = json_object_get(c, "expect");
    const char *raise =
        json_string_value(json_object_get(c, "raise_exception"));
    json_t *v = variables(conv, c);
    struct err e = {0};
    struct jinja_text *out = render(t, n, v, own, &e);

    json_decref(v);
    if (want && !is(out, want))
        printf("# %s: %s\n", json_string_value(json_object_get(c, "conv")),
               out ? "other text" : e.msg);
    /* What Python cannot render, may be rendered here. */
    return want ? is(out, want) : !raise || (!out && strstr(e.msg, raise));
}

static size_t of_template(const char *name, const json_t *convs, size_t *bad)
{
    static char source[1 << 20];
    char path[512];
    json_t *cases, *c, *own;
    size_t i, n;
    FILE *f;

    snprintf(path, sizeof path, ORACLE "%s.cases.json", name);
    cases = load(path);
    snprintf(path, sizeof path, ORACLE "%s.jinja", name);
    f = fopen(path, "rb");
    n = f ? fread(source, 1, sizeof source, f) : 0;
    if (f)
        fclose(f);
    own = json_pack("{s:s,s:s}", "bos_token", "<s>", "eos_token", "</s>");
    json_array_foreach(cases, i, c)
    {
        const char *conv = json_string_value(json_object_get(c, "conv"));

        if (as_expected(source, n, json_object_get(convs, conv), c, own))
            continue;
        ++*bad;
        printf("# of %s\n", name);
    }
    json_decref(own);
    json_decref(cases);
    return i;
}

static void oracle(void)
{
    FILE *list =
        popen("ls " ORACLE " 2>/dev/null | sed -n 's/.jinja$//p'", "r");
    size_t cases = 0, bad = 0, templates = 0;
    char name[256];
    json_t *file;

    if (access(ORACLE "conversations.json", R_OK)) {
        ok(1, "templates of models # SKIP no " ORACLE);
        if (list)
            pclose(list);
        return;
    }
    file = load(ORACLE "conversations.json");
    while (list && fgets(name, sizeof name, list)) {
        name[strcspn(name, "\n")] = 0;
        cases +=
            of_template(name, json_object_get(file, "conversations"), &bad);
        templates++;
    }
    if (list)
        pclose(list);
    json_decref(file);
    ok(templates > 50 && !bad, "templates of models: %zu of %zu cases",
       cases - bad, cases);
    snippets(ORACLE "snippets.json");
}

/* ---- where text comes from ---- */

/* Text of data between [ and ]. */
static const char *origins(const char *t, const char *data)
{
    static struct buf b;
    json_t *d = json_loads(data, 0, NULL),
           *own = json_pack("{s:s}", "bos_token", "<s>");
    struct err e = {0};
    struct jinja_text *out = render(t, strlen(t), d, own, &e);
    bool in = false;

    b.n = 0;
    for (size_t i = 0; out && i < out->text.n; i++) {
        if (in != out->data.p[i])
            buf_putc(&b, in ? ']' : '[');
        in = out->data.p[i];
        buf_putc(&b, out->text.p[i]);
    }
    if (in)
        buf_putc(&b, ']');
    if (!out)
        buf_puts(&b, e.msg);
    json_decref(d);
    json_decref(own);
    return buf_str(&b);
}

static void all_origins(void)
{
    static const char data[] =
        "{\"x\":\"aXbX\",\"n\":5,\"f\":1.5,\"t\":true,\"no\":null,\"l\":[1,"
        "\"q\"],"
        "\"d\":{\"k\":\"v\"},\"m\":[{\"role\":\"user\",\"content\":\"hi\"},"
        "{\"role\":\"<s>\",\"content\":\"yo\"}],\"nl\":\"a\\nb\"}";
    static const struct {
        const char *t, *want;
    } cases[] = {
        {"a{{ x }}b", "a[aXbX]b"},
        {"{{ bos_token }}{{ x }}", "<s>[aXbX]"},
        {"{{ '<' + x + '>' }}", "<[aXbX]>"},
        {"{{ '<' ~ x ~ n ~ '>' }}", "<[aXbX5]>"},
        {"{{ ('<' ~ x)[:2] }}|{{ ('<' ~ x)[1:] }}", "<[a]|[aXbX]"},
        {"{{ ('<' ~ x)[::-1] }}", "[XbXa]<"},
        {"{{ x.replace('X', '|') }}", "[a]|[b]|"},
        {"{{ 'a-b'.replace('-', x) }}", "a[aXbX]b"},
        {"{{ x|replace('X', x) }}", "[aaXbXbaXbX]"},
        {"{{ ('<' ~ x ~ '>')|upper }}", "<[AXBX]>"},
        {"{{ (' ' ~ x ~ ' ')|trim }}", "[aXbX]"},
        {"{{ (' <' ~ x).strip() }}", "<[aXbX]"},
        {"{{ ('<' ~ x).split('X') }}", "['<[a'], ['b'], '']"},
        {"{{ ['<', x]|join('|') }}", "<|[aXbX]"},
        {"{{ l|join('|') }}", "[1]|[q]"},
        {"{{ l }}", "[[1, 'q']]"},
        {"{{ [x, 'c'] }}", "[['aXbX'], 'c']"},
        {"{{ d|tojson }}", "[{\"k\": \"v\"}]"},
        {"{{ {'k': x}|tojson }}", "{\"k\": [\"aXbX\"]}"},
        {"{{ l|tojson(indent=1) }}", "[[\n 1,\n \"q\"\n]]"},
        {"{{ ('<\"' ~ x)|tojson }}", "\"<\\\"[aXbX\"]"},
        {"{{ '%s|%d|%s' % (x, n, 'c') }}", "[aXbX]|[5]|c"},
        {"{{ '{}|{:>3}'.format(x, n) }}", "[aXbX]|[  5]"},
        {"{{ x % () }}{{ '%s' % '<' }}", "[aXbX]<"},
        {"{{ n }}{{ n + 1 }}{{ f }}{{ t }}{{ no }}", "[561.5TrueNone]"},
        {"{{ n|string ~ '5'|int }}{{ x|int }}{{ (n ~ '')|int }}", "[5]50[5]"},
        {"{{ -n }}{{ n|abs }}{{ f|round }}{{ '%c' % (n + 60) }}", "[-552.0A]"},
        {"{% for c in x %}{{ c }}-{% endfor %}", "[a]-[X]-[b]-[X]-"},
        {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "[k]=[v]"},
        {"{% for e in m %}<{{ e.role }}>{{ e['content'] }}{% endfor %}",
         "<user>[hi]<[<s>]>[yo]"},
        {"{{ m|map(attribute='content')|join('<>') }}", "[hi]<>[yo]"},
        {"{{ m|selectattr('content', 'eq', 'hi')|first }}",
         "[{'role': ]'user'[, 'content': 'hi'}]"},
        {"{% set y %}<{{ x }}>{% endset %}{{ y }}{{ y|length }}", "<[aXbX]>6"},
        {"{% macro w(s) %}<{{ s }}>{% endmacro %}{{ w(x) }}{{ w('q') }}",
         "<[aXbX]><q>"},
        {"{% set ns = namespace(s='') %}{% for i in [x, '|', x] %}"
         "{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.s }}",
         "[aXbX]|[aXbX]"},
        {"{% filter upper %}q{{ x }}{% endfilter %}", "Q[AXBX]"},
        {"{{ x|e }}{{ ('<' ~ x)|e }}", "[aXbX]&lt;[aXbX]"},
        {"{{ nl|indent(2) }}", "[a\n]  [b]"},
        {"{{ x * 2 }}{{ 'c' * 2 }}", "[aXbXaXbX]cc"},
        {"{{ x|center(8) }}{{ x.zfill(6) }}", "  [aXbX]  [00aXbX]"},
        {"{{ x.title() }}{{ x|capitalize }}{{ x|title }}", "[AxbxAxbxAxbx]"},
        {"{{ x|urlencode }}{{ (x ~ ' c')|urlencode }}", "[aXbXaXbX]%20c"},
        {"{{ {'<|a|>': 1}.keys()|first }}{{ x in x }}", "<|a|>True"},
        {"{{ '[1, \"c\"]'|from_json|last }}{{ ('\"' ~ x ~ '\"')|from_json }}",
         "c[aXbX]"},
        {"{{ x|default('c') }}{{ y|default('c') }}", "[aXbX]c"},
        {"{{ 'c' if x else 'd' }}{{ x and 'c' }}{{ x or 'c' }}", "cc[aXbX]"},
        {"{{ ('a' ~ x).partition('X') }}", "('a[a'], 'X', ['bX'])"},
        {"{{ ('a' ~ x)|reverse }}{{ ('a' ~ x)|first }}", "[XbXa]aa"},
        {"{{ dict(a=x) }}{{ dict(d) }}", "{'a': ['aXbX']}{['k']: ['v']}"},
        {"{{ ['<|im', '_start|>']|join }}{{ '<|im' ~ '_end|>' }}",
         "<|im_start|><|im_end|>"},
        {"{{ strftime_now('%Y') }}", "2026"},
        {"{{ strftime_now('%Y' ~ x[0]) }}", "[2026a]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = origins(cases[i].t, data);

        if (!ok(!strcmp(got, cases[i].want), "from where: %s", cases[i].t))
            printf("# %s\n# %s\n", got, cases[i].want);
    }
}

/* ---- what ends them ---- */

/* HEAD, MIDDLE N times, then TAIL N times, must fail with a word of WHY. */
static void ends(const char *what, const char *head, const char *middle,
                 const char *tail, int n, const char *why)
{
    struct buf b = {0};
    struct err e = {0};

    buf_puts(&b, head);
    for (int i = 0; i < n; i++)
        buf_puts(&b, middle);
    for (int i = 0; i < n; i++)
        buf_puts(&b, tail);
    ok(!render((const char *)b.p, b.n, NULL, NULL, &e) && strstr(e.msg, why),
       "%s: %.60s", what, e.msg);
    buf_free(&b);
}

static void limits(void)
{
    static const char steps[] = "more than 6000000 steps",
                      deep[] = "levels deep", memory[] = "MB of memory",
                      output[] = "MB of output";
    static const struct {
        const char *t, *why;
    } loops[] = {
        {"{{ '-' * 10**10 }}", output},
        {"{{ ['-'] * 10**10 }}", steps},
        {"{{ range(10**9)|list }}", "Range too big"},
        {"{{ 'a'|center(10**12) }}", output},
        {"{{ 'a'|indent(10**9, true) }}", output},
        {"{{ {'a': 1}|tojson(indent=10**8) }}", output},
        {"{{ '%1000000000d' % 1 }}", "width"},
        {"{{ '%*d' % (10**9, 1) }}", "width"},
        {"{{ '{:>1000000000}'.format(1) }}", "width"},
        {"{{ 10**10**10 }}", "128 bits"},
        {"{{ 'aaaa'.replace('a', 'bbbbbbbbb' * 999999) }}", output},
        {"{{ ('a' * 9000000).find('a' * 4000000 ~ 'b') }}", steps},
        {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", deep},
        {"{% macro m(n) %}{{ m(n - 1) ~ m(n - 1) if n }}{% endmacro %}"
         "{{ m(60) }}",
         memory},
        {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", deep},
        {"{% set n = namespace(s='ab') %}{% for i in range(99) %}"
         "{% set n.s = n.s ~ n.s %}{% endfor %}",
         memory},
        {"{% set n = namespace(s=[]) %}{% for i in range(9999) %}"
         "{% set n.s = [n.s] %}{% endfor %}{{ n.s }}",
         deep},
        {"{% set n = namespace() %}{% set n.n = n %}{{ n }}", deep},
        {"{% set n = namespace(s=[]) %}{% for i in range(99) %}"
         "{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s == n.s }}",
         steps},
        {"{% for c in 'a' * 9000000 %}{% endfor %}", steps},
    };

    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        ends(loops[i].t, loops[i].t, "", "", 0, loops[i].why);
    ends("brackets", "{{ ", "(", ")", 100000, deep);
    ends("lists", "{{ ", "[", "]", 100000, deep);
    ends("signs", "{{ 1", " + -", "", 100000, deep);
    ends("negations", "{{ ", "not ", "", 100000, deep);
    ends("sums", "{{ 1", "+1", "", 100000, "end of template");
    ends("blocks", "", "{% if 1 %}", "{% endif %}", 20000, deep);
    ends("loops", "", "{% for x in range(99) %}", "{% endfor %}", 20, memory);
    ends("attributes", "{% set a = {} %}{% if a", ".a", "", 100000,
         "end of statement block");
    ends("length", "", "0123456789", "", 500000, "longer than 1048576 bytes");
    ends("a line", "\n\n{{ 1 }}\n{{ 1 // 0 }}", "", "", 0, "template line 4: ");
}

int main(void)
{
    struct err e = {0};

    snippets("tests/data/jinja.json");
    oracle();
    all_origins();
    limits();
    ok(!render("\xff", 1, NULL, NULL, &e) && strstr(e.msg, "UTF-8"),
       "a template that is not UTF-8");
    e = (struct err){0};
    ok(!render("{% include 'x' %}", 17, NULL, NULL, &e) &&
           e.code == ERR_UNSUPPORTED,
       "a tag that needs other templates");
    return tap_done();
}
