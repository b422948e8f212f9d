//! Learns where calls end: the text between two calls and behind the last one.
//!
//! Runs after the work-arounds, when all markers of calls are known. Comparing one call with two gives the text between
//! them. The text behind the last marker of a call is the end of the turn. If the template opens the next turn without being
//! asked to, that opening is removed, with thinking off so that as much of it as possible is rendered.

use super::context::AnalysisContext;
use super::layout::{CallIdPosition, Layout, ToolFormat};
use super::markup::{Markup, after_last, is_space, trim, trim_start};
use super::probe::{Call, FUNCTION, OTHER_FUNCTION, OTHER_VALUE, Probe};

/// More pieces than any template has at the end of a turn.
const MOST_PIECES: usize = 8;

pub(super) fn run(context: &mut AnalysisContext) {
    if context.layout().tools.format == ToolFormat::None {
        return;
    }
    end_of_turn(context);
    if context.template().caps().parallel_tool_calls {
        between_calls(context);
    }
}

fn end_of_turn(context: &mut AnalysisContext) {
    let quiet = || Probe::asked_with_tools().thinking(false);
    let Some(pair) = context.pair(quiet().reply(), quiet().calls(&[Call::FIRST])) else { return };
    let Some(end) = after_last(&pair.b, OTHER_VALUE).and_then(|rest| after_call(rest, context.layout())) else {
        return;
    };
    let pieces =
        Markup::new(end).segments().into_iter().map(|piece| trim(piece.as_str())).filter(|piece| !piece.is_empty());
    // Words belong to an instruction for the next turn, not to the end of this one.
    let pieces = pieces.take_while(|piece| !piece.contains(is_space)).take(MOST_PIECES).map(str::to_string);
    let pieces: Vec<String> = pieces.collect();
    context.learn("a reply / a call, thinking off", &pair, |layout| layout.tools.turn_end = pieces);
}

/// The text after the call. `rest` begins behind the call's last value.
fn after_call<'a>(rest: &'a str, layout: &Layout) -> Option<&'a str> {
    let Layout { tools, function, call_id, .. } = layout;
    let closers = [&tools.section_end, &tools.per_call_end, &function.close];
    let end = match closers.into_iter().map(|closer| trim(closer)).find(|closer| !closer.is_empty()) {
        Some(closer) => rest.split_once(closer)?.1,
        None if tools.format == ToolFormat::TagWithTagged => return None,
        None if call_id.position == CallIdPosition::AfterArguments => return None,
        None => after_last(rest, "}")?,
    };
    Some(if tools.array_wrapped { trim_start(end).strip_prefix(']').unwrap_or(end) } else { end })
}

fn between_calls(context: &mut AnalysisContext) {
    let Some(pair) = context.one_and_two_calls() else { return };
    let Some((rest, _)) = pair.b.rsplit_once(OTHER_FUNCTION) else { return };
    let Some(rest) = after_last(rest, FUNCTION) else { return };
    let Layout { tools, function, arguments, .. } = context.layout();
    if !tools.per_call_start.is_empty() {
        return;
    }
    let side_by_side = match tools.format {
        ToolFormat::JsonNative => {
            let gap = after_last(rest, "}").and_then(|gap| gap.split_once('{'));
            gap.is_some_and(|(gap, _)| trim(gap).is_empty())
        }
        _ => {
            let closers = [&function.close, &arguments.value_suffix];
            let close = closers.into_iter().map(|closer| trim(closer)).find(|closer| !closer.is_empty()).unwrap_or("}");
            rest.strip_suffix(&*function.name_prefix).is_some_and(|gap| trim(gap).ends_with(close))
        }
    };
    if side_by_side {
        context.learn("one call / two calls", &pair, |layout| layout.tools.side_by_side = true);
    }
}
