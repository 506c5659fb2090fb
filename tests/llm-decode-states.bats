#!/usr/bin/env bats
# llm-decode: states in files and streams, the cache folder, and how it ends:
# signals, full disks, inputs that are no stream.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 0 128 2 >n.gguf # other weights
    mkmodel 9 400 >w.gguf   # windows
    mkgguf q.gguf llama
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

e=39 the=34 # <end>, and a token of three letters

@test "--kv: the state of prompt and answer, used by what begins the same" {
    prompt $(some 70) >in
    run -0 --separate-stderr llm-decode --temp 0 -n 5 --ignore-eos -f json --kv s m.gguf in
    [ -z "$stderr" ]
    answer=$(jq 'select(.t == "tokens").ids[0]' <<<"$output")
    # The last token has not run.
    [ "$(kv-dump -f json s | jq -c '[.s, .tokens]')" = '[0,74]' ]
    prompt $(some 70) $answer 3 4 >more
    llm-decode --temp 0 -n 9 --ignore-eos -f json m.gguf more >want
    run -0 --separate-stderr llm-decode --temp 0 -n 9 --ignore-eos -f json --kv s m.gguf more
    cmp want <<<"$output"
    [ "$stderr" = "llm-decode: sequence 0: 74 of 77 tokens reused" ]
    [ "$(kv-dump -f json s | jq .tokens)" -eq 85 ]
    run -0 --separate-stderr llm-decode -q --temp 0 -n 9 --ignore-eos -f json --kv s m.gguf more
    [ -z "$stderr" ]
    # It is what is made at once.
    llm-decode -q --temp 0 -n 9 --ignore-eos -f json --kv-out t m.gguf more >none
    cmp s t
    llm-decode -q --temp 0 -n 9 --ignore-eos --zstd --kv-out z m.gguf more >none
    kv-dump --no-zstd z | cmp - t
    llm-decode -q --temp 0 -n 9 --ignore-eos -f json --kv-in z m.gguf more | cmp - want
    llm-decode --timings --temp 0 -n 9 --ignore-eos -f json -q --kv-in s m.gguf more |
        jq -se '.[-1] | .usage.reused == 76 and .time.first <= .time.total'
    fails 2 "--kv is --kv-in and --kv-out" llm-decode --kv s --kv-in s m.gguf more
}

@test "a state of a longer prompt, of another, of the same" {
    llm-decode --temp 0 -n 30 --ignore-eos -q --kv-out long m.gguf <(prompt $(some 90)) >none
    for ids in "$(some 40)" "$(some 90)" "$(some 64)" "$(some 65)" "5 5 5" "$(some 1)"; do
        prompt $ids >in
        llm-decode --temp 0 -n 9 --ignore-eos m.gguf in >want
        cp long s
        llm-decode -q --temp 0 -n 9 --ignore-eos --kv s m.gguf in | cmp - want
        llm-decode -q --temp 0 -n 9 --ignore-eos --kv s m.gguf in | cmp - want
    done
}

@test "a state alone is a prompt" {
    prompt $(some 80) >in
    llm-decode --temp 0 -n 9 --ignore-eos -f json m.gguf in >want
    llm-prefill m.gguf in | kv-dump -f cbor >s
    jq -nc '{t: "end", s: 0, why: "input"}' >end
    kv-dump --cut 80 s >t
    head -c "$(stat -c %s t)" t | llm-decode --temp 0 -n 9 --ignore-eos -f json m.gguf | cmp - want
}

@test "a state that is cut, damaged, of another model or type is refused, and stays" {
    prompt $(some 70) >in
    llm-decode --temp 0 -n 3 -q --kv-out good m.gguf in >none
    size=$(stat -c %s good)
    for n in 0 1 100 600 20000 $((size - 1)); do
        head -c "$n" good >s
        cp s kept
        fails 3 "s: " llm-decode --kv s m.gguf in
        cmp s kept
    done
    for at in 300 600 9000 $((size - 20)); do
        cp good s
        printf '\x55' | dd of=s bs=1 seek="$at" conv=notrunc status=none
        cmp -s s good && printf '\xaa' | dd of=s bs=1 seek="$at" conv=notrunc status=none
        cp s kept
        fails 3 "s: " llm-decode --kv s m.gguf in
        cmp s kept
    done
    fails 3 "another model" llm-decode --kv-in good n.gguf in
    fails 3 "K and V are f16,f16, not f32,f16" llm-decode --kv-type f32,f16 --kv-in good m.gguf in
    fails 1 "nowhere: " llm-decode --kv-in nowhere m.gguf in
    fails 3 "no state in it" llm-decode --kv-in in m.gguf in
    run -1 llm-decode --temp 0 -n 1 --kv-out no/where m.gguf in
    for t in f33 f16,x q8_0,f16,f16 ,; do
        fails 2 kv-type llm-decode --kv-type $t m.gguf in
    done
    fails 4 "q8_0" llm-decode --kv-type q8_0 m.gguf in
}

