/* SPDX-License-Identifier: MIT
 * table.h - what Hugging Face's models are called in a GGUF: values of
 * config.json and keys, names of tensors on both sides, as data that can be
 * read either way.
 *
 * Sizes go by a letter, which a value of config.json has in its row, and of
 * which shapes are spelt:
 *     D embedding  L layers  A heads  B heads of K and V  H of a head
 *     F feed-forward  V vocabulary  P positions  T token types
 *     E experts  X used at once  M of an expert  S of the shared one
 * and of these are made, when all rows are read:
 *     Q = A * H  K = B * H  W = Q + 2 * K  U = 2 * F  N = 2 * M
 * C is how many labels a ranker has, 1 is 1.  Switches have a small letter: u
 * when the output is not the embedding, b and o for biases of attention, m for
 * those of the network, r for a ranker. */
#ifndef LLM_CONVERT_TABLE_H
#define LLM_CONVERT_TABLE_H

#include <math.h>
#include <stdbool.h>

enum convert_kind {
    CONVERT_U32,
    CONVERT_F32,
    CONVERT_BOOL,
    CONVERT_ROOT, /* F32: 1 / sqrt(value) */
    CONVERT_CAP,  /* F32; null is 0, which is none; no key where that and the
                     default are the same */
    CONVERT_FLAG, /* true or false; no key: only a switch */
    CONVERT_NOT,  /* the same, the other way round */
};

/* Defaults that are no number of their own. */
#define CONVERT_NEEDED NAN         /* it has to be there */
#define CONVERT_NONE   (-INFINITY) /* no key then */
#define CONVERT_DERIVE INFINITY    /* B: A; H: D / A */

struct convert_key {
    const char *config; /* "num_experts|num_local_experts": now, and then;
                           NULL: DEF it is */
    const char *key;    /* behind "<architecture>."; NULL: only the letter */
    enum convert_kind kind;
    char letter; /* 0: none */
    double def;  /* what it is when config.json does not say */
};

/* A value that must be one of "a|b", or not there. */
struct convert_fixed {
    const char *config, *values;
};

enum convert_change {
    CONVERT_SAME,
    CONVERT_ONE,     /* 1 is added: norms of Gemma */
    CONVERT_PAIRS_Q, /* rows of a head: halves become pairs, where the model
                        has CONVERT_PAIRS */
    CONVERT_PAIRS_K,
    CONVERT_STACK,  /* one of each expert: the second number of the name */
    CONVERT_FIRST,  /* the first half of each matrix's rows */
    CONVERT_SECOND, /* the second */
    CONVERT_PADDED, /* without the rows up to the padding token's, and it */
};

enum {
    CONVERT_OPTIONAL = 1, /* need not be there */
    CONVERT_KEEP = 2,     /* stays F32, whatever its shape */
    CONVERT_TOP = 4,      /* its name stands alone, without the body's prefix */
    CONVERT_DROP = 8,     /* where its switch is off it may be there for all
                             that, and is passed over */
    CONVERT_LATER = 16,   /* not in layer 0 */
};

/* Rows with one GGUF name that follow each other are ways to come by it: the
 * first whose tensor is there. */
struct convert_name {
    const char *hf, *gguf; /* %d: the layer; a second one: the expert */
    const char *shape;     /* of Hugging Face's, slowest dimension first */
    enum convert_change change;
    unsigned flags;
    char when; /* a switch; 0: always */
};

/* Which layers see a window. */
enum convert_windows {
    CONVERT_WINDOW_NONE, /* the architecture has none */
    CONVERT_WINDOW_ALL,
    CONVERT_WINDOW_LAST,  /* all but the last of PERIOD layers */
    CONVERT_WINDOW_FIRST, /* all but the first */
};

enum {
    CONVERT_PAIRS = 1,      /* rope turns pairs: rows of Q and K change place */
    CONVERT_ENCODER = 2,    /* tokens see each other both ways */
    CONVERT_NO_ROPE = 4,    /* positions are learned */
    CONVERT_NO_SCALING = 8, /* of rope: windows are without it */
    CONVERT_BOTH_WAYS = 16, /* Gemma 3 that use_bidirectional_attention says */
    CONVERT_RANKS = 32,     /* ...ForSequenceClassification: a ranker */
    CONVERT_OFFSET = 64,    /* positions count from behind the padding token */
};

/* A model_type of Hugging Face. */
struct convert_model {
    const char *type;    /* "llama" */
    const char *classes; /* of config.json's architectures: the first is what
                            this GGUF comes back as */
    const char *arch;    /* general.architecture */
    unsigned flags;
    const struct convert_key *const *keys;    /* lists of rows, NULL ends */
    const struct convert_fixed *const *fixed; /* each row list ends at NULL */
    const struct convert_name *const *names;
    const char *prefix; /* of the body's names, one of "model.||bert." */
    const char *drop;   /* names of no use: "*.inv_freq|cls.*" */
    const char *aside;  /* parts that stay behind, which is worth a word */
    double theta, window_theta; /* rope, when config.json does not say */
    double partial;             /* part of a head that is turned */
    enum convert_windows windows;
    int period;
    double window; /* when config.json does not say; 0: none */
};

/* The model of this model_type, or NULL; of an architecture of ours, N = 0, 1
 * and so on, until NULL. */
const struct convert_model *convert_model_find(const char *type);
const struct convert_model *convert_model_of(const char *arch, int n);
const struct convert_model *convert_model_at(int i);

/* Tables that several use. */
extern const struct convert_model convert_decoders[], convert_encoders[];

#endif
