#!/bin/sh
# remote.sh MODEL [MODEL-THERE]: reads a prompt here and answers it elsewhere,
# with the same model, which has the path MODEL-THERE there.  What goes over is
# the KV state, checked by its sums, so the prompt is read once; -v says so:
#
#     REMOTE='ssh host' sh remote.sh m.gguf /srv/m.gguf <prompt
#
# Without REMOTE, elsewhere is another shell on this machine.
model=$1
there=$(printf '%s\n' "${2:-$1}" | sed "s/'/'\\\\''/g")

tok-encode "$model" |
    llm-prefill -q --zstd --no-logits "$model" |
    ${REMOTE:-sh -c} "llm-decode -v --temp 0 -n 64 '$there'" |
    tok-decode -L
