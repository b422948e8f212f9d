//! The meanings of captured regions: the closed set of tags that formats put on their expressions.

use chatparse_peg::TagId;

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
    /// A call is complete.
    ToolClose,
    /// The call's id, with or without quotes.
    ToolId,
    /// The call's name.
    ToolName,
    /// The call's arguments as one JSON object.
    ToolArgs,
    /// The call's arguments as a JSON object inside a JSON string.
    QuotedToolArgs,
    /// The name of one argument.
    ArgName,
    /// The value of one argument, written as JSON or as a Python literal.
    ArgJson,
    /// The value of one argument, written as raw text.
    ArgText,
    /// Null, whatever the text is.
    ArgNull,
    /// The value of one argument is complete.
    ArgClose,
    /// The name of an object's member between its markers; visible while it is read.
    Key,
    /// An object whose members are argument names and values.
    Object,
    /// An array whose items are argument values.
    Array,
    /// The text between two members or items, if the comma must be visible before the second
    /// begins.
    Separator,
    /// The call that follows is of a tool that is not offered.
    Unknown,
    /// The name in this call has `&`, quotes and angle brackets as XML entities.
    Entities,
    /// What a call that broke goes on with: the rest of its arguments, as it is.
    Broken,
    /// Text of `content` that the format marks as the answer.
    Answer,
    /// Empty: what is in front is markup of the part at hand, even if the output leaves the format
    /// here.
    Markup,
    /// The name in this call has the escapes of a JSON string.
    Escaped,
    /// A name before a call's own: text of `reasoning_content`, unless it is the same.
    Announced,
    /// Empty: the raw text that follows is an array or object that breaks.
    BrokenJson,
    /// The value of one argument, written as raw text, whose name comes after it.
    Unnamed,
    /// The arguments in this call are written as Python's.
    Python,
    /// The text of an array or object as a JSON string.
    JsonText,
}

impl Tag {
    /// In the order of their ids, with their names: llama.cpp's where it has one.
    const ALL: [(Tag, &str); 28] = {
        use Tag::*;
        [
            (Reasoning, "reasoning"),
            (Content, "content"),
            (ToolOpen, "tool-open"),
            (ToolClose, "tool-close"),
            (ToolId, "tool-id"),
            (ToolName, "tool-name"),
            (ToolArgs, "tool-args"),
            (QuotedToolArgs, "quoted-tool-args"),
            (ArgName, "tool-arg-name"),
            (ArgJson, "tool-arg-value"),
            (ArgText, "tool-arg-string-value"),
            (ArgNull, "tool-arg-null"),
            (ArgClose, "tool-arg-close"),
            (Key, "key"),
            (Object, "object"),
            (Array, "array"),
            (Separator, "separator"),
            (Unknown, "unknown"),
            (Entities, "entities"),
            (Broken, "broken"),
            (Answer, "answer"),
            (Markup, "markup"),
            (Escaped, "escaped"),
            (Announced, "announced"),
            (BrokenJson, "broken-json"),
            (Unnamed, "unnamed"),
            (Python, "python"),
            (JsonText, "json-text"),
        ]
    };

    /// The tag id for calls in a dialect, given its row in the table.
    pub fn dialect(index: usize) -> TagId {
        TagId(FIRST_DIALECT + index as u16)
    }

    /// The row of the dialect, if the id stands for one.
    pub fn dialect_of(id: TagId) -> Option<u16> {
        id.0.checked_sub(FIRST_DIALECT)
    }

    /// The tag with this id in a format's arena.
    pub fn from_id(id: TagId) -> Option<Tag> {
        Tag::ALL.get(usize::from(id.0)).map(|(tag, _)| *tag)
    }

    /// The tag's name.
    pub fn name(self) -> &'static str {
        Tag::ALL[self as usize].1
    }

    /// The tag that descriptions of formats know by this name: not one of those that are
    /// [`lower()`](super::lower())'s own.
    pub fn named(name: &str) -> Option<Tag> {
        let mut known = Tag::ALL.into_iter().take(Tag::Key as usize);
        known.find(|(_, known)| *known == name).map(|(tag, _)| tag)
    }

    /// Whether the region's text is text of the message.
    pub fn is_text(self) -> bool {
        self.streams()
            || matches!(
                self,
                Tag::ToolName
                    | Tag::ToolId
                    | Tag::ArgName
                    | Tag::Announced
                    | Tag::Unnamed
                    | Tag::JsonText
            )
    }

    /// Whether the region's text is visible while the region is open.
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
                | Tag::Broken
                | Tag::Answer
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
        for (tag, _) in Tag::ALL {
            assert_eq!(Tag::from_id(tag.into()), Some(tag));
        }
        assert_eq!(Tag::from_id(TagId(99)), None);
    }
}
