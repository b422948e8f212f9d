//! The fields that tokens became.

use std::sync::Arc;

use chatparse_base::pointer;
use chatparse_stream::{DeltaKind, Json};

chatparse_base::names! {
    /// The part of a conversation that a token belongs to.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FieldKind {
        /// Sent: the template's own text.
        Template(1) = "template",
        /// Sent: text of a message, a tool or a variable.
        Value(2) = "value",
        /// Sampled: text of no field, such as markers, and the end of the turn.
        #[default]
        Markup(3) = "markup",
        /// Sampled: the reasoning.
        Reasoning(4) = "reasoning",
        /// Sampled: the content.
        Content(5) = "content",
        /// Sampled: the name of a call.
        ToolName(6) = "tool_name",
        /// Sampled: the id of a call.
        ToolId(7) = "tool_id",
        /// Sampled: the arguments of a call.
        ToolArguments(8) = "tool_arguments",
    }
}

impl FieldKind {
    /// The field that has the name of a delta.
    pub(crate) fn of(delta: DeltaKind) -> Option<Self> {
        let mut all = FieldKind::ALL.into_iter();
        all.find(|kind| kind.name() == delta.name())
    }
}

/// The field that a token became: of its first byte that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The kind.
    pub kind: FieldKind,
    /// The call, from 0 in its turn.
    pub call: Option<usize>,
    /// The argument whose value has the token: a member of the arguments' object.
    pub argument: Option<Arc<str>>,
}

/// Reads a piece of an object. Returns its first member with a part of its value in the piece.
pub(crate) fn read_member(json: &mut Json, piece: &str) -> Option<Arc<str>> {
    let mut first = member(json);
    json.read(piece, &mut |json, _| {
        first = first.take().or_else(|| member(json))
    });
    first.or_else(|| member(json))
}

/// The member of the outermost object that a value is in.
fn member(json: &Json) -> Option<Arc<str>> {
    let in_object = json.open.first()?.1.is_none();
    if !in_object || json.at_name && json.open.len() == 1 {
        return None;
    }
    let name = json.pointer.split('/').nth(1)?;
    Some(pointer::name(name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_pieces() {
        let mut json = Json::default();
        let pieces = [
            "{\"ci",
            "ty\": ",
            "\"O:s,",
            "\\\"}lo\"",
            ", \"a\\\"b\"",
            ":",
            "[1, {\"x\": 2}",
            "]",
            "}",
        ];
        let found: Vec<Option<Arc<str>>> = pieces
            .iter()
            .map(|piece| read_member(&mut json, piece))
            .collect();
        let found: Vec<&str> = found
            .iter()
            .map(|key| key.as_deref().unwrap_or("-"))
            .collect();
        assert_eq!(
            found,
            [
                "-", "city", "city", "city", "city", "a\"b", "a\"b", "a\"b", "a\"b"
            ]
        );
    }

    #[test]
    fn names_are_read_without_escapes() {
        let read = |text: &str| read_member(&mut Json::default(), text);
        assert_eq!(read(r#"{"a/b~\"c": 1"#).as_deref(), Some("a/b~\"c"));
        assert_eq!(read(r#"{"a": {"b": 1}, "c""#).as_deref(), Some("a"));
        assert_eq!(
            (read(r#"{"a""#), read("[1, 2]"), read("1")),
            (None, None, None)
        );
    }
}
