//! What a template writes is read back, however it comes: each built-in template without a
//! dedicated format renders each message of a table that it can write, and the output is parsed in
//! one piece, byte by byte and cut in all other ways.

use std::sync::LazyLock;

use crate::support::{check_streaming, parse};
use chatparse::grammar::Recogniser;
use chatparse::internals::format::family_of;
use chatparse::{ChatTemplate, EndedBy, Params, Parser, Request, Status, builtin};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// When a template writes reasoning.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Thoughts {
    Never,
    /// Before content and calls, where there are any.
    Sometimes,
    /// The prompt has opened them. Gives the opening, and what closes an empty one.
    Opened(&'static str, &'static str),
    BeforeCalls,
}

/// How many calls a template writes in a message.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
enum Calls {
    None,
    One,
    Many,
}

/// What a built-in template can write.
struct Style {
    template: &'static str,
    thoughts: Thoughts,
    calls: Calls,
    content_before_calls: bool,
    ids: bool,
    /// `enable_thinking: false` makes a difference.
    switch: bool,
}

const STYLE: Style = Style {
    template: "",
    thoughts: Thoughts::Never,
    calls: Calls::Many,
    content_before_calls: true,
    ids: false,
    switch: false,
};

const STYLES: &[Style] = &[
    Style {
        template: "chatml",
        calls: Calls::None,
        ..STYLE
    },
    Style {
        template: "json-call",
        thoughts: Thoughts::Sometimes,
        switch: true,
        ..STYLE
    },
    Style {
        template: "json-nested",
        thoughts: Thoughts::Opened("<think>", "</think>\n"),
        ids: true,
        switch: true,
        ..STYLE
    },
    Style {
        template: "json-array-ids",
        thoughts: Thoughts::Sometimes,
        ids: true,
        ..STYLE
    },
    Style {
        template: "json-name-key",
        ..STYLE
    },
    Style {
        template: "json-bare",
        calls: Calls::One,
        content_before_calls: false,
        ..STYLE
    },
    Style {
        template: "tag-json",
        thoughts: Thoughts::Opened("", "</think>"),
        ..STYLE
    },
    Style {
        template: "tag-json-id",
        ids: true,
        ..STYLE
    },
    Style {
        template: "tag-arguments",
        thoughts: Thoughts::Sometimes,
        switch: true,
        ..STYLE
    },
    Style {
        template: "tag-invoke",
        thoughts: Thoughts::Opened("<think>\n", "</think>\n\n"),
        ..STYLE
    },
    Style {
        template: "tag-parameters",
        thoughts: Thoughts::BeforeCalls,
        ..STYLE
    },
    Style {
        template: "wrapped-content",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "minimax-m3",
        thoughts: Thoughts::Sometimes,
        switch: true,
        ..STYLE
    },
    Style {
        template: "deepseek-v3.2",
        thoughts: Thoughts::Opened("<think>", "</think>"),
        switch: true,
        ..STYLE
    },
    Style {
        template: "gemma-4",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "minicpm5",
        thoughts: Thoughts::Opened("<think>\n", "</think>\n\n"),
        switch: true,
        ..STYLE
    },
    Style {
        template: "qwen3-coder",
        thoughts: Thoughts::Opened("<think>\n", "</think>\n\n"),
        switch: true,
        ..STYLE
    },
    Style {
        template: "deepseek-r1",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "deepseek-v3.1",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "deepseek-v4",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "deepseek-v4.1",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "hy-3",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "seed-oss",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "k2-horizon",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "minicpm3",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "solar-open",
        thoughts: Thoughts::Sometimes,
        ids: true,
        ..STYLE
    },
    Style {
        template: "apertus",
        ..STYLE
    },
    Style {
        template: "inkling",
        thoughts: Thoughts::Sometimes,
        ..STYLE
    },
    Style {
        template: "functionary-v2",
        ..STYLE
    },
];

