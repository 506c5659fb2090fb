/* SPDX-License-Identifier: MIT
 * schema.h - a JSON Schema being compiled: what its files share.
 *
 * A schema is read (schema_read.c), and each of its subschemas, and the
 * opposite of each, is a set of values (schema_set.c, schema_eval.c).  A place
 * in a text has a state: the subschemas, or opposites, that its value must
 * satisfy all together.  The values that a state allows are, type by type, what
 * the sets of its subschemas have in common; what is in an array or object is
 * in states again (schema_state.c).  So there are finitely many, and each
 * becomes a rule of the grammar (schema.c).
 */
#ifndef LLM_GRAMMAR_SCHEMA_H
#define LLM_GRAMMAR_SCHEMA_H

#include <jansson.h>

#include "base/arena.h"
#include "grammar/build.h"
#include "grammar/intern.h"
#include "grammar/schema_decimal.h"

enum schema_type {
    TYPE_NULL,
    TYPE_BOOL,
    TYPE_NUMBER,
    TYPE_STRING,
    TYPE_ARRAY,
    TYPE_OBJECT,
    NTYPE
};

/* A subschema, twice its number; plus 1: its opposite. */
enum { LIT_ANY = 0, LIT_NONE = 1 };

/* ---- sets of values of one type ---- */

struct schema_text {
    const char *p;
    size_t n;
};

/* Texts of MIN to MAX code points (MAX -1: or more) that D matches, unless it
 * is NULL.  Numbers have no lengths. */
struct schema_lang {
    int64_t min, max;
    const struct dfa *d;
};

/* Names: those that are keys of an object, or among texts, or match one of the
 * automata, or are in another of SUB; NOT: all others. */
struct schema_keys {
    bool not ;
    json_t *names;
    const struct schema_text *text; /* sorted */
    size_t ntext;
    const struct dfa *const *match;
    size_t nmatch;
    const struct schema_keys *const *sub;
    size_t nsub;
};

/* Of objects: all members whose names are KEYS satisfy LIT; or there is one.
 * Of arrays: all items from FIRST to LAST; or MIN to MAX of those from FIRST
 * on.  WORD is the keyword, NODE the subschema that has it. */
struct schema_need {
    const struct schema_need *next;
    const struct schema_keys *keys;
    int64_t first, last, min, max;
    uint32_t lit, node;
    const char *word;
};

/* What a subschema has evaluated, for unevaluatedProperties and -Items. */
struct schema_seen {
    const struct schema_seen *next;
    const struct schema_keys *keys;
    int64_t count; /* items from the first on; -1: all */
    bool some;     /* items here and there */
};

/* Arrays or objects: of MIN to MAX (-1: or more) items or members. */
struct schema_case {
    int64_t min, max;
    const struct schema_need *all, *some;
    const struct schema_seen *seen;
    uint32_t unique; /* the subschema that says so, plus 1 */
    uint32_t node;   /* that says MIN */
};

/* BITS of null and of (false, true); TEXT, sorted, and LANG of numbers
 * and strings; CASES of arrays and objects: all in any of them. */
struct schema_set {
    uint8_t bits;
    size_t ntext, nlang, ncase;
    const struct schema_text *text;
    const struct schema_lang *lang;
    const struct schema_case *cases;
};

/* ---- a schema ---- */

struct schema_node {
    json_t *json;
    bool value;      /* the schema {"const": JSON} */
    uint32_t parent; /* with WORD, then KEY or the number AT, the way here */
    uint32_t base;   /* the subschema with the $id that holds here */
    const char *word, *key;
    size_t at;
    const char *uri; /* of a base */
    const struct schema_set **memo;
};

struct schema {
    struct err *e;
    struct arena mem;
    json_t *root;
    json_t *kept;          /* values that are made on the way */
    uint32_t start;        /* the literal of the whole */
    struct buf number;     /* struct schema_text: as they are written */
    struct buf node;       /* struct schema_node */
    struct intern node_at; /* by address */
    struct intern uri;     /* texts of addresses: to UNDER */
    struct buf under;      /* uint32_t: subschemas */
    struct buf dfa;        /* struct dfa *: to be freed */
    struct buf states;     /* struct schema_state *, schema_plan.c's */
    struct intern lits;    /* a state's number */
    struct intern made;    /* what automata were made from: to MADE_DFA */
    struct buf made_dfa;
    struct intern rest; /* lists of names: to automata of all others */
    struct buf rest_dfa;
    uint64_t work, cells;
    int depth, peek;
};

