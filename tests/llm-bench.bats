#!/usr/bin/env bats
# llm-bench on tiny models: what it says, not how fast anything is.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 2048 >m.gguf
    mkmodel 0 2048 2 >n.gguf # other weights
    mkadapter 0 4 >a.gguf
    mkmodel 9 400 >w.gguf    # windows
    mkshape llama-tiny q4_k_m >q.gguf
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
    few=(-q -p 16 -n 4 -r 2 --read-mb 0)
    # Another process of ours is started by its file, which an emulator is not.
    inside=prefill,decode
    [ -n "${EMULATOR:-}" ] || inside=load,first,$inside
}

@test "each test is a line with these keys" {
    llm-bench "${few[@]}" --only $inside -f json m.gguf >out
    jq -r .test out | xargs | tr ' ' , | grep -x "$inside"
    jq -es --argjson n "$(wc -l <out)" 'length == $n and all(
        .model == "m.gguf" and (.model_id | length) == 32 and .threads >= 1 and
        (.runs | length) == 2 and .confidence == 0.5 and
        .low == (.runs | min) and .high == (.runs | max) and
        (.median - (.runs | add / 2) | fabs) < 1e-4 * .median and
        .low > 0 and .mean >= .low and .mean <= .high and .mad >= 0 and
        .p50_ms > 0 and .p95_ms >= .p50_ms and .p99_ms >= .p95_ms and
        .cpu_s_per_token >= 0 and (.rss // 2e6) > 1e6 and
        (.cpu | length) > 0 and (.isa | length) > 0 and (.version | length) > 0 and
        (.date | test("^[0-9-]+T[0-9:]+Z$")) and
        (.unit == if .test == "load" or .test == "first" then "ms" else "tokens/s" end))' out
    jq -es 'map({key: .test, value: .}) | from_entries |
        (.prefill | .prompt == 16 and .n == 0 and .depth == 0 and .batch == 1 and .kv_type == "f16") and
        (.decode | .prompt == 0 and .n == 4 and (.large_pages | type) == "boolean" and
            .bytes_per_token > 1000 and (has("read_pct") | not)) and
        (.load | . == null or (.cache == "warm" and (has("n") | not))) and
        (.first | . == null or (.cache == "warm" and .prompt == 8 and .n == 1))' out
    # The names that scripts rely on.
    llm-bench -q -r 1 -p 512 -n 64 --only $inside -f json m.gguf |
        jq -es 'all(.test and (.median | . > 0) and (.cpu_s_per_token | . >= 0))'
}

@test "what the machine can do" {
    llm-bench -q -p 16 -n 4 -r 1 --read-mb 1 --only prefill,decode -f json q.gguf >out
    jq -es '(.[0] | .read_gb_s > 0 and .int8_gop_s > 0 and .int8_pct > 0 and (.int8 | length) > 2) and
        (.[1] | .read_pct > 0 and (has("int8_pct") | not) and
            (.read_pct - .median * .bytes_per_token / .read_gb_s / 1e7 | fabs) < 1e-3 * .read_pct)' out
    # Weights that are floats are no products of bytes.
    llm-bench -q -p 16 -n 0 -r 1 --read-mb 1 --only prefill -f json m.gguf |
        jq -e '.int8_gop_s > 0 and (has("int8_pct") | not)'
}

@test "bytes of a token: weights, and K and V in the middle" {
    bytes() { llm-bench "${few[@]}" --only decode -f json "$@" | jq -s 'map(.bytes_per_token)' -c; }
    gguf-inspect -f json q.gguf >info # its head is the embedding
    jq -c '([.tensors[] | select(.name | test("^blk|^token_embd")).bytes] | add) as $w |
        (.config.layer | map(select(.kv) | 2 * .kv_heads * (.key_length + .value_length)) | add) as $kv |
        [$w + 2 * $kv, $w + 102 * $kv, $w / 4 + 2 * $kv]' info >want
    { bytes --depth 0,100 q.gguf; bytes -b 4 q.gguf; } | jq -sc add >got
    jq -ne --slurpfile a want --slurpfile b got '
        [range(3) as $i | ($a[0][$i] - $b[0][$i] | fabs) < 1e-5 * $a[0][$i]] | all'
}

