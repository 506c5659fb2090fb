/* SPDX-License-Identifier: MIT
 * tokenizer_spm.c - tokenizer.model, a SentencePiece ModelProto.
 *
 * The fields, of github.com/google/sentencepiece sentencepiece_model.proto:
 * 1 pieces {1 piece, 2 score, 3 type}, 2 trainer_spec {3 model_type,
 * 24 treat_whitespace_as_suffix, 41 bos_id, 42 eos_id}, 3 normalizer_spec {2
 * precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces, 5
 * escape_whitespaces}.  The types of pieces have the numbers of enum tok_type.
 */
#include "convert/proto.h"
#include "convert/tokenizer_impl.h"

enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

struct spm {
    uint64_t type;
    bool suffix, prefix, shrink, escape;
    const unsigned char *charsmap;
    size_t ncharsmap;
    uint64_t bos, eos;
};

static int read_piece(struct hf *h, struct proto p, struct err *e)
{
    struct proto_field f, text = {0};
    uint64_t type = TOK_NORMAL;
    float score = 0;

    while (proto_next(&f, &p)) {
        if (f.number == 1 && f.bytes)
            text = f;
        else if (f.number == 2 && f.n == 4 && !f.bytes)
            score = rd_f32(f.p);
        else if (f.number == 3 && !f.bytes)
            type = f.v;
    }
    if (p.bad || type < TOK_NORMAL || type > TOK_BYTE)
        return err_set(e, ERR_FORMAT, "piece %u: broken", h->voc.n);
    if (h->voc.n >= h->voc.limit)
        return err_set(e, ERR_FORMAT, "more pieces than embeddings: %u",
                       h->voc.limit);
    if (voc_put(&h->voc, h->voc.n, text.p ? (const char *)text.p : "", text.n,
                (enum tok_type)type, score, e))
        return -1;
    h->voc.t[h->voc.n - 1].in_model = 1;
    return 0;
}

static int read_trainer(struct spm *s, struct proto p, struct err *e)
{
    struct proto_field f;

    while (proto_next(&f, &p)) {
        if (f.number == 3)
            s->type = f.v;
        else if (f.number == 24)
            s->suffix = f.v;
        else if (f.number == 41)
            s->bos = f.v;
        else if (f.number == 42)
            s->eos = f.v;
    }
    return p.bad ? err_set(e, ERR_FORMAT, "trainer_spec: broken") : 0;
}

static int read_normalizer(struct spm *s, struct proto p, struct err *e)
{
    struct proto_field f;

    while (proto_next(&f, &p)) {
        if (f.number == 2 && f.bytes) {
            s->charsmap = f.p;
            s->ncharsmap = f.n;
        } else if (f.number == 3) {
            s->prefix = f.v;
        } else if (f.number == 4) {
            s->shrink = f.v;
        } else if (f.number == 5) {
            s->escape = f.v;
        }
    }
    return p.bad ? err_set(e, ERR_FORMAT, "normalizer_spec: broken") : 0;
}

static int read_model(struct hf *h, struct spm *s, struct proto p,
                      struct err *e)
{
    struct proto_field f;
    int rc = 0;

    while (!rc && proto_next(&f, &p)) {
        struct proto in = {f.p, f.n, false};

        if (!f.bytes)
            continue;
        if (f.number == 1)
            rc = read_piece(h, in, e);
        else if (f.number == 2)
            rc = read_trainer(s, in, e);
        else if (f.number == 3)
            rc = read_normalizer(s, in, e);
    }
    if (!rc && (p.bad || !h->voc.n))
        rc = err_set(e, ERR_FORMAT, "no SentencePiece model");
    return rc;
}

/* Does U+2581 go before a text?  tokenizer.json, where there is one, says what
 * is done in fact; Gemma's class never does it. */
static int find_prefix(bool *prefix, const struct hf *h, const struct spm *s,
                       struct err *e)
{
    const char *class = hf_str(h->config, "tokenizer_class");
    struct hf_norm norm;
    struct hf_pre pre = {0};
    int rc;

