/* SPDX-License-Identifier: MIT
 * queue.c - what is being embedded, and in which order it is told. */
#include "cmd/common/progress.h"
#include "cmd/embed/embed.h"

enum { MOST_ITEMS = 64 }; /* that wait for the first, for each that runs */

void queue_add(struct program *p, struct item *it)
{
    it->next = NULL;
    *p->end = it;
    p->end = &it->next;
    p->nitem++;
}

bool queue_room(const struct program *p)
{
    return embed_free_slots(p->embed) > 0 && p->nitem < MOST_ITEMS * p->batch;
}

bool queue_busy(const struct program *p)
{
    return p->nitem > 0;
}

static int tell(struct program *p, struct err *e)
{
    while (p->first && !p->first->left) {
        struct item *it = p->first;
        int rc;

        p->first = it->next;
        if (!p->first)
            p->end = &p->first;
        p->nitem--;
        progress_clear();
        rc = it->tell(p, it, e);
        it->free(it);
        if (rc)
            return -1;
    }
    return 0;
}

int queue_step(struct program *p, struct err *e)
{
    if (embed_busy(p->embed) && embed_step(p->embed, e))
        return -1;
    load_note(&p->load);
    progress_show(p->ended, p->ended + embed_busy(p->embed));
    return tell(p, e);
}

int queue_ended(void *program, struct embed_job *job, const struct err *why,
                struct err *e)
{
    struct program *p = program;
    struct unit *u = job->data;

    (void)e;
    if (why && !u->item->failed.code)
        u->item->failed = *why;
    u->item->left--;
    p->ended++;
    return 0;
}

int queue_failure(struct program *p, uint64_t seq, const struct err *why,
                  struct err *e)
{
    struct wire_error rec = {
        .seq = seq, .code = err_word(why->code), .msg = why->msg};

    warn("sequence %llu: %s", (unsigned long long)seq, why->msg);
    if (status(why) > p->worst)
        p->worst = status(why);
    return p->out ? wire_put_error(p->out, &rec, e) : 0;
}