impl Style {
    fn can_write(&self, message: &Said) -> bool {
        let calls = match message.calls.len() {
            0 => Calls::None,
            1 => Calls::One,
            _ => Calls::Many,
        };
        let thought = match self.thoughts {
            _ if message.reasoning.is_empty() => true,
            Thoughts::Never => false,
            Thoughts::BeforeCalls => calls != Calls::None,
            Thoughts::Sometimes | Thoughts::Opened(..) => true,
        };
        let together =
            self.content_before_calls || message.content.is_empty() || calls == Calls::None;
        calls <= self.calls && thought && together
    }

    fn template(&self) -> ChatTemplate {
        ChatTemplate::builtin(self.template).expect("a built-in template")
    }

    /// The output of a model that says `message`: what the template writes after the opening of the
    /// turn, up to its end.
    fn output(&self, template: &ChatTemplate, body: &Value, message: &Said) -> String {
        let prompt = |body: &Value| {
            template
                .prompt(&request(body))
                .unwrap_or_else(|error| panic!("{error}"))
        };
        // An empty thought is part of a prompt with thinking off, but not of the history.
        let mut thinking = body.clone();
        thinking["enable_thinking"] = json!(true);
        let mut before = prompt(&thinking);
        let mut begun = "";
        if let (Thoughts::Opened(opening, closing), "") = (self.thoughts, message.reasoning) {
            before.truncate(before.len() - opening.len());
            begun = if body["enable_thinking"] == false {
                ""
            } else {
                closing
            };
        }
        thinking["messages"]
            .as_array_mut()
            .unwrap()
            .push(message.to_json());
        thinking["add_generation_prompt"] = json!(false);
        let all = prompt(&thinking);
        let said = all
            .strip_prefix(&before)
            .unwrap_or_else(|| panic!("{all:?} does not start with {before:?}"));
        let eos = builtin::find(self.template).unwrap().eos;
        let said = said.strip_suffix('\n').unwrap_or(said);
        let said = said
            .strip_suffix(eos)
            .unwrap_or_else(|| panic!("{said:?} does not end with {eos:?}"));
        format!("{begun}{said}")
    }
}

/// What a model says.
#[derive(Clone, Default)]
struct Said {
    reasoning: &'static str,
    content: &'static str,
    calls: Vec<(&'static str, Value)>,
}

/// Ids are nine letters and digits: so some templates want them.
fn id(index: usize) -> String {
    format!("abcdef{index:03}")
}

impl Said {
    fn to_json(&self) -> Value {
        let calls = self
            .calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                json!({"type": "function", "id": id(index), "function": function})
            });
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = calls.collect();
        }
        message
    }

    /// The parsed message as it should be; arguments are compared as JSON values.
    fn parsed(&self, ids: bool) -> Value {
        let calls = self
            .calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let id = if ids { id(index) } else { String::new() };
                json!({"name": name, "arguments": arguments, "id": id})
            });
        json!({"reasoning": self.reasoning, "content": self.content, "calls": calls.collect::<Vec<_>>()})
    }
}

