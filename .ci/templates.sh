#!/usr/bin/env bash
# docs/templates.md is what `chatparse board` says of the templates beside the project. Without arguments: fails where the committed
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

- *read by*: *learnt* where nothing about the model is known, and its format comes from the template alone; otherwise the family of which something
  is known besides, because renders do not show enough of it.
- *tool step*, *user turn*: whether a prompt begins with all that was sent before, once results of tools or the user's next message follow.
- *whose text*: whether the origin of each byte of a prompt is known.
- *grammar starts*: what starts the grammar of calls, where the model may choose to call.
- *response template*: what of a message a response template for transformers cannot say.
- *faults*: what `chatparse lint` finds.

HEAD
  target/release/chatparse board --markdown ../shared/templates ../shared/templates-wild
}

if [ "${1:-}" = --write ]; then
  generate >"$table"
elif ! diff -u "$table" <(generate); then
  echo "$table is out of date: run .ci/templates.sh --write" >&2
  exit 1
fi
