#!/usr/bin/env bats
# llm-embed on tiny models.  What vectors are is tested by tests/unit/embed.c.
bats_require_minimum_version 1.5.0
load llm

# A BERT of random halves as file $1; more directives follow.
bert() {
    local file=$1 d=32

    shift
    mkgguf "$file" k:general.architecture:str:bert k:bert.block_count:u32:1 \
        k:bert.context_length:u32:16 k:bert.embedding_length:u32:$d \
        k:bert.feed_forward_length:u32:$d k:bert.attention.head_count:u32:2 \
        k:bert.attention.layer_norm_epsilon:f32:1e-12 \
        k:tokenizer.ggml.model:str:bert \
        "k:tokenizer.ggml.tokens:[str]:[PAD],[UNK],[CLS],[SEP],▁a,▁b,▁c,b,c" \
        "k:tokenizer.ggml.token_type:[i32]:3,3,3,3,1,1,1,1,1" \
        k:tokenizer.ggml.unknown_token_id:u32:1 k:tokenizer.ggml.cls_token_id:u32:2 \
        k:tokenizer.ggml.seperator_token_id:u32:3 k:tokenizer.ggml.padding_token_id:u32:0 \
        t:token_embd.weight:F16:${d}x9 t:position_embd.weight:F16:${d}x16 \
        t:token_types.weight:F16:${d}x2 t:token_embd_norm.weight:F16:$d t:token_embd_norm.bias:F16:$d \
        t:blk.0.attn_{q,k,v,output}.weight:F16:${d}x$d t:blk.0.attn_{q,k,v,output}.bias:F16:$d \
        t:blk.0.{attn_output,layer_output}_norm.{weight,bias}:F16:$d \
        t:blk.0.ffn_{up,down}.weight:F16:${d}x$d t:blk.0.ffn_{up,down}.bias:F16:$d "$@"
}

setup_file() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
    export PATH=$B/bin:$B/tools:$PATH
    export models=$BATS_FILE_TMPDIR
    cd "$models" || exit 1
    mkmodel 0 >m.gguf
    mkmodel 9 400 >w.gguf # windows
    # Encoders come behind those that mkmodel lists.
    for ((n = $(mkmodel | wc -l); ; n++)); do
        mkmodel "$n" >some || break
        mv some "$(head -c 200 some | grep -aoE '(modern-|nomic-)?bert|gemma-embedding' | head -n 1).gguf"
    done
    mkgguf q.gguf llama
    mkgguf rank.gguf llama k:llama.pooling_type:u32:4 t:cls.output.weight:F32:32x1 \
        "k:tokenizer.chat_template.rerank:str:a{query}<s>{document}bb"
    mkgguf three.gguf llama k:llama.pooling_type:u32:4 t:cls.output.weight:F32:32x3 \
        "k:llama.classifier.output_labels:[str]:no,maybe,yes"
    bert b.gguf
    bert cross.gguf k:bert.pooling_type:u32:4 t:cls.{weight:F16:32x32,bias:F16:32} \
        t:cls.output.{weight:F16:32x1,bias:F16:1}
}

