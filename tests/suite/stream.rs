//! Streaming, on every built-in template and on outputs that are right, nearly right and wrong: the
//! result is a function of the bytes, deltas only append, and nothing makes it panic.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use chatparse::message::PartKind;
use chatparse::message::{DiagnosticKind, IncompleteCalls};
use chatparse::stream::{Budget, Ended};
use chatparse::{
    ChatTemplate, DeltaKind, EndedBy, Message, Params, Parser, Request, Status, Stream, ToolCall,
    builtin,
};
use proptest::prelude::*;
use serde_json::json;

const REQUEST: &str = r#"{
    "messages": [{"role": "user", "content": "Hi"}],
    "reasoning_format": "auto",
    "parallel_tool_calls": true,
    "tools": [
        {"type": "function", "function": {"name": "get", "parameters": {"type": "object",
            "properties": {"key": {"type": "string"}, "n": {"type": "integer"}}, "required": ["key"]}}},
        {"type": "function", "function": {"name": "get_all"}}
    ]
}"#;

/// Params of each built-in template, and right outputs: each message of [`messages`] as the
/// template renders it, less the prompt.
fn known(name: &str) -> &'static (Params, Vec<String>) {
    static KNOWN: OnceLock<HashMap<&'static str, (Params, Vec<String>)>> = OnceLock::new();
    let all = KNOWN.get_or_init(|| builtin::names().map(|name| (name, learn(name))).collect());
    &all[name]
}

fn learn(name: &str) -> (Params, Vec<String>) {
    let template = ChatTemplate::builtin(name).unwrap();
    let request = Request::from_text(REQUEST).unwrap();
    let params = template.params(&request).unwrap();
    let render = |message: Message| {
        let mut request = request.clone();
        request.add_generation_prompt = false;
        request.messages.push(message);
        let whole = template.prompt(&request).ok()?;
        Some(
            whole
                .strip_prefix(&params.prompt)
                .unwrap_or(&whole)
                .to_owned(),
        )
    };
    let outputs: Vec<String> = messages().into_iter().filter_map(render).collect();
    assert!(outputs.len() >= 3, "{name} renders most messages");
    (params, outputs)
}

/// The same for hosts that take calls without an end out of the message.
fn settling(name: &str) -> &'static [Params; 2] {
    static SETTLING: OnceLock<HashMap<&'static str, [Params; 2]>> = OnceLock::new();
    let learn = |name: &str| {
        let template = ChatTemplate::builtin(name).unwrap();
        [IncompleteCalls::Drop, IncompleteCalls::Content].map(|choice| {
            let mut request = Request::from_text(REQUEST).unwrap();
            request.output.leniency.incomplete_calls = choice;
            template.params(&request).unwrap()
        })
    };
    &SETTLING.get_or_init(|| builtin::names().map(|name| (name, learn(name))).collect())[name]
}

fn messages() -> Vec<Message> {
    let call = |name: &str, arguments: &str| ToolCall::new(name, arguments, "abc123def");
    let message = |content: &str, reasoning: &str, tool_calls: Vec<ToolCall>| {
        let mut message = Message::new("assistant", content);
        message.reasoning_content = reasoning.into();
        message.tool_calls = tool_calls;
        message
    };
    vec![
        message("Grüße, <b>you</b>! 😀", "", vec![]),
        message("Done.", "Let me see: 1 < 2.", vec![]),
        message(
            "",
            "Why",
            vec![
                call("get", r#"{"key": "a \"b\" </x>\n", "n": -12}"#),
                call("get_all", "{}"),
            ],
        ),
        message("First.", "", vec![call("get_all", "{}")]),
    ]
}

/// A message, put together from deltas.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    content: String,
    reasoning: String,
    calls: Vec<[String; 3]>,
    /// The calls that are whole.
    ended: BTreeSet<usize>,
}

