/* SPDX-License-Identifier: MIT
 * mix.c - the choice of types: hulls, and the least of sums by trying all. */
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize/mix.h"

enum { ROWS = 5, TYPES = 5 };

static uint64_t lcg = 7;

static double draw(void)
{
    lcg = lcg * 6364136223846793005u + 1442695040888963407u;
    return (double)(lcg >> 40) * 0x1p-24;
}

/* Rows of TYPES types each, of growing size and, mostly, falling loss. */
static void make(struct mix *m)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct mix_row *r = &m->row[i];

        *r = (struct mix_row){.tensor = i, .n = TYPES};
        for (int k = 0; k < TYPES; k++) {
            r->type[k] = (uint32_t)k;
            r->bytes[k] = (uint64_t)(10 * k + 10) + (uint64_t)(draw() * 9);
            r->loss[k] = exp(-1.5 * k) * (1 + 2 * draw());
        }
    }
}

static bool convex(const struct mix_row *r)
{
    double before = HUGE_VAL;

    for (int k = 0; k + 1 < r->n; k++) {
        double gain = (r->loss[k] - r->loss[k + 1]) /
                      (double)(r->bytes[k + 1] - r->bytes[k]);

        if (r->bytes[k + 1] <= r->bytes[k] || !(gain > 0) || gain >= before)
            return false;
        before = gain;
    }
    return true;
}

/* Does each type that went lie on or above the line of those that stayed? */
static bool below(const struct mix_row *hull, const struct mix_row *all)
{
    for (int k = 0; k < all->n; k++)
        for (int i = 0; i + 1 < hull->n; i++) {
            double at = (double)all->bytes[k], x0 = (double)hull->bytes[i];
            double x1 = (double)hull->bytes[i + 1];
            double y = hull->loss[i] + (at - x0) / (x1 - x0) *
                                           (hull->loss[i + 1] - hull->loss[i]);

            if (at >= x0 && at <= x1 && all->loss[k] < y - 1e-12)
                return false;
        }
    return true;
}

/* The least loss within BYTES and the least bytes within LOSS of all choices of
 * M's rows. */
static void try_all(double *least_loss, uint64_t *least_bytes,
                    const struct mix *m, uint64_t bytes, double loss)
{
    int n = 1;

    *least_loss = HUGE_VAL;
    *least_bytes = UINT64_MAX;
    for (int i = 0; i < ROWS; i++)
        n *= m->row[i].n;
    for (int at = 0; at < n; at++) {
        uint64_t b = m->rest;
        double l = 0;

        for (int i = 0, k = at; i < ROWS; k /= m->row[i++].n) {
            b += m->row[i].bytes[k % m->row[i].n];
            l += m->row[i].loss[k % m->row[i].n];
        }
        if (b <= bytes && l < *least_loss)
            *least_loss = l;
        if (l <= loss && b < *least_bytes)
            *least_bytes = b;
    }
}

static void test_choices(void)
{
    struct mix_row rows[ROWS], before[ROWS];
    struct mix m = {.row = rows, .n = ROWS, .rest = 17};
    int bad_hull = 0, over = 0, far = 0, wide = 0;
    struct err e = {0};

    for (int round = 0; round < 50; round++) {
        double loss, want_loss;
        uint64_t bytes, want_bytes, most = 0;

        make(&m);
        memcpy(before, rows, sizeof rows);
        for (int i = 0; i < ROWS; i++) {
            mix_hull(&rows[i]);
            bad_hull += !convex(&rows[i]) || !below(&rows[i], &before[i]);
            for (int k = 1; k < rows[i].n; k++)
                if (rows[i].bytes[k] - rows[i].bytes[k - 1] > most)
                    most = rows[i].bytes[k] - rows[i].bytes[k - 1];
        }
        bytes = 120 + (uint64_t)(draw() * 100);
        loss = 0.1 + draw();
        try_all(&want_loss, &want_bytes, &m, bytes, loss);
        if (mix_choose(&m, bytes, &e) || mix_bytes(&m) > bytes)
            over++;
        /* A step that no longer fits is all that can be missing. */
        try_all(&want_loss, &want_bytes, &m, bytes - most, loss);
        far += mix_loss(&m) > want_loss + 1e-12;
        mix_within(&m, loss, &e);
        try_all(&want_loss, &want_bytes, &m, bytes, loss);
        over += want_bytes != UINT64_MAX && mix_loss(&m) > loss;
        wide += want_bytes != UINT64_MAX && mix_bytes(&m) > want_bytes + most;
    }
    ok(!bad_hull, "hulls are convex, and all else is above them");
    ok(!over, "choices keep within the size, or the loss");
    ok(!far, "within a size hardly any choice loses less");
    ok(!wide, "within a loss hardly any choice is smaller");
}

static void test_ends(void)
{
    struct mix_row rows[ROWS];
    struct mix m = {.row = rows, .n = ROWS};
    struct err e = {0};
    int most = 0;

    make(&m);
    for (int i = 0; i < ROWS; i++)
        mix_hull(&rows[i]);
    ok(mix_choose(&m, 30, &e) == -1 && e.code == ERR_UNSUPPORTED,
       "a size that is too small: %s", e.msg);
    mix_within(&m, 0, &e);
    for (int i = 0; i < ROWS; i++)
        most += rows[i].taken == rows[i].n - 1;
    ok(most == ROWS, "no loss at all: the greatest types");
    mix_within(&m, 1e9, &e);
    for (int i = 0; i < ROWS; i++)
        most -= rows[i].taken == 0;
    ok(most == 0, "any loss: the smallest types");
}

int main(void)
{
    test_choices();
    test_ends();
    return tap_done();
}
