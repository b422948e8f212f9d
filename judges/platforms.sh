#!/usr/bin/env bash
# Builds the program and the C library for other systems, and lets them answer the same cases: judges/platforms.sh [TARGET...]. Prints
# a line for each target; fails where a build does, or where the answers are not the bytes that this machine gives. Without targets,
# all that can be run. What is not installed is skipped, by name; `.ci/setup.sh platforms` installs it.
#
#   EVERY=1 judges/platforms.sh                      all cases; emulators take a while
#   LIMIT=780 judges/platforms.sh                    no target is begun after so many seconds
#   judges/platforms.sh aarch64-apple-darwin         the static library, for systems that this one cannot run or link for
set -euo pipefail
cd "$(dirname "$0")/.."

work=$PWD/target/platforms
wasi=/usr/lib/wasm32-wasi
runnable=(
  x86_64-pc-windows-gnu wasm32-unknown-unknown s390x-unknown-linux-gnu aarch64-unknown-linux-gnu
  armv7-unknown-linux-gnueabihf wasm32-wasip1
)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${runnable[@]}")
passed=0 failed=0 skipped=0
mkdir -p "$work"

python3 corpus/cases.py "${EVERY:-6}" >"$work/cases.jsonl"

# shellcheck source=.ci/compiler.sh
. .ci/compiler.sh

# Runs a command with what cargo needs to know. What no profile of a package says otherwise is not optimised: that would take most of the time.
with_compiler() {
  local linker=CARGO_TARGET_${target^^}_LINKER
  env RUSTC="$rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$work" CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_LTO=off ${std:+CARGO_UNSTABLE_BUILD_STD=$std} ${cc:+"${linker//-/_}=$cc"} "$@"
}
with_cargo() { with_compiler "${rustc%/*}/cargo" "$1" --quiet --release --features capi --target "$target" "${@:2}"; }

# compare WHAT COMMAND...: the command's answers are those of this machine.
compare() {
  local what=$1 answers=$work/$target.answers
  shift
  "$@" <"$work/cases.jsonl" | tr -d '\r' >"$answers" || return 1
  echo "$target: $(wc -l <"$answers") answers, $(hash_of "$answers"), $what"
  cmp "$work/native.answers" "$answers"
}
hash_of() { sha256sum "$1" | cut -c 1-16; }

# What a program links with the static library that was made last.
system_libraries() { sed -n 's/.*native-static-libs: //p' "$work/libraries"; }

# The program, and c-tests/replay.c on the static library. That is made of the crate as it was compiled for the program.
run_both() {
  local out=$work/$target/release
  with_cargo build || return 1
  compare "chatparse replay" $run "$out/chatparse$exe" replay || return 1
  echo 'extern crate chatparse;' >"$work/library.rs"
  RUSTC_BOOTSTRAP=1 "$rustc" --edition 2024 --crate-type staticlib --crate-name chatparse_c --target "$target" \
    -L "$out/deps" -L "$work/release/deps" --extern chatparse="$out/libchatparse.rlib" -o "$out/libchatparse.a" \
    "$work/library.rs" --print native-static-libs 2>"$work/libraries" || { cat "$work/libraries" && return 1; }
  local yyjson
  yyjson=$(c-tests/json/sources.sh) || return 1
  # shellcheck disable=SC2046
  "$cc" -std=c11 -Wall -Wextra -Werror -Iinclude -isystem "$yyjson" c-tests/{replay,answer,parts,text}.c "$yyjson/yyjson.c" \
    "$out/libchatparse.a" $(system_libraries) -o "$out/replay$exe" || return 1
  compare "the C library" $run "$out/replay$exe"
}

