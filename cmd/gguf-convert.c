/* SPDX-License-Identifier: MIT
 * gguf-convert.c - models of Hugging Face as GGUF files, and back. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/map.h"
#include "cmd/common/cli.h"
#include "cmd/common/size.h"
#include "cmd/convert/convert.h"
#include "convert/peft.h"

static struct job job;
static const char *type = "auto", *format = "text", *max_size;
static int dry_run, no_tokenizer, quiet;
static int threads = INT_MIN; /* not given */

static const struct cli_opt opts[] = {
    {0, "base", CLI_STR, &job.base, "model",
     "the model of a LoRA adapter: a folder or a GGUF"},
    {'n', "dry-run", CLI_FLAG, &dry_run, NULL,
     "show what would become of each tensor, and write nothing"},
    {'f', "format", CLI_STR, &format, "text|json", "how --dry-run prints"},
    {0, "max-size", CLI_STR, &max_size, "size",
     "of a folder, no file of weights is larger, unless one tensor is"},
    {0, "name", CLI_STR, &job.want.name, "name", "what the model is called"},
    {0, "no-tokenizer", CLI_FLAG, &no_tokenizer, NULL,
     "leave the tokenizer out"},
    {'o', "output", CLI_STR, &job.output, "file", "the GGUF, or the folder"},
    {0, "outtype", CLI_STR, &type, "type",
     "the type of matrices: f32, f16, bf16, q8_0 or auto"},
    {'q', "quiet", CLI_FLAG, &quiet, NULL, "no notes and no progress"},
    {'t', "threads", CLI_INT, &threads, "count", "threads"},
    {0},
};
static const struct cli cli = {"gguf-convert", "model",
                               "make a GGUF of a Hugging Face model, or back",
                               opts};

/* Does the file begin as a GGUF does?  A folder does not. */
static bool is_gguf(const char *path)
{
    int fd = map_fd(path, O_RDONLY);
    char magic[4] = "";
    bool is = fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, "GGUF", 4);

    if (fd >= 0)
        close(fd);
    return is;
}

static int adapter(void)
{
    if (job.want.name)
        usage_error(&cli, "--name is for models");
    if (job.want.type == CONVERT_TO_Q8_0)
        usage_error(&cli, "--outtype: an adapter has no q8_0");
    return convert_adapter(&job);
}

static void only_back(void)
{
    if (job.want.name)
        usage_error(&cli, "--name is for a GGUF to be made");
    if (job.want.type == CONVERT_TO_Q8_0)
        usage_error(&cli, "--outtype: a folder has no q8_0");
    job.max_size = (uint64_t)5 << 30;
    if (max_size && (!size_parse(&job.max_size, max_size) || !job.max_size))
        usage_error(&cli, "--max-size: '%s' is no size", max_size);
}

static void options(int argc, char **argv, int i)
{
    static const char *const formats[] = {"text", "json", NULL};
    /* In the order of enum convert_type. */
    static const char *const types[] = {"auto", "f32",  "f16",
                                        "bf16", "q8_0", NULL};

    if (argc - i != 1)
        usage_error(&cli,
                    i == argc ? "no model is named" : "one model, not several");
    if (!job.output == !dry_run)
        usage_error(&cli, "either --output or --dry-run is needed");
    if (threads != INT_MIN && (threads < 1 || threads > POOL_MAX))
        usage_error(&cli, "--threads: %d is not in 1..%d", threads, POOL_MAX);
    job.input = argv[i];
    job.dry_run = dry_run;
    job.quiet = quiet;
    job.json = cli_choice(&cli, "format", format, formats) == 1;
    job.threads = threads > 0 ? threads : cpu_threads();
    job.want.type = (enum convert_type)cli_choice(&cli, "outtype", type, types);
    job.want.no_tokenizer = no_tokenizer;
}

int main(int argc, char **argv)
{
    options(argc, argv, cli_parse(&cli, argc, argv));
    if (max_size && !is_gguf(job.input))
        usage_error(&cli, "--max-size is for a folder to be made");
    if (peft_is(job.input))
        return adapter();
    if (job.base)
        usage_error(&cli, "--base is for LoRA adapters");
    if (is_gguf(job.input)) {
        only_back();
        return convert_to_folder(&job);
    }
    return convert_to_gguf(&job);
}
