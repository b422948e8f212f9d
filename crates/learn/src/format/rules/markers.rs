//! Texts of the template as models write them.

use super::super::builder::{FormatBuilder, escaped, other_key};
use super::super::glue::attribute;
use super::super::tag::Tag;
use chatparse_base::brackets;
use chatparse_peg::ExprId;

/// A tag with the number of a call, which means nothing: without it, or with other attributes.
pub(super) fn number_left_out(p: &FormatBuilder, before: ExprId, behind: ExprId) -> Option<ExprId> {
    Some(p.sequence([before, p.many(attribute(p)), behind]))
}

/// The other common key for arguments.
pub(super) fn other_argument_key(p: &FormatBuilder, text: &str) -> Option<ExprId> {
    let key = ["arguments", "parameters"].into_iter().find(|key| text.contains(&format!("\"{key}\"")))?;
    Some(p.marker(text.replace(&format!("\"{key}\""), &format!("\"{}\"", other_key(key)?))))
}

/// The spelling of the model, which differs from the template's.
pub(super) fn other_spelling(p: &FormatBuilder, text: &str) -> Option<ExprId> {
    let variants: Vec<ExprId> = p.variants(text).map(|variant| p.marker(variant)).collect();
    (!variants.is_empty()).then(|| p.choice(variants))
}

/// A line break between tags as a backslash and an `n`.
pub(super) fn line_break_spelled(p: &FormatBuilder, text: &str) -> Option<ExprId> {
    let between_tags = text.contains('\n') && (text.contains(brackets::opens) || text.trim().is_empty());
    (p.spelled_breaks && between_tags).then(|| p.marker(text.replace('\n', "\\n")))
}

/// A name as JSON has it inside of a string, where the template prints it into JSON as it is.
pub(super) fn name_escaped(p: &FormatBuilder, name: &str) -> Option<ExprId> {
    let name = p.whole(Tag::ToolName, p.literal(escaped(name)?));
    Some(p.sequence([p.tag(Tag::Escaped, p.empty()), name]))
}

/// What opens the next part ends a text.
pub(super) fn part_ends_text(p: &FormatBuilder, next: &[&str]) -> Option<ExprId> {
    Some(p.and(p.any_of(next.iter().copied())))
}
