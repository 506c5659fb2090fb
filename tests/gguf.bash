# shellcheck shell=bash disable=SC2154 # set by bats
# For tests of what writes model files in the folder that they stand in.

# Sums of all tensors.
weights() { gguf-inspect --hash --tensors '*' "$1"; }

# fails CODE TEXT COMMAND...: one line that has TEXT; no file comes or changes.
fails() {
    local code=$1 text=$2 before
    shift 2
    before=$(ls -A; cat ./*.gguf | cksum)
    run -"$code" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || [[ $stderr == *usage:* ]] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$text"* ]] || { echo "$stderr"; return 1; }
    [ -z "$output" ] || return 1
    [ "$(ls -A; cat ./*.gguf | cksum)" = "$before" ] || { ls -A; return 1; }
}