@test "lists of prompts, depths, batches and threads" {
    llm-bench "${few[@]}" -p 5,9 --depth 0,70 -b 1,3 -t 1,2 --only prefill,decode -f json m.gguf >out
    jq -c '[.threads, .depth, .test, .prompt, .batch]' out >got
    for t in 1 2; do
        for d in 0 70; do
            for p in 5 9; do echo "[$t,$d,\"prefill\",$p,1]"; done
            for b in 1 3; do echo "[$t,$d,\"decode\",0,$b]"; done
        done
    done | diff got -
    llm-bench "${few[@]}" --depth 70 -b 3 --shared --kv-type q8_0,f32 --only decode -f json m.gguf |
        jq -e '.shared and .kv_type == "q8_0,f32"'
    llm-bench "${few[@]}" --depth 300 -b 2 --no-pack --only prefill,decode -f json w.gguf |
        jq -es 'length == 2'
    # Several models.
    llm-bench "${few[@]}" --only decode -f json m.gguf n.gguf | jq -r .model | xargs |
        grep -x "m.gguf n.gguf"
    # None of a kind.
    [ "$(llm-bench "${few[@]}" -p 0 --only prefill,decode -f json m.gguf | jq -r .test)" = decode ]
    [ "$(llm-bench "${few[@]}" -n 0 --only prefill,decode -f json m.gguf | jq -r .test)" = prefill ]
}

