/* SPDX-License-Identifier: MIT
 * safetensors.c - files that are whole, and files that are wrong in one way,
 * each refused by what is wrong; what the writer makes, read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/newfile.h"
#include "base/num.h"
#include "safetensors/safetensors.h"
#include "safetensors/write.h"
#include "tests/unit/tap.h"

/* A file: the header HEAD, and N bytes of data. */
static void file(struct buf *b, const char *head, size_t n)
{
    unsigned char len[8];

    b->n = 0;
    wr_u64(len, strlen(head));
    buf_put(b, len, 8);
    buf_puts(b, head);
    for (size_t i = 0; i < n; i++)
        buf_putc(b, (int)(i & 255));
}

#define T(dtype, shape, from, to)                                              \
    "{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #from  \
    "," #to "]}"

static const struct {
    const char *what, *head;
    size_t data;
    enum err_code code;
    const char *text; /* of the message */
} cases[] = {
    {"one tensor", "{\"a\":" T("F32", "2,3", 0, 24) "}", 24, ERR_NONE, ""},
    {"a scalar", "{\"a\":" T("BF16", "", 0, 2) "}", 2, ERR_NONE, ""},
    {"nothing", "{}", 0, ERR_NONE, ""},
    {"no elements", "{\"a\":" T("F32", "0,7", 0, 0) "}", 0, ERR_NONE, ""},
    {"metadata",
     "{\"__metadata__\":{\"format\":\"pt\"},\"a\":" T("I8", "1", 0, 1) "}", 1,
     ERR_NONE, ""},
    {"spaces behind", "{\"a\":" T("U8", "3", 0, 3) "}     ", 3, ERR_NONE, ""},
    {"any order",
     "{\"b\":" T("F16", "1", 4, 6) ",\"a\":" T("F32", "1", 0, 4) "}", 6,
     ERR_NONE, ""},
    {"no object", "[]", 0, ERR_FORMAT, "not a safetensors file"},
    {"spaces before", " {}", 0, ERR_FORMAT, "not a safetensors file"},
    {"no JSON", "{\"a\":", 0, ERR_FORMAT, "at byte"},
    {"a name twice",
     "{\"a\":" T("U8", "1", 0, 1) ",\"a\":" T("U8", "1", 0, 1) "}", 1,
     ERR_FORMAT, "duplicate"},
    {"metadata that is no object", "{\"__metadata__\":1}", 0, ERR_FORMAT,
     "__metadata__"},
    {"metadata of numbers", "{\"__metadata__\":{\"a\":1}}", 0, ERR_FORMAT,
     "'a' is no string"},
    {"an entry that is none", "{\"a\":1}", 0, ERR_FORMAT, "is no JSON object"},
    {"something unknown",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"scale\":"
     "1}}",
     1, ERR_UNSUPPORTED, "'scale'"},
    {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     ERR_FORMAT, "dtype"},
    {"a dtype that is unknown", "{\"a\":" T("F4", "2", 0, 1) "}", 1,
     ERR_UNSUPPORTED, "'F4'"},
    {"no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1,
     ERR_FORMAT, "shape"},
    {"a negative size", "{\"a\":" T("U8", "-1", 0, 1) "}", 1, ERR_FORMAT,
     "shape"},
    {"a size that is none", "{\"a\":" T("U8", "1.5", 0, 1) "}", 1, ERR_FORMAT,
     "shape"},
    {"nine dimensions", "{\"a\":" T("U8", "1,1,1,1,1,1,1,1,1", 0, 1) "}", 1,
     ERR_UNSUPPORTED, "dimensions"},
    {"elements beyond counting",
     "{\"a\":" T("U8", "9223372036854775807,9223372036854775807", 0, 1) "}", 1,
     ERR_FORMAT, "too many"},
    {"bytes beyond counting",
     "{\"a\":" T("F64", "9223372036854775807", 0, 8) "}", 8, ERR_FORMAT,
     "too many"},
    {"no offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, ERR_FORMAT,
     "data_offsets"},
    {"one offset",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1,
     ERR_FORMAT, "data_offsets"},
    {"offsets backwards", "{\"a\":" T("U8", "1", 1, 0) "}", 1, ERR_FORMAT,
     "data_offsets"},
    {"an offset beyond the file", "{\"a\":" T("U8", "5", 0, 5) "}", 4,
     ERR_FORMAT, "ends beyond"},
    {"a size that is not the shape's", "{\"a\":" T("F16", "3", 0, 5) "}", 5,
     ERR_FORMAT, "its shape takes 6 of F16"},
    {"an overlap",
     "{\"a\":" T("U8", "3", 0, 3) ",\"b\":" T("U8", "2", 2, 4) "}", 4,
     ERR_FORMAT, "'b': overlaps"},
    {"the same bytes twice",
     "{\"a\":" T("U8", "3", 0, 3) ",\"b\":" T("U8", "3", 0, 3) "}", 3,
     ERR_FORMAT, "overlaps"},
    {"a hole", "{\"a\":" T("U8", "1", 0, 1) ",\"b\":" T("U8", "1", 2, 3) "}", 3,
     ERR_FORMAT, "hole"},
    {"a hole in front", "{\"a\":" T("U8", "1", 1, 2) "}", 2, ERR_FORMAT,
     "hole"},
    {"something behind", "{\"a\":" T("U8", "1", 0, 1) "}", 3, ERR_FORMAT,
     "2 bytes behind"},
};

