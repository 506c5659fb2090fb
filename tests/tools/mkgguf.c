/* SPDX-License-Identifier: MIT
 *
 * mkgguf FILE DIRECTIVE... - write a GGUF file, right or wrong, for tests.
 *
 *   k:NAME:TYPE:VALUE   a key; TYPE may be [ELEM], its values between commas
 *   t:NAME:TYPE:DIMS    a tensor, DIMS as 32x4 (empty: none); bytes from SEED,
 *                       all scales finite
 *   llama               the keys and tensors of a tiny llama
 *   seed=N  align=N     for what follows; align also adds the key
 *   rawk:..  rawt:..    bytes in place of a key or a table entry, counted as
 *                       one: u8=N u32=N u64=N s=TEXT (with length) x=HEX,
 *                       between commas
 *   magic=TEXT version=N nkey=N ntensor=N    what the header says instead
 *   offset:NAME=N       what the table says instead, for a tensor of t:
 *   set:NAME@N=HEX      bytes of a tensor's data, from its byte N on
 *   tail=N  cut=N       append N bytes; keep only the first N
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/write.h"

enum { MAX = 256 };

static struct gguf_out out;
static struct tensor {
    char name[72];
    uint64_t bytes, at; /* in DATA */
    size_t offset_at;   /* in OUT.tensors */
} tensor[MAX];
static int ntensor;
static struct buf data;
static uint64_t seed = 1, tail, cut = UINT64_MAX;
static const char *magic = "GGUF";
static uint64_t version = 3, nkey, ntable;
static bool has_nkey, has_ntable;

static _Noreturn void bad(const char *what)
{
    fprintf(stderr, "mkgguf: %s?\n", what);
    exit(2);
}

/* xorshift64*: the tests only need the same bytes everywhere. */
static uint64_t rnd(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 2685821657736338717u;
}

static enum gguf_type value_type(const char *s, size_t n)
{
    for (int t = 0; t < GGUF_NTYPE; t++)
        if (strlen(gguf_val_name(t)) == n && !memcmp(gguf_val_name(t), s, n))
            return (enum gguf_type)t;
    bad(s);
}

static void put_int(struct buf *b, uint64_t v, size_t n)
{
    unsigned char w[8];

    wr_u64(w, v);
    buf_put(b, w, n);
}

static void put_str(struct buf *b, const char *s, size_t n)
{
    put_int(b, n, 8);
    buf_put(b, s, n);
}

static uint64_t number(const char *s)
{
    return *s == '-' ? (uint64_t)strtoll(s, NULL, 0) : strtoull(s, NULL, 0);
}

static void put_scalar(struct buf *b, enum gguf_type t, const char *s, size_t n)
{
    char word[64];
    float f;
    double d;

    if (t == GGUF_STR) {
        put_str(b, s, n);
        return;
    }
    snprintf(word, sizeof word, "%.*s", (int)n, s);
    d = strtod(word, NULL);
    f = strtof(word, NULL);
    if (t == GGUF_F32)
        buf_put(b, &f, 4);
    else if (t == GGUF_F64)
        buf_put(b, &d, 8);
    else
        put_int(b, number(word), gguf_val_size(t));
}

static void add_key(const char *s)
{
    const char *type = strchr(s, ':'), *value;
    struct buf b = {0};
    struct gguf_val v = {.n = 1};

    if (!type || !(value = strchr(type + 1, ':')))
        bad(s);
    v.key = (struct gguf_str){s, (size_t)(type - s)};
    type++;
    if (*type == '[') {
        v.type = GGUF_ARR;
        v.elem = value_type(type + 1, (size_t)(value - type - 2));
        v.n = 0;
        while (*value && value[1]) {
            size_t n = strcspn(++value, ",");

            put_scalar(&b, v.elem, value, n);
            value += n;
            v.n++;
        }
    } else {
        v.type = value_type(type, (size_t)(value - type));
        put_scalar(&b, v.type, value + 1, strlen(value + 1));
    }
    v.p = b.p;
    v.bytes = b.n;
    gguf_put_val(&out, &v);
    buf_free(&b);
}

