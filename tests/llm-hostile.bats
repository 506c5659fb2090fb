#!/usr/bin/env bats
# llm-decode and llm-prefill where things are missing, full, extreme or gone.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    E=$PWD/examples
    export B E PATH=$B/bin:$B/tools:$PATH models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 9 400 >w.gguf # windows
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

@test "--chunk has an end" {
    prompt 1 2 3 >in
    for p in llm-decode llm-prefill; do
        run -2 --separate-stderr $p --chunk 2147483647 m.gguf in
        [[ ${stderr_lines[0]} == *"--chunk must be 1 to 1048576"* ]]
    done
    llm-decode --chunk 1048576 -n 3 w.gguf in >/dev/null
    llm-prefill --chunk 1048576 w.gguf in >/dev/null
}

@test "a state of no tokens is no prompt" {
    prompt 1 2 3 | llm-prefill -q --no-logits --kv-out s m.gguf >/dev/null
    kv-dump --cut 0 -f cbor s >none
    run -3 --separate-stderr llm-decode m.gguf none
    [[ $stderr == *"sequence 0: there are no tokens to continue" ]]
    run -3 --separate-stderr llm-prefill m.gguf none
    [[ $stderr == *"sequence 0: there are no tokens to read" ]]
    # And a beginning of any.
    prompt 1 2 3 >in
    llm-decode -q -n 5 --temp 0 m.gguf in >want
    llm-decode -q -n 5 --temp 0 --kv-in none m.gguf in | cmp - want
}

