/* SPDX-License-Identifier: MIT */
#include "convert/proto.h"

#include "base/num.h"

static bool varint(uint64_t *v, struct proto *p)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && p->n; shift += 7) {
        unsigned char c = *p->p++;

        p->n--;
        *v |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return true;
    }
    return false;
}

static bool take(struct proto_field *f, struct proto *p, uint64_t n)
{
    if (n > p->n)
        return false;
    f->p = p->p;
    f->n = (size_t)n;
    p->p += n;
    p->n -= (size_t)n;
    return true;
}

/* The value of a field of WIRE type. */
static bool value(struct proto_field *f, struct proto *p, unsigned wire)
{
    switch (wire) {
    case 0:
        return varint(&f->v, p);
    case 1:
        if (!take(f, p, 8))
            return false;
        f->v = rd_u64(f->p);
        return true;
    case 2:
        f->bytes = true;
        return varint(&f->v, p) && take(f, p, f->v);
    case 5:
        if (!take(f, p, 4))
            return false;
        f->v = rd_u32(f->p);
        return true;
    default: /* groups, which nobody writes any more */
        return false;
    }
}

bool proto_next(struct proto_field *f, struct proto *p)
{
    uint64_t tag;

    *f = (struct proto_field){0};
    if (p->bad || !p->n)
        return false;
    if (!varint(&tag, p) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX ||
        !value(f, p, (unsigned)tag & 7)) {
        p->bad = true;
        return false;
    }
    f->number = (uint32_t)(tag >> 3);
    return true;
}
