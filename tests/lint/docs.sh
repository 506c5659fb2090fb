#!/bin/sh
# The option table of each command and the .It Fl lines of its page must
# agree, and mandoc must have nothing to say about a page.
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0
for b in "$1"/*; do
    n=${b##*/}
    "$b" --dump-options | cut -f2 | sort >"$tmp/code"
    sed -n 's/^\.It .*Fl -\([a-z0-9-]*\).*/\1/p' "man/$n.1" |
        grep -vxE 'help|version' | sort >"$tmp/page"
    cmp -s "$tmp/code" "$tmp/page" && continue
    echo "$n: options and man page differ:"
    diff "$tmp/code" "$tmp/page"
    bad=1
done
for p in man/*.[157]; do
    mandoc -T lint -W warning "$p" >"$tmp/lint" || { cat "$tmp/lint"; bad=1; }
done
exit $bad
