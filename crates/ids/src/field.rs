//! What tokens became.

use std::sync::Arc;

use chatparse_stream::DeltaKind;

chatparse_base::names! {
    /// What a token is a part of.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FieldKind {
        /// Sent: the template's own text.
        Template(1) = "template",
        /// Sent: text of a message, a tool or a variable.
        Value(2) = "value",
        /// Sampled: what no field has, such as markers, and the end of the turn.
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
    pub(crate) fn of(delta: DeltaKind) -> Option<Self> {
        match delta {
            DeltaKind::Reasoning => Some(FieldKind::Reasoning),
            DeltaKind::Content => Some(FieldKind::Content),
            DeltaKind::ToolName => Some(FieldKind::ToolName),
            DeltaKind::ToolId => Some(FieldKind::ToolId),
            DeltaKind::ToolArguments => Some(FieldKind::ToolArguments),
            _ => None,
        }
    }
}

/// What a token became: the field of its first byte that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The kind.
    pub kind: FieldKind,
    /// The call, from 0 in its turn.
    pub call: Option<usize>,
    /// The argument whose value it is, where it is one's: a member of the arguments' object.
    pub argument: Option<Arc<str>>,
}

/// In which member of an object JSON text stands that comes in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The text that is being read, where it may be a key.
    text: Option<Vec<u8>>,
    key: Option<Arc<str>>,
    in_value: bool,
}

impl Members {
    /// Reads a piece; the member whose value it is a part of.
    pub fn read(&mut self, piece: &[u8]) -> Option<Arc<str>> {
        let mut within = self.member();
        for byte in piece {
            self.step(*byte);
            within = within.or_else(|| self.member());
        }
        within
    }

    fn member(&self) -> Option<Arc<str>> {
        self.key.clone().filter(|_| self.in_value)
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            if let Some(text) = &mut self.text {
                text.push(byte);
            }
            if ends {
                self.in_text = false;
                if let Some(text) = self.text.take() {
                    self.key = serde_json::from_slice::<String>(&text).ok().map(Arc::from);
                }
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.text = (self.depth == 1 && !self.in_value).then(|| vec![byte]);
            }
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => self.in_value = false,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.in_value &= self.depth > 0;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_pieces() {
        let mut members = Members::default();
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
            .map(|piece| members.read(piece.as_bytes()))
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
}
