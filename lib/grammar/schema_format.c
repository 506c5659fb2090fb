/* SPDX-License-Identifier: MIT
 * schema_format.c - what "format" may say, as regular expressions.
 *
 * They follow the RFCs that JSON Schema names: 3339 (dates and times), 5321
 * (mail), 1123 (hosts), 2673 and 4291 (addresses), 3986 and 3987 (URIs and
 * IRIs), 6570 (templates), 6901 (pointers), 4122 (UUIDs).  What is not regular,
 * such as international hosts, is not here.
 */
#include <stdio.h>
#include <string.h>

#include "grammar/schema.h"

/* ---- dates and times ---- */

/* No year 0, which other software has not. */
#define YEAR                                                                   \
    "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
#define LEAP                                                                   \
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"                            \
    "(?:0[48]|[2468][048]|[13579][26])00)"
#define DATE                                                                   \
    "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"            \
    "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"                                   \
    "02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP "-02-29)"
#define HOUR     "(?:[01][0-9]|2[0-3])"
#define FRACTION "(?:\\.[0-9]+)?"
#define TIME                                                                   \
    HOUR ":[0-5][0-9]:[0-5][0-9]" FRACTION "(?:[zZ]|[+-]" HOUR ":[0-5][0-9])"
#define DURATION                                                               \
    "P(?:(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|"                                      \
    "[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)(?:" DURATION_TIME ")?|" DURATION_TIME    \
    "|[0-9]+W)"
#define DURATION_TIME                                                          \
    "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"

/* ---- hosts and mail ---- */

#define BYTE4 "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4  BYTE4 "\\." BYTE4 "\\." BYTE4 "\\." BYTE4
#define X4    "[0-9A-Fa-f]{1,4}"
#define LAST  "(?:" X4 ":" X4 "|" IPV4 ")"
#define IPV6                                                                   \
    "(?:(?:" X4 ":){6}" LAST "|::(?:" X4 ":){5}" LAST "|(?:" X4 ")?::(?:" X4   \
    ":){4}" LAST "|(?:(?:" X4 ":)?" X4 ")?::(?:" X4 ":){3}" LAST "|(?:(?:" X4  \
    ":){0,2}" X4 ")?::(?:" X4 ":){2}" LAST "|(?:(?:" X4 ":){0,3}" X4 ")?::" X4 \
    ":" LAST "|(?:(?:" X4 ":){0,4}" X4 ")?::" LAST "|(?:(?:" X4 ":){0,5}" X4   \
    ")?::" X4 "|(?:(?:" X4 ":){0,6}" X4 ")?::)"
/* No hyphens at the third and fourth place: whether what follows is Punycode
 * of a good name no automaton can say. */
#define LABEL                                                                  \
    "(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]"            \
    "[A-Za-z0-9]|[A-Za-z0-9](?:[A-Za-z0-9-][A-Za-z0-9][A-Za-z0-9-]|"           \
    "[A-Za-z0-9-]-[A-Za-z0-9])(?:[A-Za-z0-9-]{0,58}[A-Za-z0-9])?)"
#define ATOM       "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define MAIL_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
#define MAIL                                                                   \
    "(?:" ATOM "(?:\\." ATOM ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")@"          \
    "(?:" MAIL_LABEL "(?:\\." MAIL_LABEL ")*|\\[(?:" IPV4 "|IPv6:" IPV6        \
    ")\\])"

/* ---- URIs, with EXTRA characters, IRIs, with PRIVATE in queries ---- */

#define PERCENT      "%[0-9A-Fa-f]{2}"
#define SCHEME       "[A-Za-z][A-Za-z0-9+.-]*"
#define PLAIN(extra) "A-Za-z0-9._~!$&'()*+,;=" extra "-"
#define PCHAR(extra) "(?:[:@" PLAIN(extra) "]|" PERCENT ")"
#define AUTHORITY(extra)                                                       \
    "(?:(?:[:" PLAIN(extra) "]|" PERCENT ")*@)?"                               \
                            "(?:\\[(?:" IPV6 "|[vV][0-9A-Fa-f]+\\.[:" PLAIN(   \
                                "") "]+)\\]|"                                  \
                                    "(?:[" PLAIN(extra) "]|" PERCENT           \
                                                        ")*)(?::[0-9]*)?"
