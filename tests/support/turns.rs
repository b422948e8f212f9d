//! A template to try ways to write a message in.

/// Turns `<|role|>…<|end|>`; `said` prints an assistant's message, `opening` the start of its turn.
pub fn source(said: &str, opening: &str) -> String {
    [
        "{%- for m in messages -%}{{- '<|' ~ m.role ~ '|>' -}}{%- if m.role == 'assistant' -%}",
        said,
        "{%- else -%}{{- m.content -}}{%- endif -%}{{- '<|end|>' -}}{%- endfor -%}",
        "{%- if add_generation_prompt -%}{{- '",
        opening,
        "' -}}{%- endif -%}",
    ]
    .concat()
}
