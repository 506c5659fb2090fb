/* SPDX-License-Identifier: MIT */
#include "tests/unit/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "gguf/check.h"
#include "gguf/config.h"
#include "gguf/gguf.h"
#include "gguf/hash.h"
#include "gguf/write.h"

static struct gguf_str str(const char *s)
{
    return (struct gguf_str){s, strlen(s)};
}

static struct gguf_str bytes(const struct buf *b)
{
    return (struct gguf_str){(const char *)b->p, b->n};
}

/* Append a tensor's worth of zeros and its padding. */
static void put_zeros(struct buf *b, const struct gguf_out *o, uint64_t n)
{
    size_t all = (size_t)n + gguf_out_pad(o, n);
    void *p = buf_add(b, all);

    if (p)
        memset(p, 0, all);
}

/* A file with every value type and a few tensors, at TO. */
static void make(struct buf *to, uint32_t alignment)
{
    static const unsigned char ints[] = {1, 0, 0,   0,   2,   0,
                                         0, 0, 255, 255, 255, 255},
                               nested[] = {0, 0, 0, 0, 2, 0, 0,
                                           0, 0, 0, 0, 0, 7, 8};
    uint64_t ne[4] = {64, 2, 3, 1}, n[3];
    struct gguf_out o;
    struct err e = {0};

    gguf_out_init(&o, alignment);
    gguf_put_str(&o, "general.architecture", str("llama"));
    gguf_put_int(&o, "u8", GGUF_U8, 255);
    gguf_put_int(&o, "i8", GGUF_I8, -1);
    gguf_put_int(&o, "u16", GGUF_U16, 65535);
    gguf_put_int(&o, "i16", GGUF_I16, -2);
    gguf_put_int(&o, "u32", GGUF_U32, 4294967295);
    gguf_put_int(&o, "i32", GGUF_I32, -3);
    gguf_put_int(&o, "u64", GGUF_U64, -1);
    gguf_put_int(&o, "i64", GGUF_I64, INT64_MIN);
    gguf_put_int(&o, "bool", GGUF_BOOL, 1);
    gguf_put_float(&o, "f32", GGUF_F32, 0.5);
    gguf_put_float(&o, "f64", GGUF_F64, 0.1);
    gguf_put_arr(&o, "ints", GGUF_I32, 3, ints, sizeof ints);
    gguf_put_arr(&o, "nested", GGUF_ARR, 1, nested, sizeof nested);
    n[0] = gguf_put_tensor(&o, str("a"), GGUF_T_F32, 3, ne);
    n[1] = gguf_put_tensor(&o, str("b"), GGUF_T_Q8_0, 2, ne);
    n[2] = gguf_put_tensor(&o, str("c"), GGUF_T_F16, 1, ne);
    ok(!gguf_out_head(to, &o, &e), "a file is written");
    for (int i = 0; i < 3; i++)
        put_zeros(to, &o, n[i]);
    gguf_out_fini(&o);
}

static struct gguf *open_bytes(struct gguf_str s, struct err *e)
{
    struct gguf *g;

    *e = (struct err){0};
    return gguf_open_memory(&g, "m", &s, 1, e) ? NULL : g;
}

static void test_types(void)
{
    int n = 0;

    for (uint32_t i = 0; i < 64; i++) {
        const struct gguf_type_info *t = gguf_type_info(i);

        n += t != NULL && t->id == i && gguf_type_by_name(t->name) == t;
    }
    ok(n == 35, "35 tensor types, found by id and by name");
    ok(gguf_type_info(GGUF_T_Q4_K)->bytes == 144, "Q4_K has 144 bytes");
    ok(gguf_type_info(GGUF_T_Q6_K)->bytes == 210, "Q6_K has 210 bytes");
    ok(gguf_type_by_name("q4_k") == gguf_type_info(12), "names in any case");
    ok(!gguf_type_by_name("Q4") && !gguf_type_info(4) &&
           !gguf_type_info(UINT32_MAX),
       "unknown types are none");
}

