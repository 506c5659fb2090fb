#!/usr/bin/env bats
# gguf-inspect on small files that mkgguf makes; the numbers were worked out
# with other software or by hand from the format's description.
bats_require_minimum_version 1.5.0

setup() {
    set -o pipefail # jq 1.6 finds nothing wrong with no input
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    oracle=$PWD/../shared/oracle
    cd "$BATS_TEST_TMPDIR" || return 1
    unset LLM_CACHE XDG_CACHE_HOME
    export HOME=$PWD
}

mk() { "$B/tools/mkgguf" "$@"; }
inspect() { "$B/bin/gguf-inspect" "$@"; }
json() { "$B/bin/gguf-inspect" -f json "$@"; }

# refuse CODE TEXT DIRECTIVE...: the file is refused with this status, with
# one line that names the file and has TEXT, and nothing on stdout.
refuse() {
    local code=$1 text=$2
    shift 2
    mk bad.gguf "$@"
    refused "$code" "$text" bad.gguf
}

# Without bats's run, which costs more than both programs.
refused() {
    local rc=0
    inspect "$3" >out 2>err || rc=$?
    stderr=$(<err)
    [ "$rc" -eq "$1" ] && [ ! -s out ] && [[ $stderr != *$'\n'* ]] &&
        [[ $stderr == "gguf-inspect: $3: "*"$2"* ]] && return
    echo "status $rc, not $1, or not '$2': $stderr"
    return 1
}

# --- what is shown ---------------------------------------------------------

@test "text: header, keys, tensors, types, model, memory" {
    mk m.gguf llama
    run -0 inspect m.gguf
    [[ $output == "m.gguf: GGUF version 3, 21.7 KiB, 17 keys, 20 tensors"* ]]
    grep -qx '  llama.block_count  *u32  *2' <<<"$output"
    grep -qx '  tokenizer.ggml.tokens  *str\[6\]  *a, b, c, ab, abc, <s>' <<<"$output"
    grep -qx '  blk.1.attn_k.weight  *Q8_0  *32 x 16  *544 B' <<<"$output"
    grep -qx '  Q4_0  *4  *8.2 k  *4.5 KiB  *22.8%' <<<"$output"
    grep -qx '  parameters  *18.8 k, 8.59 bits each' <<<"$output"
    # 2 layers x 2 heads x 8 x (K + V) x 2 bytes x 128 positions
    grep -qx '  128  *F16,F16  *19.7 KiB  *16.0 KiB  *35.7 KiB' <<<"$output"
}

@test "quiet leaves the tables out" {
    mk m.gguf llama
    run -0 inspect -q m.gguf
    [[ $output != *block_count* ]]
    [[ $output != *attn_k* ]]
    [[ $output == *parameters* ]]
}

@test "json: everything, parsable, one line a file" {
    mk m.gguf llama
    run -0 json m.gguf m.gguf
    [ "${#lines[@]}" -eq 2 ]
    jq -e '.keys["llama.block_count"] == {"type":"u32","value":2} and
           (.keys["tokenizer.ggml.tokens"] | .elem == "str" and .n == 6 and
            .value == ["a","b","c","ab","abc","<s>"]) and
           (.tensors | length == 20) and
           (.tensors[1] | .name == "blk.0.attn_norm.weight" and
            .shape == [32] and .bytes == 128 and .elements == 32) and
           .shards[0].alignment == 32 and .parameters == 18784 and
           (.config.layer[1] | .kv_heads == 2 and .key_length == 8) and
           .memory[0].kv == 16384' <<<"${lines[0]}"
}

@test "json: all value types, exact at their ends" {
    mk m.gguf k:a:u8:255 k:b:i8:-128 k:c:u16:65535 k:d:i16:-32768 \
        k:e:u32:4294967295 k:f:i32:-2147483648 k:g:f32:0.1 k:h:bool:1 \
        k:j:u64:18446744073709551615 k:k:i64:-9223372036854775808 \
        k:l:f64:0.1 k:m:u64:9223372036854775807 k:n:f32:nan k:o:f64:-inf \
        'k:p:[bool]:1,0' 'k:q:[str]:' 'k:r:[f32]:1,1e-5,3.5'
    run -0 json m.gguf
    for v in '"a":{"type":"u8","value":255}' '"b":{"type":"i8","value":-128}' \
        '"c":{"type":"u16","value":65535}' '"d":{"type":"i16","value":-32768}' \
        '"e":{"type":"u32","value":4294967295}' \
        '"f":{"type":"i32","value":-2147483648}' \
        '"g":{"type":"f32","value":0.1}' '"h":{"type":"bool","value":true}' \
        '"j":{"type":"u64","value":"18446744073709551615"}' \
        '"k":{"type":"i64","value":-9223372036854775808}' \
        '"l":{"type":"f64","value":0.1}' \
        '"m":{"type":"u64","value":9223372036854775807}' \
        '"n":{"type":"f32","value":"nan"}' '"o":{"type":"f64","value":"-inf"}' \
        '"p":{"type":"arr","elem":"bool","n":2,"value":[true,false]}' \
        '"q":{"type":"arr","elem":"str","n":0,"value":[]}' \
        '"r":{"type":"arr","elem":"f32","n":3,"value":[1,1e-05,3.5]}'; do
        [[ $output == *"$v"* ]] || { echo "missing $v"; return 1; }
    done
}

@test "json: controls that terminals obey are escaped, C1 too" {
    mk m.gguf rawk:s=k,u32=8,u64=12,x=61c29bc280c29fc2a0c3a97f
    run -0 json m.gguf
    [[ $output == *'"value":"a\u009b\u0080\u009f'$'\u00a0\u00e9''\u007f"'* ]]
    jq -e '.keys.k.value | explode == [97, 155, 128, 159, 160, 233, 127]' <<<"$output"
    mk m.gguf rawk:s=k,u32=8,u64=2,x=c29b
    run -0 json --key k m.gguf
    [ "$output" = '"\u009b"' ]
}

@test "json: nested arrays, and strings that are not UTF-8" {
    mk m.gguf rawk:s=n,u32=9,u32=9,u64=2,u32=8,u64=1,s=q,u32=0,u64=2,x=0102 \
        rawk:s=bad,u32=8,u64=3,x=61ff0a 'rawk:s=esc,u32=8,u64=4,x=22095c7f'
    run -0 json m.gguf
    [[ $output == *'"n":{"type":"arr","elem":"arr","n":2,"value":[["q"],[1,2]]}'* ]]
    [[ $output == *'"bad":{"type":"str","value":{"base64":"Yf8K"}}'* ]]
    jq -e '.keys.esc.value == "\"\t\\\u007f"' <<<"$output"
}

