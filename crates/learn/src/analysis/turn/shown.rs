//! Formats a learnt turn for display: one row for each piece of glue.

use serde_json::{Map, Value};

use super::{
    CallPiece, Container, Encoding, Glue, Slot,
    SlotKind::{Call, Content, End, Prompt, Reasoning},
    TurnFormat,
};

impl TurnFormat {
    /// Names and texts in the order of a turn, e.g. `content → call` and the glue between the two.
    /// What differs from turn to turn stands between `‹` and `›`.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |name: &str, text: String| rows.push((name.to_owned(), text));
        for (role, opening) in [
            ("user", &self.delimiters.user),
            ("assistant", &self.delimiters.assistant),
        ] {
            if !opening.is_empty() {
                row(role, opening.clone());
            }
        }
        row("opening", self.opening.clone());
        if let Some(reasoning) = &self.reasoning {
            row(
                "reasoning",
                format!("{}…{}", reasoning.open.shown(), reasoning.close.shown()),
            );
        }
        for edge in &self.edges {
            row(
                &format!("{} → {}", edge.from.name(), edge.to.name()),
                edge.glue.shown(),
            );
        }
        for form in &self.calls {
            let pieces: String = form.pieces.iter().map(piece_line).collect();
            row("call", pieces + &form.close.shown());
        }
        if let Some(members) = self.members().next() {
            for (kind, shown) in &members.slots {
                row(&format!("argument: {}", kind.name()), slot("‹key›", shown));
            }
            if let Some(array) = &members.nested.array {
                row("array", inside(array, ""));
            }
            if let Some(object) = &members.nested.object {
                row("object", inside(object, "‹key›"));
            }
        }
        row("end", self.end.shown());
        rows
    }

    /// How each part of a turn is written, in one line: what differs from turn to turn stands
    /// between `‹` and `›`, what comes any number of times in `( )*`, and `…` is a further call.
    pub fn written(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(reasoning) = &self.reasoning {
            let open = if reasoning.open.is_blank() {
                Glue::from(&*reasoning.start)
            } else {
                reasoning.open.clone()
            };
            lines.push((
                "reasoning",
                format!("{}‹reasoning›{}", open.shown(), reasoning.close.shown()),
            ));
        }
        // The last of several ways to begin a content is that of one that ends the turn.
        let glue = |from, to| self.glues([from], to).next_back();
        let begins = |to| {
            [Prompt, Reasoning, Content]
                .into_iter()
                .find_map(|from| glue(from, to))
        };
        let ends = |from| glue(from, End).map(Glue::shown).unwrap_or_default();
        if let Some(open) = begins(Content) {
            lines.push((
                "content",
                format!("{}‹content›{}", open.shown(), ends(Content)),
            ));
        }
        let (open, _) = self.call_frame();
        let Some(first) = begins(Call) else {
            return lines;
        };
        let outer = |glue: &Glue| glue.strip_suffix(&open).unwrap_or_default().shown();
        let more = glue(Call, Call).map_or_else(String::new, |glue| format!("({}…)*", outer(glue)));
        let has_none = self.pieces().all(|piece| !piece.holds_arguments());
        for form in self
            .calls
            .iter()
            .filter(|form| has_none || form.pieces.iter().any(CallPiece::holds_arguments))
        {
            let pieces: String = form.pieces.iter().map(piece_line).collect();
            let call = [
                &outer(first),
                &open.shown(),
                &pieces,
                &form.close.shown(),
                &more,
                &ends(Call),
            ];
            lines.push(("call", call.map(String::as_str).concat()));
        }
        lines
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
            let quote = if slot.encoding == Encoding::Quoted {
                "\""
            } else {
                ""
            };
            let (open, close) = (slot.open.shown(), slot.close.shown());
            let member = format!(
                "{}‹key›{open}{quote}‹value›{quote}{close}",
                slot.before.shown()
            );
            let next = members.next.shown();
            // What stands in front of each member, the first one too, is part of it.
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

fn slot(before: &str, slot: &Slot) -> String {
    let value = match slot.encoding {
        Encoding::Quoted => "\"…\"",
        Encoding::Raw | Encoding::Nested | Encoding::Python | Encoding::Lowercase => "…",
    };
    format!("{before}{}{value}{}", slot.open.shown(), slot.close.shown())
}

fn inside(container: &Container, before: &str) -> String {
    let items = container
        .slots
        .iter()
        .map(|(kind, shown)| format!("{}: {}", kind.name(), slot(before, shown)));
    let (open, next, close) = (
        container.open.shown(),
        container.next.shown(),
        container.close.shown(),
    );
    let (each, items) = (container.each.shown(), items.collect::<Vec<_>>().join(", "));
    format!("{open}{each}‹item›{next}{each}‹item›{close}; {items}")
}
