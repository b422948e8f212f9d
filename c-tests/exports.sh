#!/usr/bin/env bash
# exports.sh LIBRARY: the shared library exports what exports.txt lists, no more and no less. The list is the ABI: add to it
# with a new function, never take away after 1.0.
set -euo pipefail
diff -u "$(dirname "$0")/exports.txt" <(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort)
