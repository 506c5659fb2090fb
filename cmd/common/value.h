/* SPDX-License-Identifier: MIT
 * value.h - what stands in a GGUF file, on standard output: names, numbers and
 * values, for people and as JSON. */
#ifndef LLM_CMD_VALUE_H
#define LLM_CMD_VALUE_H

#include "gguf/gguf.h"

/* Text from a file.  put_text() escapes what a terminal might obey and, when
 * LINE, newlines and tabs too; put_string() writes a JSON string, or
 * {"base64": "..."} when S is not UTF-8. */
void put_text(struct gguf_str s, bool line);
void put_string(struct gguf_str s);
void put_cstring(const char *s);

/* A number in its shortest exact form; JSON has no NaN or infinity and few
 * readers keep integers beyond int64_t, so those become strings there. */
void put_number(enum gguf_type type, const unsigned char *p, bool json);

/* A whole value for people (elided unless ALL), bare (--key), or as JSON. */
void put_value(const struct gguf_val *v, bool all);
void put_bare(const struct gguf_val *v, bool terminal);
void put_json_value(const struct gguf_val *v);
/* "u32", "str[49152]" */
void put_type(const struct gguf_val *v);

#endif
