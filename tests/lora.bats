#!/usr/bin/env bats
# --lora: adapters beside a model, by sequence; states and caches that know of
# them.  What they compute is tests/unit/adapter.c's.
bats_require_minimum_version 1.5.0
load llm

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    export XDG_CACHE_HOME=$models/cache
    export ORACLE=$PWD/../shared/oracle DATA=$PWD/tests/data
    cd "$models" || exit 1
    mkmodel 0 200 3 >m.gguf
    mkmodel 10 200 3 >w.gguf # windows, and norms behind blocks
    mkmodel 0 200 4 >small.gguf
    mkadapter 0 8 1 >a.gguf
    mkadapter 0 16 2 attn 32 >b.gguf
    mkadapter 10 5 1 >v.gguf
    mkadapter 10 4 2 ffn >x.gguf
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
}

# The prompt of sequence $1, of $2 tokens.
seq_prompt() {
    S=$1 prompt $(some $((70 + $1)) | cut -d' ' -f"$((1 + $1))-$(($1 + $2))")
}

draw=(--seed 5 -n 9 --ignore-eos --logprobs 2 -f json)

@test "a scale of 0 is no adapter; others change the answer" {
    prompt $(some 70) >in
    llm-prefill --all-logits --no-kv -f json m.gguf in >want
    llm-prefill --all-logits --no-kv -f json --lora a.gguf:0 --lora b.gguf:-0.0 m.gguf in | cmp - want
    llm-prefill --all-logits --no-kv -f json --lora a.gguf m.gguf in >one
    run -1 cmp -s one want
    llm-prefill --all-logits --no-kv -f json --lora a.gguf:1 m.gguf in | cmp - one
    llm-prefill --all-logits --no-kv -f json --lora a.gguf:0.5 m.gguf in >half
    run -1 cmp -s one half
    llm-prefill --all-logits --no-kv -f json --lora a.gguf --lora b.gguf:0 m.gguf in | cmp - one
    llm-prefill --all-logits --no-kv -f json --lora a.gguf --lora b.gguf m.gguf in >two
    run -1 cmp -s one two
}

@test "names, and files with signs in their names" {
    prompt 1 2 3 >in
    llm-decode "${draw[@]}" --lora b.gguf:0.5 m.gguf in >want
    cp b.gguf x:0.5
    cp b.gguf a=b
    cp b.gguf x:y
    llm-decode "${draw[@]}" --lora x:0.5:0.5 m.gguf in | cmp - want
    llm-decode "${draw[@]}" --lora ./a=b:.5 m.gguf in | cmp - want
    llm-decode "${draw[@]}" --lora x:y:5e-1 m.gguf in | cmp - want
    llm-decode "${draw[@]}" --lora n=x:y:0.5 m.gguf in | cmp - want
    fails 2 "two are called 'b'" llm-decode --lora b.gguf --lora ./b.gguf m.gguf in
    llm-decode "${draw[@]}" --lora b.gguf:0.5 --lora c=b.gguf:0 m.gguf in | cmp - want
    fails 2 "its scale is no number" llm-decode --lora b.gguf:1e99 m.gguf in
    fails 2 "a file is missing" llm-decode --lora :1 m.gguf in
    fails 1 "b: No such file" llm-decode --lora b:1 m.gguf in
    run -0 --separate-stderr llm-decode -v -n 1 --lora n=x:y:0.5 m.gguf in
    [[ $stderr == *"llm-decode: adapter n: x:y, times 0.5"* ]]
}

