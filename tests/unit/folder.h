/* SPDX-License-Identifier: MIT
 * folder.h - a folder that a test empties again. */
#ifndef LLM_TESTS_FOLDER_H
#define LLM_TESTS_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Remove what is in DIR, which may have one level of folders. */
static void folder_empty(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[600];

    while (d && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path)) {
            folder_empty(path);
            rmdir(path);
        }
    }
    if (d)
        closedir(d);
}

#endif
