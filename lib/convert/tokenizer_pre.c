/* SPDX-License-Identifier: MIT
 * tokenizer_pre.c - the pre_tokenizer of tokenizer.json and the names of
 * tokenizer.ggml.pre.
 *
 * Both are written in one form, a line for each step: a letter for what is done
 * with the matches of a pattern, and the pattern.  Spellings of a pattern that
 * mean the same are made one first.  What is equal then splits alike; a form
 * that no name has is unknown, and nothing is guessed.
 *
 *   I  every match, and every stretch between two, is a piece (Isolated)
 *   K  the matches are the pieces (Removed, inverted)
 *   N  a match begins a piece (MergedWithNext)
 *   B  from here on, bytes in the byte-level alphabet, if more steps follow */
#include "convert/tokenizer_impl.h"

#define RE_GPT2                                                                \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"       \
    "\\s+(?!\\S)|\\s+"
#define RE_PUNCT "[\\p{P}!-/:-@\\[-`{-~]"

/* ---- spellings of patterns ---- */

static const struct {
    const char *from, *to;
} spellings[] = {
    /* Characters that stand for themselves. */
    {"\r", "\\r"},
    {"\n", "\\n"},
    {"\t", "\\t"},
    /* tiktoken's: sets whose order does not matter, and possessive where
     * nothing could be given back. */
    {"'(?i:[sdmt]|ll|ve|re)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
    {"[^\\r\\n\\p{L}\\p{N}]?+", "[^\\r\\n\\p{L}\\p{N}]?"},
    {"[^\\s\\p{L}\\p{N}]++", "[^\\s\\p{L}\\p{N}]+"},
    {"\\p{N}{1}|", "\\p{N}|"},
    /* \s* takes the newlines but for the last. */
    {"|\\s*[\\r\\n]|", "|\\s*[\\r\\n]+|"},
    /* A set in a set is its members. */
    {"[^(\\s|[.,!?…。，、।۔،])]", "[^(\\s|.,!?…。，、।۔،)]"},
    {"[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]",
     "(?:(?!\\p{Han})[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])"},
    {"[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]",
     "(?:(?!\\p{Han})[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])"},
};

static size_t starts(const char *p, size_t n, const char *with)
{
    size_t k = strlen(with);

    return n >= k && !memcmp(p, with, k) ? k : 0;
}

static void put_pattern(struct buf *b, const char *p, size_t n)
{
    while (n) {
        size_t k = 0;

        for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
            k = starts(p, n, spellings[i].from);
            if (!k)
                continue;
            buf_puts(b, spellings[i].to);
            /* The bar that ends an alternative begins the next one. */
            if (spellings[i].from[k - 1] == '|' && k > 1) {
                b->n--;
                k--;
            }
            break;
        }
        if (!k) {
            buf_putc(b, *p);
            k = 1;
        }
        p += k;
        n -= k;
    }
}

static bool holds(const char *p, size_t n, const char *what)
{
    for (; n; p++, n--)
        if (starts(p, n, what))
            return true;
    return false;
}

/* Does the pattern match at every place of a text?  Then its matches are all
 * the pieces, whatever becomes of the rest.  Known of those that have a case
 * each for letters, numbers, white space and all else. */
static bool covers(const char *p, size_t n)
{
    return n > 4 && !memcmp(p + n - 4, "|\\s+", 4) && holds(p, n, "\\p{N}") &&
           holds(p, n, "[^\\s\\p{L}");
}

/* Append a step. */
static void put_step(struct buf *b, char letter, const char *p, size_t n)
{
    size_t at = b->n + 1;

    buf_putc(b, letter);
    put_pattern(b, p, n);
    if (letter == 'K' && !b->bad && covers((char *)b->p + at, b->n - at))
        b->p[at - 1] = 'I';
    buf_putc(b, '\n');
}

static void put_step_str(struct buf *b, char letter, const char *s)
{
    put_step(b, letter, s, strlen(s));
}

/* ---- tokenizer.json ---- */

enum { MAX_PARTS = 64 };

