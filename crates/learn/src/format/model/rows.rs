//! Families of whose output renders do not show enough: a row each, with what the model writes besides.

use super::hosts::*;
use super::row::{Host, LEARNT, Row, row};
use super::{Family, has_all, prompts};
use crate::analysis::turn::{CallForm, CallPiece, Edge, Glue, Reasoning, SlotKind, TurnFormat};
use crate::format::FormatSpec;
use crate::format::calls::described::pythonic;
use crate::format::learnt::Tolerances;
use chatparse_grammar::Trigger;
use chatparse_message::ToolChoice;

const CALLS_IN_REASONING: Tolerances = Tolerances { calls_in_reasoning: true, ..Tolerances::NONE };

const BARE_RESPONSE: Tolerances = Tolerances { bare_response: true, ..CALLS_IN_REASONING };

pub(super) const MINISTRAL_3: Family = row(
    // Some of the templates do not render reasoning. Mistral Small 3.2 is similar, but its calls have ids.
    "ministral-3",
    |source| has_all(source, &["[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"]) && !source.contains("[CALL_ID]"),
    Row {
        tolerances: Tolerances { calls_from: "[TOOL_CALLS]", ..Tolerances::NONE },
        patch: |turn| reasoning(turn, "[THINK]", "[/THINK]"),
        host: MINISTRAL_3_HOST,
    },
);

pub(super) const MUSE_GLIMMER: Family = Family {
    // The prompt ends with the opening, without a recipient.
    prompt: Some(prompts::muse),
    ..row(
        "muse-glimmer",
        |source| has_all(source, &["<atem:function_calls>", "<|eom|>"]),
        Row {
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
        },
    )
};

pub(super) const KIMI_K2: Family = row(
    "kimi-k2",
    |source| has_all(source, &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"]),
    Row {
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
    },
);

pub(super) const KIMI_K3: Family = row(
    "kimi-k3",
    |source| has_all(source, &["<|open|>", "<|close|>", "<|end_of_msg|>"]),
    Row {
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
                let pieces = vec![
                    CallPiece::Name,
                    CallPiece::Glue(open.and(&json.into())),
                    CallPiece::Arguments { quoted: false },
                ];
                turn.calls.push(CallForm { pieces, close: close.clone() });
            }
        },
        host: KIMI_K3_HOST,
    },
);

pub(super) const LING_3: Family = row(
    "ling-3",
    |source| has_all(source, &["<role>ASSISTANT</role>", "<arg_key>"]),
    Row {
        tolerances: Tolerances { allowed_calls: true, bare_thoughts: true, spelled_end: true, ..BARE_RESPONSE },
        // No turn of a history has text behind calls.
        patch: |turn| turn.edges.push(Edge { from: SlotKind::Call, glue: Glue::default(), to: SlotKind::Content }),
        host: LING_3_HOST,
    },
);

pub(super) const COHERE_2_MOE: Family = row(
    // The template always closes the reasoning in front of calls, and the model does not.
    "cohere2-moe",
    |source| has_all(source, &["<|START_TEXT|>", "<|START_ACTION|>"]),
    Row {
        tolerances: Tolerances { calls_from: "<|START_ACTION|>", spelled_end: true, ..BARE_RESPONSE },
        host: COHERE_2_MOE_HOST,
        ..LEARNT
    },
);

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

pub(super) const DEEPSEEK_V3_2: Family = row(
    "deepseek-v3.2",
    |source| has_all(source, &["dsml_token", "DSML", "function_calls"]),
    Row {
        tolerances: Tolerances { calls_from: "<｜DSML｜function_calls>", ..DSML },
        host: Host {
            constraint: Some(|spec| spec.word_or_json("<｜DSML｜function_calls>")),
            thinking: Some(Some(("<think>", &["</think>", "<｜DSML｜function_calls>"]))),
            ..DEEPSEEK
        },
        ..LEARNT
    },
);

pub(super) const DEEPSEEK_V4: Family = Family {
    prompt: Some(prompts::deepseek_v4),
    ..row(
        "deepseek-v3.2",
        |source| has_all(source, &["dsml_token", "DSML", "tool_calls"]),
        Row {
            tolerances: Tolerances { calls_from: "<｜DSML｜tool_calls>", ..DSML },
            host: Host {
                constraint: Some(|spec| spec.word_or_json("<｜DSML｜tool_calls>")),
                thinking: Some(Some(("<think>", &["</think>", "<｜DSML｜tool_calls>"]))),
                ..DEEPSEEK
            },
            ..LEARNT
        },
    )
};

