//! A text before each marker, such as the `ns:` of `ns:<f>ns:<x>1ns:</x>ns:</f>`. Comparing
//! renders leaves it at the end of what is before it, because what follows differs; it belongs
//! to the marker after it.

use super::glue::Glue;
use super::{CallPiece, Container, Slot, SlotKind, TurnFormat, ValueKind};

/// Moves such a text to the markers after it.
pub fn join(turn: &mut TurnFormat) {
    let Some(prefix) = shared(turn) else { return };
    let edges = turn.edges.iter_mut();
    for edge in edges.filter(|edge| edge.from == SlotKind::Call) {
        begin(&mut edge.glue, &prefix);
    }
    for form in &mut turn.calls {
        end(&mut form.close, &prefix);
        if let Some(CallPiece::Members(members)) = form.pieces.last_mut() {
            begin(&mut form.close, &prefix);
            begin(&mut members.next, &prefix);
            for (_, slot) in &mut members.slots {
                close(slot, &prefix);
            }
            for container in [&mut members.nested.array, &mut members.nested.object] {
                container
                    .iter_mut()
                    .for_each(|container| within(container, &prefix));
            }
        }
    }
}

fn within(container: &mut Container, prefix: &Glue) {
    end(&mut container.open, prefix);
    for glue in [
        &mut container.each,
        &mut container.next,
        &mut container.close,
    ] {
        if !glue.is_blank() {
            begin(glue, prefix);
        }
    }
    for (_, slot) in &mut container.slots {
        close(slot, prefix);
    }
}

fn close(slot: &mut Slot, prefix: &Glue) {
    end(&mut slot.close, prefix);
    begin(&mut slot.close, prefix);
}

/// Takes the text from the end of glue.
fn end(glue: &mut Glue, prefix: &Glue) {
    if let Some(rest) = glue.strip_suffix(prefix) {
        *glue = rest;
    }
}

/// Puts the text before a marker.
fn begin(glue: &mut Glue, prefix: &Glue) {
    if glue.strip_prefix(prefix).is_none() {
        *glue = prefix.and(glue);
    }
}

/// What all values and all calls end with, if raw texts are also followed by it.
fn shared(turn: &TurnFormat) -> Option<Glue> {
    let slots = || turn.members().flat_map(|members| &members.slots);
    let mut raw = slots().filter(|(_, slot)| slot.is_raw());
    let (_, text) = raw.find(|(kind, _)| *kind == ValueKind::Text)?;
    let closes = turn.calls.iter().map(|form| &form.close);
    let closes = closes.chain(slots().map(|(_, slot)| &slot.close));
    let prefix = Glue::from(Glue::same_end(closes));
    let applies =
        !prefix.is_blank() && prefix.is_literal() && text.close.strip_prefix(&prefix).is_some();
    applies.then_some(prefix)
}
