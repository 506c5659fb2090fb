/* SPDX-License-Identifier: MIT
 * wire.c - the stream: both forms, what passes through, what is refused. */
#include "wire/wire.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

/* The bytes of llm-stream(5)'s example. */
static const char hello[] =
    "\xd9\xd9\xf7\xa3\x62"
    "by\x6atok-encode\x63llm\x01\x65model\xa1\x64path\x66m.gguf"
    "\xa4\x61s\0\x61t\x66tokens\x63ids\xd8\x46\x48\x64\x4c\0\0\x89\x03\0\0"
    "\x64text\x45Hello"
    "\xa4\x61s\0\x61t\x63"
    "end\x63why\x65input\x65usage\xa1\x66tokens\x02";
enum { HELLO = sizeof hello - 1 };

static FILE *scratch[2];

static int emptied(int i)
{
    int fd = fileno(scratch[i]);

    if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        exit(9);
    return fd;
}

/* A descriptor that has P[N] to read. */
static int holding(const void *p, size_t n)
{
    int fd = emptied(0);

    if (write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
        exit(9);
    return fd;
}

static void slurp(struct buf *to, int fd)
{
    size_t n = (size_t)lseek(fd, 0, SEEK_END);

    to->n = 0;
    lseek(fd, 0, SEEK_SET);
    if (read(fd, buf_add(to, n), n) != (ssize_t)n)
        exit(9);
}

/* Copy the stream on FD to OUT as FORMAT: the number of records, or -1. */
static int copy_fd(struct buf *out, int fd, enum wire_format format,
                   struct err *e)
{
    int to = emptied(1), n = 0, got;
    struct wire_out *w;
    struct wire_in *in;
    struct wire_rec r;

    *e = (struct err){0};
    if (wire_in_open(&in, fd, "in", e) || wire_out_open(&w, to, format, e))
        exit(9);
    while ((got = wire_next(in, &r, e)) > 0 && !wire_put(w, &r, e))
        n++;
    wire_in_close(in);
    wire_out_close(w, e);
    slurp(out, to);
    return got || e->code ? -1 : n;
}

static int copy(struct buf *out, const void *p, size_t n,
                enum wire_format format, struct err *e)
{
    return copy_fd(out, holding(p, n), format, e);
}

static bool same(const struct buf *b, const void *p, size_t n)
{
    return b->n == n && !memcmp(b->p, p, n);
}

/* The one record P[N]; *in keeps it alive. */
static int one(struct wire_in **in, struct wire_rec *r, const void *p, size_t n,
               struct err *e)
{
    *e = (struct err){0};
    if (wire_in_open(in, holding(p, n), "in", e))
        exit(9);
    return wire_next(*in, r, e);
}
#define ONE(in, r, s, e) one(in, r, s, sizeof(s) - 1, e)

static void test_bytes(void)
{
    static const uint32_t ids[] = {19556, 905};
    struct err e = {0};
    struct wire_out *w;
    struct buf b = {0};
    int fd = emptied(1);

    wire_out_open(&w, fd, WIRE_CBOR, &e);
    wire_put_header(
        w, &(struct wire_header){.by = "tok-encode", .path = "m.gguf"}, &e);
    wire_put_tokens(
        w,
        &(struct wire_tokens){.ids = ids, .n = 2, .text = "Hello", .ntext = 5},
        &e);
    wire_put_end(w, &(struct wire_end){.why = "input", .ntokens = 2}, &e);
    ok(!wire_out_close(w, &e), "three records written");
    slurp(&b, fd);
    ok(same(&b, hello, HELLO), "they are the bytes of llm-stream(5)");
    buf_free(&b);
}

static void test_forms(void)
{
    static const char all[] =
        "{\"by\":\"x\",\"llm\":1,\"model\":{\"id\":\"0f\",\"new\":[1,2.5]}}\n"
        "{\"t\":\"set\",\"s\":3,\"n\":-9223372036854775808,\"64\":\"x\",\"id\":"
        "{"
        "\"a\":null,\"b\":[true,false,[],{}]},\"id64\":\"x\",\"temp\":0.7}\n"
        "{\"t\":\"tokens\",\"s\":3,\"lp\":[-0.1,\"-Infinity\",\"NaN\"],"
        "\"ids\":[0,4294967295,7],\"text\":\"h\\u00e9\\u0000\\\"\\\\\\n\"}\n"
        "{\"t\":\"tokens\",\"s\":9223372036854775807,\"ids\":[],"
        "\"text64\":\"/w==\"}\n"
        "{\"t\":\"logits\",\"s\":3,\"v\":[1.0,-2.5,1e-30],\"pos\":12}\n"
        "{\"t\":\"later\",\"s\":1,\"k\":1.0,\"big\":1e+300,\"int\":"
        "9007199254740993,\"blob64\":\"AAEC\"}\n"
        "{\"t\":\"end\",\"s\":3,\"why\":\"stop\",\"stop64\":\"/w==\","
        "\"time\":{\"first\":0.25},\"usage\":{\"tokens\":3}}\n"
        "{\"t\":\"error\",\"msg\":\"m\",\"code\":\"io\"}\n";
    struct buf cbor = {0}, json = {0}, again = {0};
    char *plain = strdup(all), *p = strstr(plain, "\\u00e9");
    struct err e;

    memmove(p + 2, p + 6, strlen(p + 6) + 1);
    memcpy(p, "\xc3\xa9", 2);
    ok(copy(&cbor, all, sizeof all - 1, WIRE_CBOR, &e) == 8, "JSON to CBOR%s",
       e.msg);
    ok(!memcmp(cbor.p, "\xd9\xd9\xf7\xa3\x62", 5), "a header gets its tag");
    ok(copy(&json, cbor.p, cbor.n, WIRE_JSON, &e) == 8, "CBOR to JSON");
    ok(same(&json, plain, strlen(plain)), "which is the same JSON");
    ok(copy(&again, json.p, json.n, WIRE_CBOR, &e) == 8, "and to CBOR");
    ok(same(&again, cbor.p, cbor.n), "which is the same CBOR");
    ok(copy(&json, cbor.p, cbor.n, WIRE_CBOR, &e) == 8 &&
           same(&json, cbor.p, cbor.n),
       "CBOR to CBOR is the same");
    buf_put(&again, plain, strlen(plain));
    buf_put(&again, cbor.p, cbor.n);
    ok(copy(&json, again.p, again.n, WIRE_CBOR, &e) == 24 &&
           json.n == 3 * cbor.n,
       "forms may change within an input");
    free(plain);
    buf_free(&cbor);
    buf_free(&json);
    buf_free(&again);
}

/* Not deterministic, with tags, simple values and chunks: byte for byte. */
static void test_through(void)
{
    static const char odd[] =
        "\xbf\x61x\x1b\0\0\0\0\0\0\0\1\x61t\x7f\x62la\x63ter\xff\x61y\x9f\x01"
        "\xf8\xff\xf7\xe0\xff\x61z\xc6\xa1\x61q\x5f\x41\x00\x42\x01\x02\xff\x61"
        "w\xfb\x3f\xf0\0\0\0\0\0\0\xff"
        "\xa3\x61t\x66tokens\x63new\x82\x01\xf6\x63ids\x82\x01\x19\x01\x00";
    struct buf b = {0};
    struct err e;

    ok(copy(&b, odd, sizeof odd - 1, WIRE_CBOR, &e) == 2 &&
           same(&b, odd, sizeof odd - 1),
       "what is not known passes unchanged %s", e.msg);
    ok(copy(&b, odd, sizeof odd - 1, WIRE_JSON, &e) == 2 &&
           !strcmp(buf_str(&b), "{\"t\":\"later\",\"x\":1,\"y\":[1,null,null,"
                                "null],\"z\":{\"q64\":\"AAEC\"},\"w\":1.0}\n"
                                "{\"t\":\"tokens\",\"new\":[1,null],"
                                "\"ids\":[1,256]}\n"),
       "and as JSON");
    buf_free(&b);
}

static void test_arrays(void)
{
    struct wire_in *in;
    struct wire_rec r;
    struct err e;

    ok(ONE(&in, &r,
           "\xbf\x61t\x66tokens\x63ids\x9f\x01\x1a\xff\xff\xff\xff\xff\x64text"
           "\x5f\x41"
           "a\x42"
           "bc\xff\x62lp\x82\xfb\x3f\xf0\0\0\0\0\0\0\x20\xff",
           &e) > 0 &&
           r.tokens.n == 2 && r.tokens.ids[1] == UINT32_MAX &&
           r.tokens.ntext == 3 && !memcmp(r.tokens.text, "abc", 3) &&
           r.tokens.lp[0] == 1 && r.tokens.lp[1] == -1,
       "plain arrays, and strings in chunks %s", e.msg);
    wire_in_close(in);
    for (int pad = 0; pad < 4; pad++) {
        char s[] =
            "\xa4\x61t\x66tokens\x63ids\xd8\x46\x48\1\0\0\0\2\0\0\0\x62lp"
            "\xd8\x54\x44\0\x3c\0\xfc\x64"
            "text\x60    ";
        size_t n = sizeof s - 5;

        s[n - 1] = (char)(0x60 + pad);
        ok(one(&in, &r, s, n + (size_t)pad, &e) > 0 && r.tokens.n == 2 &&
               (uintptr_t)r.tokens.ids % 4 == 0 && r.tokens.ids[1] == 2 &&
               r.tokens.lp[0] == 1 && r.tokens.lp[1] == -INFINITY &&
               r.tokens.ntext == (size_t)pad && r.tokens.text,
           "typed arrays, floats of 16 bits %s", e.msg);
        wire_in_close(in);
    }
    ok(ONE(&in, &r, "\xa2\x61t\x66tokens\x63ids\xd8\x45\x44\1\0\xff\xff", &e) >
               0 &&
           r.tokens.ids[1] == 0xffff && !r.tokens.text && !r.tokens.lp,
       "typed arrays of another width %s", e.msg);
    wire_in_close(in);
    ok(ONE(&in, &r, "\xa2\x61t\x66logits\x61v\xd8\x48\x42\xff\x02", &e) > 0 &&
           r.logits.n == 2 && r.logits.v[0] == -1,
       "integers as floats %s", e.msg);
    wire_in_close(in);
}

/* Where a tag is skipped and where not: llm-stream(5). */
static bool holds(const void *p, size_t n, const char *what)
{
    size_t len = strlen(what);

    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp((const char *)p + i, what, len))
            return true;
    return false;
}

