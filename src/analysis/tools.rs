//! Learns the family of formats that the template writes tool calls in.
//!
//! Compares a reply with a call. The addition is the *call text*, from the first marker of the section to the last. If the
//! function's name is a JSON string in it, at a JSON position, the whole call is JSON. If only an argument's name is, the
//! arguments are JSON. Otherwise the arguments are tagged. [`super::json_native`] or [`super::tagged`] reads the markers
//! from the call text; for the tagged families, [`super::function`], [`super::arguments`] and [`super::call_id`] refine them
//! by further comparisons.

use super::context::AnalysisContext;
use super::layout::{Layout, ToolFormat};
use super::markup::is_space;
use super::probe::{ARGUMENT, Call, FUNCTION, Probe};
use super::{arguments, call_id, function, json_native, tagged};

pub(super) fn run(context: &mut AnalysisContext) {
    let caps = context.template().caps();
    if !caps.tool_calls {
        return;
    }
    let several = caps.parallel_tool_calls;
    let Some(pair) = context.pair(Probe::asked_with_tools().reply(), Probe::calling(&[Call::FIRST])) else { return };
    let text = pair.diff().right;
    if text.is_empty() {
        return;
    }
    let bare = without_reasoning_markers(text, context.layout());
    if stands_in_json(text, FUNCTION) {
        json_native::run(context, &pair, &bare);
        if several {
            json_native::check_repetition(context);
        }
        return;
    }
    let format = if stands_in_json(text, ARGUMENT) { ToolFormat::TagWithJson } else { ToolFormat::TagWithTagged };
    tagged::run(context, &pair, &bare, format);
    if several {
        tagged::check_repetition(context);
    }
    function::run(context);
    if format == ToolFormat::TagWithTagged {
        arguments::run(context);
    }
    call_id::run(context);
}

/// Whether `word` is a quoted string in `text`, directly after `{` or `:`.
fn stands_in_json(text: &str, word: &str) -> bool {
    let quoted = format!("\"{word}\"");
    text.match_indices(&quoted).any(|(at, _)| text[..at].trim_end_matches(is_space).ends_with(['{', ':']))
}

/// The call text without an empty reasoning block, which some templates put in front of it.
fn without_reasoning_markers(text: &str, layout: &Layout) -> String {
    let mut text = text.to_string();
    for marker in [&layout.reasoning.start, &layout.reasoning.end] {
        if !marker.is_empty() {
            text = text.replacen(marker.as_str(), "", 1);
        }
    }
    text
}