/// The table: what is said, and its name.
fn table() -> Vec<(&'static str, Said)> {
    let weather = || ("get_weather", json!({"city": "Oslo", "days": 2}));
    let file = || ("write_file", json!({"path": "a.txt", "text": "x"}));
    let said = Said::default;
    let code =
        "fn main() {\n    let s = \"<a href='x'>{}</a>\\n\";\n    println!(\"{s}\"); // 100 %\n}";
    vec![
        (
            "content",
            Said {
                content: "It rains.",
                ..said()
            },
        ),
        (
            "content over lines",
            Said {
                content: "First line.\n\n  * second\n\tthird",
                ..said()
            },
        ),
        (
            "content in many scripts",
            Said {
                content: "Grüße, 世界 🌧️ – ﷽ e\u{301}",
                ..said()
            },
        ),
        (
            "content with half markers",
            Said {
                content: "a < b, c > d, <th, [x], <tool: </thin, <|im",
                ..said()
            },
        ),
        (
            "a thought and content",
            Said {
                reasoning: "Look at\nthe sky.",
                content: "It rains.",
                ..said()
            },
        ),
        (
            "a thought with markup",
            Said {
                reasoning: "if a < b && <b>c</b> then {\"x\": 1}",
                content: "No.",
                ..said()
            },
        ),
        (
            "a call",
            Said {
                calls: vec![weather()],
                ..said()
            },
        ),
        (
            "a thought and a call",
            Said {
                reasoning: "I need the weather.",
                calls: vec![weather()],
                ..said()
            },
        ),
        (
            "two calls",
            Said {
                calls: vec![weather(), file()],
                ..said()
            },
        ),
        (
            "three calls",
            Said {
                calls: vec![file(), ("now", json!({})), weather()],
                ..said()
            },
        ),
        (
            "content and a call",
            Said {
                content: "Let me look.",
                calls: vec![weather()],
                ..said()
            },
        ),
        (
            "a thought, content and two calls",
            Said {
                reasoning: "Both.",
                content: "Both, then:",
                calls: vec![file(), weather()],
            },
        ),
        (
            "no arguments",
            Said {
                calls: vec![("now", json!({}))],
                ..said()
            },
        ),
        (
            "an optional argument less",
            Said {
                calls: vec![("get_weather", json!({"city": "Bergen"}))],
                ..said()
            },
        ),
        (
            "code",
            Said {
                calls: vec![("write_file", json!({"path": "src/main.rs", "text": code}))],
                ..said()
            },
        ),
        (
            "quotes and backslashes",
            Said {
                calls: vec![(
                    "write_file",
                    json!({"path": "C:\\a \"b\"", "text": "\\\" \\n '\"' \\u0041"}),
                )],
                ..said()
            },
        ),
        (
            "markup in arguments",
            Said {
                calls: vec![(
                    "write_file",
                    json!({"path": "a.html", "text": "<p class=\"x\">1 < 2 &amp; </p"}),
                )],
                ..said()
            },
        ),
        (
            "many scripts in arguments",
            Said {
                calls: vec![(
                    "get_weather",
                    json!({"city": "Ærøskøbing 東京 🌧️", "days": -3}),
                )],
                ..said()
            },
        ),
        (
            "a number as text",
            Said {
                calls: vec![("get_weather", json!({"city": "90210"}))],
                ..said()
            },
        ),
        (
            "nested arguments",
            Said {
                calls: vec![(
                    "write_file",
                    json!({"path": "p", "text": "t", "options": {"tags": ["a", "b}", {"c": [[]]}], "deep": {"n": [1, -2.5e3, null, true]}}}),
                )],
                ..said()
            },
        ),
    ]
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    json!([
        tool(
            "get_weather",
            json!({"city": {"type": "string"}, "days": {"type": "integer"}}),
            &["city"]
        ),
        tool(
            "write_file",
            json!({"path": {"type": "string"}, "text": {"type": "string"}, "options": {"type": "object"}}),
            &["path", "text"]
        ),
        tool("now", json!({}), &[]),
    ])
}

/// A request with one question, and with what `more` adds to the body.
fn body(more: Value) -> Value {
    let mut body = json!({
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
    });
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    body.as_object_mut().unwrap().extend(more);
    body
}

fn request(body: &Value) -> Request {
    Request::from_json(body).unwrap_or_else(|error| panic!("{error}"))
}