    *prefix = s->prefix && !(class && !strncmp(class, "Gemma", 5));
    if (!h->tokenizer)
        return 0;
    rc = hf_pre_tokenizer(&pre, h->tokenizer, e);
    buf_free(&pre.form);
    if (rc || hf_normalizer(&norm, h->tokenizer,
                            NORM_PREPEND | NORM_SPACE | NORM_NFC |
                                NORM_CHARSMAP | NORM_SHRINK | NORM_STRIP,
                            e))
        return -1;
    *prefix = norm.seen & NORM_PREPEND || pre.seen & PRE_PREFIX;
    return 0;
}

static int keep_charsmap(struct hf *h, const struct spm *s, struct err *e)
{
    buf_put(&h->charsmap, s->charsmap, s->ncharsmap);
    return buf_ok(&h->charsmap, e);
}

/* What no configuration speaks of. */
static void take_role(struct hf *h, enum hf_role r, uint64_t id)
{
    if (id < h->voc.n && h->voc.t[id].type == TOK_CONTROL &&
        !json_object_get(h->config, hf_roles[r].token) &&
        !json_object_get(h->special, hf_roles[r].token))
        h->role[r] = (int64_t)id;
}

static int use(struct hf *h, const struct spm *s, struct err *e)
{
    bool prefix;

    if (s->suffix || !s->escape)
        return err_set(e, ERR_UNSUPPORTED,
                       "spaces behind words, or not as U+2581");
    if (s->type != MODEL_BPE && s->type != MODEL_UNIGRAM)
        return err_set(e, ERR_UNSUPPORTED, "trainer_spec.model_type %llu",
                       (unsigned long long)s->type);
    if (find_prefix(&prefix, h, s, e))
        return -1;
    take_role(h, HF_BOS, s->bos);
    take_role(h, HF_EOS, s->eos);
    h->scores = true;
    h->pad_score = -10000;
    snprintf(h->pre, sizeof h->pre, "default");
    if (s->type == MODEL_BPE) {
        h->model = "llama";
        h->space_prefix = prefix ? -1 : 0;
        if (s->ncharsmap)
            hf_note(h, "normalizer_spec: text is not normalised");
        if (s->shrink)
            hf_note(h, "normalizer_spec: runs of spaces stay what they are");
    } else {
        h->model = "t5";
        h->space_prefix = prefix;
        h->shrink = s->shrink;
        if (keep_charsmap(h, s, e))
            return -1;
        for (uint32_t i = 0; i < h->voc.n; i++)
            if (h->voc.t[i].type == TOK_UNKNOWN)
                h->role[HF_UNK] = i;
    }
    return 0;
}

int hf_sentencepiece(struct hf *h, struct err *e)
{
    static const char *const files[] = {"tokenizer.model", "spiece.model",
                                        "sentencepiece.bpe.model"};
    struct spm s = {.type = MODEL_UNIGRAM,
                    .prefix = true,
                    .shrink = true,
                    .escape = true,
                    .bos = 1,
                    .eos = 2};
    struct map m = {0};
    int64_t unknown = -1;
    int rc = 0;

    for (size_t i = 0; !rc && i < sizeof files / sizeof *files; i++) {
        h->source = files[i];
        rc = hf_map(&m, h, files[i], e);
    }
    if (rc <= 0)
        return rc;
    h->voc.limit =
        h->want->n_vocab > 0 ? (uint32_t)h->want->n_vocab : UINT32_MAX / 2;
    if (!strcmp(h->source, "sentencepiece.bpe.model"))
        rc = err_set(e, ERR_UNSUPPORTED,
                     "the ids of its model are others: tokenizer.json is "
                     "needed");
    else
        rc = read_model(h, &s, (struct proto){m.p, m.n, false}, e);
    if (!rc)
        rc = use(h, &s, e);
    unknown = h->role[HF_UNK];
    if (!rc)
        rc = hf_added_tokens(h, e);
    if (!rc && unknown >= 0)
        h->voc.t[unknown].type = TOK_UNKNOWN;
    map_close(&m);
    return rc ? err_prefix(e, "%s/%s", h->dir, h->source) : 1;
}
