/* SPDX-License-Identifier: MIT */
#include "kv/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "kv/kv_impl.h"

struct kv_disk {
    struct kv *kv;
    char *dir; /* DIR/KEY */
    uint64_t max;
    struct kv_state_layer *layer; /* [kv->nlayer]: a page of each */
};

/* ---- names ---- */

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *p = malloc(n);

    if (p)
        snprintf(p, n, "%s/%s", a, b);
    return p;
}

static void hash_number(XXH3_state_t *h, uint64_t v)
{
    unsigned char b[8];

    wr_u64(b, v);
    XXH3_64bits_update(h, b, sizeof b);
}

static void hash_text(XXH3_state_t *h, const char *s)
{
    XXH3_64bits_update(h, s, strlen(s) + 1);
}

/* What states must agree in. */
static int make_key(char key[17], const struct kv *kv)
{
    XXH3_state_t *h = XXH3_createState();

    if (!h)
        return -1;
    XXH3_64bits_reset(h);
    hash_text(h, kv->model_id);
    hash_text(h, kv->rope);
    hash_number(h, kv->ktype);
    hash_number(h, kv->vtype);
    for (int i = 0; i < kv->nlayer; i++) {
        hash_number(h, (uint64_t)kv->layer[i].heads);
        hash_number(h, (uint64_t)kv->layer[i].dk);
        hash_number(h, (uint64_t)kv->layer[i].dv);
        hash_number(h, (uint64_t)kv->layer[i].window);
    }
    snprintf(key, 17, "%016llx", (unsigned long long)XXH3_64bits_digest(h));
    XXH3_freeState(h);
    return 0;
}

/* The file of a page; malloc'ed. */
static char *file_of(const struct kv_disk *d, XXH128_hash_t name)
{
    char hex[40];

    snprintf(hex, sizeof hex, "%016llx%016llx.kv",
             (unsigned long long)name.high64, (unsigned long long)name.low64);
    return join(d->dir, hex);
}

static int make_folder(const char *path, struct err *e)
{
    struct stat st;

    if (!mkdir(path, 0700) ||
        (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode)))
        return 0;
    return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
}

int kv_disk_open(struct kv_disk **out, struct kv *kv, const char *dir,
                 uint64_t max_bytes, struct err *e)
{
    struct kv_disk *d = calloc(1, sizeof *d);
    char key[17];

    if (!d || make_key(key, kv)) {
        free(d);
        return err_nomem(e);
    }
    d->kv = kv;
    d->max = max_bytes;
    d->dir = join(dir, key);
    d->layer = calloc((size_t)kv->nlayer, sizeof *d->layer);
    if (!d->dir || !d->layer)
        err_nomem(e);
    else if (!make_folder(dir, e) && !make_folder(d->dir, e)) {
        *out = d;
        return 0;
    }
    free(d->dir);
    free(d->layer);
    free(d);
    return -1;
}

/* The state that page I of the tokens T is. */
static struct kv_state page_state(struct kv_disk *d, const char *adapters,
                                  const int32_t *t, int i)
{
    const struct kv *kv = d->kv;

    for (int l = 0; l < kv->nlayer; l++)
        if (kv->layer[l].heads)
            d->layer[l] =
                (struct kv_state_layer){kv->layer[l].heads, kv->layer[l].dk,
                                        kv->layer[l].dv, BE_PAGE, i * BE_PAGE};
    return (struct kv_state){
        kv->model_id, kv->rope, kv->ktype,         kv->vtype, d->layer,
        kv->nlayer,   t,        (i + 1) * BE_PAGE, adapters};
}

/* ---- writing ---- */

static int write_pages(struct kv_writer *w, const struct kv_seq *s,
                       struct err *e)
{
    const struct kv *kv = s->kv;
    struct buf buf = {0};
    int layer, page, rc = 0;

    while (!rc && kv_writer_next(w, &layer, &page)) {
        size_t k = BE_PAGE * be_kv_row(kv->be, layer, 0);
        size_t v = BE_PAGE * be_kv_row(kv->be, layer, 1);
        int id = s->table[kv->group[layer]][page];
        struct kv_page p = {0};

        buf.n = 0;
        if (!buf_reserve(&buf, k + v)) {
            rc = err_nomem(e);
            break;
        }
        be_kv_get(kv->be, layer, 0, id, 0, BE_PAGE, buf.p);
        be_kv_get(kv->be, layer, 1, id, 0, BE_PAGE, buf.p + k);
        p.k = buf.p;
        p.v = buf.p + k;
        rc = kv_writer_page(w, &p, e);
    }
    buf_free(&buf);
    return rc ? rc : kv_writer_end(w, e);
}

