//! Requests and answers in the shape of three APIs: what a client puts together from the events of
//! an answer is the answer's body, and what it sends back is the conversation.

mod agents;
mod answers;
mod client;
mod errors;
mod fields;
mod follow;
mod ids;
mod namespaces;
mod requests;
mod today;
#[path = "../each_template/written.rs"]
#[allow(dead_code, reason = "the properties of each template use the rest")]
mod written;

use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish, Reason, Usage};
use chatparse::message::Request;
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, EndedBy, Params, Stream};
use serde_json::{Value, json};

const APIS: [Api; 3] = [Api::ChatCompletions, Api::Responses, Api::Messages];

fn request() -> Value {
    json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "parallel_tool_calls": true,
        "tools": [
            {"type": "function", "function": {"name": "get", "parameters": {"type": "object",
                "properties": {"key": {"type": "string"}, "n": {"type": "integer"}}, "required": ["key"]}}},
            {"type": "function", "function": {"name": "get_all"}}
        ]
    })
}

fn params(template: &ChatTemplate) -> Params {
    template
        .params(&Request::from_json(&request()).unwrap())
        .unwrap()
}

fn builtin(name: &str) -> Params {
    params(&ChatTemplate::builtin(name).unwrap())
}

fn options() -> AnswerOptions {
    let mut options = AnswerOptions::default();
    options.id = "answer-1".into();
    options.model = "m".into();
    options.created = 7;
    options
}

/// The options, changed.
fn with(change: impl FnOnce(&mut AnswerOptions)) -> AnswerOptions {
    let mut options = options();
    change(&mut options);
    options
}

fn usage(input: u64, output: u64, cached: u64, reasoning: u64) -> Usage {
    let mut usage = Usage::new(input, output);
    usage.cached = cached;
    usage.reasoning = reasoning;
    usage
}

fn stop() -> Finish {
    Finish::new(Reason::Stop, Some(usage(5, 3, 1, 2)))
}

fn length() -> Finish {
    Finish::new(Reason::Length, stop().usage)
}

/// A streamed answer: its events, the output in pieces of so many bytes, and what is left to ask
/// it.
fn streamed(
    answer: &mut Answer,
    params: &Params,
    output: &[u8],
    piece: usize,
    finish: &Finish,
) -> (Vec<Event>, Ended) {
    let mut stream = Stream::new(&params.parser);
    let mut events = answer.begin(5).unwrap();
    for piece in output.chunks(piece.max(1)) {
        events.extend(answer.deltas(stream.feed(piece)).unwrap());
    }
    let ended = stream.finish(EndedBy::limit_if(finish.reason == Reason::Length));
    events.extend(answer.deltas(stream.deltas()).unwrap());
    events.extend(answer.finish(&ended, finish).unwrap());
    (events, ended)
}

/// The body of an answer that is not streamed.
fn body(api: Api, params: &Params, output: &str, finish: &Finish) -> Value {
    let ended = params.parser.read(
        output.as_bytes(),
        EndedBy::limit_if(finish.reason == Reason::Length),
    );
    Answer::new(api, options()).body(&ended, finish)
}

fn data(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap()
}