/* Vectors: each type out, in, through JSON and back. */
static void test_vectors(void)
{
    static const float f[4] = {0.5f, -1, 3.25f, 1e-3f};
    static const uint16_t h[4] = {0x3800, 0xbc00, 0x4280, 0x1419};
    static const int8_t b[4] = {127, -128, 0, 5};
    static const float halves[4] = {0.5f, -1, 3.25f, 0x1.064p-10f},
                       bytes[4] = {127, -128, 0, 5};
    static const struct {
        enum wire_numbers type;
        const void *v;
        const float *want;
        const char *tag, *json;
    } all[] = {{WIRE_F32, f, f, "\xd8\x55\x50", "[0.5,-1.0,3.25,0.001]"},
               {WIRE_F16, h, halves, "\xd8\x54\x48", "[0.5,-1.0,3.25,"},
               {WIRE_INT8, b, bytes, "\xd8\x48\x44", "[127,-128,0,5]"}};
    json_t *id = json_pack("[i]", 7);

    for (size_t i = 0; i < 3; i++) {
        struct wire_embedding r = {.seq = 3,
                                   .pos = 9,
                                   .has_pos = true,
                                   .has_score = true,
                                   .type = all[i].type,
                                   .v = all[i].v,
                                   .n = 4,
                                   .scale = 0.25,
                                   .score = -2,
                                   .id = id},
                              got;
        struct buf cbor = {0}, json = {0}, back = {0};
        struct err e = {0};
        struct wire_out *w;
        struct wire_in *in;
        struct wire_rec rec;
        int fd = emptied(1), bad;

        bad = wire_out_open(&w, fd, WIRE_CBOR, &e) ||
              wire_put_embedding(w, &r, &e) || wire_out_close(w, &e);
        slurp(&cbor, fd);
        ok(!bad && holds(cbor.p, cbor.n, all[i].tag), "vector %zu %s", i,
           e.msg);
        bad = wire_in_open(&in, holding(cbor.p, cbor.n), "in", &e) ||
              wire_next(in, &rec, &e) != 1 || rec.kind != WIRE_OTHER ||
              wire_get_embedding(&got, &rec, &e);
        ok(!bad && got.n == 4 && !memcmp(got.v, all[i].want, 16) &&
               got.seq == 3 && got.has_pos && got.pos == 9 && got.has_score &&
               got.score == -2 && got.scale == (i == 2 ? 0.25 : 1),
           "vector %zu is read %s", i, e.msg);
        wire_in_close(in);
        bad = copy_fd(&json, holding(cbor.p, cbor.n), WIRE_JSON, &e) != 1;
        ok(!bad && strstr(buf_str(&json), all[i].json) &&
               strstr(buf_str(&json), "\"id\":[7]"),
           "vector %zu as JSON %s", i, e.msg);
        /* Halves come back as floats: no number is lost. */
        ok(copy_fd(&back, holding(json.p, json.n), WIRE_CBOR, &e) == 1 &&
               holds(back.p, back.n, all[i == 1 ? 0 : i].tag) &&
               (i == 1) == (back.n != cbor.n),
           "vector %zu from JSON", i);
        buf_free(&cbor);
        buf_free(&json);
        buf_free(&back);
    }
    json_decref(id);
}

