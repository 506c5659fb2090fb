#!/usr/bin/env bats
# kv-dump on states that mkkv makes: their elements are multiples of 1/64, and
# a short one is the beginning of a longer one.
bats_require_minimum_version 1.5.0

setup() {
    PATH=$PWD/${B:-build}/bin:$PWD/${B:-build}/tools:$PATH
    cd "$BATS_TEST_TMPDIR" || exit 1
    mkkv >a.kv
}

@test "a state as text" {
    run -0 --separate-stderr kv-dump a.kv
    diff - <(echo "$output") <<'EOF'
a.kv: sequence 0
  model   0123456789abcdef0123456789abcdef
  rope    base 10000
  tokens  100
  layers  2
  types   f16,f16
  size    43.8 KiB

layer heads     K     V  window    from      K min      K max   K mean|x|      V min      V max   V mean|x|
    0     2    32    32       0       0         -1          1      0.5013         -1          1      0.5019
    1     1    32    64     100       0         -1          1      0.5041         -1          1       0.503
EOF
    [ -z "$stderr" ]
}

@test "a state as JSON" {
    [ "$(kv-dump -f json a.kv | jq -c '[.s, .tokens, (.ids | length), .bytes, .stored, .zstd, .k_type, .layers[1].window]')" = \
        '[0,100,100,44800,44800,false,"f16",100]' ]
    kv-dump -f json a.kv | jq -e '.layers[0].k | .min >= -1 and .max <= 1 and .not_finite == 0'
    kv-dump -q -f json a.kv | jq -e 'has("ids") or has("layers") | not'
}

@test "--values: the elements that are asked for, exactly" {
    mkkv types=f32,bf16 >b.kv
    kv-dump --values 1 a.kv >a.txt
    kv-dump --values 1 b.kv | cmp - a.txt
    [ "$(wc -l <a.txt)" -eq 200 ]
    run -0 kv-dump --values '*:1:63-64' a.kv
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[3]} == $'0\t0\t1\t64\tv\t'* ]]
    [ "$(wc -w <<<"${lines[3]}")" -eq $((5 + 32)) ]
    kv-dump --values 1:0:99 -f json a.kv |
        jq -e '.s == 0 and .layer == 1 and .pos == 99 and (.k | length) == 32 and (.v | length) == 64
               and all(.k[]; . * 64 == (. * 64 | floor))'
    for v in '' x 1: 1:2:3:4 3-1 -1 1:2:3: 99999999999; do
        run -2 kv-dump --values "$v" a.kv
    done
}

@test "--cut is what fewer tokens would have made" {
    for n in 1 63 64 65 99 100; do
        mkkv n=$n >want.kv
        kv-dump --cut $n a.kv | cmp - want.kv
    done
    [ "$(kv-dump --cut 0 a.kv | kv-dump -f json | jq -c '[.tokens, .bytes]')" = '[0,0]' ]
    run -2 kv-dump --cut 101 a.kv
    [[ $output == *"it has 100 tokens, not 101"* ]]
    run -2 kv-dump --cut -1 a.kv
}

@test "--cut: a window that has gone on" {
    mkkv n=400 >long.kv
    [ "$(kv-dump -f json long.kv | jq -c '[.layers[].from]')" = '[0,256]' ]
    kv-dump --cut 355 long.kv | kv-dump --check
    run -4 kv-dump --cut 354 -f text long.kv
    [[ $output == *"layer 1 has a window, and kept nothing before position 256, which the token after 354 needs" ]]
}

@test "--cut leaves out logits of tokens that are gone, and nothing else" {
    {
        cat a.kv
        echo '{"t":"logits","s":0,"pos":49,"v":[1]}'
        echo '{"t":"logits","s":0,"pos":50,"v":[2]}'
        echo '{"t":"later","s":0,"what":"nobody knows"}'
    } >in
    mkkv n=50 >want.kv
    kv-dump --cut 50 in >out
    head -c "$(stat -c %s want.kv)" out | cmp - want.kv
    tail -c +"$(($(stat -c %s want.kv) + 1))" out >rest
    run -0 bash -c 'kv-dump -f cbor rest | tok-decode'
    grep -q nobody rest
    [ "$(grep -ao logits rest | wc -l)" -eq 1 ]
}

