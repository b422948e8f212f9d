//! Finds where an answer is not what the request asks for, and where it shows how the template's model writes.

use chatparse::api::{Answer, AnswerOptions, Api, Finish, Reason};
use chatparse::grammar::valid;
use chatparse::message::{CallOrigin, Dialects, ReasoningFormat, ToolChoice, number};
use chatparse::stream::OpenPart;
use chatparse::{ChatTemplate, Params, Request, Stream, Tool};
use serde_json::{Value, json};

use super::order::{Turn, are_alike, shared, turns};
use super::said::{Head, read};
use super::{
    At, BROKEN_CHARACTER, Findings, LOST_CALL, NO_ID, NOT_JSON, NOT_OBJECT, NOT_SCHEMA, OUTPUT_CALLS, OUTPUT_CONTENT,
    OUTPUT_REASONING, PARALLEL_CALLS, REPEATED_ID, RESPONSE_FORMAT, SHOWN_MARKUP, SHOWN_REASONING, TOOL_CHOICE,
    UNKNOWN_TOOL, USAGE, WRONG_FINISH,
};

/// A request, as its template has it.
pub struct Asked<'a> {
    api: Api,
    body: &'a Value,
    template: &'a ChatTemplate,
    request: Request,
    params: Params,
    /// The markers of reasoning, and all others.
    thoughts: Vec<String>,
    markers: Vec<String>,
    /// What others wrote: an answer may quote it.
    quotable: String,
}

/// The words for why an answer ended.
struct Words {
    stop: &'static str,
    calls: &'static str,
    length: &'static str,
    stop_text: &'static str,
    others: &'static [&'static str],
}

fn words(api: Api) -> Words {
    let words = |stop, calls, length, stop_text, others| Words { stop, calls, length, stop_text, others };
    match api {
        Api::Responses => words("completed", "", "incomplete", "", &["cancelled"]),
        Api::Messages => {
            let others = &["pause_turn", "refusal", "model_context_window_exceeded"];
            words("end_turn", "tool_use", "max_tokens", "stop_sequence", others)
        }
        _ => words("stop", "tool_calls", "length", "", &["content_filter", "function_call"]),
    }
}

impl<'a> Asked<'a> {
    /// # Errors
    /// If the request cannot be read, or the template does not render it.
    pub fn new(api: Api, body: &'a Value, template: &'a ChatTemplate) -> chatparse::Result<Self> {
        let request = Request::from_json_with(&api.request(body)?, &json!({"hosted_tools": "keep"}))?;
        let params = template.params(&request)?;
        let end = params.end_of_turn().to_owned();
        let listed = |texts: Vec<&str>| {
            let texts = texts.into_iter().map(|text| text.trim().to_owned()).filter(|text| is_marker(text));
            texts.collect::<Vec<String>>()
        };
        let thinking = params.thinking.iter();
        let thoughts = thinking.flat_map(|thinking| [&thinking.start].into_iter().chain(thinking.ends.first()));
        let mut thoughts = listed(thoughts.map(String::as_str).collect());
        thoughts.retain(|mark| *mark != end);
        let texts = params.preserved_tokens.iter().chain(&params.additional_stops);
        let texts = texts.chain(params.delimiters.iter().map(|delimiter| &delimiter.delimiter)).chain([&end]);
        let mut markers = listed(texts.map(String::as_str).collect());
        markers.retain(|mark| !thoughts.contains(mark));
        let others = request.messages.iter().filter(|message| message.role != "assistant");
        let quotable = others.map(|message| message.text()).collect::<Vec<_>>().join("\n");
        Ok(Asked { api, body, template, request, params, thoughts, markers, quotable })
    }

    /// Checks a choice. `output`: what the model wrote.
    pub fn check(&self, turn: &Turn, streamed: bool, output: Option<&str>, found: &mut Findings) {
        let own = output.map(|output| self.own(turn, output));
        self.calls(turn, own.as_ref(), found);
        self.texts(turn, own.as_ref(), found);
        self.finish(turn, found);
        self.usage(turn, streamed, found);
        self.choice(turn, found);
        if let Some(own) = &own {
            unlike(turn, own, found);
        }
    }

    fn is_cut(&self, turn: &Turn) -> bool {
        words(self.api).length == turn.finish
    }

