//! The families of templates of whose models renders do not show enough: a row each, which adds to the learnt turn.

use super::{Family, Way, has_all};
use crate::analysis::turn::{Edge, Glue, Place, Reasoning, TurnFormat};
use crate::format::learnt::Tolerances;
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::Trigger;

/// What a family's row adds to the learnt turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// How the model deviates from what the template writes.
    pub tolerances: Tolerances,
    /// What the turn has that no render shows.
    pub patch: fn(&mut TurnFormat),
    /// What hosts are told otherwise than learnt.
    pub host: fn(&FormatSpec, &mut Format),
}

const LEARNT: Row = Row { tolerances: Tolerances::NONE, patch: |_| {}, host: |_, _| {} };
const CALLS_IN_REASONING: Tolerances = Tolerances { calls_in_reasoning: true, ..Tolerances::NONE };

const fn row(name: &'static str, detect: fn(&str) -> bool, row: Row) -> Family {
    Family { name, detect, prompt: None, way: Way::Row(row), history_misleads: false }
}

/// The rows, in the order in which they are tried.
pub(super) const MINISTRAL_3: Family = row(
    // Some of the templates do not render reasoning. Mistral Small 3.2 is similar, but its calls have ids.
    "ministral-3",
    |source| has_all(source, &["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"]) && !source.contains("[CALL_ID]"),
    Row {
        tolerances: Tolerances { calls_from: "[TOOL_CALLS]", ..Tolerances::NONE },
        patch: |turn| reasoning(turn, "[THINK]", "[/THINK]"),
        host: |spec, format| {
            trigger(spec, format, Trigger::word("[TOOL_CALLS]"));
            tokens(format, &["[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]"]);
            format.thinking = Some(Thinking::new("[THINK]", ["[/THINK]"]));
            format.delimiters.clear();
        },
    },
);

pub(super) const GIGACHAT_3: Family = row(
    "gigachat-3",
    |source| has_all(source, &["<|role_sep|>", "<|message_sep|>"]) && !source.contains("<|function_call|>"),
    Row {
        host: |spec, format| {
            trigger_of(spec, format, false, vec![Trigger::word("<|message_sep|>\n\nfunction call<|role_sep|>\n")]);
            tokens(format, &["<|message_sep|>\n\n", "<|role_sep|>\n"]);
            format.delimiters.clear();
        },
        ..LEARNT
    },
);

pub(super) const MINICPM_5: Family = row(
    "minicpm5",
    |source| has_all(source, &["Tool usage guidelines:", "<function name=\"", "<param name=\""]),
    Row {
        host: |spec, format| {
            trigger(spec, format, Trigger::word("<function"));
            tokens(format, &["<function", "<param", "</function>", "</param>", "<think>", "</think>"]);
            format.thinking = Some(Thinking::new("<think>", ["</think>"]));
            delimiters(format, IM_START);
        },
        ..LEARNT
    },
);

