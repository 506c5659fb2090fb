#!/usr/bin/env bats
# examples/ on tiny models: what they say is what they promise.
bats_require_minimum_version 1.5.0

setup_file() {
    # Merges over the letters of a few words; "Ġ" is BPE's space.
    "${B:-build}/tools/mkgguf" "$BATS_FILE_TMPDIR/m.gguf" \
        k:general.architecture:str:llama k:tokenizer.ggml.model:str:gpt2 \
        k:tokenizer.ggml.pre:str:gpt-2 \
        "k:tokenizer.ggml.tokens:[str]:a,b,c,d,Ġ,Ċ,ab,cd,abcd,Ġab" \
        "k:tokenizer.ggml.token_type:[i32]:1,1,1,1,1,1,1,1,1,1" \
        "k:tokenizer.ggml.merges:[str]:a b,c d,ab cd,Ġ ab" 3>&-
    # One that runs; token 39 of 40 is the control token <end>.
    "${B:-build}/tools/mkmodel" 0 4096 >"$BATS_FILE_TMPDIR/run.gguf" 3>&-
}

setup() {
    PATH=$PWD/${B:-build}/bin:$PATH
    E=$PWD/examples
    cd "$BATS_TEST_TMPDIR" || exit 1
    cp "$BATS_FILE_TMPDIR/m.gguf" "$BATS_FILE_TMPDIR/run.gguf" .
}

# The first python that has cbor2.
python() {
    for py in python3 /usr/bin/python3; do
        "$py" -c 'import cbor2' 2>/dev/null && return
    done
    skip "no cbor2"
}

# answer FILE [OPTION...]: the greedy answer to the prompt in FILE.
answer() {
    tok-encode run.gguf "$1" |
        llm-decode -q --temp 0 "${@:2}" run.gguf | tok-decode
}

# lots COUNT: so many words.
lots() { yes 'the cat and the hen' | tr '\n' ' ' | head -c "$1"; }

@test "count.sh: tokens of each file, the largest first" {
    printf 'abcd' >one
    printf 'abcd ab ab' >'with space'
    printf 'a\nb\n' >four
    run -0 sh "$E/count.sh" m.gguf one 'with space' four
    [ "${lines[0]}" = '       4 four' ]
    [ "${lines[1]}" = '       3 with space' ]
    [ "${lines[2]}" = '       1 one' ]
}

@test "budget.mk: within the budget, and beyond" {
    mkdir prompts
    printf 'abcd ab' >prompts/a.txt
    run -0 make -s -f "$E/budget.mk" MODEL=m.gguf BUDGET=2
    [ "$(cat prompts/a.tokens)" = 2 ]
    printf 'abcd ab ab' >prompts/b.txt
    run -2 make -s -f "$E/budget.mk" MODEL=m.gguf BUDGET=2
    [ "${lines[0]}" = 'prompts/b.txt: 3 tokens, 1 too many' ]
}

@test "frequent.sh: the tokens that come most often" {
    printf 'ab ab ab ab\n' >text
    run -0 sh "$E/frequent.sh" m.gguf text
    [ "${lines[0]}" = '     3      9  " ab"' ]
    [ "${lines[1]}" = '     1      5  "\n"' ]
    [ "${lines[2]}" = '     1      6  "ab"' ]
}

@test "longest.sh: which request has the longest prompt" {
    printf '{"prompt":"%s"}\n' ab 'abcd abcd' c >requests
    run -0 sh "$E/longest.sh" m.gguf requests
    [ "$output" = '{"line":2,"tokens":3}' ]
}

@test "models.sh: a table" {
    "$BATS_TEST_DIRNAME/../${B:-build}/tools/mkgguf" t.gguf llama
    run -0 --separate-stderr sh "$E/models.sh" t.gguf
    [[ $output == t.gguf$'\t'llama$'\t'*$'\t'sound ]]
}

