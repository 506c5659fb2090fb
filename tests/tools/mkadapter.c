/* SPDX-License-Identifier: MIT
 *
 * mkadapter N RANK [SEED [WORD [ALPHA]]] >FILE - a LoRA adapter for the models
 * of mkmodel's kind N: of all tensors that can have one and whose name has WORD
 * in it. */
#include "tests/unit/adapter_make.h"

int main(int argc, char **argv)
{
    static struct tiny m;
    static struct low low;
    struct gguf_str file;
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : -1;

    if (n < 0 || n >= M_NARCH)
        return 2;
    m_make(&m, &m_archs[n], 1);
    low_make(&low, &m, (int)strtol(argv[2], NULL, 10), argc > 4 ? argv[4] : "",
             argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc > 5)
        low.alpha = strtod(argv[5], NULL);
    file = low_pack(&low);
    n = fwrite(file.p, 1, file.n, stdout) != file.n || fclose(stdout);
    low_free(&low);
    m_free(&m);
    return (int)n;
}
