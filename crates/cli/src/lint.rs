//! `lint`: checks whether the messages that templates render are read back.

use std::ffi::OsString;

use chatparse::lint::{Described, Difference, Finding, Outcome, Report};
use chatparse::next::{Preserved, Preserving};
use serde_json::json;

use crate::causes::{Cause, causes};
use crate::failure::{Failure, Outcome as Done};
use crate::input::{self, Reading, TemplateWord};
use crate::linted::{Check, Linted, Unusable};
use crate::sarif;
use crate::screen::{Paint, Screen};
use crate::text::escaped;

/// Check templates: are their messages read back
///
/// Renders messages of many kinds, parses the renders, and renders the parsed
/// messages again: with thinking off (off), with thinking on but no reasoning
/// (silent), and with reasoning (on). Messages that fail in the same way are
/// listed together, with the first of them in full.
///
///   lost        another message comes back: a fault
///   rewritten   the message comes back, but renders to other bytes: a fault
///   refused     the template raises an error: a fault
///   no turn     the message does not begin where the prompt ends: a fault if
///               it does so with thinking off, silent and on
///   spaced      the message comes back with additional white space around a
///               text, and renders to other bytes because of it: a note
///   alike       another message comes back, and the template renders both to
///               the same text: a note
///   omitted     the template leaves out a part of the message: a note
///
/// Places are bytes of the rendered conversation, counted from its start.
///
/// Next comes what the template does to calls, parts and special tokens. Each is
/// a fault or a note, with the id of its rule, the renders that show it, and the
/// effect on users. docs/lint.md lists the rules.
///
/// Next: does each prompt begin with everything that was sent before? If so, a
/// server can reuse the KV cache. This is checked after tool results (tool step)
/// and after the user's next message (user turn), without reasoning in the
/// conversation (off) and with it (on). The answer is appends, or rewrites with
/// the place and the reason. Last: is the origin of every byte of a prompt known,
/// so that no text of a user becomes a special token (see chatparse render
/// --segments)? Both are notes, not faults.
///
/// If the file also has a response template, lint counts how many messages it
/// reads back. Fewer than by the reader in use is a fault.
///
/// Each template gets a verdict: passed or failed.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit status: 0 no faults, 1 faults, 2 wrong usage, or a template that cannot be read

