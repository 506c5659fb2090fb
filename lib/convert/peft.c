/* SPDX-License-Identifier: MIT
 *
 * Pairs of matrices: A [rank][in] and B [out][rank] of each module.  A GGUF has
 * one alpha, and multiplies each product by alpha / rank: where that is not
 * what PEFT does, B is. */
#include "convert/peft.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "convert/folder.h"
#include "convert/peft_impl.h"
#include "quantize/quantize.h"
#include "quantize/source.h"

enum { MAX_NAME = 256 };

struct pair_tensor {
    const char *name;
    const struct safetensors_tensor *from;
    uint32_t type;
    uint64_t turn; /* rows of a head whose halves become pairs; 0 */
    float times;
    uint64_t at, bytes;
};

struct peft {
    char *dir;
    struct peft_config config;
    struct safetensors *s;
    struct convert *folder; /* the base, as one of these */
    struct folder *gguf;
    struct gguf *g;
    const char *arch;
    struct peft_base *base;
    size_t nbase;
    struct pair_tensor *t;
    size_t n;
    struct gguf_out out;
    struct arena mem;
};

/* ---- paths ---- */

static bool there(const char *dir, const char *name)
{
    char path[4096];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return n > 0 && (size_t)n < sizeof path && !stat(path, &st) &&
           S_ISREG(st.st_mode);
}

bool peft_is(const char *path)
{
    return there(path, "adapter_config.json");
}

static bool is_gguf(const char *path)
{
    int fd = map_fd(path, O_RDONLY);
    char magic[4] = "";
    bool is = fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, "GGUF", 4);

    if (fd >= 0)
        close(fd);
    return is;
}

/* ---- the base ---- */

static int by_name(const void *a, const void *b)
{
    const struct peft_base *x = a, *y = b;

    return strcmp(x->hf, y->hf);
}

static int new_bases(struct peft *p, size_t n, struct err *e)
{
    p->base = calloc(n + 1, sizeof *p->base);
    return p->base ? 0 : err_nomem(e);
}

static int base_folder(struct peft *p, const char *base, struct err *e)
{
    struct convert_want want = {.no_tokenizer = true};
    size_t all = 0;

    if (convert_open(&p->folder, base, &want, e))
        return -1;
    p->arch = convert_model_of_folder(p->folder)->arch;
    for (size_t i = 0; i < convert_n(p->folder); i++)
        all += convert_at(p->folder, i)->npiece;
    if (new_bases(p, all, e))
        return -1;
    for (size_t i = 0; i < convert_n(p->folder); i++) {
        const struct convert_tensor *t = convert_at(p->folder, i);

        for (size_t k = 0; k < t->npiece; k++)
            p->base[p->nbase++] = (struct peft_base){
                .hf = t->piece[k].from->name,
                .gguf = t->name,
                .cols = t->cols,
                .rows = t->rows,
                .turn = t->turn,
                .part = t->npiece > 1 || t->ndim != 2,
            };
    }
    return 0;
}

static int base_gguf(struct peft *p, const char *base, struct err *e)
{
    struct folder_want want = {.max_bytes = UINT64_MAX};

    if (gguf_open(&p->g, base, e) || folder_open(&p->gguf, p->g, &want, e) ||
        new_bases(p, folder_n(p->gguf), e))
        return -1;
    p->arch = folder_model(p->gguf)->arch;
    for (size_t i = 0; i < folder_n(p->gguf); i++) {
        const struct folder_tensor *t = folder_at(p->gguf, i);
        char *name = arena_alloc(&p->mem, t->from->name.n + 1);

        if (!name)
            return err_nomem(e);
        memcpy(name, t->from->name.p, t->from->name.n);
        p->base[p->nbase++] = (struct peft_base){
            .hf = t->name,
            .gguf = name,
            .cols = t->cols,
            .rows = t->rows,
            .turn = t->turn,
            .part = t->from->ndim != 2,
        };
    }
    return 0;
}

