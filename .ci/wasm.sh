#!/usr/bin/env bash
# Builds the C library as a WebAssembly module, as small as it gets, in target/wasm, and prints where it is. Ends with 77, saying so, where
# no compiler here can: it needs the standard library for wasm32-unknown-unknown or its source (rust-src), and a linker (lld).
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown

# Optimised for size. The module imports nothing, so nobody could read what a panic says: it just stops, without a text.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=z CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_STRIP=true
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/wasm RUSTC_BOOTSTRAP=1

rustc=
for candidate in "$(command -v rustc || true)" /usr/bin/rustc; do
  [ -e "$("$candidate" --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ] || continue
  rustc=$candidate
  export CARGO_UNSTABLE_BUILD_STD=std,panic_abort CARGO_UNSTABLE_BUILD_STD_FEATURES=optimize_for_size
  export RUSTFLAGS="-Cpanic=immediate-abort -Zunstable-options -Zlocation-detail=none"
  break
done
for candidate in "$(command -v rustc || true)" /usr/bin/rustc; do
  [ -z "$rustc" ] || break
  compgen -G "$("$candidate" --print target-libdir --target $target 2>/dev/null)/libstd-*.rlib" >/dev/null || continue
  rustc=$candidate
done
if [ -z "$rustc" ]; then
  echo "wasm: skipped, no compiler here has the standard library for $target, or its source" >&2
  exit 77
fi

# Debian's compiler has no linker of its own.
linker=$(ls /usr/bin/wasm-ld-* 2>/dev/null | sort -V | tail -n 1)
[ -z "$linker" ] || export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker
RUSTC=$rustc "${rustc%/*}/cargo" rustc --quiet --release --lib --crate-type cdylib --features capi --target $target
echo "$CARGO_TARGET_DIR/$target/release/chatparse.wasm"
