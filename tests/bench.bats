#!/usr/bin/env bats
# The tools of `make bench`, without waiting for figures that mean something.
bats_require_minimum_version 1.5.0

setup() {
    B=$PWD/${B:-build}
    bench=$PWD/bench
    PATH=$B/bin:$B/tools:$PATH
    export B BENCH_ROUNDS=1 BENCH_THREADS=1 BENCH_READ_MB=8
    unset BENCH_ONLY BENCH_MODELS BENCH_LLAMA BENCH_IK BENCH_LLAMA_CLI BENCH_IK_CLI
    cd "$BATS_TEST_TMPDIR" || exit 1
}

@test "the machine's limits" {
    probe 2 1 8 >one
    jq -e '.threads == 2 and .read_mb == 8 and .near_mb == 1 and .read_gb_s > 0 and
        .read_best >= .read_gb_s and .near_gb_s > 0 and .int8_gop_s > 0 and .int8_one > 0' one
    run -2 probe 0
    run -2 probe 1 -1
    run -2 probe 1 0 none
}

@test "models of random weights are models, the same for the same seed" {
    for mix in q4_k_m q8_0; do
        mkshape llama-tiny $mix >$mix
        gguf-inspect --check -q $mix
        echo '{"t":"tokens","ids":[9,8,7]}' | llm-prefill -f json $mix >logits
        jq -es 'map(select(.t == "logits").v)[0] | length == 512 and
            all(. > -1000 and . < 1000) and max - min > 0.1' logits
        mkshape llama-tiny $mix 1 | cmp - $mix
        run -1 cmp -s <(mkshape llama-tiny $mix 2) $mix
    done
    # Of 8 layers' V, those of the first, the last, and of each third between.
    gguf-inspect -f json q4_k_m | jq -c '[.tensors[] | select(.name | test("attn_v")).type == "Q6_K"]' |
        diff - <(echo '[true,false,false,true,false,false,true,true]')
    echo "hello there" | tok-encode q8_0 | tok-decode | cmp - <(echo "hello there")
    run -2 mkshape llama-tiny q5_0
}

@test "each kind of work is a line" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator's speed says nothing"
    mkshape llama-tiny q4_k_m >tiny.gguf
    BENCH_ONLY="decode prefill share-4 first busy" python3 "$bench/llm.py" tiny.gguf >lines
    jq -r '[.test, .model, .rounds, .median > 0, .met] | @tsv' lines | diff - <(
        printf '%s\ttiny.gguf\t1\ttrue\t%s\n' decode '' prefill '' share-4 "$(
            jq -r 'select(.test == "share-4") | .reached.one >= 3' lines)" first '' busy '')
    jq -es '.[0] | .cpu_s >= 0 and .read_pct > 0 and .read_gb_s > 0 and .int8_gop_s > 0' lines
}

@test "guesses: a line for each text and drafter" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator's speed says nothing"
    mkshape llama-tiny q4_k_m >tiny.gguf
    python3 "$bench/spec.py" tiny.gguf >lines
    jq -r '[.test, .drafter, .target.ratio] | @tsv' lines | diff - <(
        for t in edit quote plain; do
            for d in ngram corpus process model; do
                want=
                [ "$t$d" = editngram ] || [ "$t$d" = quotengram ] && want=2
                [ "$t" = plain ] && want=0.97
                printf 'spec-%s\t%s\t%s\n' "$t" "$d" "$want"
            done
        done)
    jq -es 'all(.median > 0 and .decode > 0 and .ratio > 0 and .cpu_s > 0 and .cpu_ratio > 0 and
        (.places | length <= 15 and all(. >= 0 and . <= 1)) and
        (if .guessed > 0 then .right >= 0 and .right <= 1 else .right == null end))' lines
}

@test "vectors: texts a second, and the peer's" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator's speed says nothing"
    mkshape llama-tiny q4_k_m >tiny.gguf
    BENCH_TEXTS=12 python3 "$bench/embed.py" tiny.gguf | jq -e '.test == "embed" and .texts == 12 and
        .tokens > 300 and .median > 0 and .tokens_s > 0 and (has("llama.cpp") | not)'
    # A peer that says the same, but at half of the length.
    cat >peer <<'END'
