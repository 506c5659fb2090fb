/* SPDX-License-Identifier: MIT
 * gguf-pull - fetch models, check them, and say where they are. */
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/cache.h"
#include "cmd/common/catalog.h"
#include "cmd/common/cli.h"
#include "cmd/pull/fetch.h"
#include "cmd/pull/name.h"
#include "cmd/pull/pull.h"
#include "cmd/pull/store.h"

struct pull_set pull_set = {.retries = 5, .timeout = 30};
volatile sig_atomic_t pull_stop;

static int list, catalog, rm;
static const char *format = "text", *out, *sha256;

static const struct cli_opt opts[] = {
    {'f', "format", CLI_STR, &format, "text|json",
     "how --list and --catalog print"},
    {'o', "output", CLI_STR, &out, "file",
     "put the model into file, not into the cache"},
    {'q', "quiet", CLI_FLAG, &pull_set.quiet, NULL,
     "no progress and no notes on stderr"},
    {'v', "verbose", CLI_FLAG, &pull_set.verbose, NULL,
     "say what is tried, and how it fails"},
    {0, "catalog", CLI_FLAG, &catalog, NULL, "list the names that are known"},
    {0, "force", CLI_FLAG, &pull_set.force, NULL,
     "fetch it again, even if it is in the cache"},
    {0, "list", CLI_FLAG, &list, NULL, "list the models in the cache"},
    {0, "offline", CLI_FLAG, &pull_set.offline, NULL,
     "fail rather than use the network"},
    {0, "retries", CLI_INT, &pull_set.retries, "count",
     "failures in a row before a source is given up"},
    {0, "rm", CLI_FLAG, &rm, NULL, "remove the models from the cache"},
    {0, "sha256", CLI_STR, &sha256, "hex", "what the file's SHA-256 must be"},
    {0, "timeout", CLI_INT, &pull_set.timeout, "seconds",
     "how long a server may send nothing"},
    {0},
};
static const struct cli cli = {
    "gguf-pull", "name ...", "fetch models, check them, and say where they are",
    opts};

__attribute__((format(printf, 1, 0))) static void vsay(const char *fmt,
                                                       va_list ap)
{
    char line[1024];

    vsnprintf(line, sizeof line, fmt, ap);
    warn("%s", line);
}

void note(const char *fmt, ...)
{
    va_list ap;

    if (pull_set.quiet)
        return;
    va_start(ap, fmt);
    vsay(fmt, ap);
    va_end(ap);
}

void trace(const char *fmt, ...)
{
    va_list ap;

    if (!pull_set.verbose)
        return;
    va_start(ap, fmt);
    vsay(fmt, ap);
    va_end(ap);
}

static void on_signal(int sig)
{
    (void)sig;
    pull_stop = 1;
}

/* No SA_RESTART: what waits for a lock, a child or a pause is to wake up. */
static void signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal},
                     ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &stop, NULL);
    /* A file that may grow no further is an error from write(). */
    sigaction(SIGXFSZ, &ignore, NULL);
}

static int print_catalog(int json)
{
    const struct catalog *c;

    for (size_t i = 0; (c = catalog_at(i)); i++) {
        char *path = cache_find(c->name);

        if (json) {
            printf("{\"name\":\"%s\",\"what\":\"%s\",\"cached\":%s", c->name,
                   c->what, path ? "true" : "false");
            if (c->sha256)
                printf(",\"sha256\":\"%s\",\"size\":%lld", c->sha256,
                       (long long)c->size);
            for (int k = 0; k < CATALOG_SOURCES && c->source[k]; k++)
                printf("%s\"%s\"", k ? "," : ",\"sources\":[", c->source[k]);
            printf("]}\n");
        } else {
            printf("%-18s %-36s %s\n", c->name, c->what, path ? "cached" : "");
        }
        free(path);
    }
    return 0;
}

/* Remove or fetch what TEXT names. */
static int one(const char *text, const char *models, const char *hash)
{
    struct err e = {0};
    struct name n;
    char *path = NULL;
    int rc;

    if (name_parse(&n, text, &e)) {
        struct err why = {0};

        /* What has no name in the cache goes by its path, as --list has it. */
        if (rm && store_remove_path(models, text, &why)) {
            if (!why.code)
                return 0;
            warn("%s: %s", text, why.msg);
            return status(&why);
        }
        warn("%s", e.msg);
        return status(&e);
    }
    rc = rm ? store_remove(models, &n, &e)
            : fetch(&path, &n, models, out, hash, &e);
    if (!rc && !rm) {
        puts(path);
        fflush(stdout);
    }
    if (rc) {
        warn("%s: %s", n.text, e.msg);
        rc = status(&e);
    }
    free(path);
    name_free(&n);
    return rc;
}

static void check_usage(int operands)
{
    if (list + catalog + rm > 1)
        usage_error(&cli, "--list, --catalog and --rm exclude each other");
    if ((list || catalog) && operands > 0)
        usage_error(&cli, "--%s takes no name", list ? "list" : "catalog");
    if (!list && !catalog && operands < 1)
        usage_error(&cli, "%s", rm ? "--rm needs a name" : "a name is missing");
    if (out && (operands != 1 || rm))
        usage_error(&cli, "-o goes with one name to fetch");
    if (out && (!*out || !strcmp(out, "-") || out[strlen(out) - 1] == '/'))
        usage_error(&cli, "-o: '%s' is not the name of a file", out);
    if (sha256 && (operands != 1 || rm))
        usage_error(&cli, "--sha256 goes with one name to fetch");
    if (pull_set.offline && pull_set.force)
        usage_error(&cli, "--offline and --force exclude each other");
    if (pull_set.retries < 0 || pull_set.retries > 100)
        usage_error(&cli, "--retries: 0 to 100");
    if (pull_set.timeout < 1 || pull_set.timeout > 3600)
        usage_error(&cli, "--timeout: 1 to 3600");
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct err e = {0};
    int i = cli_parse(&cli, argc, argv), worst = 0, json;
    char *models, hash[65];

    check_usage(argc - i);
    json = cli_choice(&cli, "format", format, formats);
    if (sha256 && !name_sha256(hash, sha256))
        usage_error(&cli, "--sha256: not 64 hex digits");
    if (!(models = cache_models(&e)))
        die(&e);
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        die(&(struct err){ERR_UNSUPPORTED, "libcurl does not start"});
    signals();
    if (list && store_list(models, json, &e))
        die(&e);
    if (catalog)
        print_catalog(json);
    for (; i < argc && !pull_stop; i++) {
        int st = one(argv[i], models, sha256 ? hash : NULL);

        if (st > worst)
            worst = st;
    }
    curl_global_cleanup();
    free(models);
    if (pull_stop) {
        cli_finish(0);
        return 130;
    }
    return cli_finish(worst);
}