@test "--cold" {
    [ -z "${EMULATOR:-}" ] || skip "starts itself"
    llm-bench "${few[@]}" --cold --only load,first -f json m.gguf >out
    jq -r '[.test, .cache] | @tsv' out | xargs | grep -x "load warm load cold first warm first cold"
    jq -es 'all((.cache == "warm") != has("cached_pct")) and
        all(.cached_pct // 0 | . >= 0 and . <= 100)' out
}

@test "--spec: guesses, and none" {
    llm-bench "${few[@]}" -n 20 --only spec -f json q.gguf >out
    jq -e '.test == "spec" and .drafter == "ngram" and .n == 20 and .prompt > 20 and
        .plain.median > 0 and (.plain.runs | length) == 2 and .plain.ratio > 0 and
        .plain.low <= .plain.ratio and .plain.high >= .plain.ratio and
        .right <= .guessed and (.right_by_place | all(. >= 0 and . <= 1))' out
    llm-bench "${few[@]}" -n 20 --only decode --draft q.gguf -f json q.gguf |
        jq -r '[.test, .drafter // "-"] | @tsv' | xargs | grep -x "decode - spec ngram spec model"
    # A model that is its own drafter guesses right; it is asked where that pays, and at first.
    llm-bench "${few[@]}" -n 60 -r 3 --only spec --draft q.gguf -f json q.gguf |
        jq -es '.[1] | .guessed == .right'
}

@test "text and markdown" {
    llm-bench "${few[@]}" --only prefill,decode m.gguf >text
    [ "$(wc -l <text)" -eq 7 ]
    grep -qE '^weights: [0-9.]+ MB packed(, in 2 MB pages)?, [0-9.]+ MB as in the file$' text
    grep -q '^m.gguf: [0-9.]* MB of tensors; llmutils ' text
    grep -qE '^prefill +16 +0 +1 +[0-9]+ +[0-9.]+ tokens/s +[0-9.]+-[0-9.]+ ' text
    grep -qE '^decode +4 +0 +1 ' text
    ! grep -q ' $' text
    llm-bench "${few[@]}" --only prefill,decode -f markdown -o table m.gguf
    [ "$(grep -c '^|' table)" -eq 4 ]
    [ "$(grep '^|' table | tr -cd '|\n' | sort -u | wc -l)" -eq 1 ]
    grep -qx '### m.gguf' table
}

# The one line of decode with runs that are not as they were, as a baseline.
changed() { jq -c "$1" now >before; }
verdict() {
    llm-bench "${few[@]}" -r 5 --only decode --baseline before -f json "$@" m.gguf |
        jq -r '.baseline | if . then [.verdict, .p < 0.05] | map(tostring) | join(" ") else "none" end'
}

@test "--baseline: what has changed, beyond noise" {
    llm-bench "${few[@]}" -r 5 --only decode -f json m.gguf >now
    changed '.runs |= map(. / 1000) | .median /= 1000'
    [ "$(verdict)" = "faster true" ]
    [ "$(verdict --fail-on-regression)" = "faster true" ]
    changed '.runs |= map(. * 1000) | .median *= 1000'
    [ "$(verdict)" = "slower true" ]
    run -1 --separate-stderr llm-bench "${few[@]}" -r 5 --only decode --baseline before --fail-on-regression m.gguf
    [[ $output == *"% slower"* ]]
    run -0 llm-bench "${few[@]}" -r 5 --only decode --baseline before m.gguf
    # Too few runs to be sure; none at all; no more than noise.
    changed '.runs |= (map(. * 1000) | .[:2]) | .median *= 1000'
    [ "$(verdict)" = "same false" ]
    changed '.runs = [] | .median *= 1000'
    [ "$(verdict | cut -d ' ' -f 1)" = unknown ]
    changed 'del(.runs) | .median *= 1000'
    [ "$(verdict | cut -d ' ' -f 1)" = unknown ]
    changed '.runs |= map(. * 1000) | .median *= 1000'
    [ "$(verdict --noise 100)" = "same true" ]
    # Of several the last; another test, another model; one known by name only.
    { jq -c '.runs |= map(. * 1000) | .median *= 1000' now; jq -c '.runs |= map(. / 1000) | .median /= 1000' now; } >before
    [ "$(verdict)" = "faster true" ]
    for x in '.n = 5' '.threads = 77' '.batch = 2' '.depth = 1' '.kv_type = "f32"' '.test = "prefill"' \
        '.shared = true' '.unit = "ms"' '.model_id = "0"' 'del(.model_id) | .model = "x"' '.median = "x"' '.median = -1'; do
        changed "$x"
        [ "$(verdict)" = none ] || { echo "$x"; return 1; }
    done
    changed '.'
    llm-bench "${few[@]}" --lora a.gguf:0.5 --only decode --baseline before -f json m.gguf |
        jq -e '(.adapters | test("^[0-9a-f]{32}:0.5$")) and (has("baseline") | not)'
    changed 'del(.model_id) | .runs |= map(. * 1000) | .median *= 1000'
    [ "$(verdict)" = "slower true" ]
}

@test "--baseline: numbers, by themselves" {
    llm-bench "${few[@]}" -r 3 --only decode -f json m.gguf >before
    llm-bench "${few[@]}" -r 3 --only decode -f json --baseline before m.gguf >out
    jq -e --slurpfile b before '.baseline.median == $b[0].median and
        (.baseline.change_pct - 100 * (.median / $b[0].median - 1) | fabs) < 0.01 and
        .baseline.p >= 0.0999 and .baseline.p <= 1 and .baseline.verdict == "same"' out
    # Times: more is slower.
    [ -z "${EMULATOR:-}" ] || return 0
    llm-bench "${few[@]}" -r 4 --only load -f json m.gguf | jq -c '.runs |= map(. / 1000) | .median /= 1000' >before
    llm-bench "${few[@]}" -r 4 --only load -f json --baseline before m.gguf | jq -e '.baseline.verdict == "slower"'
}

@test "baselines that are broken" {
    for x in '{' '7' '[]' '{"a":1}' '{"test":7}' '{"test":"load","test":"load"}' $'{"test":"load"}\n{' \
        "$(printf '[%.0s' {1..3000})"; do
        echo "$x" >bad
        fails 3 "bad: line" llm-bench "${few[@]}" --baseline bad m.gguf
    done
    head -c 2000000 /dev/zero | tr '\0' ' ' >bad
    fails 3 "too long" llm-bench "${few[@]}" --baseline bad m.gguf
    fails 1 "nowhere: " llm-bench "${few[@]}" --baseline nowhere m.gguf
    printf '\n  \n{"test":"x","runs":[1e999]}\n' >bad
    fails 3 "bad: line 3" llm-bench "${few[@]}" --baseline bad m.gguf
    echo '{"test":"decode","model":"m.gguf","runs":{"a":1},"median":[]}' >odd
    llm-bench "${few[@]}" --only decode --baseline odd -f json m.gguf | jq -e 'has("baseline") | not'
}

@test "--vs: in turns, by what is printed" {
    mkdir "a b"
    ln -s ../m.gguf "a b/it's.gguf"
    cat >peer <<'END'
#!/bin/sh
echo "$@" >>log
echo "speed: 1" "speed: 0.5 tokens"
END
    chmod +x peer
    llm-bench "${few[@]}" -r 3 --depth 7 -b 2 -t 1 --only $inside -f json \
        --vs './peer {model} {prompt} {n} {threads} {depth} {batch} {other} ${x:-y} {' \
        --vs-regex 'speed: ([0-9.]+)' "a b/it's.gguf" >out
    jq -es 'map(select(.vs)) | map(.test) == ["prefill", "decode"] and all(.vs |
        .by == "regex" and .median == 0.5 and .runs == [0.5, 0.5, 0.5] and .ratio > 1 and
        .low <= .ratio and .high >= .ratio and .confidence == 0.95 and .cpu_s >= 0 and .rss > 0)' out
    jq -es 'map(select(.vs)) | all((.vs.ratio - .median / 0.5 | fabs) < 0.001 * .vs.ratio)' out
    sort log | uniq -c | sed 's/^ *//' >got
    printf '4 a b/it%ss.gguf %s\n' "'" "0 4 1 7 2 {other} y {" "'" "16 0 1 7 1 {other} y {" | diff got -
    # The whole match, if there is no group.
    llm-bench "${few[@]}" --only decode -f json --vs 'echo 3 4' --vs-regex '[0-9]+' m.gguf | jq -e '.vs.median == 4'
    # What is too long for a number is not cut off.
    fails 3 "no number" llm-bench "${few[@]}" --only decode -f json --vs "printf '1%069d' 5" --vs-regex '[0-9]+' m.gguf
    llm-bench "${few[@]}" --only decode --vs 'echo 3' --vs-regex '3' m.gguf | grep -qE 'x[0-9.]+ \([0-9.]+-[0-9.]+\)$'
}

