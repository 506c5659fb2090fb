#!/usr/bin/env bats
# make install and uninstall; completions in the shells that are here.
bats_require_minimum_version 1.5.0

# Make in make would talk to the outer one.
into() {
    env -u MAKEFLAGS -u MAKELEVEL make -s "$@" \
        DESTDIR="$BATS_TEST_TMPDIR/dest" PREFIX=/opt/llm B="${R:-${B:-build}}" \
        ${CROSS:+CROSS="$CROSS"} ${CC:+CC="$CC"} SAN="${SAN:-}" DEV="${DEV:-}"
}

@test "install: programs that run, pages, completions; uninstall: nothing is left" {
    cd "$BATS_TEST_DIRNAME/.."
    run -0 into install
    root=$BATS_TEST_TMPDIR/dest/opt/llm
    for p in cmd/*.c; do
        p=${p##*/} p=${p%.c}
        # shellcheck disable=SC2086 # words
        run -0 ${EMULATOR:-} "$root/bin/$p" --version
        [[ $output == "$p (llmutils) "* ]]
        [ -s "$root/share/bash-completion/completions/$p" ]
        [ -s "$root/share/fish/vendor_completions.d/$p.fish" ]
    done
    for p in man/*.[157]; do
        cmp "$p" "$root/share/man/man${p##*.}/${p##*/}"
    done
    [ -s "$root/share/zsh/site-functions/_llmutils" ]
    # Nothing that belongs to nobody, and no link that leads nowhere.
    [ -z "$(find "$root" -type f ! -perm -044)" ]
    [ -z "$(find "$root" -xtype l)" ]
    run -0 into uninstall
    [ -z "$(find "$BATS_TEST_TMPDIR/dest" ! -type d)" ]
}

@test "install: where a stranger's files are, they stay" {
    cd "$BATS_TEST_DIRNAME/.."
    run -0 into install
    touch "$BATS_TEST_TMPDIR/dest/opt/llm/bin/other"
    run -0 into uninstall
    run -0 find "$BATS_TEST_TMPDIR/dest" ! -type d
    [ "$output" = "$BATS_TEST_TMPDIR/dest/opt/llm/bin/other" ]
}

