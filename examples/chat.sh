#!/bin/sh
# chat.sh MODEL [FILE]: a chat in the shell.  Each line of standard input is
# what the user says, and the model's answer is written as it comes.
#
#     chat-render   the messages as text, by the model's own template
#     tok-encode    text to tokens; nothing that was typed is a control token
#     llm-decode    the answer; what it has read of the chat is not read again
#     chat-parse    the answer as a message, for the next turn
#
# FILE keeps the messages, a line of JSON each: with the same FILE the chat goes
# on, and jq shows what was said, or changes it.  SYSTEM is what the model is
# told first, TEMPLATE a file for models that have no template, and OPTIONS are
# words for llm-decode, such as "-n 500 --temp 0".
set -e
model=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
file=${2:-$tmp/messages}
set --
[ -z "$TEMPLATE" ] || set -- --template "$TEMPLATE"

# say ROLE TEXT
say() {
    jq -nc --arg role "$1" --arg text "$2" \
        '{role: $role, content: $text}' >>"$file"
}

[ -z "$SYSTEM" ] || [ -s "$file" ] || say system "$SYSTEM"
while
    [ ! -t 0 ] || printf '> ' >&2
    IFS= read -r line
do
    say user "$line"
    # shellcheck disable=SC2086 # these are words
    jq -s . "$file" | chat-render "$@" "$model" - | tok-encode "$model" |
        llm-decode -q --cache "$tmp/cache" $OPTIONS "$model" |
        tee "$tmp/answer" | tok-decode
    echo
    chat-parse --message --model "$model" "$@" "$tmp/answer" >"$tmp/message"
    cat "$tmp/message" >>"$file"
done
