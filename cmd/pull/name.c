/* SPDX-License-Identifier: MIT */
#include "cmd/pull/name.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/utf8.h"

static bool word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

bool name_safe(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n = strlen(s), len;
    uint32_t cp;

    if (n < 1 || n > 200 || *s == '.' || *s == '-')
        return false;
    for (; n; p += len, n -= len) {
        len = utf8_get(p, n, &cp);
        if (cp == UTF8_BAD || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) ||
            (cp < 0x80 && strchr(" \"$&'()*/;<>?\\`{|}!~", (int)cp)))
            return false;
    }
    return true;
}

bool name_gguf(const char *s)
{
    size_t n = strlen(s);

    return n > 5 && !strcasecmp(s + n - 5, ".gguf");
}

bool name_quant(const char *file, const char *quant)
{
    size_t q = strlen(quant);

    for (const char *p = file; *p && strlen(p) >= q; p++) {
        if (strncasecmp(p, quant, q))
            continue;
        if ((p == file || !word(p[-1])) && p[q] != '_' && !word(p[q]))
            return true;
    }
    return false;
}

/* "--" must come from a slash alone, and each name from one remote name, so
 * the '-' that would make another "--" is %2D, '%' itself %25, and the dot of
 * an ending that is not ".gguf" to the letter %2E, before a ".gguf" of ours. */
char *name_local(const char *remote)
{
    size_t len = strlen(remote);
    bool ok = name_gguf(remote);
    const char *end = ok ? remote + len - 5 : NULL;
    bool lower = ok && !strcmp(end, ".gguf");
    struct buf b = {0};

    for (const char *p = remote; ok && *p; p++) {
        /* Neither an empty part nor one that starts like an option. */
        if (*p == '/' && (p[1] == '.' || p[1] == '-' || p[1] == '/'))
            ok = false;
        if (*p == '/')
            buf_puts(&b, "--");
        else if (*p == '%')
            buf_puts(&b, "%25");
        else if (*p == '-' && p > remote && (p[-1] == '-' || p[1] == '/'))
            buf_puts(&b, "%2D");
        else if (!lower && p == end)
            buf_puts(&b, "%2E");
        else
            buf_putc(&b, *p);
    }
    if (!lower)
        buf_puts(&b, ".gguf");
    ok = ok && name_safe(buf_str(&b));
    buf_putc(&b, 0);
    if (ok && !buf_ok(&b, NULL))
        return (char *)b.p;
    buf_free(&b);
    return NULL;
}

char *name_remote(const char *local)
{
    static const char escape[][4] = {"--", "%25", "%2D", "%2E"};
    char *remote = malloc(strlen(local) + 1), *to = remote, *back;
    const char *p = local;
    bool same, ours = false;

    if (!remote)
        return NULL;
    while (*p) {
        size_t i = 0;

        while (i < 4 && strncmp(p, escape[i], strlen(escape[i])))
            i++;
        *to++ = i < 4 ? "/%-."[i] : *p;
        p += i < 4 ? strlen(escape[i]) : 1;
        ours |= i == 3;
    }
    to -= ours && to - remote > 5 ? 5 : 0; /* the ".gguf" after a %2E */
    *to = 0;
    back = name_local(remote);
    same = back && !strcmp(back, local);
    free(back);
    if (same)
        return remote;
    free(remote);
    return NULL;
}