@test "two sequences are one too many for --kv" {
    { S=0 prompt 1; S=1 prompt 2; } >in
    run -2 --separate-stderr llm-decode --temp 0 -n 3 -f json --kv-out s m.gguf in
    [[ $stderr == *"are for one sequence" ]]
    [ "$(jq -c 'select(.t == "end") | .why' <<<"$output" | xargs)" = 'length error' ]
}

@test "killed at any time, it leaves the old state or the new one; what cannot be written, the old" {
    prompt $(some 70) >in
    llm-decode --temp 0 -n 3 -q --kv old m.gguf in >none
    prompt $(some 70) 1 2 3 >more
    cp old new
    llm-decode --temp 0 -n 3 -q --kv new m.gguf more >none
    for i in {0..24}; do
        cp old s
        llm-decode --temp 0 -n 3 -q --kv s m.gguf more >none 3>&- &
        sleep "0.0$((i / 10))$((i % 10))"
        kill -9 $! 2>/dev/null || true
        wait $! || true
        cmp -s s old || cmp s new
    done
    rm -f s.??????
    cp old s
    run -1 bash -c 'trap "" XFSZ; ulimit -f 16; exec llm-decode --temp 0 -n 3 -q --kv s m.gguf more >/dev/null'
    cmp s old
    [ "$(echo s*)" = s ]
}

@test "a full disk, and outputs that are no files" {
    [ -e /dev/full ] || skip "no /dev/full"
    prompt 1 2 >in
    for f in cbor json text; do
        fails 1 "standard output" bash -c "llm-decode -f $f --temp 0 -n 3 m.gguf in >/dev/full"
        run -1 llm-decode -f $f --temp 0 -n 3 -o /dev/full m.gguf in
    done
    fails 1 "/dev/full" bash -c 'llm-decode --temp 0 -n 3 --kv-out /dev/full m.gguf in >/dev/null'
    [ -c /dev/full ]
    mkfifo fifo
    kv-dump --check fifo &
    llm-decode --temp 0 -n 3 --kv-out fifo m.gguf in >none
    wait $!
    [ -p fifo ]
    ln -s target link
    echo old >target
    llm-decode --temp 0 -n 3 --kv-out link m.gguf in >none
    [ -L link ]
    kv-dump --check target
}

@test "--cache: the second program begins where the first one's prompt ended" {
    prompt $(some 127) >in
    llm-decode --temp 0 --overflow stop m.gguf in >want
    run -0 --separate-stderr bash -c 'llm-decode --temp 0 --overflow stop --cache c m.gguf in | cmp - want'
    [ -z "$stderr" ]
    run -0 --separate-stderr bash -c 'llm-decode --temp 0 --overflow stop --cache c m.gguf in | cmp - want'
    [ "$stderr" = "llm-decode: sequence 0: 64 of 127 tokens reused" ]
    run -0 --separate-stderr bash -c 'llm-decode -v --temp 0 --overflow stop --cache c m.gguf in | cmp - want'
    [[ $stderr == *"127 + "*" tokens, 64 reused"* ]]
    # Several models, several types.
    llm-decode -q --temp 0 --overflow stop n.gguf in >other
    llm-decode -q --temp 0 --overflow stop --cache c n.gguf in | cmp - other
    llm-decode -q --temp 0 --overflow stop --cache c n.gguf in | cmp - other
    llm-decode -q --temp 0 --overflow stop --kv-type f32 n.gguf in >other
    llm-decode -q --temp 0 --overflow stop --kv-type f32 --cache c n.gguf in | cmp - other
    llm-decode -q --temp 0 --overflow stop --cache c m.gguf in | cmp - want
}

@test "--cache: damaged files are absent ones" {
    prompt $(some 127) >in
    llm-decode --temp 0 --overflow stop m.gguf in >want
    llm-decode -q --temp 0 --overflow stop --cache c m.gguf in >none
    find c -type f >files
    [ -s files ]
    while read -r f; do
        cp "$f" kept
        for at in 0 50 300 5000; do
            cp kept "$f"
            printf '\x55\xaa' | dd of="$f" bs=1 seek="$at" conv=notrunc status=none
            llm-decode -q --temp 0 --overflow stop --cache c m.gguf in | cmp - want
        done
        for n in 0 10 1000; do
            head -c "$n" kept >"$f"
            llm-decode -q --temp 0 --overflow stop --cache c m.gguf in | cmp - want
        done
        rm -f "$f"
        mkdir -p "$f"
        llm-decode -q --temp 0 --overflow stop --cache c m.gguf in | cmp - want
        rmdir "$f" || true
    done <files
    # A folder that cannot be one.
    run llm-decode -q --temp 0 --overflow stop --cache in m.gguf in
    [ "$status" -eq 1 ]
}

