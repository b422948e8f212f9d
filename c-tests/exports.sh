#!/usr/bin/env bash
# exports.sh LIBRARY: the shared library exports what exports.txt lists, no more and no less. The list is the ABI: add to it
# with a new function, never take away after 1.0. A library with the part `conversation` also exports exports-conversation.txt.
set -euo pipefail
here=$(dirname "$0")
exported=$(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort)
lists=("$here/exports.txt")
! grep -q '^chat_conversation_' <<<"$exported" || lists+=("$here/exports-conversation.txt")
diff -u <(LC_ALL=C sort "${lists[@]}") <(echo "$exported")
