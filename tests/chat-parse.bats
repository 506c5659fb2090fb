#!/usr/bin/env bats
# chat-parse: token streams and text, dialects told and recognised, messages.
bats_require_minimum_version 1.5.0

setup() {
    TEMPLATES=$PWD/../shared/oracle/templates
    DATA=$PWD/tests/data
    BUILD=$PWD/${B:-build}
    PATH=$BUILD/bin:$PATH
    cd "$BATS_TEST_TMPDIR" || exit 1
    call='<tool_call>\n{"name": "f", "arguments": {"a": "é"}}\n</tool_call>'
}

# Fails with status $1 and one line that has the words $2; the rest runs.
fails() {
    local st=$1 words=$2

    shift 2
    run -"$st" --separate-stderr "$@"
    [ "${#stderr_lines[@]}" -eq 1 ] || [ "$st" -eq 2 ] || { echo "$stderr"; return 1; }
    [[ $stderr == *"$words"* ]] || { echo "$stderr"; return 1; }
}

# Bytes as token records of sequence $1, a token for each.
tokens() {
    local s=$1

    shift
    printf "$@" | od -An -v -t u1 -w1 | awk -v s="$s" '
        { printf "{\"t\":\"tokens\",\"s\":%d,\"ids\":[%d],\"text64\":\"", s, $1
          system(sprintf("printf \"\\\\%03o\" | base64 | tr -d \"\\n\"", $1))
          fflush(); print "\"}" }'
}

@test "a token stream: events in place of tokens, all else passes" {
    {
        echo '{"llm":1,"by":"hand","model":{}}'
        echo '{"t":"set","s":0,"id":"x"}'
        echo '{"t":"tokens","s":0,"ids":[1,2],"text":"<think>\nhm"}'
        echo '{"t":"tokens","s":0,"ids":[3],"text":"</think>\n\nSee:\n<tool_"}'
        echo '{"t":"later","s":0,"x":1}'
        echo '{"t":"tokens","s":0,"ids":[4],"text":"call>{\"name\":\"f\",\"arguments\":{\"a\":"}'
        echo '{"t":"tokens","s":0,"ids":[5],"text":"1}}</tool_call>"}'
        echo '{"t":"end","s":0,"why":"eos","usage":{"tokens":5}}'
    } >in
    chat-parse -d hermes -f json in >out
    diff - out <<'END'
{"by":"hand","llm":1,"model":{}}
{"t":"set","s":0,"id":"x"}
{"t":"delta","s":0,"kind":"reasoning","text":"hm"}
{"t":"delta","s":0,"kind":"text","text":"See:"}
{"t":"later","s":0,"x":1}
{"t":"delta","s":0,"id":"call00000","call":0,"kind":"tool","name":"f"}
{"t":"delta","s":0,"call":0,"kind":"arguments","text":"{\"a\":"}
{"t":"delta","s":0,"call":0,"kind":"arguments","text":"1}"}
{"t":"delta","s":0,"call":0,"kind":"end"}
{"t":"end","s":0,"why":"eos","usage":{"tokens":5}}
END
    # Through CBOR it is the same.
    chat-parse -d hermes -f cbor in | chat-parse -d none -f json | cmp - out
}

@test "sequences that are mixed are read as alone; bytes of a character apart" {
    tokens 0 "Grüße.\n$call" >zero
    tokens 7 "$call${call/f/g}" >seven
    chat-parse -d hermes -f text zero >a
    chat-parse -d hermes -f text seven >b
    paste -d '\n' zero seven | grep . >mixed
    chat-parse -d hermes -f text mixed >out
    grep '^0' out | cmp - a
    grep '^7' out | cmp - b
    grep -q '"ü"' a
    [ "$(chat-parse -d hermes --message mixed)" = "$(chat-parse -d hermes --message zero seven)" ]
}

@test "a number may be used again behind its end, and in another stream" {
    for i in 1 2; do
        echo '{"llm":1,"by":"hand","model":{}}'
        echo '{"t":"tokens","ids":[1],"text":"<tool_"}'
    done >in
    echo '{"t":"end","why":"eos"}' >>in
    echo '{"t":"tokens","ids":[1],"text":"call>"}' >>in
    chat-parse -d hermes --message in >out
    [ "$(jq -r .content out | xargs)" = '<tool_ <tool_ call>' ]
}

