/* SPDX-License-Identifier: MIT
 * embed.h - what the files of llm-embed share.
 *
 * What comes in is an item: a sequence of a stream, a line, or a query with its
 * documents.  Each is one unit of tokens or several, which become vectors, many
 * at once; what is said of items comes in their order.
 */
#ifndef LLM_CMD_EMBED_H
#define LLM_CMD_EMBED_H

#include <jansson.h>

#include "cmd/common/load.h"
#include "cmd/common/prompts.h"
#include "cmd/common/queue.h"
#include "embed/embed.h"

/* A text, or a query with a document, as tokens; JOB has what they become. */
struct unit {
    struct embed_job job;
    struct item *item;
    struct tok_ids ids;
    int32_t *type; /* of each token; or NULL */
};

/* Texts by how near they are to a query. */
struct hit {
    double score;
    uint64_t index; /* counted from 0, as they came */
    json_t *id;     /* the caller's name for it; or NULL */
    struct buf text;
};
struct ranking {
    struct hit *hit;
    size_t n, cap;
};

struct program {
    struct load load;
    struct embed *embed;
    struct tok_enc *enc;
    struct wire_out *out; /* NULL: text, or an array */
    const char *prog;
    int npy, requests, rerank, truncate, probabilities;
    bool rank; /* the model does, by pairs */
    enum wire_numbers type;
    struct gguf_str prefix, query_prefix;
    struct gguf_str similar; /* the query of all texts; P NULL: none */
    struct gguf_str pattern; /* how a query and a document are joined; empty: as
                                the tokenizer does it */
    int top, label;          /* which output counts; -1: it is not known */
    float *query;            /* the vector of SIMILAR */
    struct ranking found;    /* for SIMILAR */
    uint64_t index;          /* texts that SIMILAR was asked of */
    struct queue queue;
    int batch;
    long long ended;  /* units, for the progress */
    uint64_t next;    /* number of the next line */
    struct buf array; /* all vectors, for NPY */
    uint64_t rows;    /* of it */
    struct buf bytes; /* a vector as it is written */
    int worst;        /* exit status */
};

/* ---- unit.c ---- */

/* Is there room for more?  Else unit_step(). */
bool unit_room(const struct program *p);
bool unit_busy(const struct program *p);
/* Run, and tell what can be told. */
int unit_step(struct program *p, struct err *e);
/* For embed_config. */
int unit_ended(void *arg, struct embed_job *job, const struct err *why,
               struct err *e);

/* Make tokens of PREFIX and TEXT, or of a pair, and run them: U, which is part
 * of IT, ends some time later. */
int unit_text(struct program *p, struct item *it, struct unit *u,
              struct gguf_str prefix, struct gguf_str text, struct err *e);
int unit_pair(struct program *p, struct item *it, struct unit *u,
              struct gguf_str query, struct gguf_str document, struct err *e);
/* The same of tokens that are there. */
void unit_tokens(struct program *p, struct item *it, struct unit *u,
                 int32_t *ids, int n);
void unit_free(struct unit *u);
/* How much the output that counts is for V: its logit, against all others, or
 * its probability. */
double unit_score(const struct program *p, const float *v);

struct gguf_str json_text(const json_t *s);

/* ---- label.c ---- */

/* What P's model needs that ranks, if it does, by the options PAIR and LABEL;
 * CHANGED: others change vectors; RANKED: one output must count.  Exits with a
 * usage error where that does not fit. */
void rank_open(const struct cli *c, struct program *p, const char *pair,
               const char *label, bool changed, bool ranked);

/* ---- vector.c: one unit, and its vector ---- */

/* TEXT, or, where QUERY is not NULL, the pair of both; takes ID, which may be
 * NULL, as LORA may be, the adapters that it asks for. */
int vector_text(struct program *p, const struct gguf_str *query,
                struct gguf_str text, json_t *id, const json_t *lora,
                struct err *e);
/* Q has tokens, or a vector; takes Q. */
int vector_prompt(struct program *p, struct prompt *q, struct err *e);
/* The query of --similar, before all texts. */
int vector_query(struct program *p, struct err *e);

/* The data of a prompt: what its stream says besides. */
struct given {
    struct lora_choice lora;
    json_t *id;
    float *v; /* N numbers, or NULL */
    size_t n;
};

/* ---- rank.c ---- */

/* Takes ID and TEXT. */
int ranking_add(struct ranking *r, double score, uint64_t index, json_t *id,
                struct buf *text, struct err *e);
/* Write R, the best first; of sequence SEQ, or NULL: of all. */
int ranking_put(struct program *p, struct ranking *r, const uint64_t *seq,
                const json_t *id, struct err *e);
void ranking_free(struct ranking *r);
/* A query with its documents, as a line of JSON says them; takes ID, which may
 * be NULL. */
int rank_request(struct program *p, const json_t *query,
                 const json_t *documents, json_t *id, const json_t *lora,
                 struct err *e);

/* ---- write.c ---- */

/* The vector V, of the sequence SEQ, or, unless POS is below 0, of its token
 * there; ID may be NULL. */
int write_vector(struct program *p, uint64_t seq, const json_t *id, int64_t pos,
                 const float *v, struct err *e);
/* The array, to standard output; whether it went there, cli_finish() says. */
void write_array(const struct program *p);

/* ---- input.c: inputs, for io_each() ---- */

int stream_input(void *program, int fd, const char *name, struct err *e);
int line_input(void *program, int fd, const char *name, struct err *e);

#endif
