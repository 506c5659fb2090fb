#!/usr/bin/env bats
# gguf-set on small files: values of every type, what it refuses, what fits in
# place, and what is left when it fails.  Kills amid an edit: tests/unit/patch.c.
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
    cp m.gguf a.gguf
}

json() { gguf-inspect -f json "$1" | jq -c ".keys[\"$2\"]"; }

# key MODEL NAME...: their values, a line each.
key() {
    local m=$1 k args=()
    shift
    for k in "$@"; do
        args+=(--key "$k")
    done
    gguf-inspect "${args[@]}" "$m"
}

# In place or anew: what the file's number says.
inode() { stat -c %i "$1"; }

@test "values keep their type and place; the rest is as it was" {
    run -0 gguf-set a.gguf general.name=Tiny llama.context_length=256 llama.rope.freq_base=5e5
    [ "$output" = "gguf-set: a.gguf: 3 keys changed, in place" ]
    [ "$(key a.gguf general.name llama.context_length llama.rope.freq_base)" = $'Tiny\n256\n500000' ]
    [ "$(json a.gguf llama.context_length)" = '{"type":"u32","value":256}' ]
    run -1 gguf-inspect --diff m.gguf a.gguf
    [ "${#lines[@]}" -eq 3 ]
    diff <(gguf-inspect -f json m.gguf | jq -r '.keys | keys_unsorted[]') \
        <(gguf-inspect -f json a.gguf | jq -r '.keys | keys_unsorted[]')
    cmp <(weights m.gguf) <(weights a.gguf)
    # Back again, and it is the same file.
    gguf-set -q a.gguf general.name=tiny llama.context_length=128 llama.rope.freq_base=10000
    cmp m.gguf a.gguf
}