@test "nested arrays, cut at every level" {
    inner=u32=4,u64=300
    for i in {1..300}; do inner+=,u32=$((i % 10)); done
    mk m.gguf "rawk:s=n,u32=9,u32=9,u64=3,$inner,$inner,u32=8,u64=1,s=end"
    run -0 inspect m.gguf
    [[ $output == *" [1, 2, 3, "*", ...], [1, 2, 3, "*", ...], [end]"* ]]
    run -0 inspect --key n m.gguf
    [ "${#lines[@]}" -eq 3 ]
    [ "${lines[2]}" = "[end]" ]
    run -0 json m.gguf
    jq -e '.keys.n.value | .[0] == .[1] and (.[0] | length == 300) and
           .[2] == ["end"]' <<<"$output"
}

@test "text is shown escaped" {
    mk m.gguf rawk:s=k,u32=8,u64=7,x=1b5b306d0aff61
    run -0 inspect m.gguf
    [[ $output == *'\x1b[0m\n\xffa'* ]]
    [[ $output != *$'\x1b'* ]]
}

@test "long arrays and strings are cut, and whole with --all" {
    mk m.gguf "k:n:[u32]:$(seq -s, 257)" "k:few:[u32]:$(seq -s, 88)" \
        'k:s:[str]:a,b,c,d,e,f,g' "k:t:str:$(printf 'x%.0s' {1..200})"
    run -0 inspect m.gguf
    [[ $output == *'1, 2, 3, 4, 5, 6, ...'* ]]
    [[ $output == *' 86, 87, 88'* ]]
    [[ $output == *'a, b, c, d, e, f, ...'* ]]
    [[ $output == *'xxx... (200 bytes)'* ]]
    run -0 inspect --all m.gguf
    [[ $output == *'256, 257'* ]]
    [[ $output == *'f, g'* ]]
    [[ $output != *...* ]]
}

@test "--key: bare values; 1 when absent" {
    mk m.gguf llama k:t:str:$'two\nlines' k:u:f32:0.1
    run -0 inspect --key general.architecture --key llama.block_count m.gguf
    [ "$output" = $'llama\n2' ]
    run -0 inspect --key t m.gguf
    [ "$output" = $'two\nlines' ]
    run -0 inspect --key tokenizer.ggml.merges m.gguf
    [ "$output" = $'a b\nab c' ]
    run -0 json --key t --key u m.gguf
    [ "$output" = $'"two\\nlines"\n0.1' ]
    run -1 --separate-stderr inspect --key u --key none m.gguf
    [ "$output" = 0.1 ]
    [ "$stderr" = "gguf-inspect: m.gguf: no key 'none'" ]
}

@test "--tensors: a glob over names" {
    mk m.gguf llama
    run -0 inspect --tensors 'blk.*.attn_[qk].*' m.gguf
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[0]} == blk.0.attn_q.weight* ]]
    run -0 json --tensors output_norm.weight m.gguf
    jq -e '(.tensors | length == 1) and (has("keys") | not)' <<<"$output"
}

@test "--tensors: none matches; several models" {
    mk m.gguf llama
    mk n.gguf t:a:F32:4 t:output_norm:F32:4
    for o in --all --check --hash; do
        run -1 --separate-stderr inspect $o --tensors 'nope*' m.gguf
        [ -z "$output" ]
        [ "$stderr" = "gguf-inspect: m.gguf: no tensor matches 'nope*'" ]
    done
    run -1 --separate-stderr inspect --diff m.gguf --tensors 'nope*' n.gguf
    [ "$stderr" = "gguf-inspect: n.gguf: no tensor matches 'nope*'" ]
    run -1 --separate-stderr json --tensors 'nope*' m.gguf
    [ "$output" = '{"file":"m.gguf","tensors":[]}' ]
    run -1 --separate-stderr inspect --tensors '[ab]' m.gguf n.gguf n.gguf
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ "$(cut -d' ' -f1 <<<"$output")" = $'n.gguf:\na\n\nn.gguf:\na' ]
    run -0 inspect --hash --tensors 'output*' m.gguf n.gguf
    [ "${lines[0]} ${lines[2]}" = "m.gguf: n.gguf:" ]
    run -0 inspect --tensors a n.gguf
    [ "${#lines[@]}" -eq 1 ]
}

@test "version 2 is read like version 3" {
    mk m.gguf llama
    mk n.gguf version=2 llama
    run -0 inspect n.gguf
    [[ $output == *"GGUF version 2"* ]]
    run -0 inspect --diff m.gguf n.gguf
}

@test "every tensor type has the size that gguf-py gives it" {
    mk m.gguf $(for t in F32 F16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K \
        Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ2_S IQ4_XS \
        I8 I16 I32 I64 F64 IQ1_M BF16 TQ1_0 TQ2_0 MXFP4 NVFP4 Q1_0 Q2_0; do
        echo "t:$t:$t:256x3"
    done)
    run -0 json m.gguf
    run jq -r '[.tensors[].bytes] | join(" ")' <<<"$output"
    [ "$output" = "3072 1536 432 480 528 576 816 864 252 330 432 528 630 876\
 198 222 294 150 432 330 246 408 768 1536 3072 6144 6144 168 1536 162 198 408\
 432 108 216" ]
    run -0 inspect --check m.gguf
}

@test "alignment: another power of two" {
    mk m.gguf align=128 t:a:F32:1 t:b:F32:1
    run -0 json m.gguf
    jq -e '.shards[0].data % 128 == 0 and .tensors[1].offset == 128' <<<"$output"
}

@test "a model without keys, without tensors, without both" {
    mk m.gguf
    run -0 inspect m.gguf
    run -0 json m.gguf
    jq -e '.keys == {} and .tensors == []' <<<"$output"
    mk m.gguf t:a:F32:
    run -0 json m.gguf
    jq -e '.tensors[0].shape == [] and .tensors[0].bytes == 4' <<<"$output"
}

# --- memory ----------------------------------------------------------------

# arch KEYS...: a vocabulary-only file of gemma3's kind with four layers.
four() {
    mk m.gguf k:general.architecture:str:x k:x.block_count:u32:4 \
        k:x.context_length:u32:1000 k:x.embedding_length:u32:64 \
        k:x.attention.head_count:u32:4 "$@"
}
kv() { json "${@:2}" m.gguf | jq -e ".memory[0].kv == $1"; }

