#!/bin/sh
# Run every test on the build in $B: unit tests, fuzz corpora, lint, bats.
# JOBS of them (default: the processors) run at a time; what they say comes in
# a fixed order.  All speak TAP; a test program that ends without its plan, or
# with a failure that it didn't report, counts as one failure; so does one that
# takes 10 minutes.  The last line is "N passed, N failed".
# Programs of another processor are run by $EMULATOR: what tests take for the
# build $B is $B/emulated, where scripts have the programs' names; $R is B.
B=${B:-build}
JOBS=${JOBS:-$(nproc)}
export B JOBS

# run.sh FOLDER NUMBER COMMAND...: run one, and leave its output in FOLDER.
if [ $# -gt 0 ]; then
    at=$1/$2
    shift 2
    case $1 in
    "$B"/fuzz/*) set -- "$1" tests/fuzz/corpus/"${1##*/}"/* ;;
    esac
    # The leak checker now and then waits for ever at the end of a program (seen
    # with gcc's and clang's, once in some 10,000 runs): so it looks at unit
    # tests, which run all of the library, and not at every program of a script.
    case $1 in
    bats) export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" ;;
    esac
    # Under an emulator all takes long, and what waits for something only so
    # long may miss it: scripts may try again.
    for try in 1 ${EMULATOR:+2}; do
        timeout --foreground -k 10 600 "$@" >"$at.out" 2>"$at.err" </dev/null
        rc=$?
        [ $rc -ne 0 ] && [ "$1" = bats ] && [ "$try" = 1 ] || break
    done
    echo $rc >"$at.new"
    mv "$at.new" "$at.rc"
    exit 0
fi

if [ -n "$EMULATOR" ]; then
    command -v "${EMULATOR%% *}" >/dev/null || {
        echo "$EMULATOR is missing: make deps with CROSS installs it" >&2
        exit 1
    }
    real=$(cd "$B" && pwd) || exit 1
    R=$B B=$B/emulated
    export EMULATOR R
    rm -rf "$B"
    for f in "$real"/bin/* "$real"/tools/* "$real"/unit/* "$real"/fuzz/*; do
        [ -f "$f" ] || continue
        f=${f#"$real"/}
        mkdir -p "$B/${f%/*}"
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$EMULATOR" "$real/$f" >"$B/$f"
        chmod +x "$B/$f"
    done
    ln -s "$real"/lib* "$real/kernels" "$real/cmd" "$real/gen" "$B"
fi
tmp=$(mktemp -d) || exit 1
trap 'kill $! 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
{
    for t in tests/*.bats; do
        echo "bats --tap $t"
    done
    echo sh tests/lint/lint.sh
    for t in "$B"/unit/* "$B"/fuzz/*; do
        case $t in
        *.[od]) continue ;;
        "$B"/fuzz/*) [ -d "tests/fuzz/corpus/${t##*/}" ] || continue ;;
        esac
        [ -x "$t" ] && echo "$t"
    done
} | cat -n >"$tmp/tests"
# In the background: there, interrupts are ignored, which no test may inherit.
show() {
    while read -r n test; do
        while [ ! -e "$tmp/$n.rc" ]; do
            sleep 0.05
        done
        read -r rc <"$tmp/$n.rc"
        echo "# $test: $(grep -c '^ok' "$tmp/$n.out") ok"
        cat "$tmp/$n.out" >>"$tmp/log"
        if { [ "$rc" -ne 0 ] && ! grep -q '^not ok' "$tmp/$n.out"; } ||
            ! grep -q '^1\.\.' "$tmp/$n.out"; then
            echo "not ok - $test: exit $rc" | tee -a "$tmp/log"
        fi
        # A failure, and the comment lines that say why.
        awk '/^(ok|1\.\.)/ { bad = 0 } /^not ok/ { bad = 1 } bad' "$tmp/$n.out" |
            head -n 200
        [ "$rc" -eq 0 ] || head -n 60 "$tmp/$n.err"
    done <"$tmp/tests"
}
show &
xargs -P "$JOBS" -L 1 sh tests/run.sh "$tmp" <"$tmp/tests"
# Those that never began, when xargs was stopped.
while read -r n test; do
    [ -e "$tmp/$n.rc" ] || { : >>"$tmp/$n.out"; : >>"$tmp/$n.err"; echo 137 >"$tmp/$n.rc"; }
done <"$tmp/tests"
wait

pass=$(grep -c '^ok' "$tmp/log")
fail=$(grep -c '^not ok' "$tmp/log")
skip=$(grep -ci '^ok .*# skip' "$tmp/log")
if [ "$skip" -gt 0 ]; then
    grep -i '^ok .*# skip' "$tmp/log" | sed 's/^ok [0-9]* *-* */# skipped: /'
    echo "$((pass - skip)) passed, $fail failed, $skip skipped"
else
    echo "$pass passed, $fail failed"
fi
[ "$fail" -eq 0 ]
