//! However an output is damaged, the message does not depend on the pieces, and a call that is said
//! to be whole is.

use chatparse::Stream;
use serde_json::Value;

use super::broken::runs;
use super::choices::Choices;
use super::shown::feed;
use super::written::{Written, calls};

/// Values where an object or another value is due.
const OTHERS: [&str; 7] = [
    "[1, 2]",
    "\"text\"",
    "12",
    "null",
    "true",
    "{}",
    "{\"x\": [\"y\"]}",
];

/// Markers of many ways to write calls, reasoning and turns.
const FOREIGN: [&str; 10] = [
    "[TOOL_CALLS][{\"name\": \"w1\", \"arguments\": {}}]",
    "<tool_call>\n{\"name\": \"w1\", \"arguments\": {\"w2\": 1}}\n</tool_call>",
    "<|tool_call_begin|>functions.w1:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<function=w1><parameter=w2>1</parameter></function>",
    "<|channel|>commentary to=functions.w1<|message|>{}<|call|>",
    "<think>hm</think>",
    "</think>",
    "<|im_end|>",
    "</tool_call>",
    "```json\n{\"name\": \"w1\"}\n```",
];

/// What is wrong with an output that these choices damage.
pub fn check(written: &Written, choices: &mut Choices) -> Result<(), String> {
    let output = mutated(written, choices);
    look(written, &output).map_err(|wrong| format!("{output:?}\n  {wrong}"))
}

