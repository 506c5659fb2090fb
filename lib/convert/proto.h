/* SPDX-License-Identifier: MIT
 * proto.h - the fields of a protocol buffers message, one after the other.
 *
 *     struct proto p = {bytes, n};
 *     struct proto_field f;
 *
 *     while (proto_next(&f, &p))
 *         ...
 *     if (p.bad)
 *         the message is cut short or no message */
#ifndef LLM_CONVERT_PROTO_H
#define LLM_CONVERT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
    const unsigned char *p;
    size_t n;
    bool bad;
};

struct proto_field {
    uint32_t number;
    /* A number in V (of either width, or a varint), or bytes. */
    bool bytes;
    uint64_t v;
    const unsigned char *p;
    size_t n;
};

/* False at the end, or when the rest is BAD. */
bool proto_next(struct proto_field *f, struct proto *p);

#endif
