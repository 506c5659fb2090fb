/* SPDX-License-Identifier: MIT */
#include "chat/scan.h"

static bool in_object(const struct scan_json *s)
{
    int d = s->depth - 1;

    return d >= 0 && s->object[d / 64] >> (d % 64) & 1;
}

static bool enter(struct scan_json *s, bool object)
{
    int d = s->depth;

    if (d == SCAN_MAX_DEPTH)
        return false;
    s->object[d / 64] &= ~((uint64_t)1 << d % 64);
    s->object[d / 64] |= (uint64_t)object << d % 64;
    s->depth++;
    s->state = object ? SCAN_FIRST_KEY : SCAN_FIRST;
    return true;
}

static void ended(struct scan_json *s)
{
    s->state = s->depth ? SCAN_AFTER : SCAN_END;
}

static bool leave(struct scan_json *s, bool object)
{
    if (!s->depth || in_object(s) != object)
        return false;
    s->depth--;
    ended(s);
    return true;
}

static bool word(struct scan_json *s, const char *rest)
{
    s->word = rest;
    s->state = SCAN_WORD;
    return true;
}

static bool value(struct scan_json *s, unsigned char b)
{
    switch (b) {
    case '{':
    case '[':
        return enter(s, b == '{');
    case '"':
        s->key = false;
        s->state = SCAN_STRING;
        return true;
    case 't':
        return word(s, "rue");
    case 'f':
        return word(s, "alse");
    case 'n':
        return word(s, "ull");
    case '-':
        s->state = SCAN_MINUS;
        return true;
    case '0':
        s->state = SCAN_ZERO;
        return true;
    case ']':
        return s->state == SCAN_FIRST && leave(s, false);
    default:
        s->state = SCAN_INT;
        return b >= '1' && b <= '9';
    }
}

static bool between(struct scan_json *s, unsigned char b)
{
    switch (s->state) {
    case SCAN_KEY:
    case SCAN_FIRST_KEY:
        if (b == '}')
            return s->state == SCAN_FIRST_KEY && leave(s, true);
        s->key = true;
        s->state = SCAN_STRING;
        return b == '"';
    case SCAN_COLON:
        s->state = SCAN_VALUE;
        return b == ':';
    case SCAN_AFTER:
        if (b == '}' || b == ']')
            return leave(s, b == '}');
        s->state = in_object(s) ? SCAN_KEY : SCAN_VALUE;
        return b == ',';
    default:
        return false; /* SCAN_END */
    }
}

static bool string(struct scan_json *s, unsigned char b)
{
    if (s->state == SCAN_STRING) {
        if (b == '\\')
            s->state = SCAN_ESCAPE;
        else if (b == '"' && s->key)
            s->state = SCAN_COLON;
        else if (b == '"')
            ended(s);
        return true;
    }
    if (s->state == SCAN_ESCAPE) {
        s->state = b == 'u' ? SCAN_HEX : SCAN_STRING;
        s->left = 4;
        return b == 'u' || b == '"' || b == '\\' || b == '/' || b == 'b' ||
               b == 'f' || b == 'n' || b == 'r' || b == 't';
    }
    if (!--s->left)
        s->state = SCAN_STRING;
    return (b >= '0' && b <= '9') || ((b | 32) >= 'a' && (b | 32) <= 'f');
}

/* A byte of a number: 1 it is, -1 it must have been, 0 the number is over. */
static int number(struct scan_json *s, unsigned char b)
{
    bool digit = b >= '0' && b <= '9';

    switch (s->state) {
    case SCAN_MINUS:
        s->state = b == '0' ? SCAN_ZERO : SCAN_INT;
        return digit ? 1 : -1;
    case SCAN_POINT:
        s->state = SCAN_FRACTION;
        return digit ? 1 : -1;
    case SCAN_E:
        s->state = digit ? SCAN_EXPONENT : SCAN_SIGN;
        return digit || b == '+' || b == '-' ? 1 : -1;
    case SCAN_SIGN:
        s->state = SCAN_EXPONENT;
        return digit ? 1 : -1;
    case SCAN_EXPONENT:
        return digit;
    default:
        if (digit && s->state != SCAN_ZERO)
            return 1;
        if (b == '.' && s->state != SCAN_FRACTION) {
            s->state = SCAN_POINT;
            return 1;
        }
        if (b != 'e' && b != 'E')
            return 0;
        s->state = SCAN_E;
        return 1;
    }
}

bool scan_byte(struct scan_json *s, unsigned char b)
{
    if (s->state >= SCAN_STRING && s->state <= SCAN_HEX)
        return string(s, b);
    if (s->state == SCAN_WORD) {
        if (b != (unsigned char)*s->word++)
            return false;
        if (!*s->word)
            ended(s);
        return true;
    }
    if (s->state >= SCAN_MINUS && s->state <= SCAN_EXPONENT) {
        int got = number(s, b);

        if (got)
            return got > 0;
        ended(s);
    }
    if (scan_space(b))
        return true;
    return s->state <= SCAN_FIRST ? value(s, b) : between(s, b);
}

bool scan_whole(const struct scan_json *s)
{
    return s->state == SCAN_END ||
           (!s->depth &&
            (s->state == SCAN_ZERO || s->state == SCAN_INT ||
             s->state == SCAN_FRACTION || s->state == SCAN_EXPONENT));
}

bool scan_all(const void *p, size_t n)
{
    struct scan_json s = {0};
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i++)
        if (!scan_byte(&s, b[i]))
            return false;
    return scan_whole(&s);
}
