/* SPDX-License-Identifier: MIT
 * special.c - tokens that the text is searched for before it is split.
 *
 * User-defined tokens always; control and unknown tokens when asked.  The
 * leftmost match counts, the longest of those that begin there.  A trie is
 * walked from each byte that begins one, so the time is the text's length
 * times the longest token in the worst case, and in fact one look at each
 * byte.
 */
#include "tok/tok_impl.h"

/* Does the value of KEY hold WORD, whatever the case of its letters? */
static bool says(const struct tok *t, const char *key, const char *word)
{
    struct gguf_str s;
    size_t n = strlen(word), k;

    if (gguf_get_str(&s, t->g, key, NULL) <= 0)
        return false;
    for (size_t i = 0; i + n <= s.n; i++) {
        for (k = 0; k < n; k++) {
            char c = s.p[i + k];

            if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != word[k])
                break;
        }
        if (k == n)
            return true;
    }
    return false;
}

static void strip(struct tok *t, const char *spelling, uint8_t bits)
{
    uint32_t id = tok_find(t, spelling, strlen(spelling));

    if (id != NO_ID)
        t->strip[id] = bits;
}

/* Tokens that take the white space beside them.  tokenizer.json says so with
 * lstrip and rstrip; GGUF has no key for it, so the models that do are known
 * by name. */
static int load_strip(struct tok *t, struct err *e)
{
    bool mask = t->pretok.flags & PRETOK_MASK_LSTRIP ||
                says(t, "general.architecture", "nomic-bert-moe") ||
                says(t, "general.architecture", "jina-bert-v3");
    bool modern = says(t, "general.name", "modern-bert");
    bool phi =
        says(t, "general.name", "phi-3") || says(t, "general.name", "phi3");

    if (!mask && !modern && !phi)
        return 0;
    t->strip = calloc(t->n, 1);
    if (!t->strip)
        return err_nomem(e);
    if (mask)
        strip(t, "<mask>", STRIP_LEFT);
    if (mask || modern)
        strip(t, "[MASK]", STRIP_LEFT);
    if (phi) {
        for (uint32_t id = 0; id < t->n; id++)
            if (tok_starts_text(t, id))
                t->strip[id] = STRIP_RIGHT;
        strip(t, "<unk>", 0);
        strip(t, "<s>", 0);
        strip(t, "<|endoftext|>", 0);
    }
    return 0;
}

int special_open(struct tok *t, struct err *e)
{
    if (load_strip(t, e))
        return -1;
    for (uint32_t id = 0; t->types && id < t->n; id++) {
        enum tok_type type = type_of(t, id);
        bool control = type == TOK_CONTROL || type == TOK_UNKNOWN;
        struct gguf_str s;

        if (type != TOK_USER_DEFINED && !control)
            continue;
        s = tok_string(t, id);
        if (!s.n)
            continue;
        if (trie_add(&t->special, s.p, s.n, id, e))
            return -1;
        if (s.n > t->special_max)
            t->special_max = (uint32_t)s.n;
        for (int k = control; k < 2; k++) {
            t->special_first[k][(unsigned char)s.p[0]] = 1;
            t->special_any[k] = true;
        }
    }
    return 0;
}

/* The longest special token at P: its length, 0 for none.  *CUT says that END
 * came before the trie knew.  None but a user-defined one has a byte that PLAIN
 * (NULL: none) marks. */
static size_t longest(const struct tok *t, bool control,
                      const unsigned char *plain, const unsigned char *p,
                      const unsigned char *end, uint32_t *id, bool *cut)
{
    uint32_t node = TRIE_ROOT;
    size_t best = 0;

    *cut = false;
    for (const unsigned char *q = p;; q++) {
        uint32_t v;

        if (q == end) {
            *cut = true;
            return best;
        }
        if (plain && plain[q - p])
            control = false;
        node = trie_next(&t->special, node, *q);
        if (!node)
            return best;
        v = t->special.value[node];
        if (v && (control || type_of(t, v - 1) == TOK_USER_DEFINED)) {
            best = (size_t)(q + 1 - p);
            *id = v - 1;
        }
    }
}

const unsigned char *special_find(const struct tok *t, unsigned flags,
                                  const unsigned char *plain,
                                  const unsigned char *p,
                                  const unsigned char *end, bool final,
                                  uint32_t *id, size_t *len)
{
    const unsigned char *from = p;
    bool control = flags & TOK_SPECIAL, cut;

    *len = 0;
    if (!t->special_any[control])
        return end;
    for (; p < end; p++) {
        if (!t->special_first[control][*p])
            continue;
        *len = longest(t, control, plain ? plain + (p - from) : NULL, p, end,
                       id, &cut);
        if (cut && !final) {
            *len = 0;
            return p;
        }
        if (*len)
            return p;
    }
    return end;
}
