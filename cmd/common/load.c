/* SPDX-License-Identifier: MIT */
#include "cmd/common/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "cmd/common/cache.h"
#include "cmd/common/model.h"

static int threads, threads_batch, context = -1, share, no_pack;
static bool embed;
static const char *kv_type = "f16", *device = "cpu";

const struct cli_opt load_memory_opts[] = {
    {0, "kv-type", CLI_STR, &kv_type, "type[,type]",
     "keep K and V as f16, f32, bf16, q8_0 or q4_0"},
    {0, "device", CLI_STR, &device, "name", "run on this; default: cpu"},
    {0, "share", CLI_FLAG, &share, NULL,
     "keep the packed weights in a file that other processes use, too"},
    {0, "no-pack", CLI_FLAG, &no_pack, NULL,
     "use the weights as the file has them: slower, no second copy"},
    {0, "", CLI_GROUP, lora_opts, NULL, NULL},
    {0},
};
const struct cli_opt load_opts[] = {
    {'t', "threads", CLI_INT, &threads, "count",
     "use this many threads; default: the performance cores it may use"},
    {0, "threads-batch", CLI_INT, &threads_batch, "count",
     "use this many for prompts; default: as many"},
    {'c', "ctx", CLI_INT, &context, "count",
     "positions of a sequence; default: what the model was made for"},
    {0, "", CLI_GROUP, load_memory_opts, NULL, NULL},
    {0},
};

void load_set(int nthread, int ncontext)
{
    threads = nthread;
    context = ncontext;
}

int load_words(const char *w[LOAD_WORDS])
{
    int n = 0;

    w[n++] = "--kv-type";
    w[n++] = kv_type;
    w[n++] = "--device";
    w[n++] = device;
    if (share)
        w[n++] = "--share";
    if (no_pack)
        w[n++] = "--no-pack";
    return n + lora_words(w + n);
}

void load_kv_type(const char *type)
{
    kv_type = type;
}

void load_embed(void)
{
    embed = true;
}

static enum kern_kv kv_word(const struct cli *c, const char *p, size_t n)
{
    static const char *const words[] = {
        [KV_F16] = "f16",   [KV_F32] = "f32",   [KV_BF16] = "bf16",
        [KV_Q8_0] = "q8_0", [KV_Q4_0] = "q4_0", [KV_NTYPE] = NULL};
    char word[16];

    snprintf(word, sizeof word, "%.*s", (int)(n < 15 ? n : 15), p);
    return (enum kern_kv)cli_choice(c, "kv-type", word, words);
}

/* LLM_CPU limits the instruction sets, for tests and for finding out. */
static unsigned cpu_mask(void)
{
    const char *want = getenv("LLM_CPU");
    struct err e = {0};
    char names[100];
    size_t at = 0;

    if (!want || !*want)
        return ~0u;
    for (size_t i = 0; cpu_level[i].name; i++) {
        if (!strcmp(want, cpu_level[i].name))
            return cpu_level[i].flags;
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               i ? ", " : "", cpu_level[i].name);
    }
    err_set(&e, ERR_USAGE, "LLM_CPU is '%s', not one of %s", want, names);
    die(&e);
}

/* Make the folder PATH and those it lies in, as far as they can be made. */
static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0777);
            *p = '/';
        }
    mkdir(path, 0777);
}

/* The folder for packed weights, beside that of models; NULL without --share,
 * or a place for it. */
static char *share_dir(void)
{
    char *cache = share ? cache_models(NULL) : NULL, *dir;

    if (!cache)
        return NULL;
    *strrchr(cache, '/') = 0;
    make_folders(cache);
    dir = path_join(cache, "packed");
    free(cache);
    return dir;
}

static void open_device(struct load *l, const char *spec)
{
    struct be_opts o = {.threads = threads,
                        .threads_batch = threads_batch,
                        .cpu_mask = cpu_mask(),
                        .pack = !no_pack,
                        .model_path = gguf_path(l->gguf)};
    char *dir = share_dir();
    struct err e = {0};

    o.share_dir = dir;
    memcpy(o.model_id, l->id, sizeof o.model_id);
    if (be_open(&l->be, spec, &o, &e))
        die(&e);
    free(dir);
}

