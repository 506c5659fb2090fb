#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make lib/base/unicode_data.c from Debian's unicode-data (Unicode 15.0).

usage: mkunicode.py [directory] >lib/base/unicode_data.c
"""
import re
import sys

DIR = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
LIMIT = 0x110000
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po "
              "Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn").split()
SPACE, HAN, FLIP = 0x20, 0x40, 0x80
BLOCK = 128


def ranges(name):
    """Yield (lo, hi, value) of a file of 'lo..hi ; value' lines."""
    with open(f"{DIR}/{name}", encoding="utf-8") as f:
        for line in f:
            m = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([\w.]+)", line)
            if m:
                yield int(m[1], 16), int(m[2] or m[1], 16), m[3]


def rows():
    """Yield (lo, hi, fields) of UnicodeData.txt."""
    first = None
    with open(f"{DIR}/UnicodeData.txt", encoding="utf-8") as f:
        for line in f:
            field = line.rstrip("\n").split(";")
            cp = int(field[0], 16)
            if field[1].endswith("First>"):
                first = cp
            else:
                yield (cp if first is None else first), cp, field
                first = None


category = ["Cn"] * LIMIT
ccc, decomposition, lower, upper, title = {}, {}, {}, {}, {}
for lo, hi, field in rows():
    category[lo:hi + 1] = [field[2]] * (hi + 1 - lo)
    if field[3] != "0":
        ccc[lo] = int(field[3])
    if field[5] and not field[5].startswith("<"):
        decomposition[lo] = [int(x, 16) for x in field[5].split()]
    for to, mapping in (12, upper), (13, lower), (14, title):
        if field[to]:
            mapping[lo] = int(field[to], 16)
excluded = {cp for lo, hi, what in ranges("DerivedNormalizationProps.txt")
            if what == "Full_Composition_Exclusion" for cp in range(lo, hi + 1)}
age = [(99, 0)] * LIMIT
for lo, hi, what in ranges("DerivedAge.txt"):
    age[lo:hi + 1] = [tuple(map(int, what.split(".")))] * (hi + 1 - lo)

special = {}  # cp: what its title and upper case are, of more than one character
with open(f"{DIR}/SpecialCasing.txt", encoding="utf-8") as f:
    for line in f:
        field = [x.strip() for x in line.split("#")[0].split(";")]
        if len(field) == 5:  # without a condition
            special[int(field[0], 16)] = [[int(x, 16) for x in y.split()] for y in field[2:4]]
derived = {}
for lo, hi, what in ranges("DerivedCoreProperties.txt"):
    derived.setdefault(what, set()).update(range(lo, hi + 1))

value = [CATEGORIES.index(c) for c in category]
for lo, hi, what in ranges("PropList.txt"):
    if what == "White_Space":
        for cp in range(lo, hi + 1):
            value[cp] |= SPACE
for lo, hi, what in ranges("Scripts.txt"):
    if what == "Han":
        for cp in range(lo, hi + 1):
            value[cp] |= HAN
for cp in range(LIMIT):
    # The first four have changed: Po, Lo, Lo and Mc they were in Unicode 8.
    if cp in (0x111c9, 0x1885, 0x1886, 0xa9bd) or age[cp] > (8, 0) and (
            category[cp][0] == "P" or category[cp] in ("Cf", "Mn")):
        value[cp] |= FLIP


def array(items, form, width=100):
    line, out = "", []
    for item in items:
        text = form(item) + ","
        if len(line) + len(text) > width:
            out.append(line)
            line = ""
        line += text
    return "\n".join(out + [line])


def put(declaration, items, form):
    print(f"const {declaration} = {{\n{array(items, form)}\n}};\n")


def full(cp):
    return [y for x in decomposition[cp] for y in full(x)] if cp in decomposition else [cp]


print('''/* SPDX-License-Identifier: MIT
 * unicode_data.c - Unicode 15.0 as unicode.h explains it.
 * Made by tests/tools/mkunicode.py; data (c) Unicode, Inc., under the Unicode
 * License (https://www.unicode.org/license.txt).
 */
/* clang-format off */
#include "base/unicode_data.h"
#include "base/unicode.h"
''')

blocks, index = {}, []
for i in range(0, LIMIT, BLOCK):
    index.append(blocks.setdefault(tuple(value[i:i + BLOCK]), len(blocks)))
assert len(blocks) <= 256
put(f"uint8_t unicode_block[0x110000 >> 7]", index, str)
print(f"const uint8_t unicode_classes[][{BLOCK}] = {{")
for block in blocks:
    print("{" + array(block, str) + "},")
print("};\n")

used = [0] * 4
for u in set(value):
    used[u >> 6] |= 1 << (u & 63)
put("uint64_t unicode_used[4]", used, lambda x: f"{x:#x}u")



def put_cases(name, mapping):
    cases = []
    for cp, to in sorted(mapping.items()):
        last = cases[-1] if cases else None
        gap = cp - last["hi"] if last else 0
        if last and to - cp == last["delta"] and gap <= 2 and last["step"] in (0, gap):
            last["hi"], last["step"] = cp, gap
        else:
            cases.append({"lo": cp, "hi": cp, "step": 0, "delta": to - cp})
    put(f"struct unicode_case unicode_{name}[]", cases,
        lambda c: f"{{{c['lo']:#x},{c['step'] or 1},{c['hi']:#x},{c['delta']}}}")
    print(f"const int unicode_n{name} = {len(cases)};\n")


put_cases("lowers", lower)
put_cases("uppers", upper)
put_cases("titles", {cp: to for cp, to in title.items() if to != upper.get(cp, cp)})
longer = [(cp, kind, to) for cp, both in sorted(special.items())
          for kind, to in zip("tu", both) if len(to) > 1]
put("struct unicode_special unicode_specials[]", longer,
    lambda x: f"{{{x[0]:#x},'{x[1]}',{{{','.join(f'{y:#x}' for y in x[2])}}}}}")
print(f"const int unicode_nspecial = {len(longer)};\n")


def put_set(name, members):
    runs = []
    for cp in sorted(members):
        if runs and runs[-1][1] + 1 == cp:
            runs[-1][1] = cp
        else:
            runs.append([cp, cp])
    put(f"struct unicode_run unicode_{name}[]", runs, lambda r: f"{{{r[0]:#x},{r[1]:#x}}}")
    print(f"const int unicode_n{name} = {len(runs)};\n")


# What the categories do not say of the derived properties.
put_set("lowercase", derived["Lowercase"] - {cp for cp in range(LIMIT) if category[cp] == "Ll"})
put_set("uppercase", derived["Uppercase"] - {cp for cp in range(LIMIT) if category[cp] == "Lu"})
put_set("ignorable", derived["Case_Ignorable"])

parts, table = [], []
for cp in sorted(decomposition):
    d = full(cp)
    assert len(d) <= 4
    table.append((cp, len(d), len(parts)))
    parts += d
put("struct unicode_decomp unicode_decomps[]", table,
    lambda d: f"{{{d[0]:#x},{d[1]},{d[2]}}}")
print(f"const int unicode_ndecomp = {len(table)};\n")
put("uint32_t unicode_parts[]", parts, lambda x: f"{x:#x}")

cccs = []
for cp in sorted(ccc):
    if cccs and cccs[-1][0] + cccs[-1][1] + 1 == cp and cccs[-1][2] == ccc[cp]:
        cccs[-1][1] += 1
    else:
        cccs.append([cp, 0, ccc[cp]])
put("struct unicode_ccc_range unicode_cccs[]", cccs,
    lambda c: f"{{{c[0]:#x},{c[1]},{c[2]}}}")
print(f"const int unicode_nccc = {len(cccs)};\n")

pairs = sorted((d[0], d[1], cp) for cp, d in decomposition.items()
               if len(d) == 2 and cp not in excluded)
put("struct unicode_pair unicode_pairs[]", pairs,
    lambda p: f"{{{p[0]:#x},{p[1]:#x},{p[2]:#x}}}")
print(f"const int unicode_npair = {len(pairs)};")
