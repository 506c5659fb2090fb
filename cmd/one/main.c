/* SPDX-License-Identifier: MIT
 * main.c - a file of several programs, which are mostly the same code: it is
 * the one by whose name it is called.  The Makefile says which, as X(name of a
 * C function, "name"). */
#include <stdio.h>
#include <string.h>

#define X(fn, name) int main_##fn(int argc, char **argv);
PROGRAMS
#undef X

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} programs[] = {
#define X(fn, name) {name, main_##fn},
    PROGRAMS
#undef X
};

int main(int argc, char **argv)
{
    const char *path = argc ? argv[0] : "", *slash = strrchr(path, '/'),
               *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(name, programs[i].name))
            return programs[i].main(argc, argv);
    fprintf(stderr, "%s: called by another name than", name);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        fprintf(stderr, " %s", programs[i].name);
    fprintf(stderr, "\n");
    return 2;
}
