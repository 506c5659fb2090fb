#!/usr/bin/env bats
# One arithmetic: the same bytes from any number of threads, any batch and
# chunk, any instruction set, packed or not, restored or never saved, on tiny
# models of every architecture and some of quantised weights.  Prompts go
# beyond windows and pages; answers are drawn, and show log-probabilities;
# llm-prefill shows all logits and its KV states.
bats_require_minimum_version 1.5.0

# mkgguf's words for a llama of rows of 256 with heads of 64, whose tensors
# have the types A B C D.
quantised() {
    local l ones

    ones=$(printf '0000803c%.0s' {1..256}) # 1/64

    echo general.architecture:str:llama llama.block_count:u32:2 \
        llama.context_length:u32:200 llama.embedding_length:u32:256 \
        llama.feed_forward_length:u32:512 llama.attention.head_count:u32:4 \
        llama.attention.head_count_kv:u32:2 llama.rope.freq_base:f32:10000 \
        llama.attention.layer_norm_rms_epsilon:f32:1e-5 \
        tokenizer.ggml.model:str:gpt2 tokenizer.ggml.pre:str:gpt-2 \
        'tokenizer.ggml.tokens:[str]:a,b,c,d,e,f' \
        'tokenizer.ggml.merges:[str]:' | sed 's/\(^\| \)/ k:/g'
    for l in 0 1; do
        echo "attn_norm:F32:256 attn_q:$1:256x256 attn_k:$2:256x128 attn_v:$3:256x128
            attn_output:$4:256x256 ffn_norm:F32:256 ffn_gate:$2:256x512
            ffn_up:$3:256x512 ffn_down:$1:512x256" |
            sed "s/\([a-z_]*\):\([^ ]*\)/t:blk.$l.\1.weight:\2/g"
        echo "set:blk.$l.attn_norm.weight@0=$ones set:blk.$l.ffn_norm.weight@0=$ones"
    done
    echo "t:token_embd.weight:$4:256x6 t:output_norm.weight:F32:256
        set:output_norm.weight@0=$ones t:output.weight:$1:256x6"
}

# Prompts of ids below $1, of so many tokens; some begin as others do.
prompts() {
    jq -nc --argjson n "$1" "[$2]"' | to_entries[] |
        .key as $k | {t: "tokens", s: $k,
            ids: [range(.value) | (. * . * 7 + . * ($k % 4 + 1) + (. / 3 | floor)) % $n]}'
}

setup_file() {
    local m k p ids

    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    cd "$BATS_FILE_TMPDIR" || exit 1
    export XDG_CACHE_HOME=$PWD/cache
    # Sanitizers look at code, not at bits: with them a few kinds are enough.
    # An emulator takes ten times as long.
    grep -q __asan_init "$B/bin/llm-decode" && few='0 1 2 7 9 10 12 15'
    [[ -z ${EMULATOR:-} ]] || few='0 9'
    mkmodel | while read -r k _; do
        [[ -z ${few:-} || " $few " == *" $k "* ]] || continue
        mkmodel "$k" 200 $((k + 7)) >"$k.gguf"
    done
    # shellcheck disable=SC2046 # words
    {
        mkgguf q.gguf seed=3 $(quantised Q8_0 Q4_0 Q4_1 Q5_0)
        mkgguf k.gguf seed=4 $(quantised Q4_K Q6_K Q5_K Q2_K)
        mkgguf f.gguf seed=6 $(quantised F16 BF16 F32 Q8_0)
        if [[ -z ${EMULATOR:-} ]]; then
            mkgguf i.gguf seed=5 $(quantised IQ4_XS IQ4_NL Q3_K Q5_1)
            mkgguf r.gguf seed=7 $(quantised IQ3_S IQ2_XS TQ2_0 MXFP4)
        fi
    }
    # Of a token, of a page, around it, over two.
    prompts 39 1,2,63,64,65,5,7,150,129,30,66,17,3,4,8,3 >prompts.0
    prompts 6 1,66,5,129,3,30 >prompts.a
    for p in 0 a; do
        jq -c 'select(.ids | length == 129) | .s = 0' prompts.$p >long.$p
        for ids in '.[:64]' '.[:99]' . '. + [1, 2, 3]' '.[:20] + .' '. + .[:60]'; do
            jq -c ".ids |= ($ids)" long.$p
        done >other.$p
    done
    for m in *.gguf; do
        m=${m%.gguf}
        p=0
        [[ $m == [0-9]* ]] || p=a
        ln -s prompts.$p "$m.in"
        ln -s long.$p "$m.long"
        ln -s other.$p "$m.other"
        answers "$m" -t 1 >"$m.answers"
        logits "$m" -t 1 >"$m.logits"
    done
}