static void headers(void)
{
    struct buf b = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct safetensors *s = NULL;
        struct err e = {0};
        int rc;

        file(&b, cases[i].head, cases[i].data);
        rc = safetensors_open_memory(&s, "x", b.p, b.n, &e);
        ok(e.code == cases[i].code && !rc == !e.code &&
               strstr(e.msg, cases[i].text),
           "%s: %s", cases[i].what, rc ? e.msg : "read");
        if (!rc && safetensors_n(s))
            ok(safetensors_find(s, "a") && !safetensors_find(s, "z"),
               "%s: found by name", cases[i].what);
        safetensors_close(s);
    }
    buf_free(&b);
}

static void lengths(void)
{
    static const char head[] = "{\"a\":" T("U8", "1", 0, 1) "}";
    struct safetensors *s;
    struct buf b = {0};
    struct err e = {0};
    size_t bad = 0, n;

    file(&b, head, 1);
    n = b.n;
    for (size_t i = 0; i < n; i++) {
        s = NULL;
        bad += !safetensors_open_memory(&s, "x", b.p, i, NULL);
        safetensors_close(s);
    }
    ok(!bad, "cut off anywhere: refused");
    wr_u64(b.p, UINT64_MAX);
    ok(safetensors_open_memory(&s, "x", b.p, n, &e) &&
           strstr(e.msg, "would end beyond"),
       "a header of 2^64 bytes: %s", e.msg);
    wr_u64(b.p, n - 8);
    ok(safetensors_open_memory(&s, "x", b.p, n, NULL),
       "a header that reaches into the data");
    /* Deep nesting ends at the parser's limit. */
    b.n = 0;
    for (int i = 0; i < 100000; i++)
        buf_puts(&b, i ? "[" : "{\"a\":");
    buf_putc(&b, 0);
    {
        struct buf deep = {0};

        file(&deep, (char *)b.p, 0);
        e = (struct err){0};
        ok(safetensors_open_memory(&s, "x", deep.p, deep.n, &e) &&
               e.code == ERR_FORMAT,
           "100,000 brackets: %s", e.msg);
        buf_free(&deep);
    }
    buf_free(&b);
}

/* ---- writing ---- */

static void written(void)
{
    static const uint64_t shape[] = {2, 3}, big[] = {1ull << 62, 8};
    struct safetensors_out o = {0};
    struct buf b = {0};
    struct safetensors *s = NULL;
    const struct safetensors_tensor *t;
    struct err e = {0};

    ok(safetensors_put(&o, "m.\"\xc3\xa4\"", SAFETENSORS_F32, 2, shape) == 24 &&
           safetensors_put(&o, "n", SAFETENSORS_BF16, 1, shape) == 4 &&
           o.data == 28,
       "two tensors");
    ok(!safetensors_head(&b, &o, &e) && b.n % 8 == 0, "a head");
    for (int i = 0; i < 28; i++)
        buf_putc(&b, i);
    ok(!safetensors_open_memory(&s, "x", b.p, b.n, &e) && safetensors_n(s) == 2,
       "is read: %s", e.msg);
    t = s ? safetensors_find(s, "m.\"\xc3\xa4\"") : NULL;
    ok(t && t->dtype == SAFETENSORS_F32 && t->ndim == 2 && t->shape[0] == 2 &&
           t->shape[1] == 3 && t->p[5] == 5,
       "the same tensor");
    safetensors_close(s);
    safetensors_put(&o, "n", SAFETENSORS_BF16, 1, shape);
    ok(safetensors_head(&b, &o, &e) && strstr(e.msg, "twice"), "%s", e.msg);
    safetensors_fini(&o);
    o = (struct safetensors_out){0};
    e = (struct err){0};
    safetensors_put(&o, "n", SAFETENSORS_BF16, 2, big);
    ok(safetensors_head(&b, &o, &e) && strstr(e.msg, "too large"), "%s", e.msg);
    safetensors_fini(&o);
    o = (struct safetensors_out){0};
    b.n = 0;
    ok(!safetensors_head(&b, &o, NULL) &&
           !safetensors_open_memory(&s, "x", b.p, b.n, NULL) &&
           !safetensors_n(s),
       "no tensors at all");
    safetensors_close(s);
    safetensors_fini(&o);
    buf_free(&b);
}

