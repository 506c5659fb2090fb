/* SPDX-License-Identifier: MIT
 * convert_tokenizer.c - tokenizers of folders as keys, and back.
 *
 * tests/data/convert_tokenizer.json has the cases: the files of a folder, and
 * the keys that they must become or what the error must say.  Then every
 * vocabulary of ../shared/oracle/vocab goes to a folder and back. */
#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/map.h"
#include "convert/proto.h"
#include "convert/tokenizer.h"
#include "tests/unit/folder.h"
#include "tests/unit/tap.h"
#include "tok/tok.h"

#define DATA   "tests/data/convert_tokenizer.json"
#define ORACLE "../shared/oracle/vocab/"

static char folder[256];

/* ---- folders ---- */

static void put_file(const char *name, const void *p, size_t n)
{
    char path[600], *slash;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    slash = strrchr(path, '/');
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
    f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f)) {
        perror(path);
        exit(1);
    }
}

static int hex(int c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* A file is text, {"hex": "0a..."}, or JSON. */
static void put_value(const char *name, const json_t *v)
{
    const char *s = json_string_value(json_object_get(v, "hex"));
    char *text = NULL;
    size_t n = 0;

    if (s) {
        text = malloc(strlen(s) / 2 + 1);
        for (; s[2 * n] && s[2 * n + 1]; n++)
            text[n] = (char)(hex(s[2 * n]) << 4 | hex(s[2 * n + 1]));
    } else if (json_is_string(v)) {
        put_file(name, json_string_value(v), json_string_length(v));
        return;
    } else {
        text = json_dumps(v, JSON_ENCODE_ANY);
        n = strlen(text);
    }
    put_file(name, text, n);
    free(text);
}

/* ---- converting ---- */

/* The folder as a GGUF in memory, its bytes in HEAD. */
static struct gguf *convert(struct buf *head,
                            const struct convert_tokenizer_want *want,
                            struct gguf_str name, struct err *e)
{
    struct gguf_out o;
    struct gguf *g = NULL;

    head->n = 0;
    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture",
                 (struct gguf_str){want->arch, strlen(want->arch)});
    if (name.p) /* lib/tok knows some models by it */
        gguf_put_str(&o, "general.name", name);
    if (!convert_tokenizer(&o, folder, want, e) && !gguf_out_head(head, &o, e))
        gguf_open_memory(&g, "made",
                         &(struct gguf_str){(char *)head->p, head->n}, 1, e);
    gguf_out_fini(&o);
    return g;
}

static json_t *scalar(const struct gguf_val *v, enum gguf_type type, uint64_t i)
{
    int64_t n;
    double d;
    bool array = v->type == GGUF_ARR;

    if (type == GGUF_BOOL && !array && gguf_val_int(&n, v))
        return json_boolean(n);
    if (array ? gguf_elem_int(&n, v, i) : gguf_val_int(&n, v))
        return json_integer(n);
    if (array ? gguf_elem_float(&d, v, i) : gguf_val_float(&d, v))
        return json_real(d);
    return json_null();
}

static json_t *value(const struct gguf_val *v)
{
    const unsigned char *p = v->p;
    struct gguf_str s;
    json_t *list;

    if (v->type == GGUF_STR) {
        s = gguf_str_next(&p);
        return json_stringn(s.p, s.n);
    }
    if (v->type != GGUF_ARR)
        return scalar(v, v->type, 0);
    list = json_array();
    for (uint64_t i = 0; i < v->n; i++)
        if (v->elem == GGUF_STR) {
            s = gguf_str_next(&p);
            json_array_append_new(list, json_stringn(s.p, s.n));
        } else {
            json_array_append_new(list, scalar(v, v->elem, i));
        }
    return list;
}

/* ---- cases ---- */

static int check_keys(const struct gguf *g, json_t *want)
{
    const char *key;
    json_t *w;
    int good = 1;

    json_object_foreach(want, key, w)
    {
        const struct gguf_val *v = gguf_key(g, key);
        json_t *is = v ? value(v) : json_null();

        if (!json_equal(is, w)) {
            char *a = json_dumps(is, JSON_ENCODE_ANY),
                 *b = json_dumps(w, JSON_ENCODE_ANY);

            printf("# %s: %s, not %s\n", key, a, b);
            free(a);
            free(b);
            good = 0;
        }
        json_decref(is);
    }
    return good;
}

