//! `audit`: finds what is wrong with what a server answered.

mod asked;
mod order;
mod said;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;

use chatparse::ChatTemplate;
use chatparse::api::Api;
use chatparse::message::number;
use clap::ValueHint;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading, Template};
use crate::screen::{Paint, Screen};
use crate::text::tamed;

use asked::Asked;
use order::Turn;
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

/// Where something was found.
#[derive(Clone, Copy, Default)]
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
struct Findings {
    list: Vec<Finding>,
    known: HashSet<(&'static str, u64, Option<usize>)>,
}

impl Findings {
    fn add(&mut self, kind: &'static str, at: At, message: impl Into<String>) {
        if self.known.insert((kind, at.choice, at.call)) {
            self.list.push(Finding {
                kind,
                at,
                message: message.into(),
            });
        }
    }
}

impl Audit {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let (word, answers) = (&self.template.template, &self.answers);
        input::check_stdin([word.as_os_str(), answers])?;
        // Status 1 says that something is wrong with the answers.
        let unread = |failure| match failure {
            Failure::Failed(message) => Failure::Usage(message),
            other => other,
        };
        let template = self
            .template
            .compiled(&self.reading, None)
            .map_err(unread)?;
        let (mut number, mut audited, mut unusable) = (0, 0, 0);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        input::lines(answers, |line| {
            number += 1;
            if line.trim().is_empty() {
                return Ok(());
            }
            match audit(line, &template) {
                Ok(Findings { list, .. }) => {
                    audited += 1;
                    list.iter()
                        .for_each(|found| *kinds.entry(found.kind).or_default() += 1);
                    self.show(number, &list, screen);
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
        .map_err(unread)?;
        if !self.json {
            let listed = kinds
                .iter()
                .map(|(kind, count)| format!("{kind}: {count}"))
                .collect::<Vec<_>>()
                .join(", ");
            let listed = if listed.is_empty() {
                "no findings"
            } else {
                &listed
            };
            writeln!(screen, "answers: {audited}; {listed}");
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
        for Finding {
            kind,
            at:
                At {
                    choice,
                    call,
                    event,
                },
            message,
        } in found
        {
            let event = Some(*event).filter(|event| *event > 0);
            if self.json {
                let place = json!({"line": line, "kind": kind, "choice": choice, "call": call, "event": event, "message": message});
                writeln!(screen, "{place}");
                continue;
            }
            let choice = Some(*choice as usize).filter(|choice| *choice > 0);
            let places = [("choice", choice), ("call", *call), ("event", event)].into_iter();
            let places = places.filter_map(|(name, number)| Some(format!("{name} {}: ", number?)));
            screen.row(
                kind,
                MARGIN,
                &(places.collect::<String>() + message),
                Paint::Plain,
            );
        }
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
    if !line.is_object() {
        return Err("not an object".into());
    }
    let [request, response, listed, sent] =
        ["request", "response", "events", "stream"].map(|name| line[name].take());
    let mut found = Findings::default();
    let events: Option<Vec<Event>> = match (&sent, listed) {
        (Value::String(sent), _) => match said::events(sent) {
            Ok(events) => Some(events),
            Err(event) => {
                found.add(
                    "not-json",
                    At {
                        event,
                        ..At::default()
                    },
                    "the event is not JSON",
                );
                return Ok(found);
            }
        },
        (_, Value::Array(listed)) => Some(listed.into_iter().map(Event::of).collect()),
        _ if response.is_object() => None,
        _ => return Err("it has no response, events or stream".into()),
    };
    let first = events.as_ref().and_then(|events| events.first());
    let api = said::api_of(&request, first.map_or(&response, |event| &event.data));
    let asked = Asked::new(api, &request, template).map_err(|error| format!("request: {error}"))?;
    let is_raw = sent.is_string();
    let streamed = events
        .as_ref()
        .and_then(|events| stream(api, events, is_raw, &mut found));
    let whole = response.is_object().then(|| said::read(api, 0, &response));
    let whole = whole.and_then(|whole| order::turns(api, &whole, &mut found));
    if let (Some(streamed), Some(whole)) = (&streamed, &whole) {
        order::compare(streamed, whole, &mut found);
    }
    // There is no stream where it failed.
    let turns = if events.is_some() { streamed } else { whole }.unwrap_or_default();
    asked.count(&turns, &mut found);
    for turn in turns {
        asked.check(
            &turn,
            events.is_some(),
            line["output"].as_str().filter(|_| turn.choice == 0),
            &mut found,
        );
    }
    Ok(found)
}

/// What the events of a stream come to. `is_raw`: they are as they were sent.
fn stream(api: Api, events: &[Event], is_raw: bool, found: &mut Findings) -> Option<Vec<Turn>> {
    let mut said = Vec::new();
    for (event, Event { name, data }) in (1..).zip(events) {
        let at = At {
            event,
            ..At::default()
        };
        // Clients of Messages go by the name.
        let (kind, needs_name) = (data["type"].as_str(), is_raw && api == Api::Messages);
        if name.as_deref() != kind && (needs_name || name.is_some() && kind.is_some()) {
            found.add(
                "event-name",
                at,
                format!("the event's name is {name:?}, and its type {kind:?}"),
            );
        }
        said.extend(said::read(api, event, data));
    }
    let turns = order::turns(api, &said, found)?;
    let is_finished = turns.iter().all(|turn| !turn.finish.is_empty());
    let has_end = said.iter().any(|one| matches!(one.what, said::What::Last));
    // Clients that keep events do not always keep this one.
    if api == Api::ChatCompletions && is_raw && is_finished && !has_end {
        found.add(
            "no-end",
            At {
                event: events.len(),
                ..At::default()
            },
            "[DONE] is not there",
        );
    }
    Some(turns)
}
