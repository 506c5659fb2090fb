/* SPDX-License-Identifier: MIT */
#include "cmd/common/queue.h"

#include "cmd/common/cli.h"
#include "cmd/common/progress.h"

void queue_add(struct queue *q, struct item *it)
{
    it->next = NULL;
    *q->end = it;
    q->end = &it->next;
    q->n++;
}

static struct item *take(struct queue *q)
{
    struct item *it = q->first;

    q->first = it->next;
    if (!q->first)
        q->end = &q->first;
    q->n--;
    return it;
}

int queue_tell(struct queue *q, struct program *p, struct err *e)
{
    while (q->first && !q->first->left) {
        struct item *it = take(q);
        int rc;

        progress_clear();
        rc = it->tell(p, it, e);
        it->free(it);
        if (rc)
            return -1;
    }
    return 0;
}

void queue_drop(struct queue *q)
{
    while (q->first) {
        struct item *it = take(q);

        it->free(it);
    }
}

int queue_failure(struct wire_out *out, int *worst, uint64_t seq,
                  const struct err *why, struct err *e)
{
    struct wire_error rec = {
        .seq = seq, .code = err_word(why->code), .msg = why->msg};

    warn("sequence %llu: %s", (unsigned long long)seq, why->msg);
    if (status(why) > *worst)
        *worst = status(why);
    return out ? wire_put_error(out, &rec, e) : 0;
}