setup() {
    data=$BATS_TEST_DIRNAME/data
    tiny=$BATS_TEST_DIRNAME/../../shared/oracle/tiny
    cd "$BATS_TEST_TMPDIR" || exit 1
    ln -s "$models"/*.gguf .
    printf 'abc\nthe cat and the hen\nb\nand then the other hen was in the den\n' >lines
}

# The vectors of a stream, one to a line.
vectors() { jq -c 'select(.t == "embedding").v'; }

# Two lists of vectors are as near as $1.
near() {
    jq -ne --slurpfile a "$2" --slurpfile b "$3" --argjson most "$1" '
        ($a | length) == ($b | length) and ($a | length) > 0 and
        ([range($a | length) as $i | range($a[$i] | length) as $k |
            $a[$i][$k] - $b[$i][$k] | fabs] | max) < $most'
}

@test "lines, requests and streams: the same vectors" {
    for m in m bert modern-bert; do
        llm-embed -L -f json $m.gguf lines >out
        [ "$(jq -r '.t // "header"' out | xargs)" = "header embedding end embedding end embedding end embedding end" ]
        jq -se '[.[] | select(.t == "embedding").s] == [0, 1, 2, 3] and
            ([.[] | select(.t == "embedding").v | length] | unique) == [32] and
            ([.[] | select(.t == "embedding").v | map(. * .) | add - 1 | fabs] | max) < 1e-6 and
            [.[] | select(.t == "end").why] == ["input", "input", "input", "input"]' out
        vectors <out >want
        [ "$(sort -u want | wc -l)" -eq 4 ]
        tok-encode -L $m.gguf lines | llm-embed -f json $m.gguf | vectors | cmp - want
        jq -Rc '{text: ., id: [.], more: 1}' lines | llm-embed -J -f json $m.gguf >out
        vectors <out | cmp - want
        jq -se '[.[] | select(.t == "embedding").id[]] == ["abc", "the cat and the hen", "b",
            "and then the other hen was in the den"]' out
        # An id that a stream says is there, too, and the record that says it.
        jq -Rc '{prompt: ., id: .}' lines | tok-encode -J $m.gguf | llm-embed -f json $m.gguf >out
        vectors <out | cmp - want
        jq -se '[.[] | select(.t == "set" or .t == "embedding").id] |
            .[0] == "abc" and .[1] == "abc" and .[6] == .[7]' out
        llm-embed -L $m.gguf <lines >cbor
        llm-embed -L -o file $m.gguf lines
        cmp cbor file
        # Files after each other.
        split -n l/2 lines part.
        llm-embed -L -f json $m.gguf part.aa part.ab | vectors | cmp - want
    done
}

@test "batch, chunks, threads, instructions and neighbours change no byte" {
    for s in 0 1 2 3 4; do
        S=$s prompt $(some $((3 + s * s * 7)))
    done >in
    # Less under an emulator, which takes long.
    models='m w bert modern-bert' pools='mean last cls none'
    how=("-b 1" "-b 3 --chunk 7" "-b 20 --chunk 37" "-t 3" "-t 1 --threads-batch 3")
    [[ -z ${EMULATOR:-} ]] || models='w bert' pools=mean how=("-b 3 --chunk 7 -t 2")
    for m in $models; do
        for o in $pools; do
            llm-embed --pooling "$o" $m.gguf in >want
            for more in "${how[@]}"; do
                # shellcheck disable=SC2086 # a list
                llm-embed --pooling "$o" $more $m.gguf in | cmp - want
            done
            LLM_CPU=ref llm-embed --pooling "$o" $m.gguf in | cmp - want
        done
        llm-embed -f json $m.gguf in | grep '"s":3' >want
        jq -c 'select(.s == 3)' in | llm-embed -f json $m.gguf | grep '"s":3' | cmp - want
    done
}

@test "pooling: the mean of all tokens, the first, the last" {
    prompt $(some 20) >in
    for m in m bert; do
        llm-embed --pooling none --no-normalize -f json $m.gguf in >none
        jq -se '[.[] | select(.t == "embedding").pos] == [range(20)]' none
        vectors <none | jq -sc 'transpose | map(add / length)' >mean
        vectors <none | head -n 1 >cls
        vectors <none | tail -n 1 >last
        for how in mean cls last; do
            llm-embed --pooling $how --no-normalize -f json $m.gguf in | vectors >got
            near 1e-6 $how got
        done
        # Each by itself has the length 1, and so has what they are pooled to.
        llm-embed --pooling none -f json $m.gguf in | vectors >got
        vectors <none | jq -c '(map(. * .) | add | sqrt) as $l | map(. / $l)' >want
        near 1e-6 want got
        llm-embed --pooling mean -f json $m.gguf in | vectors >got
        jq -c '(map(. * .) | add | sqrt) as $l | map(. / $l)' mean >want
        near 1e-6 want got
    done
    # What a model does that says nothing.
    cmp <(llm-embed m.gguf in) <(llm-embed --pooling last m.gguf in)
    cmp <(llm-embed bert.gguf in) <(llm-embed --pooling mean bert.gguf in)
    mkgguf said.gguf llama k:llama.pooling_type:u32:1
    prompt 1 2 3 >in
    cmp <(llm-embed said.gguf in) <(llm-embed --pooling mean said.gguf in)
    run -0 --separate-stderr llm-embed -v said.gguf in
    [[ $stderr == *"pooling: mean, 32 numbers"* ]]
}

@test "fewer dimensions, halves, bytes" {
    llm-embed -L -f json m.gguf lines | vectors >full
    jq -c '.[:10] | (map(. * .) | add | sqrt) as $l | map(. / $l)' full >want
    llm-embed -L --dimensions 10 -f json m.gguf lines | vectors >got
    near 1e-6 want got
    llm-embed -L --dimensions 10 --no-normalize -f json m.gguf lines | vectors | jq -e 'length == 10'
    llm-embed -L --dtype f16 -f json m.gguf lines | vectors >got
    near 3e-4 full got
    ! cmp -s full got
    llm-embed -L --dtype int8 -f json m.gguf lines >got
    jq -c 'select(.v) | .scale as $s | .v | map(. * $s)' got >near
    near 3e-3 full near
    jq -se '[.[] | select(.v) | .v | map(fabs) | max] | unique == [127]' got
    # The bytes of CBOR: the tag, and each number's size.
    for x in "f32 d8555880" "f16 d8545840" "int8 d8485820"; do
        llm-embed -L --dtype "${x% *}" m.gguf lines | od -An -v -tx1 | tr -d ' \n' |
            grep -o "6176${x#* }" | wc -l | grep -qx 4
    done
    # Through JSON and back into CBOR nothing is lost.
    for t in f32 int8; do
        llm-embed -L --dtype $t m.gguf lines >cbor
        llm-embed -L --dtype $t -f json m.gguf lines >json
        for x in cbor json; do
            llm-embed --similar abc -f json m.gguf $x >$x.out
        done
        cmp cbor.out json.out
    done
    # Other programs pass them on.
    llm-embed -L --dtype int8 m.gguf lines | tok-decode >text
    [ ! -s text ]
}

@test "-f text, -f npy" {
    llm-embed -L -f json m.gguf lines | vectors >want
    llm-embed -L -f text m.gguf lines >text
    cut -f 1 text | xargs | grep -qx '0 1 2 3'
    cut -f 2 text | sed 's/ /,/g; s/.*/[&]/' >got
    near 1e-6 want got
    llm-embed -L --pooling none -f text m.gguf lines | head -n 4 | cut -f 1,2 | xargs | grep -qx '0 0 0 1 0 2 1 0'
    llm-embed -L --dtype int8 -f text m.gguf lines | cut -f 2 | sed 's/ /,/g; s/.*/[&]/' |
        cmp - <(llm-embed -L --dtype int8 -f json m.gguf lines | vectors)
    # A header of a multiple of 64 bytes, and the numbers row by row.
    for x in "f32 <f4 f4 512" "f16 <f2 d2 256" "int8 |i1 d1 128"; do
        read -r type descr od bytes <<<"$x"
        llm-embed -L -f npy --dtype "$type" m.gguf lines >a.npy
        llm-embed -L -f npy --dtype "$type" -o b.npy m.gguf lines
        cmp a.npy b.npy
        [ "$(stat -c %s a.npy)" -eq $((128 + bytes)) ]
        [ "$(head -c 8 a.npy | od -An -tx1 | xargs)" = "93 4e 55 4d 50 59 01 00" ]
        [ "$(od -An -j8 -N2 -tu2 a.npy | xargs)" -eq 118 ]
        [ "$(tail -c +11 a.npy | head -n 1 | xargs -d '\n' | sed 's/ *$//')" = \
            "{'descr': '$descr', 'fortran_order': False, 'shape': (4, 32), }" ]
        [ "$type" = f16 ] || tail -c "$bytes" a.npy | od -An -v -w$((bytes / 4)) -t"$od" |
            sed 's/^ *//; s/  */,/g; s/.*/[&]/' >"got.$type"
    done
    near 1e-7 want got.f32
    cmp <(jq -c . got.int8) <(llm-embed -L --dtype int8 -f json m.gguf lines | vectors)
    llm-embed -L -f npy m.gguf /dev/null | grep -aq "'shape': (0, 32)"
    # All of it, or none.
    [ ! -c /dev/full ] || fails 1 "standard output: " llm-embed -L -f npy -o /dev/full m.gguf lines
    printf 'abc\n\nb\n' >gap
    run -3 --separate-stderr llm-embed -L -f npy m.gguf gap
    [ -z "$output" ]
    cp a.npy old
    run -3 llm-embed -L -f npy -o a.npy m.gguf gap
    cmp a.npy old
    [ "$(find . -name 'a.npy.*' | wc -l)" -eq 0 ]
}