static int open_base(struct peft *p, const char *base, struct err *e)
{
    const char *said = p->config.base;
    int rc;

    if (!base && said && (is_gguf(said) || there(said, "config.json")))
        base = said;
    if (!base)
        return err_set(e, ERR_USAGE,
                       "%s: its base, '%.200s', is not here: --base names it",
                       p->dir, said ? said : "?");
    rc = is_gguf(base) ? base_gguf(p, base, e) : base_folder(p, base, e);
    if (!rc)
        qsort(p->base, p->nbase, sizeof *p->base, by_name);
    return rc;
}

static const struct peft_base *look(const struct peft *p, const char *hf)
{
    struct peft_base key = {.hf = hf};

    return bsearch(&key, p->base, p->nbase, sizeof *p->base, by_name);
}

/* The matrix of MODULE, whose name may have the body's prefix or not. */
static const struct peft_base *find_base(const struct peft *p,
                                         const char *module)
{
    char name[MAX_NAME + 32];
    const struct peft_base *b;

    snprintf(name, sizeof name, "%s.weight", module);
    b = look(p, name);
    if (!b && !strncmp(name, "model.", 6))
        b = look(p, name + 6);
    if (!b) {
        snprintf(name, sizeof name, "model.%s.weight", module);
        b = look(p, name);
    }
    return b;
}

/* ---- pairs ---- */

static int not_supported(const struct safetensors_tensor *t, const char *why,
                         struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "%s: tensor '%.120s': %s", t->path,
                   t->name, why);
}

/* MODULE of "base_model.model.MODULE.lora_A.weight", and 'A' or 'B'. */
static int split_name(char module[MAX_NAME], char *part,
                      const struct safetensors_tensor *t, struct err *e)
{
    static const char start[] = "base_model.model.";
    const char *s = t->name, *end = strstr(s, ".lora_");

    if (strstr(s, ".lora_embedding_"))
        return not_supported(t, "adapters of embeddings are not supported", e);
    if (strstr(s, ".lora_magnitude_vector"))
        return not_supported(t, "DoRA is not supported", e);
    if (strstr(s, ".modules_to_save."))
        return not_supported(t, "whole modules are not supported", e);
    if (!strncmp(s, start, sizeof start - 1))
        s += sizeof start - 1;
    if (!end || end <= s || end - s >= MAX_NAME ||
        (strcmp(end, ".lora_A.weight") && strcmp(end, ".lora_B.weight")))
        return not_supported(t, "it is neither lora_A nor lora_B", e);
    snprintf(module, MAX_NAME, "%.*s", (int)(end - s), s);
    *part = end[6];
    return 0;
}

static uint32_t type_of(const struct safetensors_tensor *t,
                        enum convert_type type)
{
    static const uint32_t asked[] = {[CONVERT_TO_F32] = GGUF_T_F32,
                                     [CONVERT_TO_F16] = GGUF_T_F16,
                                     [CONVERT_TO_BF16] = GGUF_T_BF16};

    if (type != CONVERT_AUTO)
        return asked[type];
    return t->dtype == SAFETENSORS_BF16  ? GGUF_T_BF16
           : t->dtype == SAFETENSORS_F16 ? GGUF_T_F16
                                         : GGUF_T_F32;
}

static const struct safetensors_tensor *
other(const struct peft *p, const struct safetensors_tensor *t)
{
    char name[MAX_NAME + 64];
    char *part;

    snprintf(name, sizeof name, "%s", t->name);
    part = strstr(name, ".lora_");
    part[6] = part[6] == 'A' ? 'B' : 'A';
    return safetensors_find(p->s, name);
}

