/* SPDX-License-Identifier: MIT
 * disk.h - pages of K and V in a folder, for the processes that come later.
 *
 *   DIR/KEY/NAME.kv
 *
 * KEY stands for the model, its rope parameters, the layers and the types; NAME
 * for the tokens of a page and all before them.  A file is a stream with a
 * state, as llm-stream(5) describes it, that holds this page alone; so its sums
 * and its tokens are checked when it is read, and one that is damaged counts as
 * absent and is removed.  Files appear by renaming.  Reading one sets its time;
 * those that were used least recently go first when the folder grows too large.
 */
#ifndef LLM_KV_DISK_H
#define LLM_KV_DISK_H

#include "kv/kv.h"

struct kv_disk;

/* Use the folder DIR, which is made (mode 0700) when it is not there, for
 * states of KV, and let it take MAX_BYTES.  ERR_IO. */
int kv_disk_open(struct kv_disk **out, struct kv *kv, const char *dir,
                 uint64_t max_bytes, struct err *e);
/* Remove what is too much.  NULL may be closed. */
void kv_disk_close(struct kv_disk *d);

/* Make *S begin with more of the tokens T[N] than it has now, where the folder
 * has them; not the last.  -1: only memory. */
int kv_disk_load(struct kv_disk *d, struct kv_seq **s, const int32_t *t, int n,
                 struct err *e);
/* Write the full pages of S that are not there yet.  ERR_IO: the folder cannot
 * be written; what is there stays good. */
int kv_disk_save(struct kv_disk *d, const struct kv_seq *s, struct err *e);

#endif
