//! `lint`: whether what a template writes is read back.

use std::io::{self, Write};

use chatparse::lint::{self, Case, Difference, Outcome, Report};
use chatparse::next::{Preserved, Preserving};

use crate::args::{Args, Syntax};
use crate::failure::{Failure, Outcome as Done};
use crate::screen::{Paint, Screen};
use crate::text::{WIDTH, escaped, folded};
use crate::{Command, input};

pub const COMMAND: Command = Command {
    name: "lint",
    help: "\
chatparse lint TEMPLATE [--json] [--learn-only]

Renders messages of many kinds as the model would write them, parses them, and renders
what was parsed again: with thinking (off), with thinking on but nothing thought
(silent), and with reasoning (on). TEMPLATE is a Jinja file, a tokenizer_config.json
with one, or the name of a built-in.

  survives    the message comes back, and renders to the same bytes
  no content, no reasoning, no calls
              the template leaves this part out (a note, no fault)
  no turn     the message does not begin where the prompt ends; a fault where that is
              so however the model thinks
  lost        another message comes back
  spaced      it comes back with white space around a text, which renders to other
              bytes; without it, to the same ones (a note: trim before you render)
  rewritten   the message comes back, but renders to other bytes
  refused     the template raises an error

Places are bytes of the rendered conversation, counted from its start.

Then, for a step of a tool loop and for the next thing that the user says, without
reasoning in the conversation (off) and with it (on), whether each prompt begins with
all that was sent before, so that a server that keeps what its model has read need
not read it again: appends, or rewrites, from where, and why. Last, whether it is known
of every byte of a prompt whose text it is, so that no text of a user becomes a special
token (see chatparse render --segments). Both are notes, no faults.

options:
  --json        the report as one JSON object, with every turn
  --learn-only  only what the template shows by itself: no family of templates and no
                work-around is looked up
  --bos TEXT    the token that begins a prompt
  --eos TEXT    the token that ends a turn
  --name NAME   which of several templates in a tokenizer_config.json; default: default

exit status: 0 no faults, 1 faults, 2 wrong usage or no template.

examples:
  chatparse lint json-call
  chatparse lint model.jinja --json | jq '.cases[] | select(.outcome == \"lost\")'
",
    syntax: Syntax {
        required: &["TEMPLATE"],
        optional: &[],
        flags: &["--json", input::LEARN_ONLY],
        values: input::TEMPLATE_OPTIONS,
    },
    run,
};

/// Width of the margin in front of what is wanted and what came.
const MARGIN: usize = 14;

fn run(args: &Args, screen: &mut Screen) -> Done {
    // A template that cannot be read is no fault in how it writes.
    let template = input::template(args).map_err(|failure| match failure {
        Failure::Failed(message) => Failure::Usage(message),
        other => other,
    })?;
    let report = lint::lint(&template);
    if args.flag("--json") {
        writeln!(screen, "{:#}", report.to_json())?;
    } else {
        show(&report, screen)?;
    }
    match report.faults().count() {
        0 => Ok(()),
        faults => Err(Failure::Failed(format!("{faults} of {} messages do not survive", report.cases.len()))),
    }
}

/// A line for each message, with the ways to think in which it does not just survive; then the faults.
fn show(report: &Report, screen: &mut Screen) -> io::Result<()> {
    let mut faults: Vec<&Case> = report.faults().collect();
    let widest = report.cases.iter().map(|case| case.probe.len()).max().unwrap_or(0) + 2;
    for cases in report.cases.chunk_by(|a, b| a.probe == b.probe) {
        write!(screen, "{:widest$}", cases[0].probe)?;
        for (index, case) in cases.iter().enumerate() {
            let alike = |other: &&Case| outcome(&other.outcome) == outcome(&case.outcome);
            if cases[..index].iter().any(|other| alike(&other)) {
                continue;
            }
            let comma = if index == 0 { "" } else { ", " };
            let names: Vec<&str> = cases.iter().filter(alike).map(|case| case.thinking.name()).collect();
            let all = case.outcome == Outcome::Survives || names.len() == cases.len();
            let names = if all { String::new() } else { format!(" ({})", names.join(", ")) };
            let paint = match case.outcome {
                Outcome::Survives => Paint::Plain,
                _ if faults.contains(&case) => Paint::Left,
                _ => Paint::Faint,
            };
            screen.paint(paint, &format!("{comma}{}{names}", outcome(&case.outcome)))?;
        }
        writeln!(screen)?;
    }
    writeln!(screen)?;
    for next in &report.next {
        preserving(next, screen)?;
    }
    write!(screen, "{:<18}", "whose text")?;
    match report.untraced.len() {
        0 => writeln!(screen, "is known of every byte")?,
        count => {
            screen.paint(Paint::Faint, &format!("cannot be told in {count} places; the first:"))?;
            writeln!(screen)?;
            named(screen, "", Paint::Faint, &report.untraced[0])?;
        }
    }
    // The same fault however the model thinks is worth one look.
    faults.dedup_by(|a, b| a.probe == b.probe && a.outcome.name() == b.outcome.name());
    for case in faults {
        fault(case, screen)?;
    }
    Ok(())
}

fn preserving(next: &Preserving, screen: &mut Screen) -> io::Result<()> {
    write!(screen, "{:<18}", format!("{} ({})", next.kind.name(), next.thinking.name()))?;
    match &next.preserved {
        Preserved::Yes => writeln!(screen, "appends"),
        Preserved::No(rewrite) => {
            let place = match rewrite.message {
                Some(message) => format!("in message {message}"),
                None => "in front of all messages".to_owned(),
            };
            let (at, why) = (rewrite.at, rewrite.reason.words());
            screen.paint(Paint::Faint, &format!("rewrites from byte {at}, {place}: {why}"))?;
            writeln!(screen)
        }
        Preserved::Omitted(part) => writeln!(screen, "no {part}"),
        Preserved::Refused(error) => writeln!(screen, "refused: {error}"),
    }
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Omitted(part) => format!("no {part}"),
        other => other.name().replace('_', " "),
    }
}

fn fault(case: &Case, screen: &mut Screen) -> io::Result<()> {
    screen.heading(&format!("{} ({}): {}", case.probe, case.thinking.name(), outcome(&case.outcome)))?;
    let (at, expected, got) = match &case.outcome {
        Outcome::NoTurn(Difference { at, expected, got })
        | Outcome::Spaced(Difference { at, expected, got })
        | Outcome::Rewritten(Difference { at, expected, got }) => (Some(*at), expected, got),
        Outcome::Lost { at, expected, got } => (*at, expected, got),
        Outcome::Refused(error) => return named(screen, "error", Paint::Plain, error.message()),
        Outcome::Survives | Outcome::Omitted(_) => return Ok(()),
    };
    if !case.turn.is_empty() {
        named(screen, "turn", Paint::Faint, &case.turn)?;
    }
    named(screen, "expected", Paint::Left, expected)?;
    named(screen, "got", Paint::Right, got)?;
    match at {
        Some(at) => named(screen, "differs at", Paint::Plain, &format!("byte {at}")),
        None => named(screen, "differs at", Paint::Plain, "no byte: the template writes both alike"),
    }
}

fn named(screen: &mut Screen, name: &str, paint: Paint, text: &str) -> io::Result<()> {
    for (index, piece) in folded(&escaped(text), WIDTH - MARGIN).into_iter().enumerate() {
        screen.paint(Paint::Faint, &format!("  {:1$}", if index == 0 { name } else { "" }, MARGIN - 2))?;
        screen.paint(paint, piece)?;
        writeln!(screen)?;
    }
    Ok(())
}
