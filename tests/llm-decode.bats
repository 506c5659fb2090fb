#!/usr/bin/env bats
# llm-decode on tiny models.  What an answer is to be is often dictated: biases
# that fall from token to token, and a penalty for each that was there.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 0 128 2 >n.gguf # other weights
    mkmodel 9 400 >w.gguf   # windows
    mkgguf q.gguf llama
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

e=39 the=34 # <end>, and a token of three letters

@test "a record for each token, then one that says why it ended; no prompt" {
    spell $the 20 2 $e
    prompt 25 24 | llm-decode -f json "${said[@]}" m.gguf >out
    diff - <(tail -n +2 out) <<'END'
{"t":"tokens","s":0,"ids":[34],"text":"the"}
{"t":"tokens","s":0,"ids":[20],"text":"u"}
{"t":"tokens","s":0,"ids":[2],"text":"c"}
{"t":"end","s":0,"why":"eos","usage":{"prompt":2,"tokens":3}}
END
    head -n 1 out | jq -e '.by == "llm-decode" and (.model | has("id") and has("vocab"))'
    [ "$(prompt 25 24 | text "${said[@]}" m.gguf)" = theuc ]
    [ "$(prompt 25 24 | text --echo "${said[@]}" m.gguf)" = zytheuc ]
    # The same in the other forms.
    prompt 25 24 | llm-decode "${said[@]}" -f cbor m.gguf -o file
    llm-decode -f json "${said[@]}" -q m.gguf <(prompt 25 24) | cmp - out
    [ "$(prompt 25 24 | llm-decode -f text "${said[@]}" m.gguf)" = theuc ]
}

@test "at temperature 0 each token is the most probable one" {
    echo 'the cat and' | tr -d '\n' | tok-encode m.gguf >in
    llm-decode --temp 0 -n 40 -f json m.gguf in >out
    llm-decode --temp 0 -n 40 -f json -s 8 m.gguf in | cmp - out
    llm-decode --temp 0 -n 40 -f json --echo m.gguf in |
        llm-prefill --all-logits --no-kv -f json m.gguf |
        jq -r 'select(.t == "logits" and .pos >= 6) | .v | index(max)' | head -n 40 >best
    jq -r 'select(.t == "tokens").ids[]' out | cmp - best
}

@test "-n" {
    [ "$(prompt 25 | ends -n 0 m.gguf)" = '[length,null]' ]
    [ "$(prompt 25 | ids -n 0 m.gguf)" = '' ]
    prompt 25 | llm-decode --temp 0 -n 0 -f json m.gguf | jq -ne '[inputs] | map(.t) == [null, "end"]'
    for n in 1 2 7; do
        [ "$(prompt 25 | ids --ignore-eos -n $n m.gguf | wc -w)" -eq $n ]
        [ "$(prompt 25 | ends --ignore-eos --count $n m.gguf)" = '[length,null]' ]
    done
    # No limit.
    [ "$(prompt 25 | ids --ignore-eos --overflow stop m.gguf | wc -w)" -eq 128 ]
    fails 2 usage: llm-decode -n -2 m.gguf
    fails 2 usage: llm-decode -n x m.gguf
}

@test "stop strings across tokens, and inside them: nothing of one is written" {
    spell $the 16 20 8 2 10 26 1 17 14 22 13 $e # "thequick brown"
    says() {
        local want=$1 why=$2

        shift 2
        [ "$(prompt 25 | text "${said[@]}" "$@" m.gguf)" = "$want" ]
        [ "$(prompt 25 | ends "${said[@]}" "$@" m.gguf)" = "$why" ]
    }
    says 'thequick brown' '[eos,null]'
    says 'thequick brown' '[eos,null]' --stop quill --stop ow. --stop brownie
    says thequick '[stop, b]' --stop ' b'
    says th '[stop,equick b]' --stop 'equick b'
    says t '[stop,he]' --stop he
    says '' '[stop,t]' --stop t
    says '' '[stop,the]' --stop the
    says 'thequick br' '[stop,own]' --stop own
    says 'thequick bro' '[stop,wn]' --stop wn --stop wnx
    # Of several, the one that begins first, and of those the longest.
    says the '[stop,quick]' --stop ick --stop quick --stop k
    says '' '[stop,the]' --stop t --stop the --stop th
    says the '[stop,q]' --stop q --stop quick
    says thequ '[stop,ick]' --stop ick --stop thequicker
    # The end comes while a part is held back.
    says 'thequick brown' '[eos,null]' --stop 'own foxes'
    says 'thequick' '[length,null]' --stop 'ick b' -n 6
    says 'th' '[stop,eq]' --stop eq --stop hequickly -n 4
}

