/* SPDX-License-Identifier: MIT
 * load.h - a model made ready to run, as options and operand say. */
#ifndef LLM_CMD_LOAD_H
#define LLM_CMD_LOAD_H

#include <stdbool.h>

#include "cmd/common/cli.h"
#include "cmd/common/lora.h"
#include "kv/kv.h"
#include "model/model.h"
#include "tok/tok.h"

/* Groups: -t, --threads-batch, -c, and the other one, which is --kv-type,
 * --device, --share, --no-pack, --lora. */
extern const struct cli_opt load_opts[], load_memory_opts[];

/* What --kv-type is where it is not said, in place of f16; before cli_parse().
 */
void load_kv_type(const char *type);

/* The model is to give the outputs of its last norm, not logits; before
 * load_open(). */
void load_embed(void);

enum {
    LOAD_SLIDE = 1 << 22, /* positions of a sequence that slides */
    LOAD_MAX_CHUNK = 1 << 20
};

/* What -t and -c are for the next load_open(), where no option says it: 0 and
 * -1 are the defaults. */
void load_set(int threads, int context);
/* The options of the other group as words, for another program; their count. */
enum { LOAD_WORDS = 6 + LORA_WORDS };
int load_words(const char *w[LOAD_WORDS]);

struct load {
    struct gguf *gguf;
    struct tok *tok;
    struct be *be;
    struct model *model;
    struct kv *kv;
    struct loras loras;
    char id[33], vocab[33];
    uint64_t kv_bytes; /* the most that load_note() has seen */
};

/* All of it for the model that OPERAND names, with a KV cache for NSEQ
 * sequences that run in chunks of at most CHUNK tokens; SLIDE: each token sees
 * no more than the context before it, and there is no other end.  Exits with
 * one line when something is wrong. */
void load_open(struct load *l, const struct cli *c, const char *operand,
               int nseq, int chunk, bool slide);
/* The same without adapters: for a model beside the one that they are for. */
void load_plain(struct load *l, const struct cli *c, const char *operand,
                int nseq, int chunk, bool slide);
void load_close(struct load *l);

/* The header of a stream that program BY makes with it; the second exits when
 * that fails. */
int load_header_try(struct wire_out *w, const char *by, const struct load *l,
                    struct err *e);
void load_header(struct wire_out *w, const char *by, const struct load *l);
/* See how much the KV cache holds. */
void load_note(struct load *l);
/* A line on stderr: threads, instruction set, bytes of weights and KV. */
void load_report(const struct load *l);

#endif
