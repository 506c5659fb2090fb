#!/usr/bin/env bats
# gguf-split on small files: what goes where, the same model again, and what is
# left when it fails.
bats_require_minimum_version 1.5.0
load gguf

setup() {
    set -o pipefail
    B=${B:-build}
    case $B in /*) ;; *) B=$PWD/$B ;; esac
    PATH=$B/bin:$PATH
    tools=$B/tools
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own
    cd "$BATS_TEST_TMPDIR/here" || return 1
    "$tools/mkgguf" m.gguf llama
}

id() { gguf-inspect -f json "$1" | jq -r .model_id; }

@test "split and merged: the same model, tensors and keys" {
    for n in 1 2 3 7 19 20 21; do
        mkdir d
        gguf-split -q --max-tensors $n -o d/s m.gguf
        count=$(((20 + n - 1) / n))
        [ "$(ls d | wc -l)" -eq $count ]
        last=$(printf 'd/s-%05d-of-%05d.gguf' $count $count)
        [ "$(id "$last")" = "$(id m.gguf)" ]
        cmp <(weights m.gguf) <(weights "$last")
        gguf-inspect --check d/s-00001-of-*
        gguf-inspect -f json "$last" | jq -e --argjson n $n --argjson c $count \
            '[.shards[].tensors] == ([range($c - 1)] | map($n)) + [20 - $n * ($c - 1)] and
            .keys["split.count"] == {type: "u16", value: $c} and .keys["split.no"] == {type: "u16", value: 0} and
            .keys["split.tensors.count"] == {type: "i32", value: 20}'
        gguf-split -q --merge -o back.gguf "$last"
        cmp m.gguf back.gguf
        rm -r d back.gguf
    done
    # Of a split model others can be made at once.
    gguf-split -q --max-tensors 3 -o s m.gguf
    gguf-split -q --max-tensors 8 -o t s-00004-of-00007.gguf
    gguf-split -q --max-tensors 8 -o u m.gguf
    for i in 1 2 3; do
        cmp t-0000$i-of-00003.gguf u-0000$i-of-00003.gguf
    done
}

@test "--max-size: no file is larger, but for a tensor alone" {
    for size in 6000 8K 9.5k 20K 1M; do
        gguf-split -n -f json --max-size $size -o s m.gguf >plan
        gguf-split -q --max-size $size -o s m.gguf
        bytes=$(jq -n "\"$size\" | ascii_downcase | if endswith(\"k\") then (.[:-1] | tonumber) * 1024
            elif endswith(\"m\") then (.[:-1] | tonumber) * 1048576 else tonumber end")
        jq -e --argjson b "$bytes" '.file == "m.gguf" and (.files | all(.bytes <= $b)) and
            (.files | map(.tensors) | add) == 20 and .bytes == (.files | map(.bytes) | add)' plan
        for f in s-*.gguf; do
            [ "$(stat -c %s "$f")" -eq "$(jq --arg f "$f" '.files[] | select(.path == $f).bytes' plan)" ]
        done
        [ "$(id s-00001-of-*)" = "$(id m.gguf)" ]
        rm s-*
    done
    # Each that could take one more would be too large with it.
    gguf-split -n -f json --max-size 8K -o s m.gguf | jq -e '.files | length == 3'
    # Keys that leave no room are a file of their own; large tensors, too.
    "$tools/mkgguf" k.gguf "k:x:str:$(printf '%04000d' 0)" t:a:F32:256 t:b:F32:2048 t:c:F32:64 t:d:F32:64
    gguf-split -n -f json --max-size 5000 -o s k.gguf | jq -e '.files | map(.tensors) == [0, 1, 1, 2]'
    gguf-split -q --max-size 5000 -o s k.gguf
    [ "$(id s-00003-of-00004.gguf)" = "$(id k.gguf)" ]
    gguf-split -q --merge -o o.gguf s-00003-of-00004.gguf
    cmp o.gguf k.gguf
    # Both limits at once.
    gguf-split -n -f json --max-size 8K --max-tensors 4 -o s m.gguf | jq -e '.files | all(.bytes <= 8192 and .tensors <= 4)'
}

@test "alignments, holes, versions, no tensors" {
    "$tools/mkgguf" w.gguf align=128 k:x:str:abc t:a:F32:4 t:b:F32:3 t:c:F32:33 tail=64
    gguf-split -q --max-tensors 2 -o s w.gguf
    gguf-inspect --check s-00002-of-00002.gguf
    [ "$(gguf-inspect -f json s-00002-of-00002.gguf | jq -c '[.shards[].alignment]')" = '[128,128]' ]
    gguf-split -q --merge -o o.gguf s-00002-of-00002.gguf
    [ "$(id o.gguf)" = "$(id w.gguf)" ]
    cmp <(weights o.gguf) <(weights w.gguf)
    "$tools/mkgguf" v.gguf version=2 k:x:str:abc t:a:F32:4 t:b:F32:3 offset:b=64 tail=64
    gguf-split -q --max-tensors 1 -o v v.gguf
    cmp <(weights v-00001-of-00002.gguf) <(weights v.gguf)
    "$tools/mkgguf" n.gguf k:x:str:abc
    gguf-split -q --max-tensors 1 -o n n.gguf
    gguf-split -q --merge -o o.gguf --force n-00001-of-00001.gguf
    cmp n.gguf o.gguf
}

@test "it runs as before" {
    "$tools/mkshape" llama-tiny q8_0 >t.gguf
    gguf-split -q --max-size 300K -o s t.gguf
    for m in t.gguf s-00001-of-*.gguf; do
        printf abc | tok-encode "$m" | llm-decode --temp 0 --ignore-eos -n 4 "$m" | tok-decode >"out.$m"
    done
    cmp out.t.gguf out.s-*
}

@test "nothing is overwritten, unless it is asked for" {
    gguf-split -q --max-tensors 7 -o s m.gguf
    rm s-00001-of-00003.gguf
    fails 1 "s-00002-of-00003.gguf: File exists (--force replaces it)" gguf-split --max-tensors 7 -o s m.gguf
    gguf-split -q --force --max-tensors 7 -o s m.gguf
    [ "$(id s-00001-of-00003.gguf)" = "$(id m.gguf)" ]
    fails 1 "m.gguf: File exists" gguf-split --merge -o m.gguf s-00001-of-00003.gguf
    # A model may be made anew of itself.
    gguf-set -q s-00001-of-00003.gguf general.name=TINY
    was=$(id s-00001-of-00003.gguf)
    gguf-split -q --force --max-tensors 8 -o s s-00001-of-00003.gguf
    [ "$(id s-00003-of-00003.gguf)" = "$was" ]
    gguf-split -q --force --merge -o m.gguf s-00001-of-00003.gguf
    [ "$(id m.gguf)" = "$was" ]
    # A name may end as the files do.
    run -0 --separate-stderr gguf-split --max-tensors 100 -o dir.gguf m.gguf
    [[ $stderr == "gguf-split: dir-00001-of-00001.gguf: 1 file, "* ]]
}

@test "files that do not belong together" {
    gguf-split -q --max-tensors 7 -o s m.gguf
    cp s-00002-of-00003.gguf two
    rm s-00002-of-00003.gguf
    fails 1 "s-00002-of-00003.gguf: No such file" gguf-split --merge -o o.gguf s-00001-of-00003.gguf
    cp s-00003-of-00003.gguf s-00002-of-00003.gguf
    fails 3 "split.no" gguf-split --merge -o o.gguf s-00001-of-00003.gguf
    # Another model's.
    "$tools/mkgguf" x.gguf k:general.architecture:str:llama t:a:F32:4 t:b:F32:4 t:c:F32:4
    gguf-split -q --max-tensors 1 -o x x.gguf
    cp x-00002-of-00003.gguf s-00002-of-00003.gguf
    fails 3 "split.tensors.count" gguf-split --merge -o o.gguf s-00001-of-00003.gguf
    # Of another count.
    gguf-split -q --max-tensors 10 -o y m.gguf
    cp y-00002-of-00002.gguf s-00002-of-00003.gguf
    fails 3 "split.count" gguf-split --merge -o o.gguf s-00001-of-00003.gguf
    head -c 900 two >s-00002-of-00003.gguf
    fails 3 "s-00002-of-00003.gguf" gguf-split --merge -o o.gguf s-00001-of-00003.gguf
    cp two s-00002-of-00003.gguf
    gguf-split -q --merge -o o.gguf s-00001-of-00003.gguf
    cmp o.gguf m.gguf
    fails 2 "m.gguf is not split" gguf-split --merge -o p.gguf m.gguf
}

@test "no room, no folder: nothing is left" {
    fails 1 "none/s-00001-of-00003.gguf: No such file" gguf-split --max-tensors 7 -o none/s m.gguf
    fails 1 "File too large" bash -c 'ulimit -f 8; gguf-split --max-tensors 7 -o s m.gguf'
    fails 1 "o.gguf: File too large" bash -c 'gguf-split -q --max-tensors 7 -o "$BATS_TEST_TMPDIR/s" m.gguf; ulimit -f 8
        gguf-split --merge -o o.gguf "$BATS_TEST_TMPDIR/s-00001-of-00003.gguf"'
    fails 1 "not a regular file" gguf-split --force --merge -o /dev/null "$BATS_TEST_TMPDIR/s-00001-of-00003.gguf"
    if mkdir small && mount -t tmpfs -o size=16k none small 2>/dev/null; then
        fails 1 "No space left on device: 2" gguf-split --max-tensors 7 -o small/s m.gguf
        [ -z "$(ls -A small)" ]
        umount small
    fi
}

@test "interrupted: nothing is left" {
    for i in 1 2 3 4 5 6 7 8; do
        printf ' t:b%d:F32:16384x256' $i
    done | xargs "$tools/mkgguf" m.gguf
    # bash would have a child in the background ignore SIGINT.
    python3 - <<'E'
import os, signal, subprocess, time
for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
    p = subprocess.Popen(["gguf-split", "-q", "--max-tensors", "1", "-o", "s", "m.gguf"])
    while p.poll() is None and sum(n.startswith("s-") for n in os.listdir(".")) < 3:
        time.sleep(0.0005)
    p.send_signal(sig)
    rc = p.wait()
    left = sorted(os.listdir("."))
    # When all is done it may still come.
    assert rc in (0, 128 + sig) and (len(left) == 9 or (rc and left == ["m.gguf"])), (rc, left)
    for n in left:
        if n != "m.gguf":
            os.remove(n)
E
}

@test "hostile files, wrong options" {
    for i in 4 20 24 32 60 200 900 9000; do
        head -c $i m.gguf >cut.gguf
        fails 3 "cut.gguf: " gguf-split --max-tensors 1 -o s cut.gguf
    done
    fails 1 "none.gguf" gguf-split --max-tensors 1 -o s none.gguf
    fails 2 "no model" gguf-split --max-tensors 1 -o s
    fails 2 "one model" gguf-split --max-tensors 1 -o s m.gguf x.gguf
    fails 2 "no --output" gguf-split --max-tensors 1 m.gguf
    fails 2 "--max-size or --max-tensors is needed" gguf-split -o s m.gguf
    fails 2 "--merge makes one file" gguf-split --merge --max-size 1G -o s m.gguf
    for bad in 0 -1 x 1X 1e30 nan; do
        fails 2 "--max-size" gguf-split --max-size=$bad -o s m.gguf
    done
    fails 2 "--max-tensors" gguf-split --max-tensors 0 -o s m.gguf
    fails 2 "--format" gguf-split -n -f xml --max-tensors 1 -o s m.gguf
}