@test "every type: the limits, and what is beyond them" {
    args=()
    keys=()
    want=
    while read -r type values; do
        i=0
        for v in $values; do
            args+=("x.$type.$i:$type=$v")
            keys+=("x.$type.$i")
            want+="$v"$'\n'
            i=$((i + 1))
        done
    done <<'E'
u8 0 255
i8 -128 127
u16 65535
i16 -32768 32767
u32 4294967295
i32 -2147483648 2147483647
u64 18446744073709551615
i64 -9223372036854775808 9223372036854775807
f32 0.1 -0 3.40282e+38 nan -inf
f64 0.1 1.79769313486231e+308 inf
bool true false
str text
E
    gguf-set -q a.gguf "${args[@]}"
    diff <(key a.gguf "${keys[@]}") <(printf %s "$want")
    for bad in u8=256 u8=-1 i8=128 i8=-129 u16=65536 i16=-32769 u32=4294967296 u32=1.0 u32= u32=x u32=' 1' u32=+1 u32=0x1 \
        i32=2147483648 u64=18446744073709551616 u64=-1 i64=9223372036854775808 f32=1e39 f32=x f32= f64=1e309 f64=1x bool=2 \
        bool=yes 'u8[]=[256]' 'u8[]=[1.5]' 'u8[]=1' 'u8[]=[1' 'u8[]=[[1]]' 'str[]=[1]' 'bool[]=[2]' 'u8[][]=[1]' 'f32[]=[1e39]' \
        'i32[]={"a":1}' 'u8[]=[99999999999999999999]'; do
        run ! gguf-set a.gguf "x.bad:$bad"
        [[ ${lines[0]} == *"key 'x.bad'"* && ${#lines[@]} -eq 1 ]]
    done
}

@test "arrays, nested ones, strings with anything in them" {
    gguf-set -q a.gguf 'a:u16[]=[1,2,65535]' 'b:str[]=["x","","é\u0000"]' 'c:u8[][]=[[1],[],[2,3]]' 'd:f64[]=[0.1,"nan"]' \
        'e:bool[]=[true,false]' 'f:i32[]=[]' 'g:str=a=b:c' 'h:i:str=colons' tokenizer.ggml.eos_token_ids='[1,2]' \
        general.tags='["x"]' general.description='[not an array]'
    [ "$(json a.gguf a)" = '{"type":"arr","elem":"u16","n":3,"value":[1,2,65535]}' ]
    [ "$(json a.gguf b)" = '{"type":"arr","elem":"str","n":3,"value":["x","","é\u0000"]}' ]
    [ "$(json a.gguf c)" = '{"type":"arr","elem":"arr","n":3,"value":[[1],[],[2,3]]}' ]
    [ "$(json a.gguf d)" = '{"type":"arr","elem":"f64","n":2,"value":[0.1,"nan"]}' ]
    [ "$(json a.gguf e)" = '{"type":"arr","elem":"bool","n":2,"value":[true,false]}' ]
    [ "$(json a.gguf f)" = '{"type":"arr","elem":"i32","n":0,"value":[]}' ]
    [ "$(key a.gguf g h:i)" = $'a=b:c\ncolons' ]
    [ "$(json a.gguf tokenizer.ggml.eos_token_ids)" = '{"type":"arr","elem":"u32","n":2,"value":[1,2]}' ]
    [ "$(key a.gguf general.description)" = '[not an array]' ]
    # The type is known from what is there, even of an array of arrays.
    gguf-set -q a.gguf 'a=[7]' 'c=[[9]]' --delete b
    [ "$(json a.gguf a)" = '{"type":"arr","elem":"u16","n":1,"value":[7]}' ]
    [ "$(json a.gguf c)" = '{"type":"arr","elem":"arr","n":1,"value":[[9]]}' ]
    gguf-inspect --check a.gguf
    # One type for all new keys.
    gguf-set -q --type i8 a.gguf n.a=-1 n.b:u8=1 n.c=2
    [ "$(json a.gguf n.c)" = '{"type":"i8","value":2}' ] && [ "$(json a.gguf n.b)" = '{"type":"u8","value":1}' ]
}

@test "--delete, --rename, --from, --chat-template" {
    printf 'a template\nof {{ two }} lines\n' >t
    gguf-set -q a.gguf --chat-template t --delete llama.rope.freq_base --rename general.name=general.basename
    key a.gguf tokenizer.chat_template | head -c -1 | cmp - t
    run -1 key a.gguf llama.rope.freq_base
    [ "$(key a.gguf general.basename)" = tiny ]
    # What gguf-inspect prints can be put back, whole.
    gguf-set -q a.gguf 'x.s:str[]=["a"]' 'x.n:u64=18446744073709551615' 'x.f:f32[]=["inf",0.1]'
    gguf-inspect -f json a.gguf | jq '.keys | with_entries(select(.key | test("^x|chat_template$")))' |
        gguf-set -q --from - -o b.gguf m.gguf
    for k in x.s x.n x.f tokenizer.chat_template; do
        [ "$(json b.gguf $k)" = "$(json a.gguf $k)" ]
    done
    for bytes in ff0041 ff00 ff c3a9 ''; do
        "$tools/mkgguf" raw.gguf llama "rawk:s=raw,u32=8,u64=$((${#bytes} / 2)),x=$bytes"
        gguf-inspect -f json raw.gguf | jq '.keys | {raw}' | gguf-set -q --from - -o c.gguf m.gguf
        [ "$(json c.gguf raw)" = "$(json raw.gguf raw)" ]
        cmp <(key c.gguf raw) <(key raw.gguf raw)
    done
    echo '{"x.s": null, "x.n": 5, "general.tags": ["p", "q"], "mine": "text", "yes": true}' >j
    gguf-set -q --from j a.gguf
    [ "$(json a.gguf x.n)" = '{"type":"u64","value":5}' ] && [ "$(json a.gguf yes)" = '{"type":"bool","value":true}' ]
    run -1 key a.gguf x.s
    while IFS='|' read -r text why; do
        printf %s "$text" >bad
        fails 3 "$why" gguf-set --from bad a.gguf
    done <<'E'
|bad: line 1
[1]|bad: no object
{"x.n": "five"}|key 'x.n'
{"x.n": -1}|key 'x.n'
{"new": 5}|key 'new': a new key needs a type
{"new": {"type": "u9", "value": 1}}|there is no type 'u9'
{"new": {"type": "arr", "elem": "arr", "value": []}}|elem
{"new": {"type": "u8"}}|without type and value
{"new": {"type": "str", "value": {"base64": "a"}}}|no base64
{"a": 1, "a": 2}|duplicate
E
    echo '{"none": null}' >bad
    fails 2 "bad: " gguf-set --from bad a.gguf
    fails 1 "none: No such file" gguf-set --from none a.gguf
    fails 1 "none: No such file" gguf-set --chat-template none a.gguf
    python3 -c 'print("{\"x\":" + "[" * 100000)' >deep
    fails 3 "deep: line 1" gguf-set --from deep a.gguf
}

@test "in place as long as there is room, and no byte more is written than must be" {
    i=$(inode a.gguf)
    gguf-set -q a.gguf general.name=TINY
    [ "$(inode a.gguf)" = "$i" ]
    [ "$(cmp -l m.gguf a.gguf | wc -l)" -eq 4 ]
    # Too long for what is there: anew, and a reserve for more.
    gguf-set -q a.gguf general.description="$(printf '%0200d' 0)"
    [ "$(inode a.gguf)" != "$i" ]
    run -0 gguf-set --reserve 1K a.gguf
    [[ $output == *"written anew" ]]
    i=$(inode a.gguf)
    size=$(stat -c %s a.gguf)
    gguf-set -q a.gguf general.description="$(printf '%0900d' 0)"
    gguf-set -q a.gguf general.description=short x:str=y
    gguf-set -q a.gguf --delete general.description
    [ "$(inode a.gguf) $(stat -c %s a.gguf)" = "$i $size" ]
    cmp <(weights m.gguf) <(weights a.gguf)
    # What shrinks keeps its room, which nothing counts as the model's.
    cp m.gguf b.gguf
    gguf-set -q b.gguf --delete tokenizer.ggml.pre --delete llama.rope.freq_base
    cp b.gguf c.gguf
    gguf-set -q -o d.gguf b.gguf
    [ "$(key b.gguf general.padding | sort -u)" = 0 ]
    run -1 key d.gguf general.padding
    gguf-inspect --diff b.gguf d.gguf
    [ "$(gguf-inspect -f json b.gguf | jq .model_id)" = "$(gguf-inspect -f json d.gguf | jq .model_id)" ]
    # Nothing to do: nothing is done.
    run -0 gguf-set b.gguf general.name=tiny
    [ "$output" = "gguf-set: b.gguf: nothing changes" ]
    cmp b.gguf c.gguf
    # A file of version 2 stays one.
    "$tools/mkgguf" v.gguf llama version=2
    gguf-set -q v.gguf general.name=TINY
    [ "$(gguf-inspect -f json v.gguf | jq .shards[0].version)" = 2 ]
    # Another alignment, tensors with holes between them and something behind.
    "$tools/mkgguf" w.gguf align=8 k:x:str:abc t:a:F32:4 t:b:F32:3 tail=64 offset:b=64
    cp w.gguf y.gguf
    gguf-set -q w.gguf x=abcdefghijklmnopq
    cmp <(weights w.gguf) <(weights y.gguf)
    gguf-set -q w.gguf x=a
    cmp <(weights w.gguf) <(weights y.gguf)
    [ "$(gguf-inspect -f json w.gguf | jq .tensors[1].offset)" = 64 ]
    # No tensors at all.
    "$tools/mkgguf" n.gguf k:x:str:abc
    gguf-set -q n.gguf x=abd y:u8=1
    [ "$(key n.gguf x y)" = $'abd\n1' ]
}

@test "a file that is open is not written under its readers" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator knows no leases"
    gguf-set -q --reserve 1K a.gguf
    cp a.gguf b.gguf
    exec 7<a.gguf
    run -0 gguf-set a.gguf general.name=TINY
    [[ $output == *"written anew: some program has it open" ]]
    cmp b.gguf - <&7
    exec 7<&-
    [ "$(key a.gguf general.name)" = TINY ]
    run -0 gguf-set a.gguf general.name=tiny
    [[ $output == *"in place" ]]
}

@test "who opens a file while it is changed waits" {
    "$tools/mkgguf" a.gguf llama
    # A lease on it, as gguf-set has one.
    python3 - <<'E'
import fcntl, os, signal, subprocess, sys, time
fd = os.open("a.gguf", os.O_RDWR)
signal.signal(signal.SIGIO, signal.SIG_IGN)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError:
    sys.exit(0) # not on this file system
ps = [subprocess.Popen(c) for c in (["gguf-inspect", "--key", "general.name", "a.gguf"],
                                    ["gguf-set", "-q", "a.gguf", "general.name=other"])]
time.sleep(0.3)
assert [p.poll() for p in ps] == [None, None]
os.close(fd)
assert [p.wait() for p in ps] == [0, 0]
E
}

@test "several at once: what one says is done is there" {
    "$tools/mkgguf" a.gguf llama
    for i in 1 2 3 4 5 6 7 8; do
        { gguf-set -q a.gguf x.k$i:str=$i 2>>said && echo $i >>done; } &
    done
    wait
    gguf-inspect --check a.gguf
    [ "$(gguf-inspect -f json a.gguf | jq -r '.keys | to_entries[] | select(.key | startswith("x.")).value.value' | sort)" = "$(sort done)" ]
}

@test "an edit that was cut short: no model, until it is undone" {
    printf GGUX | dd of=a.gguf conv=notrunc status=none
    fails 3 "a.gguf: not a GGUF file, but a half edited one" gguf-inspect a.gguf
    fails 3 "a half edited one" gguf-set -n a.gguf
    # Without its hash it is no journal.
    printf 'GGUFSET1%0100d' 0 >a.gguf.gguf-set
    fails 3 "a.gguf: its a.gguf.gguf-set is of another file, or damaged" gguf-set a.gguf
}

@test "killed at any time: the old model, the new one, or one that is mended" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator takes too long"
    python3 - <<'E'
import json
json.dump({"x.%d" % i: {"type": "str", "value": "%0200d" % i} for i in range(5000)}, open("j", "w"))
E
    gguf-set -q --reserve 1K --from j a.gguf
    cp a.gguf old.gguf
    sed 's/"0/"1/g' j >k
    cp a.gguf new.gguf
    gguf-set -q --from k new.gguf
    python3 - <<'E'
import os, shutil, subprocess, time
seen, old, new = set(), open("old.gguf", "rb").read(), open("new.gguf", "rb").read()
for i in range(60):
    shutil.copyfile("old.gguf", "a.gguf")
    p = subprocess.Popen(["gguf-set", "-q", "--from", "k", "a.gguf"])
    time.sleep(0.001 * i)
    p.kill()
    p.wait()
    now = open("a.gguf", "rb").read()
    if now[:4] == b"GGUX":
        seen.add("half")
        subprocess.run(["gguf-set", "-q", "a.gguf"], check=True)
        now = open("a.gguf", "rb").read()
        assert now == old and not os.path.exists("a.gguf.gguf-set")
    seen.add("old" if now == old else "new" if now == new else "neither")
    if os.path.exists("a.gguf.gguf-set"):
        subprocess.run(["gguf-set", "-q", "a.gguf"], check=True)
        assert open("a.gguf", "rb").read() == now
        assert not os.path.exists("a.gguf.gguf-set")
print(seen)
assert "neither" not in seen and "old" in seen
E
}

@test "what would break the model is refused, or done with --force" {
    for k in general.architecture=qwen2 split.count:u16=2 llama.block_count=3 llama.embedding_length=64 \
        llama.attention.head_count=8 'tokenizer.ggml.tokens=["a"]' 'tokenizer.ggml.merges=[]'; do
        fails 2 "(--force sets it)" gguf-set a.gguf "$k"
    done
    fails 2 "(--force sets it)" gguf-set a.gguf --delete general.architecture
    fails 2 "(--force sets it)" gguf-set a.gguf --rename general.name=llama.block_count
    fails 2 "must be a string" gguf-set a.gguf general.name:u32=5
    fails 2 "must be a bool" gguf-set a.gguf tokenizer.ggml.add_bos_token:str=yes
    gguf-set -q --force a.gguf llama.attention.head_count=8 general.license:u8=1
    [ "$(key a.gguf llama.attention.head_count general.license)" = $'8\n1' ]
    # What could not be opened is not written by any means.
    fails 3 "stands twice" gguf-set --force a.gguf --rename general.name=llama.block_count
    fails 3 "stands twice" gguf-set --force a.gguf --rename general.name=x --rename general.license=x
    fails 3 "is not text" gguf-set a.gguf $'a\nb:u8=1'
    fails 3 "split" gguf-set --force a.gguf split.count:u16=2
    # The tensors move with the alignment.
    gguf-set -q a.gguf general.alignment=256 --delete general.license
    gguf-inspect --check a.gguf
    [ "$(gguf-inspect -f json a.gguf | jq -c '[.shards[0].alignment] + ([.tensors[].at % 256] | unique)')" = '[256,0]' ]
    cmp <(weights m.gguf) <(weights a.gguf)
    gguf-set -q a.gguf --delete general.alignment
    [ "$(gguf-inspect -f json a.gguf | jq .shards[0].alignment)" = 32 ]
    for bad in 0 7 33 4 4194304; do
        fails 2 "power of two" gguf-set a.gguf general.alignment=$bad
    done
    fails 2 "power of two" gguf-set --force a.gguf general.alignment:u64=64
}

@test "split models: the keys are in the first file" {
    gguf-split -q --max-tensors 7 -o s m.gguf
    cp s-00002-of-00003.gguf two
    gguf-set -q s-00003-of-00003.gguf general.name=TINY
    gguf-set -q s-00001-of-00003.gguf general.description="$(printf '%0200d' 0)"
    [ "$(key s-00002-of-00003.gguf general.name)" = TINY ]
    cmp two s-00002-of-00003.gguf
    cmp <(weights m.gguf) <(weights s-00002-of-00003.gguf)
    fails 2 "is split" gguf-set -o o.gguf s-00001-of-00003.gguf general.name=x
    fails 2 "general.architecture" gguf-set s-00001-of-00003.gguf general.architecture=x
    rm s-00002-of-00003.gguf
    fails 1 "s-00002-of-00003.gguf: No such file" gguf-set s-00001-of-00003.gguf general.name=x
}

@test "-n: old and new, and nothing is written" {
    cksum a.gguf >before
    run -0 gguf-set -n a.gguf general.name=tinz x:u8=1 --delete llama.rope.freq_base --rename general.architecture=q --force
    [ "$(head -n 4 <<<"$output")" = 'general.architecture is now q
llama.rope.freq_base: f32 10000 -> none
general.name: str "tiny" -> str "tinz"
x: none -> u8 1' ] || { echo "$output"; false; }
    [[ ${lines[4]} == "in place: "*" bytes are written" ]]
    gguf-set -n -f json a.gguf general.name=tinz x:u8=1 | jq -e '.file == "a.gguf" and .bytes > 0 and
        .changes == [{key: "general.name", old: {key: "general.name", type: "str", value: "tiny"},
            new: {key: "general.name", type: "str", value: "tinz"}},
            {key: "x", old: null, new: {key: "x", type: "u8", value: 1}}]'
    # What a terminal might obey is shown as it is written.
    run -0 gguf-set -n a.gguf $'general.name=\e[31mred'
    [[ $output == *'\x1b[31mred'* ]]
    cksum a.gguf | cmp - before
}

@test "-o, links, modes; no room, no folder: nothing is left" {
    chmod 640 a.gguf
    ln -s a.gguf link
    gguf-set -q link general.description="$(printf '%0200d' 0)"
    [ -L link ] && [ "$(stat -c %a a.gguf)" = 640 ]
    gguf-set -q -o o.gguf m.gguf general.name=Other
    [ "$(key o.gguf general.name llama.block_count)" = $'Other\n2' ]
    gguf-set -q -o o.gguf o.gguf general.name=Same
    [ "$(key o.gguf general.name)" = Same ]
    fails 1 "none/o.gguf: No such file" gguf-set -o none/o.gguf m.gguf general.name=x
    fails 1 "not a regular file" gguf-set -o /dev/null m.gguf general.name=x
    fails 1 "none.gguf: No such file" gguf-set none.gguf general.name=x
    fails 1 "o.gguf: File too large" bash -c 'ulimit -f 4; gguf-set -o o.gguf m.gguf general.name=x'
    fails 1 "a.gguf: File too large" bash -c 'ulimit -f 4; gguf-set a.gguf general.name=$(printf %0900d 0)'
    if [ "$(id -u)" -ne 0 ]; then
        chmod 400 a.gguf
        fails 1 "a.gguf: Permission denied" gguf-set a.gguf general.name=TINY
    fi
    if mkdir small && mount -t tmpfs -o size=100k none small 2>/dev/null; then
        "$tools/mkgguf" small/m.gguf llama t:big:F32:16384
        run -1 --separate-stderr gguf-set small/m.gguf general.description="$(printf '%0200d' 0)"
        [[ $stderr == *"small/m.gguf: No space left on device: "*" bytes are needed"* ]]
        [ "$(ls -A small)" = m.gguf ]
        gguf-set -q small/m.gguf general.name=TINY
        umount small
    fi
}

@test "hostile files: one line" {
    for i in 4 20 24 32 60 200 900; do
        head -c $i m.gguf >cut.gguf
        fails 3 "cut.gguf: " gguf-set cut.gguf general.name=x
    done
    "$tools/mkgguf" bad.gguf nkey=99999999 llama
    fails 3 "bad.gguf: " gguf-set bad.gguf general.name=x
    # An array of no arrays: of what type these would be it does not say.
    "$tools/mkgguf" bad.gguf k:x:u8:1 'rawk:s=y,u32=9,u32=9,u64=0'
    fails 2 "what type its arrays have is not known" gguf-set bad.gguf 'y=[]'
    gguf-set -q bad.gguf 'y:u8[]=[1]'
    echo text >text.gguf
    fails 3 "not a GGUF" gguf-set text.gguf x:u8=1
    fails 1 "" gguf-set . x:u8=1
}

@test "wrong options" {
    fails 2 "no file" gguf-set
    fails 2 "'x' is no KEY=VALUE" gguf-set a.gguf x
    fails 2 "'=5' is no KEY=VALUE" gguf-set a.gguf =5
    fails 2 "a new key needs a type" gguf-set a.gguf x=5
    fails 2 "a new key needs a type" gguf-set a.gguf x:y=5
    fails 2 "is named twice" gguf-set a.gguf x:u8=5 x:u8=6
    fails 2 "is named twice" gguf-set a.gguf general.name=x --delete general.name
    fails 2 "no key 'none'" gguf-set a.gguf --delete none
    fails 2 "no key 'none'" gguf-set a.gguf --rename none=x
    fails 2 "--rename" gguf-set a.gguf --rename none
    fails 2 "--type" gguf-set a.gguf --type u9 x=1
    fails 2 "--reserve" gguf-set a.gguf --reserve 0
    fails 2 "--reserve" gguf-set a.gguf --reserve 2G
    fails 2 "--format" gguf-set -n -f xml a.gguf
    fails 2 "exclude" gguf-set -n -o b.gguf a.gguf
}
