#!/bin/sh
# replace.sh TREE: takes the chat layer's sources and their lines out of a tree of llama.cpp or ik_llama.cpp, so that
# include/chatparse/llama stands in for them, and says what it did. A tree of another version is left as it is. Running it again does
# nothing. See LLAMA.md.
set -eu

fail() {
  echo "replace.sh: $1" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: replace.sh TREE"
[ -f "$1/include/llama.h" ] && [ -f "$1/common/CMakeLists.txt" ] || fail "$1 is no tree of llama.cpp: no include/llama.h, common/CMakeLists.txt"
cd "$1"

number() { sed -n "s/^#define $1 *\([0-9]*\).*/\1/p" include/llama.h; }
part() { sed -n "s/^set(LLAMA_VERSION_$1 *\([0-9]*\)).*/\1/p" CMakeLists.txt 2>/dev/null || true; }

if grep -q chatparse common/CMakeLists.txt; then
  echo "chatparse is there already"
  exit 0
fi

# The chat layer itself tells its version; numbers elsewhere do not change with it. What is newer than the newest that is known may
# have other classes.
has() { [ -f common/chat.h ] && grep -q "$1" common/chat.h; }
named="$(part MAJOR).$(part MINOR).$(part PATCH)"
minor=$(part MINOR)
state="$(number LLAMA_SESSION_VERSION), $(number LLAMA_STATE_SEQ_VERSION)"
target=llama-common
if [ -n "${CHATPARSE_LLAMA_VERSION:-}" ]; then
  version=$CHATPARSE_LLAMA_VERSION
elif grep -q '^#define LLAMA_SERVER_MAGIC' include/llama.h; then
  version=IK
elif [ "$state" != "11, 4" ] || [ ! -f common/json.h ] || [ "${minor:-0}" -gt 8 ] || [ "$(part MAJOR)" = 1 ]; then
  version=""
elif has 'struct common_chat_prompt_part'; then
  version=0_8_0
elif has 'class common_chat_session'; then
  version=B11549
elif [ -f common/json-schema.h ]; then
  version=0_6_0
else
  version=""
fi
case $version in
  IK) target=common ;;
  0_6_0 | B11549 | 0_8_0) ;;
  *)
    fail "not a known version: llama.cpp $named (state files $state); known are 0.6.0, b11549, 0.8.0, ik_llama.cpp. CHATPARSE_LLAMA_VERSION=0_8_0 takes it for the newest"
    ;;
esac

files=0
remove() {
  for file; do
    if [ -f "$file" ]; then
      rm "$file"
      files=$((files + 1))
    fi
  done
}
remove common/chat.* common/chat-auto-parser* common/chat-diff-analyzer.cpp common/chat-peg-parser.* common/peg-parser.* \
  common/json-schema.* common/json-schema-to-grammar.* common/jinja/* common/parsers/*
rmdir common/jinja common/parsers 2>/dev/null || true
echo "$version: $files files removed from common/"

# strip FILE PATTERN: without the lines that match.
strip() {
  [ -f "$1" ] || return 0
  before=$(wc -l <"$1")
  sed -E "\\#$2#d" "$1" >"$1.new"
  cat "$1.new" >"$1"
  rm "$1.new"
  lines=$((before - $(wc -l <"$1")))
  [ "$lines" -eq 0 ] || echo "$version: $lines lines out of $1"
}
names='chat|chat-auto-parser[a-z-]*|chat-diff-analyzer|chat-peg-parser|peg-parser|json-schema|json-schema-to-grammar|jinja/[a-z]*'
strip common/CMakeLists.txt "^[[:space:]]*($names)[.](cpp|h)[[:space:]]*\$"
strip common/CMakeLists.txt 'parsers/sources[.]cmake|LLAMA_CHAT_PARSERS_SOURCES'
# These show the insides of what is gone.
strip tests/CMakeLists.txt '^[[:space:]]*llama_[a-z_]*[(]test-(jinja|chat-auto-parser|chat-analysis)[ .)]'
strip tools/CMakeLists.txt '^[[:space:]]*add_subdirectory[(]parser[)]'

cat >>common/CMakeLists.txt <<END

if (NOT TARGET chatparse::llama)
    if (BUILD_SHARED_LIBS)
        find_package(chatparse 0.1 REQUIRED)
    else()
        find_package(chatparse 0.1 REQUIRED COMPONENTS static)
    endif()
endif()
target_link_libraries($target PUBLIC chatparse::llama)
target_compile_definitions($target PUBLIC CHATPARSE_LLAMA_VERSION=$version)
END
echo "$version: chatparse::llama linked to $target in common/CMakeLists.txt"
