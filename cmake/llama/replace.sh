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

# As detail/version.h tells versions apart.
state="$(number LLAMA_SESSION_VERSION), $(number LLAMA_STATE_SEQ_VERSION)"
named="$(part MAJOR).$(part MINOR).$(part PATCH)"
fork=$(grep -c '^#define LLAMA_SERVER_MAGIC' include/llama.h || true)
case "$fork $state" in
  "1 10, 4") version="ik_llama.cpp" target=common ;;
  "0 9, 2") version=b10587 target=llama-common ;;
  "0 10, 3") version=0.5.0 target=llama-common ;;
  "0 11, 4") version=0.6.0 target=llama-common ;;
  *) version="" ;;
esac
if [ -z "$version" ] || { [ "$fork" = 0 ] && [ ! -f common/json.h ]; }; then
  fail "not a known version: llama.cpp $named (state files $state); known are b10587, 0.5.0, 0.6.0, ik_llama.cpp"
fi
if grep -q chatparse common/CMakeLists.txt; then
  echo "$version: chatparse is there already"
  exit 0
fi

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
    find_package(chatparse 0.1 REQUIRED)
endif()
target_link_libraries($target PUBLIC chatparse::llama)
END
echo "$version: chatparse::llama linked to $target in common/CMakeLists.txt"