@test "memory: KV heads as a scalar, per layer, and absent" {
    four k:x.attention.head_count_kv:u32:2
    kv $((4 * 2 * 16 * 2 * 2 * 1000))
    four 'k:x.attention.head_count_kv:[i32]:1,0,3,4'
    kv $(((1 + 0 + 3 + 4) * 16 * 2 * 2 * 1000))
    four
    kv $((4 * 4 * 16 * 2 * 2 * 1000))
    run -0 inspect -q m.gguf
    four 'k:x.attention.head_count_kv:[i32]:1,0,3,3'
    run -0 inspect -q m.gguf
    grep -qx '  KV heads  *1 (layer 0), 0 (1), 3 (2-3)' <<<"$output"
}

@test "memory: context and types of K and V" {
    four
    kv $((4 * 4 * 16 * 2 * 2 * 77)) -c 77
    kv $((4 * (64 / 32 * 34 + 64 / 32 * 18) * 1000)) --kv-type q8_0,Q4_0
    kv $((4 * 64 * 2 * 4 * 1000)) --kv-type f32
    run -2 inspect --kv-type q9 m.gguf
    for n in 0 -1 2147483648 -9223372036854775807; do
        run -2 inspect -c $n m.gguf
        [[ $output == *"--context: $n is not in 1..2147483647"* ]]
        run -2 inspect --context=$n m.gguf
    done
}

@test "memory: more than 64 bits can say" {
    four k:x.attention.key_length:u32:2147483647 \
        k:x.attention.head_count_kv:u32:2147483647
    run -0 inspect -q -c 2147483647 m.gguf
    [[ $output == *"more than 64 bits can say"* ]]
    json -c 2147483647 m.gguf | jq -e '.memory[0].total == null'
}

@test "memory: key and value lengths of their own" {
    four k:x.attention.key_length:u32:24 k:x.attention.value_length:u32:8
    kv $((4 * 4 * (24 + 8) * 2 * 1000))
}

@test "memory: sliding windows by array, by period, by architecture" {
    four k:x.attention.sliding_window:u32:100 \
        'k:x.attention.sliding_window_pattern:[bool]:1,0,1,1'
    kv $((4 * 16 * 2 * 2 * (3 * 100 + 1000)))
    four k:x.attention.sliding_window:u32:100 \
        k:x.attention.sliding_window_pattern:u32:2
    kv $((4 * 16 * 2 * 2 * (2 * 100 + 2 * 1000)))
    kv $((4 * 16 * 2 * 2 * 4 * 50)) -c 50
    four k:x.attention.sliding_window:u32:100
    kv $((4 * 16 * 2 * 2 * 4 * 1000))
    mk m.gguf k:general.architecture:str:gemma3 k:gemma3.block_count:u32:7 \
        k:gemma3.context_length:u32:1000 k:gemma3.embedding_length:u32:64 \
        k:gemma3.attention.head_count:u32:4 \
        k:gemma3.attention.sliding_window:u32:100
    kv $((4 * 16 * 2 * 2 * (6 * 100 + 1000)))
    mk m.gguf k:general.architecture:str:gemma3 k:gemma3.block_count:u32:1 \
        k:gemma3.context_length:u32:1000 k:gemma3.embedding_length:u32:64 \
        k:gemma3.attention.head_count:u32:4 \
        k:gemma3.attention.key_length_swa:u32:32 \
        k:gemma3.attention.sliding_window:u32:100
    kv $((4 * (32 + 16) * 2 * 100))
}

@test "memory: latent attention, shared layers, encoders" {
    four k:x.attention.kv_lora_rank:u32:512 k:x.attention.key_length_mla:u32:192 \
        k:x.rope.dimension_count:u32:64
    kv $((4 * (512 + 64) * 2 * 1000))
    four k:x.attention.shared_kv_layers:u32:3
    kv $((1 * 4 * 16 * 2 * 2 * 1000))
    four k:x.attention.causal:bool:0
    kv 0
    for a in modern-bert gemma-embedding; do
        causal=
        [ $a = gemma-embedding ] || causal=k:$a.attention.causal:bool:0
        mk m.gguf k:general.architecture:str:$a k:$a.block_count:u32:7 \
            k:$a.context_length:u32:1000 k:$a.embedding_length:u32:64 \
            k:$a.attention.head_count:u32:4 $causal \
            k:$a.attention.sliding_window:u32:100
        kv 0
        windows=$(json m.gguf | jq -c '[.config.layer[].window]')
        case $a in
        modern-bert) [ "$windows" = '[0,100,100,0,100,100,0]' ] ;;
        *) [ "$windows" = '[100,100,100,100,100,0,100]' ] ;;
        esac
    done
}

@test "memory: recurrent layers keep a state, not K and V" {
    four k:x.ssm.conv_kernel:u32:4 k:x.ssm.inner_size:u32:128 \
        k:x.ssm.state_size:u32:16 k:x.ssm.group_count:u32:1 \
        t:blk.0.ssm_conv1d.weight:F32:4 t:blk.1.attn_k.weight:F32:4
    json m.gguf | jq -e ".memory[0] |
        .state == 4 * (3 * (128 + 2 * 16) + 16 * 128) and
        .kv == 4 * 16 * 2 * 2 * 1000"
}

@test "a key of the wrong type or length is reported, the rest is shown" {
    four k:x.attention.head_count_kv:str:many
    run -3 --separate-stderr inspect m.gguf
    [[ $output == *head_count_kv* ]]
    [[ $stderr == *"m.gguf: key 'x.attention.head_count_kv': is str, must be an integer" ]]
    four 'k:x.attention.head_count_kv:[i32]:1,2,3'
    run -3 --separate-stderr json m.gguf
    jq -e '.keys | length == 6' <<<"$output"
    [[ $stderr == *"has 3 elements for 4 layers" ]]
    mk m.gguf k:general.architecture:str:x k:x.block_count:u32:4000000000
    run -3 --separate-stderr inspect m.gguf
    mk m.gguf k:general.architecture:str:x k:x.block_count:u32:4097
    run -3 --separate-stderr inspect m.gguf
    mk m.gguf k:general.architecture:str:x k:x.block_count:u32:0 \
        k:x.attention.head_count:u32:0
    run -0 inspect m.gguf
}

# --- split models ----------------------------------------------------------

shard() { # FILE NO COUNT DIRECTIVE...
    mk "$1" "${@:4}" "k:split.no:u16:$2" "k:split.count:u16:$3" \
        k:split.tensors.count:i32:3
}
split3() {
    shard m-00001-of-00003.gguf 0 3 k:general.architecture:str:x seed=1 t:a:F32:4
    shard m-00002-of-00003.gguf 1 3 seed=2 t:b:F16:4
    shard m-00003-of-00003.gguf 2 3 seed=3 t:c:F32:8
}