static void test_tags(void)
{
    struct wire_in *in;
    struct wire_rec r;
    struct err e;

    ok(ONE(&in, &r,
           "\xd9\xd9\xf7\xa5\x61t\xd9\x03\xe8\x66tokens\x63ids\xd9\x03\xe8"
           "\xd9\xd9\xf7\xd8\x46\x44\1\0\0\0\x61s\xc1\x07\x61x\xa1\x61y"
           "\xd8\x46\x01\x64text\xc1\xf6",
           &e) > 0 &&
           r.kind == WIRE_TOKENS && r.tokens.n == 1 && r.tokens.ids[0] == 1 &&
           r.seq == 7 && !r.tokens.text,
       "tags before values, and anywhere under unknown keys %s", e.msg);
    wire_in_close(in);
#define NOT(what, s)                                                           \
    ok(ONE(&in, &r, s, &e) < 0 && e.code == ERR_FORMAT, what ": %s", e.msg);   \
    wire_in_close(in)
    NOT("a tag before a record", "\xd9\x03\xe8\xa1\x61t\x61x");
    NOT("two before a header", "\xd9\xd9\xf7\xd9\x03\xe8\xa1\x63llm\x01");
    NOT("55799 twice", "\xd9\xd9\xf7\xd9\xd9\xf7\xa1\x63llm\x01");
    NOT("55799 in more bytes", "\xda\0\0\xd9\xf7\xa1\x63llm\x01");
    NOT("a tag before a key", "\xa2\x61t\x61x\x61y\xa1\xc1\x61z\x01");
    NOT("a tag before an element",
        "\xa2\x61t\x66tokens\x63ids\x81\xd9\x07\xd0\x01");
    NOT("a tag within a typed array",
        "\xa2\x61t\x66tokens\x63ids\xd8\x46\xd9\x13\x88\x44\1\0\0\0");
    NOT("a typed array's tag before an integer",
        "\xa2\x61t\x61x\x61s\xd8\x46\x01");
#undef NOT
}

