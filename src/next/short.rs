//! Computes the next turn from a short conversation, at a cost that does not depend on the length of the conversation.
//!
//! Most templates write the end of a turn, and the messages behind it, independently of earlier messages. So instead of the
//! whole conversation, only the system message, the last user message, the assistant's message and the new ones are
//! rendered. That gives the same result if all of this holds:
//!
//! - In conversations of many shapes (several rounds, steps of tool loops, parallel calls, with and without reasoning) the
//!   template appends, and appends the same bytes as in the short one. They are rendered once for a template, the variables
//!   of a request, whether it has a system message, tools, and reasoning in the conversation.
//! - The conversation has the structure of these shapes: only texts, rounds that begin with the user, results behind calls.
//! - None of its texts contains a marker of the template's source, which the template might search for.
//!
//! A template that counts messages or calls fails the first condition, unless it counts further than the longest of the
//! tested conversations. Because of that case, this method is used only on request.

use std::collections::HashSet;

use serde_json::Value;

use super::history::{History, New};
use super::{Kind, Next, Session, Turn};
use crate::chat::ChatTemplate;
use crate::proof::is_marker;
use chatparse_base::Result;
use chatparse_message::{Message, Request, Tool, ToolCall, ToolChoice};

/// The maximum length of a marker, in bytes.
const MARKER: usize = 64;
/// The rounds of the longest tested conversation.
const ROUNDS: usize = 12;

/// The result behind the output, if a short conversation is sufficient.
pub(super) fn next(session: &Session, output: &[u8], new: &New) -> Option<Next> {
    let kind = kind(new)?;
    let text = std::str::from_utf8(output).ok()?;
    let markers: HashSet<&str> = markers(session.template.source()).collect();
    let is_learnable = added(new).all(|message| is_ordinary(message, &markers))
        && session.params.media.is_empty()
        && is_ordinary_history(&session.history, &markers);
    let request = session.history.short().filter(|_| is_learnable)?.request();
    let short = session.template.session(request.clone()).ok()?;
    let next = short.next_whole(output, new).ok()?;
    if next.rewrite.is_some()
        || short.params.generation_prompt != session.params.generation_prompt
        || !is_ordinary(&next.message, &markers)
    {
        return None;
    }
    let thinks = !next.message.reasoning_content.is_empty() || session.history.thinks();
    let holds = || holds(&session.template, &request, kind, thinks);
    session.template.noted(key(&request, kind, thinks), holds).then(|| grown(session, &short, next, text, new))
}

/// Extends the session by what the short one was extended by.
fn grown(session: &Session, short: &Session, next: Next, output: &str, new: &New) -> Next {
    let (sent, before, begin) = (session.params.prompt.len(), session.rendered().len(), short.params.prompt.len());
    let rendered = &next.session.rendered()[begin..];
    let is_same = session.rendered.is_none() && next.session.rendered.is_none();
    let mut turns = session.turns.clone();
    turns.extend(next.session.turns.iter().map(|turn| Turn {
        rendered: turn.rendered.start - begin + before..turn.rendered.end - begin + before,
        sent: turn.sent.start - begin + sent..turn.sent.end - begin + sent,
    }));
    let rendered = (!is_same).then(|| [session.rendered(), rendered].concat());
    let prompt = [&session.params.prompt, output, next.append()].concat();
    let history = session.history.with(&next.message, new, session.template.caps());
    let mut params = next.session.params;
    params.prompt = prompt;
    let session = Session { params, template: session.template.clone(), history, rendered, turns };
    Next { session, kept: sent + output.len(), rewrite: None, short: true, message: next.message }
}

fn added(new: &New) -> impl Iterator<Item = &Message> {
    match new {
        New::Prepared(messages) => messages.iter(),
        New::Plain(_) => [].iter(),
    }
}

/// The kind of turn that these messages begin, if it is one of the tested kinds.
fn kind(new: &New) -> Option<Kind> {
    let New::Prepared(messages) = new else { return None };
    match messages.as_slice() {
        [only] if only.role == "user" => Some(Kind::UserTurn),
        [_, ..] if messages.iter().all(|message| message.role == "tool") => Some(Kind::ToolStep),
        _ => None,
    }
}

/// Identifies all that the result depends on.
fn key(request: &Request, kind: Kind, thinks: bool) -> String {
    let lead: Vec<&str> = request.messages.iter().map(|message| message.role.as_str()).collect();
    let kwargs = Value::Object(request.template_kwargs.clone());
    let (thinking, tools) = (request.enable_thinking, !request.tools.is_empty());
    json!([
        kind.name(),
        thinks,
        lead,
        thinking,
        tools,
        kwargs,
        request.add_generation_prompt,
        request.force_pure_content
    ])
    .to_string()
}

