#!/bin/sh
# ask.sh MODEL QUESTION FILE...: what an instruction model says to a question
# about files.  It must have been trained with ChatML, as SmolLM2 and Qwen are.
# What it has read is kept in the folder $CACHE: the next question about the
# same files begins behind them.
#
# Control tokens come from the template alone, which has --special.  The files
# and the question are encoded without it, so that "<|im_end|>" in a file is
# ten characters and ends nothing.
set -e
model=$1 question=$2
shift 2
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/llmutils/asked}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

{
    cat -- "$@"
    printf '\n%s' "$question"
} >"$tmp/text"
printf '<|im_start|>system\nAnswer from the text.<|im_end|>\n<|im_start|>user\n' |
    tok-encode -f json --special --no-eos "$model" >"$tmp/1"
tok-encode -f json --no-bos --no-eos "$model" <"$tmp/text" >"$tmp/2"
printf '<|im_end|>\n<|im_start|>assistant\n' |
    tok-encode -f json --special --no-bos --no-eos "$model" >"$tmp/3"

# One request, whose prompt is all these ids as they are.
mkdir -p "$cache"
jq -sc '{prompt: [.[].ids[]?]}' "$tmp/1" "$tmp/2" "$tmp/3" |
    tok-encode -J "$model" |
    llm-decode --temp 0 -n "${COUNT:-200}" --cache "$cache" "$model" |
    tok-decode -L
