/* SPDX-License-Identifier: MIT
 * unicode.c - look-ups in the tables of unicode_data.c, by halving.
 */
#include "base/unicode.h"

#include <stddef.h>

#include "base/unicode_data.h"

enum {
    HANGUL = 0xac00,
    NHANGUL = 11172,
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11a7,
    NJAMO_L = 19,
    NJAMO_V = 21,
    NJAMO_T = 28, /* none counts, too */
};

static const char category_name[UNI_NCATEGORY][3] = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
    "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
    "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
};

bool unicode_class_used(uint8_t u)
{
    return unicode_used[u >> 6] >> (u & 63) & 1;
}

static bool name_fits(int category, const char *name)
{
    const char *c = category_name[category];

    return name[0] == c[0] && (!name[1] || (name[1] == c[1] && !name[2]));
}

bool unicode_category_known(const char *name)
{
    for (int i = 0; i < UNI_NCATEGORY; i++)
        if (name_fits(i, name))
            return true;
    return false;
}

bool unicode_category_is(uint8_t u, const char *name)
{
    int category = u & UNI_CATEGORY;

    return category < UNI_NCATEGORY && name_fits(category, name);
}

bool unicode_hf_punct(uint32_t cp)
{
    uint8_t u = unicode_class(cp);

    if (cp < 128)
        return unicode_is(u, UNI_P | UNI_S);
    if (cp == 0x111c9 || cp == 0x166d) /* no longer P */
        return true;
    return unicode_is(u, UNI_P) && !(u & UNI_FLIP);
}

bool unicode_hf_accent(uint32_t cp)
{
    uint8_t u = unicode_class(cp);

    if (cp == 0x1734) /* no longer Mn */
        return true;
    return unicode_is(u, 1u << UNI_MN) && !(u & UNI_FLIP);
}

bool unicode_hf_control(uint32_t cp)
{
    uint8_t u = unicode_class(cp);

    if (cp == '\t' || cp == '\n' || cp == '\r')
        return false;
    return cp == 0xfffd ||
           (!(u & UNI_FLIP) &&
            unicode_is(u, 1u << UNI_CC | 1u << UNI_CF | 1u << UNI_CO));
}

bool unicode_hf_chinese(uint32_t cp)
{
    /* The last but one begins at 2b920, not 2b820: so there, too. */
    static const uint32_t range[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
        {0x20000, 0x2a6df}, {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
        {0x2f800, 0x2fa1f},
    };

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (cp >= range[i][0] && cp <= range[i][1])
            return true;
    return false;
}

/* What CP is in TABLE[N], to OUT; false, and itself, when it is not there. */
static bool map_case(const struct unicode_case *table, int n, uint32_t cp,
                     uint32_t *out)
{
    int lo = 0, hi = n;

    *out = cp;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const struct unicode_case *c = &table[mid];

        if (cp > c->hi) {
            lo = mid + 1;
        } else if (cp < c->lo) {
            hi = mid;
        } else {
            if ((cp - c->lo) % c->step)
                return false;
            *out = (uint32_t)((int32_t)cp + c->delta);
            return true;
        }
    }
    return false;
}

int unicode_lower(uint32_t cp, uint32_t *out)
{
    if (cp == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    if (cp < 128)
        out[0] = cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    else
        map_case(unicode_lowers, unicode_nlowers, cp, out);
    return 1;
}

/* Case of more than one character: how many; 0 for none. */
static int special(uint32_t cp, char kind, uint32_t *out)
{
    int lo = 0, hi = unicode_nspecial, n = 0;

    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const struct unicode_special *s = &unicode_specials[mid];

        if (cp > s->cp || (cp == s->cp && kind > (char)s->kind)) {
            lo = mid + 1;
        } else if (cp < s->cp || kind < (char)s->kind) {
            hi = mid;
        } else {
            for (; n < 3 && s->to[n]; n++)
                out[n] = s->to[n];
            break;
        }
    }
    return n;
}

