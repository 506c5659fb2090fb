/* SPDX-License-Identifier: MIT
 * sampling.h - the sampler's options, and who may set them.
 *
 * Later ones go over earlier ones: the defaults, what the model recommends
 * (general.sampling.* in its file), the command line, a sequence's own "set"
 * record.
 */
#ifndef LLM_CMD_SAMPLING_H
#define LLM_CMD_SAMPLING_H

#include "cmd/common/cli.h"
#include "gguf/gguf.h"
#include "sample/sample.h"
#include "tok/tok.h"
#include "wire/wire.h"

/* --temp, --top-k and so on, -s and --logit-bias: a group for option tables. */
extern const struct cli_opt sampling_opts[];

struct sampling {
    struct sample_opts o;     /* o.bias is BIAS, o.never is NEVER */
    struct sample_bias *bias; /* this struct's own, as is NEVER */
    uint32_t *never;
    unsigned over; /* private: options that the model does not set any more */
    bool own_seed; /* from the sequence's own record: draws should then not
                      depend on the sequence's number */
};

/* What the command line says, over what G (it may be NULL) recommends.  Without
 * a seed there is a random one, the same for all calls.  Exits when an option
 * is wrong. */
void sampling_init(struct sampling *s, const struct cli *c,
                   const struct gguf *g);
/* The texts of tokens, for those options that need them.  T stays the
 * caller's. */
void sampling_texts(struct sampling *s, const struct tok *t);
/* Do draws depend on the seed? */
bool sampling_draws(const struct sampling *s);
/* TO need not be initialised; in any case it may be given to sampling_fini().
 */
int sampling_copy(struct sampling *to, const struct sampling *from,
                  struct err *e);
void sampling_fini(struct sampling *s);

/* Take the option KEY[N] of the "set" record R: 1 taken, 0 when it is none of
 * the sampler's, -1 with *E. */
int sampling_set(struct sampling *s, const struct wire_rec *r, const char *key,
                 size_t n, struct err *e);

/* What a model recommends, for the "sampling" of a "set" record: the options
 * of an object under their long names, appended to OUT as JSON; nothing when G
 * recommends nothing.  ERR_FORMAT names the key that is wrong. */
int sampling_json(struct buf *out, const struct gguf *g, struct err *e);
/* And from such a record, key "sampling". */
int sampling_set_model(struct sampling *s, const struct wire_rec *r,
                       struct err *e);

/* Write {"t": "set", "s": SEQ, "seed": N} where the sequence's draws are made
 * by a seed that its own record does not have. */
int sampling_put_seed(struct wire_out *w, uint64_t seq,
                      const struct sampling *s, struct err *e);

#endif
