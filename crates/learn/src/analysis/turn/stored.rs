//! Turns as JSON: what their calls need. A part that has glue only is an array, so that a table of turns stays small.
//!
//! ```json
//! {"reasoning": ["<think>", "<think>", "</think>"], "edges": [["Prompt", "<call>", "Call"]], "end": "<end>",
//!  "calls": [["Name", {"first": "(", "next": ", ", "slots": [["Text Null", "", "=", "", "Raw"]]}, [")"]]]}
//! ```
//! A piece of a call is a word; an array with glue, of an id with a name the two around that; or an object of members. The last one
//! is what closes the call.

use serde_json::Value;

use super::{CallForm, CallPiece, Container, Edge, Encoding, Glue, Members, Nested, Reasoning, Slot, SlotKind};
use super::{TurnFormat, ValueKind};

const SLOTS: [(&str, SlotKind); 5] = [
    ("Prompt", SlotKind::Prompt),
    ("Reasoning", SlotKind::Reasoning),
    ("Content", SlotKind::Content),
    ("Call", SlotKind::Call),
    ("End", SlotKind::End),
];

const ENCODINGS: [(&str, Encoding); 4] =
    [("Raw", Encoding::Raw), ("Quoted", Encoding::Quoted), ("Nested", Encoding::Nested), ("Python", Encoding::Python)];

const KINDS: [(&str, ValueKind); 7] = [
    ("Text", ValueKind::Text),
    ("Integer", ValueKind::Integer),
    ("Number", ValueKind::Number),
    ("Boolean", ValueKind::Boolean),
    ("Null", ValueKind::Null),
    ("Array", ValueKind::Array),
    ("Object", ValueKind::Object),
];

const PIECES: [(&str, CallPiece); 4] = [
    ("Name", CallPiece::Name),
    ("Id", CallPiece::Id),
    ("Arguments", CallPiece::Arguments { quoted: false }),
    ("QuotedArguments", CallPiece::Arguments { quoted: true }),
];

fn named<T: Clone>(all: &[(&str, T)], name: &str) -> Option<T> {
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn glue(value: &Value) -> Glue {
    text(value).into()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl TurnFormat {
    /// Reads a turn; `None` if the value is none.
    pub fn from_json(value: &Value) -> Option<TurnFormat> {
        let reasoning = items(&value["reasoning"]);
        let edge = |edge: &Value| {
            let slot = |at: usize| named(&SLOTS, text(&edge[at]));
            Some(Edge { from: slot(0)?, glue: glue(&edge[1]), to: slot(2)? })
        };
        Some(TurnFormat {
            reasoning: (!reasoning.is_empty()).then(|| Reasoning {
                start: text(&value["reasoning"][0]).to_owned(),
                open: glue(&value["reasoning"][1]),
                close: glue(&value["reasoning"][2]),
                shown: true,
            }),
            edges: items(&value["edges"]).iter().map(edge).collect::<Option<_>>()?,
            calls: items(&value["calls"]).iter().map(call).collect::<Option<_>>()?,
            end: glue(&value["end"]),
            single_quotes: value["single_quotes"] == true,
            raw_lines: value["raw_lines"] == true,
            ..TurnFormat::default()
        })
    }
}

fn call(value: &Value) -> Option<CallForm> {
    let (close, pieces) = items(value).split_last()?;
    let piece = |value: &Value| match value {
        Value::String(name) => named(&PIECES, name),
        Value::Array(glues) => match &**glues {
            [only] => Some(CallPiece::Glue(glue(only))),
            [before, behind] => Some(CallPiece::NamedId { before: glue(before), behind: glue(behind) }),
            _ => None,
        },
        value => Some(CallPiece::Members(Box::new(Members {
            first: glue(&value["first"]),
            next: glue(&value["next"]),
            slots: slots(&value["slots"])?,
            nested: Nested { array: container(&value["array"]), object: container(&value["object"]) },
        }))),
    };
    Some(CallForm { pieces: pieces.iter().map(piece).collect::<Option<_>>()?, close: glue(&close[0]) })
}

fn container(value: &Value) -> Option<Container> {
    Some(Container {
        open: glue(&value["open"]),
        each: glue(&value["each"]),
        next: glue(&value["next"]),
        close: glue(&value["close"]),
        slots: slots(value.get("slots")?)?,
    })
}

/// Kinds that are written alike stand together.
fn slots(value: &Value) -> Option<Vec<(ValueKind, Slot)>> {
    let mut slots = Vec::new();
    for row in items(value) {
        let encoding = named(&ENCODINGS, text(&row[4]))?;
        let slot = Slot { before: glue(&row[1]), open: glue(&row[2]), close: glue(&row[3]), encoding };
        for kind in text(&row[0]).split(' ') {
            slots.push((named(&KINDS, kind)?, slot.clone()));
        }
    }
    Some(slots)
}