#!/bin/sh
[ "$*" = "-m tiny.gguf -f $4 -t 1 --embd-output-format array --pooling last" ] || exit 3
sleep 0.1
llm-embed -q -L -f json tiny.gguf "$4" | jq -s '[.[] | select(.v) | .v | map(. / 2)]'
END
    chmod +x peer
    BENCH_TEXTS=12 BENCH_LLAMA_EMBED=./peer python3 "$bench/embed.py" tiny.gguf |
        jq -e '.["llama.cpp"] | .median > 0 and .ratio > 0 and .cpu_ratio > 0 and .cosine == 1'
    printf '#!/bin/sh\nexit 3\n' >peer
    BENCH_TEXTS=12 BENCH_LLAMA_EMBED=./peer run -1 python3 "$bench/embed.py" tiny.gguf
}

@test "work beside a peer, and a peer that fails" {
    [[ -z ${EMULATOR:-} ]] || skip "an emulator's speed says nothing"
    mkshape llama-tiny q4_k_m >tiny.gguf
    cat >peer <<'END'
#!/bin/sh
sleep 0.1
echo '[{"avg_ts":0.5,"avg_ns":50000000}'
echo ']'
END
    printf '#!/bin/sh\necho none of that >&2\nexit 3\n' >broken
    chmod +x peer broken
    BENCH_LLAMA=./peer BENCH_IK=./broken BENCH_ONLY="decode busy" python3 "$bench/llm.py" tiny.gguf >lines
    jq -es '.[1] | .met and .target.better == 2 and .["llama.cpp"].median == 0.5 and
        .["llama.cpp"].ratio > 2 and .ik == null' lines
    jq -r .peers_failed.ik lines | diff - <(echo 'broken: exit 3: none of that
broken: exit 3: none of that')
    # Of its ways behind a long prompt, the faster one.
    cat >peer <<'END'
#!/bin/sh
case " $* " in
*" -d 4096 -fa 0 "*) ts=0.5 ;;
*" -d 4096 -fa 1 "*) ts=0.4 ;;
*) ts=0.6 ;;
esac
echo "[{\"avg_ts\":$ts,\"avg_ns\":50000000,\"build_commit\":\"abc\"}]"
END
    BENCH_LLAMA=./peer BENCH_ONLY=decode-4k python3 "$bench/llm.py" tiny.gguf >lines
    jq -e '.["llama.cpp"] | .median == 0.5 and .commit == "abc" and (.way | endswith(", -fa 0"))' lines
    BENCH_IK=./absent run -1 python3 "$bench/llm.py" tiny.gguf
    [ "$output" = "llm.py: ./absent: there is no such program" ]
}

results() {
    cat <<'END'
{"bench":"llm","test":"decode","model":"m_1.gguf","unit":"tokens/s","median":100,"ik":{"median":90},"commit":"aaa","cpu":"X","date":"2026-01-01T00:00:00Z"}
{"bench":"llm","test":"decode","model":"other.gguf","unit":"tokens/s","median":7,"commit":"bbb","cpu":"Y","date":"2026-01-02T00:00:00Z"}
{"bench":"tok","model":"m_1.gguf","text":"t","program":"tok-encode","threads":1,"mb_s":90.1,"commit":"ccc","cpu":"X","date":"2026-01-03T00:00:00Z"}
{"bench":"llm","test":"decode","model":"m_1.gguf","unit":"tokens/s","median":140,"ik":{"median":91},"commit":"ccc","cpu":"X","date":"2026-01-03T00:00:00Z"}
END
}

@test "the history as a plot" {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
    results >r
    export BENCH_RESULTS=r
    run -0 --separate-stderr "$bench/trend" -o p.svg
    [ "$stderr" = "trend: 1 results of other processors are left out" ]
    [[ $output == *decode*m_1.gguf*"m_1.gguf, ik"*tok*p.svg ]]
    [[ $output != *other.gguf* ]]
    grep -q '<svg' p.svg
    grep -q 'm_1.gguf, ik' p.svg
    run -0 "$bench/trend" -o p.png decode
    [[ $output != *tok-encode* ]]
    head -c 4 p.png | grep -q PNG
    run -1 "$bench/trend" prefill
    [[ $output == *"no results of 'prefill'; there are: decode, tok" ]]
    run -1 env BENCH_RESULTS=absent "$bench/trend"
    [[ $output == *"absent is not there"* ]]
}

@test "without gnuplot, a plot says so" {
    results >r
    python=$(python3 -c 'import sys; print(sys.executable)')
    PATH=/nowhere BENCH_RESULTS=r run -1 "$python" "$bench/trend"
    [ "$output" = "trend: gnuplot draws the plots and is not installed (Debian: gnuplot-nox)" ]
}
