#!/usr/bin/env bash
# Builds the C library as a WebAssembly module, as small as it gets, in target/wasm, and prints where it is. Ends with 77, saying so, where
# no compiler here can: it needs the standard library for wasm32-unknown-unknown or, better, its source (rust-src), and a linker (lld).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/compiler.sh
. .ci/compiler.sh
target=wasm32-unknown-unknown

find_compiler $target source || {
  echo "wasm: skipped, no compiler here has the standard library for $target, or its source. One of these brings it:" >&2
  echo "  rustup target add $target; rustup component add rust-src" >&2
  echo "  apt-get install rustc-web cargo-web rust-web-src lld    # on Debian" >&2
  exit 77
}
echo "wasm: building the module; that takes one to four minutes" >&2
linker=$(wasm_linker)
[ -z "$linker" ] || export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/wasm RUSTC_BOOTSTRAP=1 RUSTC=$rustc
export CARGO_PROFILE_RELEASE_OPT_LEVEL=z CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_STRIP=true
if [ -n "$std" ]; then
  # The module imports nothing, so nobody could read what a panic says: it just stops.
  export CARGO_UNSTABLE_BUILD_STD=$std CARGO_UNSTABLE_BUILD_STD_FEATURES=optimize_for_size
  export RUSTFLAGS="-Cpanic=immediate-abort -Zunstable-options -Zlocation-detail=none"
fi
"${rustc%/*}/cargo" rustc --quiet --release --lib --crate-type cdylib --features capi,lint --target $target >&2
echo "$CARGO_TARGET_DIR/$target/release/chatparse.wasm"