static int write_stream(struct kv_disk *d, int fd, const char *path,
                        const struct kv_seq *s, int i, struct err *e)
{
    struct kv_state x = page_state(d, s->adapt.text, s->tok, i);
    struct wire_header h = {.by = "llmutils", .id = d->kv->model_id};
    struct kv_writer *w;
    struct wire_out *out;
    int rc;

    if (wire_out_open(&out, fd, WIRE_CBOR, e))
        return -1;
    wire_out_name(out, path);
    rc = wire_put_header(out, &h, e);
    if (!rc)
        rc = kv_writer_new(&w, out, 0, &x, e);
    if (!rc) {
        rc = write_pages(w, s, e);
        kv_writer_free(w);
    }
    if (wire_out_close(out, e))
        rc = -1;
    return rc;
}

static int write_page(struct kv_disk *d, const char *path,
                      const struct kv_seq *s, int i, struct err *e)
{
    char *tmp = join(d->dir, "new.XXXXXX");
    int fd, rc;

    if (!tmp)
        return err_nomem(e);
    fd = mkstemp(tmp);
    if (fd < 0) {
        rc = err_set(e, ERR_IO, "%s: %s", d->dir, strerror(errno));
    } else {
        rc = write_stream(d, fd, d->dir, s, i, e);
        close(fd);
        if (!rc && rename(tmp, path))
            rc = err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
        if (rc)
            unlink(tmp);
    }
    free(tmp);
    return rc;
}

/* Have all groups page I? */
static bool has_page(const struct kv_seq *s, int i)
{
    for (int g = 0; g < s->kv->npool; g++)
        if (s->table[g][i] < 0)
            return false;
    return s->kv->npool > 0;
}

int kv_disk_save(struct kv_disk *d, const struct kv_seq *s, struct err *e)
{
    int rc = 0;

    for (int i = 0; !rc && i < s->n / BE_PAGE; i++) {
        char *path = file_of(d, s->name[i]);

        if (!path)
            return err_nomem(e);
        if (access(path, F_OK) && has_page(s, i))
            rc = write_page(d, path, s, i, e);
        free(path);
    }
    return rc;
}

/* ---- reading ---- */

/* Is X what page I of the tokens T must be? */
static bool is_page(struct kv_disk *d, const struct kv_state *x,
                    const char *adapters, const int32_t *t, int i)
{
    struct kv_state want = page_state(d, adapters, t, i);

    if (strcmp(x->adapters, adapters) || strcmp(x->model, want.model) ||
        strcmp(x->rope, want.rope) || x->ktype != want.ktype ||
        x->vtype != want.vtype || x->nlayer != want.nlayer || x->n != want.n ||
        memcmp(x->ids, want.ids, (size_t)x->n * sizeof *x->ids))
        return false;
    for (int l = 0; l < x->nlayer; l++) {
        const struct kv_state_layer *a = &x->layer[l], *b = &want.layer[l];

        if (a->heads != b->heads || a->dk != b->dk || a->dv != b->dv ||
            a->window != b->window || a->from != b->from)
            return false;
    }
    return true;
}

/* The records of page I into S; false when they are not all right. */
static bool read_records(struct kv_disk *d, struct kv_reader *r,
                         struct wire_in *in, struct kv_seq *s, const int32_t *t,
                         int i)
{
    const struct kv *kv = d->kv;
    struct wire_rec rec;
    struct kv_page p;

    while (wire_next(in, &rec, NULL) > 0) {
        if (rec.kind != WIRE_KV)
            continue;
        switch (kv_reader_add(r, &p, &rec, NULL)) {
        case KV_GOT_HEAD:
            if (!is_page(d, kv_reader_state(r), kv_adapt_text(&s->adapt), t, i))
                return false;
            break;
        case KV_GOT_PAGE: {
            int id = s->table[kv->group[p.layer]][i];

            if (id < 0)
                break;
            be_kv_put(kv->be, p.layer, 0, id, 0, p.n, p.k);
            be_kv_put(kv->be, p.layer, 1, id, 0, p.n, p.v);
            break;
        }
        case KV_GOT_END:
            return true;
        default:
            return false;
        }
    }
    return false;
}

static bool read_page(struct kv_disk *d, const char *path, struct kv_seq *s,
                      const int32_t *t, int i)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct kv_reader *r = kv_reader_new(NULL);
    struct wire_in *in = NULL;
    bool good = fd >= 0 && r && !wire_in_open(&in, fd, path, NULL) &&
                read_records(d, r, in, s, t, i);

    wire_in_close(in);
    kv_reader_free(r);
    if (fd >= 0) {
        if (good)
            futimens(fd, NULL);
        close(fd);
    }
    return good;
}

/* A sequence of the first NPAGE pages; NULL with *BAD, the first page that was
 * not right, or with *E. */
