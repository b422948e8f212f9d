#!/usr/bin/env bash
# test.sh VENV [OTHER]: the example server as Python clients of its APIs see it, and the one in C++ where that is built. The clients are installed
# in VENV, once. Ends with 77 where they, or the server, cannot be had.
set -euo pipefail
venv=$1 other=${2:-}
# Their models change with each version.
clients=(openai==3.57.0 anthropic==2.14.0 pydantic-ai-slim==2.68.0 openai-agents==0.24.0 langchain-openai==1.7.4 langchain-anthropic==1.7.10)
folder=$(dirname "$(realpath "$0")")

skip() {
  echo "SKIP: $*"
  exit 77
}

command -v python3 >/dev/null || skip "no python3"
command -v cargo >/dev/null || skip "no cargo"
if [ "$(cat "$venv/clients" 2>/dev/null)" != "${clients[*]}" ]; then
  python3 -m venv "$venv" || skip "no python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${clients[@]}" || skip "the clients cannot be installed"
  echo "${clients[*]}" >"$venv/clients"
fi
cargo build --quiet --manifest-path "$folder/../../Cargo.toml" --example server
server=${CARGO_TARGET_DIR:-$folder/../../target}/debug/examples/server
export PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" "$folder/test.py" "$server" ${other:+"$other"}
"$venv/bin/python" "$folder/frameworks.py" "$server"
