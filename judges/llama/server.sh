#!/usr/bin/env bash
# llama.cpp's server beside the same one on chatparse's headers: judges/llama/server.sh PREFIX SOURCES MODEL, of an
# installation, and of llama.cpp. What they answer differs as judges/llama/server.txt says at most.
set -euo pipefail
cd "$(dirname "$0")/../.."

prefix=$(realpath "$1")
work=$PWD/target/upstream
tree=$(realpath "$2")
# One folder for both builds, so that the second compiles what is replaced.
rm -rf "$work/served"
cp -a "$tree" "$work/served"
build() {
  cmake -S "$work/served" -B "$work/server" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O3 -DCMAKE_CXX_FLAGS="-O1 -w" -DBUILD_SHARED_LIBS=OFF \
    -DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_OPENMP=OFF -DLLAMA_BUILD_{TESTS,EXAMPLES,APP,UI}=OFF \
    -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$work/server" --target llama-server --parallel 2
  cp "$work/server/bin/llama-server" "$work/$1"
}
{
  build llama-server-theirs
  CHATPARSE_LLAMA_VERSION='' cmake/llama/replace.sh "$work/served"
  build llama-server-ours
} >"$work/server.txt" 2>&1 || {
  tail -n 40 "$work/server.txt"
  exit 1
}
python3 judges/llama/requests.py "$work"/llama-server-{theirs,ours} "$3" "$tree/models/templates" judges/llama/server.txt
