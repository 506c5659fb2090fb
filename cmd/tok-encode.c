/* SPDX-License-Identifier: MIT
 * tok-encode.c - text -> token records. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "cmd/common/cli.h"
#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "tok/tok.h"

static int count_only, by_line, by_json, special, no_bos, want_eos, no_eos;
static int threads;
static const char *pre;

static const struct cli_opt opts[] = {
    {'c', "count", CLI_FLAG, &count_only, NULL,
     "print how many tokens each sequence has, and nothing else"},
    {'L', "lines", CLI_FLAG, &by_line, NULL, "each line is a sequence"},
    {'J', "jsonl", CLI_FLAG, &by_json, NULL,
     "each line is a JSON request with a \"prompt\""},
    {0, "special", CLI_FLAG, &special, NULL,
     "spellings of control tokens in the text become those tokens"},
    {0, "no-bos", CLI_FLAG, &no_bos, NULL,
     "do not begin with BOS, whatever the model says"},
    {0, "eos", CLI_FLAG, &want_eos, NULL, "end with EOS"},
    {0, "no-eos", CLI_FLAG, &no_eos, NULL,
     "do not end with EOS, whatever the model says"},
    {0, "pre", CLI_STR, &pre, "name",
     "split the text by this pre-tokenizer's rules, not the model's"},
    {'t', "threads", CLI_INT, &threads, "count",
     "threads to encode with (default: the cores this process may use)"},
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {0},
};
static const struct cli cli = {
    "tok-encode", "model [file ...]",
    "turn text into tokens, as the model's own tokenizer does", opts};

/* One run: the vocabulary, where records go, and the sequence being made. */
struct run {
    const struct tok *t;
    struct tok_enc *enc;
    struct pool *pool;
    struct wire_out *out; /* NULL: readable text, or counts */
    uint64_t seq;
    size_t ntoken; /* of this sequence so far */
    bool at_start; /* no text has been decoded yet */
    struct tok_ids ids;
    struct buf in, text;
};

enum { CHUNK = 1 << 20 };

/* Write bytes so that one line shows them: C escapes, and \xHH for the rest
 * that is not printable UTF-8. */
static void print_escaped(struct buf *b, const unsigned char *p, size_t n)
{
    wire_json_string(b, p, n);
}

static int print_tokens(struct run *r, struct err *e)
{
    struct buf piece = {0};

    r->text.n = 0;
    for (size_t i = 0; i < r->ids.n; i++) {
        piece.n = 0;
        if (tok_decode(&piece, r->t, &r->ids.p[i], 1, TOK_SHOW_SPECIAL, e))
            break;
        buf_printf(&r->text, "%u\t", r->ids.p[i]);
        print_escaped(&r->text, piece.p, piece.n);
        buf_putc(&r->text, '\n');
    }
    buf_free(&piece);
    if (buf_ok(&r->text, e))
        return -1;
    fwrite(r->text.p, 1, r->text.n, stdout);
    return 0;
}

/* Is ID what the model puts around a text: BOS and CLS, EOS and SEP? */
static bool is_frame(const struct run *r, uint32_t id, bool front)
{
    return (int32_t)id == tok_role(r->t, front ? TOK_BOS : TOK_EOS) ||
           (int32_t)id == tok_role(r->t, front ? TOK_CLS : TOK_SEP);
}

/* The text of the tokens in r->ids, but for the first and the last of the
 * sequence where the model put them there. */
static int decode(struct run *r, bool last, struct err *e)
{
    const uint32_t *p = r->ids.p;
    size_t n = r->ids.n;
    unsigned flags = special ? TOK_SHOW_SPECIAL : 0u;

    if (r->at_start && n && !no_bos && tok_adds_bos(r->t) &&
        is_frame(r, p[0], true)) {
        p++;
        n--;
    }
    if (last && n && !no_eos && (want_eos || tok_adds_eos(r->t)) &&
        is_frame(r, p[n - 1], false))
        n--;
    r->text.n = 0;
    if (!n)
        return 0;
    if (tok_decode(&r->text, r->t, p, n,
                   flags | (r->at_start ? TOK_AT_START : 0u), e))
        return -1;
    r->at_start = tok_starts_text(r->t, p[n - 1]);
    return 0;
}