static int refuse(const json_t *j, struct err *e)
{
    char show[400];

    return err_set(e, ERR_UNSUPPORTED, "pre_tokenizer: cannot be said: %s",
                   hf_show(show, sizeof show, j));
}

static void put_escaped(struct buf *b, const char *s)
{
    for (; *s; s++) {
        if (strchr("\\^$.|?*+()[]{}", *s))
            buf_putc(b, '\\');
        buf_putc(b, *s);
    }
}

static int split(struct hf_pre *p, const json_t *j, struct err *e)
{
    const json_t *pattern = hf_get(j, "pattern");
    const char *re = hf_str(pattern, "Regex"), *s = hf_str(pattern, "String"),
               *behavior = hf_str(j, "behavior");
    bool invert = hf_bool(j, "invert", false);
    struct buf escaped = {0};
    char letter = 0;

    if (!behavior || (!re && !s))
        return refuse(j, e);
    if (s && !strcmp(s, " ") && !strcmp(behavior, "MergedWithPrevious") &&
        !invert) {
        p->seen |= PRE_SPACE;
        return 0;
    }
    if (!strcmp(behavior, "Isolated"))
        letter = 'I'; /* inverted, too: the same borders */
    else if (!strcmp(behavior, "Removed") && invert)
        letter = 'K';
    else if (!strcmp(behavior, "MergedWithNext") && !invert)
        letter = 'N';
    if (!letter)
        return refuse(j, e);
    if (s) {
        put_escaped(&escaped, s);
        re = buf_str(&escaped);
    }
    put_step_str(&p->form, letter, re);
    p->form.bad |= escaped.bad;
    buf_free(&escaped);
    p->seen |= PRE_CUTS;
    return 0;
}

static int byte_level(struct hf_pre *p, const json_t *j, struct err *e)
{
    if (hf_bool(j, "add_prefix_space", true))
        return err_set(e, ERR_UNSUPPORTED,
                       "pre_tokenizer: ByteLevel with add_prefix_space");
    if (hf_bool(j, "use_regex", true))
        put_step_str(&p->form, 'I', RE_GPT2);
    put_step_str(&p->form, 'B', "");
    p->seen |= PRE_BYTES;
    return 0;
}

static int metaspace(struct hf_pre *p, const json_t *j, struct err *e)
{
    const char *scheme = hf_str(j, "prepend_scheme"),
               *mark = hf_str(j, "replacement");
    bool prefix = hf_bool(j, "add_prefix_space", true);

    if (mark && strcmp(mark, SPACE))
        return refuse(j, e);
    if (scheme)
        prefix = strcmp(scheme, "never");
    p->seen |= PRE_META | (prefix ? PRE_PREFIX : 0);
    if (scheme && !strcmp(scheme, "first"))
        p->seen |= PRE_FIRST;
    return 0;
}

