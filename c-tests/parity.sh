#!/usr/bin/env bash
# parity.sh PARITY...: what the program, run so, says of parity.jsonl is what parity.txt says.
set -euo pipefail
here=$(dirname "$0")
said=$("$@" --compare --list "$here/../templates" <"$here/parity.jsonl")
diff -u "$here/parity.txt" - <<<"$said"
