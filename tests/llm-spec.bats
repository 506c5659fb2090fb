#!/usr/bin/env bats
# llm-spec on tiny models: what it writes is what llm-decode writes, whoever
# guesses.  --draft-all runs guesses where they do not pay, as with models that
# are as small as these they may not.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    local s many

    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 0 128 2 >n.gguf # other weights
    mkmodel 9 400 >w.gguf   # windows
    mkgguf q.gguf llama     # another vocabulary
    # Prompts that repeat, of a page and more.
    many="0 1 2 3 4 5"
    [[ -z ${EMULATOR:-} ]] || many="0 1 2"
    for s in $many; do
        S=$s prompt $(some $((s * 13 + 3))) $(some $((s * 13 + 3)))
    done >in
    echo 'the cat and the dog and the cat and the hen' | tr -d '\n' | tok-encode m.gguf >text
    # Drafters: a good one, a random one, and those that nobody should have.
    cat >twice <<'END'
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    if r.get("t") == "tokens":
        print(json.dumps({"t": "tokens", "s": r["s"], "ids": [r["ids"][-1]] * 3}), flush=True)
END
    cat >random <<'END'
import json, random, sys
random.seed(7)
for line in sys.stdin:
    r = json.loads(line)
    if r.get("t") == "tokens":
        ids = [random.choice([random.randrange(40), 39, 4294967295, 2**31, 40]) for _ in range(random.randrange(100))]
        print(json.dumps({"t": "tokens", "s": r["s"], "ids": ids}), flush=True)
