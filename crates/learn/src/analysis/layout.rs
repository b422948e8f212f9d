//! [`Layout`]: what llama.cpp's analysis learns about how a template writes an assistant's turn. Plain data: the passes fill
//! it, the format stage and tools read it.
//!
//! Markers are kept as the template writes them, with the white space that matters for reading a prompt's end; readers trim
//! it where the model may vary it. An empty string stands for a missing marker.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a template writes reasoning, content, tool calls and turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// The text around reasoning, and when it is rendered.
    pub reasoning: ReasoningLayout,
    /// The text around the content.
    pub content: ContentLayout,
    /// The text around tool calls.
    pub tools: ToolsLayout,
    /// The text around the name of a called function; tagged formats only.
    pub function: FunctionLayout,
    /// The text around the arguments of a call; tagged formats only.
    pub arguments: ArgumentsLayout,
    /// The position of a call's id; tagged formats only.
    pub call_id: CallIdLayout,
    /// The opening of a user's turn, e.g. `<|im_start|>user`.
    pub user_start: String,
    /// The opening of an assistant's turn, e.g. `<|im_start|>assistant`.
    pub assistant_start: String,
    /// Texts that the tokeniser must keep as single tokens, e.g. `["<think>", "</think>", "<tool_call>"]`.
    pub preserved_tokens: Vec<String>,
    /// Texts at which the host should stop, in addition to the end-of-turn token, e.g. `["</assistant>"]`.
    pub additional_stops: Vec<String>,
}

/// Whether and when a template renders reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningMode {
    /// Never, or without a marker.
    #[default]
    None,
    /// Between markers, before the content: `<think>why</think>answer`. The start may be empty.
    TagBased,
    /// Between markers, but only in front of tool calls.
    ToolsOnly,
}

/// The text around reasoning, and when it is rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReasoningLayout {
    /// Whether and when it is rendered.
    pub mode: ReasoningMode,
    /// The opening, e.g. `<think>\n`; empty if reasoning begins without one, as in `why</think>answer`.
    pub start: String,
    /// The end, e.g. `\n</think>\n\n`.
    pub end: String,
}

/// Whether a template puts markers around content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentMode {
    /// No markers.
    #[default]
    Plain,
    /// Content is always between markers: `<response>answer</response>`.
    AlwaysWrapped,
    /// Content is between markers if reasoning precedes it.
    WrappedWithReasoning,
}

/// The text around the content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContentLayout {
    /// Whether there are markers, and when.
    pub mode: ContentMode,
    /// The opening, e.g. `<response>`.
    pub start: String,
    /// The end, e.g. `</response>`.
    pub end: String,
}

/// The family of a template's tool calls: how much of a call is JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// The template does not render tool calls, or they could not be read.
    #[default]
    None,
    /// All of it: `<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>`.
    JsonNative,
    /// The arguments: `<function=f>{"x": 1}</function>`.
    TagWithJson,
    /// At most the values: `<function=f><parameter=x>1</parameter></function>`.
    TagWithTagged,
}

/// The text around tool calls: the markers around all calls of a message (the section) and around each call and, for
/// [`ToolFormat::JsonNative`], the names of the JSON object's fields. A nested field is written with a dot: `function.name`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsLayout {
    /// The family.
    pub format: ToolFormat,
    /// Opens the calls of a message, e.g. `<|tool_calls_begin|>`.
    pub section_start: String,
    /// Closes them, e.g. `<|tool_calls_end|>`.
    pub section_end: String,
    /// Opens each call, e.g. `<tool_call>\n`.
    pub per_call_start: String,
    /// Closes each call, e.g. `</tool_call>`.
    pub per_call_end: String,
    /// Calls of one section are separated by white space only.
    pub side_by_side: bool,
    /// The pieces that end a turn behind calls, e.g. `["<|im_end|>"]`. The model may write them as text.
    pub turn_end: Vec<String>,
    /// The function's name is a key, as in `{"get_weather": {"city": "Oslo"}}`.
    pub name_is_key: bool,
    /// Calls are elements of an array, as in `[TOOL_CALLS][{...}, {...}]`.
    pub array_wrapped: bool,
    /// The model may also write OpenAI's wrapper, `{"type": "function", "function": {...}}`.
    pub openai_wrapper: bool,
    /// The object that holds name and arguments if they are nested; `function` if none was seen.
    pub function_field: String,
    /// The field of the function's name, e.g. `name` or `function.name`; empty if the name is a key.
    pub name_field: String,
    /// The field of the arguments, e.g. `arguments` or `parameters`; empty if the name is a key.
    pub args_field: String,
    /// The field of the call's id, e.g. `id`; empty if there is none.
    pub id_field: String,
    /// The field of an id that the template generates, e.g. `tool_call_id` counting from 0; empty if there is none.
    pub gen_id_field: String,
    /// The fields above in the order of the template, e.g. `["name", "arguments", "id"]`.
    pub field_order: Vec<String>,
}

