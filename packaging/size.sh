#!/usr/bin/env bash
# What docs/packaging.md tells of sizes is so, within a quarter: packaging/size.sh LIBRARY, the shared library with all parts. Builds the one without
# any, which takes two minutes of one core; of the parts only the sum is measured.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/size
cargo rustc --quiet --release --no-default-features --features capi --lib --crate-type cdylib

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
kilobytes() {
  strip -o "$stripped" "$1"
  echo $(($(wc -c <"$stripped") / 1000))
}
# check WHAT KILOBYTES TOLD
check() {
  echo "$1: $2 KB, and docs/packaging.md says ${3:?}"
  [ $(($2 * 4)) -gt $(($3 * 3)) ] && [ $(($2 * 4)) -lt $(($3 * 5)) ]
}
# "| `release` | 5.71 MB | 4.75 MB |" and "| `api` | what it has | 168 KB |".
read -r all none < <(sed -n 's/^| `release` | \([0-9]\)\.\([0-9]*\) MB | \([0-9]\)\.\([0-9]*\) MB |.*/\1\20 \3\40/p' docs/packaging.md)
parts=$(sed -n 's/^| `[a-z]*` | .* | \([0-9]*\) KB |$/\1/p' docs/packaging.md | awk '{ sum += $1 } END { print sum }')
with=$(kilobytes "$1")
without=$(kilobytes "$CARGO_TARGET_DIR/release/libchatparse.so")
check "all parts" "$with" "$all"
check "no parts" "$without" "$none"
check "the parts together" $((with - without)) "$parts"
