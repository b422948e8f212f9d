//! Determines the origin of a call outside of the format.

use super::dialects;
use crate::report::CallOrigin;
use chatparse_message::Tool;
use chatparse_peg::Arena;

/// The origin of a call that the fallback parser read. `dialect`: its row of the table, `None` for the format's own way to
/// write calls. `marked`: calls of the format have a marker.
///
/// A call in the format's own way counts as one of the format if it has a marker; without one it is a bare JSON object like
/// any other. A bare call directly inside a tag or special tokens has a separate row, because that wrapper marks it. Fences
/// and brackets do not mark calls, because models also put quotations into them.
pub(super) fn of_found(dialect: Option<u16>, marked: impl FnOnce() -> bool) -> CallOrigin {
    match dialect.and_then(dialects::is_bare) {
        Some(true) => CallOrigin::Bare,
        Some(false) => CallOrigin::Dialect,
        None if marked() => CallOrigin::Format,
        None => CallOrigin::Bare,
    }
}

/// Whether every call of a format begins with a marker. If only some do, a call may be one of the others.
pub(super) fn is_marked(format: &Arena, tools: &[Tool]) -> bool {
    let openings = format.trigger_rules().filter_map(|rule| format.first_texts(rule));
    openings.flatten().all(|opening| !is_bare(&opening, tools))
}

/// Whether a call with this beginning looks like JSON, or like a Python call of one of the tools.
fn is_bare(opening: &str, tools: &[Tool]) -> bool {
    let opening = opening.trim_start();
    let opening = match opening.strip_prefix("```") {
        Some(fenced) => fenced.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_').trim_start(),
        None => opening,
    };
    let inner = opening.strip_prefix('[').unwrap_or(opening).trim_start();
    inner.is_empty() || inner.starts_with(['{', '[', '"']) || tools.iter().any(|tool| inner.starts_with(&*tool.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_python_are_bare() {
        let tools = [Tool::new("get_weather", "", serde_json::Value::Null)];
        for bare in ["{", "{\"name\": \"", "[", "[{", "[ {\"", "get_weather(", "[get_weather(", "```json\n{", "```", ""]
        {
            assert!(is_bare(bare, &tools), "{bare:?}");
        }
        for marked in ["<tool_call>", "[TOOL_CALLS]", "[TOOL_CALLS][{", "<|python_tag|>", "functools[", ">>>", "<"] {
            assert!(!is_bare(marked, &tools), "{marked:?}");
        }
    }
}
