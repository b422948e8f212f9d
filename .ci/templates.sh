#!/usr/bin/env bash
# docs/templates.md is what `chatparse inspect` says of the templates beside the project. Without arguments: fails where the committed
# file is another. With --write: writes it.
set -euo pipefail
cd "$(dirname "$0")/.."

table=docs/templates.md
generate() {
  cat <<'HEAD'
# Templates that are read

Each template renders messages of many kinds (calls, parallel calls, nested arguments, reasoning, unicode, text that looks like markup) as
its model would write them; the last column says how many of them the parser gives back. A message does not count where the template
refuses it, leaves parts of it out, or writes it somewhere else than behind the prompt.

*Learnt*: nothing about the model is known; its format comes from the template alone. Otherwise: the family of which something is known besides,
because renders do not show enough of it.

| template | read by | messages that come back |
| --- | --- | ---: |
HEAD
  local file
  for file in ../shared/templates/*.jinja ../shared/templates-wild/*.jinja; do
    target/release/chatparse inspect "$file" 2>/dev/null | awk -v name="$(basename "$file" .jinja)" '
      /^  reader / { sub(/^  reader */, ""); sub(/, a known family of templates/, ""); sub(/the learnt (layout|turn)/, "learnt"); reader = $0 }
      /^  read back / { sub(/^  read back */, ""); print "| " name " | " reader " | " $0 " |" }'
  done | LC_ALL=C sort --ignore-case
}

if [ "${1:-}" = --write ]; then
  generate >"$table"
elif ! diff -u "$table" <(generate); then
  echo "$table is out of date: run .ci/templates.sh --write" >&2
  exit 1
fi
