#!/usr/bin/env bats
# llm-score on tiny models.  tests/data/score.json has values of transformers.
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
    mkgguf q.gguf llama     # another vocabulary
    mkgguf bos.gguf llama k:tokenizer.ggml.add_bos_token:bool:1
}

setup() {
    data=$BATS_TEST_DIRNAME/data
    tiny=$BATS_TEST_DIRNAME/../../shared/oracle/tiny
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

# Sequences of several lengths.
some_prompts() {
    local s

    for s in 0 1 2 3 4; do
        S=$s prompt $(some $((3 + s * s * 30)))
    done
}

# The value of the last record.
total() { jq -s "last | $1"; }

# X and Y are as near as that.
near() { jq -ne "($1) - ($2) | fabs < $3"; }

@test "log-probabilities are those of the logits, and of llm-decode" {
    prompt $(some 70) >in
    llm-score -f json m.gguf in >out
    [ "$(jq -r '.t // "header"' out | xargs)" = "header tokens tokens score end score" ]
    jq -se '.[1].ids == [0] and (.[1] | has("lp") | not) and (.[2].ids | length) == 69 and
        .[3].s == 0 and .[3].tokens == 70 and .[3].scored == 69 and
        .[4].usage.tokens == 70 and .[4].why == "input" and (.[5] | has("s") | not) and
        .[5].sequences == 1 and .[3].ppl == .[5].ppl' out
    llm-prefill --kv-type f32 --all-logits --no-kv -f json m.gguf in >logits
    jq -se --slurpfile l logits '
        ([.[] | select(.t == "tokens").ids[]]) as $ids |
        [$l[] | select(.t == "logits").v] as $v |
        [range(1; $ids | length) as $i | $v[$i - 1] |
            .[$ids[$i]] - (map(exp) | add | log)] as $want |
        ([.[] | select(.t == "tokens").lp // [] | .[]]) as $lp |
        (.[] | select(.t == "score" and .s == 0)) as $score |
        ([range($want | length) | $want[.] - $lp[.] | fabs] | max) < 1e-5 and
        ($score.nll + ($want | add / length) | fabs) < 1e-6 and
        ($score.lp - ($want | add) | fabs) < 1e-4 and
        ($score.ppl - ($score.nll | exp) | fabs) < 1e-9 and
        ($score.bits_per_byte + $score.lp / (2 | log) / $score.bytes | fabs) < 1e-9' out
    # The same bits, also of the most probable tokens.
    jq -c '. + {count: 0}' in >in0
    llm-decode --kv-type f32 --echo --logprobs 3 -n 0 -f json m.gguf in |
        jq -c 'select(.lp) | .ids[0] as $i | [$i, .lp[0], .top[0]]' >want
    llm-score --logprobs 3 -f json m.gguf in |
        jq -c 'select(.lp and .ids) | . as $r | range(.ids | length) |
            [$r.ids[.], $r.lp[.], $r.top[.]]' | cmp - want
}

@test "standard errors, quantiles: by the numbers themselves" {
    prompt $(some 100) >in
    llm-score --against n.gguf -f json m.gguf in >out
    llm-score -f json n.gguf in | jq -c 'select(.lp and .ids).lp[]' >base
    jq -se --slurpfile b base '
        def mean: add / length;
        def se: mean as $m | (map((. - $m) * (. - $m)) | add / (length - 1) / length | sqrt);
        def at($p): sort | ($p * (length - 1)) as $x | ($x | floor) as $i |
            .[$i] + ($x - $i) * ((.[$i + 1] // .[$i]) - .[$i]);
        def is($x): . - $x | fabs < 1e-6;
        [.[] | select(.t == "tokens" and .lp).lp[]] as $lp |
        [range($lp | length) | ($lp[.] | exp) - ($b[.] | exp)] as $dp |
        [range($lp | length) | $b[.] - $lp[.]] as $ratio |
        last |
        (.nll | is(- ($lp | mean))) and (.nll_se | is($lp | se)) and
        (.ppl_se | is(($lp | se) * ($lp | mean | - . | exp))) and
        (.base_ppl | is($b | mean | - . | exp)) and
        (.dp | is($dp | mean)) and (.dp_se | is($dp | se)) and
        (.dp_p25 | is($dp | at(0.25))) and (.dp_median | is($dp | at(0.5))) and
        (.dp_p99 | is($dp | at(0.99))) and (.dp_min | is($dp | min)) and
        (.dp_max | is($dp | max)) and
        (.dp_rms | is($dp | map(. * .) | mean | sqrt)) and
        (.ln_ppl_ratio | is($ratio | mean)) and (.ln_ppl_ratio_se | is($ratio | se)) and
        (.ppl_ratio | is($ratio | mean | exp))' out
}

@test "--against: divergence by all logits" {
    prompt $(some 60) >in
    for x in m n; do
        llm-prefill --kv-type f32 --all-logits --no-kv -f json $x.gguf in |
            jq -c 'select(.t == "logits").v' >$x.logits
    done
    llm-score --against n.gguf -f json m.gguf in | total . >got
    jq -ne --slurpfile p n.logits --slurpfile q m.logits --slurpfile s got '
        def lp: (map(exp) | add | log) as $z | map(. - $z);
        [range(59) as $i | ($p[$i] | lp) as $a | ($q[$i] | lp) as $b |
            [range($a | length) | ($a[.] | exp) * ($a[.] - $b[.])] | add] as $kl |
        [range(59) as $i | ($p[$i] | index(max)) == ($q[$i] | index(max)) | if . then 1 else 0 end]
            as $same |
        ($s[0].kl - ($kl | add / length) | fabs) < 1e-6 and
        ($s[0].kl_max - ($kl | max) | fabs) < 1e-6 and
        ($s[0].top1 - ($same | add / length) | fabs) < 1e-9'
    # A model is not far from itself.
    llm-score --against m.gguf -f json m.gguf in | total . |
        jq -e '.kl == 0 and .top1 == 1 and .dp_rms == 0 and .ppl_ratio == 1'
    fails 3 "its tokens are not those of m.gguf" llm-score --against q.gguf m.gguf in
    fails 1 "nowhere: " llm-score --against nowhere m.gguf in
}

@test "batch, chunks, threads and neighbours change no byte" {
    some_prompts >in
    for m in m w; do
        llm-score --logprobs 2 -c 64 $m.gguf in >want
        for o in "-b 1" "-b 3 --chunk 7" "-b 20 --chunk 37" "-t 3" "-t 1 --threads-batch 3"; do
            # shellcheck disable=SC2086 # a list
            llm-score --logprobs 2 -c 64 $o $m.gguf in | cmp - want
        done
        jq -c 'select(.s == 3)' in | llm-score -c 64 -f json $m.gguf | grep '"s":3' >alone
        llm-score -c 64 -f json $m.gguf in | grep '"s":3' | cmp - alone
    done
    # Streams after each other, and from CBOR.
    split -n l/2 in part.
    llm-score -c 64 -f json m.gguf in | total . >want
    llm-score -c 64 -f json m.gguf part.aa part.ab | total . | cmp - want
    llm-score -c 64 m.gguf in | llm-score -c 64 -f json m.gguf | total . | cmp - want
}

@test "windows: each is scored as if it were alone" {
    prompt $(some 100) >in
    llm-score -c 40 --stride 15 -f json m.gguf in | jq -c 'select(.lp and .ids).lp[]' >got
    ids=($(some 100))
    {
        prompt "${ids[@]:0:40}" | llm-score -f json m.gguf | jq -c 'select(.lp and .ids).lp[]'
        for ((end = 55; end <= 100; end += 15)); do
            prompt "${ids[@]:end-40:40}" | llm-score -f json m.gguf |
                jq -c 'select(.lp and .ids).lp[]' | tail -n 15
        done
    } >want
    [ "$(wc -l <want)" -eq 99 ]
    cmp got want
    # The default is half of one; a last one that is shorter still has all of its context.
    llm-score -c 40 -f json m.gguf in >half
    llm-score -c 40 --stride 20 -f json m.gguf in | cmp - half
    [ "$(llm-score -c 40 --stride 40 -f json m.gguf in | total .scored)" -eq 97 ]
    # --skip.
    llm-score -c 50 --stride 50 --skip 26 -f json m.gguf in | jq -c 'select(.lp and .ids).lp[]' >got
    for s in 0 50; do
        prompt "${ids[@]:s:50}" | llm-score -f json m.gguf |
            jq -c 'select(.lp and .ids).lp[]' | tail -n 24
    done | cmp - got
}

@test "windows of a model with BOS begin with it" {
    printf 'abcabbc%.0s' {1..20} | tok-encode -f json bos.gguf >in
    mapfile -t ids < <(jq 'select(.t == "tokens").ids[]' in)
    n=${#ids[@]}
    [ "$n" -gt 40 ]
    [ "${ids[0]}" -eq 5 ]
    llm-score -c 16 --stride 15 -f json bos.gguf in | jq -c 'select(.lp and .ids).lp[]' >got
    [ "$(wc -l <got)" -eq $((n - 1)) ]
    prompt 5 "${ids[@]:16:15}" | llm-score -f json bos.gguf |
        jq -c 'select(.lp and .ids).lp[]' | cmp - <(sed -n 16,30p got)
    # With less of a stride, there is as much less of the text before.
    llm-score -c 16 --stride 5 -f json bos.gguf in | jq -c 'select(.lp and .ids).lp[]' >got
    prompt 5 "${ids[@]:6:15}" | llm-score -f json bos.gguf |
        jq -c 'select(.lp and .ids).lp[]' | tail -n 5 | cmp - <(sed -n 16,20p got)
    # Without BOS in front, there is none in between.
    printf 'abcabbc%.0s' {1..20} | tok-encode --no-bos -f json bos.gguf | jq -c 'select(.t == "tokens")' >in
    llm-score -c 16 --stride 16 -f json bos.gguf in >out
    [ "$(total .scored <out)" -eq $(((n - 1) - (n - 1 + 15) / 16)) ]
    fails 6 "leaves no room" llm-score -c 1 bos.gguf <(prompt 5 1 2)
}

@test "--save and --base: the same numbers, and a bound" {
    some_prompts >in
    llm-score -c 64 --against n.gguf -f json m.gguf in | total . >exact
    llm-score -c 64 --save-top 1000 --save run n.gguf in >none
    llm-score -c 64 -f json n.gguf in >want
    llm-score -c 64 --save run2 -f json n.gguf in | cmp - want # it says the same
    llm-score -f json --base run m.gguf </dev/null | total . >got
    jq -ne --slurpfile a exact --slurpfile b got '
        $a[0] as $a | $b[0] as $b | ($a | keys) == ($b | keys) and
        ([$a | keys[] | select($a[.] != $b[.]) | select($a[.] - $b[.] | fabs > 1e-6)] == [])'
    # Fewer are kept: never more than that, and the more the nearer.
    last=0
    for k in 1 4 16 39; do
        llm-score -c 64 --save-top $k --save part n.gguf in >none
        llm-score -f json --base part m.gguf | total . >got
        jq -e --argjson k $k '.kl_kept == $k' got
        jq -ne --slurpfile a exact --slurpfile b got --argjson last "$last" '
            $b[0].kl >= $last and $b[0].kl <= $a[0].kl + 1e-6 and
            ($b[0].kl_estimate - $a[0].kl | fabs) < 0.02 and
            $b[0].top1 == $a[0].top1 and $b[0].ppl == $a[0].ppl and $b[0].dp == $a[0].dp'
        last=$(jq .kl got)
    done
    for o in "-b 1" "-b 3 --chunk 7 -t 3"; do
        # shellcheck disable=SC2086 # a list
        llm-score $o -f json --base part m.gguf | total . | cmp - got
    done
    # It is a stream.
    tok-decode run >a
    tok-decode part | cmp - a
    [ "$(tok-decode run2 | wc -c)" -gt 100 ]
    # As JSON, and of the model itself.
    llm-score --base run -f json --logprobs -1 n.gguf | total '.kl < 1e-6 and .top1 == 1' | grep -x true
}

@test "runs that are broken" {
    prompt $(some 90) >in
    llm-score --save run --save-top 8 m.gguf in >none
    fails 2 "the run says which" llm-score --base run m.gguf in
    fails 2 "the run says which" llm-score --base run --stride 3 m.gguf
    fails 2 "--base excludes" llm-score --base run --against n.gguf m.gguf
    fails 3 "the vocabulary of another model" llm-score --base run q.gguf
    fails 6 "windows of" llm-score -c 20 --base run m.gguf
    fails 3 "nothing is kept of its tokens" llm-score --base in m.gguf
    for n in 30 200 1000 $(($(stat -c %s run) - 3)); do
        head -c "$n" run >cut
        fails 3 cut: llm-score --base cut m.gguf
    done
    # Another program's hands.
    python=
    for py in python3 /usr/bin/python3; do
        "$py" -c 'import cbor2' 2>/dev/null && python=$py
    done
    [ -n "$python" ] || skip "no cbor2"
    "$python" - run <<'END'
import sys, cbor2
f = open(sys.argv[1], "rb")
records = []
while True:
    try:
        records.append(cbor2.load(f))
    except EOFError:
        break
def write(name, change):
    with open(name, "wb") as out:
        for r in records:
            r = r if not isinstance(r, dict) or r.get("t") != "kept" else change(dict(r))
            if r:
                out.write(cbor2.dumps(r))
write("none.run", lambda r: None)
write("pos.run", lambda r: r | {"pos": r["pos"] + 50})
write("n.run", lambda r: r | {"n": r["n"] - 1})
write("big.run", lambda r: r | {"n": 10 ** 9})
write("k.run", lambda r: r | {"k": 10 ** 8})
write("z.run", lambda r: r | {"z": r["z"][:-8]})
write("bits.run", lambda r: r | {"z": b"\x28\xb5\x2f\xfd" + b"\x00" * 40})
write("lack.run", lambda r: {k: v for k, v in r.items() if k != "context"})
write("stride.run", lambda r: r | {"stride": r["context"] + 1})
END
    for x in none pos n big k z bits lack stride; do
        run -3 --separate-stderr llm-score --base $x.run m.gguf
        [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$x: $stderr"; return 1; }
    done
    # What was there stays when something goes wrong.
    cp run old
    prompt 1 2 99 | run -3 llm-score --save run m.gguf
    cmp run old
    fails 1 "not a regular file" llm-score --save /dev/null m.gguf in
    [ "$(find . -name 'run.*' | wc -l)" -eq 0 ]
}

@test "-J: continuations, by what their tokens are worth" {
    cat >in <<'END'
{"prompt":"abcabc","continuations":["abc","cb","a"],"id":"x"}
{"prompt":"abcabc","continuation":"abc"}

{"prompt":"abcabc","continuations":["cb","abc"],"answer":1}
END
    llm-score -J -f json m.gguf in >out
    [ "$(jq -r '.t // "header"' out | xargs)" = "header choice end choice end choice end score" ]
    jq -se '.[1].id == "x" and .[1].s == 0 and .[3].s == 1 and .[5].answer == 1 and
        .[1].lp[0] == .[3].lp[0] and .[1].lp[0] == .[5].lp[1] and .[1].lp[1] == .[5].lp[0] and
        .[1].tokens == [3, 2, 1] and
        ([range(3) as $i | .[1].mean[$i] - .[1].lp[$i] / .[1].tokens[$i] | fabs] | max) < 1e-9 and
        .[1].norm == .[1].mean and
        (. as $r | .[1].order == ([0, 1, 2] | sort_by(- $r[1].lp[.]))) and
        (. as $r | .[1].order_mean == ([0, 1, 2] | sort_by(- $r[1].mean[.]))) and
        .[1].pick == .[1].order[0] and .[5].right == (.[5].pick == 1) and
        .[7].requests == 3 and .[7].questions == 1 and .[7].scored == 14' out
    # The same as in a stream.
    printf abcabcabc | tok-encode --no-bos m.gguf >tokens
    llm-score -f json m.gguf tokens | jq -s '[.[] | select(.lp and .ids).lp[]] | .[-3:] | add' >want
    near "$(cat want)" "$(jq -s '.[1].lp[0]' out)" 1e-6
    for o in "-b 1" "-b 2 --chunk 3" "-t 3"; do
        # shellcheck disable=SC2086 # a list
        llm-score -J -f json $o m.gguf in | cmp - out
    done
    llm-score -J -f text m.gguf in >text
    [ "$(head -n 3 text | cut -f 1 | xargs)" = "0 1 2" ]
    grep -qP '^2\t[01]:-[0-9.]+\t[01]:-[0-9.]+\t(right|wrong)$' text
}

@test "-J: a long context is read once, whatever windows there are" {
    long=$(printf 'abcabbc%.0s' {1..14})
    jq -nc --arg p "$long" '{prompt: $p, continuations: ["abc", "ba", "abcc", "b"]}' >in
    for m in m w; do
        llm-score -J -f json $m.gguf in >out
        for i in 0 1 2 3; do
            jq -c "{prompt, continuation: .continuations[$i]}" in |
                llm-score -J -f json $m.gguf | jq -s '.[1].lp[0]' >want
            jq -s ".[1].lp[$i]" out | cmp - want
        done
    done
}

@test "-J: HellaSwag, MMLU, ARC" {
    cat >in <<'END'
{"ind":7,"ctx":"abc [title] ab","endings":["b [step] c","a","ab","c"],"label":"1"}
{"ind":8,"activity_label":"c","ctx_a":"abc.","ctx_b":"ab","ctx":"x","endings":["b","a"],"label":1}
{"question":"abc","subject":"a_b","choices":["a","b","c","ab"],"answer":2}
{"question":"abc","choices":{"text":["a","b","c"],"label":["1","2","3"]},"answerKey":"3","id":"arc"}
{"question":{"stem":"abc","choices":[{"text":"a","label":"A"},{"text":"b","label":"B"}]},"answerKey":"B"}
{"input":"abc","A":"a","B":"b","C":"c","target":"A"}
{"question":"abc","choices":["a","b"],"answer":""}
END
    cat >same <<'END'
{"prompt":"abc. ab","continuations":[" b c"," a"," ab"," c"]}
{"prompt":"c: abc. Ab","continuations":[" b"," a"]}
{"prompt":"Question: abc\nAnswer:","continuations":[" a"," b"," c"," ab"]}
{"prompt":"Question: abc\nAnswer:","continuations":[" a"," b"," c"]}
{"prompt":"Question: abc\nAnswer:","continuations":[" a"," b"]}
{"prompt":"Question: abc\nAnswer:","continuations":[" a"," b"," c"]}
{"prompt":"Question: abc\nAnswer:","continuations":[" a"," b"]}
END
    llm-score -J -f json m.gguf in | jq -c 'select(.t == "choice")' >out
    jq -c .lp out | cmp - <(llm-score -J -f json m.gguf same | jq -c 'select(.t == "choice").lp')
    [ "$(jq -c .answer out | xargs)" = "1 1 2 2 1 0 null" ]
    [ "$(jq -c .id out | xargs)" = "7 8 null arc null null null" ]
    # By characters, without the space.
    head -n 1 out | jq -e '. as $r | [3, 1, 2, 1] as $n |
        [range(4) | $r.norm[.] * $n[.] - $r.lp[.] | fabs] | max < 1e-6'
    # Letters.
    sed -n '3p;4p' in | llm-score -J --letters -f json m.gguf | jq -c 'select(.t == "choice").lp' >got
    cat >same <<'END'
{"prompt":"The following are multiple choice questions (with answers) about a b.\n\nabc\nA. a\nB. b\nC. c\nD. ab\nAnswer:","continuations":[" A"," B"," C"," D"]}
{"prompt":"The following are multiple choice questions (with answers).\n\nabc\nA. a\nB. b\nC. c\nAnswer:","continuations":[" A"," B"," C"]}
END
    llm-score -J -f json m.gguf same | jq -c 'select(.t == "choice").lp' | cmp - got
}

@test "accuracy, with an interval" {
    # Twenty questions, of which so many are right as are made right.
    echo '{"prompt":"abc","continuations":["a","b"]}' | llm-score -J -f json m.gguf |
        jq -s '.[1].pick' >pick
    for ((i = 0; i < 20; i++)); do
        jq -nc --argjson p "$(cat pick)" --argjson i $i '{prompt: "abc", continuations: ["a", "b"],
            answer: (if $i < 13 then $p else 1 - $p end)}'
    done >in
    llm-score -J -f json m.gguf in | total . >got
    # Wilson's interval of 13 of 20.
    jq -e '.acc == 0.65 and .questions == 20 and (.acc_low - 0.432854 | fabs) < 1e-5 and
        (.acc_high - 0.818808 | fabs) < 1e-5 and .acc_norm == 0.65' got
}

@test "requests that are wrong" {
    bad() {
        echo "$2" >in
        fails 3 "$1" llm-score -J m.gguf in
    }
    bad "in: line 1: column" '{"prompt":'
    bad "it is no object" '[]'
    bad "neither" '{}'
    bad "neither" '{"question":3}'
    bad '"continuations" is not a list of texts' '{"prompt":"a","continuations":[]}'
    bad '"continuations" is not a list of texts' '{"prompt":"a","continuations":[3]}'
    bad '"continuations" is not a list of texts' '{"prompt":"a","continuation":[[]]}'
    bad '"prompt" is not a text' '{"prompt":3,"continuation":"b"}'
    bad '"endings" is not' '{"ctx":"a","endings":{}}'
    bad '"ctx" is not' '{"endings":["a"]}'
    bad '"choices" is not' '{"question":"a","choices":{"text":["a"],"label":[]}}'
    bad 'no "choices"' '{"question":"a"}'
    bad 'none of the 2 choices' '{"question":"a","choices":["a","b"],"answer":2}'
    bad 'none of the 2 choices' '{"question":"a","choices":["a","b"],"answer":"C"}'
    bad 'none of the 2 choices' '{"question":"a","choices":["a","b"],"answer":-1}'
    bad 'no tokens to score' '{"prompt":"a","continuation":""}'
    jq -nc '{prompt: "a", continuations: [range(1025) | "b"]}' >in
    fails 3 'not a list of texts' llm-score -J m.gguf in
    # One that is too long, among others.
    jq -nc '{prompt: ("abc" * 100), continuations: ["a", "b"]}, {prompt: "a", continuation: "b"}' >in
    run -6 --separate-stderr llm-score -J -f json m.gguf in
    [[ $stderr == *"sequence 0: "*"more than the context of 128" ]]
    printf '%s\n' "${lines[@]}" | jq -se '.[1].t == "error" and .[2].why == "error" and
        .[3].t == "choice" and .[5].requests == 1'
}

@test "sequences that are wrong, among others" {
    { S=0 prompt 1 2; S=1 prompt 1 99; S=2 prompt; S=3 prompt 5; S=4 prompt 3 4 5; } >in
    run -3 --separate-stderr llm-score -f json m.gguf in
    [[ $stderr == *"sequence 1: token 99"*"sequence 2: there are no tokens"* ]]
    printf '%s\n' "${lines[@]}" >out
    jq -se 'last | .sequences == 3 and .scored == 3 and .tokens == 6' out
    jq -se '[.[] | select(.t == "error").s] == [1, 2]' out
    jq -se '.[] | select(.t == "score" and .s == 3) | .scored == 0 and (has("ppl") | not)' out
    echo '{"t":"tokens","s":0,"ids":[1,2,3]' >cut
    fails 3 "cut: record 1" llm-score m.gguf cut
    tok-encode q.gguf <<<abc >other
    fails 3 "other: record 1" llm-score m.gguf other
    fails 1 "nowhere: " llm-score m.gguf nowhere
    for o in "--stride 200" "--stride -1" "--skip -1" "-b 0" "--chunk 0" "--logprobs 2000" \
        "--save-top 0" "--letters" "-J --against n.gguf" "-J --skip 2" "-J --save x" "-J --imatrix x" "--imatrix x --skip 2" \
        "--imatrix x --save y"; do
        # shellcheck disable=SC2086 # a list
        run -2 llm-score $o m.gguf in
    done
}

@test "-f text" {
    prompt 3 4 5 >in
    llm-score -f text m.gguf in >out
    [ "$(wc -l <out)" -eq 8 ]
    grep -qE '^sequence 0: 2 of 3 tokens$' out
    grep -qE '^all 1 sequences: 2 of 3 tokens$' out
    ppl=$(llm-score -f json m.gguf in | total .ppl)
    grep -qF "  perplexity    $(printf %.4f "$ppl") +- " out
    llm-score -f text --logprobs 1 m.gguf in | head -n 3 >out
    [ "$(cut -f 1-3 out | xargs)" = "0 0 3 0 1 4 0 2 5" ]
    [ "$(head -n 1 out | cut -f 4)" = - ]
    [ "$(cut -f 5 out | xargs)" = 'd e f' ]
    llm-score -f text --against n.gguf m.gguf in | grep -q '^  KL  '
}

@test "what comes with a sequence passes through; the run is whole" {
    echo '{"t":"set","s":4,"id":"mine"}' >in
    S=4 prompt 3 4 5 >>in
    echo '{"t":"note","s":4,"x":1}' >>in
    llm-score -f json m.gguf in >out
    [ "$(jq -r '.t // "header"' out | xargs)" = "header set note tokens tokens score end score" ]
    jq -se '.[1].id == "mine" and .[2].x == 1 and .[3].s == 4' out
}

# NAME's values in a GGUF of little tensors.
values() {
    python3 - "$1" "$2" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
at = 24
def take(f):
    global at
    v = struct.unpack_from("<" + f, data, at)
    at += struct.calcsize("<" + f)
    return v[0]
def string():
    n = take("Q")
    return bytes(take("B") for _ in range(n)).decode()
def value(t):
    if t == 8:
        return string()
    if t == 9:
        e, n = take("I"), take("Q")
        return [value(e) for _ in range(n)]
    return take("BbHhIif?".replace("?", "B")[t] if t < 8 else "QqdBB"[t - 10])
ntensor, nkey = struct.unpack_from("<QQ", data, 8)
keys = {}
for _ in range(nkey):
    k = string()
    keys[k] = value(take("I"))
tensors = {}
for _ in range(ntensor):
    name, ne = string(), 1
    for _ in range(take("I")):
        ne *= take("Q")
    take("I")
    tensors[name] = (ne, take("Q"))
at = (at + 31) // 32 * 32
if sys.argv[2] in keys:
    print(keys[sys.argv[2]])
else:
    n, off = tensors[sys.argv[2]]
    print(*struct.unpack_from(f"<{n}f", data, at + off))
END
}

@test "--imatrix: sums of squares, the same in each case" {
    some_prompts >in
    for m in m w; do
        llm-score -c 32 --imatrix want $m.gguf in >none
        llm-score -c 32 --stride 32 -f json $m.gguf in >plain
        llm-score -c 32 --imatrix got -f json $m.gguf in | cmp - plain # it says the same
        for o in "-t 1" "-t 3 --chunk 7" "--chunk 2" "-b 4 --chunk 1"; do
            # shellcheck disable=SC2086 # a list
            llm-score -c 32 $o --imatrix got $m.gguf in >none
            cmp want got
        done
        [ "$(values want general.type) $(values want imatrix.datasets)" = "imatrix ['in']" ]
        [ "$(values want imatrix.chunk_size)" -eq 32 ]
        # All tokens but the last of each window, of every tensor.
        n=$(jq -s '[.[] | (.ids | length) as $n | $n - ($n / 32 | ceil)] | add' in)
        for t in 0.attn_q 0.attn_k 1.attn_v 1.attn_output; do
            [ "$(values want blk.$t.weight.counts)" = "$n.0" ]
        done
    done
    # What the first product is of: normed embeddings, whose squares' sum is known where weights
    # are one; here that of a token alone, twice as often.
    prompt 7 7 >one
    prompt 7 9 >two
    llm-score --imatrix a m.gguf one >none
    llm-score --imatrix b m.gguf two >none
    [ "$(values a blk.0.attn_q.weight.in_sum2)" = "$(values b blk.0.attn_q.weight.in_sum2)" ]
    [ "$(values a blk.0.attn_q.weight.in_sum2)" = "$(values a blk.0.attn_v.weight.in_sum2)" ]
    { S=0 prompt 7 7; S=1 prompt 7 7; } | llm-score --imatrix c m.gguf >none
    paste <(values a blk.2.ffn_down.weight.in_sum2 | tr ' ' '\n') \
        <(values c blk.2.ffn_down.weight.in_sum2 | tr ' ' '\n') |
        awk '{ if ($2 != 2 * $1) exit 1 } END { if (NR != 48) exit 1 }'
    cp a old
    prompt 1 99 | run -3 llm-score --imatrix a m.gguf
    cmp a old
}

@test "--imatrix: experts, each by itself" {
    kind=$(mkmodel | awk '/moe/ { print $1; exit }')
    mkmodel "$kind" >e.gguf
    some_prompts >in
    llm-score -c 32 --imatrix want e.gguf in >none
    for o in "-t 1" "-t 3 --chunk 7" "--chunk 1"; do
        # shellcheck disable=SC2086 # a list
        llm-score -c 32 $o --imatrix got e.gguf in >none
        cmp want got
    done
    counts=$(values want blk.1.ffn_down_exps.weight.counts)
    [ "$counts" = "$(values want blk.1.ffn_up_exps.weight.counts)" ]
    used=$(gguf-inspect -f json e.gguf |
        jq '.keys | to_entries[] | select(.key | endswith("expert_used_count")).value.value')
    all=$(values want blk.1.attn_q.weight.counts)
    [ "$(tr ' ' '\n' <<<"$counts" | awk '{ s += $1 } END { print s }')" -eq $((used * ${all%.0})) ]
}

@test "golden values: tiny models by transformers" {
    [ -d "$tiny" ] || skip "no ../shared"
    n=0
    while read -r name nll; do
        jq -c '{t: "tokens", s: 0, ids: .tokens}' "$tiny/$name/tokens.json" |
            llm-score -f json --logprobs 0 "$tiny/$name/model.gguf" >out
        near "$(total .nll <out)" "$nll" 1e-5
        jq -se --argjson w "$(jq -c --arg n "$name" '.[$n].lp' "$data/score.json")" '
            [.[] | select(.lp and .ids).lp[]] as $lp |
            ([range($w | length) | $w[.] - $lp[.] | fabs] | max) < 1e-4' out
        n=$((n + 1))
    done < <(jq -r 'to_entries[] | select(.value | type == "object") | "\(.key) \(.value.nll)"' "$data/score.json")
    [ "$n" -ge 20 ]
}
