#!/usr/bin/env bats
# llm-prefill on tiny models.
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

@test "tokens, the state, the logits of the last position, an end" {
    prompt 3 4 5 >in
    run -0 --separate-stderr llm-prefill -f json m.gguf in
    [ -z "$stderr" ]
    printf '%s\n' "${lines[@]}" >out
    [ "$(jq -r '.t // "header"' out | uniq | xargs)" = 'header set tokens kv logits end' ]
    jq -se '.[0].by == "llm-prefill" and .[1].eog == [39] and .[1].suppress == [] and
        .[2].ids == [3, 4, 5] and .[2].text == "def" and
        (.[-2] | .pos == 2 and (.v | length) == 40) and
        (.[-1] | .why == "input" and .usage.tokens == 3)' out
    llm-prefill m.gguf in | kv-dump --check
    [ "$(llm-prefill m.gguf in | kv-dump -f json | jq -c .ids)" = '[3,4,5]' ]
    # From CBOR, the same.
    prompt 3 4 5 | llm-decode -n 0 --temp 0 --echo m.gguf | llm-prefill -f json m.gguf | cmp - out
}

@test "--all-logits: each position, the last as without" {
    prompt $(some 100) >in
    llm-prefill --all-logits -f json m.gguf in | jq -c 'select(.t == "logits")' >all
    [ "$(jq .pos all | xargs)" = "$(seq -s ' ' 0 99)" ]
    llm-prefill -f json m.gguf in | jq -c 'select(.t == "logits")' | cmp - <(tail -n 1 all)
    for n in 1 17 64 65; do
        prompt $(some $n) | llm-prefill -f json m.gguf | jq -c 'select(.t == "logits")' |
            cmp - <(sed -n ${n}p all)
    done
}

@test "--no-kv, --no-logits" {
    prompt $(some 70) >in
    kinds() { llm-prefill -f json "$@" m.gguf in | jq -r '.t // "header"' | uniq | xargs; }
    [ "$(kinds --no-kv)" = 'header set tokens logits end' ]
    [ "$(kinds --no-kv --all-logits)" = 'header set tokens logits end' ]
    [ "$(kinds --no-logits)" = 'header tokens kv end' ]
    [ "$(kinds --no-logits --no-kv)" = 'header tokens end' ]
    fails 2 "exclude each other" llm-prefill --all-logits --no-logits m.gguf in
}

@test "parts, threads and what came before change nothing" {
    for m in m w; do
        for s in 0 1 2; do S=$s prompt $(some $((100 + s))); done >in
        llm-prefill $m.gguf in >want
        for c in 1 7 64 512; do
            llm-prefill --chunk $c -t 3 $m.gguf in | cmp - want
            llm-prefill --chunk $c -t 1 --threads-batch 3 $m.gguf in | cmp - want
        done
        cmp <(llm-prefill -f json $m.gguf in | tail -n +2) \
            <(for s in 0 1 2; do S=$s prompt $(some $((100 + s))) | llm-prefill -f json $m.gguf | tail -n +2; done)
    done
    for c in 0 -1 x; do
        fails 2 usage: llm-prefill --chunk $c m.gguf in
    done
}

@test "-f text: the ten most probable successors, for people" {
    prompt 3 4 5 >in
    llm-prefill -f text m.gguf in >out
    [ "$(wc -l <out)" -eq 10 ]
    llm-prefill --no-kv -f json m.gguf in | jq -r 'select(.t == "logits").v | to_entries |
        sort_by(-.value)[:10][] | "0\t2\t\(.key)"' | cmp - <(cut -f 1-3 out)
    llm-prefill --all-logits -f text m.gguf in | tail -n 10 | cmp - out
    [ "$(llm-prefill --all-logits -f text m.gguf in | wc -l)" -eq 30 ]
    grep -qP '\t"[^"]*"$' out
    command -v script >/dev/null || skip "no script(1)"
    script -qec "llm-prefill m.gguf in" /dev/null </dev/null | tr -d '\r' | cmp - out
}

