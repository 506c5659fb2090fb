#!/bin/sh
# Every lint as one TAP line; $B is the build to look at.
B=${B:-build}
n=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
worst=0

lint() {
    n=$((n + 1))
    name=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$log" | head -n 40
        worst=1
    fi
}

headers() {
    for h in $(find lib kernels cmd -name '*.h' ! -name 'list.h'); do
        printf '#include "%s"\n' "$h" |
            "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -I. -Ilib \
                -Wall -Wextra -Werror -fsyntax-only -x c - || return 1
    done
}
banned() {
    ! grep -nwE 'atoi|strcpy|strcat|sprintf|strtok|alloca' \
        $(find cmd lib kernels -name '*.[ch]')
}
spdx() {
    ! grep -L 'SPDX-License-Identifier: MIT' \
        $(find cmd lib kernels tests -name '*.[ch]') | grep .
}
completions() { sh completions/generate.sh "$B/bin" --check; }
shell() {
    shellcheck -S warning .ci/run tests/*.sh tests/lint/*.sh \
        completions/*.sh $(grep -lE '^#!/bin/(ba)?sh' examples/* 2>/dev/null)
}
layout() {
    clang-format --dry-run -Werror $(find cmd lib kernels tests -name '*.[ch]')
}

lint "layers" sh tests/lint/layers.sh
lint "symbols of the library" sh tests/lint/symbols.sh "$B/libllm.a"
lint "headers compile alone" headers
lint "banned functions" banned
lint "licence lines" spdx
lint "option tables and man pages" sh tests/lint/docs.sh "$B/bin"
lint "completions are those of the tables" completions
lint "shell scripts" shell
lint "clang-format" layout
echo "1..$n"
exit $worst
