#!/usr/bin/env bats
# gguf-convert on small folders: what comes out, what is refused, and what is
# left behind when it fails.  What becomes of each tensor: tests/unit/convert.c.
bats_require_minimum_version 1.5.0

setup() {
    set -o pipefail
    shared=$PWD/../shared/oracle/tiny
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    top=$PWD
    PATH=$B/bin:$PATH
    tools=$B/tools
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own
    cd "$BATS_TEST_TMPDIR/here" || return 1
    unset LLM_CACHE XDG_CACHE_HOME
    export HOME=$PWD
}

convert() { gguf-convert -q "$@"; }

# keys FILE: what gguf-inspect says, in the file keys.
keys() { gguf-inspect "$1" >keys; }

# config FILTER [FOLDER]: config.json changed by jq.
config() {
    local d=${2:-hf}

    jq "$1" "$d/config.json" >c.json && mv c.json "$d/config.json"
}

# tensors CODE [FILE]: h[name] is a list of dtype, shape and bytes; CODE, of
# Python, changes that.
tensors() {
    python3 - "$1" "${2:-hf/model.safetensors}" <<'E2'
import json, struct, sys
code, path = sys.argv[1:]
b = open(path, "rb").read()
n = struct.unpack("<Q", b[:8])[0]
h = {k: [v["dtype"], v["shape"], b[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]]
     for k, v in json.loads(b[8:8 + n]).items() if k != "__metadata__"}
exec(code)
out, at = {}, 0
for k, (d, s, p) in h.items():
    out[k] = {"dtype": d, "shape": s, "data_offsets": [at, at + len(p)]}
    at += len(p)
head = json.dumps(out).encode()
open(path, "wb").write(struct.pack("<Q", len(head)) + head + b"".join(p for _, _, p in h.values()))
E2
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

# refused CODE TEXT: the folder hf, which is then as it was made.
refused() {
    fails "$1" "$2" gguf-convert -n hf && rm -rf hf && fresh
}
fresh() { "$tools/mkhf" hf "${model:-llama}"; }

# Under an emulator each model takes seconds; the unit test runs there, too.
slow() {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator takes too long"
}

@test "every tiny model: the logits that transformers give" {
    slow
    [ -d "$shared" ] || skip "no $shared"
    mkdir out
    # The first makes sure that this sees them.
    convert --outtype f32 -o out/llama.gguf "$shared/llama"
    for d in "$shared"/*/; do
        n=$(basename "$d")
        rc=0
        convert --outtype f32 -o "out/$n.gguf" "$d" 2>err || rc=$?
        [ $rc -eq 0 ] || { [ $rc -eq 4 ] && grep -q "'model_type'" err; } ||
            { echo "$n: $rc"; cat err; return 1; }
    done
    [ "$(ls out | wc -l)" -ge 26 ]
    cd "$top"
    "$B/unit/model_oracle" "$BATS_TEST_TMPDIR/here/out" >"$BATS_TEST_TMPDIR/log" ||
        { grep '^not' "$BATS_TEST_TMPDIR/log"; return 1; }
}

@test "a folder: a model that runs, whatever the threads and shards" {
    fresh
    "$tools/mkhf" parts llama 3
    convert -o a.gguf -t 1 hf
    convert -o b.gguf -t 5 --name hf parts
    cmp a.gguf b.gguf
    convert -o c.gguf hf/config.json
    convert -o d.gguf hf/model.safetensors
    cmp a.gguf c.gguf
    cmp a.gguf d.gguf
    run -0 gguf-inspect --check a.gguf
    keys a.gguf
    grep -q 'general.name .*hf' keys
    printf 'abc' | tok-encode a.gguf | llm-decode --temp 0 -n 4 --ignore-eos a.gguf | tok-decode >text
    [ -s text ]
}

@test "types of matrices" {
    slow
    "$tools/mkhf" hf llama bf16
    for t in auto:BF16 f32:F32 f16:F16 bf16:BF16 q8_0:Q8_0; do
        convert --outtype "${t%:*}" -o o.gguf hf
        got=$(gguf-inspect -f json o.gguf | jq -r '.tensors[] | select(.name == "blk.0.attn_q.weight", .name == "blk.0.attn_norm.weight").type' | sort | xargs)
        [ "$got" = "$(printf '%s\nF32\n' "${t#*:}" | sort | xargs)" ] || { echo "$t: $got"; return 1; }
    done
    # Bits that stay are the same bits.
    convert -o a.gguf hf
    convert --outtype f32 -o b.gguf hf
    gguf-quantize -q -o c.gguf b.gguf BF16
    [ "$(gguf-inspect -f json a.gguf | jq '.tensors')" = "$(gguf-inspect -f json c.gguf | jq '.tensors')" ]
    run -0 --separate-stderr gguf-convert --outtype q8_0 -o o.gguf hf
    [ -z "$stderr" ]
    "$tools/mkhf" moe qwen3_moe bf16
    run -0 --separate-stderr gguf-convert --outtype q8_0 -o o.gguf moe
    [[ $stderr == *"become BF16 and not Q8_0"* ]]
}

@test "a dry run" {
    fresh
    run -0 gguf-convert -n hf
    [[ ${lines[0]} =~ ^token_embd.weight\ +32\ x\ 300\ +F32\ +F16\ +model.embed_tokens.weight$ ]]
    [[ ${lines[-1]} =~ ^llama:\ 39\ tensors,\ [0-9]+\ bytes\ of\ [0-9]+$ ]]
    gguf-convert -n -f json hf | jq -e '.architecture == "llama" and (.tensors | length) == 39 and .tensors[0].tensors == ["model.embed_tokens.weight"]'
    size=$(gguf-convert -n -f json hf | jq .bytes)
    [ "$(ls -A)" = hf ]
    convert -o o.gguf hf
    [ "$(stat -c %s o.gguf)" -eq "$size" ]
    "$tools/mkhf" moe mixtral
    gguf-convert -n -f json moe | jq -e '.tensors[] | select(.name == "blk.1.ffn_up_exps.weight") | .shape == [32, 64, 4] and (.tensors | length) == 4'
}

@test "what stands beside the model" {
    printf -- '---\nlicense: apache-2.0\nlicense_link: "https://x.y/z"\n---\nlicense: mit\n' >README.md
    "$tools/mkhf" hf bert
    mv README.md hf
    mkdir hf/1_Pooling
    echo '[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]' >hf/modules.json
    echo '{"word_embedding_dimension":32,"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":false}' >hf/1_Pooling/config.json
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    grep -q 'bert.pooling_type.* 1$' keys
    grep -q 'general.license .*apache-2.0' keys
    grep -q 'general.license.link .*https://x.y/z' keys
    grep -q 'bert.attention.causal.*false' keys
    echo '{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}' >hf/1_Pooling/config.json
    fails 4 "2 ways of pooling" gguf-convert --no-tokenizer -n hf
    echo '{"pooling_mode_max_tokens":true}' >hf/1_Pooling/config.json
    fails 4 "'pooling_mode_max_tokens' is not supported" gguf-convert --no-tokenizer -n hf
    echo '[{"path":"../x","type":"a.Pooling"}]' >hf/modules.json
    fails 3 "modules.json" gguf-convert --no-tokenizer -n hf
    echo '[{"path":"x","type":"a.Asym"}]' >hf/modules.json
    fails 4 "'a.Asym' is not supported" gguf-convert --no-tokenizer -n hf
    rm hf/modules.json
    config '.architectures = ["BertForSequenceClassification"] | .id2label = {"0":"no","1":"yes"}'
    fails 3 "tensor 'pooler.dense.weight' is missing" gguf-convert --no-tokenizer -n hf
    tensors 'z = bytes(4 * 32)
h["pooler.dense.weight"] = ["F32", [32, 32], z * 32]
h["pooler.dense.bias"] = ["F32", [32], z]
h["classifier.weight"] = ["F32", [2, 32], z * 2]
h["classifier.bias"] = ["F32", [2], bytes(8)]'
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    grep -q 'bert.pooling_type.* 4$' keys
    gguf-convert --no-tokenizer -n hf >plan
    grep -q '^cls.output.weight ' plan
}

@test "dense layers of sentence-transformers" {
    "$tools/mkhf" hf gemma-embedding
    echo '[{"path":"2_Dense","type":"sentence_transformers.models.Dense"},{"path":"3_Dense","type":"sentence_transformers.models.Dense"}]' >hf/modules.json
    for i in 2 3; do
        mkdir hf/${i}_Dense
        cp hf/model.safetensors hf/${i}_Dense
    done
    tensors 'h = {"linear.weight": ["F32", [64, 32], bytes(8192)]}' hf/2_Dense/model.safetensors
    tensors 'h = {"linear.weight": ["F32", [32, 64], bytes(8192)]}' hf/3_Dense/model.safetensors
    echo '{"in_features":32,"out_features":64,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}' >hf/2_Dense/config.json
    echo '{"in_features":64,"out_features":32,"bias":false}' >hf/3_Dense/config.json
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    grep -q 'dense_2_feat_out.* 64$' keys
    [ "$(gguf-convert --no-tokenizer -n -f json hf | jq -c '[.tensors[] | select(.name | startswith("dense")).shape]')" = "[[32,64],[64,32]]" ]
    echo '{"in_features":64,"out_features":32,"activation_function":"torch.nn.modules.activation.Tanh"}' >hf/3_Dense/config.json
    fails 4 "Tanh' is not supported" gguf-convert --no-tokenizer -n hf
    echo '{"in_features":64,"out_features":31}' >hf/3_Dense/config.json
    fails 3 "its shape is [32, 64], and [31, 64]" gguf-convert --no-tokenizer -n hf
}

@test "values of config.json: refused by name, never passed over" {
    fresh
    config '.new_trick = 1'
    refused 4 "'new_trick' is not known"
    config '.new_trick = null | .other = [] | .third = {}'
    run -0 gguf-convert -n hf
    config '.hidden_act = "relu"'
    refused 4 "'hidden_act': 'relu' is not supported"
    config '.model_type = "zebra"'
    refused 4 "'model_type': 'zebra' is not supported"
    config '.architectures = ["LlamaForTokenClassification"]'
    refused 4 "LlamaForTokenClassification is not supported"
    config '.quantization_config = {"quant_method":"gptq","bits":4}'
    refused 4 "weights of gptq are not supported"
    config 'del(.model_type)'
    refused 3 "'model_type' is missing"
    config 'del(.hidden_size)'
    refused 3 "'hidden_size' is missing"
    config '.hidden_size = "32"'
    refused 3 "'hidden_size' is no integer"
    config '.hidden_size = -1'
    refused 3 "'hidden_size': -1 is not in"
    config '.num_attention_heads = 0'
    refused 3 "is 0 that must not be"
    config '.max_position_embeddings = 0'
    refused 3 "that of P"
    config '.rms_norm_eps = 1e300'
    refused 3 "llama.attention.layer_norm_rms_epsilon' would be 1e+300"
    config '.num_key_value_heads = 3'
    refused 3 "4 heads cannot share 3"
    config '.num_hidden_layers = 100000'
    refused 4 "100000 layers are too many"
    config '.rms_norm_eps = "x"'
    refused 3 "'rms_norm_eps' is no number"
    config '.tie_word_embeddings = 1'
    refused 3 "'tie_word_embeddings' is neither true nor false"
    echo '{"a":1,"a":2}' >hf/config.json
    refused 3 "config.json: line 1: duplicate"
    echo '[' >hf/config.json
    refused 3 "config.json: line"
    echo '[]' >hf/config.json
    refused 3 "is no JSON object"
    rm hf/config.json
    fails 1 "hf: has no config.json" gguf-convert -n hf
    fails 1 "none: No such file" gguf-convert -n none
}

@test "rope and windows: every form, and what none is" {
    fresh
    config '.rope_scaling = {"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":32}'
    gguf-convert -n hf >plan
    grep -q '^rope_freqs.weight  *4 ' plan
    config '.rope_parameters = (.rope_scaling + {"rope_theta":10000}) | del(.rope_scaling, .rope_theta)'
    gguf-convert -n hf >plan
    grep -q '^rope_freqs.weight  *4 ' plan
    config '.rope_theta = 5000'
    refused 3 "'rope_theta' is 5000 there and 10000 in 'rope_parameters'"
    config '.rope_scaling = {"type":"linear","factor":4} | .rope_parameters = {"rope_type":"default"}'
    refused 3 "'rope_scaling' and 'rope_parameters' differ"
    config '.rope_scaling = {"type":"dynamic","factor":4}'
    refused 4 "'rope_type': 'dynamic' is not supported"
    config '.rope_scaling = {"type":"linear","factor":4,"alpha":2}'
    refused 4 "'alpha' is not supported"
    config '.rope_scaling = {"type":"linear"}'
    refused 3 "has no 'factor'"
    config '.rope_scaling = {"type":"linear","factor":0}'
    refused 3 "'factor': 0 is not above 0"
    config '.rope_scaling = 7'
    refused 3 "'rope_scaling' is no object"
    config '.rope_theta = 0'
    refused 3 "rope is out of range"
    config '.partial_rotary_factor = 0.5'
    refused 4 "'partial_rotary_factor'"
    config '.rope_scaling = {"type":"longrope","long_factor":[1,2,3],"short_factor":[1,1,1,1]} | .original_max_position_embeddings = 32'
    refused 3 "'long_factor' has not 4 numbers"
    config '.rope_scaling = {"type":"longrope","long_factor":[1,2,3,-4],"short_factor":[1,1,1,1]} | .original_max_position_embeddings = 32'
    refused 3 "number 3 is not above 0"
    config '.layer_types = ["full_attention","sliding_attention","full_attention","full_attention"] | .use_sliding_window = true | .sliding_window = 8'
    refused 4 "windows are not supported in llama"
    config '.layer_types = ["full_attention"]'
    refused 3 "'layer_types' is not for 4 layers"
    config '.layer_types = ["chunked_attention","full_attention","full_attention","full_attention"]'
    refused 4 "'chunked_attention' is not supported"

    rm -rf hf
    model=gemma2
    fresh
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    run -1 grep sliding_window_pattern keys
    config '.layer_types = ["full_attention","sliding_attention","full_attention","full_attention"]'
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    grep -q 'sliding_window_pattern.*false, true, false, false' keys
    # A list goes before a number.
    config '.layer_types = ["sliding_attention","full_attention","sliding_attention","full_attention"] | .sliding_window_pattern = 3'
    convert --no-tokenizer -o o.gguf hf
    keys o.gguf
    run -1 grep sliding_window_pattern keys
    rm -rf hf
    model=smollm3
    fresh
    config '.no_rope_layers = [1,1,0,1]'
    refused 4 "'no_rope_layers'"
}

@test "tensors: missing, unknown, of another shape or type" {
    fresh
    tensors 'del h["model.layers.2.mlp.up_proj.weight"]'
    refused 3 "tensor 'model.layers.2.mlp.up_proj.weight' is missing"
    tensors 'del h["model.embed_tokens.weight"]'
    refused 3 "tensor 'model.embed_tokens.weight' is missing"
    tensors 'del h["lm_head.weight"]'
    refused 3 "tensor 'lm_head.weight' is missing"
    # Tied: not there, or there and of no use.
    config '.tie_word_embeddings = true'
    run -0 gguf-convert -n hf
    tensors 'del h["lm_head.weight"]'
    run -0 gguf-convert -n hf
    rm -rf hf && fresh
    tensors 'h["model.layers.0.self_attn.rotary_emb.inv_freq"] = ["F32", [4], bytes(16)]'
    run -0 gguf-convert -n hf
    tensors 'h["model.layers.0.self_attn.q_proj.bias"] = ["F32", [32], bytes(128)]'
    refused 4 "tensor 'model.layers.0.self_attn.q_proj.bias' is not known in llama"
    config '.attention_bias = true'
    refused 3 "q_proj.bias' is missing"
    config '.num_hidden_layers = 3'
    refused 4 "tensor 'model.layers.3."
    config '.num_hidden_layers = 5'
    refused 3 "tensor 'model.layers.4.input_layernorm.weight' is missing"
    config '.intermediate_size = 32'
    refused 3 "its shape is [64, 32], and [32, 32] by config.json"
    tensors 'h["model.norm.weight"][0] = "I32"'
    refused 4 "model.norm.weight': I32 is not supported"
    tensors 'h["model.norm.weight"][1] = [1, 32]'
    refused 3 "its shape is [1, 32], and [32] by config.json"
    tensors 'h["model.layers.1.mlp.up_proj.weight"][0] = "F8_E4M3"; h["model.layers.1.mlp.up_proj.weight"][2] = bytes(2048)'
    refused 4 "F8_E4M3 is not supported"
    rm -rf hf
    model=qwen2_moe
    fresh
    tensors 'del h["model.layers.1.mlp.experts.3.up_proj.weight"]'
    refused 3 "experts.3.up_proj.weight' is missing"
    config '.num_experts = 5'
    refused 3 "by config.json"
    config '.num_experts = 3'
    refused 3 "by config.json"
    config '.num_experts_per_tok = 5'
    refused 3 "5 of 4 experts cannot be used"
    config '.decoder_sparse_step = 2'
    refused 4 "'decoder_sparse_step': '2' is not supported"
}

@test "weights that are none" {
    fresh
    tensors 't = h["model.layers.1.mlp.up_proj.weight"]; t[2] = t[2][:40] + b"\x00\x00\xc0\x7f" + t[2][44:]'
    fails 3 "model.layers.1.mlp.up_proj.weight': element 10 is no finite number" gguf-convert -o o.gguf hf
    rm -rf hf && fresh
    # Rows change place, and what is named is where it stands in the folder.
    tensors 'import struct; t = h["model.layers.1.self_attn.q_proj.weight"]; a = 4 * (13 * 32 + 7); t[2] = t[2][:a] + struct.pack("<f", 1e30) + t[2][a + 4:]'
    fails 3 "q_proj.weight': element 423 is too great for F16" gguf-convert -o o.gguf hf
    convert --outtype bf16 -o o.gguf hf
    rm o.gguf
    tensors 't = h["model.norm.weight"]; t[2] = b"\x00\x00\x80\xff" + t[2][4:]'
    fails 3 "element" gguf-convert -o o.gguf hf
}

@test "F8 in blocks, and with one scale" {
    local code='
import random, struct
random.seed(5)
def f8(b):
    e, m = b >> 3 & 15, b & 7
    v = (8 + m) * 2.0 ** (e - 10) if e else m * 2.0 ** -9
    return -v if b & 128 else v
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
for k in [k for k in h if "_proj.weight" in k]:
    (r, c), (br, bc) = h[k][1], BLOCK or h[k][1]
    b = bytes(random.choice([i for i in range(256) if i & 127 != 127]) for i in range(r * c))
    across = -(-c // bc)
    s = [f32(random.random() + 0.1) for i in range(-(-r // br) * across)]
    if EIGHT:
        h[k] = ["F8_E4M3", [r, c], b]
        h[k + "_scale_inv"] = ["F32", [len(s) // across, across] if BLOCK else [], struct.pack("<%df" % len(s), *s)]
        if not BLOCK:
            h[k.replace(".weight", ".activation_scale")] = ["F32", [], bytes(4)]
    else:
        h[k] = ["F32", [r, c], struct.pack("<%df" % (r * c), *(f32(f8(b[i]) * s[i // c // br * across + i % c // bc]) for i in range(r * c)))]
'
    for block in "(24, 20)" None; do
        for m in llama qwen2_moe; do
            rm -rf hf plain
            "$tools/mkhf" hf $m
            "$tools/mkhf" plain $m
            tensors "BLOCK, EIGHT = $block, True; $code"
            tensors "BLOCK, EIGHT = $block, False; $code" plain/model.safetensors
            if [ "$block" = None ]; then
                config '.quantization_config = {"quant_method":"fp8","activation_scheme":"static","weight_block_size":null,"modules_to_not_convert":["lm_head"]}'
            else
                config '.quantization_config = {"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic","weight_block_size":[24,20]}'
            fi
            convert --outtype f32 -o a.gguf hf
            convert --outtype f32 --name hf -o b.gguf plain
            cmp a.gguf b.gguf
        done
    done
    gguf-convert -n hf >plan
    grep -q '^blk.0.attn_q.weight .* F8_E4M3 BF16 ' plan
    tensors 'del h["model.layers.0.self_attn.q_proj.weight_scale_inv"]'
    fails 3 "q_proj.weight_scale_inv' is missing" gguf-convert -n hf
    tensors 'h["model.layers.0.self_attn.q_proj.weight_scale_inv"] = ["F32", [2], bytes(8)]'
    fails 3 "is not one number for each block" gguf-convert -n hf
    config '.quantization_config.weight_block_size = [0, 5]'
    fails 3 "'weight_block_size'" gguf-convert -n hf
    config '.quantization_config.trick = 1'
    fails 4 "weights of trick are not supported" gguf-convert -n hf
    config 'del(.quantization_config)'
    fails 4 "F8_E4M3 is not supported" gguf-convert -n hf
}

@test "files: cut off, shards missing, malicious headers" {
    fresh
    for n in 0 7 8 100 20000; do
        head -c $n hf/model.safetensors >cut && mv cut hf/model.safetensors
        fails 3 "hf/model.safetensors: " gguf-convert -n hf
        rm -rf hf && fresh
    done
    printf '\377\377\377\377\377\377\377\177{}' >hf/model.safetensors
    refused 3 "would end beyond"
    python3 -c 'import struct,sys; h = b"{\"a\":" + b"[" * 100000; sys.stdout.buffer.write(struct.pack("<Q", len(h)) + h)' >hf/model.safetensors
    refused 3 "hf/model.safetensors: maximum parsing depth"
    rm hf/model.safetensors
    refused 1 "hf: has no model.safetensors.index.json and no model.safetensors"
    rm -rf hf && "$tools/mkhf" hf llama 3
    rm hf/model-00002-of-00003.safetensors
    fails 1 "model-00002-of-00003.safetensors: No such file" gguf-convert -n hf
    rm -rf hf && "$tools/mkhf" hf llama 3
    jq '.weight_map["model.norm.weight"] = "../x"' hf/model.safetensors.index.json >i && mv i hf/model.safetensors.index.json
    fails 3 "no file's name" gguf-convert -n hf
    rm -rf hf && "$tools/mkhf" hf llama 3
    jq 'del(.weight_map["model.norm.weight"])' hf/model.safetensors.index.json >i && mv i hf/model.safetensors.index.json
    fails 3 "not so in the index" gguf-convert -n hf
    rm -rf hf && mkdir real && "$tools/mkhf" real llama 2
    mkdir hf
    for f in real/*; do
        ln -s "../$f" "hf/${f#real/}"
    done
    run -0 gguf-convert -n hf
}

@test "no room, no folder: nothing is left, and what was there stays" {
    "$tools/mkhf" hf qwen3_moe
    echo old >o.gguf
    fails 1 "o.gguf: File too large" bash -c 'ulimit -f 100; gguf-convert -q --no-tokenizer -o o.gguf hf'
    [ "$(cat o.gguf)" = old ]
    fails 1 "none/o.gguf: No such file" gguf-convert -q -o none/o.gguf hf
    fails 1 "not a regular file" gguf-convert -q -o /dev/null hf
    if mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
        fails 1 "small/o.gguf: No space left" gguf-convert -q --no-tokenizer -o small/o.gguf hf
        [ -z "$(ls -A small)" ]
        umount small
    fi
}

@test "interrupted: nothing is left" {
    "$tools/mkhf" hf llama
    # An embedding of 400 MB that takes no room.
    config '.vocab_size = 3200000 | .tie_word_embeddings = true'
    tensors 'h["model.embed_tokens.weight"] = ["F32", [3200000, 32], b""]; del h["lm_head.weight"]; e = h.pop("model.embed_tokens.weight")'
    python3 - <<'E2'
import json, struct
p = "hf/model.safetensors"
b = open(p, "rb").read()
n = struct.unpack("<Q", b[:8])[0]
h = json.loads(b[8:8 + n])
at = len(b) - 8 - n
h["model.embed_tokens.weight"] = {"dtype": "F32", "shape": [3200000, 32], "data_offsets": [at, at + 3200000 * 128]}
head = json.dumps(h).encode()
with open(p, "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head + b[8 + n:])
    f.truncate(8 + len(head) + at + 3200000 * 128)
E2
    for sig in INT TERM HUP; do
        # bash would have a child in the background ignore SIGINT.
        rc=0
        python3 - $sig <<'E2' || rc=$?
import os, signal, subprocess, sys, time
p = subprocess.Popen(["gguf-convert", "-q", "-t", "1", "--no-tokenizer", "--outtype", "q8_0", "-o", "o.gguf", "hf"])
while p.poll() is None and not any(n.startswith("o.gguf.") for n in os.listdir(".")):
    time.sleep(0.001)
p.send_signal(getattr(signal, "SIG" + sys.argv[1]))
sys.exit(p.wait() & 255)
E2
        case $sig in INT) [ $rc -eq 130 ] ;; TERM) [ $rc -eq 143 ] ;; HUP) [ $rc -eq 129 ] ;; esac
        [ "$(ls -A)" = hf ]
    done
}

@test "wrong options" {
    fresh
    fails 2 "no model" gguf-convert -n
    fails 2 "one model" gguf-convert -n hf hf
    fails 2 "--output or --dry-run" gguf-convert hf
    fails 2 "--output or --dry-run" gguf-convert -n -o o.gguf hf
    fails 2 "input file is output file" gguf-convert -o hf/model.safetensors hf
    fails 2 "outtype" gguf-convert --outtype q4_0 -n hf
    fails 2 "format" gguf-convert -n -f xml hf
    fails 2 "--threads: 0" gguf-convert -t 0 -n hf
}

@test "the part for texts of a model that sees, too" {
    "$tools/mkhf" hf gemma3_text
    config '{model_type: "gemma3", architectures: ["Gemma3ForConditionalGeneration"], vision_config: {"a":1}, text_config: (. | del(.architectures, .tie_word_embeddings))}'
    tensors 'h = {"language_model." + k: v for k, v in h.items()}
h["vision_tower.a.weight"] = ["F64", [3], bytes(24)]
h["multi_modal_projector.b"] = ["F32", [2], bytes(8)]'
    run -0 --separate-stderr gguf-convert --no-tokenizer -o a.gguf hf
    [ "$stderr" = "gguf-convert: hf: left out: 2 tensors of parts that are not for texts" ]
    "$tools/mkhf" alone gemma3_text
    convert --no-tokenizer --name hf -o b.gguf alone
    # The same weights but for their seeds, which are their names.
    [ "$(gguf-inspect -f json a.gguf | jq -c '[.tensors[] | {name, shape, type}]')" = "$(gguf-inspect -f json b.gguf | jq -c '[.tensors[] | {name, shape, type}]')" ]
    config '.tie_word_embeddings = false'
    fails 3 "lm_head.weight' is missing" gguf-convert --no-tokenizer -n hf
    tensors 'h["other_tower.x"] = ["F32", [1], bytes(4)]'
    config '.tie_word_embeddings = true'
    fails 4 "tensor 'other_tower.x' is not known" gguf-convert --no-tokenizer -n hf
}
