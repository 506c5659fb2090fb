/* SPDX-License-Identifier: MIT
 * pretok_table.h - every pre-tokenizer name of the GGUF world, and its rule.
 *
 * The data, below PRETOK_DATA, is for pretok.c alone.  A rule is the
 * pre-tokenizer of the model's tokenizer.json: steps in order, each cutting
 * further what the one before left.  Patterns have Oniguruma's meaning, which
 * is that of Hugging Face's Split: \s is White_Space (U+0085 and U+00A0 are in
 * it; U+180E, U+200B, U+FEFF and U+001C to U+001F are not), \d is \p{Nd},
 * (?i:'s) also takes U+017F for the s.  A match of no characters cuts nothing
 * here.  What a pattern leaves unmatched is a piece of its own.
 *
 * Sources.  Checked against Hugging Face's own ids: deepseek-coder,
 * deepseek-v3, falcon, gemma4, gpt-2, gpt-4o, llama-bpe, llama4, mpt, qwen2,
 * qwen35, smollm, starcoder, and deepseek-llm in part.  Patterns quoted from
 * the tokenizer.json in public sources, splits tried in Hugging Face's
 * tokenizers: afmoe, bloom, superbpe (its pattern by way of llama.cpp),
 * tiny_aya.  Quoted, not tried: bailingmoe, chameleon, command-r, exaone-moe,
 * jais-2, kimi-k2, laguna, midm-2.0, minicpm5, seed-coder, tekken.  All other
 * names: the rule that llama.cpp d32676d gives them.
 */
#ifndef LLM_TOK_PRETOK_TABLE_H
#define LLM_TOK_PRETOK_TABLE_H

enum pretok_kind {
    /* Every match of .re is a piece, and so is each stretch between two
     * (Split, behaviour Isolated).  Digits(individual) is \p{N}; Punctuation
     * is [\p{P}!-/:-@\[-`{-~] (see unicode.h: unicode_hf_punct()). */
    PRETOK_SPLIT = 1,
    /* Matches of .re are the pieces, what lies between is dropped. */
    PRETOK_KEEP,
    /* A run of \p{Nd} is cut into threes from its right end (1 234 567),
     * whatever stands around it, and parted from it.  afmoe: there three
     * Splits with 510-digit blocks come to the same. */
    PRETOK_DIGITS_ND,
    /* \p{N}+ is parted from what surrounds it; in it, each run of \p{Nd} (not
     * of other numbers) is cut into threes from its right end: a cut stands
     * before a digit when 3, 6, ... digits follow in the run, itself included.
     * No cut at the end of the run: the numbers that are not \p{Nd} stay with
     * the digits before them ("1234" U+00B2 -> "1", "234" U+00B2), and before
     * a run of 3n digits there is a cut (U+00B2 "123" -> U+00B2, "123"). */
    PRETOK_DIGITS_N,
    /* \d{1,3}(?=(?:\d{3})*\b): a run of \p{Nd} is parted and cut into threes
     * from its right end when a word boundary ends it: the end of the text, or
     * a character that is not \w.  Followed by \w (letters, marks, numbers but
     * for No beyond Latin-1, Pc, circled letters) nothing is matched, and the
     * run stays with what is around it ("1234567abc" is one piece).  What
     * precedes the run plays no part, except that it is parted from it
     * ("abc12" -> "abc", "12"). */
    PRETOK_DIGITS_WORD,
    /* Falcon's Digits after ByteLevel: a piece is cut wherever a byte of
     * 30-39 B2 B3 B9 BC BD BE meets one that is not (the bytes whose stand-ins
     * in the byte-level alphabet are numbers), inside characters, too. */
    PRETOK_DIGIT_BYTES,
    /* A cut before each match of .re, none after it (MergedWithNext). */
    PRETOK_BEFORE,
    /* \s+$: the white space that ends what the steps before left.  Not by its
     * pattern, which would try anew from each space of a long run. */
    PRETOK_TAIL,
    /* 512 characters of white space, if more follows and no newline in all of
     * it: what jais-2's pattern makes of them, said apart because it would look
     * at the whole run for a newline each time. */
    PRETOK_SPACES512,
};

struct pretok_step {
    enum pretok_kind kind;
    const char *re;
};

