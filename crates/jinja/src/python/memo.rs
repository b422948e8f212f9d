//! The JSON of a tool, kept for later renders, because agents send the same tools each turn.
//!
//! It depends on the tool and the layout alone. A render that changes what it was given neither
//! reads nor keeps it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value as Json;

use crate::probe::labels::Labels;
use chatparse_base::limits::TOOL_TEXT_BYTES;
use chatparse_message::Tool;

/// What is known of tools, by the addresses of their parameters. If it becomes too much, all is forgotten.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    tools: HashMap<usize, Arc<ToolMemo>>,
    /// The bytes of all.
    bytes: Arc<AtomicUsize>,
}

/// What is known of a tool.
pub(crate) struct ToolMemo {
    /// The tool without its parameters.
    rest: Tool,
    /// They are not held, but their address is.
    parameters: Weak<Json>,
    /// The depth of the parameters.
    pub(crate) levels: usize,
    texts: Mutex<Vec<(Written, Text)>>,
    bytes: Arc<AtomicUsize>,
}

impl Memo {
    /// What is known of a tool; `levels` finds the depth of its parameters.
    pub(crate) fn of(&self, tool: &Tool, levels: impl Fn(&Json) -> usize) -> Arc<ToolMemo> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Arc::as_ptr(&tool.parameters).addr();
        if let Some(known) = kept.tools.get(&address).filter(|known| known.is_of(tool)) {
            return Arc::clone(known);
        }
        let mut rest = tool.clone();
        rest.parameters = Arc::default();
        let size = size_of::<ToolMemo>() + rest.name.len() + rest.description.len();
        if kept.bytes.fetch_add(size, Ordering::Relaxed) + size > TOOL_TEXT_BYTES {
            *kept = Kept::default();
        }
        let (parameters, bytes) = (Arc::downgrade(&tool.parameters), Arc::clone(&kept.bytes));
        let new =
            Arc::new(ToolMemo { rest, parameters, levels: levels(&tool.parameters), texts: Mutex::default(), bytes });
        kept.tools.insert(address, Arc::clone(&new));
        new
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tools", self.0.lock().unwrap_or_else(PoisonError::into_inner).tools.len())
    }
}

impl ToolMemo {
    fn is_of(&self, tool: &Tool) -> bool {
        let Tool { name, description, more, namespace, deferred, .. } = &self.rest;
        // While somebody holds the address, nothing else has it. JSON keeps the order of members.
        std::ptr::eq(self.parameters.as_ptr(), Arc::as_ptr(&tool.parameters))
            && (name, description, namespace, deferred)
                == (&tool.name, &tool.description, &tool.namespace, &tool.deferred)
            && more.iter().eq(&tool.more)
            && more.values().all(Json::is_boolean)
    }

    pub(crate) fn text(&self, written: &Written) -> Option<Text> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().find(|(known, _)| known == written).map(|(_, text)| text.clone())
    }

    /// `work`: what writing it took.
    pub(crate) fn keep(&self, written: Written, text: &str, work: usize) {
        let has_room = || self.bytes.fetch_add(text.len(), Ordering::Relaxed) + text.len() <= TOOL_TEXT_BYTES;
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < TEXTS && texts.iter().all(|(known, _)| *known != written) && has_room() {
            texts.push((written, (text.into(), work)));
        }
    }
}

/// The most texts of a tool.
const TEXTS: usize = 16;

/// A text, and the work of writing it.
type Text = (Arc<str>, usize);

/// What is written: a part of a tool, in a layout, on a level.
#[derive(Clone, PartialEq)]
pub(crate) struct Written(pub Part, pub Layout, pub usize);

/// A tool, or a map in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Tool,
    Function,
    Parameters,
}

/// How JSON is written.
#[derive(Clone, PartialEq)]
pub(crate) struct Layout {
    /// Writes non-ASCII characters as `\u` escapes.
    pub(crate) ascii: bool,
    /// Indentation for each level, with each item on a separate line; `None`: one line.
    pub(crate) indent: Option<String>,
    /// The separator of items.
    pub(crate) item: String,
    /// The separator of a key and its value.
    pub(crate) key: String,
    /// Sorts the keys by their text.
    pub(crate) sort: bool,
    /// The labels that keys may contain; they are ignored in sorting.
    pub(crate) labels: Option<Labels>,
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
            labels: None,
        };
        let written = |level: usize| Written(Part::Tool, layout.clone(), level);
        let bytes = || memo.0.lock().unwrap().bytes.load(Ordering::Relaxed);
        for number in 0..10_000 {
            let tool = Tool::new(format!("tool_{number}"), "d".repeat(number % 400), json!({}));
            let known = memo.of(&tool, |_| 1);
            for level in 0..20 {
                known.keep(written(level), &"x".repeat(number % 3_000), 1);
            }
            let again = memo.of(&tool.clone(), |_| 2);
            assert!(bytes() <= 2 * TOOL_TEXT_BYTES && again.levels == 1 && known.texts.lock().unwrap().len() <= TEXTS);
        }
        let mut tool = Tool::new("a", "", json!({}));
        memo.of(&tool, |_| 1).keep(written(0), "text", 1);
        assert!(memo.of(&tool, |_| 1).text(&written(0)).is_some());
        tool.description.push('b');
        assert!(memo.of(&tool, |_| 1).text(&written(0)).is_none());
    }
}