/* Pass on the tokens in r->ids, made of the bytes P[N]; LAST: none follow. */
static int emit(struct run *r, const void *p, size_t n, bool last,
                struct err *e)
{
    struct wire_tokens rec = {
        .seq = r->seq, .ids = r->ids.p, .n = r->ids.n, .text = p, .ntext = n};

    r->ntoken += r->ids.n;
    if (count_only || !r->ids.n)
        return 0;
    if (!r->out)
        return print_tokens(r, e);
    if (!tok_verbatim(r->t)) {
        if (decode(r, last, e))
            return -1;
        rec.text = r->text.p ? r->text.p : (const void *)"";
        rec.ntext = r->text.n;
    }
    return wire_put_tokens(r->out, &rec, e);
}

static void begin(struct run *r)
{
    tok_begin(r->enc);
    r->ntoken = 0;
    r->at_start = true;
}

static int end(struct run *r, struct err *e)
{
    struct wire_end rec = {
        .seq = r->seq++, .why = "input", .ntokens = r->ntoken};

    if (count_only)
        return printf("%zu\n", r->ntoken) < 0
                   ? err_set(e, ERR_IO, "%s", strerror(errno))
                   : 0;
    if (!r->out)
        return 0;
    return wire_put_end(r->out, &rec, e);
}

/* Read more behind what is in r->in; how much, -1 for an error. */
static ssize_t fill(struct run *r, int fd, const char *name, struct err *e)
{
    unsigned char *to = buf_reserve(&r->in, CHUNK);
    ssize_t n;

    if (!to)
        return err_nomem(e);
    do
        n = read(fd, to, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    r->in.n += (size_t)n;
    return n;
}

/* The whole input is one sequence. */
static int encode_text(void *arg, int fd, const char *name, struct err *e)
{
    struct run *r = arg;
    size_t used;
    ssize_t n;

    begin(r);
    r->in.n = 0;
    do {
        n = fill(r, fd, name, e);
        if (n < 0)
            return -1;
        r->ids.n = 0;
        if (tok_feed_pool(r->enc, r->pool, &r->ids, r->in.p, r->in.n, n == 0,
                          &used, e) ||
            emit(r, r->in.p, used, n == 0, e))
            return -1;
        r->in.n -= used;
        memmove(r->in.p, r->in.p + used, r->in.n);
    } while (n);
    return end(r, e);
}

static int encode_line(struct run *r, const unsigned char *p, size_t n,
                       struct err *e)
{
    begin(r);
    r->ids.n = 0;
    if (tok_encode(r->enc, &r->ids, p, n, e) || emit(r, p, n, true, e))
        return -1;
    return end(r, e);
}

/* The prompt of a request that is a list of token ids already. */
static int prompt_ids(struct run *r, const json_t *list, struct err *e)
{
    size_t n = json_array_size(list);

    r->ids.n = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        struct tok_ids *ids = &r->ids;

        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= tok_count(r->t))
            return err_set(e, ERR_FORMAT,
                           "\"prompt\": element %zu is not a token", i);
        if (ids->n == ids->cap) {
            size_t cap = ids->cap + ids->cap / 2 + 64;
            uint32_t *p = realloc(ids->p, cap * sizeof *p);

            if (!p)
                return err_nomem(e);
            ids->p = p;
            ids->cap = cap;
        }
        ids->p[ids->n++] = (uint32_t)json_integer_value(v);
    }
    return 0;
}

