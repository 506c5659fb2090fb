#!/usr/bin/env bats
# Model files with a byte changed: no program crashes, hangs, or says more than
# a line.  tests/unit/mutants.c changes whole numbers, and many more.
bats_require_minimum_version 1.5.0

setup() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    PATH=$B/bin:$B/tools:$PATH
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# Runs a program with the model bad.gguf.
try() {
    local rc=0

    timeout 20 "$@" <in >out 2>err || rc=$?
    # 124 is timeout's, sanitizers exit as they are told by the caller.
    if [ $rc -ge 124 ] || grep -q -e Sanitizer -e 'runtime error' err ||
        { [ $rc -ne 0 ] && [ "$(wc -l <err)" -ne 1 ]; }; then
        echo "seed $seed, byte $at of model $kind is $byte: $*: exit $rc"
        head -n 20 err
        return 1
    fi
}

@test "one byte of the head of a model" {
    seed=${MUTANTS_SEED:-7}
    echo '{"t":"tokens","ids":[1,2,3]}' >tokens
    echo -n abc >text
    for kind in 0 4 8 12 16 17 19; do # the last are encoders
        mkmodel $kind >good.gguf
        head=$(gguf-inspect -f json good.gguf | jq '[.tensors[].at] | min')
        for ((i = 0; i < 25; i++)); do
            # Not bash's own: its numbers changed with its versions.
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            at=$((seed / 7 % head))
            byte=$((seed / 65536 % 256))
            cp good.gguf bad.gguf
            # shellcheck disable=SC2059 # a byte in octal
            printf "\\$(printf %o $byte)" | dd of=bad.gguf bs=1 seek=$at conv=notrunc status=none
            ln -sf tokens in
            try llm-decode -t 1 -n 2 bad.gguf
            try llm-prefill -t 1 bad.gguf
            ln -sf text in
            [ $kind -lt 16 ] || try llm-embed -t 1 -L -f json bad.gguf
            try tok-encode bad.gguf
            try gguf-inspect bad.gguf
        done
    done
}

@test "models that end too soon" {
    mkgguf good.gguf llama
    seed=0 kind=llama byte=none
    size=$(stat -c %s good.gguf)
    echo '{"t":"tokens","ids":[1,2,3]}' >in
    for ((at = 0; at < size; at += 331)); do
        head -c $at good.gguf >bad.gguf
        run -3 timeout 20 llm-decode -t 1 -n 2 bad.gguf in
        [ "${#lines[@]}" -eq 1 ]
        try llm-prefill -t 1 bad.gguf
        try gguf-inspect bad.gguf
    done
}
