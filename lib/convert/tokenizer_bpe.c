/* SPDX-License-Identifier: MIT
 * tokenizer_bpe.c - merges: that they are of known tokens, and whether scores
 * or nothing at all could stand for what they and ignore_merges say. */
#include <stdlib.h>

#include "convert/tokenizer_impl.h"

enum {
    PART_BYTES = 12,
    MAX_MERGES = 1 << 26,
    LONG = 1024, /* nobody's token: what takes its length squared is not done */
};

/* The parts of a merge, either of the forms that files have: ["a", "b"] and
 * "a b". */
static int merge_parts(struct gguf_str part[2], const json_t *m)
{
    const char *s, *space;
    size_t n;

    if (json_is_string(m)) {
        s = json_string_value(m);
        n = json_string_length(m);
        space = n ? memchr(s + 1, ' ', n - 1) : NULL;
        if (!space)
            return -1;
        part[0] = (struct gguf_str){s, (size_t)(space - s)};
        part[1] = (struct gguf_str){space + 1, n - part[0].n - 1};
    } else {
        for (size_t i = 0; i < 2; i++) {
            const json_t *p = json_array_get(m, i);

            if (json_array_size(m) != 2 || !json_is_string(p))
                return -1;
            part[i] =
                (struct gguf_str){json_string_value(p), json_string_length(p)};
        }
    }
    /* In a GGUF the first space parts them. */
    return !part[0].n || !part[1].n || memchr(part[0].p, ' ', part[0].n) ||
                   memchr(part[1].p, ' ', part[1].n)
               ? -1
               : 0;
}

static int show(size_t n)
{
    return (int)(n < 80 ? n : 80);
}

static int add_merge(struct hf *h, const json_t *m, size_t i, struct buf *joint,
                     struct err *e)
{
    struct gguf_str part[2];
    int64_t id[3];
    unsigned char *p;

    if (merge_parts(part, m))
        return err_set(e, ERR_FORMAT, "model.merges[%zu]: not two tokens", i);
    joint->n = 0;
    for (int k = 0; k < 2; k++) {
        id[k] = voc_find(&h->voc, part[k].p, part[k].n);
        buf_put(joint, part[k].p, part[k].n);
    }
    if (buf_ok(joint, e))
        return -1;
    id[2] = voc_find(&h->voc, (char *)joint->p, joint->n);
    for (int k = 0; k < 3; k++)
        if (id[k] < 0)
            return err_set(e, ERR_FORMAT,
                           "model.merges[%zu]: '%.*s' is no token", i,
                           show(k < 2 ? part[k].n : joint->n),
                           k < 2 ? part[k].p : (char *)joint->p);
    p = buf_add(&h->parts, PART_BYTES);
    for (int k = 0; p && k < 3; k++)
        wr_u32(p + 4 * k, (uint32_t)id[k]);
    p = buf_add(&h->merges, 8 + joint->n + 1);
    if (p) {
        wr_u64(p, joint->n + 1);
        memcpy(p + 8, part[0].p, part[0].n);
        p[8 + part[0].n] = ' ';
        memcpy(p + 8 + part[0].n + 1, part[1].p, part[1].n);
    }
    h->nmerge++;
    return 0;
}

int hf_bpe_merges(struct hf *h, const json_t *merges, struct err *e)
{
    struct buf joint = {0};
    json_t *m;
    size_t i;
    int rc = 0;

    if (!json_is_array(merges))
        return err_set(e, ERR_FORMAT, "model.merges: no array");
    if (json_array_size(merges) > MAX_MERGES)
        return err_set(e, ERR_UNSUPPORTED, "model.merges: too many");
    json_array_foreach(merges, i, m)
    {
        rc = add_merge(h, m, i, &joint, e);
        if (rc)
            break;
    }
    if (!rc && (buf_ok(&h->merges, e) || buf_ok(&h->parts, e)))
        rc = -1;
    buf_free(&joint);
    return rc;
}

/* ---- pairs ---- */

struct pair {
    uint32_t a, b, rank1, id; /* rank1: 0 is an empty slot */
};

struct pairs {
    struct pair *p;
    unsigned bits;
};

static struct pair *pair_at(const struct pairs *t, uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    size_t mask = ((size_t)1 << t->bits) - 1, i = (size_t)(h >> 32) & mask;

    while (t->p[i].rank1 && (t->p[i].a != a || t->p[i].b != b))
        i = (i + 1) & mask;
    return &t->p[i];
}

static int pairs_open(struct pairs *t, const struct hf *h, struct err *e)
{
    for (t->bits = 4; ((size_t)1 << t->bits) / 3 * 2 < h->nmerge; t->bits++)
        ;
    t->p = calloc((size_t)1 << t->bits, sizeof *t->p);
    if (!t->p)
        return err_nomem(e);
    for (uint32_t i = 0; i < h->nmerge; i++) {
        const unsigned char *q = h->parts.p + (size_t)i * PART_BYTES;
        struct pair *to = pair_at(t, rd_u32(q), rd_u32(q + 4));

        if (!to->rank1)
            *to = (struct pair){rd_u32(q), rd_u32(q + 4), i + 1, rd_u32(q + 8)};
    }
    return 0;
}