bool name_sha256(char out[65], const char *hex)
{
    if (strlen(hex) != 64)
        return false;
    for (int i = 0; i < 64; i++) {
        char c = hex[i] >= 'A' && hex[i] <= 'F' ? (char)(hex[i] + 32) : hex[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
        out[i] = c;
    }
    out[64] = 0;
    return true;
}

int sha256_hex(char out[65], const void *data, size_t n, struct err *e)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned len;

    if (!EVP_Digest(data, n, md, &len, EVP_sha256(), NULL))
        return err_set(e, ERR_UNSUPPORTED, "libcrypto has no SHA-256");
    for (unsigned i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[md[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[md[i] & 15];
    }
    out[64] = 0;
    return 0;
}

/* The first N bytes of S, malloc'ed. */
static char *cut(const char *s, size_t n)
{
    char *p = malloc(n + 1);

    if (p) {
        memcpy(p, s, n);
        p[n] = 0;
    }
    return p;
}

static char *joined(const char *a, const char *b)
{
    struct buf t = {0};

    buf_puts(&t, a);
    buf_puts(&t, b);
    buf_putc(&t, 0);
    if (!buf_ok(&t, NULL))
        return (char *)t.p;
    buf_free(&t);
    return NULL;
}

/* How many bytes of S a part of "owner/repo" or a package name may have:
 * they become folders and parts of URLs as they are. */
static size_t plain(const char *s)
{
    size_t n = 0;

    if (!word(*s))
        return 0;
    while (word(s[n]) || (s[n] && strchr("._-", s[n])))
        n++;
    return n > 128 || (n > 0 && s[n - 1] == '.') ? 0 : n;
}

/* owner/repo[:quant|/file] */
static int parse_hf(struct name *n, const char *s, struct err *e)
{
    size_t a = plain(s), b = a && s[a] == '/' ? plain(s + a + 1) : 0;
    const char *rest = s + a + 1 + b;

    if (!b || (*rest && *rest != ':' && *rest != '/') || (*rest && !rest[1]))
        return err_set(e, ERR_USAGE,
                       "not of the form hf:owner/repo[:quant|/file]");
    if (!(n->repo = cut(s, (size_t)(rest - s))) ||
        !(n->dir = joined("hf/", n->repo)))
        return err_nomem(e);
    if (*rest == ':' && !(n->quant = cut(rest + 1, strlen(rest + 1))))
        return err_nomem(e);
    if (*rest == '/' && !(n->file = cut(rest + 1, strlen(rest + 1))))
        return err_nomem(e);
    if (n->quant && plain(n->quant) != strlen(n->quant))
        return err_set(e, ERR_USAGE, "'%s' cannot be part of a file name",
                       n->quant);
    if (n->file && !name_gguf(n->file))
        return err_set(e, ERR_USAGE, "'%s' does not end in .gguf", n->file);
    return 0;
}

/* PACKAGE==VERSION[,PACKAGE==VERSION...]: nothing else gets through to pip,
 * neither options nor URLs. */
static int parse_pypi(struct name *n, const char *s, struct err *e)
{
    const char *p = s;
    char hex[65];
    size_t first = 0;

    for (;;) {
        size_t a = plain(p), b;

        if (!a || strncmp(p + a, "==", 2))
            break;
        p += a + 2;
        for (b = 0; word(p[b]) || (p[b] && strchr(".+!-_", p[b])); b++)
            ;
        if (!b || !word(*p))
            break;
        p += b;
        if (!first)
            first = (size_t)(p - s);
        if (!*p || *p != ',')
            break;
        p++;
    }
    if (*p || !first || p[-1] == ',')
        return err_set(e, ERR_USAGE,
                       "not of the form pypi:package==version[,...]");
    if (!(n->reqs = cut(s, strlen(s))))
        return err_nomem(e);
    if (sha256_hex(hex, s, strlen(s), e))
        return -1;
    /* Several packages: a folder that differs from the first one's alone. */
    hex[8] = 0;
    {
        char *one = cut(s, first), *head = one ? joined("pypi/", one) : NULL,
             *plus = head && s[first] ? joined(head, "+") : NULL;

        n->dir = plus ? joined(plus, hex) : head;
        if (n->dir != head)
            free(head);
        free(plus);
        free(one);
    }
    return n->dir ? 0 : err_nomem(e);
}

/* The last part of the path, percent signs decoded. */
static char *url_base(CURLU *u)
{
    char *path = NULL, *slash, *base = NULL;

    if (!curl_url_get(u, CURLUPART_PATH, &path, CURLU_URLDECODE)) {
        slash = strrchr(path, '/');
        base = cut(slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
    }
    curl_free(path);
    return base;
}

static int parse_url(struct name *n, const char *s, struct err *e)
{
    const char *hash = strchr(s, '#');
    CURLU *u = curl_url();
    char *user = NULL, hex[65];
    int rc = -1;

    if (!u)
        return err_nomem(e);
    if (hash &&
        (strncmp(hash, "#sha256=", 8) || !name_sha256(n->sha256, hash + 8))) {
        err_set(e, ERR_USAGE, "'%s' is not #sha256= and 64 hex digits", hash);
        goto out;
    }
    free(n->text);
    if (!(n->text = cut(s, hash ? (size_t)(hash - s) : strlen(s)))) {
        err_nomem(e);
        goto out;
    }
    if (curl_url_set(u, CURLUPART_URL, n->text, 0)) {
        err_set(e, ERR_USAGE, "not a URL");
        goto out;
    }
    if (!curl_url_get(u, CURLUPART_USER, &user, 0) ||
        !curl_url_get(u, CURLUPART_PASSWORD, &user, 0)) {
        /* It would end up in the list, in records and in messages. */
        err_set(e, ERR_USAGE, "a URL may not hold a user or password");
        goto out;
    }
    n->base = url_base(u);
    if (!n->base || !name_safe(n->base) || !name_gguf(n->base)) {
        err_set(e, ERR_USAGE,
                "the URL's last part is no safe name of a .gguf file");
        goto out;
    }
    if (sha256_hex(hex, n->text, strlen(n->text), e))
        goto out;
    hex[16] = 0;
    if (!(n->dir = joined("url/", hex)))
        err_nomem(e);
    else
        rc = 0;
out:
    curl_free(user);
    curl_url_cleanup(u);
    return rc;
}

/* Single-character edits from A to the start of B that is nearest to it; both
 * are short. */
static int distance(const char *a, const char *b)
{
    int row[64] = {0}, n = (int)strlen(b);

    if (n > 63 || strlen(a) > 63)
        return 64;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diag = row[0];

        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diag + (a[i - 1] != b[j - 1]);

            diag = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    for (int j = 0; j < n; j++)
        if (row[j] < row[n])
            row[n] = row[j];
    return row[n];
}

static int unknown(const char *text, struct err *e)
{
    struct buf near = {0};
    const struct catalog *c;
    size_t n = strlen(text);

    for (size_t i = 0; (c = catalog_at(i)); i++)
        if (n > 2 && (distance(text, c->name) <= (n < 6 ? 1 : 3) ||
                      strstr(c->name, text)))
            buf_printf(&near, "%s%s", near.n ? ", " : "; near it: ", c->name);
    err_set(e, ERR_USAGE, "not a known name%s (--catalog lists all)",
            buf_str(&near));
    buf_free(&near);
    return -1;
}

/* "TEXT: " before E's message, without the password that a URL may hold. */
static int named(struct err *e, const char *text)
{
    const char *host = strstr(text, "://"), *at = strrchr(text, '@');

    if (!host || !at || at < host)
        return err_prefix(e, "%s", text);
    return err_prefix(e, "%.*s***%s", (int)(host + 3 - text), text, at);
}

int name_parse(struct name *n, const char *text, struct err *e)
{
    int rc = 0;

    *n = (struct name){.text = cut(text, strlen(text))};
    if (!n->text)
        return err_nomem(e);
    if (!strncmp(text, "hf:", 3)) {
        n->kind = NAME_HF;
        rc = parse_hf(n, text + 3, e);
    } else if (!strncmp(text, "pypi:", 5)) {
        n->kind = NAME_PYPI;
        rc = parse_pypi(n, text + 5, e);
    } else if (!strncasecmp(text, "https://", 8) ||
               !strncasecmp(text, "http://", 7)) {
        n->kind = NAME_URL;
        rc = parse_url(n, text, e);
    } else if ((n->cat = catalog_find(text))) {
        n->kind = NAME_CATALOG;
        if (!(n->dir = cut(text, strlen(text))))
            rc = err_nomem(e);
    } else {
        rc = unknown(text, e);
    }
    if (rc) {
        named(e, text);
        name_free(n);
    }
    return rc;
}

void name_free(struct name *n)
{
    free(n->text);
    free(n->repo);
    free(n->quant);
    free(n->file);
    free(n->reqs);
    free(n->base);
    free(n->dir);
    *n = (struct name){0};
}
