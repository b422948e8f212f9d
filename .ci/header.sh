#!/usr/bin/env bash
# include/chatparse.h is what cbindgen makes of src/ffi, arranged by header.py. Without arguments: fails where the committed file is another.
# With --write: writes it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Other versions format differently.
CBINDGEN_VERSION=0.29.0

# Where cargo installs, also where Rust came with the system.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

if [ "$(cbindgen --version 2>/dev/null)" != "cbindgen $CBINDGEN_VERSION" ]; then
  echo "header: building cbindgen $CBINDGEN_VERSION, once" >&2
  cargo install --quiet cbindgen --version "$CBINDGEN_VERSION" --locked
fi

header=include/chatparse.h
generate() {
  cbindgen --quiet --config cbindgen.toml src/ffi/mod.rs | python3 .ci/header.py
}

if [ "${1:-}" = --write ]; then
  generate >"$header.new"
  mv "$header.new" "$header"
elif ! diff -u "$header" <(generate); then
  echo "$header is out of date: run .ci/header.sh --write" >&2
  exit 1
fi
