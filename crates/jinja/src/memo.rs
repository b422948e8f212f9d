//! The JSON of a tool, kept for later renders, because agents send the same tools each turn.
//!
//! The JSON depends on the tool and the layout alone. A render that changes a value that it was
//! given neither reads nor keeps it.

use std::sync::{Arc, Weak};

use serde_json::Value as Json;

use chatparse_base::limits::TOOL_TEXT_BYTES;
use chatparse_base::store::{Store, hash_of};
use chatparse_message::Tool;

/// The memory of tools.
#[derive(Debug)]
pub struct Memo {
    /// By the tool without its parameters, and their address.
    tools: Store<(Tool, Weak<Json>), Arc<ToolMemo>>,
    texts: Arc<Texts>,
}

/// Texts, by their tools.
type Texts = Store<(Weak<ToolMemo>, Written), Text>;

/// The memory of a tool.
#[derive(Debug)]
pub struct ToolMemo {
    own: Weak<ToolMemo>,
    texts: Arc<Texts>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            tools: Store::new(TOOL_TEXT_BYTES / 4),
            texts: Arc::new(Store::new(TOOL_TEXT_BYTES)),
        }
    }
}

impl Memo {
    /// The memory of a tool.
    pub fn of(&self, tool: &Tool) -> Arc<ToolMemo> {
        let hash = hash_of((Arc::as_ptr(&tool.parameters).addr(), &tool.name));
        if let Some(known) = self
            .tools
            .get(hash, |(rest, parameters)| is_of(rest, parameters, tool))
        {
            return known;
        }
        let mut rest = tool.clone();
        rest.parameters = Arc::default();
        let size = size_of::<(Tool, ToolMemo)>() + rest.name.len() + rest.description.len();
        let texts = Arc::clone(&self.texts);
        let new = Arc::new_cyclic(|own| ToolMemo {
            own: own.clone(),
            texts,
        });
        // The parameters are not held, but their address is.
        self.tools.keep(
            hash,
            (rest, Arc::downgrade(&tool.parameters)),
            Arc::clone(&new),
            size,
        );
        new
    }
}

fn is_of(rest: &Tool, parameters: &Weak<Json>, tool: &Tool) -> bool {
    // While somebody holds the address, nothing else has it. JSON keeps the order of members.
    std::ptr::eq(parameters.as_ptr(), Arc::as_ptr(&tool.parameters))
        && rest.head() == tool.head()
        && rest.more.iter().eq(&tool.more)
        && rest.more.values().all(Json::is_boolean)
}

impl ToolMemo {
    fn hash(&self, written: &Written) -> u64 {
        hash_of((self.own.as_ptr().addr(), written))
    }

    pub fn text(&self, written: &Written) -> Option<Text> {
        self.texts.get(self.hash(written), |(tool, known)| {
            tool.ptr_eq(&self.own) && known == written
        })
    }

    /// `work`: the work of writing the text.
    pub fn keep(&self, written: Written, text: &str, work: usize) {
        let size = size_of::<(Weak<ToolMemo>, Written, Text)>() + text.len();
        self.texts.keep(
            self.hash(&written),
            (self.own.clone(), written),
            (text.into(), work),
            size,
        );
    }
}

/// A text, and the work of writing it.
type Text = (Arc<str>, usize);

/// The key of a text: a part of a tool, a layout, a level.
#[derive(Clone, PartialEq, Hash)]
pub struct Written(pub Part, pub Layout, pub usize);

/// A tool, or a map in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Tool,
    Function,
    Parameters,
}

/// How JSON is written.
#[derive(Clone, PartialEq, Hash)]
pub struct Layout {
    /// Writes non-ASCII characters as `\u` escapes.
    pub ascii: bool,
    /// Indentation for each level, with each item on a separate line; `None`: one line.
    pub indent: Option<String>,
    /// The separator of items.
    pub item: String,
    /// The separator of a key and its value.
    pub key: String,
    /// Sorts the keys by their text.
    pub sort: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let memo = Memo::default();
        let layout = Layout {
            ascii: false,
            indent: None,
            item: ", ".to_owned(),
            key: ": ".to_owned(),
            sort: false,
        };
        let written = |level: usize| Written(Part::Tool, layout.clone(), level);
        for number in 0..10_000 {
            let tool = Tool::new(
                format!("tool_{number}"),
                "d".repeat(number % 400),
                json!({}),
            );
            let known = memo.of(&tool);
            for level in 0..20 {
                known.keep(written(level), &"x".repeat(number % 3_000), 1);
            }
            let again = memo.of(&tool.clone());
            let bytes = [memo.tools.size().1, memo.texts.size().1];
            assert!(
                bytes.iter().all(|bytes| *bytes <= TOOL_TEXT_BYTES)
                    && Arc::strong_count(&again) > 0
            );
        }
        let mut tool = Tool::new("a", "", json!({}));
        memo.of(&tool).keep(written(0), "text", 1);
        assert!(memo.of(&tool).text(&written(0)).is_some());
        tool.description.push('b');
        assert!(memo.of(&tool).text(&written(0)).is_none());
    }
}
