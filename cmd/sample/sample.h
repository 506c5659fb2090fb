/* SPDX-License-Identifier: MIT
 * sample.h - what the files of llm-sample share. */
#ifndef LLM_CMD_SAMPLE_H
#define LLM_CMD_SAMPLE_H

#include "cmd/common/wanted.h"

struct ids {
    uint32_t *p;
    size_t n;
};

/* What is asked for a sequence. */
struct settings {
    struct wanted w;
    struct ids eos; /* these end it */
    bool own_eos;   /* from the command line: the model's do not count */
};

int settings_copy(struct settings *to, const struct settings *from,
                  struct err *e);
void settings_fini(struct settings *s);
/* Take a "set" record; ERR_UNSUPPORTED names an option that is not known. */
int settings_set(struct settings *s, const struct wire_rec *r, struct err *e);

struct seq {
    uint64_t number;
    struct settings set;
    struct sampler *sampler; /* made by the first logits */
    size_t n_vocab;
    int32_t *past; /* its tokens: those that came, and those drawn */
    size_t npast, cap;
    uint64_t made; /* of them drawn */
    bool begun;    /* its seed is written */
    bool over;     /* its end is written */
    struct seq *next, *before;
};

/* The sequence of this number, made with the COMMON settings when it is new;
 * NULL when memory ran out, or COMMON is NULL and there is none. */
struct seq *seq_find(uint64_t number, const struct settings *common,
                     struct err *e);
void seq_forget(struct seq *q);
void seq_forget_all(void);
/* It has ended: no more is needed than to know that. */
void seq_over(struct seq *q);
/* Tokens of it that came. */
int seq_add(struct seq *q, const uint32_t *ids, size_t n, struct err *e);

struct seq_token {
    uint32_t id;
    float lp;
    struct wire_top top[WANTED_MAX_LOGPROBS];
    size_t ntop;
};
/* Draw the successor.  *WHY becomes the reason to end the sequence, or NULL; 1
 * when T is a token to be written, 0 when there is none. */
int seq_draw(struct seq_token *t, const char **why, struct seq *q,
             const struct wire_rec *r, struct err *e);

#endif