@test "sequences with adapters of their own, alone and in one batch" {
    local loras='null
[]
[{"name":"one"}]
[{"index":1,"scale":-2}]
[{"name":"two"},{"name":"one","scale":0.25}]
[{"name":"two","scale":0}]' kind k n=0 line

    for kind in "m a b" "w v x"; do
        set -- $kind
        rm -f in alone
        n=0
        while read -r line; do
            {
                [ "$line" = null ] || echo "{\"t\":\"set\",\"s\":$n,\"lora\":$line}"
                seq_prompt $n $((40 + 9 * n))
            } >in.$n
            cat in.$n >>in
            n=$((n + 1))
        done <<<"$loras"
        with=(--lora "one=$2.gguf" --lora "two=$3.gguf:0.5" "$1.gguf")
        for ((k = 0; k < n; k++)); do
            llm-decode "${draw[@]}" "${with[@]}" in.$k | grep '"tokens"' >>alone
        done
        # Without adapters, of a scale of 0, by the command line.
        llm-decode "${draw[@]}" $1.gguf in.0 | grep '"tokens"' >bare
        for k in 1 5; do
            grep -v set in.$k | llm-decode "${draw[@]}" $1.gguf | grep '"tokens"' >want
            grep "\"s\":$k," alone | cmp - want
        done
        grep '"s":0,' alone >first
        run -1 cmp -s bare first
        for how in "-b 6" "-b 3 --chunk 7" "-b 6 -t 3 --chunk 1" "-b 6 --no-pack" "-b 6 --share" \
            "-b 6 --share" "-b 2 -t 1 --threads-batch 2"; do
            llm-decode "${draw[@]}" $how "${with[@]}" in | grep '"tokens"' | cmp - alone
            [[ -z ${EMULATOR:-} ]] || break
        done
        LLM_CPU=ref llm-decode "${draw[@]}" -b 6 "${with[@]}" in | grep '"tokens"' | cmp - alone
        llm-spec "${draw[@]}" -b 6 --draft-all "${with[@]}" in | grep '"tokens"' | cmp - alone
    done
}

@test "a model that guesses has no adapters" {
    prompt $(some 30) >in
    llm-decode "${draw[@]}" --lora a.gguf m.gguf in | grep -v llm-decode >want
    llm-spec "${draw[@]}" --draft small.gguf --draft-all --lora a.gguf m.gguf in |
        grep -v llm-spec | cmp - want
    # Its architecture need not be theirs.
    llm-spec "${draw[@]}" --draft w.gguf --draft-all --lora a.gguf m.gguf in |
        grep -v llm-spec | cmp - want
}

@test "what a sequence asks for is wrong: its error, and the others go on" {
    local bad

    for bad in '[{"name":"c"}]' '[{"name":"a\u0000"}]' '[{"index":2}]' '[{"index":-1}]' '[{"index":0.5}]' \
        '[{"name":"a","index":0}]' '[{}]' '{"name":"a"}' '"a"' '[1]' '[{"name":1}]' \
        '[{"name":"a"},{"index":0}]' '[{"name":"a","scale":"1"}]' \
        '[{"name":"a","scale":1e99}]' '[[]]'; do
        {
            echo "{\"t\":\"set\",\"s\":0,\"lora\":$bad}"
            S=0 prompt 1 2 3
            S=1 prompt 1 2 3
        } >in
        run -3 --separate-stderr llm-decode --temp 0 -n 2 --ignore-eos -f json \
            --lora a.gguf --lora b.gguf m.gguf in
        [[ $stderr == "llm-decode: sequence 0: lora: "* ]] || { echo "$bad: $stderr"; false; }
        [ "$(jq -c 'select(.t == "end") | [.s, .why]' <<<"$output" | xargs)" = \
            "[0,error] [1,length]" ]
        run -3 --separate-stderr llm-prefill -f json --lora a.gguf --lora b.gguf m.gguf in
        [[ $stderr == "llm-prefill: sequence 0: lora: "* ]]
    done
    echo '{"t":"set","lora":[{"name":"a","weight":1}]}' | cat - in >odd
    fails 4 "lora: 'weight' is not known" llm-decode --lora a.gguf m.gguf odd
    # Where there are none, none may be asked for.
    { echo '{"t":"set","lora":[]}' && prompt 1; } | llm-decode -n 1 m.gguf
    { echo '{"t":"set","lora":[{"index":0}]}' && prompt 1; } >in
    fails 3 "an index that is none of 0" llm-decode -n 1 m.gguf in
}

