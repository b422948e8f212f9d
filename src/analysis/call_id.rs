//! Learns where a tagged format has a call's id, and between which markers.
//!
//! Compares one call under two ids. The position of the difference relative to the function's name and to the `{` of the
//! arguments gives the position of the id.

use super::context::AnalysisContext;
use super::layout::{CallIdLayout, CallIdPosition};
use super::markup::{Marker, Markup};
use super::probe::{Call, FUNCTION, ID, ID_STEM, Probe};

pub(super) fn run(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::calling(&[Call::FIRST]), Probe::calling(&[Call::FIRST_WITH_OTHER_ID])) else {
        return;
    };
    let diff = pair.diff();
    if diff.left.is_empty() && diff.right.is_empty() {
        return;
    }
    const QUESTION: &str = "a call / the same call with another id";
    if context.layout().function.name_prefix.contains(ID) {
        context.learn(QUESTION, &pair, |layout| layout.call_id.example = ID.into());
    }
    let Some(call_id) = locate(diff.prefix, diff.suffix) else { return };
    context.learn(QUESTION, &pair, |layout| {
        // An earlier pass did not know the id's markers and took its suffix and what follows for the end of the call.
        if !call_id.suffix.is_empty() && layout.tools.per_call_end.starts_with(&call_id.suffix) {
            layout.tools.per_call_end.clear();
        }
        // If a marker follows the call, the suffix was taken for the end of the name.
        if call_id.position == CallIdPosition::BetweenNameAndArguments && layout.function.name_suffix == call_id.suffix
        {
            layout.function.name_suffix.clear();
        }
        let example = std::mem::take(&mut layout.call_id.example);
        layout.call_id = CallIdLayout { example, ..call_id };
    });
}

/// `before` and `after`: the texts around the difference in the id.
fn locate(before: &str, after: &str) -> Option<CallIdLayout> {
    let name_after = after.find(FUNCTION);
    let name_before = before.rfind(FUNCTION);
    let first_marker = |text| Markup::new(text).first_marker().unwrap_or_default().to_string();
    let last_marker = |text| Markup::new(text).last_marker().unwrap_or_default().to_string();
    match (name_before, name_after) {
        (Some(name), None) => {
            let since_name = &before[name + FUNCTION.len()..];
            match since_name.find('{') {
                Some(open) => {
                    let since_arguments = since_name[open..].rsplit_once('}').map_or("", |(_, rest)| rest);
                    Some(CallIdLayout {
                        position: CallIdPosition::AfterArguments,
                        prefix: last_marker(since_arguments),
                        suffix: first_marker(after),
                        ..CallIdLayout::default()
                    })
                }
                None if after.contains('{') => Some(CallIdLayout {
                    position: CallIdPosition::BetweenNameAndArguments,
                    prefix: marker_before_id(since_name).unwrap_or_else(|| last_marker(since_name)),
                    suffix: first_marker(after),
                    ..CallIdLayout::default()
                }),
                None => None,
            }
        }
        (None, Some(name)) => Some(CallIdLayout {
            position: CallIdPosition::BeforeName,
            prefix: last_marker(before),
            suffix: first_marker(&after[..name]),
            ..CallIdLayout::default()
        }),
        _ => None,
    }
}

/// The first marker that an id follows, with no other marker in between.
fn marker_before_id(text: &str) -> Option<String> {
    let markup = Markup::new(text);
    let leads_to_id = |marker: &&Marker| {
        let next = markup.markers_from(marker.end).first().map_or(text.len(), |next| next.start);
        text[marker.end..next].contains(ID_STEM)
    };
    markup.markers_from(0).iter().find(leads_to_id).map(|marker| text[marker.start..marker.end].into())
}
