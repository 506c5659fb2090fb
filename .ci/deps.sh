#!/bin/sh
# Install, with apt, the Debian packages that building and testing need and
# that are not there.  Where nothing is missing, no network is used, and no
# apt needed.  Each line below is a package and the command that finds it.
has() { command -v "$1" >/dev/null 2>&1; }
pc() { pkg-config --exists "$1" 2>/dev/null; }
py() { python3 "$@" >/dev/null 2>&1; }
links() { echo 'int main(void) { return 0; }' | "$@" -x c - -o /dev/null 2>/dev/null; }
clang_rt() { links clang -fsanitize=address,undefined; }

missing() {
    while read -r package test; do
        [ -z "$package" ] || eval "$test" </dev/null || printf ' %s' "$package"
    done <<'END'
gcc                   has gcc
libc6-dev             links gcc
clang                 has clang
libclang-rt-dev       clang_rt
make                  has make
pkg-config            has pkg-config
libcbor-dev           pc libcbor
libxxhash-dev         pc libxxhash
libzstd-dev           pc libzstd
libjansson-dev        pc jansson
libcurl4-openssl-dev  pc libcurl
libssl-dev            pc libcrypto
python3               has python3
python3-pip           py -m pip --version
python3-cbor2         py -c 'import cbor2' || [ -e /usr/lib/python3/dist-packages/cbor2 ]
ca-certificates       [ -e /etc/ssl/certs/ca-certificates.crt ]
bats                  has bats
mandoc                has mandoc
shellcheck            has shellcheck
clang-format          has clang-format
jq                    has jq
openssl               has openssl
END
}

need=$(missing)
[ -n "$need" ] || exit 0
if ! has apt-get; then
    echo "missing, and no apt-get here to install them:$need" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
        echo "missing, and only root may install them:$need" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "installing:$need"
$sudo apt-get update -qq || exit 1
# The sanitizers' package has clang's version in its name.
rt=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')
need=$(echo "$need" | sed "s/libclang-rt-dev/$rt/")
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends $need >/dev/null || exit 1
need=$(missing)
[ -z "$need" ] || { echo "installed, but not found:$need" >&2; exit 1; }
