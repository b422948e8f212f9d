//! Answers in the shape of the Messages API. An item of the answer is a content block.

use serde_json::Value;

use super::partial::{Prefix, object};
use crate::items::{Items, Part, Step};
use crate::wire::{Event, Finish, Reason, Usage};
use chatparse_message::{Message, text_part};

/// The signature of all thinking blocks: clients drop blocks that have none.
const SIGNATURE: &str = "chatparse";

pub fn begin(items: &Items, input_tokens: u64) -> Vec<Event> {
    let usage = Usage {
        input: input_tokens,
        ..Usage::default()
    };
    let message = message(items, Vec::new(), (None, None), &usage);
    vec![event("message_start", json!({"message": message}))]
}

pub fn ping() -> Vec<Event> {
    vec![event("ping", json!({}))]
}

/// Writes the events of steps. `sent`: what was sent of the open call's arguments.
pub fn steps(sent: &mut Prefix, items: &Items, steps: &[Step]) -> Vec<Event> {
    let mut events = Vec::new();
    for step in steps {
        let (index, delta) = match step {
            Step::Begin(index) => {
                let block = block(items, *index, "");
                events.push(event(
                    "content_block_start",
                    json!({"index": index, "content_block": block}),
                ));
                continue;
            }
            Step::Text(index, text) => match items.items[*index].part {
                Part::Reasoning => (index, json!({"type": "thinking_delta", "thinking": text})),
                Part::Content => (index, json!({"type": "text_delta", "text": text})),
                Part::Call(_) => (index, input(&sent.push(text))),
            },
            Step::End(index) if items.items[*index].part == Part::Reasoning => (
                index,
                json!({"type": "signature_delta", "signature": SIGNATURE}),
            ),
            // Closes the arguments that are open; of a text, nothing is.
            Step::End(index) => (index, input(&sent.close())),
        };
        if delta["partial_json"] != "" {
            events.push(event(
                "content_block_delta",
                json!({"index": index, "delta": delta}),
            ));
        }
        if matches!(step, Step::End(_)) {
            events.push(event("content_block_stop", json!({"index": index})));
        }
    }
    events
}

fn input(json: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": json})
}

pub fn finish(items: &Items, finish: &Finish) -> Vec<Event> {
    let (reason, sequence) = stop_reason(items, finish);
    let mut delta = json!({"stop_reason": reason, "stop_sequence": sequence});
    items.set_incomplete(&mut delta);
    let usage = usage_json(&finish.usage.unwrap_or_default());
    vec![
        event("message_delta", json!({"delta": delta, "usage": usage})),
        event("message_stop", json!({})),
    ]
}

pub fn body(items: &Items, said: &Message, finish: &Finish) -> Value {
    let blocks = items.items.iter().enumerate();
    let blocks = blocks.map(|(index, item)| block(items, index, &items.text_of(item, said)));
    let usage = finish.usage.unwrap_or_default();
    let mut message = message(items, blocks.collect(), stop_reason(items, finish), &usage);
    // Their blocks are closed where they broke off.
    items.set_incomplete(&mut message);
    message
}

fn block(items: &Items, index: usize, text: &str) -> Value {
    match items.items[index].part {
        Part::Reasoning => {
            json!({"type": "thinking", "thinking": text, "signature": if text.is_empty() { "" } else { SIGNATURE }})
        }
        Part::Content => text_part(text),
        Part::Call(call) => {
            let head = &items.calls[call];
            let mut block = json!({"type": "tool_use", "id": head.id, "name": head.tool.name});
            block["input"] = object(text).into();
            head.tool.set_namespace(&mut block);
            block
        }
    }
}

fn message(
    items: &Items,
    content: Vec<Value>,
    (reason, sequence): (Option<&str>, Option<&str>),
    usage: &Usage,
) -> Value {
    json!({
        "id": items.options.id,
        "type": "message",
        "role": "assistant",
        "model": items.options.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": usage_json(usage),
    })
}

fn stop_reason<'f>(items: &Items, finish: &'f Finish) -> (Option<&'f str>, Option<&'f str>) {
    match &finish.reason {
        Reason::Length => (Some("max_tokens"), None),
        Reason::StopSequence(text) => (Some("stop_sequence"), Some(text)),
        Reason::Stop if items.calls.is_empty() => (Some("end_turn"), None),
        Reason::Stop => (Some("tool_use"), None),
    }
}

/// Cached tokens are not included in the input tokens.
fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    })
}

fn event(name: &'static str, data: Value) -> Event {
    Event::typed(name, Value::Null, data)
}