impl Sum {
    fn add<'a>(&mut self, deltas: impl Iterator<Item = chatparse::Delta<'a>>, fed: usize) {
        let mut seen = 0;
        for delta in deltas {
            // An id may have the name in it.
            if delta.kind != DeltaKind::ToolId {
                assert!(
                    seen <= delta.span.start,
                    "{delta:?} goes back behind {seen}"
                );
                seen = delta.span.end;
            }
            assert_eq!(
                delta.text.is_empty(),
                delta.kind == DeltaKind::ToolEnd,
                "{delta:?}"
            );
            assert!(
                delta.span.start <= delta.span.end && delta.span.end <= fed,
                "{delta:?} after {fed} bytes"
            );
            match delta.kind {
                DeltaKind::Content => self.content.push_str(delta.text),
                DeltaKind::Reasoning => self.reasoning.push_str(delta.text),
                DeltaKind::ToolName => {
                    assert_eq!(delta.call, self.calls.len(), "calls begin in order");
                    self.calls
                        .push([delta.text.into(), String::new(), String::new()]);
                }
                DeltaKind::ToolId => {
                    assert!(self.calls[delta.call][1].is_empty(), "an id comes once");
                    self.calls[delta.call][1].push_str(delta.text);
                }
                DeltaKind::ToolArguments => {
                    assert!(
                        !self.ended.contains(&delta.call),
                        "arguments after the end of their call"
                    );
                    self.calls[delta.call][2].push_str(delta.text);
                }
                DeltaKind::ToolEnd => assert!(self.ended.insert(delta.call), "a call ends once"),
                withdrawn => panic!("{withdrawn:?} without a rollback"),
            }
        }
    }

    /// Takes back what a rollback withdraws.
    fn withdraw<'a>(&mut self, deltas: impl Iterator<Item = chatparse::Delta<'a>>) {
        let cut = |from: &mut String, text: &str| {
            assert!(
                !text.is_empty() && from.ends_with(text),
                "{from:?} does not end with {text:?}"
            );
            from.truncate(from.len() - text.len());
        };
        for delta in deltas {
            match delta.kind {
                DeltaKind::ContentWithdrawn => cut(&mut self.content, delta.text),
                DeltaKind::ReasoningWithdrawn => cut(&mut self.reasoning, delta.text),
                DeltaKind::CallWithdrawn => {
                    assert_eq!(delta.call + 1, self.calls.len(), "the last call goes first");
                    assert_eq!(self.calls.pop().unwrap()[0], delta.text);
                    self.ended.remove(&delta.call);
                }
                DeltaKind::ToolIdWithdrawn => cut(&mut self.calls[delta.call][1], delta.text),
                DeltaKind::ToolArgumentsWithdrawn => {
                    cut(&mut self.calls[delta.call][2], delta.text)
                }
                DeltaKind::ToolEndWithdrawn => {
                    assert!(self.ended.remove(&delta.call), "only what ended")
                }
                added => panic!("{added:?} in a rollback"),
            }
        }
    }

    /// The message, of which it is known elsewhere which calls are whole.
    fn of(message: &Message, ended: &BTreeSet<usize>) -> Self {
        Sum {
            ended: ended.clone(),
            content: message.content.clone(),
            reasoning: message.reasoning_content.clone(),
            calls: message
                .tool_calls
                .iter()
                .map(|c| [c.name.clone(), c.id.clone(), c.arguments.clone()])
                .collect(),
        }
    }
}

/// Feeds `pieces`; what showed after each, and the end.
fn run(params: &Params, pieces: &[&[u8]], cut_off: bool) -> (Vec<(usize, Sum)>, Sum, Ended) {
    let mut stream = Stream::new(&params.parser);
    let (mut sum, mut fed, mut shown) = (Sum::default(), 0, Vec::new());
    for piece in pieces {
        fed += piece.len();
        sum.add(stream.feed(piece), fed);
        assert_eq!(
            Sum::of(&stream.message(), &sum.ended),
            sum,
            "deltas make up the message"
        );
        shown.push((fed, sum.clone()));
    }
    let ended = stream.finish(EndedBy::limit_if(cut_off));
    sum.add(stream.deltas(), fed);
    assert_eq!(
        Sum::of(&ended.message, &sum.ended),
        sum,
        "deltas make up the final message"
    );
    if ended.status == Status::Complete {
        assert_eq!(
            sum.ended.len(),
            sum.calls.len(),
            "a whole output has whole calls: {sum:?}"
        );
    }
    check_sources(&ended, &pieces.concat());
    (shown, sum, ended)
}

