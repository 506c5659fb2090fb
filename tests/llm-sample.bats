#!/usr/bin/env bats
# llm-sample on streams written by hand.
bats_require_minimum_version 1.5.0

setup() {
    PATH=$PWD/${B:-build}/bin:$PATH
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# Logits of sequence $1 at position $2.
logits() {
    printf '{"t":"logits","s":%s,"pos":%s,"v":[%s]}\n' "$1" "$2" "$3"
}

# The ids that llm-sample draws, of sequence $S if it is set.
ids() {
    llm-sample -f json "$@" |
        jq -r "select(.t == \"tokens\" and (${S:-.s} == .s)).ids[]" | xargs
}

# Fails with status $1 and one line that has the words $2; the rest runs.
fails() {
    local st=$1 words=$2

    shift 2
    run -"$st" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || [ "$st" -eq 2 ] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

@test "a token for each record of logits; tokens that came are not repeated" {
    {
        echo '{"llm":1,"by":"hand","model":{"path":"m.gguf"}}'
        echo '{"t":"tokens","ids":[7,8],"text":"prompt"}'
        logits 0 1 1,2,3
        logits 0 2 3,2,1
    } >in
    llm-sample --temp 0 -f json in >out
    diff - out <<'END'
{"by":"hand","llm":1,"model":{"path":"m.gguf"}}
{"t":"tokens","s":0,"ids":[2]}
{"t":"tokens","s":0,"ids":[0]}
END
    llm-sample --temp 0 -f cbor in | llm-sample -f json | cmp - <(head -n 1 out)
}

@test "what is not known passes, byte for byte" {
    echo '{"t":"later","s":3,"x":[1,{"y":null}]}' |
        llm-sample -f cbor >a
    llm-sample -f cbor <a | cmp - a
    llm-sample -f json <a | grep -qx '{"t":"later","s":3,"x":\[1,{"y":null}\]}'
}

@test "-n, and the end of a prompt" {
    { logits 0 0 1,2; logits 0 1 1,2; logits 0 2 1,2; } >in
    echo '{"t":"end","s":0,"why":"input","usage":{"tokens":1}}' >>in
    llm-sample --temp 0 -n 2 -f json in >out
    diff - out <<'END'
{"t":"tokens","s":0,"ids":[1]}
{"t":"tokens","s":0,"ids":[1]}
{"t":"end","s":0,"why":"length","usage":{"tokens":2}}
END
    llm-sample --temp 0 -f json in | tail -n 1 >out
    diff - out <<<'{"t":"end","s":0,"why":"length","usage":{"tokens":3}}'
    run -0 llm-sample --temp 0 -n 0 -f json in
    [ "$output" = '{"t":"end","s":0,"why":"length","usage":{"tokens":0}}' ]
    # A number may be used again after the end that came.
    cat in in >twice
    [ "$(llm-sample --temp 0 -n 2 -f json twice | grep -c '"end"')" -eq 2 ]
}

@test "an end that is not of the prompt passes, but never a second one" {
    { logits 0 0 1,2; echo '{"t":"end","s":0,"why":"context"}'; } >in
    llm-sample --temp 0 -f json in | tail -n 1 | grep -qx '{"t":"end","s":0,"why":"context"}'
    [ "$(llm-sample --temp 0 -n 1 -f json in | grep '"end"')" = \
        '{"t":"end","s":0,"why":"length","usage":{"tokens":1}}' ]
}

@test "eos: from the command line, from the stream; never with --ignore-eos" {
    { logits 0 0 1,2,0; logits 0 1 1,2,3; logits 0 2 3,2,1; } >in
    llm-sample --temp 0 --eos 5,2 -f json in >out
    diff - out <<'END'
{"t":"tokens","s":0,"ids":[1]}
{"t":"end","s":0,"why":"eos","usage":{"tokens":1}}
END
    { echo '{"t":"set","eog":[2,900]}'; cat in; } >set
    llm-sample --temp 0 -f json set | tail -n 2 | cmp - out
    [ "$(ids --temp 0 --eos 7 set)" = "1 2 0" ]
    [ "$(ids --temp 0 --ignore-eos set)" = "1 1 0" ]
    { echo '{"t":"set","eog":[2],"ignore-eos":true}'; cat in; } >set
    [ "$(ids --temp 0 set)" = "1 1 0" ]
    { echo '{"t":"set","suppress":[1,77]}'; cat in; } >set
    [ "$(ids --temp 0 set)" = "0 2 0" ]
}

@test "a seed draws the same again; another one otherwise" {
    for p in {0..63}; do logits 0 "$p" 1,1,1,1,1,1,1,1; done >in
    ids -s 1 in >a
    ids -s 1 in >b
    cmp a b
    ids -s 2 in >b
    run ! cmp -s a b
    # The position decides, not what was drawn before.
    [ "$(tail -n 5 in | ids -s 1)" = "$(tr ' ' '\n' <a | tail -n 5 | xargs)" ]
}

@test "the seed is recorded, and printed with -v; what is printed reproduces" {
    for p in {0..63}; do logits 0 "$p" 1,1,1,1,1,1,1,1; done >in
    run -0 --separate-stderr llm-sample -v -f json in
    seed=${stderr##* }
    [ "$stderr" = "llm-sample: seed $seed" ]
    [ "${lines[0]}" = '{"t":"set","s":0,"seed":'"$seed"'}' ]
    printf '%s\n' "${lines[@]}" >a
    llm-sample -s "$seed" -f json in | cmp - a
    # A random one is another each time.
    llm-sample -f json in >b
    run ! cmp -s a b
    # Nothing is drawn at temperature 0.
    run -0 --separate-stderr llm-sample --temp 0 -f json in
    [[ $output != *seed* ]]
    [ -z "$stderr" ]
}

@test "a sequence's own seed: the same wherever it stands" {
    draws() {
        echo '{"t":"set","s":'"$1"',"seed":5}'
        for p in {0..63}; do logits "$1" "$p" 1,1,1,1,1,1,1,1; done
    }
    draws 0 | ids >a
    draws 3 | ids -s 9 | cmp - a
    draws 3 | llm-sample -f json | grep -c '"seed"' | grep -qx 1
    # Without one, sequences differ.
    draws 0 | grep -v set >in
    draws 1 | grep -v set >>in
    S=0 ids -s 1 in >a
    S=1 ids -s 1 in >b
    run ! cmp -s a b
    # -1 and null are none.
    sed '1i {"t":"set","seed":-1}' in | S=0 ids -s 1 | cmp - a
    sed '1i {"t":"set","seed":null,"temp":null,"logit-bias":null}' in | S=0 ids -s 1 | cmp - a
}

@test "sequences that arrive mixed are drawn as alone" {
    for p in {0..31}; do logits 0 "$p" 1,2,1,2,1,2; done >zero
    for p in {0..31}; do logits 1 "$p" 2,1,2,1,2,1; done >one
    paste -d '\n' zero one >mixed
    [ "$(S=0 ids -s 1 mixed)" = "$(ids -s 1 zero)" ]
    [ "$(S=1 ids -s 1 mixed)" = "$(ids -s 1 one)" ]
}

@test "options: defaults, the model's, the command line's, the sequence's" {
    in='{"t":"logits","v":[1,2,1.9]}'
    always() { for _ in {0..9}; do ids "$@" <in; done | sort -u | xargs; }

    echo "$in" >in
    [ "$(always --top-k 1)" = 1 ]
    { echo '{"t":"set","sampling":{"temp":0.5,"top-k":1}}'; echo "$in"; } >in
    [ "$(always)" = 1 ]
    [ "$(always --top-k 3 --min-p 0 --top-p 1 --temp 1e30 --logit-bias 1=-inf --logit-bias 0=-inf)" = 2 ]
    { echo '{"t":"set","temp":0,"logit-bias":{"0":9}}'; echo '{"t":"set","sampling":{"temp":2}}'; echo "$in"; } >in
    [ "$(always --temp 5)" = 0 ]
    for bias in '[[0,9]]' '["0=9"]' '[[1,-9],[2,"-Infinity"]]' '{"1":false,"2":-20.5}'; do
        { echo '{"t":"set","temp":0,"logit-bias":'"$bias"'}'; echo "$in"; } >in
        [ "$(ids --logit-bias 0=-inf <in)" = 0 ]
    done
}

@test "the model's recommendation stands below the command line" {
    for p in {0..63}; do logits 0 "$p" 2,2,2,2; done >in
    sed '1i {"t":"set","sampling":{"top-k":1}}' in >set
    [ "$(ids -s 1 set | tr ' ' '\n' | sort -u)" = 0 ]
    ids -s 1 --top-k 40 set | cmp - <(ids -s 1 in)
    sed '1i {"t":"set","top-k":1}' in >set
    [ "$(ids -s 1 --top-k 40 set | tr ' ' '\n' | sort -u)" = 0 ]
}

@test "every sampler, in any order, against the textbook" {
    python3 "$BATS_TEST_DIRNAME/tools/samplers.py" "$(command -v llm-sample)"
}

@test "--samplers: which ones, and their order" {
    # At temperature 0.5 one token alone has more than 0.8 (S02).
    set='{"t":"set","top-p":0.8,"temp":0.5,"top-k":0,"min-p":0'
    { echo "$set}"; for p in {0..99}; do logits 0 "$p" 3,2,1; done; } >in
    kinds() { ids -s 1 "$@" in | tr ' ' '\n' | sort -u | xargs; }
    [ "$(kinds)" = "0 1" ]
    [ "$(kinds --samplers 'temperature;top_p')" = 0 ]
    [ "$(kinds --samplers 'top-p,TEMP')" = "0 1" ]
    [ "$(kinds --samplers 'top_k')" = "0 1 2" ]
    [ "$(kinds --samplers '')" = "0 1 2" ]
    sed -i "1s/.*/$set,\"samplers\":\"temp;nucleus\"}/" in
    [ "$(kinds --samplers 'top_p;temperature')" = 0 ]
    # The model's order stands below the command line.
    sed -i '1s/.*/{"t":"set","sampling":{"samplers":"top_k","top-k":1}}/' in
    [ "$(kinds)" = 0 ]
    [ "$(kinds --samplers temperature --temp 1)" = "0 1 2" ]
    # top-k 1 and then top-p leaves one; top-k 0 is off (S01, S03).
    sed -i '1d' in
    [ "$(kinds --top-k 1 --top-p 0.8)" = 0 ]
    [ "$(kinds --top-k 0 --top-p 1 --min-p 0)" = "0 1 2" ]
    [ "$(kinds --top-k 0 --top-p 0 --min-p 1 --min-keep 2 --temp 3)" = "0 1" ]
}

@test "ids that are never drawn: --suppress, and the stream's besides" {
    logits 0 0 5,4,3,2 >in
    [ "$(ids --temp 0 --suppress 0 in)" = 1 ]
    [ "$(ids --temp 0 --suppress 0,1 --suppress 99 in)" = 2 ]
    sed -i '1i {"t":"set","suppress":[2]}' in
    [ "$(ids --temp 0 --suppress 0,1 in)" = 3 ]
    fails 3 "none is left" llm-sample --suppress 0,1,3 in -f json
}

@test "DRY needs texts, or no breakers" {
    { echo '{"t":"tokens","ids":[1,2,3,1,2]}'; logits 0 4 0,0,0,1; } >in
    [ "$(ids --temp 0 in)" = 3 ]
    [ "$(ids --temp 0 --dry-multiplier 2 --dry-sequence-breaker none in)" = 0 ]
    [ "$(ids --temp 0 --dry-multiplier 2 --dry-sequence-breaker none --dry-allowed-length 3 in)" = 3 ]
    fails 4 "'dry-sequence-breaker' needs text" llm-sample --dry-multiplier 2 in -f json
    sed -i '1i {"t":"set","dry-multiplier":2,"dry-sequence-breaker":["none"]}' in
    [ "$(ids --temp 0 in)" = 0 ]
    sed -i '1s/.*/{"t":"set","dry-multiplier":2,"dry-sequence-breaker":["a","b"]}/' in
    fails 4 "'dry-sequence-breaker' needs text" llm-sample in -f json
}

@test "mirostat: what was drawn goes into later draws, and going back takes it out" {
    many=$(seq -s, 0 0.1 4)
    set='{"t":"set","mirostat":2,"mirostat-ent":2,"mirostat-lr":1,"seed":3,"logprobs":99,"logprobs-of":"sampled"}'
    { echo "$set"; for p in 0 1 2 3 2 3 0; do logits 0 "$p" "$many"; done; } >in
    llm-sample -f json in | jq -c 'select(.t == "tokens") | [.ids, .lp, .top]' >out
    [ "$(sed -n 3p out)" = "$(sed -n 5p out)" ]
    [ "$(sed -n 4p out)" = "$(sed -n 6p out)" ]
    [ "$(sed -n 1p out)" = "$(sed -n 7p out)" ]
    # Alone, position 2 knows nothing of those before.
    { echo "$set"; logits 0 2 "$many"; } | llm-sample -f json |
        jq -c 'select(.t == "tokens") | [.ids, .lp, .top]' >alone
    run ! cmp -s alone <(sed -n 3p out)
}

@test "penalties look at the prompt and at what was drawn" {
    { echo '{"t":"tokens","ids":[0]}'; logits 0 0 2,1.5,0; logits 0 1 2,1.5,0; } >in
    [ "$(ids --temp 0 in)" = "0 0" ]
    [ "$(ids --temp 0 --presence-penalty 1 in)" = "1 0" ]
    [ "$(ids --temp 0 --repeat-penalty 2 in)" = "1 0" ]
    [ "$(ids --temp 0 --frequency-penalty 1.6 in)" = "1 0" ]
    [ "$(ids --temp 0 --presence-penalty 1 --repeat-last-n 0 in)" = "0 0" ]
}

@test "--logprobs" {
    logits 0 0 '0,"-Infinity",1' >in
    llm-sample --temp 0 --logprobs 5 -f json in >out
    jq -e '.ids == [2] and (.lp[0] + 0.31326 | fabs) < 1e-4 and (.top[0] | length) == 2 and
        .top[0][1][0] == 0 and (.top[0][1][1] + 1.31326 | fabs) < 1e-4' out
    llm-sample --temp 0 --logprobs 0 -f json in | jq -e 'has("lp") and (has("top") | not)'
    # After the samplers: of two that are left; of the one at temperature 0.
    llm-sample --temp 1 --top-k 2 --logprobs 5 --logprobs-of sampled -s 1 -f json in |
        jq -se '.[1].top[0] | length == 2 and .[0][0] == 2 and (.[0][1] + 0.31326 | fabs) < 1e-4'
    logits 0 0 1,2,3 | llm-sample --temp 0 --logprobs 5 --logprobs-of sampled -f json |
        jq -e '.lp == [0.0] and .top == [[[2,0.0]]]'
    logits 0 0 1,2,3 | llm-sample --temp 1 --top-k 1 --logprobs 5 --logprobs-of model -s 1 -f json |
        jq -se '.[1].top[0] | length == 3'
    llm-sample --temp 0 --logprobs 5 in | llm-sample -f json >none
    [ ! -s none ]
}

@test "logits that cannot be drawn from end their sequence, not the others" {
    { logits 0 0 '1,"NaN"'; logits 1 0 1,2; logits 0 1 1,2; } >in
    run -3 --separate-stderr llm-sample --temp 0 -f json in
    [[ $stderr == "llm-sample: in: record 1: "*"not a number"* ]]
    [ "${lines[1]}" = '{"t":"end","s":0,"why":"error","usage":{"tokens":0}}' ]
    [ "${lines[2]}" = '{"t":"tokens","s":1,"ids":[1]}' ]
    [ "${#lines[@]}" -eq 3 ]
    logits 0 0 '"-Infinity","-Infinity"' >in
    fails 3 "none is left" llm-sample -f json in
    logits 0 0 '"Infinity",1' >in
    fails 3 "infinity" llm-sample -f json in
    logits 0 0 '' >in
    fails 3 "no tokens" llm-sample -f json in
    { logits 0 0 1,2; logits 0 1 1,2,3; } >in
    fails 3 "3 logits, and before that 2" llm-sample -f json in
}

@test "options of a sequence that are wrong, or not for this program" {
    for set in '"top-p":2' '"temp":"hot"' '"top-k":1.5' '"logit-bias":[[1]]' \
        '"logit-bias":{"x":1}' '"logit-bias":7' '"logit-bias":{"99":1}' '"eog":"x"' '"eog":[-1]' \
        '"suppress":{}' '"sampling":[]' '"sampling":{"temp":[]}' '"sampling":{"min-p":-1}' \
        '"samplers":"top_k;best"' '"samplers":7' '"mirostat":3' '"typical":-1' \
        '"dry-sequence-breaker":[1]' '"dry-sequence-breaker":""' '"logprobs-of":"all"' '"min-keep":-1' \
        '"sampling":{"samplers":1}' '"count":-2' '"seed":-2' '"logprobs":1025' '"ignore-eos":1'; do
        { echo "{\"t\":\"set\",$set}"; logits 0 0 1,2; } >in
        fails 3 "record" llm-sample -f json in
        [[ $output == *'"why":"error"'* ]] || { echo "$set"; return 1; }
    done
    for set in '"stop":"x"' '"grammar":"x"' '"top_k":1' '"sampling":{"hot":1}'; do
        { echo "{\"t\":\"set\",$set}"; logits 0 0 1,2; } >in
        fails 4 "option '" llm-sample -f json in
    done
}

@test "wrong options" {
    logits 0 0 1,2 >in
    for o in "--top-p 1.1" "--min-p -1" "--top-k -2" "--repeat-penalty 0" "--temp x" "--temp nan" \
        "--repeat-last-n -2" "-s -2" "-n -2" "--logprobs 1025" "--eos x" "--eos 1,," "--eos -1" \
        "--logit-bias 1" "--logit-bias 1=" "--logit-bias =1" "--logit-bias 1=x" "--logit-bias 1=inf" \
        "--logit-bias -1=1" "--suppress x" "--suppress 1,," "--samplers best" "--mirostat 3" \
        "--typical 2" "--xtc-probability 1.5" "--xtc-threshold -1" "--dry-base 0.5" \
        "--dry-multiplier -1" "--dry-allowed-length -1" "--dry-penalty-last-n -2" "--dynatemp-range -1" \
        "--dynatemp-exp -1" "--mirostat-ent -1" "--mirostat-lr -1" "--adaptive-target 2" \
        "--adaptive-decay 1" "--min-keep -1" "--top-n-sigma inf" "--logprobs-of all"; do
        # shellcheck disable=SC2086 # two words
        fails 2 "usage:" llm-sample $o in
    done
    fails 3 "'logit-bias': 2 is none of 2 ids" llm-sample --logit-bias 2=1 in -f json
}

@test "inputs that are no stream" {
    : >empty
    fails 3 empty llm-sample empty
    echo hello >text
    fails 3 text llm-sample text
    logits 0 0 1,2 | llm-sample --temp 0 -f cbor | head -c 9 >cut
    fails 3 cut llm-sample cut
    fails 1 nowhere llm-sample nowhere
    logits 0 0 1,2 >in
    run -3 --separate-stderr llm-sample --temp 0 -f json empty in
    [ "$output" = '{"t":"tokens","s":0,"ids":[1]}' ]
}

@test "a token goes out before the next logits come, over a FIFO" {
    mkfifo to from
    llm-sample --temp 0 -f json <to >from 3>&- &
    exec 5>to 6<from
    logits 0 0 1,2 >&5
    read -r -t 10 line <&6
    [ "$line" = '{"t":"tokens","s":0,"ids":[1]}' ]
    logits 0 1 2,1 >&5
    read -r -t 10 line <&6
    [ "$line" = '{"t":"tokens","s":0,"ids":[0]}' ]
    exec 5>&-
    run ! read -r -t 10 line <&6
    wait $!
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    logits 0 0 1,2 >in
    fails 1 "standard output" bash -c 'llm-sample -f json in >/dev/full'
    fails 1 "standard output" bash -c 'llm-sample -f text in >/dev/full'
}

@test "what needs the texts of tokens is refused by name" {
    for k in stop ban-string ban-regex grammar json schema regex trigger; do
        { echo "{\"t\":\"set\",\"$k\":\"x\"}"; logits 0 0 1,2; } >in
        fails 4 "option '$k' needs text" llm-sample -f json in
        { echo "{\"t\":\"set\",\"$k\":null}"; logits 0 0 1,2; } >in
        [ "$(ids --temp 0 in)" = 1 ]
    done
}
