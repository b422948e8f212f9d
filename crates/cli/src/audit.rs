//! `audit`: finds what is wrong with what a server answered.

mod asked;
mod order;
mod said;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

use chatparse::ChatTemplate;
use chatparse::api::Api;
use chatparse::message::number;
use clap::ValueHint;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading, Template};
use crate::screen::{Paint, Screen};
use crate::text::{tamed, wrapped};

use asked::Asked;
use said::Event;

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
///   text    lost-call, shown-markup, shown-reasoning, broken-character,
///           sent-twice, lost-text, other-text, snapshots
///   calls   not-json, not-object, not-schema, unknown-tool, no-id, repeated-id,
///           changed-id, changed-name, repeated-head
///   order   order, index, role, sequence, event-name, after-end, no-end
///   end     no-finish, two-finishes, wrong-finish, usage
///   asked   tool-choice, parallel-calls, response-format
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

// The kinds of findings. Their names do not change.
const LOST_CALL: &str = "lost-call";
const SHOWN_MARKUP: &str = "shown-markup";
const SHOWN_REASONING: &str = "shown-reasoning";
const BROKEN_CHARACTER: &str = "broken-character";
const SENT_TWICE: &str = "sent-twice";
const LOST_TEXT: &str = "lost-text";
const OTHER_TEXT: &str = "other-text";
const SNAPSHOTS: &str = "snapshots";
const NOT_JSON: &str = "not-json";
const NOT_OBJECT: &str = "not-object";
const NOT_SCHEMA: &str = "not-schema";
const UNKNOWN_TOOL: &str = "unknown-tool";
const NO_ID: &str = "no-id";
const REPEATED_ID: &str = "repeated-id";
const CHANGED_ID: &str = "changed-id";
const CHANGED_NAME: &str = "changed-name";
const REPEATED_HEAD: &str = "repeated-head";
const ORDER: &str = "order";
const INDEX: &str = "index";
const ROLE: &str = "role";
const SEQUENCE: &str = "sequence";
const EVENT_NAME: &str = "event-name";
const AFTER_END: &str = "after-end";
const NO_END: &str = "no-end";
const NO_FINISH: &str = "no-finish";
const TWO_FINISHES: &str = "two-finishes";
const WRONG_FINISH: &str = "wrong-finish";
const USAGE: &str = "usage";
const TOOL_CHOICE: &str = "tool-choice";
const PARALLEL_CALLS: &str = "parallel-calls";
const RESPONSE_FORMAT: &str = "response-format";
const OUTPUT_REASONING: &str = "output-reasoning";
const OUTPUT_CONTENT: &str = "output-content";
const OUTPUT_CALLS: &str = "output-calls";

/// Where something was found.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    choice: u64,
    call: Option<usize>,
    /// From 1; 0: in no event.
    event: usize,
}

struct Finding {
    kind: &'static str,
    at: At,
    message: String,
}

/// What was found in one answer: of each kind the first in each call, and outside of calls.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, kind: &'static str, at: At, message: impl Into<String>) {
        let place = |at: At| (at.choice, at.call);
        if !self.0.iter().any(|known| known.kind == kind && place(known.at) == place(at)) {
            self.0.push(Finding { kind, at, message: message.into() });
        }
    }
}