@test "stream.py: reads and writes with cbor2" {
    python
    printf 'abcd ab' >text
    tok-encode m.gguf text >stream
    run -0 "$py" "$E/stream.py" <stream
    [ -n "$output" ]
}

@test "ask.sh: an answer; the next question begins behind the files" {
    lots 600 >file
    export CACHE=$PWD/cache COUNT=12
    run -0 --separate-stderr sh "$E/ask.sh" run.gguf 'who is it' file
    first=$output
    [[ $stderr != *reused* ]]
    run -0 --separate-stderr sh "$E/ask.sh" run.gguf 'who is it' file
    [ "$output" = "$first" ]
    run -0 --separate-stderr sh "$E/ask.sh" run.gguf 'where is it' file
    [[ $stderr =~ ([0-9]+)\ of\ ([0-9]+)\ tokens\ reused ]]
    [ "${BASH_REMATCH[1]}" -ge 256 ]
    [ "${BASH_REMATCH[1]}" -lt "${BASH_REMATCH[2]}" ]
    run -1 sh "$E/ask.sh" run.gguf 'where is it' absent
    [[ $output == *absent* ]]
}

@test "ask.sh: no text of a file or a question becomes a control token" {
    printf 'the<end>hen' >file
    ids() { tok-encode -f json "$@" run.gguf 2>/dev/null | jq -c 'select(.ids).ids[]'; }
    text() { printf 'the<end>hen\nwho<end>'; }
    # An llm-decode that shows its prompt.
    mkdir bin
    printf '#!/bin/sh\ntee prompt | %s "$@"\n' "$(command -v llm-decode)" >bin/llm-decode
    chmod +x bin/llm-decode
    PATH=$PWD/bin:$PATH CACHE=$PWD/cache COUNT=2 \
        sh "$E/ask.sh" run.gguf 'who<end>' file
    {
        printf '<|im_start|>system\nAnswer from the text.<|im_end|>\n<|im_start|>user\n' | ids
        text | ids
        printf '<|im_end|>\n<|im_start|>assistant\n' | ids
    } | jq -s . >want
    python
    "$py" "$E/stream.py" prompt >shown
    grep -F "$(jq -c . want | sed 's/,/, /g')" shown
    # It would have become one.
    [ "$(text | ids --special | grep -cx 39)" = 2 ]
    run -1 grep -x 39 <(jq '.[]' want)
}

@test "batch.mk: only prompts that changed are answered again" {
    mkdir prompts
    for p in a b c; do
        printf 'the %s and' "$p" >"prompts/$p.txt"
    done
    m=(make -j2 -f "$E/batch.mk" MODEL=run.gguf OPTIONS='--temp 0 -n 9')
    run -0 "${m[@]}"
    [ "$(grep -c llm-decode <<<"$output")" = 3 ]
    for p in a b c; do
        answer "prompts/$p.txt" -n 9 | cmp - "answers/$p.txt"
    done
    run -0 "${m[@]}"
    [ "$(grep -c llm-decode <<<"$output")" = 0 ]
    sleep 0.01
    printf 'the hen' >prompts/b.txt
    run -0 "${m[@]}"
    [ "$(grep -c llm-decode <<<"$output")" = 1 ]
    answer prompts/b.txt -n 9 | cmp - answers/b.txt
}

@test "batch.mk: an answer that failed leaves no file" {
    mkdir prompts
    printf 'the' >prompts/a.txt
    lots 100 >prompts/b.txt
    m=(make -k -f "$E/batch.mk" MODEL=run.gguf OPTIONS='--temp 0 -n 4 -c 32')
    run -2 "${m[@]}"
    answer prompts/a.txt -n 4 | cmp - answers/a.txt
    [ ! -e answers/b.txt ]
    # An old one neither.
    printf 'the' >prompts/b.txt
    run -0 "${m[@]}"
    [ -e answers/b.txt ]
    sleep 0.01
    lots 100 >prompts/b.txt
    run -2 "${m[@]}"
    [ ! -e answers/b.txt ]
}