fn params(template: &ChatTemplate, body: &Value) -> Params {
    template
        .params(&request(body))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Collects failures, so that one run shows them all.
#[derive(Default)]
struct Report {
    failures: Vec<String>,
    cases: usize,
}

impl Report {
    /// Parses a whole output and checks the message, the status and that it can be cut anywhere.
    fn check(&mut self, name: &str, params: &Params, output: &str, expected: &Value) {
        self.cases += 1;
        let (message, status) = parse(&params.parser, output.as_bytes(), false);
        let mut wrong = Vec::new();
        if message != *expected {
            wrong.push(format!("expected {expected}\n     got {message}"));
        }
        if status != Status::Complete {
            wrong.push(format!("the status is {}", status.name()));
        }
        wrong.extend(check_streaming(&params.parser, output.as_bytes(), true));
        if !wrong.is_empty() {
            self.failures.push(format!(
                "{name}\n  output {output:?}\n  {}",
                wrong.join("\n  ")
            ));
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.failures.is_empty() && !std::thread::panicking() {
            panic!(
                "{} failures in {} cases:\n\n{}\n",
                self.failures.len(),
                self.cases,
                self.failures.join("\n\n")
            );
        }
    }
}

#[test]
fn every_learnt_template_has_a_style() {
    let styles: Vec<&str> = STYLES.iter().map(|style| style.template).collect();
    let learnt = builtin::BUILTINS
        .iter()
        .filter(|builtin| family_of(builtin.source).is_none());
    let without: Vec<&str> = learnt
        .map(|builtin| builtin.name)
        .filter(|name| !styles.contains(name))
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Renders and parses every message of the table that a style can write, with `more` in the
/// request.
fn round_trip(
    styles: impl Iterator<Item = &'static Style>,
    more: Value,
    expected: fn(&Said) -> bool,
) {
    let mut report = Report::default();
    for style in styles {
        let template = style.template();
        let mut body = body(more.clone());
        if style.calls != Calls::None {
            body["tools"] = tools();
        }
        let params = params(&template, &body);
        for (name, said) in table()
            .iter()
            .filter(|(_, said)| style.can_write(said) && expected(said))
        {
            let output = style.output(&template, &body, said);
            report.check(
                &format!("{}: {name}", style.template),
                &params,
                &output,
                &said.parsed(style.ids),
            );
        }
    }
    assert!(report.cases > 0);
}

fn named(prefix: &str) -> impl Iterator<Item = &'static Style> {
    STYLES
        .iter()
        .filter(move |style| style.template.starts_with(prefix))
}

#[test]
fn messages_with_json_calls_come_back() {
    round_trip(named("json-"), json!({}), |_| true);
}

#[test]
fn messages_with_tagged_calls_come_back() {
    round_trip(named("tag-"), json!({}), |_| true);
}

#[test]
fn other_messages_come_back() {
    round_trip(named("chatml").chain(named("wrapped-")), json!({}), |_| {
        true
    });
}

#[test]
fn required_calls_come_back() {
    round_trip(
        STYLES.iter().filter(|style| style.calls != Calls::None),
        json!({"tool_choice": "required"}),
        |said| !said.calls.is_empty(),
    );
}

#[test]
fn single_calls_come_back() {
    round_trip(
        STYLES.iter(),
        json!({"parallel_tool_calls": false}),
        |said| said.calls.len() == 1,
    );
}

#[test]
fn nothing_is_thought_where_thinking_is_off() {
    round_trip(
        STYLES.iter().filter(|style| style.switch),
        json!({"enable_thinking": false}),
        |said| said.reasoning.is_empty(),
    );
}

#[test]
fn without_tools_calls_are_content() {
    let mut report = Report::default();
    for style in STYLES
        .iter()
        .filter(|style| style.thoughts == Thoughts::Never)
    {
        let template = style.template();
        let params = params(&template, &body(json!({})));
        let text = "<tool_call>{\"name\": \"now\"}</tool_call>";
        let expected = json!({"reasoning": "", "content": text, "calls": []});
        report.check(style.template, &params, text, &expected);
    }
}

#[test]
fn reasoning_stays_in_the_content_unless_it_is_asked_for() {
    let mut report = Report::default();
    let template = ChatTemplate::builtin("json-call").unwrap();
    let params = params(
        &template,
        &body(json!({"reasoning_format": "none", "tools": tools()})),
    );
    let expected = json!({"reasoning": "", "content": "<think>\nWhy?</think>\n\nSo.", "calls": []});
    report.check(
        "json-call",
        &params,
        "<think>\nWhy?</think>\n\nSo.",
        &expected,
    );
}

#[test]
fn a_structured_response_is_content() {
    let schema = json!({"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]});
    let value = "{\"answer\": 42}";
    let mut report = Report::default();
    for style in STYLES {
        let template = style.template();
        let params = params(&template, &body(json!({"json_schema": schema})));
        let closing = if let Thoughts::Opened(_, closing) = style.thoughts {
            closing
        } else {
            ""
        };
        let expected =
            |reasoning: &str| json!({"reasoning": reasoning, "content": value, "calls": []});
        report.check(
            style.template,
            &params,
            &format!("{closing}{value}"),
            &expected(""),
        );
        let block = format!("{closing}```json\n{value}\n```");
        report.check(
            &format!("{}: in a block", style.template),
            &params,
            &block,
            &expected(""),
        );
        if style.thoughts == Thoughts::Sometimes {
            let said = Said {
                reasoning: "Count.",
                content: value,
                ..Said::default()
            };
            let output = style.output(&template, &body(json!({})), &said);
            let output = output.replace("<response>", "").replace("</response>", "");
            report.check(
                &format!("{}: after a thought", style.template),
                &params,
                &output,
                &expected("Count."),
            );
        }
    }
}

#[test]
fn a_message_is_continued() {
    let mut report = Report::default();
    for style in STYLES {
        let template = style.template();
        let mut body = body(json!({"continue_final_message": true}));
        body["messages"]
            .as_array_mut()
            .unwrap()
            .push(json!({"role": "assistant", "content": "Once upon"}));
        let params = params(&template, &body);
        assert!(
            params.prompt.ends_with("Once upon"),
            "{}: {:?}",
            style.template,
            params.prompt
        );
        let expected = json!({"reasoning": "", "content": "Once upon a time.", "calls": []});
        let output = if style.template == "wrapped-content" {
            " a time.</response>"
        } else {
            " a time."
        };
        report.check(style.template, &params, output, &expected);
    }
}

/// What the history writes in front of a message is in the prompt, and not what a new turn would
/// begin with.
#[test]
fn a_continued_message_is_rendered_with_the_conversation() {
    let source = "{% for m in messages %}### {{ m.role }}:\n{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}\
        {{ m.content|trim }}\n\n{% endfor %}{% if add_generation_prompt %}### assistant:\n\n<think>\n{% endif %}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    let read = |last: Value, more: Value, output: &str| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}, last], "continue_final_message": true});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let params = params(&template, &body);
        let (message, status) = params.parser.parse(output.as_bytes(), EndedBy::Model);
        let ended = if message.content.is_empty() {
            Status::Partial
        } else {
            Status::Complete
        };
        assert_eq!(status, ended, "{message:?}");
        let shown = params
            .prompt
            .strip_prefix("### user:\nHi\n\n")
            .unwrap()
            .to_owned();
        (shown, message.reasoning_content, message.content)
    };
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let thought = json!({"role": "assistant", "content": "", "reasoning_content": "Hm"});
    let none = || json!({});
    let is = |shown: &str, reasoning: &str, content: &str| {
        (shown.to_owned(), reasoning.to_owned(), content.to_owned())
    };
    let whole = is("### assistant:\nIt is", "", "It is four.");
    assert_eq!(read(said("It is"), none(), " four."), whole);
    assert_eq!(read(said("It is "), none(), " four."), whole);
    assert_eq!(read(said("It is"), json!({"plain": true}), " four."), whole);
    assert_eq!(
        read(
            json!({"role": "assistant", "content": [{"type": "text", "text": "It is"}]}),
            none(),
            " four."
        ),
        whole
    );
    let block = is(
        "### assistant:\n<think>\nHm\n</think>\n\nIt is",
        "Hm",
        "It is four.",
    );
    assert_eq!(
        read(said("<think>\nHm\n</think>\n\nIt is"), none(), " four."),
        block
    );
    let kept = is(&block.0, "", "<think>\nHm\n</think>\n\nIt is four.");
    assert_eq!(
        read(
            said("<think>\nHm\n</think>\n\nIt is"),
            json!({"reasoning_format": "none"}),
            " four."
        ),
        kept
    );
    let goes_on = is("### assistant:\n<think>\nHm", "Hm, so.", "");
    assert_eq!(read(thought, none(), ", so."), goes_on);
    assert_eq!(read(said("<think>\nHm"), none(), ", so."), goes_on);
    assert_eq!(
        read(said(""), none(), "Four."),
        is("### assistant:\n", "", "Four.")
    );
    let llama_cpp = json!({"compat": "llama.cpp", "reasoning_format": "auto"});
    let (prompt, _, content) = read(said("It is"), llama_cpp, " four.");
    assert!(
        prompt.starts_with("### assistant:\n\n<think>\n") && content == "It is four.",
        "{prompt:?}: {content:?}"
    );
}

/// No sampler sees a marker that the prompt has, so the grammar holds from there on.
#[test]
fn a_call_that_the_prompt_has_begun_is_held() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let mut body = body(json!({"continue_final_message": true, "tools": tools()}));
    let begun = "So:<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Os";
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "assistant", "content": begun}));
    let params = params(&template, &body);
    assert!(params.prompt.ends_with(begun) && !params.constraint.is_lazy());
    let grammar = Recogniser::new(&params.grammar().text).unwrap();
    let held = |output: &str| grammar.accepts(&format!("{}{output}", params.parser.prefill()));
    assert!(held("lo\"}}\n</tool_call>") && !held("lo\"}}") && !held(" and so on."));
    let (message, _) = params.parser.parse(b"lo\"}}\n</tool_call>", EndedBy::Model);
    assert_eq!(
        (&*message.content, &*message.tool_calls[0].arguments),
        ("So:", "{\"city\": \"Oslo\"}")
    );
}