impl Default for ToolsLayout {
    fn default() -> Self {
        ToolsLayout {
            format: ToolFormat::None,
            section_start: String::new(),
            section_end: String::new(),
            per_call_start: String::new(),
            per_call_end: String::new(),
            side_by_side: false,
            turn_end: Vec::new(),
            name_is_key: false,
            array_wrapped: false,
            openai_wrapper: false,
            function_field: "function".into(),
            name_field: "name".into(),
            args_field: "arguments".into(),
            id_field: String::new(),
            gen_id_field: String::new(),
            field_order: Vec::new(),
        }
    }
}

/// The text around the name of a called function. The examples are for `<function=f><parameter=x>1</parameter></function>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FunctionLayout {
    /// Before the name, e.g. `<function=`.
    pub name_prefix: String,
    /// After the name, e.g. `>\n`.
    pub name_suffix: String,
    /// A separate marker between name and first argument, e.g. `<tool_sep>`.
    pub args_separator: String,
    /// After the last argument and before the end of the call, e.g. `</function>`.
    pub close: String,
}

/// The text around the arguments of a call. The examples are for `<parameter=x>1</parameter>`.
///
/// `start` and `end` are for layouts that are written by hand. The analysis leaves them empty: it puts the opening of all
/// arguments into [`FunctionLayout::name_suffix`] or [`FunctionLayout::args_separator`], and their end into
/// [`FunctionLayout::close`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArgumentsLayout {
    /// Opens all arguments, e.g. `<args>`.
    pub start: String,
    /// Closes all arguments, e.g. `</args>`.
    pub end: String,
    /// Before an argument's name, e.g. `<parameter=`.
    pub name_prefix: String,
    /// After the name, e.g. `>\n`.
    pub name_suffix: String,
    /// Between that and the value, e.g. `<arg_value>`.
    pub value_prefix: String,
    /// After the value, e.g. `\n</parameter>\n`.
    pub value_suffix: String,
    /// Between two arguments, besides white space, e.g. `,`.
    pub separator: String,
    /// The model may add or omit white space between argument tags.
    pub loose_whitespace: bool,
}

/// The position of a call's id in a tagged format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdPosition {
    /// Calls have no id.
    #[default]
    None,
    /// `[CALL_ID]id[CALL]name{...}`.
    BeforeName,
    /// `[CALL]name[CALL_ID]id[ARGS]{...}`.
    BetweenNameAndArguments,
    /// `[CALL]name{...}[CALL_ID]id`.
    AfterArguments,
}

/// The position of a call's id and its markers; tagged formats only (a JSON call has [`ToolsLayout::id_field`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallIdLayout {
    /// The position.
    pub position: CallIdPosition,
    /// The marker before it, e.g. `[CALL_ID]`.
    pub prefix: String,
    /// The marker after it, e.g. `[ARGS]`.
    pub suffix: String,
    /// The id of a probe, if it is a part of [`FunctionLayout::name_prefix`], e.g. the `call00001` of `call00001<name>`. The
    /// model writes another id there.
    pub example: String,
}

impl Layout {
    /// Every field by its dotted name, in a fixed order, as an inspector prints them. Modes are their names, markers are
    /// strings, switches are booleans.
    pub fn fields(&self) -> Vec<(String, Value)> {
        let Value::Object(groups) = self.to_json() else { return Vec::new() };
        let dotted = |(group, value): (String, Value)| match value {
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (format!("{group}.{name}"), value)).collect::<Vec<_>>()
            }
            value => vec![(group, value)],
        };
        groups.into_iter().flat_map(dotted).collect()
    }

    /// The fields as one JSON object, with a nested object for each group.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
