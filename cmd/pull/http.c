/* SPDX-License-Identifier: MIT */
#include "cmd/pull/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmd/pull/bar.h"
#include "cmd/pull/name.h"
#include "cmd/pull/pull.h"

#ifndef LLM_VERSION
#define LLM_VERSION "unreleased"
#endif

enum { MIN_SPEED = 512 /* bytes a second */ };
enum { HOPS = 10, TEXT_MAX = 16 << 20, ATTEMPTS = 1000 };

/* One GET in progress. */
struct get {
    CURL *h;
    struct part *part; /* one of these two */
    struct buf *text;
    struct err *e;
    long status;
    char etag[256], range[96], linked[80]; /* headers of this hop's answer */
    long retry_after;
    char hub_sha[65]; /* the hub's word for the file's SHA-256 */
    bool begun;       /* the body has been looked at */
    bool again;       /* the range can't be had: start from zero */
    bool failed;      /* E is set, and trying again is no use */
    const char *url;  /* as asked for, before redirects */
    const char *at;   /* this hop's */
    size_t skipped;   /* bytes of bodies nobody wants */
    double since;     /* when this look at the speed began, */
    int64_t from;     /* and at how many bytes */
    bool stalled;     /* it was too slow */
};

const char *http_hub(void)
{
    static char hub[512];
    const char *v = getenv("HF_ENDPOINT");

    if (!*hub) {
        snprintf(hub, sizeof hub, "%s", v && *v ? v : "https://huggingface.co");
        for (size_t n = strlen(hub); n > 8 && hub[n - 1] == '/';)
            hub[--n] = 0;
    }
    return hub;
}

char *http_escape(const char *path)
{
    struct buf b = {0};

    while (*path) {
        size_t n = strcspn(path, "/");
        char *s = n ? curl_easy_escape(NULL, path, (int)n) : NULL;

        if (n && !s)
            b.bad = true;
        else if (s)
            buf_puts(&b, s);
        curl_free(s);
        path += n;
        if (*path)
            buf_putc(&b, *path++);
    }
    buf_putc(&b, 0);
    if (!buf_ok(&b, NULL))
        return (char *)b.p;
    buf_free(&b);
    return NULL;
}

/* Do A and B have scheme, host and port in common? */
static bool same_origin(const char *a, const char *b)
{
    static const CURLUPart part[] = {CURLUPART_SCHEME, CURLUPART_HOST,
                                     CURLUPART_PORT};
    CURLU *u = curl_url(), *v = curl_url();
    bool same = u && v && !curl_url_set(u, CURLUPART_URL, a, 0) &&
                !curl_url_set(v, CURLUPART_URL, b, 0);

    for (int i = 0; same && i < 3; i++) {
        char *x = NULL, *y = NULL;

        same = !curl_url_get(u, part[i], &x, CURLU_DEFAULT_PORT) &&
               !curl_url_get(v, part[i], &y, CURLU_DEFAULT_PORT) &&
               !strcasecmp(x, y);
        curl_free(x);
        curl_free(y);
    }
    curl_url_cleanup(u);
    curl_url_cleanup(v);
    return same;
}

/* The value of header NAME when the line P[N] is that one, into OUT. */
static bool header(char *out, size_t cap, const char *p, size_t n,
                   const char *name)
{
    size_t k = strlen(name);

    if (n <= k || strncasecmp(p, name, k) || p[k] != ':')
        return false;
    for (p += k + 1, n -= k + 1; n && (*p == ' ' || *p == '\t'); p++)
        n--;
    while (n && strchr("\r\n \t", p[n - 1]))
        n--;
    if (n >= cap || memchr(p, 0, n))
        n = 0; /* too long to be of use */
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct get *g = arg;
    char num[32];

    n *= size;
    if (n > 5 && !strncasecmp(p, "HTTP/", 5)) {
        /* A new answer: what the one before said is void. */
        g->etag[0] = g->range[0] = g->linked[0] = 0;
        g->retry_after = 0;
    }
    header(g->etag, sizeof g->etag, p, n, "ETag");
    header(g->range, sizeof g->range, p, n, "Content-Range");
    header(g->linked, sizeof g->linked, p, n, "X-Linked-Etag");
    if (header(num, sizeof num, p, n, "Retry-After"))
        g->retry_after = strtol(num, NULL, 10);
    return n;
}

