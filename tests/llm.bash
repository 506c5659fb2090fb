# For tests of the programs that run models: prompts, answers, failures.
# shellcheck shell=bash disable=SC2034,SC2154 # for and by those who load it

# --logit-bias ... that make the answer these tokens, each of them once.
spell() {
    local bias=2000 id

    said=(--temp 0 --presence-penalty 1000 --repeat-last-n -1)
    for id in "$@"; do
        said+=(--logit-bias "$id=$bias")
        bias=$((bias - 20))
    done
}

# A prompt of ids; of sequence $S if it is set.
prompt() {
    local ids=$*

    echo "{\"t\":\"tokens\",\"s\":${S:-0},\"ids\":[${ids// /,}]}"
}

# Ids below 39, $1 of them.
some() {
    local i

    for ((i = 0; i < $1; i++)); do
        echo $(((i * i * 7 + i * 3 + i / 3) % 39))
    done | xargs
}

# An answer's text, its ids, the reason of its end.
text() {
    llm-decode "$@" | tok-decode
}

ids() {
    llm-decode -f json "$@" | jq -r 'select(.t == "tokens").ids[]' | xargs
}

ends() {
    llm-decode -f json "$@" | jq -c 'select(.t == "end") | [.why, .stop]' | xargs
}

# Fails with status $1 and one line that has the words $2; the rest runs.
fails() {
    local st=$1 words=$2

    shift 2
    run -"$st" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || [ "$st" -eq 2 ] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

# Waits until the command succeeds.
until_true() {
    local i

    for i in {1..400}; do
        "$@" && return
        sleep 0.05
    done
    return 1
}

e=39 the=34 # <end>, and a token of three letters