static void test_ints(const struct gguf *g)
{
    static const struct {
        const char *key;
        int rc;
        int64_t want;
    } t[] = {{"u8", 1, 255},
             {"i8", 1, -1},
             {"u16", 1, 65535},
             {"i16", 1, -2},
             {"u32", 1, 4294967295},
             {"i32", 1, -3},
             {"u64", -1, 0},
             {"i64", 1, INT64_MIN},
             {"bool", 1, 1},
             {"f32", -1, 0},
             {"ints", -1, 0},
             {"none", 0, 0},
             {"general.architecture", -1, 0}};

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct err e = {0};
        int64_t v = 0;
        int rc = gguf_get_int(&v, g, t[i].key, INT64_MIN, INT64_MAX, &e);

        ok(rc == t[i].rc && v == t[i].want &&
               (rc >= 0 || (e.code == ERR_FORMAT && strstr(e.msg, t[i].key))),
           "get_int %s", t[i].key);
    }
}

static void test_getters(const struct gguf *g)
{
    struct err e = {0};
    struct gguf_str s = {0};
    const struct gguf_val *v;
    int64_t i;
    double d = 0;
    bool b = false;

    test_ints(g);
    ok(gguf_get_int(&i, g, "u8", 0, 254, &e) == -1 && e.code == ERR_FORMAT &&
           !strcmp(e.msg, "m: key 'u8': 255 is not in 0..254"),
       "out of range is refused: %s", e.msg);
    ok(gguf_get_str(&s, g, "general.architecture", &e) == 1 && s.n == 5 &&
           !memcmp(s.p, "llama", 5),
       "get_str");
    ok(gguf_get_str(&s, g, "u8", NULL) == -1, "get_str of an integer");
    ok(gguf_get_bool(&b, g, "bool", NULL) == 1 && b, "get_bool");
    ok(gguf_get_bool(&b, g, "u8", NULL) == -1, "get_bool of an integer");
    ok(gguf_get_float(&d, g, "f32", NULL) == 1 && d == 0.5, "get_float f32");
    ok(gguf_get_float(&d, g, "f64", NULL) == 1 && d == 0.1, "get_float f64");
    ok(gguf_get_float(&d, g, "i8", NULL) == 1 && d == -1, "get_float of i8");
    ok(gguf_get_float(&d, g, "u64", NULL) == 1 && d == 0x1p64,
       "get_float of u64");
    ok(gguf_get_float(&d, g, "bool", NULL) == -1, "get_float of a bool");
    ok(gguf_get_arr(&v, g, "ints", GGUF_I32, 3, 3, NULL) == 1 && v->n == 3,
       "get_arr");
    ok(gguf_elem_int(&i, v, 2) && i == -1 && !gguf_elem_int(&i, v, 3),
       "elem_int, within the array only");
    ok(gguf_get_arr(&v, g, "ints", GGUF_U32, 0, 9, NULL) == -1 &&
           gguf_get_arr(&v, g, "ints", GGUF_I32, 4, 9, NULL) == -1 &&
           gguf_get_arr(&v, g, "u8", GGUF_U8, 0, 9, NULL) == -1,
       "get_arr of another type or count");
    v = gguf_key(g, "nested");
    ok(v && v->elem == GGUF_ARR && v->n == 1 && v->bytes == 14 &&
           !gguf_elem_int(&i, v, 0),
       "nested array");
    ok(!gguf_key(g, "") && !gguf_key(g, "u") && !gguf_key(g, "u8x"),
       "absent keys");
}

static void test_tensors(const struct gguf *g)
{
    const struct gguf_tensor *t = gguf_tensor(g, "b");

    ok(gguf_ntensor(g) == 3, "three tensors");
    ok(t && t == gguf_tensor_at(g, 1) && t->ndim == 2 && t->ne[0] == 64 &&
           t->ne[1] == 2 && t->ne[2] == 1 && t->bytes == 4 * 34 &&
           t->offset == 64 * 2 * 3 * 4,
       "a tensor by name");
    ok(!gguf_tensor(g, "d") && !gguf_tensor(g, ""), "absent tensors");
}

static void exercise(const struct gguf *g)
{
    struct gguf_config c;
    uint64_t first, kv, state;
    char hex[33];

    gguf_model_id(hex, g);
    for (size_t i = 0; i < gguf_ntensor(g); i++)
        gguf_bad_blocks(&first, gguf_tensor_at(g, i));
    gguf_config_init(&c, g, NULL);
    gguf_kv_bytes(&kv, &state, &c, 1000, gguf_type_info(1), gguf_type_info(1));
    gguf_config_fini(&c);
}

