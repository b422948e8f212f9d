//! The tools of a render. Those of a request become engine values without conversion to JSON.

use std::sync::Arc;

use minijinja::Error;
use minijinja::value::Value;
use serde_json::Value as Json;

use crate::probe::labels::Labels;
use crate::python::from_json::{depth, labelled, list_of, of_json, of_pairs, of_unread, unread_json};
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

    /// The engine value for the template; `labels`: those that the texts may contain; `memo`: what is known of tools.
    pub(crate) fn value(&self, labels: Option<&Labels>, memo: Option<&Memo>) -> Result<Value, Error> {
        match (self, memo) {
            (Tools::Json(json), _) => labelled(json, labels),
            (Tools::Own(tools), _) if tools.is_empty() => Ok(Value::from(())),
            (Tools::Own(tools), Some(memo)) if labels.is_none() => {
                list_of((0..tools.len()).map(|index| known_of(tools, index, memo)))
            }
            (Tools::Own(tools), _) => list_of(tools.iter().map(|tool| value_of(tool, labels))),
        }
    }
}

/// The tool as [`Tool::to_json`] has it.
fn value_of(tool: &Tool, labels: Option<&Labels>) -> Result<(Value, usize), Error> {
    of_pairs(fields_of(tool, labels, of_unread(&tool.parameters, labels)?, None)?.into_iter().map(Ok), None)
}

/// The same without labels, made once somebody reads it.
fn known_of(tools: &Arc<[Tool]>, index: usize, memo: &Memo) -> Result<(Value, usize), Error> {
    let tool = &tools[index];
    if !tool.parameters.is_object() || number::is(&tool.parameters) {
        return value_of(tool, None);
    }
    let memo = memo.of(tool, depth);
    // Only depth can fail, and that is looked at here: the function and the tool are above the parameters.
    let below = memo.levels + 1;
    let fields = |tool: &Tool, memo: &Arc<ToolMemo>| {
        let of = |part| Some((Arc::clone(memo), part));
        let parameters = unread_json(&tool.parameters, memo.levels, of(Part::Parameters)).ok()?;
        let fields = fields_of(tool, None, parameters, of(Part::Function)).ok()?;
        Some(fields.into_iter().map(|(name, (value, _))| (Value::from(name), value)).collect())
    };
    unread_dict(Source::Tool(Arc::clone(tools), index, fields), below, Some((memo, Part::Tool)))
}

type Fields = Vec<(&'static str, (Value, usize))>;

/// The fields of a tool with these parameters, and of its function, of which `memo` is known.
fn fields_of(
    tool: &Tool,
    labels: Option<&Labels>,
    parameters: (Value, usize),
    memo: Option<(Arc<ToolMemo>, Part)>,
) -> Result<Fields, Error> {
    let text = |text: &str| match labels {
        None => Ok((Value::from(text), 0)),
        _ => of_json(&Json::String(text.to_owned()), labels),
    };
    let own = [("name", text(&tool.name)?), ("description", text(&tool.description)?), ("parameters", parameters)];
    let more = tool.more.iter().map(|(name, value)| Ok((&**name, of_json(value, labels)?)));
    let function = of_pairs(own.into_iter().map(Ok).chain(more), memo)?;
    let mut fields = vec![("type", text("function")?), ("function", function)];
    if tool.deferred {
        fields.push(("defer_loading", of_json(&Json::Bool(true), None)?));
    }
    Ok(fields)
}
