/* SPDX-License-Identifier: MIT
 * chat-render.c - messages -> text, by the model's own chat template. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/cli.h"
#include "cmd/common/io.h"
#include "cmd/common/model.h"
#include "cmd/render/render.h"

static struct render r;
static int by_line, no_prompt, parse_arguments;
static long long epoch = -1;
static const char *kwargs;
static struct cli_list define;
static const struct cli_opt opts[] = {
    {'J', "jsonl", CLI_FLAG, &by_line, NULL, "each line is a request"},
    {0, "template", CLI_STR, &r.template, "file",
     "this template and not the model's, or the one of its templates with this "
     "name"},
    {'D', "define", CLI_LIST, &define, "name=json",
     "a variable of the template"},
    {0, "kwargs", CLI_STR, &kwargs, "json",
     "an object: several variables of the template"},
    {0, "no-generation-prompt", CLI_FLAG, &no_prompt, NULL,
     "end after the last message; do not begin the assistant's"},
    {0, "prefill", CLI_STR, &r.prefill, "text",
     "what the assistant's message begins with"},
    {0, "parse-arguments", CLI_FLAG, &parse_arguments, NULL,
     "arguments of calls that are a string of JSON become what it says"},
    {0, "clock", CLI_LONG, &epoch, "seconds",
     "the time for the template, since 1970, as UTC"},
    {0, "", CLI_GROUP, io_stream_opts, NULL, NULL},
    {0},
};
static const struct cli cli = {
    "chat-render", "[model] [file ...]",
    "turn messages into text, by the model's own chat template", opts};

static void define_one(const char *s)
{
    const char *value = strchr(s, '=');
    json_t *v;

    if (!value || value == s)
        usage_error(&cli, "--define: '%s' is not name=json", s);
    v = json_loads(value + 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!v)
        usage_error(&cli, "--define: '%s' is not JSON", value + 1);
    json_object_setn_new(r.kwargs, s, (size_t)(value - s), v);
}

static void define_all(void)
{
    json_t *o = kwargs ? json_loads(kwargs, JSON_ALLOW_NUL, NULL) : NULL;

    if (kwargs && !json_is_object(o))
        usage_error(&cli, "--kwargs: not an object");
    r.own = json_pack("{s:n,s:n,s:b}", "tools", "documents",
                      "add_generation_prompt", 1);
    r.kwargs = json_object();
    if (!r.own || !r.kwargs)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    if (o)
        json_object_update(r.kwargs, o);
    json_decref(o);
    for (int i = 0; i < define.n; i++)
        define_one(define.v[i]);
}

static void set_clock(void)
{
    const char *s = getenv("SOURCE_DATE_EPOCH");
    char *stop;
    time_t now;
    bool ok;

    if (epoch < 0 && s && *s) {
        errno = 0;
        epoch = strtoll(s, &stop, 10);
        if (errno || *stop || epoch < 0 || *s < '0' || *s > '9')
            usage_error(&cli, "SOURCE_DATE_EPOCH: '%s' is no time", s);
    }
    now = epoch < 0 ? time(NULL) : (time_t)epoch;
    ok = epoch < 0 ? localtime_r(&now, &r.now) : gmtime_r(&now, &r.now);
    if (!ok || r.now.tm_year > 9999 - 1900)
        usage_error(&cli, "--clock: not in the years to 9999");
}

/* Is OPERAND a file that is no model, but a request? */
static bool is_request(const char *operand)
{
    char magic[4] = "";
    int fd = strcmp(operand, "-") ? open(operand, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? 0 : read(fd, magic, sizeof magic);

    if (fd >= 0)
        close(fd);
    return !strcmp(operand, "-") || (n > 0 && memcmp(magic, "GGUF", 4));
}

/* Without a template.  Who reads the stream shall not take it for a text. */
static _Noreturn void give_up(const struct err *failed)
{
    struct wire_error rec = {
        .whole = true, .code = err_word(failed->code), .msg = failed->msg};
    struct err e = {0};

    if (r.out &&
        !wire_put_header(r.out, &(struct wire_header){.by = cli.prog}, &e))
        wire_put_error(r.out, &rec, &e);
    die(failed);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), st = 0;
    struct err e = {0};

    r.no_prompt = no_prompt;
    r.parse_arguments = parse_arguments;
    if (epoch < -1)
        usage_error(&cli, "--clock: not a time");
    define_all();
    set_clock();
    if (i == argc && !r.template)
        usage(&cli);
    io_stream(&cli, &r.out);
    if (i < argc && !(r.template && is_request(argv[i])))
        st = model_try(&r.g, argv[i++], &e);
    if (st || source_open(&r, &e) || (r.g && source_tokens(r.own, r.g, &e)))
        give_up(&e);
    if (r.out && r.g)
        model_header(r.out, cli.prog, r.g);
    else if (r.out &&
             wire_put_header(r.out, &(struct wire_header){.by = cli.prog}, &e))
        die(&e);
    st = io_each(argv + i, argc - i, by_line ? write_lines : write_one, &r);
    st = st > r.worst ? st : r.worst;
    io_stream_close(r.out, st);
    source_close(&r);
    json_decref(r.own);
    json_decref(r.kwargs);
    buf_free(&r.in);
    gguf_close(r.g);
    return cli_finish(st);
}
