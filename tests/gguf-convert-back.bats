#!/usr/bin/env bats
# gguf-convert the other way: a GGUF as a folder, which is the one that it came
# from wherever a GGUF says all that the folder did.
bats_require_minimum_version 1.5.0

setup() {
    set -o pipefail
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    PATH=$B/bin:$PATH
    tools=$B/tools
    tiny=$PWD/../shared/oracle/tiny
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own
    cd "$BATS_TEST_TMPDIR/here" || return 1
    cat >same.py <<'E'
# same.py A B: folders have the same tensors; those of Gemma's norms, to which 1
# is added on the way, to the last bit of that sum.
import json, os, struct, sys
def load(folder):
    all = {}
    for n in sorted(os.listdir(folder)):
        if n.endswith(".safetensors"):
            with open(folder + "/" + n, "rb") as f:
                head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
                data = f.read()
            head.pop("__metadata__", None)
            for k, v in head.items():
                assert k not in all
                all[k] = (v["dtype"], v["shape"], data[v["data_offsets"][0]:v["data_offsets"][1]])
    return all
a, b = load(sys.argv[1]), load(sys.argv[2])
# A body alone has its names without the prefix.
if json.load(open(sys.argv[2] + "/config.json"))["architectures"] == ["Gemma3TextModel"]:
    a = {k.removeprefix("model."): v for k, v in a.items()}
gemma = json.load(open(sys.argv[2] + "/config.json"))["model_type"].startswith("gemma")
assert set(a) == set(b), (sorted(set(a) ^ set(b)))
for k in a:
    if gemma and "norm" in k and a[k][0] == "F32":
        n = len(a[k][2]) // 4
        x, y = struct.unpack("<%df" % n, a[k][2]), struct.unpack("<%df" % n, b[k][2])
        assert all(abs(p - q) <= 1.2e-7 for p, q in zip(x, y)), k
    else:
        assert a[k] == b[k], (k, a[k][:2], b[k][:2])
E
}

weights() { gguf-inspect --hash --tensors '*' "$1"; }

# What a way back and there changes, but for the tokenizer.
changed() {
    { gguf-inspect --diff "$1" "$2" || true; } | sed -n 's/^key \([^:]*\):.*/\1/p; s/^tensor.*/tensor/p' |
        sed -E '/^(general.name|tokenizer\..*)$/d' | sort -u | xargs
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

slow() {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator takes too long"
}

@test "every decoder, there and back: the same tensors under the same names" {
    types="llama mixtral ministral3 qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text gemma-embedding
        phi phi3 smollm3 granite olmo2 olmo3 starcoder2 bert nomic_bert modernbert"
    [[ -z ${EMULATOR:-} ]] || types="llama gemma3_text"
    for t in $types; do
        for d in f32 bf16; do
            echo "$t $d"
            rm -rf hf back
            "$tools/mkhf" hf "$t" $d
            gguf-convert -q --outtype f32 -o a.gguf hf
            [ $d = f32 ] || gguf-convert -q -o a.gguf hf
            gguf-convert -q -o back a.gguf
            python3 same.py hf back
            gguf-convert -q --outtype f32 -o b.gguf back
            [ $d = f32 ] || gguf-convert -q -o b.gguf back
            more=$(changed a.gguf b.gguf)
            [ -z "$more" ] || [[ $t == gemma* && $d == f32 && $more == tensor ]] || { echo "$more"; false; }
        done
    done
}

@test "tiny models of ../shared: the same tensors, and what config.json says" {
    [ -d "$tiny" ] || skip "no ../shared"
    slow
    for m in bert modernbert nomic_bert gemma gemma2 gemma3 granite llama llama-bias-tied llama-mha-hd32 llama-yarn \
        llama3-rope ministral3 mixtral olmo2 phi phi3 phi3-longrope qwen2 qwen2_moe qwen3 qwen3-yarn qwen3_moe \
        smollm3 starcoder2; do
        echo "$m"
        rm -rf back
        gguf-convert -q --outtype f32 -o a.gguf "$tiny/$m"
        gguf-convert -q -o back a.gguf
        python3 same.py "$tiny/$m" back
        gguf-convert -q --outtype f32 -o b.gguf back
        # A pattern that the architecture has anyway is not said again.
        more=$(changed a.gguf b.gguf)
        case $m:$more in
        *: | gemma*:tensor | gemma3:gemma3.attention.sliding_window_pattern*) ;;
        *) echo "$more"; false ;;
        esac
        python3 - "$tiny/$m/config.json" back/config.json <<'E'
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
free = {"bos_token_id", "eos_token_id", "pad_token_id", "hidden_act", "torch_dtype", "use_bidirectional_attention",
        "rope_scaling", "partial_rotary_factor"}
for d in a.get("rope_parameters") or {}, b.get("rope_parameters") or {}:
    if d.get("partial_rotary_factor") == 1:
        del d["partial_rotary_factor"]
