//! Finds where an answer is not what the request asks for, and where it shows how the template's
//! model writes.

use std::collections::{BTreeSet, HashSet};

use chatparse::api::{Answer, AnswerOptions, Api, Finish, Reason};
use chatparse::grammar::valid;
use chatparse::message::{CallOrigin, Dialects, ReasoningFormat, ToolChoice, number};
use chatparse::{ChatTemplate, EndedBy, Params, Request, Tool};
use serde_json::{Value, json};

use crate::order::{Turn, differences, turns};
use crate::said::{Head, read};
use crate::{At, Findings};

/// A request, as its template has it.
pub struct Asked<'a> {
    api: Api,
    body: &'a Value,
    template: &'a ChatTemplate,
    request: Request,
    params: Params,
    /// Markers, and whether they are of reasoning; those come first.
    marks: Vec<(bool, String)>,
    /// What others wrote: an answer may quote it.
    quotable: String,
}

/// The words for why an answer ended: the model's turn, its calls, a limit, a stop text, and
/// others.
fn words(api: Api) -> ([&'static str; 4], &'static [&'static str]) {
    match api {
        Api::Responses => (
            ["completed", "", "incomplete", ""],
            &["cancelled", "content_filter"],
        ),
        Api::Messages => {
            let others = &["pause_turn", "refusal", "model_context_window_exceeded"];
            (
                ["end_turn", "tool_use", "max_tokens", "stop_sequence"],
                others,
            )
        }
        _ => (
            ["stop", "tool_calls", "length", ""],
            &["content_filter", "function_call"],
        ),
    }
}

impl<'a> Asked<'a> {
    /// # Errors
    /// If the request cannot be read, or the template does not render it.
    pub fn new(api: Api, body: &'a Value, template: &'a ChatTemplate) -> chatparse::Result<Self> {
        let request =
            Request::from_json_with(&api.request(body)?, &json!({"hosted_tools": "keep"}))?;
        let params = template.params(&request)?;
        let end = params.end_of_turn();
        let mut marks = Vec::new();
        if let Some(thinking) = &params.thinking {
            for mark in [&thinking.start].into_iter().chain(thinking.ends.first()) {
                if mark.trim() != end {
                    marks.push((true, mark.trim().to_owned()));
                }
            }
        }
        let told = params
            .preserved_tokens
            .iter()
            .chain(&params.additional_stops);
        let told = told.map(|mark| &**mark).chain([end]);
        let openings = params.delimiters.iter().map(|mark| &*mark.delimiter);
        for mark in told.chain(openings) {
            marks.push((false, mark.trim().to_owned()));
        }
        // Other texts, too, have short marks, and those of one kind of sign.
        marks.retain(|(_, mark)| {
            mark.len() > 3 && mark.contains(['<', '[', '|']) && mark.contains(char::is_alphanumeric)
        });
        let mut quotable = String::new();
        for message in &request.messages {
            if message.role != "assistant" {
                quotable.extend([&*message.text(), "\n"]);
            }
        }
        Ok(Asked {
            api,
            body,
            template,
            request,
            params,
            marks,
            quotable,
        })
    }

    /// Checks a choice. `output`: what the model wrote.
    pub fn check(&self, turn: &Turn, streamed: bool, output: Option<&str>, found: &mut Findings) {
        let mut check = Check {
            asked: self,
            turn,
            has_output: output.is_some(),
            own: &output.map_or_else(Turn::default, |output| self.own(turn, output)),
            at: At {
                choice: turn.choice,
                ..At::default()
            },
            found,
        };
        check.calls();
        check.texts();
        check.stop();
        check.finish();
        check.usage(streamed);
        check.choice();
        check.output();
    }

    /// The answer that this library makes of the output.
    fn own(&self, turn: &Turn, output: &str) -> Turn {
        let mut options = AnswerOptions::default();
        options.request = self.body.clone();
        let is_cut = self.is_cut(turn);
        let finish = Finish::new(if is_cut { Reason::Length } else { Reason::Stop }, None);
        let ended = self
            .params
            .parser
            .read(output.as_bytes(), EndedBy::limit_if(is_cut));
        let body = Answer::new(self.api, options).body(&ended, &finish);
        let turns = turns(
            self.api,
            &read(self.api, 0, &body),
            &mut Findings::default(),
        );
        turns.into_iter().flatten().next().unwrap_or_default()
    }

    /// Checks the number of choices; an error has none.
    pub fn count(&self, turns: &[Turn], found: &mut Findings) {
        let (all, choices) = (turns.len() as u64, self.choices());
        if self.api == Api::ChatCompletions && all > 0 && all < choices {
            found.add(
                "choices",
                At::default(),
                format!("choices: {all}, and the request asks for {choices}"),
            );
        }
    }

    fn choices(&self) -> u64 {
        self.body["n"].as_u64().unwrap_or(1)
    }

    /// The texts at which the client wants answers to stop.
    fn stops(&self) -> impl Iterator<Item = &str> {
        let listed =
            ["stop", "stop_sequences"]
                .into_iter()
                .flat_map(|name| match &self.body[name] {
                    Value::Array(all) => &all[..],
                    one => std::slice::from_ref(one),
                });
        listed
            .filter_map(Value::as_str)
            .filter(|stop| !stop.is_empty())
    }

    fn is_cut(&self, turn: &Turn) -> bool {
        words(self.api).0[2] == turn.finish
    }

    /// The tool of a call that the content has: as it begins, or from one of its first markers on.
    fn call_in(&self, content: &str) -> Option<String> {
        let output = &self.request.output;
        if self.request.tools.is_empty()
            || output.tool_choice == ToolChoice::None
            || !output.json_schema.is_null()
            || !content.contains(['<', '[', '{', '|', '>'])
        {
            return None;
        }
        let mut request = self.request.clone();
        request.output.tool_choice = ToolChoice::Auto;
        request.output.leniency.dialects = Dialects::Always;
        let params = self
            .template
            .parser_for(&self.params.prompt, &request)
            .ok()?;
        let mut starts = BTreeSet::from([0]);
        for (_, mark) in &self.marks {
            starts.extend(content.match_indices(mark).map(|(at, _)| at));
        }
        // The prompt may have opened a thought, which is not in the text.
        let thought = params.parser.read(b"x", EndedBy::Limit).message;
        let thinking = params
            .thinking
            .as_ref()
            .filter(|_| !thought.reasoning_content.is_empty());
        let end = thinking.and_then(|thinking| thinking.ends.first());
        let end = end.map_or("", String::as_str);
        let mut starts = starts.into_iter().take(STARTS);
        starts.find_map(|from| called(&params, end, &content[from..]))
    }

    fn limit(&self) -> Option<u64> {
        first_number(
            self.body,
            &["max_completion_tokens", "max_output_tokens", "max_tokens"],
        )
    }
}

/// In how many places a call is looked for.
const STARTS: usize = 8;

/// The tool of the first call in a text, if the text is what a message has instead of the call.
/// `end`: of the thought that the prompt has opened.
fn called(params: &Params, end: &str, text: &str) -> Option<String> {
    let end = if text.contains(end.trim()) { "" } else { end };
    let ended = params
        .parser
        .read(format!("{end}{text}").as_bytes(), EndedBy::Limit);
    // A call without a marker may be quoted, unless it is all that is there.
    let is_alone = ended.message.content.trim().is_empty();
    let calls = ended.message.tool_calls.iter().zip(ended.calls());
    let mut lost =
        calls.filter(|(_, call)| call.known && (is_alone || call.origin != CallOrigin::Bare));
    lost.next().map(|(call, _)| call.name.clone())
}

/// The check of one choice. `own`: what this library makes of the output, if that is known.
struct Check<'a> {
    asked: &'a Asked<'a>,
    turn: &'a Turn,
    has_output: bool,
    own: &'a Turn,
    /// What is checked: the choice, or one of its calls.
    at: At,
    found: &'a mut Findings,
}

/// A text of so many bytes is not there twice by chance.
const LONG: usize = 20;

impl Check<'_> {
    fn add(&mut self, kind: &'static str, message: impl Into<String>) {
        self.found.add(kind, self.at, message);
    }

    fn calls(&mut self) {
        let (asked, turn) = (self.asked, self.turn);
        let mut ids = HashSet::new();
        for (call, (head, arguments)) in turn.calls.iter().enumerate() {
            self.at.call = Some(call);
            if head.id.is_empty() {
                self.add("no-id", "the call has no id");
            } else if !ids.insert(&head.id) {
                self.add(
                    "repeated-id",
                    format!("an earlier call has the id {:?}, too", head.id),
                );
            }
            let own = self.own.calls.get(call).map_or("", |(_, own)| own);
            // Markers may have quotation marks.
            if let Some((_, mark)) =
                self.shown(&arguments.replace("\\\"", "\""), &own.replace("\\\"", "\""))
            {
                self.add("shown-markup", format!("the arguments have {mark:?}"));
            }
            self.broken(arguments, own);
            let tool = asked.request.tools.iter().find(|tool| is_of(tool, head));
            if tool.is_none() && asked.request.hosted_tools.is_empty() {
                self.add(
                    "unknown-tool",
                    format!("the request offers no tool {:?}", head.name),
                );
            }
            if !(asked.is_cut(turn) && call + 1 == turn.calls.len()) {
                self.arguments(call, tool);
            }
        }
        self.at.call = None;
    }

    fn arguments(&mut self, call: usize, tool: Option<&Tool>) {
        let (head, arguments) = &self.turn.calls[call];
        let value = match number::read::<Value>(arguments) {
            _ if head.custom => json!({"input": arguments}),
            Ok(value) if value.is_object() => value,
            Ok(_) => {
                return self.add("not-object", "the arguments are JSON, but no object");
            }
            Err(error) => {
                return self.add(
                    "not-json",
                    number::wrong("the arguments are not JSON", &error).to_string(),
                );
            }
        };
        if let Some(wrong) = tool.and_then(|tool| first_wrong(&tool.parameters, &value)) {
            self.add("not-schema", format!("the arguments: {wrong}"));
        }
    }

    /// Checks reasoning and content.
    fn texts(&mut self) {
        let (reasoning, content, own) = (&*self.turn.reasoning, &*self.turn.content, self.own);
        let is_read_so = self.has_output && own.content.trim() == content.trim();
        self.broken(reasoning, &own.reasoning);
        self.broken(content, &own.content);
        if let Some((_, mark)) = self.shown(reasoning, &own.reasoning) {
            self.add("shown-markup", format!("the reasoning has {mark:?}"));
        }
        let again = reasoning.trim();
        if again.len() >= LONG && content.trim_start().starts_with(again) {
            self.add(
                "shown-reasoning",
                "the content begins with all of the reasoning",
            );
        }
        if let Some(name) = self.asked.call_in(content).filter(|_| !is_read_so) {
            self.add("lost-call", format!("the content has a call of {name:?}"));
        } else if let Some((of_thought, mark)) = self.shown(content, &own.content) {
            if !of_thought {
                self.add("shown-markup", format!("the content has {mark:?}"));
            } else if self.asked.request.output.reasoning_format != ReasoningFormat::None {
                self.add("shown-reasoning", format!("the content has {mark:?}"));
            }
        }
    }

    /// Checks texts of the client's own, and whether there is anything.
    fn stop(&mut self) {
        let (asked, turn) = (self.asked, self.turn);
        // Options of servers that leave the text in.
        let is_kept = ["include_stop_str_in_output", "no_stop_trim"]
            .iter()
            .any(|name| asked.body[*name] == true);
        if let Some(stop) = asked
            .stops()
            .find(|stop| !is_kept && turn.content.contains(stop))
        {
            self.add(
                "shown-stop",
                format!("the content has {stop:?}, at which the request asks to stop"),
            );
        }
        let [stop, ..] = words(asked.api).0;
        // A text of the client's may have ended it at once.
        let may_be = asked.api == Api::ChatCompletions && asked.stops().next().is_some();
        let is_read_so = self.has_output && self.own.is_empty();
        if turn.finish == stop && turn.is_empty() && !may_be && !is_read_so {
            self.add(
                "empty",
                format!("the answer is empty, and its finish is {stop:?}"),
            );
        }
    }

    /// The first marker in a text that quotes nobody, and whether it is one of reasoning. `own`:
    /// the text as this library reads it.
    fn shown(&self, text: &str, own: &str) -> Option<(bool, String)> {
        let mut marks = self
            .asked
            .marks
            .iter()
            .cloned()
            .chain(specials(text).map(|token| (false, token.to_owned())));
        marks.find(|(_, mark)| self.is_new(mark, text, own))
    }

    /// Whether a text has what neither the request nor the text as this library reads it has.
    fn is_new(&self, mark: &str, text: &str, own: &str) -> bool {
        text.contains(mark) && !self.asked.quotable.contains(mark) && !own.contains(mark)
    }

    fn broken(&mut self, text: &str, own: &str) {
        if self.is_new("\u{fffd}", text, own) {
            self.add(
                "broken-character",
                "a text has U+FFFD, which stands for a character that was cut",
            );
        }
    }

    fn finish(&mut self) {
        let (asked, turn, finish) = (self.asked, self.turn, &*self.turn.finish);
        let ([stop, calls, length, stop_text], others) = words(asked.api);
        let has_calls = !turn.calls.is_empty();
        // OpenAI's own servers say so where the request names the function.
        let is_named = asked.api == Api::ChatCompletions && asked.request.allowed_tools.is_some();
        let wrong = match finish {
            "" => return,
            _ if finish == stop && has_calls && !calls.is_empty() && !is_named => {
                "though there are calls".to_owned()
            }
            _ if finish == calls && !has_calls && turn.others == 0 => {
                "but there is no call".to_owned()
            }
            _ if finish == length => match (self.used(), asked.limit()) {
                (Some(used), Some(limit)) if used < limit => {
                    format!("but {used} of {limit} tokens were used")
                }
                _ => return,
            },
            _ if finish == stop_text => {
                if asked.stops().any(|stop| stop == turn.stop_text) {
                    return;
                }
                format!("at {:?}, which the request does not name", turn.stop_text)
            }
            _ if finish == stop || finish == calls || others.contains(&finish) => return,
            _ => "which the API does not have".to_owned(),
        };
        self.add("wrong-finish", format!("the finish is {finish:?}, {wrong}"));
    }

    /// Tokens of output.
    fn used(&self) -> Option<u64> {
        first_number(&self.turn.usage, &["completion_tokens", "output_tokens"])
    }

    fn usage(&mut self, streamed: bool) {
        let (usage, turn, body) = (&self.turn.usage, self.turn, self.asked.body);
        let Some(output) = self.used() else {
            if usage.is_null() && streamed && body["stream_options"]["include_usage"] == true {
                self.add("usage", "the request asks for it, and there is none");
            }
            return;
        };
        let input = first_number(usage, &["prompt_tokens", "input_tokens"]).unwrap_or(0);
        let of_input = ["prompt_tokens_details", "input_tokens_details"];
        let of_output = ["completion_tokens_details", "output_tokens_details"];
        let cached = of_input
            .iter()
            .find_map(|part| usage[*part]["cached_tokens"].as_u64());
        let thought = of_output
            .iter()
            .find_map(|part| usage[*part]["reasoning_tokens"].as_u64());
        let sum = input.saturating_add(output);
        let total = usage["total_tokens"].as_u64().filter(|total| *total != sum);
        let limit = self.asked.limit().filter(|_| self.asked.choices() == 1);
        if let Some(total) = total {
            self.add(
                "usage",
                format!("total_tokens is {total}, but {input} + {output} = {sum}"),
            );
        } else if cached > Some(input) || thought > Some(output) {
            self.add("usage", "a part has more tokens than all of it");
        } else if output == 0 && !turn.is_empty() {
            self.add("usage", "no tokens of output, although there is some");
        } else if let Some(limit) = limit.filter(|limit| output > *limit) {
            self.add(
                "usage",
                format!("{output} tokens of output, though the request allows {limit}"),
            );
        }
    }

    /// Checks the choice of tools, and the schema of the answer.
    fn choice(&mut self) {
        let (turn, request) = (self.turn, &self.asked.request);
        let choices = self.asked.choices();
        if turn.choice >= choices {
            self.add("index", format!("the request asks for {choices} choices"));
        }
        // An answer that a limit cut off may lack its call.
        let is_whole = words(self.asked.api).0[..2].contains(&&*turn.finish);
        let has_calls = !turn.calls.is_empty() || turn.others > 0;
        match request.output.tool_choice {
            ToolChoice::None if !turn.calls.is_empty() => {
                self.add(
                    "tool-choice",
                    "there are calls, though the request forbids them",
                );
            }
            ToolChoice::Required if is_whole && !has_calls => {
                self.add(
                    "tool-choice",
                    "there is no call, though the request requires one",
                );
            }
            _ => {}
        }
        if let Some(allowed) = &request.allowed_tools
            && let Some((head, _)) = turn
                .calls
                .iter()
                .find(|(head, _)| !allowed.iter().any(|tool| is_of(tool, head)))
        {
            self.add(
                "tool-choice",
                format!(
                    "{:?} is called, but the request allows others only",
                    head.name
                ),
            );
        }
        if !request.output.parallel_tool_calls && turn.calls.len() > 1 {
            let calls = turn.calls.len();
            self.add(
                "parallel-calls",
                format!("there are {calls} calls, and the request allows one"),
            );
        }
        // A call may replace the answer that the schema asks for.
        if !request.output.json_schema.is_null() && is_whole && !has_calls {
            let wrong = match number::read::<Value>(turn.content.trim()) {
                Err(error) => Some(number::wrong("the content is not JSON", &error).to_string()),
                Ok(value) => first_wrong(&request.output.json_schema, &value),
            };
            if let Some(wrong) = wrong {
                self.add("response-format", wrong);
            }
        }
    }

    /// Compares with what this library reads in the output. White space around texts is the
    /// server's matter, and so are ids.
    fn output(&mut self) {
        if !self.has_output {
            return;
        }
        for (field, call, _, how) in differences(self.turn, self.own, str::trim) {
            let kind = match field {
                "reasoning" => "output-reasoning",
                "content" => "output-content",
                "finish" | "id" => continue,
                _ => "output-calls",
            };
            self.at.call = call;
            self.add(
                kind,
                format!("{field}: the answer and what the output has differ: {how}"),
            );
        }
    }
}

/// The first of these fields that is a number.
fn first_number(of: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| of[*name].as_u64())
}

/// Where a value first breaks its schema.
fn first_wrong(schema: &Value, value: &Value) -> Option<String> {
    let first = valid::check(schema, value).into_iter().next()?;
    Some(format!("{:?} {}", first.pointer, first.message))
}

/// Whether a call is one of this tool; its namespace may be a part of its name.
fn is_of(tool: &Tool, head: &Head) -> bool {
    let space = &*tool.namespace;
    let is_full =
        !space.is_empty() && head.name.starts_with(space) && head.name.ends_with(&tool.name);
    is_full || head.name == tool.name && (head.namespace.is_empty() || head.namespace == space)
}

/// Texts in the shape of special tokens, `<|name|>`.
fn specials(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("<|").filter_map(move |(at, _)| {
        let mut inside = text[at + 2..].char_indices().take(64);
        let (end, _) = inside.find(|(_, c)| !c.is_alphanumeric() && !"_-:/".contains(*c))?;
        let token = text.get(at..at + 2 + end + 2)?;
        (end > 0 && token.ends_with("|>")).then_some(token)
    })
}