#[test]
fn a_thought_is_continued() {
    let mut report = Report::default();
    let thinks =
        |style: &&Style| matches!(style.thoughts, Thoughts::Sometimes | Thoughts::Opened(..));
    for style in STYLES.iter().filter(thinks) {
        let template = style.template();
        let mut body = body(json!({"continue_final_message": true}));
        let begun = json!({"role": "assistant", "content": "", "reasoning_content": "First"});
        body["messages"].as_array_mut().unwrap().push(begun);
        let params = params(&template, &body);
        let end = template.layout().to_json()["reasoning"]["end"]
            .as_str()
            .unwrap()
            .to_owned();
        let content = if style.template == "wrapped-content" {
            "<response>Good.</response>"
        } else {
            "Good."
        };
        let expected = json!({"reasoning": "First, this.", "content": "Good.", "calls": []});
        report.check(
            style.template,
            &params,
            &format!(", this.{end}{content}"),
            &expected,
        );
    }
}

#[test]
fn what_is_cut_off_is_there_as_far_as_it_came() {
    let whole = "<think>\nHmm.</think>\n\nSo:<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Os";
    let template = ChatTemplate::builtin("json-call").unwrap();
    let params = params(&template, &body(json!({"tools": tools()})));
    let cases = [
        ("<thi", "", "", json!([])),
        ("<think>\nHm", "Hm", "", json!([])),
        ("<think>\nHmm.</thi", "Hmm.", "", json!([])),
        (
            "<think>\nHmm.</think>\n\nSo:<tool",
            "Hmm.",
            "So:",
            json!([]),
        ),
        (
            "<think>\nHmm.</think>\n\nSo:<tool_call>\n{\"name\": \"get_wea",
            "Hmm.",
            "So:",
            json!([]),
        ),
        (
            whole,
            "Hmm.",
            "So:",
            json!([{"name": "get_weather", "arguments": "{\"city\": \"Os", "id": ""}]),
        ),
    ];
    for (output, reasoning, content, calls) in cases {
        let (message, status) = parse(&params.parser, output.as_bytes(), true);
        assert_eq!(
            message,
            json!({"reasoning": reasoning, "content": content, "calls": calls}),
            "{output:?}"
        );
        assert_eq!(status, Status::Partial, "{output:?}");
    }
}

