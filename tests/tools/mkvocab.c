/* SPDX-License-Identifier: MIT
 *
 * mkvocab KIND [PRE] >FILE - a tiny vocabulary of that kind as a GGUF, for
 * tests. */
#include "tests/unit/tok_make.h"

int main(int argc, char **argv)
{
    struct buf b = {0};
    int bad;

    if (argc < 2 || make_vocab(&b, argv[1], argc > 2 ? argv[2] : NULL))
        return 2;
    bad = fwrite(b.p, 1, b.n, stdout) != b.n || fclose(stdout);
    buf_free(&b);
    return bad;
}