Examples:
  chatparse lint json-call
  chatparse lint templates/*.jinja
  chatparse lint model.jinja --json | jq '.cases[] | select(.outcome == \"lost\")'
  chatparse lint templates/*.jinja --sarif > chatparse.sarif"
)]
pub struct Lint {
    /// A template, as a file or by the name of a built-in one
    #[arg(value_name = "TEMPLATE", required = true, value_parser = TemplateWord, hide_possible_values = true)]
    templates: Vec<OsString>,
    /// Print one JSON object for each template, with every turn
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print the findings as SARIF 2.1.0, for code hosts and editors
    #[arg(long)]
    sarif: bool,
    /// Check whether this tokenizer.json goes with the template
    #[cfg(feature = "tokenizers")]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "sarif")]
    tokenizer: Option<std::path::PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl Lint {
    pub fn run(self, screen: &mut Screen) -> Done {
        input::check_stdin(self.templates.iter().map(OsString::as_os_str))?;
        let (check, mut all) = (self.check()?, Vec::new());
        for (index, word) in self.templates.iter().enumerate() {
            let linted = Linted::of(word, &self.reading, &check)?;
            if self.json {
                writeln!(screen, "{:#}", to_json(&linted));
            } else if !self.sarif {
                if index > 0 {
                    writeln!(screen);
                }
                show(&linted, screen);
            }
            screen.flush()?;
            all.push(linted);
        }
        if self.sarif {
            writeln!(screen, "{:#}", sarif::log(&all));
        }
        let unusable: Vec<&Unusable> = all
            .iter()
            .filter_map(|linted| linted.found.as_ref().err())
            .collect();
        let faults: Vec<String> = all.iter().filter_map(Linted::fault).collect();
        if all.len() > 1 && !self.json && !self.sarif {
            let passed = all.len() - unusable.len() - faults.len();
            write!(
                screen,
                "\n{} templates: {passed} passed, {} failed",
                all.len(),
                faults.len()
            );
            match unusable.len() {
                0 => writeln!(screen),
                count => writeln!(screen, ", {count} cannot be read"),
            }
        }
        match (&unusable[..], &faults[..]) {
            ([], []) => Ok(()),
            // An unreadable template is a usage error, not a fault of the template.
            ([one], _) if all.len() == 1 => Err(Failure::Usage(one.message.clone())),
            ([], [one]) if all.len() == 1 => {
                Err(Failure::Failed(format!("{}: {one}", all[0].name)))
            }
            ([], faults) => Err(Failure::Failed(format!(
                "{} of {} templates fail",
                faults.len(),
                all.len()
            ))),
            (unusable, _) => Err(Failure::Usage(format!(
                "{} of {} templates cannot be read",
                unusable.len(),
                all.len()
            ))),
        }
    }

    /// What tells whether the tokenizer goes with a template.
    fn check(&self) -> Result<Check, Failure> {
        #[cfg(feature = "tokenizers")]
        if let Some(file) = &self.tokenizer {
            let tokenizer = crate::vocabulary::read(file)?;
            return Ok(Box::new(move |template| {
                Ok(Some(crate::vocabulary::check(template, &tokenizer)?))
            }));
        }
        Ok(Box::new(|_| Ok(None)))
    }
}

fn to_json(linted: &Linted) -> serde_json::Value {
    let mut json = match &linted.found {
        Ok(report) => report.to_json(),
        Err(unusable) => json!({"error": unusable.message}),
    };
    json["template"] = linted.name.as_str().into();
    if let Some(found) = &linted.tokenizer {
        json["tokenizer"] = json!(found);
    }
    json
}

/// Width of the margin for names.
const MARGIN: usize = 16;

/// Prints the causes, the notes and the verdict for one template.
fn show(linted: &Linted, screen: &mut Screen) {
    screen.paint(Paint::Strong, &linted.name);
    writeln!(screen);
    let report = match &linted.found {
        Ok(report) => report,
        Err(unusable) => {
            return verdict(
                &format!("cannot be read: {}", unusable.message),
                false,
                screen,
            );
        }
    };
    if !linted.renders_nothing() {
        for found in causes(report) {
            cause(&found, report, screen);
        }
        for found in &report.findings {
            finding(found, screen);
        }
        for next in &report.next {
            preserving(next, screen);
        }
        match report.untraced.as_deref() {
            None => row(
                "whose text",
                "not tested: the template raises an error",
                Paint::Faint,
                screen,
            ),
            Some([]) => row(
                "whose text",
                "known for every byte of a prompt",
                Paint::Plain,
                screen,
            ),
            Some(unknown @ [first, ..]) => {
                row(
                    "whose text",
                    &format!("unknown in {} places; the first:", unknown.len()),
                    Paint::Faint,
                    screen,
                );
                named("", Paint::Faint, first, screen);
            }
        }
    }
    if let Some(described) = &report.response_template {
        let Described {
            cases,
            read_back,
            reader_reads_back,
            why,
            error,
            ..
        } = described;
        let text = match error.is_empty() {
            true => format!(
                "reads back {read_back} of {cases} messages, the reader in use {reader_reads_back}"
            ),
            false => format!("cannot be read: {error}"),
        };
        row(
            "its response",
            &text,
            if described.is_fault() {
                Paint::Red
            } else {
                Paint::Plain
            },
            screen,
        );
        if !why.is_empty() {
            named("  the first", Paint::Plain, why, screen);
        }
    }
    for found in linted.tokenizer.iter().flatten() {
        let text = |name: &str| found[name].as_str().unwrap_or_default();
        row(
            "its tokenizer",
            &format!("{}: {}", text("kind"), text("words")),
            Paint::Faint,
            screen,
        );
        if found["messages"]
            .as_array()
            .is_some_and(|messages| !messages.is_empty())
        {
            row(
                "  shown by",
                &found["messages"].to_string(),
                Paint::Faint,
                screen,
            );
        }
    }
    if linted.tokenizer.as_ref().is_some_and(Vec::is_empty) {
        row(
            "its tokenizer",
            "ids turn by turn are those of each new render",
            Paint::Plain,
            screen,
        );
    }
    match linted.fault() {
        Some(fault) => verdict(&format!("failed: {fault}"), false, screen),
        None => {
            let back = report
                .cases
                .iter()
                .filter(|case| case.outcome == Outcome::Survives)
                .count();
            let text = format!(
                "passed: no faults in {} messages; {back} come back, byte by byte",
                report.cases.len()
            );
            verdict(&text, true, screen)
        }
    }
}

fn verdict(text: &str, passed: bool, screen: &mut Screen) {
    screen.paint(if passed { Paint::Green } else { Paint::Red }, text);
    writeln!(screen)
}

/// Prints a cause with its messages; for a fault also the first message in full.
fn cause(cause: &Cause, report: &Report, screen: &mut Screen) {
    let (kind, paint) = if cause.is_fault {
        ("fault", Paint::Red)
    } else {
        ("note", Paint::Faint)
    };
    let text = format!(
        "{}: {} ({} of {})",
        cause.name.replace('_', " "),
        cause.meaning,
        cause.cases.len(),
        report.cases.len()
    );
    row(kind, &text, paint, screen);
    let paint = if cause.is_fault {
        Paint::Plain
    } else {
        Paint::Faint
    };
    row("  messages", &cause.messages(report), paint, screen);
    if !cause.is_fault {
        return;
    }
    let case = cause.cases[0];
    if let Outcome::Refused(error) = &case.outcome {
        let line = error
            .place()
            .map_or(String::new(), |place| format!("template {place}: "));
        row(
            "  error",
            &format!("{line}{}", error.reason()),
            Paint::Red,
            screen,
        );
        if let Some(place) = error.place() {
            named("  there", Paint::Plain, &place.excerpt, screen);
        }
        return;
    }
    let Some(Difference {
        at, expected, got, ..
    }) = case.outcome.difference()
    else {
        return;
    };
    row(
        "  the first",
        &format!("{} ({})", case.probe, case.thinking.name()),
        Paint::Plain,
        screen,
    );
    if !case.turn.is_empty() {
        named("  turn", Paint::Faint, &case.turn, screen);
    }
    named("  expected", Paint::Green, expected, screen);
    named("  got", Paint::Red, got, screen);
    match at {
        Some(at) => row("  differs at", &format!("byte {at}"), Paint::Plain, screen),
        None => row(
            "  differs at",
            "no byte: the template writes both alike",
            Paint::Plain,
            screen,
        ),
    }
}

/// Prints a broken rule, and what breaking it does.
fn finding(found: &Finding, screen: &mut Screen) {
    let (kind, paint) = if found.is_fault {
        ("fault", Paint::Red)
    } else {
        ("note", Paint::Faint)
    };
    row(
        kind,
        &format!("{}: {}", found.rule.id(), found.message),
        paint,
        screen,
    );
    row("  so", found.rule.effect(), Paint::Plain, screen);
    let lines: Vec<String> = found
        .places
        .iter()
        .map(|place| place.line.to_string())
        .collect();
    if !lines.is_empty() {
        row("  in line", &lines.join(", "), Paint::Plain, screen);
    }
    for shown in &found.shown {
        named(
            &format!("  {}", shown.from),
            Paint::Plain,
            &shown.text,
            screen,
        );
    }
}

fn preserving(next: &Preserving, screen: &mut Screen) {
    let when = format!("{}, thinking {}", next.kind.name(), next.thinking.name());
    let (text, paint) = match &next.preserved {
        Preserved::Yes => (
            "appends: the next prompt begins with all that was sent".to_owned(),
            Paint::Plain,
        ),
        Preserved::No(rewrite) => {
            let place = match rewrite.message {
                Some(message) => format!("in message {message}"),
                None => "in front of all messages".to_owned(),
            };
            (
                format!(
                    "rewrites from byte {}, {place}: {}",
                    rewrite.at,
                    rewrite.reason.words()
                ),
                Paint::Faint,
            )
        }
        Preserved::Omitted(part) => (
            format!("not tested: the template has no {part}"),
            Paint::Faint,
        ),
        Preserved::Refused(error) => (format!("refused: {error}"), Paint::Faint),
    };
    row("next prompt", &format!("{when}: {text}"), paint, screen)
}

/// A name, and a wrapped text beside it.
fn row(name: &str, text: &str, paint: Paint, screen: &mut Screen) {
    screen.row(name, MARGIN, text, paint)
}

/// A name, and a text that is printed exactly.
fn named(name: &str, paint: Paint, text: &str, screen: &mut Screen) {
    screen.exact(name, MARGIN, &escaped(text), paint)
}