/// Outputs that no template describes, and some bytes that are no text. What they become may
/// change; that it does not depend on how they come may not.
#[test]
fn broken_outputs_are_the_same_however_they_come() {
    let outputs: &[&[u8]] = &[
        b"<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
        b"<tool_call>\n{\"name\": \"now\", \"arguments\": {]}\n</tool_call> and more",
        b"<tool_call>\n{\"name\": \"now\"}\n</tool_call>",
        b"<tool_call>now\n<arg_key>x</arg_key>\n</tool_call>",
        b"<tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"days\">1</parameter>\n</invoke>\n</tool_call>",
        b"<tool_call>\n<function:get_weather>\n<arg:city>\nOslo\n</arg>\n</function> stray </tool_call>",
        b"<tool_call><function=now>{}</function></tool_call>, then text",
        b"<|calls|>[{\"get_weather\": {\"city\": \"Oslo\"}}, {\"get_weather\": 7}]<|end_of_calls|>",
        b"[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": 5}] x",
        b"[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]",
        b"<think>one</think><think>two</think><response>three</response><response>four</response>",
        b"</think></think></tool_call></response>",
        b"<tool_calls>[",
        b"{\"name\": \"now\", \"parameters\": {}} {\"name\": \"now\", \"parameters\": {}}",
        b"caf\xc3 \xff\xfe \xe4\xb8 \xf0\x9f\x8c\xa7 \0 \x1b[31m",
        b"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"\xff\xe4\xb8\"}}\n</tool_call>",
    ];
    let mut failures = Vec::new();
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        for required in [false, true] {
            let choice = if required { "required" } else { "auto" };
            let params = params(
                &template,
                &body(json!({"tools": tools(), "tool_choice": choice})),
            );
            for output in outputs {
                let text = String::from_utf8_lossy(output);
                let wrong = check_streaming(&params.parser, output, false);
                failures.extend(
                    wrong
                        .iter()
                        .map(|wrong| format!("{name}, {choice}: {text:?}\n  {wrong}")),
                );
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n\n{}\n",
        failures.len(),
        failures.join("\n\n")
    );
}