static int fail(struct get *g)
{
    g->failed = true;
    return -1;
}

/* Does the range that came begin where the file ends?  *TOTAL is its size. */
static bool range_fits(const struct get *g, int64_t *total)
{
    long long from, to, all;
    char end;

    if (sscanf(g->range, "bytes %lld-%lld/%lld%c", &from, &to, &all, &end) !=
            3 ||
        all < 1)
        return false;
    *total = all;
    return from == g->part->n && to == all - 1 &&
           (g->part->total < 0 || all == g->part->total);
}

/* The hub's answer names the file's hash before it sends us elsewhere. */
static void hub_says(struct get *g)
{
    char *s = g->linked;
    size_t n = strlen(s);

    if (n == 66 && s[0] == '"' && s[65] == '"') {
        s[65] = 0;
        s++;
    }
    if (strlen(s) == 64 && same_origin(g->at, http_hub()))
        name_sha256(g->hub_sha, s);
}

/* The answer to a request for a file: settle where its bytes go. */
static int begin_file(struct get *g)
{
    struct part *p = g->part;
    curl_off_t len = -1;
    int64_t total;

    curl_easy_getinfo(g->h, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &len);
    total = len;
    hub_says(g);
    if (!*p->sha256 && *g->hub_sha)
        snprintf(p->sha256, sizeof p->sha256, "%s", g->hub_sha);
    if (g->status == 206) {
        if (!p->n) {
            err_set(g->e, ERR_FORMAT, "a part was sent for the whole");
            return fail(g);
        }
        if (!range_fits(g, &total)) {
            g->again = true;
            return -1;
        }
    } else if (part_restart(p, g->e)) {
        return fail(g);
    }
    if (total < 0 && !*p->sha256) {
        err_set(g->e, ERR_UNSUPPORTED,
                "the server announces no length, and no SHA-256 is known");
        return fail(g);
    }
    if (total >= 0 && p->total >= 0 && total != p->total) {
        err_set(g->e, ERR_FORMAT, "the server has %lld bytes, not %lld",
                (long long)total, (long long)p->total);
        return fail(g);
    }
    if (total >= 0)
        p->total = total;
    if (!strncmp(g->etag, "W/", 2))
        g->etag[0] = 0; /* weak: equal tags need not mean equal bytes */
    snprintf(p->etag, sizeof p->etag, "%s", g->etag);
    if (part_note(p, g->url, g->e))
        return fail(g);
    bar_start(p->what, p->n, p->total);
    return 0;
}

/* True when the body of this answer is wanted. */
static bool wanted(struct get *g)
{
    curl_easy_getinfo(g->h, CURLINFO_RESPONSE_CODE, &g->status);
    if (g->status != 200 && !(g->status == 206 && g->part))
        return false;
    if (g->begun)
        return true;
    g->begun = true;
    return !g->part || !begin_file(g);
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct get *g = arg;

    n *= size;
    if (!wanted(g)) {
        /* A redirect has to be read to its end to be followed. */
        g->skipped += n;
        return g->status >= 300 && g->status < 400 && g->skipped < 1 << 20 ? n
                                                                           : 0;
    }
    if (g->part)
        return part_write(g->part, p, n, g->e) ? fail(g), 0 : n;
    if (g->text->n + n > TEXT_MAX) {
        err_set(g->e, ERR_FORMAT, "an answer of more than %d MB",
                TEXT_MAX >> 20);
        fail(g);
        return 0;
    }
    buf_put(g->text, p, n);
    return n;
}

/* A trickle holds the caller up as long as silence does.  libcurl's own limit
 * looks at an average that takes some seconds longer to notice. */
