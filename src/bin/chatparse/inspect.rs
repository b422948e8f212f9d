//! `inspect`: what was learnt of a template, and from which renders.

use std::io::{self, Write};

use chatparse::analysis::turn::TurnFormat;
use chatparse::analysis::{Evidence, Layout, Source};
use chatparse::{ChatTemplate, Reader};
use serde_json::{Value, json};

use crate::args::{Args, Syntax};
use crate::failure::{Failure, Outcome};
use crate::screen::{Paint, Screen};
use crate::text::{WIDTH, escaped, folded, is_empty, shown, wrapped};
use crate::{Command, input, proof};

pub const COMMAND: Command = Command {
    name: "inspect",
    help: "\
chatparse inspect TEMPLATE [--json] [--learn-only]

Shows what was learnt of a template: what it accepts, who reads what its model writes
and how many of the messages that it renders come back, how it writes, and for each
thing learnt the two renders that showed it. They have the text `before` and `after`
in common; only the first has the text at `-`, only the second the one at `+`.
Line breaks are shown as \\n. TEMPLATE is a Jinja file, a tokenizer_config.json with
one, or the name of a built-in.

options:
  --json        the same as one JSON object: caps, reader, tried, proof, layout and
                evidence
  --learn-only  only what the template shows by itself: no family of templates and no
                work-around is looked up
  --bos TEXT    the token that begins a prompt
  --eos TEXT    the token that ends a turn
  --name NAME   which of several templates in a tokenizer_config.json; default: default

exit status: 0 success, 1 the template cannot be used: it refuses all messages.

examples:
  chatparse inspect json-call
  chatparse inspect model.jinja --json | jq .layout.tools
",
    syntax: Syntax {
        required: &["TEMPLATE"],
        optional: &[],
        flags: &["--json", input::LEARN_ONLY],
        values: input::TEMPLATE_OPTIONS,
    },
    run,
};

/// Width of the margin in which a field or a side of a comparison is named.
const INDENT: usize = 4;

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let template = input::template(args)?;
    let proof = template.proof();
    if proof.refuses_all() {
        let message = format!("the template refuses all {} messages; the first: {}", proof.refused, proof.refusal);
        return Err(Failure::Failed(message));
    }
    if args.flag("--json") {
        return Ok(writeln!(screen, "{:#}", to_json(&template))?);
    }
    screen.paint(Paint::Strong, "what it accepts")?;
    writeln!(screen)?;
    caps(&template, screen)?;
    screen.heading("how it is read")?;
    proof::show(&template, screen)?;
    if let (Reader::Turn, Some(turn)) = (template.reader(), template.turn(true).or(template.turn(false))) {
        screen.heading("how it writes")?;
        let rows = turn.rows();
        let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, text) in rows {
            named(screen, &name, 2, widest, Paint::Plain, &escaped(&text))?;
        }
        return Ok(());
    }
    let used = matches!(template.reader(), Reader::Layout);
    screen.heading(if used { "how it writes" } else { "how it would be read by what was learnt (not used)" })?;
    layout(&template.analysis().layout, screen)?;
    if !template.analysis().evidence.is_empty() {
        screen.heading("what showed it")?;
    }
    for group in template.analysis().evidence.chunk_by(|a, b| (a.pass, &a.source) == (b.pass, &b.source)) {
        evidence(group, screen)?;
    }
    Ok(())
}

fn to_json(template: &ChatTemplate) -> Value {
    let analysis = template.analysis();
    let evidence: Vec<Value> = analysis.evidence.iter().map(Evidence::to_json).collect();
    let tried = template.choice().tried.iter();
    let tried =
        tried.map(|tried| json!({"reader": tried.reader.name(), "cases": tried.cases, "read_back": tried.read_back}));
    json!({
        "caps": template.caps().to_json(),
        "reader": template.reader().name(),
        "tried": tried.collect::<Vec<_>>(),
        "proof": template.proof().to_json(),
        "layout": analysis.layout.to_json(),
        "turn": template.turn(true).map(TurnFormat::to_json),
        "evidence": evidence,
    })
}

fn caps(template: &ChatTemplate, screen: &mut Screen) -> io::Result<()> {
    for (name, yes) in template.caps().named() {
        let name = name.strip_prefix("supports_").unwrap_or(name).replace('_', " ");
        let (paint, answer) = if yes { (Paint::Plain, "yes") } else { (Paint::Faint, "no") };
        write!(screen, "  {name:26}")?;
        screen.paint(paint, answer)?;
        writeln!(screen)?;
    }
    Ok(())
}

/// The fields that say something, aligned.
pub fn layout(layout: &Layout, screen: &mut Screen) -> io::Result<()> {
    let fields: Vec<_> = layout.fields().into_iter().filter(|(_, value)| !is_empty(value)).collect();
    let widest = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in fields {
        named(screen, name, 2, widest, Paint::Plain, &shown(&value))?;
    }
    Ok(())
}

/// A name and its text, which goes on in lines of its own under its start where it is long.
fn named(screen: &mut Screen, name: &str, indent: usize, widest: usize, paint: Paint, text: &str) -> io::Result<()> {
    let margin = indent + widest + 2;
    let (paint, text) = if text.is_empty() { (Paint::Faint, "(nothing)") } else { (paint, text) };
    for (index, piece) in folded(text, WIDTH - margin).into_iter().enumerate() {
        write!(screen, "{:indent$}", "")?;
        screen.paint(Paint::Faint, &format!("{:widest$}  ", if index == 0 { name } else { "" }))?;
        screen.paint(paint, piece)?;
        writeln!(screen)?;
    }
    Ok(())
}

/// The fields that one source showed, and the source.
fn evidence(group: &[Evidence], screen: &mut Screen) -> io::Result<()> {
    let Some(Evidence { source, pass, .. }) = group.first() else { return Ok(()) };
    let title = match source {
        Source::Comparison { question, .. } => question,
        Source::Workaround { name, .. } => name,
        _ => "the fields above",
    };
    screen.paint(Paint::Strong, &format!("  {pass}: {title}\n"))?;
    let widest = group.iter().map(|item| item.field.len()).max().unwrap_or(0);
    for item in group {
        named(screen, item.field, INDENT, widest, Paint::Strong, &shown(&item.value))?;
    }
    match source {
        Source::Comparison { before, left, right, after, .. } => {
            let sides = [
                ("before", Paint::Faint, before),
                ("-", Paint::Left, left),
                ("+", Paint::Right, right),
                ("after", Paint::Faint, after),
            ];
            for (name, paint, text) in sides {
                named(screen, name, INDENT, "before".len(), paint, &escaped(text))?;
            }
        }
        Source::Workaround { reason, .. } => {
            for line in wrapped(reason, WIDTH - INDENT) {
                writeln!(screen, "{:INDENT$}{line}", "")?;
            }
        }
        _ => {}
    }
    writeln!(screen)
}
