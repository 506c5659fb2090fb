#!/usr/bin/env bats
# gguf-quantize on small models: recipes, options, what it refuses, and what is
# left behind when it fails.  What blocks hold: tests/unit/quantize.c.
bats_require_minimum_version 1.5.0

setup() {
    set -o pipefail
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    PATH=$B/bin:$PATH
    tools=$B/tools
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own
    cd "$BATS_TEST_TMPDIR/here" || return 1
    unset LLM_CACHE XDG_CACHE_HOME
    export HOME=$PWD
}

# The shape of a llama, in floats: rows of 256 and 512, 8 layers, 2 heads to a
# K and V.
floats() {
    "$tools/mkshape" llama-tiny q8_0 >q8.gguf
    gguf-quantize -q -o f32.gguf q8.gguf F32
}

quantize() { gguf-quantize -q "$@"; }
plan() { gguf-quantize -n -f json "$@"; }

# types MODEL NAME...: the types of these tensors.
types() {
    local m=$1
    shift
    for n in "$@"; do
        gguf-inspect -f json "$m" | jq -r --arg n "$n" '.tensors[] | select(.name == $n).type'
    done | xargs
}

# fails CODE TEXT COMMAND...: one line that has TEXT, and no file but those
# that were there.
fails() {
    local code=$1 text=$2 before
    shift 2
    before=$(ls -A)
    run -"$code" --separate-stderr "$@"
    [ "$code" -eq 2 ] || [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$text"* ]] || { echo "$stderr"; return 1; }
    [ -z "$output" ] || return 1
    [ "$(ls -A)" = "$before" ] || { ls -A; return 1; }
}

# Under an emulator each file takes half a minute; unit tests run there, too.
slow() {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator takes too long"
}

@test "every recipe: whole files, that run" {
    slow
    floats
    for r in $(gguf-quantize --list); do
        quantize -o o.gguf f32.gguf "$r"
        run -0 gguf-inspect --check o.gguf
        [ -z "$output" ] || [[ $output != *problem* ]]
        printf abc | tok-encode o.gguf | llm-decode --temp 0 -n 3 o.gguf >ids
        [ -s ids ]
        plan f32.gguf "$r" >plan
        [ "$(jq .bytes plan)" -eq "$(stat -c %s o.gguf)" ]
        jq -r '.tensors[] | .name + " " + .to' plan >want
        gguf-inspect -f json o.gguf | jq -r '.tensors[] | .name + " " + .type' | cmp - want
    done
    [ "$(ls)" = "$(printf '%s\n' f32.gguf ids o.gguf plan q8.gguf want)" ]
}

@test "recipes give more bits where people expect them" {
    slow
    floats
    # Layers 0, 3 and 6 of 8, and the last: use_more of an eighth, every third.
    want() {
        plan f32.gguf "$1" | jq -r --arg n "$2" '.tensors[] | select(.name | test($n)).to' | uniq -c | xargs
    }
    [ "$(want Q4_K_M attn_v.weight)" = "1 Q6_K 2 Q4_K 1 Q6_K 2 Q4_K 2 Q6_K" ]
    [ "$(want Q4_K_M ffn_down)" = "1 Q6_K 2 Q4_K 1 Q6_K 2 Q4_K 2 Q6_K" ]
    [ "$(want Q5_K_M ffn_down)" = "1 Q6_K 2 Q5_K 1 Q6_K 2 Q5_K 2 Q6_K" ]
    [ "$(want Q4_K_S attn_v.weight)" = "4 Q5_K 4 Q4_K" ]
    [ "$(want Q4_K_S ffn_down)" = "1 Q5_K 7 Q4_K" ]
    [ "$(want Q3_K_M attn_v.weight)" = "2 Q5_K 6 Q4_K" ]
    [ "$(want Q3_K_M ffn_down)" = "8 Q4_K" ]
    [ "$(want Q3_K_M attn_output)" = "8 Q4_K" ]
    [ "$(want Q3_K_L 'attn_v|ffn_down|attn_output')" = "24 Q5_K" ]
    [ "$(want Q2_K 'attn_v|ffn_down|attn_output')" = "24 Q3_K" ]
    [ "$(want Q2_K 'attn_q|attn_k|ffn_up|ffn_gate')" = "32 Q2_K" ]
    [ "$(want IQ4_XS ffn_down)" = "1 Q5_K 7 IQ4_XS" ]
    [ "$(want Q4_0 ffn_down)" = "8 Q4_0" ]
    for r in Q4_K_M Q3_K_S Q4_0 IQ4_NL; do
        [ "$(want $r token_embd)" = "1 Q6_K" ]
        [ "$(want $r norm)" = "17 F32" ]
    done
    [ "$(want Q8_0 token_embd)" = "1 Q8_0" ]
    [ "$(want q4_k_m norm)" = "17 F32" ]
    [ "$(plan --pure f32.gguf Q4_K_M | jq -r '.tensors[].to' | sort -u | xargs)" = "F32 Q4_K" ]
}

@test "metadata: kept, but for what the file has become" {
    "$tools/mkgguf" m.gguf k:general.architecture:str:llama k:general.file_type:u32:1 k:x.y:'[str]':a,b,c \
        k:x.z:f32:0.5 t:a.weight:F16:32x4
    quantize -o o.gguf m.gguf Q8_0
    [ "$(gguf-inspect --key general.file_type o.gguf)" = 7 ]
    [ "$(gguf-inspect --key general.quantization_version o.gguf)" = 2 ]
    run -0 gguf-inspect --key x.y --key x.z o.gguf
    [ "$output" = "$(printf '%s\n' a b c 0.5)" ]
    [ "$(types o.gguf a.weight)" = Q8_0 ]
    # Where nothing changes, nothing does.
    quantize -o same.gguf m.gguf COPY
    gguf-inspect --diff m.gguf same.gguf
    # Another alignment stays.
    "$tools/mkgguf" m.gguf align=64 t:a.weight:F16:32x4 t:b.weight:F16:32x1
    quantize -o o.gguf m.gguf Q8_0
    [ "$(gguf-inspect --key general.alignment o.gguf)" = 64 ]
    gguf-inspect --check o.gguf
}

@test "--tensor, --embedding, --output-type: the first match counts, and before all else" {
    floats
    quantize -o o.gguf --tensor 'blk\.0\.ffn=q5_0' --tensor 'ffn_(up|gate)=iq4_nl' --tensor 'output_norm=f16' \
        --tensor '^nothing$=q2_k' f32.gguf Q8_0
    [ "$(types o.gguf blk.0.ffn_up.weight blk.1.ffn_up.weight blk.1.ffn_gate.weight blk.1.ffn_down.weight output_norm.weight)" = \
        "Q5_0 IQ4_NL IQ4_NL Q8_0 F16" ]
    quantize -o o.gguf --embedding q4_0 f32.gguf Q8_0
    [ "$(types o.gguf token_embd.weight blk.0.attn_q.weight)" = "Q4_0 Q8_0" ]
    quantize -o o.gguf --output-type q5_1 f32.gguf Q8_0
    [ "$(types o.gguf token_embd.weight)" = Q5_1 ]
    for bad in 'x' '=q8_0' 'x=' 'x=q9' '(=q8_0' 'x=iq2_s'; do
        fails 2 --tensor gguf-quantize --tensor "$bad" -o n.gguf f32.gguf Q8_0
    done
    fails 2 --embedding gguf-quantize --embedding q9 -o n.gguf f32.gguf Q8_0
}

@test "rows that are no whole blocks: refused by name, or another type" {
    "$tools/mkgguf" m.gguf t:a.weight:F32:64x4 t:b.weight:F32:33x2 t:c.weight:F32:256x1
    fails 4 "tensor 'a.weight': its rows of 64 are no whole blocks of Q4_K" gguf-quantize -o n.gguf m.gguf Q4_K_S
    fails 4 "tensor 'b.weight'" gguf-quantize -o n.gguf m.gguf Q8_0
    run -0 --separate-stderr gguf-quantize --fallback -o o.gguf m.gguf Q4_K_S
    [ "$(types o.gguf a.weight b.weight c.weight)" = "Q5_0 F16 Q4_K" ]
    [[ $stderr == *"m.gguf: 1 tensor becomes Q5_0 and not Q4_K"* ]]
    [[ $stderr == *"m.gguf: 1 tensor becomes F16 and not Q4_K"* ]]
    plan --fallback m.gguf Q6_K | jq -e '.tensors | map(.to + " " + (.instead_of // "-")) ==
        ["Q8_0 Q6_K", "F16 Q6_K", "Q6_K -"]'
    run -0 gguf-quantize -n --fallback m.gguf Q2_K
    [[ ${lines[0]} == "a.weight "*" F32 "*" Q4_0 "*" not Q2_K" ]]
}

@test "what is quantised already" {
    floats
    quantize -o q4.gguf f32.gguf Q4_K_S
    fails 4 "is Q6_K already" gguf-quantize -o n.gguf q4.gguf Q8_0
    run -0 --separate-stderr gguf-quantize --allow-requantize -o o.gguf q4.gguf Q3_K_S
    [[ $stderr == *"tensors were quantised already"* ]]
    # What stays is copied; floats are what they stand for.
    quantize -o same.gguf q4.gguf Q4_K_S
    cmp q4.gguf same.gguf
    quantize -o f.gguf q4.gguf F32
    quantize -o again.gguf f.gguf COPY
    gguf-inspect --diff f.gguf again.gguf
    printf abc | tok-encode f.gguf | llm-decode --temp 0 -n 8 f.gguf | tok-decode >a
    printf abc | tok-encode q4.gguf | llm-decode --temp 0 -n 8 q4.gguf | tok-decode >b
    [ -s a ]
}

@test "not finite, and too great: the tensor and the element" {
    "$tools/mkgguf" m.gguf t:a.weight:F32:32x4 t:b.weight:F32:32x4 set:b.weight@268=0000c07f
    fails 3 "m.gguf: tensor 'b.weight': element 67 is not a finite number" gguf-quantize -o n.gguf m.gguf Q4_0
    "$tools/mkgguf" m.gguf t:a.weight:F16:32x4 set:a.weight@62=00fc
    fails 3 "tensor 'a.weight': element 31 is not a finite number" gguf-quantize -o n.gguf m.gguf Q8_0
    "$tools/mkgguf" m.gguf t:a.weight:F32:256x4 set:a.weight@2048=9976967e
    for r in Q8_0 Q4_K_S Q2_K IQ4_NL F16; do
        fails 3 "tensor 'a.weight': element 512 is too great for" gguf-quantize --pure -o n.gguf m.gguf "$r"
    done
    quantize -o o.gguf m.gguf BF16
}

@test "odd shapes: one row, three dimensions, no elements of interest" {
    "$tools/mkgguf" m.gguf t:a.weight:F32:256x1 t:b.weight:F16:32x3x5 t:c.weight:F32:32x1x1x7 t:d.bias:F32:3
    quantize --fallback -o o.gguf m.gguf Q4_K_S
    gguf-inspect --check o.gguf
    [ "$(types o.gguf a.weight b.weight c.weight d.bias)" = "Q4_K Q5_0 Q5_0 F32" ]
    gguf-inspect -f json o.gguf | jq -e '.tensors | map(.shape) == [[256,1],[32,3,5],[32,1,1,7],[3]]'
}

@test "any number of threads, and any instruction set: the same bytes" {
    slow
    floats
    for r in Q4_K_M IQ4_XS Q5_1; do
        quantize -t 1 -o a.gguf f32.gguf $r
        quantize -t 5 -o b.gguf f32.gguf $r
        cmp a.gguf b.gguf
    done
}

@test "an importance matrix, in both forms" {
    floats
    python3 - <<'E'
import struct, random
random.seed(3)
names = ["blk.%d.%s.weight" % (l, n) for l in range(8) for n in
         ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")]
def s(x): return struct.pack("<Q", len(x)) + x.encode()
tensors, data, old = b"", b"", struct.pack("<i", len(names))
for n in names:
    cols = 512 if "down" in n else 256
    v = [random.expovariate(1) ** 3 for _ in range(cols)]
    for name, dims, vals in ((n + ".in_sum2", (cols, 1), [x * 4 for x in v]), (n + ".counts", (1, 1), [4.0])):
        data += b"\0" * (-len(data) % 32)
        tensors += s(name) + struct.pack("<I", 2) + struct.pack("<2Q", *dims) + struct.pack("<IQ", 0, len(data))
        data += struct.pack("<%df" % len(vals), *vals)
    old += struct.pack("<i", len(n)) + n.encode() + struct.pack("<ii", 2, cols) + struct.pack("<%df" % cols, *[2 * x for x in v])
keys = s("general.type") + struct.pack("<I", 8) + s("imatrix")
head = b"GGUF" + struct.pack("<IQQ", 3, 2 * len(names), 1) + keys + tensors
head += b"\0" * (-len(head) % 32)
open("im.gguf", "wb").write(head + data)
open("im.dat", "wb").write(old)
E
    quantize -o plain.gguf f32.gguf Q3_K_S
    quantize --imatrix im.gguf -o a.gguf f32.gguf Q3_K_S
    quantize --imatrix im.dat -o b.gguf f32.gguf Q3_K_S
    run ! cmp -s plain.gguf a.gguf
    cmp a.gguf b.gguf
    gguf-quantize -n --measure -f json --imatrix im.gguf f32.gguf Q3_K_S >weighted
    jq -e '[.tensors[] | select(.name | test("blk.*(attn_q|ffn_up)")).weighted] | all' weighted
    jq -e '.tensors[0].weighted | not' weighted
    # The embeddings are not in it, and that is said.
    run -0 --separate-stderr gguf-quantize --imatrix im.gguf -o o.gguf f32.gguf Q3_K_S
    [[ $stderr == *"f32.gguf: not in im.gguf: 1 tensor"* ]]
    # Q4_0 has Q4_1 in the first eighth then.
    [ "$(plan --imatrix im.gguf f32.gguf Q4_0 | jq -r '.tensors[] | select(.name | test("ffn_down")).to' | uniq -c | xargs)" = "1 Q4_1 7 Q4_0" ]
    head -c 1000 im.dat >cut
    fails 3 "cut: entry" gguf-quantize --imatrix cut -o n.gguf f32.gguf Q4_0
    echo hello >text
    fails 3 "text: " gguf-quantize --imatrix text -o n.gguf f32.gguf Q4_0
    fails 1 "none: " gguf-quantize --imatrix none -o n.gguf f32.gguf Q4_0
    "$tools/mkgguf" other.gguf t:blk.0.attn_q.weight.in_sum2:F32:32x1 t:blk.0.attn_q.weight.counts:F32:1x1 \
        set:blk.0.attn_q.weight.counts@0=00000000
    fails 3 "other.gguf: 'blk.0.attn_q.weight' has 32 values" gguf-quantize --imatrix other.gguf -o n.gguf f32.gguf Q4_0
    "$tools/mkgguf" other.gguf t:blk.0.attn_q.weight.in_sum2:F32:256x1
    fails 3 "no counts" gguf-quantize --imatrix other.gguf -o n.gguf f32.gguf Q4_0
}

@test "--target-size: as little loss as fits" {
    slow
    floats
    before=
    for bits in 3 4 5 6.5 8 16; do
        quantize --target-size ${bits}bpw -o o.gguf f32.gguf
        gguf-inspect --check o.gguf
        plan --target-size ${bits}bpw f32.gguf >plan
        jq -e --argjson b $bits '.bits_per_weight <= $b and .bits_per_weight > $b - 0.4' plan
        [ "$(jq .bytes plan)" -eq "$(stat -c %s o.gguf)" ]
        loss=$(jq '[.tensors[].loss // 0] | add' plan)
        [ -z "$before" ] || jq -en "$loss < $before"
        before=$loss
    done
    for size in "2400000 2400000" "3M 3145728" "4.5MiB 4718592" "2500k 2560000"; do
        read -r word bytes <<<"$size"
        quantize --target-size "$word" -o o.gguf f32.gguf
        jq -en "$(stat -c %s o.gguf) | . <= $bytes and . > $bytes * 0.93"
    done
    # No worse than a recipe of the same size, by its own measure.
    bits=$(plan f32.gguf Q4_K_M | jq .bits_per_weight)
    a=$(plan --target-size "${bits}bpw" f32.gguf | jq '[.tensors[].loss // 0] | add')
    b=$(plan --measure f32.gguf Q4_K_M | jq '[.tensors[].loss // 0] | add')
    jq -en "$a <= $b"
    # Types that were asked for stay.
    [ "$(plan --target-size 4bpw --tensor 'attn_q=q8_0' f32.gguf | jq -r '.tensors[] | select(.name | test("attn_q")).to' | sort -u)" = Q8_0 ]
    fails 4 "take at least" gguf-quantize --target-size 1bpw -o n.gguf f32.gguf
    fails 4 "take at least" gguf-quantize --target-size 1K -o n.gguf f32.gguf
    for bad in 0 -1 x 4bits nan 1e99; do
        fails 2 --target-size gguf-quantize --target-size=$bad -o n.gguf f32.gguf
    done
}

# A text for floats(), and what a model loses on it by llm-score.
words() {
    for i in $(seq 60); do echo "abc hello world $i"; done >text
    tok-encode f32.gguf text >tokens
}
apart() { llm-score -c 512 --stride 512 --logprobs -1 --against f32.gguf -f json "$1" tokens | tail -n 1 | jq .kl; }

@test "--max-kl: the smallest file that is near enough" {
    slow
    floats
    words
    gguf-quantize -n -f json --max-kl 0.02 --text text --text-tokens 512 f32.gguf >plan
    jq -e '.divergence | .kl <= 0.02 and .kl > 0.01 and .se > 0 and .tokens == 512 and .mixes >= 1 and .mixes <= 9' plan
    # Prices, and what they are made of.
    jq -e '.divergence.alone | length == 22 and all(.kl > 0 and .loss > 0)' plan
    jq -e '([.tensors[].kl // 0] | add) as $sum | .divergence.predicted | . / $sum > 0.999 and . / $sum < 1.001' plan
    # What is written is what was planned, whatever the threads and the form of
    # the text; and another program measures the same.
    run -0 --separate-stderr gguf-quantize -t 1 --max-kl 0.02 --text text --text-tokens 512 -o a.gguf f32.gguf
    [[ $stderr == *"a.gguf: divergence 0.0"*" over 512 tokens"* ]]
    quantize -t 3 --max-kl 0.02 --text - --text-tokens 512 -o b.gguf f32.gguf <tokens
    cmp a.gguf b.gguf
    [ "$(jq .bytes plan)" -eq "$(stat -c %s a.gguf)" ]
    gguf-inspect -f json a.gguf | jq -r '.tensors[].type' >types
    jq -r '.tensors[].to' plan | cmp - types
    got=$(apart a.gguf)
    jq -en "$got < 0.024 and $got > 0.008"
    # Types that were asked for stay, and count.
    gguf-quantize -n -f json --max-kl 0.02 --tensor 'attn_v=q2_k' --text tokens --text-tokens 512 f32.gguf >asked || true
    [ ! -s asked ] || jq -e '[.tensors[] | select(.name | test("attn_v")).to] | unique == ["Q2_K"]' asked
    fails 4 "no mix of types loses as little" gguf-quantize -q --tensor '.*=q2_k' --max-kl 0.001 --text text \
        --text-tokens 512 -o n.gguf f32.gguf
}

@test "--target-size with --text: what loses least there" {
    slow
    floats
    words
    gguf-quantize -n -f json --target-size 4bpw --text text --text-tokens 512 f32.gguf >plan
    jq -e '.bits_per_weight <= 4 and .divergence.mixes >= 1 and .divergence.mixes <= 2' plan
    quantize --target-size 4bpw -o plain.gguf f32.gguf
    quantize --target-size 4bpw --text text --text-tokens 512 -o o.gguf f32.gguf
    [ "$(jq .bytes plan)" -eq "$(stat -c %s o.gguf)" ]
    a=$(apart o.gguf)
    b=$(apart plain.gguf)
    jq -en "$a < $b"
    fails 4 "in this size the least loss is" gguf-quantize -q --target-size 3bpw --max-kl 0.001 --text text \
        --text-tokens 512 -o n.gguf f32.gguf
    # A recipe, measured.
    gguf-quantize -n -f json --measure --text text --text-tokens 512 f32.gguf Q8_0 | jq -e '.divergence | .kl > 0 and .kl < 0.005'
    gguf-quantize -n -f json --measure --text text --text-tokens 512 f32.gguf F32 | jq -e '.divergence.kl | . < 1e-6 and . > -1e-6'
    run -0 gguf-quantize -n --measure --text text --text-tokens 512 f32.gguf Q8_0
    [[ ${lines[-2]} =~ ^divergence:\ 0\.0.*\ over\ 512\ tokens$ ]]
}

@test "--text: what is none" {
    "$tools/mkgguf" m.gguf llama
    echo abc >text
    fails 3 "text: has 0 tokens that can be scored" gguf-quantize --max-kl 1 --text text -o n.gguf m.gguf
    fails 1 "none: No such file" gguf-quantize --max-kl 1 --text none -o n.gguf m.gguf
    fails 1 ".: Is a directory" gguf-quantize --max-kl 1 --text . -o n.gguf m.gguf
    echo '{"t":"x' >text
    fails 3 "text: " gguf-quantize --max-kl 1 --text text -o n.gguf m.gguf
    printf '{"t":"tokens","s":0,"ids":[%s5]}\n' "$(seq -s, 99000 99600)," >text
    fails 3 "99000" gguf-quantize --max-kl 1 --text text -o n.gguf m.gguf
    "$tools/mkgguf" other.gguf t:a.weight:F32:32x4
    for i in $(seq 600); do echo abc; done >text
    fails 3 "other.gguf" gguf-quantize --max-kl 1 --text text -o n.gguf other.gguf
    fails 2 "--max-kl needs a --text" gguf-quantize --max-kl 1 -o n.gguf m.gguf
    for bad in 0 -1 nan 1e9; do
        fails 2 "--max-kl" gguf-quantize --max-kl=$bad --text text -o n.gguf m.gguf
    done
    fails 2 "--text goes with" gguf-quantize --text text -o n.gguf m.gguf Q8_0
    fails 2 "--text-tokens" gguf-quantize --max-kl 1 --text text --text-tokens 10 -o n.gguf m.gguf
    fails 2 "choose the types" gguf-quantize --max-kl 1 --text text -o n.gguf m.gguf Q8_0
}

@test "split models are read as one" {
    "$tools/mkgguf" m-00001-of-00002.gguf k:general.architecture:str:llama k:split.no:u16:0 k:split.count:u16:2 \
        k:split.tensors.count:i32:2 t:a.weight:F32:256x2
    "$tools/mkgguf" m-00002-of-00002.gguf k:split.no:u16:1 k:split.count:u16:2 k:split.tensors.count:i32:2 \
        seed=9 t:b.weight:F32:256x3
    quantize --pure -o o.gguf m-00002-of-00002.gguf Q6_K
    [ "$(types o.gguf a.weight b.weight)" = "Q6_K Q6_K" ]
    run -1 gguf-inspect --key split.count o.gguf
    quantize -o whole.gguf m-00001-of-00002.gguf COPY
    gguf-inspect --diff m-00001-of-00002.gguf whole.gguf >diff || true
    run ! grep weight diff
}

@test "the model may be its own output" {
    floats
    quantize -o a.gguf f32.gguf Q4_K_S
    cp f32.gguf b.gguf
    quantize -o b.gguf b.gguf Q4_K_S
    cmp a.gguf b.gguf
    # Links are followed, modes kept.
    cp f32.gguf c.gguf
    chmod 640 c.gguf
    ln -s c.gguf link.gguf
    quantize -o link.gguf f32.gguf Q4_K_S
    [ -L link.gguf ] && [ "$(stat -c %a c.gguf)" = 640 ]
    cmp a.gguf c.gguf
}

@test "no room, no folder, no file: nothing is left, and what was there stays" {
    floats
    echo old >o.gguf
    fails 1 "o.gguf: File too large" bash -c 'ulimit -f 1000; gguf-quantize -q -o o.gguf f32.gguf Q8_0'
    [ "$(cat o.gguf)" = old ]
    fails 1 "none/o.gguf: No such file" gguf-quantize -o none/o.gguf f32.gguf Q8_0
    fails 1 "not a regular file" gguf-quantize -o /dev/null f32.gguf Q8_0
    fails 1 "none.gguf" gguf-quantize -o n.gguf none.gguf Q8_0
    if [ "$(id -u)" -ne 0 ]; then
        mkdir locked
        chmod 500 locked
        fails 1 "locked/o.gguf: Permission denied" gguf-quantize -o locked/o.gguf f32.gguf Q8_0
    fi
    if mkdir small && mount -t tmpfs -o size=1m none small 2>/dev/null; then
        fails 1 "small/o.gguf: No space left" gguf-quantize -q -o small/o.gguf f32.gguf Q8_0
        [ -z "$(ls -A small)" ]
        umount small
    fi
}

@test "interrupted: nothing is left" {
    "$tools/mkgguf" m.gguf t:a.weight:F32:16384x256
    for sig in INT TERM HUP QUIT XCPU; do
        # bash would have a child in the background ignore SIGINT.
        rc=0
        python3 - $sig <<'E' || rc=$?
import os, signal, subprocess, sys, time
p = subprocess.Popen(["gguf-quantize", "-q", "-t", "1", "--pure", "-o", "o.gguf", "m.gguf", "IQ4_XS"])
while p.poll() is None and not any(n.startswith("o.gguf.") for n in os.listdir(".")):
    time.sleep(0.001)
p.send_signal(getattr(signal, "SIG" + sys.argv[1]))
sys.exit(p.wait() & 255)
E
        case $sig in INT) [ $rc -eq 130 ] ;; TERM) [ $rc -eq 143 ] ;; HUP) [ $rc -eq 129 ] ;; QUIT) [ $rc -eq 131 ] ;; XCPU) [ $rc -eq 152 ] ;; esac
        [ "$(ls -A)" = m.gguf ]
    done
    # What nohup does: the signal is ignored.
    python3 - <<'E'
