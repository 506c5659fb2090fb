/* SPDX-License-Identifier: MIT
 * write.c - vectors as records, as lines, and as one array of NumPy. */
#include <stdio.h>
#include <string.h>

#include "cmd/embed/embed.h"
#include "embed/vector.h"

static const struct {
    size_t size;
    const char *descr; /* NumPy's */
} types[] = {
    [WIRE_F32] = {4, "<f4"}, [WIRE_F16] = {2, "<f2"}, [WIRE_INT8] = {1, "|i1"}};

/* V as the numbers that are asked for, and what they are multiplied with. */
static const void *convert(struct program *p, const float *v, size_t n,
                           double *scale, struct err *e)
{
    void *to;

    *scale = 1;
    if (p->type == WIRE_F32)
        return v;
    p->bytes.n = 0;
    to = buf_add(&p->bytes, n * types[p->type].size);
    if (buf_ok(&p->bytes, e))
        return NULL;
    if (p->type == WIRE_F16)
        embed_f16(to, v, n);
    else
        *scale = (double)embed_int8(to, v, n);
    return to;
}

static void put_array(struct program *p, const void *v, size_t n)
{
    unsigned char *to = buf_add(&p->array, n * types[p->type].size);

    p->rows++;
    for (size_t i = 0; to && i < n; i++) {
        if (p->type == WIRE_INT8) {
            to[i] = ((const unsigned char *)v)[i];
        } else if (p->type == WIRE_F16) {
            wr_u16(to + 2 * i, ((const uint16_t *)v)[i]);
        } else {
            uint32_t u;

            memcpy(&u, (const float *)v + i, 4);
            wr_u32(to + 4 * i, u);
        }
    }
}

static void show(const struct program *p, uint64_t seq, int64_t pos,
                 const void *v, size_t n)
{
    printf("%llu\t", (unsigned long long)seq);
    if (pos >= 0)
        printf("%lld\t", (long long)pos);
    for (size_t i = 0; i < n; i++) {
        if (i)
            putchar(' ');
        if (p->type == WIRE_INT8)
            printf("%d", ((const int8_t *)v)[i]);
        else
            printf("%.6g", p->type == WIRE_F16
                               ? (double)f16_f32(((const uint16_t *)v)[i])
                               : (double)((const float *)v)[i]);
    }
    putchar('\n');
}

int write_vector(struct program *p, uint64_t seq, const json_t *id, int64_t pos,
                 const float *v, struct err *e)
{
    struct wire_embedding r = {.seq = seq,
                               .type = p->type,
                               .n = (size_t)embed_width(p->embed),
                               .has_pos = pos >= 0,
                               .pos = (uint64_t)(pos < 0 ? 0 : pos),
                               .id = id};

    r.v = convert(p, v, r.n, &r.scale, e);
    if (!r.v)
        return -1;
    if (p->rank && p->label >= 0) {
        r.has_score = true;
        r.score = unit_score(p, v);
    }
    if (p->out)
        return wire_put_embedding(p->out, &r, e);
    if (p->npy)
        put_array(p, r.v, r.n);
    else
        show(p, seq, pos, r.v, r.n);
    return buf_ok(&p->array, e);
}

/* NumPy's format, version 1.0: a magic, the length of the text that follows,
 * spaces so that the data begin at a multiple of 64. */
void write_array(const struct program *p)
{
    char text[192];
    unsigned char front[10] = "\x93NUMPY\x01\x00";
    int n = snprintf(text, sizeof text,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%llu, "
                     "%d), }",
                     types[p->type].descr, (unsigned long long)p->rows,
                     embed_width(p->embed));
    int pad = 63 - (n + (int)sizeof front) % 64;

    wr_u16(front + 8, (uint16_t)(n + pad + 1));
    fwrite(front, 1, sizeof front, stdout);
    printf("%s%*s\n", text, pad, "");
    if (p->array.n)
        fwrite(p->array.p, 1, p->array.n, stdout);
}
