#!/usr/bin/env bash
# Every check that a clone can run by itself. Stops at the first that fails. On a terminal it asks before it installs anything.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=$PWD/target/stage
log=target/last-step.txt
step=0
steps=$(grep -c '^step ' "$0")
trap '[ $? -eq 0 ] || echo "FAILED: step $step of $steps" >&2' EXIT

# step MINUTES TITLE COMMAND...: the minutes are those of two quiet cores, the first time.
step() {
  step=$((step + 1))
  printf '\n== %d of %d, after %d:%02d: %s (about %s min)\n' "$step" "$steps" $((SECONDS / 60)) $((SECONDS % 60)) "$2" "$1"
  "${@:3}"
}

# Shows what a command prints only if it fails.
quietly() {
  mkdir -p target
  "$@" >"$log" 2>&1 || {
    cat "$log"
    return 1
  }
}

rust_tests() {
  # With the C functions: without them there is only less. Cargo says which file it tests.
  cargo test --workspace --features capi -- --quiet
}

c_library() {
  rm -rf "$stage"
  # The same flags each time, or cargo-c builds anew.
  cargo cinstall --release --prefix="$stage" --libdir=lib
}

c_tests() {
  quietly cmake -S c-tests -B target/c-tests -DCMAKE_PREFIX_PATH="$stage"
  quietly cmake --build target/c-tests --parallel 2
  ctest --test-dir target/c-tests --output-on-failure --parallel 2
}

# 77: no node, or no compiler for WebAssembly.
javascript() { .ci/javascript.sh || [ $? -eq 77 ]; }

step 5 "tools that are missing" .ci/setup.sh
step 1 "format" cargo fmt --check
step 1 "lints" cargo clippy --quiet --workspace -- -D warnings
step 1 "lints, with the C functions and the tests" cargo clippy --quiet --workspace --all-targets --features capi -- -D warnings
step 1 "lints, without the parts that may be left out" cargo clippy --quiet --no-default-features --features capi -- -D warnings
step 1 "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
step 7 "Rust tests" rust_tests
step 1 "C header" .ci/header.sh
step 2 "C library, installed in target/stage" c_library
step 5 "C tests" c_tests
step 2 "JavaScript" javascript

printf '\nAll checks passed in %d:%02d: format, lints, Rust tests, C header, C library installed and tested, JavaScript.\n' \
  $((SECONDS / 60)) $((SECONDS % 60))
