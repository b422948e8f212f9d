//! Formats a learnt turn for display: one row for each piece of glue.

use serde_json::{Map, Value};

use super::{CallForm, CallPiece, Container, Delimiters, Encoding, Slot, Spot, TurnFormat, ValueKind};

impl TurnFormat {
    /// Names and texts in the order of a turn, e.g. `content → call` and the glue between the two. `{name}`, `{key}` and
    /// `{number}` are those of the call.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |name: &str, text: String| rows.push((name.to_owned(), text));
        let Delimiters { user, assistant } = &self.delimiters;
        for (role, opening) in [("user", user), ("assistant", assistant), ("opening", &self.opening)] {
            if role == "opening" || !opening.is_empty() {
                row(role, opening.clone());
            }
        }
        if let Some(reasoning) = &self.reasoning {
            row("reasoning", format!("{}…{}", reasoning.open.shown(), reasoning.close.shown()));
        }
        for edge in &self.edges {
            row(&format!("{} → {}", name(edge.from), name(edge.to)), edge.glue.shown());
        }
        for form in &self.calls {
            row("call", call(form));
        }
        if let Some(members) = self.calls.iter().flat_map(|form| &form.pieces).find_map(CallPiece::members) {
            for (kind, shown) in &members.slots {
                row(&format!("argument: {}", kind.name()), slot("{key}", shown));
            }
            let nested = [("array", &members.nested.array), ("object", &members.nested.object)];
            for (name, container) in
                nested.into_iter().filter_map(|(name, container)| Some((name, container.as_ref()?)))
            {
                row(name, inside(container, if name == "object" { "{key}" } else { "" }));
            }
        }
        row("end", self.end.shown());
        rows
    }

    /// The rows as an object: each name with a list of its texts.
    pub fn to_json(&self) -> Value {
        let mut json: Map<String, Value> = Map::new();
        for (name, text) in self.rows() {
            if let Value::Array(texts) = json.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                texts.push(text.into());
            }
        }
        json.into()
    }
}

fn name(place: Spot) -> &'static str {
    match place {
        Spot::Prompt => "prompt",
        Spot::Reasoning => "reasoning",
        Spot::Content => "content",
        Spot::Call => "call",
        Spot::End => "end",
    }
}

fn call(form: &CallForm) -> String {
    let pieces = form.pieces.iter().map(|piece| match piece {
        CallPiece::Glue(glue) => glue.shown(),
        CallPiece::Name => "{name}".to_owned(),
        CallPiece::Id => "{id}".to_owned(),
        CallPiece::NamedId { before, behind } => format!("{}{{name}}{}", before.shown(), behind.shown()),
        CallPiece::Arguments { quoted: false } => "{arguments}".to_owned(),
        CallPiece::Arguments { quoted: true } => "{\"arguments\"}".to_owned(),
        CallPiece::Members(members) => {
            format!("{}{{argument}}{}{{argument}}", members.first.shown(), members.next.shown())
        }
    });
    pieces.chain([form.close.shown()]).collect()
}

fn slot(before: &str, slot: &Slot) -> String {
    let value = match slot.encoding {
        Encoding::Quoted => "\"…\"",
        Encoding::Raw | Encoding::Nested => "…",
    };
    format!("{before}{}{value}{}", slot.open.shown(), slot.close.shown())
}

fn inside(container: &Container, before: &str) -> String {
    let items = container.slots.iter().map(|(kind, shown)| format!("{}: {}", kind.name(), slot(before, shown)));
    let (open, next, close) = (container.open.shown(), container.next.shown(), container.close.shown());
    let (each, items) = (container.each.shown(), items.collect::<Vec<_>>().join(", "));
    format!("{open}{each}{{item}}{next}{each}{{item}}{close}; {items}")
}

impl ValueKind {
    /// A stable lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Text => "text",
            ValueKind::Integer => "integer",
            ValueKind::Number => "number",
            ValueKind::Boolean => "boolean",
            ValueKind::Null => "null",
            ValueKind::Array => "array",
            ValueKind::Object => "object",
        }
    }
}
