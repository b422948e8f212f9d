#!/usr/bin/env bash
# include/chatparse.h and the files that it includes are what cbindgen makes of src/ffi, arranged by header.py. Without arguments:
# fails if a committed file differs. With --write: writes them.
set -euo pipefail
cd "$(dirname "$0")/.."

# Other versions format differently.
CBINDGEN_VERSION=0.29.0

# Where cargo installs, also where Rust came with the system.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

if [ "$(cbindgen --version 2>/dev/null)" != "cbindgen $CBINDGEN_VERSION" ]; then
  echo "header: building cbindgen $CBINDGEN_VERSION, once" >&2
  cargo install --quiet --debug cbindgen --version "$CBINDGEN_VERSION" --locked
fi

made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
# cbindgen does not see through aliases.
cp -r src/ffi "$made/ffi"
python3 .ci/enums.py "$made/ffi"
sed -i -E "s/: ErrorOut\b/: Out<*mut chat_error>/; s/: Out<([^<>']*)>/: Option<\&mut MaybeUninit<\1>>/g" "$made"/ffi/*.rs
cbindgen --quiet --config cbindgen.toml "$made/ffi/mod.rs" | python3 .ci/header.py "$made"
rm -r "$made/ffi"

cd "$made"
find . -name '*.h' | while read -r header; do
  if [ "${1:-}" = --write ]; then
    cp "$header" "$OLDPWD/include/$header"
  elif ! diff -u "$OLDPWD/include/$header" "$header"; then
    echo "include/${header#./} is out of date: run .ci/header.sh --write" >&2
    exit 1
  fi
done