@test "--vs: by its time" {
    llm-bench "${few[@]}" --only $inside -f json --vs 'sleep 0.05' m.gguf >out
    jq -es 'all(.vs == null or .vs.by == "wall") and
        (map(select(.test == "decode"))[0].vs.median | . < 80 and . > 0.1) and
        (map(select(.test == "first"))[0] | . == null or (.vs.median >= 50 and .unit == "ms" and
            (.vs.ratio - .vs.median / .median | fabs) < 0.001 * .vs.ratio)) and
        (map(select(.test == "load"))[0] | . == null or .vs == null)' out
}

@test "--vs that fails" {
    fails 1 "--vs: exit 3: that is why" llm-bench "${few[@]}" --only decode --vs 'echo no; { echo but; echo that is why; } >&2; exit 3' m.gguf
    fails 1 "--vs: signal 9" llm-bench "${few[@]}" --only decode --vs 'kill -9 $$' m.gguf
    for x in 'echo none' 'echo speed: x' 'echo speed: -1' 'echo speed: 0' 'echo speed: inf' ':'; do
        fails 3 "has no number" llm-bench "${few[@]}" --only decode --vs "$x" --vs-regex 'speed: (.*)' m.gguf
    done
    # Nothing that it matches, for ever.
    fails 3 "has no number" llm-bench "${few[@]}" --only decode --vs "echo abc" --vs-regex 'x*' m.gguf
    # More than is kept.
    llm-bench "${few[@]}" --only decode -f json --vs 'head -c 5000000 /dev/zero | tr "\0" a; echo; echo 7' \
        --vs-regex '^[0-9]+$' m.gguf | jq -e '.vs.median == 7'
    run -2 llm-bench --vs : --vs-regex '(' m.gguf
    [[ ${lines[0]} == "llm-bench: --vs-regex: '(': "* ]]
    run -2 llm-bench --vs-regex x m.gguf
}

