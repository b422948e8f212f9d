//! What loops write of a tool, kept for later renders: agents send the same tools each turn. [`crate::source::memo`] says of which loops.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use minijinja::value::Value;
use minijinja::{Error, State};
use serde_json::Value as Json;

use crate::budget;
use crate::python::pyobject::Dict;
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
    /// The texts by the numbers of the loops that wrote them.
    texts: Mutex<Vec<(u32, Arc<str>)>>,
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
        // While somebody holds the address, nothing else has it.
        std::ptr::eq(self.parameters.as_ptr(), Arc::as_ptr(&tool.parameters))
            && (name, description, namespace, deferred)
                == (&tool.name, &tool.description, &tool.namespace, &tool.deferred)
            && more == &tool.more
            && more.values().all(Json::is_boolean)
    }

    fn text(&self, number: u32) -> Option<Arc<str>> {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.iter().find(|(known, _)| *known == number).map(|(_, text)| Arc::clone(text))
    }

    fn keep(&self, number: u32, text: &str) {
        if self.bytes.fetch_add(text.len(), Ordering::Relaxed) + text.len() <= TOOL_TEXT_BYTES
            && self.text(number).is_none()
        {
            self.texts.lock().unwrap_or_else(PoisonError::into_inner).push((number, text.into()));
        }
    }
}

/// The tool and the number of a loop from the arguments of a filter; `None` for a value that is no tool of the request, or when one of the
/// values that the template was given has changed.
fn asked(args: &[Value]) -> Option<(&ToolMemo, u32)> {
    let memo = args.first()?.downcast_object_ref::<Dict>()?.memo.as_deref()?;
    let number = args.get(1)?.as_i64()?.try_into().ok()?;
    (!budget::given_changed()).then_some((memo, number))
}

/// `op.memo`: what the loop of this number wrote of a tool; undefined if that is not known.
pub(crate) fn memo(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = asked(args).and_then(|(tool, number)| tool.text(number));
    Ok(text.map_or(Value::UNDEFINED, Value::from))
}

/// `op.keep`: keeps a text, its first argument, which it passes on. The others are the tool and the number.
pub(crate) fn keep(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = args.first().cloned().unwrap_or_default();
    if let (Some((tool, number)), Some(text)) = (asked(&args[1..]), text.as_str()) {
        budget::scan(text.len())?;
        tool.keep(number, text);
    }
    Ok(text)
}
