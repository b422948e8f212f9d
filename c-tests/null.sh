#!/usr/bin/env bash
# null.sh: null.c calls every function of exports.txt.
set -euo pipefail
cd "$(dirname "$0")"
missing=$(while read -r name; do grep -qF "$name(" null.c || echo "$name"; done <exports.txt)
[ -z "$missing" ] || {
  echo "null.c calls none of: $missing" >&2
  exit 1
}
