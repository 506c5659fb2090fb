#!/bin/sh
# generate.sh BINDIR [--check]: write the completions of bash, zsh and fish
# from what each program in BINDIR says of its options and operands; with
# --check, only say whether the files here are what would be written.
set -e
bin=$1
here=${0%/*}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# One line for each program, "P name operand operand...", then one for each
# option, "O letter name arg help", between tabs.  LC_ALL: order and classes.
export LC_ALL=C
for p in "$bin"/*; do
    [ -x "$p" ] || continue
    # "usage: tok-encode [options] model [file ...]": the words, "..." too.
    "$p" --help | sed -n '1s/usage: \([^ ]*\) \[options\] *\(.*\)/P\t\1\t\2/p' |
        tr -d '[]'
    "$p" --dump-options | sed 's/^/O\t/'
    printf 'O\th\thelp\t-\tprint this help\nO\tV\tversion\t-\tprint the version\n'
done >"$tmp/tables"

note='Written by completions/generate.sh; do not edit.'
# shellcheck disable=SC2016 # awk's dollars
awk_common='
function words(arg) { # the fixed words of an argument, else ""
    if (arg !~ /^[a-z0-9_.-]+([|][a-z0-9_.-]+)+$/)
        return ""
    gsub(/[|]/, " ", arg)
    return arg
}
BEGIN { FS = "\t" }
$1 == "P" { prog = $2; progs = progs (progs ? " " : "") prog; n = split($3, operand, " ") }
$1 == "O" { letter = $2 == "-" ? "" : $2; name = $3; arg = $4 == "-" ? "" : $4; help = $5 }
'

# bash: a case for each program, which sets what the function at the end uses.
{
    cat <<END
# shellcheck shell=bash
# bash completion for llmutils.  $note

# Those of the names on stdin that begin as the word before the cursor does.
# They may come from elsewhere, so are never expanded, and are quoted if need
# be.  Of a word with ':' or '=' bash completes only what follows the last one.
_llmutils_names() {
    local word=\$1 breaks='' head='' name line=\${COMP_LINE:0:COMP_POINT}
    [[ \$line ]] && word=\${line##*[[:space:]]}
    [[ \$COMP_WORDBREAKS == *:* ]] && breaks+=:
    [[ \$COMP_WORDBREAKS == *=* ]] && breaks+==
    [[ \$breaks ]] && head=\${word%"\${word##*[\$breaks]}"}
    # "--model=smol": the option is no part of the name.
    [[ \$word == --*=* ]] && word=\${word#*=} head=\${head#*=}
    while read -r name; do
        printf -v name %q "\$name"
        [[ \$name == "\$word"* ]] && COMPREPLY+=("\${name#"\$head"}")
    done
}

_llmutils() {
    local cur=\$2 prev=\$3 prog=\${1##*/} opts='' valued='' operands='' kind='' i n=0
    # "--format=json" comes as three words.
    [[ \$cur == = ]] && cur='' prev=\${COMP_WORDS[COMP_CWORD - 1]}
    [[ \$prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD - 2]}
    case \$prog in
END
    awk "$awk_common"'
function finish() {
    if (!was)
        return
    printf "    %s)\n        opts=\047%s\047\n", was, opts
    printf "        valued=\047%s\047\n        operands=\047%s\047\n", valued, ops
    if (kinds)
        printf "        case $prev in\n%s        esac\n", kinds
    print "        ;;"
}
$1 == "P" { finish(); was = prog; ops = $3; opts = valued = kinds = "" }
$1 == "O" {
    opts = opts (opts ? " " : "") "--" name
    if (!arg)
        next
    both = (letter != "" ? "-" letter " " : "") "--" name
    valued = valued (valued ? " " : "") both
    k = words(arg)
    gsub(/ /, " | ", both)
    kinds = kinds "        " both ") kind=\047" (k ? "words " k : arg) "\047 ;;\n"
}
END { finish() }' "$tmp/tables"
    cat <<'END'
    *) return ;;
    esac
    if [[ -z $kind && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$opts" -- "$cur")
        return
    fi
    if [[ -z $kind ]]; then
        # Which operand this is: the words before it, without options and
        # their values.
        for ((i = 1; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            [:=] | -?*) ;;
            *) [[ ${COMP_WORDS[i - 1]} == [:=] || " $valued " == *" ${COMP_WORDS[i - 1]} "* ]] || ((n++)) ;;
            esac
        done
        read -ra operands <<<"$operands"
        i=${#operands[@]}
        if ((n < i)); then
            kind=${operands[n]}
        else
            kind=...
        fi
        [[ $kind == ... ]] && ((i > 1)) && kind=${operands[i - 2]}
    fi
    case $kind in
    words*) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$cur") ;;
    name)
        # What pull takes is in its catalogue, what --rm takes in the cache.
        [[ $prog == gguf-pull ]] || return
        if [[ " ${COMP_WORDS[*]} " == *' --rm '* ]]; then
            _llmutils_names "$cur" < <(gguf-pull --list 2>/dev/null | cut -d ' ' -f 1)
        else
            _llmutils_names "$cur" < <(gguf-pull --catalog 2>/dev/null | cut -d ' ' -f 1)
        fi
        ;;
    model)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        _llmutils_names "$cur" < <(gguf-pull --catalog 2>/dev/null | sed -n 's/ .* cached$//p')
        ;;
    file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}
