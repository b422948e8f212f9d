//! A parse whose budget is used up: the rest is content, a diagnostic says so, and neither depends
//! on how the output was cut.

use chatparse::message::DiagnosticKind;
use chatparse::stream::Budget;
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, EndedBy, Parser, Request, Status, Stream};
use serde_json::{Value, json};

fn parser(template: &str) -> Parser {
    parser_with(template, &json!({}))
}

fn parser_with(template: &str, more: &Value) -> Parser {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}});
    let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto", "parallel_tool_calls": true,
        "tools": [{"type": "function", "function": {"name": "read", "parameters": parameters}}]});
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    let template = ChatTemplate::builtin(template).expect("a built-in template");
    template
        .params(&Request::from_json(&body).expect("a request"))
        .expect("the request fits")
        .parser
}

fn parse(parser: &Parser, budget: Budget, output: &str, piece: usize) -> Ended {
    let mut stream = Stream::new(parser);
    stream.set_budget(budget);
    output
        .as_bytes()
        .chunks(piece)
        .for_each(|chunk| drop(stream.feed(chunk)));
    stream.finish(EndedBy::Model)
}

/// What comes of an output under a budget, the same for all pieces.
fn parsed(parser: &Parser, budget: Budget, output: &str) -> Ended {
    let whole = parse(parser, budget, output, output.len());
    for piece in [1, 2, 3, 7, 64] {
        assert_eq!(
            parse(parser, budget, output, piece),
            whole,
            "in pieces of {piece}, {budget:?}"
        );
    }
    whole
}

const CALL: &str = "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a \\\"b\\\" c\", \"line\": 2}}\n</tool_call>\n";

/// Checks what comes of an output under budgets of every size: up to the limit all is as it is
/// without one, and the rest is content.
fn check(template: &str, output: &str) {
    let parser = parser(template);
    let free = parsed(&parser, parser.budget(), output);
    let (mut limited, mut calls) = (0, 0);
    for base in (0..3_000).step_by(23) {
        let ended = parsed(&parser, Budget::new(base, 0), output);
        let found = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::Limit);
        let Some(found) = found else {
            assert_eq!(ended, free, "{base}");
            continue;
        };
        limited += 1;
        assert_eq!(ended.status, Status::Recovered);
        assert!(
            ended.left_at.is_some_and(|at| at <= found.span.start),
            "{ended:?}"
        );
        assert_eq!(found.span.end, output.len());
        // Half a character more or less of white space in front of a call goes with the call.
        assert!(
            ended
                .message
                .content
                .trim_end()
                .ends_with(output[found.span.start..].trim()),
            "{base}: {ended:?}"
        );
        for (call, whole) in ended
            .message
            .tool_calls
            .iter()
            .zip(&free.message.tool_calls)
        {
            assert_eq!(call.name, whole.name);
            assert!(
                whole.arguments.starts_with(&call.arguments),
                "{base}: {call:?}"
            );
        }
        assert!(ended.message.tool_calls.len() <= free.message.tool_calls.len());
        calls = calls.max(ended.message.tool_calls.len());
    }
    assert!(
        limited > 20 && calls > 3,
        "{limited} budgets, {calls} calls"
    );
}

#[test]
fn a_budget_that_is_used_up_in_the_format() {
    check(
        "json-call",
        &format!("<think>\nWhy?\n</think>\n\nWell.\n{}", CALL.repeat(12)),
    );
}

#[test]
fn a_budget_that_is_used_up_behind_the_format() {
    check(
        "tag-json-id",
        &format!("[TOOL_CALLS]no {}", CALL.repeat(16)),
    );
}

#[test]
fn what_may_be_a_call_at_the_end_of_reasoning_is_not_lost() {
    let parser = parser_with("json-call", &json!({"calls_in_reasoning": "at_end"}));
    let output = format!("<think>\nWhy? {}", CALL.repeat(4));
    for base in (0..1_500).step_by(17) {
        let ended = parsed(&parser, Budget::new(base, 0), &output);
        let message = ended.message;
        let arguments = message
            .tool_calls
            .iter()
            .map(|call| call.arguments.as_str());
        let texts = [&*message.reasoning_content, &*message.content]
            .into_iter()
            .chain(arguments);
        let text: String = texts.collect();
        assert!(
            text.contains("Why?") && text.matches("path").count() == 4,
            "{base}: {text:?}"
        );
    }
}

#[test]
fn nesting_that_is_too_deep_is_a_limit() {
    for (template, head) in [("json-call", ""), ("tag-json-id", "[TOOL_CALLS]no ")] {
        let parser = parser(template);
        let open = format!("{head}<tool_call>\n{{\"name\": \"read\", \"arguments\": {{\"path\": ");
        let deep = "[".repeat(70_000);
        let output = format!("{open}{deep}");
        let ended = parse(&parser, parser.budget(), &output, output.len());
        let in_pieces = parse(&parser, parser.budget(), &output, 1_009);
        assert_eq!(ended, in_pieces);
        let found = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::Limit)
            .expect("a limit");
        assert_eq!(
            (found.span.end, ended.status),
            (output.len(), Status::Recovered)
        );
        let arguments = &ended.message.tool_calls[0].arguments;
        assert!(
            arguments.len() > 1_000,
            "{} bytes of arguments",
            arguments.len()
        );
        let text = arguments.len() + ended.message.content.len();
        assert!(
            text + open.len() >= output.len(),
            "{text} of {} bytes",
            output.len()
        );
    }
}
