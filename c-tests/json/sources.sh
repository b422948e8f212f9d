#!/usr/bin/env bash
# sources.sh: prints the folder of yyjson.c and yyjson.h, which cargo keeps. Fails where it cannot get them.
set -euo pipefail
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
cargo metadata --locked --format-version 1 --manifest-path "$(dirname "$0")/Cargo.toml" |
  grep -o '"manifest_path":"[^"]*/yyjson-sys-[^"/]*/Cargo.toml"' | sed 's|.*:"\(.*\)/Cargo.toml"|\1/yyjson/src|'
