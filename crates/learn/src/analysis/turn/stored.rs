//! Turns as JSON. A part that has glue only is an array, and what is as in most turns is left out, so that a table of turns stays small.
//!
//! ```json
//! {"reasoning": ["<think>", "<think>", "</think>"], "edges": [["Prompt", "<call>", "Call"]], "end": "<end>",
//!  "calls": [["Name", {"first": "(", "next": ", ", "slots": [["Text Null", "", "=", "", "Raw"]]}, [")"]]]}
//! ```
//! A piece of a call is a word; an array with glue, of an id with a name the two around that; or an object of members. The last one
//! is what closes the call.

use serde_json::{Map, Value};

use super::{CallForm, CallPiece, Container, Delimiters, Edge, Encoding, Glue, Members, Nested, Reasoning, Slot};
use super::{SlotKind, TurnFormat, ValueKind};
use chatparse_base::limits::STORED_PARTS;
use chatparse_peg::Spacing;

const SLOTS: [(&str, SlotKind); 5] = [
    ("Prompt", SlotKind::Prompt),
    ("Reasoning", SlotKind::Reasoning),
    ("Content", SlotKind::Content),
    ("Call", SlotKind::Call),
    ("End", SlotKind::End),
];

const ENCODINGS: [(&str, Encoding); 5] = [
    ("Raw", Encoding::Raw),
    ("Quoted", Encoding::Quoted),
    ("Nested", Encoding::Nested),
    ("Python", Encoding::Python),
    ("Lowercase", Encoding::Lowercase),
];

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