/* Every shorter file is refused; no changed byte does harm.  The bytes stand
 * in an allocation of exactly their size, for ASan. */
static void test_damage(struct gguf_str s)
{
    size_t last = s.n, head, good = 0, bad = 0, odd = 0;
    struct err e;
    struct gguf *g = open_bytes(s, &e);

    head = (size_t)gguf_shard_at(g, 0)->data;
    last = (size_t)(gguf_tensor_at(g, 2)->p + gguf_tensor_at(g, 2)->bytes -
                    (const unsigned char *)s.p);
    gguf_close(g);
    for (size_t n = 0; n <= s.n; n++) {
        char *p = malloc(n ? n : 1);

        memcpy(p, s.p, n);
        g = open_bytes((struct gguf_str){p, n}, &e);
        good += g != NULL;
        bad += !g && e.code == ERR_FORMAT && !strncmp(e.msg, "m: ", 3);
        gguf_close(g);
        free(p);
    }
    ok(bad == last && good == s.n + 1 - last, "every cut is refused");
    for (size_t i = 0; i < head; i++)
        for (int x = 0; x < 8; x++) {
            static const unsigned char flip[] = {1, 2, 4, 16, 64, 128, 255, 9};
            char *p = malloc(s.n);

            memcpy(p, s.p, s.n);
            p[i] = (char)(p[i] ^ flip[x]);
            g = open_bytes((struct gguf_str){p, s.n}, &e);
            odd += !g && e.code != ERR_FORMAT && e.code != ERR_UNSUPPORTED;
            if (g)
                exercise(g);
            gguf_close(g);
            free(p);
        }
    ok(!odd, "changed bytes are refused or harmless");
}

static void test_ids(struct gguf_str s)
{
    char a[33], b[33], w[33], hash[3][33], t[33];
    struct buf other = {0};
    struct err e;
    struct gguf *g = open_bytes(s, &e), *h;

    make(&other, 64);
    h = open_bytes(bytes(&other), &e);
    gguf_model_id(a, g);
    gguf_model_id(b, h);
    ok(strlen(a) == 32 && !strcmp(a, b), "the alignment is no part of the id");
    other.p[other.n - 128] ^= 1;
    gguf_model_id(b, h);
    ok(strcmp(a, b) != 0, "a tensor's content is");
    other.p[other.n - 128] ^= 1;
    gguf_vocab_id(a, g);
    ok(!strcmp(a, "99aa06d3014798d86001c324468d497f"),
       "no vocabulary: XXH3-128 of nothing");
    for (size_t i = 0; i < 3; i++)
        gguf_tensor_hash(hash[i], gguf_tensor_at(g, i));
    gguf_whole_hash(a, g, (const char(*)[33])hash);
    gguf_whole_hash(b, h, (const char(*)[33])hash);
    ok(!strcmp(a, b), "the whole's hash, too, is not the layout's");
    gguf_model_id(a, g);
    gguf_whole_hash(b, g, NULL);
    ok(!strcmp(a, b), "without hashes it is the model's id");
    memcpy(t, hash[1], 33);
    memset(hash[1], '0', 32);
    gguf_whole_hash(w, g, (const char(*)[33])hash);
    ok(strcmp(w, a) != 0 && strlen(t) == 32, "but every tensor's");
    gguf_close(g);
    gguf_close(h);
    buf_free(&other);
}

static void test_known(struct gguf_str s)
{
    struct buf b = {0};
    struct gguf_out o;
    struct err e;
    struct gguf *g = open_bytes(s, &e);
    int bad = 0;

    for (size_t i = 0; i < gguf_nkey(g); i++)
        bad += gguf_check_key(g, i, &e) != 0;
    ok(!bad, "names that are not known may have any type");
    gguf_close(g);
    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture", str("llama"));
    gguf_put_str(&o, "llama.block_count", str("2"));
    gguf_put_int(&o, "llama.block_counts", GGUF_U8, 1);
    gguf_out_head(&b, &o, NULL);
    gguf_out_fini(&o);
    g = open_bytes(bytes(&b), &e);
    ok(!gguf_check_key(g, 0, &e) && !gguf_check_key(g, 2, &e) &&
           gguf_check_key(g, 1, &e) && e.code == ERR_FORMAT &&
           !strcmp(e.msg,
                   "m: key 'llama.block_count': is str, must be an integer"),
       "a key of another type than its name's: %s", e.msg);
    gguf_close(g);
    buf_free(&b);
}

