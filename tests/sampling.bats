#!/usr/bin/env bats
# The samplers of llm-decode and llm-sample: the same draws, what a model's file
# recommends, texts.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

@test "in a circle with llm-sample, what llm-decode draws, by every sampler" {
    { S=0 prompt $(some 9); S=1 prompt $(some 40); S=2 prompt 7; } >in
    mkfifo loop
    what() { jq -c 'select(.s == '"$1"') | select(.t == "tokens" or .t == "end") | [.ids, .lp, .why]' "$2"; }
    for o in "--mirostat 1 --mirostat-ent 3" "--mirostat 2 --mirostat-lr 0.5" "--adaptive-target 0.2" \
        "--typical 0.6 --top-k 0" "--top-n-sigma 1.5" "--dynatemp-range 0.7 --temp 1" \
        "--xtc-probability 0.5 --xtc-threshold 0.02" "--samplers temperature;top_p,min-p --min-keep 3" \
        "--dry-multiplier 3 --dry-allowed-length 1 --dry-sequence-breaker none" "--suppress 3,4,5"; do
        # shellcheck disable=SC2086 # words
        llm-decode -n 20 -s 4 $o --ignore-eos --logprobs 0 --logprobs-of sampled -b 3 -f json m.gguf in >want
        timeout 30 bash -o pipefail -c "llm-prefill --follow loop m.gguf in 3>&- |
            llm-sample -n 20 -s 4 ${o/;/\\;} --ignore-eos --logprobs 0 --logprobs-of sampled -f json |
            tee loop >got"
        for s in 0 1 2; do
            cmp <(what $s want) <(what $s got)
        done
    done
}

@test "what a model's file recommends, all of it" {
    k=k:general.sampling
    mkgguf r.gguf llama $k.sequence:str:'temperature;top-k;typ;xtc' $k.top_k:i32:5 $k.top_p:f32:0.5 \
        $k.min_p:f32:0.25 $k.xtc_probability:f32:1 $k.xtc_threshold:f32:0.125 $k.temp:f32:2 \
        $k.penalty_last_n:i32:7 $k.penalty_repeat:f32:1.5 $k.mirostat:i32:2 $k.mirostat_tau:f32:3 \
        $k.mirostat_eta:f32:0.5
    prompt 3 4 | llm-prefill -f json r.gguf | jq 'select(.sampling).sampling' >got
    jq -e '. == {"temp": 2, "top-k": 5, "top-p": 0.5, "min-p": 0.25, "xtc-probability": 1,
        "xtc-threshold": 0.125, "repeat-penalty": 1.5, "repeat-last-n": 7, "mirostat": 2,
        "mirostat-ent": 3, "mirostat-lr": 0.5, "samplers": "temperature;top_k;typ_p;xtc"}' got
    # The same as if they were said; and what is said goes over them.
    said=(--temp 2 --top-k 5 --mirostat 2 --mirostat-ent 3 --mirostat-lr 0.5 --repeat-penalty 1.5
        --repeat-last-n 7 --samplers 'temperature;top-k;typ;xtc')
    prompt 3 4 >in
    lp=(-s 1 -n 9 --logprobs 3 --logprobs-of sampled --ignore-eos -f json)
    llm-decode "${lp[@]}" r.gguf in >want
    llm-decode "${lp[@]}" "${said[@]}" r.gguf in | cmp - want
    llm-decode "${lp[@]}" --mirostat 0 --samplers top_k --top-k 1 r.gguf in |
        jq -se 'all(.t != "tokens" or .lp == [0])'
    mkgguf b.gguf llama $k.sequence:str:'top_k;infill'
    fails 4 "key 'general.sampling.sequence': option 'samplers': 'infill' is none" llm-decode b.gguf in
    llm-decode --samplers top_k -n 1 b.gguf in >/dev/null
    mkgguf b.gguf llama $k.mirostat:i32:3
    fails 3 "key 'general.sampling.mirostat'" llm-decode b.gguf in
    mkgguf b.gguf llama $k.sequence:i32:3
    fails 3 "general.sampling.sequence" llm-decode b.gguf in
}

@test "DRY: repetitions end at texts" {
    prompt 6 7 8 9 6 7 8 >in
    dry=(--temp 0 -n 1 --ignore-eos --logprobs 1024 --logprobs-of sampled --samplers 'dry;temperature')
    score() { # of token 9, beside token 10
        llm-decode "${dry[@]}" "$@" --temp 1 -s 1 -f json m.gguf in |
            jq -c 'select(.t == "tokens").top[0] | map({key: "\(.[0])", value: .[1]}) | from_entries | .["9"] - .["10"]'
    }
    below() { jq -ne "($1) - ($2) - ($3) | fabs < 1e-4"; }
    plain=$(score)
    without=$(score --dry-multiplier 1 --dry-base 2 --dry-sequence-breaker none)
    below "$plain" "$without" 2
    text=$(prompt 7 | tok-decode -m m.gguf)
    within=$(score --dry-multiplier 1 --dry-base 2 --dry-allowed-length 1 --dry-sequence-breaker "$text")
    below "$plain" "$within" 1
    text=$(prompt 9 | tok-decode -m m.gguf)
    itself=$(score --dry-multiplier 1 --dry-base 2 --dry-sequence-breaker "$text")
    below "$plain" "$itself" 0
}

@test "-v says what the seed is, where there is one" {
    prompt 3 >in
    run -0 --separate-stderr llm-decode -v -n 3 -f json m.gguf in
    seed=$(jq 'select(.seed).seed' <<<"$output")
    [[ $stderr == *"llm-decode: seed $seed"* ]]
    printf '%s\n' "${lines[@]}" | cmp - <(llm-decode -n 3 -s "$seed" -f json m.gguf in)
    run -0 --separate-stderr llm-decode -v --temp 0 -n 3 -f json m.gguf in
    [[ $stderr != *seed* ]]
}