@test "the last token's text is cut, its id stays" {
    spell $the $e
    prompt 25 | llm-decode "${said[@]}" --stop e -f json m.gguf >out
    diff - <(tail -n +2 out) <<'END'
{"t":"tokens","s":0,"ids":[34],"text":"th"}
{"t":"end","s":0,"why":"stop","stop":"e","usage":{"prompt":1,"tokens":1}}
END
}

@test "tokens are held back no longer than they may become a stop string" {
    mkfifo in out
    spell 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14
    llm-decode "${said[@]}" --stop bcdx --overflow slide -f json m.gguf in >out 3>&- &
    exec 6<out 5>in
    prompt 25 >&5
    exec 5>&-
    got=
    while read -r -t 20 line <&6; do
        got+=$(jq -r '.text // empty' <<<"$line")
        [ ${#got} -lt 15 ] || break
    done
    kill -9 $!
    wait $! || true
    [ "$got" = abcdefghijklmno ]
}

@test "a stop string of the whole first token, with --logprobs: an empty answer" {
    spell 27 $e
    prompt 25 | llm-decode "${said[@]}" --stop $'\n' --logprobs 3 -f json m.gguf |
        tail -n +2 | jq -ce '[.t, .why, .stop] == ["end", "stop", "\n"]'
    prompt 25 | llm-decode "${said[@]}" --stop $'\n' --logprobs 3 m.gguf | tok-decode | cmp - /dev/null
}

@test "stop strings and bytes that are no UTF-8" {
    spell 0 37 38 1 $e # a C3 A9 b
    [ "$(prompt 25 | text "${said[@]}" m.gguf)" = aéb ]
    [ "$(prompt 25 | text "${said[@]}" --stop é m.gguf)" = a ]
    [ "$(prompt 25 | ends "${said[@]}" --stop é m.gguf)" = '[stop,é]' ]
    [ "$(prompt 25 | text "${said[@]}" --stop ê m.gguf)" = aéb ]
    prompt 25 | llm-decode "${said[@]}" --stop $'\xa9b' -f json m.gguf >out
    jq -sce '.[-1] | .stop64 == "qWI=" and .why == "stop"' out
    [ "$(jq -r 'select(.t == "tokens").ids[]' out | xargs)" = '0 37' ]
    prompt 25 | llm-decode "${said[@]}" --stop $'\xa9b' m.gguf | llm-decode -n 0 -f json m.gguf >none
}

@test "each answer has its own part of a stop string" {
    spell 0 1 2 $e
    { S=0 prompt 25; S=1 prompt 25; S=2 prompt 25; } >in
    for b in 1 3; do
        [ "$(ends "${said[@]}" --stop bcd --stop cab -b $b m.gguf in)" = '[eos,null] [eos,null] [eos,null]' ]
        [ "$(text "${said[@]}" --stop bcd --stop cab -b $b m.gguf in | tr -d '\n')" = abcabcabc ]
    done
    fails 2 "needs a text" llm-decode --stop '' m.gguf
}

@test "eos, and --ignore-eos" {
    always=(--temp 0 --logit-bias $e=50)
    [ "$(prompt 25 | ends "${always[@]}" m.gguf)" = '[eos,null]' ]
    [ "$(prompt 25 | ids "${always[@]}" m.gguf)" = '' ]
    run -0 ids "${always[@]}" --ignore-eos -n 50 m.gguf <<<"$(prompt 25)"
    [ "$(wc -w <<<"$output")" -eq 50 ]
    [[ " $output " != *" $e "* ]]
    { echo '{"t":"set","ignore-eos":true,"count":5}'; prompt 25; } >in
    [ "$(ids "${always[@]}" m.gguf in | wc -w)" -eq 5 ]
}

@test "the seed decides; one that is not asked for is recorded, and reproduces" {
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -s 5 m.gguf >a
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -s 5 m.gguf | cmp - a
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -s 6 m.gguf >b
    run ! cmp -s a b
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -f json m.gguf >a
    seed=$(jq 'select(.t == "set").seed' a)
    jq -se 'map(.t) | index("set") < index("tokens")' a
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -f json -s "$seed" m.gguf >b
    cmp <(grep '"text' a) <(grep '"text' b)
    prompt 25 3 | llm-decode --temp 2 -n 30 --ignore-eos -f json -s -1 m.gguf | grep '"text' >b
    run ! cmp -s <(grep '"text' a) b
    # Nothing is drawn here.
    prompt 25 3 | llm-decode --temp 0 -n 3 -f json m.gguf | jq -se 'all(.t != "set")'
}

@test "a draw depends on the sequence's number, but with a seed of its own not" {
    { S=0 prompt 25; S=1 prompt 25; } >in
    llm-decode -f json -s 5 --temp 2 -n 20 --ignore-eos m.gguf in >out
    for s in 0 1; do
        jq -c "select(.s == $s and .t == \"tokens\").ids" out >$s
    done
    run ! cmp -s 0 1
    { S=7 prompt 25; echo '{"t":"set","s":3,"seed":5}'; S=3 prompt 25; } >in
    llm-decode -f json -s 9 --temp 2 -n 20 --ignore-eos m.gguf in >out
    jq -c 'select(.s == 3 and .t == "tokens").ids' out | cmp - 0
    # Its record comes out again, once.
    [ "$(jq -c 'select(.s == 3 and .t == "set").seed' out)" = 5 ]
}

@test "requests with options of their own; a wrong one fails by name, alone" {
    cat >requests <<'END'
{"prompt": "the cat", "count": 3, "temp": 0, "id": "first"}
{"prompt": "an ant", "n": 2, "seed": 7, "top-k": 3, "id": [1]}
{"prompt": "x", "stop": ["b", "c"], "logit-bias": {"0": 50, "1": 49}, "temp": 0, "presence-penalty": 20}
{"prompt": "x", "top_k": 3}
{"prompt": "x", "stop": null, "logit-bias": null, "seed": null, "temp": 0, "count": 2, "top-p": null, "grammar": null, "logprobs": null}
{"prompt": "x", "seed": -1, "count": -1, "stop": "the", "logit-bias": {"34": 99}}
{"prompt": "x", "temp": "hot"}
{"prompt": "x", "count": 1, "temp": 0, "logprobs": 1}
END
    tok-encode -J m.gguf requests >in
    for b in 1 3; do
        run -4 --separate-stderr llm-decode -b $b -f json m.gguf in
        [[ ${stderr_lines[0]} == "llm-decode: sequence 3: "*"option 'top_k' is not known" ]]
        [[ ${stderr_lines[1]} == "llm-decode: sequence 6: "*"temp is not a number" ]]
        [ "${#stderr_lines[@]}" -eq 2 ]
        diff - <(jq -rc 'select(.t == "end") | [.why, .stop, .usage.tokens]' <<<"$output") <<'END'
["length",null,3]
["length",null,2]
["stop","b",2]
["error",null,0]
["length",null,2]
["stop","the",1]
["error",null,0]
["length",null,1]
END
        [ "$(jq -c 'select(.t == "set" and has("id")).id' <<<"$output" | xargs)" = 'first [1]' ]
        [ "$(jq -c 'select(.t == "error") | [.s, .code]' <<<"$output" | xargs)" = '[3,unsupported] [6,format]' ]
        jq -se 'any(.s == 7 and .t == "tokens" and (.top[0] | length) == 1)' <<<"$output"
    done
    printf '{"prompt": "x", "stop": %s, "count": 1}\n' 5 '[1]' '""' '{}' >requests
    run -3 --separate-stderr llm-decode -f json m.gguf <(tok-encode -J m.gguf requests)
    [ "$(jq -c 'select(.t == "end").why' <<<"$output" | xargs)" = 'error error error error' ]
}

@test "options: the file's recommendation, the command line, the sequence" {
    mkgguf r.gguf llama k:general.sampling.temp:f32:0
    prompt 1 | llm-decode -n 20 -f json r.gguf | jq -se 'all(.t != "set")'
    prompt 1 | llm-decode -n 20 --temp 1 -f json r.gguf | jq -se 'any(.t == "set")'
    { echo '{"t":"set","temp":0}'; prompt 1; } | llm-decode -n 20 --temp 1 -f json r.gguf |
        jq -se 'all(.t != "set" or .seed == null)'
}

@test "--logprobs: those of llm-prefill's logits" {
    prompt 3 4 5 | llm-decode -s 3 --temp 1.5 -n 20 --ignore-eos --logprobs 4 -f json m.gguf >out
    prompt 3 4 5 | llm-decode -s 3 --temp 1.5 -n 20 --ignore-eos --echo m.gguf |
        llm-prefill --all-logits --no-kv -f json m.gguf |
        jq -c 'select(.t == "logits" and .pos >= 2).v' | head -n 20 >logits
    jq -c 'select(.t == "tokens")' out | paste -d '\n' logits - | jq -ne '
        [limit(20; repeat(1)) | [input, input]] | length == 20 and all(
            . as [$v, $r] | ($v | map(exp) | add | log) as $z |
            ($v | to_entries | sort_by(-.value)[:4]) as $best |
            ($r.lp[0] - $v[$r.ids[0]] + $z | fabs) < 1e-5 and
            ($r.top[0] | length) == 4 and
            [$r.top[0][][0]] == [$best[].key] and
            all(range(4); . as $i | $r.top[0][$i][1] - $best[$i].value + $z | fabs < 1e-5))'
    prompt 3 4 5 | llm-decode -s 3 --temp 1.5 -n 20 --ignore-eos --logprobs 0 -f json m.gguf |
        jq -c 'select(.t == "tokens") | [.lp, .top]' | cmp - <(jq -c 'select(.t == "tokens") | [.lp, null]' out)
    fails 2 usage: llm-decode --logprobs -2 m.gguf
    fails 2 usage: llm-decode --logprobs 5000 m.gguf
}

@test "batches: the same in order; without, the same records of each sequence" {
    for s in {0..20}; do
        [ $((s % 4)) -ne 0 ] || echo '{"t":"set","s":'$s',"count":'$((s / 2))'}'
        S=$s prompt 3 4 $((s + 2)) $((s % 5))
    done >in
    many() { llm-decode -s 4 --temp 1.5 -n 15 --logprobs 1 --stop an "$@" m.gguf in; }
    many -f cbor >want
    for b in 2 8 64; do
        many -b $b -f cbor | cmp - want
    done
    many -f json | jq -sc 'group_by(.s)[]' >want
    many -f json -b 8 --unordered >mixed
    jq -sc 'group_by(.s)[]' mixed | cmp - want
    # They are mixed.
    [ "$(jq -c 'select(.t == "tokens").s' mixed | uniq | wc -l)" -gt 21 ]
    for b in 0 -1 x 2000; do
        fails 2 usage: llm-decode -b $b m.gguf
    done
}

@test "--unordered: tokens go out while an earlier sequence is not done" {
    mkfifo in out
    llm-decode --unordered -b 2 --temp 0 --overflow slide -f json m.gguf in >out 3>&- &
    exec 6<out 5>in
    { S=0 prompt 25; S=1 prompt 24; } >&5
    exec 5>&-
    seen=
    while read -r -t 20 line <&6; do
        s=$(jq -r 'select(.t == "tokens").s' <<<"$line")
        [[ $seen == *$s* ]] || seen+=$s
        [ ${#seen} -lt 2 ] || break
    done
    kill -9 $!
    wait $! || true
    [ "$seen" = 01 ]
}

@test "an answer begins before the next prompt has come" {
    mkfifo in out
    llm-decode -n 2 --ignore-eos --temp 0 -f json m.gguf in >out 3>&- &
    exec 6<out 5>in
    read -r -t 20 line <&6
    for s in 0 1; do
        S=$s prompt 25 >&5
        echo '{"t":"end","s":'$s',"why":"input"}' >&5
        for want in tokens tokens end; do
            read -r -t 20 line <&6
            [ "$(jq -r '.t + (.s | tostring)' <<<"$line")" = $want$s ]
        done
    done
    exec 5>&-
    run ! read -r -t 20 line <&6
    wait $!
}

@test "a sequence that fails leaves the others alone" {
    { S=0 prompt 25; S=1; prompt; S=2 prompt 99; S=3 prompt 24; } >in
    echo '{"t":"error","s":4,"code":"io","msg":"no more"}' >>in
    S=5 prompt $(for i in {1..129}; do echo 1; done) >>in
    S=6 prompt 23 >>in
    for b in 1 4; do
        run -6 --separate-stderr llm-decode -n 3 --ignore-eos -b $b -f json m.gguf in
        diff - <(jq -c 'select(.t == "end") | [.s, .why]' <<<"$output") <<'END'
[0,"length"]
[1,"error"]
[2,"error"]
[3,"length"]
[4,"error"]
[5,"error"]
[6,"length"]
END
        [ "${#stderr_lines[@]}" -eq 4 ]
        [[ $stderr == *"sequence 1: there are no tokens"* ]]
        [[ $stderr == *"sequence 2: token 99 is none of the model's 40"* ]]
        [[ $stderr == *"sequence 4: no more"* ]]
        [[ $stderr == *"sequence 5: the prompt's 129 tokens are more than the context of 128"* ]]
    done
    prompt 4294967295 >in
    fails 3 "token 4294967295 is none" llm-decode m.gguf in
}

@test "a full context: an error, an end, a shift, no end at all" {
    prompt $(seq 20) >in
    how() { llm-decode -s 1 --ignore-eos -c 32 -f json "$@" m.gguf in; }
    run -6 --separate-stderr how
    [[ $stderr == *"sequence 0: the context of 32 tokens is full" ]]
    [ "$(jq -c 'select(.t == "end") | [.why, .usage.tokens]' <<<"$output")" = '["error",13]' ]
    jq -c 'select(.t == "tokens")' <<<"$output" >first
    run -0 --separate-stderr how --overflow stop
    [ "$(jq -c 'select(.t == "end") | [.why, .usage.tokens]' <<<"$output")" = '["context",13]' ]
    jq -c 'select(.t == "tokens")' <<<"$output" | cmp - first
    run -6 how --overflow stop --strict
    for o in shift slide; do
        how --overflow $o -n 150 >out
        [ "$(grep -c '"text' out)" -eq 150 ]
        tail -n 1 out | jq -e '.why == "length"'
        grep '"text' out | head -n 13 | cmp - first
        how --overflow $o -n 150 --strict >/dev/null
    done
    fails 2 "overflow" llm-decode --overflow wrap m.gguf
}

@test "--overflow shift: what is read again, and --keep" {
    prompt $(seq 20) | llm-decode -s 1 --temp 0 --ignore-eos -c 32 --overflow shift --keep 4 -n 16 -f json m.gguf >out
    mapfile -t answer < <(jq 'select(.t == "tokens").ids[0]' out)
    # 20 + 13 tokens are one too many: 4 stay, and the newer half of 28.
    all=($(seq 20) "${answer[@]:0:13}")
    [ "$(prompt "${all[@]:0:4}" "${all[@]:19}" | ids --temp 0 --ignore-eos -n 3 m.gguf)" = "${answer[*]:13:3}" ]
    fails 2 usage: llm-decode --keep -1 m.gguf
    # As much as there is, and more.
    for k in 15 16 31 32 99; do
        [ "$(prompt $(seq 20) | ids --ignore-eos -c 32 --overflow shift --keep $k -n 50 m.gguf | wc -w)" -eq 50 ]
    done
    for c in 1 2 3; do
        [ "$(prompt 1 | ids --ignore-eos -c $c --overflow shift -n 9 m.gguf | wc -w)" -eq 9 ]
        [ "$(prompt 1 | ids --ignore-eos -c $c --overflow slide -n 9 m.gguf | wc -w)" -eq 9 ]
    done
}

@test "prompts as long as the context, and longer" {
    prompt $(seq 20) >in
    run -6 --separate-stderr llm-decode -c 20 --ignore-eos -f json m.gguf in
    [ "$(jq -c 'select(.t == "end") | [.why, .usage.tokens]' <<<"$output")" = '["error",1]' ]
    [ "$(ends -c 20 --ignore-eos --overflow stop m.gguf in)" = '[context,null]' ]
    run -0 llm-decode -c 20 --ignore-eos -n 1 m.gguf in
    for o in error stop; do
        fails 6 "20 tokens are more than the context of 19" llm-decode -c 19 --overflow $o m.gguf in
    done
    [ "$(ids -c 10 --overflow shift --ignore-eos -n 20 m.gguf in | wc -w)" -eq 20 ]
    [ "$(ids -c 10 --overflow slide --ignore-eos -n 20 m.gguf in | wc -w)" -eq 20 ]
    fails 2 usage: llm-decode -c 0 m.gguf in
}

@test "a number that comes again, and options behind the tokens" {
    prompt 1 >in
    echo '{"t":"end","s":0,"why":"input"}' >>in
    cat in in >twice
    for o in "-b 1" "-b 4" "-b 4 --unordered"; do
        # shellcheck disable=SC2086 # words
        [ "$(ids --temp 0 -n 2 --ignore-eos $o m.gguf in in)" = "$(ids --temp 0 -n 2 --ignore-eos $o m.gguf twice)" ]
    done
    { prompt 1; echo '{"t":"set","count":1}'; } >in
    [ "$(ids --ignore-eos -n 5 m.gguf in | wc -w)" -eq 1 ]
}

@test "other options" {
    prompt 1 2 >in
    llm-decode --temp 0 -n 3 -f json m.gguf in >want
    llm-decode --temp 0 -n 3 -f json --device cpu -t 3 --chunk 1 m.gguf in | cmp - want
    fails 4 "no device 'gpu'" llm-decode --device gpu m.gguf in
    fails 2 usage: llm-decode --chunk 0 m.gguf in
    fails 2 usage: llm-decode -t 100000 m.gguf in
    fails 2 usage: llm-decode --threads-batch 100000 m.gguf in
    prompt $(some 40) >long
    llm-decode --temp 0 -n 3 -f json -t 1 m.gguf long >want2
    run -0 --separate-stderr llm-decode -v --temp 0 -n 3 -f json -t 2 --threads-batch 5 m.gguf long
    cmp want2 <<<"$output"
    [[ $stderr == *" 2 threads (5 for prompts), "* ]]
    run -0 --separate-stderr llm-decode -v --temp 0 -n 3 -f json -t 5 --threads-batch 2 m.gguf long
    cmp want2 <<<"$output"
    fails 2 usage: llm-decode -f xml m.gguf in
    run -0 --separate-stderr llm-decode -v --temp 0 -n 3 -f json m.gguf in
    cmp want <<<"$output"
    [[ $stderr == *"sequence 0: length; 2 + 3 tokens, 0 reused; "*" threads, "*"MB packed"* ]]
    run -0 --separate-stderr llm-decode --help
    [[ $output == *"--logit-bias"* ]]
}
