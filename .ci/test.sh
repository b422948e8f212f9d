#!/usr/bin/env bash
# The checks that a clone can run by itself; with --all also those that a release needs: the optimized library, with valgrind and more
# compilers, built from source by other projects, the packages of other languages, and WebAssembly. JAVASCRIPT=no leaves out the last,
# LONG=1 adds what takes long and seldom fails. Stops at the first that fails. On a terminal it asks before it installs anything.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  --all) all=1 ;;
  '') all= ;;
  *) echo "test.sh: what is $1? There is --all." >&2 && exit 2 ;;
esac

# Where tests are built for the first time: what a second build would need takes half of the disk.
compgen -G 'target/debug/incremental/suite-*' >/dev/null || export CARGO_INCREMENTAL=0

stage=$PWD/target/stage
# The library with all parts, built where this tree's other programs are.
built=(-DCHATPARSE_PARTS="api;conversation;dialects;lint;next;segments" -DCHATPARSE_CARGO_TARGET_DIR="$PWD/target")
log=target/last-step.txt
step=0
steps=$(grep -cE "^${all:+ *(\[.* \|\| )?}step [0-9]" "$0")
library=
skipped=()
# Lints fail under the compiler that the code is written with; a newer one shows what it has learnt since.
deny=()
[[ $(rustc --version) != "rustc 1.95."* ]] || deny=(-D warnings)
# Without the library that is still being built, if a step fails.
trap '[ $? -eq 0 ] || { echo "FAILED: step $step of $steps" >&2; [ -z "$library" ] || kill "$library" 2>/dev/null; }' EXIT

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

# By CMake, which takes no cargo-c, with all parts; optimized for releases only. What a debugger needs would be in each program that
# links the static library.
install_library() {
  local type=Release
  [ -n "$all" ] || type=Debug
  export CARGO_PROFILE_DEV_DEBUG=false
  rm -rf "$stage" target/cargo-c
  cmake -S . -B target/library -DCMAKE_BUILD_TYPE=$type -DCMAKE_INSTALL_PREFIX="$stage" -DCMAKE_INSTALL_LIBDIR=lib \
    "${built[@]}"
  cmake --build target/library
  cmake --install target/library
  # For those who have cargo-c. What it installs counts here, not how fast that is.
  [ -z "$all" ] || CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_LTO=off \
    cargo cinstall --release --prefix="$PWD/target/cargo-c" --libdir=lib
}

# cargo-c has installed the same.
cargo_c() {
  local prefix=$PWD/target/cargo-c
  names() { (cd "$1" && find . ! -type d ! -name '*.so.*' | sort); }
  diff <(names "$stage") <(names "$prefix")
  c-tests/soname.sh "$prefix/lib/libchatparse.so" "$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)"
  c-tests/exports.sh "$prefix/lib/libchatparse.so"
}

# The library is built beside the Rust tests: optimizing across crates takes one core for a minute.
c_library() {
  wait "$library" || {
    cat target/library.txt
    return 1
  }
}

c_tests() {
  quietly cmake -S c-tests -B target/c-tests -DCMAKE_PREFIX_PATH="$stage" -DALL=${all:-0} "${built[@]}"
  quietly cmake --build target/c-tests --parallel 2
  local labels=()
  [ -n "${LONG:-}" ] || labels=(--label-exclude long)
  ctest --test-dir target/c-tests --output-on-failure --parallel 2 "${labels[@]}" | tee target/ctest.txt
  mapfile -t skipped < <(sed -n 's/.* #[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' target/ctest.txt)
}

# 77: no node, or no compiler for WebAssembly.
javascript() {
  bindings/javascript/test.sh || {
    [ $? -eq 77 ] || return 1
    skipped+=(JavaScript)
  }
}

step 5 "tools that are missing" .ci/setup.sh ${all:+all}
step 1 "format" cargo fmt --check
step 1 "lints" cargo clippy --quiet --workspace --all-targets --features capi -- "${deny[@]}"
step 1 "lints, without the parts that may be left out" cargo clippy --quiet --package chatparse --no-default-features --features capi -- "${deny[@]}"
step 1 "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps
step 1 "the crate's public items" .ci/public.py
mkdir -p target
install_library >target/library.txt 2>&1 &
library=$!
step 5 "Rust tests" rust_tests
step 1 "C header" .ci/header.sh
step 1 "C library, installed in target/stage" c_library
step 2 "C tests" c_tests
if [ "$all" ]; then
  step 1 "C library, as cargo-c installs it" cargo_c
  step 1 "lints, without the C functions" cargo clippy --quiet --workspace -- "${deny[@]}"
  [ "${JAVASCRIPT:-}" = no ] || step 2 "JavaScript" javascript
fi

printf '\nAll checks passed in %d:%02d: format, lints, Rust tests, C header, C library installed and tested%s. Skipped: %s.\n' \
  $((SECONDS / 60)) $((SECONDS % 60)) "${all:+, other languages}" "${skipped[*]:-none}"
