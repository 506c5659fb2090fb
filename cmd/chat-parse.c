/* SPDX-License-Identifier: MIT
 * chat-parse.c - what a model answers: text, reasoning and tool calls. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/model.h"
#include "cmd/parse/parse.h"

static struct parse p;
static int inside, message, text, list, reverse, nul;
static const struct cli_opt opts[] = {
    {'d', "dialect", CLI_STR, &p.dialect, "name",
     "how the model writes calls; default: auto, by its chat template"},
    {0, "reasoning", CLI_STR, &p.style, "name",
     "how it marks reasoning; default: auto, with the dialect"},
    {'i', "inside", CLI_FLAG, &inside, NULL,
     "the prompt ended within reasoning"},
    {'m', "model", CLI_STR, &p.model, "model",
     "the model: its chat template, and the text of its control tokens"},
    {0, "template", CLI_STR, &p.template, "file",
     "a chat template to tell the dialect by"},
    {0, "tools", CLI_STR, &p.tools_file, "file",
     "the tools: which types their parameters have"},
    {'T', "text", CLI_FLAG, &text, NULL,
     "inputs are text, an answer each, not token streams"},
    {0, "message", CLI_FLAG, &message, NULL,
     "write a line of JSON for each answer: a message for the next turn"},
    {'w', "write", CLI_FLAG, &reverse, NULL,
     "the other way: messages in, text out"},
    {'0', "null", CLI_FLAG, &nul, NULL, "with --write: a NUL after each text"},
    {'l', "list", CLI_FLAG, &list, NULL,
     "list the dialects, or show the one that was told"},
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {0},
};
static const struct cli cli = {"chat-parse", "[file ...]",
                               "tell text, reasoning and tool calls apart",
                               opts};

static int worst; /* exit status */

/* Before more is awaited. */
static void flush(void *unused)
{
    struct err e = {0};

    (void)unused;
    if (p.out ? wire_out_flush(p.out, &e) : fflush(stdout)) {
        if (e.code)
            die(&e);
        exit(cli_finish(1));
    }
}

/* ---- token streams ---- */

/* What the program said that wrote the prompt. */
static int options(const struct wire_rec *r, struct err *e)
{
    bool within = false;

    if (wire_get_bool(&within, r, "inside", e) < 0)
        return -1;
    if (!within)
        return 0;
    if (!p.chosen && choose_by_header(&p, NULL, e))
        return -1;
    return answer_inside(&p, r->seq, e);
}

static int record(const struct wire_rec *r, const char *name, struct err *e)
{
    switch (r->kind) {
    case WIRE_HEADER: /* another stream, with its own numbers */
        if (answer_end_all(&p, e) || choose_by_header(&p, &r->header, e))
            return -1;
        break;
    case WIRE_SET:
        if (options(r, e))
            return -1;
        break;
    case WIRE_TOKENS:
        if (!p.chosen && choose_by_header(&p, NULL, e))
            return -1;
        return answer_tokens(&p, &r->tokens, e);
    case WIRE_END:
        if (!p.chosen && choose_by_header(&p, NULL, e))
            return -1;
        if (answer_end(&p, r->seq, e))
            return -1;
        break;
    case WIRE_ERROR:
        if (!p.out) {
            warn("%s: %s", name, r->error.msg);
            worst = worst ? worst : 1;
        }
        break;
    default:
        break;
    }
    return p.out ? wire_put(p.out, r, e) : 0;
}

static int parse_stream(int fd, const char *name, struct err *e)
{
    struct wire_in *in;
    struct wire_rec r;
    int got;

    if (wire_in_open(&in, fd, name, e))
        return -1;
    wire_in_before(in, flush, NULL);
    while ((got = wire_next(in, &r, e)) > 0)
        if (record(&r, name, e)) {
            err_prefix(e, "%s: record %llu", name,
                       (unsigned long long)r.number);
            got = -1;
            break;
        }
    if (answer_end_all(&p, got ? NULL : e))
        got = -1;
    wire_in_close(in);
    return got;
}

/* ---- text ---- */

static int parse_text(int fd, const char *name, struct err *e)
{
    static uint64_t number;
    static char b[1 << 16];
    ssize_t n;

    while ((n = read(fd, b, sizeof b)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
        if (answer_feed(&p, number, b, (size_t)n, e))
            return -1;
        flush(NULL);
    }
    return answer_end(&p, number++, e);
}

static int input(void *arg, int fd, const char *name, struct err *e)
{
    (void)arg;
    if (reverse)
        return write_messages(&p, fd, name, nul, e);
    return text ? parse_text(fd, name, e) : parse_stream(fd, name, e);
}

/* A stream of text has no header that could be passed on. */
static void put_header(void)
{
    struct wire_header h = {.by = "chat-parse"};
    struct err e = {0};

    if (p.g)
        model_header(p.out, h.by, p.g);
    else if (wire_put_header(p.out, &h, &e))
        die(&e);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), st;

    if (reverse && (message || text))
        usage_error(&cli, "--write goes with neither --message nor --text");
    if (nul && !reverse)
        usage_error(&cli, "--null goes with --write");
    p.inside = inside;
    p.message = message;
    choose_by_options(&p, &cli);
    if (list) {
        choose_list(&p);
        return cli_finish(0);
    }
    if ((reverse || text) && !p.chosen)
        usage_error(&cli,
                    "--write and --text want --dialect, --model or --template");
    if (inside && p.chosen && p.o.style == chat_style("none"))
        usage_error(&cli, "--inside goes with reasoning that is marked");
    if (message || reverse) {
        io_output();
    } else {
        io_stream(&cli, &p.out);
        if (p.out)
            wire_out_hold(p.out);
        if (p.out && text)
            put_header();
    }
    st = io_each(argv + i, argc - i, input, NULL);
    io_stream_close(p.out, st);
    choose_free(&p);
    json_decref(p.tools);
    buf_free(&p.text);
    return cli_finish(st > worst ? st : worst);
}
