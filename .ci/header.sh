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

python3 .ci/header.py "$@"