@test "--cache-size" {
    prompt $(some 399) >in
    llm-decode -q --temp 0 --overflow stop --cache c --cache-size 1 w.gguf in >want
    for i in {0..11}; do
        S=$i prompt "$i" $(some 300)
    done | llm-decode -q --temp 0 -n 1 --cache c --cache-size 1 w.gguf >none
    [ "$(find c -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')" -le 1000000 ]
    [ "$(find c -type f | wc -l)" -gt 4 ]
    llm-decode -q --temp 0 --overflow stop --cache c --cache-size 1 w.gguf in | cmp - want
    llm-decode -q --temp 0 --overflow stop --cache c --cache-size 0 w.gguf in | cmp - want
    [ "$(find c -type f | wc -l)" -eq 0 ]
    fails 2 usage: llm-decode --cache c --cache-size -1 w.gguf in
}

@test "--cache: many programs at once" {
    prompt $(some 350) >in
    llm-decode --temp 0 -n 9 --ignore-eos w.gguf in >want
    for i in {1..6}; do
        llm-decode -q --temp 0 -n 9 --ignore-eos --cache c --cache-size 1 w.gguf in >out$i &
    done
    wait
    for i in {1..6}; do
        cmp out$i want
    done
}

@test "Ctrl-C: the token is whole, the end says interrupted, the status is 130" {
    mkfifo in out
    llm-decode -b 2 --ignore-eos --temp 0 --overflow slide -f json m.gguf in >out 3>&- &
    pid=$!
    exec 6<out 5>in
    for s in 0 1 2 3; do S=$s prompt 25; done >&5
    exec 5>&-
    for _ in {1..6}; do
        read -r -t 20 line <&6
    done
    kill -INT $pid
    cat <&6 >rest
    wait $pid && st=0 || st=$?
    [ $st -eq 130 ]
    [ "$(jq -c 'select(.t == "end") | [.s, .why]' rest | xargs)" = \
        '[0,interrupted] [1,interrupted] [2,interrupted] [3,interrupted]' ]
}

@test "Ctrl-C: while nothing comes, and nothing has begun" {
    mkfifo in out
    llm-decode -f json m.gguf in >out 3>&- &
    pid=$!
    exec 6<out 5>in
    read -r -t 20 line <&6
    S=1 prompt 25 >&5
    kill -INT $pid
    run ! read -r -t 20 line <&6
    wait $pid && st=0 || st=$?
    [ $st -eq 130 ]
    exec 5>&-
}

@test "Ctrl-C leaves a state, too" {
    mkfifo in out
    llm-decode --ignore-eos --temp 0 --overflow slide --kv s -f json m.gguf in >out 3>&- &
    pid=$!
    exec 6<out 5>in
    prompt 25 >&5
    exec 5>&-
    for _ in {1..5}; do
        read -r -t 20 line <&6
    done
    kill -INT $pid
    cat <&6 >none
    wait $pid && st=0 || st=$?
    [ $st -eq 130 ]
    kv-dump --check s
    prompt 25 $(jq 'select(.t == "tokens").ids[0]' none | head -n 3) >more
    llm-decode -q --overflow slide --temp 0 -n 2 --kv s m.gguf more >none
}

@test "a reader that goes ends it quietly" {
    prompt 25 >in
    run -0 --separate-stderr bash -c \
        'llm-decode --ignore-eos --temp 0 --overflow slide -f json m.gguf in | head -n 3; echo "${PIPESTATUS[0]}"'
    [ "${lines[3]}" = 141 ]
    [ -z "$stderr" ]
}