static struct kv_seq *read_all(struct kv_disk *d, const struct kv_seq *like,
                               const int32_t *t, char *const *file, int npage,
                               int *bad, struct err *e)
{
    struct kv *kv = d->kv;
    struct kv_seq *s = like ? kv_seq_like(like) : kv_seq_new(kv);
    int from[BE_MAX_GROUPS];

    *bad = -1;
    for (int g = 0; g < kv->npool; g++)
        from[g] = kv_low_page(kv, g, npage * BE_PAGE);
    if (!s) {
        err_nomem(e);
        return NULL;
    }
    if (kv_seq_fill(s, t, npage * BE_PAGE, from, NULL)) {
        *bad = 0; /* no room: as if it were not there */
    } else {
        for (int i = 0; i < npage && *bad < 0; i++) {
            bool need = false;

            for (int g = 0; g < kv->npool; g++)
                need |= from[g] <= i;
            if (need && !read_page(d, file[i], s, t, i)) {
                unlink(file[i]); /* or it would never be written anew */
                *bad = i;
            }
        }
        if (*bad < 0) {
            kv_seq_share(s);
            return s;
        }
    }
    kv_seq_free(s);
    return NULL;
}

int kv_disk_load(struct kv_disk *d, struct kv_seq **s, const int32_t *t, int n,
                 struct err *e)
{
    int most = n > 0 ? (n - 1) / BE_PAGE : 0, npage = 0, rc = 0;
    int have = *s ? kv_seq_n(*s) / BE_PAGE : 0;
    const struct kv_adapt *a = *s ? &(*s)->adapt : &d->kv->adapt;
    char **file;
    XXH128_hash_t name = {0}, salt;
    const XXH128_hash_t *before = kv_salt(&salt, kv_adapt_text(a));

    if (most > d->kv->npage)
        most = d->kv->npage;
    if (most <= have)
        return 0;
    file = calloc((size_t)most, sizeof *file);
    if (!file)
        return err_nomem(e);
    for (; npage < most; npage++) {
        name = kv_page_name(before, t + npage * BE_PAGE);
        before = &name;
        file[npage] = file_of(d, name);
        if (!file[npage] || access(file[npage], R_OK))
            break;
    }
    while (!rc && npage > have) {
        int bad;
        struct kv_seq *new = read_all(d, *s, t, file, npage, &bad, e);

        if (new) {
            kv_seq_free(*s);
            *s = new;
            break;
        }
        rc = bad < 0 ? -1 : 0;
        npage = bad;
    }
    for (int i = 0; i < most; i++)
        free(file[i]);
    free(file);
    return rc;
}

/* ---- keeping it small ---- */

struct aged {
    char *path;
    uint64_t bytes;
    struct timespec used;
};

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const struct aged *)a)->used;
    const struct timespec *y = &((const struct aged *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Is the first part of NAME this many digits, as we write them? */
static bool digits(const char *name, size_t n)
{
    return strspn(name, "0123456789abcdef") == n;
}

/* What is called otherwise is not ours to remove. */
static bool is_ours(const char *name)
{
    return (digits(name, 32) && !strcmp(name + 32, ".kv")) ||
           (!strncmp(name, "new.", 4) && strlen(name) == 10);
}

/* Files of one KEY, appended, also those that were left half-written. */
static void list(struct aged **v, size_t *n, const char *dir)
{
    DIR *f = opendir(dir);
    struct dirent *x;

    while (f && (x = readdir(f))) {
        char *path = is_ours(x->d_name) ? join(dir, x->d_name) : NULL;
        struct aged *more;
        struct stat st;

        if (!path || lstat(path, &st) || !S_ISREG(st.st_mode) ||
            !(more = realloc(*v, (*n + 1) * sizeof **v))) {
            free(path);
            continue;
        }
        *v = more;
        more[(*n)++] = (struct aged){path, (uint64_t)st.st_size, st.st_mtim};
    }
    if (f)
        closedir(f);
}

static void shrink(const struct kv_disk *d)
{
    char *top = join(d->dir, "..");
    DIR *f = top ? opendir(top) : NULL;
    struct dirent *x;
    struct aged *v = NULL;
    size_t n = 0;
    uint64_t total = 0;

    while (f && (x = readdir(f))) {
        bool key = digits(x->d_name, 16) && !x->d_name[16];
        char *sub = key ? join(top, x->d_name) : NULL;

        if (sub)
            list(&v, &n, sub);
        free(sub);
    }
    if (f)
        closedir(f);
    for (size_t i = 0; i < n; i++)
        total += v[i].bytes;
    if (total > d->max)
        qsort(v, n, sizeof *v, by_age);
    for (size_t i = 0; i < n && total > d->max; i++)
        if (!unlink(v[i].path))
            total -= v[i].bytes;
    for (size_t i = 0; i < n; i++)
        free(v[i].path);
    free(v);
    free(top);
}

void kv_disk_close(struct kv_disk *d)
{
    if (!d)
        return;
    shrink(d);
    free(d->dir);
    free(d->layer);
    free(d);
}
