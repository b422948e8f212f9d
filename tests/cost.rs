//! What parsing costs besides time: allocations, memory, and how long text waits. Time is measured
//! in `benches`.
#[path = "support/counted.rs"]
mod counted;

use chatparse::grammar::{Dialect, from_json_schema};
use chatparse::stream::SpecialTokens;
use chatparse::{ChatTemplate, DeltaKind, EndedBy, Parser, Request, Status, Stream, builtin};
use counted::{BYTES, GROWN, LIVE, NEW};
use serde_json::{Value, json};

/// Bytes that stay allocated while what `make` gives lives.
fn live<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    let made = make();
    (made, (LIVE.get() - before).max(0) as usize)
}

/// A template's parser and its output for a call with this text as an argument; `None` where its
/// calls cannot be separated from its prompts.
fn output_of_call(name: &str, text: &str) -> Option<(Parser, String)> {
    let template = ChatTemplate::builtin(name)?;
    let user = json!({"role": "user", "content": "Write it."});
    let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
        "function": {"name": "write", "arguments": json!({"text": text}).to_string()}}]});
    let request = |messages: Value, opens: bool| {
        let body = json!({"messages": messages, "add_generation_prompt": opens, "enable_thinking": false, "reasoning_format": "auto",
            "now": 0, "tools": [{"type": "function", "function": {"name": "write", "description": "Writes",
                "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]});
        Request::from_json(&body).expect("a request")
    };
    let params = template.params(&request(json!([user]), true)).ok()?;
    let whole = template.prompt(&request(json!([user, call]), false)).ok()?;
    let output = whole.strip_prefix(&params.prompt)?.trim_end();
    // The end of the turn is a token, which is no part of the output.
    let parses = |end: usize| {
        let (message, status) = params
            .parser
            .parse(&output.as_bytes()[..end], EndedBy::Model);
        let call = message.tool_calls.first()?;
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        (status == Status::Complete && message.tool_calls.len() == 1 && arguments["text"] == text)
            .then_some(end)
    };
    let end = output
        .char_indices()
        .map(|(at, _)| at)
        .rev()
        .take(80)
        .chain([output.len()])
        .filter_map(parses)
        .max()?;
    Some((params.parser, output[..end].to_owned()))
}

/// Stands for a long text, so that the output's end need be looked for in a short one only.
const HERE: &str = "HERE";

/// Templates that show a call, with the call of this text.
fn calls(text: &str) -> Vec<(&'static str, Parser, String)> {
    let quoted = Value::from(text).to_string();
    let call = |name| {
        let (parser, output) = output_of_call(name, HERE)?;
        let says_text = |output: &String| {
            let (message, status) = parser.parse(output.as_bytes(), EndedBy::Model);
            let arguments: Value =
                serde_json::from_str(&message.tool_calls.first()?.arguments).ok()?;
            (status == Status::Complete && arguments["text"] == text).then_some(())
        };
        let ways = [text, &quoted[1..quoted.len() - 1]].map(|text| output.replace(HERE, text));
        let output = ways
            .into_iter()
            .find(|output| says_text(output).is_some())?;
        Some((name, parser, output))
    };
    let calls: Vec<_> = builtin::BUILTINS
        .iter()
        .filter_map(|builtin| call(builtin.name))
        .collect();
    assert!(
        calls.len() >= 15,
        "only {} templates show their calls",
        calls.len()
    );
    calls
}

/// Plain words, with what tagged and JSON formats quote or look at.
fn prose(size: usize) -> String {
    let line = "let \"total\" < 3; // a \\ b\n";
    line.repeat(size / line.len())
}

#[test]
fn a_piece_of_output_allocates_nothing() {
    let mut outputs = calls(&prose(64 << 10));
    let (_, parser, _) = outputs[0].clone();
    outputs.push(("content", parser, prose(64 << 10)));
    for (name, parser, output) in outputs {
        let mut stream = Stream::new(&parser);
        let chunks: Vec<&[u8]> = output.as_bytes().chunks(4).collect();
        let (mut new, mut grown, mut seen) = (0, 0, 0);
        // In the middle of the long text, all is as it will be.
        for (at, chunk) in chunks.iter().enumerate() {
            let before = (NEW.get(), GROWN.get());
            seen += stream
                .feed(chunk)
                .map(|delta| delta.text.len())
                .sum::<usize>();
            if (chunks.len() / 8..chunks.len() * 7 / 8).contains(&at) {
                new += NEW.get() - before.0;
                grown += GROWN.get() - before.1;
            }
        }
        assert!(seen > 48 << 10, "{name}: {seen} bytes of deltas");
        assert_eq!(
            new,
            0,
            "{name}: new allocations in {} pieces",
            chunks.len() * 3 / 4
        );
        assert!(
            grown <= 12,
            "{name}: {grown} texts grew; those of a message double"
        );
    }
}

/// A stream keeps the output, in a buffer that doubles; its message is made from there.
#[test]
fn a_stream_takes_no_more_than_twice_the_output() {
    for (name, parser, output) in calls(&prose(128 << 10)) {
        let (stream, bytes) = live(|| {
            let mut stream = Stream::new(&parser);
            output
                .as_bytes()
                .chunks(4)
                .for_each(|chunk| drop(stream.feed(chunk)));
            stream
        });
        let most = 2 * output.len() + (64 << 10);
        assert!(
            bytes <= most,
            "{name}: {bytes} bytes for {} of output, more than {most}",
            output.len()
        );
        drop(stream);
    }
}

/// A stream that has read an output in small pieces, and the bytes that it takes.
fn streamed(parser: &Parser, output: &str) -> (Stream, usize) {
    live(|| {
        let mut stream = Stream::new(parser);
        output
            .as_bytes()
            .chunks(4)
            .for_each(|chunk| drop(stream.feed(chunk)));
        stream
    })
}

fn parser_of(name: &str) -> Parser {
    let body = json!({"messages": [{"role": "user", "content": "Write it."}], "reasoning_format": "auto", "now": 0,
        "parallel_tool_calls": true, "tools": [{"type": "function", "function": {"name": "write", "parameters":
            {"type": "object", "properties": {"text": {"type": "string"}}}}}]});
    let template = ChatTemplate::builtin(name).expect("a built-in template");
    template
        .params(&Request::from_json(&body).expect("a request"))
        .expect("the request fits")
        .parser
}

const OFF_FORMAT: &str = "[TOOL_CALLS]no ";
const SHORT_CALL: &str =
    "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>\n";

/// What no parse comes back to is forgotten, whatever the text is behind the format.
#[test]
fn text_that_left_the_format_takes_no_more_than_four_times_the_output() {
    let parser = parser_of("tag-json-id");
    let broken = "<tool_call>{\"name\": \"write\", \"arguments\": {\"text\": oops </tool_call>";
    for text in [
        prose(1 << 20),
        "a b ".repeat(1 << 18),
        format!("{broken}{}", "a b ".repeat(1 << 18)),
        "< ".repeat(1 << 19),
    ] {
        let output = format!("{OFF_FORMAT}{text}");
        let (stream, bytes) = streamed(&parser, &output);
        let most = 4 * output.len() + (64 << 10);
        assert!(
            bytes <= most,
            "{bytes} bytes for {} of output, more than {most}",
            output.len()
        );
        assert!(stream.message().content.len() > output.len() / 2);
    }
}

/// The text as the machines see it is one more buffer, and a checkpoint a bit for each byte.
#[test]
fn marked_output_takes_no_more_than_four_times_itself() {
    let parser = parser_of("json-call");
    let texts = [
        "</think>".repeat(1 << 17),
        "<".repeat(1 << 20),
        "a </tool_call> b".repeat(1 << 16),
    ];
    let tokens = SpecialTokens::new(&["<think>", "</think>", "<tool_call>", "</tool_call>", "<"])
        .expect("they are short");
    for text in texts {
        for marked in [true, false] {
            let (stream, bytes) = live(|| {
                let mut stream = Stream::new(&parser);
                stream.set_special_tokens(&tokens).expect("nothing was fed");
                stream.checkpoint();
                for piece in text.as_bytes().chunks(4) {
                    let span = 0..if marked { 1 } else { 0 };
                    drop(stream.feed_marked(piece, &[span]).expect("it is within"));
                }
                stream
            });
            let most = 4 * text.len() + (64 << 10);
            assert!(
                bytes <= most,
                "{bytes} bytes for {} of output, more than {most}: {:?}",
                text.len(),
                &text[..20]
            );
            drop(stream);
        }
    }
}

/// A span is a few bytes beside the text that it is of.
#[test]
fn many_short_texts_take_no_more_than_four_times_the_output() {
    let parser = parser_of("json-bare");
    let tagged = parser_of("tag-arguments");
    let values = "<arg_key>a</arg_key><arg_value>b</arg_value>".repeat(1 << 15);
    for (parser, output) in [
        (parser, "a ".repeat(1 << 19)),
        (tagged, format!("<tool_call>write\n{values}</tool_call>")),
    ] {
        let (stream, bytes) = streamed(&parser, &output);
        let most = 4 * output.len() + (64 << 10);
        assert!(
            bytes <= most,
            "{bytes} bytes for {} of output, more than {most}",
            output.len()
        );
        drop(stream);
    }
}

/// A call needs its record and its texts.
#[test]
fn a_call_takes_a_bounded_amount() {
    const CALLS: usize = 4_096;
    const EACH: usize = 300;
    let left = (
        parser_of("tag-json-id"),
        format!("{OFF_FORMAT}{}", SHORT_CALL.repeat(CALLS)),
    );
    let json = (parser_of("json-call"), SHORT_CALL.repeat(CALLS));
    for (parser, output) in [left, json] {
        // The parser makes programs when they are first needed.
        streamed(&parser, &output[..output.len() / 2]);
        let (stream, bytes) = streamed(&parser, &output);
        assert_eq!(stream.message().tool_calls.len(), CALLS);
        // The list of calls doubles, as the output does.
        let each = bytes.saturating_sub(2 * output.len() + (64 << 10)) / CALLS;
        println!("{each} bytes for a call");
        assert!(each <= EACH, "{each} bytes for a call");
    }
}

#[test]
fn an_answer_keeps_no_text_but_that_of_an_open_item() {
    use chatparse::api::{Answer, AnswerOptions, Api};
    let parser = parser_of("json-call");
    let text = prose(200_000);
    let fed = |api: Api, output: &str| {
        let mut stream = Stream::new(&parser);
        let before = LIVE.get();
        let mut answer = Answer::new(api, AnswerOptions::default());
        answer.begin(0).expect("it is new");
        let mut kept = LIVE.get() - before;
        for piece in output.as_bytes().chunks(50) {
            drop(stream.feed(piece));
            // What the stream keeps does not count.
            let before = LIVE.get();
            answer.deltas(stream.deltas()).expect("they follow");
            kept += LIVE.get() - before;
        }
        kept.max(0) as usize
    };
    for (api, most) in [
        (Api::ChatCompletions, 1_000),
        (Api::Messages, 1_000),
        (Api::Responses, 2 * text.len() + 4_000),
    ] {
        let kept = fed(api, &text);
        assert!(
            kept <= most,
            "{api:?}: {kept} bytes are kept of {}",
            text.len()
        );
    }
}

#[test]
fn a_learnt_template_takes_little_memory() {
    const MOST: usize = 2 << 20;
    for builtin in builtin::BUILTINS {
        let (template, bytes) = live(|| {
            let template =
                ChatTemplate::new(builtin.source, builtin.bos, builtin.eos).expect("it compiles");
            template.layout();
            template
        });
        assert!(
            bytes <= MOST,
            "{}: {bytes} bytes, more than {MOST}",
            builtin.name
        );
        drop(template);
    }
}

/// Arguments show as they come: what waits may be the beginning of the marker that ends them, and
/// is no longer than that.
#[test]
fn arguments_wait_for_no_more_than_a_marker() {
    const END: &str = "the end of it";
    for (name, _, output) in calls(END) {
        let after = &output[output.find(END).expect("the text is in the output") + END.len()..];
        // Every beginning of what ends the value, as far as it is not the end: the worst that a
        // text can hold.
        let longest = after.find(char::is_alphanumeric).map_or(after.len(), |at| {
            after[at..]
                .find([' ', '{'])
                .map_or(after.len(), |to| at + to)
        });
        let starts = after
            .char_indices()
            .take(12)
            .map(|(at, _)| format!("{}~ ", &after[..at]))
            .collect::<String>();
        let text = format!("a{starts}{starts}z");
        let Some((parser, output)) = output_of_call(name, &text) else {
            continue;
        };
        let mut stream = Stream::new(&parser);
        let begin = output.find("a~").expect("the text is in the output");
        let end = output.rfind('z').expect("the text is in the output");
        let (mut arguments, mut lag) = (String::new(), 0);
        for (at, byte) in output.bytes().enumerate() {
            for delta in stream
                .feed(&[byte])
                .filter(|delta| delta.kind == DeltaKind::ToolArguments)
            {
                arguments.push_str(delta.text);
            }
            if (begin..end).contains(&at) {
                // Both without the escapes that the one has and the other not.
                let bare = |text: &str| text.chars().filter(|c| *c != '\\' && *c != '\n').count();
                let came = bare(
                    &output[begin..]
                        .get(..at + 1 - begin)
                        .unwrap_or_default()
                        .replace("\\n", ""),
                );
                let shown = arguments
                    .find("a~")
                    .map_or(0, |from| bare(&arguments[from..].replace("\\n", "")));
                lag = lag.max(came.saturating_sub(shown));
            }
        }
        assert!(
            lag <= longest.max(16),
            "{name}: {lag} characters wait, the marker {after:?} has {longest}"
        );
    }
}

/// A kind of schema of a size.
type Schema = (&'static str, fn(usize) -> Value);

/// Four times the schema takes at most six times the allocated bytes, in every dialect.
#[test]
fn grammars_cost_as_much_as_their_schemas_are_large() {
    let schemas: [Schema; 6] = [
        (
            "strings",
            |n| json!({"enum": (0..n).map(|i| format!("v{i}")).collect::<Vec<_>>()}),
        ),
        ("numbers", |n| json!({"enum": (0..n).collect::<Vec<_>>()})),
        (
            "objects",
            |n| json!({"enum": (0..n).map(|i| json!({"a": i})).collect::<Vec<_>>()}),
        ),
        ("constant", |n| json!({"const": "x".repeat(50 * n)})),
        ("items", |n| {
            let items: Vec<_> = (0..n)
                .map(|i| json!({"type": "integer", "minimum": i}))
                .collect();
            json!({"type": "array", "prefixItems": items})
        }),
        ("properties", |n| {
            let properties: Value = (0..n)
                .map(|i| (format!("p{i}"), json!({"type": "string"})))
                .collect();
            json!({"type": "object", "properties": properties})
        }),
    ];
    for (name, schema) in schemas {
        for dialect in Dialect::ALL {
            let cost = |n| {
                let schema = schema(n);
                let before = BYTES.get();
                from_json_schema(&schema).unwrap().print(dialect).unwrap();
                BYTES.get() - before
            };
            let (once, more) = (cost(250), cost(1_000));
            assert!(
                more <= 6 * once,
                "{name}, {dialect:?}: {once} bytes, and {more}"
            );
        }
    }
}

#[test]
fn a_prompt_that_is_put_together_costs_what_it_adds() {
    let summed = "{% set ns = namespace(x='') %}{% for tool in tools %}{% set ns.x = ns.x + (tool | tojson) + '\n' %}{% endfor %}{{ ns.x }}";
    let joined = summed.replace('+', "~");
    let deepseek = builtin::BUILTINS
        .iter()
        .find(|one| one.name == "deepseek-v3.2")
        .unwrap();
    for source in [summed, &joined, deepseek.source] {
        let template = ChatTemplate::new(source, "", "").unwrap();
        let cost = |n: usize| {
            let schema = json!({"type": "object", "properties": {"path": {"type": "string", "description": "d".repeat(400)}}});
            let tools = (0..n)
                .map(|i| json!({"type": "function", "function": {"name": format!("t{i}"), "parameters": schema}}));
            let request = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools.collect::<Vec<_>>()});
            let request = Request::from_json(&request).unwrap();
            template.prompt(&request).unwrap();
            let before = BYTES.get();
            template.prompt(&request).unwrap();
            BYTES.get() - before
        };
        let (once, more) = (cost(100), cost(800));
        assert!(more <= 10 * once, "{once} bytes, and {more}: {source}");
    }
}
