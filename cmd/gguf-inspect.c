/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "cmd/common/model.h"
#include "cmd/inspect/inspect.h"

static const char *format = "text", *kv_type = "f16", *diff;
static struct cli_list keys;
static int check, hash, all, quiet;
static int threads = INT_MIN; /* not given, and so for the next */
static long long context = LLONG_MIN;
static struct view view;

static const struct cli_opt opts[] = {
    {0, "all", CLI_FLAG, &all, NULL, "show whole arrays and strings"},
    {0, "check", CLI_FLAG, &check, NULL,
     "look at every tensor: layout, NaN and infinite scales"},
    {'c', "context", CLI_LONG, &context, "positions",
     "estimate memory for this context length"},
    {0, "diff", CLI_STR, &diff, "model", "compare with another model"},
    {'f', "format", CLI_STR, &format, "text|json", "how to print"},
    {0, "hash", CLI_FLAG, &hash, NULL,
     "print XXH3-128 of every tensor and of the whole"},
    {0, "key", CLI_LIST, &keys, "name", "print only the value of this key"},
    {0, "kv-type", CLI_STR, &kv_type, "k[,v]",
     "estimate memory for these types of K and V"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "the summary only"},
    {0, "tensors", CLI_STR, &view.tensors, "glob",
     "only tensors whose name matches"},
    {'t', "threads", CLI_INT, &threads, "count",
     "threads for --check and --hash"},
    {0},
};

static const struct cli cli = {
    .prog = "gguf-inspect",
    .operands = "model ...",
    .what = "show the metadata, tensors and needs of a GGUF model",
    .opt = opts,
};

/* The types that a KV cache can have. */
static const struct gguf_type_info *kv_info(const char *name, size_t n)
{
    static const uint32_t can[] = {GGUF_T_F32,  GGUF_T_F16,  GGUF_T_BF16,
                                   GGUF_T_Q8_0, GGUF_T_Q4_0, GGUF_T_Q4_1,
                                   GGUF_T_Q5_0, GGUF_T_Q5_1, GGUF_T_IQ4_NL};

    for (size_t i = 0; i < sizeof can / sizeof *can; i++) {
        const struct gguf_type_info *t = gguf_type_info(can[i]);

        if (strlen(t->name) == n && !strncasecmp(t->name, name, n))
            return t;
    }
    usage_error(&cli,
                "--kv-type: '%.*s' is none of f32, f16, bf16, q8_0, q4_0, "
                "q4_1, q5_0, q5_1, iq4_nl",
                (int)n, name);
}

static void set_view(void)
{
    static const char *const formats[] = {"text", "json", NULL};
    size_t n = strcspn(kv_type, ",");

    view.json = cli_choice(&cli, "format", format, formats) == 1;
    view.all = all;
    view.quiet = quiet;
    view.terminal = isatty(STDOUT_FILENO);
    view.kt = view.vt = kv_info(kv_type, n);
    if (kv_type[n])
        view.vt = kv_info(kv_type + n + 1, strlen(kv_type + n + 1));
    if (context != LLONG_MIN && (context < 1 || context > INT32_MAX))
        usage_error(&cli, "--context: %lld is not in 1..%d", context,
                    INT32_MAX);
    view.context = context;
    if (threads != INT_MIN && (threads < 1 || threads > POOL_MAX))
        usage_error(&cli, "--threads: %d is not in 1..%d", threads, POOL_MAX);
    view.threads = threads > 0 ? threads : cpu_threads();
    if ((keys.n > 0) + check + hash + (diff != NULL) > 1)
        usage_error(&cli, "--key, --check, --hash and --diff exclude each "
                          "other");
}

static int show_view(const struct gguf *g, const struct gguf *other)
{
    if (keys.n)
        return show_keys(g, &view, &keys);
    if (check)
        return show_check(g, &view);
    if (hash)
        return show_hash(g, &view);
    if (other)
        return show_diff(g, other, &view);
    return view.json ? show_json(g, &view) : show_text(g, &view);
}

/* A blank line parts what people read of several models. */
static int show(const struct gguf *g, const struct gguf *other)
{
    static bool shown;
    bool table = !keys.n && !check && !hash && !other;

    if (view.tensors && !keys.n && !any_wanted(&view, g) &&
        !(other && any_wanted(&view, other))) {
        warn("%s: no tensor matches '%s'", gguf_path(g), view.tensors);
        if (table && view.json)
            show_json(g, &view);
        return 1;
    }
    if (shown && table && !view.json)
        putchar('\n');
    shown = true;
    return show_view(g, other);
}

int main(int argc, char **argv)
{
    int i = cli_parse(&cli, argc, argv), worst = 0;
    struct gguf *other = NULL;

    set_view();
    if (i == argc)
        usage_error(&cli, diff ? "--diff takes two models: its argument and "
                                 "an operand"
                               : "no model is named");
    if (diff && argc - i != 1)
        usage_error(&cli, "--diff takes one operand, not %d", argc - i);
    view.many = argc - i > 1;
    if (diff)
        other = model_operand(diff);
    for (; i < argc; i++) {
        struct err e = {0};
        struct gguf *g;
        int st;

        if (model_try(&g, argv[i], &e)) {
            warn("%s", e.msg);
            st = status(&e);
        } else {
            st = show(g, other);
            gguf_close(g);
        }
        worst = st > worst ? st : worst;
    }
    gguf_close(other);
    return cli_finish(worst);
}
