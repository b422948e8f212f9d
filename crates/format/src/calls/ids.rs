//! Ids of calls, where they are more than a piece between two glues.

use crate::builder::FormatBuilder;
use crate::glue::{json_text, split_space};
use crate::rules::calls::{BEFORE_ID, FIRST_ID, NAMED_ID, QUOTED_ID};
use chatparse_learn::analysis::turn::{CallPiece, Glue, TurnFormat, json_key};
use chatparse_peg::ExprId;

/// The opening of calls without its last quote, where that opens an id.
pub fn before_quoted_id(turn: &TurnFormat, open: &Glue) -> Option<Glue> {
    for form in &turn.calls {
        let [CallPiece::Id, CallPiece::Glue(behind), ..] = &*form.pieces else {
            return None;
        };
        behind.head().starts_with('"').then_some(())?;
    }
    open.strip_suffix(&"\"".into())
        .filter(|_| !turn.calls.is_empty())
}

/// The opening of a call with the member that is the call's id, which a model may leave out.
pub fn opening(p: &FormatBuilder, (before, key, behind): (&str, &str, Glue)) -> ExprId {
    let (space, after) = split_space(&behind);
    let comma = [p.space(), p.marker(","), p.space_as(space)];
    let id = [json_text(p, key), quoted_id(p, p.until_marker(["\""]))]
        .into_iter()
        .chain(comma);
    let after = p.glue(&after);
    let id = p.sequence(id);
    let front = p.between(BEFORE_ID, |way| way(p, key));
    p.sequence([
        p.marker(before),
        front,
        p.or(p.sequence([id, after]), FIRST_ID, |way| way(after)),
    ])
}

/// The member of a JSON object whose value is the call's number, in the text that opens a call:
/// what is before it, its key, and what is after its comma.
pub fn generated_id(open: &Glue) -> Option<(&str, &str, Glue)> {
    let before = open.head();
    let after = open.strip_prefix(&Glue::from(before))?.behind_counter()?;
    let front = before.strip_suffix('"')?;
    let key = json_key(front)?.start - 1;
    let rest = after.head().strip_prefix('"')?.trim_start();
    let rest = rest.strip_prefix(',')?;
    let after = after.without_start(after.head().len() - rest.len());
    Some((&front[..key], &front[key..], after))
}

/// An id between quotes: `text` is what JSON's are around.
pub fn quoted_id(p: &FormatBuilder, text: ExprId) -> ExprId {
    let written = p.sequence([p.marker("\""), p.tool_id(text), p.marker("\"")]);
    p.or(written, QUOTED_ID, |way| way(p))
}

/// An id with the name in it.
pub fn named_id(p: &FormatBuilder, before: &Glue, name: &str, behind: &Glue) -> ExprId {
    let written = [p.glue(before), p.tool_name(name), p.glue(behind)];
    p.or(p.tool_id(p.sequence(written)), NAMED_ID, |way| {
        way(p, before.head(), name)
    })
}

/// The key of a further member of a JSON object, from glue up to the quote that opens its value.
pub fn member_key(glue: &Glue) -> Option<Glue> {
    let key = glue.strip_suffix(&"\"".into())?;
    let text = key.head().trim_end().strip_suffix(':')?;
    (text.trim_end().ends_with('"') && text.trim_start().starts_with(',')).then_some(key)
}
