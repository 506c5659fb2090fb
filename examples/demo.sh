#!/bin/sh
# What `make demo` shows: each command as it could be typed, then what it says.
bin=${B:-build}/bin
PATH=$PWD/$bin:$PATH
set -e

show() {
    printf '\n$ %s\n' "$1"
    sh -c "$1"
}

printf '\n$ PATH=$PWD/%s:$PATH\n' "$bin"
show 'gguf-pull smollm2-135m'
show 'gguf-inspect -q smollm2-135m'
show 'echo "Hello, terminal!" | tok-encode -f text smollm2-135m'
show 'tok-encode smollm2-135m <README.md | tok-decode | cmp - README.md && echo same'
show 'echo "Three things that every sailor knows:" |
    tok-encode smollm2-135m | llm-decode --temp 0 -n 34 smollm2-135m | tok-decode -L'
show 'tok-encode smollm2-135m LICENSE | llm-decode -v --temp 0 -n 64 smollm2-135m >/dev/null'