/// One or two changes.
fn mutated(written: &Written, choices: &mut Choices) -> String {
    let mut output = written.output.clone();
    for _ in 0..1 + choices.below(2) {
        let mut any = || {
            let mut at = choices.below(output.len() + 1);
            while !output.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (any(), any());
        let span = a.min(b)..a.max(b);
        match choices.below(7) {
            0 => output.truncate(a),
            1 => output.replace_range(span, ""),
            2 => {
                let again = output[span.clone()].to_owned();
                output.insert_str(span.start, &again);
            }
            3 => swap_markers(written, choices, &mut output),
            4 => {
                // From a bracket to the next one of its kind.
                let open = output[a..]
                    .find(['{', '[', '"', '>'])
                    .map_or(a, |at| a + at + 1);
                let end = output[open..]
                    .find(['}', ']', '"', '<'])
                    .map_or(open, |at| open + at);
                output.replace_range(open..end, choices.pick::<&str>(&OTHERS));
            }
            5 => output.insert_str(a, choices.pick::<&str>(&FOREIGN)),
            _ => output.push_str(choices.pick::<&str>(&FOREIGN)),
        }
    }
    output
}

/// Puts one run of markup in the place of another.
fn swap_markers(written: &Written, choices: &mut Choices, output: &mut String) {
    let runs = runs(written);
    let [from, to] = [0; 2].map(|_| runs[choices.below(runs.len())].clone());
    if output.is_char_boundary(from.start)
        && output.is_char_boundary(from.end.min(output.len()))
        && from.end <= output.len()
    {
        output.replace_range(from, &written.output[to]);
    }
}

fn look(written: &Written, output: &str) -> Result<(), String> {
    let parser = &written.params.parser;
    for cut_off in [false, true] {
        let read = |size: usize| feed(Stream::new(parser), output.as_bytes().chunks(size), cut_off);
        let ((_, ended), (_, whole)) = (read(1)?, read(output.len().max(1))?);
        if ended != whole {
            return Err(format!(
                "cut off: {cut_off}; byte by byte {ended:?}\n  in one piece {whole:?}"
            ));
        }
        for (at, (call, report)) in ended
            .message
            .tool_calls
            .iter()
            .zip(ended.calls())
            .enumerate()
        {
            let parses =
                serde_json::from_str::<Value>(&call.arguments).is_ok_and(|value| value.is_object());
            if report.complete && report.valid && !parses {
                return Err(format!("call {at} is not whole: {ended:?}"));
            }
        }
    }
    Ok(())
}

/// What calls of other formats begin and end with.
const MARKERS: [&str; 30] = [
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "</function>",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=\"",
    "</invoke>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<tool▁calls▁begin>",
    "function<",
    "function\n```json",
    "<|channel|>",
    "<|start|>assistant",
    "[TOOL_CALLS]",
    "[/TOOL_CALLS]",
    "<|python_tag|>",
    "<|eom_id|>",
    "<tools>",
    "</tools>",
    "[TOOL]",
    "[/ACTION]",
    "```json",
    "{",
];

/// A call that other formats write so; `@` stands for JSON.
const CALLS: [&str; 12] = [
    "[TOOL_CALLS][@]",
    "[TOOL_CALLS][@][/TOOL_CALLS]",
    "<|python_tag|>@",
    "<tool_call>\n@\n</tool_call>",
    "<tools>@</tools>",
    "<|tool_call|>[@]<|/tool_call|>",
    "<function=send_mail>\n<parameter=qk4body>\nqz9z\n</parameter>\n</function>",
    "<function_calls><invoke name=\"send_mail\"><parameter name=\"qk4body\">qz9z</parameter></invoke></function_calls>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.send_mail:0<|tool_call_argument_begin|>{\"qk4body\": \"qz9z\"}<|tool_call_end|>\
     <|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>send_mail\n```json\n{\"qk4body\": \"qz9z\"}\n```<｜tool▁call▁end｜>\
     <｜tool▁calls▁end｜>",
    "<|channel|>commentary to=functions.send_mail<|message|>{\"qk4body\": \"qz9z\"}<|call|>",
    "function<send_mail>\n```json\n{\"qk4body\": \"qz9z\"}\n```",
];

/// What of another format's markers behind the calls of the template is in no field, and which of
/// another format's calls are not read there; and how many were looked at.
pub fn check_behind(source: &str, written: &Written) -> (Vec<String>, usize) {
    let own = written.output.as_str();
    let json = "{\"name\": \"send_mail\", \"arguments\": {\"qk4body\": \"qz9z\"}}";
    let mut wrong = Vec::new();
    let mut stream = Stream::new(&written.params.parser);
    let _ = stream.feed(own.as_bytes());
    if stream.so_far().ends_in_call() {
        // The call goes on up to its end, which is that of the turn.
        return (wrong, 0);
    }
    let mut look = |more: &str, is_wrong: &dyn Fn(&chatparse::stream::Ended) -> bool| {
        for space in ["", "\n"] {
            let output = format!("{own}{space}{more}");
            let read = |size: usize| {
                feed(
                    Stream::new(&written.params.parser),
                    output.as_bytes().chunks(size),
                    false,
                )
            };
            match (read(1), read(output.len())) {
                (Ok((_, bytes)), Ok((_, whole))) if bytes != whole => {
                    wrong.push(format!("{output:?}: {bytes:?}\n {whole:?}"))
                }
                (Ok((_, ended)), Ok(_)) if is_wrong(&ended) => {
                    wrong.push(format!("{space:?} {more:?}: {:?}", ended.message))
                }
                (Ok(_), Ok(_)) => {}
                (bytes, whole) => wrong.extend([bytes.err(), whole.err()].into_iter().flatten()),
            }
        }
    };
    for marker in MARKERS {
        // What closes calls or turns of the template may be written twice.
        if source.contains(marker) || own.contains(&marker.replacen('/', "", 1)) {
            continue;
        }
        for text in ["", " hello"] {
            look(&format!("{marker}{text}"), &|ended| {
                let message = &ended.message;
                let arguments = message
                    .tool_calls
                    .iter()
                    .map(|call| call.arguments.as_str());
                let fields = [message.content.as_str(), &message.reasoning_content]
                    .into_iter()
                    .chain(arguments);
                let kept = fields.clone().any(|field| field.contains(marker));
                !kept || message.tool_calls.len() != written.calls.len()
            });
        }
    }
    let another = (
        "send_mail".to_owned(),
        serde_json::json!({"qk4body": "qz9z"}),
    );
    // `<function=` may begin calls of the template with other arguments.
    for call in CALLS
        .iter()
        .filter(|call| !(call.starts_with("<function=") && own.contains("<function=")))
    {
        look(&call.replace('@', json), &|ended| {
            let calls = calls(&ended.message);
            calls.len() != written.calls.len() + 1 || calls.last() != Some(&another)
        });
    }
    (wrong, 4 * MARKERS.len() + 2 * CALLS.len())
}