static int on_progress(void *arg, curl_off_t total, curl_off_t now,
                       curl_off_t c, curl_off_t d)
{
    struct get *g = arg;
    struct timespec ts;
    double t;

    (void)total, (void)c, (void)d;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    t = (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
    if (!g->since || now - g->from >= (int64_t)MIN_SPEED * pull_set.timeout) {
        g->since = t;
        g->from = now;
    }
    g->stalled = t - g->since >= pull_set.timeout;
    return pull_stop || g->stalled;
}

static int add_header(struct curl_slist **l, const char *name,
                      const char *value)
{
    char line[4096];
    struct curl_slist *more;

    if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
        return -1;
    if (!(more = curl_slist_append(*l, line)))
        return -1;
    *l = more;
    return 0;
}

/* The headers for URL alone: a token for the hub, a range for a file. */
static int headers(struct curl_slist **l, struct get *g, const char *url)
{
    const char *token = getenv("HF_TOKEN");
    char value[3000];
    size_t n = token ? strlen(token) : 0;

    if (n && same_origin(url, http_hub())) {
        if (n > 2000 || strspn(token, "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-._~+/=") != n)
            return err_set(g->e, ERR_USAGE, "HF_TOKEN is not a token");
        snprintf(value, sizeof value, "Bearer %s", token);
        if (add_header(l, "Authorization", value))
            return err_nomem(g->e);
    }
    if (g->part && g->part->n) {
        snprintf(value, sizeof value, "bytes=%lld-", (long long)g->part->n);
        if (add_header(l, "Range", value) ||
            (*g->part->etag && add_header(l, "If-Range", g->part->etag)))
            return err_nomem(g->e);
    }
    return 0;
}

static void options(struct get *g, const char *url, struct curl_slist *l)
{
    bool tls = !strncasecmp(url, "https:", 6);
    const char *ca = getenv("CURL_CA_BUNDLE");
    CURL *h = g->h;

    if (!ca || !*ca)
        ca = getenv("SSL_CERT_FILE");
    curl_easy_reset(h);
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http,https");
    curl_easy_setopt(h, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, l);
    curl_easy_setopt(h, CURLOPT_USERAGENT, "llmutils/" LLM_VERSION);
    if (ca && *ca)
        curl_easy_setopt(h, CURLOPT_CAINFO, ca);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)pull_set.timeout);
    curl_easy_setopt(h, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, g);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, g);
    curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(h, CURLOPT_XFERINFODATA, g);
}

/* GET g->url through its redirects; libcurl's verdict on the last hop. */
static CURLcode hops(struct get *g)
{
    char *url = strdup(g->url), *next;
    CURLcode rc = CURLE_OUT_OF_MEMORY;

    for (int hop = 0; url; hop++) {
        struct curl_slist *l = NULL;

        g->begun = g->again = false;
        g->status = 0;
        g->skipped = 0;
        g->since = 0;
        g->stalled = false;
        g->at = url;
        if (headers(&l, g, url)) {
            curl_slist_free_all(l);
            fail(g);
            break;
        }
        options(g, url, l);
        if (hop)
            trace("  redirected to %s", url);
        rc = curl_easy_perform(g->h);
        if (g->stalled)
            rc = CURLE_OPERATION_TIMEDOUT;
        curl_slist_free_all(l);
        curl_easy_getinfo(g->h, CURLINFO_RESPONSE_CODE, &g->status);
        hub_says(g);
        if (g->failed || g->status < 300 || g->status > 399)
            break;
        next = NULL;
        curl_easy_getinfo(g->h, CURLINFO_REDIRECT_URL, &next);
        if (!next || hop == HOPS) {
            err_set(g->e, ERR_IO,
                    next ? "more than %d redirects" : "a redirect to nowhere",
                    HOPS);
            fail(g);
            break;
        }
        if (!strncasecmp(url, "https:", 6) && strncasecmp(next, "https:", 6)) {
            err_set(g->e, ERR_IO, "refused: redirected away from https");
            fail(g);
            break;
        }
        next = strdup(next);
        free(url);
        url = next;
    }
    free(url);
    g->at = NULL;
    return rc;
}

/* What may pass by itself. */
static bool transient(CURLcode rc, long status, bool progress)
{
    if (status >= 400)
        return status == 408 || status == 429 || status == 500 ||
               (status >= 502 && status <= 504);
    switch (rc) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        /* Not there at all: other sources are worth more than patience. */
        return progress;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
        return true;
    default:
        return false;
    }
}

