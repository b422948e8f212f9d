//! What llama.cpp tells hosts that no render shows: a row for each family whose output is read as learnt, and what the rows of the
//! others refer to.

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
            constraint: Some(|spec| spec.word_or_json("]<]minimax[>[<tool_call>")),
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
        tolerances: Tolerances { bare_response: true, ..Tolerances::NONE },
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
        tolerances: Tolerances { calls_from: "<ifm|tool_calls>", bare_response: true, ..Tolerances::NONE },
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

pub(super) const MINISTRAL_3_HOST: Host = Host {
    constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), [Trigger::word("[TOOL_CALLS]")])),
    tokens: Some("[THINK] [/THINK] [TOOL_CALLS] [ARGS]"),
    thinking: Some(Some(("[THINK]", &["[/THINK]"]))),
    delimiters: Some(&[]),
    ..Host::LEARNT
};

pub(super) const MUSE_GLIMMER_HOST: Host = Host {
    // A recipient that is neither the model itself nor the user.
    constraint: Some(|spec| {
        spec.constraint(
            spec.response_object().is_some(),
            [Trigger::pattern(
                r"(?:^|<\|start\|>assistant)( to=(?!self<\|message\|>)(?!user<\|message\|>)[^<]*?<\|message\|>)",
            )],
        )
    }),
    tokens: Some(
        "<|start|> <|message|> <|eom|> <|eot|> <atem:function_calls> <atem:invoke <atem:parameter \
         </atem:parameter> </atem:invoke> </atem:function_calls>",
    ),
    thinking: Some(Some(("", &[]))),
    delimiters: Some(&[
        ("assistant", "<|start|>assistant"),
        ("user", "<|start|>user"),
        ("system", "<|start|>system"),
        ("tool", "<|start|>tool"),
    ]),
    ..Host::LEARNT
};

pub(super) const KIMI_K2_HOST: Host = Host {
    constraint: Some(|spec| spec.constraint(false, [Trigger::word("<|tool_call_begin|>")])),
    tokens: Some(
        "<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> \
         <|tool_call_argument_begin|> <|tool_call_end|> <think> </think>",
    ),
    thinking: Some(Some(("<think>", &["</think>"]))),
    delimiters: Some(&[]),
    continued: Some(["<|im_assistant|>assistant<|im_middle|>", "<think>", "</think>"]),
    ..Host::LEARNT
};

pub(super) const KIMI_K3_HOST: Host = Host {
    constraint: Some(|spec| spec.constraint(false, [Trigger::word("<|open|>tools<|sep|>")])),
    // Names of tags are not preserved as tokens, because that would split them in prose.
    tokens: Some("<|open|> <|close|> <|sep|> <|end_of_msg|>"),
    thinking: Some(Some(("<|open|>think<|sep|>", &["<|close|>think<|sep|>"]))),
    delimiters: Some(&[
        ("assistant", "<|open|>message role=\"assistant\"<|sep|>"),
        ("user", "<|open|>message role=\"user\"<|sep|>"),
        // The tags of these two have more attributes.
        ("tool", "<|open|>message role=\"tool\""),
        ("system", "<|open|>message role=\"system\""),
    ]),
    ..Host::LEARNT
};

pub(super) const LING_3_HOST: Host = Host {
    constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), [Trigger::word("<tool_call>")])),
    tokens: Some(
        "<think> </think> <tool_call> </tool_call> <arg_key> </arg_key> <arg_value> </arg_value> \
         <|role_end|>",
    ),
    thinking: Some(Some(("<think>", &["</think>", "<tool_call>"]))),
    delimiters: Some(&[
        ("assistant", "<role>ASSISTANT</role>"),
        ("user", "<role>HUMAN</role>"),
        ("tool", "<role>OBSERVATION</role>"),
        ("system", "<role>SYSTEM</role>"),
    ]),
    stops: &["<|role_end|>"],
    ..Host::LEARNT
};

pub(super) const COHERE_2_MOE_HOST: Host = Host {
    constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), [Trigger::word("<|START_ACTION|>")])),
    tokens: Some(
        "<|START_OF_TURN_TOKEN|> <|CHATBOT_TOKEN|> <|USER_TOKEN|> <|SYSTEM_TOKEN|> <|END_OF_TURN_TOKEN|> \
         <|START_THINKING|> <|END_THINKING|> <|START_TEXT|> <|END_TEXT|> <|START_ACTION|> <|END_ACTION|> \
         <|START_TOOL_RESULT|> <|END_TOOL_RESULT|>",
    ),
    thinking: Some(Some(("<|START_THINKING|>", &["<|END_THINKING|>"]))),
    delimiters: Some(&[
        ("assistant", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
        ("user", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
        // Before the entry for `system`, which is a prefix of this text.
        ("tool", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|><|START_TOOL_RESULT|>"),
        ("system", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>"),
    ]),
    ..Host::LEARNT
};

pub(super) const GEMMA_4_HOST: Host = Host {
    name: Some("peg-gemma4"),
    constraint: Some(|spec| spec.word_or_json("<|tool_call>")),
    tokens: Some("<|channel> <channel|> <|tool_call> <tool_call|> <|turn>"),
    thinking: Some(Some(("<|channel>thought", &["<channel|>"]))),
    delimiters: Some(&[("user", "<|turn>user"), ("assistant", "<|turn>model")]),
    ..Host::LEARNT
};

pub(super) const DEEPSEEK: Host = Host {
    tokens: Some("｜DSML｜ <think> </think>"),
    delimiters: Some(&[("assistant", "<｜Assistant｜>"), ("user", "<｜User｜>")]),
    ..Host::LEARNT
};

pub(super) const QWEN: &[(&str, &str)] = &[
    ("assistant", "<|im_start|>assistant"),
    ("tool", "<|im_start|>user\n<tool_response>"),
    ("tool", "<|im_start|>tool_response"),
    ("user", "<|im_start|>user"),
    ("system", "<|im_start|>system"),
];

pub(super) const NEMOTRON_NANO_2_HOST: Host = Host {
    tokens: Some("<SPECIAL_11> </think> <TOOLCALL> </TOOLCALL>"),
    thinking: Some(Some(("<think>", &["</think>"]))),
    delimiters: Some(&[("assistant", "<SPECIAL_11>Assistant"), ("user", "<SPECIAL_11>User")]),
    ..Host::LEARNT
};

pub(super) const LFM_2_5_HOST: Host = Host {
    constraint: Some(|spec| spec.word_or_json("<|tool_call_start|>")),
    tokens: Some("<|tool_call_start|> <|tool_call_end|> <think> </think>"),
    thinking: Some(Some(("<think>", &["</think>"]))),
    delimiters: Some(&[]),
    continued: Some(["<|im_start|>assistant\n", "<think>", "</think>"]),
    ..Host::LEARNT
};

const IM_START: &[(&str, &str)] = &[
    ("assistant", "<|im_start|>assistant"),
    ("tool", "<|im_start|>user\n<tool_response>"),
    ("user", "<|im_start|>user"),
    ("system", "<|im_start|>system"),
];
