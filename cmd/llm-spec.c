/* SPDX-License-Identifier: MIT
 * llm-spec.c - llm-decode with guesses: the same tokens, sooner. */
#include "cmd/common/decode.h"
#include "cmd/spec/spec.h"

static int stats;
static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, drafters_opts, NULL, NULL},
    {0, "stats", CLI_FLAG, &stats, NULL,
     "say what was guessed, what was right, and the gain"},
    {0, "", CLI_GROUP, decode_opts, NULL, NULL},
    {0}};
static const struct cli cli = {"llm-spec", "model [file ...]",
                               "continue token streams, by guesses", opts};

static void check(void)
{
    drafters_check(&cli);
}

static struct draft *open_drafters(const struct load *l, int batch)
{
    return drafters_open(&cli, l, batch);
}

static int report(const struct draft *d, struct wire_out *w, struct err *e)
{
    if (!stats)
        return 0;
    stats_show(d);
    return w ? stats_put(w, d, e) : 0;
}

int main(int argc, char **argv)
{
    static const struct decode_use use = {check, open_drafters, report,
                                          drafters_close};

    return decode_main(&cli, argc, argv, &use);
}
