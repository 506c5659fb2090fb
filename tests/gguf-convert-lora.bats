#!/usr/bin/env bats
# gguf-convert on LoRA adapters of PEFT: beside the base they give what a base
# gives into whose weights they were multiplied.
bats_require_minimum_version 1.5.0

setup() {
    set -o pipefail
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    PATH=$B/bin:$PATH
    tools=$B/tools
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own
    cd "$BATS_TEST_TMPDIR/here" || return 1
    cat >peft.py <<'E'
# peft.py FOLDER CONFIG NAME=OUTxINxRANK...: an adapter's folder, of a seed; and,
# where FOLDER has a base beside it as hf, that base with it multiplied in, as
# FOLDER-merged.
import json, math, os, random, struct, sys
def load(path):
    f = open(path, "rb")
    head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
    head.pop("__metadata__", None)
    return {k: (v["shape"], list(struct.unpack("<%df" % (math.prod(v["shape"])), data[slice(*v["data_offsets"])])))
            for k, v in head.items()}
def save(path, tensors):
    head, data = {"__metadata__": {"format": "pt"}}, b""
    for k, (shape, x) in tensors.items():
        b = struct.pack("<%df" % len(x), *x)
        head[k] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    h = json.dumps(head).encode()
    h += b" " * (-len(h) % 8)
    open(path, "wb").write(struct.pack("<Q", len(h)) + h + data)
folder, config = sys.argv[1], json.loads(sys.argv[2])
config = dict({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "base_model_name_or_path": "nobody/nothing"}, **config)
rnd = random.Random(7)
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
os.mkdir(folder)
json.dump(config, open(folder + "/adapter_config.json", "w"))
out, pairs = {}, []
for arg in sys.argv[3:]:
    name, dims = arg.split("=")
    n, k, r = map(int, dims.split("x"))
    a = [f32(rnd.gauss(0, 0.5)) for _ in range(r * k)]
    b = [f32(rnd.gauss(0, 0.5)) for _ in range(n * r)]
    out["base_model.model.%s.lora_A.weight" % name] = ([r, k], a)
    out["base_model.model.%s.lora_B.weight" % name] = ([n, r], b)
    alpha = next((v for p, v in config.get("alpha_pattern", {}).items() if ("." + name).endswith("." + p)), config["lora_alpha"])
    pairs.append((name, n, k, r, a, b, alpha / (math.sqrt(r) if config.get("use_rslora") else r)))
save(folder + "/adapter_model.safetensors", out)
if os.path.exists("hf/model.safetensors"):
    base = load("hf/model.safetensors")
    for name, n, k, r, a, b, s in pairs:
        if base.get(name + ".weight", [0])[0] != [n, k]:
            continue
        w = base[name + ".weight"][1]
        for i in range(n):
            for j in range(k):
                w[i * k + j] = f32(w[i * k + j] + s * sum(b[i * r + q] * a[q * k + j] for q in range(r)))
    os.mkdir(folder + "-merged")
    for f in os.listdir("hf"):
        if not f.startswith("model"):
            os.link("hf/" + f, folder + "-merged/" + f)
    save(folder + "-merged/model.safetensors", base)
E
    cat >near.py <<'E'
# near.py A B: logits of two runs are the same but for rounding, and not 0.
import json, sys
def load(path):
    records = map(json.loads, open(path))
    return [x for r in records if r.get("t") == "logits" for x in r["v"]]
a, b = load(sys.argv[1]), load(sys.argv[2])
assert len(a) == len(b) > 100
d, most = max(abs(x - y) for x, y in zip(a, b)), max(map(abs, a))
print(d, most)
assert d < 2e-4 * most, (d, most)
E
}

logits() {
    local ids
    ids=$(seq -s, 1 17)
    echo "{\"t\":\"tokens\",\"ids\":[$ids]}" | llm-prefill --no-kv --all-logits -f json "$@"
}

fails() {
    local code=$1 text=$2 before
    shift 2
    before=$(ls -A)
    run -"$code" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || [[ $stderr == *usage:* ]] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$text"* ]] || { echo "$stderr"; return 1; }
    [ -z "$output" ] || return 1
    [ "$(ls -A)" = "$before" ] || { ls -A; return 1; }
}

