/* SPDX-License-Identifier: MIT
 * params.h - hyperparameters: keys of the model file, checked.
 *
 * Every getter takes a key without its "<architecture>." and notes that the key
 * was understood; params_unknown() finds those that nobody asked for. */
#ifndef LLM_MODEL_PARAMS_H
#define LLM_MODEL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct build;

struct params_layer {
    int heads, kv_heads;
    int ff;     /* width of the feed-forward network */
    int window; /* positions seen; 0: all */
    int rope;   /* index of its table; -1: positions are not turned */
};

struct params {
    int nlayer, dim, context;
    int dk, dv; /* of a head */
    int experts, used;
    int ff_expert, ff_shared; /* of one expert, of those always used */
    bool norm_experts;        /* weights of the experts add up to 1 */
    bool sigmoid_experts;
    float eps;
    /* What these multiply: embeddings; what a block adds to the stream; Q K^T;
     * logits. */
    float embed_scale, residual_scale, attn_scale, logit_scale;
    float attn_softcap, softcap; /* 0: none */
    float temp_scale;            /* attention sharper with the position; 0 */
    int temp_period;
    int pooling;                /* as model_pooling() has it */
    struct params_layer *layer; /* [nlayer] */
};

enum { PARAMS_REQUIRED = -1 }; /* as a default */

/* The value of an integer in MIN..MAX, DEF when the key is absent. */
int params_int(struct build *b, const char *key, int def, int min, int max);
/* A finite number in MIN..MAX. */
double params_num(struct build *b, const char *key, double def, double min,
                  double max);
bool params_bool(struct build *b, const char *key, bool def);
/* Is there such a key? */
bool params_has(struct build *b, const char *key);
/* One of WORD[], a list that ends in NULL, by its index; DEF when absent.
 * ERR_UNSUPPORTED for any other. */
int params_word(struct build *b, const char *key, const char *const *word,
                int def);

/* What all architectures have. */
void params_read(struct build *b);
/* Which layers see a window: by the keys, or, where those do not say, all but
 * one in PERIOD (0: all layers).  WINDOW: when the key is absent. */
void params_windows(struct build *b, int period, int window);
/* The positions that layer L is to see, of all that may come; 0: all. */
int params_window(const struct build *b, int l);

/* Every key of this architecture has been read, or changes nothing. */
void params_unknown(struct build *b);

#endif
