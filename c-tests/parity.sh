#!/usr/bin/env bash
# parity.sh PARITY...: what the program, run so, says of corpus/parity.jsonl is what corpus/parity.txt says.
set -euo pipefail
root=$(dirname "$0")/..
said=$("$@" --compare --list "$root/templates" <"$root/corpus/parity.jsonl")
diff -u "$root/corpus/parity.txt" - <<<"$said"
