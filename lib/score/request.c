/* SPDX-License-Identifier: MIT
 * request.c - the fields of HellaSwag (ctx, endings, label), of MMLU (question,
 * choices, answer) and of ARC (question, choices with labels, answerKey), and
 * our own. */
#include "score/request.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

/* One line while it is read. */
struct reader {
    struct score_request *q;
    const json_t *o;
    const json_t *choice[SCORE_MAX_CHOICES]; /* strings */
    const json_t *label[SCORE_MAX_CHOICES];  /* or NULL */
    bool letters;
    struct err *e;
};

static const json_t *first_of(const json_t *o, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *v = json_object_get(o, *keys);

        if (v && !json_is_null(v))
            return v;
    }
    return NULL;
}
#define FIRST(o, ...) first_of(o, (const char *const[]){__VA_ARGS__, NULL})

static void put_string(struct buf *b, const json_t *s)
{
    buf_put(b, json_string_value(s), json_string_length(s));
}

/* Without white space around it. */
static void put_trimmed(struct buf *b, const json_t *s)
{
    const char *p = json_string_value(s);
    size_t n = json_string_length(s);

    for (; n && isspace((unsigned char)*p); n--)
        p++;
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    buf_put(b, p, n);
}

/* HellaSwag's texts are of two sources, one of which has marks in brackets:
 * [title] ends a sentence, and all others are nothing. */
static void put_plain(struct buf *b, const json_t *s)
{
    static const char title[] = " [title]";
    struct buf t = {0};
    size_t at = b->n;

    put_trimmed(&t, s);
    for (size_t i = 0; i < t.n; i++) {
        const char *p = (const char *)t.p + i;
        const void *close;

        if (t.n - i >= sizeof title - 1 &&
            !memcmp(p, title, sizeof title - 1)) {
            buf_puts(b, ". ");
            i += sizeof title - 2;
        } else if (*p == '[' && (close = memchr(p, ']', t.n - i))) {
            i += (size_t)((const char *)close - p);
        } else if (*p != ' ' || b->n == at || b->p[b->n - 1] != ' ') {
            buf_putc(b, *p);
        }
    }
    b->bad |= t.bad;
    buf_free(&t);
}

static size_t chars(const unsigned char *p, size_t n)
{
    size_t c = 0;

    for (size_t i = 0; i < n; i++)
        c += (p[i] & 0xc0) != 0x80;
    return c;
}

/* What was appended to TEXT since AT is a choice, after JOIN bytes. */
static int add_choice(struct reader *r, size_t at, size_t join)
{
    struct score_request *q = r->q;

    if (buf_ok(&q->text, r->e))
        return -1;
    q->choice[q->n++] = (struct score_choice){
        at, q->text.n - at,
        chars(q->text.p + at + join, q->text.n - at - join)};
    return 0;
}

/* ---- lists ---- */

static int bad(struct reader *r, const char *key, const char *what)
{
    return err_set(r->e, ERR_FORMAT, "\"%s\" is not %s", key, what);
}

/* The strings of a list, or of its objects' "text", into r->choice; labels,
 * too.  How many; -1. */
static int list(struct reader *r, const char *key, const json_t *v)
{
    const json_t *labels = NULL;
    size_t n;

    if (json_is_object(v)) { /* {"text": [...], "label": [...]} */
        labels = json_object_get(v, "label");
        v = json_object_get(v, "text");
    }
    n = json_array_size(v);
    if (!json_is_array(v) || !n || n > SCORE_MAX_CHOICES ||
        (labels && json_array_size(labels) != n))
        return bad(r, key, "a list of texts");
    for (size_t i = 0; i < n; i++) {
        const json_t *c = json_array_get(v, i);

        r->label[i] = labels ? json_array_get(labels, i) : NULL;
        if (json_is_object(c)) { /* {"text": "...", "label": "A"} */
            r->label[i] = json_object_get(c, "label");
            c = json_object_get(c, "text");
        }
        if (!json_is_string(c))
            return bad(r, key, "a list of texts");
        r->choice[i] = c;
    }
    return (int)n;
}

