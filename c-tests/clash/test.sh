#!/usr/bin/env bash
# test.sh LIBCHATPARSE.A INCLUDE WORK: the static library and another one of Rust's make a program: that of each compiler that is here,
# as it is and optimised as a whole, in both orders.
set -euo pipefail
library=$3/libchatparse.a include=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
cp "$1" "$library"
"$here/../../cmake/alone.sh" "$library"
"${CC:-cc}" -std=c11 -I"$include" -c "$here/main.c" -o "$work/main.o"

versions=()
for rustc in rustc /usr/bin/rustc; do
  version=$("$rustc" --version 2>/dev/null) || continue
  case " ${versions[*]} " in *" $version "*) continue ;; esac
  versions+=("$version")
  for lto in off fat; do
    other=$work/libother.a
    "$rustc" --edition 2024 --crate-type staticlib -O -C lto=$lto "$here/other.rs" -o "$other"
    for order in "$library $other" "$other $library"; do
      # shellcheck disable=SC2086
      "${CC:-cc}" "$work/main.o" $order -lgcc_s -lutil -lrt -lpthread -lm -ldl -o "$work/both"
      echo "$version, lto=$lto: $("$work/both")"
    done
  done
done
[ ${#versions[@]} -gt 0 ] || {
  echo "SKIP: no rustc"
  exit 77
}
[ ${#versions[@]} -gt 1 ] || echo "There is but one compiler here: none other was tried."