static int digits(struct hf_pre *p, const json_t *j, struct err *e)
{
    (void)e;
    put_step_str(&p->form, 'I',
                 hf_bool(j, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
    p->seen |= PRE_CUTS;
    return 0;
}

static int punctuation(struct hf_pre *p, const json_t *j, struct err *e)
{
    const char *behavior = hf_str(j, "behavior");

    if (!behavior || !strcmp(behavior, "Isolated"))
        put_step_str(&p->form, 'I', RE_PUNCT);
    else if (!strcmp(behavior, "Contiguous"))
        put_step_str(&p->form, 'I', RE_PUNCT "+");
    else
        return refuse(j, e);
    p->seen |= PRE_CUTS;
    return 0;
}

static int whitespace(struct hf_pre *p, const json_t *j, struct err *e)
{
    (void)j, (void)e;
    put_step_str(&p->form, 'K', "\\w+|[^\\w\\s]+");
    p->seen |= PRE_CUTS;
    return 0;
}

static int whitespace_split(struct hf_pre *p, const json_t *j, struct err *e)
{
    (void)j, (void)e;
    p->seen |= PRE_WSPLIT;
    return 0;
}

static int bert(struct hf_pre *p, const json_t *j, struct err *e)
{
    (void)j, (void)e;
    p->seen |= PRE_BERT;
    return 0;
}

static int one(struct hf_pre *p, const json_t *j, struct err *e)
{
    static const struct {
        const char *type;
        int (*read)(struct hf_pre *p, const json_t *j, struct err *e);
    } kinds[] = {
        {"Split", split},
        {"ByteLevel", byte_level},
        {"Metaspace", metaspace},
        {"Digits", digits},
        {"Punctuation", punctuation},
        {"Whitespace", whitespace},
        {"WhitespaceSplit", whitespace_split},
        {"BertPreTokenizer", bert},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (hf_is(j, kinds[i].type))
            return kinds[i].read(p, j, e);
    return refuse(j, e);
}

/* Nothing comes after the alphabet. */
static void drop_last(struct buf *form)
{
    if (form->n >= 2 && !memcmp(form->p + form->n - 2, "B\n", 2))
        form->n -= 2;
}

int hf_pre_tokenizer(struct hf_pre *p, const json_t *tokenizer, struct err *e)
{
    const json_t *j = hf_get(tokenizer, "pre_tokenizer"), *list;
    size_t n;

    p->seen = 0;
    p->form.n = 0;
    if (!j)
        return 0;
    if (!hf_is(j, "Sequence"))
        return one(p, j, e) ? -1 : (drop_last(&p->form), buf_ok(&p->form, e));
    list = hf_get(j, "pretokenizers");
    n = json_array_size(list);
    if (n > MAX_PARTS)
        return refuse(j, e);
    for (size_t i = 0; i < n; i++)
        if (one(p, json_array_get(list, i), e))
            return -1;
    drop_last(&p->form);
    return buf_ok(&p->form, e);
}

/* ---- names ---- */

/* What the steps that no pattern says are in tokenizer.json. */
static const char *const special[][2] = {
    [PRETOK_DIGITS_ND] = {"\\p{Nd}{1,3}(?=(?:\\p{Nd}{3})*(?!\\p{Nd}))", NULL},
    [PRETOK_DIGITS_N] = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"},
    [PRETOK_DIGITS_WORD] = {"\\d{1,3}(?=(?:\\d{3})*\\b)", NULL},
    [PRETOK_TAIL] = {"\\s+$", NULL},
    /* The pattern after it says it again. */
    [PRETOK_SPACES512] = {NULL, NULL},
};

static void put_rule(struct buf *b, const struct pretok_step *step)
{
    for (; step->kind; step++)
        switch (step->kind) {
        case PRETOK_SPLIT:
            put_step_str(b, 'I', step->re);
            break;
        case PRETOK_KEEP:
            put_step_str(b, 'K', step->re);
            break;
        case PRETOK_BEFORE:
            put_step_str(b, 'N', step->re);
            break;
        case PRETOK_DIGIT_BYTES:
            put_step_str(b, 'B', "");
            put_step_str(b, 'I', "\\p{N}+");
            break;
        case PRETOK_DIGITS_ND:
        case PRETOK_DIGITS_N:
        case PRETOK_DIGITS_WORD:
        case PRETOK_TAIL:
        case PRETOK_SPACES512:
            for (int k = 0; k < 2 && special[step->kind][k]; k++)
                put_step_str(b, 'I', special[step->kind][k]);
            break;
        }
}

/* Rules that are spelled otherwise than tokenizer.json spells them. */
static const struct {
    const char *rule, *form;
} other_forms[] = {
    {"whitespace", "K\\w+|[^\\w\\s]+\n"},
};

static bool rule_is(const struct pretok_info *info, const struct buf *form,
                    struct buf *work)
{
    work->n = 0;
    put_rule(work, info->step);
    if (!work->bad && work->n == form->n && !memcmp(work->p, form->p, form->n))
        return true;
    for (size_t i = 0; i < sizeof other_forms / sizeof *other_forms; i++)
        if (!strcmp(other_forms[i].rule, info->rule) &&
            strlen(other_forms[i].form) == form->n &&
            !memcmp(other_forms[i].form, form->p, form->n))
            return true;
    return false;
}

/* Of names that do the same, the one that files of an architecture have, and
 * the one that is best known. */
static const struct {
    const char *arch, *name;
} usual[] = {
    {"starcoder2", "starcoder"},
    {"granite", "refact"},
    {"llama", "smollm"},
    {"command-r", "command-r"},
    {"cohere2", "command-r"},
    {"exaone", "exaone"},
    {"phi2", "phi-2"},
    {"olmo", "olmo"},
    {"mpt", "mpt"},
    {"modern-bert", "modern-bert"},
    {"glm4", "glm4"},
    {"smollm3", "llama-bpe"},
    {"", "gpt-2"},
    {"", "llama-bpe"},
    {"", "dbrx"},
    {"", "qwen2"},
    {"", "gpt-4o"},
    {"", "tekken"},
    {"", "starcoder"},
    {"", "deepseek-v3"},
};

/* How much NAME is wanted; 0 for one that is only possible. */
static size_t wanted(const char *name, const char *arch, const char *hint)
{
    size_t n = sizeof usual / sizeof *usual;

    if (hint && !strcmp(name, hint))
        return n + 1;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(usual[i].name, name) &&
            (!*usual[i].arch || !strcmp(usual[i].arch, arch)))
            return n - i;
    return 0;
}

const char *hf_pre_name(const struct buf *form, unsigned flags, unsigned mask,
                        const char *arch, const char *hint, bool *rule)
{
    const char *best = NULL;
    size_t best_wanted = 0;
    struct buf work = {0};
    struct pretok_info info;

    *rule = false;
    for (size_t i = 0; pretok_at(&info, i); i++) {
        size_t w = wanted(info.name, arch, hint);

        if (!rule_is(&info, form, &work))
            continue;
        *rule = true;
        if ((info.flags ^ flags) & mask || (best && w <= best_wanted))
            continue;
        best = info.name;
        best_wanted = w;
    }
    buf_free(&work);
    return best;
}

/* ---- and back ---- */

static json_t *json_split(const char *re, const char *behavior, bool invert)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern",
                     "Regex", re, "behavior", behavior, "invert", invert);
}

