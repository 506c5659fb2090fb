#!/usr/bin/env bats
# examples/ on a tiny vocabulary: what they say is what they promise.
bats_require_minimum_version 1.5.0

setup_file() {
    # Merges over the letters of a few words; "Ġ" is BPE's space.
    "${B:-build}/tools/mkgguf" "$BATS_FILE_TMPDIR/m.gguf" \
        k:general.architecture:str:llama k:tokenizer.ggml.model:str:gpt2 \
        k:tokenizer.ggml.pre:str:gpt-2 \
        "k:tokenizer.ggml.tokens:[str]:a,b,c,d,Ġ,Ċ,ab,cd,abcd,Ġab" \
        "k:tokenizer.ggml.token_type:[i32]:1,1,1,1,1,1,1,1,1,1" \
        "k:tokenizer.ggml.merges:[str]:a b,c d,ab cd,Ġ ab" 3>&-
}

setup() {
    PATH=$PWD/${B:-build}/bin:$PATH
    E=$PWD/examples
    cd "$BATS_TEST_TMPDIR" || exit 1
    cp "$BATS_FILE_TMPDIR/m.gguf" .
}

@test "count.sh: tokens of each file, the largest first" {
    printf 'abcd' >one
    printf 'abcd ab ab' >'with space'
    printf 'a\nb\n' >four
    run -0 sh "$E/count.sh" m.gguf one 'with space' four
    [ "${lines[0]}" = '       4 four' ]
    [ "${lines[1]}" = '       3 with space' ]
    [ "${lines[2]}" = '       1 one' ]
}

@test "budget.mk: within the budget, and beyond" {
    mkdir prompts
    printf 'abcd ab' >prompts/a.txt
    run -0 make -s -f "$E/budget.mk" MODEL=m.gguf BUDGET=2
    [ "$(cat prompts/a.tokens)" = 2 ]
    printf 'abcd ab ab' >prompts/b.txt
    run -2 make -s -f "$E/budget.mk" MODEL=m.gguf BUDGET=2
    [ "${lines[0]}" = 'prompts/b.txt: 3 tokens, 1 too many' ]
}

@test "frequent.sh: the tokens that come most often" {
    printf 'ab ab ab ab\n' >text
    run -0 sh "$E/frequent.sh" m.gguf text
    [ "${lines[0]}" = '     3      9  " ab"' ]
    [ "${lines[1]}" = '     1      5  "\n"' ]
    [ "${lines[2]}" = '     1      6  "ab"' ]
}

@test "longest.sh: which request has the longest prompt" {
    printf '{"prompt":"%s"}\n' ab 'abcd abcd' c >requests
    run -0 sh "$E/longest.sh" m.gguf requests
    [ "$output" = '{"line":2,"tokens":3}' ]
}

@test "models.sh: a table" {
    "$BATS_TEST_DIRNAME/../${B:-build}/tools/mkgguf" t.gguf llama
    run -0 --separate-stderr sh "$E/models.sh" t.gguf
    [[ $output == t.gguf$'\t'llama$'\t'*$'\t'sound ]]
}

@test "stream.py: reads and writes with cbor2" {
    py=python3
    "$py" -c 'import cbor2' 2>/dev/null || py=/usr/bin/python3
    "$py" -c 'import cbor2' 2>/dev/null || skip "no cbor2"
    printf 'abcd ab' >text
    tok-encode m.gguf text >stream
    run -0 "$py" "$E/stream.py" <stream
    [ -n "$output" ]
}
