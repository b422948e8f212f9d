//! Calls that are quoted: what stands in prose, in a code fence, in the reasoning or in a tool's
//! result is no call of the format unless its opener and the name of a tool stand there, and where
//! nothing marks it, it is no call at all.

use chatparse::message::DiagnosticKind;

use super::written::Written;

/// A call in each way to write one that is known besides the template's own, and whether something
/// marks it.
const DIALECTS: &[(&str, bool, &str)] = &[
    (
        "json-in-tags",
        true,
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"qk1town\": \"Rome\"}}\n</tool_call>",
    ),
    (
        "qwen3-coder",
        true,
        "<tool_call>\n<function=get_weather>\n<parameter=qk1town>\nRome\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "tag-invoke",
        true,
        "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"qk1town\">Rome</parameter>\n</invoke>\n</function_calls>",
    ),
    (
        "kimi-k2",
        true,
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"qk1town\": \"Rome\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "deepseek-r1",
        true,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"qk1town\": \"Rome\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek-r1-function",
        true,
        "function<get_weather>\n```json\n{\"qk1town\": \"Rome\"}\n```",
    ),
    (
        "deepseek-r1-list",
        true,
        "function\n```json\n{\"tools\": [{\"name\": \"get_weather\", \"arguments\": {\"qk1town\": \"Rome\"}}]}\n```",
    ),
    (
        "deepseek-r1-tags",
        true,
        "<tool_call>\nfunction</think>get_weather\n```json\n{\"qk1town\": \"Rome\"}\n```\n</tool_call>",
    ),
    (
        "harmony",
        true,
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"qk1town\": \"Rome\"}<|call|>",
    ),
    (
        "bare-json",
        false,
        "{\"name\": \"get_weather\", \"arguments\": {\"qk1town\": \"Rome\"}}",
    ),
    (
        "bare-json",
        false,
        "{\"name\": \"get_weather\", \"parameters\": {\"qk1town\": \"Rome\"}}",
    ),
    ("python", false, "get_weather(qk1town=\"Rome\")"),
    ("python", false, "[get_weather(qk1town='Rome')]"),
];

/// Where calls are quoted: the text around them, and whether that is the reasoning.
const PLACES: &[(&str, &str, bool)] = &[
    ("You would write \"", "\" for that.", false),
    ("The form is `", "`, as the manual says.", false),
    ("Like this:\n\n```\n", "\n```\n\nThat is all.", false),
    ("The tool said: {\"result\": \"", "\"} and no more.", false),
    ("I could write ", " now, but I need not.", true),
];

/// What is wrong, and how many outputs were looked at.
pub fn check(written: &Written, most: usize) -> (Vec<String>, usize) {
    let own = &written.output[written.spans[0].clone()];
    let own = ("own", is_marked(written), own);
    let forms = DIALECTS.iter().copied().chain([own]);
    let all = forms.flat_map(|form| PLACES.iter().map(move |place| (form, *place)));
    let all: Vec<_> = all.collect();
    let stride = all.len().div_ceil(most).max(1);
    let all: Vec<_> = all.into_iter().step_by(stride).collect();
    let looked = all.len();
    let wrong =
        all.into_iter()
            .filter_map(|((dialect, marked, call), (before, behind, thought))| {
                let text = format!("{before}{}{behind}", call.trim());
                let output = if thought {
                    in_reasoning(written, &text)?
                } else {
                    behind_thought(written, &text)
                };
                let (calls, ended) = written.read(&output);
                let legal = |index: usize| {
                    // Where it is read for what it is, the report says so.
                    let named = ended.diagnostics().iter().any(|found| {
                        found.call == Some(index)
                            && matches!(
                                found.kind,
                                DiagnosticKind::Dialect | DiagnosticKind::CallInReasoning
                            )
                    });
                    // Where nothing marks the template's own calls and it writes text in front of
                    // them, a call is one wherever it stands; what is behind it then does not fit.
                    let odd = [DiagnosticKind::LeftFormat, DiagnosticKind::UnfinishedCall];
                    let left = ended
                        .diagnostics()
                        .iter()
                        .any(|found| odd.contains(&found.kind));
                    marked && (named || text.contains(written.opener().trim()))
                        || !is_marked(written) && (named || left)
                };
                let wrong = (0..calls.len()).any(|index| !legal(index));
                wrong.then(|| format!("{dialect} is a call: {output:?}\n  is read as {ended:?}"))
            });
    (wrong.collect(), looked)
}

/// Whether something besides brackets stands in front of the template's own calls.
fn is_marked(written: &Written) -> bool {
    let opener = written.opener().trim();
    !opener.is_empty()
        && !opener.starts_with('{')
        && (!opener.starts_with('[') || opener.starts_with("[TOOL"))
}

/// Content behind what the output has in front of its own, as the end of a thought.
fn behind_thought(written: &Written, text: &str) -> String {
    let before = &written.output[..written.spans[0].start];
    let before = before
        .strip_suffix("Let me see.")
        .unwrap_or(if before.trim().is_empty() { "" } else { before });
    format!("{before}{text}")
}

/// The text as closed reasoning, and an answer; `None` where there is no reasoning.
fn in_reasoning(written: &Written, text: &str) -> Option<String> {
    let thinking = written.params.thinking.as_ref()?;
    let end = thinking.ends.first()?;
    let opened = written
        .params
        .generation_prompt
        .contains(thinking.start.trim());
    let start = if opened { "" } else { &*thinking.start };
    Some(format!("{start}{text}{end}\n\nThe answer is 4."))
}
