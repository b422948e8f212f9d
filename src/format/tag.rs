//! What a captured region means: the closed set of tags that formats put on their expressions.

use crate::peg::TagId;

/// The meaning of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[non_exhaustive]
pub enum Tag {
    /// Text of `reasoning_content`.
    Reasoning,
    /// Text of `content`.
    Content,
    /// A call begins.
    ToolOpen,
    /// It is whole.
    ToolClose,
    /// The call's id, with or without quotes.
    ToolId,
    /// The call's name.
    ToolName,
    /// The call's arguments as one JSON object.
    ToolArgs,
    /// The same inside of a JSON string.
    QuotedToolArgs,
    /// The name of one argument.
    ArgName,
    /// The value of one argument, written as JSON or as a Python literal.
    ArgJson,
    /// The value of one argument, written as raw text.
    ArgText,
    /// Null, whatever stands there.
    ArgNull,
    /// The value of one argument is whole.
    ArgClose,
    /// The name of a member of an object, shown as it comes; between its markers.
    Key,
    /// An object whose members are argument names and values.
    Object,
    /// An array whose items are argument values.
    Array,
    /// What stands between two members or items, where the comma is to show before the second begins.
    Separator,
    /// The call that follows is of a tool that nobody offered.
    Unknown,
    /// Names in the call at hand have `&`, quotes and angle brackets as XML entities.
    Entities,
    /// What follows a call that broke off and is no part of what was read of it.
    Rest,
}

impl Tag {
    const ALL: [Tag; 20] = [
        Tag::Reasoning,
        Tag::Content,
        Tag::ToolOpen,
        Tag::ToolClose,
        Tag::ToolId,
        Tag::ToolName,
        Tag::ToolArgs,
        Tag::QuotedToolArgs,
        Tag::ArgName,
        Tag::ArgJson,
        Tag::ArgText,
        Tag::ArgNull,
        Tag::ArgClose,
        Tag::Key,
        Tag::Object,
        Tag::Array,
        Tag::Separator,
        Tag::Unknown,
        Tag::Entities,
        Tag::Rest,
    ];

    /// The id for "the call that follows is in this dialect", a row of the table.
    pub(crate) fn dialect(index: usize) -> TagId {
        TagId(FIRST_DIALECT + index as u16)
    }

    /// The row behind such an id.
    pub(crate) fn dialect_of(id: TagId) -> Option<u16> {
        id.0.checked_sub(FIRST_DIALECT)
    }

    /// The tag behind an id of a format's arena.
    pub fn from_id(id: TagId) -> Option<Tag> {
        Tag::ALL.get(usize::from(id.0)).copied()
    }

    /// The tag's name, as llama.cpp has it where it has one.
    pub fn name(self) -> &'static str {
        match self {
            Tag::Reasoning => "reasoning",
            Tag::Content => "content",
            Tag::ToolOpen => "tool-open",
            Tag::ToolClose => "tool-close",
            Tag::ToolId => "tool-id",
            Tag::ToolName => "tool-name",
            Tag::ToolArgs => "tool-args",
            Tag::QuotedToolArgs => "quoted-tool-args",
            Tag::ArgName => "tool-arg-name",
            Tag::ArgJson => "tool-arg-value",
            Tag::ArgText => "tool-arg-string-value",
            Tag::ArgNull => "tool-arg-null",
            Tag::ArgClose => "tool-arg-close",
            Tag::Key => "key",
            Tag::Object => "object",
            Tag::Array => "array",
            Tag::Separator => "separator",
            Tag::Unknown => "unknown",
            Tag::Entities => "entities",
            Tag::Rest => "rest",
        }
    }

    /// Whether the region's text shows while it is still open.
    pub fn streams(self) -> bool {
        matches!(
            self,
            Tag::Reasoning
                | Tag::Content
                | Tag::ToolArgs
                | Tag::QuotedToolArgs
                | Tag::ArgJson
                | Tag::ArgText
                | Tag::Key
                | Tag::Rest
        )
    }
}

/// Ids from here on stand for dialects.
const FIRST_DIALECT: u16 = 1 << 10;

impl From<Tag> for TagId {
    fn from(tag: Tag) -> TagId {
        TagId(tag as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_back() {
        for tag in Tag::ALL {
            assert_eq!(Tag::from_id(tag.into()), Some(tag));
        }
        assert_eq!(Tag::from_id(TagId(99)), None);
    }
}