static int explain(const struct get *g, CURLcode rc)
{
    if (pull_stop)
        return err_set(g->e, ERR_IO, "interrupted");
    if (g->failed)
        return -1;
    if (g->status == 401 || g->status == 403)
        return err_set(
            g->e, ERR_IO, "HTTP %ld: access needs a token%s", g->status,
            same_origin(g->url, http_hub())
                ? getenv("HF_TOKEN") ? "; that in HF_TOKEN is not enough"
                                     : " in HF_TOKEN"
                : "");
    if (g->status >= 400)
        return err_set(g->e, ERR_IO, "HTTP %ld%s", g->status,
                       g->status == 404 ? ": not found" : "");
    if (rc == CURLE_OPERATION_TIMEDOUT)
        return err_set(g->e, ERR_IO, "no data for %d seconds",
                       pull_set.timeout);
    if (rc)
        return err_set(g->e, ERR_IO, "%s", curl_easy_strerror(rc));
    return err_set(g->e, ERR_IO, "HTTP %ld is no answer to a GET", g->status);
}

static void pause_for(const struct get *g, int failures)
{
    double s = 0.25 * (double)(1 << (failures < 8 ? failures : 8));
    struct timespec t;

    if (g->retry_after > 0)
        s = (double)(g->retry_after < 60 ? g->retry_after : 60);
    trace("  trying again in %.1f s", s);
    t.tv_sec = (time_t)s;
    t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
    if (!pull_stop)
        nanosleep(&t, NULL);
}

/* Run G until it is done, hopeless, or out of attempts. */
static int attempts(struct get *g)
{
    int failures = 0;
    bool progress = false;

    for (int i = 0; i < ATTEMPTS; i++) {
        int64_t before = g->part ? g->part->n : 0;
        struct err why = {0};
        CURLcode rc = hops(g);
        bool good = g->status == 200 || (g->status == 206 && g->part);

        /* An empty body never came by wanted(). */
        if (!rc && good && wanted(g) && !g->failed) {
            if (!g->part || g->part->total < 0 || g->part->n == g->part->total)
                return 0;
            rc = CURLE_PARTIAL_FILE;
        }
        bar_end();
        if (!g->failed && !pull_stop &&
            (g->again || (g->status == 416 && g->part && g->part->n))) {
            trace("  the server won't resume: from the start");
            if (part_restart(g->part, g->e))
                return -1;
            continue;
        }
        if (g->part && g->part->n > before) {
            progress = true;
            failures = 0;
        }
        if (g->failed || pull_stop || !transient(rc, g->status, progress) ||
            ++failures > pull_set.retries)
            return explain(g, rc);
        if (g->text)
            g->text->n = 0;
        explain(&(struct get){.e = &why, .status = g->status, .url = g->url},
                rc);
        trace("  %s", why.msg);
        pause_for(g, failures);
    }
    return err_set(g->e, ERR_IO, "given up after %d attempts", ATTEMPTS);
}

static int get(struct get *g)
{
    int rc;

    if (!(g->h = curl_easy_init()))
        return err_nomem(g->e);
    rc = attempts(g);
    bar_end();
    curl_easy_cleanup(g->h);
    return rc;
}

int http_text(struct buf *out, const char *url, struct err *e)
{
    struct err own = {0};
    struct get g = {.text = out, .e = e ? e : &own, .url = url};

    return get(&g) ? -1 : buf_ok(out, e);
}

int http_file(struct part *p, const char *url, struct err *e)
{
    bool resumed = p->resumed;

    for (;;) {
        struct err own = {0};
        struct get g = {.part = p, .e = &own, .url = url};

        if (p->n)
            trace("  %lld bytes are here already", (long long)p->n);
        if ((p->total < 0 || p->n < p->total) && get(&g))
            return err_set(e, own.code, "%s", own.msg);
        if (!part_check(p, &own))
            return 0;
        if (!resumed)
            return err_set(e, own.code, "%s", own.msg);
        /* The earlier run's bytes may have been the bad ones. */
        trace("  %s: from the start", own.msg);
        resumed = false;
    }
}