@test "split: opened from any shard" {
    split3
    for i in 1 2 3; do
        json m-0000$i-of-00003.gguf | jq -e '(.shards | length == 3) and
            ([.tensors[] | .name, .shard] == ["a", 0, "b", 1, "c", 2]) and
            .keys["general.architecture"].value == "x"'
    done
    mk whole.gguf k:general.architecture:str:x seed=1 t:a:F32:4 seed=2 \
        t:b:F16:4 seed=3 t:c:F32:8
    run -0 inspect --diff whole.gguf m-00002-of-00003.gguf
    [ "$(json whole.gguf | jq .model_id)" = \
        "$(json m-00003-of-00003.gguf | jq .model_id)" ]
}

@test "split: a missing shard is named" {
    split3
    rm m-00002-of-00003.gguf
    refused 1 "shard 2 of 3: m-00002-of-00003.gguf: No such file" m-00001-of-00003.gguf
    refused 1 "shard 2 of 3: m-00002-of-00003.gguf: No such file" m-00003-of-00003.gguf
}

@test "split: a broken shard is named" {
    split3
    : >m-00003-of-00003.gguf
    refused 3 "shard 3 of 3: m-00003-of-00003.gguf: the file is empty" m-00001-of-00003.gguf
}

@test "split: order and count must agree" {
    split3
    cp m-00003-of-00003.gguf m-00002-of-00003.gguf
    refused 3 "key 'split.no': is 2, must be 1" m-00001-of-00003.gguf
    split3
    shard m-00002-of-00003.gguf 1 4 t:b:F16:4
    refused 3 "key 'split.count': is 4" m-00001-of-00003.gguf
    split3
    mk m-00002-of-00003.gguf t:b:F16:4
    refused 3 "key 'split.no' is missing" m-00001-of-00003.gguf
}

@test "split: the architecture must agree where it stands" {
    split3
    shard m-00002-of-00003.gguf 1 3 k:general.architecture:str:x t:b:F16:4
    run -0 inspect m-00001-of-00003.gguf
    shard m-00002-of-00003.gguf 1 3 k:general.architecture:str:y t:b:F16:4
    refused 3 "key 'general.architecture': differs" m-00001-of-00003.gguf
}

@test "split: the number of tensors, and each of them once" {
    split3
    shard m-00002-of-00003.gguf 1 3
    refused 3 "'split.tensors.count': is 3, but 2 tensors" m-00001-of-00003.gguf
    shard m-00002-of-00003.gguf 1 3 t:a:F32:4
    refused 3 "tensor 'a' stands twice" m-00001-of-00003.gguf
}

@test "split: the name must be the shard's own" {
    split3
    mv m-00001-of-00003.gguf other.gguf
    refused 3 "its name must end in -00001-of-00003.gguf" other.gguf
}

@test "split: keys that are no counts" {
    refuse 3 "key 'split.count': is not a count" k:split.count:str:3
    refuse 3 "key 'split.count': is not a count" k:split.count:i32:-3
    refuse 3 "key 'split.count': is not a count" k:split.count:f32:3
    refuse 3 "key 'split.no' is missing in this shard" k:split.count:u16:3
    refuse 3 "there is no shard 9 of 3" k:split.count:u64:3 k:split.no:u8:9
    refuse 3 "there is no shard 0 of 4294967295" k:split.count:u32:4294967295 k:split.no:u8:0
    refuse 3 "key 'split.tensors.count'" k:split.tensors.count:bool:1
    mk m.gguf k:split.count:u8:1 k:split.no:u8:0 k:split.tensors.count:u64:0
    run -0 inspect m.gguf
}

# --- hostile files: one field wrong each -----------------------------------

@test "hostile: empty, magic only, not a GGUF" {
    : >bad.gguf
    refused 3 "the file is empty" bad.gguf
    printf GGUF >bad.gguf
    refused 3 "header: the file ends here" bad.gguf
    printf 'GGU' >bad.gguf
    refused 3 "not a GGUF file" bad.gguf
    refuse 3 "not a GGUF file" magic=GGUE
    printf 'version https://git-lfs.github.com/spec/v1\n' >bad.gguf
    refused 3 "a Git LFS pointer" bad.gguf
}

@test "hostile: cut after every byte of a small file" {
    mk m.gguf llama
    for n in $(seq 1 97 1199) 1200 5000 22000; do
        head -c "$n" m.gguf >bad.gguf
        refused 3 "" bad.gguf
    done
}

@test "hostile: versions" {
    refuse 3 "version 0" version=0
    refuse 4 "GGUF version 1 (only 2 and 3 are read)" version=1
    refuse 4 "GGUF version 4" version=4
    refuse 4 "big-endian GGUF" version=$((3 << 24))
    refuse 4 "big-endian GGUF" version=$((2 << 24))
}

@test "hostile: counts of keys and tensors (X04, X05)" {
    for n in 18446744073709551615 9223372036854775808 1152921504606846976 65537; do
        refuse 3 "$n keys do not fit" nkey=$n k:a:u8:1
        refuse 3 "$n tensors do not fit" ntensor=$n t:a:F32:1
    done
    refuse 3 "key 2 of 2: its name is empty" nkey=2 k:a:str:123456789
    refuse 3 "tensor 3 of 3" ntensor=3 t:a:F32:1 t:b:F32:1
}

@test "hostile: key names (X16, X19)" {
    refuse 3 "key 1 of 1: its name is empty" rawk:s=,u32=0,x=01,x=00
    refuse 3 "a string of 281474976710656 bytes goes beyond" rawk:u64=281474976710656,x=0000000000000000
    refuse 3 "a string of 18446744073709551615 bytes goes" rawk:u64=-1,x=000000000000
    refuse 3 "a string of 18446744073709551608 bytes goes" rawk:u64=-8,x=000000000000
    refuse 3 "its name is not text" rawk:u64=2,x=61ff,u32=0,x=01
    refuse 3 "its name is not text" rawk:u64=2,x=6100,u32=0,x=01
    refuse 3 "its name is not text" rawk:u64=2,x=611b,u32=0,x=01
    refuse 3 "more than 65535" "rawk:s=$(printf 'k%.0s' {1..65536}),u32=0,x=01"
    refuse 3 "key 'a' stands twice" k:a:u8:1 k:b:u8:1 k:a:str:x
}

@test "hostile: value types and strings (X01, X18)" {
    refuse 3 "key 'a': there is no value type 13" rawk:s=a,u32=13,u64=0
    refuse 3 "key 'a': there is no value type 4294967295" rawk:s=a,u32=4294967295,u64=0
    refuse 3 "key 'a': a string of 18446744073709551615 bytes" rawk:s=a,u32=8,u64=-1
    refuse 3 "key 'a': a string of 65 bytes" rawk:s=a,u32=8,u64=65
    refuse 3 "key 'a': a bool is neither 0 nor 1" rawk:s=a,u32=7,x=02
    refuse 3 "key 'a': 1 elements do not fit" rawk:s=a,u32=10,u32=1 cut=41
}