/* Flags, of names. */
enum {
    PRETOK_IGNORE_MERGES = 1, /* a piece that is a token is that token */
    PRETOK_ADD_BOS = 2,       /* BOS before the text unless the file says no */
    PRETOK_ADD_SEP = 4,       /* SEP after the text unless the file says no */
    PRETOK_CLEAN = 8,      /* llama.cpp tidies spaces on decoding; we don't */
    PRETOK_NO_BOS = 16,    /* no BOS when the file names none */
    PRETOK_FORCE_BOS = 32, /* BOS even when the file says no */
    PRETOK_RAW = 64,       /* tokens are spelled in UTF-8, not in the
                            * byte-level alphabet; <0xXX> for other bytes */
    PRETOK_ESCAPE = 128,   /* spaces become U+2581 first, and back */
    PRETOK_MASK_LSTRIP = 256, /* <mask> takes the white space before it */
    PRETOK_RANKS = 512,       /* without merges: pairs by id of their union */
    PRETOK_NFC = 1024,        /* tokenizer.json normalises to NFC; GGUF users
                               * and the oracle's .out files do not */
};

#ifdef PRETOK_DATA

enum pretok_rule_id {
    RULE_AFMOE,
    RULE_BAILING,
    RULE_BLOOM,
    RULE_CHAMELEON,
    RULE_DEEPSEEK_CODER,
    RULE_DEEPSEEK_LLM,
    RULE_DEEPSEEK_V3,
    RULE_DEFAULT,
    RULE_DIGITS_GPT2,
    RULE_EXAONE_MOE,
    RULE_FALCON,
    RULE_GPT2,
    RULE_GPT4O,
    RULE_JAIS2,
    RULE_KIMI,
    RULE_LAGUNA,
    RULE_LLAMA3,
    RULE_MINICPM5,
    RULE_NEWLINES,
    RULE_QWEN2,
    RULE_QWEN35,
    RULE_SEED_CODER,
    RULE_SUPERBPE,
    RULE_TEKKEN,
    RULE_TINY_AYA,
    RULE_VIKING,
    RULE_WHITESPACE,
    RULE_YOUTU,
};

struct pretok_rule {
    const char *name;
    struct pretok_step step[9]; /* ends with kind 0 */
};

struct pretok_name {
    const char *name;
    enum pretok_rule_id rule;
    unsigned flags;
};

#define RE_SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define RE_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RE_GPT2                                                                \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"       \
    "\\s+(?!\\S)|\\s+"
#define RE_WORD  RE_SUFFIX "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define RE_PUNCT " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define RE_QWEN2 RE_WORD "|\\p{N}|" RE_PUNCT "|" RE_SPACES
#define RE_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RE_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
/* Words that begin anew at a capital; SUFFIX may follow each. */
#define RE_CAMEL(suffix)                                                       \
    "[^\\r\\n\\p{L}\\p{N}]?" RE_UPPER "*" RE_LOWER "+" suffix                  \
    "|[^\\r\\n\\p{L}\\p{N}]?" RE_UPPER "+" RE_LOWER "*" suffix
#define RE_CAMEL_REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" RE_SPACES
#define RE_GPT4O      RE_CAMEL(RE_SUFFIX "?") "|\\p{N}{1,3}|" RE_CAMEL_REST
#define RE_BLOOM      " ?[^(\\s|.,!?…。，、।۔،)]+"
#define RE_DEEPSEEK                                                            \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"                   \
    "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "                            \
    "?[\\p{P}\\p{S}]+[\\r\\n]*|" RE_SPACES
/* The letters of deepseek-llm: cased ones, of the blocks it knows.  Escapes
 * stand for characters that normalising editors would replace; clang-format
 * would cut the lines differently each time. */
/* clang-format off */
#define RE_CASED \
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽ" \
    "ᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌ" \
    "ῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉ" \
    "ⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟" \
    "𞤀-𞥃"
/* clang-format on */
/* Kimi's classes leave the Han characters out. */
#define RE_NOHAN_UPPER "(?:(?!\\p{Han})" RE_UPPER ")"
#define RE_NOHAN_LOWER "(?:(?!\\p{Han})" RE_LOWER ")"
/* White_Space of two and more lengths, longest first: jais-2. */
#define RE_RUN(n) "\\s{" #n "}(?!\\S)|"

#define SPLIT(re)                                                              \
    {                                                                          \
        PRETOK_SPLIT, re                                                       \
    }

