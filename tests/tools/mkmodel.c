/* SPDX-License-Identifier: MIT
 *
 * mkmodel N [CONTEXT [SEED]] >FILE - a tiny model that runs, of the Nth kind of
 * model_make.h (0: a llama), with a vocabulary of letters, for tests.  Without
 * N: the kinds that decode, and their architectures. */
#include "tests/unit/model_words.h"

int main(int argc, char **argv)
{
    static struct tiny m;
    struct gguf_str file;
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : -1;

    if (argc == 1) {
        for (int i = 0; i < M_NARCH; i++)
            if (!(m_archs[i].flags & M_BOTH))
                printf("%d\t%s\n", i, m_archs[i].name);
        return 0;
    }
    if (n < 0 || n >= M_NARCH)
        return 2;
    m_make(&m, &m_archs[n],
           argc > 3 ? strtoull(argv[3], NULL, 10) * 2 + 1 : 12345);
    m.more = m_vocabulary;
    if (argc > 2)
        m_find_key(&m, "context_length")->num = strtod(argv[2], NULL);
    file = m_pack(&m);
    n = fwrite(file.p, 1, file.n, stdout) != file.n || fclose(stdout);
    m_free(&m);
    return (int)n;
}