/* Records that KEYWORD of NODE is wrong or cannot be enforced. */
int schema_fail(struct schema *s, uint32_t node, const char *keyword,
                enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* N units of work are to be done; "too large" beyond a limit. */
int schema_work(struct schema *s, size_t n);
void *schema_alloc(struct schema *s, size_t count, size_t size);

/* ---- schema_read.c, schema_ref.c ---- */

struct schema_at;

int schema_read(struct schema *s, const char *text, size_t n);
struct schema_node *schema_node(const struct schema *s, uint32_t id);
/* The literal of JSON, which is at KEY, or AT where that is NULL, of WORD of
 * PARENT; LIT_BAD where something failed. */
#define LIT_BAD UINT32_MAX
uint32_t schema_lit(struct schema *s, json_t *json, uint32_t parent,
                    const char *word, const char *key, size_t at, bool value);
/* Of the subschema in a keyword, at KEY or AT of its value; SCHEMA_SELF: the
 * value itself. */
#define SCHEMA_SELF SIZE_MAX
uint32_t schema_child(struct schema *s, const struct schema_at *at,
                      json_t *json, const char *key, size_t i);
void schema_pointer(const struct schema *s, uint32_t node, struct buf *out);
int schema_number(struct schema *s, const json_t *json, struct decimal *out);
/* Addresses and anchors of the subschemas from number FROM on. */
int schema_ref_names(struct schema *s, uint32_t from);
uint32_t schema_ref(struct schema *s, uint32_t node, const char *ref);
const char *schema_ref_join(struct schema *s, const char *base,
                            const char *ref);

/* ---- schema_set.c ---- */

void schema_set_none(struct schema_set *out);
void schema_set_all(enum schema_type t, struct schema_set *out);
int schema_set_and(struct schema *s, enum schema_type t,
                   const struct schema_set *a, const struct schema_set *b,
                   struct schema_set *out);
int schema_set_or(struct schema *s, enum schema_type t,
                  const struct schema_set *a, const struct schema_set *b,
                  struct schema_set *out);
bool schema_set_empty(enum schema_type t, const struct schema_set *a);
/* Those that A does not have, of strings. */
int schema_set_not(struct schema *s, const struct schema_set *a,
                   struct schema_set *out);
/* All strings of A. */
int schema_set_dfa(struct schema *s, const struct schema_set *a,
                   const struct dfa **out);
int schema_texts_dfa(struct schema *s, const struct schema_text *text, size_t n,
                     const struct dfa **out);
/* A op B; B is not used for '!'. */
int schema_dfa(struct schema *s, char op, const struct dfa *a,
               const struct dfa *b, const struct dfa **out);
int schema_dfa_keep(struct schema *s, struct dfa *d);
void schema_set_lang(struct schema *s, int64_t min, int64_t max,
                     const struct dfa *d, struct schema_set *out);

/* ---- schema_eval.c ---- */

/* Where a keyword's value has subschemas. */
enum schema_shape {
    SHAPE_NONE,
    SHAPE_ONE,
    SHAPE_LIST,
    SHAPE_MAP,
    SHAPE_ONE_LIST, /* one, or a list of them */
    SHAPE_NAMES,    /* a map of subschemas and of lists of names */
};

/* A keyword of a subschema being evaluated. */
struct schema_at {
    const char *word;
    json_t *value, *schema;
    uint32_t node;
    enum schema_type type;
    bool not, track;
};

typedef int schema_eval_fn(struct schema *s, const struct schema_at *at,
                           struct schema_set *out);

struct schema_keyword {
    const char *name;
    enum schema_shape shape;
    uint8_t types; /* a bit for each that it constrains */
    schema_eval_fn *eval;
};
const struct schema_keyword *schema_keyword(const char *name);

/* The values of type T that LIT allows.  TRACK: with what was evaluated. */
int schema_eval(struct schema *s, uint32_t lit, enum schema_type t, bool track,
                struct schema_set *out);
/* All of SETS[N] together, or what they have in common (AND). */
int schema_reduce(struct schema *s, enum schema_type t, struct schema_set *sets,
                  size_t n, bool and, struct schema_set *out);
/* One case, or none where N is NULL: with a need that all, or SOME. */
int schema_need(struct schema *s, const struct schema_at *at, bool some,
                const struct schema_need *n, struct schema_set *out);
int schema_bounds(struct schema *s, const struct schema_at *at, int64_t min,
                  int64_t max, struct schema_set *out);
/* A count that is AT's value: its text, as an integer of at most INT_MAX. */
int schema_count(struct schema *s, const struct schema_at *at,
                 const json_t *value, int64_t *out);
/* The automaton of a pattern, format ('p', 'f') or number (its kind and
 * bound), made once. */
int schema_made(struct schema *s, const struct schema_at *at, int kind,
                const char *text, size_t n, const struct dfa **out);

/* ---- schema_value.c, schema_logic.c, schema_array.c, schema_object.c ---- */

schema_eval_fn schema_eval_type, schema_eval_enum, schema_eval_const,
    schema_eval_number, schema_eval_length, schema_eval_pattern,
    schema_eval_dialect;
schema_eval_fn schema_eval_all, schema_eval_any, schema_eval_one,
    schema_eval_not, schema_eval_if, schema_eval_ref;
schema_eval_fn schema_eval_prefix, schema_eval_items, schema_eval_more_items,
    schema_eval_contains, schema_eval_count, schema_eval_unique;
schema_eval_fn schema_eval_properties, schema_eval_patterns,
    schema_eval_additional, schema_eval_names, schema_eval_required,
    schema_eval_dependent;
int schema_value_set(struct schema *s, const struct schema_at *at,
                     json_t *value, struct schema_set *out);
/* Keys that are one name. */
const struct schema_keys *schema_key(struct schema *s, const char *name);

/* ---- schema_state.c ---- */

/* A member of an object: of one name, or of those that D matches. */
struct schema_member {
    struct schema_text name;
    const struct dfa *d; /* NULL: of NAME */
    uint32_t state;
    bool required;
};

/* How many items from FIRST on satisfy LIT. */
struct schema_counter {
    int64_t first, min, max;
};

/* How an array or object may be: of MIN to MAX (-1: or more). */
struct schema_plan {
    const struct schema_plan *next;
    enum schema_type type;
    int64_t min, max;
    size_t n; /* members; or items that are not like those after them */
    struct schema_member *member;
    /* Of items: the states of the first N and then of all others, each with
     * each choice of those counters that count it. */
    uint32_t *item;
    size_t ncounter;
    struct schema_counter *counter;
    /* Each item is another one of these. */
    size_t nvalue;
    uint32_t *value;
};

struct schema_state {
    const struct schema_set *set[NTYPE];
    const struct schema_plan *plan;
    bool empty, known; /* as far as schema_dead() looks */
    bool planned, live;
    uint32_t node; /* of the grammar */
};

/* The number of the state of these literals; LIT_BAD where memory ran out. */
uint32_t schema_state(struct schema *s, const uint32_t *lit, size_t n);
struct schema_state *schema_state_at(const struct schema *s, uint32_t id);
/* The values of type T that it allows; NULL where something failed. */
const struct schema_set *schema_state_set(struct schema *s, uint32_t id,
                                          enum schema_type t);
/* Is there surely no value of this case? */
bool schema_dead(struct schema *s, enum schema_type t,
                 const struct schema_case *c);
/* The state of the items at AT, or of members with NAME, plus a literal. */
uint32_t schema_item(struct schema *s, const struct schema_case *c, int64_t at,
                     const uint32_t *more, size_t n);
uint32_t schema_named(struct schema *s, const struct schema_case *c,
                      const struct schema_text *name, const uint32_t *more,
                      size_t n);

/* ---- schema_members.c, schema_items.c ---- */

/* Adds the plans of a case to OUT. */
int schema_members(struct schema *s, const struct schema_case *c,
                   const struct schema_plan **out);
int schema_items(struct schema *s, const struct schema_case *c,
                 const struct schema_plan **out);

/* ---- schema_text.c, schema_list.c ---- */

/* What is written of scalars: the terminals of the grammar. */
struct schema_write {
    struct schema *s;
    struct build *b;
    uint32_t space, comma, colon;
    uint32_t character;  /* of a string */
    struct intern langs; /* nodes of automata by address: to LANG_NODE */
    struct buf lang_node;
};

int schema_write_init(struct schema_write *w);
void schema_write_fini(struct schema_write *w);
/* Nodes of the scalars of a state; of a name. */
int schema_write_scalars(struct schema_write *w, uint32_t state,
                         uint32_t *node);
int schema_write_name(struct schema_write *w, const struct schema_member *m,
                      uint32_t *node);
/* The items of PLAN between brackets.  W NULL: is there a value at all? */
int schema_write_items(struct schema *s, struct schema_write *w,
                       const struct schema_plan *p, bool *live, uint32_t *node);

bool schema_keys_have(const struct schema_keys *k, const char *name, size_t n);

/* ---- schema_format.c ---- */

/* The texts of a format. */
int schema_format(struct schema *s, const struct schema_at *at,
                  const char *name, struct dfa **out);

#endif
