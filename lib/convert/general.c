/* SPDX-License-Identifier: MIT
 *
 * Keys about the model as a whole: what it is called, how large it is, and what
 * its card says of its licence. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "convert/convert_impl.h"

static void put(struct convert *c, const char *key, const char *s)
{
    gguf_put_str(&c->out, key, (struct gguf_str){s, strlen(s)});
}

/* ---- names ---- */

/* Is S a commit, as folders of Hugging Face's cache are called? */
static bool is_commit(const char *s)
{
    return strlen(s) == 40 && strspn(s, "0123456789abcdef") == 40;
}

/* The name of the folder; in the cache (models--who--name/snapshots/commit)
 * that of the model. */
static char *folder_name(const char *dir)
{
    char *path = realpath(dir, NULL), *p, *name;

    p = path ? strrchr(path, '/') : NULL;
    if (p && is_commit(p + 1)) {
        *p = 0;
        p = strrchr(path, '/');
        if (p)
            *p = 0;
        p = p ? strrchr(path, '/') : NULL;
        for (char *q = p; q && (q = strstr(q + 1, "--"));)
            p = q + 1;
    }
    name =
        strdup(p && p[1] && utf8_all(p + 1, strlen(p + 1)) ? p + 1 : "model");
    free(path);
    return name;
}

/* ---- the model's card ---- */

/* Lines of README.md's head that become keys as they are. */
static const struct {
    const char *line, *key;
} card[] = {
    {"license:", "general.license"},
    {"license_name:", "general.license.name"},
    {"license_link:", "general.license.link"},
};

/* A line's value without its quotes; false where it is none that is simple. */
static bool value(const char **s, size_t *n)
{
    const char *p = *s;
    size_t len = *n;

    while (len && (*p == ' ' || *p == '\t')) {
        p++;
        len--;
    }
    while (len && strchr(" \t\r", p[len - 1]))
        len--;
    if (len > 1 && (*p == '"' || *p == '\'') && p[len - 1] == *p) {
        p++;
        len -= 2;
    }
    *s = p;
    *n = len;
    return len && len < 200 && !strchr("[{|>&*!\"'#", *p) && utf8_all(p, len);
}

static void card_line(struct convert *c, const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof card / sizeof *card; i++) {
        size_t k = strlen(card[i].line);
        const char *s = p + k;
        size_t len = n - k;

        if (n > k && !memcmp(p, card[i].line, k) && value(&s, &len))
            gguf_put_str(&c->out, card[i].key, (struct gguf_str){s, len});
    }
}

/* Between two lines of "---". */
static void read_card(struct convert *c, const char *p, size_t n)
{
    for (int line = 0; n; line++) {
        const char *end = memchr(p, '\n', n);
        size_t len = end ? (size_t)(end - p) : n;
        bool rule = len >= 3 && !memcmp(p, "---", 3);

        if (line ? rule : !rule)
            return;
        card_line(c, p, len);
        p += len + !!end;
        n -= len + !!end;
    }
}

static int put_card(struct convert *c, struct err *e)
{
    struct buf path = {0};
    struct map m = {0};

    buf_printf(&path, "%s/README.md", c->hf.dir);
    if (buf_ok(&path, e)) {
        buf_free(&path);
        return -1;
    }
    /* A card that cannot be read says nothing. */
    if (!map_open(&m, buf_str(&path), NULL) && m.p)
        read_card(c, (const char *)m.p, m.n < 1 << 16 ? m.n : 1 << 16);
    map_close(&m);
    buf_free(&path);
    return 0;
}

int convert_general(struct convert *c, struct err *e)
{
    char *name = c->want.name ? strdup(c->want.name) : folder_name(c->hf.dir);
    int rc;

    if (!name)
        return err_nomem(e);
    put(c, "general.architecture", c->m->arch);
    put(c, "general.type", "model");
    put(c, "general.name", name);
    rc = put_card(c, e);
    free(name);
    return rc;
}

/* ---- sizes ---- */

/* "1.1B", "360M": two digits at least. */
static void rounded(char s[24], double n)
{
    static const struct {
        double above, unit;
        char letter;
    } units[] = {
        {1e12, 1e12, 'T'}, {1e9, 1e9, 'B'}, {1e6, 1e6, 'M'}, {-1, 1e3, 'K'}};
    int i = 0;

    while (n <= units[i].above)
        i++;
    n /= units[i].unit;
    snprintf(s, 24, "%.*f%c",
             n < 0.5   ? 2
             : n < 9.5 ? 1
                       : 0,
             n, units[i].letter);
}

static void put_size_label(struct convert *c, double all, double experts)
{
    int64_t n = convert_size(c, 'E');
    char size[24], label[48];

    rounded(size, n && experts > 0 ? all - experts + experts / (double)n : all);
    if (n && experts > 0)
        snprintf(label, sizeof label, "%lldx%s", (long long)n, size);
    else
        snprintf(label, sizeof label, "%s", size);
    put(c, "general.size_label", label);
}

/* general.file_type of a file that is mostly of this type. */
static const struct {
    uint32_t type, file_type;
} file_types[] = {
    {GGUF_T_F32, 0}, {GGUF_T_F16, 1}, {GGUF_T_Q8_0, 7}, {GGUF_T_BF16, 32}};

int convert_sums(struct convert *c, struct err *e)
{
    double all = 0, experts = 0;
    uint64_t bytes[4] = {0};
    int most = 0;

    for (size_t i = 0; i < convert_n(c); i++) {
        const struct convert_tensor *t = convert_at(c, i);
        double n = (double)t->rows * (double)t->cols;

        all += n;
        if (strstr(t->name, "_exps."))
            experts += n;
        for (int k = 0; k < 4; k++)
            bytes[k] += file_types[k].type == t->type ? t->bytes : 0;
    }
    for (int k = 1; k < 4; k++)
        most = bytes[k] > bytes[most] ? k : most;
    put_size_label(c, all, experts);
    gguf_put_int(&c->out, "general.file_type", GGUF_U32,
                 file_types[most].file_type);
    gguf_put_int(&c->out, "general.quantization_version", GGUF_U32, 2);
    return c->out.e.code ? err_set(e, c->out.e.code, "%s", c->out.e.msg) : 0;
}
