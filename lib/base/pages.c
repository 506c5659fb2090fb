/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static const size_t HUGE_PAGE = 2u << 20;

void *pages_alloc(size_t n)
{
    size_t round = (n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), head, tail;
    char *p;

    if (n < HUGE_PAGE)
        return calloc(1, n ? n : 1);
    if (round < n || round > SIZE_MAX - HUGE_PAGE)
        return NULL;
    p = mmap(NULL, round + HUGE_PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    head = -(uintptr_t)p & (HUGE_PAGE - 1);
    tail = HUGE_PAGE - head;
    if (head)
        munmap(p, head);
    munmap(p + head + round, tail);
#ifdef MADV_HUGEPAGE
    madvise(p + head, round, MADV_HUGEPAGE);
#endif
    return p + head;
}

void pages_free(void *p, size_t n)
{
    if (!p)
        return;
    if (n < HUGE_PAGE)
        free(p);
    else
        munmap(p, (n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
}