@test "states are of adapters and scales" {
    local id

    prompt $(some 70) >in
    prompt $(some 70) 5 6 >more
    llm-prefill -q --lora a.gguf --kv-out s m.gguf in >none
    id=$(kv-dump -f json s | jq -r .adapters)
    [[ $id == ????????????????????????????????:1 ]]
    kv-dump -q s | grep -F "  adapters $id"
    llm-prefill -q --kv-out plain m.gguf in >none
    kv-dump -f json plain | jq -e 'has("adapters") | not'
    kv-dump --check s
    kv-dump -f json --diff plain s | grep -c '"adapters"' | grep -x 1
    kv-dump --cut 66 s | kv-dump -f json | jq -e ".adapters == \"$id\" and .tokens == 66"

    llm-decode "${draw[@]}" --lora a.gguf m.gguf more >want
    run -0 --separate-stderr llm-decode "${draw[@]}" --kv-in s --lora other=a.gguf m.gguf more
    cmp want <<<"$output"
    [ "$stderr" = "llm-decode: sequence 0: 70 of 72 tokens reused" ]
    for with in "" "--lora a.gguf:0.5" "--lora b.gguf" "--lora a.gguf --lora b.gguf"; do
        fails 3 "a state read with adapters $id, not " llm-decode --kv-in s $with m.gguf more
        fails 3 "a state read with adapters $id, not " llm-prefill --kv-in s $with m.gguf more
    done
    fails 3 "a state read with adapters none, not $id" llm-decode --kv-in plain --lora a.gguf m.gguf more
    # One that is loaded and not used is none.
    llm-decode -q "${draw[@]}" --kv-in s --lora a.gguf --lora b.gguf:0 m.gguf more | cmp - want
    # The sequence's own counts.
    { echo '{"t":"set","lora":[{"name":"a","scale":1}]}' && cat more; } >own
    llm-decode -q "${draw[@]}" --kv-in s --lora a.gguf:0 --lora b.gguf m.gguf own | grep '"tokens"' >got
    grep '"tokens"' want | cmp - got
}

@test "states in a stream bring their adapters" {
    { echo '{"t":"set","lora":[{"name":"b"}]}' && prompt $(some 70); } >in
    llm-decode "${draw[@]}" --lora a.gguf --lora b.gguf:0.5 m.gguf in | grep '"tokens"' >want
    llm-prefill --lora a.gguf --lora b.gguf:0.5 m.gguf in >state
    llm-decode -q "${draw[@]}" --lora a.gguf --lora b.gguf:0.5 m.gguf state | grep '"tokens"' | cmp - want
    # The key is the model's no more.
    run -3 --separate-stderr llm-decode -q "${draw[@]}" --lora a.gguf m.gguf state
    [[ $stderr == *"no adapter 'b' was loaded" ]]
    run -3 --separate-stderr llm-decode -q "${draw[@]}" --lora b.gguf:0.5 --lora a.gguf m.gguf \
        <(jq -c . <(llm-prefill -f json --lora a.gguf m.gguf <(prompt $(some 70))))
    [[ $stderr == *"a state read with adapters "* ]]
    # A changed word is a changed sum.
    llm-prefill -f json --lora a.gguf m.gguf <(prompt $(some 70)) |
        sed 's/\("adapters":"[0-9a-f]*:\)1"/\12"/' >odd
    run -3 --separate-stderr llm-decode --lora a.gguf:2 m.gguf odd
    [[ $stderr == *"the sum is"* ]]
}