@test "--similar: texts, and what was embedded earlier" {
    llm-embed -L --similar 'the cat and the hen' -f json m.gguf lines >out
    jq -se 'length == 2 and .[1].t == "ranking" and (.[1] | has("s") | not) and
        ([.[1].results[].index] | sort) == [0, 1, 2, 3] and
        ([.[1].results[].score] == ([.[1].results[].score] | sort | reverse)) and
        (.[1].results[0] | .text == "the cat and the hen" and .index == 1)' out
    # Cosines of the vectors.
    llm-embed -L -f json m.gguf lines | vectors >v
    llm-embed -L -f json m.gguf <<<"the cat and the hen" | vectors >q
    jq -ne --slurpfile v v --slurpfile q q --slurpfile out out '
        [$out[1].results[] | .score - ([$v[.index], $q[0]] | transpose | map(.[0] * .[1]) | add) |
            fabs] | max < 1e-6'
    # The same of an index; other numbers are near.
    for t in f32 f16 int8; do
        llm-embed -L --dtype $t m.gguf lines >index.$t
        llm-embed --similar 'the cat and the hen' -f json m.gguf index.$t >got
        jq -ne --slurpfile a out --slurpfile b got '
            ([$a[1].results[].index] == [$b[1].results[].index]) and
            ([range(4) | $a[1].results[.].score - $b[1].results[.].score | fabs] | max) < 5e-3 and
            ($b[1].results[0] | has("text") | not)'
    done
    llm-embed --similar 'the cat and the hen' -f text --top 2 m.gguf index.f32 >text
    [ "$(cut -f 2 text | xargs)" = "$(jq -r '.results[:2][]?.index' out | xargs)" ]
    llm-embed -L --similar 'the cat and the hen' -f text --top 1 m.gguf lines | cut -f 2,3 | grep -qx $'1\t"the cat and the hen"'
    # Ids; tokens; several inputs; a prefix.
    jq -Rc '{text: ., id: .}' lines | llm-embed -J m.gguf | llm-embed --similar 'the cat and the hen' -f json m.gguf |
        jq -se '.[1].results[0].id == "the cat and the hen"'
    tok-encode -L m.gguf lines | llm-embed --similar 'the cat and the hen' -f json m.gguf | jq -c .results[]?.score |
        cmp - <(jq -c .results[]?.score out)
    llm-embed --similar 'the cat and the hen' -f json m.gguf index.f32 index.f32 |
        jq -se '.[1].results | length == 8 and .[0].index == 1 and .[1].index == 5'
    llm-embed -L --similar 'cat and the hen' --query-prefix 'the ' -f json m.gguf lines | cmp - out
    sed 's/^/an /' lines | llm-embed -L -f json m.gguf | vectors |
        cmp - <(llm-embed -L --prefix 'an ' -f json m.gguf lines | vectors)
    # Of two models.
    llm-embed -L --dimensions 8 m.gguf lines >short
    fails 3 "it has 8 numbers, the query has 32" llm-embed --similar abc m.gguf <(head -c 400 short | llm-embed -L --dimensions 8 m.gguf <(echo abc))
    llm-embed --similar abc --dimensions 8 -f json m.gguf short | jq -se '.[1].results[0].index == 0'
}

