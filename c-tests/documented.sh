#!/usr/bin/env bash
# documented.sh HEADER...: each example in the headers' comments that is a program's, and not an outline, stands in documented.c.
set -euo pipefail
tests=$(dirname "$0")/documented.c

# One line each, without the white space in between.
examples=$(awk '
  / \* ```c$/ { inside = 1; text = ""; next }
  / \* ```$/ && inside { inside = 0; print text; next }
  inside { sub(/^ \* ?/, ""); gsub(/[ \t]/, ""); text = text $0 }' "$@" | grep -vF '...')
[ -n "$examples" ]
here=$(tr -d ' \t\n' <"$tests")

while IFS= read -r example; do
  [[ $here == *"$example"* ]] || {
    echo "not in documented.c: $example" >&2
    exit 1
  }
done <<<"$examples"
echo "$(wc -l <<<"$examples") examples stand in documented.c"
