//! Learns tagged arguments: the text around an argument's name and around its value.
//!
//! Three comparisons. *The same call with another argument*: if name and value differ as one piece, the text around the name
//! must be the same on both sides; if they differ separately, the name's tag reaches from the last marker before it to the
//! first after it. *The same call with another value*: the text between name and value is the value's prefix, and the text
//! from the value to the close of the call is its suffix. *The same call with a second argument*: the text between the first
//! value's suffix and the second name's prefix is the separator.

use super::context::AnalysisContext;
use super::diff::Diff;
use super::layout::Layout;
use super::markup::{Markup, after_last, before_first, is_space, trim};
use super::probe::{ARGUMENT, Call, OTHER_ARGUMENT, OTHER_VALUE, Probe, VALUE};

pub(super) fn run(context: &mut AnalysisContext) {
    names(context);
    values(context);
    separator(context);
}

fn names(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::calling(&[Call::ONE_ARGUMENT]), Probe::calling(&[Call::OTHER_ARGUMENT_ONLY]))
    else {
        return;
    };
    let diff = pair.diff();
    let Some((prefix, suffix)) = tag_of_whole_argument(&diff).or_else(|| tag_of_bare_name(&diff)) else { return };
    context.learn("one argument / another argument", &pair, |layout| {
        layout.arguments.name_prefix = prefix.into();
        layout.arguments.name_suffix = suffix;
    });
}

/// For one difference with name and value: the text before the name, and the text from the name to the value, on both sides.
fn tag_of_whole_argument<'a>(diff: &Diff<'a>) -> Option<(&'a str, String)> {
    let around = |text: &'a str, name: &str, value: &str| {
        let (before, after) = text.split_once(name)?;
        Some((before, before_first(before_first(after, value), "\"")))
    };
    let left = around(diff.left, ARGUMENT, VALUE)?;
    let right = around(diff.right, OTHER_ARGUMENT, OTHER_VALUE)?;
    (left == right && !left.0.is_empty()).then(|| (left.0, left.1.to_string()))
}

/// For a difference in the name only: the last marker before it, and the text up to the first marker after it, marker
/// included.
fn tag_of_bare_name<'a>(diff: &Diff<'a>) -> Option<(&'a str, String)> {
    let rest = diff.left.strip_prefix(ARGUMENT)?;
    diff.right.strip_prefix(OTHER_ARGUMENT)?;
    let prefix = Markup::new(diff.prefix).since_last_marker().unwrap_or(diff.prefix);
    let after = [rest, diff.suffix].concat();
    let markup = Markup::new(&after);
    let end = markup.markers_from(0).first().map_or(0, |tag| tag.spaced);
    Some((prefix, after[..end].to_string()))
}

fn values(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::calling(&[Call::ONE_ARGUMENT]), Probe::calling(&[Call::ONE_ARGUMENT_CHANGED]))
    else {
        return;
    };
    let diff = pair.diff();
    if (diff.left, diff.right) != (VALUE, OTHER_VALUE) {
        return;
    }
    context.learn("a value / another value", &pair, |layout| {
        let named = format!("{ARGUMENT}{}", layout.arguments.name_suffix);
        let prefix = after_last(diff.prefix, &named).unwrap_or(diff.prefix);
        layout.arguments.value_prefix = Markup::new(prefix).since_last_marker().unwrap_or(prefix).into();
        let suffix = value_suffix(diff.suffix, layout);
        if !trim(suffix).is_empty() {
            layout.arguments.value_suffix = suffix.into();
        }
    });
}

/// The text after the value, up to the close of the function, of the call or of the section.
fn value_suffix<'a>(rest: &'a str, layout: &Layout) -> &'a str {
    let closers = [&layout.function.close, &layout.tools.per_call_end, &layout.tools.section_end];
    match closers.into_iter().find(|closer| !closer.is_empty()) {
        Some(closer) => before_first(rest, closer),
        None => rest,
    }
}

fn separator(context: &mut AnalysisContext) {
    let Some(pair) = context.pair(Probe::calling(&[Call::ONE_ARGUMENT]), Probe::calling(&[Call::FIRST])) else {
        return;
    };
    let arguments = &context.layout().arguments;
    if arguments.value_suffix.is_empty() {
        return;
    }
    let first = format!("{VALUE}{}", arguments.value_suffix.trim_end_matches(is_space));
    let second = format!("{}{OTHER_ARGUMENT}", arguments.name_prefix);
    let Some((rest, _)) = pair.b.rsplit_once(&second) else { return };
    // A marker that repeats the argument is part of its tags, however those were read.
    let Some(between) = after_last(rest, &first).filter(|between| !between.contains(ARGUMENT)) else { return };
    context.learn("one argument / two arguments", &pair, |layout| layout.arguments.separator = trim(between).into());
}
