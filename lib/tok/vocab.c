/* SPDX-License-Identifier: MIT
 * vocab.c - the vocabulary as the file gives it: spellings, types, roles.
 *
 * Spellings stay in the map.  A table of hashes finds an id by its spelling;
 * building it reads every spelling once, which is most of what opening costs
 * where there are no merges.
 */
#include "tok/tok_impl.h"

#include <stdio.h>

static uint64_t hash(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint64_t tok_hash(const struct tok *t, const void *p, size_t n)
{
    uint64_t h = hash(p, n);

    __builtin_prefetch(&t->slot[(uint32_t)h & ((1u << t->slot_bits) - 1)]);
    return h;
}

uint32_t tok_find_hash(const struct tok *t, const void *p, size_t n, uint64_t h)
{
    uint32_t tag = (uint32_t)(h >> 32), mask = (1u << t->slot_bits) - 1,
             i = (uint32_t)h & mask;

    if (t->same_tags)
        return tok_find(t, p, n);
    for (; t->slot[i].id1; i = (i + 1) & mask)
        if (t->slot[i].tag == tag)
            return t->slot[i].id1 - 1;
    return NO_ID;
}

uint32_t tok_find(const struct tok *t, const void *p, size_t n)
{
    uint64_t h = hash(p, n);
    uint32_t tag = (uint32_t)(h >> 32), mask = (1u << t->slot_bits) - 1,
             i = (uint32_t)h & mask;

    for (; t->slot[i].id1; i = (i + 1) & mask)
        if (t->slot[i].tag == tag) {
            struct gguf_str s = tok_string(t, t->slot[i].id1 - 1);

            if (s.n == n && !memcmp(s.p, p, n))
                return t->slot[i].id1 - 1;
        }
    return NO_ID;
}

uint32_t tok_find_text(const struct tok *t, const void *p, size_t n)
{
    uint32_t id = tok_find(t, p, n);

    if (id != NO_ID && t->types && type_of(t, id) != TOK_NORMAL &&
        type_of(t, id) != TOK_USER_DEFINED && type_of(t, id) != TOK_UNUSED)
        return NO_ID;
    return id;
}

uint32_t tok_find_byte(const struct tok *t, int b)
{
    char s[8];

    return tok_find(t, s, (size_t)snprintf(s, sizeof s, "<0x%02X>", b & 255));
}

/* Enter spelling ID of hash H; of two tokens spelled alike the first one
 * counts. */
static void enter(struct tok *t, uint32_t id, struct gguf_str s, uint64_t h)
{
    uint32_t tag = (uint32_t)(h >> 32), mask = (1u << t->slot_bits) - 1,
             i = (uint32_t)h & mask;

    for (; t->slot[i].id1; i = (i + 1) & mask)
        if (t->slot[i].tag == tag) {
            struct gguf_str old = tok_string(t, t->slot[i].id1 - 1);

            if (old.n == s.n && !memcmp(old.p, s.p, s.n))
                return;
            t->same_tags = true;
        }
    t->slot[i] = (struct vocab_slot){tag, id + 1};
}

/* Enter all spellings, which begin at P.  A slot is fetched AHEAD entries
 * before it is needed (measured with the merges: see bpe.c). */
static void enter_all(struct tok *t, const unsigned char *p)
{
    enum { AHEAD = 16 };
    struct {
        struct gguf_str s;
        uint64_t h;
    } ring[AHEAD] = {0};
    const unsigned char *start = p;
    uint32_t mask = (1u << t->slot_bits) - 1;

    for (uint32_t id = 0; id < t->n + AHEAD; id++) {
        int k = id % AHEAD;

        if (id >= AHEAD && ring[k].s.n)
            enter(t, id - AHEAD, ring[k].s, ring[k].h);
        if (id >= t->n)
            continue;
        t->offset[id] = (uint32_t)(p - start);
        ring[k].s = gguf_str_next(&p);
        ring[k].h = hash(ring[k].s.p, ring[k].s.n);
        __builtin_prefetch(&t->slot[(uint32_t)ring[k].h & mask], 1);
        if (ring[k].s.n > t->max_len)
            t->max_len = (uint32_t)ring[k].s.n;
    }
}

static int load_strings(struct tok *t, struct err *e)
{
    const struct gguf_val *v;
    int rc = gguf_get_arr(&v, t->g, "tokenizer.ggml.tokens", GGUF_STR, 1,
                          INT32_MAX, e);

    if (rc <= 0)
        return rc ? -1 : err_set(e, ERR_FORMAT, "no key tokenizer.ggml.tokens");
    if (v->bytes > UINT32_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "tokenizer.ggml.tokens: more than 4 GB");
    t->n = (uint32_t)v->n;
    t->strings = v->p;
    t->offset = malloc(t->n * sizeof *t->offset);
    for (t->slot_bits = 4; (1u << t->slot_bits) / 3 * 2 < t->n; t->slot_bits++)
        ;
    t->slot = pages_alloc(sizeof *t->slot << t->slot_bits);
    if (!t->offset || !t->slot)
        return err_nomem(e);
    enter_all(t, v->p);
    return 0;
}

/* An array that goes with the tokens, or NULL where the file has none. */
static int parallel(const unsigned char **out, const struct tok *t,
                    const char *key, enum gguf_type elem, struct err *e)
{
    const struct gguf_val *v = NULL;
    int rc = gguf_get_arr(&v, t->g, key, elem, t->n, t->n, e);

    *out = rc > 0 ? v->p : NULL;
    return rc < 0 ? -1 : 0;
}

/* ---- roles ---- */

static const struct {
    const char *name, *key, *key2;
} roles[TOK_NROLE] = {
    [TOK_BOS] = {"bos", "bos", NULL},
    [TOK_EOS] = {"eos", "eos", NULL},
    [TOK_EOT] = {"eot", "eot", NULL},
    [TOK_EOM] = {"eom", "eom", NULL},
    [TOK_UNK] = {"unk", "unknown", NULL},
    [TOK_SEP] = {"sep", "seperator", "separator"},
    [TOK_PAD] = {"pad", "padding", NULL},
    [TOK_MASK] = {"mask", "mask", NULL},
    [TOK_CLS] = {"cls", "cls", NULL},
    [TOK_FIM_PRE] = {"fim_pre", "fim_pre", "prefix"},
    [TOK_FIM_SUF] = {"fim_suf", "fim_suf", "suffix"},
    [TOK_FIM_MID] = {"fim_mid", "fim_mid", "middle"},
    [TOK_FIM_PAD] = {"fim_pad", "fim_pad", NULL},
    [TOK_FIM_REP] = {"fim_rep", "fim_rep", NULL},
    [TOK_FIM_SEP] = {"fim_sep", "fim_sep", NULL},
};

#define BAR "\xef\xbd\x9c" /* U+FF5C, as DeepSeek spells a bar */

/* Spellings by which models without the key are known to mean a role. */
static const struct {
    enum tok_role role;
    const char *spelling;
} by_spelling[] = {
    {TOK_EOT, "<|eot_id|>"},
    {TOK_EOT, "<|im_end|>"},
    {TOK_EOT, "<|end|>"},
    {TOK_EOT, "<end_of_turn>"},
    {TOK_EOT, "<turn|>"},
    {TOK_EOT, "<|endoftext|>"},
    {TOK_EOT, "<|end_of_text|>"},
    {TOK_EOT, "<EOT>"},
    {TOK_EOT, "_<EOT>"},
    {TOK_EOT, "[EOT]"},
    {TOK_EOT, "<" BAR "end" SPACE "of" SPACE "sentence" BAR ">"},
    {TOK_EOT, "<end_of_utterance>"},
    {TOK_EOM, "<|eom_id|>"},
    {TOK_FIM_PRE, "<|fim_prefix|>"},
    {TOK_FIM_PRE, "<fim-prefix>"},
    {TOK_FIM_PRE, "<fim_prefix>"},
    {TOK_FIM_PRE, "<" BAR "fim" SPACE "begin" BAR ">"},
    {TOK_FIM_PRE, "<PRE>"},
    {TOK_FIM_PRE, SPACE "<PRE>"},
    {TOK_FIM_PRE, "<|code_prefix|>"},
    {TOK_FIM_PRE, "<|prefix|>"},
    {TOK_FIM_SUF, "<|fim_suffix|>"},
    {TOK_FIM_SUF, "<fim-suffix>"},
    {TOK_FIM_SUF, "<fim_suffix>"},
    {TOK_FIM_SUF, "<" BAR "fim" SPACE "hole" BAR ">"},
    {TOK_FIM_SUF, "<SUF>"},
    {TOK_FIM_SUF, SPACE "<SUF>"},
    {TOK_FIM_SUF, "<|code_suffix|>"},
    {TOK_FIM_SUF, "<|suffix|>"},
    {TOK_FIM_MID, "<|fim_middle|>"},
    {TOK_FIM_MID, "<fim-middle>"},
    {TOK_FIM_MID, "<fim_middle>"},
    {TOK_FIM_MID, "<" BAR "fim" SPACE "end" BAR ">"},
    {TOK_FIM_MID, "<MID>"},
    {TOK_FIM_MID, SPACE "<MID>"},
    {TOK_FIM_MID, "<|code_middle|>"},
    {TOK_FIM_MID, "<|middle|>"},
    {TOK_FIM_PAD, "<|fim_pad|>"},
    {TOK_FIM_PAD, "<fim-pad>"},
    {TOK_FIM_PAD, "<fim_pad>"},
    {TOK_FIM_PAD, "<PAD>"},
    {TOK_FIM_PAD, "[PAD]"},
    {TOK_FIM_REP, "<|fim_repo|>"},
    {TOK_FIM_REP, "<|repo_name|>"},
    {TOK_FIM_REP, "<fim-repo>"},
    {TOK_FIM_REP, "<REPO>"},
    {TOK_FIM_REP, "<reponame>"},
    {TOK_FIM_SEP, "<|file_sep|>"},
};

/* Spellings that end a generation whatever role they have. */
static const char *const ends[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<eos>",
    "</s>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<|tool_response>",
    "[e~[",
    "<" BAR "end" SPACE "of" SPACE "sentence" BAR ">",
};

static bool has(const struct tok *t, const char *spelling)
{
    return tok_find(t, spelling, strlen(spelling)) != NO_ID;
}

/* Some of those go on where the model has others: <|end|> parts channels in
 * harmony and calls in Solar; </s> is no end beside <|tool_response>. */
static bool is_end(const struct tok *t, const char *spelling)
{
    if (!strcmp(spelling, "<|end|>"))
        return !((has(t, "<|return|>") && has(t, "<|call|>")) ||
                 ((has(t, "<|call|>") || has(t, "<|calls|>")) &&
                  has(t, "<|flush|>")));
    if (!strcmp(spelling, "</s>"))
        return !has(t, "<|tool_response>");
    return true;
}

static int load_roles(struct tok *t, struct err *e)
{
    for (int r = 0; r < TOK_NROLE; r++) {
        char key[64];
        int64_t id = -1;
        int rc = 0;

        for (int k = 0; k < 2 && !rc; k++) {
            const char *name = k ? roles[r].key2 : roles[r].key;

            if (!name)
                break;
            snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", name);
            rc = gguf_get_int(&id, t->g, key, INT64_MIN, INT64_MAX, e);
        }
        if (rc < 0)
            return -1;
        /* 2^32 - 1 is how some files write "none". */
        if (rc && (id == -1 || id == UINT32_MAX))
            id = -1;
        else if (rc && (id < 0 || id >= t->n))
            return err_set(e, ERR_FORMAT, "%s: %lld is not one of %u tokens",
                           key, (long long)id, t->n);
        t->role[r] = (int32_t)id;
    }
    for (size_t i = 0; i < sizeof by_spelling / sizeof *by_spelling; i++) {
        const char *s = by_spelling[i].spelling;
        uint32_t id;

        if (t->role[by_spelling[i].role] >= 0)
            continue;
        id = tok_find(t, s, strlen(s));
        if (id != NO_ID && type_of(t, id) != TOK_NORMAL)
            t->role[by_spelling[i].role] = (int32_t)id;
    }
    return 0;
}

static void add_eog(struct tok *t, int64_t id)
{
    for (size_t i = 0; i < t->neog; i++)
        if (t->eog[i] == (uint32_t)id)
            return;
    if (id >= 0 && id < t->n)
        t->eog[t->neog++] = (uint32_t)id;
}

static int load_eog(struct tok *t, struct err *e)
{
    size_t n = sizeof ends / sizeof *ends;
    const struct gguf_val *v = NULL;
    int rc;

    /* Newer files list them. */
    rc = gguf_get_arr(&v, t->g, "tokenizer.ggml.eos_token_ids", GGUF_U32, 0,
                      t->n, e);
    if (rc < 0)
        return -1;
    t->eog = malloc((n + 6 + (rc ? (size_t)v->n : 0)) * sizeof *t->eog);
    if (!t->eog)
        return err_nomem(e);
    for (uint64_t i = 0; rc && i < v->n; i++)
        add_eog(t, rd_u32(v->p + 4 * i));
    add_eog(t, t->role[TOK_EOS]);
    add_eog(t, t->role[TOK_EOT]);
    add_eog(t, t->role[TOK_EOM]);
    add_eog(t, t->role[TOK_FIM_PAD]);
    add_eog(t, t->role[TOK_FIM_REP]);
    add_eog(t, t->role[TOK_FIM_SEP]);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = tok_find(t, ends[i], strlen(ends[i]));

        if (id != NO_ID && type_of(t, id) != TOK_NORMAL && is_end(t, ends[i]))
            add_eog(t, id);
    }
    return 0;
}

