//! The tools of a render. Those of a request become engine values without conversion to JSON.

use std::sync::Arc;

use minijinja::Error;
use minijinja::value::Value;
use serde_json::Value as Json;

use crate::probe::labels::Labels;
use crate::python::from_json::{labelled, list_of, of_json, of_pairs, of_unread};
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

impl From<Json> for Tools {
    fn from(json: Json) -> Self {
        Arc::new(json).into()
    }
}

impl Tools {
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Tools::Json(json) => json.is_null(),
            Tools::Own(tools) => tools.is_empty(),
        }
    }

    /// The engine value for the template; `labels`: those that the texts may contain.
    pub(crate) fn value(&self, labels: Option<&Labels>) -> Result<Value, Error> {
        match self {
            Tools::Json(json) => labelled(json, labels),
            Tools::Own(tools) => list_of(tools.iter().map(|tool| value_of(tool, labels))),
        }
    }
}

/// The tool as [`Tool::to_json`] has it.
fn value_of(tool: &Tool, labels: Option<&Labels>) -> Result<(Value, usize), Error> {
    let text = |text: &str| match labels {
        None => Ok((Value::from(text), 0)),
        _ => of_json(&Json::String(text.to_owned()), labels),
    };
    let own = [
        ("name", text(&tool.name)?),
        ("description", text(&tool.description)?),
        ("parameters", of_unread(&tool.parameters, labels)?),
    ];
    let more = tool.more.iter().map(|(name, value)| Ok((&**name, of_json(value, labels)?)));
    let function = of_pairs(own.into_iter().map(Ok).chain(more))?;
    let kind = [("type", text("function")?), ("function", function)];
    let deferred = tool.deferred.then(|| of_json(&Json::Bool(true), None).map(|value| ("defer_loading", value)));
    of_pairs(kind.into_iter().map(Ok).chain(deferred))
}