/* ---- several files ---- */

static char dir[] = "/tmp/safetensors.XXXXXX";

static void save(const char *name, const void *p, size_t n)
{
    char path[128];
    struct newfile *f = NULL;
    struct err e = {0};

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (newfile_open(&f, path, &e) || newfile_put(f, 0, p, n, &e) ||
        newfile_close(f, &e))
        ok(0, "%s", e.msg);
}

static void shard(const char *name, const char *head, size_t n)
{
    struct buf b = {0};

    file(&b, head, n);
    save(name, b.p, b.n);
    buf_free(&b);
}

static void index_says(const char *map)
{
    char text[512];

    snprintf(text, sizeof text, "{\"metadata\":{},\"weight_map\":%s}", map);
    save("model.safetensors.index.json", text, strlen(text));
}

static void opens(const char *what, enum err_code code, const char *text)
{
    struct safetensors *s;
    struct err e = {0};
    int rc = safetensors_open(&s, dir, &e);

    ok(!rc == !code && e.code == code && strstr(e.msg, text), "%s: %s", what,
       rc ? e.msg : "read");
    safetensors_close(s);
}

static void folders(void)
{
    static const char *const names[] = {"model.safetensors.index.json",
                                        "model.safetensors", "1.st", "2.st",
                                        "link"};
    char path[128], other[128];

    if (!mkdtemp(dir)) {
        ok(0, "no folder");
        return;
    }
    opens("nothing there", ERR_IO, "has no model.safetensors");
    shard("model.safetensors", "{\"a\":" T("U8", "1", 0, 1) "}", 1);
    opens("one file", ERR_NONE, "");
    shard("1.st", "{\"a\":" T("U8", "1", 0, 1) "}", 1);
    index_says("{\"a\":\"1.st\",\"b\":\"2.st\"}");
    opens("a shard is missing", ERR_IO, "2.st");
    shard("2.st", "{\"b\":" T("U8", "2", 0, 2) "}", 2);
    opens("two shards", ERR_NONE, "");
    index_says("{\"a\":\"1.st\",\"b\":\"1.st\"}");
    opens("a tensor that its shard has not", ERR_FORMAT, "'b'");
    index_says("{\"a\":\"1.st\",\"c\":\"2.st\"}");
    opens("a tensor that is not in the index", ERR_FORMAT, "'b'");
    index_says("{\"a\":\"1.st\",\"b\":\"2.st\",\"c\":\"2.st\"}");
    opens("a tensor that is nowhere", ERR_FORMAT, "'c'");
    index_says("{\"a\":\"../1.st\"}");
    opens("a path", ERR_FORMAT, "no file's name");
    index_says("{\"a\":1}");
    opens("a number", ERR_FORMAT, "no file's name");
    index_says("[]");
    opens("no map", ERR_FORMAT, "weight_map");
    save("model.safetensors.index.json", "", 0);
    opens("an empty index", ERR_FORMAT, "index.json");
    shard("2.st", "{\"a\":" T("U8", "2", 0, 2) "}", 2);
    index_says("{\"a\":\"1.st\"}");
    opens("a shard that is not named", ERR_NONE, "");
    /* As in the cache of Hugging Face. */
    snprintf(path, sizeof path, "%s/1.st", dir);
    snprintf(other, sizeof other, "%s/link", dir);
    ok(!rename(path, other) && !symlink("link", path), "a link");
    opens("a shard that is a link", ERR_NONE, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    headers();
    lengths();
    written();
    folders();
    return tap_done();
}
