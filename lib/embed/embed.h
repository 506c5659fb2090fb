/* SPDX-License-Identifier: MIT
 * embed.h - tokens that become vectors, many lists of them together.
 *
 *     embed_new(&s, &config, &e);
 *     while (embed_free_slots(s) && more)
 *         embed_add(s, &job);
 *     while (embed_busy(s))
 *         embed_step(s, &e);
 *
 * A model that sees both ways reads whole lists, as many at once as the chunk
 * has room for; any other reads them in parts.  What comes of a job does not
 * depend on the others, nor on how it was cut.
 */
#ifndef LLM_EMBED_EMBED_H
#define LLM_EMBED_EMBED_H

#include "embed/head.h"
#include "kv/kv.h"

struct embed_job {
    const int32_t *tok;  /* N tokens, at least 1; the caller's until its end */
    const int32_t *type; /* of each; NULL: all 0 */
    int n;
    /* What it is read with, the caller's until its end; NULL: as ever. */
    const struct kv_adapt *adapt;
    void *data; /* the caller's */
    /* At its end: ROWS vectors of embed_width() floats each, which are the
     * caller's to free; NULL when it failed. */
    float *v;
    int rows;
    /* private */
    struct kv_seq *kv;
    double *sum;
    int read;
    struct embed_job *next;
};

/* JOB has ended; WHY it failed, or NULL. */
typedef int embed_end_fn(void *arg, struct embed_job *job,
                         const struct err *why, struct err *e);

struct embed_config {
    struct model *model;     /* opened to embed; the caller's */
    struct kv *kv;           /* for BATCH sequences */
    enum model_pooling pool; /* not MODEL_POOL_UNSAID */
    int dims;                /* keep the first so many numbers; 0: all */
    bool normal;             /* make the length 1, but of what ranks */
    int batch;               /* jobs at once */
    int chunk;               /* tokens at once */
    embed_end_fn *end;
    void *arg;
};

struct embed;
/* ERR_UNSUPPORTED: the model has no classifier; ERR_USAGE: DIMS are more than
 * there are. */
int embed_new(struct embed **out, const struct embed_config *c, struct err *e);
void embed_free(struct embed *s);
/* Numbers of a vector. */
int embed_width(const struct embed *s);
/* Is there one for each token? */
bool embed_by_token(const struct embed *s);
/* The name of output I of a model that ranks; empty where it has none. */
struct gguf_str embed_label(const struct embed *s, int i);
/* How many types of tokens there are: 1 where the model knows of none. */
int embed_types(const struct embed *s);

int embed_free_slots(const struct embed *s);
int embed_busy(const struct embed *s);
/* Take JOB, which stays where it is until its end.  It waits when there is no
 * room. */
void embed_add(struct embed *s, struct embed_job *job);
int embed_step(struct embed *s, struct err *e);

/* How a model is pooled that does not say: by the mean where it sees both ways,
 * else by the last token. */
enum model_pooling embed_pool_of(const struct model *m);

#endif
