//! Families whose output is read as learnt: a row each, because llama.cpp tells hosts something else, which no render shows.

use super::row::{Host, LEARNT, Row, row};
use super::{Family, has_all, prompts};
use crate::format::Constraint;
use crate::format::learnt::Tolerances;
use chatparse_grammar::Trigger;

pub(super) const FUNCTIONARY_3_2: Family = row(
    "functionary-v3.2",
    |source| has_all(source, &[">>>all", ">>>${recipient}"]),
    Row {
        host: Host {
            constraint: Some(|spec| spec.constraint(false, [Trigger::pattern(">>>(?!all)")])),
            tokens: Some(">>>all"),
            delimiters: Some(&[]),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const GIGACHAT_3: Family = row(
    "gigachat-3",
    |source| has_all(source, &["<|role_sep|>", "<|message_sep|>"]) && !source.contains("<|function_call|>"),
    Row {
        host: Host {
            constraint: Some(|spec| {
                spec.constraint(false, [Trigger::word("<|message_sep|>\n\nfunction call<|role_sep|>\n")])
            }),
            tokens: Some("<|message_sep|>\n\n <|role_sep|>\n"),
            delimiters: Some(&[]),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const MINIMAX_M3: Family = row(
    "minimax-m3",
    |source| has_all(source, &["]<]minimax[>[", "<tool_call>", "<invoke name="]),
    Row {
        host: Host {
            name: Some("peg-minimax-m3"),
            constraint: Some(|spec| {
                spec.constraint(spec.response_object().is_some(), [Trigger::word("]<]minimax[>[<tool_call>")])
            }),
            tokens: Some("]<]minimax[>[ <tool_call> </tool_call> <mm:think> </mm:think>"),
            thinking: Some(Some(("<mm:think>", &["</mm:think>"]))),
            delimiters: Some(&[
                ("assistant", "]~b]ai"),
                ("user", "]~b]user"),
                ("tool", "]~b]tool"),
                ("system", "]~b]developer"),
                ("system", "]~b]system"),
            ]),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const MINICPM_5: Family = row(
    "minicpm5",
    |source| has_all(source, &["Tool usage guidelines:", "<function name=\"", "<param name=\""]),
    Row {
        host: Host {
            constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), [Trigger::word("<function")])),
            tokens: Some("<function <param </function> </param> <think> </think>"),
            thinking: Some(Some(("<think>", &["</think>"]))),
            delimiters: Some(IM_START),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const SOLAR_OPEN: Family = row(
    // llama.cpp knows no reasoning of this template, whose assistant's messages begin with it.
    "solar-open",
    |source| has_all(source, &["<|begin|>assistant", "<|think|>", "<|tool_call:begin|>"]),
    Row {
        host: Host {
            tokens: Some(
                "<|calls|> <|content|> <|end|> <|tool_calls|> <|tool_call:begin|> call00001<|tool_call:name|> \
                <|tool_call:args|> <|tool_call:end|>",
            ),
            thinking: Some(None),
            delimiters: Some(&[("assistant", "<|begin|>assistant"), ("user", "<|begin|>user<|content|>")]),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const K2_HORIZON: Family = row(
    "k2-horizon",
    |source| has_all(source, &["<ifm|tool_calls>", "<|ifm|im_start|>"]),
    Row {
        tolerances: Tolerances { calls_from: "<ifm|tool_calls>", ..Tolerances::NONE },
        host: Host {
            tokens: Some(
                "<ifm|think> </ifm|think> <ifm|tool_calls> </ifm|tool_calls> <ifm|tool_call> </ifm|tool_call> \
                <ifm|arg_key> </ifm|arg_key> <ifm|arg_value> </ifm|arg_value> <ifm|arg_type> </ifm|arg_type>",
            ),
            delimiters: Some(&[
                ("assistant", "<|ifm|im_start|>assistant"),
                ("user", "<|ifm|im_start|>user"),
                ("tool", "<|ifm|im_start|>tool"),
                ("system", "<|ifm|im_start|>system"),
            ]),
            ..Host::LEARNT
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
        host: Host {
            tokens: Some(
                "<think> </think> <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> function<｜tool▁sep｜> ```json \
                ```<｜tool▁call▁end｜><｜tool▁calls▁end｜> <｜end▁of▁sentence｜>",
            ),
            ..Host::LEARNT
        },
        ..LEARNT
    },
);

pub(super) const TRANSLATE_GEMMA: Family = Family {
    // The template renders no message in any form that requests have.
    prompt: Some(prompts::translate_gemma),
    ..row(
        "translate-gemma",
        |source| has_all(source, &["[source_lang_code]", "[target_lang_code]"]),
        Row { host: Host { constraint: Some(|_| Constraint::Free), ..Host::LEARNT }, ..LEARNT },
    )
};

const IM_START: &[(&str, &str)] = &[
    ("assistant", "<|im_start|>assistant"),
    ("tool", "<|im_start|>user\n<tool_response>"),
    ("user", "<|im_start|>user"),
    ("system", "<|im_start|>system"),
];