static void test_writer(void)
{
    uint64_t odd[] = {33, 1}, zero[] = {32, 0},
             wide[] = {1u << 31, 1u << 31, 1u << 31};
    const struct {
        uint32_t type;
        int ndim;
        const uint64_t *ne;
        enum err_code code;
    } t[] = {{GGUF_T_Q4_0, 1, odd, ERR_FORMAT},
             {GGUF_T_F32, 2, zero, ERR_FORMAT},
             {GGUF_T_F32, 3, wide, ERR_FORMAT},
             {31, 1, odd, ERR_UNSUPPORTED}};

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct gguf_out o;
        struct buf b = {0};
        struct err e = {0};

        gguf_out_init(&o, 32);
        ok(!gguf_put_tensor(&o, str("x"), t[i].type, t[i].ndim, t[i].ne) &&
               gguf_out_head(&b, &o, &e) && e.code == t[i].code,
           "the writer refuses: %s", e.msg);
        gguf_out_fini(&o);
        buf_free(&b);
    }
}

static void test_shards(void)
{
    struct gguf_str s[3];
    struct buf b[3] = {{0}};
    struct err e = {0};
    struct gguf *g;
    uint64_t ne = 4;

    for (int i = 0; i < 3; i++) {
        struct gguf_out o;
        const char name = (char)('a' + i);

        gguf_out_init(&o, 32);
        gguf_put_int(&o, "split.no", GGUF_U16, i);
        gguf_put_int(&o, "split.count", GGUF_I64, 3);
        gguf_put_int(&o, "split.tensors.count", GGUF_I32, 3);
        put_zeros(&b[i], &o, 0);
        ne = gguf_put_tensor(&o, (struct gguf_str){&name, 1}, GGUF_T_F32, 1,
                             &ne);
        gguf_out_head(&b[i], &o, NULL);
        put_zeros(&b[i], &o, ne);
        ne = 4;
        s[i] = bytes(&b[i]);
        gguf_out_fini(&o);
    }
    ok(!gguf_open_memory(&g, "m", s, 3, &e) && gguf_nshard(g) == 3 &&
           gguf_ntensor(g) == 3 && gguf_tensor(g, "c")->shard == 2 &&
           gguf_nkey(g) == 3,
       "three shards are one model");
    gguf_close(g);
    ok(gguf_open_memory(&g, "m", s, 2, &e) && !g && e.code == ERR_FORMAT,
       "two of three are not: %s", e.msg);
    s[2] = s[1];
    e = (struct err){0};
    ok(gguf_open_memory(&g, "m", s, 3, &e) && e.code == ERR_FORMAT,
       "nor is one twice: %s", e.msg);
    for (int i = 0; i < 3; i++)
        buf_free(&b[i]);
}

