#!/usr/bin/env bash
# ThreadSanitizer over c-tests/threads.c and the library: c-tests/tsan/test.sh [ROUNDS]. A stable compiler will do. It cannot compile
# the standard library anew, so tsan/std.c tells what that orders.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=${1:-8}
target=$(rustc -vV | sed -n 's/^host: //p')
work=target/tsan
runtime=$(echo "$(rustc --print target-libdir)"/librustc-*_rt.tsan.a)
[ -e "$runtime" ] || {
  echo "threads: the compiler has no ThreadSanitizer for $target"
  exit 77
}

# The shadow memory wants addresses that are not at random.
setarch -R true 2>/dev/null || {
  echo "threads: this system does not let a program have fixed addresses; ThreadSanitizer is skipped"
  exit 77
}

# Sanitizers are behind a switch of the compiler that stable ones have, too, for those who say so.
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer -Cdebuginfo=1 -Copt-level=1" \
  cargo rustc --quiet --lib --crate-type staticlib --features capi --target "$target" --target-dir "$work"
library=$work/$target/debug/libchatparse.a

symbol() {
  nm "$library" 2>/dev/null | grep -oE "_R[A-Za-z0-9_]*$1\$" | sort -u | grep . || {
    echo "threads: this compiler's standard library has no $1" >&2
    exit 1
  }
}
once=$(symbol '4sync4once5futex[A-Za-z0-9_]*4Once4call')
mutex=$(symbol '4sync5mutex5futex[A-Za-z0-9_]*14lock_contended')

flags=(-std=c11 -g -Wall -Wextra -Werror)
cc "${flags[@]}" -fexceptions -DONCE_CALL="$once" -DMUTEX_LOCK_CONTENDED="$mutex" -c c-tests/tsan/std.c -o "$work/std.o"
build() {
  cc "${flags[@]}" -fsanitize=thread -DROUNDS="$rounds" -Iinclude -c "c-tests/$1.c" -o "$work/program.o"
  c++ "$work/program.o" "$work/std.o" "$library" -Wl,--wrap="$once",--wrap="$mutex" \
    -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive -lpthread -ldl -lm -lrt -o "$work/$(basename "$1")"
}
build tsan/race
build threads

export TSAN_OPTIONS=suppressions=c-tests/tsan/suppressions.txt:exitcode=9
# Whether two threads meet is a matter of chance.
sees_race() {
  for _ in {1..100}; do
    setarch -R "$work/race" 2>"$work/race.txt" || ! grep -q 'data race.*chatparse' "$work/race.txt" || return 0
  done
  return 1
}
sees_race || {
  echo "threads: a race in the library was not seen" >&2
  exit 1
}
setarch -R "$work/threads"
echo "threads: no races in $rounds rounds"
