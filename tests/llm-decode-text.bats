#!/usr/bin/env bats
# What a text may not be, and what it must be: --ban-string, --ban-regex, the
# grammars; and log-probabilities of prompts.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 9 400 >w.gguf # windows
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

# What an answer would be, dictated by spell(), and what it is.
says() {
    local want=$1

    shift
    [ "$(prompt 25 | text "${said[@]}" "$@" m.gguf)" = "$want" ] ||
        { prompt 25 | text "${said[@]}" "$@" m.gguf; return 1; }
}

@test "--ban-string: back to the token where it began, which is another then" {
    spell $the 16 20 8 2 10 26 1 17 14 22 13 $e # "thequick brown"
    says 'thequick brown' --ban-string quilt --ban-string own.
    # The next best of what is spelled stands there instead, and each that has
    # not come comes later.
    says 'theuick brown' --ban-string q
    says 'theuqick brown' --ban-string quick
    says 'thequickbrown' --ban-string ' '
    # Where the first token has it, the first token goes.
    says 'quick brown' --ban-string he
    says 'quick brown' --ban-string the
    says 'qtheuick brown' --ban-string hequ
    # Of several.
    says 'uick rown' --ban-string the --ban-string q --ban-string b
    # One that is held back when the answer ends comes out.
    says 'thequick brown' --ban-string 'own end'
    says thequick --ban-string 'ick bro' -n 6
    fails 2 "needs a text" llm-decode --ban-string '' m.gguf
}

@test "--ban-string and --stop: the one that begins first" {
    spell $the 16 20 8 2 10 26 1 17 14 22 13 $e
    says thequick --ban-string brown --stop ' '
    says the --ban-string uick --stop qui
    says 'theuqick' --ban-string qui --stop ' '
}

@test "nothing of a banned text is shown, whatever runs beside it" {
    for s in {0..7}; do S=$s prompt 3 4 $((s + 5)); done >in
    all() { llm-decode -s 3 --temp 2 -n 60 --ignore-eos --logprobs 1 "$@" in; }
    all -f json m.gguf | jq -r 'select(.t == "tokens").text' | tr -d '\n' >free
    grep -q a free
    ban=(--ban-string a --ban-string th --ban-string 'e ' --ban-string nd)
    for m in m w; do
        all -f json "${ban[@]}" $m.gguf >want
        jq -sr '[group_by(.s)[] | map(select(.t == "tokens").text) | join("")] | .[]' want >text
        [ "$(wc -l <text)" -ge 8 ]
        run ! grep -E 'a|th|e |nd' text
        [ "$(jq -r 'select(.t == "end") | [.why, .usage.tokens] | @csv' want | sort -u)" = '"length",60' ]
        for o in "-b 3" "-b 8 --chunk 1" "-t 3"; do
            # shellcheck disable=SC2086 # words
            all -f json "${ban[@]}" $o $m.gguf | cmp - want
        done
        # In a context that is shifted, going back reaches before the shift.
        all -f json "${ban[@]}" --overflow shift -c 16 $m.gguf >want
        jq -sr '[group_by(.s)[] | map(select(.t == "tokens").text) | join("")] | .[]' want >text
        run ! grep -E 'a|th|e |nd' text
        all -f json "${ban[@]}" --overflow shift -c 16 -b 8 $m.gguf | cmp - want
    done
}

@test "a state after going back is that of the answer" {
    prompt 3 4 5 >in
    ban=(--ban-string a --ban-string th)
    llm-decode -q -s 3 --temp 2 -n 40 --ignore-eos "${ban[@]}" --kv-out kv -f json m.gguf in >out
    kv-dump -f json kv | jq -c .ids >ids
    { prompt 3 4 5; jq -c 'select(.t == "tokens")' out; } | jq -sc '[.[].ids[]][:-1]' | cmp - ids
}

@test "every way on is banned: an error, and the others go on" {
    { S=0 prompt 25; echo '{"t":"set","s":1,"ban-regex":"[^z]"}'; S=1 prompt 25; } >in
    run -3 --separate-stderr llm-decode -s 1 --suppress 25,37,38 -n 50 --ignore-eos -f json m.gguf in
    [ "$(jq -c 'select(.t == "end") | [.s, .why]' <<<"$output" | xargs)" = '[0,length] [1,error]' ]
    [[ $stderr == *"sequence 1: all tokens are ruled out"* ]]
}

@test "a way on that begins as a banned text does is found" {
    spell 0 1 2 3 4 # abcde, as far as they may be
    said+=(--ignore-eos -n 20)
    says ade --ban-string ab --regex 'abc|ade'
    says bababae --ban-regex 'aa|bb|a.{5}[cde]' --ban-regex '.{6}[cd]' --regex '[ab]{6}[cde]'
    # Also where a guess was read.
    prompt 25 | llm-spec "${said[@]}" --draft-all --ngram-min 1 --ban-string ab \
        --regex '(abc|ade)(abc|ade)(abc|ade)' m.gguf | tok-decode | grep -xF adeadeade
    # What is shown stays.
    prompt 25 >in
    run -3 --separate-stderr llm-decode --ban-string aa --regex "a{9}" m.gguf in
    [[ $stderr == *"all tokens are ruled out"* ]]
}

