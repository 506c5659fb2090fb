/* SPDX-License-Identifier: MIT
 *
 * The tokenizer files of a folder, any bytes: tokenizer.json where the input
 * begins with '{', else tokenizer.model; behind a line "%%" comes
 * tokenizer_config.json.  What becomes of them must open, encode, and go back
 * to a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/tokenizer.h"
#include "tests/unit/folder.h"
#include "tok/tok.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];

static void leave(void)
{
    folder_empty(folder);
    rmdir(folder);
}

static void put(const char *file, const uint8_t *p, size_t n)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f))
        abort();
}

static void use(const struct gguf *g)
{
    static const char text[] = " ab  a1\n<s>\xc3\xa9\xff";
    struct tok *t = NULL;
    struct tok_enc *enc = NULL;
    struct tok_ids ids = {0};

    if (!tok_open(&t, g, NULL, NULL))
        enc = tok_enc_new(t, TOK_SPECIAL, NULL);
    if (enc && tok_encode(enc, &ids, text, sizeof text - 1, NULL))
        abort();
    for (size_t i = 0; i < ids.n; i++)
        if (ids.p[i] >= tok_count(t))
            abort();
    tok_ids_free(&ids);
    tok_enc_free(enc);
    tok_close(t);
}

static void convert(int n_vocab)
{
    struct buf head = {0}, notes = {0};
    struct convert_tokenizer_want want = {"llama", n_vocab, 1, 2, -1, &notes};
    struct gguf_out o;
    struct gguf *g = NULL;
    struct err e = {0};

    gguf_out_init(&o, 32);
    gguf_put_str(&o, "general.architecture", (struct gguf_str){"llama", 5});
    if (!convert_tokenizer(&o, folder, &want, &e)) {
        if (gguf_out_head(&head, &o, &e) ||
            gguf_open_memory(&g, "made",
                             &(struct gguf_str){(char *)head.p, head.n}, 1, &e))
            abort();
        use(g);
        folder_empty(folder);
        convert_tokenizer_back(folder, g, NULL);
    } else if (!e.code || !e.msg[0]) {
        abort();
    }
    gguf_close(g);
    gguf_out_fini(&o);
    buf_free(&head);
    buf_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    const uint8_t *rest = NULL;
    size_t n = size;

    if (!folder[0]) {
        const char *tmp = getenv("TMPDIR");

        snprintf(folder, sizeof folder, "%s/tokenizer.XXXXXX",
                 tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(folder))
            abort();
        atexit(leave);
    }
    for (size_t i = 0; !rest && i + sizeof mark - 1 <= size; i++)
        if (!memcmp(data + i, mark, sizeof mark - 1)) {
            n = i;
            rest = data + i + sizeof mark - 1;
        }
    folder_empty(folder);
    put(n && data[0] == '{' ? "tokenizer.json" : "tokenizer.model", data, n);
    if (rest)
        put("tokenizer_config.json", rest, size - n - (sizeof mark - 1));
    convert(size & 1 ? 64 : 0);
    return 0;
}