@test "hostile: arrays (X02, X19)" {
    refuse 3 "key 'a': there is no value type 99" rawk:s=a,u32=9,u32=99,u64=1152921504606846976
    refuse 3 "key 'a': 2305843009213693953 elements do not fit" rawk:s=a,u32=9,u32=10,u64=2305843009213693953
    refuse 3 "key 'a': 1152921504606846976 elements" rawk:s=a,u32=9,u32=8,u64=1152921504606846976
    refuse 3 "key 'a': 18446744073709551615 elements" rawk:s=a,u32=9,u32=0,u64=-1
    refuse 3 "key 'a': 18446744073709551615 elements" rawk:s=a,u32=9,u32=9,u64=-1
    refuse 3 "element 1: a string of 99 bytes" rawk:s=a,u32=9,u32=8,u64=2,s=x,u64=99
    refuse 3 "a bool is neither" rawk:s=a,u32=9,u32=7,u64=3,x=010200
    deep=rawk:s=a,u32=9
    for i in {1..8}; do deep+=,u32=9,u64=1; done
    refuse 4 "key 'a': arrays more than 8 deep" "$deep,u32=0,u64=0"
}

@test "hostile: alignment (X17)" {
    refuse 3 "'general.alignment': 0 is not a power of two" k:general.alignment:u32:0
    refuse 3 "'general.alignment': 33 is not a power of two" k:general.alignment:u32:33
    refuse 3 "'general.alignment': 4 is not a power" k:general.alignment:u32:4
    refuse 3 "'general.alignment': is str, must be u32" k:general.alignment:str:32
    refuse 3 "'general.alignment': is u64, must be u32" k:general.alignment:u64:32
    refuse 3 "tensor 'a': ends at byte" k:general.alignment:u32:2147483648 t:a:F32:1
}

@test "hostile: tensor names (X21)" {
    refuse 3 "tensor 1 of 1: its name is empty" rawt:s=,u32=1,u64=1,u32=0,u64=0
    n64=$(printf 'n%.0s' {1..64})
    refuse 3 "its name has 65 bytes, more than 64" "rawt:s=x$n64,u32=1,u64=1,u32=0,u64=0"
    mk m.gguf "t:$n64:F32:1"
    run -0 inspect m.gguf
    refuse 3 "tensor 'a' stands twice" t:a:F32:1 t:b:F32:1 t:a:F32:1
    refuse 3 "a string of 18446744073709551615 bytes" rawt:u64=-1,u32=1,u64=1,u32=0,u64=0
}

@test "hostile: dimensions (X03, X09, X17)" {
    refuse 3 "tensor 'a': 5 dimensions are more than 4" rawt:s=a,u32=5,u64=1,u64=1,u64=1,u64=1,u64=1,u32=0,u64=0
    refuse 3 "tensor 'a': 4294967295 dimensions" rawt:s=a,u32=4294967295,u64=1,u32=0,u64=0
    refuse 3 "tensor 'a': dimension 1 is 0" rawt:s=a,u32=2,u64=4,u64=0,u32=0,u64=0
    refuse 3 "tensor 'a': its dimensions overflow" rawt:s=a,u32=2,u64=4294967296,u64=4294967296,u32=0,u64=0
    refuse 3 "tensor 'a': its dimensions overflow" rawt:s=a,u32=2,u64=32,u64=576460752303423489,u32=2,u64=0
    refuse 3 "tensor 'a': its dimensions overflow" rawt:s=a,u32=1,u64=-1,u32=0,u64=0
    refuse 3 "tensor 'a': its dimensions overflow" rawt:s=a,u32=1,u64=4611686018427387904,u32=28,u64=0
    refuse 3 "rows of 33 are not a multiple of Q4_0's block of 32" rawt:s=a,u32=1,u64=33,u32=2,u64=0
    refuse 3 "rows of 288 are not a multiple of Q4_K's block of 256" rawt:s=a,u32=2,u64=288,u64=8,u32=12,u64=0
    refuse 3 "rows of 1 are not a multiple of Q8_0's" rawt:s=a,u32=0,u32=8,u64=0
}

@test "hostile: tensor types (X21)" {
    refuse 4 "tensor 'a': type 255 is not known" rawt:s=a,u32=1,u64=1,u32=255,u64=0
    refuse 4 "tensor 'a': type 4294967295 is not known" rawt:s=a,u32=1,u64=1,u32=4294967295,u64=0
    refuse 4 "tensor 'a': type 43 is not known" rawt:s=a,u32=1,u64=1,u32=43,u64=0
    k=0
    for t in Q4_2 Q4_3 Q4_0_4_4 Q4_0_4_8 Q4_0_8_8 IQ4_NL_4_4 IQ4_NL_4_8 IQ4_NL_8_8; do
        set -- 4 5 31 32 33 36 37 38
        shift $k
        refuse 4 "type $t ($1) was removed" rawt:s=a,u32=1,u64=32,u32=$1,u64=0
        k=$((k + 1))
    done
}

@test "hostile: offsets (X08, X10)" {
    refuse 3 "tensor 'a': its offset 8 is not a multiple of 32" t:a:F32:1 offset:a=8
    refuse 3 "tensor 'a': ends at byte 1152921504606847044 of" t:a:F32:1 offset:a=1152921504606846976
    refuse 3 "tensor 'a': its offset 18446744073709551584 overflows" t:a:F32:1 offset:a=18446744073709551584
    refuse 3 "tensor 'b': ends at byte" t:a:F32:1 t:b:F32:8 offset:b=64
    refuse 3 "cut short?" llama cut=22000
}

@test "hostile: overlapping tensors (X21)" {
    refuse 3 "tensor 'b': overlaps 'a'" t:a:F32:16 t:b:F32:8 offset:b=32
    refuse 3 "overlaps" t:a:F32:8 t:b:F32:8 offset:b=0
    refuse 3 "tensor 'a': overlaps 'c'" t:a:F32:8 t:b:F32:8 t:c:F32:16 offset:a=96 offset:c=64
    # In any order, as long as they are apart.
    mk m.gguf t:a:F32:8 t:b:F32:8 t:c:F32:8 offset:a=64 offset:c=0
    run -0 inspect --check m.gguf
}

@test "hostile: names that do not end the message, or the terminal" {
    refuse 3 "key 'kkk" "rawk:s=$(printf 'k%.0s' {1..9000}),u32=99"
    [ "${#stderr}" -lt 300 ]
}