/* There and back again. */
static void check_back(const char *name, const struct gguf *g,
                       const struct convert_tokenizer_want *want, int same_id)
{
    struct err e = {0};
    struct buf head = {0};
    struct gguf *again = NULL;
    char id[33], id2[33] = "";

    folder_empty(folder);
    gguf_vocab_id(id, g);
    if (!convert_tokenizer_back(folder, g, &e))
        again = convert(&head, want, (struct gguf_str){0}, &e);
    if (again)
        gguf_vocab_id(id2, again);
    ok(again && (!same_id || !strcmp(id, id2)), "%s: to a folder and back: %s",
       name, again ? id2 : e.msg);
    gguf_close(again);
    buf_free(&head);
}

static void check_case(json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "name")), *file,
               *error = json_string_value(json_object_get(c, "error")),
               *note = json_string_value(json_object_get(c, "note")),
               *arch = json_string_value(json_object_get(c, "arch"));
    struct buf notes = {0}, head = {0};
    json_t *n = json_object_get(c, "n_vocab"), *v,
           *config = json_object_get(c, "config");
    struct convert_tokenizer_want want = {
        .arch = arch ? arch : "llama",
        .n_vocab = (int)json_integer_value(n),
        .bos = json_is_array(config)
                   ? json_integer_value(json_array_get(config, 0))
                   : -1,
        .eos = json_is_array(config)
                   ? json_integer_value(json_array_get(config, 1))
                   : -1,
        .pad = -1,
        .notes = &notes};
    struct err e = {0};
    struct gguf *g;

    folder_empty(folder);
    json_object_foreach(json_object_get(c, "files"), file, v)
        put_value(file, v);
    g = convert(&head, &want, (struct gguf_str){0}, &e);
    if (error)
        ok(!g && (e.code == ERR_FORMAT || e.code == ERR_UNSUPPORTED) &&
               strstr(e.msg, error),
           "%s: %s", name, e.msg);
    else if (ok(g, "%s: %s", name, e.msg))
        ok(check_keys(g, json_object_get(c, "keys")), "%s: its keys", name);
    if (note)
        ok(strstr(buf_str(&notes), note), "%s: notes: %s", name,
           buf_str(&notes));
    if (g && !json_is_false(json_object_get(c, "back")))
        check_back(name, g, &want, 1);
    gguf_close(g);
    buf_free(&notes);
    buf_free(&head);
}

/* ---- protocol buffers ---- */

static void check_proto(void)
{
    /* 1: varint 300, 2: "ab", 3: four bytes, 4: eight bytes */
    static const unsigned char good[] = {0x08, 0xac, 2, 0x12, 2,    'a',  'b',
                                         0x1d, 0,    0, 0x80, 0x3f, 0x21, 1,
                                         0,    0,    0, 0,    0,    0,    0};
    struct proto p = {good, sizeof good, false};
    struct proto_field f;
    int fields = 0, sure = 1;

    while (proto_next(&f, &p)) {
        fields++;
        sure &= f.number == (uint32_t)fields;
        sure &= fields != 1 || f.v == 300;
        sure &= fields != 2 || (f.bytes && f.n == 2 && f.p[1] == 'b');
        sure &= fields != 3 || f.v == 0x3f800000;
        sure &= fields != 4 || f.v == 1;
    }
    ok(fields == 4 && sure && !p.bad, "a message: its fields");
    for (size_t n = 0; n < sizeof good; n++) {
        p = (struct proto){good, n, false};
        while (proto_next(&f, &p))
            ;
        sure &= p.bad == (n != 0 && n != 3 && n != 7 && n != 12);
    }
    ok(sure, "a message cut anywhere");
}

/* ---- ../shared ---- */

static int unpack(struct buf *out, const char *path)
{
    struct map m;
    unsigned long long n;
    void *to;

    if (map_open(&m, path, NULL))
        return -1;
    n = ZSTD_getFrameContentSize(m.p, m.n);
    if (n < 1 || n > 1 << 28 || !(to = buf_add(out, (size_t)n)) ||
        ZSTD_decompress(to, (size_t)n, m.p, m.n) != n)
        out->bad = true;
    map_close(&m);
    return out->bad ? -1 : 0;
}

