#!/usr/bin/env bats
# tok-encode on vocabularies that vocab (tests/tools) makes of every kind.
bats_require_minimum_version 1.5.0

setup_file() {
    PATH=$PWD/${B:-build}/bin:$PWD/${B:-build}/tools:$PATH
    export PATH
    cd "$BATS_FILE_TMPDIR" || exit 1
    mkvocab gpt2 gpt-2 >gpt2.gguf
    mkvocab gpt2 llama-bpe >bos.gguf
    mkvocab gemma4 >gemma4.gguf
    mkvocab llama >llama.gguf
    mkvocab bert >bert.gguf
    mkvocab t5 >t5.gguf
    mkvocab rwkv >rwkv.gguf
}

setup() {
    cp "$BATS_FILE_TMPDIR"/*.gguf "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || exit 1
}

ids() { tok-encode -f json "$@" | jq -c 'select(.t == "tokens").ids' | jq -sc add; }
texts() { tok-encode -f json "$@" | jq -j 'select(.t == "tokens").text'; }
random() { head -c "$1" /dev/urandom; }

@test "-f text: id, tab, piece" {
    run -0 tok-encode -f text gpt2.gguf <<<'hello world'
    [ "${lines[0]#*$'\t'}" = '"hello"' ]
    [ "${lines[1]#*$'\t'}" = '" world"' ]
    [ "${lines[2]#*$'\t'}" = '"\n"' ]
    [ "${#lines[@]}" -eq 3 ]
}

@test "-f json: header, tokens, end" {
    printf hello | tok-encode -f json gpt2.gguf >out
    [ "$(jq -r .llm out | head -n 1)" = 1 ]
    [ "$(jq -r 'select(.llm).model.path' out)" = gpt2.gguf ]
    [ "$(jq -r 'select(.t == "tokens").text' out)" = hello ]
    [ "$(jq -c 'select(.t == "end")' out)" = '{"t":"end","s":0,"why":"input","usage":{"tokens":1}}' ]
}

@test "a pipe gets CBOR, and tok-decode the text without the model" {
    [ "$(printf hi | tok-encode gpt2.gguf | head -c 3 | od -An -tx1)" = " d9 d9 f7" ]
    mkdir away
    printf ' hello\n\n  世界 \0 x' >in
    tok-encode gpt2.gguf <in | (cd away && tok-decode) | cmp - in
}

@test "text comes back byte for byte, from every kind that keeps it" {
    {
        random 3000
        printf "x != y and a.b == c; the word 'social' \r\n%700s|\n" ''
        printf '你好 😀 \xf0\x9f <|im_start|> <tool> \xed\xa0\x80\0\n'
        random 1000 | tr -d '\n'
    } >in
    for m in gpt2 bos gemma4 llama rwkv; do
        tok-encode $m.gguf <in | tok-decode | cmp - in
        tok-encode --special --eos $m.gguf <in | tok-decode | cmp - in
        tok-encode -L $m.gguf <in | tok-decode -L | head -c -1 | cmp - in
    done
    for m in gpt2 rwkv; do
        tok-encode $m.gguf <in | tok-decode -m $m.gguf | cmp - in
    done
}

@test "bert and t5: the text is what the normaliser made" {
    [ "$(printf 'HELLO  World!' | texts bert.gguf)" = "hello world !" ]
    [ "$(printf 'HELLO  the\tWORLD' | texts t5.gguf)" = "hello the world" ]
    [ "$(printf 'hello' | texts --special bert.gguf)" = hello ]
}

@test "-c: one number for each sequence" {
    [ "$(printf 'hello world' | tok-encode -c gpt2.gguf)" = 2 ]
    [ "$(printf 'hello\n\nhello world\nhello' | tok-encode -c -L gpt2.gguf | tr '\n' ,)" = 1,0,2,1, ]
    [ "$(printf '' | tok-encode -c gpt2.gguf)" = 0 ]
    [ "$(printf '' | tok-encode -c bos.gguf)" = 1 ]
    [ "$(printf '' | tok-encode -c -L gpt2.gguf)" = "" ]
    [ "$(printf '{"prompt":[1,2]}\n{"prompt":"hello"}' | tok-encode -cJ gpt2.gguf | tr '\n' ,)" = 2,1, ]
}

@test "-L: CR, NUL and a last line without newline" {
    printf 'a\r\nb\0c\n\nd' | tok-encode -L -f json gpt2.gguf >out
    [ "$(jq -c 'select(.t == "tokens") | [.s, .text]' out | tr '\n' ' ')" = \
        '[0,"a\r"] [1,"b\u0000c"] [3,"d"] ' ]
    [ "$(jq -c 'select(.t == "end").s' out | tr '\n' ,)" = 0,1,2,3, ]
}

@test "-L numbers sequences on over several files" {
    printf 'a\nb' >one
    printf 'c\n' >two
    tok-encode -L -f json gpt2.gguf one - two <<<x >out
    [ "$(jq -c 'select(.t == "tokens") | [.s, .text]' out | tr '\n' ' ')" = \
        '[0,"a"] [1,"b"] [2,"x"] [3,"c"] ' ]
}

@test "each file is a sequence" {
    printf a >one
    printf b >two
    tok-encode -f json gpt2.gguf one two >out
    [ "$(jq -c 'select(.t == "tokens") | [.s, .text]' out | tr '\n' ' ')" = \
        '[0,"a"] [1,"b"] ' ]
}

@test "-J: prompts as text and as ids, the rest as set" {
    cat >in <<'EOT'
{"prompt":"hello","id":"a","temp":0.5,"s":9,"t":"x"}
{"prompt":[3,4,5],"stop":["x"]}
{"prompt":""}
EOT
    tok-encode -J -f json bos.gguf in >out
    [ "$(jq -c 'select(.t == "set")' out | tr '\n' ' ')" = \
        '{"t":"set","s":0,"id":"a","temp":0.5} {"t":"set","s":1,"stop":["x"]} ' ]
    [ "$(jq -c 'select(.t == "tokens") | [.s, (.ids | length)]' out | tr '\n' ' ')" = \
        '[0,2] [1,3] [2,1] ' ]
    [ "$(jq -c 'select(.t == "tokens" and .s == 1).ids' out)" = '[3,4,5]' ]
    [ "$(jq -c 'select(.t == "set" or .t == "end") | [.t, .s]' out | tr '\n' ' ')" = \
        '["set",0] ["end",0] ["set",1] ["end",1] ["end",2] ' ]
}

bad_request() {
    run -3 --separate-stderr tok-encode -J -f json gpt2.gguf - <<<"$1"
    [[ $stderr = "tok-encode: standard input: line $2: "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "-J: what is wrong, with its line, exit 3" {
    bad_request '{"prompt":' 1
    bad_request '["prompt"]' 1
    bad_request '{"x":1}' 1
    bad_request '{"prompt":null}' 1
    bad_request '{"prompt":{"a":1}}' 1
    bad_request $'{"prompt":"a"}\n{"prompt":[1,-1]}' 2
    bad_request $'{"prompt":"a"}\n{"prompt":[1,1000000]}' 2
    bad_request $'{"prompt":"a"}\n{"prompt":[1.5]}' 2
    bad_request $'{"prompt":"a"}\n{"prompt":["a"]}' 2
    bad_request '{"prompt":"a","prompt":"b"}' 1
    bad_request $'{"prompt":"a"}\n\n{"prompt":"b"}' 2
    bad_request '{"prompt":"\ud800"}' 1
    bad_request $'{"prompt":"\xff"}' 1
}

@test "BOS and EOS: as the model says, and as asked" {
    [ "$(printf hello | tok-encode -c bos.gguf)" = 2 ]
    [ "$(printf hello | tok-encode -c --no-bos bos.gguf)" = 1 ]
    [ "$(printf hello | tok-encode -c --eos bos.gguf)" = 3 ]
    [ "$(printf hello | ids --eos gpt2.gguf | jq -c '.[-1]')" = 2 ]
    [ "$(printf hello | ids llama.gguf | jq -c '.[0]')" = 1 ]
    [ "$(printf hello | ids bert.gguf | jq -c '[.[0], .[-1]]')" = '[2,3]' ]
    [ "$(printf hello | tok-encode -c --no-bos --no-eos bert.gguf)" = 1 ]
    [ "$(printf hello | ids t5.gguf | jq -c '.[-1]')" = 2 ]
}

@test "a text that spells BOS gets no second one" {
    [ "$(printf '<s>hello' | ids --special bos.gguf)" = "$(printf hello | ids bos.gguf)" ]
    [ "$(printf '<s>hello' | ids --special llama.gguf | jq -c '.[:2]' )" = \
        "$(printf hello | ids llama.gguf | jq -c '.[:2]')" ]
    [ "$(printf '<s>hello' | ids bos.gguf | jq length)" -gt 3 ]
    [ "$(printf '<s><s>' | ids --special bos.gguf)" = '[1,1]' ]
    [ "$(printf '<s>' | ids --special --no-bos bos.gguf)" = '[1]' ]
}

@test "text becomes a control token only with --special" {
    n=$(printf '<|im_start|>' | tok-encode -c gpt2.gguf)
    [ "$n" -gt 5 ]
    [ "$(printf '<|im_start|>' | tok-encode -c --special gpt2.gguf)" = 1 ]
    [ "$(printf '<tool>' | tok-encode -c gpt2.gguf)" = 1 ]
    [ "$(printf '<tool><tool>' | tok-encode -c gpt2.gguf)" = 1 ]
    for m in gemma4 llama bert t5 rwkv; do
        [ "$(printf 'a<|im_start|>b' | ids --no-bos --no-eos $m.gguf | jq length)" -gt 3 ] ||
            [ $m = bert ] || [ $m = t5 ]
        [ "$(printf '<|im_start|>' | tok-encode -c --no-bos --no-eos --special $m.gguf)" = 1 ]
    done
}

@test "--pre: another rule, an unknown one, and where there is none" {
    [ "$(printf 1234 | tok-encode -c --pre qwen2 gpt2.gguf)" = 4 ]
    [ "$(printf 1234 | tok-encode -c gpt2.gguf)" -lt 4 ]
    run -4 tok-encode --pre nope gpt2.gguf
    [ "$output" = "tok-encode: gpt2.gguf: unknown pre-tokenizer 'nope'" ]
    run -4 tok-encode --pre qwen2 bert.gguf
    [ "${#lines[@]}" -eq 1 ]
    mkvocab gpt2 klingon >k.gguf
    run -4 tok-encode k.gguf
    [ "$output" = "tok-encode: k.gguf: unknown pre-tokenizer 'klingon'" ]
    [ "$(printf hello | tok-encode -c --pre gpt-2 k.gguf)" = 1 ]
}

@test "any number of threads, any cut: the same ids" {
    for i in $(seq 3000); do
        printf 'the world %d é 你好  <tool>\n\n\t_____ %s' "$i" "$((i * i * 7919))"
    done >in
    for m in gpt2 gemma4 llama bert t5 rwkv; do
        tok-encode -t 1 -f json $m.gguf in | jq -c '.ids // empty | .[]' >want
        for t in 2 3 5; do
            tok-encode -t $t -f json $m.gguf in | jq -c '.ids // empty | .[]' | cmp - want
        done
        { head -c 1000 in; sleep 0.1; tail -c +1001 in; } |
            tok-encode -f json $m.gguf | jq -c '.ids // empty | .[]' | cmp - want
    done
}

@test "records come while the input is still open" {
    mkfifo in
    tok-encode -f json gpt2.gguf <in >out 3>&- &
    exec 9>in
    printf 'hello world and' >&9
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        grep -q '"tokens"' out && break
        sleep 0.2
    done
    [ "$(jq -j 'select(.t == "tokens").text' out)" = "hello world" ]
    exec 9>&-
    wait $!
}

@test "what the system refuses: one line and exit 1" {
    run -1 tok-encode none.gguf
    [ "$output" = "tok-encode: none.gguf: No such file or directory" ]
    run -1 tok-encode .
    [ "$output" = "tok-encode: .: Is a directory" ]
    run -1 --separate-stderr tok-encode -f text gpt2.gguf none - <<<hello
    [ "$stderr" = "tok-encode: none: No such file or directory" ]
    [ "${#lines[@]}" -eq 2 ]
    run -1 tok-encode gpt2.gguf .
    for o in -c "-f json" "-f text" "-f cbor"; do
        run -1 bash -c "echo hello | tok-encode $o gpt2.gguf >/dev/full"
        [ "$output" = "tok-encode: standard output: No space left on device" ]
    done
    run -1 tok-encode -o none/out gpt2.gguf </dev/null
    [ "$output" = "tok-encode: none/out: No such file or directory" ]
}

@test "no permission: one line and exit 1" {
    [ "$(id -u)" -ne 0 ] || skip "root may read everything"
    chmod 0 gpt2.gguf
    run -1 tok-encode gpt2.gguf
    [ "$output" = "tok-encode: gpt2.gguf: Permission denied" ]
}

@test "what is no model: one line and exit 3 or 4" {
    : >empty
    run -3 tok-encode empty
    [ "${#lines[@]}" -eq 1 ]
    head -c 1000 gpt2.gguf >cut
    run -3 tok-encode cut
    [ "${#lines[@]}" -eq 1 ]
    mkgguf m k:tokenizer.ggml.model:str:klingon
    run -4 tok-encode m
    [ "$output" = "tok-encode: m: unknown tokenizer.ggml.model 'klingon'" ]
    mkgguf m k:tokenizer.ggml.model:str:gpt2
    run -3 tok-encode m
    [ "${#lines[@]}" -eq 1 ]
    mkgguf m k:general.architecture:str:llama
    run -3 tok-encode m
    [ "$output" = "tok-encode: m: no key tokenizer.ggml.model" ]
}

@test "a closed pipe ends it quietly" {
    yes 'hello world' | head -c 3000000 >in
    run -141 --separate-stderr bash -c \
        'tok-encode gpt2.gguf in | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'
    [ -z "$stderr" ]
    run -141 --separate-stderr bash -c \
        'tok-encode -cL gpt2.gguf in | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'
    [ -z "$stderr" ]
}

@test "wrong options: exit 2" {
    run -2 tok-encode
    run -2 tok-encode -J -L gpt2.gguf
    run -2 tok-encode --eos --no-eos gpt2.gguf
    run -2 tok-encode -t -1 gpt2.gguf
    run -2 tok-encode -f xml gpt2.gguf
    run -2 tok-encode --nonsense gpt2.gguf
    run -0 tok-encode --help
}

# 1 MB of one thing, with little stack, in a time that only a linear method
# needs (sanitizers included).
long() {
    for m in gpt2 bos gemma4 llama bert t5 rwkv; do
        (ulimit -s 256 && timeout 20 tok-encode -c "$@" $m.gguf <in >/dev/null) || {
            echo "$m"
            return 1
        }
    done
}

@test "1 MB of one letter, space, underscore, digit, newline, character" {
    for c in a ' ' _ 7 '\n' "'" .; do
        head -c 1000000 /dev/zero | tr '\0' "$c" >in
        long
    done
    yes 世界 | tr -d '\n' | head -c 1000000 >in
    long
}

@test "1 MB of digits by each rule that counts them" {
    head -c 1000000 /dev/zero | tr '\0' 7 >in
    for p in afmoe superbpe tiny_aya deepseek-v3 falcon; do
        timeout 20 tok-encode -c --pre $p gpt2.gguf in
    done
}

@test "a line of 1 MB, a word of 14,001 letters, 200 turns" {
    yes 'the world' | tr '\n' ' ' | head -c 1000000 >in
    long -L
    head -c 14001 /dev/zero | tr '\0' a >in
    long
    [ "$(ids --no-bos --no-eos bert.gguf in)" = '[1]' ]
    for i in $(seq 200); do
        printf '<|im_start|>user\nhello %d<|im_end|>\n' "$i"
    done >in
    long --special
    [ "$(ids --special gpt2.gguf in | jq "[.[] | select(. == $(printf '<|im_start|>' | ids --special gpt2.gguf | jq '.[0]'))] | length")" = 200 ]
}

@test "the examples of the page" {
    ln -s gpt2.gguf m.gguf
    printf 'Once upon a time\nhello world\n' >notes.txt
    page=$BATS_TEST_DIRNAME/../man/tok-encode.1
    sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/{/^\.Bd/,/^\.Ed/{/^\./d;p}}' "$page" |
        sed 's/\\e/\\/g; s/\\(dq/"/g' >all
    grep '^{' all >requests.jsonl
    grep -v '^{' all | sed 's/^\$ //' >cmds
    [ "$(wc -l <cmds)" -ge 7 ]
    bash -e -o pipefail cmds
}

@test "an output that is an input: refused as standard output, safe with -o" {
    echo hello >in
    run -1 sh -c 'tok-encode gpt2.gguf in >>in'
    [[ $output == *"in: input file is output file"* ]]
    echo hello >in
    tok-encode -o in gpt2.gguf in
    [ "$(tok-decode in)" = hello ]
}

@test "-o leaves the old file when the program fails, and nothing beside it" {
    echo old >out
    run -1 tok-encode -o out missing.gguf
    [ "$(cat out)" = old ]
    [ "$(find . -name 'out*' | wc -l)" -eq 1 ]
}

@test "an input that fails ends the stream with an error record" {
    run -1 sh -c 'tok-encode gpt2.gguf missing | tok-decode'
    [[ $output == *"tok-encode failed"* ]]
    tok-encode -f json -J gpt2.gguf 2>/dev/null <<<'{' | grep -q '"code":"format"' ||
        tok-encode -f json -J gpt2.gguf 2>/dev/null <<<'{' | grep '"code": *"format"'
}

@test "readable tokens are harmless to a terminal" {
    run -0 sh -c "printf 'a\\302\\2331m\\377\\033' | tok-encode -f text gpt2.gguf"
    [[ $output == *'\xff'* ]]
    [[ $output != *$'\033'* ]]
    [[ $output != *$'\302\233'* ]]
}

@test "unknown options are shown escaped, with a reason" {
    run -2 tok-encode $'--x\e[31m' gpt2.gguf
    [[ ${lines[0]} == *'\x1b'* ]]
    run -2 tok-encode -t
    [[ ${lines[0]} == *"wants an argument" ]]
    run -2 tok-encode -t 0 gpt2.gguf
}

@test "ids decode alike, however records cut them" {
    printf ' a b  c\n' | tok-encode -f json llama.gguf |
        jq -c 'select(.t == "tokens") | .ids[] | {t: "tokens", ids: [.]}' >cut.json
    tok-decode -m llama.gguf cut.json >cut
    printf ' a b  c\n' | cmp - cut
}
