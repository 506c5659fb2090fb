#!/usr/bin/env bats
# tok-decode on streams written by hand, and by Python where it has cbor2.
bats_require_minimum_version 1.5.0

setup() {
    PATH=$PWD/${B:-build}/bin:$PATH
    cd "$BATS_TEST_TMPDIR" || exit 1
    ROOT=$BATS_TEST_DIRNAME/..
    mixed >mixed.json
}

# Two sequences, mixed; the second is complete first.
mixed() {
    cat <<'EOF'
{"llm":1,"by":"hand"}
{"t":"set","s":0,"id":"first"}
{"t":"set","s":1,"id":["second",2]}
{"t":"tokens","s":0,"ids":[1,2],"text":"one "}
{"t":"tokens","s":1,"ids":[3],"text":"three "}
{"t":"tokens","s":1,"ids":[4],"text":"four"}
{"t":"end","s":1,"why":"stop"}
{"t":"later","s":1,"what":"nobody knows"}
{"t":"tokens","s":0,"ids":[5],"text":"two"}
{"t":"end","s":0,"why":"length","usage":{"tokens":3}}
EOF
}

# $1 as text64, in a record of sequence 0.
part() {
    printf '{"t":"tokens","s":%d,"ids":[1],"text64":"%s"}\n' "${2:-0}" \
        "$(printf "$1" | base64)"
}

@test "the text of one record, without a header" {
    run -0 --separate-stderr tok-decode <<<'{"t":"tokens","ids":[1],"text":"hi"}'
    [ "$output" = hi ]
    [ -z "$stderr" ]
}

@test "sequences in order of appearance, whatever their records' order" {
    run -0 tok-decode mixed.json
    [ "$output" = "one twothree four" ]
    run -0 tok-decode -L mixed.json
    [ "$output" = $'one two\nthree four' ]
    [ "$(tok-decode -0 mixed.json | tr '\0' '|')" = "one two|three four|" ]
}

@test "-J: a line for each, with the caller's id" {
    tok-decode -J mixed.json >out
    diff - out <<'EOF'
{"s":0,"id":"first","text":"one two","tokens":3,"why":"length"}
{"s":1,"id":["second",2],"text":"three four","tokens":2,"why":"stop"}
EOF
}

@test "-J: text that is not UTF-8, and no end" {
    part '\377\0' >in
    [ "$(tok-decode -J in)" = '{"s":0,"text64":"/wA=","tokens":1,"why":null}' ]
}

@test "a sequence without tokens is a line, too" {
    run -0 tok-decode -L <<<'{"t":"end","s":0,"why":"stop"}'
    [ "$(tok-decode -L <<<'{"t":"end","s":0,"why":"stop"}' | wc -l)" -eq 1 ]
    run -0 tok-decode -J <<<'{"t":"end","s":0,"why":"stop"}'
    [ "$output" = '{"s":0,"text":"","tokens":0,"why":"stop"}' ]
}

@test "-e: newlines and backslashes" {
    run -0 tok-decode -L -e <<<'{"t":"tokens","ids":[1],"text":"a\nb\\c"}'
    [ "$output" = 'a\nb\\c' ]
}

@test "bytes pass as they are: spaces, NUL, malformed UTF-8" {
    printf "x != y  and the word 'social'   !\n \0\n\377\355\240\200\303(\360\237" >want
    printf '{"t":"tokens","ids":[1],"text64":"%s"}' "$(base64 -w0 want)" |
        tok-decode >got
    cmp want got
}

@test "a character in pieces comes whole, and as soon as it is" {
    mkfifo in
    tok-decode <in >out 3>&- &
    exec 9>in
    part 'a\360\237' >&9
    sleep 0.5
    [ "$(cat out)" = a ]
    part '\230' >&9
    sleep 0.3
    [ "$(cat out)" = a ]
    part '\200b\303' >&9
    sleep 0.5
    [ "$(cat out)" = "a😀b" ]
    exec 9>&-
    wait $!
    printf 'a😀b\303' | cmp - out
}

@test "-r: bytes as they come" {
    mkfifo in
    tok-decode -r <in >out 3>&- &
    exec 9>in
    part 'a\360\237' >&9
    sleep 0.5
    printf 'a\360\237' | cmp - out
    exec 9>&-
    wait $!
}

@test "pieces of different sequences do not meet" {
    { part '\303' 0; part '\251' 1; part '\251' 0; part '\303' 1; } |
        tok-decode -0 >out
    printf 'é\0\251\303\0' | cmp - out
}

@test "what is held back belongs to its own sequence only" {
    {
        part '\303' 0
        echo '{"t":"end","s":0,"why":"interrupted"}'
        part '\251' 0
    } | tok-decode -L >out
    printf '\303\n\251\n' | cmp - out
}

@test "joined streams are streams one after the other" {
    { part a; echo '{"llm":1}'; part b; } >in
    [ "$(tok-decode -L in | tr '\n' ,)" = a,b, ]
    [ "$(cat mixed.json mixed.json | tok-decode -L | wc -l)" -eq 4 ]
    [ "$(tok-decode -L mixed.json - mixed.json <in | wc -l)" -eq 6 ]
}

@test "-o writes a file" {
    run -0 --separate-stderr tok-decode -o out mixed.json
    [ -z "$output" ]
    [ "$(cat out)" = "one twothree four" ]
    run -1 tok-decode -o none/out mixed.json
    [ "$output" = "tok-decode: none/out: No such file or directory" ]
}

