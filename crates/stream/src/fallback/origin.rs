//! Whether the calls of a format have a marker.

use chatparse_message::Tool;
use chatparse_peg::Arena;

/// Whether every call of a format begins with a marker. If only some do, a call may be one of the
/// others.
pub(super) fn is_marked(format: &Arena, tools: &[Tool]) -> bool {
    let openings = format
        .trigger_rules()
        .filter_map(|rule| format.first_texts(rule));
    openings.flatten().all(|opening| !is_bare(&opening, tools))
}

/// Whether a call with this beginning looks like JSON, or like a Python call of one of the tools.
fn is_bare(opening: &str, tools: &[Tool]) -> bool {
    let opening = opening.trim_start();
    let opening = match opening.strip_prefix("```") {
        Some(fenced) => fenced
            .trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_')
            .trim_start(),
        None => opening,
    };
    let inner = opening.strip_prefix('[').unwrap_or(opening).trim_start();
    inner.is_empty()
        || inner.starts_with(['{', '[', '"'])
        || tools.iter().any(|tool| inner.starts_with(&*tool.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_python_are_bare() {
        let tools = [Tool::new("get_weather", "", serde_json::Value::Null)];
        for bare in [
            "{",
            "{\"name\": \"",
            "[",
            "[{",
            "[ {\"",
            "get_weather(",
            "[get_weather(",
            "```json\n{",
            "```",
            "",
        ] {
            assert!(is_bare(bare, &tools), "{bare:?}");
        }
        for marked in [
            "<tool_call>",
            "[TOOL_CALLS]",
            "[TOOL_CALLS][{",
            "<|python_tag|>",
            "functools[",
            ">>>",
            "<",
        ] {
            assert!(!is_bare(marked, &tools), "{marked:?}");
        }
    }
}