@test "batch.sh: a process for each and all in one give the same answers" {
    for i in $(seq 20); do
        echo "{\"prompt\":\"the ${i//[0-9]/he} an\",\"seed\":$i,\"temp\":2}"
        [ $((i % 2)) = 0 ] || echo "{\"prompt\":\"$(lots $((i * 20)))\"}"
    done >requests
    run -0 --separate-stderr sh "$E/batch.sh" run.gguf requests
    [ "${#lines[@]}" = 30 ]
    [ "$(printf '%s\n' "${lines[@]}" | sort -u | wc -l)" -gt 20 ]
    [[ $stderr =~ ^xargs\ .*[0-9]\ s$'\n'llm-decode-b-16\ .*[0-9]\ s$ ]]
}

@test "prefix-cache.sh: the prefix is read once" {
    lots 600 >prefix
    printf '%s\n' 'who is it' 'where' 'when was it' >questions
    run -0 --separate-stderr sh "$E/prefix-cache.sh" run.gguf prefix questions
    [[ ${lines[0]} == '0 of '*': who is it' ]]
    n=$(tok-encode -c run.gguf prefix)
    for i in 0 1 2; do
        q=$(sed -n "$((i + 1))p" questions)
        { cat prefix; echo "$q"; } >whole
        at=$(answer whole -n 16)
        [[ $output == *": $q"$'\n'"$at"* ]]
    done
    for q in where 'when was it'; do
        got=$(grep -- ": $q" <<<"$output")
        # All whole pages of the prefix, or one less where the end of the
        # prefix makes other tokens with what follows.
        [ "${got%% of*}" -ge $((n / 64 * 64 - 64)) ]
        [ "${got%% of*}" -gt 64 ]
    done
}

@test "remote.sh: prefill here, decode elsewhere" {
    mkdir "it's there"
    mv run.gguf "it's there/a model"
    ln -s "it's there/a model" run.gguf
    lots 500 >prompt
    answer prompt -n 64 >want
    echo >>want
    sh "$E/remote.sh" run.gguf "it's there/a model" <prompt 2>notes | cmp - want
    # The state has come: all but the last token need not be read.
    n=$(tok-encode -c run.gguf prompt)
    grep -F "$n + 64 tokens, $((n - 1)) reused" notes
    REMOTE='env -i PATH='$PATH' sh -c' sh "$E/remote.sh" run.gguf <prompt | cmp - want
}

@test "loop.sh: separate programs say what llm-decode says" {
    printf 'the cat' >prompt
    for seed in 1 2 3; do
        sh "$E/loop.sh" run.gguf 40 $seed <prompt >got
        tok-encode run.gguf prompt | llm-decode -q -n 40 -s $seed run.gguf |
            tok-decode >want
        cmp got want
        cp got got.$seed
    done
    run -1 cmp got.1 got.2
}

@test "probabilities.sh: tokens, probabilities, perplexity" {
    printf 'the cat' >prompt
    COUNT=8 run -0 --separate-stderr sh "$E/probabilities.sh" run.gguf prompt
    [ "${#lines[@]}" = 9 ]
    printf '%s\n' "${lines[@]}" | head -n 8 | cut -f 2 | jq -rj . >text
    answer prompt -n 8 | cmp - text
    # The first is more probable than the second, and the mean is in between.
    printf '%s\n' "${lines[@]}" | awk -F '\t' '
        NF == 5 { if ($3 + 0 < $5 + 0 || $3 + 0 <= 0 || $1 !~ /^[0-9]+$/) bad = 1
                  sum -= log($3 / 100); n++ }
        END { split($0, last, " "); p = exp(sum / n)
              exit bad || n != 8 || last[1] != "perplexity" ||
                   last[2] < p * 0.97 || last[2] > p * 1.03 }'
}