@test "--convert: exact where it can be" {
    for t in f32,f32 bf16,bf16 f32,bf16 f16,f32; do
        mkkv types=$t >want.kv
        kv-dump --convert $t a.kv | cmp - want.kv
        kv-dump --convert f16 want.kv | cmp - a.kv
    done
    mkkv types=q8_0,q4_0 >q.kv
    kv-dump --convert f32 q.kv >f.kv
    [ "$(kv-dump --diff q.kv f.kv || true)" = 'types: "f32,f32" and "q8_0,q4_0"' ]
}

@test "--convert: as near as the type can be" {
    kv-dump --convert q8_0,q4_0 a.kv >q.kv
    run -1 kv-dump --diff a.kv -f json q.kv
    # A step of 2/127 and one of 2/15 are the most between two numbers.
    echo "$output" | jq -se 'map(select(.what == "values")) | length == 2 and
        all(.k.max <= 1/127 and .v.max <= 1.01/8)'
    kv-dump --convert f16 --zstd q.kv | kv-dump --check
    run -4 kv-dump --convert q8_0 <(mkkv layers=1:8:8:0)
    [[ $output == *"layer 0: q8_0,q8_0 cannot keep heads of 8,8 elements"* ]]
    run -2 kv-dump --convert q9 a.kv
    run -2 kv-dump --convert f16, a.kv
}

@test "--zstd and back" {
    kv-dump --zstd a.kv >z.kv
    [ "$(stat -c %s z.kv)" -lt "$(stat -c %s a.kv)" ]
    mkkv zstd=1 | cmp - z.kv
    kv-dump --no-zstd z.kv | cmp - a.kv
    run -0 kv-dump --diff a.kv z.kv
    [ -z "$output" ]
    kv-dump -q z.kv | grep -q 'of zstd$'
    # What is cut or converted stays as it is.
    kv-dump --cut 70 z.kv | cmp - <(mkkv n=70 zstd=1)
    run -2 kv-dump --zstd --no-zstd a.kv
}

@test "--diff" {
    run -0 kv-dump --diff a.kv a.kv
    [ -z "$output" ]
    mkkv seq=5 >b.kv
    run -0 kv-dump --diff a.kv b.kv
    mkkv seed=2 >b.kv
    run -1 kv-dump --diff a.kv b.kv
    [ "${lines[0]}" = 'tokens: 100 and 100, of which the first 0 are equal' ]
    [ "${#lines[@]}" -eq 4 ]
    run -1 kv-dump -q --diff a.kv b.kv
    [ -z "$output" ]
    mkkv n=70 >b.kv
    run -1 kv-dump --diff a.kv b.kv
    [ "$output" = 'tokens: 70 and 100, of which the first 70 are equal' ]
    mkkv layers=2:32:32:0 model=x rope=y >b.kv
    run -1 kv-dump --diff a.kv b.kv
    [ "${lines[0]}" = 'model: "x" and "0123456789abcdef0123456789abcdef"' ]
    [ "${lines[1]}" = 'rope: "y" and "base 10000"' ]
    [ "${lines[2]}" = 'layer 1: "none" and "1 x 32,64 window 100 from 0"' ]
    run -1 kv-dump -f json --diff a.kv b.kv
    echo "$output" | jq -e .what
    head -c 20000 a.kv >cut.kv
    run -3 kv-dump --diff a.kv cut.kv
    run -1 kv-dump --diff a.kv nofile
    run -2 kv-dump --diff a.kv a.kv a.kv
    cat a.kv a.kv >two.kv
    run -2 kv-dump --diff a.kv two.kv
}

@test "several states, mixed: all, or the one that --seq names" {
    py=$(cat <<'EOF'
import itertools, sys, cbor2
def items(f):
    out = []
    with open(f, "rb") as f:
        data = f.read()
    import io
    b = io.BytesIO(data)
    while b.tell() < len(data):
        at = b.tell()
        cbor2.load(b)
        out.append(data[at:b.tell()])
    return out
for pair in itertools.zip_longest(items(sys.argv[1]), items(sys.argv[2])):
    for p in pair:
        if p:
            sys.stdout.buffer.write(p)
EOF
    )
    python3 -c 'import cbor2' 2>/dev/null || skip "no cbor2"
    mkkv seq=3 header=0 >b.kv
    mkkv seq=4 header=0 n=300 seed=9 types=q8_0,f16 >c.kv
    python3 -c "$py" b.kv c.kv >mixed.kv
    [ "$(kv-dump -f json mixed.kv | jq -c '[.s, .tokens]' | xargs)" = "[3,100] [4,300]" ]
    kv-dump --seq 4 -f cbor mixed.kv | cmp - c.kv
    kv-dump -f cbor mixed.kv | cmp - mixed.kv
    kv-dump --seq 3 --cut 65 mixed.kv | cmp - <(mkkv seq=3 header=0 n=65)
    kv-dump --diff b.kv --seq 3 mixed.kv
    run -3 kv-dump --seq 5 mixed.kv
    [[ $output == *"mixed.kv: no KV state in it" ]]
    # The one is whole, the other is not.
    head -c $(($(stat -c %s mixed.kv) - 10)) mixed.kv >cut.kv
    run -3 kv-dump -q cut.kv
    [ "${lines[0]}" = "cut.kv: sequence 3" ]
}