bad = {k: (a[k], b[k]) for k in a if k in b and a[k] != b[k] and k not in free}
assert not bad, bad
E
    done
}

@test "types: as they are, quantised ones BF16, or what is asked for" {
    "$tools/mkhf" hf llama bf16
    gguf-convert -q -o a.gguf hf
    dtypes() {
        python3 - "$1" <<'E'
import json, struct, sys
f = open(sys.argv[1] + "/model.safetensors", "rb")
head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
head.pop("__metadata__")
print(*sorted({v["dtype"] for v in head.values()}), json.load(open(sys.argv[1] + "/config.json"))["torch_dtype"])
E
    }
    gguf-convert -q -o auto a.gguf
    [ "$(dtypes auto)" = "BF16 bfloat16" ]
    for t in "f32 F32 float32" "f16 F16 float16" "bf16 BF16 bfloat16"; do
        read -r type want <<<"$t"
        gguf-convert -q --outtype "$type" -o "$type" a.gguf
        [ "$(dtypes "$type")" = "$want" ]
    done
    # Weights of fewer bits are what they stand for.
    gguf-quantize -q -o q.gguf a.gguf Q8_0
    gguf-quantize -q --allow-requantize -o f.gguf q.gguf F32
    gguf-convert -q --outtype f32 -o q q.gguf
    gguf-convert -q --outtype f32 -o again.gguf q
    cmp <(weights f.gguf | sort) <(weights again.gguf | sort)
    gguf-convert -q -o qauto q.gguf
    [ "$(dtypes qauto)" = "BF16 bfloat16" ]
    # What F16 cannot hold stays as it was, beside matrices of F16.
    "$tools/mkhf" half llama f16
    gguf-convert -q -o h.gguf half
    gguf-convert -q -o h h.gguf
    python3 same.py half h
    # One thread or many.
    gguf-convert -q -t 1 -o one q.gguf
    gguf-convert -q -t 5 -o five q.gguf
    diff -r one five
}

@test "--max-size: several files, and an index" {
    "$tools/mkhf" hf qwen3_moe bf16
    gguf-convert -q -o a.gguf hf
    gguf-convert -q -o one a.gguf
    gguf-convert -q --max-size 20K -o many a.gguf
    python3 same.py one many
    n=$(ls many/model-*.safetensors | wc -l)
    [ "$n" -gt 2 ]
    jq -e --argjson n "$n" '(.weight_map | [.[]] | unique | length == $n) and .metadata.total_size > 0' \
        many/model.safetensors.index.json
    gguf-convert -q -o b.gguf many
    [ -z "$(changed a.gguf b.gguf)" ]
    # Of a split GGUF, too.
    gguf-split -q --max-tensors 7 -o s a.gguf
    gguf-convert -q -o split s-00002-of-*.gguf
    diff -r one split
}

@test "-n, and names" {
    "$tools/mkhf" hf llama
    gguf-convert -q -o a.gguf hf
    run -0 gguf-convert -n a.gguf
    [[ ${lines[0]} == "model.embed_tokens.weight "*" token_embd.weight F16 F16" ]]
    [[ ${lines[-1]} == "1 files of weights, "*": llama" ]]
    gguf-convert -n -f json a.gguf | jq -e '.model_type == "llama" and (.tensors[0] | .name == "model.embed_tokens.weight"
        and .from == "token_embd.weight" and .dtype == "F16") and (.tensors | map(.bytes) | add) == .bytes'
    [ "$(ls -A | xargs)" = "a.gguf hf same.py" ]
    gguf-convert -q --no-tokenizer -o bare/ a.gguf
    [ "$(ls bare | xargs)" = "config.json model.safetensors" ]
}

@test "embedders: how they pool" {
    "$tools/mkhf" hf bert
    gguf-convert -q --outtype f32 -o a.gguf hf
    for n in 1 2 3; do
        gguf-set -q -o b.gguf a.gguf bert.pooling_type=$n
        gguf-convert -q -o "pool$n" b.gguf
        gguf-convert -q --outtype f32 -o c.gguf "pool$n"
        [ "$(gguf-inspect --key bert.pooling_type c.gguf)" = $n ]
        [ -z "$(changed b.gguf c.gguf)" ]
    done
    gguf-set -q -o b.gguf a.gguf bert.pooling_type=4
    fails 4 "key 'bert.pooling_type': has no place" gguf-convert -o x b.gguf
}

@test "how much of a head rope turns, where the model's own part is less" {
    "$tools/mkhf" hf phi
    jq '.partial_rotary_factor = 1' hf/config.json >c && mv c hf/config.json
    gguf-convert -q -o a.gguf hf
    gguf-convert -q -o back a.gguf
    jq -e '.partial_rotary_factor == 1 and .rope_parameters.partial_rotary_factor == 1' back/config.json
    gguf-convert -q -o b.gguf back
    [ -z "$(changed a.gguf b.gguf)" ]
}

