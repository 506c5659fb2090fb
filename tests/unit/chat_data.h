/* SPDX-License-Identifier: MIT
 * chat_data.h - answers in each dialect, as the chat templates of their models
 * write calls, and what they consist of; and others that are less regular. */
#ifndef LLM_TESTS_CHAT_DATA_H
#define LLM_TESTS_CHAT_DATA_H

#include <stddef.h>

/* These are written from what they are read as, byte for byte. */
static const struct canonical {
    const char *dialect, *text, *events;
} canonical[] = {
    {"hermes",
     "<think>\nhm\n</think>\n\nHi there\n<tool_call>\n{\"name\": \"f\", "
     "\"arguments\": {\"a\": 1, \"b\": "
     "\"x</tool_call>\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", "
     "\"arguments\": {}}\n</tool_call>",
     "|reasoning:hm|text:Hi there|tool:call00000 f|arguments:{\"a\": 1, \"b\": "
     "\"x</tool_call>\"}|end:|tool:call00001 g|arguments:{}|end:"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:"},
    {"llama3",
     "{\"name\": \"f\", \"parameters\": {\"a\": 1}}; {\"name\": \"g\", "
     "\"parameters\": {\"a\": 1}}",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:|tool:call00001 "
     "g|arguments:{\"a\": 1}|end:"},
    {"llama3", "<|python_tag|>brave_search.call(query=\"what, is\")",
     "|tool:call00000 brave_search|arguments:{\"query\": \"what, is\"}|end:"},
    {"llama3", "<|python_tag|>import os\nprint(\"x\")",
     "|tool:call00000 code_interpreter|arguments:{\"code\": \"import "
     "os\\nprint(\\\"x\\\")\"}|end:"},
    {"mistral-v3",
     "Sure.[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": "
     "\"Zürich\", \"unit\": \"celsius\"}, \"id\": \"call00001\"}, {\"name\": "
     "\"add\", \"arguments\": {\"a\": 1.5, \"b\": -2, \"opts\": [1, 2]}, "
     "\"id\": \"call00002\"}]",
     "|text:Sure.|tool:call00001 get_weather|arguments:{\"city\": \"Zürich\", "
     "\"unit\": \"celsius\"}|end:|tool:call00002 add|arguments:{\"a\": 1.5, "
     "\"b\": -2, \"opts\": [1, 2]}|end:"},
    {"mistral-v11",
     "[THINK]a[/THINK][TOOL_CALLS]get_weather[CALL_ID]abc[ARGS]{\"city\": "
     "\"Zürich\"}[TOOL_CALLS]add[CALL_ID]c2[ARGS]{\"a\": 1.5}",
     "|reasoning:a|tool:abc get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:c2 add|arguments:{\"a\": 1.5}|end:"},
    {"mistral-v13",
     "x[TOOL_CALLS]get_weather[ARGS]{\"city\": "
     "\"Zürich\"}[TOOL_CALLS]add[ARGS]{\"a\": 1.5}",
     "|text:x|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:call00001 add|arguments:{\"a\": 1.5}|end:"},
    {"deepseek-r1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_"
     "weather\n```json\n{\"city\": "
     "\"Zürich\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<"
     "｜tool▁sep｜>add\n```json\n{\"a\": "
     "1.5}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:call00001 add|arguments:{\"a\": 1.5}|end:"},
    {"deepseek-v3.1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"
     "\"city\": "
     "\"Zürich\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"
     "\"a\": 1.5}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:call00001 add|arguments:{\"a\": 1.5}|end:"},
    {"deepseek-v3.2",
     "<think>r</think>c\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke "
     "name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" "
     "string=\"true\">Zürich</｜DSML｜parameter>\n<｜DSML｜parameter "
     "name=\"unit\" "
     "string=\"true\">12</｜DSML｜parameter>\n</"
     "｜DSML｜invoke>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter "
     "name=\"a\" string=\"false\">1.5</｜DSML｜parameter>\n<｜DSML｜parameter "
     "name=\"opts\" string=\"false\">[1, "
     "2]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
     "|reasoning:r|text:c|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\", \"unit\": \"12\"}|end:|tool:call00001 add|arguments:{\"a\": "
     "1.5, \"opts\": [1, 2]}|end:"},
    {"glm",
     "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Zürich</"
     "arg_value>\n<arg_key>n</arg_key>\n<arg_value>\"12\"</arg_value>\n</"
     "tool_call>\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1.5</"
     "arg_value>\n<arg_key>opts</arg_key>\n<arg_value>[1, "
     "2]</arg_value>\n</tool_call>",
     "|tool:call00000 get_weather|arguments:{\"city\": \"Zürich\", \"n\": "
     "\"12\"}|end:|tool:call00001 add|arguments:{\"a\": 1.5, \"opts\": [1, "
     "2]}|end:"},
    {"glm", "<tool_call>none\n</tool_call>",
     "|tool:call00000 none|arguments:{}|end:"},
    {"qwen3-coder",
     "Hi.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>"
     "\nZürich\n\nx\n</parameter>\n<parameter=unit>\n\n</parameter>\n</"
     "function>\n</"
     "tool_call>\n<tool_call>\n<function=add>\n<parameter=a>\n1.5\n</"
     "parameter>\n<parameter=opts>\n[1, "
     "2]\n</parameter>\n</function>\n</tool_call>",
     "|text:Hi.|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\\n\\nx\", \"unit\": \"\"}|end:|tool:call00001 "
     "add|arguments:{\"a\": 1.5, \"opts\": [1, 2]}|end:"},
    {"seed-oss",
     "<seed:think>r</"
     "seed:think><seed:tool_call>\n<function=get_weather>\n<parameter=city>"
     "\nZürich\n</parameter>\n</function>\n</seed:tool_call>",
     "|reasoning:r|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:"},
    {"minimax-m2",
     "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
     "name=\"city\">Zürich</parameter>\n</invoke>\n<invoke "
     "name=\"f\">\n</invoke>\n</minimax:tool_call>",
     "|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:call00001 f|arguments:{}|end:"},
    {"kimi-k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|"
     "tool_call_argument_begin|>{\"city\": "
     "\"Zürich\"}<|tool_call_end|><|tool_call_begin|>functions.add:1<|tool_"
     "call_argument_begin|>{\"a\": "
     "1.5}<|tool_call_end|><|tool_calls_section_end|>",
     "|tool:functions.get_weather:0 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:functions.add:1 add|arguments:{\"a\": 1.5}|end:"},
    {"nemotron",
     "<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": {\"city\": "
     "\"Zürich\"}}, {\"name\": \"add\", \"arguments\": {\"a\": "
     "1.5}}]</TOOLCALL>",
     "|tool:call00000 get_weather|arguments:{\"city\": "
     "\"Zürich\"}|end:|tool:call00001 add|arguments:{\"a\": 1.5}|end:"},
    {"apriel",
     "<tool_calls>[{\"name\": \"get_weather\", \"arguments\": {\"city\": "
     "\"Zürich\"}, \"id\": \"c1\"}]</tool_calls>",
     "|tool:c1 get_weather|arguments:{\"city\": \"Zürich\"}|end:"},
    {"granite3",
     "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": "
     "\"Zürich\"}}]",
     "|tool:call00000 get_weather|arguments:{\"city\": \"Zürich\"}|end:"},
    {"harmony",
     "<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>"
     "final<|message|>Hello",
     "|reasoning:think|text:Hello"},
    {"harmony",
     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": "
     "1}<|call|><|start|>assistant<|channel|>commentary to=functions.g "
     "<|constrain|>json<|message|>{}",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:|tool:call00001 "
     "g|arguments:{}|end:"},
    {"glm",
     "<think>r</think>\nHello\n<tool_call>f\n<arg_key>a</"
     "arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
     "|reasoning:r|text:Hello|tool:call00000 f|arguments:{\"a\": \"x\"}|end:"},
    {"glm-4.7",
     "<think>r</think>Hello<tool_call>f<arg_key>a</arg_key><arg_value>x</"
     "arg_value></tool_call>",
     "|reasoning:r|text:Hello|tool:call00000 f|arguments:{\"a\": \"x\"}|end:"},
    {"qwen3-coder",
     "<think>\nr\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</"
     "tool_call>",
     "|reasoning:r|tool:call00000 f|arguments:{}|end:"},
    {"deepseek-r1", "<think>\nr\n</think>\n\nHello", "|reasoning:r|text:Hello"},
    {"deepseek-v4",
     "<think>r</think><｜DSML｜tool_calls>\n<｜DSML｜invoke "
     "name=\"f\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
     "|reasoning:r|tool:call00000 f|arguments:{}|end:"},
    {"hermes", "Just text.\n", "|text:Just text.\n"},
    {"harmony",
     "<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>"
     "commentary<|message|>Plan<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f <|constrain|>json<|message|>{\"a\": "
     "1}<|call|><|start|>assistant<|channel|>analysis to=python "
     "code<|message|>print(\"x\")",
     "|reasoning:think|text:Plan|tool:call00000 f|arguments:{\"a\": "
     "1}|end:|tool:call00001 python|arguments:{\"code\": "
     "\"print(\\\"x\\\")\"}|end:"},
};

/* Which tools there are, for some of them. */
#define TOOLS                                                                  \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{"    \
    "\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{"  \
    "\"type\":\"number\"},\"i\":{\"type\":[\"integer\",\"null\",\"string\"]}," \
    "\"e\":{\"enum\":[\"1\",\"2\"]},\"u\":{\"anyOf\":[{\"type\":\"string\"},{" \
    "\"type\":\"boolean\"}]},\"o\":{\"type\":\"object\"}}}}}]"

static const struct other {
    const char *dialect, *text, *events;
    int inside;
    const char *tools;
} others[] = {
    {"hermes",
     "I use <tool_call> tags: <tool_call>\n{\"name\": \"f\", \"arguments\": "
     "{}}\n</tool_call>ok\n",
     "|text:I use <tool_call> tags: |tool:call00000 "
     "f|arguments:{}|end:|text:ok\n",
     0, NULL},
    {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a",
     "|tool:call00000 f|arguments:{\"a|end:cut off", 0, NULL},
    {"hermes", "<tool_call>\n{\"name\": \"f\", \"argum",
     "|text:<tool_call>\n{\"name\": \"f\", \"argum", 0, NULL},
    {"hermes",
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {a: 1}}\n</tool_call>",
     "|tool:call00000 f|arguments:{|end:it is not JSON|text:a: "
     "1}}\n</tool_call>",
     0, NULL},
    {"hermes",
     "<tool_call>{\"arguments\":{\"x\":\"a\nb\"},\"name\":\"f\"}</"
     "tool_call>\n\n",
     "|tool:call00000 f|arguments:{\"x\":\"a\\nb\"}|end:", 0, NULL},
    {"hermes", "<tool_call>{\"name\":\"f\"}</tool_call>",
     "|tool:call00000 f|arguments:{}|end:", 0, NULL},
    {"hermes",
     "<tool_call>{\"name\":\"f\",\"arguments\":{},\"note\":[1,{\"arguments\":{}"
     "}]}</tool_call>",
     "|tool:call00000 f|arguments:{}|end:", 0, NULL},
    {"hermes",
     "<tool_call>{\"name\":\"f\",\"arguments\":{},\"arguments\":{}}</"
     "tool_call>",
     "|tool:call00000 f|arguments:{}|end:it is not an object of a "
     "call|text:{}}</tool_call>",
     0, NULL},
    {"hermes", "<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>",
     "|text:<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>", 0, NULL},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":\"x\"}</tool_call>",
     "|text:<tool_call>{\"name\":\"f\",\"arguments\":\"x\"}</tool_call>", 0,
     NULL},
    {"hermes",
     "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"\\u00fc\\\"<\"}}</"
     "tool_call",
     "|tool:call00000 "
     "f|arguments:{\"a\":\"\\u00fc\\\"<\"}|end:|text:</tool_call",
     0, NULL},
    {"hermes",
     "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
     "|text:<tool_call>|tool:call00000 f|arguments:{}|end:", 0, NULL},
    {"hermes", "a <tool_ca", "|text:a <tool_ca", 0, NULL},
    {"hermes",
     "a\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n\nb\n",
     "|text:a\n|tool:call00000 f|arguments:{}|end:|text:\n\nb\n", 0, NULL},
    {"hermes", "  \n", "|text:  \n", 0, NULL},
    {"hermes", "<think>open\n", "|reasoning:open\n", 0, NULL},
    {"hermes", "<think>\n\n</think>\n\nx", "|text:x", 0, NULL},
    {"hermes", "x<think>y</think>z", "|text:x|reasoning:y|text:z", 0, NULL},
    {"hermes", "hm\n</think>\n\nx", "|reasoning:hm|text:x", 1, NULL},
    {"hermes", "<think>\nhm</think>x</think>", "|reasoning:hm|text:x</think>",
     1, NULL},
    {"hermes", "hm <tool_call>\n</think>x", "|reasoning:hm <tool_call>|text:x",
     1, NULL},
    {"hermes", "hm", "|reasoning:hm", 1, NULL},
    {"llama3", "\n{\"name\": \"f\", \"parameters\": {}}\n",
     "|tool:call00000 f|arguments:{}|end:", 0, NULL},
    {"llama3", "Say {\"name\": \"f\", \"parameters\": {}}",
     "|text:Say {\"name\": \"f\", \"parameters\": {}}", 0, NULL},
    {"llama3", "{\"name\": \"f\"}", "|text:{\"name\": \"f\"}", 0, NULL},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}} and",
     "|tool:call00000 f|arguments:{}|end:|text: and", 0, NULL},
    {"llama3", "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": 1}}",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:", 0, NULL},
    {"llama3", "<|python_tag|>{\"name\": \"f\", \"param",
     "|text:<|python_tag|>{\"name\": \"f\", \"param", 0, NULL},
    {"llama3", "<|python_tag|>f.call(a=\"x\",  b = \"y\")",
     "|tool:call00000 f|arguments:{\"a\": \"x\"|end:cut off|text:,  b = \"y\")",
     0, NULL},
    {"llama3", "<|python_tag|>f.call(a=\"x\", b=\"y\" )",
     "|tool:call00000 f|arguments:{\"a\": \"x\", \"b\": \"y\"}|end:", 0, NULL},
    {"llama3", "<|python_tag|>f.call(a=\"x",
     "|tool:call00000 f|arguments:{\"a\": \"x|end:cut off", 0, NULL},
    {"mistral-v3", "[TOOL_CALLS] []", "|text:[TOOL_CALLS] []", 0, NULL},
    {"mistral-v3",
     "[TOOL_CALLS][{\"id\":\"123456789\",\"name\":\"f\",\"arguments\":{\"a\":1}"
     "}]",
     "|tool:123456789 f|arguments:{\"a\":1}|end:", 0, NULL},
    {"mistral-v3",
     "[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{\"a\":1}}, "
     "{\"name\":\"g\",\"arg",
     "|tool:call00000 f|arguments:{\"a\":1}|end:|text:, {\"name\":\"g\",\"arg",
     0, NULL},
    {"mistral-v11", "[TOOL_CALLS]f[ARGS]{\"a\": [1}",
     "|tool:call00000 f|arguments:{\"a\": [1|end:the arguments are not "
     "JSON|text:}",
     0, NULL},
    {"mistral-v13", "[TOOL_CALLS]f g[ARGS]{}", "|text:[TOOL_CALLS]f g[ARGS]{}",
     0, NULL},
    {"deepseek-r1",
     "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
     "1}\n```<｜tool▁call▁end｜>x",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:|text:x", 0, NULL},
    {"deepseek-v3.1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<"
     "｜tool▁call▁end｜>oops<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<"
     "｜tool▁call▁end｜>",
     "|tool:call00000 "
     "f|arguments:{}|end:|text:<｜tool▁call▁end｜>oops|tool:call00001 "
     "g|arguments:{}|end:",
     0, NULL},
    {"deepseek-v3.2",
     "<｜DSML｜function_calls>\n<｜DSML｜invoke "
     "name=\"f\">\n<｜DSML｜parameter name=\"a\" "
     "string=\"false\">True</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" "
     "string=\"maybe\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</"
     "｜DSML｜function_calls>",
     "|tool:call00000 f|arguments:{\"a\": \"True\", \"b\": 1}|end:", 0, NULL},
    {"glm",
     "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key> "
     "b</arg_key>\n<arg_value>true </arg_value></tool_call>",
     "|tool:call00000 f|arguments:{\"a\": 1, \"b\": \"true \"}|end:", 0, NULL},
    {"glm", "<tool_call> is a tag", "|text:<tool_call> is a tag", 0, NULL},
    {"glm", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>[1, 2",
     "|tool:call00000 f|arguments:{\"a\": [1, 2|end:cut off", 0, NULL},
    {"glm", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>text",
     "|tool:call00000 f|arguments:{\"a\": \"text|end:cut off", 0, NULL},
    {"glm",
     "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\noops</"
     "tool_call>",
     "|tool:call00000 f|arguments:{\"a\": 1|end:not as a call is "
     "written|text:\noops</tool_call>",
     0, NULL},
    {"glm",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>12</"
     "arg_value>\n<arg_key>n</arg_key>\n<arg_value>12</arg_value>\n<arg_key>i</"
     "arg_key>\n<arg_value>12</arg_value>\n<arg_key>e</arg_key>\n<arg_value>1</"
     "arg_value>\n<arg_key>u</arg_key>\n<arg_value>12</arg_value>\n<arg_key>o</"
     "arg_key>\n<arg_value>{\"a\": 1}</arg_value>\n</tool_call>",
     "|tool:call00000 f|arguments:{\"s\": \"12\", \"n\": 12, \"i\": 12, \"e\": "
     "\"1\", \"u\": \"12\", \"o\": {\"a\": 1}}|end:",
     0, TOOLS},
    {"glm",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>null</"
     "arg_value>\n<arg_key>n</arg_key>\n<arg_value>\"12\"</"
     "arg_value>\n<arg_key>i</arg_key>\n<arg_value>null</"
     "arg_value>\n<arg_key>e</arg_key>\n<arg_value>x</arg_value>\n<arg_key>u</"
     "arg_key>\n<arg_value>true</arg_value>\n<arg_key>o</"
     "arg_key>\n<arg_value>oops</arg_value>\n</tool_call>",
     "|tool:call00000 f|arguments:{\"s\": \"null\", \"n\": \"12\", \"i\": "
     "null, \"e\": \"x\", \"u\": true, \"o\": \"oops\"}|end:",
     0, TOOLS},
    {"glm",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>\"q\"</"
     "arg_value>\n<arg_key>n</arg_key>\n<arg_value>1e3</"
     "arg_value>\n<arg_key>i</arg_key>\n<arg_value>1.5</"
     "arg_value>\n<arg_key>u</arg_key>\n<arg_value>\"q\"</"
     "arg_value>\n<arg_key>z</arg_key>\n<arg_value>5</arg_value>\n</tool_call>",
     "|tool:call00000 f|arguments:{\"s\": \"\\\"q\\\"\", \"n\": 1e3, \"i\": "
     "\"1.5\", \"u\": \"\\\"q\\\"\", \"z\": 5}|end:",
     0, TOOLS},
    {"qwen3-coder",
     "<function=f>\n<parameter=s>\n{\"a\": 1}\n</parameter>\n<parameter=n>\n "
     "5\n</parameter>\n</function>",
     "|tool:call00000 f|arguments:{\"s\": \"{\\\"a\\\": 1}\", \"n\":  5}|end:",
     0, TOOLS},
    {"qwen3-coder",
     "<tool_call><function=f><parameter=s></parameter><parameter=n></"
     "parameter></function>",
     "|tool:call00000 f|arguments:{\"s\": \"\", \"n\": \"\"}|end:", 0, NULL},
    {"minimax-m2",
     "<minimax:tool_call><invoke name=\"f\"><parameter "
     "name=\"a\">\n1</parameter></invoke>",
     "|tool:call00000 f|arguments:{\"a\": \"\\n1\"}|end:", 0, NULL},
    {"kimi-k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>f<|tool_call_argument_"
     "begin|>{}<|tool_call_end|>",
     "|tool:f f|arguments:{}|end:|text:<|tool_call_end|>", 0, NULL},
    {"kimi-k2",
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.:0<|tool_call_"
     "argument_begin|>{}",
     "|text:<|tool_calls_section_begin|><|tool_call_begin|>functions.:0<|tool_"
     "call_argument_begin|>{}",
     0, NULL},
    {"harmony", "Hello there", "|text:Hello there", 0, NULL},
    {"harmony",
     " to=functions.f<|channel|>commentary json<|message|>{\"a\": 1}<|call|>",
     "|tool:call00000 f|arguments:{\"a\": 1}|end:", 0, NULL},
    {"harmony",
     "<|start|>assistant to=browser.search<|channel|>analysis<|message|> "
     "{\"q\": \"x<|end|>\"}<|call|>",
     "|tool:call00000 browser.search|arguments:{\"q\": \"x<|end|>\"}|end:", 0,
     NULL},
    {"harmony",
     "<|channel|>commentary<|message|>a<|end|>\n<|start|>assistant<|channel|>"
     "final<|message|>b<|return|>",
     "|text:a\n\nb", 0, NULL},
    {"harmony",
     "<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|"
     "message|>b<|en",
     "|reasoning:a|text:b<|en", 0, NULL},
    {"harmony",
     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a",
     "|tool:call00000 f|arguments:{\"a|end:cut off", 0, NULL},
    {"harmony", "<|channel|>commentary to=functions.f<|message|><|call|>",
     "|tool:call00000 f|arguments:{}|end:", 0, NULL},
    {"harmony",
     "<|channel|>commentary to=functions.f<|message|>no JSON<|call|>",
     "|tool:call00000 f|end:the arguments are not JSON|text:no JSON<|call|>", 0,
     NULL},
    {"harmony", "<|channel|>fin", "|text:<|channel|>fin", 0, NULL},
    {"harmony", "<|channel|>final<|message|>x<|end|>y", "|text:xy", 0, NULL},
    {"none", "a <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
     "|text:a <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", 0,
     NULL},
};

#endif