@test "--check: silent, and 3 for any change" {
    run -0 kv-dump --check a.kv
    [ -z "$output" ]
    size=$(stat -c %s a.kv)
    for at in 70 400 900 20000 30000 $((size - 40)) $((size - 1)); do
        cp a.kv bad.kv
        printf '\x55' | dd of=bad.kv bs=1 seek="$at" conv=notrunc status=none
        cmp -s a.kv bad.kv && printf '\xaa' | dd of=bad.kv bs=1 seek="$at" conv=notrunc status=none
        run -3 kv-dump --check bad.kv
        [[ $output == "kv-dump: bad.kv: record "* ]]
        [ "${#lines[@]}" -eq 1 ]
    done
    for n in 60 500 20000 $((size - 1)); do
        head -c "$n" a.kv >bad.kv
        run -3 kv-dump --check bad.kv
        [ "${#lines[@]}" -eq 1 ]
    done
    echo '{"t":"tokens","ids":[1]}' >none
    run -3 kv-dump --check none
    run -3 kv-dump --check /dev/null
    run -1 kv-dump --check nofile
    run -3 kv-dump --check a.kv nofile bad.kv
}

@test "what is wrong is named" {
    cp a.kv bad.kv
    printf '\x01\x02\x03' | dd of=bad.kv bs=1 seek=20000 conv=notrunc status=none
    run -3 kv-dump --check bad.kv
    [[ $output =~ ^kv-dump:\ bad.kv:\ record\ 4:\ sequence\ 0:\ kv\ layer\ 1,\ page\ 0:\ the\ sum\ is\ [0-9a-f]{16},\ not\ [0-9a-f]{16}$ ]]
}

@test "-o: the old file stays until the new one is whole" {
    cp a.kv out.kv
    head -c 30000 a.kv >bad.kv
    run -3 kv-dump --convert q8_0 -o out.kv bad.kv
    cmp a.kv out.kv
    [ "$(echo out.kv*)" = out.kv ]
    kv-dump --cut 70 -o out.kv out.kv
    mkkv n=70 | cmp - out.kv
    [ ! -e /dev/full ] || run -1 kv-dump --zstd -o /dev/full a.kv
}

@test "killed while it writes, it leaves the old file" {
    cp a.kv out.kv
    mkfifo in
    kv-dump --zstd -o out.kv in 3>&- &
    pid=$!
    exec 4>in
    head -c 30000 a.kv >&4
    for _ in $(seq 100); do
        [ "$(ls -A out.kv.?????? 2>/dev/null)" ] && break
        sleep 0.05
    done
    kill -9 $pid
    wait $pid || true
    exec 4>&-
    cmp a.kv out.kv
}

@test "a state larger than the memory that there is" {
    (ulimit -v 60000 && kv-dump -V >/dev/null 2>&1) ||
        skip "a build that needs more memory than that (sanitizers)"
    # 400 MB, of pages of 2 MB.
    run -0 bash -o pipefail -c '
        mkkv n=3200 fast=1 layers=16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0,16:128:128:0 |
        (ulimit -v 60000; kv-dump -f cbor) | (ulimit -v 60000; kv-dump --check)'
    run -0 bash -o pipefail -c 'mkkv n=640 fast=1 layers=16:128:128:0 |
        (ulimit -v 60000; kv-dump --convert q8_0,q4_0 --zstd --cut 600) | (ulimit -v 60000; kv-dump -q)'
}

@test "wrong options" {
    run -2 kv-dump --nonsense
    run -2 kv-dump --check --cut 3 a.kv
    run -2 kv-dump --check -f cbor a.kv
    run -2 kv-dump --diff a.kv --values 1 a.kv
    run -2 kv-dump --seq -1 a.kv
    run -2 kv-dump -f xml a.kv
    run -0 kv-dump --help
}