@test "an error record: its line, the rest, and exit 1" {
    {
        part a
        echo '{"t":"error","s":0,"code":"nomem","msg":"out of\u001b memory"}'
        part b 1
    } >in
    run -1 --separate-stderr tok-decode -L in
    [ "$output" = $'a\nb' ]
    [ "$stderr" = 'tok-decode: in: sequence 0: out of\x1b memory' ]
    run -1 --separate-stderr tok-decode <<<'{"t":"error","msg":"no model"}'
    [ "$stderr" = 'tok-decode: standard input: no model' ]
    run -1 --separate-stderr tok-decode -J in
    [ "${lines[0]}" = '{"s":0,"text":"a","tokens":1,"why":null,"error":"out of\u001b memory"}' ]
}

@test "tokens without text need a model" {
    run -3 tok-decode <<<'{"t":"tokens","ids":[1]}'
    [ "$output" = "tok-decode: standard input: record 1: tokens without text: name their model with -m" ]
    run -0 tok-decode <<<'{"t":"tokens","ids":[]}'
    [ -z "$output" ]
    run -1 tok-decode -m none.gguf mixed.json
}

@test "-m: text from a model's vocabulary" {
    ids='{"t":"tokens","ids":[0,2,1]}'
    PATH=$ROOT/${B:-build}/tools:$PATH
    for i in 1 2; do
        mkgguf m$i.gguf k:general.architecture:str:llama \
            k:tokenizer.ggml.model:str:gpt2 k:tokenizer.ggml.pre:str:gpt-2 \
            'k:tokenizer.ggml.tokens:[str]:a,b,Ġc,d'$i \
            'k:tokenizer.ggml.token_type:[i32]:1,1,1,1' \
            'k:tokenizer.ggml.merges:[str]:Ġ c'
    done
    run -0 tok-decode -m m1.gguf <<<"$ids"
    [ "$output" = "a cb" ]
    vocab=$(tok-encode m1.gguf -f json </dev/null |
        sed -n 's/.*"vocab":"\([0-9a-f]*\)".*/\1/p')
    run -0 tok-decode -m m1.gguf \
        <<<"{\"llm\":1,\"model\":{\"vocab\":\"$vocab\"}}$ids"
    [ "$output" = "a cb" ]
    run -3 tok-decode -m m2.gguf \
        <<<"{\"llm\":1,\"model\":{\"vocab\":\"$vocab\",\"name\":\"M\"}}$ids"
    [ "$output" = "tok-decode: standard input: record 1: made with the vocabulary of another model: M" ]
}

@test "what is no stream: one line and exit 3" {
    : >empty
    run -3 tok-decode empty
    [ "$output" = "tok-decode: empty: empty: not even a header" ]
    run -3 tok-decode <<<'Once upon a time'
    [ "$output" = "tok-decode: standard input: text, not a token stream (tok-encode makes one of it)" ]
    head -c -20 mixed.json >cut.json
    run -3 --separate-stderr tok-decode cut.json
    [ "$output" = "one twothree four" ]
    [ "$stderr" = "tok-decode: cut.json: record 10: the input ends inside it" ]
    run -4 tok-decode <<<'{"llm":7}'
    [ "$output" = "tok-decode: standard input: record 1: version 7 of the stream; this program reads 1" ]
}

@test "what the system refuses: one line and exit 1" {
    run -1 tok-decode none
    [ "$output" = "tok-decode: none: No such file or directory" ]
    run -1 tok-decode .
    [ "$output" = "tok-decode: .: Is a directory" ]
    run -1 bash -c 'tok-decode mixed.json >/dev/full'
    [ "$output" = "tok-decode: standard output: No space left on device" ]
    run -1 --separate-stderr tok-decode none mixed.json
    [ "$output" = "one twothree four" ]
}

@test "a closed pipe ends it quietly" {
    yes '{"t":"tokens","ids":[1],"text":"some text"}' | head -n 100000 >in
    run -141 --separate-stderr bash -c \
        'tok-decode in | head -c 5; exit ${PIPESTATUS[0]}'
    [ "$output" = "some " ]
    [ -z "$stderr" ]
}

@test "wrong options: exit 2" {
    run -2 tok-decode -J -L
    run -2 tok-decode --nonsense
    run -0 tok-decode --help
}

@test "many open sequences, one byte each" {
    for i in $(seq 2000); do
        printf '{"t":"tokens","s":%d,"ids":[1],"text":"%d"}\n' "$i" $((i % 10))
    done >in
    [ "$(cat in in | tok-decode | wc -c)" -eq 4000 ]
    [ "$(cat in in | tok-decode -L | sort -u | wc -l)" -eq 10 ]
}

py() { python3 "$ROOT/examples/stream.py" "$@"; }
need_cbor2() { python3 -c 'import cbor2' 2>/dev/null || skip "no cbor2"; }

@test "python: a stream that it writes" {
    need_cbor2
    py --write 1 2 70000 --text-of 'hé
' >s.cbor
    [ "$(head -c 3 s.cbor | od -An -tx1)" = " d9 d9 f7" ]
    [ "$(tok-decode s.cbor)" = hé ]
    [ "$(tok-decode -J s.cbor)" = '{"s":0,"text":"hé\n","tokens":3,"why":"input"}' ]
    [ "$(py --text s.cbor)" = hé ]
    run -0 py s.cbor
    [ "${lines[1]}" = "tokens 0: [1, 2, 70000] b'h\\xc3\\xa9\\n'" ]
}

@test "python: a stream cut short is an error" {
    need_cbor2
    py --write 1 2 3 >s.cbor
    head -c 50 s.cbor >cut.cbor
    run -1 py cut.cbor
    run -3 tok-decode cut.cbor
}
