#!/usr/bin/env bats
# grammar-check: grammars, regular expressions and JSON, right, wrong and
# hostile.
bats_require_minimum_version 1.5.0

setup() {
    PATH=$PWD/${B:-build}/bin:$PATH
    TOOLS=$PWD/${B:-build}/tools
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# $1: a grammar; $2: texts that match, $3: that do not, one a line.
grammar() {
    printf '%s\n' "$1" >g
    [ -z "$2" ] || run -0 grammar-check -q --grammar g <<<"$2"
    while IFS= read -r text; do
        run -1 grammar-check -q --grammar g -- "$text"
    done <<<"$3"
}

# The same for a regular expression.
regex() {
    [ -z "$2" ] || run -0 grammar-check -q --regex "$1" <<<"$2"
    while IFS= read -r text; do
        run -1 grammar-check -q --regex "$1" -- "$text"
    done <<<"$3"
}

# Fails with status $1 and one line that has the words $2; the rest runs.
fails() {
    local st=$1 words=$2

    shift 2
    run -"$st" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

# Refused like this, or taken, within a second of processor time and 100 MB;
# sanitizers and emulators take more of both.
cheap() {
    [[ -n ${EMULATOR:-} ]] || grep -q __asan_init "$(command -v grammar-check)" ||
        ulimit -t 2 -v 200000
    grammar-check -c "$@" 2>err || [ $? -le 4 ]
    [ "$(wc -l <err)" -le 1 ]
}

@test "a verdict a line" {
    run -1 grammar-check --json '{"a":[1,2]}' '{"a"' '[1,]' 'é'
    diff - <(printf '%s\n' "${lines[@]}") <<'END'
match	"{\"a\":[1,2]}"
more	"{\"a\""
no 3	"[1,]"
no 0	"é"
END
    run -0 grammar-check --json '"é"'
    run -1 grammar-check --json $'"\xff"'
    [ "$output" = 'no 1	"\"\xff\""' ]
    # Lines, the last without its newline; and NUL.
    run -0 grammar-check --json <<<$'1\ntrue'
    [ "${#lines[@]}" -eq 2 ]
    run -0 bash -c "printf '[1,\n2]\0{}' | grammar-check -0 --json"
    [ "${#lines[@]}" -eq 2 ]
    run -0 grammar-check -q --json </dev/null
    [ -z "$output" ]
    # An empty line is a text.
    run -1 grammar-check --json <<<''
    [ "$output" = 'more	""' ]
    # A long text, in parts.
    { printf '"'; head -c 300000 /dev/zero | tr '\0' a; echo '"'; } >long
    run -0 grammar-check -q --json <long
}

@test "JSON" {
    run -0 grammar-check -q --json '{}' '[]' '[ ]' '{ }' 'null' '5e+10' '"\u00e9\"\\\/\b\f\n\r\t"' \
        '"\ud83d\ude00"' '{ "a" : [ 1 , { "b" : null } ] }' '0' '10' $'[\n\t-1.5\r]'
    for t in '01' '1.' '.5' '+1' "'a'" '{a:1}' '[1,]' '{"a":1,}' ' 1' '1 ' '"\x"' '"\ud83d"' \
        '"\ude00"' $'"\t"' $'"\x7f' 'nul' 'NaN' '{"a" 1}' '[1 2]' '"\u12g4"' $'"\xed\xa0\x80"'; do
        run -1 grammar-check -q --json -- "$t"
    done
    run -0 grammar-check -q --json "[$(printf '%32s' '')1]"
    run -1 grammar-check -q --json "[$(printf '%33s' '')1]"
    deep=$(printf '[%.0s' {1..64})
    run -0 grammar-check -q --json "$deep${deep//[/]}"
    run -1 grammar-check --json "[$deep"
    [[ $output == 'no 64'* ]]
}

@test "what may come next: bytes, and the end" {
    run -0 grammar-check --regex 'a[0-9]{2,3}(b|-| |é)?' --next a12
    diff - <(printf '%s\n' "${lines[@]}") <<'END'
\x20
-
0-9
b
\xc3
end
END
    run -0 grammar-check --regex 'é' --next $'\xc3'
    [ "$output" = '\xa9' ]
    run -0 grammar-check --regex 'ab' --next ab
    [ "$output" = end ]
    run -1 --separate-stderr grammar-check --regex 'ab' --next axb
    [[ $stderr == *"byte 1 "* ]]
    run -0 grammar-check -q --regex 'ab' --next a
    [ -z "$output" ]
}

@test "GBNF: symbols" {
    grammar 'root ::= "a" [b-d] . "\"\\"' 'abx"\
adé"\
acA"\' $'aex"\\\nab"\\\nabx"'
    grammar 'root ::= [^a-y\n]+ | [\]\-\x41é] "-"' $'zZ!\n]-\n--\nA-\né-' $'a\nzaz\nB-a'
    grammar 'root ::= "\x41\u00e9\U0001F600\t\[\]"' $'A\u00e9\U1F600\t[]' $'A\nA\u00e9'
    grammar 'root ::= a-1 | b_2
a-1 ::= "x" ("y" | "z" a-1)?
b_2 ::= ""' $'x\nxy\nxzx\nxzxzxy\n' $'y\nxz'
    grammar 'root ::= ""' '' 'a'
    grammar 'root ::= [] | "b"' 'b' 'a'
    grammar 'root ::= ("a" | ) "b"' $'ab\nb' 'a'
}

@test "GBNF: how often" {
    grammar 'root ::= "a"* "b"+ "c"?' $'b\naabbc' $'a\nabcc\nac'
    grammar 'root ::= "a"{2} "b"{1,} "c"{ 0 , 2 }' $'aab\naabbcc' $'ab\naa\naabccc'
    grammar 'root ::= ("a"*)* "b"' $'b\naab' $'a\nbb'
    grammar 'root ::= ("a" | "")+ ("b"?){3}' $'aaabbb\n' $'bbbb'
    grammar 'root ::= ("x"{2,3}){2}' $'xxxx\nxxxxxx' $'xxx\nxxxxxxx'
    grammar 'root ::= ([a-z] [0-9]){3,5}' $'a1b2c3\na1b2c3d4e5' $'a1b2\na1b2c3d4e5f6\na1b2c'
    grammar 'root ::= "a"{0} "b"' 'b' 'ab'
    # A count, not so many copies.
    printf 'root ::= [a-z]{2,60000} "." ( [0-9]{1,9999} ";" ){3,70000}' >g
    { head -c 60000 /dev/zero | tr '\0' x; printf .; yes '77;' | head -n 3 | tr -d '\n'; } >ok
    run -0 grammar-check -q --grammar g <ok
    { printf x; cat ok; } >long
    run -1 grammar-check -q --grammar g <long
}

@test "GBNF: lines and comments" {
    printf '# one\n\nroot ::= # two\n  a |\n # three\n  ( "x"\n # four\n  | "y" "z"\n)\n  | "w"\na\t::=\t"a"# five' >g
    run -0 grammar-check -q --grammar g a x yz w
    printf 'root ::= "a"\r\n  | b\r\nb ::= "b"\r\n' >g
    run -0 grammar-check -q --grammar g a b
}

@test "GBNF: recursion" {
    grammar 'root ::= "(" root ")" | "x"' $'x\n(((x)))' $'(x\nx)'
    grammar 'root ::= "a" root "b" | "a" root "c" | ""' $'\naabc\naacb' $'ab\naac' || true
    run -0 grammar-check -q --grammar g aabc aacb ab ''
    # Right recursion takes no stack.
    printf 'root ::= "a" root | "b"' >g
    { head -c 200000 /dev/zero | tr '\0' a; printf b; } >t
    run -0 grammar-check -q --grammar g <t
}

@test "GBNF: what is malformed, with line and column" {
    for g in 'rout ::= "x":rule '"'root'" 'root :== "kek":line 1, column 6' 'root ::= "a:line 1, column 12' \
        $'root ::= "a"\nb ::= [z-a]:line 2, column 11' 'root ::= foo:column 10: there is no rule '"'foo'" \
        'root ::= "é" ):column 14' 'root ::= ("a":column 14' 'root ::= "\q":column 12' 'root ::= [a:column 12' \
        'root ::= "a"{3,2}:column 18' 'root ::= "a"{x}:column 14' 'root ::= "\ud800":column 17' \
        'root ::= <[3]>:column 10: a token needs a model' $'root ::= "a"\nroot ::= "b":line 2' '::= "a":column 1' \
        ':rule '"'root'"; do
        printf '%s' "${g%%:[^:=]*}" >g
        fails 3 "${g##*:}" grammar-check -c --grammar g
    done
    printf 'root ::= "\xff"' >g
    fails 3 'column 11: not UTF-8' grammar-check -c --grammar g
    # Left recursion, plain, behind what may be empty, and round a corner.
    for g in 'root ::= root "a" | "b"' 'root ::= ("x"*) root "a" | "b"' $'root ::= b "a"\nb ::= ("c"? root)+'; do
        printf '%s' "$g" >g
        fails 4 'left-recursive' grammar-check -c --grammar g
    done
    printf 'root ::= "b" root' >g
    fails 3 'matches nothing' grammar-check -c --grammar g
}

@test "regular expressions" {
    regex 'a|bc*' $'a\nb\nbccc' $'ab\nc\n'
    regex '^(?:\d{2,}|\w+-\s?)$' $'123\na_Z9-\na- ' $'1\n-\n1a'
    regex '[^\d\-a-c]\D\W\S' $'xx x\nxé.é' $'1x x\nax x'
    regex '\/\.\-\u{1F600}\u0041\x42\cJ?\$' '/.-😀AB$' 'x'
    regex '(a*)*b{0,3}?(c+?|)+' $'\naabbcc' $'bbbb'
    regex 'x{3}' 'xxx' $'xx\nxxxx'
    regex '.' $'a\né' $'ab'
    regex '[\s\S]\p{Lu}\P{L}[\p{Nd}_]' $'xÉ-٣\nxA-_' $'xé-1\nxAa1'
    regex '(?=.*\d)(?!.*[xy])[a-z\d]{3,5}' $'ab1\n1abcd' $'abc\nax1\nab1cde'
    regex '(?<year>\d+)|[]|[^]' $'12\nx' $'xy'
    regex '^a$|^$|b^c' $'a\n' $'bc'
}

@test "regular expressions that are malformed or not supported" {
    for r in 'a)' '(a' '[a' 'a{2,1}' '*a' 'a**' '\' '\!' '[b-a]' '\u{110000}' '\ud800' '{' '\p{Lu'; do
        fails 3 'offset' grammar-check -c --regex "$r"
    done
    fails 3 'not UTF-8' grammar-check -c --regex $'\xff'
    for r in '(a)\1' '\k<x>' '(?<=a)b' '(?<!a)b' '\bx' '\p{Greek}' '((?=a)a)*' '(?i:a)'; do
        fails 4 'support' grammar-check -c --regex "$r"
    done
}

@test "random regular expressions, as Python has them" {
    cat >random.py <<'END'
import random, re, subprocess
r = random.Random(6)
def term(d):
    k = r.randrange(9 if d else 5)
    if k < 2:
        return r.choice("abc") * r.randint(1, 2)
    if k == 2:
        return r.choice(["[ab]", "[^a]", "[b-cé]", r"[^\d]", "[a\\-]"])
    if k == 3:
        return r.choice([".", r"\d", r"\w", r"\W", r"\S", "é", r"\."])
    if k == 4:
        return ""
    if k == 5:
        return "(?:" + term(d - 1) + "|" + term(d - 1) + ")"
    if k == 6:
        return "(" + term(d - 1) + ")" + r.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,2}?"])
    return term(d - 1) + term(d - 1)
for i in range(120):
    p = term(5)
    if r.random() < 0.3:
        p = r.choice(["(?=.*a)", "(?!b)", "(?=.{2}$)", "^"]) + p + r.choice(["", "$", "(?!.)"])
    texts = ["".join(r.choice("aabbcé1. -") for _ in range(r.randint(0, 7))) for _ in range(60)]
    want = [re.fullmatch(p, t, re.A) is not None for t in texts]
    out = subprocess.run(["grammar-check", "-0", "--regex", p], input="\0".join(texts).encode() + b"\0", stdout=subprocess.PIPE).stdout
    got = [l.startswith(b"match") for l in out.splitlines()] or [False] * 60  # "matches nothing"
    assert got == want, (p, [t for t, g, w in zip(texts, got, want) if g != w])
END
    python3 random.py
}

@test "what is printed" {
    printf 'root ::= "ab" [0-9]{3,90} root? "c"' >g
    run -0 grammar-check --grammar g --print
    [[ $output == start* ]]
    [[ $output == *'"ab"'* && $output == *'{3,90}'* && $output == *' 0-9:'* ]]
}

@test "tokens of a model" {
    "$TOOLS/mkgguf" m.gguf llama
    run -0 grammar-check -m m.gguf --regex '[a-c]+' --next a
    [[ ${lines[-1]} == end ]]
    for l in "${lines[@]}"; do
        [[ $l == end || $l =~ ^[0-9]+$'\t''"'[a-c]+'"'$ ]] || { echo "$l"; return 1; }
    done
    run -0 grammar-check -m m.gguf --regex '[a-c]+' abcabcab a
    run -1 grammar-check -m m.gguf --regex 'ab{1,2}c' ab acb
    [ "${lines[0]}" = 'more	"ab"' ]
    [ "${lines[1]}" = 'no 1	"acb"' ]
    # What it has no tokens for is bytes.
    run -0 grammar-check -m m.gguf --json '{"a":[1,"é"]}' 'true'
    # Tokens by their number: "ab" is one of its own.
    id=$(grammar-check -m m.gguf --regex a --next '' | sed -n 's/\t"a"$//p')
    printf 'root ::= <[%s]>{2} "c" !<[%s]>' "$id" "$id" >g
    run -0 grammar-check -q -m m.gguf --grammar g aacc
    run -1 grammar-check -q -m m.gguf --grammar g aaca
    run -0 grammar-check -m m.gguf --grammar g --next aac
    [ "${#lines[@]}" -eq 5 ] # "<s>", too
    [[ $output != *$'\t"a"'* && $output == *$'\t"abc"'* ]]
    # A token that ends texts, where the grammar names it.
    "$TOOLS/mkmodel" 0 >e.gguf
    printf 'root ::= "a" <end>' >g
    run -0 grammar-check -m e.gguf --grammar g --next a
    [ "$output" = $'39\t"<end>"' ]
    printf 'root ::= "a" <end>?' >g
    run -0 grammar-check -m e.gguf --grammar g --next a
    [ "$output" = end ]
    printf 'root ::= <nosuchtoken>' >g
    fails 3 'no token of this name' grammar-check -m m.gguf -c --grammar g
    printf 'root ::= <[16000000]>' >g
    fails 3 'no token of this number' grammar-check -m m.gguf -c --grammar g
}

@test "options" {
    run -2 grammar-check x
    run -2 grammar-check --json --regex a x
    run -2 grammar-check --json -c x
    run -2 grammar-check --json --next a x
    fails 1 'nosuch' grammar-check --grammar nosuch x
    fails 1 'nosuch' grammar-check --schema nosuch x
}

@test "hostile input ends soon, in one line" {
    python3 - <<'END'
def put(name, text):
    open(name, "w").write(text)
put("deep", "root ::= " + "(" * 60000 + '"a"' + ")" * 60000)
put("chain", "root ::= r0\n" + "".join("r%d ::= r%d\n" % (i, i + 1) for i in range(100000)) + 'r100000 ::= "x"')
put("chain2", "root ::= r0\n" + "".join('r%d ::= r%d? "y"\n' % (i, i + 1) for i in range(60000)) + 'r60000 ::= "x"')
put("double", "root ::= r0\n" + "".join('r%d ::= r%d r%d\n' % (i, i + 1, i + 1) for i in range(60)) + 'r60 ::= "x"?')
put("times", "root ::= " + "(" * 150 + '"a"' + "){1000}" * 150)
put("long", 'root ::= "' + "a" * 5000000 + '"')
put("many", "root ::= " + " | ".join('"%x"' % i for i in range(200000)))
put("classes", "root ::= " + " ".join("[^%c]" % (0x4e00 + i) for i in range(20000)))
put("noise", "root ::= " + '"a" | ' * 300000)
put("rules", "root ::= " + " ".join("r%d" % i for i in range(60000)) + "\n" + "".join('r%d ::= [a-z]{%d,%d} | "x%d"+\n' % (i, i % 7, i % 7 + 30, i) for i in range(60000)))
put("ambiguous", 'root ::= x* "b"\nx ::= "a" | "a" x | "a" x x')
END
    for g in deep chain chain2 double times long many classes noise rules ambiguous; do
        echo "$g"
        (cheap --grammar "$g")
    done
    head -c 5000000 /dev/urandom >noise
    (cheap --grammar noise)
    for r in '(a|b)*a(a|b){30}' '((a{1000}){1000}){1000}' '(a*)*(a*)*b' '(x+x+)+y' '((((.{1,9}){1,9}){1,9}){1,9}){1,9}' \
        '(\w{1,40}-){1,40}\p{L}{1,40}' '(?=.*a.{20})(?=.*b.{20}).*' "$(printf '(%.0s' {1..50000})" \
        "$(printf '[^%s]' {1..10000})"; do
        (cheap --regex "$r")
    done
    # Ambiguous without end: each byte takes its time only once.
    run -0 bash -c "head -c 300 /dev/zero | tr '\0' a | sed 's/\$/b/' | timeout 200 grammar-check -q --grammar ambiguous"
    run -4 bash -c "head -c 300000 /dev/zero | tr '\0' a | sed 's/\$/b/' | timeout 200 grammar-check -q --grammar ambiguous"
    [ "${#lines[@]}" -eq 1 ]
}
