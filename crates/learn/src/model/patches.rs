//! What families change in learnt turns beyond edges and marks.

use crate::analysis::turn::{
    CallForm, CallPiece, Edge, Encoding, Glue, Members, Nested, Slot,
    SlotKind::{Call, Content, End, Prompt, Reasoning},
    TurnFormat, ValueKind,
};

/// Changes a learnt turn by the patch of this name; false where there is none.
pub fn apply(name: &str, turn: &mut TurnFormat) -> bool {
    match name {
        "arguments_in_one_tag" => arguments_in_one_tag(turn),
        "end_at_token" => end_at_token(turn),
        "ids_with_names" => ids_with_names(turn),
        "python_calls" => python_calls(turn),
        "tags_without_lines" => tags_without_lines(turn),
        _ => return false,
    }
    true
}

/// The text around a name is the call's id.
fn ids_with_names(turn: &mut TurnFormat) {
    let before = Glue::from("functions.");
    for edge in turn.edges.iter_mut().filter(|edge| edge.to == Call) {
        edge.glue = edge
            .glue
            .strip_suffix(&before)
            .unwrap_or_else(|| edge.glue.clone());
    }
    for form in &mut turn.calls {
        if let [CallPiece::Name, CallPiece::Glue(glue), ..] = &form.pieces[..]
            && let Some((behind, rest)) = glue.split_before("<|tool_call_argument_begin|>")
        {
            let id = CallPiece::NamedId {
                before: before.clone(),
                behind,
            };
            form.pieces.splice(..2, [id, CallPiece::Glue(rest)]);
        }
    }
}

/// All arguments may be in one tag.
fn arguments_in_one_tag(turn: &mut TurnFormat) {
    let none = turn
        .calls
        .iter()
        .find(|form| form.pieces == [CallPiece::Name]);
    let Some((open, close)) = none.and_then(|form| form.close.split_before("<|close|>call")) else {
        return;
    };
    let close = Glue::from("<|close|>json<|sep|>").and(&close);
    for json in ["<|open|>json type=\"object\"<|sep|>", "<|open|>json<|sep|>"] {
        let open = CallPiece::Glue(open.and(&json.into()));
        let pieces = vec![
            CallPiece::Name,
            open,
            CallPiece::Arguments { quoted: false },
        ];
        turn.calls.push(CallForm {
            pieces,
            close: close.clone(),
        });
    }
}

/// Tags are rendered on lines of their own, but the model writes them without line breaks.
fn tags_without_lines(turn: &mut TurnFormat) {
    if let Some(reasoning) = &mut turn.reasoning {
        reasoning.open = Glue::from(reasoning.open.core());
        reasoning.close = Glue::from(reasoning.close.core());
    }
    for edge in turn.edges.iter_mut().filter(|edge| edge.from == Reasoning) {
        edge.glue = edge.glue.trim_start();
    }
}

/// The token ends the turn.
fn end_at_token(turn: &mut TurnFormat) {
    for edge in turn.edges.iter_mut().filter(|edge| edge.to == End) {
        if let Some(at) = edge.glue.head().find("<SPECIAL_12>") {
            edge.glue = edge.glue.up_to(at).and(&"\n".into());
        }
    }
    turn.end = "<SPECIAL_12>\n".into();
}

/// Calls are a list of Python between tokens, whatever the template renders.
fn python_calls(turn: &mut TurnFormat) {
    const OPEN: &str = "<|tool_call_start|>[";
    let slot = Slot {
        open: "=".into(),
        encoding: Encoding::Quoted,
        ..Slot::default()
    };
    let members = Members {
        first: "(".into(),
        next: ", ".into(),
        slots: ValueKind::ALL.map(|kind| (kind, slot.clone())).into(),
        nested: Nested::default(),
    };
    let members = CallPiece::Members(members.into());
    let forms = [
        (vec![CallPiece::Name, members], ")"),
        (vec![CallPiece::Name], "()"),
    ];
    let forms = forms.map(|(pieces, close)| CallForm {
        pieces,
        close: close.into(),
    });
    turn.calls = forms.into();
    turn.edges
        .retain(|edge| edge.from != Call && edge.to != Call);
    turn.edges.extend(
        [
            (Prompt, OPEN, Call),
            (Call, ", ", Call),
            (Call, "]<|tool_call_end|>", End),
            (Reasoning, OPEN, Call),
            (Content, OPEN, Call),
        ]
        .map(|(from, glue, to)| Edge::new(from, glue.into(), to)),
    );
}
