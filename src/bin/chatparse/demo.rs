//! What the program shows without a command: a request, a template and an output, all the way through.

use std::io::{self, Write};

use chatparse::{ChatTemplate, Delta, DeltaKind, Error, Request, Stream};

use crate::failure::{Failure, Outcome};
use crate::screen::{Paint, Screen};
use crate::text::{WIDTH, escaped, folded, shown};

const TEMPLATE: &str = "json-call";

const REQUEST: &str = r#"{
    "messages": [{"role": "user", "content": "Do I need an umbrella in Oslo?"}],
    "tools": [{"type": "function", "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    }}],
    "reasoning_format": "auto"
}"#;

const OUTPUT: &str = "<think>\nI should look at the weather there.</think>\n\nLet me see.\
                      <tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

/// Bytes of the output that come at once.
const PIECE: usize = 3;

/// What of the layout is worth a line here.
const FIELDS: &[&str] = &[
    "reasoning.start",
    "reasoning.end",
    "tools.format",
    "tools.per_call_start",
    "tools.name_field",
    "tools.args_field",
    "tools.per_call_end",
];

pub fn run(screen: &mut Screen) -> Outcome {
    let broken = |error: Error| Failure::Failed(format!("the demo does not work: {error}"));
    let template = ChatTemplate::builtin(TEMPLATE)
        .ok_or_else(|| Failure::Failed(format!("the demo does not work: there is no template {TEMPLATE}")))?;
    let request = Request::from_text(REQUEST).map_err(broken)?;
    let params = template.params(&request).map_err(broken)?;

    screen.paint(Paint::Strong, &format!("1. The template {TEMPLATE} makes a prompt of a request with a tool"))?;
    writeln!(screen, "\n")?;
    for line in params.prompt.lines().flat_map(|line| folded(line, WIDTH - 2)) {
        writeln!(screen, "  {line}")?;
    }
    screen.heading("2. Its renders show how the model writes")?;
    writeln!(screen)?;
    for (name, value) in template.analysis().layout.fields() {
        if FIELDS.contains(&name) {
            screen.paint(Paint::Faint, &format!("  {name:22}"))?;
            writeln!(screen, "{}", shown(&value))?;
        }
    }
    screen.heading(&format!("3. So the model's output, {PIECE} bytes at a time, becomes a message"))?;
    writeln!(screen)?;
    let mut stream = Stream::new(&params.parser);
    let mut rows = Rows::default();
    for piece in OUTPUT.as_bytes().chunks(PIECE) {
        let deltas: Vec<Delta> = stream.feed(piece).collect();
        rows.piece(&escaped(&String::from_utf8_lossy(piece)), &deltas, screen)?;
    }
    let ended = stream.finish(false);
    rows.piece("", &stream.deltas().collect::<Vec<_>>(), screen)?;
    rows.end(screen)?;
    screen.heading(&format!("4. The message ({})", ended.status.name()))?;
    writeln!(screen)?;
    for line in format!("{:#}", ended.message.to_json()).lines() {
        writeln!(screen, "  {line}")?;
    }
    Ok(writeln!(screen, "\n`chatparse --help` says what else there is.")?)
}

/// Pieces of output and what each adds, one row for pieces in a row that add to the same part.
#[derive(Default)]
struct Rows {
    pieces: String,
    part: &'static str,
    added: String,
}

impl Rows {
    /// Columns for the pieces, and for the name of a part.
    const PIECES: usize = 33;
    const PART: usize = 11;
    const ADDED: usize = WIDTH - 2 - Rows::PIECES - 2 - Rows::PART;

    fn piece(&mut self, piece: &str, deltas: &[Delta], screen: &mut Screen) -> io::Result<()> {
        let parts = deltas.iter().map(|delta| (part_name(delta.kind), escaped(delta.text)));
        let parts = if deltas.is_empty() { vec![("", String::new())] } else { parts.collect() };
        for (index, (part, added)) in parts.into_iter().enumerate() {
            let piece = if index == 0 { piece } else { "" };
            let fits = |old: &str, new: &str, most: usize| old.chars().count() + 1 + new.chars().count() <= most;
            let same =
                part == self.part && fits(&self.pieces, piece, Rows::PIECES) && fits(&self.added, &added, Rows::ADDED);
            if !same {
                self.end(screen)?;
                self.part = part;
            }
            join(&mut self.pieces, piece);
            join(&mut self.added, &added);
        }
        Ok(())
    }

    fn end(&mut self, screen: &mut Screen) -> io::Result<()> {
        let Rows { pieces, part, added } = std::mem::take(self);
        if pieces.is_empty() && added.is_empty() {
            return Ok(());
        }
        if part.is_empty() {
            return writeln!(screen, "  {pieces}");
        }
        write!(screen, "  {pieces:width$}  ", width = Rows::PIECES)?;
        let width = if added.is_empty() { 0 } else { Rows::PART };
        screen.paint(Paint::Call, &format!("{part:width$}"))?;
        writeln!(screen, "{added}")
    }
}

/// Appends a piece to a row, set off from the one before.
fn join(row: &mut String, piece: &str) {
    if !row.is_empty() && !piece.is_empty() {
        row.push('·');
    }
    row.push_str(piece);
}

fn part_name(kind: DeltaKind) -> &'static str {
    match kind {
        DeltaKind::Reasoning => "reasoning",
        DeltaKind::Content => "content",
        DeltaKind::ToolName => "tool name",
        DeltaKind::ToolId => "tool id",
        DeltaKind::ToolArguments => "arguments",
        _ => "tool end",
    }
}