/// The parts of a message and the spans of its fields are all of it, and what they say of the
/// output is so.
fn check_sources(ended: &Ended, output: &[u8]) {
    let message = &ended.message;
    let mut texts = [
        (DeltaKind::Reasoning, &message.reasoning_content, 0),
        (DeltaKind::Content, &message.content, 0),
    ];
    let mut calls = 0;
    for part in ended.parts() {
        assert!(
            part.span.start < part.span.end && part.span.end <= output.len(),
            "{part:?}"
        );
        let (_, _, reached) = match part.kind {
            PartKind::Reasoning => &mut texts[0],
            PartKind::Content => &mut texts[1],
            _ => {
                assert_eq!(part.call, calls, "calls are parts in their order");
                calls += 1;
                continue;
            }
        };
        assert!(
            *reached == part.text.start && *reached < part.text.end,
            "{part:?} behind {reached}"
        );
        *reached = part.text.end;
    }
    assert_eq!(calls, message.tool_calls.len());
    let written = |kind, call| {
        let (mut text, mut end) = (String::new(), 0);
        for span in ended.spans(kind, call) {
            assert!(
                end <= span.start && span.start < span.end,
                "{kind:?}: {span:?} behind {end}"
            );
            text += &String::from_utf8_lossy(&output[span.clone()]);
            end = span.end;
        }
        text
    };
    for (kind, text, reached) in texts {
        // Two thoughts are two lines.
        let lines = |text: &str| {
            if kind == DeltaKind::Reasoning {
                text.replace('\n', "")
            } else {
                text.to_owned()
            }
        };
        let found = (lines(&written(kind, 0)), reached);
        assert_eq!(
            found,
            (lines(text), text.len()),
            "{:?}",
            String::from_utf8_lossy(output)
        );
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        assert_eq!(written(DeltaKind::ToolName, index).trim(), call.name);
        assert_eq!(written(DeltaKind::ToolId, index), call.id);
        // Where no word of the arguments is another way to write one. A name and a value may be
        // empty.
        let arguments = written(DeltaKind::ToolArguments, index);
        let wordless = call
            .arguments
            .trim_matches(['{', '}', '"', ':', ','])
            .is_empty();
        let is_object = call.arguments.starts_with('{') || !ended.calls()[index].complete;
        assert!(is_object && (wordless || !arguments.is_empty()), "{call:?}");
    }
}

fn check(name: &str, output: &[u8], cuts: &[usize], cut_off: bool) {
    let params = &known(name).0;
    let bytes: Vec<&[u8]> = output.chunks(1).collect();
    let (steps, sum, ended) = run(params, &bytes, cut_off);
    let mut at: Vec<usize> = cuts
        .iter()
        .map(|cut| cut % (output.len() + 1))
        .chain([0, output.len()])
        .collect();
    at.sort_unstable();
    at.dedup();
    let pieces: Vec<&[u8]> = at
        .windows(2)
        .map(|pair| &output[pair[0]..pair[1]])
        .collect();
    let (pieced, pieced_sum, pieced_ended) = run(params, &pieces, cut_off);
    let text = String::from_utf8_lossy(output);
    assert_eq!(
        (&pieced_sum, pieced_ended),
        (&sum, ended),
        "{name}: {text:?} in pieces {at:?}"
    );
    for (fed, shown) in pieced.iter().filter(|(fed, _)| *fed > 0) {
        assert_eq!(
            shown,
            &steps[fed - 1].1,
            "{name}: {text:?} after {fed} bytes of pieces {at:?}"
        );
    }
}