static void test_values(void)
{
    static const char rec[] =
        "{\"t\":\"set\",\"s\":5,\"id\":[1,\"x\"],\"temp\":2,\"n\":-7,\"yes\":"
        "true,\"stop\":\"a\\u0000b\",\"big\":9223372036854775807,\"no\":null}";
    struct buf b = {0};
    struct wire_in *in;
    struct wire_rec r;
    const char *s;
    int64_t i = 0;
    double f = 0;
    bool yes = false;
    size_t n;
    struct err e;

    ok(ONE(&in, &r, rec, &e) > 0 && r.kind == WIRE_SET && r.seq == 5 &&
           r.has_seq && !strcmp(r.t, "set"),
       "a set record");
    ok(wire_get_int(&i, &r, "n", -10, 0, &e) == 1 && i == -7, "an integer");
    ok(wire_get_int(&i, &r, "big", 0, INT64_MAX, &e) == 1 && i == INT64_MAX,
       "the largest integer");
    ok(wire_get_float(&f, &r, "temp", &e) == 1 && f == 2, "a number");
    ok(wire_get_bool(&yes, &r, "yes", &e) == 1 && yes, "true");
    ok(wire_get_str(&s, &n, &r, "stop", &e) == 1 && n == 3 &&
           !memcmp(s, "a\0b", 3),
       "a string with a NUL");
    ok(wire_get_json(&b, &r, "id", &e) == 1 &&
           !strcmp(buf_str(&b), "[1,\"x\"]"),
       "a value as JSON");
    ok(wire_get_int(&i, &r, "none", 0, 1, &e) == 0 &&
           wire_get_int(&i, &r, "no", 0, 1, &e) == 0 && !e.code,
       "absent, and null");
    ok(wire_get_int(&i, &r, "n", 0, 5, &e) == -1 &&
           !strcmp(e.msg, "n is not within 0 and 5"),
       "out of range: %s", e.msg);
    e = (struct err){0};
    ok(wire_get_int(&i, &r, "temp", 0, 5, &e) == 1 &&
           wire_get_bool(&yes, &r, "temp", &e) == -1 && e.code == ERR_FORMAT,
       "another type: %s", e.msg);
    wire_in_close(in);
    buf_free(&b);
}