@test "hostile: a count far beyond a sparse file's size costs no memory" {
    mk bad.gguf nkey=70000 k:a:u8:1
    truncate -s 4G bad.gguf
    run -4 --separate-stderr inspect bad.gguf
    [[ $stderr == *"70000 keys are more than 65536" ]]
    mk bad.gguf ntensor=2000000 t:a:F32:1
    truncate -s 4G bad.gguf
    run -4 --separate-stderr inspect bad.gguf
    [[ $stderr == *"more than 1048576 tensors" ]]
}

# --- --check, --hash, --diff -----------------------------------------------

@test "--check: a NaN or infinite scale in every type" {
    # type:offset of a scale in its block:bytes of a block:NaN
    for x in Q4_0:0:18 Q4_1:2:20 Q5_0:0:22 Q5_1:2:24 Q8_0:0:34 Q8_1:2:36 \
        Q2_K:80:84 Q2_K:82:84 Q3_K:108:110 Q4_K:0:144 Q4_K:2:144 Q5_K:2:176 \
        Q6_K:208:210 Q8_K:2:292 IQ2_XXS:0:66 IQ2_XS:0:74 IQ3_XXS:0:98 \
        IQ1_S:0:50 IQ4_NL:0:18 IQ3_S:0:110 IQ2_S:0:82 IQ4_XS:0:136 \
        TQ1_0:52:54 TQ2_0:64:66 Q1_0:0:18 Q2_0:0:18 MXFP4:0:17 NVFP4:3:36; do
        IFS=: read -r type at size <<<"$x"
        nan=007e
        case $type in
        Q8_K) nan=807f ;;
        MXFP4) nan=ff ;;
        NVFP4) nan=7f ;;
        esac
        case $type in
        *_K | IQ[123]* | IQ4_XS | TQ*) blocks=2 ;;
        Q1_0) blocks=4 ;;
        Q2_0 | NVFP4) blocks=8 ;;
        *) blocks=16 ;;
        esac
        mk m.gguf "t:a:$type:512" "set:a@$((size + at))=$nan"
        ! output=$(inspect --check m.gguf)
        [[ $output == *"tensor 'a': NaN or infinite scale in 1 of $blocks $type blocks, first in block 1" ]]
    done
}

@test "--check: IQ1_M's scattered scale" {
    mk m.gguf t:a:IQ1_M:512 set:a@105=00 set:a@107=00 set:a@109=c0 set:a@111=70
    run -3 inspect --check m.gguf
    [[ $output == *"1 of 2 IQ1_M blocks, first in block 1" ]]
    mk m.gguf t:a:IQ1_M:512 set:a@105=f0 set:a@107=f0 set:a@109=f0 set:a@111=b0
    run -0 inspect --check m.gguf
}

@test "--check: elements of F32, F16, BF16, F64" {
    for x in F32:0000807f:4 F32:0000c0ff:4 F16:007c:2 F16:01fc:2 BF16:807f:2 \
        BF16:c07f:2 F64:000000000000f07f:8; do
        IFS=: read -r type bits size <<<"$x"
        mk m.gguf "t:a:$type:5000" "set:a@$((4500 * size))=$bits"
        run -3 inspect --check m.gguf
        [[ $output == *"NaN or infinite value in 1 of 5000 elements, first in element 4500" ]]
    done
    mk m.gguf t:a:F32:4 set:a@0=ffff7f7f t:b:I32:4 set:b@0=ffffffff
    run -0 inspect --check m.gguf
    [ "$output" = "m.gguf: ok" ]
}

@test "--check: trailing bytes and gaps; json" {
    mk m.gguf llama tail=100
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: 100 bytes follow the last tensor" ]
    mk m.gguf t:a:F32:8 t:b:F32:8 t:c:F32:8 tail=32 offset:c=96 offset:b=64
    run -3 json --check m.gguf
    [ "$output" = '{"file":"m.gguf","problem":"gaps","bytes":32}' ]
    mk m.gguf t:a:F32:3 set:a@8=0000c07f
    run -3 json --check m.gguf
    jq -e '. == {"file":"m.gguf","problem":"nan","tensor":"a","type":"F32",
        "bad":1,"of":3,"first":2}' <<<"$output"
    run -1 json --check --tensors b m.gguf
}

@test "--check: keys of the wrong type, a line each" {
    for x in general.version:u32:1 general.tags:str:x general.file_type:str:1 \
        general.source.url:u8:1 llama.vocab_size:f32:1 \
        llama.attention.scale:str:1 llama.rope.dimension_sections:[str]:a \
        llama.attention.causal:u8:1 tokenizer.ggml.scores:[i8]:1,2,3,4,5,6 \
        tokenizer.ggml.mask_token_id:str:1 tokenizer.chat_template:u8:1 \
        tokenizer.ggml.add_space_prefix:u8:1 tokenizer.ggml.x_token_id:f32:1 \
        tokenizer.ggml.precompiled_charsmap:[u16]:1 \
        tokenizer.ggml.suppress_tokens:[i64]:1; do
        mk m.gguf llama "k:$x"
        run -3 inspect --check m.gguf
        [ "${#lines[@]}" -eq 1 ]
        [[ $output == "m.gguf: key '${x%%:*}': is "*", must be a"* ]]
    done
    mk m.gguf k:general.architecture:str:x k:x.block_count:str:2 \
        k:general.name:u8:1 'k:x.attention.head_count:[f32]:1,2'
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: key 'x.block_count': is str, must be an integer
m.gguf: key 'general.name': is u8, must be a string
m.gguf: key 'x.attention.head_count': is an array of f32, must be an integer or an array of integers" ]
    run -3 json --check m.gguf
    jq -s -e 'length == 3 and .[0] == {"file":"m.gguf","problem":"key",
        "key":"x.block_count","message":
        "key \u0027x.block_count\u0027: is str, must be an integer"}' <<<"$output"
    # Names that are not known, and other architectures', may be anything.
    mk m.gguf llama k:general.x:f32:1 k:gemma.block_count:str:2 \
        k:tokenizer.x:str:y k:block_count:str:2 'k:general.tags:[u8]:' \
        k:general.:u8:1 k:llama.:u8:1 k:general:u8:1
    run -0 inspect --check m.gguf
}

