/* SPDX-License-Identifier: MIT
 * tokenizer_norm.c - the normalizer of tokenizer.json. */
#include "convert/tokenizer_impl.h"

enum { MAX_PARTS = 64 };

static bool string_is(const json_t *obj, const char *key, const char *what)
{
    const char *s = hf_str(obj, key);

    return s && !strcmp(s, what);
}

/* Replace: the two that say what spaces become. */
static unsigned replace(const json_t *j)
{
    const json_t *pattern = hf_get(j, "pattern");

    if (string_is(pattern, "String", " ") && string_is(j, "content", SPACE))
        return NORM_SPACE;
    if (string_is(pattern, "Regex", " {2,}") &&
        (string_is(j, "content", " ") || string_is(j, "content", SPACE)))
        return NORM_SHRINK;
    return 0;
}

static unsigned bert(const json_t *j)
{
    return NORM_BERT | (hf_bool(j, "lowercase", true) ? NORM_LOWER : 0) |
           (hf_bool(j, "strip_accents", false) ? NORM_ACCENTS : 0);
}

static int one(struct hf_norm *n, const json_t *j, unsigned allowed,
               struct err *e)
{
    static const struct {
        const char *type;
        unsigned bit;
    } plain[] = {
        {"NFC", NORM_NFC},
        {"Lowercase", NORM_LOWER},
        {"StripAccents", NORM_ACCENTS},
        {"Strip", NORM_STRIP},
    };
    const char *type = hf_str(j, "type");
    unsigned bit = 0;
    char show[200];

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (hf_is(j, plain[i].type))
            bit = plain[i].bit;
    if (hf_is(j, "Replace")) {
        bit = replace(j);
    } else if (hf_is(j, "Prepend") && string_is(j, "prepend", SPACE)) {
        bit = NORM_PREPEND;
    } else if (hf_is(j, "Precompiled")) {
        n->charsmap = hf_get(j, "precompiled_charsmap");
        if (!json_is_string(n->charsmap))
            return err_set(e, ERR_FORMAT,
                           "normalizer.precompiled_charsmap: no string");
        bit = NORM_CHARSMAP;
    } else if (hf_is(j, "BertNormalizer")) {
        n->bert = j;
        bit = bert(j);
    }
    if (!bit || bit & ~allowed)
        return err_set(e, ERR_UNSUPPORTED,
                       "normalizer: '%.40s' cannot be said in a GGUF: %s",
                       type ? type : "?", hf_show(show, sizeof show, j));
    n->seen |= bit;
    return 0;
}

int hf_normalizer(struct hf_norm *n, const json_t *tokenizer, unsigned allowed,
                  struct err *e)
{
    const json_t *j = hf_get(tokenizer, "normalizer"), *list, *part;
    size_t count;

    *n = (struct hf_norm){0};
    if (!j)
        return 0;
    if (!hf_is(j, "Sequence"))
        return one(n, j, allowed, e);
    list = hf_get(j, "normalizers");
    count = json_array_size(list);
    if (count > MAX_PARTS)
        return err_set(e, ERR_UNSUPPORTED, "normalizer: too many parts");
    for (size_t i = 0; i < count; i++) {
        part = json_array_get(list, i);
        /* Sequences in sequences are not met with, and refused as unknown. */
        if (one(n, part, allowed, e))
            return -1;
    }
    return 0;
}