impl Audit {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let (word, answers) = (&self.template.template, &self.answers);
        input::check_stdin([word.as_os_str(), answers])?;
        let template = self.template.compiled(&self.reading, None);
        // An audit without a template is no audit with findings.
        let template = template.map_err(|failure| match failure {
            Failure::Failed(message) => Failure::Usage(message),
            other => other,
        })?;
        let (mut number, mut audited, mut unusable) = (0, 0, 0);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        input::lines(answers, |line| {
            number += 1;
            if line.trim().is_empty() {
                return Ok(());
            }
            match audit(line, &template) {
                Ok(Findings(found)) => {
                    audited += 1;
                    found.iter().for_each(|found| *kinds.entry(found.kind).or_default() += 1);
                    self.show(number, &found, screen)?;
                }
                Err(error) => {
                    unusable += 1;
                    self.show_error(number, &error, screen)?;
                }
            }
            Ok(())
        })?;
        let found: usize = kinds.values().sum();
        if !self.json {
            let listed = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ");
            let listed = if listed.is_empty() { "no findings".to_owned() } else { listed };
            writeln!(screen, "{audited} answers: {listed}")?;
        }
        match (unusable, found) {
            (0, 0) => Ok(()),
            (0, found) => Err(Failure::Failed(format!("{}: {found} findings", input::name(answers)))),
            (lines, _) => Err(Failure::Usage(format!("{}: {lines} lines cannot be read", input::name(answers)))),
        }
    }

    fn show(&self, line: usize, found: &[Finding], screen: &mut Screen) -> io::Result<()> {
        if !self.json && !found.is_empty() {
            screen.paint(Paint::Strong, &format!("line {line}\n"))?;
        }
        for Finding { kind, at, message } in found {
            let event = Some(at.event).filter(|event| *event > 0);
            if self.json {
                let At { choice, call, .. } = at;
                let row = json!({"line": line, "kind": kind, "choice": choice, "call": call, "event": event, "message": message});
                writeln!(screen, "{row}")?;
                continue;
            }
            let choice = Some(at.choice).filter(|choice| *choice > 0).map(|choice| format!("choice {choice}"));
            let call = at.call.map(|call| format!("call {call}"));
            let places = [choice, call, event.map(|event| format!("event {event}"))];
            let places: Vec<String> = places.into_iter().flatten().collect();
            let place = if places.is_empty() { String::new() } else { places.join(", ") + ": " };
            let text = wrapped(&tamed(&(place + message)), screen.width() - MARGIN);
            screen.beside(kind, MARGIN - 2, &text, Paint::Plain)?;
        }
        Ok(())
    }

    fn show_error(&self, line: usize, error: &str, screen: &mut Screen) -> io::Result<()> {
        if self.json {
            return writeln!(screen, "{}", json!({"line": line, "error": error}));
        }
        screen.paint(Paint::Red, &format!("line {line} cannot be read: {}\n", tamed(error)))
    }
}

/// Width of the margin for kinds.
const MARGIN: usize = 20;

/// What is wrong with the answer of one line.
///
/// # Errors
/// Why the line cannot be read.
fn audit(line: &str, template: &ChatTemplate) -> Result<Findings, String> {
    let mut line: Value = number::read(line).map_err(|error| format!("not JSON: {error}"))?;
    let [request, response, listed, sent] = ["request", "response", "events", "stream"].map(|name| line[name].take());
    if !request.is_object() {
        return Err("request: it is not there, or no object".into());
    }
    let mut found = Findings::default();
    let mut events = Vec::new();
    match (&sent, listed) {
        (Value::String(stream), _) => match said::events(stream) {
            Ok(sent) => events = sent,
            Err((event, error)) => {
                found.add(NOT_JSON, At { event, ..At::default() }, format!("the event is not JSON: {error}"));
                return Ok(found);
            }
        },
        (_, Value::Array(listed)) => events.extend(listed.into_iter().map(Event::of)),
        _ if response.is_object() => {}
        _ => return Err("it has no response, no events and no stream".into()),
    }
    let first = events.first().map_or(&response, |event| &event.data);
    let api = said::api_of(&request, first);
    let asked = Asked::new(api, &request, template).map_err(|error| format!("request: {error}"))?;
    for (number, event) in (1..).zip(&events) {
        let (kind, at) = (event.data["type"].as_str(), At { event: number, ..At::default() });
        match &event.name {
            Some(name) if kind.is_some_and(|kind| kind != name) => {
                found.add(EVENT_NAME, at, format!("the event {name:?} has data of type {kind:?}"));
            }
            // Clients of Messages go by the name.
            None if api == Api::Messages && sent.is_string() => found.add(EVENT_NAME, at, "the event has no name"),
            _ => {}
        }
    }
    let said = (1..).zip(&events).flat_map(|(number, event)| said::read(api, number, &event.data)).collect::<Vec<_>>();
    let whole = response.is_object().then(|| said::read(api, 0, &response));
    let whole = whole.and_then(|whole| order::turns(api, &whole, &mut found));
    let streamed = if events.is_empty() && !sent.is_string() { None } else { order::turns(api, &said, &mut found) };
    if let (Some(streamed), Some(whole)) = (&streamed, &whole) {
        order::compare(streamed, whole, &mut found);
    }
    if let Some(turns) = streamed.as_ref().filter(|_| api == Api::ChatCompletions && sent.is_string())
        && turns.iter().all(|turn| !turn.finish.is_empty())
        && !said.iter().any(|one| matches!(one.what, said::What::Last))
    {
        found.add(NO_END, At { event: events.len(), ..At::default() }, "[DONE] is not there");
    }
    let is_streamed = streamed.is_some();
    for turn in streamed.or(whole).unwrap_or_default() {
        asked.check(&turn, is_streamed, line["output"].as_str().filter(|_| turn.choice == 0), &mut found);
    }
    Ok(found)
}