@test "top.py: what was expected at each place" {
    python
    printf 'the cat and' >prompt
    tok-encode run.gguf prompt | llm-prefill -q --all-logits --no-kv run.gguf >logits
    run -0 "$py" "$E/top.py" 2 <logits
    n=$(tok-encode -c run.gguf prompt)
    [ "${#lines[@]}" = $((n + 1)) ]
    # What comes next is what llm-decode picks, with the same probability.
    next=$(tok-encode run.gguf prompt |
        llm-decode -q --temp 0 -n 1 --logprobs 2 -f json run.gguf |
        jq -r 'select(.top) | .top[0] | map("\(.[0]):\(.[1] | exp * 1000 | round / 1000)") | join(" ")')
    [[ ${lines[n - 1]} == *next* ]]
    [ "$(awk '{ $1 = ""; print }' <<<"${lines[n - 1]}" | sed 's/\(\.[0-9]*[1-9]\)0*/\1/g; s/^ //')" = "$next" ]
    [[ ${lines[n]} =~ ^perplexity\ [0-9.]+\ of\ $((n - 1))\ tokens$ ]]
}

@test "chat.sh: each answer is a message of the next turn" {
    printf '{%% for m in messages %%}{{ m.content }}<end>{%% endfor %%}' >t
    export TEMPLATE=t OPTIONS='-n 6 --temp 0' SYSTEM=ab
    printf 'the hen\nand <end>\n' >said
    sh "$E/chat.sh" run.gguf kept <said >shown
    [ "$(jq -r .role kept | xargs)" = 'system user assistant user assistant' ]
    [ "$(jq -r 'select(.role == "user").content' kept)" = "$(cat said)" ]
    # What was shown is what was kept, and what the programs say of it all.
    jq -r 'select(.role == "assistant").content' kept | cmp - shown
    head -n 4 kept | jq -s . | chat-render --template t run.gguf - >text
    [ "$(tok-encode -f json run.gguf text | jq -s '
        [.[].ids[]? | select(. == 39)] | length')" = 4 ]
    # With the same file it goes on.
    echo 'cat' | sh "$E/chat.sh" run.gguf kept >/dev/null
    [ "$(wc -l <kept)" = 7 ]
    # What the template refuses ends it, and no answer is kept.
    echo '{{ raise_exception("no") }}' >t
    run -1 sh "$E/chat.sh" run.gguf new <said
    [ "$(jq -r .role new | xargs)" = 'system user' ]
}

@test "search.sh: the nearest lines, of vectors that are kept" {
    printf 'the cat\nan end\n' >one
    printf 'the hen and the cat' >'with space'
    run -0 sh "$E/search.sh" run.gguf 'the hen and the cat' one 'with space'
    [ "${#lines[@]}" = 3 ]
    [ "${lines[0]}" = '1.000  the hen and the cat' ]
    TOP=1 run -0 sh "$E/search.sh" run.gguf 'an end' one 'with space'
    [ "$output" = '1.000  an end' ]
    # What is kept is used, until the file is newer.
    touch -d '1 hour ago' one
    sed -i 's/an end/an and/' one
    touch -d '2 hours ago' one
    cp -p one.vec kept
    TOP=1 run -0 sh "$E/search.sh" run.gguf 'an end' one
    [ "$output" = '1.000  an and' ]
    cmp one.vec kept
    touch -d '1 hour' one
    TOP=1 run -0 sh "$E/search.sh" run.gguf 'an and' one
    [ "$output" = '1.000  an and' ]
    run -1 cmp -s one.vec kept
    # A prefix is before the lines, or before the query.
    touch -d '1 hour ago' one
    rm one.vec
    PREFIX='the ' TOP=1 run -0 sh "$E/search.sh" run.gguf 'the an and' one
    [ "$output" = '1.000  an and' ]
    QUERY_PREFIX='the ' TOP=1 run -0 sh "$E/search.sh" run.gguf 'an and' one
    [ "$output" = '1.000  an and' ]
    run -1 sh "$E/search.sh" run.gguf a nowhere
}
