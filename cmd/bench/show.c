/* SPDX-License-Identifier: MIT
 * show.c - lines for people, and for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/bench.h"
#include "cmd/common/io.h"

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static const char *word(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

/* ---- cells ---- */

enum { CELL = 48 };
typedef void cell_fn(char s[CELL], const json_t *o);

/* Four digits, or all that stand before the point. */
static void figure(char s[CELL], double v)
{
    snprintf(s, CELL, v >= 1000 ? "%.0f" : v >= 100 ? "%.1f" : "%.4g", v);
}

static void put(char s[CELL], const json_t *o, const char *key, double times)
{
    if (json_object_get(o, key))
        figure(s, number(o, key) * times);
}

static void cell_test(char s[CELL], const json_t *o)
{
    const char *cache = word(o, "cache"), *drafter = word(o, "drafter");

    snprintf(s, CELL, "%s%s%s", word(o, "test"),
             !strcmp(cache, "cold") ? " cold"
             : *drafter             ? " "
                                    : "",
             drafter);
}

/* Of a prompt, and those that follow. */
static void cell_tokens(char s[CELL], const json_t *o)
{
    int prompt = (int)number(o, "prompt"), n = (int)number(o, "n");

    if (prompt && n)
        snprintf(s, CELL, "%d+%d", prompt, n);
    else if (prompt || n)
        snprintf(s, CELL, "%d", prompt + n);
}

static void whole(char s[CELL], const json_t *o, const char *key)
{
    if (json_object_get(o, key))
        snprintf(s, CELL, "%d", (int)number(o, key));
}

static void cell_depth(char s[CELL], const json_t *o)
{
    whole(s, o, "depth");
}

static void cell_batch(char s[CELL], const json_t *o)
{
    whole(s, o, "batch");
}

static void cell_threads(char s[CELL], const json_t *o)
{
    whole(s, o, "threads");
}

static void cell_median(char s[CELL], const json_t *o)
{
    put(s, o, "median", 1);
}

static void cell_unit(char s[CELL], const json_t *o)
{
    snprintf(s, CELL, "%s", word(o, "unit"));
}

static void cell_range(char s[CELL], const json_t *o)
{
    char low[CELL] = "", high[CELL] = "";

    figure(low, number(o, "low"));
    figure(high, number(o, "high"));
    snprintf(s, CELL, "%.20s-%.20s", low, high);
}

static void cell_p50(char s[CELL], const json_t *o)
{
    put(s, o, "p50_ms", 1);
}

static void cell_p95(char s[CELL], const json_t *o)
{
    put(s, o, "p95_ms", 1);
}

static void cell_p99(char s[CELL], const json_t *o)
{
    put(s, o, "p99_ms", 1);
}

static void cell_cpu(char s[CELL], const json_t *o)
{
    put(s, o, "cpu_s_per_token", 1e3);
}

static void cell_peak(char s[CELL], const json_t *o)
{
    const char *key = json_object_get(o, "int8_pct") ? "int8_pct" : "read_pct";

    if (json_object_get(o, key))
        snprintf(s, CELL, "%.0f %% %s", number(o, key),
                 key[0] == 'i' ? "int8" : "read");
}

static void cell_mb(char s[CELL], const json_t *o)
{
    if (json_object_get(o, "rss"))
        snprintf(s, CELL, "%.0f", number(o, "rss") * 1e-6);
}

/* How it compares, to whatever there is. */
static void cell_note(char s[CELL], const json_t *o)
{
    const json_t *base = json_object_get(o, "baseline"),
                 *vs = json_object_get(o, "vs"),
                 *plain = json_object_get(o, "plain");
    char part[CELL];
    size_t at = 0;

    if (plain) {
        double n = number(o, "guessed");

        at += (size_t)snprintf(s + at, CELL - at, "x%.2f, ",
                               number(plain, "ratio"));
        at += (size_t)(n > 0 ? snprintf(s + at, CELL - at, "%.0f %% right",
                                        100 * number(o, "right") / n)
                             : snprintf(s + at, CELL - at, "no guesses"));
    }
    if (vs)
        at += (size_t)snprintf(s + at, CELL - at, "x%.2f (%.2f-%.2f)",
                               number(vs, "ratio"), number(vs, "low"),
                               number(vs, "high"));
    if (base) {
        snprintf(part, sizeof part, "%s%+.1f %% %s", at ? "; " : "",
                 number(base, "change_pct"), word(base, "verdict"));
        if (at + strlen(part) < CELL)
            memcpy(s + at, part, strlen(part) + 1);
    }
}

