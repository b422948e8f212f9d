//! Families of whose output renders do not show enough: a row each, with what the model writes besides.

use super::hosts::*;
use super::{Family, family, prompts};
use crate::analysis::turn::{CallForm, CallPiece, Edge, Glue, Reasoning, SlotKind, TurnFormat};
use crate::format::calls::described::pythonic;
use crate::format::host::{Constrains, Host, Structured};
use crate::format::writing::Dialect;
use crate::format::writing::Tolerances;

const CALLS_IN_REASONING: Tolerances = Tolerances { calls_in_reasoning: true, ..Tolerances::NONE };

const BARE_RESPONSE: Tolerances = Tolerances { bare_response: true, ..CALLS_IN_REASONING };

pub(super) const MINISTRAL_3: Family = Family {
    // Some of the templates do not render reasoning. Mistral Small 3.2 is similar, but its calls have ids.
    tolerances: Tolerances { calls_from: "[TOOL_CALLS]", ..Tolerances::NONE },
    patch: |turn| reasoning(turn, "[THINK]", "[/THINK]"),
    host: MINISTRAL_3_HOST,
    lacks: &["[CALL_ID]"],
    ..family("ministral-3", &["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"])
};

/// GPT-OSS: a turn is a list of messages, each on a channel: analysis (reasoning), commentary (calls) or final.
///
/// ```text
/// <|start|>assistant<|channel|>analysis<|message|>why<|end|>
/// <|start|>assistant<|channel|>commentary<|message|>text before calls<|end|>
/// <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>
/// ```
/// or, instead of the call, `<|start|>assistant<|channel|>final<|message|>text`; without the line ends. LLM-jp 4.1 writes it with
/// a space after every special token, and several calls:
///
/// ```text
/// <|start|> assistant<|channel|> commentary to=functions.f <|constrain|> json<|message|> {"a": 1}<|end|>
/// <|start|> assistant<|channel|> commentary to=functions.g <|constrain|> json<|message|> {}<|call|>
/// ```
///
/// Not learnt, because the recipient of a call may also follow the channel, a header may occur twice, and models call tools that
/// they were not given. The templates render one of these ways only.
pub(super) const GPT_OSS: Family =
    Family { prompt: Some(prompts::harmony), harmony: Some(Dialect::GptOss), ..family("gpt-oss", &["<|channel|>"]) };

pub(super) const LLM_JP: Family =
    Family { has: &["<|channel|>", "chat_format=llm-jp-harmony-v1"], harmony: Some(Dialect::LlmJp), ..GPT_OSS };

pub(super) const MUSE_GLIMMER: Family = Family {
    // The prompt ends with the opening, without a recipient.
    prompt: Some(prompts::muse),
    // Models leave out the recipient of the answer, which the template always writes, and the end of a message in front
    // of another.
    tolerances: Tolerances {
        calls_from: " to=",
        spellings: &[("to=user<|message|>", "<|message|>"), ("<|eom|><|start|>", "<|start|>")],
        ..Tolerances::NONE
    },
    // No turn of a history has text in front of calls, and the end of the turn ends text.
    patch: |turn| {
        turn.edges.push(Edge {
            from: SlotKind::Content,
            glue: "<|eom|><|start|>assistant to=".into(),
            to: SlotKind::Call,
        });
        turn.edges.push(Edge { from: SlotKind::Content, glue: "<|eot|>".into(), to: SlotKind::End });
        turn.edges.push(Edge {
            from: SlotKind::Call,
            glue: "<|eom|><|start|>assistant to=user<|message|>".into(),
            to: SlotKind::Content,
        });
    },
    host: MUSE_GLIMMER_HOST,
    ..family("muse-glimmer", &["<atem:function_calls>", "<|eom|>"])
};