@test "states of sequences that fail leave room for the others" {
    local s

    for s in 0 1 2 3 4 5 6 7; do
        [ "$s" = 0 ] || echo "{\"t\":\"set\",\"s\":$s,\"lora\":[{\"name\":\"b\",\"scale\":1}]}"
        S=$s prompt "$s" $(some 70)
    done >in
    llm-prefill -q -f json --lora b.gguf:0 m.gguf in >state
    grep -v '"t":"set"' state >other
    # They ask for what is not loaded; they were read with it.
    for s in state other; do
        run -3 --separate-stderr llm-decode -q "${draw[@]}" -b 1 m.gguf "$s"
        [ "${#stderr_lines[@]}" -eq 7 ]
        [[ $stderr != *full* ]]
        grep -c '"why":"error"' <<<"$output" | grep -x 7
    done
}

@test "--cache keeps those apart that differ in adapters" {
    local with reused

    prompt $(some 150) >in
    for with in "" "--lora a.gguf" "--lora a.gguf:0.5" "--lora b.gguf" "--lora a.gguf --lora b.gguf"; do
        llm-decode "${draw[@]}" $with m.gguf in >want
        for reused in null 128; do
            llm-decode "${draw[@]}" --timings --cache c $with m.gguf in >got
            [ "$(jq 'select(.t == "end").usage.reused' got)" = $reused ]
            cmp <(grep '"t":"tokens"' got) <(grep '"t":"tokens"' want)
        done
    done
    # In one process, too: pages are shared with the same alone.
    {
        seq_prompt 0 70 | sed 's/"s":0/"s":9/'
        echo '{"t":"set","s":1,"lora":[]}'
        seq_prompt 0 70 | sed 's/"s":0/"s":1/'
        echo '{"t":"set","s":2,"lora":[{"index":0}]}'
        seq_prompt 0 70 | sed 's/"s":0/"s":2/'
    } >in
    llm-decode --temp 0 -n 2 --ignore-eos -f json --timings --lora a.gguf m.gguf in |
        jq -c 'select(.t == "end") | [.s, .usage.reused]' | xargs >got
    [ "$(cat got)" = "[9,null] [1,null] [2,64]" ]
}

@test "contexts that are full: shifted and sliding, with an adapter" {
    prompt $(some 90) >in
    for how in shift slide; do
        llm-decode "${draw[@]}" -n 40 -c 100 --overflow $how --lora a.gguf m.gguf in >want
        llm-decode "${draw[@]}" -n 40 -c 100 --overflow $how --lora a.gguf --chunk 9 -t 3 m.gguf in |
            cmp - want
        llm-decode "${draw[@]}" -n 40 -c 100 --overflow $how m.gguf in >bare
        run -1 cmp -s bare want
    done
}

@test "llm-score: an adapter against the model without" {
    prompt $(some 60) >in
    llm-score -f json --logprobs -1 --against m.gguf --lora a.gguf m.gguf in >got
    jq -se '.[-1] | .kl > 0.001 and .ppl != .base_ppl' got
    llm-score -f json --logprobs -1 --against m.gguf --lora a.gguf:0 m.gguf in |
        jq -se '.[-1].kl == 0'
    # By sequence: those without are no further away than nothing.
    {
        echo '{"t":"set","s":1,"lora":[]}'
        seq_prompt 0 40
        seq_prompt 0 40 | sed 's/"s":0/"s":1/'
        echo '{"t":"set","s":2,"lora":[{"name":"a","scale":0.5}]}'
        seq_prompt 0 40 | sed 's/"s":0/"s":2/'
        echo '{"t":"set","s":3,"lora":[{"name":"b"}]}'
        S=3 prompt 1 2 3
    } >in
    run -3 --separate-stderr llm-score -f json --logprobs -1 --against m.gguf --lora a.gguf m.gguf in
    [ "$stderr" = "llm-score: sequence 3: lora: no adapter 'b' was loaded" ]
    jq -sce 'map(select(.t == "score" and has("s"))) | sort_by(.s) | map(.kl) |
        .[0] > .[2] and .[2] > .[1] and .[1] == 0' <<<"$output"
    llm-score -f json --logprobs -1 --lora a.gguf:0.5 m.gguf <(seq_prompt 0 40) >half
    [ "$(jq 'select(.s == 0).ppl | values' half)" = "$(jq 'select(.s == 2).ppl | values' <<<"$output")" ]
}

