/* SPDX-License-Identifier: MIT
 * main.c - replays fuzz inputs without a fuzzer: every file operand once, as
 * one TAP line for the whole corpus (a crash ends it before that line). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        uint8_t *p = NULL;
        size_t n = 0, cap = 0, got;

        if (!f) {
            perror(argv[i]);
            return 1;
        }
        do {
            if (n == cap && !(p = realloc(p, cap = cap ? 2 * cap : 65536)))
                return 1;
            got = fread(p + n, 1, cap - n, f);
            n += got;
        } while (got);
        fclose(f);
        LLVMFuzzerTestOneInput(p, n);
        free(p);
    }
    printf("ok 1 - %s: %d inputs\n1..1\n", argv[0], argc - 1);
    return 0;
}