pub(super) const KIMI_K2: Family = Family {
    tolerances: Tolerances {
        calls_from: "<|tool_call_begin|>",
        spellings: &[("tool_calls_section", "tool_call_section")],
        ..CALLS_IN_REASONING
    },
    // Renders do not show that the text around a name is the call's id.
    patch: |turn| {
        reasoning(turn, "<think>", "</think>");
        let before = Glue::from("functions.");
        for edge in turn.edges.iter_mut().filter(|edge| edge.to == SlotKind::Call) {
            edge.glue = edge.glue.strip_suffix(&before).unwrap_or_else(|| edge.glue.clone());
        }
        for form in &mut turn.calls {
            if let [CallPiece::Name, CallPiece::Glue(glue), ..] = &form.pieces[..]
                && let Some((behind, rest)) = glue.split_before("<|tool_call_argument_begin|>")
            {
                let id = CallPiece::NamedId { before: before.clone(), behind };
                form.pieces.splice(..2, [id, CallPiece::Glue(rest)]);
            }
        }
    },
    host: KIMI_K2_HOST,
    ..family("kimi-k2", &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"])
};

pub(super) const KIMI_K3: Family = Family {
    tolerances: Tolerances {
        calls_from: "<|open|>tools<|sep|>",
        entities: true,
        further_calls: true,
        bare_thoughts: true,
        ..Tolerances::NONE
    },
    // All arguments may stand in one tag.
    patch: |turn| {
        let none = turn.calls.iter().find(|form| form.pieces == [CallPiece::Name]);
        let Some((open, close)) = none.and_then(|form| form.close.split_before("<|close|>call")) else { return };
        let close = Glue::from("<|close|>json<|sep|>").and(&close);
        for json in ["<|open|>json type=\"object\"<|sep|>", "<|open|>json<|sep|>"] {
            let pieces =
                vec![CallPiece::Name, CallPiece::Glue(open.and(&json.into())), CallPiece::Arguments { quoted: false }];
            turn.calls.push(CallForm { pieces, close: close.clone() });
        }
    },
    host: KIMI_K3_HOST,
    ..family("kimi-k3", &["<|open|>", "<|close|>", "<|end_of_msg|>"])
};

pub(super) const LING_3: Family = Family {
    tolerances: Tolerances { allowed_calls: true, bare_thoughts: true, spelled_end: true, ..BARE_RESPONSE },
    // No turn of a history has text behind calls.
    patch: |turn| turn.edges.push(Edge { from: SlotKind::Call, glue: Glue::default(), to: SlotKind::Content }),
    host: LING_3_HOST,
    ..family("ling-3", &["<role>ASSISTANT</role>", "<arg_key>"])
};

pub(super) const COHERE_2_MOE: Family = Family {
    // The template always closes the reasoning in front of calls, and the model does not.
    tolerances: Tolerances { calls_from: "<|START_ACTION|>", spelled_end: true, ..BARE_RESPONSE },
    host: COHERE_2_MOE_HOST,
    ..family("cohere2-moe", &["<|START_TEXT|>", "<|START_ACTION|>"])
};

const DSML: Tolerances = Tolerances {
    bare_calls: true,
    // Models mix up the names of the block of calls, and the bars of the token.
    spellings: &[
        ("｜DSML｜function_calls", "｜DSML｜tool_calls"),
        ("｜DSML｜tool_calls", "｜DSML｜function_calls"),
        ("｜DSML｜", "|DSML|"),
        ("｜DSML｜", "｜｜DSML｜｜"),
    ],
    ..CALLS_IN_REASONING
};

pub(super) const DEEPSEEK_V3_2: Family = Family {
    tolerances: Tolerances { calls_from: "<｜DSML｜function_calls>", ..DSML },
    host: Host {
        constraint: Some(Constrains::Word("<｜DSML｜function_calls>", Structured::Any)),
        thinking: Some(Some(("<think>", &["</think>", "<｜DSML｜function_calls>"]))),
        ..DEEPSEEK
    },
    ..family("deepseek-v3.2", &["dsml_token", "DSML", "function_calls"])
};

pub(super) const DEEPSEEK_V4: Family = Family {
    prompt: Some(prompts::deepseek_v4),
    tolerances: Tolerances { calls_from: "<｜DSML｜tool_calls>", ..DSML },
    host: Host {
        constraint: Some(Constrains::Word("<｜DSML｜tool_calls>", Structured::Any)),
        thinking: Some(Some(("<think>", &["</think>", "<｜DSML｜tool_calls>"]))),
        ..DEEPSEEK
    },
    ..family("deepseek-v3.2", &["dsml_token", "DSML", "tool_calls"])
};

pub(super) const GEMMA_4: Family = Family {
    prompt: Some(prompts::gemma_4),
    // Models also write calls as in Python.
    tolerances: Tolerances {
        late_thoughts: true,
        spellings: &[("{", "("), ("}", ")"), (":", "=")],
        ..Tolerances::NONE
    },
    host: GEMMA_4_HOST,
    ..family("gemma-4", &["'<|tool_call>call:'"])
};

const QWEN_3: Family = Family {
    lacks: &["'<tool_call><function=' ~ tool_call.name ~ '>'"],
    tolerances: Tolerances { calls_from: "<tool_call>", bare_calls: true, ..BARE_RESPONSE },
    ..family("qwen3-coder", &["<tool_call>", "<function=", "<parameter="])
};

pub(super) const QWEN_3_5: Family = Family {
    has: &["<tool_call>", "<function=", "<parameter=", "<think>"],
    host: Host {
        constraint: Some(Constrains::Tools { bare: false }),
        tokens: Some("<tool_call> </tool_call> <think> </think>"),
        // A host that ends the reasoning writes the first of these ends.
        thinking: Some(Some(("<think>", &["\n</think>", "</think>", "<tool_call>"]))),
        continued: Some(["<|im_start|>assistant\n", "<think>\n", "\n</think>\n\n"]),
        delimiters: Some(QWEN),
        ..Host::LEARNT
    },
    ..QWEN_3
};

pub(super) const QWEN_3_CODER: Family = Family {
    host: Host {
        // A model that does not reason sometimes leaves out the first tag.
        constraint: Some(Constrains::Tools { bare: true }),
        tokens: Some("<tool_call> </tool_call>"),
        thinking: Some(None),
        delimiters: Some(QWEN),
        ..Host::LEARNT
    },
    ..QWEN_3
};

pub(super) const LAGUNA: Family = Family {
    // Tags are rendered on lines of their own, but the model writes them without line breaks.
    patch: |turn| {
        if let Some(reasoning) = &mut turn.reasoning {
            reasoning.open = Glue::from(reasoning.open.head().trim());
            reasoning.close = Glue::from(reasoning.close.head().trim());
        }
        turn.edges
            .iter_mut()
            .filter(|edge| edge.from == SlotKind::Reasoning)
            .for_each(|edge| edge.glue = edge.glue.trim_start());
    },
    ..family("laguna", &["laguna_glm_thinking"])
};

pub(super) const NEMOTRON_NANO_2: Family = Family {
    // The history writes replies behind an open reasoning marker.
    history_misleads: true,
    patch: |turn| {
        reasoning(turn, "<think>", "</think>");
        // The token ends the turn.
        for edge in turn.edges.iter_mut().filter(|edge| edge.to == SlotKind::End) {
            if let Some(at) = edge.glue.head().find("<SPECIAL_12>") {
                edge.glue = edge.glue.up_to(at).and(&"\n".into());
            }
        }
        turn.end = "<SPECIAL_12>\n".into();
    },
    host: NEMOTRON_NANO_2_HOST,
    ..family("nemotron-nano-2", &["<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<TOOL_RESPONSE>"])
};

/// LFM2's template does not render calls, and LFM2.5's renders texts without escapes.
pub(super) const LFM2_5: Family = Family {
    lacks: &["<|tool_list_start|>"],
    tolerances: Tolerances { bare_response: true, ..Tolerances::NONE },
    patch: |turn| {
        let list = pythonic("<|tool_call_start|>[", "]<|tool_call_end|>");
        turn.edges.retain(|edge| edge.from != SlotKind::Call && edge.to != SlotKind::Call);
        turn.edges.extend(list.edges);
        turn.edges.extend([SlotKind::Reasoning, SlotKind::Content].map(|from| Edge {
            from,
            glue: "<|tool_call_start|>[".into(),
            to: SlotKind::Call,
        }));
        turn.calls = list.calls;
    },
    host: LFM_2_5_HOST,
    ..family("lfm2", &["List of tools: ["])
};

pub(super) const LFM2: Family = Family {
    has: &["<|tool_list_start|>", "<|tool_list_end|>"],
    lacks: &[],
    host: Host {
        tokens: Some("<|tool_call_start|> <|tool_call_end|> <think> </think> <|tool_list_start|> <|tool_list_end|>"),
        ..LFM_2_5_HOST
    },
    ..LFM2_5
};

/// Reasoning that the history does not show.
fn reasoning(turn: &mut TurnFormat, start: &str, close: &str) {
    if turn.reasoning.is_none() {
        turn.reasoning = Some(Reasoning { shown: true, ..Reasoning::behind(&turn.opening, start, close) });
        turn.reason_like_prompt(close);
    }
}
