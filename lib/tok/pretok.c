/* SPDX-License-Identifier: MIT */

#define PRETOK_DATA
#include "tok/pretok.h"

#include <string.h>

#include "base/unicode.h"
#include "base/utf8.h"

static const struct pretok_name *find_name(const char *name)
{
    size_t lo = 0, hi = sizeof pretok_names / sizeof *pretok_names;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(name, pretok_names[mid].name);

        if (!c)
            return &pretok_names[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

bool pretok_at(struct pretok_info *out, size_t i)
{
    const struct pretok_rule *rule;

    if (i >= sizeof pretok_names / sizeof *pretok_names)
        return false;
    rule = &pretok_rules[pretok_names[i].rule];
    *out = (struct pretok_info){pretok_names[i].name, rule->name,
                                pretok_names[i].flags, rule->step};
    return true;
}

int pretok_open(struct pretok *pt, const char *name, struct err *e)
{
    const struct pretok_name *n = find_name(name);
    const struct pretok_rule *rule;

    *pt = (struct pretok){0};
    if (!*name)
        return err_set(e, ERR_UNSUPPORTED,
                       "no key tokenizer.ggml.pre says how to split the text "
                       "(--pre names a rule)");
    if (!n)
        return err_set(e, ERR_UNSUPPORTED, "unknown pre-tokenizer '%s'", name);
    rule = &pretok_rules[n->rule];
    pt->flags = n->flags;
    for (const struct pretok_step *step = rule->step; step->kind; step++) {
        struct pretok_level *l = &pt->level[pt->nlevel++];

        l->kind = step->kind;
        if (step->re && regex_new(&l->re, step->re, e)) {
            pretok_close(pt);
            return -1;
        }
    }
    return 0;
}

void pretok_close(struct pretok *pt)
{
    for (int i = 0; i < pt->nlevel; i++)
        regex_free(pt->level[i].re);
    *pt = (struct pretok){0};
}

/* ---- the rules that no pattern says ----
 * All answer as regex_search() does: where the next piece that they make
 * begins, and its length. */

/* The class of the character at P, its length in *LEN: 0 when it may be cut
 * off by END. */
static uint8_t class_at(const unsigned char *p, const unsigned char *end,
                        bool final, size_t *len)
{
    uint32_t cp;

    *len = utf8_get(p, (size_t)(end - p), &cp);
    if (cp == UTF8_BAD && !final &&
        utf8_tail(p, (size_t)(end - p)) == (size_t)(end - p))
        *len = 0;
    return unicode_class(cp);
}

static bool is_number(uint8_t u)
{
    return unicode_category_is(u, "N");
}

static bool is_digit(uint8_t u)
{
    return unicode_category_is(u, "Nd");
}

/* Is the character at P what Oniguruma has in \w?  Besides letters, marks and
 * digits those are the numbers of Latin-1 and letters in circles and squares.
 */
static bool word_at(const unsigned char *p, const unsigned char *end)
{
    uint32_t cp;
    uint8_t u;

    utf8_get(p, (size_t)(end - p), &cp);
    u = unicode_class(cp);
    return unicode_is(u, UNI_L | UNI_M | 1 << UNI_ND | 1 << UNI_NL |
                             1 << UNI_PC) ||
           (is_number(u) && cp < 256) || (cp >= 0x24b6 && cp <= 0x24e9) ||
           (cp >= 0x1f130 && cp <= 0x1f149) ||
           (cp >= 0x1f150 && cp <= 0x1f169) || (cp >= 0x1f170 && cp <= 0x1f189);
}

/* Walk over characters that IS holds for; where it stops, how many there were
 * in *COUNT.  *MORE when END came first or cut a character. */
static const unsigned char *span(const unsigned char *p,
                                 const unsigned char *end, bool final,
                                 bool (*is)(uint8_t), size_t *count, bool *more)
{
    size_t len;

    for (*count = 0; p < end; ++*count, p += len) {
        uint8_t u = class_at(p, end, final, &len);

        if (!len)
            break;
        if (!is(u)) {
            *more = false;
            return p;
        }
    }
    *more = !final;
    return p;
}

static const unsigned char *skip_chars(const unsigned char *p,
                                       const unsigned char *end, size_t n)
{
    size_t len;

    for (; n; n--, p += len)
        class_at(p, end, true, &len);
    return p;
}

/* The first character at or after P that IS holds for; END if none. */
static const unsigned char *first_that(const unsigned char *p,
                                       const unsigned char *end, bool final,
                                       bool (*is)(uint8_t), size_t *len)
{
    for (; p < end; p += *len) {
        uint8_t u = class_at(p, end, final, len);

        if (!*len) {
            *len = REGEX_MORE;
            return p;
        }
        if (is(u))
            return p;
    }
    *len = 0;
    return p;
}

/* What is known of the digits at hand, so that a long run is not counted again
 * for each three of it: COUNT digits from AT to END; numbers of any kind up to
 * NUMBERS. */
struct run_memo {
    const unsigned char *at, *end, *numbers;
    size_t count;
};

/* The digits from Q on, their number in *COUNT; where they stop. */
static const unsigned char *digits(struct run_memo *m, const unsigned char *q,
                                   const unsigned char *end, bool final,
                                   size_t *count, bool *more)
{
    *more = false;
    if (m->at && q >= m->at && q < m->end) {
        for (size_t len; m->at < q; m->at += len, m->count--)
            class_at(m->at, end, true, &len);
    } else {
        m->end = span(q, end, final, is_digit, &m->count, more);
        m->at = *more ? NULL : q;
    }
    *count = m->count;
    return m->end;
}

static const unsigned char *digits_search(struct run_memo *m,
                                          const unsigned char *p,
                                          const unsigned char *end, bool final,
                                          bool word, size_t *len)
{
    for (;;) {
        const unsigned char *q;
        size_t count;
        bool more;

        p = first_that(p, end, final, is_digit, len);
        if (p == end || *len == REGEX_MORE)
            return p;
        q = digits(m, p, end, final, &count, &more);
        if (more) {
            *len = REGEX_MORE;
            return p;
        }
        if (word && q < end && word_at(q, end)) {
            p = q;
            continue;
        }
        q = skip_chars(p, end, count % 3 ? count % 3 : 3);
        *len = (size_t)(q - p);
        return p;
    }
}

static const unsigned char *numbers_search(struct run_memo *m,
                                           const unsigned char *p,
                                           const unsigned char *end, bool final,
                                           size_t *len)
{
    const unsigned char *q;
    size_t count;
    bool more = false;

    p = first_that(p, end, final, is_number, len);
    if (p == end || *len == REGEX_MORE)
        return p;
    if (!m->numbers || p >= m->numbers)
        m->numbers = span(p, end, final, is_number, &count, &more);
    if (more) {
        m->numbers = NULL;
        *len = REGEX_MORE;
        return p;
    }
    for (q = p; q < m->numbers; q += *len)
        if (is_digit(class_at(q, end, true, len))) {
            digits(m, q, m->numbers, true, &count, &more);
            if (q > p && count % 3 == 0)
                break;
        }
    *len = (size_t)(q - p);
    return p;
}

static bool digit_byte(unsigned char b)
{
    return (b >= '0' && b <= '9') || b == 0xb2 || b == 0xb3 || b == 0xb9 ||
           (b >= 0xbc && b <= 0xbe);
}

static const unsigned char *digit_bytes_search(const unsigned char *p,
                                               const unsigned char *end,
                                               bool final, size_t *len)
{
    const unsigned char *q;

    while (p < end && !digit_byte(*p))
        p++;
    for (q = p; q < end && digit_byte(*q); q++)
        ;
    *len = q == end && p < end && !final ? REGEX_MORE : (size_t)(q - p);
    return p;
}

/* The piece from P to the next match of RE that does not begin at P. */
static const unsigned char *before_search(const struct regex *re,
                                          const unsigned char *p,
                                          const unsigned char *end, bool final,
                                          size_t *len)
{
    size_t n = p < end ? regex_match(re, p, end, final) : 0;
    const unsigned char *q;

    *len = REGEX_MORE;
    if (n == REGEX_MORE)
        return p;
    q = regex_search(re, p + n, end, final, &n);
    if (n != REGEX_MORE && (q < end || final))
        *len = (size_t)(q - p);
    return p;
}

/* The white space that ends the text, if it ends there. */
static const unsigned char *tail_search(const unsigned char *p,
                                        const unsigned char *end, bool final,
                                        size_t *len)
{
    const unsigned char *tail = end;
    size_t n;

    for (const unsigned char *q = p; q < end; q += n) {
        uint8_t u = class_at(q, end, final, &n);

        if (!n) {
            tail = tail < end ? tail : q;
            break;
        }
        if (!(u & UNI_SPACE))
            tail = end;
        else if (tail == end)
            tail = q;
    }
    *len = tail < end && !final ? REGEX_MORE : (size_t)(end - tail);
    return tail;
}

static bool is_space(uint8_t u)
{
    return u & UNI_SPACE;
}

/* Make M what is known of the white space at Q: COUNT characters from AT, after
 * the last newline, to END.  False when more text could change it. */
static bool count_spaces(struct run_memo *m, const unsigned char *q,
                         const unsigned char *end, bool final)
{
    size_t len = 0;

    *m = (struct run_memo){.at = q, .end = q};
    for (; m->end < end; m->end += len) {
        uint8_t u = class_at(m->end, end, final, &len);

        if (!len || !is_space(u))
            break;
        m->count++;
        if (*m->end == '\r' || *m->end == '\n') {
            m->at = m->end + 1;
            m->count = 0;
        }
    }
    return final || (m->end < end && len);
}

static const unsigned char *spaces_search(struct run_memo *m,
                                          const unsigned char *p,
                                          const unsigned char *end, bool final,
                                          size_t *len)
{
    enum { RUN = 512 };

    for (;; p = m->end) {
        p = first_that(p, end, final, is_space, len);
        if (p == end || *len == REGEX_MORE)
            return p;
        if ((!m->at || p < m->at || p >= m->end) &&
            !count_spaces(m, p, end, final)) {
            m->at = NULL;
            *len = REGEX_MORE;
            return p;
        }
        if (m->count > RUN)
            break;
    }
    /* Pieces are taken from AT on, one after the other. */
    p = m->at;
    m->at = skip_chars(p, end, RUN);
    m->count -= RUN;
    *len = (size_t)(m->at - p);
    return p;
}

static const unsigned char *level_search(const struct pretok_level *l,
                                         struct run_memo *m,
                                         const unsigned char *p,
                                         const unsigned char *end, bool final,
                                         size_t *len)
{
    switch (l->kind) {
    case PRETOK_SPLIT:
    case PRETOK_KEEP:
        break;
    case PRETOK_DIGITS_ND:
        return digits_search(m, p, end, final, false, len);
    case PRETOK_DIGITS_WORD:
        return digits_search(m, p, end, final, true, len);
    case PRETOK_DIGITS_N:
        return numbers_search(m, p, end, final, len);
    case PRETOK_DIGIT_BYTES:
        return digit_bytes_search(p, end, final, len);
    case PRETOK_TAIL:
        return tail_search(p, end, final, len);
    case PRETOK_SPACES512:
        return spaces_search(m, p, end, final, len);
    case PRETOK_BEFORE:
        return before_search(l->re, p, end, final, len);
    }
    return regex_search(l->re, p, end, final, len);
}

/* ---- walking ---- */

struct walk {
    const struct pretok *pt;
    const unsigned char *text_end; /* bytes up to it may be read */
    pretok_fn *fn;
    void *arg;
};

static const unsigned char *walk_level(const struct walk *w, int level,
                                       const unsigned char *p,
                                       const unsigned char *stop,
                                       const unsigned char *end, bool final);

/* The last level, where every match and every gap is a piece. */
static const unsigned char *walk_last(const struct walk *w,
                                      const struct pretok_level *l,
                                      const unsigned char *p,
                                      const unsigned char *stop,
                                      const unsigned char *end, bool final)
{
    const struct regex *re = l->re;

    while (p < stop) {
        const unsigned char *q = p;
        size_t n = regex_match(re, p, end, final);

        if (!n)
            q = regex_search(re, p, end, final, &n);
        if (n == REGEX_MORE)
            return p;
        if (q > p) {
            if (q == end && !final)
                return p;
            if (l->kind != PRETOK_KEEP)
                w->fn(w->arg, p, (size_t)(q - p), w->text_end);
            p = q;
            continue;
        }
        w->fn(w->arg, p, n, w->text_end);
        p += n;
    }
    return p;
}

static const unsigned char *walk_level(const struct walk *w, int level,
                                       const unsigned char *p,
                                       const unsigned char *stop,
                                       const unsigned char *end, bool final)
{
    const struct pretok_level *l = &w->pt->level[level];
    struct run_memo memo = {0};

    if (level == w->pt->nlevel) {
        if (!final)
            return p;
        w->fn(w->arg, p, (size_t)(end - p), w->text_end);
        return end;
    }
    if (level == w->pt->nlevel - 1 && l->re && l->kind != PRETOK_BEFORE)
        return walk_last(w, l, p, stop, end, final);
    while (p < stop) {
        size_t n;
        const unsigned char *q = level_search(l, &memo, p, end, final, &n);
        bool more = n == REGEX_MORE || (q == end && !final);

        if (q > p) {
            const unsigned char *part = q < stop ? q : stop;

            /* A gap whose end is not known yet may be left half-way: the
             * levels below have no memory of where it began. */
            p = walk_level(w, level + 1, p, part, q, !more);
            if (p < part)
                return p;
            continue;
        }
        if (more)
            return p;
        walk_level(w, level + 1, q, q + n, q + n, true);
        p = q + n;
    }
    return p;
}

const unsigned char *pretok_walk(const struct pretok *pt,
                                 const unsigned char *p,
                                 const unsigned char *stop,
                                 const unsigned char *end, bool final,
                                 pretok_fn *fn, void *arg)
{
    struct walk w = {pt, end, fn, arg};

    return walk_level(&w, 0, p, stop, end, final);
}

const unsigned char *pretok_cut(const struct pretok *pt,
                                const unsigned char *from,
                                const unsigned char *to)
{
    const struct pretok_level *last = &pt->level[pt->nlevel - 1];

    if (!pt->nlevel || !last->re)
        return NULL;
    for (const unsigned char *p = from + 1; p < to; p++) {
        int i;

        if (p[-1] >= 128 || (*p & 0xc0) == 0x80)
            continue;
        for (i = 0; i < pt->nlevel; i++) {
            const struct pretok_level *l = &pt->level[i];

            if (l->kind == PRETOK_BEFORE)
                continue;
            if (l->kind == PRETOK_TAIL || l->kind == PRETOK_SPACES512
                    ? unicode_class(p[-1]) & UNI_SPACE
                : l->re ? !regex_border(l->re, p[-1], p, to, l == last)
                        : p[-1] >= '0' && p[-1] <= '9')
                break;
        }
        if (i == pt->nlevel)
            return p;
    }
    return NULL;
}
