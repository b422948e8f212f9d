#!/usr/bin/env bash
# Every check that a clone can run by itself. Stops at the first that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

started=$SECONDS
step=
trap '[ $? -eq 0 ] || echo "FAILED: $step" >&2' EXIT
run() {
  step=$*
  printf '\n== %s\n' "$*"
  "$@"
}

stage=$PWD/target/stage
# The same flags each time, or cargo-c builds anew.
install_stage() { cargo cinstall --release --prefix="$stage" --libdir=lib; }

run .ci/setup.sh
run cargo fmt --check
run cargo clippy --quiet --all-targets -- -D warnings
run cargo clippy --quiet --all-targets --features capi -- -D warnings
# With the C functions: without them there is only less.
run cargo test --quiet --features capi
run .ci/header.sh
run rm -rf "$stage"
run install_stage
run cmake -S c-tests -B target/c-tests -DCMAKE_PREFIX_PATH="$stage"
run cmake --build target/c-tests --parallel 2
run ctest --test-dir target/c-tests --output-on-failure
# 77: no node, or no compiler for WebAssembly.
run .ci/javascript.sh || [ $? -eq 77 ]

printf '\nAll checks passed in %d seconds: format, lints, Rust tests, C header, C library installed and tested, JavaScript.\n' $((SECONDS - started))
