//! A text in front of each marker, such as the `ns:` of `ns:<f>ns:<x>1ns:</x>ns:</f>`. Comparing
//! renders leaves it at the end of what is in front of it, because what follows differs; it belongs
//! to the marker behind it.

use super::glue::Glue;
use super::{CallPiece, Container, Encoding, Slot, SlotKind, TurnFormat, ValueKind};

/// Moves such a text to the markers behind it.
pub fn join(turn: &mut TurnFormat) {
    let Some(prefix) = shared(turn) else { return };
    for edge in turn
        .edges
        .iter_mut()
        .filter(|edge| edge.from == SlotKind::Call)
    {
        begin(&mut edge.glue, &prefix);
    }
    for form in &mut turn.calls {
        end(&mut form.close, &prefix);
        if let Some(CallPiece::Members(members)) = form.pieces.last_mut() {
            begin(&mut form.close, &prefix);
            begin(&mut members.next, &prefix);
            members
                .slots
                .iter_mut()
                .for_each(|(_, slot)| close(slot, &prefix));
            let nested = members
                .nested
                .array
                .iter_mut()
                .chain(&mut members.nested.object);
            nested.for_each(|container| within(container, &prefix));
        }
    }
}

fn within(container: &mut Container, prefix: &Glue) {
    let Container {
        open,
        each,
        next,
        close: end_of_all,
        slots,
    } = container;
    end(open, prefix);
    [each, next, end_of_all]
        .into_iter()
        .filter(|glue| !glue.is_blank())
        .for_each(|glue| begin(glue, prefix));
    slots.iter_mut().for_each(|(_, slot)| close(slot, prefix));
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

/// Puts the text in front of a marker.
fn begin(glue: &mut Glue, prefix: &Glue) {
    if glue.strip_prefix(prefix).is_none() {
        *glue = prefix.and(glue);
    }
}

/// What all values and all calls end with, if raw texts are also followed by it.
fn shared(turn: &TurnFormat) -> Option<Glue> {
    let slots = || turn.members().flat_map(|members| &members.slots);
    let (_, text) =
        slots().find(|(kind, slot)| *kind == ValueKind::Text && slot.encoding == Encoding::Raw)?;
    let closes = turn
        .calls
        .iter()
        .map(|form| &form.close)
        .chain(slots().map(|(_, slot)| &slot.close));
    let prefix = Glue::from(Glue::same_end(closes));
    (!prefix.is_blank() && prefix.is_literal() && text.close.strip_prefix(&prefix).is_some())
        .then_some(prefix)
}
