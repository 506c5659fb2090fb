/* SPDX-License-Identifier: MIT
 * tap.h - the smallest test kit: checks as TAP lines on stdout.
 *
 *     int main(void)
 *     {
 *         ok(1 + 1 == 2, "sums");
 *         return tap_done();
 *     }
 */
#ifndef LLM_TESTS_TAP_H
#define LLM_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_n, tap_bad;

__attribute__((format(printf, 3, 4))) static inline int
tap_ok(int good, const char *where, const char *fmt, ...)
{
    va_list ap;

    tap_n++;
    tap_bad += !good;
    printf("%sok %d - ", good ? "" : "not ", tap_n);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    if (good)
        putchar(10);
    else
        printf(" # at %s\n", where);
    fflush(stdout);
    return good;
}

#define TAP_STR2(x) #x
#define TAP_STR(x)  TAP_STR2(x)
#define ok(cond, ...)                                                          \
    tap_ok(!!(cond), __FILE__ ":" TAP_STR(__LINE__), __VA_ARGS__)

static inline int tap_done(void)
{
    printf("1..%d\n", tap_n);
    return tap_bad > 0;
}

#endif
