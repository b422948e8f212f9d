#!/usr/bin/env bash
# Installs what the checks need and this machine lacks. Quick where all is there.
set -euo pipefail

# 0.10.24 is the last cargo-c for the Rust version that is tested; distributions carry ones that are too old.
CARGO_C_VERSION=0.10.24

have() { command -v "$1" >/dev/null 2>&1; }

fail() {
  echo "setup: $*" >&2
  exit 1
}

# The package managers of other systems are the reader's business: say what is wanted.
install_packages() {
  local root=()
  have apt-get || fail "please install: $*"
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || fail "please run as root: apt-get install $*"
    root=(sudo)
  fi
  echo "setup: installing $*"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

have cargo || fail "Rust is missing; see https://www.rust-lang.org/tools/install"

if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
  have rustup || fail "please install rustfmt and clippy"
  rustup component add rustfmt clippy
fi

packages=()
have cmake || packages+=(cmake)
have cc && have c++ && have make || packages+=(build-essential)
have pkg-config || packages+=(pkg-config)
have nm || packages+=(binutils)

if ! cargo cinstall --version 2>/dev/null | grep -qF "cargo-c $CARGO_C_VERSION+"; then
  # What cargo-c itself is built with.
  have pkg-config && pkg-config --exists openssl || packages+=(pkg-config libssl-dev)
  [ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
  echo "setup: building cargo-c $CARGO_C_VERSION, once; this takes some minutes"
  cargo install --quiet cargo-c --version "$CARGO_C_VERSION" --locked
elif [ ${#packages[@]} -ne 0 ]; then
  install_packages "${packages[@]}"
fi