/* SAY: what the message must end with. */
static void refused(const char *what, const void *p, size_t n, int code,
                    const char *say)
{
    struct rusage before, after;
    struct buf b = {0};
    struct err e;
    size_t len;

    getrusage(RUSAGE_SELF, &before);
    copy(&b, p, n, WIRE_JSON, &e);
    getrusage(RUSAGE_SELF, &after);
    len = strlen(e.msg);
    ok((int)e.code == code && len >= strlen(say) &&
           !strcmp(e.msg + len - strlen(say), say),
       "%s: %s", what, e.msg);
    if (after.ru_maxrss - before.ru_maxrss > 32 << 10)
        ok(0, "%s took %ld KB", what, after.ru_maxrss - before.ru_maxrss);
    buf_free(&b);
}
#define REFUSED(what, s, say)                                                  \
    refused(what, s, sizeof(s) - 1, ERR_FORMAT, "in: " say)

static void test_refused(void)
{
    REFUSED("empty", "", "empty: not even a header");
    REFUSED("white space", " \n", "empty: not even a header");
    REFUSED("text", "once upon a time\n",
            "text, not a token stream (tok-encode makes one of it)");
    REFUSED("text", "\xc3\x89t\xc3\xa9\n",
            "text, not a token stream (tok-encode makes one of it)");
    REFUSED("a model", "GGUF\3\0\0\0", "a model, not a token stream");
    REFUSED("bytes", "\x7f\x45LF\x02", "not a token stream");
    REFUSED("nothing of ours", "{\"a\":1}",
            "record 1: neither t nor llm: not a record");
    REFUSED("second record", "{\"t\":\"x\"}\nfoo",
            "record 2: begins with byte 0x66");
    refused("version", "{\"llm\":2}", 9, ERR_UNSUPPORTED,
            "version 2 of the stream; this program reads 1");
    REFUSED("an id too large", "{\"t\":\"tokens\",\"ids\":[1,4294967296]}",
            "record 1: ids[1] is not a token id");
    REFUSED("an id in CBOR", "\xa2\x61t\x66tokens\x63ids\x81\x20",
            "record 1: ids[0] is not a token id");
    REFUSED("no ids", "{\"t\":\"tokens\"}", "record 1: tokens without ids");
    REFUSED("lp", "{\"t\":\"tokens\",\"ids\":[1],\"lp\":[]}",
            "record 1: 0 lp for 1 ids");
    REFUSED("a cut array", "\xa2\x61t\x66tokens\x63ids\xd8\x46\x43   ",
            "record 1: ids is cut: 3 bytes");
    REFUSED("base64", "{\"t\":\"tokens\",\"ids\":[1],\"text64\":\"a=b=\"}",
            "record 1: text64 is not base64");
    REFUSED("sequence", "{\"t\":\"tokens\",\"s\":-1,\"ids\":[1]}",
            "record 1: s is not an integer of 0 or more");
    REFUSED("no why", "{\"t\":\"end\"}", "record 1: end without why");
    REFUSED("a NUL", "{\"t\":\"end\",\"why\":\"a\\u0000\"}",
            "record 1: why has a NUL");
    REFUSED("twice", "\xa2\x61t\x61x\x61t\x61x", "record 1: key 't' twice");
    REFUSED("twice in JSON", "{\"t\":\"x\",\"t\":\"y\"}",
            "record 1: JSON: line 1, column 12: duplicate object key near "
            "'\"t\"'");
    REFUSED("text and text64",
            "{\"t\":\"tokens\",\"ids\":[],\"text\":\"\",\"text64\":\"\"}",
            "record 1: key 'text' twice");
    REFUSED("an integer as key", "\xa1\x01\x01",
            "record 1: a map key that is not one text string");
    REFUSED("not UTF-8", "\xa1\x61t\x61\xff",
            "record 1: a text string that is not UTF-8");
    REFUSED("half", "\xd9", "record 1: the input ends inside it");
    REFUSED("half in JSON", "{\"t\":\"x", "record 1: the input ends inside it");
    REFUSED("a stray break", "\xa1\x61t\xff",
            "record 1: a break where none may stand");
    REFUSED("a break for a value", "\xbf\x61t\xff",
            "record 1: a break where none may stand");
    REFUSED("a chunk of another kind", "\xa1\x61t\x7f\x41z\xff",
            "record 1: a string chunk of another type");
    REFUSED("reserved", "\xa1\x61t\x1c",
            "record 1: byte 3 is not well-formed CBOR");
    REFUSED("another tag", "\xd9\x01\x00\xa0", "record 1: not a map");
    REFUSED("a large integer", "{\"t\":\"x\",\"a\":9223372036854775808}",
            "record 1: JSON: line 1, column 32: too big integer near "
            "'9223372036854775808'");
}