static int load_suppress(struct tok *t, struct err *e)
{
    const struct gguf_val *v = gguf_key(t->g, "tokenizer.ggml.suppress_tokens");

    if (!v)
        return 0;
    if (v->type != GGUF_ARR || (v->elem != GGUF_I32 && v->elem != GGUF_U32))
        return err_set(e, ERR_FORMAT,
                       "tokenizer.ggml.suppress_tokens: not an "
                       "array of 32-bit integers");
    t->suppress = v;
    return 0;
}

static int load_flags(struct tok *t, struct err *e)
{
    static const struct {
        const char *key;
        size_t at;
    } flag[] = {
        {"tokenizer.ggml.add_bos_token", offsetof(struct tok, add_bos)},
        {"tokenizer.ggml.add_eos_token", offsetof(struct tok, add_eos)},
        {"tokenizer.ggml.add_sep_token", offsetof(struct tok, add_sep)},
        {"tokenizer.ggml.add_space_prefix",
         offsetof(struct tok, add_space_prefix)},
        {"tokenizer.ggml.remove_extra_whitespaces",
         offsetof(struct tok, remove_extra_space)},
    };

    for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
        if (gguf_get_bool((bool *)((char *)t + flag[i].at), t->g, flag[i].key,
                          e) < 0)
            return -1;
    /* It is of pairs, but some files say nothing else of the end of a text. */
    if (t->add_sep && !gguf_key(t->g, "tokenizer.ggml.add_eos_token"))
        t->add_eos = true;
    return 0;
}

