/* SPDX-License-Identifier: MIT
 *
 * A GGUF to a folder.  It is written under another name, and has its own when
 * all of it is there. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "cmd/common/cleanup.h"
#include "cmd/common/cli.h"
#include "cmd/common/model.h"
#include "cmd/common/progress.h"
#include "cmd/common/value.h"
#include "cmd/convert/convert.h"
#include "convert/folder.h"
#include "convert/tokenizer.h"

struct out {
    const struct job *j;
    const struct folder *f;
    const struct gguf *g;
    char *name, *temp; /* what the folder will be, and what it is */
};

static void progress(void *arg, uint64_t done, uint64_t all)
{
    (void)arg;
    progress_part(all ? (double)done / (double)all : 1);
}

/* FILE in the folder, malloc'ed. */
static char *path_of(const struct out *o, const char *file)
{
    size_t n = strlen(o->temp) + strlen(file) + 2;
    char *s = malloc(n);

    if (!s)
        die(&(struct err){ERR_NOMEM, "out of memory"});
    snprintf(s, n, "%s/%s", o->temp, file);
    return s;
}

/* ---- the folder ---- */

static int make_folder(struct out *o, struct err *e)
{
    size_t n = strlen(o->j->output);
    mode_t mask = umask(0);
    struct stat st;
    sigset_t old;

    umask(mask);
    while (n > 1 && o->j->output[n - 1] == '/')
        n--;
    o->name = strndup(o->j->output, n);
    o->temp = malloc(n + 8);
    if (o->temp)
        *o->temp = 0; /* none is made yet */
    if (!o->name || !o->temp)
        return err_nomem(e);
    if (!lstat(o->name, &st))
        return err_set(e, ERR_IO, "%s: %s", o->name, strerror(EEXIST));
    snprintf(o->temp, n + 8, "%s.XXXXXX", o->name);
    cleanup_block(&old);
    if (!mkdtemp(o->temp)) {
        err_set(e, ERR_IO, "%s: %s", o->name, strerror(errno));
        *o->temp = 0;
    } else {
        chmod(o->temp, 0777 & ~mask);
        cleanup_add(o->temp);
    }
    cleanup_unblock(&old);
    return e->code ? -1 : 0;
}

/* Call FN for each name in the folder DIR. */
static void each(const char *dir, void (*fn)(const char *path))
{
    DIR *d = opendir(dir);
    struct dirent *x;

    while (d && (x = readdir(d))) {
        size_t n = strlen(dir) + strlen(x->d_name) + 2;
        char *path = malloc(n);

        if (path && strcmp(x->d_name, ".") && strcmp(x->d_name, "..")) {
            snprintf(path, n, "%s/%s", dir, x->d_name);
            fn(path);
        }
        free(path);
    }
    if (d)
        closedir(d);
}

/* One folder deep, as tokenizers have it. */
static void remove_one(const char *path)
{
    if (unlink(path)) {
        each(path, remove_one);
        rmdir(path);
    }
}

static void sync_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    fsync(fd);
    if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
        each(path, sync_one);
    close(fd);
}

static void drop_folder(const struct out *o)
{
    sigset_t old;

    cleanup_block(&old);
    if (o->temp && *o->temp) {
        remove_one(o->temp);
        cleanup_forget(o->temp);
    }
    cleanup_unblock(&old);
}

/* It takes its name, where nothing is. */
static int name_folder(const struct out *o, struct err *e)
{
    sigset_t old;
    int rc = 0;

    sync_one(o->temp);
    cleanup_block(&old);
    if (rename(o->temp, o->name))
        rc = err_set(e, ERR_IO, "%s: %s", o->name, strerror(errno));
    else
        cleanup_forget(o->temp);
    cleanup_unblock(&old);
    return rc;
}

/* ---- files ---- */

/* A file of weights, or, where R is NULL, of TEXT. */
static int put_file(const struct out *o, const char *name, size_t i,
                    const struct convert_run *r, const struct buf *text,
                    struct err *e)
{
    char *path = path_of(o, name), *temp = NULL;
    struct newfile *to = NULL;
    sigset_t old;
    int rc;

    cleanup_block(&old);
    rc = newfile_open(&to, path, e);
    if (!rc && !(temp = strdup(newfile_temporary(to))))
        rc = err_nomem(e);
    if (!rc) {
        cleanup_add(path);
        cleanup_add(temp);
    }
    cleanup_unblock(&old);
    if (!rc)
        rc = r ? folder_put(o->f, i, to, r, e)
               : newfile_put(to, 0, text->p, text->n, e);
    if (!rc)
        rc = newfile_close(to, e);
    if (rc)
        newfile_abandon(to);
    free(path);
    free(temp);
    return rc;
}

static int put_texts(const struct out *o, struct err *e)
{
    static const char index_name[] = "model.safetensors.index.json";
    struct buf config = {0}, index = {0};
    int rc = folder_config(&config, o->f, e);

    if (!rc)
        rc = folder_index(&index, o->f, e);
    if (!rc)
        rc = put_file(o, "config.json", 0, NULL, &config, e);
    if (!rc && index.n)
        rc = put_file(o, index_name, 0, NULL, &index, e);
    buf_free(&config);
    buf_free(&index);
    return rc;
}