import os, signal, subprocess, time
p = subprocess.Popen(["gguf-quantize", "-q", "-t", "1", "--pure", "-o", "o.gguf", "m.gguf", "IQ4_XS"],
                     preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
while p.poll() is None and not any(n.startswith("o.gguf.") for n in os.listdir(".")):
    time.sleep(0.001)
p.send_signal(signal.SIGHUP)
assert p.wait() == 0 and os.path.exists("o.gguf")
E
}

@test "--measure and the table" {
    floats
    plan --measure f32.gguf Q4_K_S | jq -e '[.tensors[] | select(.to == "Q4_K").loss] | min > 0.001 and max < 0.01'
    plan --measure f32.gguf Q8_0 | jq -e '[.tensors[] | select(.to == "Q8_0").loss] | min > 1e-7 and max < 1e-4'
    run -0 gguf-quantize -n --measure f32.gguf Q4_K_S
    [[ ${lines[0]} =~ ^token_embd.weight\ +256\ x\ 512\ +F32\ +Q6_K\ +105.0\ KiB\ +[0-9.e-]+$ ]]
    [[ ${lines[-1]} =~ ^tensors:\ .*bits\ each.*file:\ [0-9]+\ bytes$ ]]
    [ "$(ls | xargs)" = "f32.gguf q8.gguf" ]
}

@test "wrong options" {
    "$tools/mkgguf" m.gguf t:a.weight:F32:32x4
    fails 2 "no model" gguf-quantize -o n.gguf
    fails 2 "no recipe" gguf-quantize -o n.gguf m.gguf
    fails 2 "'Q9' is no recipe" gguf-quantize -o n.gguf m.gguf Q9
    fails 2 "'x'" gguf-quantize -o n.gguf m.gguf Q8_0 x
    fails 2 "--output or --dry-run" gguf-quantize m.gguf Q8_0
    fails 2 "--output or --dry-run" gguf-quantize -n -o n.gguf m.gguf Q8_0
    fails 2 "--target-size" gguf-quantize --target-size 4bpw -o n.gguf m.gguf Q8_0
    fails 2 "--threads" gguf-quantize -t 0 -o n.gguf m.gguf Q8_0
    fails 2 "--measure" gguf-quantize --measure -o n.gguf m.gguf Q8_0
    fails 2 "--format" gguf-quantize -n -f xml m.gguf Q8_0
}