/// Whether the text behind a turn is the same in long conversations and in the short one; with `thinks`, some messages have
/// reasoning.
fn holds(template: &ChatTemplate, request: &Request, kind: Kind, thinks: bool) -> bool {
    let mut request = request.clone();
    request.tool_choice = ToolChoice::Auto;
    request.allowed_tools = None;
    request.json_schema = Value::Null;
    if !request.tools.is_empty() {
        let parameters = json!({"type": "object", "properties": {"place": {"type": "string"}}});
        let tool = |name: &str| Tool::new(name, "", parameters.clone());
        request.tools = vec![tool("look"), tool("note")];
    }
    let calls = template.caps().tool_calls;
    if kind == Kind::ToolStep && !calls {
        return false;
    }
    let lead = request.messages.len() - 1;
    let query = user(0);
    let probe = template.probe();
    let behind = |messages: Vec<Message>, turn: &[Message]| -> Result<Option<String>> {
        let mut request = request.clone();
        request.messages.truncate(lead);
        request.messages.extend(messages);
        let before = probe(&request)?;
        request.messages.extend_from_slice(turn);
        Ok(probe(&request)?.strip_prefix(&before).map(str::to_owned))
    };
    let mut agreed = 0;
    for way in [false, true].into_iter().filter(|way| thinks || !way) {
        for turn in turns(kind, way, calls) {
            let short = behind(vec![query.clone()], &turn);
            for (index, mut before) in histories(calls, thinks).into_iter().enumerate() {
                before.push(query.clone());
                let steps = if calls { index % 3 } else { 0 };
                (0..steps).for_each(|step| before.extend(round(900 + step, way, step == 1, true)));
                match (&short, behind(before, &turn)) {
                    (Ok(Some(short)), Ok(Some(whole))) if *short == whole => agreed += 1,
                    // Some templates reject parallel calls.
                    (_, Err(_)) => {}
                    _ => return false,
                }
            }
        }
    }
    agreed > 0
}

fn user(index: usize) -> Message {
    Message::new("user", format!("Fig {index}, is it?"))
}

/// A round: an answer, or one call, or an answer and two calls, with their results.
fn round(index: usize, thinks: bool, parallel: bool, calls: bool) -> Vec<Message> {
    let thought = if thinks { format!("Medlar {index}: it may be.") } else { String::new() };
    let mut message = Message::new("assistant", "");
    message.reasoning_content = thought;
    if parallel || !calls {
        message.content = format!("Quince {index}.");
    }
    if !calls {
        return vec![message];
    }
    let call = |name: &str, number: usize| {
        let arguments = json!({"place": format!("Pear {index}")}).to_string();
        // Nine letters and digits, because some templates require that.
        ToolCall::new(name, arguments, format!("call{index:03}{number:02}"))
    };
    message.tool_calls = vec![call("look", 0)];
    message.tool_calls.extend(parallel.then(|| call("note", 1)));
    let results = message.tool_calls.iter().map(|call| {
        let mut result = Message::new("tool", format!("Plum {index}."));
        result.name.clone_from(&call.name);
        result.tool_call_id.clone_from(&call.id);
        result
    });
    let results: Vec<Message> = results.collect();
    [message].into_iter().chain(results).collect()
}

/// The tested turns: the assistant's message, and the messages that follow it.
fn turns(kind: Kind, thinks: bool, calls: bool) -> Vec<Vec<Message>> {
    match kind {
        Kind::ToolStep => vec![round(1, thinks, false, calls), round(1, thinks, true, calls)],
        Kind::UserTurn => vec![round(1, thinks, false, false).into_iter().chain([user(1)]).collect()],
    }
}

/// The messages in front of the last user message.
fn histories(calls: bool, thinks: bool) -> Vec<Vec<Message>> {
    let answered = |index: usize, way: bool| [vec![user(index)], round(index, thinks && way, false, false)].concat();
    let looked = |index: usize, way: bool, parallel: bool| {
        let step = if calls { round(100 + index, thinks && way, parallel, true) } else { Vec::new() };
        [vec![user(index)], step, round(index, thinks && way, false, false)].concat()
    };
    vec![
        Vec::new(),
        answered(10, false),
        looked(10, true, false),
        [answered(10, true), looked(11, false, true)].concat(),
        [looked(10, false, true), answered(11, false), looked(12, true, false)].concat(),
        (0..ROUNDS).flat_map(|index| answered(10 + index, index % 3 == 0)).collect(),
        (0..ROUNDS).flat_map(|index| looked(10 + index, index % 2 == 0, index % 3 == 0)).collect(),
    ]
}

/// Whether the messages have the structure of the tested ones.
fn is_ordinary_history(history: &History, markers: &HashSet<&str>) -> bool {
    let mut before = "";
    for (index, turn) in history.turns().enumerate() {
        let New::Prepared(messages) = turn.messages() else { return false };
        for (number, message) in messages.iter().enumerate() {
            let fits = match message.role.as_str() {
                "system" | "developer" => index == 0 && number == 0,
                "user" => ["", "assistant"].contains(&before),
                "assistant" => ["user", "tool"].contains(&before),
                "tool" => ["call", "tool"].contains(&before),
                _ => false,
            };
            if !fits {
                return false;
            }
            before = match message.role.as_str() {
                "system" | "developer" => "",
                "user" => "user",
                "tool" => "tool",
                _ if message.tool_calls.is_empty() => "assistant",
                _ => "call",
            };
        }
        if !turn.is_ordinary(|message| is_ordinary(message, markers)) {
            return false;
        }
    }
    true
}

/// Whether a message has only texts, without markers of the template.
fn is_ordinary(message: &Message, markers: &HashSet<&str>) -> bool {
    let calls = message.tool_calls.iter().flat_map(|call| [&call.name, &call.arguments]);
    let texts = [&message.content, &message.reasoning_content, &message.name].into_iter().chain(calls);
    message.parts.is_empty() && message.more.is_empty() && texts.into_iter().all(|text| !has_marker(text, markers))
}

fn has_marker(text: &str, known: &HashSet<&str>) -> bool {
    markers(text).any(|marker| known.contains(marker))
}

fn markers(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['<', '[']).filter_map(|(at, _)| {
        let close = text.as_bytes()[at..].iter().take(MARKER).position(|byte| matches!(byte, b'>' | b']'))?;
        Some(&text[at..=at + close]).filter(|marker| is_marker(marker))
    })
}
