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
show 'echo "Hello, terminal!" | tok-encode smollm2-135m | tok-decode'
show 'tok-encode -c smollm2-135m <README.md'
show 'tok-encode smollm2-135m <README.md | tok-decode | cmp - README.md && echo same'