/* ---- opening ---- */

static const struct kind {
    const char *name;
    enum tok_kind kind;
    int (*open)(struct tok *t, struct err *e);
    bool add_bos, add_eos, add_space_prefix;
} kinds[] = {
    {"gpt2", KIND_BPE, bpe_open, false, false, false},
    {"gemma4", KIND_BPE, bpe_open, true, false, false},
    {"llama", KIND_SPM, spm_open, true, false, true},
    {"bert", KIND_WPM, wpm_open, true, true, false},
    {"t5", KIND_UGM, ugm_open, false, true, true},
    {"rwkv", KIND_RWKV, rwkv_open, false, false, false},
    {NULL, 0, NULL, false, false, false},
};

/* Files older than tokenizer.ggml.pre: the rules of the architectures that only
 * ever had one. */
static struct gguf_str by_architecture(const struct tok *t)
{
    static const char *const known[][2] = {
        {"gpt2", "gpt-2"},
        {"gptneox", "gpt-2"},
        {"mpt", "mpt"},
        {"falcon", "falcon"},
        {"bloom", "bloom"},
        {"starcoder", "starcoder"},
        {"refact", "refact"},
        {"codeshell", "codeshell"},
        {"phi2", "phi-2"},
        {"qwen2", "qwen2"},
        {"command-r", "command-r"},
    };
    struct gguf_str s;

