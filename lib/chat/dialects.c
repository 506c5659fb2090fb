/* SPDX-License-Identifier: MIT
 * dialects.c - how the families of models write calls and reasoning.
 *
 * The patterns are what each family's chat template makes of tool calls, as
 * that is what its models were taught to answer.
 */
#include <string.h>

#include "chat/chat_impl.h"

/* {"name": ..., "arguments": {...}} in an array. */
#define LIST                                                                   \
    "[" SPACE("") "{" OBJECT DONE SPACE("") CALLS                              \
        "," SPACE(" ") "{" OBJECT DONE SPACE("") FIN "]"

#define DS_CALL(head, tail)                                                    \
    "<｜tool▁call▁begin｜>" head SPACE("") "{" ARGS DONE tail                  \
                                           "<｜tool▁call▁end｜>"
#define DS_R1                                                                  \
    DS_CALL("function<｜tool▁sep｜>" NAME SPACE("\n") "```json" SPACE("\n"),   \
            SPACE("\n") "```")
#define DS_V31   DS_CALL(NAME "<｜tool▁sep｜>", SPACE(""))
#define DS_BEGIN "<｜tool▁calls▁begin｜>" SPACE("")
#define DS_END   SPACE("") "<｜tool▁calls▁end｜>"

#define DSML_CALL                                                              \
    "<｜DSML｜invoke name=\"" NAME "\">" SPACE("\n") PARAMS                    \
        "<｜DSML｜parameter name=\"" KEY "\" string=\"" TYPE "\">" VALUE       \
        "</｜DSML｜parameter>" SPACE("\n") FIN                                 \
        "</｜DSML｜invoke>" DONE SPACE("\n")
#define DSML(tag)                                                              \
    "<｜DSML｜" tag ">" SPACE("\n") DSML_CALL CALLS DSML_CALL FIN              \
        "</｜DSML｜" tag ">"

/* How a parameter is written, and with it the calls of Qwen3-Coder and kin. */
#define FUNCTION(open, close)                                                  \
    open SPACE("\n") "<function=" NAME ">" SPACE("\n") PARAMS                  \
        "<parameter=" KEY ">" LINES "</parameter>" SPACE("\n") FIN             \
        "</function>" DONE SPACE("\n") close

#define GLM(s)                                                                 \
    "<tool_call>" NAME SPACE(s) PARAMS "<arg_key>" KEY "</arg_key>" SPACE(     \
        s) "<arg_value>" VALUE "</arg_value>" SPACE(s) FIN "</tool_call>" DONE

#define MISTRAL(id) "[TOOL_CALLS]" NAME id "[ARGS]" SPACE("") "{" ARGS DONE

#define KIMI                                                                   \
    "<|tool_call_begin|>" ID "<|tool_call_argument_begin|>" SPACE(             \
        "") "{" ARGS DONE SPACE("") "<|tool_call_end|>" SPACE("")

#define INVOKE                                                                 \
    "<invoke name=\"" NAME "\">" SPACE("\n") PARAMS                            \
        "<parameter name=\"" KEY "\">" VALUE "</parameter>" SPACE("\n") FIN    \
        "</invoke>" DONE SPACE("\n")

#define OBJECTS                                                                \
    "{" OBJECT DONE CALLS SPACE("") ";" SPACE(" ") "{" OBJECT DONE FIN