static const struct pretok_rule pretok_rules[] = {
    [RULE_AFMOE] =
        {"afmoe",
         {{PRETOK_DIGITS_ND, 0},
          SPLIT("[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-"
                "໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+"),
          SPLIT(RE_DEEPSEEK)}},
    [RULE_BAILING] =
        {"bailingmoe",
         {SPLIT(
             "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}|"
             " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+")}},
    [RULE_BLOOM] = {"bloom", {SPLIT(RE_BLOOM)}},
    [RULE_CHAMELEON] = {"chameleon",
                        {SPLIT("<sentinel:[0-9]+>"),
                         SPLIT("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
                         SPLIT("([\\t\\n]|    |  )"), SPLIT("\\p{N}"),
                         SPLIT("[\\p{P}!-/:-@\\[-`{-~]"), SPLIT(RE_GPT2)}},
    [RULE_DEEPSEEK_CODER] = {"deepseek-coder",
                             {SPLIT("[\\r\\n]"), SPLIT("\\s?\\p{L}+"),
                              SPLIT("\\s?\\p{P}+"),
                              SPLIT("[一-龥ࠀ-一가-퟿]+"),
                              SPLIT("\\p{N}")}},
    [RULE_DEEPSEEK_LLM] = {"deepseek-llm",
                           {SPLIT("[\\r\\n]"),
                            SPLIT("\\s?[" RE_CASED "]+"),
                            SPLIT("\\s?[!-/:-~！-／：-～‘-‟　-。]+"),
                            {PRETOK_TAIL, 0},
                            SPLIT("[一-龥ࠀ-一가-퟿]+"),
                            SPLIT("\\p{N}")}},
    [RULE_DEEPSEEK_V3] = {"deepseek-v3",
                          {SPLIT("\\p{N}{1,3}"),
                           SPLIT("[一-龥぀-ゟ゠-ヿ]+"),
                           SPLIT(RE_DEEPSEEK)}},
    /* What llama.cpp does for files without a name: nobody's own. */
    [RULE_DEFAULT] = {"default",
                      {SPLIT("[\\p{P}\\$\\+<=>\\^~\\|]+"), SPLIT(RE_GPT2),
                       SPLIT("\\p{N}+"), SPLIT("[0-9][0-9][0-9]")}},
    [RULE_DIGITS_GPT2] = {"digits-gpt2", {SPLIT("\\p{N}"), SPLIT(RE_GPT2)}},
    [RULE_EXAONE_MOE] =
        {"exaone-moe",
         {SPLIT(RE_SUFFIX
                "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+"
                "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|"
                "\\s+(?!\\S)|\\s+")}},
    [RULE_FALCON] = {"falcon",
                     {SPLIT("[\\p{P}!-/:-@\\[-`{-~]+"),
                      SPLIT(RE_GPT2),
                      {PRETOK_DIGIT_BYTES, 0},
                      SPLIT("[0-9][0-9][0-9]")}},
    [RULE_GPT2] = {"gpt-2", {SPLIT(RE_GPT2)}},
    [RULE_GPT4O] = {"gpt-4o", {SPLIT(RE_GPT4O)}},
    [RULE_JAIS2] = {"jais-2",
                    {{PRETOK_SPACES512, 0},
                     SPLIT(RE_WORD
                           "|\\p{N}{1,3}|" RE_PUNCT
                           "|\\s*[\\r\\n]+|" RE_RUN(512) RE_RUN(256) RE_RUN(128)
                               RE_RUN(64) RE_RUN(32) RE_RUN(16) RE_RUN(8)
                                   RE_RUN(4) "\\s{1,2}(?!\\S)|\\s{1}")}},
    [RULE_KIMI] = {"kimi-k2",
                   {SPLIT("[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?" RE_NOHAN_UPPER
                          "*" RE_NOHAN_LOWER "+" RE_SUFFIX
                          "?|[^\\r\\n\\p{L}\\p{N}]?" RE_NOHAN_UPPER
                          "+" RE_NOHAN_LOWER "*" RE_SUFFIX "?|"
                          "\\p{N}{1,3}|" RE_PUNCT "|" RE_SPACES)}},
    [RULE_LAGUNA] = {"laguna",
                     {{PRETOK_BEFORE, "(?:\\r?\\n)+"}, SPLIT(RE_QWEN2)}},
    [RULE_LLAMA3] = {"llama3",
                     {SPLIT(RE_WORD "|\\p{N}{1,3}|" RE_PUNCT "|" RE_SPACES)}},
    [RULE_MINICPM5] = {"minicpm5",
                       {SPLIT("\\p{N}{1,3}"),
                        SPLIT(RE_WORD "|\\p{N}+|" RE_PUNCT "|" RE_SPACES)}},
    /* The models themselves do not cut at all.  No merge joins a newline to
     * anything else, so this cut changes nothing but the time it takes. */
    [RULE_NEWLINES] = {"gemma4", {SPLIT("[^\\n]+|[\\n]+")}},
    [RULE_QWEN2] = {"qwen2", {SPLIT(RE_QWEN2)}},
    [RULE_QWEN35] =
        {"qwen35",
         {SPLIT(RE_SUFFIX "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                          " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" RE_SPACES)}},
    [RULE_SEED_CODER] =
        {"seed-coder",
         {SPLIT(RE_WORD "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" RE_SPACES)}},
    [RULE_SUPERBPE] = {"superbpe", {{PRETOK_DIGITS_N, 0}}},
    [RULE_TEKKEN] = {"tekken", {SPLIT(RE_CAMEL("") "|\\p{N}|" RE_CAMEL_REST)}},
    [RULE_TINY_AYA] = {"tiny_aya", {{PRETOK_DIGITS_WORD, 0}, SPLIT(RE_GPT4O)}},
    [RULE_VIKING] = {"viking", {SPLIT(RE_BLOOM), SPLIT("\\p{N}")}},
    /* Hugging Face's Whitespace is \w+|[^\w\s]+; llama.cpp cuts at white space
     * alone.  So \w is spelled out. */
    [RULE_WHITESPACE] =
        {"whitespace",
         {{PRETOK_KEEP,
           "[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\u200c\u200dⒶ-ⓩ🄰-🅉🅐-🅩🅰-🆉]+|"
           "[^\\s\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\u200c\u200dⒶ-ⓩ🄰-🅉🅐-🅩🅰-🆉]"
           "+"}}},
    [RULE_YOUTU] = {"youtu",
                    {SPLIT("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-"
                           "ㄯ]"
                           "+"
                           "|"
                           "[一-龥぀-ゟ゠-ヿ]+"),
                     SPLIT(RE_CAMEL(RE_SUFFIX "?") "|\\p{N}|" RE_CAMEL_REST)}},
};

#undef SPLIT
#undef RE_RUN
#undef RE_CAMEL

#define LLAMA3_FLAGS (PRETOK_IGNORE_MERGES | PRETOK_ADD_BOS | PRETOK_CLEAN)

/* In order of strcmp(). */
static const struct pretok_name pretok_names[] = {
    {"a.x-4.0", RULE_GPT2, PRETOK_CLEAN},
    {"afmoe", RULE_AFMOE, 0},
    {"bailingmoe", RULE_BAILING, 0},
    {"bailingmoe2", RULE_BAILING, 0},
    {"bloom", RULE_BLOOM, PRETOK_CLEAN},
    {"chameleon", RULE_CHAMELEON, PRETOK_ADD_BOS},
    {"chatglm-bpe", RULE_LLAMA3, PRETOK_NO_BOS | PRETOK_CLEAN},
    {"codeshell", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"cohere2moe", RULE_TINY_AYA, PRETOK_NFC},
    {"command-r", RULE_DIGITS_GPT2, PRETOK_NFC},
    {"dbrx", RULE_LLAMA3, PRETOK_CLEAN},
    {"deepseek-coder", RULE_DEEPSEEK_CODER, 0},
    {"deepseek-llm", RULE_DEEPSEEK_LLM, 0},
    {"deepseek-r1-qwen", RULE_QWEN2, PRETOK_NFC},
    {"deepseek-v3", RULE_DEEPSEEK_V3, 0},
    {"default", RULE_DEFAULT, PRETOK_CLEAN},
    {"exaone", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"exaone-moe", RULE_EXAONE_MOE, PRETOK_CLEAN},
    {"exaone4", RULE_GPT2, PRETOK_CLEAN},
    {"f2llmv2", RULE_QWEN2, PRETOK_NFC},
    {"falcon", RULE_FALCON, PRETOK_CLEAN},
    {"falcon-h1", RULE_LLAMA3, LLAMA3_FLAGS},
    {"falcon3", RULE_LLAMA3, LLAMA3_FLAGS},
    {"gemma4", RULE_NEWLINES,
     PRETOK_RAW | PRETOK_ESCAPE | PRETOK_FORCE_BOS | PRETOK_CLEAN},
    {"gigachat", RULE_GPT2, PRETOK_CLEAN},
    {"glm4", RULE_LLAMA3, PRETOK_NO_BOS | PRETOK_CLEAN},
    {"gpt-2", RULE_GPT2, PRETOK_CLEAN},
    {"gpt-4o", RULE_GPT4O, 0},
    {"gpt3-finnish", RULE_BLOOM, PRETOK_CLEAN},
    {"granite-docling", RULE_GPT2, 0},
    {"granite-embed-multi-311m", RULE_NEWLINES,
     PRETOK_RAW | PRETOK_ESCAPE | PRETOK_FORCE_BOS | PRETOK_CLEAN},
    {"granite-embed-multi-97m", RULE_GPT4O, PRETOK_IGNORE_MERGES},
    {"grok-2", RULE_QWEN2, 0},
    {"hunyuan", RULE_QWEN2, 0},
    {"hunyuan-dense", RULE_DEEPSEEK_V3, 0},
    {"jais", RULE_GPT2, PRETOK_CLEAN},
    {"jais-2", RULE_JAIS2, PRETOK_CLEAN},
    {"jina-de", RULE_GPT2, PRETOK_CLEAN},
    {"jina-es", RULE_GPT2, PRETOK_CLEAN},
    {"jina-v1-en", RULE_GPT2, PRETOK_ADD_SEP | PRETOK_CLEAN},
    {"jina-v2-code", RULE_GPT2,
     PRETOK_ADD_SEP | PRETOK_MASK_LSTRIP | PRETOK_CLEAN},
    {"jina-v2-de", RULE_GPT2, PRETOK_MASK_LSTRIP | PRETOK_CLEAN},
    {"jina-v2-es", RULE_GPT2, PRETOK_MASK_LSTRIP | PRETOK_CLEAN},
    {"jina-v5-nano", RULE_LLAMA3, LLAMA3_FLAGS},
    {"joyai-llm", RULE_DEEPSEEK_V3, 0},
    {"kanana2", RULE_GPT4O, 0},
    {"kimi-k2", RULE_KIMI, PRETOK_RANKS},
    {"kormo", RULE_QWEN2, 0},
    {"laguna", RULE_LAGUNA, 0},
    {"lfm2", RULE_LLAMA3, LLAMA3_FLAGS},
    {"llada-moe", RULE_BAILING, 0},
    {"llama-bpe", RULE_LLAMA3, LLAMA3_FLAGS},
    {"llama-v3", RULE_LLAMA3, LLAMA3_FLAGS},
    {"llama3", RULE_LLAMA3, LLAMA3_FLAGS},
    {"llama4", RULE_GPT4O, 0},
    {"megrez", RULE_QWEN2, PRETOK_CLEAN},
    {"mellum", RULE_GPT2, PRETOK_CLEAN},
    {"mellum2", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"midm-2.0", RULE_LLAMA3, LLAMA3_FLAGS},
    {"minerva-7b", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"minicpm5", RULE_MINICPM5, PRETOK_IGNORE_MERGES | PRETOK_CLEAN},
    {"minimax-m2", RULE_GPT4O, 0},
    {"modern-bert", RULE_GPT2, PRETOK_MASK_LSTRIP | PRETOK_NFC | PRETOK_CLEAN},
    {"mpt", RULE_GPT2, PRETOK_NFC | PRETOK_CLEAN},
    {"olmo", RULE_GPT2, PRETOK_NFC | PRETOK_CLEAN},
    {"phi-2", RULE_GPT2, PRETOK_CLEAN},
    {"pixtral", RULE_LLAMA3, LLAMA3_FLAGS},
    {"poro-chat", RULE_BLOOM, 0},
    {"qwen2", RULE_QWEN2, PRETOK_NFC},
    {"qwen35", RULE_QWEN35, PRETOK_NFC},
    {"refact", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"roberta-bpe", RULE_GPT2, PRETOK_ADD_SEP | PRETOK_CLEAN},
    {"sarvam-moe", RULE_NEWLINES, PRETOK_RAW | PRETOK_ESCAPE},
    {"seed-coder", RULE_SEED_CODER, 0},
    {"smaug-bpe", RULE_LLAMA3, PRETOK_CLEAN},
    {"smollm", RULE_DIGITS_GPT2, 0},
    {"solar-open", RULE_QWEN2, 0},
    {"stablelm2", RULE_QWEN2, PRETOK_CLEAN},
    {"starcoder", RULE_DIGITS_GPT2, PRETOK_CLEAN},
    {"superbpe", RULE_SUPERBPE, 0},
    {"talkie", RULE_GPT4O, 0},
    {"tekken", RULE_TEKKEN, PRETOK_IGNORE_MERGES | PRETOK_ADD_BOS},
    {"tiny_aya", RULE_TINY_AYA, PRETOK_NFC},
    {"trillion", RULE_GPT2, 0},
    {"viking", RULE_VIKING, 0},
    {"whitespace", RULE_WHITESPACE, PRETOK_RAW | PRETOK_CLEAN},
    {"youtu", RULE_YOUTU, PRETOK_IGNORE_MERGES},
};

#undef LLAMA3_FLAGS

#endif /* PRETOK_DATA */

#endif
