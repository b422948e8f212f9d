//! Tools that the APIs know by their type alone, and that the client runs: a model calls them as
//! functions with a known schema.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fields::Fields;
use chatparse_base::Result;

/// A tool that needs no schema in a request.
#[derive(Debug, Deserialize)]
pub struct ClientTool {
    /// Its type, or with a trailing `_` the beginning of it, which a date follows.
    kind: &'static str,
    /// Its name, where the request has none.
    pub name: &'static str,
    description: &'static str,
    /// The schema of its arguments.
    parameters: Value,
    /// How Responses shows a call: the type of the item, and the field of the arguments, which are
    /// an object there.
    pub item: Option<(&'static str, &'static str)>,
}

/// All of them.
static CLIENT_TOOLS: LazyLock<Vec<ClientTool>> =
    LazyLock::new(|| serde_json::from_str(include_str!("client_tools.json")).unwrap_or_default());

impl ClientTool {
    /// The tool that a request gives by its type; `None` if a server must run it.
    pub fn of(tool: &Fields) -> Result<Option<&'static ClientTool>> {
        let kind = tool.required_text("type")?;
        // A search for tools is the server's unless the request says otherwise.
        let is_clients = match tool.text("execution")? {
            None => kind != "tool_search",
            Some(by) => by == "client",
        };
        // A shell in a container is the server's.
        let place = tool.object("environment")?;
        let is_here =
            place.is_none_or(|place| place.map.get("type").is_none_or(|kind| kind == "local"));
        if !is_clients || !is_here {
            return Ok(None);
        }
        Ok(CLIENT_TOOLS
            .iter()
            .find(|known| match kind.strip_prefix(known.kind) {
                Some("") => true,
                Some(date) => known.kind.ends_with('_') && date.parse::<u32>().is_ok(),
                None => false,
            }))
    }

    /// The tool whose calls are items of this kind in Responses, and whether the item is a call's
    /// output.
    pub fn of_item(kind: &str) -> Option<(&'static ClientTool, bool)> {
        let call = kind.strip_suffix("_output").unwrap_or(kind);
        let is_output = call != kind;
        // An output may have the name of its call without the end.
        let tool = CLIENT_TOOLS.iter().find(|tool| {
            tool.item.is_some_and(|(item, _)| {
                item == call || is_output && item.strip_suffix("_call") == Some(call)
            })
        })?;
        Some((tool, is_output))
    }

    /// The arguments of a call in the order in which the model writes them: that of the schema.
    /// Clients send them in another.
    pub fn in_order(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let mut ordered = Map::new();
        for (name, _) in self.parameters["properties"]
            .as_object()
            .into_iter()
            .flatten()
        {
            if let Some(value) = arguments.get(name) {
                ordered.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in arguments {
            ordered.entry(name).or_insert_with(|| value.clone());
        }
        ordered
    }

    /// The tool as a function of a request.
    pub(super) fn function(&self, tool: &Fields) -> Result<Value> {
        let name = tool.text("name")?.unwrap_or(self.name);
        let description = tool.text("description")?.unwrap_or(self.description);
        let mut function = json!({"name": name, "description": description});
        function["parameters"] = tool.get("parameters").unwrap_or(&self.parameters).clone();
        for field in ["input_examples", "defer_loading"] {
            function[field] = tool.get(field).cloned().unwrap_or_default();
        }
        Ok(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_schemas_are_objects() {
        assert_eq!(CLIENT_TOOLS.len(), 7);
        assert!(
            CLIENT_TOOLS
                .iter()
                .all(|tool| tool.parameters["type"] == "object")
        );
    }
}