# ask WORD...: what bash offers for the last word.
ask() {
    PATH=$PWD/${B:-build}/bin:$PATH bash --norc -c '
        source completions/llmutils.bash
        # As readline does: words break at these two, the line is whole.
        COMP_WORDBREAKS=:= COMP_LINE=$(sed "s/ *\([:=]\) */\1/g" <<<"$*")
        COMP_POINT=${#COMP_LINE}
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _llmutils "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

@test "bash: options, their words, files, models" {
    cd "$BATS_TEST_DIRNAME/.."
    run -0 bash --norc -c 'source completions/llmutils.bash; complete -p tok-encode'
    [ "$output" = "complete -F _llmutils tok-encode" ]
    run -0 ask tok-encode --no-b
    [ "$output" = --no-bos ]
    run -0 ask tok-encode -f ''
    [ "$output" = $'text\njson\ncbor' ]
    run -0 ask tok-encode --format = j
    [ "$output" = json ]
    run -0 ask tok-encode -o LIC
    [ "$output" = LICENSE ]
    run -0 ask tok-encode -t ''
    [ -z "$output" ]
    run -0 ask gguf-pull smol
    [ "$output" = smollm2-135m ]
    # A model first, then files.
    export LLM_CACHE=$BATS_TEST_TMPDIR/cache
    mkdir -p "$LLM_CACHE/models/smollm2-135m"
    "${B:-build}/tools/mkgguf" "$LLM_CACHE/models/smollm2-135m/x.gguf" llama
    run -0 ask tok-encode -f json smol
    [ "$output" = smollm2-135m ]
    run -0 ask tok-encode smollm2-135m smol
    [ -z "$output" ]
    run -0 ask gguf-inspect one two smol
    [ "$output" = smollm2-135m ]
    run -0 ask gguf-pull --rm ''
    [ "$output" = smollm2-135m ]
    run -0 ask gguf-inspect -f ''
    [ "$output" = $'text\njson' ]
    run -0 ask tok-decode --model = smol
    [ "$output" = smollm2-135m ]
    # What only gguf-pull takes is offered for nothing else; after a ':' only
    # the rest is put in.
    mkdir -p "$LLM_CACHE"/models/hf/o/ok "$LLM_CACHE"/models/pypi/a==1.0
    cp "$LLM_CACHE"/models/smollm2-135m/x.gguf "$LLM_CACHE/models/hf/o/ok/m.gguf"
    cp "$LLM_CACHE"/models/smollm2-135m/x.gguf "$LLM_CACHE/models/pypi/a==1.0/m.gguf"
    run -0 ask gguf-inspect ''
    [[ $output == *smollm2-135m* && $output != *hf:* ]]
    run -0 ask gguf-pull --rm h
    [ "$output" = hf:o/ok/m.gguf ]
    run -0 ask gguf-pull --rm hf : o/
    [ "$output" = o/ok/m.gguf ]
    run -0 ask gguf-pull --rm hf :
    [ "$output" = o/ok/m.gguf ]
    run -0 ask gguf-pull --rm pypi : a = = 1
    [ "$output" = 1.0 ]
}

@test "completions: a hostile file name in the cache is a word like others" {
    cd "$BATS_TEST_DIRNAME/.."
    export LLM_CACHE=$BATS_TEST_TMPDIR/cache
    mkdir -p "$LLM_CACHE"/models/{hf/o/evil,foo}
    # Names that each of the three shells would run, if they ran any.
    for f in 'x$(touch${IFS}$T).gguf' 'x`touch${IFS}$T`.gguf' 'x;touch $T.gguf' \
        'x(touch $T).gguf' "x';touch \$T;'.gguf"; do
        "${B:-build}/tools/mkgguf" "$LLM_CACHE/models/foo/$f" llama
        "${B:-build}/tools/mkgguf" "$LLM_CACHE/models/hf/o/evil/$f" llama
    done
    export T=$BATS_TEST_TMPDIR/touched
    run -0 ask gguf-pull --rm ''
    [ "${#lines[@]}" = 10 ]
    # A line with any of them on it does nothing but name it.
    for w in "${lines[@]}"; do
        eval "echo $w" >"$BATS_TEST_TMPDIR/out"
    done
    run -0 ask gguf-inspect ''
    [[ $output != *touch* ]]
    [ ! -e "$T" ]
    if command -v fish >/dev/null; then
        PATH=$PWD/${B:-build}/bin:$PATH HOME=$BATS_TEST_TMPDIR fish --no-config \
            -c 'source completions/llmutils.fish; complete -C "gguf-pull --rm "; complete -C "gguf-inspect "' \
            >"$BATS_TEST_TMPDIR/out"
        grep -q 'x.*touch' "$BATS_TEST_TMPDIR/out"
        [ ! -e "$T" ]
    fi
    if command -v zsh >/dev/null; then
        PATH=$PWD/${B:-build}/bin:$PATH HOME=$BATS_TEST_TMPDIR zsh -f -c '
            compadd() { print -rl -- ${(P)2} }
            _alternative() { print -rl -- $names }
            service=none words=(gguf-pull --rm)
            source completions/_llmutils
            _llmutils_names; _llmutils_models' >"$BATS_TEST_TMPDIR/out"
        grep -q 'x.*touch' "$BATS_TEST_TMPDIR/out"
        [ ! -e "$T" ]
    fi
}

@test "zsh: reads its completions" {
    command -v zsh >/dev/null || skip "no zsh"
    cd "$BATS_TEST_DIRNAME/.."
    zsh -n completions/_llmutils
}

@test "fish: options and their words" {
    command -v fish >/dev/null || skip "no fish"
    cd "$BATS_TEST_DIRNAME/.."
    PATH=$PWD/${B:-build}/bin:$PATH
    export HOME=$BATS_TEST_TMPDIR
    run -0 fish --no-config -c 'source completions/llmutils.fish; complete -C "tok-encode --no-b"'
    [[ $output == --no-bos* ]]
    run -0 fish --no-config -c 'source completions/llmutils.fish; complete -C "tok-encode -f c"'
    [[ $output == cbor* ]]
}
