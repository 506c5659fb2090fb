/* SPDX-License-Identifier: MIT */
#include "cmd/common/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

const char *size_text(char buf[32], uint64_t bytes)
{
    static const char *const unit[] = {"B",   "KiB", "MiB", "GiB",
                                       "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int u = 0;

    for (; v >= 1023.95 && u < 6; u++)
        v /= 1024;
    snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", v, unit[u]);
    return buf;
}

const char *count_text(char buf[32], uint64_t n)
{
    static const char unit[] = " kMGTPE";
    double v = (double)n;
    int u = 0;

    for (; v >= 999.95 && u < 6; u++)
        v /= 1000;
    snprintf(buf, 32, u ? "%.1f %c" : "%.0f", v, unit[u]);
    return buf;
}

bool size_parse(uint64_t *bytes, const char *s)
{
    static const struct {
        const char *unit;
        double times;
    } units[] = {{"", 1},         {"K", 0x1p10},   {"M", 0x1p20},
                 {"G", 0x1p30},   {"T", 0x1p40},   {"KiB", 0x1p10},
                 {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    char *end;
    double v;

    errno = 0;
    v = strtod(s, &end);
    if (end == s || errno || !(v >= 0))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(end, units[i].unit) && v * units[i].times < 0x1p62) {
            *bytes = (uint64_t)(v * units[i].times);
            return true;
        }
    return false;
}