@test "--check: what keeps the model or its vocabulary from being used" {
    mk m.gguf k:general.architecture:str:x k:x.block_count:u32:4097
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: key 'block_count': 4097 is more than 4096" ]
    run -3 json --check m.gguf
    [ "$(jq -r .problem <<<"$output")" = config ]
    v='k:tokenizer.ggml.model:str:llama k:tokenizer.ggml.tokens:[str]:a,b'
    mk m.gguf $v 'k:tokenizer.ggml.scores:[f32]:1'
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: key 'tokenizer.ggml.scores': has 1 elements for 2 tokens" ]
    mk m.gguf $v 'k:tokenizer.ggml.scores:[f32]:1,2' \
        'k:tokenizer.ggml.token_type:[i32]:1,1,1'
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: key 'tokenizer.ggml.token_type': has 3 elements for 2 tokens" ]
    mk m.gguf llama k:tokenizer.ggml.mask_token_id:u32:6
    run -3 inspect --check m.gguf
    [ "$output" = "m.gguf: tokenizer.ggml.mask_token_id: 6 is not one of 6 tokens" ]
    run -3 json --check m.gguf
    [ "$(jq -r .problem <<<"$output")" = vocabulary ]
    # Another kind of vocabulary is not a fault of the file.
    mk m.gguf k:tokenizer.ggml.model:str:new 'k:tokenizer.ggml.tokens:[str]:a'
    run -0 inspect --check m.gguf
    run -4 "$B/bin/tok-encode" m.gguf </dev/null
}

@test "--hash -q: the whole's alone" {
    mk m.gguf llama
    whole=$(inspect --hash m.gguf | tail -n 1)
    run -0 inspect --hash -q m.gguf
    [ "$output" = "$whole" ]
    run -0 inspect --hash -q --tensors '*' m.gguf
    [ "$output" = "$whole" ]
    run -0 json --hash -q m.gguf
    [ "$output" = "{\"file\":\"m.gguf\",\"hash\":\"${whole%% *}\"}" ]
}

@test "--hash: XXH3-128 of each tensor as xxhsum has it, and of the whole" {
    mk m.gguf seed=3 t:a:F32:4 t:b:Q8_0:64 k:x:u8:1
    mk n.gguf seed=3 t:a:F32:4 t:b:Q8_0:64 k:x:u8:2
    run -0 inspect --hash m.gguf
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[2]} == *"  m.gguf" ]]
    if command -v xxhsum; then
        at=$(json m.gguf | jq '.tensors[0].at')
        want=$(tail -c +$((at + 1)) m.gguf | head -c 16 | xxhsum -H2 | cut -d' ' -f1)
        [ "${lines[0]}" = "$want  a" ]
    fi
    whole=${lines[2]%% *}
    first=${lines[0]}
    run -0 inspect --hash n.gguf
    [ "${lines[0]}" = "$first" ]
    [ "${lines[2]%% *}" != "$whole" ]
    run -0 json --hash m.gguf
    [ "$(jq -r .hash <<<"$output")" = "$whole" ]
    [ "$(jq -r .tensors.a <<<"$output")  a" = "$first" ]
}

@test "--hash: sixteen zero bytes" {
    # Of the reference implementation, xxHash 0.8.
    mk m.gguf t:a:I32:4 set:a@0=00000000000000000000000000000000
    run -0 inspect --hash --tensors a m.gguf
    [ "$output" = "e5189a9599e3f86205ea23ef06e28b2d  a" ]
}