int unicode_upper(uint32_t cp, uint32_t *out)
{
    int n = cp < 128 ? 0 : special(cp, 'u', out);

    if (n)
        return n;
    if (cp < 128)
        out[0] = cp >= 'a' && cp <= 'z' ? cp - 32 : cp;
    else
        map_case(unicode_uppers, unicode_nuppers, cp, out);
    return 1;
}

int unicode_title(uint32_t cp, uint32_t *out)
{
    int n = cp < 128 ? 0 : special(cp, 't', out);

    if (n)
        return n;
    if (cp < 128)
        return unicode_upper(cp, out);
    if (!map_case(unicode_titles, unicode_ntitles, cp, out))
        map_case(unicode_uppers, unicode_nuppers, cp, out);
    return 1;
}

static bool in_runs(const struct unicode_run *run, int n, uint32_t cp)
{
    int lo = 0, hi = n;

    while (lo < hi) {
        int mid = (lo + hi) / 2;

        if (cp > run[mid].hi)
            lo = mid + 1;
        else if (cp < run[mid].lo)
            hi = mid;
        else
            return true;
    }
    return false;
}

bool unicode_is_lower(uint32_t cp)
{
    return (unicode_class(cp) & UNI_CATEGORY) == UNI_LL ||
           in_runs(unicode_lowercase, unicode_nlowercase, cp);
}

bool unicode_is_upper(uint32_t cp)
{
    return (unicode_class(cp) & UNI_CATEGORY) == UNI_LU ||
           in_runs(unicode_uppercase, unicode_nuppercase, cp);
}

bool unicode_is_cased(uint32_t cp)
{
    return unicode_is_lower(cp) || unicode_is_upper(cp) ||
           (unicode_class(cp) & UNI_CATEGORY) == UNI_LT;
}

bool unicode_is_case_ignorable(uint32_t cp)
{
    return in_runs(unicode_ignorable, unicode_nignorable, cp);
}

static int hangul_nfd(uint32_t i, uint32_t *out)
{
    out[0] = JAMO_L + i / (NJAMO_V * NJAMO_T);
    out[1] = JAMO_V + i / NJAMO_T % NJAMO_V;
    if (i % NJAMO_T == 0)
        return 2;
    out[2] = JAMO_T + i % NJAMO_T;
    return 3;
}

int unicode_nfd(uint32_t cp, uint32_t *out)
{
    int lo = 0, hi = unicode_ndecomp;

    if (cp - HANGUL < NHANGUL)
        return hangul_nfd(cp - HANGUL, out);
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const struct unicode_decomp *d = &unicode_decomps[mid];

        if (cp > d->cp) {
            lo = mid + 1;
        } else if (cp < d->cp) {
            hi = mid;
        } else {
            for (uint32_t i = 0; i < d->len; i++)
                out[i] = unicode_parts[d->at + i];
            return (int)d->len;
        }
    }
    out[0] = cp;
    return 1;
}

int unicode_ccc(uint32_t cp)
{
    int lo = 0, hi = unicode_nccc;

    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const struct unicode_ccc_range *c = &unicode_cccs[mid];

        if (cp < c->lo)
            hi = mid;
        else if (cp - c->lo > c->more)
            lo = mid + 1;
        else
            return c->ccc;
    }
    return 0;
}

uint32_t unicode_compose(uint32_t a, uint32_t b)
{
    int lo = 0, hi = unicode_npair;

    if (a - JAMO_L < NJAMO_L && b - JAMO_V < NJAMO_V)
        return HANGUL + ((a - JAMO_L) * NJAMO_V + (b - JAMO_V)) * NJAMO_T;
    if (a - HANGUL < NHANGUL && (a - HANGUL) % NJAMO_T == 0 && b > JAMO_T &&
        b < JAMO_T + NJAMO_T)
        return a + (b - JAMO_T);
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const struct unicode_pair *p = &unicode_pairs[mid];

        if (a > p->a || (a == p->a && b > p->b))
            lo = mid + 1;
        else if (a == p->a && b == p->b)
            return p->ab;
        else
            hi = mid;
    }
    return 0;
}
