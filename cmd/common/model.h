/* SPDX-License-Identifier: MIT
 * model.h - a model operand: a path, or a name of the catalogue. */
#ifndef LLM_CMD_MODEL_H
#define LLM_CMD_MODEL_H

#include "gguf/gguf.h"
#include "wire/wire.h"

/* Open the model that OPERAND names: a file, or, where no such file exists and
 * OPERAND has no slash, a catalogue name whose file gguf-pull has already
 * put into the cache.  Exits with one line otherwise. */
struct gguf *model_operand(const char *operand);

/* The same, but failing is left to the caller. */
int model_try(struct gguf **g, const char *operand, struct err *e);

/* Write the header of a stream that program BY makes with G; the second exits
 * when that fails. */
int model_header_try(struct wire_out *w, const char *by, const struct gguf *g,
                     struct err *e);
void model_header(struct wire_out *w, const char *by, const struct gguf *g);
/* With ADAPTERS, kv_adapt's text, or NULL. */
int model_header_with(struct wire_out *w, const char *by, const struct gguf *g,
                      const char *adapters, struct err *e);

#endif