    fn calls(&self, turn: &Turn, own: Option<&Turn>, found: &mut Findings) {
        for (call, (head, arguments)) in turn.calls.iter().enumerate() {
            let at = At { choice: turn.choice, call: Some(call), event: 0 };
            if head.id.is_empty() {
                found.add(NO_ID, at, "the call has no id");
            } else if turn.calls[..call].iter().any(|(other, _)| other.id == head.id) {
                found.add(REPEATED_ID, at, format!("an earlier call has the id {:?}, too", head.id));
            }
            let own = own.and_then(|own| own.calls.get(call)).map(|(_, own)| own.as_str());
            if let Some((_, mark)) = self.shown(arguments, own) {
                found.add(SHOWN_MARKUP, at, format!("the arguments have {mark:?}"));
            }
            self.broken(arguments, own, at, found);
            let tool = self.request.tools.iter().find(|tool| is_of(tool, head));
            if tool.is_none() && self.request.hosted_tools.is_empty() {
                found.add(UNKNOWN_TOOL, at, format!("the request offers no tool {:?}", head.name));
            }
            let is_last = call + 1 == turn.calls.len();
            if !(self.is_cut(turn) && is_last || turn.incomplete.contains(&head.id)) {
                arguments_fit(head.custom, arguments, tool, at, found);
            }
        }
    }

    /// Checks reasoning and content.
    fn texts(&self, turn: &Turn, own: Option<&Turn>, found: &mut Findings) {
        let at = At { choice: turn.choice, ..At::default() };
        let (reasoning, content) = (&*turn.reasoning, &*turn.content);
        let [own_reasoning, own_content] = [own.map(|own| &*own.reasoning), own.map(|own| &*own.content)];
        self.broken(reasoning, own_reasoning, at, found);
        self.broken(content, own_content, at, found);
        if let Some((_, mark)) = self.shown(reasoning, own_reasoning) {
            found.add(SHOWN_MARKUP, at, format!("the reasoning has {mark:?}"));
        }
        let again = reasoning.trim();
        if again.len() >= LONG && content.trim_start().starts_with(again) {
            found.add(SHOWN_REASONING, at, "the content begins with all of the reasoning");
        }
        let is_read_so = own_content.is_some_and(|own| own.trim() == content.trim());
        match self.call_in(content).filter(|_| !is_read_so) {
            Some(name) => found.add(LOST_CALL, at, format!("the content has a call of {name:?}")),
            None => match self.shown(content, own_content) {
                Some((true, _)) if self.request.reasoning_format == ReasoningFormat::None => {}
                Some((true, mark)) => found.add(SHOWN_REASONING, at, format!("the content has {mark:?}")),
                Some((false, mark)) => found.add(SHOWN_MARKUP, at, format!("the content has {mark:?}")),
                None => {}
            },
        }
    }

