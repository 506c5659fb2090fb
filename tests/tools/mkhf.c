/* SPDX-License-Identifier: MIT
 * mkhf FOLDER TYPE [f32|f16|bf16] [shards] [fused]: a small folder of the
 * model_type TYPE ("gemma-embedding" is the Gemma 3 that sees both ways). */
#include "tests/tools/mkhf.h"

int main(int argc, char **argv)
{
    struct mkhf k = {.dtype = SAFETENSORS_F32};
    const char *type = argc > 2 ? argv[2] : "";

    if (argc < 3) {
        fprintf(stderr, "usage: mkhf FOLDER TYPE [f32|f16|bf16] [SHARDS] "
                        "[fused]\n");
        return 2;
    }
    k.dir = argv[1];
    k.m = convert_model_find(type);
    if (!strcmp(type, "gemma-embedding"))
        k.m = convert_model_of(type, 0);
    for (int i = 3; i < argc; i++)
        if (!strcmp(argv[i], "bf16"))
            k.dtype = SAFETENSORS_BF16;
        else if (!strcmp(argv[i], "f16"))
            k.dtype = SAFETENSORS_F16;
        else if (!strcmp(argv[i], "fused"))
            k.fused = true;
        else
            k.shards = (int)strtol(argv[i], NULL, 10);
    if (!k.m) {
        fprintf(stderr, "mkhf: no model_type %s\n", type);
        return 2;
    }
    mkhf_folder(&k);
    return 0;
}