setup() {
    cd "$BATS_FILE_TMPDIR" || exit 1
    # One that this processor lacks is the next below it.
    case ${CROSS:-$(uname -m)} in
    aarch64) levels=(neon dotprod) ;;
    *) levels=(avx2 avx2vnni avx512 avx512vnni) ;;
    esac
}

# What llm-decode makes of model and inputs, and of model $1's prompts.
decode() {
    llm-decode -n 6 -s 7 --temp 1.1 --logprobs 2 --overflow stop -f cbor "$@"
}

answers() {
    decode "$1.gguf" "${@:2}" "$1.in"
}

logits() {
    llm-prefill --all-logits -f cbor "$1.gguf" "${@:2}" "$1.in"
}

# All logits of a prompt of 129, and an answer.
one() {
    llm-prefill --all-logits -f cbor "$1.gguf" "${@:2}" "$1.long"
    decode "$1.gguf" "${@:2}" "$1.long"
}

# Those of these models that were made.
made() {
    local m

    for m; do
        [[ ! -e $m.gguf ]] || echo "$m"
    done
}

# Do all models give what they gave at first, with these options?
same() {
    local m

    for m in *.gguf; do
        m=${m%.gguf}
        same_answers "$m" "$@" && same_logits "$m" "$@" || return 1
    done
}

same_answers() {
    answers "$@" | cmp - "$1.answers" || { echo "model $1: llm-decode ${*:2}"; return 1; }
}

same_logits() {
    logits "$@" | cmp - "$1.logits" || { echo "model $1: llm-prefill ${*:2}"; return 1; }
}

@test "threads" {
    same -t 2
    for m in *.gguf; do
        same_answers "${m%.gguf}" -t 5
    done
}

@test "sequences together" {
    for m in *.gguf; do
        same_answers "${m%.gguf}" -b 3 -t 2
        same_answers "${m%.gguf}" -b 16 -t 1
    done
}

# Over chunks of 256 positions, which those that begin alike read together.
@test "sequences that begin alike, together" {
    local all='0 4 9 10' how=('-b 7 -t 1' '-b 7 -t 2' '-b 4 -t 3' '-b 6 -t 5 --chunk 50')

    [[ -z ${EMULATOR:-} ]] || all=9 how=('-b 7 -t 2')
    for k in $all; do
        mkmodel $k 900 $k >m
        jq -nc 'range(7) as $k | {t: "tokens", s: $k,
            ids: [range([830, 640, 600, 513, 700, 512, 300][$k])
                | if . < [820, 620, 550, 512, 256, 100, 299][$k] then . * . * 7 else . * ($k + 2) end
                | (. / 3 | floor) % 39]}' >in
        decode -t 1 m in >one
        for o in "${how[@]}"; do
            # shellcheck disable=SC2086 # words
            decode $o m in | cmp - one || { echo "model $k: $o"; return 1; }
        done
    done
}

@test "sequences one by one, among others of their number" {
    for m in $(made 0 10 12 q k); do
        {
            decode -f json $m.gguf $m.in | head -n 1
            while read -r line; do
                decode -f json $m.gguf <<<"$line" | tail -n +2
            done <$m.in
        } >one
        decode -f json -b 5 $m.gguf $m.in | cmp - one
    done
}

@test "prompts in parts" {
    same --chunk 1 -t 1
    same --chunk 7 -t 1
}

@test "prompts in parts, among sequences that decode, with threads" {
    for m in *.gguf; do
        same_answers "${m%.gguf}" --chunk 5 -b 4 -t 3
    done
}