static void repeat(const char *what, const char *unit, size_t n, int times,
                   const char *say)
{
    struct buf b = {0};

    buf_put(&b, "\xa1\x61t", 3);
    for (int i = 0; i < times; i++)
        buf_put(&b, unit, n);
    refused(what, b.p, b.n, ERR_FORMAT, say);
    buf_free(&b);
}

/* Counts that promise the world, and nesting without end. */
static void test_hostile(void)
{
    static const char deep[] = "record 1: nested more than 128 deep";
    static const char count[] =
        "record 1: a count beyond the limit of a record";
    static const char length[] =
        "record 1: a length beyond the limit of a record";
    struct buf b = {0};

    REFUSED("map of 2^32", "\xbb\0\0\0\1\0\0\0\0",
            "record 1: a count beyond the limit of a record");
    repeat("array of 2^64", "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9, 1,
           count);
    repeat("map of 2^63", "\xbb\x80\0\0\0\0\0\0\0", 9, 1, count);
    repeat("bytes of 2^64", "\x5b\xff\xff\xff\xff\xff\xff\xff\xff", 9, 1,
           length);
    repeat("text of 2^32", "\x7a\xff\xff\xff\xff", 5, 1, length);
    repeat("bytes of 2^30", "\x5a\x40\0\0\0", 5, 1,
           "record 1: the input ends inside it");
    repeat("arrays", "\x81", 1, 200000, deep);
    repeat("maps", "\xa1\x61t", 3, 70000, deep);
    repeat("tags", "\xc1", 1, 200000, deep);
    repeat("arrays without end", "\x9f", 1, 200000, deep);
    repeat("claims of all that is left", "\x9a\x3f\xff\xff\xff", 5, 40000,
           deep);
    repeat("chunks within chunks", "\x7f", 1, 200000,
           "record 1: a string chunk of another type");
    buf_puts(&b, "{\"t\":");
    for (int i = 0; i < 200000; i++)
        buf_putc(&b, '[');
    refused("JSON arrays, cut", b.p, b.n, ERR_FORMAT,
            "record 1: the input ends inside it");
    for (int i = 0; i < 200000; i++)
        buf_putc(&b, ']');
    buf_putc(&b, '}');
    refused("JSON arrays", b.p, b.n, ERR_FORMAT,
            "maximum parsing depth reached near '['");
    buf_free(&b);
}

