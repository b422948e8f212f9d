#!/usr/bin/env bash
# Installs what the checks need and this machine lacks. Quick where all is there. On a terminal it asks first. What only some tests
# need it tries to install; where that cannot be, they are skipped. With the argument `all` that is also what `.ci/test.sh --all` needs, with
# `platforms` also what judges/platforms.sh needs, from Debian 12's packages.
set -euo pipefail

# 0.10.24 is the last cargo-c for the Rust version that is tested; distributions carry ones that are too old.
CARGO_C_VERSION=0.10.24
# Zig's builds change with each version.
ZIG_VERSION=0.17.0
# Where Zig is, if the system has none: a Python environment of its own.
ZIG=${XDG_CACHE_HOME:-$HOME/.cache}/chatparse/zig-$ZIG_VERSION

have() { command -v "$1" >/dev/null 2>&1; }

fail() {
  echo "setup: $*" >&2
  exit 1
}

# agreed TEXT: whether the reader agrees. Without a terminal nobody can be asked.
agreed() {
  [ -t 0 ] && [ -z "${CI:-}" ] || return 0
  local answer
  read -r -p "setup: $1? [Y/n] " answer
  [[ ! $answer =~ ^[Nn] ]]
}

# The package managers of other systems are the reader's business: say what is missing.
install_packages() {
  local root=()
  have apt-get || fail "please install: $*"
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || fail "please run as root: apt-get install $*"
    root=(sudo)
  fi
  agreed "install for the whole system, with apt-get: $*" || return
  echo "setup: installing $*"
  "${root[@]}" apt-get update -qq &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

skipped() { echo "setup: that failed; the tests that need it are skipped"; }

have cargo || fail "Rust is missing; see https://www.rust-lang.org/tools/install"

if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
  have rustup && agreed "add rustfmt and clippy to the Rust toolchain" || fail "please install rustfmt and clippy"
  rustup component add rustfmt clippy
fi

packages=()
have cmake || packages+=(cmake)
have cc && have c++ && have make || packages+=(build-essential)
have pkg-config || packages+=(pkg-config)
have nm && have readelf || packages+=(binutils)

if [ -n "${1:-}" ] && ! cargo cinstall --version 2>/dev/null | grep -qF "cargo-c $CARGO_C_VERSION+"; then
  # What cargo-c itself is built with.
  have pkg-config && pkg-config --exists openssl || packages+=(pkg-config libssl-dev)
  [ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}" || fail "please install: ${packages[*]}"
  agreed "build cargo-c $CARGO_C_VERSION, once, 4 minutes on two cores, and install it with cargo" || fail "please install cargo-c $CARGO_C_VERSION"
  echo "setup: building cargo-c $CARGO_C_VERSION, once; 4 minutes on two quiet cores"
  # Unoptimised it is built in a third of the time, and the crate is compiled as fast.
  cargo install --debug cargo-c --version "$CARGO_C_VERSION" --locked
elif [ ${#packages[@]} -ne 0 ]; then
  install_packages "${packages[@]}" || fail "please install: ${packages[*]}"
fi

packages=()
have abidiff || packages+=(abigail-tools)
have python3 || packages+=(python3)
header() { echo "#include <$1>" | c++ -E -x c++ - >/dev/null 2>&1; }
header httplib.h || packages+=(libcpp-httplib-dev)
header nlohmann/json.hpp || packages+=(nlohmann-json3-dev)
pkg-config --exists libpcre2-8 || packages+=(libpcre2-dev)
zig_version() { zig version || "$ZIG/bin/python" -m ziglang version; }
if [ -n "${1:-}" ]; then
  have valgrind || packages+=(valgrind)
  have clang || packages+=(clang)
  have ninja || packages+=(ninja-build)
  have go || packages+=(golang-go)
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || packages+=(python3-dev)
  have npm || packages+=(nodejs npm)
  have jq || packages+=(jq)
  [ -e /usr/bin/chromium ] || packages+=(chromium)
  have wasm-ld-22 || packages+=(lld-22)
  # A compiler with the source of its standard library, beside the one of rustup.
  [ -e /usr/lib/rustlib/src/rust/library/std ] || packages+=(rustc-web cargo-web rust-web-src)
fi
if [ "${1:-}" = platforms ]; then
  have qemu-s390x || packages+=(qemu-user)
  have wine || packages+=(wine wine64)
  have x86_64-w64-mingw32-gcc || packages+=(gcc-mingw-w64-x86-64-win32)
  [ -e /usr/lib/wasm32-wasi/libc.a ] || packages+=(wasi-libc)
  for pair in aarch64:arm64 arm:armhf s390x:s390x; do
    name=${pair%:*}-linux-gnu
    [ "$name" != arm-linux-gnu ] || name=arm-linux-gnueabihf
    have "$name-gcc" || packages+=("gcc-$name" "libc6-dev-${pair#*:}-cross")
  done
fi
# In a shell of its own, as it may give up.
[ ${#packages[@]} -eq 0 ] || (install_packages "${packages[@]}") || skipped

if [ -n "${1:-}" ] && ! zig_version >/dev/null 2>&1; then
  echo "setup: getting Zig $ZIG_VERSION, into $ZIG"
  { python3 -m venv "$ZIG" && "$ZIG/bin/pip" install --quiet --disable-pip-version-check "ziglang==$ZIG_VERSION"; } || skipped
fi