@test "--rerank: cosines" {
    jq -Rsc 'split("\n")[:-1] | {query: "the hen", documents: .[:3], id: 7},
        {query: "b", documents: [{text: .[0], id: "x"}, .[2]]}, {query: "b", documents: []}' lines >in
    llm-embed --rerank -f json m.gguf in >out
    [ "$(jq -r '.t // "header"' out | xargs)" = "header ranking end ranking end ranking end" ]
    llm-embed -L --similar 'the hen' -f json m.gguf <(head -n 3 lines) >want
    jq -ne --slurpfile a out --slurpfile b want '$a[1].id == 7 and $a[1].s == 0 and $a[3].s == 1 and
        $a[5].results == [] and
        ($a[1].results | map([.index, .score])) == ($b[1].results | map([.index, .score])) and
        ($a[3].results | map(.index) == [1, 0]) and ($a[3].results[0].score - 1 | fabs) < 1e-12 and
        $a[3].results[1].id == "x" and $a[2].usage.tokens > 10'
    llm-embed --rerank --top 1 -f text m.gguf in >text
    [ "$(cut -f 1,3,4 text | head -n 2)" = $'0\t1\t"the cat and the hen"\n1\t1\t"b"' ]
    for o in "-b 1" "-b 2 --chunk 3" "-t 3"; do
        # shellcheck disable=SC2086 # a list
        llm-embed --rerank $o -f json m.gguf in | cmp - out
    done
}

