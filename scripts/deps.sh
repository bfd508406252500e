#!/bin/sh
# Finds what building and running oncegate needs and this machine lacks. Where it may (root, with
# apt-get) it installs it; otherwise it prints the exact command and stops.
# Must not be in here: a download that is not a package of the system's own.
set -eu

fail() {
    printf 'deps: %s\n' "$*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

has cargo || fail "cargo is not in PATH. Install Rust from https://rustup.rs :
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
for component in fmt clippy; do
    cargo "$component" --version >/dev/null 2>&1 ||
        fail "cargo $component is missing; run: rustup component add rustfmt clippy"
done

java_is_new() {
    java=java
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

# bindgen loads libclang while RocksDB's binding is built.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    # Not libclang-cpp, which is another library and of no use to it.
    for folder in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/local/lib; do
        for file in "$folder"/libclang.so* "$folder"/libclang-[0-9]*.so*; do
            [ -e "$file" ] && return 0
        done
    done
    return 1
}

# A header that pkg-config or the compiler's own search knows.
has_library() {
    pkg-config --exists "$1" 2>/dev/null
}

packages=
need() {
    packages="$packages $1"
}

has gcc || need gcc
has g++ || need g++
has make || need make
has pkg-config || need pkg-config
has_library openssl || need libssl-dev
has_library zlib || need zlib1g-dev
has_libclang || need libclang-dev
# The tests of TLS make certificates.
has openssl || need openssl
# A broker of one's own is a JVM; a cluster that is given needs none.
if [ -z "${ONCEGATE_BOOTSTRAP:-}" ]; then
    java_is_new || need java17
    has mvn || need maven
fi

[ -n "$packages" ] || exit 0

if ! has apt-get; then
    fail "missing here:$packages (Debian's names; java17 is any Java from 17 on). \
Install them with this system's package manager, then try again."
fi
if [ "$(id -u)" -ne 0 ]; then
    named=$(printf '%s' "$packages" | sed 's/java17/openjdk-17-jre-headless/')
    fail "missing here; run:
    sudo apt-get update && sudo apt-get install -y --no-install-recommends$named"
fi

echo "deps: installing$packages" >&2
export DEBIAN_FRONTEND=noninteractive
# A stale list that cannot be renewed may still do.
apt-get update -qq || true
case "$packages" in
*java17*)
    # Later releases carry a later Java only.
    if [ -n "$(apt-cache madison openjdk-17-jre-headless 2>/dev/null)" ]; then
        java_package=openjdk-17-jre-headless
    else
        java_package=default-jre-headless
    fi
    packages=$(printf '%s' "$packages" | sed "s/java17/$java_package/")
    ;;
esac
# shellcheck disable=SC2086 # a list of words
apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
    fail "apt-get could not install$packages; see above"
