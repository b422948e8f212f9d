//! What llama.cpp tells hosts that no render shows: a row for each family whose output is read as learnt, and what the rows of
//! the others refer to.

use super::{Family, family, prompts};
use crate::format::host::{Constrains, Host, Structured};
use crate::format::writing::Tolerances;

pub(super) const FUNCTIONARY_3_2: Family = Family {
    host: Host {
        constraint: Some(Constrains::Pattern(">>>(?!all)", Structured::Never)),
        tokens: Some(">>>all"),
        delimiters: Some(&[]),
        ..Host::LEARNT
    },
    ..family("functionary-v3.2", &[">>>all", ">>>${recipient}"])
};

pub(super) const GIGACHAT_3: Family = Family {
    host: Host {
        constraint: Some(Constrains::Word("<|message_sep|>\n\nfunction call<|role_sep|>\n", Structured::Never)),
        tokens: Some("<|message_sep|>\n\n <|role_sep|>\n"),
        delimiters: Some(&[]),
        ..Host::LEARNT
    },
    lacks: &["<|function_call|>"],
    ..family("gigachat-3", &["<|role_sep|>", "<|message_sep|>"])
};

pub(super) const MINIMAX_M3: Family = Family {
    host: Host {
        name: Some("peg-minimax-m3"),
        constraint: Some(Constrains::Word("]<]minimax[>[<tool_call>", Structured::Any)),
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
    ..family("minimax-m3", &["]<]minimax[>[", "<tool_call>", "<invoke name="])
};

pub(super) const MINICPM_5: Family = Family {
    tolerances: Tolerances { bare_response: true, ..Tolerances::NONE },
    host: Host {
        constraint: Some(Constrains::Word("<function", Structured::Fields)),
        tokens: Some("<function <param </function> </param> <think> </think>"),
        thinking: Some(Some(("<think>", &["</think>"]))),
        delimiters: Some(IM_START),
        ..Host::LEARNT
    },
    ..family("minicpm5", &["Tool usage guidelines:", "<function name=\"", "<param name=\""])
};

pub(super) const SOLAR_OPEN: Family = Family {
    // llama.cpp knows no reasoning of this template, whose assistant's messages begin with it.
    host: Host {
        tokens: Some(
            "<|calls|> <|content|> <|end|> <|tool_calls|> <|tool_call:begin|> call00001<|tool_call:name|> \
         <|tool_call:args|> <|tool_call:end|>",
        ),
        thinking: Some(None),
        delimiters: Some(&[("assistant", "<|begin|>assistant"), ("user", "<|begin|>user<|content|>")]),
        ..Host::LEARNT
    },
    ..family("solar-open", &["<|begin|>assistant", "<|think|>", "<|tool_call:begin|>"])
};

pub(super) const K2_HORIZON: Family = Family {
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
    ..family("k2-horizon", &["<ifm|tool_calls>", "<|ifm|im_start|>"])
};

pub(super) const DEEPSEEK_R1_DISTILL: Family = Family {
    host: Host {
        tokens: Some(
            "<think> </think> <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> function<｜tool▁sep｜> ```json \
                ```<｜tool▁call▁end｜><｜tool▁calls▁end｜> <｜end▁of▁sentence｜>",
        ),
        ..Host::LEARNT
    },
    ..family(
        "deepseek-r1-distill", // llama.cpp takes what an empty content behind calls renders for the end of a call.
        &["'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'", "['arguments'] | tojson", "tool['type'] + '<｜tool▁sep｜>'"],
    )
};

pub(super) const TRANSLATE_GEMMA: Family = Family {
    // The template renders no message in any form that requests have.
    prompt: Some(prompts::translate_gemma),
    host: Host { constraint: Some(Constrains::Never), ..Host::LEARNT },
    ..family("translate-gemma", &["[source_lang_code]", "[target_lang_code]"])
};

pub(super) const MINISTRAL_3_HOST: Host = Host {
    constraint: Some(Constrains::Word("[TOOL_CALLS]", Structured::Fields)),
    tokens: Some("[THINK] [/THINK] [TOOL_CALLS] [ARGS]"),
    thinking: Some(Some(("[THINK]", &["[/THINK]"]))),
    delimiters: Some(&[]),
    ..Host::LEARNT
};

pub(super) const MUSE_GLIMMER_HOST: Host = Host {
    // A recipient that is neither the model itself nor the user.
    constraint: Some(Constrains::Pattern(
        r"(?:^|<\|start\|>assistant)( to=(?!self<\|message\|>)(?!user<\|message\|>)[^<]*?<\|message\|>)",
        Structured::Any,
    )),
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
    constraint: Some(Constrains::Word("<|tool_call_begin|>", Structured::Never)),
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
    constraint: Some(Constrains::Word("<|open|>tools<|sep|>", Structured::Never)),
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
    constraint: Some(Constrains::Word("<tool_call>", Structured::Fields)),
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
    constraint: Some(Constrains::Word("<|START_ACTION|>", Structured::Fields)),
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
    constraint: Some(Constrains::Word("<|tool_call>", Structured::Any)),
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
    constraint: Some(Constrains::Word("<|tool_call_start|>", Structured::Any)),
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
