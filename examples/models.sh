#!/bin/sh
# models.sh MODEL...: a line for each model: architecture, millions of
# parameters, bits each, context, and whether its file is sound: no NaN, no
# stray bytes, no key of a type that its readers refuse.
for m; do
    gguf-inspect --check -q "$m" >&2 && sound=sound || sound=damaged
    gguf-inspect -f json "$m" |
        jq -r --arg m "$m" --arg s "$sound" '[$m, .config.architecture,
            (.parameters / 1e6 | round), (.bits_per_weight * 100 | round / 100),
            .config.context, $s] | @tsv'
done
