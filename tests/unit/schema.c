/* SPDX-License-Identifier: MIT
 *
 * JSON Schemas as grammars: what they take, and what is refused, and how.  The
 * public suite and random schemas are in tests/schema.bats. */
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar.h"
#include "tests/unit/tap.h"

static struct grammar *g;
static struct err e;

static bool compile(const char *schema, size_t n)
{
    grammar_free(g);
    g = NULL;
    e = (struct err){0};
    return !grammar_schema(&g, schema, n, NULL, &e);
}

static bool takes(const char *text)
{
    uint32_t s = grammar_bytes(g, grammar_start(g), text, strlen(text));

    return s != GRAMMAR_DEAD && s != GRAMMAR_FULL && grammar_ends(g, s);
}

/* SCHEMA takes the texts up to a NULL, and none of those behind it, up to
 * another. */
static void check(const char *schema, const char *const *text)
{
    bool good = compile(schema, strlen(schema));
    const char *why = good ? "" : e.msg;

    for (bool want = true; good; text++) {
        if (!*text && !want)
            break;
        if (!*text) {
            want = false;
        } else if (takes(*text) != want) {
            good = false;
            why = *text;
        }
    }
    ok(good, "%s: %s", schema, why);
}
#define CHECK(schema, ...)                                                     \
    check(schema, (const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *schema, enum err_code code, const char *word)
{
    bool made = compile(schema, strlen(schema));

    ok(!made && e.code == code && strstr(e.msg, word) && !strchr(e.msg, '\n'),
       "%.60s: %s", schema, e.msg);
}

/* Cases J02 to J09 of the field. */
static void patterns(void)
{
    CHECK("{\"type\":\"string\",\"pattern\":\"^\\\\d+$\"}", "\"12\"", NULL,
          "\"a\"", "\"\"", "12");
    CHECK("{\"type\":\"string\",\"pattern\":\"^[\\\\d]\\\\w\\\\s$\"}",
          "\"1_ \"", "\"1a\\t\"", NULL, "\"1a\"", "\"aa \"");
    CHECK("{\"type\":\"string\",\"pattern\":\"^a\\\\/b$\"}", "\"a/b\"", NULL,
          "\"ab\"");
    CHECK("{\"type\":\"string\",\"pattern\":\"\\\\S\"}", "\" x \"", NULL,
          "\" \"", "\"\"");
    CHECK("{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"object\","
          "\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}"
          "}}}}",
          "{\"o\":{\"s\":\"abc\"}}", "{}", NULL, "{\"o\":{\"s\":\"A\"}}",
          "{\"o\":{\"s\":1}}");
    CHECK("{\"type\":\"object\",\"properties\":{}}", "{}", "{ \"a\" : 1 }",
          NULL, "{\"a\"}", "[]");
    CHECK("{\"type\":\"string\",\"pattern\":\"^hello there indeed!$\"}",
          "\"hello there indeed!\"", NULL, "\"hello there indeed\"");
    refused("{\"pattern\":\"^hello there indeed\\\\!$\"}", ERR_FORMAT,
            "/pattern");
    CHECK("{\"type\":\"string\",\"maxLength\":2}", "\"\\n\\\"\"",
          "\"\\ud83d\\ude00x\"", "\"\xf0\x9f\x98\x80x\"", "\"\\u0041b\"", NULL,
          "\"\\n\\n\\n\"", "\"\\ud83d\"", "\"abc\"");
    CHECK("{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"string\","
          "\"maxLength\":65536}}}",
          "{\"o\":\"x\"}", NULL, "{\"o\":1}");
}

static void numbers(void)
{
    CHECK("{\"type\":\"integer\"}", "0", "-0", "-12", "1.0", "1e+22", NULL,
          "1.5", "01", "1e-05", "\"1\"");
    CHECK("{\"type\":\"integer\",\"minimum\":-3,\"maximum\":12}", "-3", "0",
          "12", "12.0", "-3.0", NULL, "-4", "13", "120", "1e+22");
    CHECK("{\"exclusiveMinimum\":0.3,\"maximum\":1e2}", "0.30000000000000004",
          "1", "100.0", NULL, "1e-05", "0.3", "0.30000000000000001", "101");
    CHECK("{\"type\":\"number\",\"minimum\":9007199254740993}",
          "9007199254740993", "9007199254740994.0", "1e+16", NULL,
          "9007199254740992", "9007199254740993.0");
    CHECK("{\"type\":\"number\",\"multipleOf\":0.01}", "0.07", "19.99", "3",
          "-1.5", NULL, "0.075", "1e-05");
    CHECK("{\"type\":\"integer\",\"multipleOf\":7}", "0", "-14", "700", "7.0",
          NULL, "8", "71");
    CHECK("{\"const\":2}", "2", "2.0", NULL, "3", "2.5", "20");
    CHECK("{\"enum\":[1e-7,10000000000000000]}", "1e-07", "1e-7", "0.0000001",
          "10000000000000000", "1e+16", NULL, "1e-08", "1");
    CHECK("{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}", "0.5",
          "1e-07", NULL, "1", "1.0", "1.00000000000000000001");
    refused("{\"type\":\"integer\",\"multipleOf\":999983}", ERR_UNSUPPORTED,
            "/multipleOf");
    refused("{\"multipleOf\":0}", ERR_FORMAT, "/multipleOf");
    refused("{\"minimum\":\"1\"}", ERR_FORMAT, "/minimum");
}

static void objects(void)
{
    CHECK("{\"properties\":{\"\xc3\xa9\":{\"const\":1}},\"required\":[\"\xc3"
          "\xa9\"],\"type\":\"object\"}",
          "{\"\xc3\xa9\":1}", "{\"\\u00e9\":1}", "{\"x\":{},\"\xc3\xa9\":1}",
          NULL, "{\"\\u00e9\":2}", "{}", "{\"\xc3\xa9\":1,\"\\u00e9\":1}");
    CHECK("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},"
          "\"b\":{\"type\":\"boolean\"}},\"additionalProperties\":false}",
          "{\"b\":true,\"a\":null}", "{ \"a\" :\tnull }", NULL,
          "{\"a\":null,\"a\":null}", "{\"c\":1}", "{\"a\":null,}");
    CHECK("{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":"
          "\"integer\"}},\"propertyNames\":{\"maxLength\":2},"
          "\"maxProperties\":2}",
          "{\"x1\":1,\"y\":\"s\"}", NULL, "{\"x\":\"s\"}", "{\"abc\":1}",
          "{\"a\":1,\"b\":1,\"c\":1}");
    CHECK("{\"type\":\"object\",\"dependentRequired\":{\"a\":[\"b\"]},"
          "\"if\":{\"required\":[\"b\"]},\"then\":{\"properties\":{\"b\":{"
          "\"const\":1}}},\"else\":{\"maxProperties\":0}}",
          "{}", "{\"b\":1,\"a\":2}", NULL, "{\"a\":1}", "{\"b\":2}",
          "{\"c\":2}");
    CHECK("{\"anyOf\":[{\"properties\":{\"a\":{\"const\":1}},\"required\":["
          "\"a\"]},{\"properties\":{\"b\":true}}],\"type\":\"object\","
          "\"unevaluatedProperties\":false}",
          "{\"a\":1,\"b\":2}", "{\"b\":2}", "{}", NULL, "{\"a\":2,\"b\":1}",
          "{\"c\":1}");
    CHECK("{\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"l\":{"
          "\"$ref\":\"#/$defs/t\"},\"r\":{\"$ref\":\"#/$defs/t\"}},"
          "\"additionalProperties\":false}},\"$ref\":\"#/$defs/t\"}",
          "{\"l\":{\"r\":{}},\"r\":{}}", NULL, "{\"l\":{\"x\":{}}}");
    CHECK("{\"properties\":{\"a\":false},\"type\":\"object\"}", "{\"b\":1}",
          NULL, "{\"a\":1}");
    refused("{\"type\":\"object\",\"minProperties\":3}", ERR_UNSUPPORTED,
            "minProperties");
}

static void arrays(void)
{
    CHECK("{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],"
          "\"items\":{\"const\":3},\"minItems\":1,\"maxItems\":4}",
          "[1]", "[1,2]", "[1, 2, 3,3]", NULL, "[]", "[2]", "[1,2,3,3,3]",
          "[1,2,2]");
    CHECK("{\"type\":\"array\",\"contains\":{\"const\":0},\"minContains\":2,"
          "\"maxContains\":3,\"items\":{\"type\":\"integer\"}}",
          "[0,0]", "[1,0,2,0,3]", "[0,0,0]", NULL, "[0]", "[0,0,0,0]",
          "[0,0,null]");
    CHECK("{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,"
          "\"a\",null]}}",
          "[]", "[null,1,\"a\"]", NULL, "[1,1]", "[1,1.0]", "[2]");
    CHECK("{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":"
          "\"integer\",\"minimum\":1,\"maximum\":3}}",
          "[3,1,2]", NULL, "[3,3]", "[4]");
    CHECK("{\"type\":\"array\",\"uniqueItems\":true,\"maxItems\":1}",
          "[{\"a\":[]}]", NULL, "[1,2]");
    refused("{\"type\":\"array\",\"uniqueItems\":true}", ERR_UNSUPPORTED,
            "/uniqueItems");
}

static void values(void)
{
    CHECK("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "1", "2.5",
          "\"a\"", NULL, "3", "1.5");
    CHECK("{\"not\":{\"enum\":[null,true,\"a\",[1],{\"b\":1}]}}", "false",
          "\"b\"", "[2]", "[]", "{\"b\":2}", "{\"b\":1,\"c\":1}", NULL, "null",
          "true", "\"a\"", "\"\\u0061\"", "[1]", "[1.0]", "{\"b\":1}");
    CHECK("{\"const\":{\"k\":[true,null],\"s\":\"\\u00e9\\n\"}}",
          "{\"s\":\"\\u00e9\\n\",\"k\":[true, null]}",
          "{\"k\":[true,null],\"s\":\"\xc3\xa9\\n\"}", NULL,
          "{\"k\":[true,null]}", "{\"k\":[null,true],\"s\":\"\\u00e9\\n\"}");
    CHECK("{\"type\":[\"string\",\"null\"],\"format\":\"date\"}",
          "\"2024-02-29\"", "null", NULL, "\"2023-02-29\"", "\"x\"");
    CHECK("true", "{\"a\":[1,{\"b\":null}],\"c\":\"\\\"\"}", "[]", NULL, "",
          "[1,]", "{1:2}", "nul");
    refused("false", ERR_FORMAT, "no value");
    refused("{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}", ERR_FORMAT,
            "no value");
    refused("{\"type\":\"str\"}", ERR_FORMAT, "/type");
    refused("{\"properties\":{\"a\":{\"x-y/z\":1}},\"type\":\"object\"}",
            ERR_UNSUPPORTED, "/properties/a/x-y~1z: not a known keyword");
    refused("{\"format\":\"regex\"}", ERR_UNSUPPORTED, "/format");
    refused("{\"$ref\":\"https://example.org/s\"}", ERR_UNSUPPORTED, "/$ref");
    refused("{\"$ref\":\"#/$defs/a\"}", ERR_FORMAT, "/$ref");
    refused("{\"$ref\":\"#\"}", ERR_FORMAT, "refers to itself");
    refused("{\"$dynamicRef\":\"#a\"}", ERR_UNSUPPORTED, "/$dynamicRef");
    refused("{\"type\":1,\"type\":2}", ERR_FORMAT, "line 1");
    refused("{\"pattern\":\"(a)\\\\1\"}", ERR_UNSUPPORTED, "/pattern");
    refused("{\"pattern\":\"(\"}", ERR_FORMAT, "/pattern");
    refused("", ERR_FORMAT, "line 1");
    refused("{\"type\":\"object\"", ERR_FORMAT, "line 1");
    refused("7", ERR_FORMAT, "not a schema");
}

/* TIMES times BEFORE, MIDDLE, and as often AFTER: an end without a crash, and
 * where that is a failure one line. */
static void hostile(const char *before, const char *middle, const char *after,
                    size_t times)
{
    struct buf b = {0};
    bool made;

    for (size_t i = 0; i < times; i++)
        buf_puts(&b, before);
    buf_puts(&b, middle);
    for (size_t i = 0; i < times; i++)
        buf_puts(&b, after);
    made = compile((char *)b.p, b.n);
    ok(!b.bad && (made ? !e.code : e.code && *e.msg && !strchr(e.msg, '\n')),
       "%zu times %.30s: %s", times, before, e.msg);
    buf_free(&b);
}

/* BEFORE, ITEM with numbers from 0 on, with commas between, and AFTER. */
static void many(const char *before, const char *item, const char *after,
                 unsigned n)
{
    struct buf b = {0};
    bool made;

    buf_puts(&b, before);
    for (unsigned i = 0; i < n; i++)
        for (const char *p = item - 1; *++p;)
            if (*p == '@')
                buf_printf(&b, "%u", i);
            else if (*p != '^' || i)
                buf_putc(&b, *p == '^' ? ',' : *p);
    buf_puts(&b, after);
    made = compile((char *)b.p, b.n);
    ok(!b.bad && (made ? !e.code : e.code && *e.msg && !strchr(e.msg, '\n')),
       "%u times %.30s: %s", n, item, e.msg);
    buf_free(&b);
}

static void much(void)
{
    static const char *const nested[] = {
        "{\"not\":",      "{\"items\":",         "{\"additionalProperties\":",
        "{\"contains\":", "{\"propertyNames\":", "{\"if\":"};

    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        hostile(nested[i], "true", "}", 60);
        hostile(nested[i], "true", "}", 100000);
    }
    hostile("{\"oneOf\":[{\"minimum\":2},", "true", "]}", 30);
    hostile("{\"oneOf\":[{\"required\":[\"a\"]},", "true", "]}", 30);
    hostile("[", "", "]", 1000000);
    many("{\"enum\":[", "^\"s@\"", "]}", 100000);
    many("{\"enum\":[", "^@", "]}", 400000);
    many("{\"not\":{\"enum\":[", "^\"s@\"", "]}}", 3000);
    many("{\"type\":\"object\",\"properties\":{", "^\"p@\":{\"minimum\":@}",
         "}}", 30000);
    many("{\"type\":\"object\",\"allOf\":[",
         "^{\"anyOf\":[{\"required\":[\"a@\"]},{\"required\":[\"b@\"]}]}", "]}",
         40);
    many("{\"oneOf\":[", "^{\"required\":[\"a@\"]}", "]}", 300);
    many("{\"type\":\"object\",\"patternProperties\":{",
         "^\"[a-c]{@}$\":{\"minimum\":@}", "}}", 15);
    many("{\"$defs\":{", "^\"d@\":{\"items\":{\"$ref\":\"#/$defs/d1\"}}",
         "},\"$ref\":\"#/$defs/d0\"}", 1000);
    many("{\"type\":\"string\",\"allOf\":[",
         "^{\"pattern\":\"(x|y)*x(x|y){@}$\"}", "]}", 30);
}

int main(void)
{
    patterns();
    numbers();
    objects();
    arrays();
    values();
    much();
    grammar_free(g);
    return tap_done();
}
