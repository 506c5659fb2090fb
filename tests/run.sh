#!/bin/sh
# Run every test on the build in $B: unit and fuzz corpora, lint, then bats.
# All speak TAP; a program that dies without its plan counts as a failure.
# The last line is "N passed, N failed".
B=${B:-build}
export B
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

tap() {
    name=$1
    shift
    echo "# $name"
    "$@" >"$log.one" 2>"$log.err"
    rc=$?
    cat "$log.one" >>"$log"
    grep '^not ok' "$log.one"
    if { [ $rc -ne 0 ] && ! grep -q '^not ok' "$log.one"; } ||
        ! grep -q '^1\.\.' "$log.one"; then
        echo "not ok - $name: exit $rc" | tee -a "$log"
    fi
    if [ $rc -ne 0 ]; then
        grep '^#' "$log.one" | head -n 60
        head -n 40 "$log.err"
    fi
    rm -f "$log.one" "$log.err"
}

for t in "$B"/unit/*; do
    case $t in *.o | *.d) continue ;; esac
    [ -x "$t" ] && tap "$t" "$t"
done
for t in "$B"/fuzz/*; do
    [ -x "$t" ] && [ -d "tests/fuzz/corpus/${t##*/}" ] &&
        tap "$t" "$t" "tests/fuzz/corpus/${t##*/}"/*
done
tap lint sh tests/lint/lint.sh
for t in tests/*.bats; do
    tap "$t" bats --tap "$t"
done
pass=$(grep -c '^ok' "$log")
fail=$(grep -c '^not ok' "$log")
skip=$(grep -c '^ok .*# skip' "$log")
pass=$((pass - skip))
echo "$pass passed, $fail failed$([ "$skip" -gt 0 ] && echo ", $skip skipped")"
[ "$fail" -eq 0 ]