    /// The first marker in a text that quotes nobody, and whether it is one of reasoning. `own`: the text as this library reads it.
    fn shown<'t>(&'t self, text: &'t str, own: Option<&str>) -> Option<(bool, &'t str)> {
        let [thoughts, markers] = [(true, &self.thoughts), (false, &self.markers)]
            .map(|(is_thought, marks)| marks.iter().map(move |mark| (is_thought, mark.as_str())));
        let mut marks = thoughts.chain(markers).chain(specials(text).map(|token| (false, token)));
        let is_quoted = |mark: &str| self.quotable.contains(mark) || own.is_some_and(|own| own.contains(mark));
        marks.find(|(_, mark)| text.contains(mark) && !is_quoted(mark))
    }

    fn broken(&self, text: &str, own: Option<&str>, at: At, found: &mut Findings) {
        let has = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        if has(text) && !has(&self.quotable) && !own.is_some_and(has) {
            found.add(BROKEN_CHARACTER, at, "a text has U+FFFD, which stands for a character that was cut");
        }
    }

    /// The tool of a call that the content has.
    fn call_in(&self, content: &str) -> Option<String> {
        if self.request.tools.is_empty() || self.request.tool_choice == ToolChoice::None || !content.contains(MARKS) {
            return None;
        }
        let mut request = self.request.clone();
        request.tool_choice = ToolChoice::Auto;
        request.json_schema = Value::Null;
        request.leniency.dialects = Dialects::Always;
        let params = self.template.parser_for(&self.params.prompt, &request).ok()?;
        let mut stream = Stream::new(&params.parser);
        // The prompt may have opened a thought, which is not in the content.
        let end = params.thinking.as_ref().and_then(|thinking| thinking.ends.first());
        let is_open = stream.state().part == OpenPart::Reasoning;
        if let Some(end) = end.filter(|end| is_open && !content.contains(end.trim())) {
            let _ = stream.feed(end.as_bytes());
        }
        let _ = stream.feed(content.as_bytes());
        let ended = stream.finish(true);
        let is_alone = ended.message.content.trim().is_empty() && self.request.json_schema.is_null();
        let calls = ended.message.tool_calls.iter().zip(ended.calls());
        let mut lost = calls.filter(|(_, call)| call.known && (is_alone || call.origin != CallOrigin::Bare));
        lost.next().map(|(call, _)| call.name.clone())
    }

    fn finish(&self, turn: &Turn, found: &mut Findings) {
        let at = At { choice: turn.choice, ..At::default() };
        let Words { stop, calls, length, stop_text, others } = words(self.api);
        let finish = &*turn.finish;
        let mut wrong = |why: String| found.add(WRONG_FINISH, at, format!("the finish is {finish:?}, {why}"));
        // OpenAI's own servers say so where the request names the function.
        let is_named = self.request.tool_choice == ToolChoice::Required && self.request.allowed_tools.is_some();
        match finish {
            "" => {}
            _ if finish == stop && !calls.is_empty() && !turn.calls.is_empty() && !is_named => {
                wrong("though there are calls".into());
            }
            _ if finish == calls && turn.calls.is_empty() && turn.others == 0 => wrong("but there is no call".into()),
            _ if finish == length => {
                let used = turn.usage.as_ref().and_then(|usage| usage.output);
                if let (Some(used), Some(limit)) = (used, self.limit())
                    && used < limit
                {
                    wrong(format!("but only {used} of {limit} tokens were used"));
                }
            }
            _ if finish == stop_text => {
                let stops = &self.body["stop_sequences"];
                if !stops.as_array().is_some_and(|stops| stops.iter().any(|stop| *stop == *turn.stop_text)) {
                    wrong(format!("at {:?}, which the request does not name", turn.stop_text));
                }
            }
            _ if finish == stop || finish == calls || others.contains(&finish) => {}
            _ => wrong("which the API does not know".into()),
        }
    }

    fn limit(&self) -> Option<u64> {
        let names = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
        names.into_iter().find_map(|name| self.body[name].as_u64())
    }

    fn usage(&self, turn: &Turn, streamed: bool, found: &mut Findings) {
        let mut wrong = |why: String| found.add(USAGE, At { choice: turn.choice, ..At::default() }, why);
        let Some(usage) = &turn.usage else {
            if streamed && self.body["stream_options"]["include_usage"] == true {
                wrong("the request asks for usage, and there is none".into());
            }
            return;
        };
        let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
        if let Some(total) = usage.total.filter(|total| *total != input.saturating_add(output)) {
            wrong(format!("{total} tokens are not {input} and {output}"));
        }
        for (part, name, all) in [(usage.cached, "cached", input), (usage.reasoning, "reasoning", output)] {
            if let Some(part) = part.filter(|part| *part > all) {
                wrong(format!("{part} {name} tokens are more than all {all}"));
            }
        }
        let says = !turn.content.is_empty() || !turn.reasoning.is_empty() || !turn.calls.is_empty();
        if says && output == 0 {
            wrong("no tokens of output, although there is some".into());
        }
        if let Some(limit) = self.limit().filter(|limit| output > *limit && self.choices() == 1) {
            wrong(format!("{output} tokens of output are more than the {limit} that the request allows"));
        }
    }

    fn choices(&self) -> u64 {
        self.body["n"].as_u64().unwrap_or(1)
    }

    /// Checks the choice of tools, and the schema of the answer.
    fn choice(&self, turn: &Turn, found: &mut Findings) {
        let at = At { choice: turn.choice, ..At::default() };
        let (request, words) = (&self.request, words(self.api));
        let is_whole = [words.stop, words.calls].contains(&&*turn.finish);
        let has_calls = !turn.calls.is_empty() || turn.others > 0;
        match request.tool_choice {
            ToolChoice::None if !turn.calls.is_empty() => {
                found.add(TOOL_CHOICE, at, "there are calls, though the request forbids them");
            }
            ToolChoice::Required if is_whole && !has_calls => {
                found.add(TOOL_CHOICE, at, "there is no call, though the request requires one");
            }
            _ => {}
        }
        if let Some(allowed) = &request.allowed_tools
            && let Some((head, _)) = turn.calls.iter().find(|(head, _)| !allowed.iter().any(|tool| is_of(tool, head)))
        {
            found.add(TOOL_CHOICE, at, format!("{:?} is called, but the request allows other tools only", head.name));
        }
        if !request.parallel_tool_calls && turn.calls.len() > 1 {
            found.add(PARALLEL_CALLS, at, format!("there are {} calls, and the request allows one", turn.calls.len()));
        }
        if !request.json_schema.is_null() && is_whole && !has_calls {
            match number::read::<Value>(turn.content.trim()) {
                Err(error) => found.add(RESPONSE_FORMAT, at, format!("the content is not JSON: {error}")),
                Ok(value) => {
                    if let Some(first) = valid::check(&request.json_schema, &value).first() {
                        found.add(RESPONSE_FORMAT, at, format!("the content: {:?} {}", first.pointer, first.message));
                    }
                }
            }
        }
    }

    /// The answer that this library makes of the output.
    fn own(&self, turn: &Turn, output: &str) -> Turn {
        let mut options = AnswerOptions::default();
        options.request = self.body.clone();
        let is_cut = self.is_cut(turn);
        let finish = Finish::new(if is_cut { Reason::Length } else { Reason::Stop }, None);
        let ended = self.params.parser.read(output.as_bytes(), is_cut, false);
        let body = ended.map(|ended| Answer::new(self.api, options).body(&ended, &finish)).unwrap_or_default();
        let turns = turns(self.api, &read(self.api, 0, &body), &mut Findings::default());
        turns.and_then(|turns| turns.into_iter().next()).unwrap_or_default()
    }
}

