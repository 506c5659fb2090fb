/* SPDX-License-Identifier: MIT
 * wire_impl.h - what the files of lib/wire share.
 *
 * Inside, a record is always the CBOR bytes of its map, without tag 55799:
 * JSON is turned into that on input and made from it on output.
 */
#ifndef LLM_WIRE_WIRE_IMPL_H
#define LLM_WIRE_WIRE_IMPL_H

#include "wire/wire.h"

enum {
    TAG_SELF = 55799,
    TAG_U32 = 70,
    TAG_I8 = 72,
    TAG_F16 = 84,
    TAG_F32 = 85
};

/* ---- item.c: one CBOR data item ---- */

enum item_type {
    ITEM_UINT,        /* ARG */
    ITEM_NEG,         /* -1 - ARG */
    ITEM_BYTES,       /* P[ARG] */
    ITEM_TEXT,        /* P[ARG] */
    ITEM_BYTES_INDEF, /* chunks follow, then ITEM_BREAK; ARRAY, MAP likewise */
    ITEM_TEXT_INDEF,
    ITEM_ARRAY, /* ARG items follow */
    ITEM_ARRAY_INDEF,
    ITEM_MAP, /* ARG pairs follow */
    ITEM_MAP_INDEF,
    ITEM_TAG,   /* ARG; one item follows */
    ITEM_FLOAT, /* F */
    ITEM_BOOL,  /* ARG */
    ITEM_NULL,
    ITEM_SIMPLE, /* ARG: undefined, and values without a meaning */
    ITEM_BREAK,
};

struct item {
    enum item_type type;
    uint64_t arg;
    double f;
    const unsigned char *p;
    size_t size; /* bytes of its head, and of its string */
};

/* The item at the start of P[N]: 1, 0 when N cuts it, -1 when it is none. */
int item_get(struct item *it, const unsigned char *p, size_t n);
/* Append the bytes of the string at P[N], chunked or not, of a record that is
 * scanned; the size of the item. */
size_t item_string(struct buf *to, const unsigned char *p, size_t n);

/* ---- scan.c: is this a record, and where are its keys? ---- */

struct entry {
    size_t key, nkey; /* offsets from the record's start */
    size_t val, nval; /* the whole item */
};

struct frame {
    uint64_t left; /* items, when not INDEF */
    enum item_type type;
    bool indef, value; /* map: a value is next */
};

struct scan {
    size_t off; /* bytes seen to be well-formed */
    int depth;
    struct frame stack[WIRE_MAX_DEPTH];
    struct entry entry[WIRE_MAX_KEYS];
    size_t nentry;
};

void scan_init(struct scan *s);
/* Go on with the record of which P[N] is what has come so far: 1 when it is
 * complete (S->off bytes long), 0 when it needs more, -1 ERR_FORMAT. */
int scan_more(struct scan *s, const unsigned char *p, size_t n, struct err *e);
const struct entry *scan_find(const struct scan *s, const unsigned char *p,
                              const char *key);

/* ---- put.c: CBOR into a buffer, in the shortest form ---- */

enum { HEAD_MAX = 9 };
void wire_put_uint(struct buf *b, uint64_t v);
void wire_put_int(struct buf *b, int64_t v);
void wire_put_map(struct buf *b, size_t n);
void wire_put_array(struct buf *b, size_t n);
void wire_put_tag(struct buf *b, uint64_t tag);
void wire_put_bytes_head(struct buf *b, size_t n);
void wire_put_text(struct buf *b, const char *s, size_t n);
void wire_put_key(struct buf *b, const char *key);
void wire_put_bool(struct buf *b, bool v);
void wire_put_null(struct buf *b);
void wire_put_double(struct buf *b, double v);

/* ---- json_in.c, json_out.c ---- */

/* The record OBJ as CBOR. */
int json_to_cbor(struct buf *out, const struct json_t *obj, struct err *e);
/* Any value that stands in a record. */
int json_value_to_cbor(struct buf *out, const struct json_t *v, struct err *e);
/* One JSON text, without newline: the record P, scanned; and one item. */
void json_record(struct buf *out, const unsigned char *p, const struct scan *s);
void json_item(struct buf *out, const unsigned char *p, size_t n);

/* ---- num.c: arrays of numbers ---- */

/* Sizes and kinds of RFC 8746's typed arrays that this module reads. */
struct numtype {
    unsigned tag;
    unsigned size;
    char kind; /* 'u', 'i' or 'f' */
};
const struct numtype *numtype_of(uint64_t tag);
/* One element: an integer, extended to 64 bits; a float. */
uint64_t num_bits(const struct numtype *t, const unsigned char *p);
double num_float(const struct numtype *t, const unsigned char *p);

/* ---- in.c, rec.c ---- */

struct wire_in {
    int fd;
    const char *name;
    void (*before)(void *);
    void *arg;
    unsigned char *p; /* CAP bytes; POS..N are still to be read */
    size_t pos, n, cap;
    uint64_t number;
    bool json; /* the last record was JSON: white space may follow */
    bool over; /* nothing more can be read */
    struct scan keys, sub;
    struct buf cbor; /* a JSON record, turned */
    /* What cannot be a view of the record: arrays and strings in pieces, not
     * aligned, or in need of a NUL. */
    struct buf ids, lp, text, str, opt, layers;
    struct buf head; /* the strings of HEADER */
    struct wire_header header;
    bool has_header;
};

/* ---- value.c ---- */

/* One value: item IT at P, which is N bytes with all that belongs to it. */
struct value {
    const char *key;
    const unsigned char *p;
    size_t n;
    struct item it;
};

/* ERR_FORMAT: KEY is not WHAT. */
int wrong(const char *key, const char *what, struct err *e);
/* KEY in the map P that S has scanned, behind tags that tell nothing.  False
 * when it is absent or null. */
bool find_value(struct value *v, const struct scan *s, const unsigned char *p,
                const char *key);
int get_uint(uint64_t *out, const struct value *v, struct err *e);
int get_double(double *out, const struct value *v, struct err *e);
/* A text or byte string; joined in TO when it comes in chunks. */
int get_bytes(const void **out, size_t *n, const struct value *v,
              struct buf *to, struct err *e);
/* A text string, appended to TO with a NUL that it does not hold itself. */
int get_cstr(const char **out, const struct value *v, struct buf *to,
             struct err *e);
/* The same two by key; *out as it was when that is absent. */
int opt_cstr(const char **out, const struct scan *s, const unsigned char *p,
             const char *key, struct buf *to, struct err *e);
int opt_uint(uint64_t *out, const struct scan *s, const unsigned char *p,
             const char *key, struct err *e);
/* A map inside the record, scanned into IN->sub: 1, 0 absent, -1. */
int opt_map(struct wire_in *in, const unsigned char **map,
            const unsigned char *p, const char *key, struct err *e);
/* The N numbers V as uint32_t ('u') or float ('f'): a view, or in TO. */
int get_array(const void **out, size_t *n, const struct value *v, char want,
              struct buf *to, struct err *e);
/* The N numbers at KEY as uint32_t ('u') or float ('f'): 1, 0 absent, -1. */
int opt_array(const void **out, size_t *n, struct wire_in *in,
              const unsigned char *p, const char *key, char want,
              struct err *e);

/* Fill in REC from the record REC->map, whose keys IN->keys has. */
int rec_load(struct wire_in *in, struct wire_rec *rec, struct err *e);

#endif