static json_t *json_bytes(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
                     "add_prefix_space", 0, "trim_offsets", 1, "use_regex", 0);
}

static int append_step(json_t *list, const struct pretok_step *step)
{
    int rc = 0;

    switch (step->kind) {
    case PRETOK_SPLIT:
        return json_array_append_new(list,
                                     json_split(step->re, "Isolated", false));
    case PRETOK_KEEP:
        return json_array_append_new(list,
                                     json_split(step->re, "Removed", true));
    case PRETOK_BEFORE:
        return json_array_append_new(
            list, json_split(step->re, "MergedWithNext", false));
    case PRETOK_DIGIT_BYTES:
        rc = json_array_append_new(list, json_bytes());
        return rc ? rc
                  : json_array_append_new(
                        list, json_pack("{s:s, s:b}", "type", "Digits",
                                        "individual_digits", 0));
    case PRETOK_DIGITS_ND:
    case PRETOK_DIGITS_N:
    case PRETOK_DIGITS_WORD:
    case PRETOK_TAIL:
    case PRETOK_SPACES512:
        for (int k = 0; !rc && k < 2 && special[step->kind][k]; k++)
            rc = json_array_append_new(
                list, json_split(special[step->kind][k], "Isolated", false));
    }
    return rc;
}

json_t *hf_pre_json(const char *name)
{
    struct pretok_info info;
    json_t *list = json_array();
    bool bytes = false;
    size_t i = 0;

    while (pretok_at(&info, i) && strcmp(info.name, name))
        i++;
    if (!list || !pretok_at(&info, i))
        return list;
    for (const struct pretok_step *s = info.step; s->kind; s++) {
        bytes |= s->kind == PRETOK_DIGIT_BYTES;
        if (append_step(list, s)) {
            json_decref(list);
            return NULL;
        }
    }
    if (!(info.flags & PRETOK_RAW) && !bytes &&
        json_array_append_new(list, json_bytes())) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", list);
}