END
    awk "$awk_common"'END { print "complete -F _llmutils " progs }' "$tmp/tables"
} >"$tmp/llmutils.bash"

# zsh: the arguments of _arguments for each program.
{
    awk "$awk_common"'END { print "#compdef " progs }' "$tmp/tables"
    cat <<END
# zsh completion for llmutils.  $note
_llmutils_models() {
    local -a names
    names=(\${(f)"\$(gguf-pull --catalog 2>/dev/null | sed -n 's/ .* cached\$//p')"})
    _alternative 'models:cached model:compadd -a names' 'files:file:_files'
}
_llmutils_names() {
    local -a names
    local from=--catalog
    (( \${words[(I)--rm]} )) && from=--list
    names=(\${(f)"\$(gguf-pull \$from 2>/dev/null | cut -d ' ' -f 1)"})
    compadd -a names
}
case \$service in
END
    awk "$awk_common"'
function action(what, k) {
    k = words(what)
    return k ? "(" k ")" : what == "file" ? "_files" : what == "model" ? "_llmutils_models" : " "
}
function quoted(s) { # in single quotes, and nothing special to _arguments
    gsub(/\\/, "\\\\\\\\", s)
    gsub(/\[/, "\\[", s)
    gsub(/\]/, "\\]", s)
    gsub(/:/, "\\:", s)
    gsub(/\047/, "\047\\\047\047", s)
    return s
}
$1 == "P" {
    if (was)
        print "\n    ;;"
    was = prog
    printf "%s)\n    _arguments -s -S", prog
    for (i = 1; i <= n; i++) {
        if (operand[i] == "...")
            continue
        many = operand[i + 1] == "..."
        what = prog == "gguf-pull" && operand[i] == "name" ? "_llmutils_names" : action(operand[i])
        printf " \\\n        \047%s:%s:%s\047", many && i + 1 == n ? "*" : i, operand[i], what
    }
    for (i in operand)
        delete operand[i]
}
$1 == "O" {
    tail = arg ? ":" quoted(arg) ":" action(arg) : ""
    eq = arg ? "=" : ""
    if (letter != "")
        printf " \\\n        \047(-%s --%s)\047{-%s%s,--%s%s}\047[%s]%s\047", letter, name,
               letter, arg ? "+" : "", name, eq, quoted(help), tail
    else
        printf " \\\n        \047*--%s%s[%s]%s\047", name, eq, quoted(help), tail
}
END { print "\n    ;;\nesac" }' "$tmp/tables" | sed 's/^    ;;$/    ;;/'
} >"$tmp/_llmutils"

# fish: a line for each option.
{
    cat <<END
# fish completion for llmutils.  $note
function __llmutils_names
    gguf-pull \$argv 2>/dev/null | string replace -r ' .*' ''
end
function __llmutils_cached
    gguf-pull --catalog 2>/dev/null | string replace -f -r ' .* cached\$' ''
end
END
    awk "$awk_common"'
function quoted(s) {
    gsub(/[\\\047]/, "\\\\&", s)
    return "\047" s "\047"
}
$1 == "P" {
    print "\ncomplete -c " prog " -e"
    if (prog == "gguf-pull") {
        print "complete -c gguf-pull -f"
        print "complete -c gguf-pull -n \047__fish_contains_opt rm\047 -a \047(__llmutils_names --list)\047"
        print "complete -c gguf-pull -n \047not __fish_contains_opt rm\047 -a \047(__llmutils_names --catalog)\047"
    } else if (operand[1] == "model")
        print "complete -c " prog " -a \047(__llmutils_cached)\047 -d \047cached model\047"
}
$1 == "O" {
    k = words(arg)
    how = !arg ? "" : k ? " -x -a " quoted(k) : arg == "file" ? " -r -F" : \
        arg == "model" ? " -r -F -a \047(__llmutils_cached)\047" : " -x"
    print "complete -c " prog (letter != "" ? " -s " letter : "") " -l " name how " -d " quoted(help)
}' "$tmp/tables"
} >"$tmp/llmutils.fish"

rc=0
for f in llmutils.bash _llmutils llmutils.fish; do
    if [ "$2" != --check ]; then
        cp "$tmp/$f" "$here/$f"
    elif ! cmp -s "$tmp/$f" "$here/$f"; then
        echo "$here/$f is not what the programs say now; run: sh completions/generate.sh $bin"
        diff "$here/$f" "$tmp/$f" || rc=1
    fi
done
exit $rc
