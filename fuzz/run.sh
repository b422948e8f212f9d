#!/usr/bin/env bash
# Runs each fuzz target, or those that are named, for so many seconds: fuzz/run.sh SECONDS [TARGET...]. What it finds stays in
# fuzz/artifacts, what it has learnt in fuzz/corpus; both are this clone's own. Needs cargo-fuzz; a stable compiler will do.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(template operands request bodies schema feed parser)

# After "=" a text is a case of its own.
seed() {
  mkdir -p "corpus/$1"
  { printf '='; cat; } >"corpus/$1/$2"
}
for template in ../templates/*.jinja; do
  seed template "$(basename "$template" .jinja)" <"$template"
done
seed request call <<'JSON'
{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "2"}], "tools": [{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}], "tool_choice": "required", "parallel_tool_calls": true, "reasoning_format": "auto"}
JSON
seed schema object <<'JSON'
{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "items": {"enum": ["x", 1, null]}, "minItems": 1}, "c": {"anyOf": [{"type": "integer", "minimum": 3}, {"pattern": "^a{2,3}[^b-d]|x?$"}]}}, "required": ["a"], "additionalProperties": false, "$defs": {"n": {"type": "string", "maxLength": 9}}}
JSON
seed parser small <<'JSON'
{"chatparse_parser": 1, "prefill": "", "format": {"root": 4, "nodes": [{"until": ["<"]}, {"tag": [1, 0]}, {"literal": "<"}, "end", {"sequence": [1, 2, 3]}], "schemas": []}}
JSON
mkdir -p corpus/feed

# Sanitizers are behind a switch of the compiler that stable ones have, too, for those who say so.
export RUSTC_BOOTSTRAP=1
cargo fuzz build
for target in "${targets[@]}"; do
  printf '\n== fuzz %s, %s seconds\n' "$target" "$seconds"
  # Another failure than a finding, of the build, say, has none of these lines.
  cargo fuzz run "$target" -- "-max_total_time=$seconds" -timeout=30 -rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 2>&1 |
    tee target/said.txt | grep -E 'SUMMARY|panicked|ERROR|DONE|stat::|Test unit|Running|seeds' || {
    tail -n 20 target/said.txt >&2
    exit 1
  }
done
