#!/usr/bin/env bash
# docs/templates.md is what `chatparse board` says of the templates beside the project. Without arguments: fails where the committed
# file is another. With --write: writes it.
set -euo pipefail
cd "$(dirname "$0")/.."

table=docs/templates.md
generate() {
  cat <<'HEAD'
# Templates that are read

The template of each row renders messages of many kinds: calls, parallel calls, nested arguments, reasoning, unicode, text that looks like markup. The
parser reads the renders. The third column says how many of the messages it gives back unchanged. A message does not count if the template refuses it,
leaves parts of it out, or writes it somewhere else than after the prompt.

- *read by*: *learnt* if the format comes from the template alone. Otherwise the family whose built-in rules are used as well, because renders do not show
  enough of the format.
- *faults*, *notes*: the laws that the template breaks: see [Check a template](lint.md).

HEAD
  target/release/chatparse board --markdown ../shared/templates ../shared/templates-wild ../shared/templates-hub
}

if [ "${1:-}" = --write ]; then
  generate >"$table"
elif ! diff -u "$table" <(generate); then
  echo "$table is out of date: run .ci/templates.sh --write" >&2
  exit 1
fi