/// Whether a call is one of this tool; its namespace may be a part of its name.
fn is_of(tool: &Tool, head: &Head) -> bool {
    let space = &*tool.namespace;
    let is_full = !space.is_empty() && head.name.starts_with(space) && head.name.ends_with(&tool.name);
    is_full || head.name == tool.name && (head.namespace.is_empty() || head.namespace == space)
}

fn arguments_fit(custom: bool, arguments: &str, tool: Option<&Tool>, at: At, found: &mut Findings) {
    let value = match number::read::<Value>(arguments) {
        _ if custom => json!({"input": arguments}),
        Ok(value) if value.is_object() => value,
        Ok(_) => return found.add(NOT_OBJECT, at, "the arguments are JSON, but no object"),
        Err(error) => return found.add(NOT_JSON, at, format!("the arguments are not JSON: {error}")),
    };
    if let Some(first) = tool.and_then(|tool| valid::check(&tool.parameters, &value).into_iter().next()) {
        found.add(NOT_SCHEMA, at, format!("the arguments: {:?} {}", first.pointer, first.message));
    }
}

/// Finds where an answer is not what this library reads of the output. White space around texts is the server's matter.
fn unlike(turn: &Turn, own: &Turn, found: &mut Findings) {
    let at = At { choice: turn.choice, ..At::default() };
    let texts = [(OUTPUT_REASONING, &turn.reasoning, &own.reasoning), (OUTPUT_CONTENT, &turn.content, &own.content)];
    for (kind, is, read) in texts.map(|(kind, is, read)| (kind, is.trim(), read.trim())) {
        if is != read {
            let (long, short) = (is.len(), read.len());
            let from = shared(is, read);
            found.add(kind, at, format!("{long} bytes, but the output has {short}; they differ from byte {from} on"));
        }
    }
    if turn.calls.len() != own.calls.len() {
        let (is, read) = (turn.calls.len(), own.calls.len());
        return found.add(OUTPUT_CALLS, at, format!("there are {is} calls, but {read} in the output"));
    }
    for (call, ((head, is), (other, read))) in turn.calls.iter().zip(&own.calls).enumerate() {
        let at = At { call: Some(call), ..at };
        if head.name != other.name {
            found.add(OUTPUT_CALLS, at, format!("{:?} is called, but {:?} in the output", head.name, other.name));
        } else if !are_alike(is, read) {
            found.add(OUTPUT_CALLS, at, format!("the arguments are {is}, but {read} in the output"));
        }
    }
}

/// A text of so many bytes is not there twice by chance.
const LONG: usize = 20;

/// What calls and markers begin with.
const MARKS: [char; 5] = ['<', '[', '{', '|', '>'];

/// Whether a text is markup whatever stands around it.
fn is_marker(text: &str) -> bool {
    text.len() > 3 && text.contains(['<', '[', '|']) && text.contains(char::is_alphanumeric)
}

/// Texts in the shape of special tokens, `<|name|>`.
fn specials(text: &str) -> impl Iterator<Item = &str> {
    let openings = text.match_indices("<|").filter_map(move |(at, open)| {
        let rest = &text[at + open.len()..];
        let end = rest.find("|>")?;
        let is_name = end > 0 && rest[..end].chars().all(|c| c.is_alphanumeric() || "_-:/".contains(c));
        is_name.then(|| &text[at..at + open.len() + end + "|>".len()])
    });
    openings
}
