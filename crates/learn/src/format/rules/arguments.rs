//! Arguments that are written one by one, as models write them beside the template's way.

use super::super::builder::FormatBuilder;
use super::super::calls::arguments::{Arguments, Tags, tag};
use super::super::glue::glue;
use chatparse_peg::ExprId;

/// The opening twice. Not a part of each argument: they begin with fixed texts.
pub(super) fn argument_opened_again(all: &Arguments) -> Option<ExprId> {
    let p = all.p;
    let tag = tag(&all.members.next).filter(|_| all.members.in_front_of_each())?;
    let again = p.and(p.sequence([p.space(), p.marker(tag)]));
    Some(p.sequence([p.space(), p.marker(tag), again]))
}

/// No opening, where a marker after the name makes it certain.
pub(super) fn argument_open_left_out(all: &Arguments) -> Option<ExprId> {
    all.call_open.map(|_| all.p.empty())
}

/// The opening of a call in place of an argument's.
pub(super) fn call_opens_argument(all: &Arguments) -> Option<ExprId> {
    let open = all.call_open.filter(|open| !open.is_blank())?;
    Some(glue(all.p, open, Some(all.tool), ""))
}

/// No tag after the name: the value's opening ends it.
pub(super) fn name_end_left_out(tags: &Tags) -> Option<ExprId> {
    let (p, _) = (tags.p, tags.name_close?);
    Some(p.and(p.sequence([p.space(), p.marker(tags.value_open?)])))
}

/// The tag after the name, again.
pub(super) fn name_closed_again(tags: &Tags) -> Option<ExprId> {
    let (p, tag) = (tags.p, tags.name_close?);
    Some(p.shared(&format!("again {tag}"), || p.many(p.sequence([p.space(), p.marker(tag)]))))
}

/// The end of a value after the name, before the value's opening.
pub(super) fn name_closed_as_value(tags: &Tags, open: ExprId) -> Option<ExprId> {
    let (p, _) = (tags.p, tags.value_open?);
    Some(p.sequence([p.space(), p.marker(tags.value_close?), open]))
}

/// No opening of the value.
pub(super) fn value_open_left_out(tags: &Tags, _: ExprId) -> Option<ExprId> {
    let (p, _) = (tags.p, tags.value_open?);
    let no_name = tags.next.map_or_else(|| p.empty(), |next| p.not(p.marker(next)));
    Some(p.sequence([p.space(), no_name]))
}

/// A raw text goes on after what ends it, where nothing follows that may be after an argument.
pub(super) fn text_goes_on(all: &Arguments, ends: &[String], close: ExprId) -> Option<ExprId> {
    let p = all.p;
    let end = p.and(p.any_of(ends));
    let inner = p.sequence([end, p.not(p.sequence([close, all.after()])), p.any()]);
    Some(p.many(p.sequence([inner, p.until_marker(ends)])))
}

/// A raw text begins with the first sign of what ends it.
pub(super) fn text_begins_as_end(p: &FormatBuilder, ends: &[String], text: ExprId) -> Option<ExprId> {
    Some(p.sequence([p.not(p.any_of(ends)), p.not(p.quote()), p.any(), text]))
}
