/* SPDX-License-Identifier: MIT
 * saved.c - a run in a file: a stream of tokens, with what is kept of the
 * probabilities behind them; llm-score(1) says how. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/common/model.h"
#include "cmd/score/score.h"

struct saving {
    struct wire_out *w;
    char *name, *temporary;
    int fd;
};

/* For exit() in between. */
static const char *to_remove;
static void remove_temporary(void)
{
    if (to_remove)
        unlink(to_remove);
}

static int failed(const char *name, struct err *e)
{
    return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
}

static int open_beside(struct saving *s, const char *path, struct err *e)
{
    mode_t mask = umask(0);
    struct stat st = {0};
    size_t n;

    umask(mask);
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "%s: not a regular file", path);
    s->name = realpath(path, NULL);
    if (!s->name)
        s->name = strdup(path);
    n = s->name ? strlen(s->name) + 8 : 0;
    s->temporary = n ? malloc(n) : NULL;
    if (!s->temporary)
        return err_nomem(e);
    snprintf(s->temporary, n, "%s.XXXXXX", s->name);
    s->fd = mkstemp(s->temporary);
    if (s->fd < 0)
        return failed(path, e);
    to_remove = s->temporary;
    atexit(remove_temporary);
    fchmod(s->fd, st.st_mode ? st.st_mode & 07777 : 0666 & ~mask);
    return 0;
}

struct saving *saving_open(const char *path, const char *by,
                           const struct gguf *g)
{
    struct saving *s = calloc(1, sizeof *s);
    struct err e = {0};

    if (!s)
        err_nomem(&e);
    else if (!open_beside(s, path, &e) &&
             !wire_out_open(&s->w, s->fd, WIRE_CBOR, &e)) {
        wire_out_name(s->w, s->name);
        wire_out_hold(s->w);
        if (!model_header_try(s->w, by, g, &e))
            return s;
    }
    die(&e);
}

/* Blocks of the positions from I to END, which are all kept. */
static int put_block(struct saving *s, uint64_t seq, const struct windows *w,
                     const struct score_kept *k, size_t i, size_t end,
                     struct err *e)
{
    struct score_kept part = score_kept_part(k, i, end - i);
    struct wire_kept rec = {.seq = seq,
                            .pos = i,
                            .n = part.n,
                            .k = k->k,
                            .m = k->m,
                            .context = (uint64_t)w->context,
                            .stride = (uint64_t)w->stride,
                            .skip = (uint64_t)w->skip};
    struct buf z = {0};
    int rc = score_kept_pack(&z, &part, e);

    rec.z = z.p;
    rec.nz = z.n;
    rc = rc || wire_put_kept(s->w, &rec, e);
    buf_free(&z);
    return rc ? -1 : 0;
}

int saving_put(struct saving *s, uint64_t seq, const struct windows *w,
               const struct scored *what, const struct tok *tok,
               const int32_t *ids, struct err *e)
{
    struct wire_tokens t = {
        .seq = seq, .ids = (const uint32_t *)ids, .n = (size_t)what->n};
    struct wire_end end = {.seq = seq, .why = "input", .ntokens = t.n};
    struct buf text = {0};
    int rc = tok_decode(&text, tok, t.ids, t.n, TOK_AT_START, e);

    t.text = text.p ? text.p : (const void *)"";
    t.ntext = text.n;
    rc = rc || wire_put_tokens(s->w, &t, e);
    buf_free(&text);
    for (size_t i = 0, n; !rc && i < t.n; i += n) {
        n = 1;
        if (isnan(what->lp[i]))
            continue;
        while (n < SCORE_KEPT_N && i + n < t.n && !isnan(what->lp[i + n]))
            n++;
        rc = put_block(s, seq, w, &what->save, i, i + n, e);
    }
    return rc || wire_put_end(s->w, &end, e) ? -1 : 0;
}

int saving_close(struct saving *s, bool ok, struct err *e)
{
    int rc = wire_out_close(s->w, e);

    if (!rc && ok && fsync(s->fd))
        rc = failed(s->name, e);
    if (close(s->fd) && !rc)
        rc = failed(s->name, e);
    if (!rc && ok && rename(s->temporary, s->name))
        rc = failed(s->name, e);
    if (rc || !ok)
        unlink(s->temporary);
    to_remove = NULL;
    free(s->name);
    free(s->temporary);
    free(s);
    return rc;
}

/* ---- reading ---- */

static int get(int64_t *v, const struct wire_rec *r, const char *key,
               int64_t min, int64_t max, struct err *e)
{
    int got = wire_get_int(v, r, key, min, max, e);

    return got < 0 ? -1
           : got   ? 0
                   : err_set(e, ERR_FORMAT, "key '%s' is missing", key);
}

int kept_add(struct kept_list *l, const struct wire_rec *r, struct err *e)
{
    const int64_t most = INT32_MAX / 4;
    int64_t pos, n, k, m, context, stride, skip;
    struct kept_block b = {0};
    const char *z;

    if (strcmp(r->t, "kept"))
        return 0;
    if (get(&pos, r, "pos", 0, most, e) ||
        get(&n, r, "n", 1, SCORE_KEPT_N, e) || get(&k, r, "k", 1, most, e) ||
        get(&m, r, "m", 0, most, e) ||
        get(&context, r, "context", 1, most, e) ||
        get(&stride, r, "stride", 1, context, e) ||
        get(&skip, r, "skip", 0, most, e))
        return -1;
    if (wire_get_str(&z, &b.nz, r, "z", e) <= 0)
        return err_set(e, ERR_FORMAT, "key 'z' is missing");
    if (l->blocks.n && ((uint64_t)k != l->k || (uint64_t)m != l->m ||
                        l->windows.context != context ||
                        l->windows.stride != stride || l->windows.skip != skip))
        return err_set(e, ERR_FORMAT, "it is not as the one before it");
    b.pos = (uint64_t)pos;
    b.n = (uint64_t)n;
    l->k = (uint64_t)k;
    l->m = (uint64_t)m;
    l->windows = (struct windows){(int)context, (int)stride, (int)skip};
    buf_put(&l->blocks, &b, sizeof b);
    buf_put(&l->blocks, z, b.nz);
    return buf_ok(&l->blocks, e) ? -1 : 1;
}

int kept_all(struct score_kept *out, const struct kept_list *l, int n,
             size_t n_vocab, struct err *e)
{
    struct kept_block b;

    if (!l->blocks.n)
        return err_set(e, ERR_FORMAT, "nothing is kept of its tokens");
    if (l->k > n_vocab)
        return err_set(e, ERR_FORMAT, "more is kept than there are tokens");
    if (score_kept_new(out, (size_t)n, (size_t)l->k, (size_t)l->m, e))
        return -1;
    for (int i = 0; i < n; i++)
        out->lp[i] = NAN;
    for (size_t at = 0; at < l->blocks.n; at += b.nz) {
        struct score_kept part;

        memcpy(&b, l->blocks.p + at, sizeof b);
        at += sizeof b;
        if (b.pos > (uint64_t)n || b.n > (uint64_t)n - b.pos)
            return err_set(e, ERR_FORMAT,
                           "something is kept of tokens that are not there");
        part = score_kept_part(out, (size_t)b.pos, (size_t)b.n);
        if (score_kept_unpack(&part, l->blocks.p + at, b.nz, n_vocab, e))
            return -1;
    }
    return 0;
}