@test "--ban-regex" {
    spell $the 16 20 8 2 10 26 1 17 14 22 13 $e # "thequick brown"
    says 'theuickq brown' --ban-regex 'q.*k'
    says 'thequickbrown' --ban-regex '\s'
    says 'quick brown' --ban-regex 'th|zz+'
    says 'thequick brown' --ban-regex 'q[a-h]'
    fails 2 "matches the empty text" llm-decode --ban-regex 'a*' m.gguf
    fails 2 "--ban-regex: " llm-decode --ban-regex '(' m.gguf
    for p in '^b' 'b$' 'a(?=b)' 'a(?!b)'; do
        fails 2 "look-ahead are not supported" llm-decode --ban-regex "$p" m.gguf
    done
}

@test "bans of a sequence come besides those of all; stop strings in place" {
    spell $the 16 20 8 2 10 26 1 17 14 22 13 $e
    { echo '{"t":"set","ban-string":["q","b"],"ban-regex":"c."}'; prompt 25; } >in
    [ "$(text "${said[@]}" --ban-string the m.gguf in)" = 'uik rown' ]
    echo '{"t":"set","ban-string":5}' | cat - in >bad
    fails 3 "'ban-string' is no text" llm-decode m.gguf bad
    for k in stop ban-string ban-regex; do
        echo "{\"t\":\"set\",\"$k\":[\"a\",\"\"]}" | cat - in >bad
        fails 2 "sequence 0: $k: " llm-decode m.gguf bad
    done
}

@test "grammars: what is picked is what may come, and the end is where it may be" {
    for s in {0..5}; do S=$s prompt 3 4 $((s + 5)); done >in
    for b in 1 4; do
        llm-decode -s 3 --temp 2 --regex '(the|an) [a-f]{2,5}' -b $b -f json m.gguf in >out
        jq -sr '[group_by(.s)[] | map(select(.t == "tokens").text) | join("")] | .[] | select(. != "")' out >text
        [ "$(grep -cxE '(the|an) [a-f]{2,5}' text)" -eq 6 ]
        [ "$(jq -r 'select(.t == "end").why' out | sort -u)" = eos ]
    done
    echo 'root ::= "the" [abc]+ "."' >g
    prompt 3 | text -s 3 --temp 2 --grammar g -n 30 m.gguf | grep -xE 'the[abc]*\.?'
    # Its own, in place of the common one; what goes back goes back there, too.
    { echo '{"t":"set","regex":"[ab]{12}"}'; prompt 3; } >in
    text -s 3 --temp 2 --grammar g m.gguf in | grep -xE '[ab]{12}'
    { echo '{"t":"set","regex":"[abc]{40}"}'; prompt 3; } >in
    text -s 3 --temp 2 --ban-string aa --ban-string bb m.gguf in | grep -xE '[abc]{40}' >out
    run ! grep -E 'aa|bb' out
    echo 'root ::= (' >bad
    fails 3 "bad: " llm-decode --grammar bad m.gguf in
    { echo '{"t":"set","regex":"("}'; prompt 3; } >in
    fails 3 "sequence 0: regex: " llm-decode m.gguf in
}

@test "--trigger: free before it" {
    prompt 3 >in
    text -s 3 --temp 2 -n 60 --trigger 'a' --regex 'bcbc' --ignore-eos m.gguf in >out
    grep -E '^[^a]*abcbc$' out || { cat out; false; }
}

@test "--echo --logprobs: those of llm-prefill's logits" {
    prompt 3 4 5 $the 6 7 >in
    for o in "" "--chunk 1" "--chunk 4" "--kv-in kv"; do
        [ -e kv ] || llm-decode -q --kv-out kv --temp 0 -n 1 m.gguf in >none
        # shellcheck disable=SC2086 # words
        llm-decode -q -s 3 --temp 1.5 -n 3 --ignore-eos --echo --logprobs 4 -f json $o m.gguf in >out
        jq -c 'select(.t == "tokens")' out >tokens
        [ "$(jq -c '.ids' tokens | head -n 6 | tr -d '\n')" = '[3][4][5][34][6][7]' ]
        [ "$(jq -r '.text' tokens | head -n 6 | tr -d '\n')" = defthegh ]
        head -n 1 tokens | jq -e 'has("lp") or has("top") | not'
        llm-prefill --all-logits --no-kv -f json m.gguf in | jq -c 'select(.t == "logits").v' >logits
        tail -n +2 tokens | head -n 6 | paste -d '\n' - logits | jq -ne '
            [limit(6; repeat(1)) | [input, input]] | length == 6 and all(
                . as [$r, $v] | ($v | map(exp) | add | log) as $z |
                ($v | to_entries | sort_by(-.value)[:4]) as $best |
                ($r.lp[0] - $v[$r.ids[0]] + $z | fabs) < 1e-5 and
                [$r.top[0][][0]] == [$best[].key])'
        cmp out want 2>/dev/null || [ ! -e want ]
        mv out want
    done
    # Two together are those of each.
    { S=0 prompt 3 4 5; S=1 prompt 3 4 5 6; } >in
    llm-decode -s 3 -n 3 --ignore-eos --echo --logprobs 1 -f json m.gguf in >want
    llm-decode -s 3 -n 3 --ignore-eos --echo --logprobs 1 -f json -b 2 m.gguf in | cmp - want
    [ "$(jq -c 'select(.lp).s' want | wc -l)" -eq 11 ]
}
