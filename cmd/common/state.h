/* SPDX-License-Identifier: MIT
 * state.h - KV states in files. */
#ifndef LLM_CMD_STATE_H
#define LLM_CMD_STATE_H

#include "cmd/common/load.h"
#include "kv/disk.h"

/* The state of the first sequence in the file PATH; *OUT is NULL when there is
 * no such file and MAY_LACK is set.  -1: it cannot be read, is not whole, or of
 * another model or other KV types. */
int state_read(struct kv_seq **out, const struct load *l, const char *path,
               bool may_lack, struct err *e);
/* Write the state of S as a stream of program BY to PATH: beside it first, then
 * synced and renamed, so that the old file stays until the new one is whole. */
int state_write(const char *path, const char *by, const struct load *l,
                const struct kv_seq *s, unsigned flags, struct err *e);

/* Group: --cache, --cache-size. */
extern const struct cli_opt state_cache_opts[];
/* The folder that --cache names; NULL without.  Exits when it cannot be used.
 */
struct kv_disk *state_cache(const struct cli *c, const struct load *l);
/* kv_disk_save(), but a folder that cannot be written is warned about once. */
int state_cache_save(struct kv_disk *d, const struct kv_seq *s, struct err *e);

#endif
