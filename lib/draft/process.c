/* SPDX-License-Identifier: MIT
 * process.c - guesses of another process.
 *
 * A thread reads what it writes, so that no record, whole or half, makes
 * anybody wait; what it does not read at once is kept and sent later.  Both
 * directions are sockets: sending to one that is closed raises no signal, and
 * reading can be ended from this side, whoever holds the other.  Its answers to
 * a sequence are counted: the Kth is to the Kth record of tokens, and if it
 * comes late, what it says of tokens that have come by then is held against
 * them.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "draft/draft.h"
#include "wire/wire.h"

enum {
    KEEP = 64,              /* ids of an answer that count */
    MOST_ANSWERS = 1024,    /* that wait for us */
    MOST_UNSENT = 64 << 20, /* bytes that wait for it */
    OPEN_QUESTIONS = 256,   /* of a sequence */
    GRACE_MS = 100          /* to end by itself, at the end */
};

struct answer {
    uint64_t seq;
    int n;
    int32_t ids[KEEP];
};

struct asking;

struct process {
    struct drafter d;
    struct draft_process_opts o;
    struct buf unsent;
    struct asking *first; /* sequences */
    pthread_t thread;
    bool reads; /* the thread runs */
    pthread_mutex_t lock;
    pthread_cond_t came;
    /* Under LOCK: */
    struct answer answer[MOST_ANSWERS];
    int nanswer;
    struct err failed;
};

struct asking {
    struct process *p;
    uint64_t number;
    int sent;                  /* tokens */
    uint64_t asked, answered;  /* questions */
    int place[OPEN_QUESTIONS]; /* where each was asked; -1: of no use any more
                                */
    struct answer last;
    int at;    /* the place of LAST's first id; -1: there is none */
    int guess; /* the next one */
    struct asking *next;
};

/* ---- what it writes ---- */

static void fail(struct process *p, const struct err *why)
{
    pthread_mutex_lock(&p->lock);
    if (!p->failed.code)
        p->failed = *why;
    pthread_cond_signal(&p->came);
    pthread_mutex_unlock(&p->lock);
}

static int keep(struct process *p, const struct wire_tokens *t, struct err *e)
{
    struct answer a = {.seq = t->seq, .n = t->n < KEEP ? (int)t->n : KEEP};
    bool room;

    for (int i = 0; i < a.n; i++)
        a.ids[i] = t->ids[i] <= INT32_MAX ? (int32_t)t->ids[i] : -1;
    pthread_mutex_lock(&p->lock);
    room = p->nanswer < MOST_ANSWERS;
    if (room)
        p->answer[p->nanswer++] = a;
    pthread_cond_signal(&p->came);
    pthread_mutex_unlock(&p->lock);
    return room ? 0 : err_set(e, ERR_FORMAT, "writes without being asked");
}

static void *reader(void *arg)
{
    struct process *p = arg;
    struct wire_in *in = NULL;
    struct wire_rec r;
    struct err e = {0};
    int got = wire_in_open(&in, p->o.out, "what it writes", &e) ? -1 : 1;

    while (got > 0 && (got = wire_next(in, &r, &e)) > 0)
        if (r.kind == WIRE_TOKENS && keep(p, &r.tokens, &e))
            got = -1;
        else if (r.kind == WIRE_ERROR)
            got = err_set(&e, ERR_FORMAT, "it says: %s",
                          r.error.msg ? r.error.msg : "error");
    if (!got)
        err_set(&e, ERR_IO, "it has ended");
    fail(p, &e);
    wire_in_close(in);
    return NULL;
}

/* ---- what it reads ---- */