@test "interrupted: what was measured is there" {
    llm-bench -q -p 0 -n 4 -r 9000 --read-mb 0 --only decode -f json -o none m.gguf &
    wait_for=$!
    # Until its handler is there, which is before the model is opened twice.
    until_true grep -q "m.gguf" "/proc/$wait_for/maps"
    sleep 0.5
    kill -INT $wait_for
    rc=0
    wait $wait_for || rc=$?
    [ "$rc" -eq 130 ] || [ "$rc" -eq 0 ]
    [ "$rc" -eq 0 ] || jq -e '.test == "decode" and (.runs | length) >= 1 and (.runs | length) < 9000' none
    # A program that it waits for ends with it.
    llm-bench "${few[@]}" --only decode --vs 'echo $$ >pid; sleep 100' m.gguf &
    wait_for=$!
    until_true test -s pid
    kill -INT $wait_for
    rc=0
    wait $wait_for || rc=$?
    [ "$rc" -eq 130 ]
    ! kill -0 "$(cat pid)" 2>/dev/null
}

@test "a busy machine is warned of, once" {
    run -0 --separate-stderr llm-bench -p 16 -n 2 -r 1 --read-mb 0 --only prefill,decode -f json m.gguf
    [ "${#stderr_lines[@]}" -le 1 ]
    [ -z "$stderr" ] || [[ $stderr == "llm-bench: the machine is busy: "* ]]
}

@test "a model whose name begins with a dash" {
    [ -z "${EMULATOR:-}" ] || skip "another process is started"
    cp m.gguf ./-m.gguf
    llm-bench -q -r 1 --read-mb 0 --only first -f json -- -m.gguf | jq -e '.model == "-m.gguf" and .median > 0'
}

@test "errors" {
    run -2 llm-bench
    [[ $output == *"a model is missing"* ]]
    for o in "-p x" "-p -1" "-p 1,,2" "-p 1," "-p 0,5" "-p 99999999999" "-n -1" "-n 1" "--depth -1" "-b 0" "-b 257" \
        "-t 0" "-r 0" "--noise -1" "--noise 101" "--read-mb -2" "--only" "--only all" "--only prefill,,decode" \
        "-f cbor" "--fail-on-regression" "--kv-type q9" \
        "-p $(printf '1,%.0s' {1..40})1"; do
        # shellcheck disable=SC2086 # options
        run -2 llm-bench -q --read-mb 0 $o m.gguf
        [ -n "$output" ] || { echo "$o"; return 1; }
    done
    fails 1 "nowhere" llm-bench -q nowhere
    fails 4 "gpu" llm-bench -q --device gpu m.gguf
    head -c 100 m.gguf >cut
    fails 3 "cut" llm-bench -q cut
    fails 1 "nowhere" llm-bench "${few[@]}" --only spec --draft nowhere q.gguf
    [ -z "${EMULATOR:-}" ] || return 0
    fails 1 "standard output" bash -c "llm-bench -q -p 16 -n 2 -r 1 --read-mb 0 --only decode m.gguf >/dev/full"
}