pub(super) const GEMMA_4: Family = Family {
    prompt: Some(prompts::gemma_4),
    ..row(
        "gemma-4",
        |source| source.contains("'<|tool_call>call:'"),
        Row {
            // Models also write calls as in Python.
            tolerances: Tolerances {
                late_thoughts: true,
                spellings: &[("{", "("), ("}", ")"), (":", "=")],
                ..Tolerances::NONE
            },
            host: GEMMA_4_HOST,
            ..LEARNT
        },
    )
};

const fn qwen(host: Host) -> Row {
    Row {
        tolerances: Tolerances { calls_from: "<tool_call>", bare_calls: true, ..BARE_RESPONSE },
        host: Host { delimiters: Some(QWEN), ..host },
        ..LEARNT
    }
}

fn is_qwen_3_coder(source: &str) -> bool {
    has_all(source, &["<tool_call>", "<function=", "<parameter="])
        && !source.contains("'<tool_call><function=' ~ tool_call.name ~ '>'")
}

pub(super) const QWEN_3_5: Family = row(
    "qwen3-coder",
    |source| is_qwen_3_coder(source) && source.contains("<think>"),
    qwen(Host {
        constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), from_bare_calls(spec, false))),
        tokens: Some("<tool_call> </tool_call> <think> </think>"),
        // A host that ends the reasoning writes the first of these ends.
        thinking: Some(Some(("<think>", &["\n</think>", "</think>", "<tool_call>"]))),
        continued: Some(["<|im_start|>assistant\n", "<think>\n", "\n</think>\n\n"]),
        ..Host::LEARNT
    }),
);

pub(super) const QWEN_3_CODER: Family = row(
    "qwen3-coder",
    is_qwen_3_coder,
    qwen(Host {
        // A model that does not reason sometimes leaves out the first tag.
        constraint: Some(|spec| spec.constraint(spec.response_schema().is_some(), from_bare_calls(spec, true))),
        tokens: Some("<tool_call> </tool_call>"),
        thinking: Some(None),
        ..Host::LEARNT
    }),
);

fn from_bare_calls(spec: &FormatSpec, bare: bool) -> Vec<Trigger> {
    if spec.tool_choice != ToolChoice::Auto || spec.tools().is_empty() {
        return Vec::new();
    }
    let bare = spec.offered.iter().filter(|_| bare).map(|tool| format!("<function={}>", tool.name));
    ["<tool_call>".to_owned()].into_iter().chain(bare).map(Trigger::word).collect()
}

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
                .filter(|edge| edge.from == SlotKind::Reasoning)
                .for_each(|edge| edge.glue = edge.glue.trim_start());
        },
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
                for edge in turn.edges.iter_mut().filter(|edge| edge.to == SlotKind::End) {
                    if let Some(at) = edge.glue.head().find("<SPECIAL_12>") {
                        edge.glue = edge.glue.up_to(at).and(&"\n".into());
                    }
                }
                turn.end = "<SPECIAL_12>\n".into();
            },
            host: NEMOTRON_NANO_2_HOST,
            ..LEARNT
        },
    )
};

/// LFM2's template does not render calls, and LFM2.5's renders texts without escapes.
const LFM_2_5: Row = Row {
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
};

pub(super) const LFM2_5: Family =
    row("lfm2", |source| source.contains("List of tools: [") && !source.contains("<|tool_list_start|>"), LFM_2_5);

pub(super) const LFM2: Family = row(
    "lfm2",
    |source| has_all(source, &["<|tool_list_start|>", "<|tool_list_end|>"]),
    Row {
        host: Host {
            tokens: Some(
                "<|tool_call_start|> <|tool_call_end|> <think> </think> <|tool_list_start|> <|tool_list_end|>",
            ),
            ..LFM_2_5_HOST
        },
        ..LFM_2_5
    },
);

/// Reasoning that the history does not show.
fn reasoning(turn: &mut TurnFormat, start: &str, close: &str) {
    if turn.reasoning.is_none() {
        turn.reasoning = Some(Reasoning { shown: true, ..Reasoning::behind(&turn.opening, start, close) });
        turn.reason_like_prompt(close);
    }
}