#define PATH(extra) "(?:/" PCHAR(extra) "*)*"
#define SLASHES(extra)                                                         \
    "//" AUTHORITY(extra) PATH(extra) "|/(?:" PCHAR(extra) "+" PATH(extra) ")" \
                                                                           "?"
#define QUERY(extra, private)                                                  \
    "(?:\\?(?:[/?" private "]|" PCHAR(extra) ")*)?"                            \
                                             "(?:#(?:[/?]|" PCHAR(             \
                                                 extra) ")*)?"
#define URI(extra, private)                                                    \
    SCHEME ":(?:" SLASHES(extra) "|" PCHAR(extra) "+" PATH(extra) "|)" QUERY(  \
        extra, private)
#define REFERENCE(extra, private)                                              \
    "(?:" URI(extra, private) "|(?:" SLASHES(extra) "|(?:[@" PLAIN(            \
        extra) "]|" PERCENT ")+" PATH(extra) "|)" QUERY(extra, private) ")"
#define UCS                                                                    \
    "\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}"                  \
    "\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}\\u{30000}-\\u{3FFFD}"          \
    "\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}"          \
    "\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}"          \
    "\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}"          \
    "\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}"
#define PRIVATE                                                                \
    "\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"
#define VARIABLE                                                               \
    "(?:[A-Za-z0-9_]|" PERCENT ")(?:\\.?(?:[A-Za-z0-9_]|" PERCENT "))*"        \
    "(?::[1-9][0-9]{0,3}|\\*)?"
#define TEMPLATE                                                               \
    "(?:[!#$&-;=?-\\[\\]_a-z~" UCS PRIVATE "]|" PERCENT                        \
    "|\\{[+#./;?&=,!@|]?" VARIABLE "(?:," VARIABLE ")*\\})*"
#define POINTER "(?:/(?:[^~/]|~[01])*)*"

static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", DATE},
    {"date-time", DATE "[tT]"},
    {"duration", DURATION},
    {"email", MAIL},
    {"hostname", LABEL "(?:\\." LABEL ")*"},
    {"ipv4", IPV4},
    {"ipv6", IPV6},
    {"iri", URI(UCS, PRIVATE)},
    {"iri-reference", REFERENCE(UCS, PRIVATE)},
    {"json-pointer", POINTER},
    {"relative-json-pointer", "(?:0|[1-9][0-9]*)(?:#|" POINTER ")"},
    {"time", ""},
    {"uri", URI("", "")},
    {"uri-reference", REFERENCE("", "")},
    {"uri-template", TEMPLATE},
    {"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
};

/* A time, and a leap second, which is before midnight in UTC: with offsets of
 * whole and half hours. */
static void put_time(struct buf *out)
{
    buf_puts(out, "(?:" TIME "|23:59:60" FRACTION "[zZ]");
    for (int at = 0; at < 48; at++) {
        /* AT half hours and a minute less after midnight there. */
        int minute = (at * 30 + 1439) % 1440, back = (48 - at) % 48;

        buf_printf(out, "|%02d:%02d:60" FRACTION "(?:\\+%02d:%02d|-%02d:%02d)",
                   minute / 60, minute % 60, at / 2, at % 2 * 30, back / 2,
                   back % 2 * 30);
    }
    buf_puts(out, ")");
}

int schema_format(struct schema *s, const struct schema_at *at,
                  const char *name, struct dfa **out)
{
    enum { MAX_HOST = 253 };
    struct dfa *all, *most;
    struct buf b = {0};
    size_t i = 0;
    int rc;

    while (i < sizeof formats / sizeof *formats &&
           strcmp(name, formats[i].name))
        i++;
    if (i == sizeof formats / sizeof *formats)
        return schema_fail(s, at->node, at->word, ERR_UNSUPPORTED,
                           "'%.60s' is not a known format", name);
    buf_puts(&b, formats[i].pattern);
    if (strstr(name, "time"))
        put_time(&b);
    if (buf_ok(&b, s->e))
        return -1;
    rc = dfa_regex(&all, (const char *)b.p, b.n, DFA_WHOLE, s->e);
    buf_free(&b);
    if (rc || strcmp(name, "hostname")) {
        *out = all;
        return rc;
    }
    rc = dfa_length(&most, 0, MAX_HOST, s->e);
    if (!rc) {
        rc = dfa_and(out, all, most, s->e);
        dfa_free(most);
    }
    dfa_free(all);
    return rc;
}