static const struct column {
    const char *title;
    int width; /* less than 0: at the left */
    cell_fn *fn;
} columns[] = {{"test", -13, cell_test},
               {"tokens", 7, cell_tokens},
               {"depth", 6, cell_depth},
               {"batch", 5, cell_batch},
               {"t", 3, cell_threads},
               {"median", 7, cell_median},
               {"", -8, cell_unit},
               {"between", -13, cell_range},
               {"p50 ms", 7, cell_p50},
               {"p95", 7, cell_p95},
               {"p99", 7, cell_p99},
               {"cpu ms", 7, cell_cpu},
               {"of the peak", 11, cell_peak},
               {"MB", 6, cell_mb},
               {"", -1, cell_note}};
enum { NCOLUMN = sizeof columns / sizeof *columns };

static void row(const struct bench *b, const char *cell[NCOLUMN])
{
    bool text = b->as == SHOW_TEXT;
    char line[NCOLUMN * (CELL + 4)];
    size_t n = 0;

    for (int i = 0; i < NCOLUMN; i++) {
        int w = columns[i].width;

        n += (size_t)(text ? snprintf(line + n, sizeof line - n, "%s%*s",
                                      i ? " " : "", w, cell[i])
                           : snprintf(line + n, sizeof line - n, "| %s ",
                                      cell[i]));
    }
    while (text && n && line[n - 1] == ' ')
        n--;
    printf("%.*s%s\n", (int)n, line, text ? "" : "|");
}

/* A name, with what a terminal or a table might obey as dots. */
static void plain(const char *s)
{
    for (; *s; s++)
        putchar((unsigned char)*s < ' ' || *s == 127 || *s == '|' ? '.' : *s);
}

/* ---- */

int show_begin(const struct bench *b)
{
    const struct bench_model *m = b->model;
    const char *cell[NCOLUMN];
    char cpu[128];

    if (b->as == SHOW_JSON)
        return 0;
    if (b->as == SHOW_MARKDOWN)
        fputs("### ", stdout);
    plain(m->name);
    printf("%s%.1f MB of tensors; llmutils %s\n",
           b->as == SHOW_MARKDOWN ? "\n\n" : ": ", m->bytes * 1e-6, b->version);
    plain(machine_cpu(cpu));
    printf("; %s; load %.2f\n", m->stats.isa, b->load > 0 ? b->load : 0);
    if (b->as == SHOW_MARKDOWN)
        putchar('\n');
    for (int i = 0; i < NCOLUMN; i++)
        cell[i] = columns[i].title;
    row(b, cell);
    for (int i = 0; i < NCOLUMN && b->as == SHOW_MARKDOWN; i++)
        printf(columns[i].width < 0 ? "| --- " : "| ---: ");
    if (b->as == SHOW_MARKDOWN)
        puts("|");
    return fflush(stdout);
}

int show_end(const struct bench *b)
{
    const struct be_stats *s = &b->model->stats;

    if (b->as == SHOW_JSON || !(s->packed || s->mapped))
        return 0;
    printf("%sweights: %.1f MB packed%s%s, %.1f MB as in the file\n\n",
           b->as == SHOW_MARKDOWN ? "\n" : "", (double)s->packed * 1e-6,
           s->shared ? ", shared" : "", s->large_pages ? ", in 2 MB pages" : "",
           (double)s->mapped * 1e-6);
    return fflush(stdout);
}

int show_put(const struct bench *b, const json_t *o, struct err *e)
{
    char text[NCOLUMN][CELL];
    const char *cell[NCOLUMN];

    if (b->as == SHOW_JSON) {
        char *s = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));

        if (!s)
            return err_nomem(e);
        puts(s);
        free(s);
    } else {
        for (int i = 0; i < NCOLUMN; i++) {
            text[i][0] = 0;
            columns[i].fn(text[i], o);
            cell[i] = text[i];
        }
        row(b, cell);
    }
    if (fflush(stdout))
        return err_set(e, ERR_IO, "%s: cannot be written", io_output_name());
    return 0;
}