/// What outputs are made of.
const SCRAPS: &[&str] = &[
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "\n",
    " ",
    "<tool_call>",
    "</tool_call>",
    "<tool_call>\n{\"name\": \"",
    "{\"name\": \"",
    "\", \"arguments\": ",
    "\", \"parameters\": ",
    "get_weather",
    "now",
    "{\"city\": \"Oslo\"}",
    "{}",
    "}",
    "}\n</tool_call>",
    "\"",
    ", \"id\": \"abcdef001\"}",
    "[",
    "]",
    ", ",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|calls|>[{\"",
    "\": ",
    "]<|end_of_calls|>",
    "<function=",
    "<function:",
    ">",
    "</function>",
    "<invoke name=\"",
    "\">\n",
    "<parameter name=\"city\">",
    "</parameter>\n",
    "</invoke>\n",
    "<arg:city>\n",
    "\n</arg>\n",
    "<arg_key>city</arg_key>\n<arg_value>",
    "</arg_value>\n",
    "<response>",
    "</response>",
    "<tool_calls>[",
    "]</tool_calls>",
    "<",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>functions.now:0",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|open|>tools<|sep|>",
    "<|open|>call tool=\"get_weather\"<|sep|>",
    "<|open|>argument key=\"city\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<|close|>call<|sep|>",
    "<|START_TEXT|>",
    "<|START_ACTION|>[{\"tool_name\": \"",
    "<|tool_call_start|>[get_weather(city='",
    "'",
    ")]<|tool_call_end|>",
    "<|message_sep|>\n\nfunction call<|role_sep|>\n",
    "word",
    "é🌧",
    "1",
];

/// A parser with tools for each built-in template.
static PARSERS: LazyLock<Vec<(&str, Parser)>> = LazyLock::new(|| {
    let body = body(json!({"tools": tools()}));
    let parser = |name| params(&ChatTemplate::builtin(name).unwrap(), &body).parser;
    builtin::names().map(|name| (name, parser(name))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_is_the_same_however_it_comes(
        template in 0..PARSERS.len(),
        scraps in prop::collection::vec(prop::sample::select(SCRAPS), 1..16),
        broken in prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut output = scraps.concat().into_bytes();
        if let Some((at, byte)) = broken.filter(|_| !output.is_empty()) {
            let at = at.index(output.len());
            output[at] = byte;
        }
        let (template, parser) = &PARSERS[template];
        let wrong = check_streaming(parser, &output, false);
        prop_assert!(wrong.is_empty(), "{template}: {:?}\n  {}", String::from_utf8_lossy(&output), wrong.join("\n  "));
    }
}
