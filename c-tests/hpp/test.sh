#!/usr/bin/env bash
# test.sh COMPILER STANDARD PREFIX WORK: chatparse.hpp, installed in PREFIX, with a compiler, in a C++ standard (17, 23), without a
# warning; and that examples/chat.cpp prints chat.txt. Ends with 77 where there is no such compiler. WORK is a folder for what is built.
set -euo pipefail
compiler=$1 standard=$2 prefix=$3 work=$4
cd "$(dirname "$0")"
mkdir -p "$work"

skip() {
  echo "SKIP: $*"
  exit 77
}
fail() {
  echo "$*" >&2
  exit 1
}
compile() { "$compiler" "-std=c++$standard" -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$prefix/include" "$@"; }
compiles() { compile -fsyntax-only -x c++ - </dev/null 2>/dev/null; }

command -v "$compiler" >/dev/null || skip "no $compiler"
# Before a standard was finished, it had another name.
compiles || { [ "$standard" = 23 ] && standard=2b && compiles; } || skip "$compiler has no C++$standard"

link=(-L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lchatparse)
compile -fno-exceptions -c returning.cpp -o "$work/returning.o"
compile main.cpp "$work/returning.o" -o "$work/main" "${link[@]}"
"$work/main"
# A part that is left out where nobody names it. Whoever does not use it needs none of its functions.
if nm -u "$work/main" | grep -E 'chat_(conversation|token_sink)_'; then fail "main.cpp needs the part conversation"; fi
if grep -q chat_conversation_new "$prefix/lib/libchatparse.so"; then
  compile conversation.cpp -o "$work/conversation" "${link[@]}"
  "$work/conversation"
fi
compile ../../examples/chat.cpp -o "$work/chat" "${link[@]}"
diff chat.txt <("$work/chat")

# A struct of a program's own by the name of a handle: an error, and not a definition of ours.
said=$(printf '#include <chatparse.h>\nstruct chat_message { int own; };\n' | compile -fsyntax-only -x c++ - 2>&1) &&
  fail "struct chat_message can be defined anew"
grep -q "chat_message" <<<"$said"