@test "an event goes out before more comes, over a FIFO" {
    mkfifo to from
    chat-parse -d hermes -f json <to >from 3>&- &
    exec 5>to 6<from
    echo '{"t":"tokens","ids":[1],"text":"Hi "}' >&5
    read -r -t 10 line <&6
    [ "$line" = '{"t":"delta","s":0,"kind":"text","text":"Hi"}' ]
    echo '{"t":"tokens","ids":[1],"text":"<tool_call>{\"name\":\"f\",\"arguments\":{\"x"}' >&5
    read -r -t 10 line <&6
    [ "$line" = '{"t":"delta","s":0,"kind":"text","text":" "}' ]
    read -r -t 10 line <&6
    read -r -t 10 line <&6
    [ "$line" = '{"t":"delta","s":0,"call":0,"kind":"arguments","text":"{\"x"}' ]
    exec 5>&-
    read -r -t 10 line <&6
    [ "$line" = '{"t":"delta","s":0,"call":0,"kind":"end","error":"cut off"}' ]
    wait $!
}

@test "messages: for the next turn, in order; what is not whole is apart" {
    printf 'one' >a
    printf "<think>\nhm\n</think>\n\nSee:\n$call<tool_call>{\"name\":\"g\",\"arguments\":{\"x" >b
    chat-parse --text -d hermes --message a b >out
    diff - out <<'END'
{"role":"assistant","content":"one"}
{"role":"assistant","content":"See:","reasoning_content":"hm","tool_calls":[{"id":"call00000","type":"function","function":{"name":"f","arguments":"{\"a\": \"é\"}"}}],"invalid_tool_calls":[{"id":"call00001","type":"function","function":{"name":"g","arguments":"{\"x"},"error":"cut off"}]}
END
    printf 'a\xffb' | chat-parse --text -d none --message | grep -qx '{"role":"assistant","content":"a.b"}'
}

@test "bytes that are no UTF-8 pass in text, and are mended in arguments" {
    printf 'a\xffb<tool_call>f<arg_key>k</arg_key><arg_value>x\xff</arg_value></tool_call>' >in
    chat-parse --text -d glm -f json in >out
    grep -q '"text64":"Yf9i"' out
    grep -q '{\\"k\\": \\"x�\\"}' out
}

@test "every dialect: written from a message, and read as the same" {
    for d in $(chat-parse --list | awk '$1 != "none" { print $1 }'); do
        # Some have no reasoning.
        case $d in
        llama3 | apriel | granite3) jq -c '.[] | del(.reasoning_content)' "$DATA/chat_messages.json" >in ;;
        *) jq -c .[] "$DATA/chat_messages.json" >in ;;
        esac
        chat-parse -w -0 -d "$d" in >out || { echo "$d"; return 1; }
        while IFS= read -r -d '' text; do
            printf %s "$text" | chat-parse --text -d "$d" --message
        done <out >back
        [ "$(wc -l <back)" -eq "$(wc -l <in)" ]
        # Ids apart, and white space in arguments.
        norm='del(.tool_calls[]?.id) | (.tool_calls[]?.function.arguments) |= fromjson'
        diff <(jq -cS "$norm" in) <(jq -cS "$norm" back) || { echo "$d"; return 1; }
    done
}