/// Feeds other output behind each checkpoint, takes it back, and goes on: the message is as if it
/// had never been.
fn check_rollback(name: &str, output: &[u8], cuts: &[usize], cut_off: bool) {
    let params = &known(name).0;
    let bytes: Vec<&[u8]> = output.chunks(1).collect();
    let (steps, all, whole) = run(params, &bytes, cut_off);
    let mut stream = Stream::new(&params.parser);
    let (mut sum, mut fed) = (Sum::default(), 0);
    // Where the checkpoint is, up to where output stays, and what comes in between and goes.
    let rounds = cuts
        .chunks_exact(3)
        .map(|cut| [cut[0], cut[1], cut[2]].map(|cut| cut % (output.len() + 1)));
    let feed = |stream: &mut Stream, sum: &mut Sum, pieces: &[u8], fed: &mut usize| {
        for piece in pieces.chunks(1 + cuts.len()) {
            *fed += piece.len();
            let work = stream.work();
            sum.add(stream.feed(piece), *fed);
            assert!(stream.work() >= work, "{name}: {work} before {piece:?}");
        }
    };
    for [at, stays, other] in rounds {
        let at = at.max(fed);
        feed(&mut stream, &mut sum, &output[fed..at], &mut fed);
        stream.checkpoint();
        let stays = stays.max(at);
        for other in [&output[other..], &output[..other]] {
            feed(&mut stream, &mut sum, &output[fed..stays], &mut fed);
            feed(&mut stream, &mut sum, other, &mut fed);
            if other.len() % 2 == 0 {
                stream.finish(EndedBy::limit_if(cut_off));
                sum.add(stream.deltas(), fed);
            }
            let work = stream.work();
            sum.withdraw(stream.rollback(stays).unwrap());
            assert!(stream.work() >= work, "{name}: what is taken back was done");
            fed = stays;
            if stays > 0 && stays > at {
                let text = String::from_utf8_lossy(output);
                assert_eq!(
                    sum,
                    steps[stays - 1].1,
                    "{name}: {text:?} back at {stays} from {at}"
                );
            }
            assert_eq!(
                Sum::of(&stream.message(), &sum.ended),
                sum,
                "deltas make up the message"
            );
        }
    }
    feed(&mut stream, &mut sum, &output[fed..], &mut fed);
    let ended = stream.finish(EndedBy::limit_if(cut_off));
    sum.add(stream.deltas(), fed);
    assert_eq!(
        (sum, ended),
        (all, whole),
        "{name}: {:?}",
        String::from_utf8_lossy(output)
    );
}

fn template_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(builtin::names().collect::<Vec<_>>())
}

