//! Learns calls whose function is named by a tag: the markers around the section and around each call.
//!
//! Finds the name in the call text first, with the tag around it if there is one (`<function=name>`). Two markers in a row
//! before it open the section and the call, and two in a row at the very end close them. A single marker right before the
//! name opens the section, and a single one at the very end closes it. Comparing one call with two then corrects which of
//! them belong to each call.

use super::context::{AnalysisContext, Pair};
use super::diff::Diff;
use super::layout::ToolFormat;
use super::markup::{Markup, trim, trim_start};
use super::probe::FUNCTION;

/// Reads `text`, the call text in `pair`.
pub(super) fn run(context: &mut AnalysisContext, pair: &Pair, text: &str, format: ToolFormat) {
    let name_tag = name_tag(text);
    let name = name_tag.map_or(FUNCTION, |tag| tag.text);
    let frame = nested_frame(text, name).or_else(|| single_frame(text, name)).unwrap_or_default();
    context.learn("a reply / a call", pair, |layout| {
        layout.tools.format = format;
        layout.tools.section_start = frame.section_start.into();
        layout.tools.section_end = trim(frame.section_end).into();
        layout.tools.per_call_start = frame.call_start.into();
        layout.tools.per_call_end = trim(frame.call_end).into();
        if !frame.call_start.is_empty() {
            layout.function.name_prefix = name_tag.map_or("", |tag| tag.before_name).into();
        }
    });
}

/// The tag that names the function.
#[derive(Clone, Copy)]
struct NameTag<'a> {
    /// The tag and the white space after it; a tag in square brackets only up to the name.
    text: &'a str,
    /// Its part before the name, e.g. `<function=`.
    before_name: &'a str,
}

/// The first tag around the function's name. A name with a tag directly behind it is not in a tag.
fn name_tag(text: &str) -> Option<NameTag<'_>> {
    let mut floor = 0;
    for (name, _) in text.match_indices(FUNCTION) {
        let end = name + FUNCTION.len();
        let rest = &text[end..];
        let opener = |open: char, close: char| {
            let from = floor + text[floor..name].rfind(close).map_or(0, |at| at + close.len_utf8());
            text[from..name].find(open).map(|at| from + at)
        };
        let spaced = |end: usize| text.len() - trim_start(&text[end..]).len();
        let angle = opener('<', '>')
            .filter(|_| !trim_start(rest).starts_with('<'))
            .and_then(|start| Some((start, spaced(end + rest.find('>')? + 1))));
        let square = opener('[', ']').filter(|_| !starts_with_square_tag(rest)).map(|start| (start, spaced(end)));
        if let Some((start, end)) = [angle, square].into_iter().flatten().min() {
            return Some(NameTag { text: &text[start..end], before_name: &text[start..name] });
        }
        floor = end;
    }
    None
}

fn starts_with_square_tag(text: &str) -> bool {
    trim_start(text).strip_prefix('[').is_some_and(|inside| inside.contains(']'))
}

/// The markers around the section and the first call, with the white space after each.
#[derive(Default)]
struct Frame<'a> {
    section_start: &'a str,
    call_start: &'a str,
    call_end: &'a str,
    section_end: &'a str,
}

/// `<section> <call> … name … </call> </section>`.
fn nested_frame<'a>(text: &'a str, name: &str) -> Option<Frame<'a>> {
    let markup = Markup::new(text);
    let last_name = text.rfind(name)?;
    let (section, call) = markup.markers_from(0).iter().find_map(|section| {
        let call = markup.marker_at(section.spaced)?;
        (call.spaced <= last_name).then_some((section, call))
    })?;
    let (_, rest) = text[call.spaced..].split_once(name)?;
    let closers = Markup::new(rest);
    let (call_end, section_end) = closers
        .markers_from(0)
        .iter()
        .find(|closer| closers.marker_at(closer.spaced).is_some_and(|last| last.spaced == rest.len()))
        .map_or(("", ""), |closer| (&rest[closer.start..closer.spaced], &rest[closer.spaced..]));
    Some(Frame {
        section_start: &text[section.start..section.spaced],
        call_start: &text[call.start..call.spaced],
        call_end,
        section_end,
    })
}

/// `<section> name … </section>`.
fn single_frame<'a>(text: &'a str, name: &str) -> Option<Frame<'a>> {
    let markup = Markup::new(text);
    let section = markup.markers_from(0).iter().find(|section| text[section.spaced..].starts_with(name))?;
    let rest = &text[section.spaced + name.len()..];
    let closers = Markup::new(rest);
    let closer = closers.markers_from(0).iter().find(|closer| closer.spaced == rest.len());
    Some(Frame {
        section_start: &text[section.start..section.spaced],
        section_end: closer.map_or("", |closer| &rest[closer.start..]),
        ..Frame::default()
    })
}

/// Markers that the second call repeats belong to each call; an end that occurs once closes the section.
pub(super) fn check_repetition(context: &mut AnalysisContext) {
    let Some(pair) = context.one_and_two_calls() else { return };
    let Diff { right, suffix, .. } = pair.diff();
    // The end of the first call is shared text; the difference is what the second call adds.
    let second = trim_start(Diff::between(suffix, right).right);
    context.learn("one call / two calls", &pair, |layout| {
        let tools = &mut layout.tools;
        if !tools.section_start.is_empty() && second.starts_with(&tools.section_start) {
            tools.make_section_per_call();
        }
        let ends = |text: &str| text.matches(tools.per_call_end.as_str()).count();
        if !tools.per_call_end.is_empty() && ends(&pair.a) > 0 && ends(&pair.a) == ends(&pair.b) {
            tools.section_end = std::mem::take(&mut tools.per_call_end);
        }
    });
}