# The shapes of a base's matrices, for peft.py: those that match $1, of rank $2.
modules() {
    python3 - "$@" <<'E'
import json, re, struct, sys
f = open("hf/model.safetensors", "rb")
head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
for k, v in head.items():
    if re.search(sys.argv[1], k) and len(v.get("shape", "")) == 2:
        print("%s=%dx%dx%s" % (k.removesuffix(".weight"), *v["shape"], sys.argv[2]))
E
}

@test "beside the base: as if it were in its weights" {
    types="llama qwen2 phi3 gemma3_text granite"
    [[ -z ${EMULATOR:-} ]] || types=llama
    for t in $types; do
        echo "$t"
        rm -rf hf ad ad-merged
        "$tools/mkhf" hf "$t" f32
        gguf-convert -q --outtype f32 -o m.gguf hf
        # shellcheck disable=SC2046 # words
        python3 peft.py ad '{}' $(modules 'layers\..*(_proj|qkv|mlp)' 4)
        gguf-convert -q --outtype f32 -o merged.gguf ad-merged
        gguf-convert -q --base hf -o a.gguf ad
        gguf-convert -q --base m.gguf -o b.gguf ad
        cmp a.gguf b.gguf
        logits merged.gguf >want
        logits --lora a.gguf m.gguf >got
        python3 near.py want got
        logits m.gguf >none
        run ! python3 near.py want none
    done
    [ "$(gguf-inspect --key general.type --key adapter.type --key adapter.lora.alpha a.gguf | xargs)" = "adapter lora 8" ]
}

@test "rslora, patterns of ranks and alphas" {
    "$tools/mkhf" hf llama f32
    gguf-convert -q --outtype f32 -o m.gguf hf
    i=0
    for c in '{"use_rslora": true}' '{"rank_pattern": {"k_proj": 2}}' '{"alpha_pattern": {"layers.1.self_attn.q_proj": 3.5}}' \
        '{"use_rslora": true, "rank_pattern": {"k_proj": 2}, "alpha_pattern": {"v_proj": 5}, "bias": "none", "lora_dropout": 0.1,
        "init_lora_weights": true, "target_modules": ["q_proj"], "inference_mode": true, "modules_to_save": null}'; do
        i=$((i + 1))
        r=4
        [[ $c != *rank* ]] || r=2
        # shellcheck disable=SC2046 # words
        python3 peft.py ad$i "$c" $(modules '[qv]_proj' 4) $(modules k_proj $r)
        gguf-convert -q --outtype f32 -o merged.gguf ad$i-merged
        gguf-convert -q --base hf -o a.gguf ad$i
        logits merged.gguf >want
        logits --lora a.gguf m.gguf >got
        python3 near.py want got
    done
}

@test "types; the base by its name in the adapter; -n" {
    "$tools/mkhf" hf llama f32
    python3 peft.py ad '{"base_model_name_or_path": "hf"}' model.layers.0.self_attn.q_proj=32x32x4
    gguf-convert -q -o a.gguf ad/
    for t in f32 f16 bf16; do
        gguf-convert -q --outtype $t -o $t.gguf ad
        [ "$(gguf-inspect -f json $t.gguf | jq -r '.tensors[].type' | sort -u)" = "${t^^}" ]
    done
    cmp a.gguf f32.gguf
    gguf-inspect --check a.gguf
    [ "$(gguf-inspect -f json a.gguf | jq -c '.tensors | map([.name, .shape])')" = \
        '[["blk.0.attn_q.weight.lora_a",[32,4]],["blk.0.attn_q.weight.lora_b",[4,32]]]' ]
    [ "$(gguf-inspect --key general.base_model.0.name a.gguf)" = hf ]
    run -0 gguf-convert -n ad
    [[ ${lines[0]} == "blk.0.attn_q.weight.lora_a "*"32 x 4  F32  F32  base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" ]]
    gguf-convert -n -f json ad | jq -e '.folder == "ad" and (.tensors | length == 2) and .tensors[1].shape == [4, 32]'
}