@test "a model that ranks: its template, its tokens" {
    jq -nc '{query: "abc", documents: ["a", "bc", "<s>", "cab"]}' >in
    llm-embed --rerank -f json rank.gguf in >out
    jq -se '[.[1].results[].score] == ([.[1].results[].score] | sort | reverse) and
        ([.[1].results[].score] | unique | length) == 4' out
    # A pair is a text of the template, in which texts spell no control tokens.
    jq -c 'select(.results).results | sort_by(.index)[].score' out >scores
    for d in a bc cab; do
        printf 'aabc<s>%sbb' "$d" | tok-encode --special rank.gguf | llm-embed -f json rank.gguf |
            jq -c 'select(.v) | .score'
    done >want
    cmp want <(sed -n '1p;2p;4p' scores)
    jq -c '{query, document: .documents[]}' in | llm-embed -J -f json rank.gguf >pairs
    jq -c 'select(.v) | .score' pairs | cmp - scores
    jq -se '[.[] | select(.v) | .v[0] - .score | fabs < 1e-6] | all' pairs
    llm-embed --rerank --probabilities -f json rank.gguf in >p
    jq -ne --slurpfile a out --slurpfile b p '[range(4) | $b[1].results[.].score -
        1 / (1 + (- $a[1].results[.].score | exp)) | fabs] | max < 1e-6'
    # --similar and --pair.
    printf 'a\nbc\n<s>\ncab\n' | llm-embed -L --similar abc -f json rank.gguf |
        jq -c 'select(.results).results | sort_by(.index)[].score' | cmp - scores
    llm-embed --rerank --pair 'a{query}<s>{document}bb' -f json rank.gguf in | cmp - out
    ! llm-embed --rerank --pair '{document}<s>{query}' -f json rank.gguf in | cmp -s - out
    mkgguf odd.gguf llama k:llama.pooling_type:u32:4 t:cls.output.weight:F32:32x1 \
        "k:tokenizer.chat_template.rerank:str:a{{query}{document"
    fails 4 "no {query} and {document}: --pair" llm-embed --rerank odd.gguf in
    llm-embed --rerank --pair 'a{query}<s>{document}bb' odd.gguf in
    # The rest of the pattern stays when the document is cut.
    jq -nc '{query: "abc", documents: ["cab" * 200]}' >long
    run -6 llm-embed --rerank -f json rank.gguf long
    llm-embed --rerank --truncate -f json rank.gguf long >cut
    n=$(jq 'select(.t == "end").usage.tokens' cut)
    [ "$n" -gt 120 ] && [ "$n" -le 128 ]
    jq -nc '{query: ("cab" * 200), documents: ["a"]}' | run -6 llm-embed --rerank --truncate rank.gguf
}

@test "a classifier with several outputs" {
    printf 'abc\ncab\n' >in
    llm-embed -L -f json three.gguf in >out
    jq -se '[.[] | select(.v) | (.v | length) == 3 and (.v as $v | .score - ($v[2] -
        ($v[:2] | map(exp) | add | log)) | fabs) < 1e-6] | all' out
    llm-embed -L --label maybe --probabilities -f json three.gguf in |
        jq -se '[.[] | select(.v) | .v as $v | .score - ($v[1] | exp) / ($v | map(exp) | add) | fabs < 1e-6] | all'
    llm-embed -L --label 0 -f json three.gguf in | jq -se '[.[] | select(.v).score] | length == 2'
    fails 2 "no 'perhaps' among its 3 outputs" llm-embed -L --label perhaps three.gguf in
    mkgguf nameless.gguf llama k:llama.pooling_type:u32:4 t:cls.output.weight:F32:32x3
    llm-embed -L -f json nameless.gguf in | jq -se '[.[] | select(.v) | has("score") | not] | all'
    fails 2 "the model has 3 outputs: --label" llm-embed -L --probabilities nameless.gguf in
    # Its tokenizer joins no pairs.
    echo '{"query":"a","document":"b"}' >pair
    fails 4 "does not say how a query and a document are joined" llm-embed -J three.gguf pair
}