/* "A", "B" and so on, as keys of the object itself. */
static int letter_keys(struct reader *r)
{
    int n = 0;

    for (char key[2] = "A"; *key <= 'Z'; (*key)++, n++) {
        r->choice[n] = json_object_get(r->o, key);
        r->label[n] = NULL;
        if (!json_is_string(r->choice[n]))
            break;
    }
    return n;
}

/* ---- which answer is right ---- */

static int answer_of(const struct reader *r, const json_t *v, int n)
{
    const char *s = json_string_value(v);
    char *end;
    long i;

    if (json_is_integer(v))
        return json_integer_value(v) >= 0 && json_integer_value(v) < n
                   ? (int)json_integer_value(v)
                   : -1;
    for (int k = 0; s && k < n; k++)
        if (json_is_string(r->label[k]) &&
            !strcmp(json_string_value(r->label[k]), s))
            return k;
    if (!s || !*s)
        return -1;
    if (!s[1] && *s >= 'A' && *s < 'A' + n && *s <= 'Z')
        return *s - 'A';
    i = strtol(s, &end, 10);
    return *s >= '0' && *s <= '9' && !*end && i < n ? (int)i : -1;
}

/* N choices were found. */
static int take_answer(struct reader *r, int n)
{
    static const char *const keys[] = {"answer", "answerKey", "label",
                                       "gold",   "target",    NULL};
    const json_t *v = first_of(r->o, keys);

    r->q->answer = -1;
    /* Public test sets say "" where they do not tell. */
    if (!v || (json_is_string(v) && !*json_string_value(v)))
        return 0;
    r->q->answer = answer_of(r, v, n);
    if (r->q->answer >= 0)
        return 0;
    return err_set(r->e, ERR_FORMAT, "the answer is none of the %d choices", n);
}

/* ---- kinds of lines ---- */

static int continuations(struct reader *r, const json_t *v, const char *key)
{
    struct score_request *q = r->q;
    const json_t *prompt = FIRST(r->o, "prompt", "context");
    int n = 1;

    if (prompt && !json_is_string(prompt))
        return bad(r, "prompt", "a text");
    r->choice[0] = v;
    r->label[0] = NULL;
    if (!json_is_string(v) && (n = list(r, key, v)) < 0)
        return -1;
    put_string(&q->context, prompt);
    for (int i = 0; i < n; i++) {
        size_t at = q->text.n;

        put_string(&q->text, r->choice[i]);
        if (add_choice(r, at, 0))
            return -1;
    }
    return take_answer(r, n);
}

/* The beginning of HellaSwag's text: all of it, or two parts. */
static int beginning(struct reader *r)
{
    struct buf *to = &r->q->context;
    const json_t *label = json_object_get(r->o, "activity_label"),
                 *a = json_object_get(r->o, "ctx_a"),
                 *b = json_object_get(r->o, "ctx_b"),
                 *all = FIRST(r->o, "ctx", "context", "prompt");
    size_t at;

    if (json_is_string(label)) {
        put_plain(to, label);
        buf_puts(to, ": ");
    }
    if (!json_is_string(a) || !json_is_string(b)) {
        if (!json_is_string(all))
            return bad(r, "ctx", "a text");
        put_plain(to, all);
        return 0;
    }
    put_plain(to, a);
    if (json_string_length(b))
        buf_putc(to, ' ');
    at = to->n;
    put_plain(to, b);
    if (!to->bad && to->n > at)
        to->p[at] = (unsigned char)toupper(to->p[at]);
    return 0;
}

static int endings(struct reader *r, const json_t *v)
{
    struct score_request *q = r->q;
    int n = list(r, "endings", v);

    if (n < 0 || beginning(r))
        return -1;
    for (int i = 0; i < n; i++) {
        size_t at = q->text.n;

        buf_putc(&q->text, ' ');
        put_plain(&q->text, r->choice[i]);
        if (add_choice(r, at, 1))
            return -1;
    }
    return take_answer(r, n);
}