    if (gguf_get_str(&s, t->g, "general.architecture", NULL) > 0)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (s.n == strlen(known[i][0]) && !memcmp(s.p, known[i][0], s.n))
                return (struct gguf_str){known[i][1], strlen(known[i][1])};
    return (struct gguf_str){0};
}

static int open_kind(struct tok *t, const char *pre, struct err *e)
{
    const struct kind *k = kinds;
    struct gguf_str s = {0};
    int rc = gguf_get_str(&s, t->g, "tokenizer.ggml.model", e);

    if (rc <= 0)
        return rc ? -1 : err_set(e, ERR_FORMAT, "no key tokenizer.ggml.model");
    while (k->name && (strlen(k->name) != s.n || memcmp(k->name, s.p, s.n)))
        k++;
    if (!k->name)
        return err_set(e, ERR_UNSUPPORTED,
                       "unknown tokenizer.ggml.model '%.*s'",
                       (int)(s.n < 64 ? s.n : 64), s.p);
    t->kind = k->kind;
    t->model = k->name;
    t->add_bos = k->add_bos;
    t->add_eos = k->add_eos;
    t->add_space_prefix = k->add_space_prefix;
    if (pre && k->kind != KIND_BPE)
        return err_set(e, ERR_UNSUPPORTED,
                       "tokenizer.ggml.model '%s' has no pre-tokenizers: '%s'",
                       k->name, pre);
    s = (struct gguf_str){0};
    if (pre)
        s = (struct gguf_str){pre, strlen(pre)};
    else if (gguf_get_str(&s, t->g, "tokenizer.ggml.pre", e) < 0)
        return -1;
    if (!pre && !strcmp(k->name, "gemma4"))
        s = (struct gguf_str){"gemma4", 6};
    if (!s.p && k->kind == KIND_BPE)
        s = by_architecture(t);
    snprintf(t->pre, sizeof t->pre, "%.*s", (int)(s.n < 63 ? s.n : 63),
             s.p ? s.p : "");
    if (load_strings(t, e) ||
        parallel(&t->types, t, "tokenizer.ggml.token_type", GGUF_I32, e) ||
        parallel(&t->scores, t, "tokenizer.ggml.scores", GGUF_F32, e) ||
        load_roles(t, e))
        return -1;
    for (int b = 0; b < 256; b++)
        t->byte_id[b] = NO_ID;
    if (k->open(t, e) || load_flags(t, e) || load_eog(t, e) ||
        load_suppress(t, e))
        return -1;
    if (t->pretok.flags & PRETOK_FORCE_BOS)
        t->add_bos = true;
    return special_open(t, e);
}