/* ---- scores ---- */

static size_t char_len(const char *p, size_t n)
{
    size_t k = 1;

    while (k < n && ((unsigned char)p[k] & 0xc0) == 0x80)
        k++;
    return k;
}

/* Every way to cut token ID into two tokens must be a merge: merging by score
 * would use it. */
static bool all_splits(const struct hf *h, const struct pairs *t, uint32_t id)
{
    struct gguf_str s = voc_str(&h->voc, id);

    if (s.n > LONG)
        return false;
    for (size_t k = char_len(s.p, s.n); k < s.n;
         k += char_len(s.p + k, s.n - k)) {
        int64_t a = voc_find(&h->voc, s.p, k),
                b = voc_find(&h->voc, s.p + k, s.n - k);

        if (a >= 0 && b >= 0 && h->voc.t[a].type == TOK_NORMAL &&
            h->voc.t[b].type == TOK_NORMAL &&
            !pair_at(t, (uint32_t)a, (uint32_t)b)->rank1)
            return false;
    }
    return true;
}

/* Merging by score: of two unions the one with the better score goes first.  So
 * the merges that make one token must stand side by side. */
int hf_bpe_scores(struct hf *h, struct err *e)
{
    struct pairs t = {0};
    uint32_t last = UINT32_MAX;
    float score = 0;
    bool can = true;

    /* Scores are floats, whole numbers here. */
    if (h->nmerge >= 1u << 24)
        return 0;
    if (pairs_open(&t, h, e))
        return -1;
    for (uint64_t i = 0; can && i < h->nmerge; i++) {
        uint32_t id = rd_u32(h->parts.p + i * PART_BYTES + 8);
        struct voc_token *tok = &h->voc.t[id];

        if (id == last)
            continue;
        can = !tok->score && tok->type == TOK_NORMAL;
        tok->score = score -= 1;
        last = id;
    }
    for (uint32_t id = 0; can && id < h->voc.n; id++)
        if (h->voc.t[id].type == TOK_NORMAL)
            can = all_splits(h, &t, id);
    for (uint32_t id = 0; id < h->voc.n; id++)
        if (!can)
            h->voc.t[id].score = 0;
        else if (h->voc.t[id].type == TOK_NORMAL && !h->voc.t[id].score)
            h->voc.t[id].score = score -= 1;
    free(t.p);
    return can;
}

/* ---- ignore_merges ---- */

/* Merge token ID's characters; is it what comes out? */
static bool comes_out(const struct hf *h, const struct pairs *t, uint32_t id,
                      struct buf *work)
{
    struct gguf_str s = voc_str(&h->voc, id);
    uint32_t *sym;
    size_t n = 0;

    work->n = 0;
    sym = buf_reserve(work, (s.n + 1) * sizeof *sym);
    if (!sym)
        return false;
    for (size_t k = 0, len; k < s.n; k += len) {
        int64_t c;

        len = char_len(s.p + k, s.n - k);
        c = voc_find(&h->voc, s.p + k, len);
        if (c < 0)
            return false;
        sym[n++] = (uint32_t)c;
    }
    while (n > 1) {
        const struct pair *best = NULL;
        size_t at = 0;

        for (size_t k = 0; k + 1 < n; k++) {
            const struct pair *p = pair_at(t, sym[k], sym[k + 1]);

            if (p->rank1 && (!best || p->rank1 < best->rank1)) {
                best = p;
                at = k;
            }
        }
        if (!best)
            return false;
        sym[at] = best->id;
        memmove(sym + at + 1, sym + at + 2, (n - at - 2) * sizeof *sym);
        n--;
    }
    return n == 1 && sym[0] == id;
}

int hf_bpe_closed(struct hf *h, struct err *e)
{
    struct pairs t = {0};
    struct buf work = {0};
    uint64_t steps = 1ull << 30; /* seconds; real ones take some millions */
    bool closed = true;

    if (pairs_open(&t, h, e))
        return -1;
    for (uint32_t id = 0; closed && id < h->voc.n; id++) {
        uint64_t n = h->voc.t[id].n;

        if (h->voc.t[id].type != TOK_NORMAL || n < 2)
            continue;
        closed = n <= LONG && n * n <= steps && comes_out(h, &t, id, &work);
        steps -= n * n;
    }
    closed &= !work.bad;
    buf_free(&work);
    free(t.p);
    return closed;
}

bool hf_bpe_mixes_newlines(const struct hf *h)
{
    for (uint32_t id = 0; id < h->voc.n; id++) {
        struct gguf_str s = voc_str(&h->voc, id);
        size_t k = 0;

        while (k < s.n && s.p[k] == '\n')
            k++;
        if (k ? k < s.n : s.n && memchr(s.p, '\n', s.n))
            return true;
    }
    return false;
}
