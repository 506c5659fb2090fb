/* SPDX-License-Identifier: MIT
 * tok-encode.c - text -> token records. */
#include <limits.h>

#include "base/cpu.h"
#include "cmd/common/cli.h"
#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/encode/encode.h"

static int count_only, by_line, by_json, special, no_bos, want_eos, no_eos;
static int threads = INT_MIN; /* not given */
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

/* Who reads the stream shall not take it for a whole one. */
static void put_failure(struct wire_out *out, int st, struct err *e)
{
    static const char *const code[] = {"", "io", "usage", "format",
                                       "unsupported"};
    struct wire_error rec = {
        .whole = true, .code = code[st], .msg = "tok-encode failed"};

    if (st && out)
        wire_put_error(out, &rec, e);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), st;
    struct run r = {0};
    struct err e = {0};
    struct gguf *g;
    struct tok *t;

    if (i == argc)
        usage(&cli);
    if (by_line && by_json)
        usage_error(&cli, "-L and -J exclude each other");
    if (want_eos && no_eos)
        usage_error(&cli, "--eos and --no-eos exclude each other");
    if (threads != INT_MIN && (threads < 1 || threads > POOL_MAX))
        usage_error(&cli, "--threads: not in 1 to %d", POOL_MAX);
    r.flags = (special ? TOK_SPECIAL : 0u) | (no_bos ? TOK_NO_BOS : 0u) |
              (want_eos ? TOK_ADD_EOS : 0u) | (no_eos ? TOK_NO_EOS : 0u);
    r.count_only = count_only;
    if (count_only)
        io_output();
    else
        io_stream(&cli, &r.out);
    g = model_operand(argv[i++]);
    if (tok_open(&t, g, pre, &e) || !(r.enc = tok_enc_new(t, r.flags, &e)))
        die(&e);
    r.t = t;
    gguf_vocab_id(r.vocab, g);
    if (!by_line && !by_json &&
        !(r.pool = pool_new(threads > 0 ? threads : cpu_threads(), &e)))
        die(&e);
    if (r.out)
        model_header(r.out, cli.prog, g);
    if (r.out && (by_line || by_json))
        wire_out_hold(r.out);
    st = io_each(argv + i, argc - i,
                 by_line   ? encode_lines
                 : by_json ? encode_requests
                           : encode_text,
                 &r);
    put_failure(r.out, st, &e);
    if (tok_replaced(r.enc))
        warn("%llu characters have no token in this vocabulary and were "
             "replaced or left out",
             (unsigned long long)tok_replaced(r.enc));
    io_stream_close(r.out, st);
    pool_free(r.pool);
    tok_ids_free(&r.ids);
    buf_free(&r.in);
    buf_free(&r.text);
    tok_enc_free(r.enc);
    tok_close(t);
    gguf_close(g);
    return cli_finish(st);
}
