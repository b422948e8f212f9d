//! The tools of a render. Those of a request become engine values without conversion to JSON.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::given::{Given, Known};
use crate::memo::Memo;
use crate::probe::trace::Trace;
use crate::text::TEMPLATE;
use crate::value::Value;
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

    /// The value for the template; `memo`: the memory of tools of earlier renders.
    pub(crate) fn value(&self, given: &mut Given, memo: Option<&Memo>) -> Value {
        let trace = &Trace::default();
        match (self, memo) {
            (Tools::Json(json), _) => given.variable("tools", json, trace),
            (Tools::Own(tools), _) if tools.is_empty() => Value::None(TEMPLATE),
            (Tools::Own(tools), Some(memo)) if !given.sources.is_traced => {
                given.list("tools", 0..tools.len(), |_, index| {
                    Known::tool(tools, index, memo)
                })
            }
            (Tools::Own(tools), _) => given.list("tools", tools.iter(), |given, tool| {
                given.value(&tool.to_json(), trace)
            }),
        }
    }
}
