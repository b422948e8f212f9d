//! `lint`: checks whether the messages that templates render are read back.

use std::ffi::OsString;

use chatparse::lint::{Described, Finding, Outcome, Report};
use chatparse::next::{Preserved, Preserving};
use serde_json::{Value, json};

use crate::causes::{Cause, causes};
use crate::failure::{Failure, Outcome as Done};
use crate::input::{self, Reading, TemplateWord};
use crate::linted::{self, Linted};
use crate::sarif;
use crate::screen::{Paint, Screen};
#[cfg(feature = "tokenizers")]
use crate::vocabulary;

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
        #[cfg(feature = "tokenizers")]
        let tokenizer = self
            .tokenizer
            .as_deref()
            .map(vocabulary::read)
            .transpose()?;
        let mut all = Vec::new();
        for word in &self.templates {
            let template = linted::compiled(word, &self.reading)?;
            let linted = Linted {
                name: input::name(word),
                #[cfg(feature = "tokenizers")]
                tokenizer: match (&tokenizer, &template) {
                    (Some(tokenizer), Ok(template)) => {
                        Some(vocabulary::check(template, tokenizer)?)
                    }
                    _ => None,
                },
                #[cfg(not(feature = "tokenizers"))]
                tokenizer: None,
                found: template.map(|template| chatparse::lint::lint(&template)),
            };
            if self.json {
                writeln!(screen, "{:#}", to_json(&linted));
            } else if !self.sarif {
                if !all.is_empty() {
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
        let (mut unusable, mut faults) = (Vec::new(), Vec::new());
        for linted in &all {
            unusable.extend(linted.found.as_ref().err());
            faults.extend(linted.fault());
        }
        let count = all.len();
        if count > 1 && !self.json && !self.sarif {
            let passed = count - unusable.len() - faults.len();
            let failed = faults.len();
            write!(
                screen,
                "\n{count} templates: {passed} passed, {failed} failed"
            );
            if !unusable.is_empty() {
                write!(screen, ", {} cannot be read", unusable.len());
            }
            writeln!(screen);
        }
        // A template that cannot be read is wrong usage, and no fault of the template.
        Err(match (&unusable[..], &faults[..]) {
            ([], []) => return Ok(()),
            ([one], _) if count == 1 => Failure::Usage(one.message.clone()),
            ([], [one]) if count == 1 => Failure::Failed(format!("{}: {one}", all[0].name)),
            ([], _) => Failure::Failed(format!("{} of {count} templates fail", faults.len())),
            _ => Failure::Usage(format!(
                "{} of {count} templates cannot be read",
                unusable.len()
            )),
        })
    }
}

fn to_json(linted: &Linted) -> Value {
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

/// Prints the causes, the notes and the verdict for one template.
fn show(linted: &Linted, screen: &mut Screen) {
    screen.margin = 16;
    screen.paint(Paint::Strong, &linted.name);
    writeln!(screen);
    let report = match &linted.found {
        Ok(report) => report,
        Err(unusable) => {
            let text = format!("cannot be read: {}", unusable.message);
            return verdict(&text, false, screen);
        }
    };
    if !report.renders_nothing() {
        for found in causes(report) {
            cause(&found, report, screen);
        }
        for found in &report.findings {
            finding(found, screen);
        }
        for next in &report.next {
            preserving(next, screen);
        }
        untraced(report.untraced.as_deref(), screen);
    }
    if let Some(described) = &report.response_template {
        response_template(described, screen);
    }
    if let Some(found) = &linted.tokenizer {
        tokenizer(found, screen);
    }
    if let Some(fault) = linted.fault() {
        return verdict(&format!("failed: {fault}"), false, screen);
    }
    let (mut back, all) = (0, report.cases.len());
    for case in &report.cases {
        back += usize::from(case.outcome == Outcome::Survives);
    }
    let text = format!("passed: no faults in {all} messages; {back} come back, byte by byte");
    verdict(&text, true, screen)
}

/// Prints whether the origin of each byte of a prompt is known. `places`: where it is not; `None`
/// if the template raises an error.
fn untraced(places: Option<&[String]>, screen: &mut Screen) {
    let (text, paint) = match places {
        None => ("not tested: the template raises an error", Paint::Faint),
        Some([]) => ("known for every byte of a prompt", Paint::Plain),
        Some([first, ..]) => {
            let text = format!(
                "unknown in {} places; the first:",
                places.map_or(0, <[_]>::len)
            );
            screen.row("whose text", &text, Paint::Faint);
            return screen.exact("", first, Paint::Faint);
        }
    };
    screen.row("whose text", text, paint)
}

fn response_template(described: &Described, screen: &mut Screen) {
    let text = match &*described.error {
        "" => format!(
            "reads back {} of {} messages, the reader in use {}",
            described.read_back, described.cases, described.reader_reads_back
        ),
        error => format!("cannot be read: {error}"),
    };
    let paint = match described.is_fault() {
        true => Paint::Red,
        false => Paint::Plain,
    };
    screen.row("its response", &text, paint);
    if !described.why.is_empty() {
        screen.exact("  the first", &described.why, Paint::Plain);
    }
}

fn tokenizer(found: &[Value], screen: &mut Screen) {
    if found.is_empty() {
        let text = "ids turn by turn are those of each new render";
        screen.row("its tokenizer", text, Paint::Plain);
    }
    for found in found {
        let [kind, words] = ["kind", "words"].map(|name| found[name].as_str().unwrap_or_default());
        let text = format!("{kind}: {words}");
        screen.row("its tokenizer", &text, Paint::Faint);
        if found["messages"][0] != Value::Null {
            let messages = found["messages"].to_string();
            screen.row("  shown by", &messages, Paint::Faint);
        }
    }
}

fn verdict(text: &str, passed: bool, screen: &mut Screen) {
    screen.paint(if passed { Paint::Green } else { Paint::Red }, text);
    writeln!(screen)
}

/// The word for a cause or finding, and its style.
fn severity(is_fault: bool) -> (&'static str, Paint) {
    match is_fault {
        true => ("fault", Paint::Red),
        false => ("note", Paint::Faint),
    }
}

/// Prints a cause with its messages; for a fault also the first message in full.
fn cause(cause: &Cause, report: &Report, screen: &mut Screen) {
    let (kind, paint) = severity(cause.is_fault);
    let text = format!(
        "{}: {} ({} of {})",
        cause.name.replace('_', " "),
        cause.meaning,
        cause.cases.len(),
        report.cases.len()
    );
    screen.row(kind, &text, paint);
    let messages = cause.messages(report);
    if !cause.is_fault {
        return screen.row("  messages", &messages, Paint::Faint);
    }
    screen.row("  messages", &messages, Paint::Plain);
    let case = cause.cases[0];
    if let Outcome::Refused(error) = &case.outcome {
        let Some(place) = error.place() else {
            return screen.row("  error", error.reason(), Paint::Red);
        };
        let text = format!("template {place}: {}", error.reason());
        screen.row("  error", &text, Paint::Red);
        return screen.exact("  there", &place.excerpt, Paint::Plain);
    }
    let Some(difference) = case.outcome.difference() else {
        return;
    };
    let text = format!("{} ({})", case.probe, case.thinking.name());
    screen.row("  the first", &text, Paint::Plain);
    if !case.turn.is_empty() {
        screen.exact("  turn", &case.turn, Paint::Faint);
    }
    screen.exact("  expected", &difference.expected, Paint::Green);
    screen.exact("  got", &difference.got, Paint::Red);
    let text = match difference.at {
        Some(at) => format!("byte {at}"),
        None => "no byte: the template writes both alike".into(),
    };
    screen.row("  differs at", &text, Paint::Plain)
}

/// Prints a broken rule, and the effect on users.
fn finding(found: &Finding, screen: &mut Screen) {
    let (kind, paint) = severity(found.is_fault);
    let text = format!("{}: {}", found.rule.id(), found.message);
    screen.row(kind, &text, paint);
    screen.row("  so", found.rule.effect(), Paint::Plain);
    let mut lines = Vec::new();
    for place in &found.places {
        lines.push(place.line.to_string());
    }
    if !lines.is_empty() {
        screen.row("  in line", &lines.join(", "), Paint::Plain);
    }
    for shown in &found.shown {
        let from = format!("  {}", shown.from);
        screen.exact(&from, &shown.text, Paint::Plain);
    }
}

fn preserving(next: &Preserving, screen: &mut Screen) {
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
            let (at, reason) = (rewrite.at, rewrite.reason.words());
            let text = format!("rewrites from byte {at}, {place}: {reason}");
            (text, Paint::Faint)
        }
        Preserved::Omitted(part) => (
            format!("not tested: the template has no {part}"),
            Paint::Faint,
        ),
        Preserved::Refused(error) => (format!("refused: {error}"), Paint::Faint),
    };
    let (kind, thinking) = (next.kind.name(), next.thinking.name());
    let text = format!("{kind}, thinking {thinking}: {text}");
    screen.row("next prompt", &text, paint)
}