@test "a state in a file: --kv-out, --kv-in, --kv" {
    prompt $(some 70) >in
    prompt $(some 90) >more
    llm-prefill --kv-out s m.gguf in >out
    llm-prefill --no-kv m.gguf in | cmp - out
    llm-prefill m.gguf in | kv-dump -f cbor >t
    [ "$(kv-dump --diff s t)" = '' ]
    llm-prefill m.gguf more >want
    run -0 --separate-stderr bash -c 'llm-prefill --kv-in s m.gguf more | cmp - want'
    [ "$stderr" = "llm-prefill: sequence 0: 70 of 90 tokens reused" ]
    llm-prefill -q --kv s m.gguf more >none
    run -0 --separate-stderr bash -c 'llm-prefill --kv s m.gguf more >none2 && cmp none none2'
    [ "$stderr" = "llm-prefill: sequence 0: 89 of 90 tokens reused" ]
    # One that is longer, one that differs, one that is not there.
    llm-prefill m.gguf in >want
    llm-prefill -q --kv-in s m.gguf in | cmp - want
    prompt 9 9 >other
    llm-prefill m.gguf other >want
    run -0 --separate-stderr bash -c 'llm-prefill --kv-in s m.gguf other | cmp - want'
    [ -z "$stderr" ]
    fails 1 "nowhere: " llm-prefill --kv-in nowhere m.gguf in
    llm-prefill --kv new m.gguf in >none
    kv-dump --check new
    llm-prefill --zstd --kv-out z m.gguf in >none
    [ "$(kv-dump --diff z new)" = '' ]
    [ "$(stat -c %s z)" -lt "$(stat -c %s new)" ]
}

@test "states that are not this model's, or not whole" {
    prompt $(some 70) >in
    llm-prefill --kv-out good m.gguf in >none
    fails 3 "another model" llm-prefill --kv-in good n.gguf in
    fails 3 "K and V are" llm-prefill --kv-in good --kv-type bf16 m.gguf in
    for n in 0 100 9000 $(($(stat -c %s good) - 1)); do
        head -c "$n" good >s
        fails 3 "s: " llm-prefill --kv s m.gguf in
        head -c "$n" good | cmp - s
    done
    { S=0 prompt 1; S=1 prompt 2; } >two
    run -2 --separate-stderr llm-prefill --kv-out s2 m.gguf two
    # Of a stream's states each is one sequence's.
    llm-prefill -f json m.gguf two >all
    grep -v '"part":"end"' all | tail -n +2 | head -n 20 >part
    run -3 --separate-stderr llm-prefill -f json m.gguf part
    [[ $stderr == *"sequence 0: its state is not whole"* ]]
}

@test "a stream's state is gone on from" {
    prompt $(some 70) | llm-prefill m.gguf >first
    llm-prefill m.gguf first >again
    [ -z "$(kv-dump --diff first again)" ]
    { llm-prefill -f json --no-logits m.gguf first | grep -v '"t":"end"'; prompt 1 2 3; } |
        llm-prefill m.gguf | kv-dump -f cbor >s
    prompt $(some 70) 1 2 3 | llm-prefill m.gguf | kv-dump -f cbor >t
    [ -z "$(kv-dump --diff s t)" ]
}

@test "--cache: shared with llm-decode" {
    prompt $(some 127) >in
    llm-prefill m.gguf in >want
    llm-decode -q -n 1 --cache c m.gguf in >none
    run -0 --separate-stderr bash -c 'llm-prefill --cache c m.gguf in | cmp - want'
    [ "$stderr" = "llm-prefill: sequence 0: 64 of 127 tokens reused" ]
    run -0 --separate-stderr bash -c 'llm-prefill -v --no-kv --cache c m.gguf in >none'
    [[ $stderr == *"127 tokens, 64 of them reused"*"threads"* ]]
}