@test "tools say which values are text" {
    cat >tools.json <<'END'
{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"}}}}}]}
END
    printf '<tool_call>f<arg_key>s</arg_key><arg_value>12</arg_value><arg_key>n</arg_key><arg_value>12</arg_value></tool_call>' >in
    args() { chat-parse --text -d glm --message "$@" in | jq -r '.tool_calls[0].function.arguments'; }
    [ "$(args)" = '{"s": 12, "n": 12}' ]
    [ "$(args --tools tools.json)" = '{"s": "12", "n": 12}' ]
    # And back: without them text that looks like a number gets quotes.
    echo '{"tool_calls":[{"function":{"name":"f","arguments":{"s":"12"}}}]}' >m
    [[ $(chat-parse -w -d glm-4.7 m) == *'<arg_value>"12"</arg_value>'* ]]
    [[ $(chat-parse -w -d glm-4.7 --tools tools.json m) == *'<arg_value>12</arg_value>'* ]]
    for bad in '{' '{}' '[1]' '"x"' '[{"type":"function"}]'; do
        echo "$bad" >tools.json
        fails 3 "tools.json" chat-parse --text -d glm --tools tools.json in
    done
}

@test "an answer within reasoning; styles" {
    printf 'hm\n</think>\n\nyes' >in
    [ "$(chat-parse --text -d hermes -i -f text in | cut -f2- | xargs)" = 'reasoning hm text yes' ]
    printf '<seed:think>a</seed:think>b' >in
    [ "$(chat-parse --text -d hermes --reasoning seed -f text in | cut -f2- | xargs)" = 'reasoning a text b' ]
    [ "$(chat-parse --text -d seed-oss -f text in | cut -f2- | xargs)" = 'reasoning a text b' ]
    [ "$(chat-parse --text -d seed-oss --reasoning none -f text in | cut -f2- | xargs)" = 'text <seed:think>a</seed:think>b' ]
    fails 2 "--inside" chat-parse --text -d hermes --reasoning none -i in
    fails 2 "within" chat-parse --text -d llama3 -i in
}

@test "a template tells the dialect; one that does not is refused with the list" {
    printf '{%%- if tools %%}<tool_call>\n{"name": <n>, "arguments": <a>}\n</tool_call>{%%- endif %%}' >t
    [ "$(chat-parse --list --template t | xargs)" = "$(chat-parse --list -d hermes --reasoning none | xargs)" ]
    printf '</think>' >>t
    [[ $(chat-parse --list --template t) == "hermes "*" think "* ]]
    printf '{{ messages[0].content }}' >t
    [[ $(chat-parse --list --template t) == "none "* ]]
    printf '{{ tools }}' >t
    printf x >in
    fails 4 "t: its chat template shows no dialect that is known: --dialect can be one of none, hermes, " \
        chat-parse --text --template t in
}

@test "templates of many models" {
    [ -d "$TEMPLATES" ] || skip "no templates"
    for t in "$TEMPLATES"/*.jinja; do
        name=${t##*/}
        d=$(chat-parse --list --template "$t" 2>/dev/null | awk '{ print $1, $2 }')
        echo "${name%.jinja} ${d:-unknown}"
    done >out
    diff "$DATA/chat_templates.txt" out
}

# What templates make of two calls is read as these two calls.
@test "calls as the templates of many models write them" {
    [ -d "$TEMPLATES" ] || skip "no templates"
    n=0
    for t in "$TEMPLATES"/*.jinja; do
        chat-parse --list --template "$t" >d 2>/dev/null || continue
        d=$(awk '{ print $1 }' d)
        # From behind the question to the tool's answer.
        jq -r '[.[] | select(.conv == "toolcall") | .expect // "" | split("1.5 + -2?")[1] // "" |
            select(contains("celsius"))][0] // empty | split("temp")[0] | split("<|call|>")[0]' "${t%.jinja}.cases.json" >answer
        [ -s answer ] || continue
        chat-parse --text -d "$d" --message answer >m
        got=$(jq -c '[.tool_calls[]?.function | [.name, (.arguments | fromjson)]]' m)
        if [ "$d" = harmony ]; then # its template writes one call
            want='[["get_weather",{"city":"Zürich","unit":"celsius"}]]'
        else
            want='[["get_weather",{"city":"Zürich","unit":"celsius"}],["add",{"a":1.5,"b":-2,"opts":[1,2]}]]'
        fi
        [ "$got" = "$want" ] || { echo "$t: $d: $got"; cat answer; return 1; }
        n=$((n + 1))
    done
    [ "$n" -ge 32 ]
}

@test "what is written is what the templates of many models write" {
    [ -d "$TEMPLATES" ] || skip "no templates"
    jq -c .conversations.toolcall.messages[2] "$TEMPLATES/conversations.json" >m
    n=0
    for t in "$TEMPLATES"/*.jinja; do
        chat-parse -w --template "$t" m >text 2>/dev/null || continue
        # Some have no calls to compare, or other white space, escapes or order.
        jq -e 'any(.[]; .conv == "toolcall" and .expect)' "${t%.jinja}.cases.json" >/dev/null || continue
        case ${t##*/} in
        Reka-* | Step* | stepfun-* | *-R1-Distill-* | *granite-3.3* | *ling-3.0* | openai-*) continue ;;
        esac
        jq -e --rawfile text text 'any(.[]; .conv == "toolcall" and (.expect // "" | contains($text)))' \
            "${t%.jinja}.cases.json" || { echo "$t"; cat text; return 1; }
        n=$((n + 1))
    done
    [ "$n" -ge 27 ]
}

