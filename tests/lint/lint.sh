#!/bin/sh
# Every lint as one TAP line; $B is the build to look at.  With VERBOSE, what
# they say that is no fault.
B=${B:-build}
n=0
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.n"' EXIT
worst=0

lint() {
    n=$((n + 1))
    name=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok $n - $name"
        [ -z "$VERBOSE" ] || sed 's/^/# /' "$log"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$log" | head -n 40
        worst=1
    fi
}

dirs=$(for d in cmd lib kernels tests; do [ -d $d ] && echo $d; done)
# each GREP-OPTION...: grep over every C file.
each() {
    # shellcheck disable=SC2086 # a list of folders
    find $dirs -name '*.[ch]' -exec grep "$@" {} +
}
scripts() { git ls-files 2>/dev/null || find . -path "./$B" -prune -o -type f -print; }

headers() {
    cflags=$(${PKGCONF:-pkg-config} --cflags libcbor libxxhash jansson libcurl libcrypto) || return 1
    # shellcheck disable=SC2086 # lists of flags and folders
    find $dirs -name '*.h' ! -name list.h ! -name types.h ! -name families.h | while read -r h; do
        printf '#include "%s"\n' "$h" |
            "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -I. -Ilib -I"$B/gen" \
                $cflags -Wall -Wextra -Werror -Wno-unused-function \
                -fsyntax-only -x c - || exit 1
    done
}
banned() {
    ! each -nwE '(atoi|strcpy|strcat|sprintf|strtok|alloca) *\('
}
spdx() { ! each -L 'SPDX-License-Identifier: MIT' | grep .; }
markers() {
    words='TO''DO|FIX''ME|XX''X'
    ! each -nwE "$words" &&
        ! grep -snwE "$words" Makefile man/* ./*.md .ci/* tests/*.sh \
            tests/*.bats completions/* examples/* bench/*
}
# Where somebody has the tree, or tools beside it, is nobody else's business.
paths() {
    ! git grep -nIE '(^|[^[:alnum:]_.])/(wo''rk|ro''ot|fa''rm)/[a-z.]' -- . \
        ':!tests/fuzz/corpus' ':!*.bats'
}
# Binaries must run on any processor of their kind.
# ARM's compilers have no other way to name one instruction set.
portable() {
    ! grep -nE -e '-m(arch|tune|cpu)=|-ffast-math|-Ofast' Makefile |
        grep -vE '^[0-9]+:(dotprod|i8mm) ' &&
        ! each -nE '__attribute__\(\(.*(ifunc|constructor)'
}
completions() { sh completions/generate.sh "$B/bin" --check; }
shell() {
    f=$(scripts | while read -r f; do
        [ -f "$f" ] && head -n 1 "$f" | grep -qE '^#!/bin/(ba)?sh' && echo "$f"
    done)
    # shellcheck disable=SC2086 # a list of files
    shellcheck -S warning $f
}
layout() {
    # shellcheck disable=SC2086 # a list of folders
    find $dirs -name '*.[ch]' -exec clang-format --dry-run -Werror {} +
}
# No file of code past 1,000 lines; the longest files and functions, for whoever
# looks for a seam.  Tables are exempt.
sizes() {
    each -c '' | grep -v '_data\.[ch]:' | sed 's/\(.*\):\(.*\)/\2 \1/' | sort -rn >"$log.n"
    echo "the longest files:"
    head -n 10 "$log.n"
    echo "the longest functions:"
    # shellcheck disable=SC2086 # a list of folders
    find $dirs -name '*.c' -exec awk '
        /^[a-z].*\(/ && !/;/ { name = $0 }
        /^{/ { from = FNR }
        /^}/ && from { print FNR - from - 1, FILENAME ":" from, name; from = 0 }
        ' {} + | sort -rn | head -n 10
    awk '$1 > 1000 { print "too long: " $0; bad = 1 } END { exit bad }' "$log.n"
}

lint "layers" sh tests/lint/layers.sh
lint "symbols of the library" sh tests/lint/symbols.sh "$B"
lint "headers compile alone" headers
lint "banned functions" banned
lint "licence lines" spdx
lint "option tables and man pages" sh tests/lint/docs.sh "$B/bin"
lint "completions are those of the tables" completions
lint "shell scripts" shell
lint "clang-format" layout
lint "no markers" markers
lint "no paths of one machine" paths
lint "nothing for one processor" portable
lint "sizes" sizes
echo "1..$n"
exit $worst
