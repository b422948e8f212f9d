#!/usr/bin/env bash
# llama.cpp's own tests, built on chatparse's headers as cmake/LLAMA.md says: judges/llama/upstream.sh PREFIX SOURCES, of an installation, and of llama.cpp. They differ from what
# they expect as judges/llama/upstream.txt says, no more and no less; so do all cuts of their outputs with calls, read by llama.cpp as well.
set -euo pipefail
cd "$(dirname "$0")/../.."

prefix=$(realpath "$1")
work=$PWD/target/upstream
tree=$(realpath "$2")
rm -rf "$work/replaced"
cp -a "$tree" "$work/replaced"
CHATPARSE_LLAMA_VERSION='' cmake/llama/replace.sh "$work/replaced"
cmake -S judges/llama -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DTREE="$tree" -DREPLACED="$work/replaced" >"$work/log.txt"
cmake --build "$work/build" --parallel 2 >>"$work/log.txt" 2>&1 || {
  tail -n 40 "$work/log.txt"
  exit 1
}

# They read templates from where they run.
{
  cd "$work/replaced"
  for test in test-chat-peg-parser test-peg-parser test-json-schema test-json-schema-to-grammar test-grammar-integration test-chat-template; do
    status=0
    "$work/build/$test" >"$work/$test.txt" 2>&1 || status=$?
    # "  name (1 of 2 assertion(s) failed)   [FAIL]", and the numbers at the end.
    sed -n "s/^ *\(.*[^ ]\) *\[FAIL\]\$/$test\t\1/p" "$work/$test.txt"
    awk -v line="$test\texit $status" '/^(tests|assertions) *: / { line = line ", " $3 " " $1 } END { print line }' "$work/$test.txt"
  done
  "$work/build/chat-kept" "$work/ours.jsonl" 2>"$work/test-chat.txt"
  "$work/build/chat-theirs" "$work/theirs.jsonl" 2>"$work/theirs.txt" >&2
  cd - >/dev/null
  python3 judges/llama/cuts.py "$work/ours.jsonl" "$work/theirs.jsonl"
} >"$work/found.txt"
diff <(cut -f 1,2 judges/llama/upstream.txt | sort) <(sort "$work/found.txt") || {
  echo "upstream's tests differ otherwise than judges/llama/upstream.txt says (<: expected, >: found); what they print is in $work"
  exit 1
}
echo "upstream's tests differ as judges/llama/upstream.txt says"