/* The same model with another tensor in place of "a". */
static void test_view(const struct gguf *g)
{
    static const unsigned char other[64 * 6];
    struct gguf_instead instead = {0, GGUF_T_Q4_0, other};
    const struct gguf_tensor *a, *b = gguf_tensor(g, "b");
    struct err e = {0};
    struct gguf *v;
    int64_t i = 0;

    if (!ok(!gguf_open_view(&v, g, &instead, 1, &e), "a view opens: %s", e.msg))
        return;
    a = gguf_tensor(v, "a");
    ok(a && a == gguf_tensor_at(v, 0) && a->type == GGUF_T_Q4_0 &&
           a->p == other && a->bytes == 12 * 18 && a->ne[1] == 2,
       "a tensor is another there");
    ok(gguf_tensor(g, "a")->type == GGUF_T_F32, "and not in the model");
    ok(gguf_ntensor(v) == 3 && gguf_tensor(v, "b")->p == b->p &&
           gguf_get_int(&i, v, "i8", -9, 9, &e) == 1 && i == -1 &&
           gguf_nkey(v) == gguf_nkey(g) && !gguf_mapped(v),
       "all else is the model's");
    gguf_close(v);
    ok(gguf_tensor(g, "b") == b && gguf_nkey(g), "which stays");
    instead.type = GGUF_T_Q4_K;
    ok(gguf_open_view(&v, g, &instead, 1, &e) && !v && e.code == ERR_FORMAT,
       "its rows must be whole blocks: %s", e.msg);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Resident memory now, mapped pages included; 0 where it cannot be told. */
static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long total, pages = 0;

    if (f && fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* N strings as a vocabulary has them: lengths around 7, or 10 for pairs. */
static void put_strings(struct gguf_out *o, const char *key, int n, bool pairs)
{
    struct buf b = {0};

    for (int i = 0; i < n; i++) {
        char s[32];
        int len = pairs ? snprintf(s, sizeof s, "%d %d", i % 997 * 7919, i)
                        : snprintf(s, sizeof s, "%d", i);
        void *p = buf_add(&b, 8);

        if (p)
            wr_u64(p, (uint64_t)len);
        buf_put(&b, s, (size_t)len);
    }
    gguf_put_arr(o, key, GGUF_STR, (uint64_t)n, b.p, b.n);
    buf_free(&b);
}

/* A model of 5 GB as a sparse file: 151,936 tokens, 151,387 merges, 400
 * tensors.  The limits are those the page promises; time is the best of ten,
 * and far more is allowed to a sanitizer or a busy machine. */
static void test_large(void)
{
    const char *emulator = getenv("EMULATOR");
    const char *tmp = getenv("TMPDIR");
    char path[512];
    uint64_t ne[] = {4096, 768}, size = 0;
    int fd;
    struct gguf_out o;
    struct buf head = {0};
    struct err e = {0};
    struct gguf *g = NULL;
    double best = 1e9;
    long before, after;
    bool bad;

    snprintf(path, sizeof path, "%s/gguf-test-XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(path);
    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture", str("qwen2"));
    put_strings(&o, "tokenizer.ggml.tokens", 151936, false);
    put_strings(&o, "tokenizer.ggml.merges", 151387, true);
    for (int i = 0; i < 400; i++) {
        char name[64];

        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", i);
        size += gguf_put_tensor(&o, str(name), GGUF_T_F32, 2, ne);
    }
    bad = fd < 0 || gguf_out_head(&head, &o, &e) ||
          write(fd, head.p, head.n) != (ssize_t)head.n ||
          ftruncate(fd, (off_t)(head.n + size));
    gguf_out_fini(&o);
    buf_free(&head);
    if (bad) {
        ok(1, "5 GB # skip no room for a sparse file");
    } else {
        before = resident_kib();
        for (int i = 0; i < 10; i++) {
            double t = now();

            gguf_close(g);
            bad |= gguf_open(&g, path, &e);
            t = now() - t;
            best = t < best ? t : best;
        }
        after = resident_kib();
        printf("# %.1f GB opened in %.2f ms, %ld KiB\n", (double)size / 1e9,
               best, after - before);
        ok(!bad && gguf_ntensor(g) == 400, "5 GB open");
        /* An emulator's memory is not ours, nor is its time. */
        if (emulator && *emulator) {
            ok(1, "in little memory, at once # skip under an emulator");
        } else {
            ok(after - before < 10240, "in less than 10 MiB");
            ok(best < 100, "and at once");
        }
        gguf_close(g);
    }
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
}

int main(void)
{
    struct buf b = {0};
    struct err e;
    struct gguf *g;
    uint64_t first;

    test_large();
    test_types();
    make(&b, 32);
    g = open_bytes(bytes(&b), &e);
    if (!ok(g != NULL, "it opens: %s", e.msg))
        return tap_done();
    test_getters(g);
    test_tensors(g);
    test_view(g);
    ok(!gguf_bad_blocks(&first, gguf_tensor(g, "a")), "zeros are finite");
    ok(!gguf_gaps(g, 0) && !gguf_trailing(g, 0), "nothing left over");
    gguf_close(g);
    test_damage(bytes(&b));
    test_ids(bytes(&b));
    test_known(bytes(&b));
    buf_free(&b);
    test_writer();
    test_shards();
    return tap_done();
}