@test "instruction sets" {
    for level in "${levels[@]}"; do
        LLM_CPU=$level same -t 1
    done
    # The reference takes ten times as long.
    for m in *.gguf; do
        m=${m%.gguf}
        one $m -t 1 >want
        LLM_CPU=ref one $m -t 2 | cmp - want
    done
    run -2 env LLM_CPU=sse llm-decode 0.gguf 0.in
    [[ $output == *"LLM_CPU is 'sse', not one of ref, avx2, avx2vnni, avx512, avx512vnni, amx, neon, dotprod, i8mm"* ]]
}

@test "weights as they are in the file" {
    for m in $(made 0 2 12 f r); do
        same_answers $m --no-pack && same_logits $m --no-pack
    done
    for m in $(made q k i); do
        LLM_CPU=${levels[0]} same_answers $m --no-pack
        one $m >want
        LLM_CPU=ref one $m --no-pack | cmp - want
    done
}

@test "packed weights of a file, made and found" {
    same --share -t 2
    [ "$(find cache -type f | wc -l)" = "$(find . -name '*.gguf' | wc -l)" ]
    same --share -t 1
}

@test "a prompt read by another process" {
    for m in *.gguf; do
        m=${m%.gguf}
        llm-prefill --chunk 50 $m.gguf $m.in | decode $m.gguf | cmp - $m.answers
        llm-prefill --zstd -f json $m.gguf $m.in | decode -b 16 $m.gguf | cmp - $m.answers
    done
}

@test "a state of a file: of the beginning, of other text behind it, of all" {
    for m in [0-9]*.gguf q.gguf; do
        m=${m%.gguf}
        decode $m.gguf $m.long >want
        # What a window has let go is read again.
        while read -r other; do
            llm-decode -q -n 3 --temp 0 --kv-out state $m.gguf <<<"$other" >none
            decode -q --kv-in state $m.gguf $m.long | cmp - want
        done <$m.other
    done
}

@test "what is read, kept in a folder" {
    for m in *.gguf; do
        same_answers "${m%.gguf}" -q --cache folder
        same_answers "${m%.gguf}" -q --cache folder -b 3
        same_logits "${m%.gguf}" -q --cache folder
    done
    [ "$(find folder -type f | wc -l)" -gt "$(find . -name '*.gguf' | wc -l)" ]
    llm-prefill -q -f cbor 9.gguf 9.in >want
    llm-prefill -q -f cbor --cache folder 9.gguf 9.in | cmp - want
}

@test "types of K and V" {
    for m in 0 9 q; do
        for t in f32 bf16 f16,f32 q8_0 q4_0 q8_0,f16; do
            case $m.$t in [0-9]*.q*) continue ;; esac
            more=(--kv-type $t --chunk 512 -t 1)
            answers $m "${more[@]}" >want
            run ! cmp -s want $m.answers
            more=(--kv-type $t)
            answers $m "${more[@]}" --chunk 1 | cmp - want
            answers $m "${more[@]}" --chunk 9 -b 4 -t 3 | cmp - want
            LLM_CPU=${levels[0]} answers $m "${more[@]}" -b 2 -t 2 | cmp - want
            llm-prefill -q "${more[@]}" $m.gguf $m.in | decode "${more[@]}" $m.gguf | cmp - want
            one $m "${more[@]}" -t 1 >want
            LLM_CPU=${levels[0]} one $m "${more[@]}" --chunk 11 -t 2 | cmp - want
            [[ $m == [09] ]] || LLM_CPU=ref one $m "${more[@]}" | cmp - want
        done
    done
}

@test "contexts that slide and that shift" {
    for m in $(made 0 1 9 10 15 q); do
        for o in slide shift "shift --keep 3"; do
            # shellcheck disable=SC2086 # words
            many() { llm-decode -q -n 60 -s 3 --temp 1.1 -c 50 --overflow $o -f cbor $m.gguf "$@" $m.in; }
            many -t 1 >want
            many -t 3 -b 16 | cmp - want
            LLM_CPU=${levels[0]} many -b 3 --chunk 7 -t 1 | cmp - want
        done
    done
}