/* sentence-transformers' files, of an embedder that says how it pools. */
static int put_modules(const struct out *o, struct err *e)
{
    static const char *const modes[] = {"mean_tokens", "cls_token",
                                        "lasttoken"};
    static const char type[] = "\"type\": \"sentence_transformers.models.";
    const char *mode = folder_pooling(o->f);
    char *dir = path_of(o, "1_Pooling");
    struct buf pool = {0}, modules = {0};
    int rc = 0;

    if (mode && mkdir(dir, 0777))
        rc = err_set(e, ERR_IO, "%s: %s", dir, strerror(errno));
    if (mode && !rc) {
        cleanup_add(dir);
        buf_printf(&pool, "{\n  \"word_embedding_dimension\": %llu",
                   (unsigned long long)folder_width(o->f));
        for (int i = 0; i < 3; i++)
            buf_printf(&pool, ",\n  \"pooling_mode_%s\": %s", modes[i],
                       strcmp(mode, modes[i]) ? "false" : "true");
        buf_puts(&pool, "\n}\n");
        buf_printf(&modules,
                   "[\n  {\"idx\": 0, \"name\": \"0\", \"path\": \"\", "
                   "%sTransformer\"},\n  {\"idx\": 1, \"name\": \"1\", "
                   "\"path\": \"1_Pooling\", %sPooling\"}\n]\n",
                   type, type);
        rc = buf_ok(&pool, e) || buf_ok(&modules, e) ||
                     put_file(o, "1_Pooling/config.json", 0, NULL, &pool, e) ||
                     put_file(o, "modules.json", 0, NULL, &modules, e)
                 ? -1
                 : 0;
    }
    buf_free(&pool);
    buf_free(&modules);
    free(dir);
    return rc;
}

/* Its files are small and have names of their own: a signal waits. */
static int put_tokenizer(const struct out *o, struct err *e)
{
    sigset_t old;
    int rc;

    if (o->j->want.no_tokenizer || !gguf_key(o->g, "tokenizer.ggml.model"))
        return 0;
    cleanup_block(&old);
    rc = convert_tokenizer_back(o->temp, o->g, e);
    each(o->temp, cleanup_add);
    cleanup_unblock(&old);
    return rc;
}

static int put_weights(const struct out *o, struct err *e)
{
    struct convert_run r = {.pool = convert_pool(o->j->threads),
                            .cpu = cpu_flags(),
                            .progress = progress};
    int rc = 0;

    for (size_t i = 0; !rc && i < folder_nfile(o->f); i++)
        rc = put_file(o, folder_file(o->f, i)->name, i, &r, NULL, e);
    progress_clear();
    pool_free(r.pool);
    return rc;
}

static int write_folder(struct out *o, struct err *e)
{
    uint64_t bytes = 1 << 20;
    int rc;

    for (size_t i = 0; i < folder_nfile(o->f); i++)
        bytes += folder_file(o->f, i)->bytes;
    rc = newfile_room(o->j->output, bytes, e);
    if (!rc)
        rc = make_folder(o, e);
    if (!rc)
        rc = put_tokenizer(o, e);
    if (!rc)
        rc = put_texts(o, e);
    if (!rc)
        rc = put_modules(o, e);
    if (!rc)
        rc = put_weights(o, e);
    if (!rc)
        rc = name_folder(o, e);
    if (rc)
        drop_folder(o);
    free(o->name);
    free(o->temp);
    return rc;
}

/* ---- what would be ---- */

static void show(const struct folder *f, const struct job *j)
{
    uint64_t bytes = 0;

    if (j->json)
        printf("{\"model_type\":\"%s\",\"tensors\":[", folder_model(f)->type);
    for (size_t i = 0; i < folder_n(f); i++) {
        const struct folder_tensor *t = folder_at(f, i);
        char shape[120] = "";
        int n = 0;

        for (int k = 0; k < t->ndim; k++)
            n +=
                snprintf(shape + n, sizeof shape - (size_t)n,
                         k ? ",%llu" : "%llu", (unsigned long long)t->shape[k]);
        bytes += t->bytes;
        printf(j->json ? "%s{\"name\":\"%s\",\"shape\":[%s],\"from\":"
                       : "%s%-48s [%s] ",
               j->json && i ? "," : "", t->name, shape);
        if (j->json)
            put_string(t->from->name);
        else
            put_text(t->from->name, true);
        printf(j->json ? ",\"type\":\"%s\",\"dtype\":\"%s\",\"bytes\":%llu}"
                       : " %s %s\n",
               gguf_type_info(t->from->type)->name,
               safetensors_dtype_name(t->dtype), (unsigned long long)t->bytes);
    }
    printf(j->json ? "],\"files\":%zu,\"bytes\":%llu}\n"
                   : "%zu files of weights, %llu bytes",
           folder_nfile(f), (unsigned long long)bytes);
    if (!j->json)
        printf(": %s\n", folder_model(f)->type);
}

int convert_to_folder(const struct job *j)
{
    struct folder_want want = {.type = j->want.type, .max_bytes = j->max_size};
    struct err e = {0};
    struct out o = {.j = j, .g = model_operand(j->input)};
    struct folder *f;

    if (folder_open(&f, o.g, &want, &e))
        die(&e);
    o.f = f;
    progress_init(j->quiet);
    if (j->dry_run)
        show(f, j);
    else if (write_folder(&o, &e))
        warn("%s", e.msg);
    folder_close(f);
    gguf_close((struct gguf *)(uintptr_t)o.g);
    return cli_finish(e.code ? status(&e) : 0);
}
