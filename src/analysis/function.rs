//! Learns the text around the name of a called function, and the text that closes the call after its arguments.
//!
//! Compares calls of two functions. The difference is the name and the part of its tag that changes with it. The name's
//! prefix begins at the marker that opens the call; its suffix ends where the arguments begin.

use super::context::AnalysisContext;
use super::diff::Diff;
use super::layout::{Layout, ToolFormat};
use super::markup::{Marker, Markup, after_last, before_first, trim, trim_start};
use super::probe::{ARGUMENT, Call, FUNCTION, OTHER_ARGUMENT, OTHER_FUNCTION, OTHER_VALUE, Probe};

pub(super) fn run(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::calling(&[Call::FIRST]), Probe::calling(&[Call::SECOND])) else { return };
    let diff = pair.diff();
    let Some((before_name, after_name)) = diff.left.split_once(FUNCTION) else { return };
    if !diff.right.contains(OTHER_FUNCTION) {
        return;
    }
    context.learn("a call / a call of another function", &pair, |layout| {
        if let Some(prefix) = name_prefix(&diff, layout) {
            layout.function.name_prefix = prefix.into();
        }
        layout.function.name_prefix.push_str(before_name);
        layout.function.name_suffix = Markup::new(after_name).head().into();
        match layout.tools.format {
            ToolFormat::TagWithJson => layout.function.name_suffix.push_str(up_to_json(diff.suffix)),
            _ => {
                let suffix = Markup::new(diff.suffix).head();
                layout.function.name_suffix.push_str(suffix);
                layout.function.args_separator = trim(before_argument(&diff.suffix[suffix.len()..])).into();
            }
        }
        layout.function.close = close(&diff, layout).into();
    });
}

/// The shared text, from the marker that opens the call.
fn name_prefix<'a>(diff: &Diff<'a>, layout: &Layout) -> Option<&'a str> {
    let tools = &layout.tools;
    let opening = if tools.per_call_start.is_empty() { &tools.section_start } else { &tools.per_call_start };
    if opening.is_empty() { None } else { after_last(diff.prefix, opening) }
}

/// The text before the JSON of the arguments, markers included. Empty if no marker follows the JSON, because it cannot be
/// told from the end of the turn then.
fn up_to_json(text: &str) -> &str {
    let markup = Markup::new(text);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match markup.marker_at(at) {
            Some(marker) => at = marker.end,
            None if matches!(c, '{' | '[') => break,
            None => at += c.len_utf8(),
        }
    }
    if markup.markers_from(at).is_empty() { "" } else { &text[..at] }
}

/// The text before the tag of the first argument; empty if there is no such tag.
fn before_argument(text: &str) -> &str {
    let markup = Markup::new(text);
    let names_argument = |tag: &&Marker| {
        let rest = &text[tag.spaced..];
        rest.starts_with(ARGUMENT) || rest.starts_with(OTHER_ARGUMENT)
    };
    markup.markers_from(0).iter().find(names_argument).map_or("", |tag| &text[..tag.start])
}

/// The text between the last argument and the end of the call, if that end is known.
fn close<'a>(diff: &Diff<'a>, layout: &Layout) -> &'a str {
    let tools = &layout.tools;
    let end = if tools.per_call_end.is_empty() { &tools.section_end } else { &tools.per_call_end };
    if end.is_empty() {
        return "";
    }
    let Some((_, rest)) = before_first(diff.suffix, end).split_once(OTHER_VALUE) else { return "" };
    let rest = match tools.format {
        ToolFormat::TagWithJson => rest.rfind(['}', ']']).map_or("", |at| &rest[at + 1..]),
        _ => {
            // The closing tag of the value comes first.
            let markup = Markup::new(rest);
            markup.marker_at(markup.space_at(0)).map_or("", |tag| &rest[tag.spaced..])
        }
    };
    trim_start(rest)
}
