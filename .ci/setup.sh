#!/usr/bin/env bash
# Installs what the checks need and this machine lacks. Quick where all is there.
set -euo pipefail

# 0.10.24 is the last cargo-c for the Rust version that is tested; distributions carry ones that are too old.
CARGO_C_VERSION=0.10.24

have() { command -v "$1" >/dev/null 2>&1; }

# The package managers of other systems are the reader's business: say what is wanted.
install_packages() {
  local root=()
  if ! have apt-get; then
    echo "setup: please install: $*" >&2
    exit 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! have sudo; then
      echo "setup: please install, as root: apt-get install $*" >&2
      exit 1
    fi
    root=(sudo)
  fi
  echo "setup: installing $*"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

if ! have cargo; then
  echo "setup: Rust is missing; see https://www.rust-lang.org/tools/install" >&2
  exit 1
fi

for component in rustfmt clippy; do
  if ! cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1; then
    rustup component add "$component"
  fi
done

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
