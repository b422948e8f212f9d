//! Formats a learnt turn for display: one row for each piece of glue.

use serde_json::{Map, Value};

use super::{
    CallForm, CallPiece, Container, Edge, Encoding, Glue, Reasoning, Slot,
    SlotKind::{self, Call, Content, End, Prompt},
    TurnFormat,
};

impl TurnFormat {
    /// Names and texts in the order of a turn, e.g. `content → call` and the glue between the two.
    /// What differs from turn to turn is between `‹` and `›`.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows: Vec<(String, String)> = Vec::new();
        let openings = [
            ("user", &self.delimiters.user),
            ("assistant", &self.delimiters.assistant),
        ];
        for (role, opening) in openings {
            if !opening.is_empty() {
                rows.push((role.into(), opening.clone()));
            }
        }
        rows.push(("opening".into(), self.opening.clone()));
        if let Some(Reasoning { open, close, .. }) = &self.reasoning {
            let text = format!("{}…{}", open.shown(), close.shown());
            rows.push(("reasoning".into(), text));
        }
        for Edge { from, glue, to } in &self.edges {
            rows.push((format!("{} → {}", from.name(), to.name()), glue.shown()));
        }
        for form in &self.calls {
            rows.push(("call".into(), pieces(form) + &form.close.shown()));
        }
        if let Some(members) = self.members().next() {
            for (kind, shown) in &members.slots {
                rows.push((
                    format!("argument: {}", kind.name()),
                    inside_slot("‹key›", shown, "…"),
                ));
            }
            if let Some(array) = &members.nested.array {
                rows.push(("array".into(), inside(array, "")));
            }
            if let Some(object) = &members.nested.object {
                rows.push(("object".into(), inside(object, "‹key›")));
            }
        }
        rows.push(("end".into(), self.end.shown()));
        rows
    }

    /// How each part of a turn is written, in one line: what differs from turn to turn is
    /// between `‹` and `›`, what comes any number of times in `( )*`, and `…` is a further call.
    pub fn written(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(reasoning) = &self.reasoning {
            let open = match reasoning.open.is_blank() {
                true => reasoning.start.clone(),
                false => reasoning.open.shown(),
            };
            let text = format!("{open}‹reasoning›{}", reasoning.close.shown());
            lines.push(("reasoning", text));
        }
        if let Some(open) = self.begins(Content) {
            let end = self.ends(Content);
            lines.push(("content", format!("{}‹content›{end}", open.shown())));
        }
        let Some(first) = self.begins(Call) else {
            return lines;
        };
        let (open, _) = self.call_frame();
        let outer = |glue: &Glue| glue.strip_suffix(&open).unwrap_or_default().shown();
        let next = self.glues([Call], Call).next_back();
        let more = next.map_or_else(String::new, |glue| format!("({}…)*", outer(glue)));
        let has_none = self.pieces().all(|piece| !piece.holds_arguments());
        for form in &self.calls {
            if has_none || form.pieces.iter().any(CallPiece::holds_arguments) {
                let (first, open, end) = (outer(first), open.shown(), self.ends(Call));
                let (pieces, close) = (pieces(form), form.close.shown());
                lines.push((
                    "call",
                    [first, open, pieces, close, more.clone(), end].concat(),
                ));
            }
        }
        lines
    }

    /// The opening of a part. The last of several ways is that of a part that ends the turn.
    fn begins(&self, to: SlotKind) -> Option<&Glue> {
        let mut froms = [Prompt, SlotKind::Reasoning, Content].into_iter();
        froms.find_map(|from| self.glues([from], to).next_back())
    }

    /// The end of a turn after a part.
    fn ends(&self, from: SlotKind) -> String {
        let last = self.glues([from], End).next_back();
        last.map(Glue::shown).unwrap_or_default()
    }

    /// The rows as an object: each name with a list of its texts; `written` has the lines of
    /// [`TurnFormat::written`].
    pub fn to_json(&self) -> Value {
        let mut json: Map<String, Value> = Map::new();
        let written = self
            .written()
            .into_iter()
            .map(|(_, line)| ("written".to_owned(), line));
        for (name, text) in written.chain(self.rows()) {
            if let Value::Array(texts) =
                json.entry(name).or_insert_with(|| Value::Array(Vec::new()))
            {
                texts.push(text.into());
            }
        }
        json.into()
    }
}

fn pieces(form: &CallForm) -> String {
    form.pieces.iter().map(piece_line).collect()
}

fn piece_line(piece: &CallPiece) -> String {
    match piece {
        CallPiece::Glue(glue) => glue.shown(),
        CallPiece::Name => "‹name›".to_owned(),
        CallPiece::Id => "‹id›".to_owned(),
        CallPiece::NamedId { before, behind } => {
            format!("{}‹name›{}", before.shown(), behind.shown())
        }
        CallPiece::Arguments { quoted: false } => "‹arguments›".to_owned(),
        CallPiece::Arguments { quoted: true } => "\"‹arguments›\"".to_owned(),
        CallPiece::Members(members) => {
            let Some(slot) = members.shown_slot() else {
                return members.first.shown();
            };
            let member = inside_slot(&(slot.before.shown() + "‹key›"), slot, "‹value›");
            let next = members.next.shown();
            // What is before each member, the first one too, is part of it.
            match members
                .first
                .strip_suffix(&members.next)
                .filter(|_| !members.next.is_blank())
            {
                Some(first) => format!("{}({next}{member})*", first.shown()),
                None => format!("{}{member}({next}{member})*", members.first.shown()),
            }
        }
    }
}

/// A value in its slot.
fn inside_slot(before: &str, slot: &Slot, value: &str) -> String {
    let quote = if slot.encoding == Encoding::Quoted {
        "\""
    } else {
        ""
    };
    let (open, close) = (slot.open.shown(), slot.close.shown());
    format!("{before}{open}{quote}{value}{quote}{close}")
}

fn inside(container: &Container, before: &str) -> String {
    let items = container
        .slots
        .iter()
        .map(|(kind, shown)| format!("{}: {}", kind.name(), inside_slot(before, shown, "…")));
    let (open, next, close) = (
        container.open.shown(),
        container.next.shown(),
        container.close.shown(),
    );
    let (each, items) = (container.each.shown(), items.collect::<Vec<_>>().join(", "));
    format!("{open}{each}‹item›{next}{each}‹item›{close}; {items}")
}
