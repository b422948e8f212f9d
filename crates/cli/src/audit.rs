//! `audit`: finds what is wrong with what a server answered.

use std::collections::BTreeMap;
use std::ffi::OsString;

use chatparse_audit::{Finding, audit};
use clap::ValueHint;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading, Template};
use crate::screen::{Paint, Screen};
use crate::text::tamed;

/// Check what a server answered: calls in content, bytes sent twice, wrong finishes
///
/// Reads requests and answers of any server, one JSON object a line, and names
/// what is wrong with each answer. Requests and answers are of OpenAI's chat
/// completions, OpenAI's Responses or Anthropic's Messages. A line has
///
///   request    the body of the request
///   response   the answer's body, or
///   events     a list of the stream's events, or
///   stream     the stream as it was sent: "data: {...}\n\ndata: ..."
///   output     the text that the model wrote, if it is known: what chatparse
///              reads in it is compared with the answer
///
/// A line with events and a response is a stream, and what it should come to.
/// TEMPLATE is that of the server's model. Each finding has the number of the
/// line, its kind, and the choice, the call and the event where it was found,
/// counted from 0, 0 and 1:
///
///   text    lost-call, shown-markup, shown-reasoning, shown-stop,
///           broken-character, empty, sent-twice, lost-text, other-text,
///           snapshots
///   calls   not-json, not-object, not-schema, unknown-tool, no-id, repeated-id,
///           changed-id, changed-name, repeated-head
///   order   order, index, role, sequence, event-name, after-end, no-end
///   end     no-finish, two-finishes, wrong-finish, usage, error
///   asked   choices, tool-choice, parallel-calls, response-format
///   output  output-reasoning, output-content, output-calls
///
/// docs/server.md says what each means. A marker that the request or, as text,
/// the output has is a quotation and no finding.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit status: 0 no findings, 1 findings, 2 wrong usage, or lines that cannot be read

Examples:
  chatparse audit model.jinja answers.jsonl
  chatparse audit model.jinja answers.jsonl --json | jq 'select(.kind == \"lost-call\")'"
)]
pub struct Audit {
    #[command(flatten)]
    template: Template,
    /// A file with requests and answers, one JSON object a line
    #[arg(value_hint = ValueHint::FilePath, default_value = "-")]
    answers: OsString,
    /// Print a JSON line for each finding: line, kind, choice, call, event and message
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Audit {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let (word, answers) = (&self.template.template, &self.answers);
        input::check_stdin([word.as_os_str(), answers])?;
        // Status 1 says that something is wrong with the answers.
        let template = self
            .template
            .compiled(&self.reading, None)
            .map_err(as_usage)?;
        screen.margin = 20;
        let (mut number, mut audited, mut unusable) = (0, 0, 0);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        input::lines(answers, |line| {
            number += 1;
            if line.trim().is_empty() {
                return Ok(());
            }
            match audit(line, &template) {
                Ok(found) => {
                    audited += 1;
                    for found in &found {
                        *kinds.entry(found.kind).or_default() += 1;
                    }
                    self.show(number, &found, screen);
                }
                Err(error) => {
                    unusable += 1;
                    match self.json {
                        true => writeln!(screen, "{}", json!({"line": number, "error": error})),
                        false => {
                            writeln!(screen, "line {number} cannot be read: {}", tamed(&error))
                        }
                    }
                }
            }
            Ok(screen.flush()?)
        })
        .map_err(as_usage)?;
        if !self.json {
            let mut listed = Vec::new();
            for (kind, count) in &kinds {
                listed.push(format!("{kind}: {count}"));
            }
            if listed.is_empty() {
                listed.push("no findings".to_owned());
            }
            writeln!(screen, "answers: {audited}; {}", listed.join(", "));
        }
        let name = input::name(answers);
        match (unusable, kinds.values().sum()) {
            (0, 0_usize) => Ok(()),
            (0, found) => Err(Failure::Failed(format!("{name}: findings: {found}"))),
            (lines, _) => Err(Failure::Usage(format!(
                "{name}: lines that cannot be read: {lines}"
            ))),
        }
    }

    fn show(&self, line: usize, found: &[Finding], screen: &mut Screen) {
        if !self.json && !found.is_empty() {
            screen.paint(Paint::Strong, &format!("line {line}\n"));
        }
        for Finding { kind, at, message } in found {
            let event = Some(at.event).filter(|event| *event > 0);
            if self.json {
                let row = json!({"line": line, "kind": kind, "choice": at.choice, "call": at.call, "event": event, "message": message});
                writeln!(screen, "{row}");
                continue;
            }
            let choice = Some(at.choice as usize).filter(|choice| *choice > 0);
            let mut text = String::new();
            for (name, number) in [("choice", choice), ("call", at.call), ("event", event)] {
                if let Some(number) = number {
                    text += &format!("{name} {number}: ");
                }
            }
            screen.row(kind, &(text + message), Paint::Plain);
        }
    }
}

/// A failure before any answer was checked: exit status 1 is for answers with findings.
fn as_usage(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(message) => Failure::Usage(message),
        other => other,
    }
}