@test "a model: its template, and the text of control tokens" {
    "$BUILD/tools/mkgguf" bare.gguf llama
    "$BUILD/tools/mkgguf" m.gguf llama "k:tokenizer.chat_template:str:[TOOL_CALLS] [ARGS]"
    # No program shows token 5, <s>, but where a model is at hand.
    echo '{"t":"tokens","ids":[5,0],"text":"a"}' >in
    fails 4 "bare.gguf: it has no chat template" chat-parse -m bare.gguf in
    [ "$(chat-parse -d none -f text in)" = $'0\ttext\t"a"' ]
    [ "$(chat-parse -d none -m bare.gguf -f text in)" = $'0\ttext\t"<s>a"' ]
    [[ $(chat-parse --list -m m.gguf) == "mistral-v13 "* ]]
    [ "$(chat-parse -m m.gguf -f text in)" = $'0\ttext\t"<s>a"' ]
    # What the header names.
    for m in bare m; do
        echo '{"llm":1,"by":"hand","model":{"path":"'$m.gguf'"}}' | cat - in >$m
    done
    fails 4 "bare.gguf: it has no chat template" chat-parse -f text bare
    [ "$(chat-parse -f text m)" = $'0\ttext\t"<s>a"' ]
    [ "$(cat m m | chat-parse -f text | wc -l)" -eq 2 ]
    fails 1 "nowhere" chat-parse <<<'{"llm":1,"model":{"path":"./nowhere"}}'
    echo '{"llm":1,"model":{"vocab":"0123456789abcdef0123456789abcdef"}}' >s
    fails 3 "vocabulary" chat-parse -d none -m m.gguf s
}

@test "streams that are none, messages that are none" {
    : >empty
    fails 3 empty chat-parse -d hermes empty
    echo '{"t":"tokens","ids":[1]}' >in
    fails 3 "tokens without text" chat-parse -d hermes in
    echo '{"t":"tokens","ids":[1],"text":"x"}' >in
    fails 2 "use --dialect or --model" chat-parse in
    for m in '[]' '{"role":"user"}' '{"content":1}' '{"content":[{"image":1}]}' '{"tool_calls":{}}' \
        '{"tool_calls":[{}]}' '{"tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}' \
        '{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}' '{' 'x'; do
        echo "$m" >in
        fails 3 "in: message 1" chat-parse -w -d hermes in
    done
    { echo '{"content":"a"}'; echo '{"content":"<think>b"}'; } >in
    fails 4 "message 2: dialect 'hermes' cannot say this" chat-parse -w -d hermes in
    [ "$output" = a ]
    echo '{"tool_calls":[{"name":"f","arguments":{"a":"x</parameter>"}}]}' >in
    [[ $(chat-parse -w -d qwen3-coder in) == *'"x\u003c/parameter>"'* ]]
    echo '{"tool_calls":[{"name":"f"}]}' >in
    fails 4 "no tool calls" chat-parse -w -d none in
}

@test "wrong options" {
    echo x >in
    for o in "-d x" "--reasoning x" "--text" "-w" "-0 -d hermes" "-w -T -d hermes" "-w --message -d hermes"; do
        # shellcheck disable=SC2086 # words
        fails 2 "usage:" chat-parse $o in
    done
    fails 1 nowhere chat-parse --template nowhere in
    fails 1 nowhere chat-parse -d glm --tools nowhere in
    fails 1 nowhere chat-parse -T -d glm nowhere
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    echo x >in
    for o in "-f json" "-f text" --message; do
        fails 1 "standard output" bash -c "chat-parse -T -d none $o in >/dev/full"
    done
    echo '{"content":"x"}' >in
    fails 1 "standard output" bash -c 'chat-parse -w -d none in >/dev/full'
}