/* What just fits, fits in both forms. */
static void test_limits(void)
{
    struct buf b = {0}, out = {0}, back = {0};
    struct err e;

    for (int more = 0; more < 2; more++) {
        b.n = 0;
        buf_puts(&b, "{\"t\":\"x\",\"a\":");
        for (int i = 0; i < 127 + more; i++)
            buf_putc(&b, '[');
        buf_putc(&b, '1');
        for (int i = 0; i < 127 + more; i++)
            buf_putc(&b, ']');
        buf_puts(&b, "}\n");
        ok(copy(&out, b.p, b.n, WIRE_CBOR, &e) == (more ? -1 : 1),
           "%d deep: %s", 128 + more, e.msg);
        if (!more)
            ok(copy(&back, out.p, out.n, WIRE_JSON, &e) == 1 &&
                   same(&back, b.p, b.n),
               "and back");
        b.n = 0;
        buf_puts(&b, "{\"t\":\"x\"");
        for (int i = 1; i < 256 + more; i++)
            buf_printf(&b, ",\"%d\":0", i);
        buf_puts(&b, "}\n");
        ok(copy(&out, b.p, b.n, WIRE_CBOR, &e) == (more ? -1 : 1),
           "%d keys: %s", 256 + more, e.msg);
    }
    buf_free(&b);
    buf_free(&out);
    buf_free(&back);
}

/* Cut anywhere: an error, or a shorter stream at the ends of records. */
struct cut {
    size_t at;
    int records;
};

static void test_cut(const void *p, size_t n, const struct cut *ends, int nends,
                     const char *what)
{
    struct buf b = {0};
    struct err e;
    int bad = 0;

    for (size_t cut = 1; cut < n; cut++) {
        int r = copy(&b, p, cut, WIRE_CBOR, &e), want = -1;

        for (int i = 0; i < nends; i++)
            if (ends[i].at == cut)
                want = ends[i].records;
        bad += r != want || (r < 0 && e.code != ERR_FORMAT);
    }
    ok(!bad, "cut at every byte: %s", what);
    buf_free(&b);
}

/* A stream that comes one byte at a time. */
static void test_slow(const void *p, size_t n, const char *what)
{
    struct buf slow = {0}, fast = {0};
    struct err e;
    int fd[2];
    pid_t child;

    if (pipe(fd) || (child = fork()) < 0)
        exit(9);
    if (!child) {
        close(fd[0]);
        for (size_t i = 0; i < n; i++)
            if (write(fd[1], (const char *)p + i, 1) != 1)
                _exit(1);
        _exit(0);
    }
    close(fd[1]);
    ok(copy_fd(&slow, fd[0], WIRE_CBOR, &e) == 3, "byte by byte: %s %s", what,
       e.msg);
    close(fd[0]);
    waitpid(child, NULL, 0);
    copy(&fast, p, n, WIRE_CBOR, &e);
    ok(same(&slow, fast.p, fast.n), "the same as at once");
    buf_free(&slow);
    buf_free(&fast);
}

static void test_large(void)
{
    size_t n = 5 << 20;
    uint32_t *ids = malloc(4 * n);
    char *text = malloc(4 * n);
    struct err e = {0};
    struct wire_out *w;
    struct wire_in *in;
    struct wire_rec r;
    int fd = emptied(1);

    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)(i * 2654435761u);
    memset(text, 'x', 4 * n);
    wire_out_open(&w, fd, WIRE_CBOR, &e);
    for (int i = 0; i < 2; i++)
        ok(!wire_put_tokens(
               w,
               &(struct wire_tokens){
                   .seq = 1, .ids = ids, .n = n, .text = text, .ntext = 4 * n},
               &e),
           "a record of 40 MB");
    wire_out_close(w, &e);
    lseek(fd, 0, SEEK_SET);
    wire_in_open(&in, fd, "in", &e);
    for (int i = 0; i < 2; i++)
        ok(wire_next(in, &r, &e) == 1 && r.tokens.n == n &&
               !memcmp(r.tokens.ids, ids, 4 * n) && r.tokens.ntext == 4 * n &&
               !memcmp(r.tokens.text, text, 4 * n),
           "comes back");
    ok(wire_next(in, &r, &e) == 0 && !e.code, "and then ends");
    wire_in_close(in);
    free(ids);
    free(text);
}