int tok_open(struct tok **out, const struct gguf *g, const char *pre,
             struct err *e)
{
    struct tok *t = calloc(1, sizeof *t);

    *out = NULL;
    if (!t)
        return err_nomem(e);
    t->g = g;
    if (open_kind(t, pre, e)) {
        tok_close(t);
        /* The typed look-ups have named the file already. */
        if (e && !strncmp(e->msg, gguf_path(g), strlen(gguf_path(g))))
            return -1;
        return err_prefix(e, "%s", gguf_path(g));
    }
    *out = t;
    return 0;
}

void tok_close(struct tok *t)
{
    if (!t)
        return;
    pretok_close(&t->pretok);
    wpm_close(t);
    ugm_close(t);
    trie_free(&t->special);
    trie_free(&t->pieces);
    free(t->offset);
    pages_free(t->slot, sizeof *t->slot << t->slot_bits);
    free(t->eog);
    free(t->strip);
    pages_free(t->merge, sizeof *t->merge << t->merge_bits);
    pages_free(t->merge_filter, (size_t)1 << t->merge_bits);
    free(t->of_bytes);
    free(t->joined);
    free(t);
}

/* ---- asking ---- */

int32_t tok_role(const struct tok *t, enum tok_role role)
{
    return t->role[role];
}

const char *tok_role_name(enum tok_role role)
{
    return roles[role].name;
}

bool tok_is_eog(const struct tok *t, uint32_t id)
{
    for (size_t i = 0; i < t->neog; i++)
        if (t->eog[i] == id)
            return true;
    return false;
}

bool tok_is_suppressed(const struct tok *t, uint32_t id)
{
    for (uint64_t i = 0; t->suppress && i < t->suppress->n; i++)
        if (rd_u32(t->suppress->p + 4 * i) == id)
            return true;
    return false;
}

uint32_t tok_count(const struct tok *t)
{
    return t->n;
}

const char *tok_model(const struct tok *t)
{
    return t->model;
}

const char *tok_pre(const struct tok *t)
{
    return t->pre;
}

enum tok_type tok_type(const struct tok *t, uint32_t id)
{
    return id < t->n ? type_of(t, id) : TOK_UNUSED;
}

struct gguf_str tok_spelling(const struct tok *t, uint32_t id)
{
    return id < t->n ? tok_string(t, id) : (struct gguf_str){"", 0};
}

bool tok_adds_bos(const struct tok *t)
{
    return t->add_bos;
}

bool tok_adds_eos(const struct tok *t)
{
    return t->add_eos;
}

bool tok_adds_sep(const struct tok *t)
{
    return t->add_sep;
}

/* ---- GPT-2's alphabet ----
 * Bytes that print in Latin-1 spell themselves; the other 68 are U+0100 on, in
 * order. */

static bool prints(int b)
{
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
}

size_t alphabet_put(unsigned char *out, unsigned char b)
{
    uint32_t cp = b;

    if (!prints(b))
        cp = 256u + (b < 33 ? b : b < 161 ? 33u + b - 127u : 67u);
    return utf8_put(out, cp);
}

int alphabet_get(uint32_t cp)
{
    uint32_t k = cp - 256;

    if (cp < 256)
        return prints((int)cp) ? (int)cp : -1;
    return k < 33 ? (int)k : k < 67 ? (int)k + 94 : k == 67 ? 173 : -1;
}
