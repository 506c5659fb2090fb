#!/usr/bin/env bats
# Every line of a page that begins with "$ " runs, with a tiny model as m.gguf,
# a text that it knows as notes.txt, a KV state as s.kv and a folder of Hugging
# Face's as hf.  What follows in the
# same display is what it prints; what follows "$ cat FILE" is the file that
# later lines read.
bats_require_minimum_version 1.5.0

setup() {
    P=$PWD/man
    PATH=$PWD/${B:-build}/bin:$PATH
    "${B:-build}/tools/mkgguf" "$BATS_TEST_TMPDIR/m.gguf" llama
    "${B:-build}/tools/mkkv" >"$BATS_TEST_TMPDIR/s.kv"
    "${B:-build}/tools/mkhf" "$BATS_TEST_TMPDIR/hf" llama
    cd "$BATS_TEST_TMPDIR" || exit 1
    printf abcabbc >notes.txt
}

# A page as a script: "try COMMAND [OUTPUT]" for each example.
script() {
    sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$1" |
        sed 's/\\e/\\/g; s/\\(dq/"/g; s/\\(aq/'\''/g; s/\\(ti/~/g; s/\\(ha/^/g; s/\\-/-/g; s/\\&//g' |
        awk '
        function quote(s) { gsub(/\047/, "\047\\\047\047", s); return "\047" s "\047" }
        function finish() {
            if (cmd != "")
                print "try " quote(cmd) (out != "" ? " " quote(out) : "")
            cmd = out = ""
        }
        /^\.Dl \$ / { finish(); cmd = substr($0, 7); finish(); next }
        /^\.Bd/ { finish(); on = 1; next }
        /^\.Ed/ { finish(); on = 0; next }
        on && /^\$ / { finish(); cmd = substr($0, 3); last = $0; next }
        on && cmd != "" && out == "" && last ~ /[\\|]$/ { cmd = cmd "\n" $0; last = $0; next }
        on && cmd != "" { out = out $0 "\n" }
        { last = $0 }
        END { finish() }'
}

try() {
    if [[ $# -eq 2 && $1 =~ ^cat\ ([a-z.]+)$ ]]; then
        printf '%s' "$2" >"${BASH_REMATCH[1]}"
        return
    fi
    run -0 bash -o pipefail -c "$1"
    ran=$((ran + 1))
    [ $# -eq 1 ] || [ "$output"$'\n' = "$2" ] ||
        { printf 'of: %s\nsaid:\n%s\nnot:\n%s' "$1" "$output" "$2"; return 1; }
}

@test "examples of all pages" {
    ran=0
    for p in "$P"/*.[157]; do
        echo "${p##*/}"
        script "$p" >todo
        # Not in a pipe: run sets variables.
        . ./todo
    done
    [ "$ran" -gt 5 ]
}

@test "pages name each other only where they are" {
    run -0 bash -c 'grep -hE "^\.Xr " "$1"/*.[157] | awk "{ print \$2 \".\" \$3 }" | sort -u' bash "$P"
    for x in $output; do
        case $x in
        gguf-* | tok-* | llm* | chat-* | kv-*) [ -e "$P/$x" ] || { echo "$x"; return 1; } ;;
        esac
    done
}

@test "no word of a heading is taken for a macro" {
    run -1 grep -nE '^\.S[sh] (.* )?(Ar|Cm|Dv|Em|Er|Ev|Fa|Fd|Fl|Fn|Ic|In|Li|Nm|No|Ns|Op|Pa|Pf|Sq|St|Sy|Tn|Va|Xr)( |$)' "$P"/*.[157]
}