fn name_of<T: PartialEq>(all: &[(&'static str, T)], value: &T) -> &'static str {
    all.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
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

/// Each item read; `None` where one cannot be, or where there are more than any template shows.
fn read<T>(value: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    let items = Some(items(value)).filter(|items| items.len() <= STORED_PARTS)?;
    items.iter().map(item).collect()
}

fn texts<const N: usize>(glues: [&Glue; N]) -> [&str; N] {
    glues.map(Glue::stored)
}

impl TurnFormat {
    /// All of it, for [`TurnFormat::from_stored`].
    pub fn to_stored(&self) -> Value {
        let TurnFormat {
            opening,
            reasoning,
            edges,
            calls,
            end,
            delimiters: Delimiters { user, assistant },
            stops,
            single_quotes,
            raw_lines,
            spacing,
            sorts_names,
            leaves_out_null,
            hides_last_calls,
        } = self;
        let mut turn = Map::new();
        let mut put = |name: &str, value: Value, is_usual: bool| {
            let value = Some(value).filter(|_| !is_usual);
            turn.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("opening", json!(opening), opening.is_empty());
        if let Some(Reasoning { start, open, close, shown }) = reasoning {
            let [open, close] = texts([open, close]);
            put(
                "reasoning",
                if *shown { json!([start, open, close]) } else { json!([start, open, close, false]) },
                false,
            );
        }
        let edge = |Edge { from, glue, to }: &Edge| json!([name_of(&SLOTS, from), glue.stored(), name_of(&SLOTS, to)]);
        put("edges", edges.iter().map(edge).collect(), edges.is_empty());
        put("calls", calls.iter().map(call_to_json).collect(), calls.is_empty());
        put("end", json!(end.stored()), end.is_empty());
        put("delimiters", json!([user, assistant]), user.is_empty() && assistant.is_empty());
        put("stops", json!(stops), stops.is_empty());
        put("single_quotes", true.into(), !single_quotes);
        put("raw_lines", true.into(), !raw_lines);
        put("sorts_names", true.into(), !sorts_names);
        put("leaves_out_null", true.into(), !leaves_out_null);
        put("hides_last_calls", true.into(), !hides_last_calls);
        if let Spacing::Fixed { comma, colon } = spacing {
            put("spacing", json!([comma, colon]), false);
        }
        turn.into()
    }

    /// Reads a turn; `None` if the value is none.
    pub fn from_stored(value: &Value) -> Option<TurnFormat> {
        let reasoning = items(&value["reasoning"]);
        let edge = |edge: &Value| {
            let slot = |at: usize| named(&SLOTS, text(&edge[at]));
            Some(Edge { from: slot(0)?, glue: glue(&edge[1]), to: slot(2)? })
        };
        let fixed = value.get("spacing").map(|fixed| Some((fixed[0].as_bool()?, fixed[1].as_bool()?)));
        let [user, assistant] = [0, 1].map(|at| text(&value["delimiters"][at]).to_owned());
        Some(TurnFormat {
            opening: text(&value["opening"]).to_owned(),
            reasoning: (!reasoning.is_empty()).then(|| Reasoning {
                start: text(&value["reasoning"][0]).to_owned(),
                open: glue(&value["reasoning"][1]),
                close: glue(&value["reasoning"][2]),
                shown: reasoning.get(3) != Some(&Value::Bool(false)),
            }),
            edges: read(&value["edges"], edge)?,
            calls: read(&value["calls"], call)?,
            end: glue(&value["end"]),
            delimiters: Delimiters { user, assistant },
            stops: read(&value["stops"], |stop| stop.as_str().map(str::to_owned))?,
            single_quotes: value["single_quotes"] == true,
            raw_lines: value["raw_lines"] == true,
            sorts_names: value["sorts_names"] == true,
            leaves_out_null: value["leaves_out_null"] == true,
            hides_last_calls: value["hides_last_calls"] == true,
            spacing: fixed
                .map_or(Some(Spacing::Free), |fixed| fixed.map(|(comma, colon)| Spacing::Fixed { comma, colon }))?,
        })
    }
}

fn call_to_json(CallForm { pieces, close }: &CallForm) -> Value {
    let piece = |piece: &CallPiece| match piece {
        CallPiece::Glue(glue) => json!([glue.stored()]),
        CallPiece::NamedId { before, behind } => json!(texts([before, behind])),
        CallPiece::Members(members) => {
            let Members { first, next, slots, nested: Nested { array, object } } = &**members;
            let mut all = json!({"first": first.stored(), "next": next.stored(), "slots": slots_to_json(slots)});
            for (name, container) in [("array", array), ("object", object)] {
                container.iter().for_each(|container| all[name] = container_to_json(container));
            }
            all
        }
        piece => json!(name_of(&PIECES, piece)),
    };
    pieces.iter().map(piece).chain([json!([close.stored()])]).collect()
}

fn container_to_json(Container { open, each, next, close, slots }: &Container) -> Value {
    let [open, each, next, close] = texts([open, each, next, close]);
    json!({"open": open, "each": each, "next": next, "close": close, "slots": slots_to_json(slots)})
}

fn slots_to_json(slots: &[(ValueKind, Slot)]) -> Value {
    let alike = slots.chunk_by(|(_, one), (_, next)| one == next).map(|all| {
        let kinds: Vec<&str> = all.iter().map(|(kind, _)| name_of(&KINDS, kind)).collect();
        let Slot { before, open, close, encoding } = &all[0].1;
        let [before, open, close] = texts([before, open, close]);
        json!([kinds.join(" "), before, open, close, name_of(&ENCODINGS, encoding)])
    });
    alike.collect()
}

fn call(value: &Value) -> Option<CallForm> {
    let (close, pieces) = items(value).split_last().filter(|(_, pieces)| pieces.len() <= STORED_PARTS)?;
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
    for row in Some(items(value)).filter(|rows| rows.len() <= STORED_PARTS)? {
        let encoding = named(&ENCODINGS, text(&row[4]))?;
        let slot = Slot { before: glue(&row[1]), open: glue(&row[2]), close: glue(&row[3]), encoding };
        for kind in text(&row[0]).split(' ') {
            slots.push((named(&KINDS, kind)?, slot.clone()));
        }
    }
    Some(slots)
}
