/* SPDX-License-Identifier: MIT
 * peft.h - a LoRA adapter, as PEFT keeps it, as a GGUF.
 *
 *     struct peft *p;
 *
 *     if (peft_open(&p, "folder", base, CONVERT_AUTO, &e) ||
 *         gguf_file_open(&f, "adapter.gguf", &e) ||
 *         gguf_file_head(f, peft_head(p), &e) || peft_write(p, f, &e) || ...
 *     peft_close(p);
 *
 * What the adapter's tensors are called, and which of their rows change place,
 * follows from the base: its folder, or its GGUF. */
#ifndef LLM_CONVERT_PEFT_H
#define LLM_CONVERT_PEFT_H

#include "convert/convert.h"

struct peft;

/* Is the folder PATH, or the one that it is in, an adapter's? */
bool peft_is(const char *path);

/* BASE: a folder or a GGUF; NULL: what adapter_config.json says, if that is
 * here.  TYPE: CONVERT_AUTO leaves tensors what they are. */
int peft_open(struct peft **out, const char *path, const char *base,
              enum convert_type type, struct err *e);
void peft_close(struct peft *p);

const struct gguf_out *peft_head(const struct peft *p);

/* Tensors: their names in the GGUF and in the folder. */
size_t peft_n(const struct peft *p);
const char *peft_name(const struct peft *p, size_t i);
const struct safetensors_tensor *peft_from(const struct peft *p, size_t i);
uint32_t peft_type(const struct peft *p, size_t i);

int peft_write(const struct peft *p, struct gguf_file *f, struct err *e);

#endif