@test "BERT: CLS, SEP, and pairs with types" {
    echo 'a bc' | tok-encode -L -f json b.gguf | jq -c 'select(.ids).ids' | grep -qx '\[2,4,5,8,3\]'
    # Its files say whether there is one more SEP in pairs; of the end of a text that says nothing.
    bert sep.gguf k:tokenizer.ggml.add_eos_token:bool:1 k:tokenizer.ggml.add_sep_token:bool:0
    echo 'a bc' | tok-encode -L -f json sep.gguf | jq -c 'select(.ids).ids' | grep -qx '\[2,4,5,8,3\]'
    jq -nc '{query: "a bc", document: "b"}' >in
    llm-embed -J -f json cross.gguf in | jq -c 'select(.v) | .v' >got
    # Where both types are the same, it is one text of these tokens.
    same=set:token_types.weight@0=$(printf '3%.0s' {1..256})
    bert flat.gguf k:bert.pooling_type:u32:4 t:cls.{weight:F16:32x32,bias:F16:32} \
        t:cls.output.{weight:F16:32x1,bias:F16:1} "$same"
    llm-embed -J -f json flat.gguf in | jq -c 'select(.v) | .v' >flat
    prompt 2 4 5 8 3 5 3 | llm-embed -f json flat.gguf | jq -c 'select(.v) | .v' | cmp - flat
    prompt 2 4 5 8 3 5 3 | llm-embed -f json cross.gguf | jq -c 'select(.v) | .v' >one
    ! cmp -s one got
    # A document is cut before its SEP, a query never.
    jq -nc '{query: "a bc", documents: ["b a c a b c a b a b c", "b a c a b c a b a b c c c c c"]}' |
        llm-embed --rerank --truncate -f json cross.gguf |
        jq -se '(.[1].results | .[0].score == .[1].score) and .[2].usage.tokens == 32'
    jq -nc '{query: ("a " * 20), documents: ["b"]}' >long
    fails 6 "the query's 22 tokens fill the context of 16" llm-embed --rerank --truncate cross.gguf long
}

@test "texts that are too long, or wrong, among others" {
    printf 'a\n%s\nb\n' "$(printf 'a %.0s' {1..20})" >in
    run -6 --separate-stderr llm-embed -L -f json b.gguf in
    [[ $stderr == "llm-embed: sequence 1: the prompt's 22 tokens are more than the context of 16" ]]
    printf '%s\n' "${lines[@]}" | jq -se '.[3].t == "error" and .[3].s == 1 and .[4].why == "error" and
        .[5].t == "embedding" and .[5].s == 2'
    llm-embed -L --truncate -f json b.gguf in >out
    printf 'a %.0s' {1..14} | llm-embed -L -f json b.gguf | vectors | cmp - <(vectors <out | sed -n 2p)
    tok-encode -L b.gguf in | llm-embed --truncate -f json b.gguf | vectors | cmp - <(vectors <out)
    run -6 llm-embed -L -c 8 b.gguf <(echo 'a a a a a a a a')
    { S=0 prompt 1 2; S=1 prompt 1 99; S=2 prompt; S=3 prompt 5; } >in
    run -3 --separate-stderr llm-embed -f json m.gguf in
    [[ $stderr == *"sequence 1: token 99"*"sequence 2: there are no tokens"* ]]
    printf '%s\n' "${lines[@]}" | jq -se '[.[] | select(.t == "embedding").s] == [0, 3]'
    tok-encode q.gguf <<<abc >other
    fails 3 "other: record 1" llm-embed m.gguf other
    echo '{"t":"embedding","s":0,"v":[1,"x"]}' >odd
    fails 3 "v[1] is not a number" llm-embed --similar a m.gguf odd
    jq -nc '{t: "embedding", s: 0, v: [range(32) | "NaN"]}' >odd
    fails 3 "not finite" llm-embed --similar a m.gguf odd
    jq -nc '{t: "embedding", s: 0, v: [range(32)]} | ., .' >odd
    fails 3 "more than one vector" llm-embed --similar a m.gguf odd
    fails 3 "--similar: there are no tokens" llm-embed -L --similar '' m.gguf lines
}