pub(super) const COHERE_2_MOE: Family = row(
    // The template always closes the reasoning in front of calls, and the model does not.
    "cohere2-moe",
    |source| has_all(source, &["<|START_TEXT|>", "<|START_ACTION|>"]),
    Row {
        tolerances: Tolerances { calls_from: "<|START_ACTION|>", ..CALLS_IN_REASONING },
        host: |spec, format| {
            trigger(spec, format, Trigger::word("<|START_ACTION|>"));
            tokens(format, &["<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>", "<|SYSTEM_TOKEN|>"]);
            add_tokens(format, &["<|END_OF_TURN_TOKEN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_TEXT|>"]);
            add_tokens(format, &["<|END_TEXT|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|START_TOOL_RESULT|>"]);
            add_tokens(format, &["<|END_TOOL_RESULT|>"]);
            format.thinking = Some(Thinking::new("<|START_THINKING|>", ["<|END_THINKING|>"]));
            delimiters(
                format,
                &[
                    ("assistant", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
                    ("user", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
                    // Before the entry for `system`, which is a prefix of this text.
                    ("tool", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|><|START_TOOL_RESULT|>"),
                    ("system", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>"),
                ],
            );
        },
        ..LEARNT
    },
);

pub(super) const QWEN_3_CODER: Family = row(
    "qwen3-coder",
    |source| {
        has_all(source, &["<tool_call>", "<function=", "<parameter="])
            && !source.contains("'<tool_call><function=' ~ tool_call.name ~ '>'")
    },
    Row {
        tolerances: Tolerances { calls_from: "<tool_call>", bare_calls: true, ..CALLS_IN_REASONING },
        // Content that is continued stands behind an empty line, whatever the history has.
        patch: |turn| {
            let Some(Reasoning { close, .. }) = &turn.reasoning else { return };
            let content = |edge: &&mut Edge| edge.from == Place::Reasoning && edge.to == Place::Content;
            for edge in turn.edges.iter_mut().filter(content) {
                if close.and(&edge.glue).head().ends_with("</think>\n") {
                    edge.glue = edge.glue.and(&"\n".into());
                }
            }
        },
        host: |spec, format| {
            let reasons = spec.source.contains("<think>");
            // A model that does not reason sometimes leaves out the first tag.
            let bare = spec.offered.iter().filter(|_| !reasons).map(|tool| format!("<function={}>", tool.name));
            let starts = ["<tool_call>".to_owned()].into_iter().chain(bare).map(Trigger::word);
            let lazy = spec.tool_choice == crate::message::ToolChoice::Auto;
            let triggers = if lazy && !spec.tools().is_empty() { starts.collect() } else { Vec::new() };
            trigger_of(spec, format, spec.response_schema().is_some(), triggers);
            tokens(format, &["<tool_call>", "</tool_call>"]);
            format.thinking = None;
            if reasons {
                add_tokens(format, &["<think>", "</think>"]);
                // A host that ends the reasoning writes the first of these ends.
                format.thinking = Some(Thinking::new("<think>", ["\n</think>", "</think>", "<tool_call>"]));
            }
            delimiters(format, IM_START);
            format.delimiters.insert(2, Delimiter { role: "tool", delimiter: "<|im_start|>tool_response".to_owned() });
        },
    },
);

pub(super) const LAGUNA: Family = row(
    // Tags are rendered on lines of their own, but the model writes them without line breaks.
    "laguna",
    |source| source.contains("laguna_glm_thinking"),
    Row {
        patch: |turn| {
            if let Some(reasoning) = &mut turn.reasoning {
                reasoning.open = Glue::from(reasoning.open.head().trim());
                reasoning.close = Glue::from(reasoning.close.head().trim());
            }
            turn.edges
                .iter_mut()
                .filter(|edge| edge.from == Place::Reasoning)
                .for_each(|edge| edge.glue = edge.glue.trim_start());
        },
        // The end-of-turn token may come spelled out after calls.
        host: |_, format| format.additional_stops = vec!["</assistant>".to_owned()],
        ..LEARNT
    },
);

pub(super) const NEMOTRON_NANO_2: Family = Family {
    // The history writes replies behind an open reasoning marker.
    history_misleads: true,
    ..row(
        "nemotron-nano-2",
        |source| has_all(source, &["<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<TOOL_RESPONSE>"]),
        Row {
            patch: |turn| {
                reasoning(turn, "<think>", "</think>");
                // The token ends the turn.
                for edge in turn.edges.iter_mut().filter(|edge| edge.to == Place::End) {
                    if let Some(at) = edge.glue.head().find("<SPECIAL_12>") {
                        edge.glue = edge.glue.up_to(at).and(&"\n".into());
                    }
                }
                turn.end = "<SPECIAL_12>\n".into();
            },
            host: |_, format| {
                tokens(format, &["<SPECIAL_11>", "</think>", "<TOOLCALL>", "</TOOLCALL>"]);
                format.thinking = Some(Thinking::new("<think>", ["</think>"]));
                delimiters(format, &[("assistant", "<SPECIAL_11>Assistant"), ("user", "<SPECIAL_11>User")]);
            },
            ..LEARNT
        },
    )
};

pub(super) const SOLAR_OPEN: Family = row(
    // llama.cpp knows no reasoning of this template, whose assistant's messages begin with it.
    "solar-open",
    |source| has_all(source, &["<|begin|>assistant", "<|think|>", "<|tool_call:begin|>"]),
    Row {
        host: |_, format| {
            format.thinking = None;
            tokens(format, &["<|calls|>", "<|content|>", "<|end|>", "<|tool_calls|>", "<|tool_call:begin|>"]);
            add_tokens(format, &["call00001<|tool_call:name|>", "<|tool_call:args|>", "<|tool_call:end|>"]);
            delimiters(format, &[("assistant", "<|begin|>assistant"), ("user", "<|begin|>user<|content|>")]);
        },
        ..LEARNT
    },
);

pub(super) const K2_HORIZON: Family = row(
    "k2-horizon",
    |source| has_all(source, &["<ifm|tool_calls>", "<|ifm|im_start|>"]),
    Row {
        tolerances: Tolerances { calls_from: "<ifm|tool_calls>", ..Tolerances::NONE },
        host: |_, format| {
            tokens(
                format,
                &["<ifm|think>", "</ifm|think>", "<ifm|tool_calls>", "</ifm|tool_calls>", "<ifm|tool_call>"],
            );
            add_tokens(format, &["</ifm|tool_call>", "<ifm|arg_key>", "</ifm|arg_key>", "<ifm|arg_value>"]);
            add_tokens(format, &["</ifm|arg_value>", "<ifm|arg_type>", "</ifm|arg_type>"]);
            delimiters(
                format,
                &[
                    ("assistant", "<|ifm|im_start|>assistant"),
                    ("user", "<|ifm|im_start|>user"),
                    ("tool", "<|ifm|im_start|>tool"),
                    ("system", "<|ifm|im_start|>system"),
                ],
            );
        },
        ..LEARNT
    },
);

pub(super) const DEEPSEEK_R1_DISTILL: Family = row(
    "deepseek-r1-distill",
    // llama.cpp takes what an empty content behind calls renders for the end of a call.
    |source| {
        has_all(
            source,
            &[
                "'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'",
                "['arguments'] | tojson",
                "tool['type'] + '<｜tool▁sep｜>'",
            ],
        )
    },
    Row {
        host: |_, format| {
            tokens(
                format,
                &["<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>"],
            );
            add_tokens(format, &["```json", "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>"]);
        },
        ..LEARNT
    },
);

const IM_START: &[(&str, &str)] = &[
    ("assistant", "<|im_start|>assistant"),
    ("tool", "<|im_start|>user\n<tool_response>"),
    ("user", "<|im_start|>user"),
    ("system", "<|im_start|>system"),
];

/// Reasoning that the history does not show.
fn reasoning(turn: &mut TurnFormat, start: &str, close: &str) {
    if turn.reasoning.is_none() {
        turn.reasoning = Some(Reasoning { shown: true, ..Reasoning::behind(&turn.opening, start, close) });
        turn.reason_like_prompt(close);
    }
}

/// The grammar begins with a call at this trigger, or is strict where a call or a structured response is required.
fn trigger(spec: &FormatSpec, format: &mut Format, trigger: Trigger) {
    trigger_of(spec, format, spec.response_schema().is_some(), vec![trigger]);
}

fn trigger_of(spec: &FormatSpec, format: &mut Format, structured: bool, triggers: Vec<Trigger>) {
    format.constraint = spec.constraint(structured, triggers);
}

fn tokens(format: &mut Format, tokens: &[&str]) {
    format.preserved_tokens.clear();
    add_tokens(format, tokens);
}

fn add_tokens(format: &mut Format, tokens: &[&str]) {
    format.preserved_tokens.extend(tokens.iter().map(|token| (*token).to_owned()));
}

fn delimiters(format: &mut Format, rows: &[(&'static str, &str)]) {
    format.delimiters = Delimiter::list(rows.iter().copied());
}