/* Random bytes whose every 16-bit unit is a finite half, bfloat and 8-bit
 * float, whichever of them a type keeps at whatever place. */
static void fill(unsigned char *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        p[i] = (unsigned char)(rnd() >> 56) & 0xbb;
}

static void add_tensor(const char *s)
{
    char word[16];
    const char *type = strchr(s, ':'), *dims;
    const struct gguf_type_info *info;
    struct tensor *t = &tensor[ntensor];
    uint64_t ne[GGUF_MAX_DIMS];
    int ndim = 0;
    size_t pad;

    if (!type || !(dims = strchr(type + 1, ':')) || ntensor == MAX)
        bad(s);
    snprintf(t->name, sizeof t->name, "%.*s", (int)(type - s), s);
    snprintf(word, sizeof word, "%.*s", (int)(dims - type - 1), type + 1);
    if (!(info = gguf_type_by_name(word)))
        bad(word);
    for (dims++; *dims && ndim < GGUF_MAX_DIMS; dims += *dims == 'x') {
        char *end;

        ne[ndim++] = strtoull(dims, &end, 10);
        dims = end;
    }
    t->at = out.data;
    t->bytes = gguf_put_tensor(
        &out, (struct gguf_str){t->name, strlen(t->name)}, info->id, ndim, ne);
    if (!t->bytes)
        bad(out.e.msg);
    t->offset_at = out.tensors.n - 8;
    pad = gguf_out_pad(&out, t->bytes);
    if (!buf_reserve(&data, t->bytes + pad))
        bad("out of memory");
    fill(buf_add(&data, t->bytes), t->bytes);
    memset(buf_add(&data, pad), 0, pad);
    ntensor++;
}

static void add_llama(void)
{
    static const char *const key[] = {
        "general.architecture:str:llama",
        "general.name:str:tiny",
        "llama.block_count:u32:2",
        "llama.context_length:u32:128",
        "llama.embedding_length:u32:32",
        "llama.feed_forward_length:u32:64",
        "llama.attention.head_count:u32:4",
        "llama.attention.head_count_kv:u32:2",
        "llama.attention.layer_norm_rms_epsilon:f32:1e-5",
        "llama.rope.dimension_count:u32:8",
        "llama.rope.freq_base:f32:10000",
        "tokenizer.ggml.model:str:gpt2",
        "tokenizer.ggml.pre:str:gpt-2",
        "tokenizer.ggml.tokens:[str]:a,b,c,ab,abc,<s>",
        "tokenizer.ggml.token_type:[i32]:1,1,1,1,1,3",
        "tokenizer.ggml.merges:[str]:a b,ab c",
        "tokenizer.ggml.bos_token_id:u32:5"};
    static const char *const layer[] = {
        "attn_norm.weight:F32:32",       "attn_q.weight:Q8_0:32x32",
        "attn_k.weight:Q8_0:32x16",      "attn_v.weight:Q8_0:32x16",
        "attn_output.weight:Q8_0:32x32", "ffn_norm.weight:F32:32",
        "ffn_gate.weight:Q4_0:32x64",    "ffn_up.weight:Q4_0:32x64",
        "ffn_down.weight:F16:64x32"};

    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        add_key(key[i]);
    add_tensor("token_embd.weight:Q8_0:32x6");
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof layer / sizeof *layer; k++) {
            char s[96];

            snprintf(s, sizeof s, "blk.%d.%s", i, layer[k]);
            add_tensor(s);
        }
    add_tensor("output_norm.weight:F32:32");
}

static void put_hex(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        char w[3] = {s[i], s[i + 1], 0};

        buf_putc(b, (int)strtoul(w, NULL, 16));
    }
}

