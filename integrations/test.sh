#!/usr/bin/env bash
# The parsers for Dynamo and SMG: compiled with the real crates, and tested. With LONG=1 also their lints, and the streams of those
# crates' own tests. Ends with 77, saying so, where the crates cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

# Both share what they depend on.
export CARGO_TARGET_DIR=$PWD/target/integrations CARGO_INCREMENTAL=0
for manifest in integrations/*/Cargo.toml; do
  cargo fmt --manifest-path "$manifest" --check
  cargo fetch --quiet --manifest-path "$manifest" || {
    echo "SKIP: the crates of $manifest cannot be downloaded"
    exit 77
  }
  if [ -n "${LONG:-}" ]; then
    cargo clippy --quiet --all-targets --manifest-path "$manifest" -- -D warnings
    cargo test --quiet --manifest-path "$manifest" -- --nocapture
  else
    cargo test --quiet --manifest-path "$manifest" -- --skip streams_of_their_tests
  fi
done