static void open_model(struct load *l, const struct cli *c, const char *operand,
                       int nseq, int chunk, bool slide)
{
    const char *comma = strchr(kv_type, ',');
    size_t first = comma ? (size_t)(comma - kv_type) : strlen(kv_type);
    struct model_opts o = {
        .context = context < 0 ? 0 : context, .slide = slide, .embed = embed};
    struct kv_config k;
    struct err e = {0};

    o.ktype = kv_word(c, kv_type, first);
    o.vtype = comma ? kv_word(c, comma + 1, strlen(comma + 1)) : o.ktype;
    if (threads < 0 || threads > POOL_MAX || threads_batch < 0 ||
        threads_batch > POOL_MAX)
        usage_error(c, "--threads and --threads-batch must be 0 to %d",
                    POOL_MAX);
    if (context < -1 || !context)
        usage_error(c, "--ctx must be at least 1");
    o.adapter = l->loras.v;
    o.nadapter = l->loras.n;
    l->gguf = model_operand(operand);
    gguf_model_id(l->id, l->gguf);
    gguf_vocab_id(l->vocab, l->gguf);
    if (tok_open(&l->tok, l->gguf, NULL, &e))
        die(&e);
    open_device(l, device);
    if (model_open(&l->model, l->gguf, l->be, &o, &e))
        die(&e);
    k = *model_kv(l->model);
    k.positions = slide ? LOAD_SLIDE : (int64_t)model_context(l->model) * nseq;
    k.context = slide ? LOAD_SLIDE : model_context(l->model);
    /* Where columns see each other both ways, a sequence is one step. */
    k.max_batch = model_both(l->model) && k.context > chunk ? k.context : chunk;
    k.nseq = nseq;
    if (kv_new(&l->kv, l->be, &k, &e)) {
        err_prefix(&e, "%s: a KV cache of %lld positions", gguf_path(l->gguf),
                   (long long)k.positions);
        die(&e);
    }
}

void load_plain(struct load *l, const struct cli *c, const char *operand,
                int nseq, int chunk, bool slide)
{
    memset(l, 0, sizeof *l);
    open_model(l, c, operand, nseq, chunk, slide);
}

void load_open(struct load *l, const struct cli *c, const char *operand,
               int nseq, int chunk, bool slide)
{
    memset(l, 0, sizeof *l);
    loras_open(&l->loras, c);
    open_model(l, c, operand, nseq, chunk, slide);
}

void load_close(struct load *l)
{
    kv_free(l->kv);
    model_close(l->model);
    be_close(l->be);
    loras_close(&l->loras);
    tok_close(l->tok);
    gguf_close(l->gguf);
}

int load_header_try(struct wire_out *w, const char *by, const struct load *l,
                    struct err *e)
{
    return model_header_with(w, by, l->gguf, model_kv(l->model)->adapt.text, e);
}

void load_header(struct wire_out *w, const char *by, const struct load *l)
{
    struct err e = {0};

    if (load_header_try(w, by, l, &e))
        die(&e);
}

void load_note(struct load *l)
{
    struct kv_stats k;

    kv_stats(&k, l->kv);
    if (k.bytes_used > l->kv_bytes)
        l->kv_bytes = k.bytes_used;
}

void load_report(const struct load *l)
{
    struct be_stats s;
    char batch[32] = "";

    be_stats(&s, l->be);
    if (s.threads_batch != s.threads)
        snprintf(batch, sizeof batch, " (%d for prompts)", s.threads_batch);
    warn("%d threads%s, %s; weights: %.1f MB packed%s%s, %.1f MB as in the "
         "file; KV: %.1f MB",
         s.threads, batch, s.isa, (double)s.packed / 1e6,
         s.shared ? ", shared" : "", s.large_pages ? ", large pages" : "",
         (double)s.mapped / 1e6, (double)l->kv_bytes / 1e6);
    for (int i = 0; i < l->loras.n; i++)
        warn("adapter %s: %s, times %g", l->loras.name[i],
             gguf_path(l->loras.gguf[i]), (double)l->loras.v[i].scale);
}
