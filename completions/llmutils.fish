# fish completion for llmutils.  Written by completions/generate.sh; do not edit.
function __llmutils_names
    gguf-pull $argv 2>/dev/null | string replace -r ' .*' ''
end
function __llmutils_cached
    gguf-pull --catalog 2>/dev/null | string replace -f -r ' .* cached$' ''
end

complete -c gguf-inspect -e
complete -c gguf-inspect -a '(__llmutils_cached)' -d 'cached model'
complete -c gguf-inspect -l all -d 'show whole arrays and strings'
complete -c gguf-inspect -l check -d 'look at every tensor: layout, NaN and infinite scales'
complete -c gguf-inspect -s c -l context -x -d 'estimate memory for this context length'
complete -c gguf-inspect -l diff -r -F -a '(__llmutils_cached)' -d 'compare with another model'
complete -c gguf-inspect -s f -l format -x -a 'text json' -d 'how to print'
complete -c gguf-inspect -l hash -d 'print XXH3-128 of every tensor and of the whole'
complete -c gguf-inspect -l key -x -d 'print only the value of this key'
complete -c gguf-inspect -l kv-type -x -d 'estimate memory for these types of K and V'
complete -c gguf-inspect -s q -l quiet -d 'the summary only'
complete -c gguf-inspect -l tensors -x -d 'only tensors whose name matches'
complete -c gguf-inspect -s t -l threads -x -d 'threads for --check and --hash'
complete -c gguf-inspect -s h -l help -d 'print this help'
complete -c gguf-inspect -s V -l version -d 'print the version'

complete -c gguf-pull -e
complete -c gguf-pull -f
complete -c gguf-pull -n '__fish_contains_opt rm' -a '(__llmutils_names --list)'
complete -c gguf-pull -n 'not __fish_contains_opt rm' -a '(__llmutils_names --catalog)'
complete -c gguf-pull -s f -l format -x -a 'text json' -d 'how --list and --catalog print'
complete -c gguf-pull -s o -l output -r -F -d 'put the model into file, not into the cache'
complete -c gguf-pull -s q -l quiet -d 'no progress and no notes on stderr'
complete -c gguf-pull -s v -l verbose -d 'say what is tried, and how it fails'
complete -c gguf-pull -l catalog -d 'list the names that are known'
complete -c gguf-pull -l force -d 'fetch it again, even if it is in the cache'
complete -c gguf-pull -l list -d 'list the models in the cache'
complete -c gguf-pull -l offline -d 'fail rather than use the network'
complete -c gguf-pull -l retries -x -d 'failures in a row before a source is given up'
complete -c gguf-pull -l rm -d 'remove the models from the cache'
complete -c gguf-pull -l sha256 -x -d 'what the file\'s SHA-256 must be'
complete -c gguf-pull -l timeout -x -d 'how long a server may send nothing'
complete -c gguf-pull -s h -l help -d 'print this help'
complete -c gguf-pull -s V -l version -d 'print the version'

complete -c tok-decode -e
complete -c tok-decode -s o -l output -r -F -d 'write there, not to standard output'
complete -c tok-decode -s L -l lines -d 'a newline after each sequence'
complete -c tok-decode -s 0 -l null -d 'a NUL after each sequence'
complete -c tok-decode -s e -l escape -d 'newlines and backslashes in text as \\n and \\\\'
complete -c tok-decode -s J -l jsonl -d 'a line of JSON for each sequence'
complete -c tok-decode -s m -l model -r -F -a '(__llmutils_cached)' -d 'make the text of records that have none'
complete -c tok-decode -s r -l raw -d 'bytes as they come, not in whole characters'
complete -c tok-decode -l special -d 'with --model: show control tokens by their spelling'
complete -c tok-decode -s h -l help -d 'print this help'
complete -c tok-decode -s V -l version -d 'print the version'

complete -c tok-encode -e
complete -c tok-encode -a '(__llmutils_cached)' -d 'cached model'
complete -c tok-encode -s c -l count -d 'print how many tokens each sequence has, and nothing else'
complete -c tok-encode -s L -l lines -d 'each line is a sequence'
complete -c tok-encode -s J -l jsonl -d 'each line is a JSON request with a "prompt"'
complete -c tok-encode -l special -d 'spellings of control tokens in the text become those tokens'
complete -c tok-encode -l no-bos -d 'do not begin with BOS, whatever the model says'
complete -c tok-encode -l eos -d 'end with EOS'
complete -c tok-encode -l no-eos -d 'do not end with EOS, whatever the model says'
complete -c tok-encode -l pre -x -d 'split the text by this pre-tokenizer\'s rules, not the model\'s'
complete -c tok-encode -s t -l threads -x -d 'threads to encode with (default: the cores this process may use)'
complete -c tok-encode -s f -l format -x -a 'text json cbor' -d 'write this form; default: text on a terminal, else cbor'
complete -c tok-encode -s o -l output -r -F -d 'write there, not to standard output'
complete -c tok-encode -s h -l help -d 'print this help'
complete -c tok-encode -s V -l version -d 'print the version'