@test "a state that cannot be written: the answer is whole" {
    prompt 1 2 3 >in
    llm-decode -n 3 --temp 0 --ignore-eos m.gguf in >want
    for f in /dev/full "$PWD/none/state" "$PWD"; do
        run -1 --separate-stderr llm-decode -n 3 --temp 0 --ignore-eos --kv-out "$f" -o got m.gguf in
        [[ $stderr == "llm-decode: $f: "* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
        cmp got want
    done
}

@test "--follow: who writes to the FIFO is not left waiting" {
    mkfifo back
    echo no stream >in
    timeout 20 sh -c ': >back' &
    run -3 timeout 20 llm-prefill --follow back m.gguf in
    wait $!
    # Where there is no model, too.
    for i in 1 2 3 4 5; do
        run timeout 20 sh "$E/loop.sh" none.gguf 3 <in
        [ "$status" -ne 124 ]
        [ "$status" -ne 0 ]
    done
}

@test "--cache removes what is its own, nothing else" {
    prompt $(seq 0 30) $(seq 0 30) $(seq 0 9) >in
    llm-prefill -q --no-logits --cache c m.gguf in >/dev/null
    key=$(ls c)
    mkdir c/holiday-pictures c/0123456789abcdef
    touch c/holiday-pictures/{one,"$(printf %032d 1).kv"} c/0123456789abcdef/two "c/$key/notes.kv"
    for d in c/*; do truncate -s 5M "$d"/*; done
    llm-prefill -q --no-logits --cache c --cache-size 1 m.gguf in >/dev/null
    [ "$(cd c && ls -d */* | sort | xargs)" = "0123456789abcdef/two $key/notes.kv holiday-pictures/$(printf %032d 1).kv holiday-pictures/one" ] ||
        { ls c/*; false; }
}

@test "files that may not grow: what fails says so, and leaves nothing behind" {
    export LLM_CACHE=$PWD/cache
    prompt $(seq 0 30) $(seq 0 30) $(seq 0 9) >in
    llm-decode -n 3 --temp 0 --ignore-eos m.gguf in >want
    ls >before
    run -1 --separate-stderr sh -c 'ulimit -f 1; llm-decode -q -n 3 --kv-out s m.gguf in >/dev/null'
    [[ $stderr == "llm-decode: s: File too large" ]]
    for p in llm-prefill "llm-decode --ignore-eos -n 60"; do
        run -1 --separate-stderr sh -c "ulimit -f 1; $p -q -o s m.gguf in"
        [[ $stderr == *"File too large" ]]
    done
    llm-prefill -q m.gguf in >l
    run -1 --separate-stderr sh -c 'ulimit -f 1; llm-sample -o s l'
    [[ $stderr == *"File too large" ]]
    rm l separate*
    ls | diff before -
    # Folders are not needed.
    (ulimit -f 4 && llm-decode -q -n 3 --temp 0 --ignore-eos --share --cache c m.gguf in 2>said) | cmp - want
    [[ $(cat said) == *"File too large; what is read is not kept" ]]
    [ -z "$(find c cache -type f)" ]
}

@test "--share: panels that are not what packing makes now are made again" {
    export LLM_CACHE=$BATS_TEST_TMPDIR/cache
    prompt 1 2 3 >in
    llm-decode -q -n 3 --temp 0 --ignore-eos m.gguf in >want
    llm-decode -q -n 3 --temp 0 --ignore-eos --share m.gguf in | cmp - want
    f=$(find "$LLM_CACHE" -name '*.pack')
    cp "$f" made
    printf '\xff%.0s' {1..64} | dd of="$f" bs=1 seek=4096 conv=notrunc status=none
    run ! cmp -s "$f" made
    llm-decode -q -n 3 --temp 0 --ignore-eos --share m.gguf in | cmp - want
    cmp "$f" made
    rm made
}

@test "--share: what a killed maker left goes, what a living one makes stays" {
    export LLM_CACHE=$BATS_TEST_TMPDIR/cache
    prompt 1 2 3 >in
    llm-decode -q -n 3 --temp 0 --ignore-eos m.gguf in >want
    llm-decode -q -n 3 --temp 0 --ignore-eos --share m.gguf in | cmp - want
    f=$(find "$LLM_CACHE" -name '*.pack')
    rm "$f"
    echo half >"$f.new-1"
    echo half >"$f.new-2"
    mkfifo held
    # 3 is bats's own.
    flock "$f.new-2" sh -c 'echo >held; while [ -e held ]; do sleep .05; done' 3>&- &
    read -r <held
    llm-decode -q -n 3 --temp 0 --ignore-eos --share m.gguf in | cmp - want
    [ "$(find "$LLM_CACHE" -type f | sort)" = "$f"$'\n'"$f.new-2" ]
    rm held
    wait
}

@test "a state longer than the context is an error of its sequence alone" {
    mkmodel 0 1000 >big.gguf
    prompt $(seq 0 39) $(seq 0 39) $(seq 0 39) >long # no more than two contexts
    { cat long | head -c -3; printf ',%s' $(seq 0 39) $(seq 0 39) $(seq 0 39); echo ']}'; } >longer
    prompt 1 2 3 >short
    for f in long longer; do
        llm-prefill -q --no-logits --kv-out state big.gguf $f >/dev/null
        llm-prefill -q --no-logits big.gguf $f >all
        for o in error shift; do
            run -6 --separate-stderr llm-decode -c 64 -n 3 --ignore-eos --overflow $o -f json big.gguf short all short
            [[ $stderr == *"the state's "*" tokens are more than the context of 64" ]]
            [ "$(jq -r 'select(.t == "end").why' <<<"$output" | xargs)" = "length error length" ]
        done
        for p in llm-decode llm-prefill; do
            run -6 --separate-stderr $p -c 64 --kv-in state big.gguf short
            [[ $stderr == "$p: sequence 0: state: "*"more than the context of 64" ]]
        done
    done
}

@test "--unordered: a number that comes again waits for the first of it" {
    for s in 0 0 3 0; do
        echo "{\"t\":\"tokens\",\"s\":$s,\"ids\":[$((s + 3))]}"
        echo "{\"t\":\"end\",\"s\":$s,\"why\":\"input\"}"
    done >in
    llm-decode -f json --temp 0 --ignore-eos -n 4 m.gguf in | grep '"s":0' >want
    llm-decode -f json --temp 0 --ignore-eos -n 4 -b 4 --unordered m.gguf in >out
    grep '"s":0' out | cmp - want
    # And in the next input.
    llm-decode -f json --temp 0 --ignore-eos -n 4 -b 4 --unordered m.gguf in in >out
    grep '"s":0' out | cmp - <(cat want want)
}

@test "--cache: a damaged file is written anew" {
    prompt $(seq 0 30) $(seq 0 30) $(seq 0 9) >in
    read_in() { llm-prefill --no-logits --cache c m.gguf in 2>&1 >/dev/null; }
    [ -z "$(read_in)" ]
    f=$(echo c/*/*.kv)
    cp "$f" good
    for how in 'truncate -s 100' 'truncate -s 0' 'sh -c "tr a b <good >\"\$0\""'; do
        eval "$how" '"$f"'
        [ -z "$(read_in)" ]
        cmp "$f" good
        [[ $(read_in) == *"64 of 72 tokens reused" ]]
    done
}