# Also the shared library, through CMake: built, installed, found by a project that uses it.
run_windows() {
  local tree=$work/windows library toolchain=-DCMAKE_TOOLCHAIN_FILE=$PWD/c-tests/mingw.cmake
  export WINEPREFIX=$work/wine WINEDEBUG=-all
  mkdir -p "$work/$target/release"
  "$cc" -shared c-tests/wine_random.c -o "$work/$target/release/bcryptprimitives.dll" -ladvapi32 && run_both || return 1
  rm -rf "$tree"
  cmake -S . -B "$tree/build" "$toolchain" -DCMAKE_BUILD_TYPE=Release -DCHATPARSE_TARGET="$target" \
    -DCHATPARSE_CARGO="${rustc%/*}/cargo" -DCHATPARSE_CARGO_TARGET_DIR="$work" \
    -DCHATPARSE_SYSTEM_LIBRARIES="$(system_libraries)" -DCMAKE_INSTALL_PREFIX="$tree/prefix" >"$work/said" &&
    with_compiler cmake --build "$tree/build" >>"$work/said" 2>&1 &&
    cmake --install "$tree/build" >>"$work/said" &&
    cmake -S c-tests/consumers -B "$tree/consumer" "$toolchain" -DCMAKE_PREFIX_PATH="$tree/prefix" -DFIND=REQUIRED \
      "-DLIBRARIES=chatparse;chatparse_shared;chatparse_static" >>"$work/said" &&
    cmake --build "$tree/consumer" >>"$work/said" || { cat "$work/said" && return 1; }
  cp "$tree/prefix/bin/chatparse.dll" "$work/$target/release/bcryptprimitives.dll" "$tree/consumer"
  for library in chatparse chatparse_shared chatparse_static; do
    wine "$tree/consumer/uses_$library.exe" | tr -d '\r' | diff c-tests/consumers/example.txt - || return 1
  done
  echo "$target: find_package(chatparse) found the DLL and the static library, and their programs run"
}

run_wasm() {
  with_cargo rustc --lib --crate-type cdylib || return 1
  compare "the C library" node c-tests/wasm.mjs "$work/$target/release/chatparse.wasm"
}

run_wasi() {
  local flags=()
  # Rust brings a C library only with a standard library that it has compiled.
  [ -z "$std" ] || flags=(-C link-self-contained=no -L "$wasi" -C "link-arg=$wasi/crt1-command.o")
  with_compiler "${rustc%/*}/cargo" rustc --quiet --release --package chatparse-cli --target "$target" -- "${flags[@]}" || return 1
  compare "chatparse replay" node --no-warnings c-tests/wasi.mjs "$work/$target/release/chatparse.wasm" replay
}

# Defines what the shared library exports? An archive's index has the names.
archive() {
  with_cargo rustc --lib --crate-type staticlib || return 1
  local library index
  library=$(ls "$work/$target"/release/{lib,}chatparse.{a,lib} 2>/dev/null | head -n 1)
  echo "$target: static library only, $(wc -c <"$library") bytes"
  index=$(head -c 66 "$library" | tail -c 10) # the size of the first member
  diff c-tests/exports.txt <(head -c $((68 + index)) "$library" | tr '\0' '\n' | grep -aoxE '_?chat_[a-z_0-9]+' | sed 's/^_//' | LC_ALL=C sort -u)
}

needs() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || {
      echo "$target: skipped, there is no $tool"
      return 1
    }
  done
}

qemu() {
  cc=$1-gcc run="qemu-$2 -L /usr/$1"
  needs "$cc" "qemu-$2" && way=run_both
}

# Sets what each target is built with and run by; false where that is not here.
prepare() {
  target=$1 cc='' run='' exe='' way=archive
  find_compiler "$target" || {
    echo "$target: skipped, no compiler here has its standard library, or the source of that"
    return 1
  }
  case $target in
    aarch64-unknown-linux-gnu) qemu aarch64-linux-gnu aarch64 ;;
    armv7-unknown-linux-gnueabihf) qemu arm-linux-gnueabihf arm ;;
    s390x-unknown-linux-gnu) qemu s390x-linux-gnu s390x ;;
    x86_64-pc-windows-gnu)
      cc=x86_64-w64-mingw32-gcc run=wine exe=.exe way=run_windows
      needs "$cc" wine cmake || return 1
      # As CMake calls it: what one build has compiled, the other need not.
      cc=$(command -v "$cc")
      ;;
    wasm32-*)
      cc=$(wasm_linker)
      way=run_wasi
      [ "$target" = wasm32-wasip1 ] || way=run_wasm
      needs node && [[ $target != wasm32-wasip1 || -z $std || -e $wasi/libc.a ]] && return
      echo "$target: skipped, Node.js or wasi-libc is missing"
      return 1
      ;;
  esac
}

cargo build --quiet --release
target/release/chatparse replay <"$work/cases.jsonl" >"$work/native.answers"
echo "$(rustc -vV | sed -n 's/^host: //p'): $(wc -l <"$work/native.answers") answers, $(hash_of "$work/native.answers"), chatparse replay"
for target in "${targets[@]}"; do
  if [ "$SECONDS" -gt "${LIMIT:-$SECONDS}" ]; then
    echo "$target: skipped, the time is up"
    skipped=$((skipped + 1))
  elif ! prepare "$target"; then
    skipped=$((skipped + 1))
  elif "$way"; then
    passed=$((passed + 1))
  else
    echo "$target: FAILED"
    failed=$((failed + 1))
  fi
done
echo "platforms: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