@test "--diff: 0 when the same, 1 and a line each when not" {
    mk a.gguf llama
    cp a.gguf b.gguf
    run -0 inspect --diff a.gguf b.gguf
    [ -z "$output" ]
    mk b.gguf llama k:new:u8:1 set:blk.0.ffn_up.weight@18=0102
    run -1 inspect --diff a.gguf b.gguf
    [ "$output" = "key new: only in b.gguf
tensor blk.0.ffn_up.weight: 1 of 64 blocks differ, first 1" ]
    mk a.gguf k:x:u8:1 'k:y:[str]:a,b,c' k:z:u8:1 t:a:F32:4 t:b:F32:4
    mk b.gguf k:x:u16:1 'k:y:[str]:a,B,c' t:a:F16:4 t:c:F32:4
    run -1 inspect --diff b.gguf a.gguf
    [ "$output" = "key x: u8 1 -> u16 1
key y: 1 of 3 elements differ, first 1: str b -> str B
key z: only in a.gguf
tensor a: F32 4 -> F16 4
tensor b: only in a.gguf
tensor c: only in b.gguf" ]
    run -1 json --diff b.gguf a.gguf
    jq -s -e '.[0] == {"key":"x","change":"changed","a":1,"b":1} and
        .[1].differ == 1 and .[2].change == "removed" and
        .[3].b == {"type":"F16","shape":[4]} and .[5].change == "added"' <<<"$output"
    mk a.gguf t:d:F32:4 t:b:F32:4
    mk b.gguf k:x:u8:1 t:d:F32:4
    run -0 inspect --diff b.gguf --tensors d a.gguf
}

@test "identities: what they cover" {
    mk a.gguf llama
    id() { json "$1" | jq -r ".$2"; }
    model=$(id a.gguf model_id) vocab=$(id a.gguf vocab_id)
    [ "${#model}" -eq 32 ]
    mk b.gguf align=64 llama
    [ "$(id b.gguf model_id)" = "$model" ]
    mk b.gguf llama k:tokenizer.chat_template:str:x k:tokenizer.ggml.add_bos_token:bool:1
    [ "$(id b.gguf model_id)" != "$model" ]
    [ "$(id b.gguf vocab_id)" = "$vocab" ]
    mk b.gguf llama set:output_norm.weight@0=0000803f
    [ "$(id b.gguf model_id)" != "$model" ]
    [ "$(id b.gguf vocab_id)" = "$vocab" ]
    mk b.gguf llama 'k:tokenizer.ggml.scores:[f32]:1,2,3,4,5,6'
    [ "$(id b.gguf vocab_id)" != "$vocab" ]
    # What decides ids is in, what stands around them is not.
    for k in unknown_token_id:u32:1 add_space_prefix:bool:1 \
        remove_extra_whitespaces:bool:1 'precompiled_charsmap:[u8]:1,2' \
        normalizer.lowercase:bool:1 normalizer.strip_accents:bool:1; do
        mk b.gguf llama "k:tokenizer.ggml.$k"
        [ "$(id b.gguf vocab_id)" != "$vocab" ]
    done
    for k in eot pad mask seperator; do
        mk b.gguf llama "k:tokenizer.ggml.${k}_token_id:u32:1" \
            k:tokenizer.ggml.add_eos_token:bool:1 'k:tokenizer.ggml.eos_token_ids:[u32]:1'
        [ "$(id b.gguf vocab_id)" = "$vocab" ]
    done
    mk b.gguf llama k:tokenizer.ggml.unknown_token_id:u32:1
    mk c.gguf llama k:tokenizer.ggml.unknown_token_id:u32:2
    [ "$(id b.gguf vocab_id)" != "$(id c.gguf vocab_id)" ]
    mk b.gguf k:tokenizer.ggml.model:str:none
    json b.gguf | jq -e '.vocab_id == null and (.model_id | length == 32)'
    # The order of keys is no part of it.
    mk b.gguf 'k:tokenizer.ggml.merges:[str]:a b,ab c' \
        'k:tokenizer.ggml.token_type:[i32]:1,1,1,1,1,3' \
        'k:tokenizer.ggml.tokens:[str]:a,b,c,ab,abc,<s>' \
        k:tokenizer.ggml.pre:str:gpt-2 k:tokenizer.ggml.model:str:gpt2
    [ "$(id b.gguf vocab_id)" = "$vocab" ]
}

# --- the shell -------------------------------------------------------------

@test "missing, a directory, no permission" {
    run -1 --separate-stderr inspect none.gguf
    [ "$stderr" = "gguf-inspect: none.gguf: No such file or directory" ]
    run -1 --separate-stderr inspect .
    [ "$stderr" = "gguf-inspect: .: Is a directory" ]
    run -1 --separate-stderr inspect smollm2-135m
    [[ $stderr == *"gguf-pull smollm2-135m"* ]]
    mkfifo p
    run -1 --separate-stderr inspect p
    [[ $stderr == *"not a regular file" ]]
    [ "$(id -u)" -ne 0 ] || skip "root may read everything"
    mk m.gguf
    chmod 0 m.gguf
    run -1 --separate-stderr inspect m.gguf
    [ "$stderr" = "gguf-inspect: m.gguf: Permission denied" ]
}

@test "several operands: the rest is shown, the worst status kept" {
    mk m.gguf llama
    : >empty.gguf
    run -3 --separate-stderr inspect -q none.gguf m.gguf empty.gguf m.gguf
    [ "${#stderr_lines[@]}" -eq 2 ]
    [ "$(grep -c '^m.gguf: GGUF' <<<"$output")" -eq 2 ]
}

@test "usage errors are 2" {
    mk m.gguf
    run -2 inspect
    run -2 inspect -f xml m.gguf
    run -2 inspect --hash --check m.gguf
    run -2 inspect --diff m.gguf
    [[ ${lines[0]} == *": --diff takes two models: its argument and an operand" ]]
    run -2 inspect --diff m.gguf m.gguf m.gguf
    [[ ${lines[0]} == *": --diff takes one operand, not 2" ]]
    for n in 0 -1; do
        run -2 inspect --hash -t $n m.gguf
        [[ ${lines[0]} == *"--threads: $n is not in 1.."* ]]
    done
    run -2 inspect -t 0x m.gguf
    run -2 inspect --no-such m.gguf
}

@test "no address space for the file is out of memory" {
    "$B/bin/gguf-inspect" -V >/dev/null
    (ulimit -v 200000 && "$B/bin/gguf-inspect" -V >/dev/null 2>&1) ||
        skip "this build needs more by itself"
    mk big.gguf llama
    truncate -s 1G big.gguf
    run -5 bash -c 'ulimit -v 200000; exec "$0" -q big.gguf' "$B/bin/gguf-inspect"
    [ "$output" = "gguf-inspect: big.gguf: out of memory" ]
}

@test "make says that a library is missing" {
    printf '%s\n' '#!/bin/sh' 'case " $* " in *" libzstd "*) exit 1 ;; esac' \
        'exec pkg-config "$@"' >pc
    chmod +x pc
    export -n MAKEFLAGS MAKELEVEL MFLAGS
    run -2 make -C "$BATS_TEST_DIRNAME/.." B="$PWD/b" PKGCONF="$PWD/pc" "$PWD/b/flags"
    [[ $output == *"make deps installs them"* ]]
}

@test "a full disk is an error, a closed pipe is not" {
    mk m.gguf llama
    run -1 --separate-stderr bash -c '"$0" m.gguf >/dev/full' "$B/bin/gguf-inspect"
    [[ $stderr == "gguf-inspect: standard output: No space left on device" ]]
    run -1 bash -c '"$0" -f json m.gguf >/dev/full' "$B/bin/gguf-inspect"
    run -0 --separate-stderr bash -c '"$0" --all m.gguf | head -n 1' "$B/bin/gguf-inspect"
    [ -z "$stderr" ]
}

@test "the page's examples run" {
    mk m.gguf llama
    page=$BATS_TEST_DIRNAME/../man/gguf-inspect.1
    sed -n 's/^\.Dl \$ //p' "$page" | sed 's/\\e/\\/g' >examples
    [ "$(wc -l <examples)" -ge 5 ]
    PATH=$B/bin:$PATH run -0 bash -e -o pipefail examples
    [ "${lines[-1]}" = same ]
    [ "$(cat model.txt)" = gpt2 ]
}

# --- the oracle, when it is there ------------------------------------------

@test "oracle: tiny models are sound, and as their config.json says" {
    [ -d "$oracle/tiny" ] || skip "no ../shared"
    run -0 inspect -q --check "$oracle"/tiny/*/model.gguf
    json -c 1024 "$oracle"/tiny/*/model.gguf >all
    jq -s -e 'length > 60 and
        all(.[]; .config.layers > 0 and .parameters > 0)' all
    for m in llama mixtral qwen3 gemma3 gpt_oss phi3 cohere2 bert mamba; do
        jq -c '[.num_hidden_layers, .hidden_size, .vocab_size]' \
            "$oracle/tiny/$m/config.json"
    done >want
    for m in llama mixtral qwen3 gemma3 gpt_oss phi3 cohere2 bert mamba; do
        json "$oracle/tiny/$m/model.gguf" |
            jq -c '[.config | .layers, .embedding, .rows]'
    done >got
    diff want got
}

@test "oracle: vocabularies, against what gguf-py reads" {
    [ -d "$oracle/vocab" ] || skip "no ../shared"
    # name, keys, tokens, merges, the last token, bytes of all tokens
    while read -r name keys tokens merges last bytes; do
        zstd -q -d -f "$oracle/vocab/$name.gguf.zst" -o v.gguf
        json v.gguf | jq -e --arg last "$last" "(.keys | length == $keys) and
            (.keys[\"tokenizer.ggml.tokens\"] | .n == $tokens and
             .value[-1] == \$last and
             ([.value[] | utf8bytelength] | add == $bytes)) and
            ((.keys[\"tokenizer.ggml.merges\"].n // 0) == $merges)"
    done <<'END'
gpt-2 16 50257 50000 <|endoftext|> 356735
llama-spm 22 32000 0 给 210919
bert-bge 20 30522 0 ～ 260415
qwen2 20 151936 151387 [PAD151935] 1372708
END
}
