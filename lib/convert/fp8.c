/* SPDX-License-Identifier: MIT
 *
 * Checkpoints of fewer bits.  One kind is undone: matrices of F8_E4M3, each
 * with a tensor of scales, "..._scale_inv", for blocks of it or for all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "convert/convert_impl.h"

enum { MAX_BLOCK = 1 << 20 };

/* ---- what config.json says ---- */

/* What may stand there; how activations were rounded is left behind. */
static const char known[] =
    "quant_method|fmt|activation_scheme|weight_block_size|dequantize|"
    "modules_to_not_convert|ignored_layers";

static int refuse(const struct convert *c, const char *what, struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED,
                   "%s/config.json: 'quantization_config': weights of %.40s "
                   "are not supported: take the model that they were made of",
                   c->hf.dir, what);
}

static int read_blocks(struct convert *c, const json_t *v, struct err *e)
{
    if (!v || json_is_null(v))
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *n = json_array_get(v, i);

        if (json_array_size(v) != 2 || !json_is_integer(n) ||
            json_integer_value(n) < 1 || json_integer_value(n) > MAX_BLOCK)
            return err_set(e, ERR_FORMAT,
                           "%s/config.json: 'weight_block_size' is no two "
                           "sizes",
                           c->hf.dir);
        c->block[i] = (uint64_t)json_integer_value(n);
    }
    return 0;
}

int convert_quantised(struct convert *c, struct err *e)
{
    const json_t *q = hfconfig_get(&c->hf, "quantization_config");
    const char *how, *fmt, *key;
    json_t *v;

    if (!q)
        q = json_object_get(c->hf.file, "quantization_config");
    if (!q)
        q = json_object_get(c->hf.file, "compression_config");
    if (!q || json_is_null(q))
        return 0;
    how = json_string_value(json_object_get(q, "quant_method"));
    fmt = json_string_value(json_object_get(q, "fmt"));
    if (!how || strcmp(how, "fp8") || (fmt && strcmp(fmt, "e4m3")))
        return refuse(c, how ? how : "fewer bits", e);
    json_object_foreach((json_t *)(uintptr_t)q, key,
                        v) if (!hfconfig_among(key, known) &&
                               !json_is_null(v)) return refuse(c, key, e);
    c->fp8 = true;
    return read_blocks(c, json_object_get(q, "weight_block_size"), e);
}

/* ---- scales ---- */

static uint64_t blocks(uint64_t n, uint64_t block)
{
    return block ? (n + block - 1) / block : 1;
}

static bool shaped(const struct safetensors_tensor *s, uint64_t rows,
                   uint64_t cols)
{
    if (s->ndim < 2 && s->n == 1)
        return rows == 1 && cols == 1;
    return s->ndim == 2 && s->shape[0] == rows && s->shape[1] == cols;
}

int convert_scales(struct convert_piece *k, struct convert *c, struct err *e)
{
    const struct safetensors_tensor *t = k->from, *s, *other;
    char name[256];
    int n = (int)strlen(t->name);

    if (t->dtype != SAFETENSORS_F8_E4M3)
        return 0;
    snprintf(name, sizeof name, "%.200s_scale_inv", t->name);
    s = safetensors_find(c->s, name);
    if (!s)
        return err_set(e, ERR_FORMAT, "%s: tensor '%.100s' is missing", t->path,
                       name);
    if (t->ndim != 2 ||
        !shaped(s, blocks(t->shape[0], c->block[0]),
                blocks(t->shape[1], c->block[1])) ||
        (s->dtype != SAFETENSORS_F32 && s->dtype != SAFETENSORS_BF16))
        return err_set(e, ERR_FORMAT,
                       "%s: tensor '%.100s' is not one number for each block "
                       "of its matrix",
                       s->path, name);
    k->scale = s;
    k->block[0] = c->block[0] ? c->block[0] : t->shape[0];
    k->block[1] = c->block[1] ? c->block[1] : t->shape[1];
    c->seen[s - safetensors_at(c->s, 0)] = true;
    /* Of what goes in, which is not rounded here. */
    snprintf(name, sizeof name, "%.*s.activation_scale",
             n > 7 && !strcmp(t->name + n - 7, ".weight") ? n - 7 : n, t->name);
    other = safetensors_find(c->s, name);
    if (other)
        c->seen[other - safetensors_at(c->s, 0)] = true;
    return 0;
}

/* ---- elements ---- */

/* A sign, 4 bits of exponent, 3 of mantissa; all ones are no number. */
static float f8_f32(unsigned char b)
{
    int e = b >> 3 & 15, m = b & 7;
    float f = e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);

    if ((b & 0x7f) == 0x7f)
        return NAN;
    return b & 0x80 ? -f : f;
}

void convert_load_f8(float *x, const struct convert_piece *k,
                     const unsigned char *p, uint64_t n, uint64_t cols)
{
    uint64_t at = (uint64_t)(p - k->from->p),
             across = blocks(cols, k->block[1]);
    float value[256];

    for (int i = 0; i < 256; i++)
        value[i] = f8_f32((unsigned char)i);
    for (uint64_t i = 0; i < n; i++, at++) {
        uint64_t s = at / cols / k->block[0] * across + at % cols / k->block[1];
        float scale = k->scale->dtype == SAFETENSORS_F32
                          ? rd_f32(k->scale->p + 4 * s)
                          : bf16_f32(rd_u16(k->scale->p + 2 * s));

        x[i] = value[p[i]] * scale;
    }
}