END
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/* .
}

# The same bytes from both, with these options, of the model $1 and in, before
# what --stats adds; what llm-spec said is in said.
same() {
    local m=$1

    shift
    llm-decode -q -f cbor "${with[@]}" $m.gguf "$in" >want 2>err || [ $? -eq 6 ]
    sed -i s/llm-decode/llm-spec/ want
    llm-spec -q -f cbor --draft-all --stats "${with[@]}" "$@" $m.gguf "$in" >got 2>said || [ $? -eq 6 ]
    grep -q "gain" said || { cat said; return 1; }
    [ "$(wc -c <got)" -gt "$(wc -c <want)" ]
    cmp <(tail -c +60 want) <(head -c "$(wc -c <want)" got | tail -c +60) || { echo "$m ${with[*]} $*"; return 1; }
}

drafters=("--ngram-min 1" "--no-ngram --corpus text" "--no-ngram --draft m.gguf" "--no-ngram --draft n.gguf"
    "--draft n.gguf --corpus text --ngram-min 3" "--no-ngram --draft q.gguf")
two=("--ngram-min 1" "--no-ngram --draft n.gguf")
# An emulator takes ten times as long.
[[ -z ${EMULATOR:-} ]] || drafters=("${two[0]}") two=("${two[1]}")

@test "--stats: a record at the end, and a table" {
    { S=0 prompt $(some 30); S=1 prompt 7 7 7 7; } >one
    llm-spec -q --temp 0 -n 40 --ignore-eos --draft-all --stats --corpus text -f json m.gguf one >got 2>said
    [ "$(jq -r '.t // empty' got | tail -n 1)" = drafts ]
    [ "$(grep -c '"drafts"' got)" -eq 1 ]
    jq -se '(map(select(.t == "end").usage.tokens) | add) as $n | last |
        (has("s") | not) and (.drafters | map(.name) == ["ngram", "text"]) and
        all(.drafters[]; (.run | length) == (.right | length) and .used <= .offers and .seconds >= 0 and
            (. as $d | all(range(.run | length); $d.right[.] <= $d.run[.] and $d.run[.] > 0))) and
        .drafted <= .steps and .steps <= $n and .tokens <= $n and
        (.drafters | map(.run | add // 0) | add) > 0 and
        .seconds > 0 and .drafting >= 0 and .gain > 0 and (.step_ms | length) >= 1' got
    # What is said is the same.
    jq -r 'select(.t == "drafts").drafters[] | "\(.name): \(.offers) offers, \(.used) used; \(.right | add // 0) of \(.run | add // 0) guesses right"' got |
        while read -r line; do grep -qF "drafter $line" said || { echo "$line"; return 1; }; done
    # It is passed on, and no text.
    llm-spec -q --temp 0 -n 40 --ignore-eos --draft-all --corpus text m.gguf one | tok-decode >want
    tok-decode <got | cmp - want
    llm-spec -q --temp 0 -n 40 --ignore-eos --draft-all --corpus text --stats m.gguf one 2>said | tok-decode | cmp - want
    # No sequence of whoever reads the stream.
    local with
    for with in "llm-decode -q -n 1 --ignore-eos" "llm-prefill --no-kv" llm-score llm-embed; do
        run -0 --separate-stderr $with -f json m.gguf got
        [ -z "$stderr" ]
        cmp <(grep '"drafts"' got) <(grep '"drafts"' <<<"$output")
        jq -c 'select(.t == "end").s' <<<"$output" | sort | xargs | grep -x "0 1"
    done
}

@test "greedy and sampled, with each drafter, alone and together" {
    in=in
    for d in "${drafters[@]}"; do
        for with in "--temp 0" "--temp 1.1 -s 7"; do
            # shellcheck disable=SC2206 # words
            with=($with -n 40 --ignore-eos --logprobs 2)
            # shellcheck disable=SC2086 # words
            same m $d
            # shellcheck disable=SC2086 # words
            same m $d -b 4
        done
    done
    # More together than guesses are made for.
    jq -c 'range(12) as $i | .s += 6 * $i' in >many
    in=many with=(-n 20 --ignore-eos --temp 1.1 -s 7)
    same m --ngram-min 1 -b 72
    same m --ngram-min 1 -b 20
    # They did guess, and a model that is the same is always right.
    with=(-n 40 --ignore-eos --temp 1.1 -s 7)
    head -n 2 in >two
    in=two
    same m --no-ngram --draft m.gguf
    grep -E 'drafter model: .* \(100 %\)' said
    in=in
    same m --ngram-min 1
    grep -E 'drafter ngram: .* [1-9][0-9]* of [0-9]+ guesses right' said
}

@test "windows, contexts that shift and slide, chunks and threads" {
    in=in
    for d in "${two[@]}"; do
        for o in "" "-c 50 --overflow shift" "-c 50 --overflow shift --keep 3" "-c 50 --overflow slide" "-c 80 --overflow stop" "-c 80 --overflow error" "-c 3 --overflow shift"; do
            # shellcheck disable=SC2206 # words
            with=(-n 60 --temp 0.9 -s 4 --ignore-eos $o)
            # shellcheck disable=SC2086 # words
            same w $d
            # shellcheck disable=SC2086 # words
            same m $d -b 3 --chunk 1 -t 3
        done
    done
}

@test "-n, stop strings, end tokens, bans and grammars" {
    in=in
    for o in "-n 0" "-n 1" "-n 2" "-n 3 --draft-max 1" "--stop a --stop he -n 50" "-n 50" "-n 50 --ban-string a --ban-string th" \
        "-n 50 --ban-regex [a-f]{2}" "--regex ((a|the)[ab]){9}" "-n 40 --repeat-penalty 1.2 --presence-penalty 1" \
        "-n 40 --mirostat 2" "-n 40 --dry-multiplier 1"; do
        # shellcheck disable=SC2206 # words
        with=(-s 3 --temp 1.2 $o)
        [[ $o != *draft-max* ]] || with=(-s 3 -n 3)
        for d in "${drafters[@]:0:3}"; do
            # shellcheck disable=SC2086 # words
            same m $d
        done
        same m --ngram-min 1 --draft-min 4 -b 4
    done
    # What is forced comes from guesses, too.
    with=(-s 3 --regex '(the cat and ){6}')
    same m --ngram-min 1
    [ "$(sed -n 's/.* \([0-9]*\) of [0-9]* guesses right.*/\1/p' said)" -gt 20 ]
}

@test "states" {
    head -n 3 in | tail -n 1 >one
    in=one
    for m in m w; do
        for o in "-n 37" "-n 60 --stop the" "--ban-string a -n 30"; do
            # shellcheck disable=SC2206 # words
            with=(-s 3 --temp 1.2 $o --kv-out kv)
            same $m --ngram-min 1
            cp kv spec.kv
            # shellcheck disable=SC2086 # words
            llm-decode -q -s 3 --temp 1.2 $o --kv-out kv $m.gguf one >none
            kv-dump --diff kv spec.kv
        done
    done
}