@test "on a terminal: text, a newline after each answer; no CBOR" {
    command -v script >/dev/null || skip "no script(1)"
    { S=0 prompt 25; S=1 prompt 24; } >in
    spell $the 20 2 $e
    tty() { script -qec "$(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'; }
    tty llm-decode "${said[@]}" m.gguf in >out
    printf 'theuc\ntheuc\n' | cmp - out
    tty llm-decode "${said[@]}" -f cbor m.gguf in >out
    grep -q "is a terminal" out
    run -0 bash -c "$(printf '%q ' llm-decode "${said[@]}" -f text m.gguf in)"
    [ "$output" = $'theuc\ntheuc' ] || [ "$output" = theuctheuc ]
}

@test "inputs that are no stream, or of no model of this" {
    : >empty
    fails 3 "empty: " llm-decode m.gguf empty
    echo hello >text
    fails 3 "text: " llm-decode m.gguf text
    fails 1 "nowhere: " llm-decode m.gguf nowhere
    fails 1 "nomodel" llm-decode nomodel empty
    fails 3 "text: " llm-decode text empty
    fails 2 usage: llm-decode
    fails 2 usage: llm-decode --nonsense m.gguf
    # A header alone asks for nothing; a record without tokens for something.
    echo '{"llm":1}' >in
    run -0 --separate-stderr llm-decode -f json m.gguf in
    [ "${#lines[@]}" -eq 1 ]
    echo '{"t":"tokens","ids":[]}' >in
    fails 3 "there are no tokens to continue" llm-decode m.gguf in
    # Of another vocabulary.
    echo the | tok-encode m.gguf >in
    fails 3 "vocabulary" llm-decode q.gguf in
    llm-decode --temp 0 -n 2 n.gguf in >none
}

@test "a stream that is cut" {
    echo -n 'the cat' | tok-encode m.gguf >in
    size=$(stat -c %s in)
    for ((n = 1; n < size; n += 9)); do
        head -c $n in >cut
        run -3 llm-decode --temp 0 -n 2 m.gguf cut || [ "$status" -eq 0 ]
    done
    head -c $((size - 1)) in >cut
    fails 3 "cut: " llm-decode --temp 0 -n 2 m.gguf cut
    # Those that were whole before it are answered.
    { prompt 25; echo '{"t":"end","s":0,"why":"input"}'; printf '{"t":"tokens","s":1,"ids":[2'; } >cut
    run -3 --separate-stderr llm-decode --temp 0 -n 2 --ignore-eos -f json m.gguf cut
    [ "$(jq -c 'select(.t == "end") | [.s, .why]' <<<"$output")" = '[0,"length"]' ]
}

@test "several files, and streams that are joined" {
    prompt 25 >a
    { S=0 prompt 24; S=1 prompt 23; } >b
    nope() { llm-decode --temp 0 -n 3 --ignore-eos -f json "$@"; }
    { nope m.gguf a; nope m.gguf b | tail -n +2; } >want
    nope m.gguf a b | cmp - want
    nope -b 5 m.gguf a b | cmp - want
    cat a - b <<<'{"llm":1}' >both
    nope m.gguf both | cmp - want
    nope -b 5 m.gguf both | cmp - want
    nope -b 5 --unordered m.gguf both | jq -s 'map(select(.t == "end")) | length' | grep -qx 3
    nope m.gguf - b <a | cmp - want
    run -1 --separate-stderr nope m.gguf a nowhere b
    cmp want <<<"$output"
}

@test "rows that are no tokens are never drawn" {
    # Six tokens, and forty rows.
    mkgguf six.gguf $(six 6)
    mkgguf rows.gguf $(six 40)
    for t in 0 5; do
        run -0 ids --temp $t --top-k 0 --top-p 1 --min-p 0 --ignore-eos -n 99 rows.gguf <<<"$(prompt 1 2)"
        [ "$(tr ' ' '\n' <<<"$output" | sort -n | tail -n 1)" -lt 6 ]
    done
    # But they may be read.
    prompt 1 30 2 | llm-decode -n 2 rows.gguf >none
    fails 3 "token 6 is none of the model's 6" llm-decode six.gguf <(prompt 6)
    fails 3 "token 40 is none of the model's 40" llm-decode rows.gguf <(prompt 40)
}

# A llama of six tokens and $1 rows.
six() {
    local l

    echo general.architecture:str:llama llama.block_count:u32:1 llama.context_length:u32:128 \
        llama.embedding_length:u32:32 llama.feed_forward_length:u32:32 llama.attention.head_count:u32:2 \
        llama.attention.layer_norm_rms_epsilon:f32:1e-5 tokenizer.ggml.model:str:gpt2 \
        tokenizer.ggml.pre:str:gpt-2 'tokenizer.ggml.tokens:[str]:a,b,c,d,e,f' \
        'tokenizer.ggml.merges:[str]:' | sed 's/\(^\| \)/ k:/g'
    echo attn_norm:F32:32 attn_q:F32:32x32 attn_k:F32:32x32 attn_v:F32:32x32 attn_output:F32:32x32 \
        ffn_norm:F32:32 ffn_gate:F32:32x32 ffn_up:F32:32x32 ffn_down:F32:32x32 |
        sed 's/\([a-z_]*\):\([^ ]*\)/t:blk.0.\1.weight:\2/g'
    echo "t:token_embd.weight:F32:32x$1 t:output_norm.weight:F32:32"
}