@test "llm-prefill | llm-decode is llm-decode" {
    { for s in 0 1 2; do S=$s prompt $(some $((60 + 5 * s))); done; } >in
    { echo '{"t":"set","s":1,"seed":7,"id":"mine","stop":["an"]}'; cat in; } >with
    for more in "" "-b 3" "--temp 0"; do
        # shellcheck disable=SC2086 # words
        run_() { llm-decode -s 3 -n 9 --logprobs 1 $more "$@"; }
        run_ m.gguf with >want
        llm-prefill m.gguf with | run_ m.gguf | cmp - want
        llm-prefill --no-logits --zstd m.gguf with | run_ m.gguf | cmp - want
        llm-prefill --no-kv m.gguf with | run_ m.gguf | cmp - want
        llm-prefill -f json m.gguf with | run_ m.gguf | cmp - want
    done
    run -0 --separate-stderr bash -c 'llm-prefill m.gguf in | llm-decode -v --temp 0 -n 1 m.gguf >none'
    [[ $stderr == *"60 + 1 tokens, 59 reused"* ]]
}

@test "--follow: in a circle with llm-sample, what llm-decode makes" {
    { S=0 prompt $(some 9); S=1 prompt $(some 70); S=2 prompt 7; } >in
    mkfifo loop
    what() { jq -c 'select(.s == '"$1"') | select(.t == "tokens" or .t == "end") | [.ids, .why, .usage.tokens]' "$2"; }
    for o in "--temp 0" "-s 5" "-s 6 --temp 3" "-s 9 --temp 2 --ignore-eos --repeat-penalty 1.2"; do
        for f in json cbor; do
            # shellcheck disable=SC2086 # words
            llm-decode -n 20 $o -f json m.gguf in >want
            timeout 30 bash -o pipefail -c "llm-prefill -f $f --follow loop m.gguf in 3>&- |
                llm-sample -n 20 $o -f json | tee loop >got"
            for s in 0 1 2; do
                cmp <(what $s want) <(what $s got)
            done
        done
    done
    # States are not for who follows.
    llm-prefill -f json --follow /dev/null m.gguf in | jq -se 'all(.t != "kv")'
}

@test "what is wrong with a sequence, and the others go on" {
    { S=0 prompt 25; S=1 prompt; S=2 prompt 99; S=3 prompt $(some 129); S=4 prompt 24; } >in
    run -6 --separate-stderr llm-prefill -f json m.gguf in
    [ "$(jq -c 'select(.t == "end") | [.s, .why]' <<<"$output" | xargs)" = \
        '[0,input] [1,error] [2,error] [3,error] [4,input]' ]
    [[ $stderr == *"sequence 1: there are no tokens"* ]]
    [[ $stderr == *"sequence 2: token 99 is none of the model's 40"* ]]
    [[ $stderr == *"sequence 3: the prompt's 129 tokens are more than the context of 128"* ]]
    fails 6 "more than the context of 3" llm-prefill -c 3 m.gguf <(prompt 1 2 3 4)
    run -0 llm-prefill -c 4 m.gguf <(prompt 1 2 3 4)
}

@test "inputs that are no stream, models that are none, wrong options" {
    : >empty
    echo hello >text
    fails 3 "empty: " llm-prefill m.gguf empty
    fails 3 "text: " llm-prefill m.gguf text
    fails 1 "nowhere: " llm-prefill m.gguf nowhere
    fails 3 "text: " llm-prefill text empty
    fails 1 "nomodel" llm-prefill nomodel empty
    fails 2 usage: llm-prefill
    fails 2 usage: llm-prefill --nonsense m.gguf
    fails 2 usage: llm-prefill -t -1 m.gguf
    fails 2 usage: llm-prefill --threads-batch -1 m.gguf
    fails 2 usage: llm-prefill -c 0 m.gguf
    echo -n the | tok-encode m.gguf >in
    fails 3 "vocabulary" llm-prefill q.gguf in
    head -c $(($(stat -c %s in) - 1)) in >cut
    fails 3 "cut: " llm-prefill m.gguf cut
    prompt 1 >in
    for f in cbor json text; do
        fails 1 "standard output" bash -c "llm-prefill -f $f m.gguf in >/dev/full"
    done
    fails 1 "nowhere" llm-prefill --follow nowhere m.gguf in
}