@test "llm-embed: an adapter for all, and by sequence" {
    seq_prompt 0 30 >in
    for pool in mean last; do
        how=(--pooling $pool -f json)
        llm-embed "${how[@]}" m.gguf in | jq -c 'select(.t == "embedding").v' >bare
        llm-embed "${how[@]}" --lora a.gguf m.gguf in | jq -c 'select(.t == "embedding").v' >with
        run -1 cmp -s bare with
        {
            echo '{"t":"set","s":1,"lora":[]}'
            cat in
            sed 's/"s":0/"s":1/' in
        } >both
        llm-embed "${how[@]}" -b 2 --lora a.gguf m.gguf both | jq -c 'select(.t == "embedding").v' |
            cmp - <(cat bare with)
    done
}

@test "llm-embed: an adapter that a line of JSON asks for" {
    local v='select(.t == "embedding").v' r='select(.t == "ranking").results' own=',"lora":[{"name":"a","scale":1}]'

    echo '{"text":"the cat"}' >plain
    echo '{"text":"the cat"'"$own"'}' >asks
    llm-embed -J -f json m.gguf plain | jq -c "$v" >bare
    llm-embed -J -f json --lora a.gguf m.gguf plain | jq -c "$v" >with
    run -1 cmp -s bare with
    llm-embed -J -f json --lora a.gguf:0 m.gguf <(cat asks plain asks) | jq -c "$v" | cmp - <(cat with bare with)
    echo '{"query":"the","documents":["cat","hen"]}' >plain
    echo '{"query":"the","documents":["cat","hen"]'"$own"'}' >asks
    llm-embed --rerank -f json m.gguf plain | jq -c "$r" >bare
    llm-embed --rerank -f json --lora a.gguf m.gguf plain | jq -c "$r" >with
    run -1 cmp -s bare with
    llm-embed --rerank -f json --lora a.gguf:0 m.gguf <(cat asks plain asks) | jq -c "$r" | cmp - <(cat with bare with)
    fails 3 "sequence 0: lora: no adapter 'a' was loaded" llm-embed --rerank m.gguf asks
}

@test "the header of what is written says which adapters" {
    local id

    prompt 1 2 3 >in
    llm-decode -n 1 -f json m.gguf in | jq -se '.[0].model | has("adapters") | not'
    id=$(llm-decode -n 1 -f json --lora a.gguf --lora b.gguf:0 m.gguf in | jq -sr '.[0].model.adapters')
    [[ $id == ????????????????????????????????:1 ]]
    llm-decode -n 1 -f json --lora a.gguf --lora b.gguf:-0.5 m.gguf in >out
    [ "$(jq -sr '.[0].model.adapters' out)" = "$(llm-prefill -f json --lora a.gguf --lora b.gguf:-.5 \
        m.gguf in | jq -r 'select(.part == "head").adapters')" ]
    [[ $(jq -sr '.[0].model.adapters' out) == "$id",????????????????????????????????:-0.5 ]]
}

