//! Templates whose renders do not show how their model writes: a table with a row for each.
//!
//! A row recognises a template by texts in its source and corrects the layout that the passes have found. Each row has a
//! reason that can be checked against the template.

use memchr::memmem;

use super::context::AnalysisContext;
use super::layout::{ContentMode, Layout, ReasoningMode, ToolFormat};
use super::markup::trim;

struct Workaround {
    /// The template or family.
    name: &'static str,
    /// What its renders do not show.
    reason: &'static str,
    /// Texts that the source must contain.
    present: &'static [&'static str],
    /// Texts that the source must not contain.
    absent: &'static [&'static str],
    /// The row applies only if the layout so far meets this condition.
    when: fn(&Layout) -> bool,
    patch: fn(&mut Layout),
}

/// For rows that depend on the source only.
const ALWAYS: fn(&Layout) -> bool = |_| true;

/// In order: a later row sees the corrections of earlier ones.
const TABLE: &[Workaround] = &[
    Workaround {
        name: "Qwen and DeepSeek before reasoning_content",
        reason: "the history drops reasoning by splitting at </think>, so no render shows it",
        present: &["content.split('</think>')"],
        absent: &["reasoning_content", "<SPECIAL_12>"],
        when: |layout| layout.reasoning.mode == ReasoningMode::None,
        patch: |layout| set_reasoning(layout, "<think>", "</think>"),
    },
    Workaround {
        name: "Granite 3.3",
        reason: "the markers are named in the system message only; the history holds neither",
        present: &[concat!(
            "Write your thoughts between <think></think> and write your response between ",
            "<response></response>"
        )],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            set_reasoning(layout, "<think>", "</think>");
            set_content(layout, ContentMode::WrappedWithReasoning, "<response>", "</response>");
        },
    },
    Workaround {
        name: "Command R+",
        reason: "a call is a turn with the same frame as a reply, so the comparison of the two leaves the reply bare",
        present: &["<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"],
        absent: &[],
        when: |layout| layout.content.start.is_empty(),
        patch: |layout| {
            set_content(layout, ContentMode::AlwaysWrapped, "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>");
            layout.user_start = "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>".into();
        },
    },
    Workaround {
        name: "Functionary 3.1",
        reason: "calls have no section: the tag that names the function is the start of the call",
        present: &[concat!(
            "set has_code_interpreter = tools | selectattr(\"type\", \"equalto\", ",
            "\"code_interpreter\") | list | length > 0"
        )],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            layout.content.mode = ContentMode::Plain;
            layout.content.end.clear();
            set_frame(layout, ["", "<function=", "</function>", ""]);
            layout.function.name_prefix.clear();
            layout.function.close.clear();
            layout.preserved_tokens.clear();
            preserve(layout, &["<|eot_id|>", "<|eom_id|>", "<function=", ">", "</function>"]);
        },
    },
    Workaround {
        name: "DeepSeek R1 distilled",
        reason: "the text of a call ends with markers of turns, which are taken for those of the call and its section",
        present: &["{{'<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>'"],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            let call = ["<｜tool▁call▁begin｜>function", "<｜tool▁call▁end｜>"];
            set_frame(layout, ["<｜tool▁calls▁begin｜>", call[0], call[1], "<｜tool▁calls▁end｜>"]);
            layout.function.name_prefix = "<｜tool▁sep｜>".into();
            layout.function.close = "```".into();
        },
    },
    Workaround {
        name: "Nemotron Nano 2",
        reason: "the history writes replies behind an open reasoning marker, so they seem to be wrapped in it and the \
                 end-of-turn marker",
        present: &["<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<TOOL_RESPONSE>"],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            layout.tools.format = ToolFormat::JsonNative;
            layout.tools.array_wrapped = true;
            set_frame(layout, ["", "<TOOLCALL>", "</TOOLCALL>", ""]);
            layout.content = Default::default();
            layout.reasoning.mode = ReasoningMode::TagBased;
            layout.reasoning.start = "<think>\n".into();
            layout.reasoning.end = "</think>".into();
            layout.assistant_start = "<SPECIAL_11>Assistant".into();
            layout.user_start = "<SPECIAL_11>User".into();
            layout.preserved_tokens.clear();
            preserve(layout, &["<SPECIAL_11>", "</think>", "<TOOLCALL>", "</TOOLCALL>"]);
        },
    },
    Workaround {
        name: "Firefunction 2",
        reason: "the assistant's turn is opened after every conversation, asked for or not, and each turn begins by \
                 closing the one before",
        present: &[concat!(
            "{%- set system_prompt = '<|start_header_id|>' + 'system' + '<|end_header_id|>\\n\\n'",
            " + message['content'] | trim + '\\n' + system_prompt_suffix + '<|eot_id|>' -%}"
        )],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            layout.assistant_start = "<|start_header_id|>assistant<|end_header_id|>".into();
            layout.user_start = "<|start_header_id|>user<|end_header_id|>".into();
        },
    },
    Workaround {
        name: "Solar Open",
        reason: "the assistant's turn is opened after every conversation, asked for or not, so a reply seems to start \
                 behind it",
        present: &["<|begin|>assistant<|think|><|end|>"],
        absent: &[],
        when: ALWAYS,
        patch: |layout| layout.assistant_start = "<|begin|>assistant".into(),
    },
    Workaround {
        name: "Apriel 1.6",
        reason: "the first message brings the system prompt, and reasoning begins with the turn, so neither start \
                 stands alone",
        present: &["if not loop.last and '[BEGIN FINAL RESPONSE]' in asst_text"],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            layout.user_start = "<|begin_user|>".into();
            layout.assistant_start = "<|begin_assistant|>".into();
        },
    },
    Workaround {
        name: "Llama 3.x",
        reason: "although the prompt asks for name and parameters, the model may write OpenAI's function wrapper",
        present: &["Respond in the format {\"name\": function name", "Do not use variables."],
        absent: &[],
        when: ALWAYS,
        patch: |layout| layout.tools.openai_wrapper = true,
    },
    Workaround {
        name: "Laguna",
        reason: "tags are rendered on lines of their own, but the model writes them without line breaks; and its \
                 end-of-turn token may come spelled out after calls",
        present: &["laguna_glm_thinking"],
        absent: &[],
        when: ALWAYS,
        patch: |layout| {
            let (reasoning, arguments) = (&mut layout.reasoning, &mut layout.arguments);
            for marker in
                [&mut reasoning.start, &mut reasoning.end, &mut arguments.value_prefix, &mut arguments.value_suffix]
            {
                *marker = trim(marker).into();
            }
            arguments.loose_whitespace = true;
            layout.additional_stops.push("</assistant>".into());
        },
    },
];