static const struct chat_dialect dialects[] = {
    {"none", "no tool calls", "think", "", "", {{0}}, 0, false, false},
    {"hermes",
     "Hermes 2 and 3, Qwen 2.5 and 3, QwQ, Granite 4, MiMo-VL",
     "think",
     "\n",
     "\n",
     {{.text = "<tool_call>" SPACE("\n") "{" OBJECT DONE SPACE(
           "\n") "</tool_call>"}},
     LAYOUT_PLAIN,
     false,
     false},
    {"llama3",
     "Llama 3.1, 3.2 and 3.3",
     "none",
     "",
     "",
     {{.text = OBJECTS, .start = true},
      {.text = "<|python_tag|>" SPACE("") OBJECTS, .only = ""},
      {.text = "<|python_tag|>" SPACE("") NAME
       ".call(" KEY "=\"" QUOTED "\"" SPACE("") PARAMS "," SPACE(" ") KEY
       "=\"" QUOTED "\"" SPACE("") FIN ")" DONE,
       .only = "brave_search wolfram_alpha "},
      {.text = "<|python_tag|>" CODE, .only = "code_interpreter "}},
     LAYOUT_PARAMETERS,
     false,
     false},
    {"mistral-v3",
     "Mistral Nemo, Mistral 7B v0.3, Mixtral 8x22B, Mistral Small 2501",
     "mistral",
     "",
     "",
     {{.text = "[TOOL_CALLS]" SPACE("") LIST}},
     LAYOUT_ID_LAST,
     false,
     false},
    {"mistral-v11",
     "Mistral Small 3.2",
     "mistral",
     "",
     "",
     {{.text = MISTRAL(MAYBE "[CALL_ID]" ID FIN)}},
     0,
     false,
     false},
    {"mistral-v13",
     "Magistral 2507, Devstral, Ministral 3",
     "mistral",
     "",
     "",
     {{.text = MISTRAL("")}},
     0,
     false,
     false},
    {"deepseek-r1",
     "DeepSeek R1 and V3",
     "think",
     "",
     "",
     {{.text = DS_BEGIN DS_R1 CALLS SPACE("\n") DS_R1 FIN DS_END},
      {.text = DS_R1, .only = ""}},
     0,
     false,
     false},
    {"deepseek-v3.1",
     "DeepSeek V3.1",
     "think-tight",
     "",
     "",
     {{.text = DS_BEGIN DS_V31 CALLS SPACE("") DS_V31 FIN DS_END},
      {.text = DS_V31, .only = ""}},
     0,
     false,
     false},
    {"deepseek-v3.2",
     "DeepSeek V3.2",
     "think-tight",
     "\n\n",
     "\n\n",
     {{.text = DSML("function_calls")}},
     0,
     false,
     false},
    {"deepseek-v4",
     "DeepSeek V4",
     "think-tight",
     "\n\n",
     "\n\n",
     {{.text = DSML("tool_calls")}},
     0,
     false,
     false},
    {"glm",
     "GLM 4.5 and 4.6, Ling 3, Laguna XS",
     "think-line",
     "\n",
     "\n",
     {{.text = GLM("\n")}},
     0,
     false,
     false},
    {"glm-4.7",
     "GLM 4.7, Spark 2.5",
     "think-tight",
     "",
     "",
     {{.text = GLM("")}},
     0,
     false,
     false},
    {"qwen3-coder",
     "Qwen3-Coder, Qwen 3.5, Nemotron 3 Nano, Step 3.5",
     "think",
     "\n\n",
     "\n",
     {{.text = FUNCTION("<tool_call>", "</tool_call>")},
      {.text = "<function=" NAME ">" SPACE("\n") PARAMS
       "<parameter=" KEY ">" LINES "</parameter>" SPACE("\n") FIN
       "</function>" DONE,
       .only = ""}},
     0,
     false,
     false},
    {"seed-oss",
     "Seed-OSS",
     "seed",
     "\n",
     "\n",
     {{.text = FUNCTION("<seed:tool_call>", "</seed:tool_call>")}},
     0,
     false,
     false},
    {"minimax-m2",
     "MiniMax M2",
     "think",
     "\n",
     "\n",
     {{.text = "<minimax:tool_call>" SPACE("\n") INVOKE CALLS INVOKE FIN
       "</minimax:tool_call>"}},
     0,
     false,
     false},
    {"kimi-k2",
     "Kimi K2",
     "think-tight",
     "",
     "",
     {{.text = "<|tool_calls_section_begin|>" SPACE("") KIMI CALLS KIMI FIN
       "<|tool_calls_section_end|>"}},
     0,
     true,
     false},
    {"nemotron",
     "Nemotron Nano v2",
     "think",
     "\n",
     "",
     {{.text = "<TOOLCALL>" SPACE("") LIST SPACE("") "</TOOLCALL>"}},
     LAYOUT_PLAIN,
     false,
     false},
    {"apriel",
     "Apriel 1.5 and 1.6",
     "none",
     "\n",
     "",
     {{.text = "<tool_calls>" SPACE("") LIST SPACE("") "</tool_calls>"}},
     LAYOUT_ID_LAST,
     false,
     false},
    {"granite3",
     "Granite 3",
     "none",
     "",
     "",
     {{.text = "<|tool_call|>" SPACE("") LIST}},
     LAYOUT_PLAIN,
     false,
     false},
    {"harmony",
     "gpt-oss",
     "none",
     "",
     "",
     {{.text = "<|channel|>"}, {.text = "<|start|>"}},
     0,
     false,
     true},
};

