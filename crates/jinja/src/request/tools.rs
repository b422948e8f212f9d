//! The tools of a render. Those of a request become engine values without conversion to JSON.

use std::sync::Arc;

use minijinja::value::Value;
use serde_json::Value as Json;

use crate::fault::Result;
use crate::probe::labels::Labels;
use crate::python::from_json::{depth, labelled, list_of, of_json, of_pairs, unread_json};
use crate::python::memo::{Memo, Part, ToolMemo};
use crate::python::pyobject::{Source, unread_dict};
use chatparse_base::number;
use chatparse_message::Tool;

/// The tools, prepared for the template.
#[derive(Clone, Debug, PartialEq)]
pub enum Tools {
    /// An array of OpenAI tools, or `Null`.
    Json(Arc<Json>),
    /// Those of a request.
    Own(Arc<[Tool]>),
}

impl From<Arc<Json>> for Tools {
    fn from(json: Arc<Json>) -> Self {
        Tools::Json(json)
    }
}

impl Tools {
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Tools::Json(json) => json.is_null(),
            Tools::Own(tools) => tools.is_empty(),
        }
    }

    /// The engine value for the template; `labels`: the labels that the texts may contain; `memo`:
    /// the memory of tools of earlier renders.
    pub(crate) fn value(&self, labels: Option<&Labels>, memo: Option<&Memo>) -> Result<Value> {
        match (self, memo) {
            (Tools::Json(json), _) => labelled(json, labels),
            (Tools::Own(tools), _) if tools.is_empty() => Ok(Value::from(())),
            (Tools::Own(tools), Some(memo)) if labels.is_none() => {
                list_of((0..tools.len()).map(|index| known_of(tools, index, memo)))
            }
            (Tools::Own(tools), _) => {
                list_of(tools.iter().map(|tool| of_json(&tool.to_json(), labels)))
            }
        }
    }
}

/// The tool as [`Tool::to_json`] has it, made once somebody reads it.
fn known_of(tools: &Arc<[Tool]>, index: usize, memo: &Memo) -> Result<(Value, usize)> {
    let tool = &tools[index];
    if !tool.parameters.is_object() || number::is(&tool.parameters) {
        return of_json(&tool.to_json(), None);
    }
    let memo = memo.of(tool, depth);
    // Only depth can fail, and that is looked at here: the function and the tool are above the
    // parameters.
    let below = memo.levels + 1;
    let source = Source::Tool(Arc::clone(tools), index, |tool, memo| {
        pairs_of(tool, memo).ok()
    });
    unread_dict(source, below, Some((memo, Part::Tool)))
}

fn pairs_of(tool: &Tool, memo: &Arc<ToolMemo>) -> Result<Vec<(Value, Value)>> {
    let of = |part| Some((Arc::clone(memo), part));
    let parameters = unread_json(&tool.parameters, memo.levels, of(Part::Parameters))?;
    let [name, description] = [&tool.name, &tool.description].map(|text| (Value::from(&**text), 0));
    let own = [
        ("name", name),
        ("description", description),
        ("parameters", parameters),
    ];
    let more = tool
        .more
        .iter()
        .map(|(name, value)| Ok((&**name, of_json(value, None)?)));
    let (function, _) = of_pairs(own.into_iter().map(Ok).chain(more), of(Part::Function))?;
    let mut pairs = vec![
        ("type".into(), "function".into()),
        ("function".into(), function),
    ];
    if tool.deferred {
        pairs.push(("defer_loading".into(), true.into()));
    }
    Ok(pairs)
}
