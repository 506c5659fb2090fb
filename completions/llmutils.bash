# shellcheck shell=bash
# bash completion for llmutils.  Written by completions/generate.sh; do not edit.

# Those of the names on stdin that begin as the word before the cursor does.
# They may come from elsewhere, so are never expanded, and are quoted if need
# be.  Of a word with ':' or '=' bash completes only what follows the last one.
_llmutils_names() {
    local word=$1 breaks='' head='' name line=${COMP_LINE:0:COMP_POINT}
    [[ $line ]] && word=${line##*[[:space:]]}
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
    [[ $breaks ]] && head=${word%"${word##*[$breaks]}"}
    # "--model=smol": the option is no part of the name.
    [[ $word == --*=* ]] && word=${word#*=} head=${head#*=}
    while read -r name; do
        printf -v name %q "$name"
        [[ $name == "$word"* ]] && COMPREPLY+=("${name#"$head"}")
    done
}

_llmutils() {
    local cur=$2 prev=$3 prog=${1##*/} opts='' valued='' operands='' kind='' i n=0
    # "--format=json" comes as three words.
    [[ $cur == = ]] && cur='' prev=${COMP_WORDS[COMP_CWORD - 1]}
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    case $prog in
    chat-parse)
        opts='--dialect --reasoning --inside --model --template --tools --text --message --write --null --list --format --output --help --version'
        valued='-d --dialect --reasoning -m --model --template --tools -f --format -o --output'
        operands='file ...'
        case $prev in
        -d | --dialect) kind='name' ;;
        --reasoning) kind='name' ;;
        -m | --model) kind='model' ;;
        --template) kind='file' ;;
        --tools) kind='file' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    chat-render)
        opts='--jsonl --template --define --kwargs --no-generation-prompt --prefill --parse-arguments --clock --format --output --help --version'
        valued='--template -D --define --kwargs --prefill --clock -f --format -o --output'
        operands='model file ...'
        case $prev in
        --template) kind='file' ;;
        -D | --define) kind='name=json' ;;
        --kwargs) kind='json' ;;
        --prefill) kind='text' ;;
        --clock) kind='seconds' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    gguf-convert)
        opts='--base --dry-run --format --max-size --name --no-tokenizer --output --outtype --quiet --threads --help --version'
        valued='--base -f --format --max-size --name -o --output --outtype -t --threads'
        operands='model'
        case $prev in
        --base) kind='model' ;;
        -f | --format) kind='words text json' ;;
        --max-size) kind='size' ;;
        --name) kind='name' ;;
        -o | --output) kind='file' ;;
        --outtype) kind='type' ;;
        -t | --threads) kind='count' ;;
        esac
        ;;
    gguf-inspect)
        opts='--all --check --context --diff --format --hash --key --kv-type --quiet --tensors --threads --help --version'
        valued='-c --context --diff -f --format --key --kv-type --tensors -t --threads'
        operands='model ...'
        case $prev in
        -c | --context) kind='positions' ;;
        --diff) kind='model' ;;
        -f | --format) kind='words text json' ;;
        --key) kind='name' ;;
        --kv-type) kind='k[,v]' ;;
        --tensors) kind='glob' ;;
        -t | --threads) kind='count' ;;
        esac
        ;;
    gguf-pull)
        opts='--format --output --quiet --verbose --catalog --force --list --offline --retries --rm --sha256 --timeout --help --version'
        valued='-f --format -o --output --retries --sha256 --timeout'
        operands='name ...'
        case $prev in
        -f | --format) kind='words text json' ;;
        -o | --output) kind='file' ;;
        --retries) kind='count' ;;
        --sha256) kind='hex' ;;
        --timeout) kind='seconds' ;;
        esac
        ;;
    gguf-quantize)
        opts='--allow-requantize --dry-run --embedding --fallback --format --imatrix --list --max-kl --measure --output --output-type --pure --quiet --target-size --tensor --text --text-tokens --threads --help --version'
        valued='--embedding -f --format --imatrix --max-kl -o --output --output-type --target-size --tensor --text --text-tokens -t --threads'
        operands='model recipe'
        case $prev in
        --embedding) kind='type' ;;
        -f | --format) kind='words text json' ;;
        --imatrix) kind='file' ;;
        --max-kl) kind='number' ;;
        -o | --output) kind='file' ;;
        --output-type) kind='type' ;;
        --target-size) kind='size' ;;
        --tensor) kind='regex=type' ;;
        --text) kind='file' ;;
        --text-tokens) kind='count' ;;
        -t | --threads) kind='count' ;;
        esac
        ;;
    gguf-set)
        opts='--chat-template --delete --dry-run --force --format --from --output --quiet --rename --reserve --type --help --version'
        valued='--chat-template --delete -f --format --from -o --output --rename --reserve --type'
        operands='file key=value ...'
        case $prev in
        --chat-template) kind='file' ;;
        --delete) kind='key' ;;
        -f | --format) kind='words text json' ;;
        --from) kind='file' ;;
        -o | --output) kind='file' ;;
        --rename) kind='old=new' ;;
        --reserve) kind='size' ;;
        --type) kind='type' ;;
        esac
        ;;
    gguf-split)
        opts='--dry-run --force --format --max-size --max-tensors --merge --output --quiet --help --version'
        valued='-f --format --max-size --max-tensors -o --output'
        operands='model'
        case $prev in
        -f | --format) kind='words text json' ;;
        --max-size) kind='size' ;;
        --max-tensors) kind='count' ;;
        -o | --output) kind='prefix' ;;
        esac
        ;;
    grammar-check)
        opts='--grammar --json --schema --regex --next --print --compile --model --null --quiet --help --version'
        valued='--grammar --schema --regex --next -m --model'
        operands='text ...'
        case $prev in
        --grammar) kind='file' ;;
        --schema) kind='file' ;;
        --regex) kind='pattern' ;;
        --next) kind='prefix' ;;
        -m | --model) kind='model' ;;
        esac
        ;;
    kv-dump)
        opts='--check --convert --cut --diff --format --no-zstd --output --quiet --seq --values --zstd --help --version'
        valued='--convert --cut --diff -f --format -o --output --seq --values'
        operands='file ...'
        case $prev in
        --convert) kind='k[,v]' ;;
        --cut) kind='count' ;;
        --diff) kind='file' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        --seq) kind='number' ;;
        --values) kind='layer[:head[:position]]' ;;
        esac
        ;;
    llm-bench)
        opts='--prompt --count --depth --batch --shared --threads --repeat --only --cold --spec --draft --kv-type --device --share --no-pack --lora --baseline --noise --fail-on-regression --vs --vs-regex --read-mb --format --output --quiet --help --version'
        valued='-p --prompt -n --count --depth -b --batch -t --threads -r --repeat --only --draft --kv-type --device --lora --baseline --noise --vs --vs-regex --read-mb -f --format -o --output'
        operands='model ...'
        case $prev in
        -p | --prompt) kind='count[,...]' ;;
        -n | --count) kind='count' ;;
        --depth) kind='count[,...]' ;;
        -b | --batch) kind='count[,...]' ;;
        -t | --threads) kind='count[,...]' ;;
        -r | --repeat) kind='count' ;;
        --only) kind='test[,...]' ;;
        --draft) kind='model' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        --baseline) kind='file' ;;
        --noise) kind='percent' ;;
        --vs) kind='command' ;;
        --vs-regex) kind='regex' ;;
        --read-mb) kind='count' ;;
        -f | --format) kind='words text json markdown' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    llm-decode)
        opts='--count --stop --ban-string --ban-regex --grammar --json --schema --regex --trigger --ignore-eos --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay --seed --logit-bias --suppress --logprobs-of --logprobs --batch --unordered --echo --overflow --keep --strict --kv --kv-in --kv-out --cache --cache-size --zstd --chunk --timings --threads --threads-batch --ctx --kv-type --device --share --no-pack --lora --format --output --quiet --verbose --help --version'
        valued='-n --count --stop --ban-string --ban-regex --grammar --schema --regex --trigger --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay -s --seed --logit-bias --suppress --logprobs-of --logprobs -b --batch --overflow --keep --kv --kv-in --kv-out --cache --cache-size --chunk -t --threads --threads-batch -c --ctx --kv-type --device --lora -f --format -o --output'
        operands='model file ...'
        case $prev in
        -n | --count) kind='count' ;;
        --stop) kind='text' ;;
        --ban-string) kind='text' ;;
        --ban-regex) kind='pattern' ;;
        --grammar) kind='file' ;;
        --schema) kind='file' ;;
        --regex) kind='pattern' ;;
        --trigger) kind='text' ;;
        --samplers) kind='name;name...' ;;
        --temp) kind='number' ;;
        --dynatemp-range) kind='number' ;;
        --dynatemp-exp) kind='number' ;;
        --top-k) kind='count' ;;
        --top-p) kind='number' ;;
        --min-p) kind='number' ;;
        --typical) kind='number' ;;
        --top-n-sigma) kind='number' ;;
        --xtc-probability) kind='number' ;;
        --xtc-threshold) kind='number' ;;
        --min-keep) kind='count' ;;
        --repeat-penalty) kind='number' ;;
        --presence-penalty) kind='number' ;;
        --frequency-penalty) kind='number' ;;
        --repeat-last-n) kind='count' ;;
        --dry-multiplier) kind='number' ;;
        --dry-base) kind='number' ;;
        --dry-allowed-length) kind='count' ;;
        --dry-penalty-last-n) kind='count' ;;
        --dry-sequence-breaker) kind='text' ;;
        --mirostat) kind='words 0 1 2' ;;
        --mirostat-ent) kind='number' ;;
        --mirostat-lr) kind='number' ;;
        --adaptive-target) kind='number' ;;
        --adaptive-decay) kind='number' ;;
        -s | --seed) kind='number' ;;
        --logit-bias) kind='id=number' ;;
        --suppress) kind='id[,id...]' ;;
        --logprobs-of) kind='words model sampled' ;;
        --logprobs) kind='count' ;;
        -b | --batch) kind='count' ;;
        --overflow) kind='words error stop shift slide' ;;
        --keep) kind='count' ;;
        --kv) kind='file' ;;
        --kv-in) kind='file' ;;
        --kv-out) kind='file' ;;
        --cache) kind='folder' ;;
        --cache-size) kind='megabytes' ;;
        --chunk) kind='count' ;;
        -t | --threads) kind='count' ;;
        --threads-batch) kind='count' ;;
        -c | --ctx) kind='count' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    llm-embed)
        opts='--format --output --threads --threads-batch --ctx --kv-type --device --share --no-pack --lora --lines --requests --rerank --similar --top --pooling --no-normalize --dimensions --dtype --prefix --query-prefix --pair --label --probabilities --truncate --batch --chunk --quiet --verbose --help --version'
        valued='-f --format -o --output -t --threads --threads-batch -c --ctx --kv-type --device --lora --similar --top --pooling --dimensions --dtype --prefix --query-prefix --pair --label -b --batch --chunk'
        operands='model file ...'
        case $prev in
        -f | --format) kind='words text json cbor npy' ;;
        -o | --output) kind='file' ;;
        -t | --threads) kind='count' ;;
        --threads-batch) kind='count' ;;
        -c | --ctx) kind='count' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        --similar) kind='query' ;;
        --top) kind='count' ;;
        --pooling) kind='words none mean cls last rank' ;;
        --dimensions) kind='count' ;;
        --dtype) kind='words f32 f16 int8' ;;
        --prefix) kind='text' ;;
        --query-prefix) kind='text' ;;
        --pair) kind='text' ;;
        --label) kind='name' ;;
        -b | --batch) kind='count' ;;
        --chunk) kind='count' ;;
        esac
        ;;
    llm-prefill)
        opts='--format --output --threads --threads-batch --ctx --kv-type --device --share --no-pack --lora --all-logits --no-logits --no-kv --zstd --kv --kv-in --kv-out --cache --cache-size --follow --chunk --quiet --verbose --help --version'
        valued='-f --format -o --output -t --threads --threads-batch -c --ctx --kv-type --device --lora --kv --kv-in --kv-out --cache --cache-size --follow --chunk'
        operands='model file ...'
        case $prev in
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        -t | --threads) kind='count' ;;
        --threads-batch) kind='count' ;;
        -c | --ctx) kind='count' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        --kv) kind='file' ;;
        --kv-in) kind='file' ;;
        --kv-out) kind='file' ;;
        --cache) kind='folder' ;;
        --cache-size) kind='megabytes' ;;
        --follow) kind='file' ;;
        --chunk) kind='count' ;;
        esac
        ;;
    llm-sample)
        opts='--count --eos --ignore-eos --logprobs --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay --seed --logit-bias --suppress --logprobs-of --format --output --verbose --help --version'
        valued='-n --count --eos --logprobs --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay -s --seed --logit-bias --suppress --logprobs-of -f --format -o --output'
        operands='file ...'
        case $prev in
        -n | --count) kind='count' ;;
        --eos) kind='id[,id...]' ;;
        --logprobs) kind='count' ;;
        --samplers) kind='name;name...' ;;
        --temp) kind='number' ;;
        --dynatemp-range) kind='number' ;;
        --dynatemp-exp) kind='number' ;;
        --top-k) kind='count' ;;
        --top-p) kind='number' ;;
        --min-p) kind='number' ;;
        --typical) kind='number' ;;
        --top-n-sigma) kind='number' ;;
        --xtc-probability) kind='number' ;;
        --xtc-threshold) kind='number' ;;
        --min-keep) kind='count' ;;
        --repeat-penalty) kind='number' ;;
        --presence-penalty) kind='number' ;;
        --frequency-penalty) kind='number' ;;
        --repeat-last-n) kind='count' ;;
        --dry-multiplier) kind='number' ;;
        --dry-base) kind='number' ;;
        --dry-allowed-length) kind='count' ;;
        --dry-penalty-last-n) kind='count' ;;
        --dry-sequence-breaker) kind='text' ;;
        --mirostat) kind='words 0 1 2' ;;
        --mirostat-ent) kind='number' ;;
        --mirostat-lr) kind='number' ;;
        --adaptive-target) kind='number' ;;
        --adaptive-decay) kind='number' ;;
        -s | --seed) kind='number' ;;
        --logit-bias) kind='id=number' ;;
        --suppress) kind='id[,id...]' ;;
        --logprobs-of) kind='words model sampled' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    llm-score)
        opts='--format --output --threads --threads-batch --ctx --kv-type --device --share --no-pack --lora --logprobs --stride --skip --against --save --save-top --base --imatrix --requests --letters --no-bos --batch --chunk --quiet --verbose --help --version'
        valued='-f --format -o --output -t --threads --threads-batch -c --ctx --kv-type --device --lora --logprobs --stride --skip --against --save --save-top --base --imatrix -b --batch --chunk'
        operands='model file ...'
        case $prev in
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        -t | --threads) kind='count' ;;
        --threads-batch) kind='count' ;;
        -c | --ctx) kind='count' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        --logprobs) kind='count' ;;
        --stride) kind='count' ;;
        --skip) kind='count' ;;
        --against) kind='model' ;;
        --save) kind='file' ;;
        --save-top) kind='count' ;;
        --base) kind='file' ;;
        --imatrix) kind='file' ;;
        -b | --batch) kind='count' ;;
        --chunk) kind='count' ;;
        esac
        ;;
    llm-spec)
        opts='--no-ngram --ngram-min --corpus --draft --draft-cmd --draft-wait --draft-max --draft-min --draft-all --stats --count --stop --ban-string --ban-regex --grammar --json --schema --regex --trigger --ignore-eos --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay --seed --logit-bias --suppress --logprobs-of --logprobs --batch --unordered --echo --overflow --keep --strict --kv --kv-in --kv-out --cache --cache-size --zstd --chunk --timings --threads --threads-batch --ctx --kv-type --device --share --no-pack --lora --format --output --quiet --verbose --help --version'
        valued='--ngram-min --corpus --draft --draft-cmd --draft-wait --draft-max --draft-min -n --count --stop --ban-string --ban-regex --grammar --schema --regex --trigger --samplers --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --min-keep --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-ent --mirostat-lr --adaptive-target --adaptive-decay -s --seed --logit-bias --suppress --logprobs-of --logprobs -b --batch --overflow --keep --kv --kv-in --kv-out --cache --cache-size --chunk -t --threads --threads-batch -c --ctx --kv-type --device --lora -f --format -o --output'
        operands='model file ...'
        case $prev in
        --ngram-min) kind='count' ;;
        --corpus) kind='file' ;;
        --draft) kind='model' ;;
        --draft-cmd) kind='command' ;;
        --draft-wait) kind='ms' ;;
        --draft-max) kind='count' ;;
        --draft-min) kind='count' ;;
        -n | --count) kind='count' ;;
        --stop) kind='text' ;;
        --ban-string) kind='text' ;;
        --ban-regex) kind='pattern' ;;
        --grammar) kind='file' ;;
        --schema) kind='file' ;;
        --regex) kind='pattern' ;;
        --trigger) kind='text' ;;
        --samplers) kind='name;name...' ;;
        --temp) kind='number' ;;
        --dynatemp-range) kind='number' ;;
        --dynatemp-exp) kind='number' ;;
        --top-k) kind='count' ;;
        --top-p) kind='number' ;;
        --min-p) kind='number' ;;
        --typical) kind='number' ;;
        --top-n-sigma) kind='number' ;;
        --xtc-probability) kind='number' ;;
        --xtc-threshold) kind='number' ;;
        --min-keep) kind='count' ;;
        --repeat-penalty) kind='number' ;;
        --presence-penalty) kind='number' ;;
        --frequency-penalty) kind='number' ;;
        --repeat-last-n) kind='count' ;;
        --dry-multiplier) kind='number' ;;
        --dry-base) kind='number' ;;
        --dry-allowed-length) kind='count' ;;
        --dry-penalty-last-n) kind='count' ;;
        --dry-sequence-breaker) kind='text' ;;
        --mirostat) kind='words 0 1 2' ;;
        --mirostat-ent) kind='number' ;;
        --mirostat-lr) kind='number' ;;
        --adaptive-target) kind='number' ;;
        --adaptive-decay) kind='number' ;;
        -s | --seed) kind='number' ;;
        --logit-bias) kind='id=number' ;;
        --suppress) kind='id[,id...]' ;;
        --logprobs-of) kind='words model sampled' ;;
        --logprobs) kind='count' ;;
        -b | --batch) kind='count' ;;
        --overflow) kind='words error stop shift slide' ;;
        --keep) kind='count' ;;
        --kv) kind='file' ;;
        --kv-in) kind='file' ;;
        --kv-out) kind='file' ;;
        --cache) kind='folder' ;;
        --cache-size) kind='megabytes' ;;
        --chunk) kind='count' ;;
        -t | --threads) kind='count' ;;
        --threads-batch) kind='count' ;;
        -c | --ctx) kind='count' ;;
        --kv-type) kind='type[,type]' ;;
        --device) kind='name' ;;
        --lora) kind='[name=]file[:scale]' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    tok-decode)
        opts='--output --lines --null --escape --jsonl --model --raw --special --help --version'
        valued='-o --output -m --model'
        operands='file ...'
        case $prev in
        -o | --output) kind='file' ;;
        -m | --model) kind='model' ;;
        esac
        ;;
    tok-encode)
        opts='--count --lines --jsonl --special --no-bos --eos --no-eos --pre --threads --format --output --help --version'
        valued='--pre -t --threads -f --format -o --output'
        operands='model file ...'
        case $prev in
        --pre) kind='name' ;;
        -t | --threads) kind='count' ;;
        -f | --format) kind='words text json cbor' ;;
        -o | --output) kind='file' ;;
        esac
        ;;
    *) return ;;
    esac
    if [[ -z $kind && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$opts" -- "$cur")
        return
    fi
    if [[ -z $kind ]]; then
        # Which operand this is: the words before it, without options and
        # their values.
        for ((i = 1; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            [:=] | -?*) ;;
            *) [[ ${COMP_WORDS[i - 1]} == [:=] || " $valued " == *" ${COMP_WORDS[i - 1]} "* ]] || ((n++)) ;;
            esac
        done
        read -ra operands <<<"$operands"
        i=${#operands[@]}
        if ((n < i)); then
            kind=${operands[n]}
        else
            kind=...
        fi
        [[ $kind == ... ]] && ((i > 1)) && kind=${operands[i - 2]}
    fi
    case $kind in
    words*) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$cur") ;;
    name)
        # What pull takes is in its catalogue, what --rm takes in the cache.
        [[ $prog == gguf-pull ]] || return
        if [[ " ${COMP_WORDS[*]} " == *' --rm '* ]]; then
            _llmutils_names "$cur" < <(gguf-pull --list 2>/dev/null | cut -d ' ' -f 1)
        else
            _llmutils_names "$cur" < <(gguf-pull --catalog 2>/dev/null | cut -d ' ' -f 1)
        fi
        ;;
    model)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        _llmutils_names "$cur" < <(gguf-pull --catalog 2>/dev/null | sed -n 's/ .* cached$//p')
        ;;
    file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}
complete -F _llmutils chat-parse chat-render gguf-convert gguf-inspect gguf-pull gguf-quantize gguf-set gguf-split grammar-check kv-dump llm-bench llm-decode llm-embed llm-prefill llm-sample llm-score llm-spec tok-decode tok-encode
