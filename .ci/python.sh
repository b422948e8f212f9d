#!/usr/bin/env bash
# Prints the path of a Python that has the packages which the comparisons with other engines need; made once, where they can be had.
# Elsewhere it is the system's, and the comparisons are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/python
packages=(transformers==5.24.0 jinja2==3.1.6 llguidance==1.9.1 apache-tvm-ffi==0.1.15.post2 deepseek-recipe==0.2.0 openai==3.57.0
  anthropic==2.14.0)
if [ "$(cat "$folder/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$folder"
  # XGrammar is wanted without PyTorch, and of TRL its templates.
  if python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet "${packages[@]}" &&
    "$folder/bin/pip" install --quiet --no-deps xgrammar==0.2.8 canitoolcall==0.1.1 trl==1.16.0 &&
    "$folder/bin/pip" install --quiet unearth==0.19.0; then
    echo "${packages[*]}" >"$folder/complete"
  fi >&2
fi
if [ -e "$folder/complete" ]; then
  echo "$folder/bin/python"
else
  echo "python: no packages of other engines" >&2
  echo python3
fi