@test "what is not supported is refused by name" {
    "$tools/mkhf" hf llama f32
    n=0
    while IFS='|' read -r config words; do
        n=$((n + 1))
        python3 peft.py "bad$n" "$config" model.layers.0.self_attn.q_proj=32x32x4
        fails 4 "$words" gguf-convert --base hf -o x.gguf "bad$n"
    done <<'E'
{"peft_type": "IA3"}|'peft_type': 'IA3'
{"use_dora": true}|'use_dora'
{"bias": "lora_only"}|'bias': 'lora_only'
{"modules_to_save": ["lm_head"]}|'modules_to_save'
{"fan_in_fan_out": true}|'fan_in_fan_out'
{"init_lora_weights": "pissa"}|'init_lora_weights': 'pissa'
{"alora_invocation_tokens": [1, 2]}|'alora_invocation_tokens'
{"layer_replication": [[0, 1]]}|'layer_replication'
{"something_new": 1}|'something_new'
{"rank_pattern": {"^q.*": 2}}|'rank_pattern': '^q.*'
E
    for m in model.layers.9.self_attn.q_proj=32x32x4 lm_x=32x32x4; do
        n=$((n + 1))
        python3 peft.py "bad$n" '{}' "$m"
        fails 4 "the base has no such matrix" gguf-convert --base hf -o x.gguf "bad$n"
    done
    python3 peft.py wide '{}' model.layers.0.self_attn.q_proj=32x40x4
    fails 3 "does not fit 'model.layers.0.self_attn.q_proj.weight'" gguf-convert --base hf -o x.gguf wide
    python3 peft.py none '{"r": 0}' model.layers.0.self_attn.q_proj=32x32x4
    fails 3 "'r': is no number above 0" gguf-convert --base hf -o x.gguf none
    fails 2 "its base, 'nobody/nothing', is not here: --base names it" gguf-convert -o x.gguf wide
    fails 1 "nowhere" gguf-convert --base nowhere -o x.gguf wide
    "$tools/mkhf" moe qwen3_moe f32
    python3 peft.py ex '{}' model.layers.0.mlp.experts.0.down_proj=32x16x4
    fails 4 "experts are not supported" gguf-convert --base moe -o x.gguf ex
    # One of a pair, and tensors of another kind.
    python3 - <<'E'
import json, os, struct
f = open("wide/adapter_model.safetensors", "rb").read()
n = struct.unpack("<Q", f[:8])[0]
head = json.loads(f[8:8 + n])
def put(folder, names):
    os.mkdir(folder)
    os.link("bad11/adapter_config.json", folder + "/adapter_config.json")
    h = json.dumps({k: {"dtype": "F32", "shape": [4, 32], "data_offsets": [512 * i, 512 * i + 512]} for i, k in enumerate(names)}).encode()
    open(folder + "/adapter_model.safetensors", "wb").write(struct.pack("<Q", len(h)) + h + bytes(512 * len(names)))
q = "base_model.model.model.layers.0.self_attn.q_proj."
put("half", [q + "lora_A.weight"])
put("dora", [q + "lora_magnitude_vector"])
put("saved", ["base_model.model.lm_head.modules_to_save.weight"])
put("embed", ["base_model.model.model.embed_tokens.lora_embedding_A"])
put("bias", [q + "base_layer.bias"])
E
    fails 3 "the other one of the pair is missing" gguf-convert --base hf -o x.gguf half
    fails 4 "DoRA is not supported" gguf-convert --base hf -o x.gguf dora
    fails 4 "whole modules are not supported" gguf-convert --base hf -o x.gguf saved
    fails 4 "adapters of embeddings are not supported" gguf-convert --base hf -o x.gguf embed
    fails 4 "neither lora_A nor lora_B" gguf-convert --base hf -o x.gguf bias
    rm half/adapter_model.safetensors
    fails 1 "half" gguf-convert --base hf -o x.gguf half
    fails 2 "--outtype: an adapter has no q8_0" gguf-convert --outtype q8_0 --base hf -o x.gguf wide
    fails 2 "--name" gguf-convert --name x --base hf -o x.gguf wide
    fails 2 "--base is for LoRA" gguf-convert --base hf -o x.gguf hf
}