pub(super) fn run(context: &mut AnalysisContext) {
    let source = context.template().source();
    for row in TABLE {
        let has = |text: &&str| memmem::find(source.as_bytes(), text.as_bytes()).is_some();
        let recognised = row.present.iter().all(has) && !row.absent.iter().any(has);
        if recognised && (row.when)(context.layout()) {
            context.patch(row.name, row.reason, row.patch);
        }
    }
}

fn preserve(layout: &mut Layout, tokens: &[&str]) {
    layout.preserved_tokens.extend(tokens.iter().map(|token| token.to_string()));
}

fn set_reasoning(layout: &mut Layout, start: &str, end: &str) {
    layout.reasoning.mode = ReasoningMode::TagBased;
    layout.reasoning.start = start.into();
    layout.reasoning.end = end.into();
    preserve(layout, &[start, end]);
}

fn set_content(layout: &mut Layout, mode: ContentMode, start: &str, end: &str) {
    layout.content.mode = mode;
    layout.content.start = start.into();
    layout.content.end = end.into();
    preserve(layout, &[start, end]);
}

/// Sets the markers around calls, outermost first: section start, call start, call end, section end.
fn set_frame(layout: &mut Layout, [section_start, per_call_start, per_call_end, section_end]: [&str; 4]) {
    layout.tools.section_start = section_start.into();
    layout.tools.section_end = section_end.into();
    layout.tools.per_call_start = per_call_start.into();
    layout.tools.per_call_end = per_call_end.into();
}
