//! How the tools of a request are called in its API: custom tools by their text, tools of a
//! namespace by their own name.

use std::collections::HashMap;

use serde_json::Value;

use super::Api;
use super::messages::object;
use chatparse_message::ClientTool;
use chatparse_message::fields::Fields;

/// How an API shows the calls of a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Called {
    /// Its name without the namespace.
    pub name: String,
    pub namespace: String,
    /// It is called by a text.
    pub custom: bool,
    /// The item of Responses, and its field for the arguments, if it is a tool that the API knows.
    pub client: Option<(&'static str, &'static str)>,
}

impl Called {
    /// Names the namespace in a call, if there is one.
    pub fn set_namespace(&self, call: &mut Value) {
        if !self.namespace.is_empty() {
            call["namespace"] = self.namespace.as_str().into();
        }
    }
}

/// The tools of a request whose calls are not those of a function by its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Special {
    named: HashMap<String, Called>,
    spaced: Vec<Called>,
}

impl Special {
    pub fn of(api: Api, request: &Value) -> Special {
        let mut special = Special::default();
        let items = if api == Api::Responses {
            request["input"].as_array()
        } else {
            None
        };
        let brings = |item: &&Value| {
            item["type"] == "tool_search_output" || item["type"] == "additional_tools"
        };
        let found = items.into_iter().flatten().filter(brings);
        for list in [request].into_iter().chain(found) {
            for tool in list["tools"].as_array().into_iter().flatten() {
                if tool["type"] == "namespace" {
                    let namespace = tool["name"].as_str().unwrap_or_default();
                    let inner = tool["tools"].as_array().into_iter().flatten();
                    inner.for_each(|tool| special.add(api, tool, namespace));
                } else {
                    special.add(api, tool, "");
                }
            }
        }
        special
    }

    fn add(&mut self, api: Api, tool: &Value, inside: &str) {
        let kind = tool["type"].as_str().unwrap_or_default();
        let function = tool.get(kind).unwrap_or(tool);
        let client = match Fields::new(tool, "tool").map(|fields| ClientTool::of(&fields)) {
            Ok(Ok(Some(client))) if api == Api::Responses => Some(client),
            _ => None,
        };
        let name = function["name"]
            .as_str()
            .or(client.map(|client| client.name))
            .unwrap_or_default();
        let own = function["namespace"]
            .as_str()
            .or_else(|| tool["namespace"].as_str());
        let called = Called {
            name: name.to_owned(),
            namespace: own.unwrap_or(inside).to_owned(),
            custom: kind == "custom" && api != Api::Messages,
            client: client.and_then(|client| client.item),
        };
        if !called.namespace.is_empty() {
            self.spaced.push(called);
        } else {
            self.named.insert(called.name.clone(), called);
        }
    }

    /// How a call of the tool that the model names so is shown. Templates differ in what stands
    /// behind a namespace.
    pub fn called(&self, name: &str) -> Called {
        let is_of = |tool: &&Called| {
            let behind = name
                .strip_prefix(&*tool.namespace)
                .and_then(|rest| rest.strip_suffix(&*tool.name));
            behind.is_some_and(|between| {
                !between.is_empty() && !between.contains(char::is_alphanumeric)
            })
        };
        let known = self
            .named
            .get(name)
            .or_else(|| self.spaced.iter().find(is_of));
        // The namespace may be the one that the template writes before all names.
        let known = known.or_else(|| self.spaced.iter().find(|tool| tool.name == name));
        known.cloned().unwrap_or_else(|| Called {
            name: name.to_owned(),
            ..Called::default()
        })
    }
}

/// The text in a call's arguments; of a call that was cut off, the part that was written. Arguments
/// of another shape are the text themselves.
pub(super) fn input(arguments: &str) -> String {
    if "{\"input\":".starts_with(&arguments.replace(char::is_whitespace, "")) {
        return String::new();
    }
    object(arguments)
        .get("input")
        .and_then(Value::as_str)
        .unwrap_or(arguments)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_there_as_far_as_it_came() {
        let whole = r#"{"input": "a \"b\"\n\ud83d\ude00 é"}"#;
        let text = "a \"b\"\n😀 é";
        assert_eq!(input(whole), text);
        for end in (0..whole.len()).filter_map(|end| whole.get(..end)) {
            let input = input(end);
            assert!(text.starts_with(&input), "{end}: {input}");
        }
        assert_eq!(input(r#"{"input": "a \"b\"\n\ud83d\ude"#), "a \"b\"\n");
    }

    #[test]
    fn arguments_of_another_shape_are_the_text() {
        for text in ["[1]", "{\"a\": 1}", "ls -l", "{\"input\": 7}"] {
            assert_eq!(input(text), text);
        }
    }
}