static const struct chat_style styles[] = {
    {"none", "", ""},
    {"think", "<think>\n", "\n</think>\n\n"},
    {"think-line", "<think>", "</think>\n"},
    {"think-tight", "<think>", "</think>"},
    {"mistral", "[THINK]", "[/THINK]"},
    {"seed", "<seed:think>", "</seed:think>"},
};

enum { MAX_WORDS = 5 };

/* What a template contains that is of this dialect alone: all of the words, "!"
 * before those that it must not contain.  The first row that fits counts. */
static const struct {
    const char *dialect; /* NULL: one that is not known */
    const char *words[MAX_WORDS];
} signs[] = {
    {"harmony", {"<|channel|>", "<|constrain|>", "<|message|>"}},
    {"harmony", {"<|channel|>analysis", "<|message|>", "<|call|>"}},
    {"deepseek-v3.2", {"｜DSML｜", "function_calls"}},
    {"deepseek-v4", {"｜DSML｜", "tool_calls>"}},
    {"deepseek-v4", {"｜DSML｜", "'tool_calls"}},
    {"deepseek-r1", {"<｜tool▁call▁begin｜>", "```json"}},
    {"deepseek-v3.1", {"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "!```json"}},
    {"kimi-k2", {"<|tool_call_argument_begin|>"}},
    {"mistral-v11", {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}},
    {"mistral-v13", {"[TOOL_CALLS]", "[ARGS]"}},
    {"mistral-v3", {"[TOOL_CALLS]", "![ARGS]"}},
    {"minimax-m2", {"<minimax:tool_call>"}},
    {"seed-oss", {"<seed:tool_call>"}},
    /* Their own marks beside calls that look like another's. */
    {NULL, {"<tool_sep"}},
    {NULL, {"<use_mcp_tool>", "</use_mcp_tool>"}},
    {"nemotron", {"<TOOLCALL>"}},
    {"granite3", {"<|tool_call|>", "!<|tool_call>"}},
    {"apriel", {"<tool_calls>[", "!<tool_call>"}},
    {"apriel", {"<tool_calls>[", "<available_tools>"}},
    {"qwen3-coder", {"<tool_call>", "<function=", "<parameter="}},
    {"glm", {"<tool_call>", "<arg_key>", "<arg_value>", "\\n<arg_value>"}},
    {"glm", {"<tool_call>", "<arg_key>", "<arg_value>", "\n<arg_value>"}},
    {"glm-4.7", {"<tool_call>", "<arg_key>", "<arg_value>"}},
    {"llama3", {"<|start_header_id|>ipython", "\"parameters\""}},
    {"hermes", {"<tool_call>", "</tool_call>", "\"arguments\""}},
    {"hermes", {"<tool_call>", "</tool_call>", "\\\"arguments\\\""}},
    {"none", {"!tool", "!function"}},
};

const char *const chat_kind_words[] = {"text", "reasoning", "tool", "arguments",
                                       "end"};

enum {
    NDIALECTS = sizeof dialects / sizeof *dialects,
    NSTYLES = sizeof styles / sizeof *styles,
};

const struct chat_dialect *chat_dialect_at(size_t i)
{
    return i < NDIALECTS ? &dialects[i] : NULL;
}

const struct chat_dialect *chat_dialect(const char *name)
{
    for (size_t i = 0; i < NDIALECTS; i++)
        if (!strcmp(dialects[i].name, name))
            return &dialects[i];
    return NULL;
}

const char *chat_dialect_name(const struct chat_dialect *d)
{
    return d->name;
}

const char *chat_dialect_models(const struct chat_dialect *d)
{
    return d->models;
}

const struct chat_style *chat_dialect_style(const struct chat_dialect *d)
{
    return chat_style(d->style);
}

const struct chat_style *chat_style_at(size_t i)
{
    return i < NSTYLES ? &styles[i] : NULL;
}

const struct chat_style *chat_style(const char *name)
{
    for (size_t i = 0; i < NSTYLES; i++)
        if (!strcmp(styles[i].name, name))
            return &styles[i];
    return NULL;
}

const char *chat_style_name(const struct chat_style *s)
{
    return s->name;
}

/* A tag of a style without its white space. */
static const char *bare(const char *tag, size_t *n)
{
    while (*tag == '\n')
        tag++;
    *n = strcspn(tag, "\n");
    return tag;
}

/* Behind the last of TAG in P[N]; 0: there is none. */
static size_t behind_last(const char *p, size_t n, const char *tag)
{
    size_t len;

    for (tag = bare(tag, &len); len && n >= len; n--)
        if (!memcmp(p + n - len, tag, len))
            return n;
    return 0;
}

bool chat_ends_inside(const char *p, size_t n, size_t at)
{
    size_t end = at, from, open;

    while (end && (p[end - 1] == '\n' || p[end - 1] == ' '))
        end--;
    for (size_t i = 0; i < NSTYLES; i++) {
        size_t len;

        bare(styles[i].open, &len);
        from =
            len && end >= len && behind_last(p + end - len, len, styles[i].open)
                ? end - len
                : at;
        open = behind_last(p + from, n - from, styles[i].open);
        if (open > behind_last(p + from, n - from, styles[i].close))
            return true;
    }
    return false;
}

/* ---- which of them a template is ---- */

static bool has(const char *p, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (const char *end = p + n; (size_t)(end - p) >= len; p++) {
        p = memchr(p, *word, (size_t)(end - p));
        if (!p || (size_t)(end - p) < len)
            return false;
        if (!memcmp(p, word, len))
            return true;
    }
    return false;
}

static const struct chat_style *recognise_style(const struct chat_dialect *d,
                                                const char *p, size_t n)
{
    if (d->harmony)
        return chat_style(d->style);
    if (has(p, n, "[THINK]"))
        return chat_style("mistral");
    if (has(p, n, "<seed:think>"))
        return chat_style("seed");
    if (!has(p, n, "</think>"))
        return chat_style("none");
    if (strncmp(d->style, "think", 5))
        return chat_style("think");
    return chat_style(d->style);
}

bool chat_recognise(const struct chat_dialect **d, const struct chat_style **s,
                    const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        bool fits = true;

        for (int k = 0; k < MAX_WORDS && signs[i].words[k] && fits; k++) {
            const char *w = signs[i].words[k];

            fits = *w == '!' ? !has(p, n, w + 1) : has(p, n, w);
        }
        if (!fits)
            continue;
        if (!signs[i].dialect)
            return false;
        *d = chat_dialect(signs[i].dialect);
        *s = recognise_style(*d, p, n);
        return true;
    }
    return false;
}