/* The ids of all strings by the tokenizer of G. */
static void encode_all(struct tok_ids *ids, const struct gguf *g,
                       json_t *strings)
{
    struct tok *t = NULL;
    struct tok_enc *enc = NULL;
    size_t i;
    json_t *s;

    if (!tok_open(&t, g, NULL, NULL))
        enc = tok_enc_new(t, TOK_NO_BOS | TOK_NO_EOS, NULL);
    json_array_foreach(strings, i, s)
    {
        if (enc)
            tok_encode(enc, ids, json_string_value(s), json_string_length(s),
                       NULL);
    }
    tok_enc_free(enc);
    tok_close(t);
}

/* Files older than some of the keys: what comes back has them. */
static int lacks_keys(const struct gguf *g)
{
    struct gguf_str model = {0};

    gguf_get_str(&model, g, "tokenizer.ggml.model", NULL);
    return !gguf_key(g, "tokenizer.ggml.pre") ||
           gguf_key(g, "tokenizer.ggml.token_type_count") ||
           (model.n == 4 && !memcmp(model.p, "bert", 4));
}

static void check_oracle(const char *name, json_t *strings)
{
    char path[300];
    struct buf b = {0}, head = {0};
    struct gguf *g = NULL, *again = NULL;
    struct gguf_str arch = {0}, title = {0};
    struct convert_tokenizer_want want = {.bos = -1, .eos = -1, .pad = -1};
    struct tok_ids ids = {0}, ids2 = {0};
    struct err e = {0};
    char text[64], id[33] = "", id2[33] = "";

    snprintf(path, sizeof path, ORACLE "%s", name);
    if (!unpack(&b, path))
        gguf_open_memory(&g, name, &(struct gguf_str){(char *)b.p, b.n}, 1, &e);
    if (!ok(g, "%s opens %s", name, e.msg))
        return;
    gguf_get_str(&arch, g, "general.architecture", NULL);
    gguf_get_str(&title, g, "general.name", NULL);
    snprintf(text, sizeof text, "%.*s", (int)arch.n, arch.p);
    want.arch = text;
    want.n_vocab = (int)gguf_key(g, "tokenizer.ggml.tokens")->n;
    folder_empty(folder);
    if (!convert_tokenizer_back(folder, g, &e))
        again = convert(&head, &want, title, &e);
    if (ok(again, "%s: to a folder and back: %s", name, e.msg)) {
        encode_all(&ids, g, strings);
        encode_all(&ids2, again, strings);
        ok(ids.n && ids.n == ids2.n && !memcmp(ids.p, ids2.p, 4 * ids.n),
           "%s: the same %zu ids", name, ids.n);
        gguf_vocab_id(id, g);
        gguf_vocab_id(id2, again);
        if (!lacks_keys(g))
            ok(!strcmp(id, id2), "%s: the same vocabulary", name);
    }
    tok_ids_free(&ids);
    tok_ids_free(&ids2);
    gguf_close(g);
    gguf_close(again);
    buf_free(&b);
    buf_free(&head);
}

static void check_oracles(void)
{
    json_t *strings =
        json_load_file(ORACLE "strings.json", JSON_ALLOW_NUL, NULL);
    DIR *d = opendir(ORACLE);
    struct dirent *de;
    long most = 1 << 22; /* packed */
    const char *emulator = getenv("EMULATOR");

#if defined __SANITIZE_ADDRESS__
    most = 1 << 20;
#endif
    if (emulator && *emulator)
        most = 1 << 18;
    while (d && strings && (de = readdir(d))) {
        char path[600];
        struct stat st;

        snprintf(path, sizeof path, ORACLE "%s", de->d_name);
        if (strstr(de->d_name, ".gguf.zst") && !stat(path, &st) &&
            st.st_size < most)
            check_oracle(de->d_name, strings);
    }
    if (d)
        closedir(d);
    json_decref(strings);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    json_error_t je;
    json_t *cases = json_load_file(DATA, 0, &je), *c;
    size_t i;

    snprintf(folder, sizeof folder, "%s/convert_tokenizer.XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    if (!cases || !mkdtemp(folder)) {
        printf("not ok 1 - " DATA ":%d: %s\n1..1\n", je.line, je.text);
        return 1;
    }
    check_proto();
    json_array_foreach(cases, i, c) check_case(c);
    check_oracles();
    folder_empty(folder);
    rmdir(folder);
    json_decref(cases);
    return tap_done();
}
