/* SPDX-License-Identifier: MIT
 * llm-decode.c - token streams, or KV states, to the tokens that follow. */
#include "cmd/common/decode.h"

static const struct cli_opt opts[] = {
    {0, "", CLI_GROUP, decode_opts, NULL, NULL}, {0}};
static const struct cli cli = {"llm-decode", "model [file ...]",
                               "continue token streams", opts};

int main(int argc, char **argv)
{
    return decode_main(&cli, argc, argv, NULL);
}