static int flush(struct process *p, struct err *e)
{
    size_t at = 0;
    ssize_t n = 0;

    while (at < p->unsent.n &&
           (n = send(p->o.in, p->unsent.p + at, p->unsent.n - at,
                     MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
        at += (size_t)n;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return err_set(e, ERR_IO, "it does not read: %s", strerror(errno));
    memmove(p->unsent.p, p->unsent.p + at, p->unsent.n - at);
    p->unsent.n -= at;
    if (p->unsent.n > MOST_UNSENT)
        return err_set(e, ERR_IO, "it does not read");
    return 0;
}

static void say_end(struct asking *a)
{
    buf_printf(&a->p->unsent,
               "{\"t\":\"end\",\"s\":%llu,\"why\":\"interrupted\"}\n",
               (unsigned long long)a->number);
}

static int say_tokens(struct asking *a, const int32_t *t, int n, struct err *e)
{
    struct process *p = a->p;
    struct buf text = {0};

    buf_printf(&p->unsent, "{\"t\":\"tokens\",\"s\":%llu,\"ids\":[",
               (unsigned long long)a->number);
    for (int i = a->sent; i < n; i++)
        buf_printf(&p->unsent, "%s%d", i > a->sent ? "," : "", t[i]);
    buf_printf(&p->unsent, "],");
    if (p->o.text && p->o.text(&text, p->o.arg, t, a->sent, n - a->sent, e)) {
        buf_free(&text);
        return -1;
    }
    wire_json_bytes(&p->unsent, "text", text.p ? (void *)text.p : "", text.n);
    buf_printf(&p->unsent, "}\n");
    buf_free(&text);
    a->sent = n;
    a->place[a->asked++ % OPEN_QUESTIONS] = n;
    return buf_ok(&p->unsent, e);
}

/* ---- a sequence ---- */

static int asking_open(void **out, struct drafter *d, uint64_t number,
                       const void *request, struct err *e)
{
    struct process *p = (struct process *)d;
    struct asking *a = calloc(1, sizeof *a);

    (void)request;
    if (!a)
        return err_nomem(e);
    a->p = p;
    a->number = number;
    a->at = -1;
    a->next = p->first;
    p->first = a;
    *out = a;
    return 0;
}

static void asking_close(void *seq)
{
    struct asking *a = seq, **at = &a->p->first;

    if (a->sent) {
        say_end(a);
        flush(a->p, NULL);
    }
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free(a);
}

/* Take what has come; under LOCK. */
static int take_answers(struct process *p, struct err *e)
{
    for (int i = 0; i < p->nanswer; i++) {
        const struct answer *x = &p->answer[i];
        struct asking *a = p->first;

        while (a && a->number != x->seq)
            a = a->next;
        if (!a)
            continue; /* of a sequence that is over */
        if (a->answered == a->asked)
            return err_set(e, ERR_FORMAT, "it answers what nobody asked");
        a->at = a->asked - a->answered <= OPEN_QUESTIONS
                    ? a->place[a->answered % OPEN_QUESTIONS]
                    : -1;
        a->answered++;
        a->last = *x;
    }
    p->nanswer = 0;
    if (!p->failed.code)
        return 0;
    if (e)
        *e = p->failed;
    return -1;
}

/* Wait at most WORTH seconds for the answer to what was asked at N. */
static int wait_for(struct asking *a, int n, double worth, struct err *e)
{
    struct process *p = a->p;
    struct timespec until;
    double most = worth < p->o.wait ? worth : p->o.wait;
    int64_t ns = (int64_t)(most * 1e9);
    int rc, late = most > 0 ? 0 : ETIMEDOUT;

    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&p->lock);
    while (!(rc = take_answers(p, e)) && a->at != n && !late)
        late = pthread_cond_timedwait(&p->came, &p->lock, &until);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static int asking_begin(void *seq, const int32_t *t, int n, int same,
                        double worth, struct err *e)
{
    struct asking *a = seq;

    if (same < a->sent) {
        /* Tokens were taken back: the sequence begins again. */
        say_end(a);
        a->sent = 0;
        a->at = -1;
        for (int i = 0; i < OPEN_QUESTIONS; i++)
            a->place[i] = -1;
    }
    if ((n > a->sent && say_tokens(a, t, n, e)) || flush(a->p, e) ||
        wait_for(a, n, worth, e))
        return -1;
    a->guess = KEEP;
    if (a->at < 0 || n - a->at >= a->last.n ||
        memcmp(a->last.ids, t + a->at, (size_t)(n - a->at) * sizeof *t))
        return 0;
    a->guess = n - a->at;
    return 0;
}

static int asking_next(void *seq, struct draft_token *g, struct err *e)
{
    struct asking *a = seq;
    int i = a->at < 0 ? KEEP : a->guess;

    (void)e;
    if (i >= a->last.n)
        return 0;
    *g = (struct draft_token){a->last.ids[i],
                              i < DRAFT_CLASSES ? i : DRAFT_CLASSES - 1};
    a->guess++;
    return 1;
}

/* ---- the process ---- */

/* Let it end by itself, for a moment. */
static void end_process(pid_t pid, int in, int out)
{
    struct timespec ms = {0, 1000000};

    close(in);
    for (int i = 0; i < GRACE_MS; i++) {
        siginfo_t info = {0};

        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
            info.si_pid)
            break;
        nanosleep(&ms, NULL);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    shutdown(out, SHUT_RDWR);
}

static void process_free(struct drafter *d)
{
    struct process *p = (struct process *)d;

    flush(p, NULL);
    end_process(p->o.pid, p->o.in, p->o.out);
    if (p->reads)
        pthread_join(p->thread, NULL);
    close(p->o.out);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->came);
    buf_free(&p->unsent);
    free(p);
}

struct drafter *draft_process(const struct draft_process_opts *o, struct err *e)
{
    struct process *p = calloc(1, sizeof *p);
    pthread_condattr_t attr;
    int rc;

    if (!p) {
        end_process(o->pid, o->in, o->out);
        close(o->out);
        err_nomem(e);
        return NULL;
    }
    p->o = *o;
    p->d = (struct drafter){.name = "process",
                            .cost = DRAFT_WAITS,
                            .open = asking_open,
                            .begin = asking_begin,
                            .next = asking_next,
                            .close = asking_close,
                            .free = process_free};
    for (int i = 0; i < DRAFT_CLASSES; i++)
        p->d.prior[i] = 0.7f;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->came, &attr);
    pthread_condattr_destroy(&attr);
    if (o->hello)
        buf_printf(&p->unsent, "%s\n", o->hello);
    rc = pthread_create(&p->thread, NULL, reader, p);
    if (rc) {
        err_set(e, ERR_IO, "a thread: %s", strerror(rc));
        process_free(&p->d);
        return NULL;
    }
    p->reads = true;
    return &p->d;
}