@test "a process: its guesses, none, and what nobody should write" {
    in=in
    with=(-n 30 --temp 1.1 -s 7 --ignore-eos)
    same m --no-ngram --draft-cmd "python3 twice" --draft-wait 5000
    grep -E 'drafter process: [1-9]' said
    same m --no-ngram --draft-cmd "python3 random" --draft-wait 5000 -b 3
    run ! grep 'left out' said
    same m --draft-cmd "cat" --draft-wait 100
    for cmd in true false 'exit 3' 'echo {' 'echo hello' 'yes' 'head -c 100000 /dev/urandom' 'cat >/dev/null; exit' \
        'exec 0<&-; sleep 100' "yes '{\"t\":\"tokens\",\"ids\":[1]}'" 'printf "{\"t\":\"tok"; sleep 100' 'kill -9 $$' \
        'echo "{\"t\":\"error\",\"msg\":\"no\"}"; sleep 100' '/nonesuch/program 2>/dev/null'; do
        same m --no-ngram --draft-cmd "$cmd 2>/dev/null" --draft-wait 20
    done
    same m --draft-cmd 'echo "{\"t\":\"error\",\"msg\":\"no\"}"; sleep 100' --draft-wait 1000
    grep "drafter process: it says: no; left out from here on" said
    same m --draft-cmd "exit 3" --draft-wait 1000
    grep "drafter process: .*; left out from here on" said
}

@test "a process reads a stream, from the header to the ends" {
    llm-spec -q --no-ngram --draft-all --draft-cmd 'tee read | jq -c --unbuffered "select(.t == \"tokens\") | {t, s, ids: []}"' -n 3 -s 1 \
        --ignore-eos m.gguf text -f json >out
    until_true grep -q '"end"' read
    head -n 1 read | jq -e '.llm == 1 and (.model | has("path") and has("vocab"))'
    # All but the last, after which nothing is guessed.
    llm-decode -q -n 0 --echo -f json m.gguf text >asked
    [ "$(jq -sc '[.[] | select(.t == "tokens").ids] | add' read)" = "$(cat asked out | jq -sc '[.[] | select(.t == "tokens").ids] | add[:-1]')" ]
    jq -se 'map(select(.t == "tokens")) | length == 2' read
    tok-decode read | head -c 7 | grep 'the cat'
}

@test "it dies with its reader, and the process with it" {
    llm-spec -q --no-ngram --draft-cmd 'echo $$ >pid; exec sleep 1000' -n 5 --temp 0 m.gguf text >out
    until_true test -s pid
    run ! kill -0 "$(cat pid)"
    rm pid
    llm-spec -q --no-ngram --draft-cmd 'echo $$ >pid; exec sleep 1000' --overflow slide --ignore-eos m.gguf text >/dev/null 3>&- &
    until_true test -s pid
    kill -9 $!
    wait $! || true
    gone() { ! kill -0 "$(cat pid)" 2>/dev/null; }
    until_true gone
}

@test "a corpus: text, tokens, none" {
    in=text
    with=(--temp 0 -n 30 --ignore-eos)
    llm-decode -q "${with[@]}" -f json m.gguf text >answer.json
    tail -n +2 answer.json | cat <(head -n 1 answer.json) - >tokens
    same m --no-ngram --corpus tokens
    grep -E 'drafter tokens: .* [1-9][0-9]* of' said
    tok-decode tokens >words
    same m --no-ngram --corpus words --corpus tokens
    : >empty
    same m --corpus empty
    fails 1 nonesuch llm-spec --corpus nonesuch m.gguf text
    tok-encode q.gguf <<<abc >other
    fails 3 vocab llm-spec --corpus other m.gguf text
}

@test "options" {
    fails 2 --draft-max llm-spec --draft-max 16 m.gguf text
    fails 2 --draft-min llm-spec --draft-min 0 m.gguf text
    fails 2 --draft-min llm-spec --draft-min 4 --draft-max 3 m.gguf text
    fails 2 --ngram-min llm-spec --ngram-min 0 m.gguf text
    fails 2 --draft-wait llm-spec --draft-wait -1 m.gguf text
    fails 1 nonesuch llm-spec --draft ./nonesuch m.gguf text
    fails 2 missing llm-spec
    # Without --draft-all, whatever it finds to pay.
    in=in with=(-n 60 --temp 0.9 -s 4 --ignore-eos --logprobs 1)
    llm-decode -q "${with[@]}" -f json m.gguf in | tail -n +2 >want
    for o in "" "-b 4" "--draft m.gguf" "--draft-max 0" "--draft-max 3 --draft-min 3"; do
        # shellcheck disable=SC2086 # words
        llm-spec -q "${with[@]}" -f json $o m.gguf in | tail -n +2 | cmp - want
    done
}
