#!/bin/sh
# deps.sh [PROCESSOR]: install, with apt, the Debian packages that building and
# testing need and that are not there; with PROCESSOR (aarch64), also those that
# do so for it.  Where nothing is missing, no network is used, and no apt
# needed.  Each line below is a package and the command that finds it.
cross=$1
arch=arm64
case $cross in
'' | aarch64) ;;
*)
    echo "no packages are known for $cross, only for aarch64" >&2
    exit 1
    ;;
esac
has() { command -v "$1" >/dev/null 2>&1; }
pc() { pkg-config --exists "$1" 2>/dev/null; }
py() { python3 "$@" >/dev/null 2>&1; }
links() { echo 'int main(void) { return 0; }' | "$@" -x c - -o /dev/null 2>/dev/null; }
clang_rt() { links clang -fsanitize=address,undefined; }
other() { PKG_CONFIG_LIBDIR=/usr/lib/$cross-linux-gnu/pkgconfig pc "$1"; }

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
python3-jsonschema    py -c 'import jsonschema' || [ -e /usr/lib/python3/dist-packages/jsonschema ]
ca-certificates       [ -e /etc/ssl/certs/ca-certificates.crt ]
bats                  has bats
mandoc                has mandoc
shellcheck            has shellcheck
clang-format          has clang-format
jq                    has jq
openssl               has openssl
END
    [ -n "$cross" ] || return 0
    while read -r package test; do
        eval "$test" </dev/null || printf ' %s' "$package"
    done <<END
gcc-$cross-linux-gnu        has $cross-linux-gnu-gcc
libc6-dev:$arch             links $cross-linux-gnu-gcc
qemu-user                   has qemu-$cross
libcbor-dev:$arch           other libcbor
libxxhash-dev:$arch         other libxxhash
libzstd-dev:$arch           other libzstd
libjansson-dev:$arch        other jansson
libcurl4-openssl-dev:$arch  other libcurl
libssl-dev:$arch            other libcrypto
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
case $need in
*:*) $sudo dpkg --add-architecture "$arch" || exit 1 ;;
esac
$sudo apt-get update -qq || exit 1
# The sanitizers' package has clang's version in its name.
rt=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')
need=$(echo "$need" | sed "s/libclang-rt-dev/$rt/")
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends $need >/dev/null || exit 1
need=$(missing)
[ -z "$need" ] || { echo "installed, but not found:$need" >&2; exit 1; }