/* T is of the shape that the base and its fellow ask for. */
static int check_shape(const struct safetensors_tensor *t, char part,
                       const struct safetensors_tensor *fellow,
                       const struct peft_base *b, struct err *e)
{
    uint64_t rank = part == 'A' ? t->shape[0] : t->shape[1];

    if (t->dtype != SAFETENSORS_F32 && t->dtype != SAFETENSORS_F16 &&
        t->dtype != SAFETENSORS_BF16)
        return not_supported(t, "its type is not supported", e);
    if (!fellow)
        return err_set(e, ERR_FORMAT,
                       "%s: tensor '%.120s': the other one of the pair is "
                       "missing",
                       t->path, t->name);
    if (t->ndim != 2 || fellow->ndim != 2 || !rank ||
        rank != (part == 'A' ? fellow->shape[1] : fellow->shape[0]) ||
        (part == 'A' ? t->shape[1] != b->cols : t->shape[0] != b->rows))
        return err_set(e, ERR_FORMAT,
                       "%s: tensor '%.120s': its shape does not fit '%.80s', "
                       "%llu x %llu",
                       t->path, t->name, b->hf, (unsigned long long)b->rows,
                       (unsigned long long)b->cols);
    return 0;
}

/* The GGUF's alpha: that of modules of the config's rank. */
static double alpha(const struct peft *p)
{
    return p->config.alpha * (p->config.root ? sqrt(p->config.rank) : 1);
}

static int add(struct peft *p, const struct safetensors_tensor *t,
               enum convert_type type, struct err *e)
{
    struct pair_tensor *to = &p->t[p->n];
    const struct peft_base *b;
    char module[MAX_NAME], name[MAX_NAME], part = 0;
    double rank, is;
    uint64_t ne[2];

    if (split_name(module, &part, t, e))
        return -1;
    b = find_base(p, module);
    if (!b)
        return not_supported(t, "the base has no such matrix", e);
    if (b->part)
        return not_supported(t, "adapters of experts are not supported", e);
    if (check_shape(t, part, other(p, t), b, e))
        return -1;
    snprintf(name, sizeof name, "%s.lora_%c", b->gguf, part - 'A' + 'a');
    *to = (struct pair_tensor){.from = t, .times = 1};
    to->name = arena_copy(&p->mem, name, strlen(name) + 1);
    if (!to->name)
        return err_nomem(e);
    to->type = type_of(t, type);
    rank = (double)(part == 'A' ? t->shape[0] : t->shape[1]);
    is = alpha(p) / rank;
    if (part == 'B') {
        double want = peft_config_scale(&p->config, module, rank);

        to->turn = b->turn;
        /* Not for the last bit of a root. */
        if (fabs(want - is) > 1e-12 * want)
            to->times = (float)(want / is);
        if (to->times != 1 && type == CONVERT_AUTO)
            to->type = GGUF_T_F32;
    }
    ne[0] = t->shape[1];
    ne[1] = t->shape[0];
    to->at = p->out.data;
    to->bytes = gguf_put_tensor(&p->out, (struct gguf_str){name, strlen(name)},
                                to->type, 2, ne);
    p->n++;
    return 0;
}

/* ---- the whole ---- */

static struct gguf_str str(const char *s)
{
    return (struct gguf_str){s, strlen(s)};
}

static void put_keys(struct peft *p)
{
    const char *slash = strrchr(p->dir, '/');

    gguf_put_str(&p->out, "general.architecture", str(p->arch));
    gguf_put_str(&p->out, "general.type", str("adapter"));
    gguf_put_str(&p->out, "general.name", str(slash ? slash + 1 : p->dir));
    if (p->config.base) {
        gguf_put_int(&p->out, "general.base_model.count", GGUF_U32, 1);
        gguf_put_str(&p->out, "general.base_model.0.name", str(p->config.base));
    }
    gguf_put_str(&p->out, "adapter.type", str("lora"));
    gguf_put_float(&p->out, "adapter.lora.alpha", GGUF_F32, alpha(p));
}

static int read_all(struct peft *p, const char *base, enum convert_type type,
                    struct err *e)
{
    size_t n;

    if (peft_config_open(&p->config, p->dir, e) || open_base(p, base, e) ||
        safetensors_open(&p->s, p->dir, e))
        return -1;
    put_keys(p);
    n = safetensors_n(p->s);
    if (!n)
        return err_set(e, ERR_FORMAT, "%s: it has no tensors", p->dir);
    p->t = calloc(n, sizeof *p->t);
    if (!p->t)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++)
        if (add(p, safetensors_at(p->s, i), type, e))
            return -1;
    return p->out.e.code ? err_set(e, p->out.e.code, "%s", p->out.e.msg) : 0;
}

