/* SPDX-License-Identifier: MIT
 *
 * Which layers see a window, and which know no positions. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert_impl.h"

enum { MAX_WINDOW = 1 << 30 };

/* What the architecture takes for granted. */
static bool native(const struct convert_model *m, int64_t l)
{
    switch (m->windows) {
    case CONVERT_WINDOW_ALL:
        return true;
    case CONVERT_WINDOW_LAST:
        return l % m->period < m->period - 1;
    case CONVERT_WINDOW_FIRST:
        return l % m->period;
    default:
        return false;
    }
}

/* The window; 0: none. */
static int window_of(int64_t *w, struct convert *c, struct err *e)
{
    static const char name[] = "sliding_window|local_attention";
    const json_t *v = json_object_get(c->hf.root, "sliding_window");
    bool use = true;

    *w = json_is_null(v) ? 0 : (int64_t)c->m->window;
    if (hfconfig_int(w, &c->hf, name, 0, MAX_WINDOW, e) < 0 ||
        hfconfig_bool(&use, &c->hf, "use_sliding_window", e) < 0)
        return -1;
    /* Only some models ask, and their default is not to. */
    if (!use || (c->m->windows == CONVERT_WINDOW_NONE &&
                 !json_object_get(c->hf.root, "use_sliding_window")))
        *w = 0;
    return 0;
}

static int by_types(bool *slides, const struct convert *c, const json_t *types,
                    struct err *e)
{
    size_t n = (size_t)convert_size(c, 'L');

    if (!json_is_array(types) || json_array_size(types) != n)
        return err_set(e, ERR_FORMAT,
                       "%s/config.json: 'layer_types' is not for %zu layers",
                       c->hf.dir, n);
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(types, i));

        if (!s || !hfconfig_among(s, "full_attention|sliding_attention"))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s/config.json: 'layer_types': '%.40s' is not "
                           "supported",
                           c->hf.dir, s ? s : "?");
        slides[i] = *s == 's';
    }
    return 0;
}

/* SLIDES of each layer; PERIOD: what config.json says of it, or 0. */
static int find_layers(bool *slides, int64_t *period, struct convert *c,
                       struct err *e)
{
    const json_t *types = hfconfig_get(&c->hf, "layer_types");
    int64_t first = 0, n = convert_size(c, 'L');
    int rc = hfconfig_int(period, &c->hf,
                          "sliding_window_pattern|_sliding_window_pattern|"
                          "global_attn_every_n_layers",
                          1, 4096, e);

    if (rc < 0 ||
        hfconfig_int(&first, &c->hf, "max_window_layers", 0, MAX_WINDOW, e) < 0)
        return -1;
    if (types)
        return by_types(slides, c, types, e);
    for (int64_t l = 0; l < n; l++) {
        struct convert_model m = *c->m;

        if (rc)
            m.period = (int)*period;
        slides[l] =
            c->m->windows == CONVERT_WINDOW_NONE ? l >= first : native(&m, l);
    }
    return 0;
}

static int put_pattern(struct convert *c, const bool *slides, int64_t period,
                       struct err *e)
{
    static const char key[] = "attention.sliding_window_pattern";
    int64_t n = convert_size(c, 'L');
    const char *name = convert_key_name(c, key, e);
    unsigned char *v = arena_alloc(&c->mem, (size_t)n);
    bool same = true;

    if (!name || !v)
        return err_nomem(e);
    for (int64_t l = 0; l < n; l++) {
        v[l] = slides[l];
        same &= slides[l] == native(c->m, l);
    }
    if (!same)
        gguf_put_arr(&c->out, name, GGUF_BOOL, (uint64_t)n, v, (size_t)n);
    else if (period && period == c->m->period)
        gguf_put_int(&c->out, name, GGUF_U32, period);
    return 0;
}

static int put_windows(struct convert *c, const bool *slides, int64_t w,
                       int64_t period, struct err *e)
{
    int64_t n = convert_size(c, 'L'), some = 0;

    for (int64_t l = 0; l < n; l++)
        some += slides[l];
    /* One that is never full hides nothing. */
    if (!w || !some ||
        (w >= convert_size(c, 'P') && c->m->windows == CONVERT_WINDOW_NONE))
        return c->m->windows == CONVERT_WINDOW_LAST ||
                       !strcmp(c->m->arch, "phi3")
                   ? convert_put_u32(c, "attention.sliding_window", 0, e)
                   : 0;
    if (c->m->windows == CONVERT_WINDOW_NONE)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s/config.json: 'use_sliding_window': windows are not "
                       "supported in %s",
                       c->hf.dir, c->m->type);
    if (convert_put_u32(c, "attention.sliding_window", w, e))
        return -1;
    return put_pattern(c, slides, period, e);
}

/* SmolLM 3: every fourth layer, and no other. */
static int check_positions(struct convert *c, struct err *e)
{
    const json_t *a;
    size_t n = (size_t)convert_size(c, 'L');

    if (strcmp(c->m->arch, "smollm3"))
        return 0;
    a = hfconfig_get(&c->hf, "no_rope_layers");
    if (!a)
        return 0;
    for (size_t l = 0; l < n || l < json_array_size(a); l++) {
        const json_t *v = json_array_get(a, l);

        if (!json_is_integer(v) || json_integer_value(v) != (l % 4 != 3))
            return err_set(e, ERR_UNSUPPORTED,
                           "%s/config.json: 'no_rope_layers': only every "
                           "fourth of %zu layers may be without",
                           c->hf.dir, n);
    }
    return 0;
}

int convert_layers(struct convert *c, struct err *e)
{
    size_t n = (size_t)convert_size(c, 'L');
    bool *slides = calloc(n, sizeof *slides);
    int64_t w, period = 0;
    int rc = slides ? 0 : err_nomem(e);

    if (!rc && c->m->flags & CONVERT_NO_ROPE) {
        free(slides);
        return 0;
    }
    if (!rc)
        rc = window_of(&w, c, e) || find_layers(slides, &period, c, e) ||
                     put_windows(c, slides, w, period, e) ||
                     check_positions(c, e)
                 ? -1
                 : 0;
    free(slides);
    return rc;
}
