//! The changes of the message by a piece of output.

use std::ops::Range;

use serde_json::Value;

chatparse_base::names! {
    /// The part of the message that changes. The kinds from `ReasoningWithdrawn` on occur after a
    /// rollback only.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DeltaKind {
        /// Append to `reasoning_content`.
        Reasoning(1) = "reasoning",
        /// Append to `content`.
        Content(2) = "content",
        /// The whole name of a tool call: the first delta of each call.
        ToolName(3) = "tool_name",
        /// The whole id of a tool call; at most once for each call.
        ToolId(4) = "tool_id",
        /// Append to the arguments of a tool call (JSON text).
        ToolArguments(5) = "tool_arguments",
        /// The tool call is complete: its last delta, with an empty text; only an id after the
        /// call may follow. Unfinished calls have none.
        ToolEnd(6) = "tool_end",
        /// Remove the text from the end of `reasoning_content`.
        ReasoningWithdrawn(101) = "reasoning_withdrawn",
        /// Remove the text from the end of `content`.
        ContentWithdrawn(102) = "content_withdrawn",
        /// Remove the last tool call, which has this name, with its id and its arguments.
        CallWithdrawn(103) = "call_withdrawn",
        /// Remove the id of a tool call.
        ToolIdWithdrawn(104) = "tool_id_withdrawn",
        /// Remove the text from the end of the arguments of a tool call.
        ToolArgumentsWithdrawn(105) = "tool_arguments_withdrawn",
        /// The tool call is not complete any more; the text is empty.
        ToolEndWithdrawn(106) = "tool_end_withdrawn",
    }
}

impl DeltaKind {
    /// Whether it concerns a call.
    pub fn is_of_call(self) -> bool {
        !matches!(
            self.withdrawn(),
            DeltaKind::ReasoningWithdrawn | DeltaKind::ContentWithdrawn
        )
    }

    /// The kind that undoes this one.
    pub fn withdrawn(self) -> DeltaKind {
        match self {
            DeltaKind::Reasoning => DeltaKind::ReasoningWithdrawn,
            DeltaKind::Content => DeltaKind::ContentWithdrawn,
            DeltaKind::ToolName => DeltaKind::CallWithdrawn,
            DeltaKind::ToolId => DeltaKind::ToolIdWithdrawn,
            DeltaKind::ToolArguments => DeltaKind::ToolArgumentsWithdrawn,
            DeltaKind::ToolEnd => DeltaKind::ToolEndWithdrawn,
            withdrawn => withdrawn,
        }
    }
}

/// One change of the message. Deltas only append, unless the caller rolls the stream back; all of
/// them, applied in order, are the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// The part that changes.
    pub kind: DeltaKind,
    /// Index of the call, from 0; 0 for content and reasoning.
    pub call: usize,
    /// The text to append or to remove; empty for the end of a call.
    pub text: &'a str,
    /// The bytes of the output that it came from; empty for text that the output does not have,
    /// such as an added closing brace.
    pub span: Range<usize>,
}

/// Deltas as the `delta` object of an OpenAI chunk: texts of one field are joined, and each call is
/// one entry of `tool_calls` with its `index`; its `type` comes with its name. Empty if they add
/// nothing.
pub fn chunk_delta<'a>(deltas: impl Iterator<Item = Delta<'a>>) -> Value {
    let mut chunk = json!({});
    for delta in deltas {
        let field = match delta.kind {
            DeltaKind::Reasoning => &mut chunk["reasoning_content"],
            DeltaKind::Content => &mut chunk["content"],
            DeltaKind::ToolId => &mut chunk_call(&mut chunk, delta.call)["id"],
            DeltaKind::ToolName => {
                let call = chunk_call(&mut chunk, delta.call);
                call["type"] = json!("function");
                &mut call["function"]["name"]
            }
            DeltaKind::ToolArguments => {
                &mut chunk_call(&mut chunk, delta.call)["function"]["arguments"]
            }
            _ => continue,
        };
        match field {
            Value::String(text) => text.push_str(delta.text),
            missing => *missing = json!(delta.text),
        }
    }
    chunk
}

/// The entry of a call. Deltas are in the order of their calls.
fn chunk_call(chunk: &mut Value, call: usize) -> &mut Value {
    let calls = &mut chunk["tool_calls"];
    if calls.is_null() {
        *calls = json!([]);
    }
    let calls = calls.as_array_mut().expect("made above");
    if calls.last().is_none_or(|last| last["index"] != call) {
        calls.push(json!({"index": call}));
    }
    calls.last_mut().expect("made above")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_of_one_field_are_joined() {
        let deltas = [
            (DeltaKind::Content, 0, "a"),
            (DeltaKind::Content, 0, "b"),
            (DeltaKind::ToolName, 0, "f"),
            (DeltaKind::ToolArguments, 0, "{"),
            (DeltaKind::ToolArguments, 0, "}"),
            (DeltaKind::ToolEnd, 0, ""),
            (DeltaKind::ToolName, 1, "g"),
            (DeltaKind::ToolId, 1, "c1"),
        ];
        let deltas = deltas.map(|(kind, call, text)| Delta {
            kind,
            call,
            text,
            span: 0..0,
        });
        assert_eq!(
            chunk_delta(deltas.into_iter()).to_string(),
            r#"{"content":"ab","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{}"}},{"index":1,"type":"function","function":{"name":"g"},"id":"c1"}]}"#
        );
        assert_eq!(chunk_delta([].into_iter()), json!({}));
    }
}