int peft_open(struct peft **out, const char *path, const char *base,
              enum convert_type type, struct err *e)
{
    struct peft *p = calloc(1, sizeof *p);
    size_t n = strlen(path);

    *out = NULL;
    if (!p)
        return err_nomem(e);
    while (n > 1 && path[n - 1] == '/')
        n--;
    gguf_out_init(&p->out, 32);
    p->dir = strndup(path, n);
    if (!p->dir || read_all(p, base, type, e)) {
        if (!p->dir)
            err_nomem(e);
        peft_close(p);
        return -1;
    }
    *out = p;
    return 0;
}

void peft_close(struct peft *p)
{
    if (!p)
        return;
    gguf_out_fini(&p->out);
    free(p->t);
    free(p->base);
    folder_close(p->gguf);
    gguf_close(p->g);
    convert_close(p->folder);
    safetensors_close(p->s);
    peft_config_close(&p->config);
    arena_free(&p->mem);
    free(p->dir);
    free(p);
}

const struct gguf_out *peft_head(const struct peft *p)
{
    return &p->out;
}

size_t peft_n(const struct peft *p)
{
    return p->n;
}

const char *peft_name(const struct peft *p, size_t i)
{
    return p->t[i].name;
}

const struct safetensors_tensor *peft_from(const struct peft *p, size_t i)
{
    return p->t[i].from;
}

uint32_t peft_type(const struct peft *p, size_t i)
{
    return p->t[i].type;
}

/* ---- weights ---- */

/* The row that becomes row R: halves of a head become pairs. */
static uint64_t turned(uint64_t r, uint64_t turn)
{
    uint64_t i = turn ? r % turn : 0;

    return turn ? r - i + i / 2 + (i % 2) * (turn / 2) : r;
}

static int bad(const struct pair_tensor *t, uint64_t at, const char *what,
               struct err *e)
{
    return err_set(e, ERR_FORMAT, "%s: tensor '%.120s': element %llu is %s",
                   t->from->path, t->from->name, (unsigned long long)at, what);
}

static int put_tensor(const struct pair_tensor *t, struct gguf_file *f,
                      const struct quantize *q, struct err *e)
{
    uint64_t cols = t->from->shape[1], rows = t->from->shape[0];
    size_t row = (size_t)cols * safetensors_dtype_size(t->from->dtype),
           size = (size_t)(t->bytes / rows);
    float *x = malloc((size_t)cols * sizeof *x);
    unsigned char *to = malloc(t->bytes);
    int rc = x && to ? 0 : err_nomem(e);

    for (uint64_t r = 0; !rc && r < rows; r++) {
        uint64_t from = turned(r, t->turn);
        int64_t at;

        source_load(x, t->from->p + from * row, type_of(t->from, CONVERT_AUTO),
                    (int64_t)cols, q);
        at = q->bad(x, (int64_t)cols);
        if (at >= 0)
            rc = bad(t, from * cols + (uint64_t)at, "no finite number", e);
        for (uint64_t i = 0; i < cols && t->times != 1; i++)
            x[i] *= t->times;
        if (t->type == GGUF_T_F32) {
            memcpy(to + r * size, x, size);
            continue;
        }
        at = rc ? -1
                : quantize_type(q, t->type)
                      ->row(to + r * size, x, NULL, (int64_t)cols);
        if (at >= 0)
            rc = bad(t, from * cols + (uint64_t)at, "too great for F16", e);
    }
    if (!rc)
        rc = gguf_file_put(f, t->at, to, t->bytes, e);
    free(x);
    free(to);
    return rc;
}

int peft_write(const struct peft *p, struct gguf_file *f, struct err *e)
{
    struct quantize q;

    quantize_init(&q, 0);
    for (size_t i = 0; i < p->n; i++)
        if (put_tensor(&p->t[i], f, &q, e))
            return -1;
    return 0;
}