/* The request: its prompt as tokens, everything else in a set record. */
static int encode_request(struct run *r, const unsigned char *p, size_t n,
                          struct err *e)
{
    json_error_t je;
    json_t *o = json_loadb((const char *)p, n,
                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    json_t *prompt = json_object_get(o, "prompt");
    struct buf text = {0};
    int rc = -1;

    begin(r);
    if (!o) {
        err_set(e, ERR_FORMAT, "column %d: %s", je.column, je.text);
    } else if (!json_is_string(prompt) && !json_is_array(prompt)) {
        err_set(e, ERR_FORMAT,
                "no \"prompt\" that is a string or a list of "
                "tokens");
    } else if (json_is_array(prompt)) {
        if (!prompt_ids(r, prompt, e))
            rc = tok_decode(&text, r->t, r->ids.p, r->ids.n, TOK_AT_START, e);
    } else {
        r->ids.n = 0;
        buf_put(&text, json_string_value(prompt), json_string_length(prompt));
        rc = buf_ok(&text, e) || tok_encode(r->enc, &r->ids, text.p, text.n, e);
    }
    if (!rc) {
        json_object_del(o, "prompt");
        if (r->out && json_object_size(o))
            rc = wire_put_set(r->out, r->seq, o, e);
    }
    if (!rc)
        rc = emit(r, text.p ? text.p : (const void *)"", text.n, true, e) ||
             end(r, e);
    json_decref(o);
    buf_free(&text);
    return rc ? -1 : 0;
}

/* Each line of the input is a sequence. */
static int encode_lines(void *arg, int fd, const char *name, struct err *e)
{
    struct run *r = arg;
    unsigned long long line = 1;
    ssize_t n;

    r->in.n = 0;
    do {
        unsigned char *p, *nl;
        size_t left;

        n = fill(r, fd, name, e);
        if (n < 0)
            return -1;
        p = r->in.p;
        left = r->in.n;
        while (left) {
            size_t len;

            nl = memchr(p, '\n', left);
            if (!nl && n)
                break;
            len = nl ? (size_t)(nl - p) : left;
            if (by_json ? encode_request(r, p, len, e)
                        : encode_line(r, p, len, e))
                return err_prefix(e, "%s: line %llu", name, line);
            line++;
            p += len + (nl != NULL);
            left -= len + (nl != NULL);
        }
        memmove(r->in.p, p, left);
        r->in.n = left;
    } while (n);
    return 0;
}

static void put_header(struct run *r, const struct gguf *g)
{
    char id[33], vocab[33], name[256] = "";
    struct wire_header h = {
        .by = cli.prog, .path = gguf_path(g), .id = id, .vocab = vocab};
    struct gguf_str s;
    struct err e = {0};

    gguf_model_id(id, g);
    gguf_vocab_id(vocab, g);
    if (gguf_get_str(&s, g, "general.name", NULL) > 0) {
        snprintf(name, sizeof name, "%.*s", (int)(s.n < 255 ? s.n : 255), s.p);
        h.name = name;
    }
    if (wire_put_header(r->out, &h, &e))
        die(&e);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), st;
    struct run r = {0};
    struct err e = {0};
    struct gguf *g;
    struct tok *t;
    unsigned flags;

    if (i == argc)
        usage(&cli);
    if (by_line && by_json)
        usage_error(&cli, "-L and -J exclude each other");
    if (want_eos && no_eos)
        usage_error(&cli, "--eos and --no-eos exclude each other");
    if (threads < 0 || threads > POOL_MAX)
        usage_error(&cli, "--threads: not in 1 to %d", POOL_MAX);
    flags = (special ? TOK_SPECIAL : 0u) | (no_bos ? TOK_NO_BOS : 0u) |
            (want_eos ? TOK_ADD_EOS : 0u) | (no_eos ? TOK_NO_EOS : 0u);
    if (count_only)
        io_output();
    else
        io_stream(&cli, &r.out);
    g = model_open(argv[i++]);
    if (tok_open(&t, g, pre, &e) || !(r.enc = tok_enc_new(t, flags, &e)))
        die(&e);
    r.t = t;
    if (!by_line && !by_json &&
        !(r.pool = pool_new(threads ? threads : cpu_threads(), &e)))
        die(&e);
    if (r.out)
        put_header(&r, g);
    st = io_each(argv + i, argc - i,
                 by_line || by_json ? encode_lines : encode_text, &r);
    if (tok_replaced(r.enc))
        warn("%llu characters have no token in this vocabulary and were "
             "replaced",
             (unsigned long long)tok_replaced(r.enc));
    if (wire_out_close(r.out, &e) && !st)
        die(&e);
    pool_free(r.pool);
    tok_ids_free(&r.ids);
    buf_free(&r.in);
    buf_free(&r.text);
    tok_enc_free(r.enc);
    tok_close(t);
    gguf_close(g);
    return cli_finish(st);
}