@test "adapters that are none, or not of the model" {
    local f

    prompt 1 >in
    fails 3 "m.gguf: no adapter: key 'general.type' is missing" llm-decode --lora m.gguf m.gguf in
    fails 3 "v.gguf: an adapter for 'gemma3', not for 'llama'" llm-decode --lora v.gguf m.gguf in
    fails 1 "none.gguf: " llm-decode --lora none.gguf m.gguf in
    head -c 5000 a.gguf >cut.gguf
    fails 3 "cut.gguf: " llm-decode --lora cut.gguf m.gguf in
    : >empty.gguf
    fails 3 "empty.gguf: " llm-decode --lora empty.gguf m.gguf in
    head=(k:general.type:str:adapter k:general.architecture:str:llama)
    pair=(t:blk.0.attn_q.weight.lora_a:F32:32x4 t:blk.0.attn_q.weight.lora_b:F32:4x32)
    bad() {
        local st=$1 words=$2

        shift 2
        mkgguf odd.gguf "$@"
        for f in llm-decode llm-prefill llm-spec llm-score; do
            fails "$st" "odd.gguf: $words" $f --lora odd.gguf m.gguf in
        done
    }
    lora=k:adapter.type:str:lora
    bad 4 "key 'adapter.type' is 'control_vector', not 'lora'" "${head[@]}" \
        k:adapter.type:str:control_vector "${pair[@]}"
    bad 3 "no adapter: key 'adapter.type' is missing" "${head[@]}" "${pair[@]}"
    bad 3 "key 'adapter.lora.alpha'" "${head[@]}" $lora k:adapter.lora.alpha:f32:nan "${pair[@]}"
    bad 3 "key 'adapter.lora.alpha'" "${head[@]}" $lora k:adapter.lora.alpha:str:8 "${pair[@]}"
    bad 4 "key 'adapter.alora.invocation_tokens' is not supported" "${head[@]}" $lora \
        'k:adapter.alora.invocation_tokens:[u32]:1,2' "${pair[@]}"
    bad 3 "an adapter without tensors" "${head[@]}" $lora
    bad 3 "tensor 'blk.0.attn_q.weight.lora_b' is missing" "${head[@]}" $lora "${pair[0]}"
    bad 4 "tensor 'blk.0.attn_norm.weight' is neither" "${head[@]}" $lora "${pair[@]}" \
        t:blk.0.attn_norm.weight:F32:32
    bad 3 "tensor 'blk.9.attn_q.weight': the model has none" "${head[@]}" $lora \
        t:blk.9.attn_q.weight.lora_a:F32:32x4 t:blk.9.attn_q.weight.lora_b:F32:4x32
    bad 3 "tensor 'blk.0.attn_q.weight': from 16 to 32 by rank 4" "${head[@]}" $lora \
        t:blk.0.attn_q.weight.lora_a:F32:16x4 "${pair[1]}"
    bad 4 "tensor 'token_embd.weight': adapting it is not supported" "${head[@]}" $lora \
        t:token_embd.weight.lora_a:F32:32x4 t:token_embd.weight.lora_b:F32:4x40
    # As llama.cpp's are: A the other way round.
    bad 3 "tensor 'token_embd.weight.lora_b': rank" "${head[@]}" $lora \
        t:token_embd.weight.lora_a:F32:4x40 t:token_embd.weight.lora_b:F32:4x32
    # What it says of its base is not looked at.
    mkgguf good.gguf "${head[@]}" $lora k:general.base_model.count:u32:1 \
        k:general.base_model.0.name:str:Other k:adapter.lora.task_name:str:x "${pair[@]}"
    llm-decode -n 1 --lora good.gguf m.gguf in
}

@test "an adapter of PEFT on a model of ../shared: its logits" {
    local model=$ORACLE/tiny/llama/model.gguf

    [ -f "$model" ] || skip "no ../shared"
    jq -c '{t: "tokens", ids}' "$DATA/lora.json" >in
    llm-prefill --all-logits --no-kv --kv-type f32 -f json --lora "$DATA/lora.gguf" "$model" in |
        jq -c 'select(.t == "logits") | [.pos, .v]' |
        jq -se --slurpfile want "$DATA/lora.json" '
            [.[] | .[0] as $p | .[1] as $v | ($want[0].logits["\($p)"] // {}) | to_entries[] |
                ($v[.key | tonumber] - .value) | fabs] | length == 16 and max < 2e-4'
}
