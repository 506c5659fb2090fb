/* SPDX-License-Identifier: MIT
 * scan.h - is it JSON?  A byte at a time, nothing kept but the nesting. */
#ifndef LLM_CHAT_SCAN_H
#define LLM_CHAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCAN_MAX_DEPTH = 128 };

enum scan_state {
    SCAN_VALUE, /* zeroed: a value is next */
    SCAN_FIRST, /* the same, or the end of an array */
    SCAN_KEY,   /* a key is next */
    SCAN_FIRST_KEY,
    SCAN_COLON,
    SCAN_AFTER, /* a value has ended: a comma, or the end of what holds it */
    SCAN_STRING,
    SCAN_ESCAPE,
    SCAN_HEX, /* LEFT digits of \u */
    SCAN_WORD,
    SCAN_MINUS,
    SCAN_ZERO,
    SCAN_INT,
    SCAN_POINT,
    SCAN_FRACTION,
    SCAN_E,
    SCAN_SIGN,
    SCAN_EXPONENT,
    SCAN_END, /* all is said */
};

/* Zeroed, it is ready for one value. */
struct scan_json {
    uint8_t state, left;
    bool key; /* the string is a key */
    int depth;
    const char *word; /* what is left of true, false, null */
    uint64_t object[SCAN_MAX_DEPTH / 64]; /* a bit for each depth */
};

/* The next byte: true while it may still be JSON.  Control characters in
 * strings are let pass, as models write them; RFC 8259 wants them escaped. */
bool scan_byte(struct scan_json *s, unsigned char b);
/* Is the value complete?  Of a number only the end of the text tells. */
bool scan_whole(const struct scan_json *s);
/* Is P[N] one value, white space around it allowed? */
bool scan_all(const void *p, size_t n);

static inline bool scan_space(unsigned char b)
{
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

#endif
