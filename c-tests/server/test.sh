#!/usr/bin/env bash
# test.sh SERVER VENV: the example server as OpenAI's and Anthropic's own Python clients see it. They are installed in VENV, once.
# Ends with 77 where they, or the server, cannot be had.
set -euo pipefail
server=$1 venv=$2
# Their models change with each version.
clients=(openai==3.54.0 anthropic==2.12.0)

skip() {
  echo "SKIP: $*"
  exit 77
}

[ -x "$server" ] || skip "the server was not built; it needs libcpp-httplib-dev and nlohmann-json3-dev"
command -v python3 >/dev/null || skip "no python3"
if [ "$(cat "$venv/clients" 2>/dev/null)" != "${clients[*]}" ]; then
  python3 -m venv "$venv" || skip "no python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${clients[@]}" || skip "the clients cannot be installed"
  echo "${clients[*]}" >"$venv/clients"
fi
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$(dirname "$0")/test.py" "$server"