static void test_write_errors(void)
{
    int fd = open("/dev/full", O_WRONLY);
    struct err e = {0}, again = {0}, last = {0};
    struct wire_out *w;
    struct wire_error r = {.msg = "m", .code = "c"};

    wire_out_open(&w, fd, WIRE_JSON, &e);
    wire_out_name(w, "disk");
    ok(wire_put_error(w, &r, &e) == -1 && e.code == ERR_IO &&
           !strncmp(e.msg, "disk: ", 6),
       "a full disk: %s", e.msg);
    ok(wire_put_error(w, &r, &again) == -1 && !strcmp(again.msg, e.msg),
       "the first failure sticks");
    ok(wire_out_close(w, &last) == -1 && !strcmp(last.msg, e.msg),
       "to the end");
    close(fd);
}

static void test_set(void)
{
    struct err e = {0};
    struct wire_out *w;
    struct buf b = {0};
    int fd = emptied(1);
    json_t *o = json_loads("{\"temp\":0.5,\"s\":9,\"id\":\"q\",\"t\":1}", 0, 0);

    wire_out_open(&w, fd, WIRE_JSON, &e);
    ok(!wire_put_set(w, 2, o, &e) && json_object_size(o) == 4,
       "a set record from JSON");
    wire_out_close(w, &e);
    slurp(&b, fd);
    ok(!strcmp(buf_str(&b),
               "{\"t\":\"set\",\"s\":2,\"id\":\"q\",\"temp\":0.5}\n"),
       "has the options");
    json_decref(o);
    buf_free(&b);
}

static void test_header(void)
{
    static const char joined[] =
        "{\"llm\":1,\"model\":{\"vocab\":\"aa\",\"name\":\"A\"}}"
        "{\"t\":\"x\"}{\"llm\":1,\"by\":\"b\"}";
    struct err e;
    struct wire_in *in;
    struct wire_rec r;

    ok(ONE(&in, &r, joined, &e) == 1 && r.kind == WIRE_HEADER &&
           !strcmp(wire_in_header(in)->name, "A"),
       "a header");
    ok(!wire_check_vocab(wire_in_header(in), "aa", &e) &&
           wire_check_vocab(wire_in_header(in), "bb", &e),
       "its vocabulary: %s", e.msg);
    ok(wire_next(in, &r, &e) == 1 && wire_in_header(in)->vocab,
       "stays during the stream");
    ok(wire_next(in, &r, &e) == 1 && r.kind == WIRE_HEADER &&
           !wire_in_header(in)->vocab && !strcmp(r.header.by, "b"),
       "until the next header");
    ok(!wire_check_vocab(wire_in_header(in), "bb", &e) &&
           !wire_check_vocab(NULL, "bb", &e),
       "an unknown vocabulary passes");
    wire_in_close(in);
}

int main(void)
{
    static const char json[] = "{\"llm\":1}\n{\"t\":\"tokens\",\"ids\":[1],"
                               "\"text\":\"\\\"}\\\\\"}{\"t\":\n\"x\"}";
    static const struct cut ends[] = {{42, 1}, {81, 2}};
    static const struct cut json_ends[] = {{9, 1}, {10, 1}, {49, 2}};

    for (int i = 0; i < 2; i++)
        if (!(scratch[i] = tmpfile()))
            return 9;
    test_bytes();
    test_forms();
    test_through();
    test_arrays();
    test_vectors();
    test_tags();
    test_values();
    test_header();
    test_refused();
    test_hostile();
    test_limits();
    test_cut(hello, HELLO, ends, 2, "CBOR");
    test_cut(json, sizeof json - 1, json_ends, 3, "JSON");
    test_slow(hello, HELLO, "CBOR");
    test_slow(json, sizeof json - 1, "JSON");
    test_large();
    test_write_errors();
    test_set();
    return tap_done();
}
