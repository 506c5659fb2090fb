/* SPDX-License-Identifier: MIT
 * probe [THREADS [NEAR [FAR]]] - what this machine can do at most, as JSON:
 * read FAR megabytes of memory, by default far more than its caches hold, with
 * 2 MB pages where there are any; read NEAR megabytes again and again, which
 * may lie in a cache; and multiply and add bytes by its best instruction, a
 * product and its sum counting as two operations. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "cmd/bench/limits.h"

static void print_op(const char *what, const struct limits_op *op,
                     struct team *one, struct team *all)
{
    printf(",\"%s\":\"%s\",\"%s_gop_s\":%.0f,\"%s_one\":%.0f", what, op->name,
           what, limits_multiply(all, op), what, limits_multiply(one, op));
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : cpu_threads();
    double near = argc > 2 ? strtod(argv[2], NULL) : 0, rate[2];
    double far = argc > 3 ? strtod(argv[3], NULL) : limits_far_mb();
    const struct limits_op *best, *vector;
    struct team *one, *all;
    struct err e = {0};

    if (threads < 1 || threads > LIMITS_THREADS || !(near >= 0 && near < 1e6) ||
        !(far > 0 && far < 1e6)) {
        fputs("usage: probe [threads [near-megabytes [far-megabytes]]]\n",
              stderr);
        return 2;
    }
    best = limits_best(cpu_flags(), &vector);
    one = team_new(1, &e);
    all = one ? team_new(threads, &e) : NULL;
    if (!all || limits_read(rate, all, far, 7)) {
        fprintf(stderr, "probe: %s\n", all ? "out of memory" : e.msg);
        return 1;
    }
    printf("{\"threads\":%d,\"read_mb\":%.0f,\"read_gb_s\":%.1f,"
           "\"read_best\":%.1f",
           threads, far, rate[0], rate[1]);
    if (near > 0 && !limits_read(rate, all, near, near > 500 ? 7 : 50))
        printf(",\"near_mb\":%.0f,\"near_gb_s\":%.1f", near, rate[0]);
    if (best)
        print_op("int8", best, one, all);
    if (vector && vector != best)
        print_op("vector", vector, one, all);
    printf("}\n");
    team_free(all);
    team_free(one);
    return fflush(stdout) != 0;
}