@test "requests that are wrong" {
    bad() {
        echo "$2" >in
        # shellcheck disable=SC2086 # a list
        fails 3 "in: line 1: $1" llm-embed ${3:--J} ${4:-m.gguf} in
    }
    bad "column" '{"text":'
    bad "column" '{"text":"a","text":"b"}'
    bad "it is no object" '[]'
    bad '"text" is not a text' '{}'
    bad '"text" is not a text' '{"text":3}'
    bad '"text" is not a text' '{"query":"a","document":"b"}'
    bad '"query" is not a text' '{"document":"b"}' -J rank.gguf
    bad '"document" is not a text' '{"query":"a"}' -J rank.gguf
    bad '"query" is not a text' '{"documents":[]}' --rerank
    bad '"documents" is not a list' '{"query":"a","documents":"b"}' --rerank
    echo '{"query":"a","documents":["b",3]}' >in
    fails 3 "sequence 0: document 1 has no text" llm-embed --rerank m.gguf in
}

@test "options that are wrong" {
    for o in "-b 0" "--chunk 0" "--pooling all" "--dtype f64" "-f xml" "-L -J" "-J --rerank" \
        "--similar a --rerank" "--similar a --dtype f16" "--rerank -f npy" "--top 3" "--prefix a" \
        "-L --query-prefix a" "--pair {query}" "--pair {query}{document}" "--label 0" "--probabilities" \
        "--dimensions 33" "--dimensions -1" "--similar a --pooling none" "--similar a --top -1"; do
        # shellcheck disable=SC2086 # a list
        run -2 llm-embed $o m.gguf lines
    done
    run -2 llm-embed
    run -2 llm-embed --dimensions 1 rank.gguf lines
    run -2 llm-embed --similar a rank.gguf lines
    run -2 llm-embed -L --prefix a rank.gguf lines
    fails 4 "it has no classifier" llm-embed -L --pooling rank m.gguf lines
    fails 1 "nowhere: " llm-embed -L m.gguf nowhere
    fails 4 "makes embeddings: llm-embed" llm-decode b.gguf lines
}

@test "golden numbers of transformers: a decoder, a cross-encoder" {
    mkmodel "$(mkmodel | awk '$2 == "qwen3" { print $1 }')" >qwen3.gguf
    prompt $(jq '.ids[]' "$data/embed.json") >in
    for how in mean last; do
        llm-embed --pooling $how --no-normalize -f json qwen3.gguf in | vectors >got
        jq -c ".qwen3.$how" "$data/embed.json" >want
        near 2e-5 want got
    done
    jq -c '.cross[] | {query, document}' "$data/embed.json" >in
    llm-embed -J -f json cross.gguf in | jq -c 'select(.v) | .v' >got
    jq -c '.cross[] | [.score]' "$data/embed.json" >want
    near 1e-5 want got
}

@test "models of transformers" {
    [ -d "$tiny" ] || skip "no ../shared"
    for m in bert nomic_bert modernbert; do
        prompt $(jq '.tokens[]' "$tiny/$m/tokens.json") >in
        for how in mean cls; do
            llm-embed --pooling $how --no-normalize -f json "$tiny/$m/model.gguf" in | vectors >got
            jq -c ".pooled_$how" "$tiny/$m/tokens.json" >want
            near 2e-4 want got
        done
    done
}

@test "-o and a signal: the old file, and nothing beside it" {
    local sig st

    echo old >out.npy
    mkfifo in
    for sig in TERM HUP; do
        llm-embed -L -f npy -o out.npy m.gguf in &
        exec 5>in # when the program has opened it
        until_true compgen -G 'out.npy.*' >/dev/null
        kill -$sig $!
        st=0
        wait $! || st=$?
        exec 5>&-
        [ "$st" -eq $((128 + $(kill -l $sig))) ]
        [ "$(echo out.npy*)" = out.npy ]
        [ "$(cat out.npy)" = old ]
    done
}