@test "a model with windows of which no layer has one" {
    for t in gemma2 gemma3_text modernbert; do
        rm -rf hf back
        "$tools/mkhf" hf $t
        jq '.layer_types = [range(.num_hidden_layers) | "full_attention"]' hf/config.json >c && mv c hf/config.json
        gguf-convert -q -o a.gguf hf
        gguf-convert -q -o back a.gguf
        jq -e '(.sliding_window // .local_attention) > 0 and (.layer_types | unique == ["full_attention"])' back/config.json
        gguf-convert -q -o b.gguf back
        [ "$(gguf-inspect a.gguf | grep sliding)" = "$(gguf-inspect b.gguf | grep sliding)" ]
    done
}

@test "what has no place, is missing or does not fit is refused by name" {
    "$tools/mkhf" hf llama
    gguf-convert -q -o a.gguf hf
    gguf-set -q -o k.gguf a.gguf llama.expert_weights_scale:f32=2
    fails 4 "key 'llama.expert_weights_scale': has no place" gguf-convert -o x k.gguf
    gguf-set -q --force -o k.gguf a.gguf llama.block_count=1
    fails 4 "tensor 'blk.1.attn_norm.weight': has no place" gguf-convert -o x k.gguf
    gguf-set -q --force -o k.gguf a.gguf llama.block_count=9
    fails 4 ".attn_norm.weight' is missing" gguf-convert -o x k.gguf
    gguf-set -q --force -o k.gguf a.gguf llama.feed_forward_length=96
    fails 4 "tensor 'blk.0.ffn_gate.weight': has " gguf-convert -o x k.gguf
    gguf-set -q -o k.gguf a.gguf llama.rope.scaling.type=magic
    fails 4 "'magic' is not supported" gguf-convert -o x k.gguf
    gguf-set -q --force -o k.gguf a.gguf general.architecture=none
    fails 4 "architecture 'none'" gguf-convert -o x k.gguf
    gguf-set -q --force -o k.gguf a.gguf 'llama.feed_forward_length:u32[]=[1,2]'
    fails 4 "llama.feed_forward_length" gguf-convert -o x k.gguf
    "$tools/mkgguf" k.gguf k:x:u8:1 t:a.weight:F32:32
    fails 4 "architecture" gguf-convert -o x k.gguf
    head -c 3000 a.gguf >k.gguf
    fails 3 "k.gguf: " gguf-convert -o x k.gguf
    # Weights that are none.
    "$tools/mkgguf" k.gguf llama set:blk.0.attn_norm.weight@4=0000c07f
    fails 3 "element 1 of 'model.layers.0.input_layernorm.weight'" gguf-convert --no-tokenizer --outtype bf16 -o x k.gguf
}

@test "a folder that is there stays; no room, no folder, a signal: nothing is left" {
    "$tools/mkhf" hf llama
    gguf-convert -q -o a.gguf hf
    find hf | sort >was
    fails 1 "hf: File exists" gguf-convert -o hf a.gguf
    find hf | sort | cmp - was
    fails 1 "hf: File exists" gguf-convert -o hf/ a.gguf
    fails 1 "none/x: No such file" gguf-convert -o none/x a.gguf
    fails 1 "File too large" bash -c 'ulimit -f 16; gguf-convert --no-tokenizer -o x a.gguf'
    slow
    "$tools/mkgguf" big.gguf llama
    python3 - <<'E'
import os, signal, subprocess, time
subprocess.run(["gguf-convert", "-q", "-o", "whole", "a.gguf"], check=True)
for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXCPU:
    for i in range(8):
        p = subprocess.Popen(["gguf-convert", "-q", "-o", "out", "a.gguf"])
        time.sleep(0.002 * i)
        p.send_signal(sig)
        rc = p.wait()
        left = [n for n in os.listdir(".") if n.startswith("out")]
        # Before a file is begun a signal simply ends the program; when all is
        # done it may still come.
        assert rc in (0, 128 + sig, -sig), rc
        assert left == ["out"] or (rc and not left), (rc, left)
        assert not left or sorted(os.listdir("out")) == sorted(os.listdir("whole"))
        subprocess.run(["rm", "-rf", "out"])
E
    if mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
        run -1 --separate-stderr gguf-convert -o small/x a.gguf
        [[ $stderr == *"No space left on device"* ]]
        [ -z "$(ls -A small)" ]
        umount small
    fi
}

@test "wrong options" {
    "$tools/mkhf" hf llama
    gguf-convert -q -o a.gguf hf
    fails 2 "--outtype: a folder has no q8_0" gguf-convert --outtype q8_0 -o x a.gguf
    fails 2 "--name" gguf-convert --name x -o x a.gguf
    fails 2 "--max-size: 'x' is no size" gguf-convert --max-size x -o x a.gguf
    fails 2 "--max-size is for a folder" gguf-convert --max-size 1G -o x.gguf hf
}