/// Right outputs, changed here and there: bytes dropped, doubled, replaced, fragments of markup put
/// in.
fn nearly_right() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let fragments: Vec<&[u8]> = vec![
        b"<",
        b"</",
        b"<think>",
        b"</think>",
        b"{",
        b"}",
        b"\"",
        b"\\",
        b"\xF0\x9F",
        b"\xFF",
        b" ",
        b"\n",
        b"[",
        b"get",
        b"tru",
    ];
    let change = (
        0usize..2000,
        0usize..12,
        prop::option::of(prop::sample::select(fragments)),
    );
    (
        template_name(),
        0usize..4,
        prop::collection::vec(change, 0..4),
    )
        .prop_map(|(name, message, changes)| {
            let outputs = &known(name).1;
            let mut output = outputs[message % outputs.len()].clone().into_bytes();
            for (at, drop, insert) in changes {
                let at = at % (output.len() + 1);
                let end = (at + drop).min(output.len());
                output.splice(at..end, insert.unwrap_or_default().iter().copied());
            }
            (name, output)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nearly_right_outputs(
        (name, output) in nearly_right(),
        cuts in prop::collection::vec(0usize..4000, 0..10),
        cut_off in any::<bool>(),
    ) {
        // Where a value's end lacks its first character, minimax-m3 shows the bytes up to the end of
        // the turn as the value, and then reads them once more.
        prop_assume!(name != "minimax-m3");
        check(name, &output, &cuts, cut_off);
        check_rollback(name, &output, &cuts, cut_off);
    }

    #[test]
    fn calls_without_an_end_are_settled((name, output) in nearly_right(), cut_off in any::<bool>()) {
        for params in settling(name) {
            let ended = params.parser.read(&output, EndedBy::limit_if(cut_off));
            assert!(ended.calls().iter().all(|call| call.complete), "{name}: {ended:?}");
            check_sources(&ended, &output);
        }
    }

    #[test]
    fn any_bytes(
        name in template_name(),
        output in prop::collection::vec(any::<u8>(), 0..80),
        cuts in prop::collection::vec(0usize..80, 0..6),
        cut_off in any::<bool>(),
    ) {
        check(name, &output, &cuts, cut_off);
        check_rollback(name, &output, &cuts, cut_off);
    }
}

#[test]
fn what_is_warm_builds_nothing_for_an_output() {
    for name in builtin::names().step_by(4) {
        let (params, mut outputs) = learn(name);
        outputs.extend(
            [
                "Well.<tool_call>{\"name\": \"get\"",
                "</think>[get(1)]",
                "<|im_end|>\n{\"name\": \"get\"}",
            ]
            .map(str::to_owned),
        );
        let read_all = || {
            for output in &outputs {
                let mut stream = Stream::new(&params.parser);
                stream.feed(output.as_bytes()).count();
                stream.finish(EndedBy::Model);
            }
            params.parser.late_bytes()
        };
        params.parser.warm();
        let warm = params.parser.late_bytes();
        // But for dialects that are met.
        let met = read_all();
        assert_eq!((read_all(), met >= warm), (met, true), "{name}");
    }
}

#[test]
fn a_rollback_needs_a_checkpoint_and_a_byte_behind_it() {
    let params = &known("chatml").0;
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(b"one ");
    assert!(
        stream
            .rollback(4)
            .err()
            .unwrap()
            .message()
            .contains("no checkpoint")
    );
    stream.checkpoint();
    let _ = stream.feed(b"two");
    for length in [3, 8] {
        assert!(
            stream
                .rollback(length)
                .err()
                .unwrap()
                .message()
                .contains("not between 4")
        );
    }
    assert_eq!(stream.message().content, "one two");
    assert_eq!(stream.finish(EndedBy::Model).message.content, "one two");
    let withdrawn: Vec<_> = stream
        .rollback(5)
        .unwrap()
        .map(|delta| (delta.kind, delta.text, delta.span))
        .collect();
    assert_eq!(withdrawn, [(DeltaKind::ContentWithdrawn, "wo", 5..7)]);
    let _ = stream.feed(b"ree");
    assert_eq!(stream.finish(EndedBy::Model).message.content, "one tree");
}

/// Of a new stream there is nothing to take back; it tells all the same what the prompt has begun.
#[test]
fn a_rollback_before_the_first_feed_loses_nothing() {
    let continued = REQUEST.replace(
        r#""content": "Hi"}]"#,
        r#""content": "Hi"}, {"role": "assistant", "content": "Well"}], "continue_final_message": true"#,
    );
    let template = ChatTemplate::builtin("chatml").unwrap();
    let params = template
        .params(&Request::from_text(&continued).unwrap())
        .unwrap();
    let mut stream = Stream::new(&params.parser);
    assert_eq!((stream.deltas().len(), stream.delta(0)), (0, None));
    stream.checkpoint();
    assert_eq!(stream.rollback(0).unwrap().len(), 0);
    let text: String = stream
        .feed(b", then")
        .map(|delta| delta.text.to_owned())
        .collect();
    assert_eq!(text, "Well, then");
    let withdrawn: Vec<_> = stream
        .rollback(0)
        .unwrap()
        .map(|delta| (delta.kind, delta.text.to_owned()))
        .collect();
    assert_eq!(
        withdrawn,
        [(DeltaKind::ContentWithdrawn, ", then".to_owned())]
    );
    assert_eq!(stream.message().content, "Well");
}

#[test]
fn a_budget_outlasts_a_rollback() {
    let params = &known("json-call").0;
    let call = b"<tool_call>\n{\"name\": \"get_all\", \"arguments\": {}}\n</tool_call>";
    let mut stream = Stream::new(&params.parser);
    stream.checkpoint();
    stream.set_budget(Budget::new(20, 0));
    let _ = stream.feed(call);
    assert_eq!(stream.rollback(0).unwrap().len(), 1);
    let _ = stream.feed(call);
    let ended = stream.finish(EndedBy::Model);
    assert_eq!(ended.message.content.as_bytes(), call);
    assert_eq!(ended.diagnostics()[0].kind, DiagnosticKind::Limit);
}

#[test]
fn a_budget_may_shrink_below_what_is_used() {
    let params = &known("json-call").0;
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(b"Let me");
    stream.set_budget(Budget::new(0, 0));
    let _ = stream.feed(b" look.\n<tool_call>\n{");
    let ended = stream.finish(EndedBy::Model);
    assert_eq!(ended.message.content, "Let me look.\n<tool_call>\n{");
    assert_eq!(ended.diagnostics()[0].kind, DiagnosticKind::Limit);
}

#[test]
fn a_long_piece_of_long_characters_crosses_whole() {
    let (params, _) = known("json-call");
    let text = "日".repeat(100_000);
    let mut stream = Stream::new(&params.parser);
    let mut content: String = stream
        .feed(text.as_bytes())
        .map(|delta| delta.text)
        .collect();
    stream.finish(EndedBy::Model);
    content.extend(stream.deltas().map(|delta| delta.text));
    assert_eq!(content, text);
}

#[test]
fn the_work_does_not_depend_on_the_pieces() {
    let (params, _) = known("json-call");
    for output in [
        "<think>\nHm \u{2614} < \u{2614}.\n</think>\n\nLet me < see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>",
        "  \n Plain content, with no call in it.",
        " {\"no\": \"call\"} and text",
    ] {
        let work = |size: usize| {
            let mut stream = Stream::new(&params.parser);
            output
                .as_bytes()
                .chunks(size)
                .for_each(|piece| stream.feed(piece).for_each(drop));
            stream.work()
        };
        assert_eq!([work(1), work(3)], [work(output.len()); 2], "{output}");
    }
}

#[test]
fn a_fork_goes_its_own_way() {
    let params = &known("chatml").0;
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(b"one ");
    let mut fork = stream.clone();
    let _ = fork.feed(b"two");
    let _ = stream.feed(b"three");
    assert_eq!(fork.finish(EndedBy::Model).message.content, "one two");
    assert_eq!(stream.finish(EndedBy::Model).message.content, "one three");
    stream.reset();
    let _ = stream.feed(b"four");
    assert_eq!(stream.finish(EndedBy::Model).message.content, "four");
}

#[test]
fn an_unfinished_character_waits_for_its_rest() {
    let params = &known("chatml").0;
    let mut stream = Stream::new(&params.parser);
    let smile = "😀".as_bytes();
    for byte in &smile[..3] {
        assert_eq!(stream.feed(&[*byte]).len(), 0);
    }
    assert_eq!(
        stream
            .feed(&smile[3..])
            .map(|delta| delta.text.to_owned())
            .collect::<String>(),
        "😀"
    );
    let _ = stream.feed(b"\xE6\x80");
    assert_eq!(
        stream.finish(EndedBy::Model).message.content,
        "😀\u{FFFD}",
        "what never became a character"
    );
}

/// A backslash shows with the character behind it, and comes from its own byte.
#[test]
fn escapes_that_are_cut() {
    let call = "Why<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>\
        <|open|>call tool=\"get\" index=\"1\"<|sep|><|open|>argument key=\"n\" type=\"json\"<|sep|>";
    for value in ["[\"a\\n\\\"b\\\\\"]", "'it\\'s'", "\"a\\"] {
        check("kimi-k3", format!("{call}{value}").as_bytes(), &[], true);
        check("kimi-k3", format!("{call}{value}").as_bytes(), &[], false);
    }
}

/// A quote shows a name; what is no empty tag behind it must not show the call again.
#[test]
fn half_an_empty_tag_is_one_call() {
    for tail in ["/>", "/\u{ff5c}DSML\u{ff5c}invoke>", "/", "/x>"] {
        let output = format!(
            "</think>\n\n<\u{ff5c}DSML\u{ff5c}function_calls>\n<\u{ff5c}DSML\u{ff5c}invoke name=\"get_all\"{tail}"
        );
        check("deepseek-v3.2", output.as_bytes(), &[], false);
    }
}

/// What is in no delta yet: at each byte, what is shown and what is pending have all text of the
/// output, in order.
#[test]
fn pending_bytes_are_the_end_of_the_output() {
    let output = "<think>\nWhy?\n</think>\n\nSo <b>it</b> is <tool_x> \u{e9} <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let tool = serde_json::json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    let request =
        Request::from_json(&serde_json::json!({"messages": [], "tools": [tool]})).unwrap();
    let params = ChatTemplate::builtin("json-call")
        .unwrap()
        .parser_for("<|im_start|>assistant\n", &request)
        .unwrap();
    let mut stream = Stream::new(&params.parser);
    assert!(stream.pending().is_empty());
    for at in 0..output.len() {
        let end = stream
            .feed(&output.as_bytes()[at..=at])
            .filter(|delta| !delta.text.is_empty())
            .map(|delta| delta.span.end)
            .max();
        let pending = stream.pending();
        assert!(
            output.as_bytes()[..=at].ends_with(pending),
            "at {at}: {pending:?}"
        );
        let shown = at + 1 - pending.len();
        assert!(
            end.is_none_or(|end| end <= shown),
            "at {at}: a delta ends at {end:?}, and {pending:?} is pending"
        );
    }
    let mut stream = Stream::new(&params.parser);
    stream.feed(b"</think>\n\nNo. <tool_").for_each(drop);
    assert!(
        stream.pending().ends_with(b"<tool_") && stream.pending().len() <= 7,
        "{:?}",
        stream.pending()
    );
}

#[test]
fn the_end_of_a_turn_waits_until_text_follows() {
    let params = |template: &str, more: serde_json::Value| {
        let mut body =
            json!({"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        ChatTemplate::builtin(template)
            .unwrap()
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
    };
    let content = |parser: &Parser, output: &str, cut_off: bool| {
        let ended = parser.read(output.as_bytes(), EndedBy::limit_if(cut_off));
        (ended.message.content, ended.status)
    };
    let chatml = params("chatml", json!({}));
    assert_eq!(chatml.end_of_turn(), "<|im_end|>");
    let mut stream = Stream::new(&chatml.parser);
    let mut shown = |piece: &str| {
        stream
            .feed(piece.as_bytes())
            .map(|delta| delta.text.to_owned())
            .collect::<String>()
    };
    assert_eq!(
        ["Yes.<|im", "_end|>", " or", " <|im_end|", "."].map(&mut shown),
        ["Yes.", "", "<|im_end|> or", " ", "<|im_end|."]
    );
    // The white space that the template writes after it is its own, what stands before it is the
    // model's.
    for (end, left) in [
        ("<|im_end|>", ""),
        ("<|im_end|>\n", ""),
        ("\n<|im_end|>", "\n"),
        ("<|im_end|>\n\n", "<|im_end|>\n\n"),
    ] {
        assert_eq!(
            content(&chatml.parser, &format!("Yes.{end}"), false),
            (format!("Yes.{left}"), Status::Complete)
        );
    }
    // Half of it is text, if the model has ended there.
    assert_eq!(
        content(&chatml.parser, "Yes.<|im_e", true),
        ("Yes.".to_owned(), Status::Partial)
    );
    assert_eq!(
        content(&chatml.parser, "Yes.<|im_e", false),
        ("Yes.<|im_e".to_owned(), Status::Complete)
    );
    let mut stream = Stream::new(&chatml.parser);
    let _ = stream.feed(b"Yes.<|im_end|>");
    assert_eq!(stream.pending(), b"<|im_end|>");
    let ended = stream.finish(EndedBy::Model);
    assert_eq!(
        (stream.pending(), ended.structure().first()),
        (&b""[..], Some(&(4..14)))
    );
    let stored = Parser::from_text(&chatml.parser.to_text()).unwrap();
    assert_eq!(content(&stored, "Yes.<|im_end|>", false).0, "Yes.");
    let llama = params("chatml", json!({"compat": "llama.cpp"}));
    assert_eq!(
        content(&llama.parser, "Yes.<|im_end|>", false).0,
        "Yes.<|im_end|>"
    );
    // A template may end turns in several ways.
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let harmony = params("gpt-oss", json!({"json_schema": schema}));
    assert_eq!(harmony.end_of_turn(), "");
    let answer = "<|channel|>final<|message|>{\"a\": 1}<|return|>";
    assert_eq!(
        content(&harmony.parser, answer, false),
        ("{\"a\": 1}".to_owned(), Status::Complete)
    );
}

#[test]
fn joined_lines_belong_to_the_text_after_them() {
    let output = b"<think>Why</think><|tool_call_start|>[get(key=\"a \\\n\" </x>\n\", n=-12), get_all()]<|tool_call_endm_end|>\n";
    for cut_off in [false, true] {
        check("lfm2", output, &[53], cut_off);
        check_rollback("lfm2", output, &[53], cut_off);
    }
}
