//! Finds what is wrong with what servers answered, of recorded requests and answers of OpenAI's
//! chat completions, OpenAI's Responses and Anthropic's Messages.
//!
//! - **In:** recorded requests and answers of servers.
//! - **Out:** findings by event and field.
//! - **Never:** it talks to no server.
//!
//! - `said`: what an answer says, in whichever API, as one list.
//! - `order`: what the list comes to, and where its events break their API's order.
//! - `asked`: where the answer is not what the request asks for, or shows the template's markup.
//!
//! The help of `chatparse audit` lists the fields of a line and the kinds of findings;
//! docs/server.md says what each kind means.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod asked;
mod order;
mod said;

use std::collections::HashSet;

use chatparse::ChatTemplate;
use chatparse::api::Api;
use chatparse::message::number;
use serde_json::Value;

use asked::Asked;
use order::Turn;
use said::Event;

/// The place of a finding.
#[derive(Clone, Copy, Default)]
pub struct At {
    /// The number of the choice, from 0.
    pub choice: u64,
    /// The number of the call, from 0.
    pub call: Option<usize>,
    /// The number of the stream's event, from 1; 0 if the finding is in no event.
    pub event: usize,
}

impl At {
    fn event(event: usize) -> At {
        At {
            event,
            ..At::default()
        }
    }
}

/// Something that is wrong with an answer.
pub struct Finding {
    /// A word for programs, such as `lost-call`.
    pub kind: &'static str,
    /// Where it is.
    pub at: At,
    /// A description for people.
    pub message: String,
}

/// The findings in one answer: of each kind the first in each call, and the first outside of calls.
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

/// Finds what is wrong with the answer in one line of JSON, which a model with this template gave.
///
/// # Errors
/// Why the line cannot be read.
pub fn audit(line: &str, template: &ChatTemplate) -> Result<Vec<Finding>, String> {
    let mut line: Value =
        number::read(line).map_err(|error| number::wrong("not JSON", &error).to_string())?;
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
                found.add("not-json", At::event(event), "the event is not JSON");
                return Ok(found.list);
            }
        },
        (_, Value::Array(listed)) => Some(listed.into_iter().map(Event::of).collect()),
        _ if response.is_object() => None,
        _ => return Err("it has no response, events or stream".into()),
    };
    let first = events.iter().flatten().next();
    let api = said::api_of(&request, first.map_or(&response, |event| &event.data));
    let asked = Asked::new(api, &request, template).map_err(|error| format!("request: {error}"))?;
    let is_raw = sent.is_string();
    let streamed = events
        .as_ref()
        .and_then(|events| stream(api, events, is_raw, &mut found));
    let mut whole = None;
    if response.is_object() {
        whole = order::turns(api, &said::read(api, 0, &response), &mut found);
    }
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
    Ok(found.list)
}

/// What the events of a stream come to. `is_raw`: they are as they were sent.
fn stream(api: Api, events: &[Event], is_raw: bool, found: &mut Findings) -> Option<Vec<Turn>> {
    let mut said = Vec::new();
    for (event, Event { name, data }) in (1..).zip(events) {
        let at = At::event(event);
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
        found.add("no-end", At::event(events.len()), "[DONE] is not there");
    }
    Some(turns)
}
