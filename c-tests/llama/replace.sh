#!/bin/sh
# replace.sh SCRIPT SOURCES FOLDER: cmake/llama/replace.sh with a copy of llama.cpp's sources in FOLDER.
set -eu
script=$1 sources=$2 tree=$3

expect() {
  case "$output" in
    *"$1"*) ;;
    *) echo "no \"$1\" in: $output"; exit 1 ;;
  esac
}

chmod -R u+w "$tree" 2>/dev/null || true
rm -rf "$tree"
mkdir -p "$tree/include" "$tree/tests" "$tree/tools"
cp -R "$sources/common" "$tree/"
cp "$sources/include/llama.h" "$tree/include/"
cp "$sources/CMakeLists.txt" "$tree/"
chmod -R u+w "$tree"
printf 'llama_build_and_test(test-jinja.cpp)\nllama_build_and_test(test-chat.cpp)\n' >"$tree/tests/CMakeLists.txt"
printf 'add_subdirectory(parser)\nadd_subdirectory(server)\n' >"$tree/tools/CMakeLists.txt"

# Another version is left alone, and named.
sed -i.old 's/^#define LLAMA_SESSION_VERSION .*/#define LLAMA_SESSION_VERSION 99/' "$tree/include/llama.h"
if output=$("$script" "$tree" 2>&1); then
  echo "an unknown version was taken: $output"
  exit 1
fi
expect "llama.cpp 0.8.0 (state files 99, 4)"
[ -f "$tree/common/chat.h" ]
mv "$tree/include/llama.h.old" "$tree/include/llama.h"

output=$("$script" "$tree")
expect "0_8_0: "
expect " files removed from common/"
expect "0_8_0: 25 lines out of common/CMakeLists.txt"
expect "0_8_0: 2 lines out of common/CMakeLists.txt"
expect "0_8_0: 1 lines out of tests/CMakeLists.txt"
grep -q "CHATPARSE_LLAMA_VERSION=0_8_0" "$tree/common/CMakeLists.txt"
[ ! -e "$tree/common/chat.h" ] && [ ! -e "$tree/common/jinja" ] && [ ! -e "$tree/common/parsers" ] && [ -f "$tree/common/json.h" ]
! grep -E 'chat|peg-parser|jinja|json-schema|PARSERS' "$tree/common/CMakeLists.txt" | grep -v chatparse
[ "$(cat "$tree/tests/CMakeLists.txt" "$tree/tools/CMakeLists.txt")" = "llama_build_and_test(test-chat.cpp)
add_subdirectory(server)" ]

cp "$tree/common/CMakeLists.txt" "$tree/before"
output=$("$script" "$tree")
expect "chatparse is there already"
cmp "$tree/before" "$tree/common/CMakeLists.txt"