static void put_raw(struct buf *b, const char *s)
{
    while (*s) {
        const char *v = strchr(s, '=');
        size_t n;

        if (!v)
            bad(s);
        n = strcspn(++v, ",");
        if (!strncmp(s, "s=", 2))
            put_str(b, v, n);
        else if (!strncmp(s, "x=", 2))
            put_hex(b, v, n);
        else if (*s == 'u')
            put_int(b, number(v), (size_t)strtoul(s + 1, NULL, 10) / 8);
        else
            bad(s);
        s = v + n + (v[n] == ',');
    }
}

static struct tensor *tensor_named(const char *s, size_t n)
{
    for (int i = 0; i < ntensor; i++)
        if (strlen(tensor[i].name) == n && !memcmp(tensor[i].name, s, n))
            return &tensor[i];
    bad(s);
}

static void set_offset(const char *s)
{
    size_t n = strcspn(s, "=");

    wr_u64(out.tensors.p + tensor_named(s, n)->offset_at, number(s + n + 1));
}

static void set_bytes(const char *s)
{
    size_t n = strcspn(s, "@");
    struct tensor *t = tensor_named(s, n);
    struct buf b = {0};
    char *hex;
    uint64_t at = strtoull(s + n + 1, &hex, 10);

    put_hex(&b, hex + 1, strlen(hex + 1));
    if (at + b.n > t->bytes)
        bad(s);
    memcpy(data.p + t->at + at, b.p, b.n);
    buf_free(&b);
}

static bool starts(const char *s, const char *with, const char **rest)
{
    size_t n = strlen(with);

    *rest = s + n;
    return !strncmp(s, with, n);
}

static void directive(const char *s)
{
    const char *v;

    if (starts(s, "k:", &v))
        add_key(v);
    else if (starts(s, "t:", &v))
        add_tensor(v);
    else if (!strcmp(s, "llama"))
        add_llama();
    else if (starts(s, "seed=", &v))
        seed = number(v) * 2 + 1;
    else if (starts(s, "align=", &v))
        gguf_put_int(&out, "general.alignment", GGUF_U32,
                     out.alignment = (uint32_t)number(v));
    else if (starts(s, "rawk:", &v))
        put_raw(&out.keys, v), out.nkey++;
    else if (starts(s, "rawt:", &v))
        put_raw(&out.tensors, v), out.ntensor++;
    else if (starts(s, "magic=", &v))
        magic = v;
    else if (starts(s, "version=", &v))
        version = number(v);
    else if (starts(s, "nkey=", &v))
        nkey = number(v), has_nkey = true;
    else if (starts(s, "ntensor=", &v))
        ntable = number(v), has_ntable = true;
    else if (starts(s, "offset:", &v))
        set_offset(v);
    else if (starts(s, "set:", &v))
        set_bytes(v);
    else if (starts(s, "tail=", &v))
        tail = number(v);
    else if (starts(s, "cut=", &v))
        cut = number(v);
    else
        bad(s);
}

int main(int argc, char **argv)
{
    struct buf b = {0};
    FILE *f;

    if (argc < 2)
        bad("mkgguf FILE DIRECTIVE...");
    gguf_out_init(&out, 32);
    for (int i = 2; i < argc; i++)
        directive(argv[i]);
    buf_puts(&b, magic);
    put_int(&b, version, 4);
    put_int(&b, has_ntable ? ntable : out.ntensor, 8);
    put_int(&b, has_nkey ? nkey : out.nkey, 8);
    buf_put(&b, out.keys.p, out.keys.n);
    buf_put(&b, out.tensors.p, out.tensors.n);
    while (b.n % out.alignment)
        buf_putc(&b, 0);
    buf_put(&b, data.p, data.n);
    for (uint64_t i = 0; i < tail; i++)
        buf_putc(&b, 0);
    if (cut < b.n)
        b.n = cut;
    if (b.bad || !(f = fopen(argv[1], "wb")) || fwrite(b.p, 1, b.n, f) != b.n ||
        fclose(f)) {
        perror(argv[1]);
        return 1;
    }
    buf_free(&b);
    buf_free(&data);
    gguf_out_fini(&out);
    return 0;
}