/* "high_school_physics" */
static void put_subject(struct buf *to, const json_t *s)
{
    size_t at;

    buf_puts(to, "The following are multiple choice questions (with answers)");
    if (json_is_string(s)) {
        buf_puts(to, " about ");
        at = to->n;
        put_string(to, s);
        for (size_t i = at; !to->bad && i < to->n; i++)
            if (to->p[i] == '_')
                to->p[i] = ' ';
    }
    buf_puts(to, ".\n\n");
}

static int question(struct reader *r, const json_t *text, const json_t *v)
{
    struct score_request *q = r->q;
    int n = v ? list(r, "choices", v) : letter_keys(r);

    if (n < 0)
        return -1;
    if (!n)
        return err_set(r->e, ERR_FORMAT, "there are no \"choices\"");
    if (n > 26 && r->letters)
        return err_set(r->e, ERR_FORMAT, "there are more choices than letters");
    if (r->letters)
        put_subject(&q->context, json_object_get(r->o, "subject"));
    else
        buf_puts(&q->context, "Question: ");
    put_trimmed(&q->context, text);
    for (int i = 0; i < n; i++) {
        size_t at = q->text.n;

        buf_putc(&q->text, ' ');
        if (r->letters) {
            buf_printf(&q->context, "\n%c. ", 'A' + i);
            put_string(&q->context, r->choice[i]);
            buf_putc(&q->text, 'A' + i);
        } else {
            put_string(&q->text, r->choice[i]);
        }
        if (add_choice(r, at, 1))
            return -1;
    }
    buf_puts(&q->context, "\nAnswer:");
    return take_answer(r, n);
}

static int object(struct reader *r)
{
    const json_t *o = r->o, *v = json_object_get(o, "continuation"),
                 *text = FIRST(o, "question", "input"),
                 *choices = FIRST(o, "choices");

    if (v && json_is_string(v))
        return continuations(r, v, "continuation");
    if ((v = FIRST(o, "continuations", "continuation")))
        return continuations(r, v, "continuations");
    if ((v = FIRST(o, "endings")))
        return endings(r, v);
    if (json_is_object(text)) { /* {"stem": "...", "choices": [...]} */
        choices = choices ? choices : json_object_get(text, "choices");
        text = json_object_get(text, "stem");
    }
    if (json_is_string(text))
        return question(r, text, choices);
    return err_set(r->e, ERR_FORMAT,
                   "neither \"continuations\", nor \"endings\", nor a "
                   "\"question\" that is a text");
}

int score_request(struct score_request *q, const void *p, size_t n,
                  bool letters, struct err *e)
{
    struct reader r = {.q = q, .letters = letters, .e = e};
    json_error_t je;
    json_t *o = json_loadb(p, n, JSON_REJECT_DUPLICATES, &je);
    const json_t *id;
    char *text;
    int rc = -1;

    q->context.n = q->text.n = q->id.n = 0;
    q->n = 0;
    q->answer = -1;
    if (!o)
        return err_set(e, ERR_FORMAT, "column %d: %s", je.column, je.text);
    r.o = o;
    id = FIRST(o, "id", "ind");
    if (!json_is_object(o)) {
        err_set(e, ERR_FORMAT, "it is no object");
    } else {
        rc = object(&r);
        text =
            id && !rc ? json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        if (text)
            buf_puts(&q->id, text);
        free(text);
    }
    rc = rc || buf_ok(&q->context, e) || buf_ok(&q->text, e) ||
         buf_ok(&q->id, e);
    json_decref(o);
    return rc ? -1 : 0;
}

void score_request_free(struct score_request *q)
{
    buf_free(&q->context);
    buf_free(&q->text);
    buf_free(&q->id);
}
